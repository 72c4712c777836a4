"""Mondrian: the kernels against their twins, and what every release of it must have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.coding import Attribute
from shoal.coding.groups import group
from shoal.coding.hierarchy import Hierarchy
from shoal.errors import InfeasibleError, PolicyError
from shoal.judging.models import MODELS
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.model import GroupModel, Monotone
from shoal.judging.models.requirements import Requirements
from shoal.kernels import cuts
from shoal.kernels import mondrian as kernels
from shoal.methods import METHODS
from shoal.methods.loss_tables import losses_of
from shoal.methods.partitioning import mondrian as module
from shoal.methods.partitioning.mondrian import Mondrian
from shoal.support.run import Run
from tests import oracles
from tests.inputs.coded_tables import table_of_matrices, with_changes
from tests.inputs.strategies import tables, tiled

METHOD = st.builds(Mondrian, strict=st.booleans(), choose=st.sampled_from(["gain", "width"]))


@dataclass(frozen=True, kw_only=True)
class Different(GroupModel):
    """At least so many different values of the first sensitive column: monotone."""

    name: ClassVar[str] = "different"
    summary: ClassVar[str] = ""
    monotone: ClassVar[Monotone] = Monotone.OVER_ROWS
    values: int = 2
    threshold = property(lambda self: self.values)
    title = property(lambda self: f"{self.values} different values")

    def score_groups(self, groups):
        return np.diff(groups.sensitive[0].start).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class Even(GroupModel):
    """An even number of rows: not monotone under cuts, and no reason to be."""

    name: ClassVar[str] = "even"
    summary: ClassVar[str] = ""
    monotone: ClassVar[Monotone] = Monotone.OVER_ROWS
    threshold = property(lambda self: 1)
    title = property(lambda self: "even classes")

    def score_groups(self, groups):
        return 1.0 - groups.size % 2


def boxes(table, k, method, measure="lm", enough=0):
    ids = np.arange(table.rows, dtype=np.int32)
    losses = losses_of(table, measure)
    return module._Boxes(table, ids, np.array([0, table.rows]), losses, k, method, enough)


def members(region_of):
    """Regions as sets of rows, whatever their numbers."""
    return {frozenset(np.flatnonzero(region_of == g).tolist()) for g in np.unique(region_of[region_of >= 0])}


def free_table(*columns, sensitive=None):
    """A table of free numeric columns, given as code lists; None is null."""
    attributes, codes = [], []
    for j, column in enumerate(columns):
        numbers = sorted({value for value in column if value is not None})
        leaves = pl.Series("leaves", numbers + [None] * (None in column), dtype=pl.Int64)
        levels = tiled([leaves, pl.Series(["*"] * len(leaves))])
        places = np.array([*numbers, *[np.nan] * (None in column)], np.float64)
        tree = Hierarchy(leaves, levels, free=True, ordered=len(numbers), positions=places)
        attributes.append(Attribute(f"q{j}", tree))
        codes.append([len(numbers) if value is None else numbers.index(value) for value in column])
    matrix = np.asfortranarray(np.array(codes, np.int32).T)
    none = np.zeros((len(matrix), 0), np.int32)
    return table_of_matrices(
        tuple(attributes), matrix, (), none, pl.DataFrame(), tuple(a.name for a in attributes)
    )


def cut(table, k, method=None, models=(), **requirements):
    models = (KAnonymity(k=k), *models)
    wanted = Requirements(models=models, **requirements)
    return (method or Mondrian()).anonymize(table, wanted, Run.start(1))


def test_is_registered():
    assert METHODS["mondrian"] is Mondrian


@given(
    tables(), st.integers(1, 4), METHOD, st.sampled_from(["lm", "entropy", "il"]), st.sampled_from([0, 3, 6])
)
def test_descent_is_that_of_its_twin(table, k, method, measure, enough):
    if table.rows < k:
        return
    found = boxes(table, k, method, measure, enough).cut_by_size(Run.start(1))
    kernel, kernels.cut_by_size = kernels.cut_by_size, oracles.mondrian.cut_by_size
    try:
        expected = boxes(table, k, method, measure, enough).cut_by_size(Run.start(1))
    finally:
        kernels.cut_by_size = kernel
    assert members(found[0]) == members(expected[0])
    for side in (1, 2):
        np.testing.assert_array_equal(found[side][found[0]], expected[side][expected[0]])


@given(tables(), st.integers(1, 3), METHOD, st.integers(0, 14))
def test_proposed_cuts_and_their_trial_are_those_of_their_twins(table, k, method, split):
    ours, twins = boxes(table, k, method), boxes(table, k, method)
    split = min(split, table.rows - 1)
    begins = np.unique(np.array([0, split]))
    ends = np.append(begins[1:], table.rows)
    ours.words[table.rows :] = twins.words[table.rows :] = 0
    found = cuts.propose_cuts(ours.codes, begins, ends, ours.losses, *ours.rules)
    expected = oracles.cuts.propose_cuts(twins.codes, begins, ends, twins.losses, *twins.rules)
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(
            np.where(expected[0] >= 0, mine, 0), np.where(expected[0] >= 0, other, 0)
        )
    np.testing.assert_array_equal(found[0], expected[0])
    for choice in range(2):
        keep = found[0][:, choice] >= 0
        chosen = [part[keep, choice] for part in found]
        runs = [(begins[keep], ends[keep]) for _ in range(2)]
        mine = kernels.try_cuts(
            ours.codes, ours.words, ours.ids, *runs[0], *chosen, ours.losses, k, method.strict
        )
        other = oracles.mondrian.try_cuts(
            twins.codes, twins.words, twins.ids, *runs[1], *chosen, twins.losses, k, method.strict
        )
        for left, right in zip((*mine, *runs[0], ours.words), (*other, *runs[1], twins.words), strict=True):
            np.testing.assert_array_equal(left, right)


@given(tables(), st.integers(2, 4), METHOD)
def test_both_ways_cut_alike_for_plain_k(table, k, method):
    if table.rows < k:
        return
    fast = cut(table, k, method)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_CELLS", 0)
        general = cut(table, k, method)
        patch.setattr(module, "MOST_CELLS", 1 << 16)
        patch.setattr(module, "PATIENCE", 1)
        halting = cut(table, k, method)
    assert members(fast.region_of) == members(general.region_of) == members(halting.region_of)
    for release in (general, halting):
        np.testing.assert_array_equal(fast.low[fast.region_of], release.low[release.region_of])
        np.testing.assert_array_equal(fast.high[fast.region_of], release.high[release.region_of])


@given(tables(), st.integers(2, 3), METHOD, st.sampled_from([Different(), Different(values=3), Even()]))
def test_every_region_satisfies_the_models(table, k, method, model):
    secret = table.secrets.wide[:, 0]

    def satisfied(rows):
        if isinstance(model, Even):
            return len(rows) >= k and len(rows) % 2 == 0
        return len(rows) >= k and len({int(secret[row]) for row in rows}) >= model.values

    if not satisfied(range(table.rows)):
        with pytest.raises(InfeasibleError, match=str(table.rows)):
            cut(table, k, method, [model])
        return
    release = cut(table, k, method, [model])
    assert all(satisfied(rows) for rows in members(release.region_of))
    assert (release.region_of >= 0).all()


OPTIONS = {
    "distinct-l": {"l": 2},
    "probabilistic-l": {"l": 2},
    "entropy-l": {"l": 1.5},
    "recursive-cl": {"c": 2.0, "l": 2},
    "t-equal": {"t": 0.3},
    "t-ordered": {"t": 0.3},
    "t-hierarchical": {"t": 0.3},
}


@pytest.mark.parametrize("name", OPTIONS)
@given(table=tables(), method=METHOD)
@settings(max_examples=30)
def test_the_models_of_the_registry_steer_it(name, table, method):
    model = MODELS[name](column=0, column_name="s0", **OPTIONS[name])

    def judged(group_of):
        count = int(group_of.max()) + 1
        return model.holds_in(
            group(group_of, count, table.secrets.wide, table.sensitive, table.sensitive_counts)
        )

    if table.rows < 2 or not judged(np.zeros(table.rows, np.int32))[0]:
        return
    release = cut(table, 2, method, [model])
    assert judged(release.region_of).all()
    assert np.bincount(release.region_of).min() >= 2


@given(tables(), st.integers(2, 4), METHOD)
def test_regions_are_publishable_and_cover_their_rows(table, k, method):
    if table.rows < k:
        return
    release = cut(table, k, method)
    assert np.bincount(release.region_of).min() >= k
    for j, attribute in enumerate(table.attributes):
        low, high = release.low[:, j], release.high[:, j]
        lifted = attribute.hierarchy.lift(low, high)
        np.testing.assert_array_equal(lifted[0], low)
        np.testing.assert_array_equal(lifted[1], high)
        codes = table.quasi.wide[:, j]
        assert (low[release.region_of] <= codes).all()
        assert (codes <= high[release.region_of]).all()
    again = cut(table, k, method)
    np.testing.assert_array_equal(again.region_of, release.region_of)


@given(tables(), st.integers(2, 3), st.sampled_from(["gain", "width"]))
def test_no_allowed_cut_is_left_and_equal_rows_stay_together(table, k, choose):
    if table.rows < k:
        return
    release = cut(table, k, Mondrian(choose=choose))
    for rows in members(release.region_of):
        inside = table.quasi.wide[sorted(rows)]
        for j in range(inside.shape[1]):
            for value in np.unique(inside[:, j])[:-1]:
                left = int((inside[:, j] <= value).sum())
                assert left < k or len(inside) - left < k
    regions = {}
    for row, region in zip(table.quasi.wide.tolist(), release.region_of.tolist(), strict=True):
        assert regions.setdefault(tuple(row), region) == region


@given(tables(), st.integers(2, 3), st.sampled_from(["gain", "width"]))
def test_relaxed_regions_are_small_or_of_one_kind(table, k, choose):
    if table.rows < k:
        return
    release = cut(table, k, Mondrian(strict=False, choose=choose))
    for rows in members(release.region_of):
        assert len(rows) < 2 * k or len(np.unique(table.quasi.wide[sorted(rows)], axis=0)) == 1


@given(tables(rows=st.integers(2, 20), free=False), st.integers(2, 3), st.data())
def test_limits_are_honoured(table, k, data):
    limited = tuple(
        Attribute(a.name, a.hierarchy.with_limit(data.draw(st.integers(0, a.hierarchy.height))), a.weight)
        for a in table.attributes
    )
    table = table_of_matrices(
        limited, table.quasi.wide, table.sensitive, table.secrets.wide, table.kept.whole, table.columns
    )
    sizes = np.bincount(table.block_of)
    small = int(sizes[sizes < k].sum())
    if small:
        with pytest.raises(InfeasibleError, match=f"{small} of {table.rows} rows|all {table.rows} rows"):
            cut(table, k)
    if small == table.rows:
        return
    release = cut(table, k, suppression=1.0)
    np.testing.assert_array_equal(release.region_of < 0, sizes[table.block_of] < k)
    for rows in members(release.region_of):
        assert len(rows) >= k
        assert len({int(table.block_of[row]) for row in rows}) == 1


def test_null_is_split_away_before_numbers():
    # With nulls a region shows all 7 codes: taking them away saves 8 x 6 - 6 x 5 = 18 steps, more than any
    # boundary between numbers (3 | 5 rows: 8 x 6 - 3 x 2 - 5 x 6 = 12). Then 3 | 3 rows saves most: 18.
    release = cut(free_table([1, 2, 3, 4, 5, 6, None, None]), 2)
    assert members(release.region_of) == {frozenset({0, 1, 2}), frozenset({3, 4, 5}), frozenset({6, 7})}


def test_a_lone_null_makes_its_region_the_whole_domain():
    table = free_table([1, 1, 2, 2, None])
    release = cut(table, 2)
    region = release.region_of[4]
    assert (release.low[region, 0], release.high[region, 0]) == (0, 2)


def test_a_child_is_taken_out_of_the_middle():
    # 3 a, 6 b, 3 c: no boundary leaves 5 rows on both sides, but b against the rest does.
    leaves = pl.Series("leaves", ["a", "b", "c"])
    tree = Hierarchy(leaves, tiled([leaves, pl.Series(["*"] * 3)]))
    codes = np.asfortranarray(np.array([[0] * 3 + [1] * 6 + [2] * 3], np.int32).T)
    table = table_of_matrices(
        (Attribute("q", tree),), codes, (), np.zeros((12, 0), np.int32), pl.DataFrame(), ("q",)
    )
    assert members(cut(table, 5).region_of) == {frozenset(range(3, 9)), frozenset([0, 1, 2, 9, 10, 11])}


def test_weight_decides_which_column_is_cut():
    table = free_table([1, 1, 2, 2], [1, 2, 1, 2])
    second = Attribute("q1", table.attributes[1].hierarchy, 2.0)
    heavier = with_changes(table, attributes=(table.attributes[0], second))
    assert members(cut(table, 2).region_of) == {frozenset({0, 1}), frozenset({2, 3})}
    assert members(cut(heavier, 2).region_of) == {frozenset({0, 2}), frozenset({1, 3})}


def test_gcp_counts_the_width_of_numbers():
    # By leaves the middle boundary is best; by width the far value 1000 stands apart.
    table = free_table([1, 2, 3, 4, 5, 1000, 1001, 1002])
    by_width = cut(table, 3, measure="gcp")
    assert frozenset({5, 6, 7}) in members(by_width.region_of)


@pytest.mark.parametrize("strict", [True, False])
def test_corner_tables(strict):
    method = Mondrian(strict=strict)
    alike = cut(free_table([7] * 9), 2, method)
    assert len(alike.low) == 1
    everyone = cut(free_table([1, 2, 3], [4, 5, 6]), 3, method)
    assert members(everyone.region_of) == {frozenset({0, 1, 2})}
    for few in (free_table([1]), free_table([1, 2])):
        with pytest.raises(InfeasibleError, match="3-anonymity"):
            cut(few, 3, method)


@pytest.mark.parametrize("size", [300, 70_000])
def test_many_distinct_values(size):
    rng = np.random.default_rng(1)
    numbers = [rng.permutation(size).tolist(), rng.integers(0, 3, size).tolist()]
    release = cut(free_table_fast(numbers), 5)
    sizes = np.bincount(release.region_of)
    assert sizes.min() >= 5
    assert sizes.max() < 10


def free_table_fast(columns):
    """Columns that are their own codes."""
    attributes = []
    for j, column in enumerate(columns):
        size = max(column) + 1
        leaves = pl.Series("leaves", range(size), dtype=pl.Int64)
        levels = tiled([leaves, pl.Series(["*"]).new_from_index(0, size)])
        attributes.append(Attribute(f"q{j}", Hierarchy(leaves, levels, free=True, ordered=size)))
    codes = np.asfortranarray(np.array(columns, np.int32).T)
    none = np.zeros((len(codes), 0), np.int32)
    return table_of_matrices(
        tuple(attributes), codes, (), none, pl.DataFrame(), tuple(a.name for a in attributes)
    )


def test_two_hundred_columns():
    columns = np.random.default_rng(1).integers(0, 4, (200, 120)).tolist()
    assert np.bincount(cut(free_table_fast(columns), 4).region_of).min() >= 4


def test_progress_may_interrupt():
    def stop(stage, share):
        raise KeyboardInterrupt

    for models in ((), (Even(),)):
        wanted = Requirements(models=(KAnonymity(k=2), *models))
        with pytest.raises(KeyboardInterrupt):
            Mondrian().anonymize(free_table([1, 2, 3, 4]), wanted, Run.start(1, stop))


def test_unknown_choice_is_named():
    with pytest.raises(PolicyError, match="did you mean 'width'"):
        Mondrian(choose="widht")
