from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import event, given, settings
from hypothesis import strategies as st

import shoal
from shoal.apps.cli import main
from shoal.coding import Attribute
from shoal.coding.hierarchy import Hierarchy
from shoal.coding.roles import QUASI, SENSITIVE
from shoal.errors import LimitError, PolicyError
from shoal.judging.measures.measure import ClassMeasure
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.requirements import Requirements
from shoal.kernels import lattice as kernels
from shoal.methods import METHODS
from shoal.methods.full_domain import mapping_lattice as lattice_module
from shoal.methods.full_domain import rollups as rollups_module
from shoal.methods.full_domain import search as search_module
from shoal.methods.full_domain import wide
from shoal.methods.full_domain.cuts import Box, Cuts, Prices
from shoal.methods.full_domain.full_domain import FullDomain
from shoal.methods.full_domain.incognito import Incognito
from shoal.methods.full_domain.mapping_judge import Judge
from shoal.methods.full_domain.mapping_lattice import Lattice
from shoal.methods.full_domain.search import Search
from shoal.methods.full_domain.wide import WideSearch
from shoal.policy import Policy
from shoal.support.run import Run
from shoal.support.wording import round_down
from tests import oracles
from tests.inputs.coded_tables import table_of_matrices, with_changes
from tests.inputs.strategies import tables, tiled
from tests.oracles.all_mappings import NotAMultiple, ShareOfFirst, loss, published, satisfying

MEASURES = ["lm", "gcp", "entropy", "precision", "ag", "il", "dm", "avg"]


@st.composite
def models(draw, table):
    from shoal.judging.models import MODELS

    chosen = []
    if draw(st.integers(0, 3)):
        chosen.append(KAnonymity(k=draw(st.integers(2, max(2, min(6, table.rows))))))
    column = draw(st.integers(0, len(table.sensitive) - 1))
    own = {"column": column, "column_name": table.sensitive[column].name}
    kind = draw(st.integers(0, 9))
    if kind == 0:
        chosen.append(NotAMultiple(number=draw(st.integers(2, 4))))
    elif kind == 1:
        chosen.append(ShareOfFirst(share=draw(st.sampled_from([0.25, 0.5, 0.8]))))
    elif kind == 2:
        chosen.append(MODELS["distinct-l"](l=2, **own))
    elif kind == 3:
        chosen.append(MODELS["entropy-l"](l=draw(st.sampled_from([1.3, 1.7])), **own))
    elif kind == 4:
        chosen.append(MODELS["recursive-cl"](c=draw(st.sampled_from([1.0, 2.0, 4.0])), l=2, **own))
    elif kind == 5:
        chosen.append(MODELS["t-equal"](t=draw(st.sampled_from([0.2, 0.4])), **own))
    return tuple(chosen) or (KAnonymity(k=2),)


@st.composite
def cases(draw, measures=st.sampled_from(MEASURES)):
    table = draw(tables(columns=st.integers(1, 3)))
    if draw(st.integers(0, 3)) == 0:
        limited = [
            dataclasses.replace(a, hierarchy=a.hierarchy.with_limit(draw(st.integers(0, a.hierarchy.height))))
            for a in table.attributes
        ]
        table = with_changes(table, attributes=tuple(limited))
    suppression = draw(st.sampled_from([0.0, 0.0, 0.1, 0.3, 0.6, 1.0]))
    requirements = Requirements(models=draw(models(table)), suppression=suppression, measure=draw(measures))
    return table, requirements


@settings(max_examples=400)
@given(cases())
def test_the_optimum_is_that_of_trying_all_mappings(case):
    table, requirements = case
    expected = satisfying(table, requirements)
    if not expected:
        with pytest.raises(LimitError, match="rows"):
            FullDomain().anonymize(table, requirements, Run.start(1))
        return
    release = FullDomain().anonymize(table, requirements, Run.start(1))
    value, suppressed, _, levels = expected[0]
    assert release.levels == levels
    assert int((release.region_of < 0).sum()) == suppressed
    assert 1 <= release.facts["checked"] <= release.facts["mappings"]
    plain = published(table, requirements, levels)
    assert loss(table, requirements, plain) == pytest.approx(value, abs=1e-11)
    kept = release.region_of >= 0
    rows = [tuple(r) for r in plain.cells.low[plain.class_of].tolist()]
    assert [tuple(r) for r in release.low[release.region_of[kept]].tolist()] == rows
    tops = [tuple(r) for r in plain.cells.high[plain.class_of].tolist()]
    assert [tuple(r) for r in release.high[release.region_of[kept]].tolist()] == tops
    assert len(release.low) == plain.classes


