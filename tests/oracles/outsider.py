"""What an outsider makes of a release: rows of text next to people, judged by definition and in no hurry.

Nothing here imports the package: trees are read from their files, and a cell covers what its text says.
"""

from __future__ import annotations

import csv
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, islice, product
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from scipy.optimize import linprog
from scipy.stats import chi2

from tests.oracles import bucket_learner

Cell = str | frozenset[str]
Names = Callable[[str], Sequence[str]]
"""All names under which a value may be published, from itself to the root."""


def tree_names(path: Path) -> dict[str, list[str]]:
    """Value -> itself and its ancestors up to the root, as a hierarchy file lists them."""
    with path.open(newline="", encoding="utf-8") as file:
        return {line[0]: line for line in csv.reader(file, delimiter=";") if line}


def interval_names(*widths: int) -> Names:
    """Whole numbers in intervals from 0: 43, 40-44, 40-49, 40-59, the root."""
    return lambda value: [value, *(_interval(int(value), width) for width in widths), "*"]


def _interval(value: int, width: int) -> str:
    return f"{value - value % width}-{value - value % width + width - 1}"


def date_names(*levels: str) -> Names:
    """Dates by the calendar, levels such as month, quarter, year, decade."""

    def names(value: str) -> list[str]:
        year, month = value[:4], int(value[5:7])
        known = {"month": value[:7], "quarter": f"{year}-Q{(month + 2) // 3}", "year": year}
        known["decade"] = f"{year[:3]}0s"
        return [value, *(known[level] for level in levels), "*"]

    return names


def flat_names(value: str) -> list[str]:
    """A column without a hierarchy."""
    return [value, "*"]


@dataclass(frozen=True)
class Row:
    """A published row."""

    cells: tuple[Cell, ...]
    value: str | None
    """Its sensitive value; None where sensitive values stand in a table of their own."""
    owner: int
    """Whose row it is."""
    bucket: str | None


@dataclass(frozen=True)
class Reading:
    """A release and the people behind it, as text."""

    rows: list[Row]
    people: list[tuple[str, ...]]
    """The true quasi-identifiers of everybody in the table."""
    values: list[str]
    """The true sensitive values."""
    names: list[Names]
    """Per quasi-identifier."""
    value_names: Names
    """Of the sensitive column."""
    order: Callable[[str], Any]
    """Where a sensitive value stands among the others."""
    second: list[tuple[str, str]]
    """Bucket and sensitive value, where they are a table of their own."""
    population: list[tuple[str, ...]]
    together: list[list[int]]
    """Which columns were shuffled as a unit within buckets; the sensitive column is the last."""
    domain: Sequence[str] = ()
    """All values of the first quasi-identifier, whether anybody has them or not."""

    @property
    def groups(self) -> list[list[str]]:
        """The sensitive values of each class; of each bucket, where values were shuffled within buckets. Rows that
        show the same in columns that were shuffled together with the sensitive one are told apart.
        """
        found = defaultdict(list)
        beside = next(unit for unit in self.together if len(self.names) in unit)[:-1]
        for row in self.rows:
            if row.bucket is None:
                found[row.cells].append(row.value)
            elif row.value is not None:
                found[row.bucket, *(row.cells[j] for j in beside)].append(row.value)
        for bucket, value in self.second:
            found[bucket].append(value)
        return list(found.values())

    def covers(self, row: Row, person: Sequence[str]) -> bool:
        """Whether every cell of a row covers what the person has."""
        return all(covered(*each) for each in zip(row.cells, person, self.names, strict=True))

    @property
    def fits(self) -> list[list[bool]]:
        """Person by row."""
        return [[self.covers(row, person) for row in self.rows] for person in self.people]

    @property
    def classes(self) -> Counter[Any]:
        """How many rows show the same, in the same bucket."""
        return Counter((row.cells, row.bucket) for row in self.rows)

    @property
    def domains(self) -> list[set[str]]:
        """Per quasi-identifier, the values that people have."""
        return [set(column) for column in zip(*self.people, strict=True)]

    @property
    def levels(self) -> list[int] | None:
        """Per quasi-identifier, the lowest level on which all its cells lie; None where a column mixes levels."""
        found = []
        for j, (names, domain) in enumerate(zip(self.names, self.domains, strict=True)):
            shown = {row.cells[j] for row in self.rows}
            levels = zip(*(names(value) for value in domain), strict=True)
            fitting = [level for level, nodes in enumerate(levels) if shown <= set(nodes)]
            if not fitting:
                return None
            found.append(fitting[0])
        return found

    @property
    def untrue_cells(self) -> int:
        """Cells that do not cover what their owner has."""
        return sum(
            not covered(cell, value, names)
            for row in self.rows
            for cell, value, names in zip(row.cells, self.people[row.owner], self.names, strict=True)
        )


