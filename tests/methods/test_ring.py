"""Rings: partitions, windows, what is published, what the model says of it; the paper's examples."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shoal
from shoal import io
from shoal.coding.column_plan import ColumnPlan
from shoal.coding.encode import encode
from shoal.coding.roles import QUASI, SENSITIVE
from shoal.errors import InfeasibleError, LimitError, PolicyError
from shoal.io.text_columns import elements_of, sets_as_text
from shoal.judging.linking.evidence import Evidence
from shoal.judging.linking.origins import RECEIVED
from shoal.judging.linking.posterior import largest_counted
from shoal.judging.models import MODELS
from shoal.judging.models.probabilistic_k import disjoint_assignments
from shoal.judging.models.requirements import Requirements
from shoal.kernels import ring as kernels
from shoal.kernels.nearest import nearest_order
from shoal.methods import METHODS
from shoal.methods.cells.ring import ORDERS, Ring
from shoal.methods.partitioning.diverse import Spreading
from shoal.methods.partitioning.ordered import Lexicographic
from shoal.methods.partitioning.partition import Partition, by_domain, lexicographic_order, sort_codes
from shoal.methods.partitioning.windows import group_losses, windows
from shoal.release import Release, ValueSets
from shoal.support.run import Run
from tests import oracles
from tests.inputs.strategies import tables

OWN = {"column": 0, "column_name": "s0"}


def asked(k, l=None, *, classes=False, suppression=0.0):  # noqa: E741
    names = ("k-anonymity", "probabilistic-l") if classes else ("probabilistic-k", "candidate-l")
    models = (MODELS[names[0]](k=k), *([MODELS[names[1]](l=l, **OWN)] if l else []))
    return Requirements(models=models, suppression=suppression)


def evidence_of(table, release, owner=True):
    evidence = Evidence.of_release(table, release)
    return evidence if owner else replace(evidence, origin=RECEIVED)


def set_of(release, row, j):
    columns = release.low.shape[1]
    start = release.sets.start[release.region_of[row] * columns + j :][:2]
    return set(release.sets.codes[start[0] : start[1]].tolist())


# --- kernels ----------------------------------------------------------------------------------------------


@given(tables(), st.integers(1, 5))
def test_lexicographic_groups(table, k):
    k = min(k, table.rows)
    order = lexicographic_order(table)
    columns = by_domain(table)
    codes = sort_codes(table, order, columns)
    assert [tuple(c) for c in codes.T] == sorted(tuple(row[columns]) for row in table.quasi.wide)
    blocks = np.array([0, table.rows])
    starts = kernels.lexicographic_groups(codes, blocks, k)
    assert starts.tolist() == oracles.ring.lexicographic_groups(codes, blocks, k).tolist()
    assert np.diff(starts).min() >= k
    for a, b in pairwise(starts):
        assert b - a < 2 * k or (codes[:, a:b] == codes[:, a : a + 1]).all()


@given(
    st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=9), min_size=1, max_size=4), st.integers(1, 9)
)
def test_window_sets_and_their_numbers(parts, k):
    codes = np.array([code for part in parts for code in part], np.int32)
    starts = np.cumsum([0, *map(len, parts)])
    widths = np.array([min(k, len(part)) for part in parts])
    mine, twin = (f(codes, starts, widths, 5) for f in (kernels.window_sets, oracles.ring.window_sets))
    for one, other in zip(mine, twin, strict=True):
        assert one.tolist() == other.tolist()
    for one, other in zip(kernels.number_lists(*mine[1:]), oracles.ring.number_lists(*mine[1:]), strict=True):
        assert one.tolist() == other.tolist()


@given(st.data(), st.integers(1, 4), st.integers(0, 4))
def test_diverse_pieces(data, least, more):
    parts = []
    for _ in range(data.draw(st.integers(1, 3))):
        part = data.draw(st.lists(st.integers(0, 5), min_size=least, max_size=14))
        while max(part.count(value) for value in part) * least > len(part):
            part.append(next(v for v in range(99) if part.count(v) == min(part.count(u) for u in range(99))))
        parts.append(part)
    values = np.array([value for part in parts for value in part], np.int32)
    starts = np.cumsum([0, *map(len, parts)])
    mine, twin = (
        f(values, starts, least, least + more) for f in (kernels.diverse_pieces, oracles.ring.diverse_pieces)
    )
    assert [one.tolist() for one in mine] == [other.tolist() for other in twin]
    order, cuts = mine
    assert sorted(order) == list(range(len(values)))
    for a, b in pairwise(cuts):
        own = values[order[a:b]].tolist()
        assert len(own) == len(set(own)) >= least


@pytest.mark.parametrize("seed", range(4))
def test_diverse_pieces_take_the_next_rows_however_far_ahead(seed):
    """A frequent value comes in a long run first, so that the next other values are far ahead."""
    random = np.random.default_rng(seed)
    values = np.concatenate([np.zeros(200), random.integers(1, 12, 450)]).astype(np.int32)
    starts = np.array([0, len(values)])
    for least in (2, 3):
        mine, twin = (
            f(values, starts, least, least) for f in (kernels.diverse_pieces, oracles.ring.diverse_pieces)
        )
        assert [one.tolist() for one in mine] == [other.tolist() for other in twin]


@given(tables(), st.integers(1, 4), st.integers(1, 3))
def test_diverse_groups(table, k, least):
    k = min(k, table.rows)
    order = lexicographic_order(table)
    codes = sort_codes(table, order, by_domain(table))
    values = np.ascontiguousarray(table.secrets.wide[order, 0])
    blocks = np.array([0, table.rows])
    starts = kernels.diverse_groups(codes, values, blocks, k, least)
    assert starts.tolist() == oracles.ring.diverse_groups(codes, values, blocks, k, least).tolist()


@given(st.lists(st.integers(0, 6), min_size=1, max_size=20), st.randoms())
def test_sort_by(codes, random):
    order = np.array(random.sample(range(len(codes)), len(codes)), np.int32)
    codes = np.array(codes, np.int32)
    assert kernels.sort_by(codes, 7, order).tolist() == oracles.ring.sort_by(codes, 7, order).tolist()


@given(
    st.lists(st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=9), min_size=1, max_size=3),
    st.sampled_from([(1.0, 0.5, 0.25), (1.0, 1.0, 1.0), (0.0, 1.0, 0.5)]),
    st.integers(1, 10),
)
def test_nearest_order(parts, units, look):
    codes = np.array([row for part in parts for row in part], np.int32)
    starts = np.cumsum([0, *map(len, parts)])
    mine, twin = (
        f(codes, starts, np.array(units), look) for f in (nearest_order, oracles.nearest.nearest_order)
    )
    assert mine.tolist() == twin.tolist()


# --- the method -------------------------------------------------------------------------------------------


@given(
    tables(rows=st.integers(2, 14)),
    st.integers(2, 5),
    st.sampled_from(ORDERS),
    st.sampled_from(["sets", "ranges"]),
)
@settings(max_examples=60)
def test_every_cell_covers_its_owner_and_every_person_has_k_effective_matches(table, k, order, show):
    assume(table.rows >= k)
    release = Ring(order=order, show=show).anonymize(table, asked(k), Run.start(3))
    for row in range(table.rows):
        region = release.region_of[row]
        assert (release.low[region] <= table.quasi.wide[row]).all()
        assert (table.quasi.wide[row] <= release.high[region]).all()
        if show == "sets":
            assert all(
                table.quasi.wide[row, j] in set_of(release, row, j) for j in range(len(table.attributes))
            )
    for owner in (True, False):
        verdict = MODELS["probabilistic-k"](k=k).verify(evidence_of(table, release, owner))
        assert verdict.holds, verdict


@given(tables(rows=st.integers(2, 14)), st.integers(2, 4), st.sampled_from(ORDERS))
@settings(max_examples=40)
def test_rings_never_lose_more_than_their_parts(table, k, order):
    """Lemma 2 of the paper."""
    assume(table.rows >= k)
    method = Ring(order=order)
    parts, widths = method.rings(table, k, None, asked(k), Run.start(1))
    assert (
        group_losses(table, parts, widths, "lm") <= group_losses(table, parts, parts.sizes, "lm") + 1e-12
    ).all()


@pytest.mark.parametrize("partition", ["hilbert", "mondrian", "agglomerative", "none"])
@given(table=tables(rows=st.integers(3, 12)), order=st.sampled_from(ORDERS))
@settings(max_examples=15)
def test_other_partitions_feed_the_ring(partition, table, order):
    method = Ring(partition=partition, order=order)
    release = method.anonymize(table, asked(3), Run.start(1))
    assert MODELS["probabilistic-k"](k=3).verify(evidence_of(table, release)).holds
    parts, widths = method.rings(table, 3, None, asked(3), Run.start(1))
    assert sorted(parts.order) == list(range(table.rows))
    assert (widths == 3).all()
    if partition in ("mondrian", "agglomerative"):
        # The parts are the classes of the other method, whatever the order inside.
        classes = METHODS[partition]().anonymize(table, asked(3, classes=True), Run.start(1)).region_of
        mine = {frozenset(parts.order[a:b].tolist()) for a, b in pairwise(parts.starts)}
        assert mine == {frozenset(np.flatnonzero(classes == own).tolist()) for own in set(classes.tolist())}


@pytest.mark.parametrize("partition", ["mondrian", "agglomerative"])
@given(table=tables(rows=st.integers(4, 12)))
@settings(max_examples=15)
def test_other_partitions_feed_diverse_rings(partition, table):
    assume(np.bincount(table.secrets.wide[:, 0]).max() * 2 <= table.rows)
    requirements = asked(3, 2)
    release = Ring(partition=partition).anonymize(table, requirements, Run.start(1))
    evidence = evidence_of(table, release)
    assert all(model.verify(evidence).holds for model in requirements.models)


def test_the_nearest_order_goes_around_a_square():
    """Four rows, two columns of two values: in order 00, 01, 10, 11 neighbours differ in 1, 2, 1 and 2 columns, and
    in the order 00, 01, 11, 10 in one each."""
    frame = pl.DataFrame({"a": ["0", "0", "1", "1"], "b": ["0", "1", "0", "1"]})
    table = encode(frame, (ColumnPlan("a", QUASI), ColumnPlan("b", QUASI)))
    lost = {}
    for order in ("lexicographic", "nearest", "best"):
        parts, widths = Ring(partition="none", order=order).rings(table, 2, None, asked(2), Run.start(1))
        lost[order] = group_losses(table, parts, widths, "lm").sum()
    assert lost == {"lexicographic": 6.0, "nearest": 4.0, "best": 4.0}


@given(tables(rows=st.integers(4, 14)), st.integers(2, 4), st.sampled_from(["sets", "ranges"]))
@settings(max_examples=30)
def test_the_best_order_is_the_best_in_the_form_that_is_shown(table, k, show):
    assume(table.rows >= k)
    lost = {}
    for order in ORDERS:
        parts, widths = Ring(partition="none", order=order, show=show).rings(
            table, k, None, asked(k), Run.start(1)
        )
        lost[order] = group_losses(table, parts, widths, "lm", show).sum()
    assert lost["best"] == pytest.approx(min(lost.values()))


@given(
    tables(rows=st.integers(2, 14)),
    st.integers(2, 4),
    st.integers(2, 3),
    st.sampled_from(["lexicographic", "hilbert"]),
)
@settings(max_examples=60)
def test_diverse_rings(table, k, l, partition):  # noqa: E741
    assume(table.rows >= k)
    values = table.secrets.wide[:, 0]
    method = Ring(partition=partition)
    if len(np.unique(values)) < l:
        with pytest.raises(LimitError, match=f"distinct {l}-diversity"):
            method.anonymize(table, asked(k, l), Run.start(1))
        return
    if np.bincount(values).max() * l > table.rows:
        # Too frequent a value for rings of different ones: groups with one cell each.
        evidence = evidence_of(table, method.anonymize(table, asked(k, l), Run.start(1)))
        assert all(model.by_classes.verify(evidence).holds for model in asked(k, l).models)
        return
    parts, widths = method.rings(table, k, Spreading(l, 0, "s0"), asked(k, l), Run.start(1))
    for a, b, width in zip(parts.starts, parts.starts[1:], widths, strict=False):
        own = values[parts.order[a:b]].tolist()
        assert b - a >= width >= k
        if width < b - a:
            # Cells differ, so every row that may be a person's must show a value of its own.
            assert len(set(own)) == len(own)
        assert max(own.count(value) for value in own) * l <= len(own)
    release = method.anonymize(table, asked(k, l), Run.start(1))
    evidence = evidence_of(table, release)
    assert all(model.verify(evidence).holds for model in asked(k, l).models)


@given(tables(rows=st.integers(2, 14)), st.integers(2, 4), st.integers(2, 3))
@settings(max_examples=40)
def test_diverse_classes(table, k, l):  # noqa: E741
    assume(table.rows >= k)
    requirements = asked(k, l, classes=True)
    if np.bincount(table.secrets.wide[:, 0]).max() * l > table.rows:
        with pytest.raises(InfeasibleError):
            Lexicographic().anonymize(table, requirements, Run.start(1))
        return
    release = Lexicographic().anonymize(table, requirements, Run.start(1))
    evidence = evidence_of(table, release)
    assert all(model.verify(evidence).holds for model in requirements.models)


@given(tables(rows=st.integers(4, 14)))
@settings(max_examples=30)
def test_other_models_are_reached_by_merging(table):
    requirements = Requirements(models=(MODELS["k-anonymity"](k=2), MODELS["t-equal"](t=0.4, **OWN)))
    release = Lexicographic().anonymize(table, requirements, Run.start(1))
    evidence = evidence_of(table, release)
    assert all(model.verify(evidence).holds for model in requirements.models)


def test_what_rings_cannot_give_is_refused_with_advice():
    table = encode(pl.DataFrame({"a": list(range(9)), "s": ["x", "y", "z"] * 3}), PLANS)
    with pytest.raises(PolicyError, match="probabilistic-k"):
        Ring().anonymize(table, asked(3, classes=True), Run.start(1))
    models = (MODELS["probabilistic-k"](k=3), MODELS["entropy-l"](l=2.0, **OWN))
    with pytest.raises(PolicyError, match="about equivalence classes"):
        Ring().anonymize(table, Requirements(models=models), Run.start(1))
    with pytest.raises(PolicyError, match="did you mean 'hilbert'") as caught:
        Ring(partition="hilber", order="foldd")
    assert len(caught.value.problems) == 2


PLANS = (ColumnPlan("a", QUASI), ColumnPlan("s", SENSITIVE))


def test_limits_keep_blocks_apart():
    frame = pl.DataFrame({"a": [f"{i // 6}{i % 6}" for i in range(18)] + ["99"], "s": ["x"] * 19})
    tree = {"mask": "right"}
    table = encode(frame, (ColumnPlan("a", QUASI, tree, limit=1), ColumnPlan("s", SENSITIVE)))
    with pytest.raises(InfeasibleError, match="1 of 19 rows"):
        Ring().anonymize(table, asked(2), Run.start(1))
    release = Ring().anonymize(table, asked(2, suppression=0.1), Run.start(1))
    assert release.region_of[18] == -1
    for row in range(18):
        shown = table.attributes[0].hierarchy.leaves.gather(list(set_of(release, row, 0)))
        assert {value[0] for value in shown} == {str(row // 6)}


# --- the paper's examples -----------------------------------------------------------------------------------


def given_sets(values, shown):
    """A table of one column, and a release that shows these sets to these people."""
    table = encode(pl.DataFrame({"a": values, "s": ["x"] * len(values)}), PLANS)
    start = np.cumsum([0, *map(len, shown)])
    codes = np.array([v - 1 for own in shown for v in sorted(own)], np.int32)
    low, high = (np.array([[f(own) - 1] for own in shown], np.int32) for f in (min, max))
    release = Release(np.arange(len(values), dtype=np.int32), low, high, sets=ValueSets(start, codes))
    return table, release


def test_better_in_every_cell_than_two_classes():
    """Tables 1 to 3: as one ring of three and one pair, no cell is wider than in the two classes."""
    frame = pl.DataFrame(
        {
            "zip": ["901152", "901157", "901578", "902398", "902301"],
            "sex": ["M", "F", "M", "M", "M"],
            "age": [30, 28, 15, 48, 20],
        }
    )
    plans = (
        ColumnPlan("zip", QUASI, {"mask": "right"}),
        ColumnPlan("sex", QUASI),
        ColumnPlan("age", QUASI),
    )
    table = encode(frame, plans)
    parts = Partition(np.arange(5, dtype=np.int32), np.array([0, 3, 5]), np.array([0, 5]))
    ring = windows(table, parts, np.array([2, 2]), "ranges")
    names = [
        [
            attribute.hierarchy.names(ring.low[[r], j], ring.high[[r], j])[0]
            for j, attribute in enumerate(table.attributes)
        ]
        for r in ring.region
    ]
    assert names[0] == ["90115*", "*", "[28, 30]"]
    assert names[1] == ["901***", "*", "[15, 28]"]
    assert names[2] == ["901***", "M", "[15, 30]"]
    assert names[3] == names[4] == ["9023**", "M", "[20, 48]"]


def test_consistent_rows_are_not_effective_ones():
    """Table 4: everyone is consistent with two rows, and yet row 2 can only be person 2's."""
    shown = [{1, 2, 3, 4, 5}, {2, 3}, {3, 4}, {3, 4}, {1, 2, 3, 4, 5}]
    table, release = given_sets([1, 2, 3, 4, 5], shown)
    verdict = MODELS["probabilistic-k"](k=2).verify(evidence_of(table, release))
    assert not verdict.holds
    assert verdict.reached == 1


