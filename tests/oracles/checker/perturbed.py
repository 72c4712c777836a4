"""Whether a perturbed column shows what its way may make of the values of its owners, by definition."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tests.oracles.checker.cells import same

if TYPE_CHECKING:
    from tests.oracles.checker.checks import Released


def perturbation(
    released: Released, owners: Sequence[int], name: str, way: str, amount: float
) -> Iterator[str]:
    """Say what is wrong with one column."""
    loose = released.asked.loose
    own = [released.original[owner][name] for owner in owners]
    shown = released.table.column(name)
    pairs = [(value, cell) for value, cell in zip(own, shown, strict=True) if value is not None]
    lost = [value for value, cell in zip(own, shown, strict=True) if value is None and not _empty(cell)]
    if lost:
        yield f"perturbed: {len(lost)} cells of {name!r} show a value where there is none"
    if way in ("swap", "pram"):
        left = [value for value, _ in pairs]
        for _, cell in pairs:
            at = next((i for i, value in enumerate(left) if same(cell, value, loose)), None)
            if at is None:
                yield f"perturbed: {name!r} shows {cell!r} more often than the published rows have it"
                return
            del left[at]
        return
    numbers = [(float(value), float(str(cell))) for value, cell in pairs]
    finite = [value for value, _ in numbers if math.isfinite(value)]
    if way == "round":
        most, step = amount / 2, amount
    else:
        mean = sum(finite) / max(len(finite), 1)
        spread = math.sqrt(sum((value - mean) ** 2 for value in finite) / max(len(finite), 1))
        most, step = 4 * amount * spread + 0.5, 0.0
    for value, cell in numbers:
        if not math.isfinite(value):
            continue
        if abs(value - cell) > most * (1 + 1e-6) + 1e-6 * abs(value):
            yield f"perturbed: {name!r} shows {cell} for {value}, more than {most} apart"
        if step and cell % step:
            yield f"perturbed: {name!r} shows {cell}, which is not a multiple of {step}"


def _empty(cell: Any) -> bool:
    return cell is None or cell == "" or (isinstance(cell, float) and math.isnan(cell))