def covered(cell: Cell, value: str, names: Names) -> bool:
    """Whether a cell may stand for a value."""
    return value in cell if isinstance(cell, frozenset) else cell in names(value)


def text(cell: Any) -> Cell:
    """Read a cell: a list of values, or a single text."""
    return frozenset(map(str, cell)) if isinstance(cell, list) else str(cell)


def read(
    table: Any,
    original: Any,
    names: Mapping[str, Names],
    sensitive: str,
    value_names: Names,
    order: Callable[[str], Any],
    *,
    second: Any = None,
    population: Any = None,
    together: Sequence[Sequence[str]] | None = None,
    tag: str = "tag",
) -> Reading:
    """Read frames as rows of text; the plain column `tag` tells whose row of the original a row is."""
    quasi = list(names)
    place = {value: at for at, value in enumerate(original[tag])}
    people = [tuple(str(row[name]) for name in quasi) for row in original.to_dicts()]
    rows = [
        Row(
            tuple(text(row[name]) for name in quasi),
            str(row[sensitive]) if sensitive in row else None,
            place[row[tag]],
            str(row["bucket"]) if "bucket" in row else None,
        )
        for row in table.to_dicts()
    ]
    pairs = [] if second is None else second.to_dicts()
    columns = [*quasi, sensitive]
    reading = Reading(
        rows,
        people,
        [str(value) for value in original[sensitive]],
        list(names.values()),
        value_names,
        order,
        [(str(r["bucket"]), str(r[sensitive])) for r in pairs for _ in range(r["count"])],
        [] if population is None else [tuple(str(row[n]) for n in quasi) for row in population.to_dicts()],
        [[columns.index(name) for name in group] for group in together or [[name] for name in columns]],
    )
    if together is None and not reading.untrue_cells:
        # Every row shows what its owner has: only sensitive values were shuffled.
        return replace(reading, together=[list(range(len(quasi))), [len(quasi)]])
    return reading


# Rules about one class, given its sensitive values and those of the whole table -----------------------------


def _shares(values: Sequence[str]) -> list[Fraction]:
    """The shares of the values, the largest first."""
    return sorted((Fraction(n, len(values)) for n in Counter(values).values()), reverse=True)


def _moved(own: Sequence[str], whole: Sequence[str], distance: Callable[[str, str], float]) -> float:
    """The least work that turns one distribution into the other, as a linear program."""
    every = sorted(set(whole))
    pairs = list(product(every, every))
    sides = [[float(a == v) for a, _ in pairs] for v in every] + [
        [float(b == v) for _, b in pairs] for v in every
    ]
    amounts = [own.count(v) / len(own) for v in every] + [whole.count(v) / len(whole) for v in every]
    return float(linprog([distance(a, b) for a, b in pairs], A_eq=sides, b_eq=amounts, method="highs").fun)


def _distinct(own: Sequence[str], reading: Reading, l: int) -> bool:  # noqa: E741
    return len(set(own)) >= l


def _probabilistic(own: Sequence[str], reading: Reading, l: float) -> bool:  # noqa: E741
    return _shares(own)[0] <= 1 / Fraction(str(l))


def _entropy(own: Sequence[str], reading: Reading, l: float) -> bool:  # noqa: E741
    return -sum(share * math.log(share) for share in _shares(own)) >= math.log(l) - 1e-9


