"""`look_at`: propose a policy for a table, with the reason for each guess; `suggest`: the policy alone."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import polars as pl

from shoal import io
from shoal.coding.roles import QUASI, ROLES, SENSITIVE
from shoal.errors import DataError, check_known
from shoal.io import FORMATS, Frame, ReadOptions
from shoal.policy import Data, Policy
from shoal.policy.file_limits import for_file
from shoal.policy.overrides import read_as
from shoal.policy.suggestions.column_uniqueness import (
    ColumnSet,
    MinimalSets,
    find_identifying_sets,
    minimal_sets,
)
from shoal.policy.suggestions.guess import Guess, guess_columns
from shoal.policy.suggestions.read_suggestions import as_written
from shoal.policy.suggestions.sensitivity import (
    Distribution,
    Protection,
    distribution_of,
    protect_columns,
)
from shoal.support.wording import printable

MOST_COLUMNS = 10_000
"""Columns of the widest table that a policy is suggested for: more of them are rarely about people one by one."""


@dataclass(frozen=True)
class Suggestion:
    """A proposed policy, and the reasons for it. It holds no row of the table, and no value except codes for missing,
    and words that occur often among dates or numbers.
    """

    rows: int
    columns: tuple[Guess, ...]
    """The role, the reason and the hierarchy of each column."""
    identifying: tuple[ColumnSet, ...]
    """How identifying the raw columns are: the worst sets of 1, 2 and 3 quasi-identifiers, and all of them."""
    minimal: MinimalSets
    """Which few quasi-identifiers single rows out, although no part of them does."""
    looked_at: int
    """How many rows the shares in `identifying` were counted on: all, or a sample if the table is very long."""
    k: int
    distributions: tuple[Distribution, ...] = ()
    """How the values of each sensitive column are distributed."""
    protections: tuple[Protection, ...] = ()
    """What to require for each sensitive column, chosen by its distribution."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """Reading options to write into the policy."""
    notation: str = ""
    """How numbers are written in the file, if not as usual, in words."""
    types: Mapping[str, pl.DataType] = field(default_factory=dict)
    """The types of the columns, as the policy reads them."""
    template: str = ""
    """The template that the policy follows."""

    def with_template(self, name: str, small: Sequence[str] | None = None) -> Suggestion:
        """Return the suggestion with a template: one of `PRESETS`. `small` are the three-digit areas of zip codes that
        have 20,000 people or fewer.
        """
        from shoal.policy.suggestions.presets import PRESETS

        check_known("template", name, PRESETS)
        given = {guess.name: {"role": guess.role, "hierarchy": guess.hierarchy} for guess in self.columns}
        after, reasons = PRESETS[name].apply_to({"columns": given}, self.types, small)
        left = [own for own in self.distributions if after["columns"][own.name]["role"] == SENSITIVE]
        columns = tuple(
            _change_guess(guess, after["columns"][guess.name], reasons.get(guess.name, ""))
            for guess in self.columns
        )
        return dataclasses.replace(
            self, columns=columns, template=name, protections=PRESETS[name].protect(left)
        )

    def names(self, role: str) -> tuple[str, ...]:
        """Return the columns of a role."""
        return tuple(guess.name for guess in self.columns if guess.role == role)

    def summary(self) -> dict[str, Any]:
        """Return everything as plain data, for JSON."""
        return {
            "rows": self.rows,
            "looked_at": self.looked_at,
            "columns": [
                {
                    "name": guess.name,
                    "role": guess.role,
                    "reason": guess.reason,
                    "hierarchy": guess.hierarchy,
                    "distinct": guess.distinct,
                    "warning": guess.warning,
                    "reading": {
                        name: value
                        for name, value in dataclasses.asdict(guess.reading).items()
                        if value not in ("", ())
                    },
                    "told": list(guess.told),
                    "loses": dataclasses.asdict(guess.loss) if guess.loss is not None else None,
                    **guess.more,
                }
                for guess in self.columns
            ],
            "identifying": [
                {"columns": list(one.columns), "unique_rows": one.unique, "share": one.share}
                for one in self.identifying
            ],
            "singled_out": {
                "columns_at_most": self.minimal.size,
                "rows": self.minimal.rows,
                "share": self.minimal.share,
                "minimal": [
                    {"columns": list(one.columns), "rows": one.unique, "share": one.share}
                    for one in self.minimal.worst
                ],
            },
            "k": self.k,
            "requirements": [dataclasses.asdict(one) for one in self.protections],
            "notation": self.notation,
            **({"template": self.template} if self.template else {}),
        }

    def to_toml(self) -> str:
        """Return a commented policy file that can be used as it is."""
        from shoal.policy.suggestions.policy_writer import policy_text

        return policy_text(self)


def suggest(source: Any, *, data: Mapping[str, Any] | None = None) -> Policy:
    """Look at a table, a path or a frame, and return a policy to start from, as ``shoal init`` writes it.

    Every role in it is a guess: read it (``print(policy.to_toml())``) and correct it before you use it. `data` says
    how to read a file, as in the policy: ``data={"encoding": "latin-1"}``. Warns of values that have to be corrected
    first, such as dates whose format is unclear.
    """
    found = look_at(io.read(source, read_as(data or {})), together=True)
    for guess in found.columns:
        if guess.warning:
            warnings.warn(printable(f"{guess.name}: {guess.warning}"), stacklevel=2)
    return Policy.from_toml(found.to_toml())


def look_at(frame: Any, *, together: bool = False) -> Suggestion:
    """Look at a table and propose a policy: how to read it, roles by name, content and uniqueness, hierarchies
    by type and distribution.

    `frame` is a polars frame, or what `shoal.io.read` returns; then the policy gets its reading options. With
    `together`, Shoal also makes one release by Mondrian, to say what each column loses together with the others.
    O(rows x columns), and about eighty groupings of at most 500,000 rows to see how identifying the columns are
    together.
    """
    notation = ""
    if len(frame.columns) > MOST_COLUMNS:
        raise DataError(
            f"the table has {len(frame.columns):,} columns, and Shoal suggests roles for at most {MOST_COLUMNS:,}: "
            "keep the columns that describe people, and drop the others; for text, check the delimiter"
        )
    if isinstance(frame, Frame):
        frame, notation = as_written(frame)
    table: pl.DataFrame = frame if isinstance(frame, pl.DataFrame) else frame.data
    if table.height == 0 or table.width == 0:
        raise DataError(f"the table is empty: it has {table.height:,} rows and {table.width:,} columns")
    k = _size(table.height)
    guesses, table = guess_columns(table, frame.options if isinstance(frame, Frame) else ReadOptions(), k)
    if together:
        guesses = _with_losses(guesses, table, k)
    sensitive = [guess for guess in guesses if guess.role == SENSITIVE]
    quasi = [guess.name for guess in guesses if guess.role == QUASI]
    sets, looked_at = find_identifying_sets(table, quasi)
    distributions = tuple(distribution_of(table[guess.name]) for guess in sensitive)
    return Suggestion(
        rows=table.height,
        columns=guesses,
        identifying=sets,
        minimal=minimal_sets(table, quasi),
        looked_at=looked_at,
        k=k,
        distributions=distributions,
        protections=protect_columns(distributions, k),
        data=_find_reading_options(frame) if isinstance(frame, Frame) else {},
        notation=notation,
        types=dict(table.schema),
    )


def _with_losses(guesses: tuple[Guess, ...], table: pl.DataFrame, k: int) -> tuple[Guess, ...]:
    """Return guesses with what each quasi-identifier loses in a release of all of them."""
    from shoal.policy.suggestions.context_loss import losses_together

    found = losses_together(table, {one.name: one.hierarchy for one in guesses if one.role == QUASI}, k)
    if found is None:
        return guesses
    return tuple(
        guess
        if guess.loss is None or guess.name not in found.losses
        else dataclasses.replace(
            guess, loss=dataclasses.replace(guess.loss, together=found.losses[guess.name], rows=found.rows)
        )
        for guess in guesses
    )


def _change_guess(guess: Guess, entry: Mapping[str, Any], why: str) -> Guess:
    """Return a guess with the entry that a template has for the column."""
    more = {key: value for key, value in entry.items() if key not in ("role", "hierarchy")}
    if guess.loss is not None:  # the other columns have changed, too
        guess = dataclasses.replace(guess, loss=dataclasses.replace(guess.loss, together=None))
    if not why:
        return dataclasses.replace(guess, more=more)
    removed = ROLES[entry["role"]].removed
    return dataclasses.replace(
        guess,
        role=entry["role"],
        reason=f"{why}; {guess.reason}",
        hierarchy=None if removed else entry.get("hierarchy"),
        advice="" if removed else guess.advice,
        loss=None,
        more=more,
    )


def _find_reading_options(frame: Frame) -> dict[str, Any]:
    """Return the reading options, given or detected, that differ from the defaults and from common values."""
    if frame.stored is not None:
        stored = frame.stored
        source = for_file(stored.source) if isinstance(stored.source, str) else None
        named = {"source": source, "table": stored.table, "query": stored.query}
        return {name: value for name, value in named.items() if isinstance(value, str)}
    if frame.path is None:
        return {}
    usual = {"delimiter": (",",), "encoding": ("utf-8", "utf8", "utf-8-sig"), "quote": ('"',)}
    return {
        option.name: value
        for option in fields(frame.options)
        if option.name in Data.model_fields
        and (value := getattr(frame.options, option.name)) != option.default
        and value not in usual.get(option.name, ())
        and option.name not in FORMATS[frame.kind].told_by_name
    }


def _size(rows: int) -> int:
    """Return the usual k, or a smaller one if a short table would have too few classes."""
    return 5 if rows >= 50 else 3 if rows >= 9 else 2


__all__ = ["ColumnSet", "Guess", "Suggestion", "look_at", "suggest"]
