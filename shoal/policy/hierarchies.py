"""How a column may be generalized, as it is written in a policy."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    PlainValidator,
    Tag,
    WithJsonSchema,
    field_validator,
)

from shoal.errors import did_you_mean
from shoal.policy.part import Part, Whole, shown, wrong

Point = Annotated[
    int | float,
    PlainValidator(lambda value: _number(value)),
    WithJsonSchema({"type": "number"}),
]
"""A finite number, kept whole where it is written whole."""
Width = Annotated[
    int | float,
    PlainValidator(lambda value: _positive(value)),
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0}),
]
"""A positive number, kept whole where it is written whole."""


def _number(value: object) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong(f"must be a number, not {shown(value)}")
    try:
        finite = math.isfinite(value)
    except OverflowError:
        raise wrong("is too large a number", "up to 1e308 can be used") from None
    if not finite:
        raise wrong(f"must be a finite number, not {value}")
    return value


def _positive(value: object) -> int | float:
    number = _number(value)
    if number <= 0:
        raise wrong(f"must be more than 0, not {number}")
    return number


def _growing(values: tuple[int | float, ...], what: str) -> None:
    for before, after in itertools.pairwise(values):
        if not before < after:
            raise wrong(f"{what} must grow, but {before} is followed by {after}")


class Widths(Part):
    """Intervals of equal width, wider from level to level."""

    widths: Annotated[tuple[Width, ...], Field(min_length=1)]
    """Width of the intervals at each level. Each must be a multiple of the one before."""
    origin: Point = 0
    """Where an interval begins; the others follow from it."""

    @field_validator("widths")
    @classmethod
    def _nested(cls, widths: tuple[float, ...]) -> tuple[float, ...]:
        _growing(widths, "widths")
        for narrow, wide in itertools.pairwise(widths):
            if not math.isfinite(wide / narrow):
                raise wrong(f"{narrow:g} and {wide:g} are too far apart", "leave one of them out")
            if abs(wide / narrow - round(wide / narrow)) > 1e-9:
                raise wrong(
                    f"{wide:g} is no multiple of {narrow:g}, so its intervals would cut those below",
                    f"for example {narrow * max(round(wide / narrow), 2):g}",
                )
        return widths


def _list_of_lists(value: object) -> object:
    if isinstance(value, list | tuple) and value and not any(isinstance(v, list | tuple) for v in value):
        return [value]
    return value


class Cuts(Part):
    """Intervals between given points, one list of points per level."""

    cuts: Annotated[tuple[tuple[Point, ...], ...], Field(min_length=1), BeforeValidator(_list_of_lists)]
    """Points at which a new interval begins, ascending; each level uses some of the points of the one below."""

    @field_validator("cuts")
    @classmethod
    def _nested(cls, cuts: tuple[tuple[Any, ...], ...]) -> tuple[tuple[Any, ...], ...]:
        for level in cuts:
            if not level:
                raise wrong(
                    "a level has no points", "leave the level out: the top is always the whole domain"
                )
            _growing(level, "cuts")
        for below, above in itertools.pairwise(cuts):
            new = [point for point in above if point not in below]
            if new:
                raise wrong(
                    f"{new[0]} is a cut of a higher level but not of the one below",
                    "levels go from fine to coarse, and keep some of the cuts below",
                )
        return cuts


def _steps(value: object) -> object:
    numbers: list[Any] = list(value) if isinstance(value, list | tuple) else [value]
    if not numbers or any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in numbers):
        raise wrong(f"must be a whole number, 1 or more, or a list of them, not {shown(value)}")
    if not isinstance(value, list | tuple):
        return value
    _growing(tuple(numbers), "steps")
    return tuple(numbers)


class Mask(Part):
    """Characters of a code are replaced by `*`, more at each level."""

    mask: Literal["right", "left"]
    """The side from which characters are hidden."""
    keep: Annotated[Whole, Field(ge=0)] | None = None
    """So many characters on the other side are hidden at the top only."""
    steps: (
        Annotated[
            int | tuple[int, ...],
            PlainValidator(_steps),
            WithJsonSchema({"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]}),
        ]
        | None
    ) = None
    """How many characters are hidden from level to level, or the list of how many are hidden at each level."""


_CONTAINED_IN = {
    "day": ("week", "month", "quarter", "year", "decade"),
    "week": (),
    "month": ("quarter", "year", "decade"),
    "quarter": ("year", "decade"),
    "year": ("decade",),
    "decade": (),
}


class Dates(Part):
    """Dates become weeks or months, quarters, years, decades."""

    dates: Annotated[
        tuple[Literal["day", "week", "month", "quarter", "year", "decade"], ...], Field(min_length=1)
    ]
    """The levels, from fine to coarse."""

    @field_validator("dates")
    @classmethod
    def _coarser(cls, levels: tuple[str, ...]) -> tuple[str, ...]:
        for below, above in itertools.pairwise(levels):
            if above not in _CONTAINED_IN[below]:
                after = ", ".join(_CONTAINED_IN[below]) or "nothing"
                raise wrong(
                    f"a {below} does not lie inside a {above}", f"after {below} there may come {after}"
                )
        return levels


class Tree(Part):
    """A tree written into the policy."""

    tree: Annotated[
        dict[str, Any],
        WithJsonSchema({"type": "object", "description": "node name -> table of nodes, or list of values"}),
    ]
    """Node name -> table of nodes, or list of values."""

    @field_validator("tree", mode="before")
    @classmethod
    def _is_tree(cls, tree: object) -> object:
        if not isinstance(tree, Mapping) or not tree:
            raise wrong(f"must be a table of nodes, not {shown(tree)}", 'for example { north = ["a", "b"] }')
        _check_nodes(tree, ())
        return tree


def _check_nodes(node: object, path: tuple[str, ...]) -> None:
    here = " > ".join(path)
    if len(path) > 64:
        raise wrong(f"is deeper than 64 levels below {path[0]}")
    if isinstance(node, Mapping):
        for name, below in node.items():
            _check_nodes(below, (*path, str(name)))
    elif isinstance(node, list | tuple):
        for item in node:
            _check_nodes(item, path)
    elif not isinstance(node, str | int | float | dt.date):
        raise wrong(f"node {here} holds {shown(node)}", "nodes are tables of nodes, or lists of values")


HIERARCHY_KINDS: dict[str, type[Part]] = {
    "widths": Widths,
    "cuts": Cuts,
    "mask": Mask,
    "dates": Dates,
    "tree": Tree,
}


def _hierarchy_kind(value: object) -> str | None:
    if isinstance(value, Part):
        return next((f"<{kind}>" for kind, part in HIERARCHY_KINDS.items() if isinstance(value, part)), None)
    if isinstance(value, Mapping):
        return next((f"<{kind}>" for kind in HIERARCHY_KINDS if kind in value), "<unknown>")
    return "<text>"


def _no_kind(value: object) -> object:
    first = next(iter(value), "") if isinstance(value, Mapping) else ""
    raise wrong(f"{shown(value)} is no kind of hierarchy", did_you_mean(str(first), HIERARCHY_KINDS))


def _hierarchy_text(value: object) -> object:
    import os

    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if not isinstance(value, str) or not value:
        raise wrong(
            f"must be the name of a file, 'auto', 'none', or a table, not {shown(value)}",
            "for example { widths = [5, 10] }",
        )
    return value


HierarchySpec = Annotated[
    Annotated[
        str,
        BeforeValidator(_hierarchy_text),
        Field(description="a CSV file, relative to the policy; or `auto`; or `none`"),
        Tag("<text>"),
    ]
    | Annotated[Widths, Tag("<widths>")]
    | Annotated[Cuts, Tag("<cuts>")]
    | Annotated[Mask, Tag("<mask>")]
    | Annotated[Dates, Tag("<dates>")]
    | Annotated[Tree, Tag("<tree>")]
    | Annotated[Any, PlainValidator(_no_kind), WithJsonSchema({"not": {}}), Tag("<unknown>")],
    Discriminator(_hierarchy_kind),
]
