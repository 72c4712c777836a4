"""Attacks on releases with relocated rows: what a rerun names, what linkage counts, and what advice leads to."""

from __future__ import annotations

import itertools
import shutil

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.apps.cli import main
from shoal.apps.samples import sample
from shoal.coding.column_plan import ColumnPlan
from shoal.coding.encode import encode
from shoal.coding.roles import QUASI
from shoal.errors import DataError, PolicyError
from shoal.judging.attacks import ATTACKS, class_subtraction
from shoal.judging.attacks.class_subtraction import assign_groups
from shoal.judging.attacks.statistical_attack import KNOWLEDGE
from shoal.judging.linking.evidence import Evidence
from shoal.judging.linking.origins import Traced
from shoal.judging.models.hybrid_k import chi_squared, count_expected_rows
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.requirements import Requirements
from shoal.methods import METHODS
from shoal.methods.relocating.relocation import VARIANTS
from shoal.release.published import Boxes, Published
from shoal.support.run import Run
from tests.inputs.samples import CENSUS, DATA
from tests.oracles.class_subtraction import assign_groups as assign_by_hand

K = 5


def rerun(table, name, variant):
    """Rerun a method with other draws, and compare with its release."""
    options = {"prune": False} if name == "hybrid" else {}
    method = METHODS[name](variant=variant, budget=0.02, **options)
    wish = Requirements(models=(KAnonymity(k=K),))
    release = method.anonymize(table, wish, Run.start(1))
    found = ATTACKS["algorithm-aware"](method=method, requirements=wish).attempt(
        Evidence.of_release(table, release), Run.start(2)
    )
    assert found.figures["relocated"] == release.facts["relocated_rows"] > 0
    return found


@pytest.fixture(scope="module")
def table():
    policy = CENSUS.policy({"k": K}, {"name": "hybrid"})
    frame = CENSUS.frame(1_500)
    return encode(frame, policy.plans(frame.columns))


@pytest.mark.parametrize("name", ["hybrid", "hybrid-mondrian", "relocate"])
@pytest.mark.parametrize("variant", ["deterministic", "statistical"])
def test_a_fixed_rule_names_the_class_of_everybody_who_was_relocated(table, name, variant):
    found = rerun(table, name, variant)
    # Of a group that gives only some of its rows, the draw decides which; whole groups are the rule.
    assert found.figures["share_named"] > 0.9
    assert found.figures["same_cells"] == 1
    assert found.at_risk == found.figures["class_named"] > 0


@pytest.mark.parametrize("variant", ["randomized", "rstat"])
def test_drawn_targets_hide_the_class_and_not_always_who_was_relocated(table, variant):
    found = rerun(table, "hybrid", variant)
    assert found.figures["named_by_rerun"] <= 0.2 * found.figures["relocated"]
    if found.figures["same_cells"] == 1:
        assert found.figures["relocated_people_found"] > 0.5


def test_the_attack_takes_results_and_refuses_files():
    people = CENSUS.frame(800)
    policy = CENSUS.policy({"k": K}, {"name": "hybrid", "budget": 0.02})
    made = shoal.anonymize(people, policy, seed=1)
    found = shoal.attack(made, policy, original=people, name="algorithm-aware")
    assert found.figures["relocated"] == found.figures["class_named"] > 0
    with pytest.raises(DataError, match="whose row is whose is not known"):
        shoal.attack(made.table, policy, original=people, name="algorithm-aware")


def test_a_budget_that_the_method_does_not_use_hides_nobody():
    """Mondrian relocates nothing, whatever the policy allows, so who knows all members rules out as many pairs."""
    people, method = CENSUS.frame(400), {"name": "mondrian"}
    plain = CENSUS.policy({"k": 3}, method)
    allowed = CENSUS.policy({"k": 3, "relocation": {"budget": 1.0}}, method)
    found = []
    for policy in (plain, allowed):
        made = shoal.anonymize(people, policy, seed=1)
        found.append(shoal.attack(made, policy, original=people, name="linkage"))
    assert found[0].figures == found[1].figures
    assert found[0].success == found[1].success
    # The file alone does not say how it was made: rows may be false as far as the policy allows.
    told = shoal.attack(made.table, allowed, original=people, name="linkage")
    assert "match_no_row" in told.figures


