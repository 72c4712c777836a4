from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from shoal.coding import Context
from shoal.coding.column_plan import ColumnPlan
from shoal.coding.encode import encode
from shoal.coding.roles import QUASI, SENSITIVE
from shoal.errors import LimitError, PolicyError
from shoal.judging.attacks import ATTACKS
from shoal.judging.attacks.statistical_attack import accusations
from shoal.judging.linking.evidence import Evidence
from shoal.judging.linking.origins import RECEIVED
from shoal.judging.measures import MEASURES, CellMeasure
from shoal.judging.measures.evaluate import measure_all
from shoal.judging.models import MODELS
from shoal.judging.models.delta_presence import DeltaPresence
from shoal.judging.models.hybrid_k import AlphaHybrid, HybridK, chi_squared, count_expected_rows, untrue_cells
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.requirements import Requirements
from shoal.kernels import hybrid as kernels
from shoal.methods import METHODS
from shoal.methods.full_domain.full_domain import FullDomain
from shoal.methods.relocating.hybrid import Hybrid, move_rows
from shoal.methods.relocating.relocation import VARIANTS, Allowance, critical, tail
from shoal.release.record import card_markdown
from shoal.release.render import render
from shoal.support.run import Run
from tests import oracles
from tests.inputs.coded_tables import with_changes
from tests.inputs.strategies import tables
from tests.oracles.all_mappings import NotAMultiple, ShareOfFirst


def plain(k, suppression=0.0, measure="lm", *more):
    return Requirements(models=(KAnonymity(k=k), *more), suppression=suppression, measure=measure)


def evidence_by(table, release):
    return Evidence.of_release(table, release, 3)


def untrue(table, release):
    """Cells, as (row, column), whose published range does not hold the row's own value."""
    return [
        (row, j)
        for row, region in enumerate(release.region_of.tolist())
        for j in range(len(table.attributes))
        if region >= 0 and not release.low[region, j] <= table.quasi.wide[row, j] <= release.high[region, j]
    ]


# --- the worked example ---------------------------------------------------------------------------------------

EXAMPLE = [
    (12, "Greece", "47906", "13K"),
    (19, "Turkey", "47907", "15K"),
    (17, "Greece", "47907", "28K"),
    (23, "Spain", "49703", "14K"),
    (38, "Brazil", "49705", "18K"),
    (33, "Peru", "49812", "35K"),
    (41, "USA", "49001", "14K"),
    (43, "Canada", "49001", "25K"),
    (48, "Canada", "49001", "29K"),
]
BLOCS = {
    "Greece": ("E.EU", "EU"),
    "Turkey": ("E.EU", "EU"),
    "Spain": ("W.EU", "EU"),
    "Brazil": ("S.AM", "AM"),
    "Peru": ("S.AM", "AM"),
    "USA": ("N.AM", "AM"),
    "Canada": ("N.AM", "AM"),
}


def ages(age):
    ten = (age - 1) // 10 * 10 + 1
    twenty = "11-30" if age <= 30 else "31-50"
    return [str(age), f"{ten}-{ten + 9}", twenty, "*"]


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    folder = tmp_path_factory.mktemp("example")
    data = pl.DataFrame(EXAMPLE, schema=["age", "nation", "zip", "sal"], orient="row")

    def written(name, rows):
        path = folder / f"{name}.csv"
        path.write_text("\n".join(";".join(row) for row in rows) + "\n")
        return path

    zips = sorted({row[2] for row in EXAMPLE})
    files = {
        # The domain of the example: ages 11 to 50, so that every band is full.
        "age": written("age", [ages(age) for age in range(11, 51)]),
        "nation": written("nation", [[name, *bloc, "*"] for name, bloc in BLOCS.items()]),
        "zip": written("zip", [[z, *(z[: 5 - i] + "*" * i for i in range(1, 5)), "*"] for z in zips]),
    }
    plans = [ColumnPlan(name, QUASI, path) for name, path in files.items()]
    return encode(data, [*plans, ColumnPlan("sal", SENSITIVE)])


def test_without_relocation_the_example_needs_2_2_4(example):
    assert FullDomain().anonymize(example, plain(3), Run.start(1)).levels == (2, 2, 4)
    release = Hybrid(budget=0.0).anonymize(example, plain(3), Run.start(1))
    assert release.levels == (2, 2, 4)
    assert release.facts["changed_cells"] == 0
    assert sorted(np.bincount(release.region_of)) == [4, 5]


