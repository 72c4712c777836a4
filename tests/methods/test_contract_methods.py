"""Every registered method on the shipped samples: it answers or refuses, and what it publishes holds by definition."""

from __future__ import annotations

from collections import Counter, defaultdict

import polars as pl
import pytest

import shoal
from shoal.errors import ShoalError
from shoal.judging.models import MODELS
from shoal.methods import METHODS
from tests.inputs.samples import CENSUS, PATIENTS
from tests.oracles.outsider import JUDGES

Question = tuple[dict, dict]
"""The section `[privacy]`, and the models that follow from it with their parameters."""
CLASSES = {
    "sizes": ({"k": 3}, {"k-anonymity": {"k": 3}}),
    "values": (
        {"k": 3, "l": {"distinct": 2, "entropy": 1.5, "probabilistic": 1.5, "recursive": [3, 2]}},
        {
            "k-anonymity": {"k": 3},
            "distinct-l": {"l": 2},
            "entropy-l": {"l": 1.5},
            "probabilistic-l": {"l": 1.5},
            "recursive-cl": {"c": 3, "l": 2},
        },
    ),
    "distribution": (
        {"k": 3, "t": {"equal": 0.8, "ordered": 0.5, "hierarchical": 0.7}},
        {"t-equal": {"t": 0.8}, "t-ordered": {"t": 0.5}, "t-hierarchical": {"t": 0.7}},
    ),
    "likeness": ({"k": 2, "beta": {"basic": 3.0}}, {"beta-likeness": {"beta": 3.0, "enhanced": False}}),
    "enhanced likeness": ({"k": 2, "beta": 4.0}, {"beta-likeness": {"beta": 4.0, "enhanced": True}}),
    "disclosure": ({"k": 2, "delta": 3.0}, {"delta-disclosure": {"delta": 3.0, "strict": True}}),
    "present values": (
        {"k": 2, "delta": {"present": 2.5}},
        {"delta-disclosure": {"delta": 2.5, "strict": False}},
    ),
    "spread": ({"k": 2, "ke": [2, 2.0]}, {"k-e": {"k": 2, "e": 2.0}}),
    "shares": ({"k": 2, "alpha": 0.7, "p": 2}, {"alpha-k": {"alpha": 0.7}, "p-sensitive": {"p": 2}}),
}
NOTIONS = {
    notion: ({"k": 3, "notion": notion}, {notion: {"k": 3}}) for notion in ("1-k", "k-1", "k-k", "global-1-k")
} | {
    "probabilistic-k": (
        {"k": 3, "notion": "probabilistic-k", "l": 2},
        {"probabilistic-k": {"k": 3}, "candidate-l": {"l": 2}},
    )
}
OTHERS = {
    "categories": ({"k": 2, "p": 2}, {"extended-p-sensitive": {"p": 2, "protected": ["Cancer"]}}),
    "buckets": (
        {"l": {"probabilistic": 1.5, "slicing": 1.5}},
        {"probabilistic-l": {"l": 1.5}, "slicing-l": {"l": 1.5}},
    ),
    "relocation": (
        {"k": 3, "relocation": {"budget": 0.05, "alpha": 0.05}},
        {"k-anonymity": {"k": 3}, "hybrid-k": {"budget": 0.05}, "alpha-hybrid": {"alpha": 0.05}},
    ),
    "aggregates": (
        {"k": 3, "relocation": {"budget": 1.0}, "l": 2},
        {"k-anonymity": {"k": 3}, "hybrid-k": {"budget": 1.0}, "distinct-l": {"l": 2}},
    ),
    "presence": ({"presence": [0.0, 0.75]}, {"delta-presence": {"low": 0.0, "high": 0.75}}),
    "risk": ({"risk": {"highest": "1/3"}}, {"highest-risk": {"highest": "1/3"}}),
    "average risk": (
        {"risk": {"average": 0.2, "highest": 0.5}},
        {
            "average-risk": {"average": 0.2},
            "highest-risk": {"highest": 0.5},
        },
    ),
    "share at risk": (
        {"risk": {"share": 0.1, "above": 0.3}},
        {"share-at-risk": {"share": 0.1, "above": 0.3}},
    ),
    "population": ({"k_map": 3}, {"k-map": {"k": 3}}),
    "few columns": ({"k": 3, "keys": {"any": 1}}, {"known-columns": {"k": 3, "any": 1}}),
}
QUESTIONS: dict[str, Question] = CLASSES | NOTIONS | OTHERS

BY_CLASSES = QUESTIONS.keys() - {"presence", "few columns"}
"""Classes of k rows, with values as they must be, answer all questions but these two."""
UNTRUE = BY_CLASSES - NOTIONS.keys()
"""Where a row may show what is not its owner's, who fits which row cannot be promised."""
ANSWERS = {
    "mondrian": BY_CLASSES,
    "full-domain": BY_CLASSES | {"few columns"},
    "incognito": BY_CLASSES,
    "hilbert": BY_CLASSES,
    "lexicographic": BY_CLASSES,
    "agglomerative": BY_CLASSES,
    "forest": BY_CLASSES,
    "p-k": BY_CLASSES,
    "greedy-p-k": BY_CLASSES,
    "enhanced-p-k": BY_CLASSES,
    "hybrid": UNTRUE,
    "hybrid-mondrian": UNTRUE,
    "relocate": UNTRUE - {"buckets"},
    "nearest": {"k-1"},
    "expansion": {"k-1"},
    "k-k": {"1-k", "k-1", "k-k"},
    "global-1-k": {"1-k", "k-1", "k-k", "global-1-k"},
    "ring": set(NOTIONS),
    "bucketization": {"buckets"},
    "anatomy": {"buckets"},
    "slice-columns": {"buckets"},
    "slicing": {"buckets"},
    "microaggregation": {"aggregates"},
    "mpalm": {"presence"},
    "spalm": {"presence"},
    "permute-generalize": {"presence"},
}
"""Method -> the questions that it must answer; it may answer others, or refuse them."""
FEW = {"presence": 10}
"""Question -> so few people that all tables that they could form can be listed."""


