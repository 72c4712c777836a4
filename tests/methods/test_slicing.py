"""Slicing: groups of columns by correlation, buckets, and slicing's own l-diversity."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import prod

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shoal
from shoal.coding.column_plan import ColumnPlan
from shoal.coding.encode import encode
from shoal.coding.roles import QUASI, SENSITIVE
from shoal.errors import InfeasibleError, LimitError, PolicyError
from shoal.judging.linking.evidence import Evidence
from shoal.judging.models.l_diversity import DistinctDiversity, EntropyDiversity, ProbabilisticDiversity
from shoal.judging.models.requirements import Requirements
from shoal.judging.models.slicing_l import SlicingDiversity, beliefs, likeliest
from shoal.methods import METHODS
from shoal.methods.permuting.column_groups import (
    CORRELATIONS,
    cluster_columns,
    contingency,
    correlations,
    pearson,
)
from shoal.release.record import card_markdown
from shoal.support.run import Run
from tests.inputs.model_cases import plain_rule
from tests.inputs.strategies import tables
from tests.test_bad_input import refused, run

# The private table of the first example, and its sliced version with overlapping buckets: zip | age and salary.
T1 = pl.DataFrame(
    {
        "zip": [5370, 5370, 5370, 5371, 5371, 5372, 5372, 5373],
        "age": [25, 25, 27, 27, 27, 25, 25, 25],
        "salary": [30, 15, 30, 40, 42, 25, 45, 9],
    }
)
SLICED = pl.DataFrame(
    {
        "zip": [5370, 5370, 5370, 5371, 5371, 5372, 5372, 5373],
        "age": [27, 27, 25, 25, 25, 25, 25, 27],
        "salary": [40, 30, 15, 30, 9, 25, 45, 42],
        "bucket": [0, 0, 0, 0, 1, 1, 1, 1],
    }
)
P1 = pl.DataFrame(
    {
        "zip": [5370, 5370, 5370, 5370, 5371, 5371, 5372, 5372, 5373, 5372],
        "age": [25, 25, 25, 27, 27, 27, 25, 25, 25, 27],
    }
)
ROLES = {"quasi": ["zip", "age"], "sensitive": ["salary"]}
METHOD = {"name": "slicing", "groups": [["zip"], ["age", "salary"]], "k": 4}


# --- the model ------------------------------------------------------------------------------------------------------


def by_the_book(published, original, column):
    """The chance of everybody's likeliest value, straight from the definition, in fractions."""
    shown = published.cell_ranges[0][published.class_of].tolist()
    buckets = published.part_of.tolist()
    codes = published.sensitive_codes[:, column].tolist()
    together = published.layout.shuffling.groups(len(published.attributes))
    place = published.layout.shuffling.place(column)
    found = []
    for person in original.quasi.wide.tolist():
        weights, beliefs = {}, {}
        for bucket in set(buckets):
            rows = [r for r, b in enumerate(buckets) if b == bucket]
            matches = [[r for r in rows if all(shown[r][j] == person[j] for j in g)] for g in together]
            weights[bucket] = prod(Fraction(len(m), len(rows)) for m in matches)
            candidates = matches[place] if place >= 0 else rows
            beliefs[bucket] = {
                s: Fraction(n, len(candidates)) for s, n in Counter(codes[r] for r in candidates).items()
            }
        whole = sum(weights.values())
        chances = Counter()
        for bucket, weight in weights.items():
            for s, share in beliefs[bucket].items():
                chances[s] += weight * share / whole if whole else 0
        found.append(chances)
    return found


@st.composite
def groupings(draw, columns):
    """Each column in a group."""
    place = draw(st.lists(st.integers(0, columns - 1), min_size=columns, max_size=columns))
    return tuple(tuple(j for j in range(columns) if place[j] == g) for g in sorted(set(place)))


@st.composite
def sliced(draw):
    """A table, and a release of it from any grouping and any buckets, overlapping ones too."""
    table = draw(tables(rows=st.integers(2, 12), columns=st.integers(1, 3)))
    names = [a.name for a in (*table.attributes, *table.sensitive)]
    groups = tuple(tuple(names[j] for j in g) for g in draw(groupings(len(names))))
    bucket_of = np.array(
        draw(st.lists(st.integers(0, 2), min_size=table.rows, max_size=table.rows)), np.int32
    )
    method = METHODS["slicing"](groups=groups, k=2)
    object.__setattr__(method, "_buckets", lambda *_: bucket_of)
    release = method.anonymize(table, Requirements(models=()), Run.start(draw(st.integers(0, 9))))
    return table, release