def _recursive(own: Sequence[str], reading: Reading, c: float, l: int) -> bool:  # noqa: E741
    shares = _shares(own)
    return shares[0] < Fraction(c) * sum(shares[l - 1 :])


def _alpha(own: Sequence[str], reading: Reading, alpha: float) -> bool:
    return _shares(own)[0] <= Fraction(str(alpha))


def _equal(own: Sequence[str], reading: Reading, t: float) -> bool:
    return _moved(own, reading.values, lambda a, b: float(a != b)) <= t + 1e-9


def _ordered(own: Sequence[str], reading: Reading, t: float) -> bool:
    """Values in the order of their numbers, or of the lines of their tree."""
    line = sorted(set(reading.values), key=reading.order)
    place = {value: at / max(len(line) - 1, 1) for at, value in enumerate(line)}
    return _moved(own, reading.values, lambda a, b: abs(place[a] - place[b])) <= t + 1e-9


def _hierarchical(own: Sequence[str], reading: Reading, t: float) -> bool:
    def distance(a: str, b: str) -> float:
        above = reading.value_names(a)
        level = next(i for i, name in enumerate(above) if name == reading.value_names(b)[i])
        return level / (len(above) - 1)

    return _moved(own, reading.values, distance) <= t + 1e-9


def _beta(own: Sequence[str], reading: Reading, beta: float, enhanced: bool) -> bool:
    for value in set(own):
        q = Fraction(list(own).count(value), len(own))
        p = Fraction(reading.values.count(value), len(reading.values))
        if q > p and (q - p) / p > (min(beta, -math.log(p)) if enhanced else beta) + 1e-9:
            return False
    return True


def _delta(own: Sequence[str], reading: Reading, delta: float, strict: bool) -> bool:
    for value in set(reading.values):
        q = Fraction(list(own).count(value), len(own))
        p = Fraction(reading.values.count(value), len(reading.values))
        if q == 0 and strict:
            return False
        if q > 0 and abs(math.log2(q / p)) >= delta:
            return False
    return True


def _extended(own: Sequence[str], reading: Reading, p: int, protected: Sequence[str]) -> bool:
    """All values under one protected node count as one; the highest such node counts."""
    strong = {next((n for n in reversed(reading.value_names(v)) if n in protected), v) for v in own}
    return len(strong) >= p


def _spread(own: Sequence[str], reading: Reading, k: int, e: float) -> bool:
    """At least k different numbers, the largest e above the smallest; nulls are no numbers."""
    places = {}
    for value in own:
        try:
            at = reading.order(value)
        except (KeyError, ValueError):
            continue  # null in a tree
        if isinstance(at, tuple):  # no place at all, not a number, or a place
            if at[0]:
                continue
            at = at[2]
        places[value] = at
    finite = [at for at in places.values() if math.isfinite(at)]
    if len(finite) < len(places):
        return True  # infinities lie where the farthest number of the table does
    return len(places) >= k and float(max(finite) - min(finite)) >= e * (1 - 1e-9)


def _every_class(rule: Callable[..., bool]) -> Callable[..., bool]:
    return lambda reading, **asked: all(rule(own, reading, **asked) for own in reading.groups)


# Rules about which rows fit which people -------------------------------------------------------------------


def rows_per_person(fits: list[list[bool]]) -> list[int]:
    """How many rows fit each person."""
    return [sum(row) for row in fits]


def people_per_row(fits: list[list[bool]]) -> list[int]:
    """How many people each row fits."""
    return [sum(column) for column in zip(*fits, strict=True)]


def rows_left(fits: list[list[bool]], known: int, suppressed: int = 0) -> list[int]:
    """Per person, the rows left by an adversary who knows those other people, at most `known`, who help most: of people
    who match exactly as many rows as they are, suppressed ones included, they remove the rows.
    """
    rows = [{r for r, fit in enumerate(own) if fit} for own in fits]
    used: list[tuple[set[int], set[int]]] = []
    for size in range(1, min(known, len(fits)) + 1):
        for who in combinations(range(len(fits)), size):
            union = set().union(*(rows[p] for p in who))
            if len(union) + suppressed == size:
                used.append((set(who), union))
    return [
        min([len(own), *(len(own - union) for who, union in used if p not in who)])
        for p, own in enumerate(rows)
    ]


