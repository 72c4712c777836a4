"""Releases over time, intersected by definition and in no hurry. Nothing here imports the package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product


@dataclass(frozen=True)
class Row:
    """A row of an original: whose it is, its quasi-identifiers, and its sensitive values."""

    person: str
    known: tuple[str, ...]
    values: tuple[str, ...]


@dataclass(frozen=True)
class Shown:
    """A published row: its cells, the values that it shows, and which row of the original it is."""

    cells: tuple[str | tuple[str, ...], ...]
    values: tuple[str, ...]
    of: int


@dataclass(frozen=True)
class Left:
    """What is left of one combination of known rows."""

    candidates: int
    crowd: int
    values: tuple[int, ...]
    right: bool


def covers(cell: str | tuple[str, ...], value: str) -> bool:
    """A cell shows a value, a text whose last characters are masked, anything, or a list of values."""
    if isinstance(cell, tuple):
        return value in cell
    return set(cell) == {"*"} or (
        len(cell) == len(value) and all(c in ("*", v) for c, v in zip(cell, value, strict=True))
    )


def matching(release: Sequence[Shown], known: tuple[str, ...]) -> list[Shown]:
    return [row for row in release if all(covers(c, v) for c, v in zip(row.cells, known, strict=True))]


def by_people(
    originals: Sequence[Sequence[Row]], releases: Sequence[Sequence[Shown]]
) -> dict[str, list[Left]]:
    """Intersect the releases that each person of the last one is in, for every choice of one published row in each."""
    found: dict[str, list[Left]] = {}
    there = [
        {original[row.of].person for row in release}
        for original, release in zip(originals, releases, strict=True)
    ]
    for person in there[-1]:
        chosen = [i for i, people in enumerate(there) if person in people]
        if len(chosen) < 2:
            continue
        rows = [
            [originals[i][row.of] for row in releases[i] if originals[i][row.of].person == person]
            for i in chosen
        ]
        own = {row.values for row in originals[-1] if row.person == person}
        for known in product(*rows):
            fits = [matching(releases[i], row.known) for i, row in zip(chosen, known, strict=True)]
            common = set.intersection(*({row.values for row in fit} for fit in fits))
            owners = [
                [(originals[i][row.of].person, row.values) for row in fit]
                for i, fit in zip(chosen, fits, strict=True)
            ]
            found.setdefault(person, []).append(
                Left(
                    min(len({who for who, values in rows if values in common}) for rows in owners),
                    len(set.intersection(*({who for who, _ in rows} for rows in owners))),
                    tuple(len({values[j] for values in common}) for j in range(len(known[0].values))),
                    bool(own & common),
                )
            )
    return found


def by_rows(
    table: Sequence[Row], releases: Sequence[Sequence[Shown]], *, owned: bool = False
) -> dict[str, list[Left]]:
    """The same where nobody can tell who is in which release: everybody of the table whose values match may be. If the
    rows of the last release are `owned`, it is known who is in that one.
    """
    found: dict[str, list[Left]] = {}
    last = releases[-1]
    for at, row in enumerate(table):
        if owned and all(one.of != at for one in last):
            continue
        fits = [fit for release in releases if (fit := matching(release, row.known))]
        if len(fits) < 2 or not matching(last, row.known):
            continue
        common = set.intersection(*({one.values for one in fit} for fit in fits))
        seen = fits[:-1] if owned else fits
        alike = [
            other
            for place, other in enumerate(table)
            if all(any(all(map(covers, one.cells, other.known)) for one in fit) for fit in seen)
            and (not owned or any(one.of == place for one in fits[-1]))
        ]
        candidates = min(sum(one.values in common for one in fit) for fit in fits)
        values = tuple(len({one[j] for one in common}) for j in range(len(row.values)))
        found[row.person] = [Left(candidates, len(alike), values, row.values in common)]
    return found