@settings(max_examples=150)
@given(sliced())
def test_chances_are_those_of_the_definition(made):
    table, release = made
    evidence = Evidence.of_release(table, release)
    published = evidence.published
    for column in range(len(table.sensitive)):
        chances = by_the_book(published, table, column)
        expected = [float(max(own.values(), default=0)) for own in chances]
        own = [float(c[s]) for c, s in zip(chances, table.secrets.wide[:, column].tolist(), strict=True)]
        assert beliefs(published, table, column)[1].tolist() == pytest.approx(own)
        assert likeliest(published, table, column).tolist() == pytest.approx(expected)
        for l in (1.5, 2, 3):  # noqa: E741
            model = SlicingDiversity(l=l, column=column, column_name="s")
            verdict = model.verify(evidence)
            assert verdict.holds == (max(expected) <= 1 / l + 1e-9)
            assert verdict.reached == pytest.approx(1 / max(expected))
            # What holds bucket by bucket, for each value beside, holds over all buckets.
            stricter = model.verify(Evidence(published))
            assert verdict.holds or not stricter.holds


@given(sliced(), st.sampled_from([2, 3]))
def test_rules_about_classes_hold_for_each_value_beside(made, l):  # noqa: E741
    table, release = made
    evidence = Evidence.of_release(table, release)
    published = evidence.published
    shown = published.cell_ranges[0][published.class_of]
    linked = published.layout.shuffling.columns_with_sensitive
    groups = Counter((int(published.part_of[r]), *shown[r, linked].tolist()) for r in range(published.rows))
    model = DistinctDiversity(l=l, column=0, column_name="s0")
    codes = published.sensitive_codes[:, 0].tolist()
    good = [
        plain_rule(
            model,
            [codes[r] for r in range(published.rows)
             if (int(published.part_of[r]), *shown[r, linked].tolist()) == key],
            codes,
            None,
        )
        for key in groups
    ]  # fmt: skip
    assert model.verify(evidence).holds == all(good)


def test_the_overlapping_slices_of_the_example():
    keywords = {**ROLES, "method": METHOD}
    # Sara (5371, 27): in the first bucket with 1/4 x 2/4, in the second with 1/4 x 1/4. So 2/3 and 1/3 for the buckets,
    # and 40, 30, 42 with 1/3 each. Clara, Julie and Ada are in the first bucket only, and have one of two values.
    held = shoal.audit(SLICED, original=T1, **keywords, l={"slicing": 2})
    assert [(v.required, v.reached, v.holds) for v in held.verdicts] == [(2, 2, True)]
    assert any("It was not refuted" in note for note in held.notes)
    failed = shoal.audit(SLICED, original=T1, **keywords, l={"slicing": 2.5})
    assert failed.verdicts[0].detail == "3 of 8 people have a more likely value"
    # By itself the second bucket tells that whoever is 27 has 42.
    assert not shoal.audit(SLICED, original=T1, **keywords, l={"probabilistic": 2}).holds
    assert not shoal.audit(SLICED, original=T1, **keywords, l={"distinct": 2}).holds


def test_sara_is_certainly_in_the_overlapping_slices():
    found = shoal.attack(
        SLICED, original=T1, population=P1, name="membership", options={"together": (("zip",), ("age",))},
        **ROLES, method=METHOD, k=2,
    )  # fmt: skip
    sara = T1.with_row_index().filter(zip=5371, age=27)["index"].to_list()
    assert found.chances[sara].tolist() == [1.0, 1.0]


def test_releases_by_classes_are_judged_by_class():
    table = pl.DataFrame({"q": [1, 1, 2, 2], "s": ["a", "b", "a", "b"]})
    made = shoal.anonymize(table, quasi=["q"], sensitive=["s"], k=2, l={"slicing": 2})
    assert made.verdicts[1].model == "slicing 2-diversity of s"
    with pytest.raises(InfeasibleError, match="has 2"):
        shoal.anonymize(table, quasi=["q"], sensitive=["s"], k=2, l={"slicing": 2.5})
    with pytest.raises(PolicyError, match="more than 1"):
        shoal.anonymize(table, quasi=["q"], sensitive=["s"], k=2, l={"slicing": 1})


