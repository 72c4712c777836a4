"""(1,k), (k,1), (k,k), global (1,k): models against brute force over all matchings, kernels against their twins."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shoal
from shoal.coding import Attribute
from shoal.coding.hierarchy import Hierarchy, Level
from shoal.errors import DataError, InfeasibleError, PolicyError
from shoal.judging.linking.consistency import People
from shoal.judging.linking.evidence import Evidence
from shoal.judging.linking.origins import Traced
from shoal.judging.models import MODELS
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.k_type import KK, GlobalOneK, KOne, OneK
from shoal.judging.models.requirements import Requirements
from shoal.kernels import consistency as graph_kernels
from shoal.kernels import covering, expansion, refining
from shoal.methods import METHODS
from shoal.methods.cells.cells import Cells
from shoal.methods.cells.global_one_k import GlobalOneK as GlobalMethod
from shoal.methods.cells.k_k import KK as KKMethod
from shoal.methods.loss_tables import losses_of
from shoal.policy import Policy
from shoal.release import ValueSets, closures
from shoal.release.published import Boxes, Published
from shoal.support.run import Run
from tests import oracles
from tests.inputs.coded_tables import table_of_matrices, with_changes
from tests.inputs.strategies import tables

NOTIONS = (OneK, KOne, KK, GlobalOneK)


def coded(columns, sizes):
    """A table of plain codes, columns of free ranges."""
    attributes = []
    for j, size in enumerate(sizes):
        names = pl.Series("names", [str(i) for i in range(size)])
        levels = (
            Level(np.arange(size, dtype=np.int32), names),
            Level(np.zeros(1, np.int32), pl.Series(["*"])),
        )
        attributes.append(
            Attribute(f"q{j}", Hierarchy(pl.Series("leaves", range(size)), levels, free=True, ordered=size))
        )
    codes = np.asfortranarray(np.array(columns, np.int32).T.reshape(-1, len(sizes)))
    none = np.zeros((len(codes), 0), np.int32)
    return table_of_matrices(
        tuple(attributes), codes, (), none, pl.DataFrame(), tuple(a.name for a in attributes)
    )


def shown(table, low, high, owner=None):
    """What is published where every row shows its own ranges."""
    low, high = (np.array(ends, np.int32).reshape(-1, len(table.attributes)) for ends in (low, high))
    cells = np.concatenate([low, high], axis=1)
    number, first = oracles.grouping.distinct(cells)
    none = np.zeros((len(low), 0), np.int32)
    missing = table.rows - len(low)
    published = Published(table.attributes, (), number, none, Boxes(low[first], high[first]), missing)
    return Evidence(published, table, Traced(owner))


def fits(table, low, high):
    """``[person, published row]`` whether every cell covers the person's value."""
    codes = np.asarray(table.quasi.wide)[:, None, :]
    return ((codes >= low[None]) & (codes <= high[None])).all(axis=2)


def all_matches(inside):
    """Pairs that some assignment of all published rows to different people contains, by trying all of them."""
    people, rows = inside.shape
    found = np.zeros_like(inside)
    for chosen in itertools.permutations(range(people), rows):
        if all(inside[person, row] for row, person in enumerate(chosen)):
            found[list(chosen), range(rows)] = True
    return found


# Worked examples ------------------------------------------------------------------------------------------

