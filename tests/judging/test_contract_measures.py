"""Every registered measure on releases of the shipped samples, against its definition on the published text."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from datetime import date
from itertools import combinations
from statistics import mean

import polars as pl
import pytest

import shoal
from shoal.coding.encode import encode
from shoal.judging.linking.evidence import Evidence
from shoal.judging.measures import MEASURES
from shoal.judging.measures.evaluate import measure_all
from shoal.policy.purposes import with_purpose
from tests.inputs.samples import CENSUS, DATA, PATIENTS, TAG, names

pytestmark = pytest.mark.filterwarnings("ignore:The number of unique classes")
K = 3
POPULATION = 900
RELEASES = [(PATIENTS, "mondrian"), (PATIENTS, "full-domain"), (CENSUS, "agglomerative"), (CENSUS, "p-k")]


class Cells:
    """The cells of a release one by one, with what the definitions of losses speak of."""

    def __init__(self, sampled, reading):
        self.cells = []
        for j, column in enumerate(sampled.quasi):
            path = DATA / f"{sampled.name}_{column}.csv"
            own = [person[j] for person in reading.people]
            domain = [line.split(";")[0] for line in path.read_text().splitlines()] if path.exists() else own
            for row in reading.rows:
                cell, value = row.cells[j], reading.people[row.owner][j]
                self.cells.append(Cell(names(sampled.name)[column], own, sorted(set(domain)), cell, value))
        self.people = len(reading.people)

    def mean(self, loss):
        return sum(map(loss, self.cells)) / len(self.cells)

    def total(self, loss):
        return sum(map(loss, self.cells))


class Cell:
    """A published cell of a column, and the values that it may stand for."""

    def __init__(self, names_of, column, domain, cell, value):
        self.names, self.column, self.domain, self.cell, self.value = names_of, column, domain, cell, value
        self.inside = [v for v in domain if cell in names_of(v)]

    @property
    def leaves(self):
        return (len(self.inside) - 1) / max(len(self.domain) - 1, 1)

    @property
    def level(self):
        return self.names(self.value).index(self.cell)

    @property
    def height(self):
        return self.level / (len(self.names(self.value)) - 1)

    @property
    def width(self):
        """By width where values are numbers or dates."""
        line = [position(v) for v in self.domain]
        if None in line:
            return None
        within = [position(v) for v in self.inside]
        return (max(within) - min(within)) / (max(line) - min(line))

    @property
    def bits(self):
        counts = [self.column.count(v) for v in self.inside]
        return -sum(n / sum(counts) * math.log2(n / sum(counts)) for n in counts if n)

    @property
    def own_bits(self):
        return -math.log2(self.column.count(self.value) / sum(self.column.count(v) for v in self.inside))


def position(value):
    """Where a number or a date stands on its line; None for a zip code, which only looks like one."""
    if len(value) == 10 and value[4] == value[7] == "-":
        return date.fromisoformat(value).toordinal()
    return int(value) if value.isdecimal() and len(value) < 4 else None


def by_width(cell, otherwise):
    return otherwise if cell.width is None else cell.width


def sizes(reading):
    return list(reading.classes.values())


def unique(rows):
    return sum(n == 1 for n in Counter(rows).values()) / len(rows)


def by_zayatz(people):
    """Bayes' rule over the sizes of the sample, with the probability that a class of that size shows one row."""
    counts, rows = list(Counter(people).values()), len(people)
    shown = [n * math.comb(POPULATION - n, rows - 1) / math.comb(POPULATION, rows) for n in counts]
    alone = [one for one, n in zip(shown, counts, strict=True) if n == 1]
    return sum(alone) / sum(shown) * len(alone) / rows


def weight(person):
    """How many people somebody stands for."""
    return person % 5 + 2


def individual(classes):
    """E[1 / F] of each row, for classes as lists of people: F is negative binomial with p = f / total weight."""
    risks = []
    for people in classes:
        f, p = len(people), len(people) / sum(map(weight, people))
        terms = (math.comb(h - 1, f - 1) * p**f * (1 - p) ** (h - f) / h for h in range(f, 600))
        risks += [sum(terms)] * f
    return risks


