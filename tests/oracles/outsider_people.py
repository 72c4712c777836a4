"""People behind the rows of a release, counted by definition and in no hurry. Nothing here imports the package."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from scipy.optimize import linprog


@dataclass(frozen=True)
class Seen:
    """A published row with its owner: what it shows in its quasi-identifiers, and its sensitive value."""

    cells: tuple[str, ...]
    owner: str
    value: str


def classes(rows: Sequence[Seen]) -> list[list[Seen]]:
    """Rows that show the same."""
    found: dict[tuple[str, ...], list[Seen]] = defaultdict(list)
    for row in rows:
        found[row.cells].append(row)
    return list(found.values())


def people(rows: Sequence[Seen]) -> set[str]:
    return {row.owner for row in rows}


def showing(rows: Sequence[Seen]) -> dict[str, int]:
    """Value -> how many people show it in at least one row."""
    return {
        value: len(people([row for row in rows if row.value == value])) for value in {r.value for r in rows}
    }


def beliefs(rows: Sequence[Seen]) -> dict[str, Fraction]:
    return {value: Fraction(count, len(people(rows))) for value, count in showing(rows).items()}


def shares(rows: Sequence[Seen]) -> dict[str, Fraction]:
    """The distribution over people and their values: a person with two values counts once for each."""
    counts = showing(rows)
    return {value: Fraction(count, sum(counts.values())) for value, count in counts.items()}


def k(rows: Sequence[Seen]) -> int:
    return min(len(people(own)) for own in classes(rows))


def distinct_l(rows: Sequence[Seen]) -> int:
    return min(len(showing(own)) for own in classes(rows))


def probabilistic_l(rows: Sequence[Seen]) -> Fraction:
    return min(1 / max(beliefs(own).values()) for own in classes(rows))


def entropy_l(rows: Sequence[Seen]) -> float:
    return min(math.exp(-sum(float(p) * math.log(p) for p in shares(own).values())) for own in classes(rows))


def recursive_c(rows: Sequence[Seen], l: int) -> float:  # noqa: E741
    """The c that all classes stay below."""
    worst = 0.0
    for own in classes(rows):
        counts = sorted(showing(own).values(), reverse=True)
        rest = sum(counts[l - 1 :])
        worst = max(worst, counts[0] / rest if rest else math.inf)
    return worst


def t_equal(rows: Sequence[Seen], whole: Sequence[Seen]) -> float:
    table = shares(whole)
    return max(
        float(sum(abs(shares(own).get(v, Fraction(0)) - table[v]) for v in table) / 2)
        for own in classes(rows)
    )


def moved(
    own: Mapping[str, Fraction], table: Mapping[str, Fraction], apart: Callable[[str, str], float]
) -> float:
    """The earth mover's distance of two distributions: the cheapest way to carry one to the other."""
    there, here = sorted(table), sorted(own)
    cost = [apart(a, b) for a in here for b in there]
    leave = [[float(a == x) for a in here for _ in there] for x in here]
    arrive = [[float(b == x) for _ in here for b in there] for x in there]
    wanted = [float(own[x]) for x in here] + [float(table[x]) for x in there]
    return float(linprog(cost, A_eq=[*leave, *arrive], b_eq=wanted).fun)


def t_moved(rows: Sequence[Seen], whole: Sequence[Seen], apart: Callable[[str, str], float]) -> float:
    return max(moved(shares(own), shares(whole), apart) for own in classes(rows))


def beta_enhanced(rows: Sequence[Seen], whole: Sequence[Seen]) -> float:
    """The largest relative gain; infinite if one is above -ln of the belief before."""
    before, worst = beliefs(whole), 0.0
    for own in classes(rows):
        for value, belief in beliefs(own).items():
            gain = float(belief / before[value] - 1)
            most = -math.log(before[value])
            worst = max(worst, math.inf if gain > max(most, 0) + 1e-9 else gain)
    return worst


def delta_present(rows: Sequence[Seen], whole: Sequence[Seen]) -> float:
    """The largest change of a belief in a value that the class shows, as a power of two."""
    before = beliefs(whole)
    return max(abs(math.log2(b / before[v])) for own in classes(rows) for v, b in beliefs(own).items())


def categories(rows: Sequence[Seen], category: Mapping[str, str]) -> int:
    return min(len({category[value] for value in showing(own)}) for own in classes(rows))


def beta(rows: Sequence[Seen], whole: Sequence[Seen]) -> float:
    """The largest relative gain of a belief, never below 0."""
    before = beliefs(whole)
    gains = (b / before[v] - 1 for own in classes(rows) for v, b in beliefs(own).items())
    return float(max(0, *gains))


def delta(rows: Sequence[Seen], whole: Sequence[Seen]) -> float:
    """The largest change of a belief, as a power of two; infinite if a class lacks a value."""
    before, worst = beliefs(whole), 0.0
    for own in classes(rows):
        after = beliefs(own)
        for value, prior in before.items():
            worst = max(worst, abs(math.log2(after[value] / prior)) if value in after else math.inf)
    return worst


def candidates(
    fits: Mapping[int, set[int]], owners: Sequence[str], known: Mapping[int, str]
) -> dict[str, int]:
    """Person -> to how many people the rows belong that may be one of theirs, by the row that tells most.

    ``fits[original row]`` are the published rows that cover it, `owners` whose these are, `known` whose the original
    row is.
    """
    found: dict[str, int] = {}
    for row, rows in fits.items():
        count = len({owners[one] for one in rows})
        if count:
            found[known[row]] = min(count, found.get(known[row], count))
    return found


def disclosed(
    fits: Mapping[int, set[int]], rows: Sequence[Seen], known: Mapping[int, Seen]
) -> dict[str, tuple[Fraction, Fraction]]:
    """Person -> the largest belief in any value, and in a value of their own, by the row that tells most.

    ``fits[original row]`` are the published rows that cover it, `rows` these with their owners, `known` the original
    rows with theirs.
    """
    found: dict[str, tuple[Fraction, Fraction]] = {}
    for row, places in fits.items():
        own = beliefs([rows[at] for at in places]) if places else {}
        before = found.get(known[row].owner, (Fraction(0), Fraction(0)))
        now = max(own.values(), default=Fraction(0)), own.get(known[row].value, Fraction(0))
        found[known[row].owner] = max(before[0], now[0]), max(before[1], now[1])
    return found


def fewest(fits: Mapping[int, set[int]], rows: Sequence[Seen], known: Mapping[int, Seen]) -> int:
    """How few people could own the rows of some class: the smallest set of people, tried one after the other.

    ``fits[original row]`` are the published rows that cover it, `rows` these, `known` the original rows.
    """
    least = len(known)
    for cells in {row.cells for row in rows}:
        own = [at for at, row in enumerate(rows) if row.cells == cells]
        wanted = Counter(rows[at].value for at in own)
        fitting = [one for row, one in known.items() if fits[row] & set(own)]
        names = sorted({one.owner for one in fitting})
        for count in range(1, len(names) + 1):
            if any(
                all(
                    sum(one.owner in some and one.value == v for one in fitting) >= n
                    for v, n in wanted.items()
                )
                for some in combinations(names, count)
            ):
                least = min(least, count)
                break
    return least