D = coded([[1, 1, 2], [3, 4, 4]], [5, 5])
EXAMPLES = {
    # ranges of both columns, row by row; then: 2-anonymous, (1,2), (2,1), (2,2), global (1,2)
    "2-anonymous": ([(1, 2, 3, 4)] * 3, (True, True, True, True, True)),
    "(1,2)": ([(1, 1, 3, 3), (1, 2, 3, 4), (1, 2, 4, 4)], (False, True, False, False, False)),
    "(2,1)": ([(1, 1, 3, 4), (1, 2, 4, 4), (1, 2, 4, 4)], (False, False, True, False, False)),
    "(2,2)": ([(1, 1, 3, 4), (1, 2, 3, 4), (1, 2, 4, 4)], (False, True, True, True, True)),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_worked_examples(name):
    cells, expected = EXAMPLES[name]
    cells = np.array(cells)
    published = shown(D, cells[:, ::2], cells[:, 1::2])
    verdicts = [KAnonymity(k=2).verify(published), *(notion(k=2).verify(published) for notion in NOTIONS)]
    assert tuple(verdict.holds for verdict in verdicts) == expected


LINE = coded([[1, 2, 3, 4, 5]], [6])
LINE_LOW, LINE_HIGH = [[1], [2], [3], [3], [1]], [[5], [3], [4], [4], [5]]


def test_two_two_without_global_one_two():
    """Row 2 fits three rows, but its only match is its own."""
    published = shown(LINE, LINE_LOW, LINE_HIGH)
    assert KK(k=2).verify(published).holds
    verdict = GlobalOneK(k=2).verify(published)
    assert not verdict.holds
    assert verdict.reached == 1
    graph = published.consistency
    assert graph.candidates[graph.people.row_of[1]] == 3
    assert graph.matches[graph.people.row_of[1]] == 1


def test_suppressed_rows_beside_untouched_ones_pass_one_k():
    """Why (1,k) protects against nobody."""
    low = [[1], [2], [3], [0], [0]]
    high = [[1], [2], [3], [5], [5]]
    published = shown(LINE, low, high)
    verdict = OneK(k=2).verify(published)
    assert verdict.holds
    assert "protects against nobody" in verdict.detail
    assert "protects against nobody" in OneK.summary
    assert "protects against nobody" in KOne.summary
    assert not KK(k=2).verify(published).holds


# Models against brute force -------------------------------------------------------------------------------


@st.composite
def generalizations(draw, most=6):
    """A small table, and for each of some rows a range around its values, in any order."""
    rows = draw(st.integers(1, most))
    columns = draw(st.integers(1, 2))
    codes = [draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows)) for _ in range(columns)]
    table = coded(codes, [4] * columns)
    kept = sorted(draw(st.sets(st.integers(0, rows - 1), min_size=1))) if draw(st.booleans()) else range(rows)
    owner = np.array(draw(st.permutations(list(kept))), np.int32)
    shape = (len(owner), columns)
    down = np.array(
        draw(st.lists(st.integers(0, 2), min_size=len(owner) * columns, max_size=len(owner) * columns))
    )
    up = np.array(
        draw(st.lists(st.integers(0, 2), min_size=len(owner) * columns, max_size=len(owner) * columns))
    )
    own = np.asarray(table.quasi.wide)[owner]
    return table, np.maximum(own - down.reshape(shape), 0), np.minimum(own + up.reshape(shape), 3), owner


@given(data=generalizations(), known=st.booleans())
@settings(max_examples=150)
def test_counts_are_those_of_all_matchings(data, known):
    table, low, high, owner = data
    graph = shown(table, low, high, owner if known else None).consistency
    inside = fits(table, low, high)
    row_of = graph.people.row_of
    assert graph.candidates[row_of].tolist() == inside.sum(axis=1).tolist()
    assert graph.matches[row_of].tolist() == all_matches(inside).sum(axis=1).tolist()
    published = shown(table, low, high)
    assert graph.fits[published.published.class_of].tolist() == inside.sum(axis=0).tolist()


@given(data=generalizations(), k=st.integers(2, 4))
@settings(max_examples=150)
def test_verdicts_are_the_definitions_and_imply_each_other(data, k):
    table, low, high, owner = data
    published = shown(table, low, high, owner)
    inside = fits(table, low, high)
    hidden = len(owner) < table.rows
    people, rows, matches = inside.sum(axis=1), inside.sum(axis=0), all_matches(inside).sum(axis=1)
    if hidden:
        people, matches = people[people > 0], matches[matches > 0]
    expected = {
        OneK: people.min() >= k,
        KOne: rows.min() >= k,
        KK: people.min() >= k and rows.min() >= k,
        GlobalOneK: matches.min() >= k,
    }
    found = {notion: notion(k=k).verify(published).holds for notion in NOTIONS}
    assert found == expected
    if found[GlobalOneK] and not hidden:
        assert found[OneK]