# --- groups of columns ----------------------------------------------------------------------------------------------


def test_contingency_of_small_columns():
    a = np.array([0, 0, 1, 1], np.int32)
    assert contingency(a, a) == pytest.approx(1)
    assert contingency(a, np.array([0, 1, 0, 1], np.int32)) == pytest.approx(0)
    # Shares 2/4, 0, 1/4, 1/4 where 3/8, 1/8, 3/8, 1/8 are expected: (1/8)^2 (8/3 + 8 + 8/3 + 8) = 1/3.
    assert contingency(a, np.array([0, 0, 0, 1], np.int32)) == pytest.approx(1 / 3)
    assert contingency(a, np.zeros(4, np.int32)) == 0


def test_pearson_s_coefficient_by_hand():
    one = np.array([1.0, 2.0, 3.0, 4.0])
    assert pearson(one, -2 * one) == pytest.approx(1)
    # Deviations -1.5 -0.5 0.5 1.5 and -0.5 0.5 -0.5 0.5: 1^2 / (5 x 1) = 1/5.
    assert pearson(one, np.array([0.0, 1.0, 0.0, 1.0])) == pytest.approx(1 / 5)
    assert pearson(one, np.ones(4)) == 0
    assert pearson(np.array([np.nan, 1.0, 2.0, 3.0]), np.array([9.0, 1.0, 2.0, np.nan])) == pytest.approx(1)
    assert pearson(np.array([np.nan, 1.0]), np.array([1.0, 1.0])) == 0
    # Large and small numbers, whose squares cannot be written.
    assert pearson(1e300 * one, -1e-300 * one) == pytest.approx(1)
    assert pearson(1e300 * one, np.array([0.0, 1e-300, 0.0, 1e-300])) == pytest.approx(1 / 5)
    # Of two columns with two values each it is the contingency.
    a, b = np.array([0, 0, 1, 1], np.int32), np.array([0, 0, 0, 1], np.int32)
    assert pearson(a.astype(float), b.astype(float)) == pytest.approx(contingency(a, b))


def test_pearson_s_coefficient_sees_lines_and_only_of_numbers():
    x = np.arange(-8, 9)
    random = np.random.default_rng(1)
    rows = pl.DataFrame(
        {"x": x, "y": x**2, "z": 3 * x + random.integers(-3, 4, 17), "s": list("abcabcabcabcabcab")}
    )
    table = encode(rows, [ColumnPlan(name, QUASI) for name in "xyz"] + [ColumnPlan("s", SENSITIVE)])
    binned, lines = correlations(table), correlations(table, "pearson")
    assert binned[0, 1] == pytest.approx(1), "x determines its square"
    assert lines[0, 1] == pytest.approx(0), "and has no linear relation to it"
    assert lines[0, 2] == pytest.approx(np.corrcoef(x, rows["z"])[0, 1] ** 2)
    assert (lines[:3, 3] == binned[:3, 3]).all(), "texts have no numbers"
    made = {"quasi": ["x", "y", "z"], "sensitive": ["s"], "l": 2, "seed": 1}
    found = shoal.anonymize(rows, **made, method={"name": "slicing", "columns": 2, "correlation": "pearson"})
    assert found.release.facts["groups"] == [["x", "z"], ["y"], ["s"]]
    asked = {name: value for name, value in made.items() if name != "seed"}
    judged = shoal.audit(
        found.table,
        original=rows,
        **asked,
        method={"name": "slicing", "columns": 2, "correlation": "pearson"},
    )
    assert all(verdict.holds for verdict in judged.verdicts)
    with pytest.raises(PolicyError, match="'spearman' is unknown"):
        shoal.anonymize(rows, **made, method={"name": "slicing", "correlation": "spearman"})


