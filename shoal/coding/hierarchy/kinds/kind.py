"""`Kind`: a way to say how a column may be generalized. `TableKind`: one that a policy spells as a table."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from shoal.coding.hierarchy.meanings import Meaning, Reader, all_read, value, without
from shoal.errors import HierarchyError, did_you_mean
from shoal.support.wording import format_value

if TYPE_CHECKING:
    import polars as pl

    from shoal.coding.hierarchy.tree import Hierarchy


class Flaw(NamedTuple):
    """One thing that is wrong with the spelling of a hierarchy."""

    keys: tuple[str | int, ...]
    """Where, below the hierarchy: ``("widths", 0)``."""
    message: str
    hint: str = ""

    def __str__(self) -> str:
        where = "".join(f"[{key}]" if isinstance(key, int) else str(key) for key in self.keys)
        hint = f" ({self.hint})" if self.hint else ""
        return f"{where or 'the hierarchy'} {self.message}{hint}"


class Misspelled(HierarchyError):
    """What a policy spells is not a hierarchy; `flaws` lists all reasons."""

    def __init__(self, flaws: Sequence[Flaw]) -> None:
        self.flaws = tuple(flaws)
        super().__init__("; ".join(map(str, self.flaws)))


@dataclass(frozen=True)
class Kind(ABC):
    """A way to say how a column may be generalized."""

    name: ClassVar[str]
    """Its name in the registry, and the word or key that a policy spells."""
    example: ClassVar[Any]
    """How a policy spells it; the documentation shows the same."""
    builder: ClassVar[str]
    """``module:function`` that makes the hierarchy, so that checking a policy does not import polars."""
    meaning: ClassVar[str]
    """What values become, for the report."""
    knows_domain: ClassVar[bool] = False
    """Whether the hierarchy lists all values that a column may have, without the data."""
    has_bounds: ClassVar[bool] = False
    """Whether its labels have ends, where values are numbers or dates."""
    by_calendar: ClassVar[bool] = False
    """Whether its labels are units of the calendar, whose ends are days."""
    names_values: ClassVar[bool] = True
    """Whether names of nodes contain single values of the data, which a public report must not show."""

    @property
    def hides(self) -> bool:
        """Whether some values are never shown as they are, such as ages of 90 or more."""
        return False

    def tells_more(self, label: str) -> bool | None:
        """Whether a label tells values apart that are never told apart, from its text alone; None if nobody can know.
        The elements of a set are labels. Only called where `hides`.
        """
        return None

    @classmethod
    @abstractmethod
    def claims(cls, spec: object) -> bool:
        """Whether a policy that spells this means a hierarchy of this kind."""

    @classmethod
    @abstractmethod
    def parse(cls, spec: Any) -> Self:
        """Parse the value that a policy has for this kind, or raise `Misspelled`."""

    @classmethod
    @abstractmethod
    def schema(cls) -> dict[str, Any]:
        """Return the JSON schema of its spelling; policies add the docstrings of the fields."""

    def settings(self) -> dict[str, Any]:
        """Return what was spelled, without settings at their default; the builder gets it together with the values."""
        return {
            entry.name: getattr(self, entry.name)
            for entry in fields(self)
            if entry.default is MISSING or getattr(self, entry.name) != entry.default
        }

    def build(self, values: pl.Series) -> Hierarchy:
        """Make the hierarchy of a column from its distinct values, or raise `HierarchyError`."""
        module, _, function = self.builder.partition(":")
        made: Hierarchy = getattr(import_module(module), function)(values, **self.settings())
        return replace(made, hiding=self) if self.hides else made

    def describe(self, *, free: bool) -> str:
        """Say in a report what values become; `free` if the column may be published as any range."""
        return self.meaning

    readers: ClassVar[tuple[Reader, ...]] = ()
    """How labels of this kind are read from their text; the first that reads all labels of a column counts."""

    def meanings(self, labels: Sequence[str], limit: int | Sequence[str] | None = None) -> list[Meaning]:
        """Return what labels of a column mean, from their text and the policy alone: the values that the policy lists
        for them, if it lists all, else what their text says. Labels that no reader knows are values. `limit` is the
        generalization limit of the column.
        """
        if self.knows_domain:
            from shoal.coding.hierarchy.node_contents import contents_of

            return contents_of(self, labels, limit)
        found = all_read(labels, *self.readers) or [value(label) for label in labels]
        if limit is None or isinstance(limit, int):
            return found
        return without(found, self.meanings(limit), limit)


class WordKind(Kind):
    """A kind that a policy spells as its name."""

    @classmethod
    def claims(cls, spec: object) -> bool:
        """Whether the word is the name of the kind."""
        return isinstance(spec, str) and spec == cls.name

    @classmethod
    def parse(cls, spec: Any) -> Self:
        """Return the kind; a word has no settings."""
        return cls()

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """Return that the word is fixed."""
        return {"const": cls.name, "description": (cls.__doc__ or "").splitlines()[0]}


class TableKind(Kind):
    """A kind that a policy spells as a table with its name as a key. Subclasses are frozen dataclasses.

    One field has the name of the kind; the others are settings with defaults.
    """

    shapes: ClassVar[Mapping[str, Mapping[str, Any]]]
    """The JSON schema of each field."""

    def __post_init__(self) -> None:
        """Refuse what is not a hierarchy. Lists become tuples, so that policies can be compared."""
        for entry in fields(self):
            object.__setattr__(self, entry.name, _frozen(getattr(self, entry.name)))
        found = list(self.flaws())
        if found:
            raise Misspelled(found)

    def flaws(self) -> Iterator[Flaw]:
        """Yield what is wrong with the settings."""
        return iter(())

    @classmethod
    def claims(cls, spec: object) -> bool:
        """Whether the table has the name of the kind as a key."""
        return isinstance(spec, Mapping) and spec.get(cls.name) is not None

    @classmethod
    def parse(cls, spec: Any) -> Self:
        """Return the hierarchy that the table spells."""
        known = [entry.name for entry in fields(cls)]
        flaws = [
            Flaw((str(key),), "is unknown here", did_you_mean(str(key), known))
            for key in spec
            if key not in known
        ]
        try:
            made = cls(**{key: value for key, value in spec.items() if key in known and value is not None})
        except Misspelled as error:
            raise Misspelled([*flaws, *error.flaws]) from None
        if flaws:
            raise Misspelled(flaws)
        return made

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """Return the shape of the table."""
        defaults = {entry.name: entry.default for entry in fields(cls)}
        return {
            "type": "object",
            "description": (cls.__doc__ or "").splitlines()[0],
            "properties": {
                name: {
                    **shape,
                    **({"default": defaults[name]} if defaults[name] not in (MISSING, None) else {}),
                }
                for name, shape in cls.shapes.items()
            },
            "required": [cls.name],
            "additionalProperties": False,
        }


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


def number_flaw(value: object, *keys: str | int, positive: bool = False) -> Iterator[Flaw]:
    """Yield what keeps a value from being a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        yield Flaw(keys, f"must be a number, not {format_value(value)}")
        return
    try:
        finite = math.isfinite(value)
    except OverflowError:
        yield Flaw(keys, "is too large a number", "use numbers up to 1e308")
        return
    if not finite:
        yield Flaw(keys, f"must be a finite number, not {value}")
    elif positive and value <= 0:
        yield Flaw(keys, f"must be more than 0, not {value}")


def list_flaw(value: object, key: str, example: str) -> Iterator[Flaw]:
    """Yield what keeps a value from being a list with entries."""
    if not isinstance(value, tuple):
        yield Flaw((key,), f"must be a list, not {format_value(value)}", example)
    elif not value:
        yield Flaw((key,), "must have at least one entry, not 0", example)


def not_growing(values: Sequence[int | float], *keys: str | int) -> Iterator[Flaw]:
    """Yield the first number that is not larger than the one before."""
    for before, after in pairwise(values):
        if not before < after:
            yield Flaw(keys, f"must grow, but {before} is followed by {after}")
            return