@given(table=tables(rows=st.integers(2, 12)), data=st.data())
@settings(max_examples=60)
def test_k_anonymity_implies_all_of_them(table, data):
    numbers = data.draw(st.lists(st.integers(0, 2), min_size=table.rows, max_size=table.rows))
    group_of = np.unique(numbers, return_inverse=True)[1].astype(np.int32)
    low, high = closures(table, group_of, int(group_of.max()) + 1)
    k = int(np.bincount(group_of).min())
    assume(k >= 2)
    for owner in (None, np.arange(table.rows, dtype=np.int32)):
        published = shown(table, low[group_of], high[group_of], owner)
        for notion in NOTIONS:
            assert notion(k=k).verify(published).holds
            assert notion(k=k).verify(Evidence(published.published)).holds


def test_what_cannot_be_told_is_said():
    published = shown(LINE, LINE_LOW, LINE_HIGH)
    unknown = KK(k=2).verify(Evidence(published.published))
    assert unknown.holds is None
    assert "give the original" in unknown.detail
    with pytest.raises(DataError, match="hierarchies"):
        KK(k=2).verify(Evidence(replace(published.published, cells=None), LINE))
    wrong = shown(LINE, [[1]] * 5, [[2]] * 5)
    with pytest.raises(DataError, match="not a generalization of the original: 3 of its 5 rows"):
        GlobalOneK(k=2).verify(wrong)
    with pytest.raises(PolicyError, match="at least 2"):
        KK(k=1)
    assert "the table has 5 rows" in (KK(k=6).infeasible(LINE) or "")


def test_nothing_published():
    nothing = shown(LINE, np.zeros((0, 1)), np.zeros((0, 1)))
    for notion in NOTIONS:
        assert notion(k=2).verify(nothing).holds


def test_sets_are_not_ranges():
    """{1, 3} does not fit 2."""
    table = coded([[1, 2, 3]], [4])
    published = shown(table, [[1], [2], [1]], [[3], [2], [3]])
    sets = ValueSets(np.array([0, 2, 3]), np.array([1, 3, 2], np.int32))
    graph = Evidence(
        replace(published.published, cells=replace(published.published.cells, sets=sets)), table
    ).consistency
    assert graph.candidates[graph.people.row_of].tolist() == [2, 1, 2]
    assert graph.matches[graph.people.row_of].tolist() == [2, 1, 2]


def test_cells_that_do_not_cover_their_owner_are_matched_anew():
    """Permuted values: row 0 shows what belongs to row 1, and the other way round."""
    table = coded([[1, 2]], [3])
    published = shown(table, [[2], [1]], [[2], [1]], np.array([0, 1], np.int32))
    assert published.consistency.matches.tolist() == [1, 1]


# Kernels against their twins ------------------------------------------------------------------------------


def fair(table):
    """Whether limits leave it in one block."""
    return int(table.block_of.max()) == 0


@given(table=tables(rows=st.integers(1, 40), columns=st.integers(1, 3)), data=st.data())
@settings(max_examples=60)
def test_trees_find_what_a_scan_finds(table, data):
    people = People.of(table.attributes, table.quasi.wide)
    assert np.array_equal(people.codes[people.row_of], table.quasi.wide)
    assert people.weight.tolist() == np.bincount(people.row_of).tolist()
    first, last, skip, box = people.tree
    for node in range(len(skip)):
        own = people.codes[first[node] : last[node]]
        assert box[node].tolist() == [*own.min(axis=0), *own.max(axis=0)]
        if skip[node] != node + 1:
            left, right = node + 1, skip[node + 1]
            assert (first[left], last[left], last[right]) == (first[node], first[right], last[node])
            assert skip[right] == skip[node]
    ends = [
        np.array(data.draw(st.lists(st.integers(0, 6), min_size=6, max_size=6))) for _ in table.attributes
    ]
    low = np.stack([np.minimum(e[:3], e[3:]) for e in ends], axis=1).astype(np.int32)
    high = np.stack([np.maximum(e[:3], e[3:]) for e in ends], axis=1).astype(np.int32)
    start, found = people.inside(low, high)
    plain = oracles.consistency.plant_boxes(people.codes, None, None, None)
    start_too, found_too = oracles.consistency.rows_inside(people.codes, *plain[1:], low, high)
    assert start.tolist() == start_too.tolist()
    assert np.array_equal(found, found_too)


