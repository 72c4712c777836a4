"""beta-likeness by hand, by definition on small random tables, and through every verb."""

from __future__ import annotations

import json
import math

import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.apps.cli import main
from shoal.errors import PolicyError
from shoal.judging.models.beta_likeness import BetaLikeness
from shoal.pipeline.explanation.relaxations import relaxations
from tests.inputs.model_cases import PLACE, of_counts
from tests.inputs.samples import small_table

METHODS = ("mondrian", "full-domain", "agglomerative", "hilbert", "lexicographic", "p-k", "forest")
ROLES = {"quasi": ["age", "town"], "sensitive": ["ill"]}


def gain_and_share(rows: pl.DataFrame, whole: pl.DataFrame) -> list[tuple[float, float]]:
    """The gain (q - p) / p of every value of every class that is more frequent there than in the table, and its p."""
    table = whole["ill"].to_list()
    found = []
    for _, part in rows.group_by("age", "town"):
        own = part["ill"].to_list()
        for value in set(own):
            q, p = own.count(value) / len(own), table.count(value) / len(table)
            if q > p:
                found.append(((q - p) / p, p))
    return found


def test_reached_is_the_largest_gain():
    # The table has 5, 2, 1 of 8. In the first class the last value doubles, in the second the first gains 6/8 : 5/8.
    groups = of_counts([2, 1, 1, 0], [3, 1, 0, 0], [4, 0, 0, 0], totals=[5, 2, 1, 0])
    basic = BetaLikeness(beta=0.5, enhanced=False, **PLACE)
    assert basic.score_groups(groups) == pytest.approx([1.0, 0.2, 0.6])
    assert basic.holds_in(groups).tolist() == [False, True, False]
    # -ln(5/8) = 0.47: a class of the first value alone gains more than any enhanced beta permits.
    enhanced = BetaLikeness(beta=9, **PLACE)
    assert enhanced.score_groups(groups) == pytest.approx([1.0, 0.2, math.inf])
    assert enhanced.holds_in(groups).tolist() == [True, True, False]


def test_bounds_are_inclusive():
    groups = of_counts([1, 1, 0, 0], totals=[1, 3, 0, 0])
    assert BetaLikeness(beta=1, enhanced=False, **PLACE).holds_in(groups)[0]
    assert not BetaLikeness(beta=0.999, enhanced=False, **PLACE).holds_in(groups)[0]
    # One value in the whole table: p = 1, q = 1, and nothing is gained.
    assert BetaLikeness(beta=1, **PLACE).holds_in(of_counts([3, 0, 0, 0]))[0]


def test_groups_whose_values_are_too_rare_are_hopeless():
    # Values of 1/10 each may take 2/10 of a class, so five of them are needed.
    model = BetaLikeness(beta=1, enhanced=False, **PLACE)
    assert model.hopeless(of_counts([1, 1, 1, 0], totals=[1, 1, 1, 7])).tolist() == [True]
    assert model.hopeless(of_counts([1, 1, 1, 1], totals=[1, 1, 1, 7])).tolist() == [False]


def test_a_policy_asks_for_it_with_a_number_a_word_or_per_column():
    def models(beta, sensitive=("a", "b")):
        policy = shoal.Policy.from_keywords(quasi=["q"], sensitive=sensitive, beta=beta)
        assert shoal.Policy.from_toml(policy.to_toml()) == policy
        return [(model.column_name, model.beta, model.enhanced) for model in policy.models()]

    assert models(1.5) == [("a", 1.5, True), ("b", 1.5, True)]
    assert models({"basic": 2, "enhanced": 3}) == [
        ("a", 3, True),
        ("b", 3, True),
        ("a", 2, False),
        ("b", 2, False),
    ]
    assert models({"b": {"basic": 2}}) == [("b", 2, False)]
    for wrong, path in (
        (0, "privacy.beta.enhanced"),
        ("x", "privacy.beta"),
        ({"basik": 1}, "privacy.beta.basik"),
    ):
        with pytest.raises(PolicyError) as caught:
            models(wrong)
        assert [problem.path for problem in caught.value.problems] == [path]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("enhanced", [False, True])
def test_methods_by_classes_satisfy_it(method, enhanced):
    for seed in range(4):
        rows = small_table(40, seed)
        rule = {"enhanced" if enhanced else "basic": 1.0}
        options = {"name": method, "show": "ranges"} if method in ("hilbert", "lexicographic") else method
        made = shoal.anonymize(rows, **ROLES, k=2, beta=rule, method=options, seed=seed)
        assert made.holds
        gains = gain_and_share(made.table, rows)
        assert all(gain <= (min(1.0, -math.log(p)) if enhanced else 1.0) + 1e-9 for gain, p in gains)
        judged = shoal.audit(made.table, original=rows, **ROLES, k=2, beta=rule)
        assert judged.verdicts[1].reached == pytest.approx(max([gain for gain, _ in gains], default=0))


def test_the_public_learns_the_gain_only_where_nobody_was_left_out():
    rows = pl.DataFrame({"age": [1] * 8 + [9], "town": ["x"] * 9, "ill": ["a"] * 4 + ["b"] * 4 + ["c"]})
    asked = {**ROLES, "k": 2, "beta": {"basic": 0.2}, "method": "full-domain"}
    left_out = shoal.anonymize(rows, **asked, suppression=0.2, limits={"age": 0})
    assert left_out.suppressed == 1
    # 4/8 in the class and 4/9 in the table.
    assert left_out.verdicts[1].reached == pytest.approx(0.125)
    assert left_out.card["guarantees"][1]["reached"] == "at most 0.2"
    whole = shoal.anonymize(rows, **asked)
    assert whole.card["guarantees"][1]["reached"] == 0


def test_it_is_relaxed_compared_and_set_from_the_command_line(tmp_path):
    policy = shoal.Policy.from_keywords(**ROLES, k=2, beta={"ill": {"basic": 2.0}})
    steps = {step.what: (step.before, step.after) for step in relaxations(policy)}
    assert steps["basic beta of ill"] == ("2", "3")
    rows = small_table(40, 1)
    assert shoal.compare(rows, policy, methods=["mondrian"], seed=1).trials[0].holds
    rows.write_csv(tmp_path / "rows.csv")
    (tmp_path / "policy.toml").write_text(policy.to_toml())
    asked = ["audit", str(tmp_path / "rows.csv"), "-p", str(tmp_path / "policy.toml"), "--json"]
    told = json.loads(CliRunner().invoke(main, [*asked, "--set", "privacy.beta=1.5"]).output)
    assert told["verdicts"][1]["model"] == "enhanced 1.5-likeness of ill"
    page = shoal.report(shoal.anonymize(rows, policy, seed=1), policy, original=rows)
    assert "basic 2-likeness of ill" in str(page.html)