def test_with_a_tenth_of_the_cells_q4_moves_to_q5_and_q6(example):
    release = Hybrid(budget=0.1).anonymize(example, plain(3), Run.start(1))
    assert release.levels == (1, 1, 3)
    region = release.region_of.tolist()
    assert region[3] == region[4] == region[5]
    assert len(set(region)) == 3
    assert untrue(example, release) == [(3, 0), (3, 1)]
    facts = release.facts
    assert facts["relocated_rows"] == 1
    assert facts["changed_by_column"] == {"age": 1, "nation": 1, "zip": 0}
    assert facts["changed_share"] == pytest.approx(2 / 27)
    # Group sizes 3, 1, 2, 3 become 3, 0, 3, 3.
    assert facts["chi_squared"] == pytest.approx(1 / 1 + 1 / 2)
    assert facts["p_value"] == pytest.approx(chi2.sf(1.5, 3))
    rows = render(example, release).rows
    assert rows.row(3)[:3] == ("31-40", "S.AM", "49***")
    assert evidence_by(example, release).published.sizes.tolist() == [3, 3, 3]


# --- createHybrid -----------------------------------------------------------------------------------------------


@st.composite
def group_cases(draw):
    groups = draw(st.integers(1, 9))
    columns = draw(st.integers(1, 4))
    values = draw(
        st.lists(st.tuples(*[st.integers(0, 3)] * columns), min_size=groups, max_size=groups, unique=True)
        if 4**columns >= groups
        else st.just(list(itertools.product(range(4), repeat=columns))[:groups])
    )
    two_words = draw(st.booleans())
    word = np.array([j % 2 if two_words else 0 for j in range(columns)], np.int64)
    shift = np.array([2 * j for j in range(columns)], np.uint64)
    mask = np.uint64(3) << shift
    keys = np.zeros((2 if two_words else 1, len(values)), np.uint64)
    for g, cells in enumerate(values):
        for j, value in enumerate(cells):
            keys[word[j], g] |= np.uint64(value) << shift[j]
    before = np.array(draw(st.lists(st.integers(1, 9), min_size=len(values), max_size=len(values))), np.int64)
    draws = np.empty(0)
    if draw(st.booleans()):
        share = st.floats(0, 1, exclude_max=True)
        draws = np.array(draw(st.lists(share, min_size=2 * len(values), max_size=2 * len(values))))
    return (
        keys, word, mask, before, draw(st.integers(1, 8)), draw(st.integers(0, 40)),
        draw(st.sampled_from([np.inf, 0.0, 1.0, 4.3, 12.1])), draw(st.sampled_from([0, 0, 1, 5])), draws,
    )  # fmt: skip


@settings(max_examples=500)
@given(group_cases())
def test_relocation_agrees_with_its_twin(case):
    groups = len(case[3])
    ours = np.zeros(groups, np.int64), np.zeros((groups, 3), np.int32)
    theirs = np.zeros(groups, np.int64), np.zeros((groups, 3), np.int32)
    holds, made, used, chi = kernels.relocate_groups(*case, *ours)
    plainly = oracles.hybrid.relocate_groups(*case, *theirs)
    assert holds == plainly[0]
    if holds:
        assert (made, used) == plainly[1:3]
        assert chi == pytest.approx(plainly[3])
        np.testing.assert_array_equal(ours[0], theirs[0])
        np.testing.assert_array_equal(ours[1][:made], theirs[1][:made])


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.sampled_from([np.inf, 60.0]), st.sampled_from([0, 9]))
def test_with_many_groups_the_closest_are_the_same(seed, limit, most):
    """So many that they are found by hashing, in one word and in two."""
    random = np.random.default_rng(seed)
    columns, groups = int(random.integers(2, 5)), 160
    values = np.unique(random.integers(0, 6 if columns > 3 else 12, (groups, columns)), axis=0)
    values = random.permutation(values).astype(np.uint64)
    word = np.arange(columns) % 2 if seed % 2 else np.zeros(columns, np.int64)
    shift = np.uint64(4) * np.arange(columns, dtype=np.uint64)
    keys = np.zeros((2, len(values)), np.uint64)
    for j in range(columns):
        keys[word[j]] |= values[:, j] << shift[j]
    before = random.choice([1, 1, 2, 3, 4, 6, 12], len(values))
    case = (keys, word, np.uint64(15) << shift, before, 5, 1000, limit, most, np.empty(0))
    ours = np.zeros(len(values), np.int64), np.zeros((len(values), 3), np.int32)
    theirs = np.zeros(len(values), np.int64), np.zeros((len(values), 3), np.int32)
    result, plainly = kernels.relocate_groups(*case, *ours), oracles.hybrid.relocate_groups(*case, *theirs)
    assert result[0] == plainly[0]
    if result[0]:
        assert result[1:3] == plainly[1:3]
        np.testing.assert_array_equal(ours[0], theirs[0])
        np.testing.assert_array_equal(ours[1][: result[1]], theirs[1][: result[1]])


