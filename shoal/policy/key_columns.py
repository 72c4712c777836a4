"""`[privacy.keys]`: which quasi-identifiers an adversary knows of a person, if not all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from shoal.coding.roles import QUASI
from shoal.errors import Problem, did_you_mean
from shoal.judging.models.known_columns import MOST_SETS, KeySets, KnownColumns
from shoal.policy.section import Part, Text, Whole, wrong
from shoal.support.wording import format_value

if TYPE_CHECKING:
    from shoal.policy.draft import Draft
    from shoal.policy.privacy import Privacy

EXAMPLE = 'for example any = 3, or sets = [["age", "zip"], ["job", "town"]]'
TOGETHER = ("k", "keys")
"""The keys of `[privacy]` that go together with sets of columns."""


def _table_of_keys(value: object) -> object:
    """Ask for a table."""
    if isinstance(value, dict | KeyColumns):
        return value
    raise wrong(f"must be a table, not {format_value(value)}", EXAMPLE)


class KeyColumns(Part):
    """The sets of quasi-identifiers of which an adversary knows one. `k` then holds for each set."""

    any: Annotated[Whole, Field(ge=1)] | None = None
    """The adversary knows any so many quasi-identifiers of a person, or fewer."""
    sets: Annotated[tuple[tuple[Text, ...], ...], Field(min_length=1)] | None = None
    """The sets of quasi-identifiers that the adversary may know, such as `[["age", "zip"], ["job", "town"]]`."""

    @model_validator(mode="after")
    def _names_sets(self) -> KeyColumns:
        if self.any is None and self.sets is None:
            raise wrong("names no columns", EXAMPLE)
        return self

    @property
    def known_sets(self) -> KeySets:
        """The sets of which the adversary knows one."""
        return KeySets(self.any or 0, self.sets or ())

    def model(self, k: int) -> KnownColumns:
        """Return the model for these sets."""
        return KnownColumns(k=k, keys=self.known_sets)


KeysOrNothing = Annotated[KeyColumns, BeforeValidator(_table_of_keys)] | None


def key_problems(privacy: Privacy, draft: Draft) -> Iterator[Problem]:
    """Yield what is wrong with the sets of columns, given the columns and the other requirements."""
    keys = privacy.keys
    if keys is None:
        return
    if privacy.k is None:
        yield Problem("privacy.keys", "says what an adversary knows, but k is not set", "for example k = 5")
    others = {"notion": privacy.notion, "adversary": privacy.adversary, "earlier": privacy.earlier}
    asked: dict[str, Any] = {**privacy.values_by_key, **others}
    for key, value in asked.items():
        if value is not None and key not in TOGETHER:
            message = "is about an adversary who knows all quasi-identifiers, unlike privacy.keys"
            yield Problem(f"privacy.{key}", message, f"leave out {key}, or leave out privacy.keys")
    quasi = draft.names(QUASI)
    if keys.any is not None and keys.any > len(quasi) > 0:
        message = f"must be at most {len(quasi)}, the number of quasi-identifiers, not {keys.any}"
        hint = "leave out privacy.keys if the adversary may know all of them"
        yield Problem("privacy.keys.any", message, hint)
    else:
        count = keys.known_sets.count_among(len(quasi))
        if count > MOST_SETS:
            message = f"{count:,} sets of columns are too many to count, the limit is {MOST_SETS:,}"
            yield Problem("privacy.keys", message, "ask for fewer columns, or name the sets")
    yield from _set_problems(keys.sets or (), quasi, draft)


def _set_problems(sets: tuple[tuple[str, ...], ...], quasi: Sequence[str], draft: Draft) -> Iterator[Problem]:
    """Yield what is wrong with each named set."""
    seen: dict[frozenset[str], int] = {}
    for number, own in enumerate(sets):
        path = f"privacy.keys.sets[{number}]"
        if not own:
            yield Problem(path, "is empty", "name at least one quasi-identifier, or leave the set out")
            continue
        for name in dict.fromkeys(own):
            if own.count(name) > 1:
                yield Problem(path, f"lists '{name}' twice", "once is enough")
            if name not in quasi:
                role = draft.columns[name].role if name in draft.columns else None
                if role is None:
                    yield Problem(path, f"'{name}' is not a column of the policy", did_you_mean(name, quasi))
                else:
                    hint = "an adversary finds people by quasi-identifiers: leave the column out, or change its role"
                    yield Problem(path, f"'{name}' is {role}, not a quasi-identifier", hint)
        former = seen.setdefault(frozenset(own), number)
        if former != number:
            yield Problem(path, f"has the same columns as sets[{former}]", "leave one of them out")
