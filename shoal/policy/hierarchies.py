"""How a column may be generalized, as it is written in a policy."""

from __future__ import annotations

import datetime as dt
import itertools
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
from shoal.policy.part import Part, shown, wrong

Point = Annotated[
    int | float | dt.date | dt.datetime,
    PlainValidator(lambda value: _point(value)),
    WithJsonSchema({"type": ["number", "string"], "description": "a number, or a date"}),
]
"""A place on the axis of an ordered column."""


Width = Annotated[
    int | float,
    PlainValidator(lambda value: _width(value)),
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0}),
]
"""A positive number, kept whole where it is written whole."""


def _point(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float | dt.date):
        raise wrong(f"must be a number or a date, not {shown(value)}")
    if isinstance(value, float) and value - value != 0:
        raise wrong(f"must be a finite number, not {value}")
    return value


def _width(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong(f"must be a number, not {shown(value)}")
    if not 0 < value < float("inf"):
        raise wrong(f"must be more than 0, not {value}")
    return value


def _growing(values: tuple[Any, ...], what: str) -> None:
    for before, after in itertools.pairwise(values):
        try:
            fine = before < after
        except TypeError:
            raise wrong(f"{what} must be all numbers or all dates") from None
        if not fine:
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


class Mask(Part):
    """Characters of a code are replaced by `*`, one more at each level."""

    mask: Literal["right", "left"]
    """The side from which characters are hidden."""


DATE_LEVELS = ("day", "month", "quarter", "year", "decade")


class Dates(Part):
    """Dates become months, quarters, years, decades."""

    dates: Annotated[tuple[Literal["day", "month", "quarter", "year", "decade"], ...], Field(min_length=1)]
    """The levels, from fine to coarse."""

    @field_validator("dates")
    @classmethod
    def _coarser(cls, levels: tuple[str, ...]) -> tuple[str, ...]:
        places = [DATE_LEVELS.index(level) for level in levels]
        if places != sorted(set(places)):
            raise wrong(
                f"levels must go from fine to coarse, not {', '.join(levels)}",
                "the order is: " + ", ".join(DATE_LEVELS),
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
    if isinstance(node, Mapping):
        for name, below in node.items():
            if not isinstance(name, str):
                raise wrong(f"node names must be text, not {shown(name)}")
            _check_nodes(below, (*path, name))
    elif isinstance(node, list | tuple):
        if not node:
            raise wrong(f"node {here} is empty", "list its values")
        for value in node:
            if isinstance(value, Mapping | list | tuple) or value is None:
                raise wrong(
                    f"node {here} lists {shown(value)}", "a list holds values; nodes below go in a table"
                )
    else:
        raise wrong(f"node {here} must be a table of nodes or a list of values, not {shown(node)}")


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