@settings(max_examples=60)
@given(cases(), st.integers(1, 3))
def test_rows_wider_than_one_word_give_the_same_optimum(case, bits):
    """A narrow word forces several words per row, which otherwise takes very many columns."""
    table, requirements = case
    usual = satisfying(table, requirements)
    narrow = max(bits, max((a.hierarchy.size - 1).bit_length() for a in table.attributes + table.sensitive))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rollups_module, "WORD", narrow)
        if usual:
            release = FullDomain().anonymize(table, requirements, Run.start(1))
            assert release.levels == usual[0][3]
        else:
            with pytest.raises(LimitError):
                FullDomain().anonymize(table, requirements, Run.start(1))


@settings(max_examples=100)
@given(cases())
def test_the_order_in_which_mappings_are_grouped_changes_nothing(case):
    """Otherwise the highest open mappings come first only after some chains, which few small tables have."""
    table, requirements = case
    usual = satisfying(table, requirements)
    if usual:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(search_module, "SOME", 0)
            patch.setattr(rollups_module, "WORTH", 1)
            patch.setattr(Search, "_settle_chain", lambda self, _, levels: self._settle_highest(levels))
            assert FullDomain().anonymize(table, requirements, Run.start(1)).levels == usual[0][3]


@settings(max_examples=60)
@given(cases(), st.integers(2, 6))
def test_forgetting_roll_ups_changes_nothing(case, room):
    table, requirements = case
    usual = satisfying(table, requirements)
    if usual:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rollups_module, "HELD", room)
            assert FullDomain().anonymize(table, requirements, Run.start(1)).levels == usual[0][3]


