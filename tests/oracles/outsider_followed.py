"""Releases whose rows can be followed, judged by definition and in no hurry. Nothing here imports the package.

Rows with one token belong to one person. A crowd is everybody who shows the same rows: the same cells, equally often,
in any order. A value counts for a person who shows it in at least one row.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

Cells = tuple[str, ...]
Row = tuple[str, Cells, str]
"""Token or name of a person, what the quasi-identifiers show, the sensitive value."""
Person = tuple[tuple[Cells, ...], frozenset[str]]
"""The rows of a person without their order, and their values."""


def people(rows: Iterable[Row]) -> dict[str, Person]:
    """Everybody by their token."""
    shown: dict[str, list[Cells]] = defaultdict(list)
    values: dict[str, set[str]] = defaultdict(set)
    for token, cells, value in rows:
        shown[token].append(cells)
        values[token].add(value)
    return {token: (tuple(sorted(own)), frozenset(values[token])) for token, own in shown.items()}


def crowds(rows: Iterable[Row]) -> list[list[Person]]:
    """People who show the same rows."""
    found: dict[tuple[Cells, ...], list[Person]] = defaultdict(list)
    for person in people(rows).values():
        found[person[0]].append(person)
    return list(found.values())


def having(crowd: Sequence[Person]) -> Counter[str]:
    """Value -> how many people have it."""
    return Counter(value for _, values in crowd for value in values)


def shares(crowd: Sequence[Person]) -> dict[str, Fraction]:
    """The distribution over people and their values: a person with two values counts once for each."""
    counts = having(crowd)
    return {value: Fraction(count, counts.total()) for value, count in counts.items()}


def k(rows: Iterable[Row]) -> int:
    return min(map(len, crowds(rows)))


def distinct_l(rows: Iterable[Row]) -> int:
    return min(len(having(crowd)) for crowd in crowds(rows))


def probabilistic_l(rows: Iterable[Row]) -> Fraction:
    return min(Fraction(len(crowd), max(having(crowd).values())) for crowd in crowds(rows))


def entropy_l(rows: Iterable[Row]) -> float:
    return min(
        math.exp(-sum(float(share) * math.log(share) for share in shares(crowd).values()))
        for crowd in crowds(rows)
    )


def recursive_c(rows: Iterable[Row], l: int) -> float:  # noqa: E741
    """The c that all crowds stay below."""
    worst = 0.0
    for crowd in crowds(rows):
        counts = sorted(having(crowd).values(), reverse=True)
        rest = sum(counts[l - 1 :])
        worst = max(worst, counts[0] / rest if rest else math.inf)
    return worst


def t_equal(rows: Iterable[Row], whole: Iterable[Row]) -> float:
    table = shares(list(people(whole).values()))
    return max(
        float(sum(abs(shares(crowd).get(value, Fraction(0)) - table[value]) for value in table) / 2)
        for crowd in crowds(rows)
    )


def beta(rows: Iterable[Row], whole: Iterable[Row]) -> float:
    """The largest relative gain of a belief, never below 0."""
    everybody = list(people(whole).values())
    before = {value: Fraction(count, len(everybody)) for value, count in having(everybody).items()}
    gains = [
        Fraction(count, len(crowd)) / before[value] - 1
        for crowd in crowds(rows)
        for value, count in having(crowd).items()
    ]
    return float(max(0, *gains))


def fewest_left_out(often: Sequence[int], least: int) -> int:
    """The fewest rows to leave out, such that `least` people share every number of rows but 0: all ways are tried."""
    best = sum(often)
    for shown in itertools.product(*(range(own + 1) for own in often)):
        shared = Counter(number for number in shown if number)
        if all(count >= least for count in shared.values()):
            best = min(best, sum(often) - sum(shown))
    return best


def candidates(
    rows: Iterable[tuple[str, Cells]],
    known: Mapping[str, Sequence[object]],
    covers: Callable[[Cells, object], bool],
    *,
    left_out: int = 0,
) -> dict[str, set[str]]:
    """Person -> the tokens that may be theirs, for whoever knows all rows of them: each row of the token covers a row
    of the person of its own, and at most `left_out` rows of the person are left.
    """
    shown: dict[str, list[Cells]] = defaultdict(list)
    for token, cells in rows:
        shown[token].append(cells)
    found: dict[str, set[str]] = {}
    for person, own in known.items():
        found[person] = {
            token
            for token, cells in shown.items()
            if 0 <= len(own) - len(cells) <= left_out
            and any(all(map(covers, cells, chosen)) for chosen in itertools.permutations(own, len(cells)))
        }
    return found