@given(data=st.data())
@settings(max_examples=200)
def test_sharing_out(data):
    ranges, rows = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6))
    lists = [sorted(data.draw(st.sets(st.integers(0, rows - 1)))) for _ in range(ranges)]
    start = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    links = np.array([row for some in lists for row in some], np.int32)
    supply = np.array(data.draw(st.lists(st.integers(1, 3), min_size=ranges, max_size=ranges)), np.int64)
    demand = np.array(data.draw(st.lists(st.integers(1, 3), min_size=rows, max_size=rows)), np.int64)
    order = np.array(data.draw(st.permutations(range(ranges))))
    flow = graph_kernels.assign_units(start, links, supply, demand, order)
    assert (flow >= 0).all()
    source = np.repeat(np.arange(ranges), np.diff(start))
    assert (np.bincount(source, weights=flow, minlength=ranges) <= supply).all()
    assert (np.bincount(links, weights=flow, minlength=rows) <= demand).all()
    assert flow.sum() == oracles.consistency.assign_units(start, links, supply, demand, order).sum()


measures = st.sampled_from(["lm", "entropy", "gcp", "precision"])


@given(table=tables(rows=st.integers(2, 14)), measure=measures, k=st.integers(2, 5))
@settings(max_examples=100)
def test_expansion_and_nearest_take_cheapest_steps(table, measure, k):
    assume(k <= table.rows)
    people = People.of(table.attributes, table.quasi.wide)
    losses = losses_of(table, measure)
    for name in ("expand", "join_nearest"):
        low, high = people.codes.copy(), people.codes.copy()
        given_ = (people.codes, people.weight, *people.tree, losses, k, 0, len(low), low, high)
        getattr(expansion, name)(*given_)
        for a, b, possible in zip(
            low.tolist(), high.tolist(), getattr(oracles.expansion, name)(*given_), strict=True
        ):
            assert (tuple(a), tuple(b)) in possible


def started(table, measure, k, notion=KK):
    requirements = Requirements(models=(notion(k=k),), measure=measure)
    return Cells.start(table, requirements, k)


@given(table=tables(rows=st.integers(2, 14)), measure=measures, k=st.integers(2, 5))
@settings(max_examples=60)
def test_cells_grow_least_to_cover(table, measure, k):
    """Row by row the added loss is that of the plain algorithm; ties may be decided differently."""
    assume(k <= table.rows)
    cells = started(table, measure, k)
    cells.widen(expansion.expand, "expansion", Run.start(1))
    people, losses, tree = cells.people, cells.losses, cells.people.tree
    covered = cells.graph().candidates
    hull, costliest = covering.hulls(cells.slots, cells.low, cells.high, *tree[:3], losses)
    for ours, plain in zip(
        (hull, costliest),
        oracles.covering.hulls(cells.slots, cells.low, cells.high, *tree[:3], losses),
        strict=True,
    ):
        assert np.array_equal(ours, plain)

    def total(low, high):
        return sum(
            oracles.expansion._closure(losses, [a, b])[2]
            for a, b in zip(low.tolist(), high.tolist(), strict=True)
        )

    for u in range(len(people.codes)):
        low, high, counts = cells.low.copy(), cells.high.copy(), covered.copy()
        fixed = (*tree, hull, costliest, losses, k, u, u + 1)
        plain = oracles.covering.cover_each(people.codes, cells.slots, None, low, high, counts, *fixed)
        grown = covering.cover_each(
            people.codes, cells.slots, cells.changed, cells.low, cells.high, covered, *fixed
        )
        assert grown == plain
        assert total(cells.low, cells.high) == total(low, high)
    assert covered.tolist() == cells.graph().candidates.tolist()
    assert covered.min() >= k