@given(tables(), st.data())
def test_kernels_agree_with_their_twins(table, data):
    judge = Judge(table, Requirements(models=(KAnonymity(k=2),)))
    lattice, rolls = Lattice(table), judge.rollups
    levels = np.array([data.draw(st.integers(0, t)) for t in lattice.top], np.int64)
    words, rows = rolls.base.keys.shape

    def buffers():
        return (
            np.empty((words, rows), np.uint64),
            np.empty(1 << 16, np.int32),
            np.empty((words, rows), np.uint64),
            np.empty(rows, np.int64),
            np.empty(rows, np.int32),
        )

    fixed = (
        rolls.base.keys,
        rolls.base.weights,
        lattice.bottom,
        levels,
        rolls.fields,
        rolls.single,
        rolls.table,
    )
    ours, theirs = buffers(), buffers()
    found = kernels.roll_up(*fixed, *ours)
    assert found == oracles.lattice.roll_up(*fixed, *theirs)
    np.testing.assert_array_equal(ours[2][:, :found], theirs[2][:, :found])
    np.testing.assert_array_equal(ours[3][:found], theirs[3][:found])
    np.testing.assert_array_equal(ours[4], theirs[4])

    keys, weights = ours[2][:, :found].copy(), ours[3][:found].copy()
    lost = np.array([data.draw(st.integers(0, weight)) for weight in weights], np.int64)
    gain = np.arange(len(rolls.table)) / 7
    most = data.draw(st.integers(0, table.rows))
    arguments = (keys, lost, levels, rolls.fields, gain, most)
    assert kernels.shortfall(*arguments) == pytest.approx(oracles.lattice.shortfall(*arguments))
    k = data.draw(st.integers(1, 4))
    for mine, other in zip(
        kernels.small_groups(weights, k), oracles.lattice.small_groups(weights, k), strict=True
    ):
        np.testing.assert_array_equal(mine, other)
    good = weights >= k
    arguments = (weights, good, (weights - lost)[good])
    for mine, other in zip(kernels.lost_rows(*arguments), oracles.lattice.lost_rows(*arguments), strict=True):
        np.testing.assert_array_equal(mine, other)
    floors, counts = np.zeros((2, len(levels), max(lattice.dims))), np.zeros(100, np.int64)
    arguments = (keys, lost, levels, rolls.fields, judge.objective.gains)
    assert kernels.least_shortfall(*arguments, counts, floors[0]) == pytest.approx(
        oracles.lattice.least_shortfall(*arguments, counts, floors[1])
    )
    assert not counts.any()
    np.testing.assert_allclose(floors[0], floors[1])

    low = np.array([data.draw(st.integers(0, level)) for level in levels], np.int64)
    values = np.arange(lattice.size, dtype=np.float64)
    twin = values.copy()
    kernels.raise_box(values, lattice.strides, low, levels, lattice.size / 2)
    oracles.lattice.raise_box(twin, lattice.strides, low, levels, lattice.size / 2)
    np.testing.assert_array_equal(values, twin)
    kernels.raise_below(values, lattice.strides, levels, floors[0] * 100)
    oracles.lattice.raise_below(twin, lattice.strides, levels, floors[0] * 100)
    np.testing.assert_allclose(values, twin)
    other = np.array([data.draw(st.sampled_from([0.0, 1.0, 5.0, np.inf])) for _ in range(lattice.size)])
    mine, theirs_ = low.copy(), low.copy()
    kernels.climb_open(mine, lattice.top, lattice.strides, values, other, lattice.size / 2)
    oracles.lattice.climb_open(theirs_, lattice.top, lattice.strides, values, other, lattice.size / 2)
    np.testing.assert_array_equal(mine, theirs_)
    steps = np.array([[data.draw(st.integers(0, 3)) / 2 for _ in range(max(lattice.dims))] for _ in levels])
    arguments = (levels, steps, lattice.strides, values, other, lattice.size / 2)
    np.testing.assert_array_equal(kernels.descend_open(*arguments), oracles.lattice.descend_open(*arguments))
    order = np.array(data.draw(st.permutations(range(lattice.size))), np.int32)
    arguments = (order, data.draw(st.integers(0, lattice.size)), values, other, lattice.size / 2)
    assert kernels.next_open(*arguments) == oracles.lattice.next_open(*arguments)
    known = np.array([[data.draw(st.integers(0, t)) for t in lattice.top] for _ in range(4)], np.int64)
    sizes = np.array(data.draw(st.lists(st.integers(1, 3), min_size=4, max_size=4)), np.int64)
    arguments = (known, sizes, data.draw(st.integers(0, 4)), levels)
    assert kernels.smallest_below(*arguments) == oracles.lattice.smallest_below(*arguments)


@settings(max_examples=150)
@given(cases(), st.data())
def test_what_a_mapping_proves_about_its_specializations_holds(case, data):
    """Loss by loss, for all of them: `floor`, `floors` and `below` of specializations, `above` of generalizations."""
    table, requirements = case
    judge, lattice = Judge(table, requirements), Lattice(table)
    levels = np.array([data.draw(st.integers(0, t)) for t in lattice.top], np.int64)
    check = judge.check(levels, data.draw(st.sampled_from([0.0, 0.3, np.inf])))
    for value, _, _, other in satisfying(table, requirements):
        if (np.array(other) <= levels).all():
            least = judge.objective.least_at(np.array(other, np.int64))
            assert value >= least + check.floor_at(np.array(other, np.int64)) - 1e-9
            assert value >= max(least + check.floor, check.below) - 1e-9
        if (np.array(other) >= levels).all():
            assert value >= check.above - 1e-9


@settings(max_examples=200)
@given(st.data())
def test_satisfying_parts_never_hold_more_rows_than_a_model_calls_keepable(data):
    from shoal.coding.groups import group
    from shoal.judging.models import MODELS

    table = data.draw(tables())
    own = {"column": 0, "column_name": "s0"}
    share = data.draw(st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.5, 1.0]))
    model = data.draw(
        st.sampled_from(
            [
                KAnonymity(k=3),
                NotAMultiple(number=3),
                MODELS["distinct-l"](l=2, **own),
                MODELS["entropy-l"](l=1.8, **own),
                MODELS["recursive-cl"](c=1.5, l=2, **own),
                MODELS["t-equal"](t=share, **own),
                MODELS["t-ordered"](t=share, **own),
                MODELS["t-hierarchical"](t=share, **own),
            ]
        )
    )

    def grouped(numbers):
        rest = table.secrets.wide, table.sensitive, table.sensitive_counts
        return group(numbers, int(numbers.max()) + 1, *rest)

    whole = np.array(
        data.draw(st.lists(st.integers(0, 1), min_size=table.rows, max_size=table.rows)), np.int32
    )
    part = np.array(
        data.draw(st.lists(st.integers(0, 2), min_size=table.rows, max_size=table.rows)), np.int32
    )
    keepable = model.keepable(grouped(whole))
    pieces = grouped(whole * 3 + part)
    held = np.where(model.holds_in(pieces) & (pieces.size > 0), pieces.size, 0)
    for g in range(len(keepable)):
        assert held[3 * g : 3 * g + 3].sum() <= keepable[g]