def raw_classes(reading):
    found = {}
    for person, values in enumerate(reading.people):
        found.setdefault(tuple(values), []).append(person)
    return list(found.values())


def published_classes(reading):
    found = {}
    for row in reading.rows:
        found.setdefault(tuple(row.cells), []).append(row.owner)
    return list(found.values())


def singled_out(rows):
    """The share of rows that up to four columns single out."""
    width = len(rows[0])
    sets = [one for size in range(1, min(width, 4) + 1) for one in combinations(range(width), size)]
    keys = [[tuple(row[j] for j in chosen) for row in rows] for chosen in sets]
    return sum(any(own.count(own[i]) == 1 for own in keys) for i in range(len(rows))) / len(rows)


ANY, SHARE, DIFFERENCE = (0.0, math.inf), (0.0, 1.0), (-1.0, 1.0)
DEFINITIONS = {
    "lm": (SHARE, lambda cells, _: cells.mean(lambda cell: cell.leaves)),
    "gcp": (SHARE, lambda cells, _: cells.mean(lambda cell: by_width(cell, cell.leaves))),
    "entropy": (ANY, lambda cells, _: cells.mean(lambda cell: cell.bits)),
    "entropy-nonuniform": (ANY, lambda cells, _: cells.mean(lambda cell: cell.own_bits)),
    "precision": (SHARE, lambda cells, _: cells.mean(lambda cell: cell.height)),
    "ag": (ANY, lambda cells, _: cells.total(lambda cell: cell.level)),
    "il": (ANY, lambda cells, _: cells.total(lambda cell: by_width(cell, cell.height))),
    "dm": (ANY, lambda _, reading: sum(size**2 for size in sizes(reading))),
    "avg": (ANY, lambda cells, reading: cells.people / (K * len(sizes(reading)))),
    "classes": (ANY, lambda _, reading: len(sizes(reading))),
    "risk-prosecutor-max": (SHARE, lambda _, reading: 1 / min(sizes(reading))),
    "risk-prosecutor-mean": (SHARE, lambda cells, reading: len(sizes(reading)) / cells.people),
    "risk-at-risk": (
        SHARE,
        lambda cells, reading: sum(size for size in sizes(reading) if size < 5) / cells.people,
    ),
    "risk-journalist-max": (SHARE, lambda _, reading: 1 / min(sizes(reading))),
    "risk-marketer": (SHARE, lambda cells, reading: len(sizes(reading)) / cells.people),
    "unique-before": (SHARE, lambda _, reading: unique(reading.people)),
    "unique-after": (SHARE, lambda _, reading: unique([row.cells for row in reading.rows])),
    # Estimators are compared with brute force in tests/judging/test_uniqueness.py. k > 1: nobody is unique any more.
    "unique-in-population-pitman-before": (SHARE, None),
    "unique-in-population-pitman-after": (SHARE, lambda *_: 0),
    "unique-in-population-zayatz-before": (SHARE, lambda _, reading: by_zayatz(reading.people)),
    "unique-in-population-zayatz-after": (SHARE, lambda *_: 0),
    "unique-in-population-snb-before": (SHARE, None),
    "unique-in-population-snb-after": (SHARE, lambda *_: 0),
    "unique-in-population-dankar-before": (SHARE, None),
    "unique-in-population-dankar-after": (SHARE, lambda *_: 0),
    "risk-individual-max-before": (SHARE, lambda _, reading: max(individual(raw_classes(reading)))),
    "risk-individual-max-after": (SHARE, lambda _, reading: max(individual(published_classes(reading)))),
    "risk-individual-mean-before": (SHARE, lambda _, reading: mean(individual(raw_classes(reading)))),
    "risk-individual-mean-after": (SHARE, lambda _, reading: mean(individual(published_classes(reading)))),
    "risk-individual-expected-before": (ANY, lambda _, reading: sum(individual(raw_classes(reading)))),
    "risk-individual-expected-after": (ANY, lambda _, reading: sum(individual(published_classes(reading)))),
    "unique-in-few-before": (SHARE, lambda _, reading: singled_out(reading.people)),
    "unique-in-few-after": (SHARE, lambda _, reading: singled_out([row.cells for row in reading.rows])),
    # What is drawn or learned has a range here; tests/judging/test_measures.py counts and learns it again.
    "query-error": (ANY, None),
    "query-error-mean": (ANY, None),
    "classification": (SHARE, None),
    "classification-auc": (SHARE, None),
    "classification-loss": (DIFFERENCE, None),
    # Those of analyses that a policy names are computed again in tests/judging/test_purposes.py.
    "k-marginal": ((0.0, 1000.0), None),
    "pmse": ((0.0, 0.25), None),
    "pmse-ratio": (ANY, None),
    "workload-loss": (SHARE, None),
    "workload-error": (ANY, None),
    "workload-error-max": (ANY, None),
    "regression-overlap": (SHARE, None),
    "prediction-r2": ((-math.inf, 1.0), None),
    "prediction-r2-loss": ((-math.inf, math.inf), None),
}
"""Measure -> its range, and its definition."""


