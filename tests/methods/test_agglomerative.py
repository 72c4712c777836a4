from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.coding import Attribute
from shoal.coding.groups import group
from shoal.coding.hierarchy import Hierarchy
from shoal.errors import InfeasibleError, LimitError, PolicyError
from shoal.judging.measures import MEASURES
from shoal.judging.models import MODELS
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.requirements import Requirements
from shoal.kernels import agglomerative as kernels
from shoal.kernels import choosing, founding, neighbours, rebuilding
from shoal.kernels import improve as improving
from shoal.kernels.losses import box_losses
from shoal.methods import METHODS
from shoal.methods import loss_tables as tabulating
from shoal.methods.clustering import agglomeration as merging
from shoal.methods.clustering import improvement
from shoal.methods.clustering.agglomeration import DISTANCES
from shoal.methods.clustering.agglomerative import Agglomerative
from shoal.methods.clustering.cluster_classes import boxes, number_clusters, total_loss
from shoal.methods.clustering.clusters import collapse
from shoal.methods.clustering.improvement import Allowed, improve_clusters, search_clusters
from shoal.methods.clustering.local_moves import _link_rows
from shoal.support.run import Run
from tests import oracles
from tests.inputs.coded_tables import table_of_matrices, with_changes
from tests.inputs.strategies import tables, tiled

RUN = Run.start(1)


def lists(cluster_of):
    """Clusters as sets of rows, for comparison."""
    return {frozenset(np.flatnonzero(cluster_of == c).tolist()) for c in set(cluster_of.tolist()) - {-1}}


def limited(draw, table):
    caps = [
        dataclasses.replace(a, hierarchy=a.hierarchy.with_limit(draw(st.integers(0, a.hierarchy.height))))
        if not a.hierarchy.free
        else a
        for a in table.attributes
    ]
    return with_changes(table, attributes=tuple(caps))


def loss_of(table, cluster_of, measure):
    """The sum over rows of the weighted mean loss of their cells, from the definition."""
    judge, total = MEASURES[measure](), 0.0
    weights = sum(a.weight for a in table.attributes)
    for members in lists(cluster_of):
        for j, attribute in enumerate(table.attributes):
            own = table.quasi.wide[sorted(members), j]
            low, high = attribute.hierarchy.lift(*(np.array([f(own)], np.int32) for f in (min, max)))
            loss = judge.loss(attribute, table.value_counts[j], low, high)[0]
            total += len(members) * attribute.weight * loss / weights
    return total


@settings(max_examples=150)
@given(st.data(), tables(rows=st.integers(1, 16), columns=st.integers(1, 3)))
def test_agglomeration_is_the_paper_s(data, table):
    if data.draw(st.integers(0, 3)) == 0:
        table = limited(data.draw, table)
    k = data.draw(st.integers(2, 6))
    kind = data.draw(st.integers(0, 4))
    modified = data.draw(st.booleans())
    items = collapse(table, data.draw(st.sampled_from(["lm", "entropy"])))
    losses = items.losses
    order, tree = neighbours.plant(items.codes, losses, data.draw(st.integers(1, 4)))
    assert sorted(order.tolist()) == list(range(len(items.codes)))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    codes, row_item = np.ascontiguousarray(items.codes[order]), place[items.item_of]
    kept = np.arange(table.rows, dtype=np.int32)
    answers = []
    for module in (kernels, oracles.agglomerative):
        state = merging._start(codes, row_item, tree, k, modified, kept)
        while state.counters[0] > 0:
            module.agglomerate(codes, row_item, state, tree, losses, k, kind, modified, 3)
        cluster_of = np.full(table.rows, -1, np.int32)
        module.assign_to_clusters(codes, row_item, state, losses, kind, cluster_of)
        answers.append(cluster_of)
    assert lists(answers[0]) == lists(answers[1])


