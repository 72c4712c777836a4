"""Who knows m others: what is left for everybody, against all sets of m people, and what follows for (k,k)."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shoal
from shoal.apps.cli import main
from shoal.errors import DataError, PolicyError
from shoal.judging.linking import rows_left as few_known
from shoal.judging.linking.rows_left import rows_left
from shoal.judging.models.k_type import EVERYBODY, KK, GlobalOneK
from shoal.judging.models.requirements import Requirements
from shoal.kernels import closed_sets, covering
from shoal.methods.cells.k_k import KK as KKMethod
from shoal.support.run import Run
from tests import oracles
from tests.inputs.strategies import tables
from tests.judging.test_linkage import LINE as AGES
from tests.judging.test_linkage import LINE_ROLES, TWO_TWO
from tests.methods.test_k_type import (
    LINE,
    LINE_HIGH,
    LINE_LOW,
    PEOPLE,
    ROLES,
    coded,
    fits,
    generalizations,
    measures,
    shown,
    started,
)


def can_be_given(inside, who, taken):
    """Whether all of these people can have a row of their own, without the rows that are taken."""
    if not who:
        return True
    rest = [row for row in np.flatnonzero(inside[who[0]]) if row not in taken]
    return any(can_be_given(inside, who[1:], taken | {row}) for row in rest)


def left_by_definition(inside, known):
    """Try every set of others and every row: fewest rows that are left for each person.

    `inside` has a column for each row of the table: those that are not published may be anybody's, and are not counted.
    """
    people, rows = inside.shape
    whole = np.concatenate([inside, np.ones((people, people - rows), bool)], axis=1)
    found = []
    for target in range(people):
        others = [one for one in range(people) if one != target]
        fewest = rows
        for who in combinations(others, min(known, len(others))):
            left = sum(bool(can_be_given(whole, list(who), {row})) for row in np.flatnonzero(inside[target]))
            fewest = min(fewest, left)
        found.append(fewest)
    return found


def left(evidence, known):
    graph = evidence.consistency
    found = rows_left(graph, known)
    assert found.exact.all()
    return found.least[graph.people.row_of].tolist()


def test_who_knows_the_people_of_1_and_5_names_the_row_of_2():
    """The release is (2,2). Who knows one other person learns nothing; two others are enough."""
    published = shown(LINE, LINE_LOW, LINE_HIGH)
    assert KK(k=2).verify(published).holds
    assert left(published, 1) == [2, 3, 5, 4, 2]
    # 1 and 5 match nothing but the two wide rows. Who knows 1, 5 and 2, and looks for 3 or 4, removes three rows.
    assert left(published, 2) == [2, 1, 3, 2, 2]
    assert left(published, 3) == [2, 1, 2, 2, 2]
    for known in range(1, 6):
        assert left(published, known) == left_by_definition(
            fits(LINE, np.array(LINE_LOW), np.array(LINE_HIGH)), known
        )


@given(data=generalizations(), known=st.integers(0, 7))
@settings(max_examples=300)
def test_what_is_left_is_the_definition(data, known):
    """Suppressed rows, equal people and rows of any origin included."""
    table, low, high, owner = data
    assert left(shown(table, low, high, owner), known) == left_by_definition(fits(table, low, high), known)


def small_release(random):
    """A (k,k) release of at most eight people, some of whom are equal."""
    rows, k = int(random.integers(3, 9)), int(random.integers(2, 4))
    columns = int(random.integers(1, 3))
    table = coded(random.integers(0, 5, (columns, rows)), [5] * columns)
    method = KKMethod(improve=bool(random.integers(2)))
    made = method.anonymize(table, Requirements(models=(KK(k=min(k, rows)),)), Run.start(1))
    return table, made.low[made.region_of], made.high[made.region_of], min(k, rows)


def test_one_thousand_small_releases_against_all_sets_of_people(repeated):
    """One thousand with --thorough. A third has rows left out, a third was made by no method."""
    random, gained, below = np.random.default_rng(32), 0, 0
    count = round(1000 * repeated)
    for number in range(count):
        table, low, high, k = small_release(random)
        if number % 3 == 1:
            kept = np.sort(random.choice(table.rows, int(random.integers(1, table.rows + 1)), replace=False))
            low, high = low[kept], high[kept]
        if number % 3 == 2:
            codes = np.asarray(table.quasi.wide)
            low = codes - np.minimum(random.integers(0, 3, codes.shape), codes)
            high = np.minimum(codes + random.integers(0, 3, codes.shape), 4)
        order = random.permutation(len(low))
        inside = fits(table, low[order], high[order])
        evidence = shown(table, low[order], high[order])
        known = int(random.integers(1, table.rows + 2))
        found = left(evidence, known)
        assert found == left_by_definition(inside, known)
        gained += found != inside.sum(axis=1).tolist()
        if number % 3 == 0:
            below += min(found) < k
    # The test must not be about releases in which nobody gains anything.
    assert gained > 0.2 * count
    assert below > 0.01 * count


@given(data=generalizations(), known=st.integers(1, 6))
@settings(max_examples=200)
def test_fewer_known_people_than_rows_that_match_gain_nothing(data, known):
    """The theorem, by definition: if everybody matches no row or more than `known`, all of them are left."""
    table, low, high, _ = data
    inside = fits(table, low, high)
    many = inside.sum(axis=1)
    least = int(many[many > 0].min())
    assume(least > 1)
    assert left_by_definition(inside, min(known, least - 1)) == many.tolist()


@given(data=generalizations(), known=st.integers(0, 6))
@settings(max_examples=100)
def test_more_known_people_never_leave_more_and_all_others_are_the_members(data, known):
    table, low, high, owner = data
    evidence = shown(table, low, high, owner)
    graph = evidence.consistency
    assert np.all(rows_left(graph, known + 1).least <= rows_left(graph, known).least)
    assert rows_left(graph, table.rows - 1).least.tolist() == graph.matches.tolist()
    assert left(evidence, table.rows - 1) == left_by_definition(fits(table, low, high), table.rows - 1)


@st.composite
def acyclic(draw):
    """Components that point to earlier ones, and targets that match rows of some of them."""
    count = draw(st.integers(1, 8))
    weight = np.array(draw(st.lists(st.integers(1, 4), min_size=count, max_size=count)))
    heads = [sorted(draw(st.sets(st.integers(0, c - 1), max_size=3))) if c else [] for c in range(count)]
    start = np.cumsum([0, *map(len, heads)])
    flat = np.array([one for own in heads for one in own], np.int64)
    most = draw(st.integers(1, int(weight.sum())))
    small = [
        c for c in range(count) if oracles.closed_sets.closure_weights(start, flat, weight, most)[c] <= most
    ]
    items = [sorted(draw(st.sets(st.sampled_from(small)))) if small else [] for _ in range(3)]
    profit = [[draw(st.integers(1, int(weight[c]))) for c in own] for own in items]
    flats = (np.array([one for own in lists for one in own], np.int64) for lists in (items, profit))
    return (np.cumsum([0, *map(len, items)]), *flats, start, flat, weight, most)


@given(data=acyclic(), tries=st.sampled_from([0, 9, 100_000]))
@settings(max_examples=300)
def test_kernels_are_their_twins(data, tries):
    item_start, items, profit, start, heads, weight, most = data
    expected = oracles.closed_sets.closure_weights(start, heads, weight, most)
    assert closed_sets.closure_weights(start, heads, weight, most).tolist() == expected
    best, limit, exact = (np.zeros(3, np.int64) for _ in range(3))
    closed_sets.most_removed(item_start, items, profit, start, heads, weight, most, tries, 0, 3, best, limit)
    oracles.closed_sets.most_removed(
        item_start, items, profit, start, heads, weight, most, tries, 0, 3, exact, exact
    )
    assert np.all(best <= exact)
    assert np.all(exact <= limit)
    if tries == 100_000:
        assert best.tolist() == limit.tolist() == exact.tolist()


def test_a_search_that_is_too_long_leaves_bounds(monkeypatch):
    """Three pairs of people whose rows also cover two others. Four known people are two of the pairs."""
    codes = np.repeat([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]], 2, axis=0)
    table = coded(codes.T.tolist(), [2, 2, 2])
    evidence = shown(table, 0 * codes, codes)
    assert left(evidence, 3) == [2] * 6 + [6] * 2
    assert left(evidence, 4) == [2] * 6 + [4] * 2 == left_by_definition(fits(table, 0 * codes, codes), 4)
    monkeypatch.setattr(few_known, "TRIES", 0)
    graph = evidence.consistency
    found = rows_left(graph, 5)
    assert not found.exact.all()
    assert found.least[graph.people.row_of].tolist() == [2] * 6 + [3] * 2  # five rows at most
    assert found.most[graph.people.row_of].tolist() == [2] * 6 + [8] * 2  # none was tried
    assert left(evidence, 6) == [2] * 8  # all three fit, so there is nothing to search


# The model ------------------------------------------------------------------------------------------------


@given(data=generalizations(), k=st.integers(2, 4), known=st.integers(0, 6) | st.just(EVERYBODY))
@settings(max_examples=200)
def test_the_verdict_is_the_definition(data, k, known):
    table, low, high, owner = data
    inside = fits(table, low, high)
    rows = [
        many
        for many in left_by_definition(inside, min(known, table.rows))
        if many or len(owner) == table.rows
    ]
    verdict = KK(k=k, known=known).verify(shown(table, low, high, owner))
    assert verdict.holds == (min(rows) >= k and min(inside.sum(axis=0)) >= k)


@given(data=generalizations(), k=st.integers(2, 4))
@settings(max_examples=100)
def test_fewer_than_k_known_people_are_plain_k_k_and_everyone_else_is_global(data, k):
    table, low, high, owner = data
    evidence = shown(table, low, high, owner)
    plain = KK(k=k).verify(evidence)
    fewer = KK(k=k, known=k - 1).verify(evidence)
    assert fewer.holds == plain.holds
    if plain.holds:
        assert fewer.reached == plain.reached
    assert KK(k=k, known=EVERYBODY).verify(evidence).holds == (
        plain.holds and GlobalOneK(k=k).verify(evidence).holds
    )


def test_a_verdict_that_takes_too_long_is_unknown(monkeypatch):
    """Three groups of five whose rows also cover three people in the middle, whose own rows cover a fourth group."""
    codes = np.repeat([*np.eye(4, dtype=int), np.zeros(4, int)], [5, 5, 5, 5, 3], axis=0)
    low, high = 0 * codes, codes.copy()
    low[15:20] = codes[15:20]
    high[20:] = [0, 0, 0, 1]
    evidence = shown(coded(codes.T.tolist(), [2] * 4), low, high)
    model = KK(k=5, known=14)
    assert model.verify(evidence).holds
    assert left(evidence, 14) == [5] * 15 + [8] * 5 + [8] * 3  # two groups of the three
    assert KK(k=5, known=15).verify(evidence).holds is False
    monkeypatch.setattr(few_known, "TRIES", 0)
    verdict = model.verify(evidence)
    assert verdict.holds is None
    assert "takes too long" in verdict.detail


def test_titles_say_who_is_known():
    assert KK(k=5).title == KK(k=5, known=4).title == "(5,5)-anonymity"
    assert KK(k=5, known=1000).title == "(5,5)-anonymity with 1,000 others known"
    assert KK(k=5, known=EVERYBODY).title == "(5,5)-anonymity with everyone else known"
    with pytest.raises(PolicyError, match="at least 0, not -1"):
        KK(k=5, known=-1)


# The repair -----------------------------------------------------------------------------------------------


@given(table=tables(rows=st.integers(2, 20)), measure=measures, k=st.integers(2, 4), known=st.integers(1, 20))
@settings(max_examples=100)
def test_repaired_cells_satisfy_the_model_and_cost_no_more_than_global_ones(table, measure, k, known):
    assume(k <= table.rows)
    asked = Requirements(models=(KK(k=k, known=known),), measure=measure)
    made = KKMethod(improve=False).anonymize(table, asked, Run.start(1))
    evidence = shown(table, made.low[made.region_of], made.high[made.region_of])
    verdict = KK(k=k, known=known).verify(evidence)
    assert verdict.holds, verdict


@given(table=tables(rows=st.integers(2, 14)), measure=measures, data=st.data())
@settings(max_examples=60)
def test_sets_are_opened_by_the_cheapest_cell_from_outside(table, measure, data):
    cells = started(table, measure, 2)
    cells.cover(Run.start(1))
    people, tree = cells.people, cells.people.tree
    count = len(people.weight)
    component = np.array(data.draw(st.lists(st.integers(0, 2), min_size=count, max_size=count)), np.int32)
    members = np.argsort(component, kind="stable")
    starts = np.flatnonzero(np.diff(component[members], prepend=-1, append=-1))
    added = []
    for twin in (covering, oracles.covering):
        low, high, changed = cells.low.copy(), cells.high.copy(), cells.changed.copy()
        hull, costliest = covering.hulls(cells.slots, low, high, *tree[:3], cells.losses)
        grown = twin.open_sets(
            people.codes, cells.slots, changed, low, high, component, members[: starts[1]], starts[:2], *tree[:3],
            hull, costliest, cells.losses,
        )  # fmt: skip
        lost = sum(
            oracles.expansion._closure(cells.losses, [a, b])[2]
            for a, b in zip(low.tolist(), high.tolist(), strict=True)
        )
        added.append((grown, lost))
    assert added[0] == added[1]


# The attack -----------------------------------------------------------------------------------------------


def test_the_attack_on_the_ages():
    for known, chances in ((1, [1 / 2, 1 / 3, 1 / 5, 1 / 4, 1 / 2]), (2, [1 / 2, 1, 1 / 3, 1 / 2, 1 / 2])):
        found = shoal.attack(TWO_TWO, original=AGES, **LINE_ROLES, name="few-known", options={"known": known})
        assert found.chances.tolist() == chances
        assert found.at_risk == chances.count(1)
        assert found.figures["rows_left"]["single"] == chances.count(1)
        assert found.figures["people_who_lose_rows"] == (3 if known == 2 else 0)
        assert found.figures["exact"]
    # The policy says how many they know; without a number, ten, who are here everyone else.
    told = shoal.attack(TWO_TWO, original=AGES, **LINE_ROLES, notion="k-k", known=2, name="few-known")
    assert (told.figures["known"], told.at_risk) == (2, 1)
    everyone = shoal.attack(TWO_TWO, original=AGES, **LINE_ROLES, name="few-known")
    assert everyone.figures["known"] == 4
    assert "everyone else in the table" in everyone.adversary
    assert any("no more people" in note for note in everyone.notes)
    members = shoal.attack(TWO_TWO, original=AGES, **LINE_ROLES, name="linkage")
    assert everyone.chances.tolist() == members.chances.tolist()


def test_k_k_is_not_enough_against_somebody_who_knows_a_few():
    """The policy that used to accept a (2,2) release for this adversary rejects it, and k-k makes another."""
    audited = shoal.audit(TWO_TWO, original=AGES, **LINE_ROLES, adversary="knows-some", known=2)
    assert not audited.holds
    assert shoal.audit(TWO_TWO, original=AGES, **LINE_ROLES, adversary="knows-some", known=1).holds
    assert not shoal.audit(TWO_TWO, original=AGES, **LINE_ROLES, adversary="knows-some").holds
    made = shoal.anonymize(AGES, **LINE_ROLES, adversary="knows-some", method="k-k")
    assert shoal.attack(made.table, original=AGES, **LINE_ROLES, name="few-known", options={"known": 4}).holds
    assert shoal.attack(made.table, original=AGES, **LINE_ROLES, name="linkage").holds


@pytest.mark.parametrize("known", [1, 3, 6, 20, "all"])
def test_methods_keep_what_the_policy_asks(known):
    asked = {**ROLES, "k": 4, "notion": "k-k", "known": known}
    for method in ("k-k", "global-1-k", "mondrian", "ring"):
        table = shoal.anonymize(PEOPLE, **asked, method=method, seed=1).table
        found = shoal.attack(table, original=PEOPLE, **asked, name="few-known")
        assert found.holds
        assert found.figures["rows_left"]["least"] >= 4


def test_classes_lose_nothing():
    made = shoal.anonymize(PEOPLE, **ROLES, k=4, method="mondrian")
    found = shoal.attack(made.table, original=PEOPLE, **ROLES, k=4, name="few-known", options={"known": 50})
    assert found.figures["people_who_lose_rows"] == 0


def test_bad_numbers_are_explained():
    for known in (0, -3, 2.5, "ten", True):
        with pytest.raises(PolicyError, match="whole number of other people, at least 1"):
            shoal.attack(TWO_TWO, original=AGES, **LINE_ROLES, name="few-known", options={"known": known})
    asked = {"quasi": ["a"], "k": 5, "notion": "k-k"}
    for known in (0, -3, 2.5, "ten", True, [3]):
        with pytest.raises(
            PolicyError, match=r"privacy\.known: must be a whole number of other people, at least 1"
        ):
            shoal.Policy.from_keywords(**asked, known=known)
    with pytest.raises(PolicyError, match='add adversary = "knows-some" or notion = "k-k"'):
        shoal.Policy.from_keywords(quasi=["a"], k=5, known=3)
    with pytest.raises(PolicyError, match="known: is not an option of the attack linkage"):
        shoal.attack(TWO_TWO, original=AGES, **LINE_ROLES, options={"known": 3})


def test_policies_say_how_many_are_known():
    def models(**keywords):
        return shoal.Policy.from_keywords(quasi=["a"], k=5, **keywords).models()

    assert models(notion="k-k") == (KK(k=5),)
    assert models(notion="k-k", known=10) == models(adversary="knows-some", known=10) == (KK(k=5, known=10),)
    assert models(adversary="knows-some") == models(notion="k-k", known="all") == (KK(k=5, known=EVERYBODY),)
    assert models(adversary="knows-some", notion="k-k") == (KK(k=5, known=EVERYBODY),)
    policy = shoal.Policy.from_keywords(quasi=["a"], k=5, notion="k-k", known=10)
    assert shoal.Policy.from_toml(policy.to_toml()) == policy
    assert policy.override(["privacy.known=all"]).models() == (KK(k=5, known=EVERYBODY),)


def test_the_attack_refuses_what_it_is_not_about():
    """Releases whose columns were shuffled: tests/judging/test_contract_attacks.py."""
    census = pl.DataFrame({"age": [20, 21, 30, 31] * 5, "job": list("abcde") * 4, "who": list(range(10)) * 2})
    asked = {"quasi": ["age"], "sensitive": ["job"]}
    several = shoal.anonymize(census, **asked, person="who", k=2)
    with pytest.raises(DataError, match="it gives each known person one row"):
        shoal.attack(several, original=census, **asked, k=2, person="who", name="few-known")
    moved = {"k": 2, "relocation": {"budget": 0.2}, "method": "hybrid"}
    census = census.drop("who")
    relocated = shoal.anonymize(census, **asked, **moved, seed=1)
    with pytest.raises(DataError, match="rows may have been relocated"):
        shoal.attack(relocated.table, original=census, **asked, **moved, name="few-known")


def test_command(tmp_path):
    AGES.write_csv(tmp_path / "data.csv")
    TWO_TWO.write_csv(tmp_path / "release.csv")
    (tmp_path / "policy.toml").write_text(
        '[columns]\nage = "quasi"\ns = "sensitive"\n[privacy]\nk = 2\nnotion = "k-k"\n'
    )
    given = [tmp_path / "release.csv", "--original", tmp_path / "data.csv", "-p", tmp_path / "policy.toml"]

    def run(*arguments):
        return CliRunner().invoke(main, ["attack", *map(str, given), "--attack", "few-known", *arguments])

    assert run("--known", "1").exit_code == 0
    two = run("--known", "2")
    assert two.exit_code == 5, two.output
    assert "of 2 others in the table, those who help most" in two.output
    assert "rows left: least 1," in two.output
    assert run("--known", "0").exit_code == 2
    audit = ["audit", *map(str, given)]
    assert CliRunner().invoke(main, audit).exit_code == 0
    assert CliRunner().invoke(main, [*audit, "--set", "privacy.known=2"]).exit_code == 5