@given(tables(), st.sampled_from([0.0, 0.15, 0.3, 0.6]), st.data())
def test_level_keepable_agrees_with_its_twin(table, most, data):
    from shoal.coding.groups import group
    from shoal.kernels.closeness import level_keepable

    numbers = np.array(
        data.draw(st.lists(st.integers(0, 2), min_size=table.rows, max_size=table.rows)), np.int32
    )
    groups = group(numbers, 3, table.secrets.wide, table.sensitive, table.sensitive_counts)
    own, low = groups.sensitive[0], table.sensitive[0].hierarchy.low
    arguments = (own.start, own.value, own.count, groups.size, low, groups.totals[0], most)
    np.testing.assert_array_equal(level_keepable(*arguments), oracles.closeness.level_keepable(*arguments))


def column(name, *levels):
    """A quasi-identifier from one list of names per level, in the order of its leaves."""
    series = [pl.Series("names", names) for names in levels]
    return Attribute(name, Hierarchy(series[0], tiled(series)))


def travellers():
    """The worked example of hybrid k-anonymity: nine people, hierarchies of heights 3, 3 and 5."""
    ages = ["12", "17", "19", "23", "33", "38", "41", "43", "48"]
    tens = ["11-20"] * 3 + ["21-30"] + ["31-40"] * 2 + ["41-50"] * 3
    age = column("age", ages, tens, ["11-30"] * 4 + ["31-50"] * 5, ["*"] * 9)
    nations = ["Greece", "Turkey", "Spain", "Brazil", "Peru", "USA", "Canada"]
    parts = ["E.EU", "E.EU", "W.EU", "S.AM", "S.AM", "N.AM", "N.AM"]
    nation = column("nation", nations, parts, ["EU"] * 3 + ["AM"] * 4, ["*"] * 7)
    codes = ["47906", "47907", "49001", "49703", "49705", "49812"]
    masked = [[c[: 5 - m] + "*" * m for c in codes] for m in range(5)]
    post = column("zip", *masked, ["*"] * 6)
    people = [
        ("12", "Greece", "47906"),
        ("19", "Turkey", "47907"),
        ("17", "Greece", "47907"),
        ("23", "Spain", "49703"),
        ("38", "Brazil", "49705"),
        ("33", "Peru", "49812"),
        ("41", "USA", "49001"),
        ("43", "Canada", "49001"),
        ("48", "Canada", "49001"),
    ]
    table = np.array([[ages.index(a), nations.index(n), codes.index(z)] for a, n, z in people], np.int32)
    none = np.empty((9, 0), np.int32, order="F")
    return table_of_matrices(
        (age, nation, post), np.asfortranarray(table), (), none, pl.DataFrame(), ("age", "nation", "zip")
    )


def test_pure_generalization_of_the_travellers_needs_levels_2_2_4():
    table = travellers()
    release = FullDomain().anonymize(table, Requirements(models=(KAnonymity(k=3),)), Run.start(1))
    assert release.levels == (2, 2, 4)
    assert release.region_of.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 1]
    names = [
        a.hierarchy.names(release.low[:, j], release.high[:, j], release.levels[j]).to_list()
        for j, a in enumerate(table.attributes)
    ]
    assert names == [["11-30", "31-50"], ["EU", "AM"], ["4****", "4****"]]


def test_one_suppressed_row_lets_the_travellers_stay_more_specific():
    """Without q4 (23, Spain) the other eight fall into groups of 3, 2 and 3 at [1,1,3]; [2,1,3] keeps them apart."""
    table = travellers()
    requirements = Requirements(models=(KAnonymity(k=2),), suppression=0.12)
    release = FullDomain().anonymize(table, requirements, Run.start(1))
    assert int((release.region_of < 0).sum()) <= 1
    assert release.levels == satisfying(table, requirements)[0][3]


