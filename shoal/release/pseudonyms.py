"""Pseudonyms: random tokens instead of identifiers, and what it means that rows can be followed by them.

A token comes from the operating system's randomness, never from the identifier: whoever can guess an identifier could
compute its hash. Nothing but the key table says which token is whose.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from shoal.coding.hierarchy.distinct_values import text_of
from shoal.io import factorize
from shoal.io.sheet import Sheet
from shoal.support.arrays import IntVector
from shoal.support.brief import Brief
from shoal.support.wording import format_count

PSEUDONYM = "pseudonym"
FORM = r"^p[0-9a-f]{16}$"
"""A token begins with a letter, so that no reader takes it for a number."""
_BYTES = 8
_TRIED = 10_000
"""So many identifiers are tried for hashes: if a column holds hashes, nearly all of them are there."""
_COMPARED = 1_000
"""So many cells are compared with identifiers that other signs surround."""
_SHORTEST = 6
"""A token must have so many characters to be taken for the beginning of a hash."""


@dataclass(eq=False, repr=False)
class Pseudonyms(Brief):
    """The tokens of one run: one for each identifier of a column, the same in all tables that are released together."""

    _known: dict[str, dict[str, str]] = field(default_factory=dict)

    def of(self, column: pl.Series) -> pl.Series:
        """Return tokens instead of the identifiers of a column. Rows without an identifier get a token each, so that
        nobody can be found by a missing one. O(rows).
        """
        places, values = factorize(column)
        known = self._known.setdefault(column.name, {})
        texts = text_of(values) if not values.dtype.is_nested() else values.cast(pl.String)
        missing = texts.is_null()
        new = [text for text in texts.to_list() if text is not None and text not in known]
        fresh = self._tokens(len(new) + int(missing.gather(places).sum()))
        known.update(zip(new, fresh, strict=False))
        tokens = pl.Series(
            [None if text is None else known[text] for text in texts.to_list()], dtype=pl.String
        )
        shown = tokens.gather(places).alias(column.name)
        if shown.null_count():
            at = shown.is_null().arg_true()
            shown = shown.scatter(at, fresh[len(new) :])
        return shown

    def _tokens(self, count: int) -> list[str]:
        taken = {token for known in self._known.values() for token in known.values()}
        found: dict[str, None] = {}
        while len(found) < count:
            drawn = os.urandom(_BYTES * (count - len(found))).hex()
            width = 2 * _BYTES
            for at in range(0, len(drawn), width):
                token = f"p{drawn[at : at + width]}"
                if token not in taken:
                    found[token] = None
        return list(found)

    def keys(self) -> pl.DataFrame:
        """Return the private key table: which token stands for which identifier, in an order that tells nothing."""
        rows = [(name, token, text) for name, known in self._known.items() for text, token in known.items()]
        schema = {"column": pl.String, PSEUDONYM: pl.String, "identifier": pl.String}
        return pl.DataFrame(rows, schema=schema, orient="row").sort("column", PSEUDONYM)


@dataclass(frozen=True)
class Followed:
    """How far the rows of a release can be followed by the tokens of one column. All of it is public."""

    name: str
    tokens: int
    """How many different tokens there are."""
    repeated: int
    """How many of them more than one row has."""
    fewest: int
    """The smallest number of different tokens in a class or bucket."""

    def words(self) -> str:
        """Say what it means, for the users of the release and those who decide about it."""
        start = f"'{self.name}' holds pseudonyms: rows with the same one belong to one person and can be followed. "
        if not self.repeated:
            return (
                f"{start}Here each of them occurs once, so they link no rows; but the guarantees no longer hold for "
                "people whose rows in other tables have the same pseudonyms"
            )
        return (
            f"{start}The guarantees are about single rows. They do not protect people whose rows can be followed: "
            f"{self.repeated:,} of {format_count(self.tokens, 'pseudonym')} occur in several rows, and the rows of one "
            f"equivalence class or bucket belong to only {format_count(self.fewest, 'person', 'people')}"
        )


def count_followed(column: pl.Series, group_of: IntVector) -> Followed:
    """Count how many rows each pseudonym connects; `group_of` is the class or bucket of each row. O(rows log rows)."""
    number, values = factorize(column)
    often = np.bincount(number, minlength=len(values))
    pairs = np.unique(group_of.astype(np.int64) * max(len(values), 1) + number)
    per_group = np.unique(pairs // max(len(values), 1), return_counts=True)[1]
    return Followed(column.name, len(values), int((often > 1).sum()), int(per_group.min(initial=len(values))))


def people_followed(names: Sequence[str], rows: pl.DataFrame | Sheet, fewest: int | None) -> str:
    """Say what it means that rows of a person can be followed; `fewest` is how many people the smallest crowd has, None
    if nobody can know.
    """
    which = " and ".join(f"'{name}'" for name in names)
    start = f"rows with the same {which} belong to one person and can be followed. "
    if fewest is None:
        return f"{start}How many people show the same rows cannot be known"
    if not len(rows):
        return f"{start}Nothing is published"
    others = format_count(fewest - 1, "other person", "other people")
    return (
        f"{start}So the guarantees are about people, not about rows: everybody shows the same rows in the "
        f"quasi-identifiers as at least {others}. How many rows a person has is published, too"
    )


def pseudonym_numbers(rows: pl.DataFrame | Sheet, names: Sequence[str]) -> IntVector | None:
    """Number the people of a release whose rows can be followed, by the columns that say whose a row is; -1 for rows
    without. None if the release does not have all of these columns: then its rows cannot be followed. O(rows).
    """
    from shoal.kernels.grouping import distinct

    if not names or any(name not in rows.columns for name in names):
        return None
    numbers = np.empty((len(rows), len(names)), np.int32, order="F")
    nobody = np.zeros(len(rows), np.bool_)
    for j, name in enumerate(names):
        numbers[:, j] = factorize(rows[name])[0]
        nobody |= rows[name].is_null().to_numpy()
    found: IntVector = distinct(numbers)[0]
    found[nobody] = -1
    return found


def find_betrayal(shown: pl.Series, original: pl.Series) -> str:
    """Return why a column does not hold pseudonyms, next to the identifiers of the original; empty if it may.

    Cells that are identifiers, or their hashes without a secret, name people to anyone who can guess an identifier.
    """
    cells = _plain_texts(shown)
    own = _plain_texts(original)
    same = len(cells & own)
    if same:
        return f"{format_count(same, 'cell')} {'is an identifier' if same == 1 else 'are identifiers'} of the original"
    if _with_other_ends(cells, own):
        return "most cells are identifiers of the original with other signs before or after them"
    lengths = {len(cell) for cell in cells if len(cell) >= _SHORTEST}
    for name in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512"):
        for text in _exact_texts(original, _TRIED):
            digest = hashlib.new(name, text.encode(), usedforsecurity=False).hexdigest()
            if any(digest[:length] in cells for length in lengths if length <= len(digest)):
                return f"some cells are {name} hashes of identifiers of the original"
    return ""


def _with_other_ends(cells: set[str], own: set[str]) -> bool:
    """Return whether most cells are identifiers with other signs around them: P-1017 instead of 1017 or id1017."""
    some = sorted(cells)[:_COMPARED]
    between = slice(*_ends(own))
    known = (own | {text[between] for text in own}) - {""}
    first, last = _ends(set(some))
    return len(some) > 1 and any(
        2 * sum(cell[start : len(cell) - end] in known for cell in some) > len(some)
        for start in range(first + 1)
        for end in range(-(last or 0) + 1)
    )


def _ends(texts: set[str]) -> tuple[int, int | None]:
    """Return where texts begin and end to differ, as the ends of a slice."""
    first = _alike(texts)
    return first, -_alike({text[first:][::-1] for text in texts}) or None


def _alike(texts: set[str]) -> int:
    """Return how many characters all texts begin with: as many as the first and the last in order have in common."""
    low, high = min(texts, default=""), max(texts, default="")
    pairs = enumerate(zip(low, high, strict=False))
    return next((place for place, (a, b) in pairs if a != b), len(low))


def of_our_form(shown: pl.Series) -> bool:
    """Return whether all cells look like tokens of Shoal."""
    texts = shown.drop_nulls().cast(pl.String)
    return shown.null_count() == 0 and bool(texts.str.contains(FORM).all())


def _exact_texts(column: pl.Series, most: int) -> list[str]:
    return text_of(factorize(column)[1]).drop_nulls().head(most).to_list()


def _plain_texts(column: pl.Series) -> set[str]:
    texts = text_of(factorize(column)[1]).drop_nulls()
    return set(texts.str.strip_chars().str.to_lowercase().to_list()) - {""}
