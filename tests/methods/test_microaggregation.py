"""Microaggregation: its groups against plain twins and brute force, and what it publishes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import LimitError, PolicyError
from shoal.judging.models.hybrid_k import HybridK
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.requirements import Requirements
from shoal.kernels import microaggregation as kernels
from shoal.methods.aggregating.microaggregation import Microaggregation
from shoal.methods.aggregating.row_coordinates import coordinates
from shoal.support.run import Run
from tests import oracles
from tests.inputs.strategies import tables


@st.composite
def clouds(draw):
    """A few points with whole coordinates and labels, so that distances are exact, and ties are common."""
    rows, numbers, names = draw(st.integers(1, 14)), draw(st.integers(0, 2)), draw(st.integers(0, 2))
    names = names if numbers else max(names, 1)

    def columns(many, largest):
        cells = st.lists(st.integers(0, largest), min_size=rows, max_size=rows)
        return [draw(cells) for _ in range(many)]

    points = np.array(columns(numbers, 6), np.float64).reshape(numbers, rows)
    labels = np.array(columns(names, 3), np.int32).reshape(names, rows)
    weights = np.array([draw(st.integers(0, 4)) for _ in range(names)], np.float64)
    return points, labels, weights, np.arange(names + 1, dtype=np.int64) * 4


@given(clouds(), st.integers(1, 4))
@settings(max_examples=300, deadline=None)
def test_mdav_is_its_twin(cloud, k):
    """The centre is a fraction, so ties with it may break either way: the first seed may differ, nothing else."""
    points, labels, weights, starts = cloud
    rows = points.shape[1] if len(points) else labels.shape[1]
    k = min(k, rows)
    found = kernels.mdav(points, labels, weights, starts, k)
    sizes = np.bincount(found)
    assert sizes.min() >= k
    assert sizes.max() < 2 * k
    expected = oracles.microaggregation.mdav(points, labels, weights, starts, k)
    if not _tied(points, labels, weights, k):
        np.testing.assert_array_equal(found, expected)


def _tied(points, labels, weights, k):
    """Whether two different rows are equally far from the centre of all at some step; then rounding decides."""
    from fractions import Fraction

    rows = points.shape[1] if len(points) else labels.shape[1]
    left = list(range(rows))
    groups = oracles.microaggregation.mdav(points, labels, weights, np.arange(len(labels) + 1) * 4, k)
    group = 0
    while len(left) >= 2 * k:
        away = {}
        for i in left:
            far = Fraction(0)
            for column in points:
                far += (
                    Fraction(int(column[i])) - Fraction(sum(int(column[o]) for o in left), len(left))
                ) ** 2
            for j, column in enumerate(labels):
                for a in range(4):
                    share = Fraction(sum(int(column[o]) == a for o in left), len(left))
                    far += Fraction(int(weights[j]), 2) * (int(column[i] == a) - share) ** 2
            away[i] = far
        highest = max(away.values())
        if sum(far == highest for far in away.values()) > 1:
            return True
        for _ in range(2 if len(left) >= 3 * k else 1):
            left = [i for i in left if groups[i] != group]
            group += 1
    return False


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=11), st.integers(1, 4))
@settings(max_examples=300, deadline=None)
def test_no_grouping_of_sorted_values_is_better(values, k):
    ordered = np.sort(np.array(values, np.float64))
    k = min(k, len(values))
    found, best = kernels.best_cuts(ordered, k), oracles.microaggregation.best_cuts(ordered, k)
    assert np.diff([*found, len(values)]).min() >= k
    assert squares(ordered, found) == pytest.approx(squares(ordered, best), abs=1e-9)


def squares(values, cuts):
    return sum(((part - part.mean()) ** 2).sum() for part in np.split(values, cuts[1:]))


@given(st.lists(st.integers(0, 9), min_size=2, max_size=7), st.integers(1, 3))
@settings(max_examples=150, deadline=None)
def test_the_best_groups_of_one_column_are_those_of_all_partitions(values, k):
    """Groups need not be neighbours, but no other partition is better: by brute force over all of them."""
    ordered = np.sort(np.array(values, np.float64))
    k = min(k, len(values))

    def partitions(rest):
        if not rest:
            yield []
            return
        for smaller in partitions(rest[1:]):
            yield [[rest[0]], *smaller]
            for at, part in enumerate(smaller):
                yield [*smaller[:at], [rest[0], *part], *smaller[at + 1 :]]

    least = min(
        sum(((np.array(part) - np.mean(part)) ** 2).sum() for part in parts)
        for parts in partitions(list(ordered))
        if min(map(len, parts)) >= k
    )
    assert squares(ordered, kernels.best_cuts(ordered, k)) == pytest.approx(least, abs=1e-9)


def test_an_example_by_hand():
    """1 2 3 | 10 11 12 13: 2 + 5 = 7. Any other cut with groups of 3 mixes both ends."""
    assert kernels.best_cuts(np.array([1.0, 2, 3, 10, 11, 12, 13]), 3).tolist() == [0, 3]
    # The centre is 52/7 = 7.4: 1 is farthest, and takes 2 and 3; four are left, fewer than 2k.
    points = np.array([[1.0, 2, 3, 10, 11, 12, 13]])
    found = kernels.mdav(points, np.empty((0, 7), np.int32), np.empty(0), np.zeros(1, np.int64), 3)
    assert found.tolist() == [0, 0, 0, 1, 1, 1, 1]


ASKED = {"k": 3, "relocation": {"budget": 1.0}}


def policy(columns=None, privacy=ASKED, **method):
    columns = columns or {"age": "quasi", "income": "quasi", "sex": "quasi", "disease": "sensitive"}
    return shoal.Policy.from_dict(
        {
            "columns": {name: {"role": role} for name, role in columns.items()},
            "privacy": privacy,
            "method": {"name": "microaggregation", **method},
        }
    )


def frame(rows=60, seed=3):
    random = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": random.integers(18, 80, rows),
            "income": np.round(random.lognormal(10, 1, rows), 2),
            "sex": random.choice(["f", "m"], rows),
            "disease": random.choice(["flu", "asthma", "cancer"], rows),
        }
    )


@pytest.mark.parametrize("show", ["mean", "median"])
def test_what_is_published(show):
    """Types stay, classes have k rows, and every cell shows a value between those of its class."""
    rows = frame().with_row_index("tag")
    columns = {"age": "quasi", "income": "quasi", "sex": "quasi", "disease": "sensitive", "tag": "plain"}
    made = shoal.anonymize(rows, policy(columns, aggregate=show), seed=1)
    assert made.holds
    out = made.table
    assert {name: out[name].dtype for name in ("age", "income")} == {"age": pl.Int64, "income": pl.Float64}
    both = out.join(rows, on="tag", suffix="_own")
    for _, group in both.group_by("age", "income", "sex"):
        assert len(group) >= 3
        for name in ("age", "income", "sex"):
            assert (
                group[name][0]
                in (rows if show == "mean" else group)[name if show == "mean" else f"{name}_own"]
            )
            assert group[f"{name}_own"].min() <= group[name][0] <= group[f"{name}_own"].max()
    verdict = next(v for v in made.verdicts if "cells false" in v.model)
    false = sum((both[name] != both[f"{name}_own"]).sum() for name in ("age", "income", "sex"))
    assert verdict.reached == pytest.approx(false / (3 * len(rows)))
    assert made.release.facts["false_cells"] == false


def test_a_release_is_audited_from_its_file(tmp_path):
    rows = frame()
    made = shoal.anonymize(rows, policy(), seed=1)
    made.table.write_csv(tmp_path / "release.csv")
    judged = shoal.audit(tmp_path / "release.csv", policy(), original=rows)
    assert judged.holds, judged.verdicts
    # Where the policy permits no false cells, the same file is not truthful.
    strict = policy(privacy={"k": 3}).override(["method.name=mondrian"])
    told = {
        verdict.model: verdict.holds for verdict in shoal.audit(made.table, strict, original=rows).verdicts
    }
    assert told["3-anonymity"] is True
    assert told["truthful"] is False


def test_the_papers_say_what_cells_show():
    made = shoal.anonymize(frame(), policy(privacy={"k": 3, "relocation": {"budget": 0.9}}), seed=1)
    words = "as the mean, median or most frequent value of a group of close rows"
    told = {column["name"]: column["published"] for column in made.card["columns"]}
    assert told == {"age": words, "income": words, "sex": words, "disease": "as it is"}
    assert made.card["cells_changed_at_most"] == pytest.approx(0.9)
    assert made.codebook.by_name["income"].published == words


def test_the_papers_of_a_divided_table_say_the_same():
    rows = frame(200)
    asked = policy(privacy={"k": 3, "relocation": {"budget": 0.95}})
    whole = shoal.anonymize(rows, asked, seed=1)
    made = shoal.anonymize(rows, asked.override(["engine.part_rows=50", "engine.jobs=1"]), seed=1)
    assert made.release.facts["parts"] > 1
    assert made.holds
    for name in ("columns", "cells_changed_at_most"):
        assert _published(made.card[name]) == _published(whole.card[name])


def _published(told):
    return [column["published"] for column in told] if isinstance(told, list) else told


def test_the_policy_must_permit_false_cells():
    with pytest.raises(PolicyError, match="allows no false cells") as error:
        shoal.anonymize(frame(), policy(privacy={"k": 3}))
    assert "privacy.relocation.budget" in str(error.value) or "relocation" in str(error.value)
    with pytest.raises(LimitError, match="the policy allows 10 %"):
        shoal.anonymize(frame(), policy(privacy={"k": 3, "relocation": {"budget": 0.1}}))
    with pytest.raises(PolicyError, match="no test of sizes"):
        shoal.anonymize(frame(), policy(privacy={"k": 3, "relocation": {"budget": 1.0, "alpha": 0.05}}))


def test_limits_of_risk():
    """A highest risk of 1/4 means groups of four; people of a population do not have means."""
    asked = policy(privacy={"risk": {"highest": "1/4"}, "relocation": {"budget": 1.0}})
    made = shoal.anonymize(frame(), asked, seed=1)
    assert made.holds
    sizes = np.bincount(made.release.region_of)
    assert (sizes.min(), sizes.max()) == (4, 4)
    raw = {
        **asked.to_dict(),
        "privacy": {"k_map": 5, "relocation": {"budget": 1.0}},
        "population": {"size": 9_000},
    }
    with pytest.raises(PolicyError, match="k-map counts the people of a population"):
        shoal.anonymize(frame(), shoal.Policy.from_dict(raw))


def test_unknown_options():
    with pytest.raises(PolicyError, match="'mdvaa' is unknown"):
        Microaggregation(grouping="mdvaa")
    with pytest.raises(PolicyError, match="'mode' is unknown"):
        Microaggregation(aggregate="mode")


def test_projection_needs_numbers():
    with pytest.raises(LimitError, match="numbers or dates"):
        shoal.anonymize(frame(), policy(grouping="projection"))


def test_one_column_is_grouped_best():
    """auto takes the optimum for one column of numbers: never more variance is lost than by MDAV."""
    columns = {"income": "quasi", "disease": "sensitive"}
    rows = frame().select("income", "disease")
    lost = {
        grouping: shoal.anonymize(rows, policy(columns, grouping=grouping), seed=1).release.facts[
            "variance_lost"
        ]
        for grouping in ("auto", "projection", "mdav")
    }
    assert lost["auto"] == lost["projection"] <= lost["mdav"]


def test_without_k_other_models_decide():
    """Rows begin alone, and join until every group has two diseases."""
    made = shoal.anonymize(frame(), policy(privacy={"l": 2, "relocation": {"budget": 1.0}}), seed=1)
    assert made.holds
    sizes = made.table.group_by("age", "income", "sex").agg(pl.col("disease").n_unique())
    assert sizes["disease"].min() == 2


REQUIRED = Requirements(models=(KAnonymity(k=2), HybridK(budget=1.0)))


@given(tables(rows=st.integers(2, 14)), st.sampled_from(["mean", "median"]))
@settings(max_examples=200, deadline=None)
def test_k_holds_and_cells_are_values_of_the_group(table, show):
    release = Microaggregation(aggregate=show).anonymize(table, REQUIRED, Run.start(1))
    assert release.low is not release.high
    np.testing.assert_array_equal(release.low, release.high)
    assert np.bincount(release.region_of).min() >= 2
    for group in range(len(release.low)):
        members = table.quasi.wide[release.region_of == group]
        for j, attribute in enumerate(table.attributes):
            own, shown = members[:, j].tolist(), int(release.low[group, j])
            assert min(own) <= shown <= max(own)
            assert shown == by_hand(attribute.hierarchy, own, show, set(table.quasi.wide[:, j].tolist()))


def test_a_group_is_empty_only_if_most_of_its_cells_are():
    frame = pl.DataFrame({"town": ["a", "b", "c", None, None], "x": [1] * 5})
    asked = shoal.Policy.from_keywords(
        quasi=["town", "x"], k=5, method="microaggregation", relocation={"budget": 1.0}
    )
    assert shoal.anonymize(frame, asked, seed=1).table["town"].to_list() == ["a"] * 5
    most = frame.with_columns(town=pl.Series(["a", "b", None, None, None]))
    assert shoal.anonymize(most, asked, seed=1).table["town"].to_list() == [None] * 5


def by_hand(tree, codes, show, everybody):
    """The aggregate of a group by its definition."""
    if not tree.by_width:
        values = [code for code in codes if tree.leaves[code] is not None]
        codes = values if 2 * len(values) >= len(codes) else [code for code in codes if code not in values]
        return min(codes, key=lambda code: (-codes.count(code), code))
    numbers = sorted(code for code in codes if code < tree.ordered)
    if 2 * len(numbers) < len(codes):
        return tree.size - 1  # null
    if show == "median":
        return numbers[(len(numbers) - 1) // 2]
    values = [tree.positions[code] for code in numbers]
    mean = sum(values) / len(values)
    choices = [code for code in everybody if code < tree.ordered]
    return min(choices, key=lambda code: (round(abs(tree.positions[code] - mean), 9), code))


@given(tables(rows=st.integers(2, 12)))
@settings(max_examples=100, deadline=None)
def test_every_column_has_the_variance_of_its_weight(table):
    placed = coordinates(table)
    total = 0.0
    for column in placed.points:
        total += column.var()
    for j, column in enumerate(placed.labels):
        shares = np.bincount(column) / len(column)
        total += placed.weights[j] / 2 * (1 - shares @ shares)
    varied = [a.weight for j, a in enumerate(table.attributes) if len(set(table.quasi.wide[:, j])) > 1]
    # A column of numbers with empty cells has both a place and a label.
    most = sum(2 * weight for weight in varied)
    assert sum(varied) - 1e-9 <= total + 1e-9
    assert total <= most + 1e-9


def test_variance_lost_by_hand():
    """1, 3 | 7, 9: within 4, in all 40."""
    rows = pl.DataFrame({"income": [1, 3, 7, 9], "disease": ["a", "b", "a", "b"]})
    columns = {"income": "quasi", "disease": "sensitive"}
    made = shoal.anonymize(rows, policy(columns, {"k": 2, "relocation": {"budget": 1.0}}), seed=1)
    assert made.release.facts["variance_lost"] == pytest.approx(0.1)
    assert sorted(made.table["income"].to_list()) == [1, 1, 7, 7]


def test_false_cells_are_compared_as_if_they_were_true():
    """1, 3 | 7, 9 show 1 and 7: a domain of 4 values, in which 1..3 and 7..9 cover 2 each. LM is 0, but the two false
    cells of four would lose 1/3 each: 1/6 on average."""
    rows = pl.DataFrame({"income": [1, 3, 7, 9], "disease": ["a", "b", "a", "b"]})
    columns = {"income": "quasi", "disease": "sensitive"}
    asked = policy(columns, {"k": 2, "relocation": {"budget": 1.0}})
    made = shoal.anonymize(rows, asked, seed=1)
    assert made.measures["lm"] == 0
    (note,) = [note for note in made.notes if "false cell" in note]
    assert "counts what cells show, 0.00%" in note
    assert "it is 16.67%" in note
    found = shoal.compare(rows, asked, methods=["microaggregation", "mondrian"], seed=1)
    lost = {trial.method: trial.measures["lm"] for trial in found.trials if trial.status == "done"}
    # Mondrian shows [1, 3] and [7, 9]: every cell loses 1/3.
    assert lost == {"microaggregation": pytest.approx(1 / 6), "mondrian": pytest.approx(1 / 3)}


def test_compare_says_what_would_permit_it():
    asked = policy(privacy={"k": 3}).override(["method.name=mondrian"])
    found = shoal.compare(frame(), asked, methods=["microaggregation"], seed=1)
    (trial,) = found.trials
    assert trial.status == "refused"
    assert "shows means of groups in place of values, and the policy allows no false cells" in trial.reason
    assert "to allow 100 %" in trial.reason