def test_enough_effective_matches_may_not_be_enough():
    """Figure 4 in spirit: two groups of three people whose members reach each other's rows through single links
    have three effective matches each, but no three assignments without a common pair.
    """
    # People 1 and 2, 3, 4; person 1 fits everything on the left but must use the bridge to leave it.
    shown = [
        {1, 2, 3, 4},
        {2, 3, 4},
        {2, 3, 4},
        {1, 2, 3, 4, 5, 6, 7},
        {5, 6, 7, 8},
        {6, 7, 8},
        {6, 7, 8},
        {5, 6, 7, 8},
    ]
    table, release = given_sets(list(range(1, 9)), shown)
    graph = evidence_of(table, release).consistency
    for k in range(1, 5):
        fits = [[person in own for own in shown] for person in range(1, 9)]
        expected = _disjoint(fits, k)
        assert disjoint_assignments(graph, k) == expected


def _disjoint(fits, k):
    """Whether every person can be given k rows, every row k times, by search."""
    from itertools import combinations

    count = len(fits)

    def go(person, left):
        if person == count:
            return not any(left)
        rows = [row for row in range(count) if fits[person][row] and left[row]]
        for chosen in combinations(rows, k):
            rest = [n - (row in chosen) for row, n in enumerate(left)]
            if all(n <= count - person - 1 for n in rest) and go(person + 1, rest):
                return True
        return False

    return go(0, [k] * count)