@given(group_cases())
def test_relocation_keeps_its_promises(case):
    before, k, cells, limit, most = case[3:8]
    after, moves = np.zeros(len(before), np.int64), np.zeros((len(before), 3), np.int32)
    holds, made, used, chi = kernels.relocate_groups(*case, after, moves)
    change = np.zeros(len(before), np.int64)
    for source, target, rows in moves[:made]:
        assert rows > 0
        change[source] -= rows
        change[target] += rows
    if holds:
        np.testing.assert_array_equal(before + change, after)
        assert after[after < k].sum() <= most
    assert after.sum() == before.sum()
    assert used <= cells
    assert chi == pytest.approx(((after - before) ** 2 / before).sum())
    assert chi <= limit + 1e-9


def test_moved_rows_are_own_rows_and_as_many_as_asked():
    group_of = np.array([0, 1, 2, 2, 2, 2, 1], np.int32)
    moves = np.array([[0, 1, 1], [2, 1, 2], [2, 0, 1]])
    after = move_rows(group_of, group_of, moves, np.random.default_rng(3))
    assert after[0] == 1
    assert (after[[1, 6]] == 1).all()
    assert sorted(after[2:6]) == [0, 1, 1, 2]


# --- the search -------------------------------------------------------------------------------------------------


def walked(table, requirements, cells, limit_of=lambda groups: np.inf):
    """The walk of the paper: level by level from the top, deleting what fails with all its specializations."""
    k, most = requirements.k, requirements.suppressible(table.rows)
    measure = MEASURES[requirements.measure]()
    weights = [a.weight for a in table.attributes]
    heights = [a.hierarchy.height for a in table.attributes]
    every = sorted(itertools.product(*(range(h + 1) for h in heights)), key=lambda m: -sum(m))
    deleted, found = set(), []
    for levels in every:
        if levels in deleted:
            continue
        shown = [
            tuple(int(a.hierarchy.low[lv, c]) for a, lv, c in zip(table.attributes, levels, row, strict=True))
            for row in table.quasi.wide.tolist()
        ]
        nodes = list(dict.fromkeys(shown))
        keys = np.array([[node[j] for node in nodes] for j in range(len(levels))], np.uint64)
        before = np.array([shown.count(node) for node in nodes], np.int64)
        after, moves = np.zeros(len(nodes), np.int64), np.zeros((len(nodes), 3), np.int64)
        mask = np.full(len(levels), 255, np.uint64)
        holds = oracles.hybrid.relocate_groups(
            keys,
            range(len(levels)),
            mask,
            before,
            k,
            cells,
            limit_of(len(nodes)),
            most,
            np.empty(0),
            after,
            moves,
        )[0]
        if not holds:
            deleted |= {m for m in every if all(a <= b for a, b in zip(m, levels, strict=True))}
            continue
        dropped = int(after[after < k].sum())
        if isinstance(measure, CellMeasure):
            total = 0.0
            for g, node in enumerate(nodes):
                for j, a in enumerate(table.attributes):
                    counts = table.value_counts[j]
                    low = np.array([node[j] if after[g] >= k else 0], np.int32)
                    high = a.hierarchy.high[levels[j], low] if after[g] >= k else low + a.hierarchy.size - 1
                    total += weights[j] * after[g] * float(measure.loss(a, counts, low, high)[0])
            value = total / (sum(weights) * table.rows)
        else:
            value = measure.of_sizes(after[after >= k], dropped, k)
        found.append((round(value, 12), dropped, sum(levels), levels))
    return min(found, default=None)


@settings(max_examples=250)
@given(
    tables(columns=st.integers(1, 3)),
    st.integers(2, 5),
    st.sampled_from([0.0, 0.05, 0.1, 0.2, 0.5, 1.0]),
    st.sampled_from(["lm", "entropy", "precision", "dm", "avg"]),
    st.sampled_from([None, 0.05, 0.5]),
)
def test_the_search_finds_what_the_walk_from_the_top_finds(table, k, budget, measure, alpha):
    requirements = plain(k, 0.0, measure)
    cells = int(np.floor(budget * table.rows * len(table.attributes) + 1e-9))

    def limit(groups):
        return np.inf if alpha is None else chi2.isf(alpha, groups - 1) if groups > 1 else 0.0

    expected = walked(table, requirements, cells, limit)
    method = Hybrid(
        variant="statistical" if alpha else "deterministic",
        budget=budget,
        alpha=alpha or 0.05,
        measure=measure,
    )
    if expected is None:
        with pytest.raises(LimitError, match="rows"):
            method.anonymize(table, plain(k), Run.start(1))
        return
    release = method.anonymize(table, plain(k), Run.start(1))
    assert release.levels == expected[3]
    assert release.facts["relocations_tried"] >= 1