@given(
    table=tables(rows=st.integers(2, 20)),
    scatter=st.none() | st.integers(0, 99),
    measure=measures,
    k=st.integers(2, 5),
    hand=st.booleans(),
)
@settings(max_examples=100)
def test_cells_are_replaced_by_cheaper_ones(table, scatter, measure, k, hand):
    assume(k <= table.rows)
    if scatter is not None:
        # Drawn lists have few distinct values; scattered ones leave more to choose from.
        random = np.random.default_rng(scatter)
        columns = [random.integers(0, a.hierarchy.size, table.rows) for a in table.attributes]
        table = with_changes(table, codes=np.asfortranarray(np.stack(columns, axis=1).astype(np.int32)))
    cells = started(table, measure, k)
    cells.widen(expansion.join_nearest, "nearest", Run.start(1))
    cells.cover(Run.start(1))

    def total(low, high):
        return sum(
            oracles.expansion._closure(cells.losses, [a, b])[2]
            for a, b in zip(low.tolist(), high.tolist(), strict=True)
        )

    people, covered = cells.people, cells.graph().candidates
    fixed = (*people.tree, cells.losses, k, hand, 0, len(people.codes))
    before, plain = total(cells.low, cells.high), (cells.low.copy(), cells.high.copy(), covered.copy())
    saved = refining.refine(people.codes, people.weight, cells.slots, cells.low, cells.high, covered, *fixed)
    cells.changed[:] = people.weight
    assert saved >= 0
    assert total(cells.low, cells.high) == before - saved
    graph = cells.graph()
    assert graph.candidates.tolist() == covered.tolist()
    assert min(graph.candidates.min(), graph.fits.min()) >= k
    assert saved == oracles.refining.refine(people.codes, people.weight, cells.slots, *plain, *fixed)
    assert np.array_equal(cells.low, plain[0])
    assert np.array_equal(cells.high, plain[1])
    assert np.array_equal(covered, plain[2])


@given(table=tables(rows=st.integers(2, 12)), measure=measures, k=st.integers(2, 4))
@settings(max_examples=60)
def test_one_more_match_costs_least(table, measure, k):
    assume(k <= table.rows)
    cells = started(table, measure, k)
    cells.widen(expansion.expand, "expansion", Run.start(1))
    region_of, first = cells.regions()
    graph = cells._graph(region_of, first)
    over_start, over = cells._over(graph, region_of, graph.matches < k)
    for u in np.flatnonzero(graph.matches < k):
        fixed = (
            over, over_start, region_of, graph.links, graph.start, graph.components[1], *cells.people.tree,
            cells.losses, int(graph.matches[u]) + 1, 1000, np.array([u]),
        )  # fmt: skip
        added = []
        for twin in (covering, oracles.covering):
            low, high = cells.low.copy(), cells.high.copy()
            changed = cells.changed.copy()
            grown = twin.join_components(
                cells.people.codes, cells.slots, cells.owner, changed, low, high, *fixed
            )
            assert grown == 1
            added.append(
                sum(
                    oracles.expansion._closure(cells.losses, [a, b])[2]
                    for a, b in zip(low.tolist(), high.tolist(), strict=True)
                )
            )
        assert added[0] == added[1]


# Methods --------------------------------------------------------------------------------------------------

GIVES = {"nearest": KOne, "expansion": KOne, "k-k": KK, "global-1-k": GlobalOneK}


def released(table, release):
    """The rows as they are published, and who owns them."""
    owner = np.flatnonzero(release.region_of >= 0).astype(np.int32)
    regions = release.region_of[owner]
    return shown(table, release.low[regions], release.high[regions], owner)


