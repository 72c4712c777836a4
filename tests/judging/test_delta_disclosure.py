"""delta-disclosure by hand, by definition on small random tables, and through every verb."""

from __future__ import annotations

import json
import math

import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.apps.cli import main
from shoal.errors import PolicyError
from shoal.judging.models.delta_disclosure import DeltaDisclosure
from shoal.judging.models.model import Monotone
from shoal.pipeline.explanation.relaxations import relaxations
from tests.inputs.model_cases import PLACE, of_counts
from tests.inputs.samples import small_table

METHODS = ("mondrian", "full-domain", "agglomerative", "hilbert", "lexicographic", "p-k", "forest")
ROLES = {"quasi": ["age", "town"], "sensitive": ["ill"]}


def largest(rows: pl.DataFrame, whole: pl.DataFrame, *, strict: bool) -> float:
    """The largest logarithm of q / p over all classes and all values, or only the values of each class."""
    table = whole["ill"].to_list()
    found = [0.0]
    for _, part in rows.group_by("age", "town"):
        own = part["ill"].to_list()
        for value in set(table) if strict else set(own):
            q, p = own.count(value) / len(own), table.count(value) / len(table)
            found.append(abs(math.log2(q / p)) if q else math.inf)
    return max(found)


def test_reached_is_the_largest_logarithm():
    # The table has 5, 2, 1 of 8. In the first class the last value doubles; the second lacks it, and 5/8 becomes 6/8.
    groups = of_counts([2, 1, 1, 0], [3, 1, 0, 0], [5, 2, 1, 0], totals=[5, 2, 1, 0])
    assert DeltaDisclosure(delta=9, **PLACE).score_groups(groups) == pytest.approx([1, math.inf, 0])
    present = DeltaDisclosure(delta=9, strict=False, **PLACE)
    assert present.score_groups(groups) == pytest.approx([1, math.log2(6 / 5), 0])
    assert DeltaDisclosure(delta=9, **PLACE).holds_in(groups).tolist() == [True, False, True]
    assert present.holds_in(groups).all()


def test_the_inequality_is_strict():
    groups = of_counts([2, 1, 1, 0], totals=[5, 2, 1, 0])
    assert not DeltaDisclosure(delta=1, **PLACE).holds_in(groups)[0]
    assert DeltaDisclosure(delta=1.0000001, **PLACE).holds_in(groups)[0]
    # A fall counts as much as a rise: 1/2 becomes 1/4.
    falling = of_counts([1, 3, 0, 0], totals=[5, 5, 0, 0])
    assert DeltaDisclosure(delta=9, **PLACE).score_groups(falling)[0] == 1


def test_only_the_strict_reading_is_monotone():
    assert DeltaDisclosure(delta=1, **PLACE).monotone is Monotone.OVER_ROWS
    present = DeltaDisclosure(delta=1, strict=False, **PLACE)
    assert present.monotone is Monotone.NEVER
    # A tenth of the table has the second value. A class of ten may have one such row, and a class of twenty none;
    # together they have 1 of 30, less than half of a tenth.
    groups = of_counts([9, 1, 0, 0], [20, 0, 0, 0], [29, 1, 0, 0], totals=[90, 10, 0, 0])
    assert present.holds_in(groups).tolist() == [True, True, False]


def test_groups_without_a_value_or_too_small_for_it_are_hopeless():
    model = DeltaDisclosure(delta=1, **PLACE)
    assert model.hopeless(of_counts([9, 0, 0, 0], totals=[9, 1, 0, 0])).tolist() == [True]
    # One row of the rare value is less than 2/10 only among more than five.
    assert model.hopeless(of_counts([3, 1, 0, 0], totals=[9, 1, 0, 0])).tolist() == [True]
    assert model.hopeless(of_counts([5, 1, 0, 0], totals=[9, 1, 0, 0])).tolist() == [False]
    present = DeltaDisclosure(delta=1, strict=False, **PLACE)
    assert present.hopeless(of_counts([0, 2, 0, 0], [9, 0, 0, 0], totals=[9, 1, 0, 0])).tolist() == [
        True,
        False,
    ]


def test_a_policy_asks_for_it_with_a_number_a_word_or_per_column():
    def models(delta, sensitive=("a", "b")):
        policy = shoal.Policy.from_keywords(quasi=["q"], sensitive=sensitive, delta=delta)
        assert shoal.Policy.from_toml(policy.to_toml()) == policy
        return [(model.column_name, model.delta, model.strict) for model in policy.models()]

    assert models(1.5) == [("a", 1.5, True), ("b", 1.5, True)]
    assert models({"present": 2, "strict": 3}, ("a",)) == [("a", 3, True), ("a", 2, False)]
    assert models({"b": {"present": 2}}) == [("b", 2, False)]
    for wrong, path in (
        (0, "privacy.delta.strict"),
        ("x", "privacy.delta"),
        ({"presnt": 1}, "privacy.delta.presnt"),
    ):
        with pytest.raises(PolicyError) as caught:
            models(wrong)
        assert [problem.path for problem in caught.value.problems] == [path]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("rule", "delta"), [("strict", 2.0), ("present", 1.5)])
def test_methods_by_classes_satisfy_it(method, rule, delta):
    for seed in range(4):
        rows = small_table(60, seed)
        options = {"name": method, "show": "ranges"} if method in ("hilbert", "lexicographic") else method
        made = shoal.anonymize(rows, **ROLES, k=2, delta={rule: delta}, method=options, seed=seed)
        assert made.holds
        reached = largest(made.table, rows, strict=rule == "strict")
        assert reached < delta
        judged = shoal.audit(made.table, original=rows, **ROLES, k=2, delta={rule: delta})
        assert judged.verdicts[1].reached == pytest.approx(reached)


def test_the_public_learns_how_far_only_where_nobody_was_left_out():
    rows = pl.DataFrame({"age": [1] * 8 + [9], "town": ["x"] * 9, "ill": ["a"] * 4 + ["b"] * 4 + ["c"]})
    asked = {**ROLES, "k": 2, "delta": {"present": 0.5}, "method": "full-domain"}
    left_out = shoal.anonymize(rows, **asked, suppression=0.2, limits={"age": 0})
    assert left_out.suppressed == 1
    assert left_out.verdicts[1].reached == pytest.approx(math.log2(9 / 8))
    assert left_out.card["guarantees"][1]["reached"] == "at most 0.5"
    assert shoal.anonymize(rows, **asked).card["guarantees"][1]["reached"] == 0


def test_it_is_relaxed_compared_and_set_from_the_command_line(tmp_path):
    policy = shoal.Policy.from_keywords(**ROLES, k=2, delta={"ill": {"present": 2.0}})
    steps = {step.what: (step.before, step.after) for step in relaxations(policy)}
    assert steps["present delta of ill"] == ("2", "3")
    rows = small_table(40, 1)
    assert shoal.compare(rows, policy, methods=["mondrian"], seed=1).trials[0].holds
    rows.write_csv(tmp_path / "rows.csv")
    (tmp_path / "policy.toml").write_text(policy.to_toml())
    asked = ["audit", str(tmp_path / "rows.csv"), "-p", str(tmp_path / "policy.toml"), "--json"]
    told = json.loads(CliRunner().invoke(main, [*asked, "--set", "privacy.delta=1.5"]).output)
    assert told["verdicts"][1]["model"] == "1.5-disclosure of ill"
    page = shoal.report(shoal.anonymize(rows, policy, seed=1), policy, original=rows)
    assert "2-disclosure (present values) of ill" in str(page.html)