@settings(max_examples=200)
@given(
    tables(columns=st.integers(1, 3)),
    st.integers(2, 5),
    st.sampled_from([0.0, 0.0, 0.2, 0.5]),
    st.sampled_from(["lm", "gcp", "entropy", "precision", "ag", "il", "dm", "avg"]),
    st.sampled_from(VARIANTS),
)
def test_without_a_budget_it_is_the_optimum_of_full_domain(table, k, suppression, measure, variant):
    requirements = plain(k, suppression, measure)
    try:
        expected = FullDomain().anonymize(table, requirements, Run.start(1))
    except LimitError:
        with pytest.raises(LimitError):
            Hybrid(variant=variant, budget=0.0).anonymize(table, requirements, Run.start(1))
        return
    release = Hybrid(variant=variant, budget=0.0).anonymize(table, requirements, Run.start(1))
    assert release.levels == expected.levels
    np.testing.assert_array_equal(release.region_of, expected.region_of)
    np.testing.assert_array_equal(release.low, expected.low)
    np.testing.assert_array_equal(release.high, expected.high)


@settings(max_examples=200)
@given(
    tables(columns=st.integers(1, 4)),
    st.integers(2, 5),
    st.sampled_from([0.0, 0.05, 0.1, 0.3]),
    st.sampled_from([0.0, 0.0, 0.3]),
    st.sampled_from(VARIANTS),
    st.integers(0, 99),
)
def test_every_variant_keeps_k_the_budget_and_its_own_account(table, k, budget, suppression, variant, seed):
    requirements = plain(k, suppression)
    try:
        release = Hybrid(variant=variant, budget=budget).anonymize(table, requirements, Run.start(seed))
    except LimitError:
        return
    sizes = np.bincount(release.region_of[release.region_of >= 0], minlength=len(release.low))
    assert (sizes >= k).all()
    assert (release.region_of < 0).sum() <= requirements.suppressible(table.rows)
    wrong = untrue(table, release)
    assert len(wrong) <= budget * table.rows * len(table.attributes) + 1e-9
    facts = release.facts
    assert facts["changed_cells"] == len(wrong)
    assert facts["relocated_rows"] == len({row for row, _ in wrong})
    assert list(facts["changed_by_column"].values()) == [
        sum(j == column for _, column in wrong) for j in range(len(table.attributes))
    ]
    if variant in ("statistical", "rstat"):
        assert facts["p_value"] >= 0.05 - 1e-9
    evidence = evidence_by(table, release)
    assert KAnonymity(k=k).verify(evidence).holds
    again = Hybrid(variant=variant, budget=budget).anonymize(table, requirements, Run.start(seed))
    np.testing.assert_array_equal(again.region_of, release.region_of)


@settings(max_examples=100)
@given(
    tables(columns=st.integers(1, 3)),
    st.integers(2, 5),
    st.sampled_from([0.0, 0.1, 0.3]),
    st.sampled_from(VARIANTS),
    st.integers(0, 9),
)
def test_without_pruning_nothing_gets_worse(table, k, budget, variant, seed):
    options = {"variant": variant, "budget": budget}
    try:
        pruned = Hybrid(**options).anonymize(table, plain(k), Run.start(seed)).facts
    except LimitError:
        return
    release = Hybrid(**options, prune=False).anonymize(table, plain(k), Run.start(seed))
    assert release.facts["loss_with_relocation"] <= pruned["loss_with_relocation"]
    assert HybridK(k=k, budget=budget).verify(evidence_by(table, release)).holds
    if budget == 0:
        assert release.facts["loss_with_relocation"] == pruned["loss_with_relocation"]


def test_the_facts_name_no_rows(example):
    facts = Hybrid(budget=0.1).anonymize(example, plain(3), Run.start(1)).facts
    numbers = [value for value in facts.values() if not isinstance(value, int | float)]
    assert numbers == [facts["changed_by_column"]]


def test_randomized_targets_differ_between_runs():
    """Two small groups and six full ones that are all equally far: over 20 runs, more than one is chosen."""
    names = [f"n{i}" for i in range(8)]
    data = pl.DataFrame({"q": ["n0", "n1", *(name for name in names[2:] for _ in range(4))]})
    table = encode(data, [ColumnPlan("q", QUASI)])
    chosen = {
        Hybrid(variant="randomized", budget=0.2).anonymize(table, plain(4), Run.start(seed)).region_of[0]
        for seed in range(20)
    }
    assert len(chosen) > 1
    fixed = {Hybrid(budget=0.2).anonymize(table, plain(4), Run.start(seed)).region_of[0] for seed in range(5)}
    assert len(fixed) == 1


# --- options ----------------------------------------------------------------------------------------------------


def test_the_method_is_registered():
    assert METHODS["hybrid"] is Hybrid


def test_all_wrong_options_are_named_at_once():
    with pytest.raises(PolicyError) as caught:
        Hybrid(variant="random", budget=1.5, alpha=0.0)
    assert [problem.path for problem in caught.value.problems] == [
        "method.variant",
        "method.budget",
        "method.alpha",
    ]
    assert "randomized" in str(caught.value)


@given(st.integers(1, 400), st.floats(0.001, 0.999), st.floats(0, 500))
def test_the_test_agrees_with_scipy(degrees, alpha, chi):
    assert critical(degrees, alpha) == pytest.approx(chi2.isf(alpha, degrees), rel=1e-9, abs=1e-12)
    assert tail(degrees, chi) == pytest.approx(chi2.sf(chi, degrees), abs=1e-12)