def test_uniform_belief_over_a_ring_of_five():
    table, release = given_sets(
        [1, 2, 3, 4, 5], [{i + 1, (i + 1) % 5 + 1, (i + 2) % 5 + 1} for i in range(5)]
    )
    evidence = evidence_of(table, release)
    assert largest_counted(evidence.consistency, 10, 20) == pytest.approx(5 / 13)
    verdict = MODELS["probabilistic-k"](k=3).verify(evidence)
    assert verdict.holds
    assert verdict.reached == 3
    assert "regular" in verdict.detail


def test_one_ring_can_lose_less_than_two_pairs():
    frame = pl.DataFrame({"a": ["1", "1", "2", "1"], "b": ["1", "1", "1", "2"], "c": ["1", "2", "2", "1"]})
    table = encode(frame, [ColumnPlan(name, QUASI) for name in "abc"])
    order, pairs = np.arange(4, dtype=np.int32), np.array([0, 2, 4])
    two = Partition(order, pairs, pairs)
    one = Partition(order, pairs[[0, 2]], pairs[[0, 2]])
    # Two values per column, so that |A| - 1 is 1.
    assert group_losses(table, two, np.array([2, 2]), "lm").sum() == 8
    assert group_losses(table, one, np.array([2]), "lm").sum() == 6