def test_the_lists_are_the_registries():
    """A new method needs an entry above; a new model a question above and a judge in tests/oracles/outsider.py."""
    assert ANSWERS.keys() == METHODS.keys()
    asked = {model for _, models in QUESTIONS.values() for model in models}
    # `test_limits_are_honoured` asks for what columns ask for.
    of_columns = {name for name, kind in MODELS.items() if kind.asked_in == "columns"}
    # What all classes together teach is judged on larger tables, in tests/judging/test_learned_l.py.
    assert asked | of_columns | {"learned-l"} == MODELS.keys() == JUDGES.keys()


def ask(sampled, method, question, rows, limits=None, suppression=0.0):
    """Return a release with its original and population, or None where the method refuses."""
    frame, everybody = sampled.frame(rows), None
    more = {"limits": limits, "utility": {"suppression": suppression}}
    if question in ("presence", "population"):
        everybody = frame.with_columns(member=pl.int_range(rows) % 2 == 0)
        frame = everybody.filter("member")
        more["population"] = {"column": "member"}
    elif question == "categories":
        more["protected"] = ["Cancer"]
    policy = sampled.policy(QUESTIONS[question][0], {"name": method}, **more)
    source = frame if everybody is None else everybody
    try:
        made = shoal.anonymize(source, policy, seed=1)
    except ShoalError:
        return None
    if question != "relocation":
        # How many cells are untrue only whoever made the release can tell.
        judged = shoal.audit(made.table, policy, original=source, second=made.second)
        assert judged.holds, judged.verdicts
    return made, sampled.read(made, frame, everybody)


def check_what_is_published(method, made, reading):
    """Everybody is there once or suppressed, with their own values, in their row or at least in their bucket."""
    assert made.suppressed == 0
    assert sorted(row.owner for row in reading.rows) == list(range(len(reading.people)))
    if made.buckets is None:
        assert [row.value for row in reading.rows] == [reading.values[row.owner] for row in reading.rows]
        assert reading.untrue_cells == 0 or METHODS[method].false_cells.how
        return
    members, shown = defaultdict(Counter), defaultdict(Counter)
    for row in reading.rows:
        members[row.bucket][reading.values[row.owner]] += 1
        if row.value is not None:
            shown[row.bucket][row.value] += 1
    for bucket, value in reading.second:
        shown[bucket][value] += 1
    assert shown == members


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("method", METHODS)
def test_a_release_holds_by_definition(method, question):
    answer = ask(PATIENTS, method, question, FEW.get(question, 48))
    if answer is None:
        assert question not in ANSWERS[method]
        return
    made, reading = answer
    assert made.holds
    check_what_is_published(method, made, reading)
    judged = {model: JUDGES[model](reading, **asked) for model, asked in QUESTIONS[question][1].items()}
    assert all(judged.values()), judged


def first_of(method, preferred):
    """Return one question that a method must answer."""
    return preferred if preferred in ANSWERS[method] else min(ANSWERS[method])


@pytest.mark.parametrize("method", METHODS)
def test_another_sample(method):
    question = first_of(method, "values")
    made, reading = ask(CENSUS, method, question, FEW.get(question, 36))
    check_what_is_published(method, made, reading)
    assert all(JUDGES[model](reading, **asked) for model, asked in QUESTIONS[question][1].items())


LIMITS = {"education": 2, "gender": 0}
"""Column -> the highest level that its cells may show."""


@pytest.mark.parametrize("method", METHODS)
def test_limits_are_honoured(method):
    """No cell shows more than its limit permits, whatever has to be suppressed instead."""
    question = first_of(method, "sizes")
    # Bounds on presence leave room for one limit at a time.
    limits = {"education": 2} if question == "presence" else LIMITS
    made, reading = ask(CENSUS, method, question, 120, limits, 0.1)
    assert len(reading.rows) + made.suppressed == len(reading.people)
    assert made.suppressed <= 0.1 * len(reading.people)
    told = {verdict.model: verdict.holds for verdict in made.verdicts if verdict.model.startswith("limit of")}
    assert told == {f"limit of {column}": True for column in limits}
    for j, column in enumerate(CENSUS.quasi):
        limit, names = limits.get(column, -1), reading.names[j]
        nodes = {name for value in reading.domains[j] for name in names(value)[: limit + 1]}
        for cell in {row.cells[j] for row in reading.rows} if column in limits else ():
            values = cell if isinstance(cell, frozenset) else ()
            assert len({names(value)[limit] for value in values}) == 1 if values else cell in nodes
    if not made.suppressed and question not in FEW:
        assert all(JUDGES[model](reading, **asked) for model, asked in QUESTIONS[question][1].items())
