"""Whether a release is true: every row covers an original row of its own, against networkx and by cases."""

from __future__ import annotations

import networkx as nx
import numpy as np
import polars as pl
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import shoal
from shoal.judging import read_case
from shoal.judging.linking import row_search, truth
from shoal.kernels import grouping, matching
from shoal.methods import METHODS
from shoal.policy.method_options import option_types
from shoal.support.machine import threads as parallel
from tests import oracles
from tests.oracles import outsider

PLACES = {"north": ["a", "b"], "south": ["c", "d"]}


def place_names(value: str) -> list[str]:
    return [value, "north" if value in "ab" else "south", "*"]


NAMES = {"place": place_names, "age": outsider.interval_names(2, 4)}
POLICY = {
    "quasi": ["place", "age"], "sensitive": ["ill"], "plain": ["tag"], "k": 2,
    "hierarchies": {"place": {"tree": PLACES}, "age": {"widths": [2, 4]}},
}  # fmt: skip
PEOPLE = pl.DataFrame(
    {
        "place": ["a", "a", "b", "c", "c", "d"],
        "age": [0, 1, 2, 4, 5, 6],
        "ill": ["flu", "cold", "flu", "flu", "cold", "cold"],
        "tag": [1, 2, 3, 4, 5, 6],
    }
)
RELEASE = pl.DataFrame(
    {
        "place": ["north"] * 3 + ["south"] * 3,
        "age": ["0-3"] * 3 + ["4-7"] * 3,
        "ill": PEOPLE["ill"],
        "tag": PEOPLE["tag"],
    }
)


def verdict(rows, original=PEOPLE, policy=POLICY, **more):
    """The verdict on truth; None if it was not judged."""
    found = shoal.audit(rows, **policy, original=original, **more)
    return next((one for one in found.verdicts if one.model == "truthful"), None)


def untrue(rows: pl.DataFrame, original: pl.DataFrame) -> int:
    """Rows minus a maximum matching, row by row: what a cell covers is what its text says."""
    graph = nx.Graph()
    tops = [("row", r) for r in range(len(rows))]
    graph.add_nodes_from(tops)
    for r, row in enumerate(rows.iter_rows(named=True)):
        for o, own in enumerate(original.iter_rows(named=True)):
            same = all(row[name] == own[name] for name in ("ill", "tag"))
            if same and all(row[name] in names(str(own[name])) for name, names in NAMES.items()):
                graph.add_edge(("row", r), ("own", o))
    return len(rows) - len(nx.bipartite.maximum_matching(graph, tops)) // 2


@st.composite
def releases(draw):
    """People, and rows that show a name of somebody's value in each column, and values of some people."""
    count = draw(st.integers(2, 8))
    people = [
        (
            draw(st.sampled_from("abcd")),
            draw(st.integers(0, 7)),
            draw(st.sampled_from("xy")),
            draw(st.integers(0, 1)),
        )
        for _ in range(count)
    ]
    original = pl.DataFrame(people, schema=["place", "age", "ill", "tag"], orient="row")
    rows = []
    for i in range(draw(st.integers(1, count))):
        whose = [draw(st.sampled_from([i, i, i, draw(st.integers(0, count - 1))])) for _ in range(4)]
        names = [place_names(people[whose[0]][0]), NAMES["age"](str(people[whose[1]][1]))]
        cells = [own[draw(st.integers(0, len(own) - 1))] for own in names]
        rows.append((*cells, people[whose[2]][2], people[whose[3]][3]))
    return original, pl.DataFrame(rows, schema=["place", "age", "ill", "tag"], orient="row")


@settings(max_examples=150)
@given(releases())
def test_the_number_of_false_rows_is_rows_minus_a_maximum_matching(both):
    original, rows = both
    found = verdict(rows, original)
    expected = untrue(rows, original)
    event(f"true: {expected == 0}")
    assert (found.required, found.reached, found.holds) == (0, expected, expected == 0)


@settings(max_examples=80)
@given(releases(), st.integers(0, 6))
def test_too_many_pairs_are_searched_by_kept_values_or_give_bounds(both, links):
    original, rows = both
    expected = untrue(rows, original)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_search, "LINKS", links)
        patch.setattr(row_search, "AT_ONCE", 1)
        found = shoal.audit(rows, **POLICY, original=original)
    judged = [one for one in found.verdicts if one.model == "truthful"]
    said = [note for note in found.notes if note.startswith("not judged: whether the release is truthful")]
    event("judged" if judged else "bounds")
    if judged:
        assert judged[0].holds == (expected == 0)
        assert judged[0].reached <= expected
    else:
        least, most = (int(word) for word in said[0].split() if word.isdigit())
        assert least <= expected <= most


