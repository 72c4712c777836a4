"""What each column of a table seems to be, and how it could be generalized."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from shoal.coding.hierarchy.date_text import DateText, dates_in
from shoal.coding.roles import ROLES
from shoal.io import ReadOptions
from shoal.io.read_options import ColumnReading
from shoal.policy.suggestions.column_loss import OwnLoss, own_loss
from shoal.policy.suggestions.content_rules import contacts_in, is_row_key, role_by_content
from shoal.policy.suggestions.hierarchy_guess import Spec, suggest_hierarchy
from shoal.policy.suggestions.known_columns import find_missing_words
from shoal.policy.suggestions.read_suggestions import AS_IT_IS, Told, read_words_as_null, suggest_reading
from shoal.policy.suggestions.vocabulary import (
    is_household,
    is_key,
    is_numbering,
    is_survey_weight,
    names_people,
    role_by_name,
    says_survey_weights,
)
from shoal.support.brief import Brief

REPEATED = (
    "values of this key repeat: if it says whose a row is, give it the role person, "
    "so that guarantees count people"
)
WEIGHTS = "if it holds survey weights (people that a row stands for), give it the role weight; rare weights identify"
"""What to do with a column that may hold survey weights."""
SHARED = (
    "values of this column repeat: if it says which rows are of one household, give it the role person and "
    'group = "household", so that guarantees count households, too'
)
FEW_ANSWERS = 4
"""With at most this many values in many rows, a column answers a question and names nobody."""
FEW_WEIGHTS = 0.2
"""Weights with more distinct values per row would identify people, so Shoal does not propose to publish them."""
FEW_ROWS = 20
"""With fewer rows, distinct numbers mean nothing: the ages of a dozen people may all differ too."""
FREE_TEXT = 40
"""Texts with at least this mean length count as free text."""


@dataclass(frozen=True)
class Guess:
    """What a column seems to be."""

    name: str
    role: str
    reason: str
    """Why, in a few words; contains no values of the column."""
    hierarchy: Spec = None
    distinct: int = 0
    advice: str = ""
    """What to think about before publishing."""
    warning: str = ""
    """What is wrong with the values and has to be corrected first."""
    reading: ColumnReading = AS_IT_IS
    """How its cells should be read."""
    told: tuple[str, ...] = ()
    """Why they should be read so; it names codes for missing, and no other value."""
    loss: OwnLoss | None = None
    """What the hierarchy would lose by itself."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """What else a template says about the column."""


@dataclass(frozen=True, repr=False)
class _Facts(Brief):
    """What is counted about a column before any guess."""

    name: str
    values: pl.Series
    rows: int
    filled: int
    distinct: int
    """Distinct values, null included."""
    written: DateText | None = None
    """The format of the dates, if texts look like dates."""
    labels: Mapping[Any, str] | None = None
    """The names of its codes, if the file has them."""

    @property
    def dtype(self) -> pl.DataType:
        return self.values.dtype

    @property
    def spread(self) -> float:
        """Distinct values per filled row."""
        return (self.distinct - (self.filled < self.rows)) / max(self.filled, 1)

    @property
    def distinct_in_words(self) -> str:
        if self.distinct == 1:
            return "the same value in every row"
        values = f"{self.distinct:,} distinct values"
        return f"{values} in {self.rows:,} rows" if self.spread > 0.1 else values


def guess_columns(
    table: pl.DataFrame, options: ReadOptions, k: int
) -> tuple[tuple[Guess, ...], pl.DataFrame]:
    """Guess how to read every column, its role and a hierarchy, and return the table as it would be read.

    At least one column becomes a quasi-identifier.
    """
    read = [_read_column(column, options) for column in table]
    labels = options.labels.values
    guesses = _with_roles_of_tables(
        tuple(_guess(_facts(own.values, labels.get(own.values.name)), own, k) for own in read), table.height
    )
    # A column that is not published need not be read in any way.
    as_read = pl.DataFrame(
        {
            column.name: own.values if guess.reading != AS_IT_IS else column
            for column, own, guess in zip(table, read, guesses, strict=True)
        }
    )
    return _with_quasi(guesses), as_read


def _with_roles_of_tables(guesses: tuple[Guess, ...], rows: int) -> tuple[Guess, ...]:
    """Give roles that only one column of a table can have: the person ID, next to a key of the rows, and weights."""
    found = list(guesses)
    keys = [guess for guess in guesses if guess.role == "identifier" and is_numbering(guess.name)]
    repeated = [guess for guess in keys if 1 < guess.distinct < rows and names_people(guess.name)]
    if len(repeated) == 1 and any(guess.distinct == rows for guess in keys):
        place = found.index(repeated[0])
        reason = f"numbers people, who have several rows: guarantees count people; {repeated[0].reason}"
        found[place] = replace(repeated[0], role="person", reason=reason, warning="")
    weights = [
        guess
        for guess in guesses
        if guess.advice == WEIGHTS
        and says_survey_weights(guess.name)
        and guess.distinct <= FEW_WEIGHTS * rows
    ]
    for guess in weights:
        first = guess is weights[0]
        reason = (
            "survey weights by its name" if first else f"survey weights, next to those of {weights[0].name}"
        )
        advice = (
            "published as it is; rare weights identify people"
            if first
            else "a policy has one column of weights"
        )
        place = found.index(guess)
        found[place] = replace(
            guess,
            role="weight" if first else "drop",
            reason=f"{reason}; {guess.distinct:,} distinct values",
            hierarchy=None,
            advice=advice,
            loss=None,
        )
    return tuple(found)


def _read_column(column: pl.Series, options: ReadOptions) -> Told:
    """Return how a column should be read, if nobody has said so."""
    if column.name in options.columns:
        return Told(column, options.columns[column.name])
    own = suggest_reading(column, options, options.labels.values.get(column.name))
    words = find_missing_words(column.name, column) if own.reading == AS_IT_IS else ()
    return read_words_as_null(column, words) if words else own


def _with_quasi(guesses: tuple[Guess, ...]) -> tuple[Guess, ...]:
    if any(guess.role == "quasi" for guess in guesses):
        return guesses
    # A policy needs a quasi-identifier: take the column whose role is least certain.
    order = {"plain": 0, "sensitive": 1, "identifier": 2, "drop": 3}
    chosen = min(range(len(guesses)), key=lambda i: (guesses[i].distinct == 0, order[guesses[i].role]))
    former = guesses[chosen]
    promoted = replace(
        former,
        role="quasi",
        hierarchy="none",
        reason=f"a policy needs a quasi-identifier, and no column looks like one; else {former.role}: {former.reason}",
    )
    return tuple(promoted if i == chosen else guess for i, guess in enumerate(guesses))


def _facts(values: pl.Series, labels: Mapping[Any, str] | None = None) -> _Facts:
    filled = len(values) - values.null_count()
    try:
        distinct = values.n_unique()
    except pl.exceptions.PolarsError:
        distinct = len(values)  # nested and binary objects cannot always be counted
    return _Facts(values.name, values, len(values), filled, distinct, dates_in(values), labels)


def _guess(facts: _Facts, own: Told, k: int) -> Guess:
    role, reason, advice = _role(facts)
    if is_survey_weight(facts.name) and facts.dtype.is_numeric():
        advice = WEIGHTS
    hierarchy: Spec = None
    if role == "quasi":
        hierarchy = suggest_hierarchy(facts.name, facts.values, facts.distinct, labels=facts.labels)
    distinct = 0 if facts.filled == 0 else facts.distinct
    guess = Guess(facts.name, role, reason, hierarchy, distinct, advice, own.warning)
    if ROLES[role].removed:
        if role != "identifier" or not 1 < facts.distinct < facts.filled:
            return replace(guess, warning="")
        repeated = REPEATED if is_numbering(facts.name) else ""
        return replace(guess, warning=SHARED if is_household(facts.name) else repeated)
    loss = None if hierarchy is None else own_loss(facts.values, hierarchy, k)
    shared = is_household(facts.name) and is_numbering(facts.name) and 1 < facts.distinct < facts.filled
    warning = own.warning or (SHARED if shared else "")
    return replace(guess, reading=own.reading, told=own.reasons, loss=loss, warning=warning)


def _role(facts: _Facts) -> tuple[str, str, str]:
    """Return role, reason and advice. Names decide first, then uniqueness, then type; in doubt the safer role."""
    if facts.filled == 0:
        return "drop", "empty: there is nothing to publish", ""
    if facts.dtype.is_nested() or facts.dtype in (pl.Binary, pl.Object):
        return (
            "identifier",
            f"values of type {facts.dtype.base_type()} cannot be generalized",
            "split it into simple columns first",
        )
    by_name = role_by_name(facts.name)
    if by_name is not None and by_name[0] == "identifier" and _answers_a_question(facts):
        by_name = "quasi", by_name[1]
    identifying = _find_identifying(facts, by_name)
    if identifying is not None:
        return identifying
    if by_name is not None:
        return by_name[0], f"its name says '{by_name[1]}'; {facts.distinct_in_words}", ""
    by_content = role_by_content(facts.name, facts.values, facts.distinct)
    if by_content is not None:
        reason = f"its name and its values suggest '{by_content[1]}'; {facts.distinct_in_words}"
        return by_content[0], reason, ""
    return _role_by_values(facts)


def _answers_a_question(facts: _Facts) -> bool:
    """Return whether a column has a few values for many rows, as `phone_service` has: it names nobody."""
    if not 2 <= facts.distinct <= FEW_ANSWERS or facts.rows < 20 * facts.distinct or is_key(facts.name):
        return False
    return not bool(facts.values.cast(pl.String, strict=False).str.contains(r"[0-9]{2}").any())


def _find_identifying(facts: _Facts, by_name: tuple[str, str] | None) -> tuple[str, str, str] | None:
    """Return role, reason and advice of a column whose name or texts identify people; None for other columns."""
    text = facts.dtype == pl.String
    advice = ""
    if by_name is not None and by_name[0] == "identifier":
        reason = f"its name says '{by_name[1]}'"
    elif text and facts.distinct > 3 and _mean_length(facts.values) > FREE_TEXT:
        reason, advice = "looks like free text", "texts may name people; read them before you publish them"
    elif text and (contacts := contacts_in(facts.values)):
        reason = f"looks like {contacts}"
    elif _numbers_cases(facts, by_name):
        reason = "its name and its values say that it is a key"
    else:
        return None
    return "identifier", f"{reason}; {facts.distinct_in_words}", advice


def _role_by_values(facts: _Facts) -> tuple[str, str, str]:
    """Return role, reason and advice of a column whose name says nothing."""
    if facts.distinct == 1:
        return "plain", "the same in every row", ""
    role, advice = "quasi", "make it plain if nobody else can know it, sensitive if nobody should"
    if facts.dtype == pl.String and facts.spread > 0.5 and facts.filled > 2 and facts.written is None:
        role, reason, advice = "identifier", "most rows have a value that no other row has", ""
    elif facts.dtype.is_numeric() and facts.spread > 0.9 and facts.rows >= FEW_ROWS:
        reason = "a measure with many digits, which may identify people"
        if is_row_key(facts.values):
            role, reason = "identifier", "nearly every row has a number that no other row has"
            advice = "make it plain if nobody else can know these numbers, quasi if somebody can"
    elif facts.dtype.is_temporal() or facts.written is not None:
        reason, advice = "other people often know the dates of events", ""
    else:
        reason = "other people may know it, so to be safe it is generalized"
    return role, f"{reason}; {facts.distinct_in_words}", advice


def _numbers_cases(facts: _Facts, by_name: tuple[str, str] | None) -> bool:
    """Return whether a column whose name may sound sensitive numbers loans, cases or people: such a column would be
    published as it is, and find the person in any other file.
    """
    if by_name is not None and by_name[0] not in ("sensitive", "plain"):
        return False
    if is_numbering(facts.name) and facts.spread > 0.2 and facts.distinct > 1:
        return True
    if facts.rows < FEW_ROWS or facts.spread <= 0.9:
        return False
    if facts.dtype == pl.String:
        return facts.written is None
    # A word in full, such as salary, says more than that amounts have one length.
    return by_name is None and facts.dtype.is_numeric() and is_row_key(facts.values)


def _mean_length(values: pl.Series) -> float:
    return float(values.head(10_000).drop_nulls().str.len_chars().mean() or 0)  # type: ignore[arg-type]