def test_without_freedom_nothing_may_move():
    assert Allowance(10, 0.05, False).limit(1) == 0.0
    assert tail(0, 0.0) == 1.0


# --- models and the attack --------------------------------------------------------------------------------------


def test_the_example_is_judged_from_what_is_published(example):
    release = Hybrid(budget=0.1).anonymize(example, plain(3), Run.start(1))
    evidence = evidence_by(example, release)
    verdict = HybridK(k=3, budget=0.1).verify(evidence)
    assert verdict.holds
    assert verdict.reached == pytest.approx(2 / 27)
    tight = HybridK(k=3, budget=0.07).verify(evidence)
    assert not tight.holds
    assert not HybridK(k=4, budget=0.1).verify(evidence).holds
    assert untrue_cells(evidence).tolist() == [1, 1, 0]
    # Sizes 3, 3, 3 where 3, 2, 3 are truly so, and one group of one is gone.
    truth = count_expected_rows(evidence)
    assert sorted(truth.classes) == [2, 3, 3]
    assert truth.elsewhere.tolist() == [1]
    assert chi_squared(evidence) == pytest.approx((1.5, 3, chi2.sf(1.5, 3)))
    assert AlphaHybrid(alpha=0.05).verify(evidence).holds
    assert not AlphaHybrid(alpha=0.9).verify(evidence).holds


def test_what_cannot_be_known_does_not_hold(example):
    release = Hybrid(budget=0.1).anonymize(example, plain(3), Run.start(1))
    evidence = evidence_by(example, release)
    unpaired = dataclasses.replace(evidence, origin=RECEIVED)
    assert not HybridK(k=3, budget=0.99).verify(unpaired).holds
    assert "known only" in HybridK(k=3, budget=0.99).verify(unpaired).detail
    assert not HybridK(k=3, budget=0.99).verify(Evidence(evidence.published)).holds
    # No share exceeds 1, but classes can be too small.
    assert HybridK(k=3, budget=1.0).verify(unpaired).holds
    assert not HybridK(k=4, budget=1.0).verify(unpaired).holds
    # Sizes need no pairing.
    assert AlphaHybrid(alpha=0.05).verify(unpaired).reached == pytest.approx(chi2.sf(1.5, 3))


@settings(max_examples=150)
@given(
    tables(columns=st.integers(1, 3)),
    st.integers(2, 4),
    st.sampled_from([0.05, 0.2, 0.5]),
    st.sampled_from(VARIANTS),
    st.sampled_from([0.0, 0.0, 0.3]),
    st.integers(0, 9),
)
def test_models_confirm_what_the_method_says(table, k, budget, variant, suppression, seed):
    requirements = plain(k, suppression)
    try:
        release = Hybrid(variant=variant, budget=budget).anonymize(table, requirements, Run.start(seed))
    except LimitError:
        return
    evidence = evidence_by(table, release)
    assert HybridK(k=k, budget=budget).verify(evidence).holds
    test = chi_squared(evidence)
    if not suppression:
        assert test.statistic == pytest.approx(release.facts["chi_squared"])
        assert test.degrees >= release.facts["degrees_of_freedom"]
    if variant in ("statistical", "rstat"):
        assert AlphaHybrid(alpha=0.05).verify(evidence).holds
    truth = count_expected_rows(evidence)
    assert truth.classes.sum() + truth.elsewhere.sum() == evidence.published.rows
    if not evidence.published.suppressed:
        unpaired = count_expected_rows(dataclasses.replace(evidence, origin=RECEIVED))
        np.testing.assert_array_equal(unpaired.classes, truth.classes)
        assert sorted(unpaired.elsewhere) == sorted(truth.elsewhere)


def test_the_attack_on_the_example(example):
    release = Hybrid(budget=0.1).anonymize(example, plain(3), Run.start(1))
    evidence = evidence_by(example, release)
    exposure = ATTACKS["statistical"]().attempt(evidence, Run.start(1))
    # One class has one row too many: she accuses one of its three rows, and one of them was relocated.
    assert exposure.success == pytest.approx(1 / 3)
    assert exposure.baseline == pytest.approx(1 / 9)
    assert exposure.chances.tolist() == pytest.approx([0, 0, 0, 1 / 3, 0, 0, 0, 0, 0])
    assert exposure.figures["accused"] == 1
    assert exposure.figures["vanished_groups"] == 1
    assert exposure.holds
    # Without the pairing, the row that the class has too many stands for the relocated one.
    unpaired = dataclasses.replace(evidence, origin=RECEIVED)
    outside = ATTACKS["statistical"]().attempt(unpaired, Run.start(1))
    assert (outside.success, outside.baseline) == pytest.approx((1 / 3, 1 / 9))
    plainly = evidence_by(example, FullDomain().anonymize(example, plain(3), Run.start(1)))
    nothing = ATTACKS["statistical"]().attempt(plainly, Run.start(1))
    assert (nothing.success, nothing.baseline, nothing.figures["p_value"]) == (0.0, 0.0, 1.0)