@pytest.mark.parametrize("by", CORRELATIONS)
@given(table=tables(rows=st.integers(1, 12)))
def test_correlations_are_symmetric_and_bounded(by, table):
    found = correlations(table, by)
    assert found.tolist() == found.T.tolist()
    assert (found >= 0).all()
    assert (found <= 1 + 1e-9).all()


@given(st.integers(1, 6), st.integers(1, 6), st.randoms(use_true_random=False))
def test_medoids_are_local_optima_and_each_column_is_with_its_nearest(columns, groups, random):
    likeness = np.eye(columns)
    for a, b in combinations(range(columns), 2):
        likeness[a, b] = likeness[b, a] = random.choice([0, 0.25, 0.5, 1])
    found = cluster_columns(likeness, groups)
    assert sorted(j for group in found for j in group) == list(range(columns))
    assert len(found) == min(groups, columns)
    distance = 1 - likeness

    def cost(medoids):
        return sum(min(distance[j, m] for m in medoids) for j in range(columns))

    # Some member of each group is its centre; the centres cannot be improved by swapping one.
    centres = [min(group, key=lambda c: sum(distance[j, c] for j in group)) for group in found]
    reached = sum(sum(distance[j, c] for j in group) for group, c in zip(found, centres, strict=True))
    assert reached == pytest.approx(cost(centres))
    for out in centres:
        for into in set(range(columns)) - set(centres):
            assert cost([into if c == out else c for c in centres]) >= reached - 1e-9


def test_correlated_columns_stay_together():
    random = np.random.default_rng(1)
    a, b = random.integers(0, 4, 400), random.integers(0, 4, 400)
    table = pl.DataFrame({"a": a, "b": b, "a2": a * 2, "b2": -b, "s": random.integers(0, 5, 400)})
    keywords = {"quasi": ["a", "b", "a2", "b2"], "sensitive": ["s"], "l": {"slicing": 2}}
    made = shoal.anonymize(table, **keywords, method={"name": "slicing", "k": 20})
    assert made.release.facts["groups"] == [["a", "a2"], ["b", "b2"], ["s"]]
    assert (made.table["a"] * 2).equals(made.table["a2"], check_names=False)
    assert (-made.table["b"]).equals(made.table["b2"], check_names=False)
    linked = table.with_columns(s=pl.Series(a) // 2)
    made = shoal.anonymize(
        linked, **{**keywords, "l": {"slicing": 1.01}},
        method={"name": "slicing", "k": 20, "columns": 5, "with_sensitive": True},
    )  # fmt: skip
    assert made.release.facts["groups"] == [["a"], ["b"], ["a2"], ["b2"], ["s"]]
    with pytest.raises(LimitError, match="shares a group with sensitive columns"):
        shoal.anonymize(
            linked, **{**keywords, "l": {"slicing": 1.5}},
            method={"name": "slicing", "k": 20, "columns": 2, "with_sensitive": True},
        )  # fmt: skip


# --- the method -----------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    tables(rows=st.integers(2, 14), columns=st.integers(1, 3), sensitive=st.just(1)),
    st.data(),
    st.sampled_from(["slicing", "distinct", "entropy", "probabilistic"]),
    st.booleans(),
)
def test_releases_hold_and_groups_stay_whole(table, data, kind, strict):
    kinds = {
        "slicing": SlicingDiversity,
        "distinct": DistinctDiversity,
        "entropy": EntropyDiversity,
        "probabilistic": ProbabilisticDiversity,
    }
    model = kinds[kind](l=2, column=0, column_name="s0")
    names = [a.name for a in (*table.attributes, *table.sensitive)]
    groups = data.draw(groupings(len(names)))
    method = METHODS["slicing"](
        groups=tuple(tuple(names[j] for j in group) for group in groups), k=2, strict=strict
    )
    beside = [j for group in groups if group[-1] == len(names) - 1 for j in group[:-1]]
    codes = table.secrets.wide[:, 0].tolist()
    keys = [tuple(row) for row in table.quasi.wide[:, beside].tolist()]
    rule = model.by_classes if kind == "slicing" else model
    whole = [
        plain_rule(rule, [c for c, k in zip(codes, keys, strict=True) if k == key], codes, None)
        for key in set(keys)
    ]
    try:
        release = method.anonymize(table, Requirements(models=(model,)), Run.start(1))
    except (InfeasibleError, LimitError):
        assert not all(whole)
        return
    assert all(whole)
    evidence = Evidence.of_release(table, release)
    assert model.verify(evidence).holds
    assert np.bincount(release.layout.bucket_of).min() >= 2
    truth = np.column_stack([table.quasi.wide, table.secrets.wide])
    cells = np.column_stack([truth[release.layout.shown_from[:, j], j] for j in range(len(names))])
    for bucket in set(release.layout.bucket_of.tolist()):
        inside = release.layout.bucket_of == bucket
        for group in groups:
            own = list(group)
            assert Counter(map(tuple, cells[inside][:, own].tolist())) == Counter(
                map(tuple, truth[inside][:, own].tolist())
            )
    assert method.find_shuffling(table) == release.layout.shuffling
    if strict:
        # Nobody fits two buckets: some column has no value in both.
        values = [
            table.quasi.wide[release.layout.bucket_of == bucket]
            for bucket in sorted(set(release.layout.bucket_of.tolist()))
        ]
        for one, other in combinations(values, 2):
            assert any(not set(one[:, j]) & set(other[:, j]) for j in range(one.shape[1]))