def _few_known(reading: Reading, k: int, known: int = 0) -> bool:
    return min(rows_left(reading.fits, known) + people_per_row(reading.fits)) >= k


def matches(fits: list[list[bool]]) -> list[set[int]]:
    """Per person, the rows that are theirs in some complete assignment; none at all where there is no such."""
    graph = nx.Graph([((0, p), (1, r)) for p, own in enumerate(fits) for r, fit in enumerate(own) if fit])
    graph.add_nodes_from((0, p) for p in range(len(fits)))
    pairs = nx.bipartite.hopcroft_karp_matching(graph, [(0, p) for p in range(len(fits))])
    if len(pairs) < 2 * len(fits):
        return [set() for _ in fits]
    # Along a circle that alternates between pairs in and pairs out of an assignment, the two can be exchanged.
    turns = nx.DiGraph([(a, b) if a[0] == 0 else (b, a) for a, b in graph.edges if pairs[a] != b])
    turns.add_edges_from((pairs[0, p], (0, p)) for p in range(len(fits)))
    circle = {node: at for at, part in enumerate(nx.strongly_connected_components(turns)) for node in part}
    return [
        {r for r, fit in enumerate(own) if fit and (pairs[0, p] == (1, r) or circle[0, p] == circle[1, r])}
        for p, own in enumerate(fits)
    ]


def disjoint_assignments(fits: list[list[bool]], k: int) -> bool:
    """Whether k complete assignments share no pair: then everybody can be given k rows, and every row k people."""
    flow = nx.DiGraph()
    for p, own in enumerate(fits):
        flow.add_edge("source", (0, p), capacity=k)
        flow.add_edge((1, p), "sink", capacity=k)
        flow.add_edges_from(((0, p), (1, r), {"capacity": 1}) for r, fit in enumerate(own) if fit)
    return bool(nx.maximum_flow_value(flow, "source", "sink") == k * len(fits))


def _candidate_values(reading: Reading, l: float) -> bool:  # noqa: E741
    return all(len({reading.rows[r].value for r in own}) >= l for own in matches(reading.fits))


# Rules about who is in the table ---------------------------------------------------------------------------


def presence_chances(reading: Reading) -> list[Fraction]:
    """The share of all possible tables that contain each person of the population: all sets, one by one."""
    everybody = range(len(reading.population))
    tables = [set(own) for own in combinations(everybody, len(reading.rows)) if _possible(reading, own)]
    return [Fraction(sum(person in own for own in tables), len(tables)) for person in everybody]


def _possible(reading: Reading, own: Sequence[int]) -> bool:
    """Whether these people could have given the release."""
    if reading.rows[0].bucket is None:
        return _filled(
            [{p for p in own if reading.covers(row, reading.population[p])} for row in reading.rows]
        )
    buckets = defaultdict(list)
    for row in reading.rows:
        buckets[row.bucket].append(row)
    return _split(reading, list(buckets.values()), set(own))


def _split(reading: Reading, buckets: list[list[Row]], own: set[int]) -> bool:
    """Whether people can be put into buckets so that each group of columns shows what they have."""
    if not buckets:
        return True
    first, *rest = buckets
    units = [[j for j in unit if j < len(reading.names)] for unit in reading.together]
    return any(
        all(
            _filled(
                [
                    {
                        p
                        for p in inside
                        if all(
                            covered(row.cells[j], reading.population[p][j], reading.names[j]) for j in unit
                        )
                    }
                    for row in first
                ]
            )
            for unit in units
        )
        and _split(reading, rest, own - set(inside))
        for inside in combinations(sorted(own), len(first))
    )


def _filled(fitting: list[set[int]]) -> bool:
    """Whether each row can be given a person of its own."""
    holder: dict[int, int] = {}

    def place(row: int, seen: set[int]) -> bool:
        for person in fitting[row] - seen:
            seen.add(person)
            if person not in holder or place(holder[person], seen):
                holder[person] = row
                return True
        return False

    return all(place(row, set()) for row in range(len(fitting)))


