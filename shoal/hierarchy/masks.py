"""Masked codes: characters replaced by ``*``, from the right or from the left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import polars as pl

from shoal.errors import HierarchyError
from shoal.hierarchy.domains import Domain
from shoal.hierarchy.naming import Stars
from shoal.hierarchy.tree import Hierarchy, Level
from shoal.hierarchy.values import distinct_values, runs, text_of

LONGEST = 64


def from_mask(
    values: pl.Series,
    mask: Literal["right", "left"] = "right",
    keep: int = 0,
    steps: int | Sequence[int] = 1,
) -> Hierarchy:
    """Build one level per masked character of the longest value: ``12345``, ``1234*``, .., ``1****``, ``*``.

    Shorter values count as padded on the masked side: they join a node when the mask reaches their end.
    `keep` characters on the other side are masked only at the root. `steps` is how many more characters
    each level masks, or the list of how many each level masks. O(levels x n log n).
    """
    data = distinct_values(values)
    frame = pl.DataFrame({"leaves": data, "text": text_of(data)})
    key = pl.col("text") if mask == "right" else pl.col("text").str.reverse()
    frame = frame.with_columns(key=key).sort("key", nulls_last=True)
    regular = len(frame) - frame["text"].null_count()
    keys = frame["key"].head(regular)
    longest = int(keys.str.len_chars().max() or 0)  # type: ignore[arg-type]
    levels = []
    kepts = tuple(longest - masked for masked in _masked(longest, keep, steps))
    for kept in kepts:
        cut = keys.str.slice(0, kept)
        starts = runs(cut.rle_id().to_numpy())
        names = (
            cut.gather(starts)
            .to_frame("key")
            .select(
                pl.when(pl.col("key").str.len_chars() == kept)
                .then(pl.col("key") + "*" * (longest - kept))
                .otherwise("key")
            )
            .to_series()
        )
        levels.append(Level(starts, (names if mask == "right" else names.str.reverse()).alias("names")))
    # If all values have the same length, the number of stars tells nothing about the other rows.
    alike = bool((keys.str.len_chars() == longest).all())
    naming = None if alike else Stars(mask, longest, kepts)
    return replace(Domain(frame["leaves"], regular).hierarchy(*levels, naming=naming), grown=True)


def _masked(longest: int, keep: int, steps: int | Sequence[int]) -> list[int]:
    """Return how many characters each level masks, without the root, which masks all."""
    wanted = range(steps, longest, steps) if isinstance(steps, int) else steps
    counts = [count for count in wanted if count <= longest - max(keep, 1)]
    if len(counts) > LONGEST:
        raise HierarchyError(
            f"values have up to {longest} characters, so the mask has {len(counts)} levels; the most is {LONGEST}: "
            "mask more characters per level with steps, or use 'auto'"
        )
    return counts