def test_a_ring_that_repeats_sensitive_values_gives_some_away():
    """Why rings hold different values only: l = 3, values a b c a b c around a ring of six. When two neighbouring
    cells show a, whoever knows that any three neighbours differ knows both their owners.
    """
    from itertools import permutations

    values = "abcabc"
    assignments = [p for p in permutations(range(6)) if all((p[i] - i) % 6 < 3 for i in range(6))]
    surely = 0
    for own in assignments:
        shown = [values[person] for person in own]
        beliefs = []
        for other in assignments:
            guess = [""] * 6
            for position, person in enumerate(other):
                guess[person] = shown[position]
            if all(len({guess[i], guess[(i + 1) % 6], guess[(i + 2) % 6]}) == 3 for i in range(6)):
                beliefs.append(guess)
        surely += any(len({guess[i] for guess in beliefs}) == 1 for i in range(6))
    assert surely > 0


# --- publishing ---------------------------------------------------------------------------------------------


@given(
    st.lists(
        st.lists(st.sampled_from(["a", "null", "", " b", "c, d", 'e"f', "{g}", '"', "{", None]), min_size=1),
        min_size=1,
    )
)
def test_sets_are_read_as_they_were_written(lists):
    column = pl.Series("x", lists, dtype=pl.List(pl.String))
    assert [elements_of(text) for text in sets_as_text(column)] == lists