def test_a_policy_that_names_knows_algorithm_refuses_every_variant():
    for variant, notion in itertools.product(VARIANTS, ("k-anonymity", None)):
        method = {"name": "hybrid", "variant": variant, "budget": 0.02}
        privacy = {"k": K, "adversary": ["knows-algorithm"]} | ({"notion": notion} if notion else {})
        with pytest.raises(PolicyError, match="published minus true class sizes") as caught:
            CENSUS.policy(privacy, method)
        assert "without naming knows-algorithm" in caught.value.problems[0].hint


@pytest.fixture(scope="module")
def census():
    policy = shoal.Policy.read(DATA / "census.toml")
    people = sample("census", 5_000).select(list(policy.columns))
    return encode(people, policy.plans(people.columns))


def test_class_sizes_name_everybody_whom_drawn_targets_should_hide(census):
    """Census, 5,000 rows, k = 20: four groups were dissolved, of 1, 6, 7 and 10 rows, and four classes received as
    many. No other assignment leads to these sizes, so the class of all 24 people is certain. All verdicts hold."""
    method, wish = METHODS["hybrid"](variant="rstat"), Requirements(models=(KAnonymity(k=20),))
    evidence = Evidence.of_release(census, method.anonymize(census, wish, Run.start(1)))
    assert evidence.published.sizes.min() >= 20
    assert chi_squared(evidence).p_value >= 0.05
    truth = count_expected_rows(evidence)
    received = evidence.published.sizes - truth.classes
    assert sorted(truth.elsewhere.tolist()) == sorted(received[received > 0].tolist()) == [1, 6, 7, 10]
    found = ATTACKS["algorithm-aware"](method=method, requirements=wish).attempt(evidence, Run.start(2))
    assert found.figures["named_by_sizes"] == found.figures["certain_by_sizes"] == 24
    assert found.at_risk == found.figures["relocated"] == 24
    assert found.success == 1.0


def test_class_sizes_name_more_than_a_rerun_with_other_draws(census):
    """k = 10: the class of more than a fifth is named on average; a rerun names fewer."""
    method, wish = METHODS["hybrid"](variant="rstat"), Requirements(models=(KAnonymity(k=10),))
    by_sizes, by_rerun = [], []
    for seed in (1, 2, 3):
        evidence = Evidence.of_release(census, method.anonymize(census, wish, Run.start(seed)))
        found = ATTACKS["algorithm-aware"](method=method, requirements=wish).attempt(
            evidence, Run.start(seed + 50)
        )
        by_sizes.append(found.figures["named_by_sizes"] / found.figures["relocated"])
        by_rerun.append(found.figures["named_by_rerun"] / found.figures["relocated"])
        assert not found.holds
    assert np.mean(by_sizes) > 0.2
    assert np.mean(by_sizes) > np.mean(by_rerun)


@pytest.mark.parametrize("seed", range(40))
def test_assignments_of_groups_are_counted_as_by_hand(seed):
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 5, int(random.integers(1, 7)))
    classes = int(random.integers(1, 4))
    room = np.bincount(random.integers(0, classes, len(sizes)), sizes, classes).astype(np.int64)
    expected = [[float(share) for share in own] for own in assign_by_hand(sizes.tolist(), room.tolist())]
    found = assign_groups(sizes, room, Run.start(1))
    assert found is not None
    assert found == pytest.approx(np.array(expected))


def test_too_many_assignments_are_not_counted(monkeypatch):
    monkeypatch.setattr(class_subtraction, "MOST_WORK", 10)
    assert assign_groups(np.array([2, 2, 3, 4]), np.array([5, 6]), Run.start(1)) is None


