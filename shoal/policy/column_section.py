"""A column of a policy as a frozen object: what it is, and how it may be generalized."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
)

from shoal.coding.roles import ROLES, Role, find_role
from shoal.judging.models.safe_harbor import WORDS
from shoal.policy.hierarchies import HierarchySpec
from shoal.policy.perturb import Perturb
from shoal.policy.section import Number, Part, Text, wrong
from shoal.support.wording import format_value

if TYPE_CHECKING:
    from shoal.io.read_options import ColumnReading


def _limit(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 0:
            raise wrong(f"must be a level, 0 or higher, not {value}")
        return value
    if isinstance(value, str):
        raise wrong(
            f"must be a level or a list of node names, not {format_value(value)}", f"write [{value!r}]"
        )
    if isinstance(value, list | tuple) and value and all(isinstance(name, str) for name in value):
        return tuple(value)
    raise wrong(f"must be a level or a list of node names, not {format_value(value)}")


def _codes(value: object) -> object:
    """Return codes for missing as texts: a policy may spell numbers as numbers."""
    if not isinstance(value, list | tuple):
        raise wrong(f"must be a list of codes, not {format_value(value)}", f"write [{format_value(value)}]")
    for code in value:
        if isinstance(code, bool) or not isinstance(code, str | int | float):
            raise wrong(f"must hold texts and numbers, not {format_value(code)}")
    return tuple(map(str, value))


def _date_format(value: str) -> str:
    """Refuse formats that do not say the day, or only two digits of the year."""
    signs = set(re.findall(r"%[-_0:.]?([A-Za-z])", value))
    if "y" in signs:
        hint = "1959 and 2059 would be one year; rewrite the column with four digits"
        raise wrong(f"two digits of a year (%y) do not say the century: {format_value(value)}", hint)
    day = {"F"} & signs or (
        "Y" in signs and ("j" in signs or ({"m", "b", "B"} & signs and {"d", "e"} & signs))
    )
    if not day or signs - set("FYmbBdejHIMSpTRfz"):
        raise wrong(
            f"is not the format of a date: {format_value(value)}",
            'for example "%d.%m.%Y" or "%m/%d/%Y %H:%M"',
        )
    return value


class DateText(Part):
    """How the dates of a column are written."""

    format: Annotated[Text, AfterValidator(_date_format)]
    """Signs of strftime, such as `%d.%m.%Y`."""


if TYPE_CHECKING:
    RoleName = Role
else:
    RoleName = Annotated[Literal[tuple(ROLES)], AfterValidator(find_role), PlainSerializer(str)]


class Column(Part):
    """What a column is, and how it may be generalized."""

    role: RoleName = Field(description=" ".join(f"`{role}`: {role.meaning}" for role in ROLES.values()))
    hierarchy: HierarchySpec | None = None
    """A CSV file relative to the policy, `auto`, `none`, or a table with the name of a kind as a key."""
    weight: Annotated[Number, Field(ge=0)] = 1.0
    """How much a loss in this column counts compared with other columns."""
    limit: (
        Annotated[
            int | tuple[str, ...],
            PlainValidator(_limit),
            WithJsonSchema({"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "string"}}]}),
        ]
        | None
    ) = None
    """How far values may be generalized: a level, or the names of the highest allowed nodes."""
    null_values: Annotated[
        tuple[str, ...],
        BeforeValidator(_codes),
        WithJsonSchema({"type": "array", "items": {"type": ["string", "number"]}}),
    ] = ()
    """Codes that mean "no value" in this column, such as `N` or `-9`; in addition to those of `[data]`."""
    dates: DateText | None = None
    """How its dates are written, if not as `1959-01-20`."""
    unit: Text | None = None
    """A text before or after each number, such as `EUR`; only the number is published."""
    show: Literal["bounds"] | None = None
    """`bounds`: also publish the ends of its cells, as columns `NAME_low` and `NAME_high`, for numbers and dates."""
    publish: Literal["pseudonym"] | None = None
    """`pseudonym`: an identifier is published as random tokens, the same for all rows of a person. By default nothing
    of it is published. With the role `person`, rows of a person can be followed, and people look alike, not rows."""
    order: Text | None = None
    """With `publish` on a `person` column: the column by which the rows of a person are compared with those of others,
    first with first and so on. By default the quasi-identifier that loses least on a sample."""
    group: Text | None = None
    """With the role `person`: the column names a group of people, such as a `household`, and guarantees count groups of
    this kind as well as people."""
    perturb: Perturb | None = None
    """Publish other values than the true ones: `{ round = 1000 }`, `{ noise = 0.1 }`, `{ swap = 0.05 }` or
    `{ pram = 0.8 }`. For columns that are not generalized."""
    safe_harbor: Literal[WORDS] | None = None  # type: ignore[valid-type]
    """What the column is under HIPAA Safe Harbor, to be verified on the published cells: `identifier` (one of the 18
    kinds; not published), `zip` (three digits, and 000 for small areas), `date` (years), `birth` (years, and one group
    for people over 89), `age` (one group for ages over 89), `other` (none of them)."""
    protected: tuple[Text, ...] | None = None
    """Nodes of a sensitive column's hierarchy under which all values count as one."""

    def to_reading(self) -> ColumnReading:
        """Return how its cells are read."""
        from shoal.io.read_options import ColumnReading

        return ColumnReading(self.null_values, self.dates.format if self.dates else "", self.unit or "")