@given(st.text(alphabet='{}", anul', max_size=12))
def test_no_text_breaks_the_reader(text):
    found = elements_of("{" + text + "}")
    assert found is None or all(part is None or isinstance(part, str) for part in found)


PEOPLE = pl.DataFrame(
    {
        "age": [20 + (i * 7) % 30 if i % 9 else None for i in range(60)],
        "city": [("Bonn, old", 'the "Ark"', "{x}", "Rome")[(i * 3) % 4] for i in range(60)],
        "size": [1.5 * ((i * 11) % 8) for i in range(60)],
        "ill": [("flu", "cold", "gout", "cough", "lupus")[(i * 7) % 5] for i in range(60)],
    }
)
ROLES = {"quasi": ["age", "city", "size"], "sensitive": ["ill"]}


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow", "jsonl"])
@pytest.mark.parametrize("more", [{}, {"l": {"probabilistic": 3}}])
def test_files_with_sets_are_audited_as_they_were_made(tmp_path, ending, more):
    policy = {**ROLES, "k": 4, "notion": "probabilistic-k", "method": "ring", **more}
    result = shoal.anonymize(PEOPLE, **policy)
    assert result.holds
    path = tmp_path / f"release.{ending}"
    io.write(result.table, path)
    report = shoal.audit(path, **policy, original=PEOPLE)
    assert report.holds
    assert report.classes == result.classes
    for name in ("lm", "gcp"):
        assert report.measures[name] == pytest.approx(result.measures[name])