@settings(max_examples=100)
@given(st.data(), tables(rows=st.integers(1, 16), columns=st.integers(1, 3)))
def test_nearest_items_and_clusters(data, table):
    items = collapse(table, data.draw(st.sampled_from(["lm", "entropy"])))
    losses = items.losses
    order, tree = neighbours.plant(items.codes, losses, 2)
    codes = np.ascontiguousarray(items.codes[order])
    args = (codes, tree, losses, data.draw(st.integers(1, 5)))
    near, loss = neighbours.nearest_items(*args)
    twin_near, twin_loss = oracles.neighbours.nearest_items(*args)
    np.testing.assert_array_equal(loss, twin_loss)
    assert ((near >= 0) == (twin_near >= 0)).all()
    numbers, count = number_clusters(
        np.array(data.draw(st.lists(st.integers(0, 4), min_size=table.rows, max_size=table.rows)))
    )
    box, size = boxes(items, numbers, count), np.bincount(numbers)
    own = box_losses(box, losses)
    np.testing.assert_array_equal(own, oracles.losses.box_losses(box, losses))
    args = (box, own, size, np.arange(count), losses, 3)
    np.testing.assert_array_equal(
        neighbours.nearest_clusters(*args), oracles.neighbours.nearest_clusters(*args)
    )


@settings(max_examples=150)
@given(st.data(), tables(rows=st.integers(2, 40), columns=st.integers(1, 4)))
def test_improvement_only_improves(data, table):
    k = data.draw(st.integers(2, 5))
    if table.rows < k:
        return
    measure = data.draw(st.sampled_from(["lm", "entropy"]))
    items = collapse(table, measure)
    start = merging.cluster(
        items, k, data.draw(st.sampled_from(DISTANCES)), False, np.arange(table.rows, dtype=np.int32), RUN
    )
    after = improve_clusters(items, start, k, 0.0, RUN)
    assert min(len(members) for members in lists(after)) >= k
    assert total_loss(items, after) <= total_loss(items, start) + 1e-9
    # What the tables say is what the measure says, up to the grain of the tables.
    assert total_loss(items, after) == pytest.approx(loss_of(table, after, measure), abs=table.rows * 1e-5)