def test_the_list_is_the_registry():
    """A new measure needs a range and a definition above."""
    assert DEFINITIONS.keys() == MEASURES.keys()


@pytest.fixture(scope="module", params=RELEASES, ids=lambda each: f"{each[0].name}-{each[1]}")
def made(request, tmp_path_factory):
    """A release, all its measures with and without whose row is whose, and how an outsider reads it."""
    sampled, method = request.param
    frame = sampled.frame(60).with_columns(weight(pl.col(TAG)).alias("stands_for"), level=pl.col(TAG) % 7)
    queries = tmp_path_factory.mktemp("workload") / "queries.toml"
    value = frame[sampled.quasi[1]][0]
    queries.write_text(f'[[query]]\nwhere = {{ {sampled.quasi[1]} = "{value}" }}\n', encoding="utf-8")
    analyses = {"workload": str(queries), "regression": f"{TAG} ~ {sampled.quasi[1]}", "predict": "level"}
    policy = sampled.policy({"k": K}, {"name": method}, population={"size": POPULATION})
    roles = ["columns.stands_for.role=weight", "columns.level.role=plain"]
    policy = policy.override([*roles, *(f'utility.{key}="{value}"' for key, value in analyses.items())])
    result = shoal.anonymize(frame, policy, seed=1)
    table = with_purpose(encode(frame, policy.plans(frame.columns)), policy)
    evidence = replace(Evidence.of_release(table, result.release, K), told_size=POPULATION)
    owned = measure_all(evidence, list(MEASURES))
    audit = shoal.audit(result.table, policy, original=frame, measures=list(MEASURES))
    reading = sampled.read(result, frame)
    refused = {name for name in MEASURES if "converge" in (MEASURES[name]().why_unknown(evidence) or "")}
    return result, owned, audit, reading, Cells(sampled, reading), refused


@pytest.mark.parametrize("name", MEASURES)
def test_a_measure_is_its_definition(made, name):
    result, owned, audit, reading, cells, refused = made
    (low, high), definition = DEFINITIONS[name]
    if name in refused:
        # An estimator that does not converge has no answer, and says so.
        assert definition is None
        assert math.isnan(owned[name])
        assert any(name in note and "does not converge" in note for note in audit.notes)
        return
    assert low <= owned[name] <= high
    assert math.isfinite(owned[name])
    if definition is not None:
        assert owned[name] == pytest.approx(definition(cells, reading))
    if MEASURES[name].reported.default or MEASURES[name].analysis.key:
        assert result.measures[name] == pytest.approx(owned[name], rel=1e-12)
    if MEASURES[name].needs.owner:
        assert math.isnan(audit.measures[name])
    else:
        assert audit.measures[name] == pytest.approx(owned[name])