def test_large_groups_that_fail_a_model_are_suppressed_if_dm_is_lower():
    """Six rows of one disease fail l = 2. Suppressing them costs 6 x 10, and the class of the others 4 x 4: 76. One
    class of all ten rows costs 100."""
    frame = pl.DataFrame({"q": ["a"] * 6 + ["b"] * 4, "s": ["x"] * 8 + ["y"] * 2})
    asked = {"l": {"distinct": 2}, "suppression": 0.6, "measure": "dm", "method": "full-domain"}
    made = shoal.anonymize(frame, quasi=["q"], sensitive=["s"], **asked)
    assert made.release.levels == (0,)
    assert made.measures["dm"] == 76


def test_a_measure_that_cannot_steer_is_refused_with_those_that_can():
    table = travellers()
    with pytest.raises(PolicyError, match=r"query-error.*lm, gcp.*dm, avg"):
        FullDomain().anonymize(
            table, Requirements(models=(KAnonymity(k=2),), measure="query-error"), Run.start(1)
        )


def test_a_lattice_too_large_is_refused_with_what_to_do(monkeypatch):
    monkeypatch.setattr(lattice_module, "MOST_MAPPINGS", 95)
    with pytest.raises(PolicyError, match=r"96 mappings, but the limit is 95 .*mondrian"):
        Incognito().anonymize(travellers(), Requirements(models=(KAnonymity(k=2),)), Run.start(1))


def test_what_cannot_be_satisfied_is_said_with_numbers():
    """Nations may not be mixed between continents, and America has five people."""
    table = travellers()
    nation = dataclasses.replace(table.attributes[1], hierarchy=table.attributes[1].hierarchy.with_limit(2))
    limited = with_changes(table, attributes=(table.attributes[0], nation, table.attributes[2]))
    with pytest.raises(LimitError, match=r"5-anonymity: .* 4 of 9 rows .* 1 may be suppressed"):
        FullDomain().anonymize(
            limited, Requirements(models=(KAnonymity(k=5),), suppression=0.12), Run.start(1)
        )


def test_facts_say_when_pruning_is_given_up():
    table = travellers()
    plain = FullDomain().anonymize(table, Requirements(models=(KAnonymity(k=2),)), Run.start(1))
    assert "pruning" not in plain.facts
    models = (KAnonymity(k=2), NotAMultiple(number=5))
    loose = FullDomain().anonymize(table, Requirements(models=models), Run.start(1))
    assert "not monotone" in loose.facts["pruning"]


def test_an_interrupt_from_progress_comes_through(monkeypatch):
    clock = iter(range(10_000))
    monkeypatch.setattr("shoal.methods.full_domain.search.time.perf_counter", lambda: float(next(clock)))

    def stop(stage, share):
        assert stage == "search"
        assert 0 <= share <= 1
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        FullDomain().anonymize(travellers(), Requirements(models=(KAnonymity(k=3),)), Run.start(1, stop))


def test_it_is_registered():
    assert METHODS["full-domain"] is FullDomain


COLUMNS_OF_ADULT = (
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
)


TWO = Requirements(models=(KAnonymity(k=2),), suppression=0.12)


def wide_search(table, requirements, seconds=60.0):
    return WideSearch(table, requirements, Lattice(table).size, seconds, Run.start(1))


def adult_table(folder, sensitive=()):
    from shoal.coding.column_plan import ColumnPlan
    from shoal.coding.encode import encode

    data = pl.read_csv(folder / "adult.csv", separator=";", infer_schema=False)
    plans = [
        ColumnPlan(name, SENSITIVE if name in sensitive else QUASI, folder / f"adult_hierarchy_{name}.csv")
        for name in (*COLUMNS_OF_ADULT, "salary-class")
    ]
    return encode(data, plans)