def check_cells(table, release):
    """Every cell is publishable and covers the value of its row."""
    kept = release.region_of >= 0
    regions = release.region_of[kept]
    for j, attribute in enumerate(table.attributes):
        low, high = release.low[:, j], release.high[:, j]
        lifted = attribute.hierarchy.lift(low, high)
        assert np.array_equal(lifted[0], low)
        assert np.array_equal(lifted[1], high)
        codes = table.quasi.wide[kept, j]
        assert ((low[regions] <= codes) & (codes <= high[regions])).all()


@pytest.mark.parametrize("name", GIVES)
@given(table=tables(rows=st.integers(2, 14)), measure=measures, k=st.integers(2, 6))
@settings(max_examples=60)
def test_methods_give_what_they_promise(name, table, measure, k):
    assume(k <= table.rows)
    notion = GIVES[name](k=k)
    requirements = Requirements(models=(notion,), measure=measure)
    release = METHODS[name]().anonymize(table, requirements, Run.start(1))
    check_cells(table, release)
    published = released(table, release)
    assert notion.verify(published).holds
    inside = fits(table, release.low[release.region_of], release.high[release.region_of])
    if name != "k-k":
        assert inside.sum(axis=0).min() >= k
    if name in ("k-k", "global-1-k"):
        assert inside.sum(axis=0).min() >= k
        assert inside.sum(axis=1).min() >= k
    if name == "global-1-k" and table.rows <= 6:
        assert all_matches(inside).sum(axis=1).min() >= k


@pytest.mark.parametrize("start", ["nearest", "expansion", "k-k", "mondrian"])
@given(table=tables(rows=st.integers(2, 14)), k=st.integers(2, 5))
@settings(max_examples=30)
def test_global_begins_anywhere(start, table, k):
    assume(k <= table.rows)
    requirements = Requirements(models=(GlobalOneK(k=k), KK(k=2)))
    release = GlobalMethod(start=start).anonymize(table, requirements, Run.start(1))
    check_cells(table, release)
    assert GlobalOneK(k=k).verify(released(table, release)).holds


@pytest.mark.parametrize("start", ["nearest", "expansion", "mondrian", "agglomerative"])
@given(table=tables(rows=st.integers(2, 14)), k=st.integers(2, 5))
@settings(max_examples=30, deadline=None)
def test_k_k_begins_anywhere(start, table, k):
    assume(k <= table.rows)
    requirements = Requirements(models=(KK(k=k),))
    improved, plain = (
        METHODS["k-k"](start=start, improve=improve).anonymize(table, requirements, Run.start(1))
        for improve in (True, False)
    )
    for release in (improved, plain):
        check_cells(table, release)
        assert KK(k=k).verify(released(table, release)).holds
    if start == "mondrian":
        # Classes of k rows are (k,k) already: without the improvement nothing changes.
        classes = METHODS[start]().anonymize(table, requirements, Run.start(1))
        np.testing.assert_array_equal(plain.low[plain.region_of], classes.low[classes.region_of])
        np.testing.assert_array_equal(plain.high[plain.region_of], classes.high[classes.region_of])


@given(table=tables(rows=st.integers(2, 14)), k=st.integers(2, 5))
@settings(max_examples=30)
def test_methods_by_classes_serve_the_notions(table, k):
    assume(k <= table.rows)
    requirements = Requirements(models=(GlobalOneK(k=k),))
    assert requirements.k == k
    assert requirements.plain_k
    release = METHODS["mondrian"]().anonymize(table, requirements, Run.start(1))
    assert GlobalOneK(k=k).verify(released(table, release)).holds


@pytest.mark.parametrize("name", GIVES)
@given(table=tables(rows=st.integers(4, 14), free=False), share=st.sampled_from([0.0, 0.5, 1.0]))
@settings(max_examples=40)
def test_limits_are_never_crossed(name, table, share):
    first = table.attributes[0].hierarchy
    limited = replace(
        table.attributes[0], hierarchy=first.with_limit(first.height - 1 if first.height else 0)
    )
    # The limit may put codes into a new order.
    moved = limited.hierarchy.locate(first.leaves)
    codes = table.quasi.wide.copy()
    codes[:, 0] = moved[codes[:, 0]]
    table = with_changes(table, attributes=(limited, *table.attributes[1:]), codes=codes)
    notion = GIVES[name](k=2)
    small = int((np.bincount(table.block_of)[table.block_of] < 2).sum())
    requirements = Requirements(models=(notion,), suppression=share)
    if small > share * table.rows or small == table.rows:
        with pytest.raises(InfeasibleError, match="fewer than 2"):
            METHODS[name]().anonymize(table, requirements, Run.start(1))
        return
    release = METHODS[name]().anonymize(table, requirements, Run.start(1))
    assert int((release.region_of < 0).sum()) == small
    check_cells(table, release)
    assert notion.verify(released(table, release)).holds


