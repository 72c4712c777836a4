"""From a specification to a hierarchy."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

import polars as pl

from shoal.errors import HierarchyError, did_you_mean
from shoal.hierarchy.tree import Hierarchy

_KINDS: dict[str, tuple[str, ...]] = {
    "widths": ("origin",),
    "cuts": (),
    "mask": ("keep", "steps"),
    "dates": (),
    "tree": (),
}


def build(values: pl.Series, spec: str | PathLike[str] | Mapping[str, Any] | None = None) -> Hierarchy:
    """Make the hierarchy of a column from its distinct values and a specification (see `shoal.table.plan`).

    `values` may come in any order, with null and NaN. Raises HierarchyError where the two do not fit.
    """
    from shoal.hierarchy.automatic import automatic, from_nothing
    from shoal.hierarchy.dates import from_dates
    from shoal.hierarchy.files import from_file
    from shoal.hierarchy.intervals import from_cuts, from_widths
    from shoal.hierarchy.masks import from_mask
    from shoal.hierarchy.nested import from_tree

    if spec is None or spec == "none":
        return from_nothing(values)
    if spec == "auto":
        return automatic(values)
    if isinstance(spec, str | PathLike):
        return from_file(values, str(spec))
    kind, settings = _checked(spec)
    main = settings.pop(kind)
    if kind == "widths":
        return from_widths(values, main, **settings)
    if kind == "cuts":
        return from_cuts(values, main)
    if kind == "mask":
        return from_mask(values, main, **settings)
    if kind == "dates":
        return from_dates(values, main)
    return from_tree(values, main)


def _checked(spec: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the kind of hierarchy and its settings, those that are None left out."""
    if not isinstance(spec, Mapping):
        raise HierarchyError(f"a hierarchy is a file, 'auto', 'none' or a table, not {spec!r}")
    settings = {name: value for name, value in spec.items() if value is not None}
    kinds = [name for name in settings if name in _KINDS]
    if len(kinds) > 1:
        raise HierarchyError(f"a hierarchy has one kind, not both '{kinds[0]}' and '{kinds[1]}'")
    if not kinds:
        name = next(iter(settings), "")
        raise HierarchyError(f"'{name}' is no kind of hierarchy ({did_you_mean(name, _KINDS)})")
    for name in settings:
        if name != kinds[0] and name not in _KINDS[kinds[0]]:
            known = (kinds[0], *_KINDS[kinds[0]])
            raise HierarchyError(f"'{name}' is no setting of '{kinds[0]}' ({did_you_mean(name, known)})")
    return kinds[0], settings