def adult_by_joins(folder, levels, k):
    """LM and suppressed rows of a mapping from the files alone: joins, counts and plain arithmetic."""
    data = pl.read_csv(folder / "adult.csv", separator=";", infer_schema=False).with_row_index("row")
    shown, lost = [], []
    for name, level in zip((*COLUMNS_OF_ADULT, "salary-class"), levels, strict=True):
        tree = pl.read_csv(
            folder / f"adult_hierarchy_{name}.csv", separator=";", has_header=False, infer_schema=False
        )
        node = pl.concat_str(tree.columns[level:], separator="/")  # a node is its path to the root
        tree = tree.with_columns(node.alias("node")).select(
            pl.col(tree.columns[0]).alias(name),
            pl.col("node").alias(f"shown {name}"),
            ((pl.len().over("node") - 1) / (pl.len() - 1)).alias(f"lost {name}"),
        )
        data = data.join(tree, on=name, how="left", validate="m:1")
        shown.append(f"shown {name}")
        lost.append(f"lost {name}")
    data = data.with_columns(pl.len().over(shown).alias("size"), pl.mean_horizontal(lost).alias("loss"))
    kept = pl.col("size") >= k
    lm = data.select(pl.when(kept).then("loss").otherwise(1.0).mean()).item()
    return lm, data.select((~kept).sum()).item()


@pytest.mark.parametrize(("k", "suppression"), [(5, 0.0), (10, 0.05), (2, 1.0)])
def test_adult_reads_the_same_from_the_files_alone(adult, k, suppression):
    table = adult_table(adult)
    requirements = Requirements(models=(KAnonymity(k=k),), suppression=suppression)
    release = FullDomain().anonymize(table, requirements, Run.start(1))
    lm, suppressed = adult_by_joins(adult, release.levels, k)
    assert suppressed == int((release.region_of < 0).sum()) <= suppression * table.rows
    assert loss(table, requirements, published(table, requirements, release.levels)) == pytest.approx(lm)
    # Nothing one level below is both permitted and better, by the same arithmetic.
    for j, level in enumerate(release.levels):
        if level:
            below = [*release.levels]
            below[j] -= 1
            other, dropped = adult_by_joins(adult, below, k)
            assert dropped > suppression * table.rows or other > lm - 1e-12


@pytest.mark.parametrize("suppression", [0.0, 0.05])
def test_the_bound_of_the_wide_search_closes_on_adult_at_the_exact_optimum(adult, suppression):
    table = adult_table(adult)
    wanted = Requirements(models=(KAnonymity(k=5),), suppression=suppression)
    exact = FullDomain().anonymize(table, wanted, Run.start(1))
    search = wide_search(table, wanted, 600.0)
    release = search.best()
    assert release.levels == exact.levels
    assert release.facts["exact"]
    assert release.facts["bound"] == pytest.approx(exact.facts["loss"], abs=1e-9)


@pytest.mark.parametrize("suppression", [0.0, 0.05])
def test_the_optimum_of_adult_is_that_of_grouping_by_all_mappings(adult, suppression):
    """With five of the columns, where all 240 mappings can be grouped by in a second."""
    full = adult_table(adult)
    table = with_changes(
        full, attributes=full.attributes[:5], codes=np.asfortranarray(full.quasi.wide[:, :5])
    )
    requirements = Requirements(models=(KAnonymity(k=5),), suppression=suppression)
    best = None
    shapes = [len(a.hierarchy.levels) for a in table.attributes]
    for levels in np.ndindex(*shapes):
        cells = np.stack(
            [
                a.hierarchy.low[lv, table.quasi.wide[:, j]]
                for j, (a, lv) in enumerate(zip(table.attributes, levels, strict=True))
            ]
        )
        frame = pl.DataFrame(cells.T, schema=[a.name for a in table.attributes])
        sizes = frame.select(pl.len().over(frame.columns)).to_series()
        dropped = sizes < 5
        if dropped.sum() > suppression * table.rows:
            continue
        lost = sum(
            (a.hierarchy.high[lv] - a.hierarchy.low[lv])[table.quasi.wide[:, j]] / (a.hierarchy.size - 1)
            for j, (a, lv) in enumerate(zip(table.attributes, levels, strict=True))
        )
        value = float(np.where(dropped.to_numpy(), 1.0, lost / len(levels)).mean())
        own = (round(value, 12), int(dropped.sum()), sum(levels), levels)
        best = own if best is None or own < best else best
    release = FullDomain().anonymize(table, requirements, Run.start(1))
    assert release.levels == best[3]