@settings(max_examples=60, deadline=None)
@given(st.data(), tables(rows=st.integers(2, 40), columns=st.integers(1, 4)))
def test_the_search_keeps_k_rows(data, table):
    """From any clusters, however bad; rows that are in none stay so, and so do all others."""
    k = data.draw(st.integers(1, 4))
    items = collapse(table, data.draw(st.sampled_from(["lm", "entropy"])))
    start = np.array(data.draw(st.permutations(range(table.rows)))) % max(table.rows // k, 1)
    if data.draw(st.booleans()):
        start[start == 0] = -1
    if table.rows < k or not (start >= 0).any():
        return
    start = start.astype(np.int32)
    with pytest.MonkeyPatch.context() as patched:
        # Several pieces, as in a large table.
        patched.setattr(improvement, "PIECE", (data.draw(st.sampled_from([4, 12, 4000])), 1))
        patched.setattr(improvement, "ROUNDS", (12, 12, 1))
        after = search_clusters(items, start, k, RUN, Allowed.every_round(len(start)))
        better = improve_clusters(items, start, k, 0.0, RUN)
        again = improve_clusters(items, start, k, 0.0, RUN)
    for found in (after, better):
        np.testing.assert_array_equal(found < 0, start < 0)
        assert np.bincount(number_clusters(found)[0][found >= 0]).min() >= k
    assert total_loss(items, better) <= total_loss(items, start) + 1e-9
    np.testing.assert_array_equal(better, again)


@settings(max_examples=60, deadline=None)
@given(st.data(), tables(rows=st.integers(4, 24), columns=st.integers(1, 3)))
def test_the_search_is_that_of_its_twin(data, table):
    k = data.draw(st.integers(2, 4))
    if table.rows < 2 * k:
        return
    items = collapse(table, data.draw(st.sampled_from(["lm", "entropy"])))
    start = np.array(data.draw(st.permutations(range(table.rows)))) % max(table.rows // k, 1)
    if data.draw(st.booleans()):
        start[start == 1] = 0  # A large cluster, which has rows to spare.
    numbers, count = number_clusters(start.astype(np.int32))
    warmth = data.draw(st.sampled_from([0.0, 0.5, 2.0]))
    number = data.draw(st.integers(1, 2**64 - 1))
    answers = []
    for module in (rebuilding, oracles.rebuilding):
        plan = improvement._Plan.start(items, numbers, count, k)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(
                improvement, "PIECE", (data.draw(st.shared(st.sampled_from([9, 4000]), key="piece")), 1)
            )
            pieces = plan.pieces(data.draw(st.shared(st.integers(0, 4), key="turn")), k)
        for piece in pieces:
            module.rebuild(
                plan.codes, plan.row_item, plan.item_start, plan.item_rows, plan.near, plan.pool, k, items.losses,
                piece.seeds, warmth, np.uint64(number), 1500, piece.spare,
            )  # fmt: skip
        pool = plan.pool
        live = pool.size > 0
        assert pool.size[live].min() >= k
        np.testing.assert_array_equal(np.bincount(pool.cluster_of, minlength=len(live)), pool.size)
        np.testing.assert_array_equal(box_losses(pool.box[live], items.losses), pool.loss[live])
        answers.append((pool.cluster_of, pool.size, pool.loss))
    for ours, plain in zip(*answers, strict=True):
        np.testing.assert_array_equal(ours, plain)


@given(st.integers(0, 2**64 - 1), st.integers(1, 10**6))
def test_the_sequence_is_that_of_its_twin(number, count):
    assert int(choosing.follow(np.uint64(number))) == oracles.choosing.follow(number)
    assert choosing.below(np.uint64(number), count) == oracles.choosing.below(number, count)


def test_the_clock_ends_the_search():
    """A search without time returns at once, with clusters of k rows; one that has time ends by its rounds."""
    table = line([value % 37 for value in range(400)], 37)
    items = collapse(table, "lm")
    start = (np.arange(400) % 80).astype(np.int32)
    assert total_loss(items, improve_clusters(items, start, 5, 1e-9, RUN)) <= total_loss(items, start)
    once, again = (improve_clusters(items, start, 5, seconds, RUN) for seconds in (10.0, 12.0))
    np.testing.assert_array_equal(once, again)
    assert improvement._rounds(400, 60.0) == 3 * improvement._rounds(400, 10.0)


def test_pieces_leave_each_other_alone():
    """Whatever the order in which pieces are worked on, the clusters are the same."""
    from shoal.kernels.rebuilding import rebuild

    random = np.random.default_rng(3)
    table = line(random.integers(0, 200, 600), 200)
    items = collapse(table, "lm")
    answers = []
    for forward in (True, False):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(improvement, "PIECE", (100, 1))
            plan = improvement._Plan.start(
                items, *number_clusters((np.arange(600) % 100).astype(np.int32)), 5
            )
            pieces = plan.pieces(1, 5)
        assert len(pieces) == 6
        for piece in pieces if forward else reversed(pieces):
            rebuild(
                plan.codes, plan.row_item, plan.item_start, plan.item_rows, plan.near, plan.pool, 5, items.losses,
                piece.seeds, 0.5, np.uint64(piece.number), 20_000, piece.spare,
            )  # fmt: skip
        answers.append(plan.pool.cluster_of)
    np.testing.assert_array_equal(*answers)


@settings(max_examples=50)
@given(st.data(), tables(rows=st.integers(4, 15), columns=st.integers(1, 3)))
def test_moves_are_those_of_their_twins(data, table):
    k = data.draw(st.integers(2, 3))
    items = collapse(table, "lm")
    losses = items.losses
    start = np.array(data.draw(st.permutations(range(table.rows)))) % max(table.rows // k, 1)
    numbers, count = number_clusters(start)
    order, tree = neighbours.plant(items.codes, losses, 4)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    codes, row_item = np.ascontiguousarray(items.codes[order]), place[items.item_of]
    near, _ = neighbours.nearest_items(codes, tree, losses, 6)
    for step, options in (("dissolve", ()), ("resplit", (6 * k, 5))):
        answers = []
        for module in (improving, oracles.improve):
            linked = _link_rows(items, numbers, count, row_item, len(codes))
            linked.loss[:] = box_losses(linked.box, losses)
            move = getattr(module, step)
            gained = move(codes, row_item, near, linked, k, *options, losses, 0, count)
            after = np.full(table.rows, -1, np.int32)
            module.unlink(linked.head, linked.next_row, after)
            np.testing.assert_array_equal(np.bincount(after, minlength=count), linked.size)
            assert total_loss(items, after) == pytest.approx(total_loss(items, numbers) - gained)
            answers.append(after)
        np.testing.assert_array_equal(*answers)
        sizes = np.bincount(answers[0])
        assert sizes[sizes > 0].min() >= min(k, table.rows)


@settings(max_examples=100)
@given(st.data(), tables(rows=st.integers(4, 30), columns=st.integers(1, 4)))
def test_clusters_are_founded_as_by_the_twin(data, table):
    k = data.draw(st.integers(2, 4))
    items = collapse(table, data.draw(st.sampled_from(["lm", "entropy"])))
    losses = items.losses
    # Larger clusters than needed have rows to spare.
    parts = max(table.rows // (2 * k), 1)
    numbers, count = number_clusters(np.array(data.draw(st.permutations(range(table.rows)))) % parts)
    order, tree = neighbours.plant(items.codes, losses, 4)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    codes, row_item = np.ascontiguousarray(items.codes[order]), place[items.item_of]
    near, _ = neighbours.nearest_items(codes, tree, losses, 3)
    item_rows = np.argsort(row_item, kind="stable")
    item_start = np.searchsorted(row_item[item_rows], np.arange(len(codes) + 1))
    answers = []
    for module in (founding, oracles.founding):
        most = max(table.rows // k, count)
        size, loss, after = np.zeros(most, np.int64), np.zeros(most), numbers.copy()
        size[:count] = np.bincount(numbers)
        loss[:count] = box_losses(boxes(items, numbers, count), losses)
        clusters = module.found(
            codes,
            row_item,
            item_start,
            item_rows,
            near,
            after,
            size,
            loss,
            k,
            losses,
            count,
            0,
            len(codes),
        )
        np.testing.assert_array_equal(np.bincount(after, minlength=most), size)
        assert clusters == after.max() + 1
        answers.append(after)
    np.testing.assert_array_equal(*answers)
    if clusters > count:
        assert np.bincount(after).min() >= k
        assert total_loss(items, after) < total_loss(items, numbers)


def test_a_cluster_is_founded_by_hand():
    # Two clusters of four, each with two rows at 5: together they lose nothing.
    table = line([0, 1, 5, 5, 5, 5, 9, 10], 11)
    items = collapse(table, "lm")
    after = improve_clusters(items, np.array([0, 0, 0, 0, 1, 1, 1, 1], np.int32), 2, 0.0, RUN)
    assert total_loss(items, after) == pytest.approx(0.4, abs=1e-5)
    assert frozenset({0, 1}) in lists(after)
    assert frozenset({6, 7}) in lists(after)


def line(values, size, free=True):
    """A table of one ordered column with free ranges."""
    leaves = pl.Series("leaves", list(range(size)))
    levels = tiled([leaves.cast(pl.String), pl.Series(["*"] * size)])
    tree = Hierarchy(leaves, levels, free=free, ordered=size, positions=np.arange(size, dtype=np.float64))
    codes = np.asfortranarray(np.array(values, np.int32).reshape(-1, 1))
    empty = np.empty((len(values), 0), np.int32)
    return table_of_matrices((Attribute("a", tree),), codes, (), empty, pl.DataFrame(), ("a",))


def test_by_hand():
    table = line([0, 1, 5, 6, 20], 21)
    release = Agglomerative(improve=False).anonymize(table, Requirements(models=(KAnonymity(k=2),)), RUN)
    # 0-1 and 5-6 are closest; 20 is left, and closest to 5-6.
    assert lists(release.region_of) == {frozenset({0, 1}), frozenset({2, 3, 4})}


@settings(max_examples=60)
@given(st.data(), tables(rows=st.integers(3, 30)))
def test_models_hold_or_it_is_refused(data, table):
    column = data.draw(st.integers(0, len(table.sensitive) - 1))
    own = {"column": column, "column_name": table.sensitive[column].name}
    extra = data.draw(st.sampled_from([MODELS["distinct-l"](l=2, **own), MODELS["t-equal"](t=0.4, **own)]))
    requirements = Requirements(models=(KAnonymity(k=data.draw(st.integers(2, 4))), extra))
    from shoal.judging.models.whole_table import one_class

    if not requirements.holds_in(one_class(table))[0]:
        with pytest.raises(InfeasibleError, match="even one class"):
            Agglomerative().anonymize(table, requirements, RUN)
        return
    release = Agglomerative().anonymize(table, requirements, RUN)
    from shoal.coding.groups import group

    groups = group(
        release.region_of, len(release.low), table.secrets.wide, table.sensitive, table.sensitive_counts
    )
    assert requirements.holds_in(groups).all()


@settings(max_examples=60)
@given(st.data(), tables(rows=st.integers(3, 20)))
def test_limits_are_kept(data, table):
    table = limited(data.draw, table)
    k = data.draw(st.integers(2, 3))
    sizes = np.bincount(table.block_of)
    share = data.draw(st.sampled_from([0.0, 0.5]))
    small = int(sizes[sizes < k].sum())
    requirements = Requirements(models=(KAnonymity(k=k),), suppression=share)
    if small > requirements.suppressible(table.rows) or small == table.rows:
        # No proof, if rows may be suppressed: others might be chosen.
        with pytest.raises((InfeasibleError, LimitError)):
            Agglomerative().anonymize(table, requirements, RUN)
        return
    release = Agglomerative().anonymize(table, requirements, RUN)
    assert (release.region_of < 0).sum() == small
    assert np.bincount(release.region_of[release.region_of >= 0]).min() >= k


@settings(max_examples=40)
@given(st.data(), tables(rows=st.integers(3, 20), columns=st.integers(1, 3)))
def test_wide_columns_lose_as_tables_say(data, table):
    measure = data.draw(st.sampled_from(["lm", "entropy"]))
    small = collapse(table, measure)
    before, tabulating.LARGEST_TABLE = tabulating.LARGEST_TABLE, 0
    try:
        wide = collapse(table, measure)
        for distance in DISTANCES:
            kept = np.arange(table.rows, dtype=np.int32)
            answers = [merging.cluster(items, 2, distance, False, kept, RUN) for items in (small, wide)]
            # Trees differ, and so do ties; a cluster's loss must not.
            assert total_loss(wide, answers[0]) == pytest.approx(total_loss(small, answers[0]), abs=1e-4)
            assert total_loss(wide, answers[1]) == pytest.approx(total_loss(small, answers[1]), abs=1e-4)
    finally:
        tabulating.LARGEST_TABLE = before


def test_a_portfolio_keeps_the_best():
    random = np.random.default_rng(5)
    table = line(random.integers(0, 40, 60), 41)
    requirements = Requirements(models=(KAnonymity(k=3),))
    alone = [Agglomerative(distance=d).anonymize(table, requirements, RUN) for d in DISTANCES]
    items = collapse(table, "lm")
    best = min(total_loss(items, release.region_of) for release in alone)
    together = Agglomerative(distances=DISTANCES).anonymize(table, requirements, RUN)
    assert total_loss(items, together.region_of) == best


def test_bad_options():
    with pytest.raises(PolicyError, match=r"method.distance.*did you mean 'ratio'"):
        Agglomerative(distance="ration")
    with pytest.raises(PolicyError, match=r"method\.seconds"):
        Agglomerative(seconds=-1)
    assert METHODS["agglomerative"] is Agglomerative


@settings(max_examples=30)
@given(table=tables(rows=st.integers(4, 20), columns=st.integers(1, 3)), k=st.integers(2, 3), data=st.data())
def test_improvement_never_loses_more_under_other_models(table, k, data):
    """Improved clusters may fail other models more often; then those that were not improved are taken."""
    if not table.sensitive:
        return
    wanted = data.draw(st.integers(2, 3))
    diverse = MODELS["distinct-l"](l=wanted, column=0, column_name=table.sensitive[0].name)
    wish = Requirements(models=(KAnonymity(k=k), diverse))
    losses = {}
    for improve in (False, True):
        try:
            release = Agglomerative(improve=improve).anonymize(table, wish, Run.start(1))
        except InfeasibleError:
            losses[improve] = None
            continue
        shown = group(
            release.region_of,
            len(release.low),
            table.secrets.wide,
            table.sensitive,
            table.sensitive_counts,
        )
        assert wish.holds_in(shown).all()
        losses[improve] = next(v for key, v in release.facts.items() if key.startswith("loss by"))
    assert (losses[False] is None) == (losses[True] is None)
    assert losses[True] is None or losses[True] <= losses[False]


@settings(max_examples=60)
@given(
    st.data(),
    tables(rows=st.integers(2, 30), columns=st.integers(1, 3)),
    st.sampled_from(["mondrian", "agglomerative"]),
)
def test_classes_list_exactly_the_values_that_occur(data, table, name):
    k = data.draw(st.integers(2, max(min(4, table.rows), 2)))
    wanted = Requirements(models=(KAnonymity(k=k),))
    plain, listing = (METHODS[name](show=show).anonymize(table, wanted, RUN) for show in ("ranges", "sets"))
    columns = len(table.attributes)
    for region in range(len(listing.low)):
        rows = np.flatnonzero(listing.region_of == region)
        assert len(rows) >= k
        for j in range(columns):
            start, end = listing.sets.start[region * columns + j :][:2]
            assert listing.sets.codes[start:end].tolist() == np.unique(table.quasi.wide[rows, j]).tolist()
    # Rows of one class stay together; classes that list the same become one.
    for region in range(len(plain.low)):
        assert len(np.unique(listing.region_of[plain.region_of == region])) == 1