def test_equal_rows_stay_as_they_are():
    table = coded([[1] * 5 + [4]], [6])
    release = KKMethod().anonymize(table, Requirements(models=(KK(k=3),)), Run.start(1))
    assert (release.low[release.region_of[:5], 0] == 1).all()
    widths = (release.high - release.low)[release.region_of, 0]
    assert sorted(widths.tolist()) == [0, 0, 0, 3, 3, 3]


def test_requirements_that_make_no_sense_are_refused():
    table = coded([[1, 1, 2, 2]], [3])
    run = Run.start(1)
    with pytest.raises(PolicyError, match="notion"):
        KKMethod().anonymize(table, Requirements(models=(KAnonymity(k=2),)), run)
    sensitive = MODELS["distinct-l"](l=2, column=0, column_name="s")
    with pytest.raises(PolicyError, match="about equivalence classes"):
        KKMethod().anonymize(table, Requirements(models=(KK(k=2), sensitive)), run)
    with pytest.raises(PolicyError, match="expansion gives k-1, but the policy asks for global-1-k"):
        METHODS["expansion"]().anonymize(table, Requirements(models=(GlobalOneK(k=2),)), run)
    with pytest.raises(PolicyError, match="did you mean 'nearest'"):
        KKMethod(start="neares")
    with pytest.raises(PolicyError, match="did you mean 'k-k'"):
        GlobalMethod(start="kk")


# Policies -------------------------------------------------------------------------------------------------

PEOPLE = pl.DataFrame(
    {
        "age": [20 + (i * 7) % 31 for i in range(40)],
        "zip": [f"0{1000 + (i * 13) % 5}" for i in range(40)],
        "disease": [("flu", "cold", "cancer", "asthma")[(i * 5) % 4] for i in range(40)],
    }
)
ROLES = {"quasi": ["age", "zip"], "sensitive": ["disease"], "hierarchies": {"zip": {"mask": "right"}}}


@pytest.mark.parametrize("notion", ["k-k", "global-1-k"])
def test_the_whole_way(notion):
    result = shoal.anonymize(PEOPLE, **ROLES, k=4, notion=notion, method=notion)
    assert result.holds
    plain = shoal.anonymize(PEOPLE, **ROLES, k=4)
    assert not shoal.audit(result.table, **ROLES, k=4).holds
    assert shoal.audit(result.table, **ROLES, k=4, notion=notion, original=PEOPLE).holds
    assert shoal.audit(plain.table, **ROLES, k=4, notion=notion, original=PEOPLE).holds
    assert shoal.audit(plain.table, **ROLES, k=4, notion=notion).holds


def test_notion_in_policies():
    policy = Policy.from_keywords(quasi=["a"], k=5, notion="k-k")
    assert [(model.name, model.k) for model in policy.models()] == [("k-k", 5)]
    assert Policy.from_toml(policy.to_toml()) == policy
    assert policy.override(["privacy.notion=global-1-k"]).models()[0].name == "global-1-k"
    plain = Policy.from_keywords(quasi=["a"], k=5, notion="k-anonymity")
    assert plain.models() == (KAnonymity(k=5),)
    with pytest.raises(PolicyError, match="k is not set"):
        Policy.from_keywords(quasi=["a"], notion="k-k")
    with pytest.raises(PolicyError, match="did you mean 'k-k'"):
        Policy.from_keywords(quasi=["a"], k=5, notion="kk")