def test_every_method_serves_the_notion():
    for method in ("mondrian", "lexicographic", "hilbert", "ring"):
        assert shoal.anonymize(PEOPLE, **ROLES, k=5, notion="probabilistic-k", method=method).holds


def test_somebody_left_out_does_not_hide_that_assignments_meet():
    """Four people and rows that no two assignments share out without a common pair; a fifth person, whom no row fits,
    is the one left out, so that nothing is different for the others.
    """
    people = [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (1, 1, 1, 1)]
    cells = [("b", "b", "b", "0"), ("1", "b", "b", "b"), ("b", "1", "b", "b"), ("b", "b", "1", "b")]
    names = ["q", "r", "s", "t"]
    tree = {"tree": {"b": ["0", "1"], "far": ["9"]}}

    def frame(rows):
        return pl.DataFrame({name: [str(row[j]) for row in rows] for j, name in enumerate(names)})

    asked = {"quasi": names, "k": 2, "notion": "probabilistic-k", "hierarchies": dict.fromkeys(names, tree)}
    for others in ([], [(9, 9, 9, 9)]):
        found = shoal.audit(frame(cells), original=frame(people + others), suppression=0.2, **asked)
        verdict = found.verdicts[0]
        assert (verdict.reached, verdict.holds) == (2, False)