def test_without_quasi_identifiers_there_is_nothing_to_search():
    table = with_changes(travellers(), attributes=(), codes=np.empty((9, 0), np.int32, order="F"))
    with pytest.raises(PolicyError, match="no column is a quasi-identifier"):
        FullDomain().anonymize(table, Requirements(models=(KAnonymity(k=2),)), Run.start(1))


def test_columns_of_one_value_and_one_row_per_group():
    """k = n leaves only the top; a column of a single value has a single level."""
    one = column("one", ["x"])
    two = column("two", ["a", "b", "c"], ["*", "*", "*"])
    codes = np.asfortranarray(np.array([[0, 0], [0, 1], [0, 2]], np.int32))
    none = np.empty((3, 0), np.int32, order="F")
    table = table_of_matrices((one, two), codes, (), none, pl.DataFrame(), ("one", "two"))
    release = FullDomain().anonymize(table, Requirements(models=(KAnonymity(k=3),)), Run.start(1))
    assert release.levels == (0, 1)
    assert release.region_of.tolist() == [0, 0, 0]
    assert (release.low.tolist(), release.high.tolist()) == ([[0, 0]], [[0, 2]])


# --- more mappings than can be listed ---------------------------------------------------------------------


@settings(max_examples=150)
@given(cases())
def test_the_wide_search_closes_at_the_optimum_of_small_tables(case):
    table, requirements = case
    expected = satisfying(table, requirements)
    search = wide_search(table, requirements)
    if not expected:
        with pytest.raises(LimitError, match="rows"):
            search.best()
        return
    release = search.best()
    assert search.value == pytest.approx(expected[0][0], abs=1e-9)
    assert release.facts["exact"]
    assert release.facts["loss"] == release.facts["bound"]
    assert "note" not in release.facts
    assert release.levels in {levels for *_, levels in expected}


@settings(max_examples=150)
@given(cases(), st.integers(0, 12), st.booleans())
def test_a_wide_search_that_ends_early_tells_no_bound_above_the_optimum(case, checks, subsets):
    """The time is over after some checks, wherever the search is then."""
    table, requirements = case
    expected = satisfying(table, requirements)
    search = wide_search(table, requirements)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_seconds_passed", lambda: 0.0 if search.judge.checked <= checks else 61.0)
        if subsets:
            patch.setattr(wide, "NEAR", np.inf)
            patch.setattr(wide, "SUBSET_SIZES", (4, 12))
        try:
            release = search.best()
        except LimitError as error:
            event("found" if "to search longer" in str(error) else "proven")
            # What is proven is that there is none; otherwise the time was over.
            found = not expected or "to search longer" in str(error)
            release = None
    if release is None:
        assert found
        return
    optimum = expected[0][0]
    assert search.bound <= optimum + 1e-9
    assert search.value >= optimum - 1e-9
    unit = search.judge.objective.unit
    assert release.facts["bound"] <= optimum * unit + 1e-6 * unit
    assert release.facts["exact"] == (release.facts["loss"] == release.facts["bound"])
    assert ("note" in release.facts) != release.facts["exact"]


@settings(max_examples=150)
@given(cases(), st.data())
def test_the_bound_of_cuts_holds_for_any_prices(case, data):
    """For each mapping of a box, the loss that cuts and columns alone prove is no lower than the bound."""
    table, requirements = case
    judge, lattice = Judge(table, requirements), Lattice(table)
    cuts = Cuts(judge.objective.least)
    assert cuts.bound(Box(lattice.bottom, lattice.top), cuts.no_prices()) == pytest.approx(
        sum(float(column.min()) for column in judge.objective.least)
    )
    for _ in range(data.draw(st.integers(0, 5))):
        levels = np.array([data.draw(st.integers(0, t)) for t in lattice.top], np.int64)
        cuts.add(levels, judge.check(levels).floor)
    low = np.array([data.draw(st.integers(0, t)) for t in lattice.top], np.int64)
    high = np.array([data.draw(st.integers(a, t)) for a, t in zip(low, lattice.top, strict=True)], np.int64)
    if (
        judge.objective.exact
        and not isinstance(judge.objective.measure, ClassMeasure)
        and judge.objective.k > 1
    ):
        rules = Requirements(
            models=(KAnonymity(k=judge.objective.k),),
            suppression=requirements.suppression, measure=requirements.measure,
        )  # fmt: skip
        weights = np.array([a.weight for a in table.attributes])
        for columns in wide.windows(table, lattice.top + 1, data.draw(st.integers(1, 8))):
            loss = Search(wide.only(table, columns), rules, Run.start(1)).lowest()
            if np.isfinite(loss):  # otherwise no mapping of all columns is valid either
                cuts.add_subset(columns, loss * weights[columns].sum() / max(weights.sum(), 1e-300))
    some = st.floats(0, 2, allow_subnormal=False)
    prices = Prices(
        np.array([data.draw(some) for _ in range(cuts.count)]),
        np.array([data.draw(some) for _ in range(len(cuts.subsets))]),
    )
    solved = cuts.solve(Box(low, high), 1.0)
    bounds = [cuts.bound(Box(low, high), prices), np.inf if solved is None else solved.bound]
    for value, _, _, levels in satisfying(table, requirements):
        if (levels >= low).all() and (levels <= high).all():
            assert value >= max(bounds) - 1e-9