def test_whoever_knows_no_counts_points_less_well():
    """With expectations blurred by chance, full classes look suspicious for nothing."""
    random = np.random.default_rng(2)
    table = encode(
        pl.DataFrame({"a": random.integers(0, 40, 2000), "b": random.integers(0, 12, 2000)}),
        [ColumnPlan("a", QUASI), ColumnPlan("b", QUASI)],
    )
    release = Hybrid(budget=0.1).anonymize(table, plain(4), Run.start(1))
    evidence = evidence_by(table, release)
    attack = ATTACKS["statistical"]
    exact = attack(knows="counts").attempt(evidence, Run.start(1))
    vague = attack(knows="distribution").attempt(evidence, Run.start(1))
    assert exact.figures["relocated"] > 0
    assert exact.success > vague.success
    assert vague.figures["p_value"] == exact.figures["p_value"]
    with pytest.raises(PolicyError, match="counts"):
        attack(knows="count")


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), min_size=1, max_size=8))
def test_accusations_take_whole_classes_by_suspicion(pairs):
    sizes, truth = (np.array(column, np.int64) for column in zip(*pairs, strict=True))
    accused = accusations(sizes, truth)
    surplus = np.maximum(sizes - truth, 0)
    assert accused.sum() == surplus.sum()
    share = surplus / sizes
    for a, b in itertools.product(range(len(sizes)), repeat=2):
        if share[a] > share[b] and accused[b]:
            assert accused[a] == sizes[a]


def test_measures_stand_cells_that_do_not_hold_their_owners_value(example):
    release = Hybrid(budget=0.1).anonymize(example, plain(3), Run.start(1))
    evidence = evidence_by(example, release)
    values = measure_all(evidence)
    assert all(np.isfinite(value) for value in values.values())
    assert measure_all(evidence, ["entropy-nonuniform"])["entropy-nonuniform"] == np.inf


# --- rules on sensitive values ----------------------------------------------------------------------------------


@st.composite
def sensitive_rules(draw, table):
    column = draw(st.integers(0, len(table.sensitive) - 1))
    own = {"column": column, "column_name": table.sensitive[column].name}
    kind = draw(st.integers(0, 4))
    if kind == 0:
        return (ShareOfFirst(share=draw(st.sampled_from([0.25, 0.5, 0.8]))),)
    if kind == 1:
        return (MODELS["distinct-l"](l=2, **own),)
    if kind == 2:
        return (MODELS["entropy-l"](l=1.5, **own),)
    if kind == 3:
        return (MODELS["t-equal"](t=0.3, **own),)
    return (NotAMultiple(number=3),)


@settings(max_examples=200)
@given(
    st.data(),
    tables(columns=st.integers(1, 3)),
    st.sampled_from([None, 2, 3]),
    st.sampled_from([0.0, 0.1, 0.3]),
    st.sampled_from([0.0, 0.0, 0.3]),
    st.sampled_from(VARIANTS),
)
def test_any_group_model_holds_after_relocation(data, table, k, budget, suppression, variant):
    models = data.draw(sensitive_rules(table)) + ((KAnonymity(k=k),) if k else ())
    requirements = Requirements(models=models, suppression=suppression)
    method = Hybrid(variant=variant, budget=budget)
    try:
        expected_ = FullDomain().anonymize(table, requirements, Run.start(1))
    except LimitError:
        expected_ = None
    try:
        release = method.anonymize(table, requirements, Run.start(1))
    except LimitError:
        assert expected_ is None
        return
    if budget == 0:
        assert expected_ is not None
        assert release.levels == expected_.levels
        np.testing.assert_array_equal(release.region_of, expected_.region_of)
    evidence = evidence_by(table, release)
    assert all(model.verify(evidence).holds for model in models)
    assert evidence.published.suppressed <= requirements.suppressible(table.rows)
    wrong = untrue(table, release)
    assert release.facts["changed_cells"] == len(wrong) <= budget * table.rows * len(table.attributes) + 1e-9
    if variant in ("statistical", "rstat"):
        assert release.facts["p_value"] >= 0.05 - 1e-9
    test = chi_squared(evidence)
    if not evidence.published.suppressed:
        assert test.statistic == pytest.approx(release.facts["chi_squared"])