@pytest.mark.parametrize("name", ["hybrid-mondrian", "relocate"])
def test_statistical_relocation_goes_as_far_as_the_stated_test_allows(table, name):
    """The p-value is that of a verdict, at least alpha; a looser test lets more cells change."""
    changed = []
    for alpha in (0.05, 0.9):
        release = METHODS[name](variant="statistical", budget=0.2, alpha=alpha).anonymize(
            table, Requirements(models=(KAnonymity(k=K),)), Run.start(1)
        )
        verified = chi_squared(Evidence.of_release(table, release))
        assert release.facts["p_value"] == pytest.approx(verified.p_value)
        assert verified.p_value >= alpha
        changed.append(release.facts["changed_cells"])
    assert changed[0] > changed[1]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_row_that_several_classes_cover_counts_where_it_is_most_suspicious(order):
    """By hand, whatever the order of the classes. Ages 1-3 (4 rows), 2-4 (4) and 4-6 (5 rows).

    A person of 3 years is shown as 4-6: 1-3 and 2-4 both cover them. A person of 5 years is shown as 2-4, so 2-4 has
    3 rows of its own and 1 too many, while 1-3 has lost nothing: the person of 3 years counts in 1-3.
    """
    ages = [1, 2, 2, 1, 3, 4, 4, 5, 5, 6, 4, 6, 3]
    region_of = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2])
    table = encode(pl.DataFrame({"age": ages}), [ColumnPlan("age", QUASI)])
    low, high = np.array([[0], [1], [3]], np.int32), np.array([[2], [3], [5]], np.int32)
    turned, place = list(order), np.argsort(order).astype(np.int32)
    seen = Published(
        table.attributes, (), place[region_of], np.empty((13, 0), np.int32), Boxes(low[turned], high[turned])
    )  # fmt: skip
    evidence = Evidence(seen, table, Traced(np.arange(13, dtype=np.int32)))
    # 4-6 shows 5 rows; 4 of them are true, and the person of 5 years belongs there: 5.
    assert count_expected_rows(evidence).classes[place].tolist() == [5, 3, 5]
    assert chi_squared(evidence).statistic == pytest.approx(1 / 5 + 1 / 3)


def test_what_success_counts_is_said_and_knows_is_an_option(tmp_path):
    people = CENSUS.frame(600)
    policy = CENSUS.policy({"k": K}, {"name": "hybrid", "budget": 0.02})
    shoal.anonymize(people, policy, seed=1).table.write_csv(tmp_path / "out.csv")
    people.write_csv(tmp_path / "in.csv")
    for file in DATA.glob("census_*.csv"):
        shutil.copy(file, tmp_path)
    (tmp_path / "p.toml").write_text(policy.to_toml())
    for knows, words in KNOWLEDGE.items():
        asked = ["--policy", "p.toml", "--original", "in.csv", "--attack", "statistical", "--knows", knows]
        done = CliRunner().invoke(main, ["attack", str(tmp_path / "out.csv"), *(
            str(tmp_path / part) if part.endswith((".toml", ".csv")) else part for part in asked
        )])  # fmt: skip
        assert words in done.output
        assert "of the rows that they suspect" in done.output


def test_linkage_counts_people_who_match_no_row_of_a_hybrid_release():
    people = CENSUS.frame(600)
    policy = CENSUS.policy({"k": K}, {"name": "hybrid", "budget": 0.02})
    made = shoal.anonymize(people, policy, seed=1)
    found = shoal.attack(made, policy, original=people, name="linkage", adversary="some")
    # Each of them has at least one of the false cells that the budget allows.
    assert 0 < found.figures["match_no_row"] <= 0.02 * people.height * 3
    known = shoal.attack(made, policy, original=people, name="linkage", adversary="members")
    assert known.figures["match_no_row"] == found.figures["match_no_row"]
    assert any("rules out no pair" in note for note in known.notes)