def test_more_mappings_than_can_be_listed_are_searched_for_some_seconds(monkeypatch):
    table = travellers()
    usual = FullDomain().anonymize(table, TWO, Run.start(1))
    monkeypatch.setattr(lattice_module, "MOST_MAPPINGS", 10)
    told = []
    release = FullDomain().anonymize(
        table, TWO, Run.start(1, lambda stage, share: told.append((stage, share)))
    )
    assert release.levels == usual.levels
    assert release.facts["exact"]
    assert release.facts["bound"] == usual.facts["bound"] == usual.facts["loss"]
    with pytest.raises(PolicyError, match="must be more than 0, not 0"):
        FullDomain(seconds=0)


def test_a_wide_search_can_be_interrupted(monkeypatch):
    monkeypatch.setattr(lattice_module, "MOST_MAPPINGS", 10)

    def stop(_stage, _share):
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wide, "TOLD", 0.0)
        with pytest.raises(KeyboardInterrupt):
            FullDomain().anonymize(travellers(), TWO, Run.start(1, stop))


def test_a_release_that_is_not_proven_to_be_the_best_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(lattice_module, "MOST_MAPPINGS", 10)
    random = np.random.default_rng(1)
    table = pl.DataFrame({name: random.integers(0, 9, 300) for name in "abcd"})
    wanted = {
        "quasi": [*"abcd"], "k": 3, "hierarchies": {name: {"widths": [3]} for name in "abcd"},
        "suppression": 0.1, "method": {"name": "full-domain", "seconds": 1e-6},
    }  # fmt: skip
    made = shoal.anonymize(table, seed=1, **wanted)
    assert made.record["exact"] is False
    assert 0 <= made.record["bound"] < made.record["loss"] == pytest.approx(made.measures["lm"])
    assert any("it is proven that none loses less than" in note for note in made.notes)
    private = shoal.report(made, original=table, edition="private", **wanted)
    assert "distance from the best levels" in str(private.html)
    public = shoal.report(made, original=table, edition="public", **wanted)
    assert "distance from the best levels" not in str(public.html)
    table.write_csv(tmp_path / "in.csv")
    (tmp_path / "p.toml").write_text(Policy.from_keywords(**wanted).to_toml())
    words = [
        "anonymize",
        tmp_path / "in.csv",
        "-p",
        tmp_path / "p.toml",
        "-o",
        tmp_path / "out.csv",
        "--seed",
        1,
    ]
    done = CliRunner().invoke(main, [*map(str, words)])
    assert done.exit_code == 0, done.output
    assert "mappings checked; not proven to be the best)" in done.stdout
    wanted["method"] = {"name": "full-domain", "seconds": 60}
    best = shoal.anonymize(table, seed=1, **wanted)
    assert best.record["exact"] is True
    assert best.record["bound"] == best.record["loss"] >= made.record["bound"]
    assert not any("proven" in note for note in best.notes)


@pytest.mark.parametrize(
    ("bound", "told"),
    [(0.28279, "0.2827"), (0.99999, "0.9999"), (0.0, "0"), (12345.7, "12,340"), (3.0, "3")],
)
def test_a_lower_bound_is_rounded_down(bound, told):
    assert round_down(bound) == told
    assert float(told.replace(",", "")) <= bound