def test_a_group_without_diversity_takes_one_row_from_its_neighbour():
    """Town A has only flu; one row of cold from town B mends it, while the whole of A would be four cells."""
    data = pl.DataFrame({"town": ["A"] * 4 + ["B"] * 6, "disease": ["flu"] * 4 + ["cold", "flu"] * 3})
    table = encode(data, [ColumnPlan("town", QUASI), ColumnPlan("disease", SENSITIVE)])
    diverse = MODELS["distinct-l"](l=2, column=0, column_name="disease")
    requirements = plain(3, 0.0, "lm", diverse)
    assert FullDomain().anonymize(table, requirements, Run.start(1)).levels == (1,)
    release = Hybrid(budget=0.1).anonymize(table, requirements, Run.start(1))
    assert release.levels == (0,)
    moved = [row for row, _ in untrue(table, release)]
    assert len(moved) == 1
    assert data["disease"][moved[0]] == "cold"
    assert diverse.verify(evidence_by(table, release)).holds


def test_suppression_alone_serves_where_moves_would_spoil_a_group():
    """One other value in seven is doubt enough, one in eight is not: the row of B is suppressed, not moved."""
    data = pl.DataFrame({"town": ["A"] * 7 + ["B"], "disease": ["flu"] * 6 + ["cold", "flu"]})
    table = encode(data, [ColumnPlan("town", QUASI), ColumnPlan("disease", SENSITIVE)])
    doubt = MODELS["entropy-l"](l=1.5, column=0, column_name="disease")
    release = Hybrid(budget=0.2).anonymize(table, plain(2, 0.3, "lm", doubt), Run.start(1))
    assert release.region_of.tolist() == [0] * 7 + [-1]
    assert release.facts["changed_cells"] == 0


def test_groups_that_other_models_suppress_leave_the_test_less_freedom():
    data = pl.DataFrame(
        {"a": [1, 1, 2, 1, 1, 3, 4, 1], "b": list("wwwxywwz"), "s": ["v0"] * 6 + ["v1"] * 2},
    )
    table = encode(data, [ColumnPlan("a", QUASI), ColumnPlan("b", QUASI), ColumnPlan("s", SENSITIVE)])
    requirements = Requirements(models=(ShareOfFirst(share=0.8),), suppression=0.3)
    release = Hybrid(variant="statistical", budget=0.45).anonymize(table, requirements, Run.start(1))
    assert release.facts["p_value"] >= 0.05


# --- from a policy to a record ------------------------------------------------------------------------------------


def test_the_whole_story_from_a_policy():
    import json

    import shoal

    random = np.random.default_rng(4)
    data = pl.DataFrame(
        {
            "age": random.integers(20, 60, 400),
            "town": random.choice([f"t{i}" for i in range(9)], 400),
            "disease": random.choice(["flu", "cold", "ulcer"], 400),
        }
    )
    asked = {
        "quasi": ["age", "town"],
        "sensitive": ["disease"],
        "hierarchies": {"age": {"widths": [5, 10, 20]}},
        "k": 4,
        "relocation": {"budget": 0.05, "alpha": 0.05},
    }
    for name in ("hybrid", "hybrid-mondrian", "relocate"):
        method = {"name": name, "variant": "statistical", "budget": 0.05}
        result = shoal.anonymize(data, method=method, seed=1, **asked)
        assert result.holds
        titles = [verdict.model for verdict in result.verdicts]
        assert titles == ["4-anonymity", "at most 5 % of cells false", "0.05-hybrid", "truthful"]
        record = json.loads(json.dumps(result.record))
        assert 0 < record["changed_cells"] <= 40
        assert sum(record["changed_by_column"].values()) == record["changed_cells"]
        assert set(result.table.columns) == set(data.columns)
        # The card tells the budget: how many cells are false is a figure of the original.
        assert result.card["cells_changed_at_most"] == 0.05
        assert "**False cells:** at most 5.00% of the generalized cells" in card_markdown(result.card)
        assert result.card["guarantees"][1]["reached"] == "at most 0.05"
    untouched = shoal.anonymize(data, method="mondrian", seed=1, **asked)
    assert untouched.holds
    assert "cells_changed_at_most" not in untouched.card
    assert "cells are false" not in card_markdown(untouched.card)
    tight = asked | {"relocation": {"budget": 0.0001}}
    # A method does not use more of its budget than the policy allows: it would work in vain.
    assert shoal.anonymize(data, method={"name": "hybrid", "budget": 0.05}, seed=1, **tight).holds
    with pytest.raises(PolicyError, match=r"relocation\.budget"):
        shoal.anonymize(data, method="hybrid", **(asked | {"relocation": {"budget": 2.0}}))


def test_the_k_of_hybrid_k_anonymity_steers_the_search(example):
    requirements = Requirements(models=(HybridK(k=3, budget=0.1),))
    assert Hybrid(budget=0.1).anonymize(example, requirements, Run.start(1)).levels == (1, 1, 3)


def test_the_loss_without_relocation_is_told(example):
    facts = Hybrid(budget=0.1).anonymize(example, plain(3), Run.start(1)).facts
    lm = MEASURES["lm"]()
    baseline = evidence_by(example, FullDomain().anonymize(example, plain(3), Run.start(1)))
    release = evidence_by(example, Hybrid(budget=0.1).anonymize(example, plain(3), Run.start(1)))
    assert facts["loss_without_relocation"] == pytest.approx(lm.value(baseline))
    assert facts["loss_with_relocation"] == pytest.approx(lm.value(release))