def _present(reading: Reading, low: float, high: float) -> bool:
    # 0.6 as a float is a little less than three fifths.
    return all(Fraction(str(low)) <= chance <= Fraction(str(high)) for chance in presence_chances(reading))


# Rules about buckets and about untrue cells ----------------------------------------------------------------


def beliefs(reading: Reading) -> list[Counter[str]]:
    """What is believed of each person's sensitive value, over all buckets that they may be in."""
    last = len(reading.names)
    units = [[j for j in unit if j < last] for unit in reading.together]
    beside = next(u for u, unit in enumerate(reading.together) if last in unit)
    found = []
    for person in reading.people:
        believed: Counter[str] = Counter()
        total = Fraction(0)
        for bucket in {row.bucket for row in reading.rows}:
            rows = [row for row in reading.rows if row.bucket == bucket]
            matching = [[r for r in rows if all(r.cells[j] == person[j] for j in unit)] for unit in units]
            weight = math.prod(Fraction(len(same), len(rows)) for same in matching)
            # A unit of the sensitive column alone asks nothing of a row, so that all rows of the bucket match.
            values = [v for b, v in reading.second if b == bucket] or [r.value for r in matching[beside]]
            for value in values if weight else ():
                believed[value] += weight / len(values)
            total += weight
        found.append(Counter({value: share / total for value, share in believed.items()}))
    return found


def _sliced(reading: Reading, l: float) -> bool:  # noqa: E741
    """Over all buckets where cells are exact; else class by class, which is stricter."""
    exact = all(
        cell in own for row in reading.rows for cell, own in zip(row.cells, reading.domains, strict=True)
    )
    if reading.rows[0].bucket is None or not exact:
        return _every_class(_probabilistic)(reading, l=l)
    # Of a suppressed person who fits no bucket nothing is believed.
    believed = (max(own.values(), default=0) for own in beliefs(reading))
    return all(most <= 1 / Fraction(l) + Fraction(1, 10**9) for most in believed)


def _learned(reading: Reading, l: float) -> bool | None:  # noqa: E741
    """No value has more than 1/l of a class, and of the people about whom a learner is equally sure not more than 1/l
    are guessed right, beyond chance. Not decided if somebody fits several classes: `bucket_members.py` divides them.
    """
    if not _every_class(_probabilistic)(reading, l=l):
        return False
    if _lower_end(1.0, len(reading.people), 3.29) <= 1 / l:
        return True  # too few people to say more, even if all were guessed right
    rows_of: dict[Any, list[Row]] = {}
    for row in reading.rows:
        rows_of.setdefault(row.cells, []).append(row)
    own = [
        [cells for cells, rows in rows_of.items() if reading.covers(rows[0], person)]
        for person in reading.people
    ]
    if any(len(found) != 1 for found in own):
        return None
    buckets = [
        (
            [person for person, found in zip(reading.people, own, strict=True) if found == [cells]],
            [row.value for row in rows],
        )
        for cells, rows in rows_of.items()
    ]
    believed = {
        person: beliefs
        for (people, _), found in zip(buckets, bucket_learner.learn(buckets), strict=True)
        for person, beliefs in zip(people, found, strict=True)
    }
    tenths: dict[int, list[float]] = {}
    for person, value in zip(reading.people, reading.values, strict=True):
        most = max(believed[person].values())
        ties = [other for other, share in believed[person].items() if share >= most - 1e-9]
        tenth = max(math.ceil(most * 10 - 1e-9) - 1, 0)
        tenths.setdefault(tenth, []).append(value in ties and 1 / len(ties))
    return all(_lower_end(sum(right) / len(right), len(right), 3.29) <= 1 / l for right in tenths.values())


def _lower_end(share: float, many: int, normal: float) -> float:
    """Wilson's interval solves |share - p| = normal * sqrt(p (1 - p) / many) for p: a quadratic equation."""
    a, b, c = 1 + normal**2 / many, -(2 * share + normal**2 / many), share**2
    return (-b - math.sqrt(max(b * b - 4 * a * c, 0.0))) / (2 * a)