def test_audit_knows_the_groups_of_the_policy():
    table = pl.concat([T1] * 3)
    made = shoal.anonymize(table, **ROLES, l={"slicing": 2}, method=METHOD)
    report = shoal.audit(made.table, original=table, **ROLES, l={"slicing": 2}, method=METHOD)
    assert report.holds
    assert report.verdicts[0].reached == pytest.approx(made.verdicts[0].reached)
    assert made.summary()["groups"] == [["zip"], ["age", "salary"]]
    card = card_markdown(made.card)
    assert "shuffled as a unit: zip; age, salary." in card
    assert "| zip | quasi | as it is, shuffled within buckets |" in card


POLICY = """
[columns]
zip = "quasi"
age = "quasi"
salary = "sensitive"
[privacy]
l = { slicing = 2 }
[method]
name = "slicing"
groups = [["zip"], ["age"]]
k = 2
"""


def test_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    T1.write_csv("data.csv")
    (tmp_path / "policy.toml").write_text(POLICY)
    words = ("anonymize", "data.csv", "-p", "policy.toml", "-o", "out.csv")
    for code, more, says in (
        (2, ("--set", "method.groups=[['zip','zipp']]"), "did you mean 'zip'?"),
        (2, ("--set", "method.groups=[['zip'],['zip']]"), "names zip more than once"),
        (2, ("--set", "method.columns=0"), "method.columns"),
        (
            2,
            ("--set", "method.with_sensitive=true"),
            "cannot be combined with columns, correlation and with_sensitive",
        ),
        (2, ("--set", "method.groups=3"), "method.groups"),
        (4, ("--set", "privacy.l={slicing=9}"), "has 7"),
        (
            7,
            ("--set", "method.groups=[['zip','salary']]"),
            "zip, which shares a group with sensitive columns",
        ),
    ):
        refused(tmp_path, code, *words, *more, says=says)
    assert run(tmp_path, *words, "--record", "record.json")[0].exit_code == 0
    # In eight rows a shuffle may leave everything in its place, so only the record tells how they were made.
    made = ("--original", "data.csv", "--record", "record.json")
    result, _ = run(tmp_path, "audit", "out.csv", "-p", "policy.toml", *made)
    assert result.exit_code == 0, result.output
    assert "slicing 2-diversity of salary" in result.stdout


def test_any_partitioner():
    table = pl.concat([T1] * 3)
    for partitioner in ("mondrian", "hilbert", "lexicographic", "agglomerative", "full-domain"):
        made = shoal.anonymize(
            table, **ROLES, l={"slicing": 2}, method={"name": "slicing", "k": 3, "partitioner": partitioner}
        )
        assert made.holds


@given(tables(rows=st.integers(2, 10), sensitive=st.just(1)))
def test_one_bucket_of_everything_is_fine(table):
    assume((table.sensitive_counts[0] > 0).sum() >= 2)
    method = METHODS["slicing"](k=table.rows)
    release = method.anonymize(table, Requirements(models=()), Run.start(1))
    assert set(release.layout.bucket_of.tolist()) == {0}