@pytest.mark.parametrize(("k", "suppression"), [(5, 0.0), (50, 0.0), (5, 0.05)])
def test_without_a_budget_adult_gets_the_optimum_of_full_domain(adult, k, suppression):
    names = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
    plans = [ColumnPlan(n, QUASI, adult / f"adult_hierarchy_{n}.csv") for n in (*names, "salary-class")]
    table = encode(pl.read_csv(adult / "adult.csv", separator=";", infer_schema=False), plans)
    requirements = plain(k, suppression)
    expected_ = FullDomain().anonymize(table, requirements, Run.start(1))
    release = Hybrid(budget=0.0).anonymize(table, requirements, Run.start(1))
    assert release.levels == expected_.levels
    np.testing.assert_array_equal(release.region_of, expected_.region_of)
    assert release.facts["changed_cells"] == 0
    assert release.facts["loss_with_relocation"] == release.facts["loss_without_relocation"]


def test_overlapping_classes_have_no_size_of_their_own_without_owners():
    import shoal

    frame = pl.DataFrame({"a": [1, 2, 3, 4, 1, 2, 3, 4], "b": ["x"] * 8})
    overlapping = pl.DataFrame({"a": ["[1, 3]"] * 4 + ["[2, 4]"] * 4, "b": ["x"] * 8})
    attack = {"quasi": ["a", "b"], "k": 4, "original": frame, "name": "statistical", "method": "hybrid"}
    with pytest.raises(shoal.DataError, match="overlap"):
        shoal.attack(overlapping, **attack)
    judged = shoal.audit(overlapping, quasi=["a", "b"], k=4, relocation={"alpha": 0.05}, original=frame)
    size, test = judged.verdicts[:2]
    assert size.holds
    assert (test.holds, test.reached) == (None, None)
    assert test.detail.startswith("could not be checked: classes of this release overlap")
    apart = pl.DataFrame({"a": ["[1, 2]"] * 4 + ["[3, 4]"] * 4, "b": ["x"] * 8})
    assert shoal.attack(apart, **attack).at_risk == 0
    with pytest.raises(
        shoal.DataError, match="does not apply to this release: neither the method nor the policy"
    ):
        shoal.attack(apart, **{**attack, "method": "mondrian"})
    with pytest.raises(shoal.DataError, match="does not apply to this release: it has no rows"):
        shoal.attack(apart.clear(), **attack)
    buckets = frame.with_columns(a=pl.Series([2, 1, 4, 3] * 2), bucket=pl.Series([0, 0, 1, 1] * 2))
    told = {"policy": "[method]\nname = 'slice-columns'", "method": "", "seed": None, "input": {"rows": 8}}
    with pytest.raises(shoal.DataError, match="does not apply to this release: values were shuffled"):
        shoal.attack(buckets, record=told, relocation={"alpha": 0.05}, **attack)


@settings(max_examples=60)
@given(
    people=tables(rows=st.integers(4, 14), columns=st.integers(1, 2)),
    data=st.data(),
    k=st.integers(2, 3),
    bounds=st.tuples(st.sampled_from([0.0, 0.1, 0.3]), st.sampled_from([0.6, 0.8, 1.0])),
    budget=st.sampled_from([0.0, 0.1, 0.4]),
    variant=st.sampled_from(VARIANTS),
)
def test_bounds_on_presence_hold_after_relocation(people, data, k, bounds, budget, variant):
    """Of a population some are in the table; what is released is within the bounds, with relocation or without."""
    inside = data.draw(st.lists(st.integers(0, people.rows - 1), min_size=1, unique=True).map(sorted))
    table = with_changes(
        people,
        codes=np.asfortranarray(people.quasi.wide[inside]),
        sensitive_codes=np.asfortranarray(people.secrets.wide[inside]),
        kept=people.kept.whole[inside] if people.kept.columns else people.kept.whole,
        context=Context(population=people.quasi.wide),
    )
    presence = DeltaPresence(low=bounds[0], high=bounds[1])
    wish = plain(k, 0.0, "lm", presence)
    method = METHODS["hybrid"](budget=budget, variant=variant)
    try:
        release = method.anonymize(table, wish, Run.start(1))
    except LimitError:
        release = None
    try:
        exact = METHODS["spalm"]().anonymize(table, wish, Run.start(1))
    except LimitError:
        exact = None
    if release is None:
        assert (
            exact is None or budget
        )  # a mapping that relocation spoils may be ruled out with those below it
        return
    evidence = evidence_by(table, release)
    assert presence.verify(evidence).holds
    if budget == 0:
        assert exact is not None
        assert release.levels == exact.levels