def _within_budget(reading: Reading, budget: float) -> bool:
    return reading.untrue_cells <= budget * len(reading.people) * len(reading.names) + 1e-9


def _looks_like_chance(reading: Reading, alpha: float, exact: bool = False) -> bool:
    """Pearson's test of the sizes of classes against the people whom they truly cover, each in one class. Where several
    classes cover a relocated person, some way to count them must pass: no reading may reject what was published."""
    sizes = Counter(row.cells for row in reading.rows)
    shown = [Row(cells, None, 0, None) for cells in sizes]
    known: Counter[Any] = Counter()
    unsure: list[list[Any]] = []
    for row in reading.rows:
        person = reading.people[row.owner]
        own = [each.cells for each in shown if reading.covers(each, person)]
        if row.cells in own:
            known[row.cells] += 1
        elif len(own) > 1:
            unsure.append(own)
        else:
            known[own[0] if own else _dissolved(reading, person)] += 1
    ways = islice(product(*unsure), 1000)
    return any(_passes(sizes, known + Counter(way), alpha, exact) for way in ways)


def _passes(sizes: Counter[Any], truth: Counter[Any], alpha: float, exact: bool) -> bool:
    if any(cells not in truth for cells in sizes):
        return False
    statistic = sum((sizes[cells] - many) ** 2 / many for cells, many in truth.items())
    degrees = len(truth) - 1
    if degrees == 0 or not exact:
        return bool(statistic == 0 if degrees == 0 else chi2.sf(statistic, degrees) >= alpha - 1e-9)
    many = np.array(list(truth.values()))
    drawn = np.random.default_rng(1).multinomial(many.sum(), many / many.sum(), size=4000)
    share = float((((drawn - many) ** 2 / many).sum(axis=1) >= statistic - 1e-9).mean())
    return share + 4 * math.sqrt(share * (1 - share) / 4000) >= alpha  # four deviations: chance is no finding


def _dissolved(reading: Reading, person: Sequence[str]) -> Any:
    """The group of a person whom no class covers: where columns have one level each, that of this level."""
    if reading.levels is None:
        return "elsewhere"
    parts = zip(reading.names, person, reading.levels, strict=True)
    return ("elsewhere", *(names(value)[level] for names, value, level in parts))


Judge = Callable[..., bool]


def _within_limit(reading: Reading, limit: int | Sequence[str]) -> bool:
    """Every cell of the first column is a name of some value, from itself to the first limit on its way up. A name that
    is above the limit of other values shows for no more rows than there are people with the former.
    """
    allowed, above = defaultdict(set), set()
    for value in reading.domain:
        names = list(reading.names[0](value))
        marked = [level for level, name in enumerate(names) if not isinstance(limit, int) and name in limit]
        highest = limit if isinstance(limit, int) else min(marked, default=len(names) - 1)
        for name in names[: highest + 1]:
            allowed[name].add(value)
        above |= set(names[highest + 1 :])
    if any(row.cells[0] not in allowed for row in reading.rows):
        return False
    mixed = above & set(allowed)
    values = {value for name in mixed for value in allowed[name]}
    entitled = sum(person[0] in values for person in reading.people)
    return sum(row.cells[0] in mixed for row in reading.rows) <= entitled


def _risks(reading: Reading, by: str) -> list[tuple[Fraction, int, int]]:
    """Per class: the risk of a row, the rows, and the people who match it in the release or in the population."""
    found = []
    for (cells, _), rows in reading.classes.items():
        people = rows
        if by != "prosecutor":
            row = next(row for row in reading.rows if row.cells == cells)
            people = sum(reading.covers(row, person) for person in reading.population)
        found.append((Fraction(1, people), rows, people))
    return found


def _highest(reading: Reading, highest: Any, by: str = "prosecutor") -> bool:
    return max(risk for risk, _, _ in _risks(reading, by)) <= Fraction(str(highest))