@given(st.data())
def test_matching_by_value(data):
    classes, people, values = (data.draw(st.integers(1, 4)) for _ in range(3))
    inside = [data.draw(st.lists(st.integers(0, people - 1), unique=True)) for _ in range(classes)]
    start = np.cumsum([0, *map(len, inside)])
    links = np.array([row for one in inside for row in one], np.int32)
    sides = []
    for count in (classes, people):
        rows = data.draw(
            st.lists(st.tuples(st.integers(0, values - 1), st.integers(0, count - 1)), max_size=9)
        )
        value, of = np.array(rows, np.int32).reshape(-1, 2).T
        given = (np.ascontiguousarray(value), np.ascontiguousarray(of), values)
        for fast, plain in zip(grouping.by_value(*given), oracles.grouping.by_value(*given), strict=True):
            assert fast.tolist() == plain.tolist()
        sides += grouping.by_value(*given)
    for first, last in ((0, values), (0, 1), (values - 1, values)):
        arguments = (*sides, start, links, classes, people, first, last)
        assert matching.unmatched(*arguments) == oracles.matching.unmatched(*arguments)


def test_combinations_of_many_kept_values_are_numbered_by_rows():
    """Three columns of 1,000 values have a billion combinations, and the tables at most 2,000."""
    values = np.arange(1000, dtype=np.int32)
    columns = [truth._Kept(name, values, values[::-1], 1000) for name in "abc"]
    before, after = truth._combine_columns(columns, 1000, 1000)
    assert len(np.unique(before)) == 1000
    assert max(before.max(), after.max()) < 4 * 2000
    assert np.array_equal(before, after[::-1])


@settings(max_examples=40)
@given(releases())
def test_a_large_original_is_looked_at_ahead(both):
    """The people of a large original are found by a thread, while the release is read."""
    original, rows = both
    with pytest.MonkeyPatch.context() as patch:
        for module in (read_case, truth):
            patch.setattr(module, "PIECE", 0)
        patch.setattr(row_search, "AT_ONCE", 1)
        found = shoal.audit(rows, **POLICY, original=original)
    judged = [one for one in found.verdicts if one.model == "truthful"]
    assert [one.reached for one in judged] == [untrue(rows, original)]


