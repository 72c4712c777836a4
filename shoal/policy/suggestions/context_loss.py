"""What the proposed hierarchies lose together: the information loss of each column in a release of all of them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.coding import CodedTable
from shoal.coding.encode import encode
from shoal.errors import ShoalError
from shoal.judging.measures.cell_losses import leaf_share
from shoal.policy import Policy
from shoal.support.run import Run

MOST_ROWS = 30_000
"""More rows are sampled."""
MOST_COLUMNS = 100
SECONDS = 20.0
"""After so many seconds the losses remain unknown."""
SEED = 1
"""The sample and the losses are the same each time."""


@dataclass(frozen=True)
class Together:
    """What columns lose in one release."""

    losses: Mapping[str, float]
    """Per column, the mean over rows of LM: 0 for a value itself, 1 for `*`."""
    rows: int
    """The rows that were looked at."""


class _TooLong(Exception):
    """The time is over."""


def losses_together(
    table: pl.DataFrame,
    hierarchies: Mapping[str, Any],
    k: int,
    *,
    base: Path = Path(),
    rows: int = MOST_ROWS,
    seconds: float = SECONDS,
) -> Together | None:
    """Return what each quasi-identifier loses in a k-anonymous release of all of them by Mondrian; None if the table is
    too wide, there is no release, or the time is over. One run of Mondrian on a sample of so many rows. Hierarchy files
    are relative to `base`.
    """
    names = list(hierarchies)
    if not names or len(names) > MOST_COLUMNS or table.height < k:
        return None
    some = pl.DataFrame([table[name] for name in names])  # `select` takes a name such as `*` for a pattern
    if some.height > rows:
        some = some.sample(rows, seed=SEED)
    columns = {name: {"role": "quasi", "hierarchy": spec} for name, spec in hierarchies.items()}
    end = time.monotonic() + seconds

    def watch(_stage: str, _share: float) -> None:
        if time.monotonic() > end:
            raise _TooLong

    try:
        policy = Policy.from_dict({"columns": columns, "privacy": {"k": k}}, base)
        coded = encode(some, policy.plans(names))
        release = policy.build_method().anonymize(coded, policy.requirements(), Run.start(SEED, watch))
    except (ShoalError, _TooLong):
        return None
    return Together(_mean_losses(coded, release.region_of, release.low, release.high), some.height)


def _mean_losses(
    table: CodedTable,
    region_of: np.ndarray[tuple[int], np.dtype[np.int32]],
    low: np.ndarray[tuple[int, int], np.dtype[np.int32]],
    high: np.ndarray[tuple[int, int], np.dtype[np.int32]],
) -> dict[str, float]:
    """Return the mean loss of each column; rows that are left out lose everything."""
    shown = region_of >= 0
    counts = np.bincount(region_of[shown], minlength=len(low))
    found = {}
    for j, attribute in enumerate(table.attributes):
        lost = leaf_share(attribute, low[:, j], high[:, j])
        found[attribute.name] = float(lost @ counts + (~shown).sum()) / max(table.rows, 1)
    return found