def _average(reading: Reading, average: Any, by: str = "prosecutor") -> bool:
    found = _risks(reading, by)
    rows, people = sum(rows for _, rows, _ in found), sum(people for _, _, people in found)
    over_rows = sum(risk * own for risk, own, _ in found) / rows
    over_people = Fraction(len(found), people) if by == "journalist" else Fraction(0)
    return max(over_rows, over_people) <= Fraction(str(average))


def _share(reading: Reading, share: Any, above: Any, by: str = "prosecutor") -> bool:
    found = _risks(reading, by)
    risky = sum(rows for risk, rows, _ in found if risk > Fraction(str(above)))
    return Fraction(risky, sum(rows for _, rows, _ in found)) <= Fraction(str(share))


def _hides(reading: Reading, top: int) -> bool:
    """Every cell of the second column covers all numbers from `top` on, or none of them."""
    ages = [str(age) for age in range(top, top + 40)]
    return all(
        len({row.cells[1] == "*" or row.cells[1] in reading.names[1](age) for age in ages}) == 1
        for row in reading.rows
    )


def _safe_harbor(reading: Reading, what: str) -> bool:
    """Every cell of the first column is one that the rule allows."""
    allowed = {
        "identifier": lambda text: False,
        "zip": lambda text: re.fullmatch(r"\d{1,2}\*?|000\*?", text),
        "date": lambda text: re.fullmatch(r"\d{4}s?", text),
        "age": lambda text: re.fullmatch(r"[1-8]?\d", text),
        "other": lambda text: not re.search(r"@|://|\d{4}-\d\d-\d\d|\d{3}-\d\d-\d{4}|\d\.\d+\.\d+\.\d", text),
    }[what]
    fine = ("*",) if what != "identifier" else ()
    return all(row.cells[0] in fine or allowed(row.cells[0]) for row in reading.rows)


def known_columns(reading: Reading, k: int, **keys: int) -> bool:
    """Anyone who knows a person in a set of columns finds k rows, or none if suppressed; each row fits k people."""
    for own in combinations(range(len(reading.names)), min(keys["any"], len(reading.names))):
        fits = [
            [all(covered(row.cells[j], person[j], reading.names[j]) for j in own) for row in reading.rows]
            for person in reading.people
        ]
        if any(0 < rows < k for rows in rows_per_person(fits)) or min(people_per_row(fits)) < k:
            return False
    return True


JUDGES: dict[str, Judge] = {
    "hidden-values": _hides,
    "safe-harbor": _safe_harbor,
    "k-anonymity": lambda reading, k: min(reading.classes.values()) >= k,
    "distinct-l": _every_class(_distinct),
    "probabilistic-l": _every_class(_probabilistic),
    "entropy-l": _every_class(_entropy),
    "recursive-cl": _every_class(_recursive),
    "t-equal": _every_class(_equal),
    "t-ordered": _every_class(_ordered),
    "t-hierarchical": _every_class(_hierarchical),
    "beta-likeness": _every_class(_beta),
    "delta-disclosure": _every_class(_delta),
    "alpha-k": _every_class(_alpha),
    "k-e": _every_class(_spread),
    "p-sensitive": _every_class(lambda own, reading, p: len(set(own)) >= p),
    "extended-p-sensitive": _every_class(_extended),
    "1-k": lambda reading, k: min(rows_per_person(reading.fits)) >= k,
    "k-1": lambda reading, k: min(people_per_row(reading.fits)) >= k,
    "k-k": _few_known,
    "global-1-k": lambda reading, k: min(map(len, matches(reading.fits))) >= k,
    "probabilistic-k": lambda reading, k: disjoint_assignments(reading.fits, k),
    "known-columns": known_columns,
    "candidate-l": _candidate_values,
    "delta-presence": _present,
    "slicing-l": _sliced,
    "learned-l": _learned,
    "hybrid-k": _within_budget,
    "alpha-hybrid": _looks_like_chance,
    "highest-risk": _highest,
    "average-risk": _average,
    "share-at-risk": _share,
    "k-map": lambda reading, k: min(people for _, _, people in _risks(reading, "journalist")) >= k,
    "generalization-limit": _within_limit,
}
"""Model -> whether a release satisfies it, by definition."""