def test_what_a_thread_raises_is_raised_where_it_is_asked_for():
    ahead = parallel.Ahead(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        ahead()
    assert parallel.Ahead(lambda: 7)() == 7


# --- the cases that an audit used to miss -------------------------------------------------------------------


def test_a_true_release_is_true():
    found = verdict(RELEASE)
    assert (found.required, found.reached, found.holds, found.detail) == (0, 0, True, "")


def test_a_changed_sensitive_value_is_noticed():
    """u and v change places between two classes: every class keeps its size and its two values."""
    changed = RELEASE.with_columns(ill=pl.Series(["cold", "cold", "flu", "flu", "cold", "cold"]))
    found = verdict(changed)
    assert (found.reached, found.holds) == (1, False)
    assert "1 of 6 rows cover no original row of their own" in found.detail
    assert "values more often than in the original: ill" in found.detail


def test_swapped_sensitive_values_are_noticed():
    swapped = RELEASE.with_columns(ill=pl.Series(["cold", "flu", "flu", "flu", "cold", "cold"])).drop("tag")
    policy = {**POLICY, "plain": []}
    people = PEOPLE.drop("tag").with_columns(age=pl.Series([0, 3, 2, 4, 5, 6]))
    # Within a class nobody can tell; between classes they can.
    assert verdict(swapped, people, policy).holds
    across = RELEASE.with_columns(ill=pl.Series(["flu", "flu", "flu", "cold", "cold", "cold"])).drop("tag")
    assert verdict(across, people, policy).reached == 2


def test_a_duplicated_row_within_the_suppression_allowance_is_noticed():
    twice = pl.concat([RELEASE[:5], RELEASE[4:5]])
    found = verdict(twice, policy={**POLICY, "suppression": 0.5})
    assert (found.reached, found.holds) == (1, False)
    assert verdict(RELEASE[:5], policy={**POLICY, "suppression": 0.5}).holds


def test_a_cell_that_generalizes_no_original_value_is_noticed():
    people = PEOPLE.with_columns(
        age=pl.Series(
            [
                0,
                1,
                2,
                4,
                5,
                6,
            ]
        )
    )
    rows = RELEASE.with_columns(age=pl.Series(["0-3"] * 3 + ["0-3"] * 3))
    assert verdict(rows, people).reached == 3


def test_a_cell_that_cannot_be_read_is_not_true():
    rows = RELEASE.with_columns(place=pl.Series(["Atlantis", *RELEASE["place"][1:]]))
    found = verdict(rows)
    assert (found.reached, found.holds) == (1, False)
    assert "1 row with cells that are not in their hierarchies" in found.detail


def test_cells_that_another_tool_named_may_be_true():
    """Nothing in the column can be read, so only what the other columns show can be false."""
    rows = RELEASE.with_columns(age=pl.lit("young"))
    found = shoal.audit(rows, **POLICY, original=PEOPLE)
    assert "truthful" not in [one.model for one in found.verdicts]
    assert any(
        "between 0 and 6 of its rows" in note.lower() and "cells of age" in note for note in found.notes
    )
    assert verdict(rows.with_columns(tag=pl.Series([1, 2, 3, 4, 5, 7]))).reached == 1


def test_a_plain_value_that_the_original_lacks_is_noticed():
    found = verdict(RELEASE.with_columns(tag=pl.Series([1, 2, 3, 4, 5, 7])))
    assert (found.reached, found.holds) == (1, False)
    assert "tag" in found.detail


def test_columns_that_are_missing_or_new_are_named():
    found = shoal.audit(RELEASE.drop("tag").with_columns(extra=pl.lit(1)), **POLICY, original=PEOPLE)
    assert any("lacks columns of the original: tag" in note for note in found.notes)
    assert any(
        "the original lacks columns of the release" in note and "extra" in note for note in found.notes
    )
    assert next(one for one in found.verdicts if one.model == "truthful").holds


def test_values_are_compared_by_value_where_the_original_has_numbers(tmp_path):
    (tmp_path / "people.csv").write_text("age,ill,fee\n1,x,1.5\n2,y,2.5\n3,x,1.5\n4,y,3.25\n")
    (tmp_path / "release.csv").write_text(
        'age,ill,fee\n"[1, 2]",x,1.50\n"[1, 2]",y,2.5\n"[3, 4]",x,1.5\n"[3, 4]",y,3.250\n'
    )
    policy = {"quasi": ["age"], "sensitive": ["ill"], "plain": ["fee"], "k": 2}
    assert verdict(tmp_path / "release.csv", tmp_path / "people.csv", policy).holds
    (tmp_path / "people.csv").write_text("age,ill,fee\n1,x,n1.5\n2,y,n2.5\n3,x,n1.5\n4,y,n3.25\n")
    (tmp_path / "release.csv").write_text(
        'age,ill,fee\n"[1, 2]",x,n1.50\n"[1, 2]",y,n2.5\n"[3, 4]",x,n1.5\n"[3, 4]",y,n3.25\n'
    )
    assert verdict(tmp_path / "release.csv", tmp_path / "people.csv", policy).reached == 1


def test_lists_in_plain_columns_are_compared_or_named():
    people = PEOPLE.with_columns(tag=pl.Series([[1], [2, 3], [], None, [5], [6]]))
    rows = RELEASE.with_columns(tag=people["tag"])
    assert verdict(rows, people).holds
    assert verdict(rows.with_columns(tag=pl.Series([[1], [2], [], None, [5], [6]])), people).reached == 1
    found = shoal.audit(rows.with_columns(tag=pl.lit("text")), **POLICY, original=people)
    assert found.holds
    assert any("another type were not compared: tag" in note for note in found.notes)


def test_sets_of_values_cover_their_values_and_no_others():
    people = pl.DataFrame({"age": [1, 2, 3, 4], "ill": list("xyxy")})
    policy = {"quasi": ["age"], "sensitive": ["ill"], "k": 2}
    good = pl.DataFrame({"age": [[1, 4], [2, 3], [2, 3], [1, 4]], "ill": list("xyxy")})
    assert verdict(good, people, policy).holds
    bad = pl.DataFrame({"age": [[1, 4], [2, 4], [1, 4], [2, 4]], "ill": list("xyxy")})
    assert verdict(bad, people, policy).reached == 1


def test_rows_that_another_tool_marks_as_suppressed_are_not_rows():
    marked = pl.concat(
        [RELEASE[:5], RELEASE[5:].with_columns(place=pl.lit("*"), age=pl.lit("*"), tag=pl.lit(99, pl.Int64))]
    )
    policy = {**POLICY, "suppression": 0.5}
    assert verdict(marked, policy=policy).reached == 1
    assert verdict(marked, policy=policy, suppressed_as="*").holds


def test_without_the_original_there_is_no_such_verdict():
    assert verdict(RELEASE, None) is None


# --- every method ---------------------------------------------------------------------------------------------

CITIZENS = pl.DataFrame(
    {
        "place": list("aabbccdd") * 3,
        "age": [i % 8 for i in range(24)],
        "ill": ["flu", "cold", "ulcer"] * 8,
        "tag": [i % 5 for i in range(24)],
    }
)


def asked(name):
    kind = METHODS[name]
    policy = {**POLICY, "method": name, "k": None}
    if name in ("bucketization", "slice-columns", "permute-generalize") or kind.can.presence_only:
        return {**policy, "presence": [0, 1], "population": pl.concat([CITIZENS, CITIZENS])}
    if name == "slicing":
        return {**policy, "l": {"slicing": 1.2}}
    if name == "anatomy":
        return {**policy, "l": {"distinct": 2}}
    if name == "ring":
        return {**policy, "k": 2, "notion": "probabilistic-k"}
    if kind.shows.notions:
        return {**policy, "k": 2, "notion": kind.shows.notions[0].name}
    if kind.false_cells.how:
        share = 0.3 if "budget" in option_types(kind) else 1.0
        own = {"budget": share} if share < 1 else {}
        return {**policy, "k": 3, "relocation": {"budget": share}, "method": {"name": name, **own}}
    return {**policy, "k": 2}


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_is_true(name):
    policy = asked(name)
    people = policy.pop("population", None)
    made = shoal.anonymize(CITIZENS, **policy, population=people, seed=1)
    for source in (made.table, made):
        more = {"population": people, "second": made.second if source is not made else None}
        found = verdict(source, CITIZENS, policy, **more)
        if made.buckets is not None:
            assert found is None
            continue
        assert found.holds
        assert found.reached == 0 or METHODS[name].false_cells.how


@pytest.mark.parametrize("name", sorted(name for name, kind in METHODS.items() if not kind.false_cells.how))
def test_no_method_hides_a_changed_sensitive_value(name):
    policy = asked(name)
    people = policy.pop("population", None)
    made = shoal.anonymize(CITIZENS, **policy, population=people, seed=1)
    rows, second = made.table, made.second
    if second is not None:
        most = second["count"].arg_max()
        other = next(value for value in ("flu", "cold", "ulcer") if value != second["ill"][most])
        second = second.with_columns(
            ill=pl.when(pl.int_range(len(second)) == most).then(pl.lit(other)).otherwise("ill")
        )
    else:
        other = "flu" if rows["ill"][0] != "flu" else "cold"
        rows = rows.with_columns(ill=pl.Series([other, *rows["ill"].to_list()[1:]]))
    found = verdict(rows, CITIZENS, policy, population=people, second=second)
    assert found.reached >= 1
    assert not found.holds


def test_false_cells_within_the_budget_are_allowed_and_no_others():
    """One of six rows shows another age: one cell of twelve."""
    rows = RELEASE.with_columns(age=pl.Series(["4-7", *["0-3"] * 2, *["4-7"] * 3]))
    assert verdict(rows).reached == 1
    for budget, holds in ((0.05, False), (0.1, True)):
        policy = {**POLICY, "relocation": {"budget": budget}}
        found = verdict(rows, policy=policy)
        assert (found.required, found.reached, found.holds) == (int(budget * 12), 1, holds)
    changed = rows.with_columns(ill=pl.Series(["cold", "cold", "flu", "flu", "cold", "cold"]))
    # Sensitive values are never relocated.
    assert not verdict(changed, policy={**POLICY, "relocation": {"budget": 0.9}}).holds


BUCKETS = pl.DataFrame(
    {
        "place": ["a", "b", "a", "c", "d", "c"],
        "age": [1, 2, 0, 6, 4, 5],
        "ill": ["flu", "flu", "cold", "cold", "cold", "flu"],
        "tag": [1, 2, 3, 4, 5, 6],
        "bucket": [0, 0, 0, 1, 1, 1],
    }
)
SLICED = {**POLICY, "k": None, "method": "slice-columns", "l": {"distinct": 2}}


def test_shuffled_columns_are_true_bucket_by_bucket():
    found = shoal.audit(BUCKETS, original=PEOPLE, **SLICED)
    assert "truthful" not in [one.model for one in found.verdicts]
    assert any("It was not refuted" in note for note in found.notes)
    moved = BUCKETS.with_columns(age=pl.Series([1, 2, 6, 0, 4, 5]))
    assert not verdict(moved, policy=SLICED).holds
    changed = BUCKETS.with_columns(ill=pl.Series(["flu", "flu", "cold", "cold", "cold", "cold"]))
    assert not verdict(changed, policy=SLICED).holds
    twice = BUCKETS.with_columns(tag=pl.Series([1, 1, 3, 4, 5, 6]))
    assert not verdict(twice, policy=SLICED).holds


@settings(max_examples=40)
@given(st.data())
def test_no_shuffle_within_buckets_is_false(data):
    original = CITIZENS[: data.draw(st.integers(2, 8))]
    part = [data.draw(st.integers(0, 1)) for _ in range(len(original))]
    columns = {}
    for name in original.columns:
        values, order = original[name].to_list(), data.draw(st.permutations(range(len(original))))
        dealt = sorted(order, key=lambda i: part[i])
        places = sorted(range(len(original)), key=lambda i: part[i])
        columns[name] = [value for _, value in sorted(zip(places, (values[i] for i in dealt), strict=True))]
    rows = pl.DataFrame(columns).with_columns(bucket=pl.Series(part))
    for links in (0, 4, row_search.LINKS):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(row_search, "LINKS", links)
            found = verdict(rows, original, SLICED)
            assert found is None or found.holds


@pytest.mark.parametrize(("other", "holds"), [(0, True), (1, None), (59, False)])
def test_rows_that_stayed_whole_are_refuted_only_by_what_no_shuffle_within_buckets_gives(other, holds):
    """Nothing else was shuffled; tags are swapped with nobody, within a bucket, and across buckets."""
    original = pl.DataFrame(
        {
            "place": ["abcd"[i % 4] for i in range(60)], "age": [i * 7 % 8 for i in range(60)],
            "ill": [["flu", "cold", "ulcer"][i * i % 3] for i in range(60)], "tag": list(range(60)),
        }
    )  # fmt: skip
    tags = original["tag"].to_list()
    tags[0], tags[other] = tags[other], tags[0]
    rows = original.with_columns(tag=pl.Series(tags), bucket=pl.Series([i // 6 for i in range(60)]))
    found = verdict(rows, original, {**SLICED, "method": "mondrian"})
    assert (None if found is None else found.holds) is holds


def test_a_report_says_so_too():
    changed = RELEASE.with_columns(tag=pl.Series([1, 2, 3, 4, 5, 7]))
    for rows, holds in ((RELEASE, True), (changed, False)):
        told = shoal.report(rows, **POLICY, original=PEOPLE, edition="private")
        assert told.holds == holds
        assert "truthful" in told.html


def test_lists_in_text_are_compared(tmp_path):
    original = pl.DataFrame({"x": [1, 1, 2, 2], "tags": [[1], [2, 3], [], None], "s": list("abcd")})
    policy = {"quasi": ["x"], "sensitive": ["s"], "plain": ["tags"], "k": 2}
    rows = original.with_columns(tags=pl.Series(["{1}", "{2, 3}", "{}", None]))
    for first, holds in (("{1}", True), ("{99}", False)):
        shown = rows.with_columns(tags=pl.col("tags").replace("{1}", first))
        assert shoal.audit(shown, original=original, **policy).holds == holds
    other = shoal.audit(rows.with_columns(tags=pl.lit("1")), original=original, **policy)
    assert "truthful" not in [one.model for one in other.verdicts]
    assert any("some columns were not compared" in note for note in other.notes)


def test_a_false_row_does_not_end_the_audit():
    original = pl.DataFrame({"x": [1, 1, 2, 2], "s": list("abcd")})
    rows = original.with_columns(x=pl.Series([1, 1, 2, 1]))
    for notion in ("global-1-k", "probabilistic-k"):
        found = shoal.audit(rows, original=original, quasi=["x"], sensitive=["s"], k=2, notion=notion)
        assert not found.verdicts[0].holds
        true = next(one for one in found.verdicts if one.model == "truthful")
        assert (true.holds, true.reached) == (False, 1)
