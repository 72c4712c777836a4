"""Hierarchies: the tree itself, and every way to make one."""

from __future__ import annotations

import datetime as dt
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shoal.coding.hierarchy import ROOT, Hierarchy, build, from_csv, to_csv
from shoal.errors import HierarchyError
from tests.inputs.strategies import hierarchies, tiled

INTS = st.lists(st.one_of(st.none(), st.integers(-60, 60)), min_size=1, max_size=15)
FLOATS = st.lists(st.one_of(st.none(), st.floats(-50, 50, width=32), st.floats()), min_size=1, max_size=12)
TEXTS = st.lists(st.one_of(st.none(), st.text("ab*, ;\"'\n[]|é", max_size=5)), min_size=1, max_size=12)
DATES = st.lists(
    st.one_of(st.none(), st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1))), min_size=1, max_size=12
)
SPECS = st.one_of(
    st.tuples(
        INTS.map(lambda v: pl.Series(v, dtype=pl.Int64)),
        st.sampled_from(
            [None, "auto", {"widths": [5, 10, 20]}, {"cuts": [[-10, 0, 1, 18], [0]]}, {"mask": "right"}]
        ),
    ),
    st.tuples(
        FLOATS.map(lambda v: pl.Series(v, dtype=pl.Float64)),
        st.sampled_from([None, "auto", {"cuts": [[-1.5, 0, 18], [0]]}]),
    ),
    st.tuples(
        TEXTS.map(lambda v: pl.Series(v, dtype=pl.String)),
        st.sampled_from(
            [None, "auto", {"mask": "right"}, {"mask": "left", "keep": 1}, {"mask": "left", "steps": 2}]
        ),
    ),
    st.tuples(
        DATES.map(lambda v: pl.Series(v, dtype=pl.Date)),
        st.sampled_from(
            [None, "auto", {"dates": ["month", "quarter", "year", "decade"]}, {"dates": ["day", "week"]}]
        ),
    ),
)


def nodes_of(hierarchy: Hierarchy) -> list[tuple[int, int, str | None, int]]:
    """All nodes as (low, high, name, level), straight from the levels."""
    nodes = []
    for index, level in enumerate(hierarchy.levels):
        ends = [*level.starts[1:].tolist(), hierarchy.size]
        nodes += [
            (low, end - 1, name, index)
            for low, end, name in zip(level.starts.tolist(), ends, level.names, strict=True)
        ]
    return nodes


def groups_of(hierarchy: Hierarchy) -> list[dict[str | None, set[object]]]:
    """Per level, the name of each node and the values below it."""
    levels: list[dict[str | None, set[object]]] = [{} for _ in hierarchy.levels]
    for low, high, name, level in nodes_of(hierarchy):
        levels[level][name] = set(hierarchy.levels[0].names[low : high + 1].to_list())
    return levels


def check(hierarchy: Hierarchy) -> None:
    """The promises that every hierarchy keeps."""
    size = hierarchy.size
    assert hierarchy.leaves.n_unique() == size
    assert hierarchy.leaves.null_count() <= 1
    if hierarchy.leaves.null_count():
        assert hierarchy.leaves[-1] is None
    assert len(hierarchy.levels) >= 2 or size == 1
    assert hierarchy.levels[0].starts.tolist() == list(range(size))
    for level in hierarchy.levels:
        assert level.names.dtype == pl.String
        assert level.starts.dtype == np.int32
        assert level.starts[0] == 0
        assert len(level.names) == len(level.starts)
        assert np.all(np.diff(level.starts) > 0)
        assert level.starts[-1] < size
        assert level.names.n_unique() == len(level.names), "names of a level are unique"
    for below, above in zip(hierarchy.levels, hierarchy.levels[1:], strict=False):
        assert set(above.starts.tolist()) <= set(below.starts.tolist())
    codes = np.arange(size)
    for a in range(len(hierarchy.levels)):
        for b in range(a, len(hierarchy.levels)):
            assert np.array_equal(hierarchy.low[b, hierarchy.low[a, codes]], hierarchy.low[b, codes])
    if hierarchy.positions is not None:
        ordered = hierarchy.positions[: hierarchy.ordered]
        assert np.all(np.isfinite(ordered))
        assert np.all(np.diff(ordered) >= 0)
        assert np.all(np.isnan(hierarchy.positions[hierarchy.ordered :]))


def all_ranges(size: int) -> tuple[np.ndarray, np.ndarray]:
    pairs = [(low, high) for low in range(size) for high in range(low, size)]
    low, high = zip(*pairs, strict=True)
    return np.array(low, np.int32), np.array(high, np.int32)


# --- the tree ---------------------------------------------------------------------------------------------


@given(hierarchies())
def test_lift_gives_the_smallest_permitted_range(hierarchy):
    low, high = all_ranges(hierarchy.size)
    lifted = hierarchy.lift(low, high)
    permitted = [(a, b) for a, b, _, _ in nodes_of(hierarchy)]
    if hierarchy.free:
        permitted += [(a, b) for a in range(hierarchy.ordered) for b in range(a, hierarchy.ordered)]
    for a, b, got_low, got_high in zip(low, high, *lifted, strict=True):
        covering = [(y - x, x, y) for x, y in permitted if x <= a and b <= y]
        assert (got_low, got_high) == min(covering)[1:]


@given(hierarchies(free=False))
def test_level_of_is_the_lowest_level_with_one_node(hierarchy):
    low, high = all_ranges(hierarchy.size)
    for a, b, level in zip(low, high, hierarchy.level_of(low, high), strict=True):
        covering = [index for x, y, _, index in nodes_of(hierarchy) if x <= a and b <= y]
        assert level == min(covering)


@given(hierarchies())
def test_names_read_back_as_the_same_ranges(hierarchy):
    low, high = hierarchy.lift(*all_ranges(hierarchy.size))
    names = hierarchy.names(low, high)
    got_low, got_high, known = hierarchy.read(names)
    assert known.all()
    assert got_low.tolist() == low.tolist()
    assert got_high.tolist() == high.tolist()
    if hierarchy.leaves.null_count():
        alone = (low == hierarchy.size - 1) & (high == hierarchy.size - 1)
        assert names.is_null().to_numpy()[alone].all()


@given(SPECS)
def test_every_builder_keeps_the_promises(case):
    values, spec = case
    hierarchy = build(values.unique().shuffle(seed=1), spec)
    check(hierarchy)
    assert hierarchy.leaves.dtype == values.dtype
    codes = hierarchy.locate(values)
    assert (codes >= 0).all()
    assert hierarchy.leaves.gather(codes).equals(values.alias("leaves"), null_equal=True)
    assert hierarchy.size == len({"NaN" if v != v else v for v in values.to_list()})
    low, high = hierarchy.lift(*all_ranges(hierarchy.size))
    names = hierarchy.names(low, high)
    got_low, got_high, known = hierarchy.read(names)
    assert known.all()
    assert np.all(got_low <= low)
    assert np.all(got_high >= high)
    if values.dtype != pl.String:
        assert got_low.tolist() == low.tolist()
        assert got_high.tolist() == high.tolist()


@given(SPECS)
def test_csv_round_trip(case):
    values, spec = case
    hierarchy = build(values, spec)
    again = from_csv(values, to_csv(hierarchy))
    check(again)
    assert again.leaves.dtype == hierarchy.leaves.dtype
    if hierarchy.size > 1:
        assert groups_of(again) == groups_of(hierarchy)


def test_a_name_of_several_nodes_reads_as_their_hull_and_an_unknown_one_as_everything():
    hierarchy = from_csv(pl.Series(["a", "b", "c"]), "a;x;*\nx;x;*\nb;y;*\nc;y;*\n")
    low, high, known = hierarchy.read(pl.Series(["x", "a", "nowhere", None]))
    assert low.tolist() == [0, 0, 0, 0]
    assert high.tolist() == [1, 0, 3, 3]
    assert known.tolist() == [True, True, False, False]


def test_free_ranges_are_read_by_value_where_their_spelling_differs():
    hierarchy = build(pl.Series([1.0, 2.0, 5.5]))
    low, high, known = hierarchy.read(
        pl.Series(["2", "[1, 5.5]", "[1.5, 9]", "[6, 7]", "3", "[5.5, 1.0]", "[x, 1]"])
    )
    assert known.tolist() == [True, True, True, False, False, False, False]
    assert low[:3].tolist() == [1, 0, 1]
    assert high[:3].tolist() == [1, 2, 2]


def test_times_are_read_in_other_spellings():
    times = pl.Series([dt.datetime(2024, 3, 1, 12), dt.datetime(2024, 3, 2, 0, 0, 0, 500000), None])
    hierarchy = build(times)
    assert hierarchy.levels[0].names.to_list() == ["2024-03-01 12:00:00", "2024-03-02 00:00:00.500000", None]
    names = pl.Series(
        ["2024-03-01T12:00:00.000", "[2024-03-01 12:00:00, 2024-03-02 00:00:00.500000]", None, "noon"]
    )
    low, high, known = hierarchy.read(names)
    assert (low.tolist(), high.tolist(), known.tolist()) == (
        [0, 0, 2, 0],
        [0, 1, 2, 2],
        [True, True, True, False],
    )
    assert hierarchy.read(times)[0].tolist() == [0, 1, 2]
    days = build(pl.Series([dt.date(2024, 3, 1), dt.date(2024, 3, 5)]), {"dates": ["year"]})
    low, high, known = days.read(pl.Series(["2024-03-05", "2024-03-02", "2024"]))
    assert (low[0], high[0], known.tolist()) == (1, 1, [True, False, True])


def test_leaves_with_commas_in_free_ranges():
    leaves = pl.Series(["a, b", "c", "d, e, f"])
    levels = tiled([leaves, pl.Series(["*"] * 3)])
    hierarchy = Hierarchy(leaves, levels, free=True, ordered=3)
    names = hierarchy.names(np.array([0, 1, 0], np.int32), np.array([1, 2, 2], np.int32))
    assert names.to_list() == ["[a, b, c]", "[c, d, e, f]", "*"]
    low, high, known = hierarchy.read(names)
    assert (low.tolist(), high.tolist(), known.all()) == ([0, 1, 0], [1, 2, 2], True)


def test_names_of_one_level():
    hierarchy = build(pl.Series([1, 2, 7]), {"widths": [5]})
    codes = np.array([0, 1, 2, 2], np.int32)
    assert hierarchy.names(codes, codes, level=1).to_list() == ["0-4", "0-4", "5-9", "5-9"]
    # The lowest level that has the node names it: 7 is alone in 5-9.
    assert hierarchy.names(np.array([2], np.int32), np.array([2], np.int32)).to_list() == ["7"]
    with pytest.raises(HierarchyError, match="not a node"):
        hierarchy.names(np.array([1], np.int32), np.array([2], np.int32))


# --- limits -----------------------------------------------------------------------------------------------


@given(hierarchies(free=False), st.data())
def test_limits_let_rows_meet_below_their_first_marked_node_only(hierarchy, data):
    nodes = nodes_of(hierarchy)
    marks = data.draw(st.lists(st.sampled_from(nodes), max_size=3))
    limited = hierarchy.with_limit([mark[2] for mark in marks])
    for level in limited.levels:
        assert np.all(np.diff(level.starts) > 0)
        assert level.starts[0] == 0
    assert sorted(limited.leaves) == sorted(hierarchy.leaves)
    # A name stands for the highest node that bears it.
    marked = {max((n for n in nodes if n[2] == mark[2]), key=lambda n: n[3]) for mark in marks}

    def top(code):
        over = [(node[3], node[:2]) for node in marked if node[0] <= code <= node[1]]
        return min(over) if over else (hierarchy.height, (0, hierarchy.size - 1))

    where = {leaf: code for code, leaf in enumerate(limited.leaves)}
    names = hierarchy.leaves.to_list()
    for a in range(hierarchy.size):
        for b in range(hierarchy.size):
            one, two = where[names[a]], where[names[b]]
            may_meet = top(a) == top(b)
            assert (limited.blocks[one] == limited.blocks[two]) == may_meet
            ends = np.array([min(one, two)], np.int32), np.array([max(one, two)], np.int32)
            if not may_meet:
                with pytest.raises(HierarchyError, match="no allowed node"):
                    limited.lift(*ends)
                continue
            low, high = limited.lift(*ends)
            before = hierarchy.lift(np.array([min(a, b)], np.int32), np.array([max(a, b)], np.int32))
            allowed = set(range(before[0][0], before[1][0] + 1))
            shown = {names.index(leaf) for leaf in limited.leaves[int(low[0]) : int(high[0]) + 1]}
            assert {a, b} <= shown <= allowed
            assert limited.names(low, high).to_list() == hierarchy.names(*before).to_list()


def test_limits_by_level_and_their_errors():
    hierarchy = build(pl.Series([1, 2, 7, 12]), {"widths": [5, 10]})
    limited = hierarchy.with_limit(1)
    assert limited.levels[-1].names.to_list() == ["0-4", "5-9", "10-14"]
    assert limited.blocks.tolist() == [0, 0, 2, 3]
    with pytest.raises(HierarchyError, match=r"level 4 does not exist: .* 0 to 3"):
        hierarchy.with_limit(4)
    with pytest.raises(HierarchyError, match=r"no node is called '0-8' \(did you mean '0-[49]'"):
        hierarchy.with_limit(["0-8"])
    free = build(pl.Series([1, 2, 7]))
    assert free.with_limit(["*"]) is free
    assert not free.with_limit(0).free
    with pytest.raises(HierarchyError, match="free ranges"):
        free.with_limit(["2"])


def test_a_remainder_with_a_hole_becomes_a_run_and_null_stays_last():
    hierarchy = build(pl.Series([1, 6, 11, None]), {"widths": [5]}).with_limit(["5-9"])
    assert hierarchy.leaves.to_list() == [6, 1, 11, None]
    assert hierarchy.levels[-1].names.to_list() == ["5-9", "*"]
    assert hierarchy.ordered == 0
    assert hierarchy.positions is not None
    assert hierarchy.positions[:3].tolist() == [6, 1, 11]


# --- files ------------------------------------------------------------------------------------------------


@given(
    hierarchies(sizes=st.integers(2, 7), free=False),
    st.randoms(use_true_random=False),
    st.sampled_from(";,\t|"),
)
def test_files_in_any_order_give_the_same_tree(hierarchy, random, delimiter):
    lines = [line.replace(";", delimiter) for line in to_csv(hierarchy).splitlines()]
    random.shuffle(lines)
    again = from_csv(hierarchy.leaves, "\ufeff" + "\r\n".join(lines))
    check(again)
    assert groups_of(again) == groups_of(hierarchy)


def test_siblings_keep_the_order_of_the_file_and_numbers_are_sorted():
    text = "b;X;*\nz;Y;*\na;X;*\n"
    assert from_csv(pl.Series(["a"]), text).leaves.to_list() == ["b", "a", "z"]
    numbers = from_csv(pl.Series([10, 9]), "10;high;*\n2;low;*\n9;high;*\n")
    assert numbers.leaves.to_list() == [2, 9, 10]
    assert numbers.ordered == 3
    assert numbers.positions is not None
    assert numbers.positions.tolist() == [2, 9, 10]
    mixed = from_csv(pl.Series([1, 2, 3]), "3;odd;*\n1;odd;*\n2;even;*\n")
    assert mixed.leaves.to_list() == [3, 1, 2]
    assert (mixed.ordered, mixed.positions) == (0, None)


def test_leaves_take_the_type_of_the_data_where_all_of_them_can():
    assert from_csv(pl.Series([39, 40]), "39;*\n40.0;*\n").leaves.to_list() == [39, 40]
    assert from_csv(pl.Series([39.0]), "39;*\n1e1;*\n").leaves.to_list() == [10.0, 39.0]
    text = from_csv(pl.Series([39.0]), "39;*\nold;*\n")
    assert text.leaves.to_list() == ["39.0", "old"]
    assert text.locate(pl.Series([39.0, 40.0])).tolist() == [0, -1]
    day = from_csv(pl.Series([dt.date(2024, 3, 1)]), "2024-03-02;*\n2024-03-01;*\n")
    assert day.leaves.to_list() == [dt.date(2024, 3, 1), dt.date(2024, 3, 2)]
    truth = from_csv(pl.Series([True]), "True;*\nfalse;*\n")
    assert truth.leaves.to_list() == [True, False]


def test_null_is_a_node_of_its_own_or_where_the_file_puts_it():
    own = from_csv(pl.Series(["a", None]), "a;X;*\nb;X;*\n")
    assert own.leaves.to_list() == ["a", "b", None]
    assert own.levels[1].names.to_list() == ["X", None]
    assert own.levels[2].names.to_list() == ["*"]
    placed = from_csv(pl.Series(["a", None]), ";Unknown;*\n?;Unknown;*\na;X;*\n")
    assert placed.leaves.to_list() == ["a", "?", None]
    assert placed.levels[1].names.to_list() == ["X", "Unknown"]
    both = from_csv(pl.Series(["", None]), ";X;*\na;X;*\n")
    assert both.leaves.to_list() == ["", "a", None]
    nan = from_csv(pl.Series([1.0, math.nan, None]), "1;low;*\n2;low;*\n")
    assert nan.levels[1].names.to_list() == ["low", "NaN", None]
    assert nan.ordered == 2


def test_a_root_is_added_where_the_file_has_none():
    assert from_csv(pl.Series(["a"]), "a;X\nb;Y\n").levels[-1].names.to_list() == [ROOT]
    assert from_csv(pl.Series(["a"]), "a\nb\n").height == 1
    assert from_csv(pl.Series(["a"]), "a;Any\nb;Any\n").levels[-1].names.to_list() == ["Any"]


def test_quoting_newlines_and_emoji():
    text = '"a;1";"X, ""big""";*\n"b\nc";"X, ""big""";*\n🐟;Y;*\n'
    hierarchy = from_csv(pl.Series(["a;1", "b\nc", "🐟"]), text)
    assert hierarchy.levels[1].names.to_list() == ['X, "big"', "Y"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("a;X;*\nb;*\n", "unbalanced: .* line 2 has 2"),
        ("a;X;P;*\nb;X;Q;*\n", "node 'X' at level 1 has two parents, 'P' and 'Q'"),
        ("a;X;*\nb;X;*\na;X;*\n", "value 'a' has more than one line: 1, 3"),
        ("a;A;B;*\nb;B;A;*\n", "cyclic.*'A', 'B'"),
        ("a;b;a;*\nb;b;a;*\n", "cyclic.*'a', 'b'"),
        ("a;;*\nb;Y;*\n", "line 1 has an empty name"),
        ("value;level;top\na;X;*\nb;X;*\n", "line 1 looks like a header"),
        (
            "a;X;*\n B;X;*\n",
            "1 value of the data is missing: 'b'; 'b' is there as ' B'.*line for each.*'b;..;",
        ),
        ("x;*\n", "2 values of the data are missing: 'a', 'b'"),
    ],
)
def test_files_that_are_no_tree(text, message):
    with pytest.raises(HierarchyError, match=f"(?s){message}"):
        from_csv(pl.Series(["a", "b"]), text)


def test_a_value_may_be_called_like_its_parents_or_the_root():
    assert from_csv(pl.Series(["a"]), "a;a;*\nb;a;*\n").levels[1].names.to_list() == ["a"]
    assert from_csv(pl.Series(["*"]), "*;X;*\nb;X;*\n").size == 2


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "age.csv").write_text("1;*\n")
    with pytest.raises(HierarchyError, match=r"does not exist.*did you mean 'age.csv'"):
        build(pl.Series([1]), tmp_path / "ages.csv")
    (tmp_path / "latin.csv").write_bytes(b"a;*\n\xe9;*\n")
    with pytest.raises(HierarchyError, match="line 2 is not UTF-8"):
        build(pl.Series(["a"]), tmp_path / "latin.csv")
    with pytest.raises(HierarchyError, match="cannot be read"):
        build(pl.Series(["a"]), tmp_path)
    assert build(pl.Series([1]), str(tmp_path / "age.csv")).leaves.to_list() == [1]


def test_the_adult_files(adult):
    data = pl.read_csv(adult / "adult.csv", separator=";")
    nodes = {}
    for name in data.columns:
        hierarchy = build(data[name].unique(), adult / f"adult_hierarchy_{name}.csv")
        check(hierarchy)
        nodes[name] = [len(level.starts) for level in hierarchy.levels]
        lines = (adult / f"adult_hierarchy_{name}.csv").read_text().splitlines()
        assert len(hierarchy.levels) == len(lines[0].split(";"))
        assert hierarchy.size == len(lines)
    assert nodes["age"] == [100, 20, 10, 5, 1]


# --- nested trees -----------------------------------------------------------------------------------------


def test_nested_trees_align_at_the_top():
    tree = {"Europe": ["Spain", "Greece"], "Asia": {"Near": ["Iran"], "Far": ["Japan", "China"]}}
    values = pl.Series(["Spain", "Japan"])
    hierarchy = build(values, {"tree": tree})
    check(hierarchy)
    assert hierarchy.leaves.to_list() == ["Spain", "Greece", "Iran", "Japan", "China"]
    assert hierarchy.levels[1].names.to_list() == ["Spain", "Greece", "Near", "Far"]
    assert hierarchy.levels[2].names.to_list() == ["Europe", "Asia"]
    rooted = build(values, {"tree": {"World": tree}})
    assert rooted.levels[3].names.to_list() == ["World"]
    assert groups_of(rooted)[:3] == groups_of(hierarchy)[:3]
    assert build(pl.Series([1, 2]), {"tree": {"few": [1, 2], "many": [3]}}).leaves.to_list() == [1, 2, 3]


def test_nested_trees_that_are_none():
    values = pl.Series(["a"])
    with pytest.raises(HierarchyError, match="empty"):
        build(values, {"tree": {}})
    with pytest.raises(HierarchyError, match="node 'Other' at level 1 has two parents, 'X' and 'Y'"):
        build(values, {"tree": {"X": {"Other": ["a", "b"]}, "Y": {"Other": ["c", "d"]}}})
    endless: dict[str, object] = {}
    endless["again"] = endless
    with pytest.raises(HierarchyError, match="cyclic"):
        build(values, {"tree": {"X": endless, "Y": ["a"]}})
    with pytest.raises(HierarchyError, match="1 value of the data is missing: 'a'"):
        build(values, {"tree": {"X": ["b"]}})


# --- intervals --------------------------------------------------------------------------------------------


@given(INTS, st.sampled_from([[5, 10, 20], [1, 3], [7]]), st.integers(-9, 9))
def test_widths_of_integers(values, widths, origin):
    hierarchy = build(pl.Series(values, dtype=pl.Int64), {"widths": widths, "origin": origin})
    check(hierarchy)
    for index, width in enumerate(widths, start=1):
        for code, value in enumerate(hierarchy.leaves):
            name = hierarchy.names(*[np.array([code], np.int32)] * 2, level=index)[0]
            if value is None:
                assert name is None
                continue
            first = origin + math.floor((value - origin) / width) * width
            last = first + width - 1
            expected = f"{first} to {last}" if first < 0 else f"{first}-{last}"
            if index < len(hierarchy.levels) - (hierarchy.size > 1):
                assert name == (expected if width > 1 else str(value))


@given(st.lists(st.integers(-500, 500), min_size=1, max_size=12), st.sampled_from([0.1, 0.25, 2.5]))
def test_widths_of_floats_enclose_their_values(hundredths, width):
    values = pl.Series([h / 100 for h in hundredths])
    hierarchy = build(values, {"widths": [width, width * 4]})
    for code, value in enumerate(hierarchy.leaves):
        name = hierarchy.names(*[np.array([code], np.int32)] * 2, level=1)[0]
        low, high = (float(end) for end in name.strip("[)").split(", "))
        assert low <= value < high
        assert high - low == pytest.approx(width)


def test_infinite_values_stand_alone_in_widths():
    hierarchy = build(pl.Series([math.inf, 1.0, -math.inf, math.nan, 7.0]), {"widths": [5.0]})
    check(hierarchy)
    assert hierarchy.levels[1].names.to_list() == ["-inf", "[0.0, 5.0)", "[5.0, 10.0)", "inf", "NaN"]
    assert hierarchy.positions is not None
    assert hierarchy.positions[:4].tolist() == [1, 1, 7, 7]


def test_cuts():
    values = pl.Series([17, 18, 29, 30, 64, 65, -4])
    hierarchy = build(values, {"cuts": [[18, 30, 65], [65]]})
    assert hierarchy.levels[1].names.to_list() == ["<18", "18-29", "30-64", ">=65"]
    assert hierarchy.levels[2].names.to_list() == ["<65", ">=65"]
    floats = build(pl.Series([0.5, 1.5]), {"cuts": [[0, 1, 2]]})
    assert floats.levels[1].names.to_list() == ["[0.0, 1.0)", "[1.0, 2.0)"]
    assert build(values, {"cuts": [18, 30]}).levels[1].names.to_list() == ["<18", "18-29", ">=30"]
    negative = build(pl.Series([-4, 3]), {"cuts": [[-5, 0, 5]]})
    assert negative.levels[1].names.to_list() == ["-5 to -1", "0-4"]


def test_texts_that_are_numbers_keep_their_spelling():
    hierarchy = build(pl.Series(["007", "10", "9", None]), {"widths": [10]})
    assert hierarchy.leaves.to_list() == ["007", "9", "10", None]
    assert hierarchy.levels[1].names.to_list() == ["0-9", "10-19", None]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"widths": [5, 12]}, "widths must divide each other: 12 is not a multiple of 5"),
        ({"widths": [5, 5]}, "widths must grow, but 5 is followed by 5"),
        ({"widths": []}, "widths must have at least one entry, not 0"),
        (
            {"widths": [5, 0, "a"]},
            r"widths\[1\] must be more than 0, not 0; widths\[2\] must be a number, not 'a'",
        ),
        ({"cuts": [[18, 30], [40]]}, r"point 40 at a higher level but not at the level below, \[18, 30\]"),
        ({"cuts": []}, "at least one entry"),
        ({"cuts": [["a"]]}, r"cuts\[0\]\[0\] must be a number, not 'a'"),
        ({"mask": "up"}, "'right' or 'left', not 'up'"),
        ({"mask": "right", "steps": 0}, "steps"),
        ({"dates": ["month"]}, "dates is for dates"),
        ({"width": [5]}, "did you mean 'widths'"),
        ({"widths": [5], "cuts": [[1]]}, "two kinds, 'widths' and 'cuts'"),
        ({"widths": [5], "orign": 3}, "did you mean 'origin'"),
    ],
)
def test_bad_settings(spec, message):
    with pytest.raises(HierarchyError, match=message):
        build(pl.Series([1, 2, 3]), spec)


def test_very_large_numbers():
    hierarchy = build(pl.Series([10**17 + 9, 10**17 + 10, -(10**17)]), {"widths": [10]})
    assert hierarchy.levels[1].names.to_list() == [
        "-100000000000000000 to -99999999999999991",
        "100000000000000000-100000000000000009",
        "100000000000000010-100000000000000019",
    ]
    with pytest.raises(HierarchyError, match=r"width 0.1 is too small for values as large as 1e[+]300"):
        build(pl.Series([1e300]), {"widths": [0.1]})
    with pytest.raises(HierarchyError, match="too small"):
        build(pl.Series([-(2**63)]), {"widths": [5]})


def test_text_where_numbers_are_needed():
    with pytest.raises(HierarchyError, match=r"2 values of the column are text: '2x', 'old'"):
        build(pl.Series(["1", "2x", "old", None]), {"widths": [5]})
    with pytest.raises(HierarchyError, match=r"use \{ dates"):
        build(pl.Series([dt.date(2024, 1, 1)]), {"cuts": [[5]]})
    with pytest.raises(HierarchyError, match="cannot be generalized"):
        build(pl.Series([[1], [2]]))


# --- masks ------------------------------------------------------------------------------------------------


@given(
    st.lists(st.text("01a\u0301", min_size=0, max_size=4), min_size=1, max_size=10, unique=True),
    st.sampled_from(["right", "left"]),
)
@example(["0a\u0301"], "left")
def test_masks(values, side):
    hierarchy = build(pl.Series(values), {"mask": side})
    check(hierarchy)
    longest = max(map(len, values))
    assert len(hierarchy.levels) == max(longest, 1) + (len(values) > 1)
    for masked, groups in enumerate(groups_of(hierarchy)):
        if masked and not (masked == hierarchy.height and len(values) > 1):
            kept = longest - masked
            expected: dict[str, set[object]] = {}
            for value in values:
                part = (
                    value[:kept]
                    if side == "right"
                    else value[len(value) - kept if len(value) > kept else 0 :]
                )
                hidden = "*" * (masked if len(part) == kept else 0)
                expected.setdefault(part + hidden if side == "right" else hidden + part, set()).add(value)
            assert groups == expected


@pytest.mark.parametrize("value", ["xe\u0301as", "\U0001f469\u200d\U0001f469\u200d\U0001f467"])
def test_masks_that_show_the_end_do_not_divide_symbols_wrongly(value):
    """Polars reverses texts by symbols, but cuts them by characters."""
    levels = build(pl.Series([value, "abcdef"]), {"mask": "left", "show": 3}).levels
    assert {f"*{value[-3:]}", "*def"} <= set(levels[0].names)


def test_masks_that_keep_or_step():
    values = pl.Series(["12345", "12399", "13000"])
    kept = build(values, {"mask": "right", "keep": 2})
    assert [level.names.to_list() for level in kept.levels[1:]] == [
        ["1234*", "1239*", "1300*"],
        ["123**", "130**"],
        ["12***", "13***"],
        ["*"],
    ]
    stepped = build(values, {"mask": "right", "steps": 2})
    assert [level.names[0] for level in stepped.levels] == ["12345", "123**", "1****", "*"]
    chosen = build(values, {"mask": "right", "steps": [3]})
    assert [level.names[0] for level in chosen.levels] == ["12345", "12***", "*"]
    with pytest.raises(HierarchyError, match="steps"):
        build(pl.Series(["a" * 200, "b"]), {"mask": "right"})


# --- dates ------------------------------------------------------------------------------------------------


@given(DATES)
def test_dates(values):
    levels = ["day", "month", "quarter", "year", "decade"]
    hierarchy = build(pl.Series(values, dtype=pl.Date), {"dates": levels})
    check(hierarchy)
    for code, value in enumerate(hierarchy.leaves):
        names = (
            [hierarchy.names(*[np.array([code], np.int32)] * 2, level=i)[0] for i in range(1, 6)]
            if value
            else []
        )
        if value:
            assert names == [
                value.isoformat(),
                f"{value.year}-{value.month:02}",
                f"{value.year}-Q{(value.month + 2) // 3}",
                f"{value.year}",
                f"{value.year // 10}0s",
            ]
            assert hierarchy.positions is not None
            assert hierarchy.positions[code] == (value - dt.date(1970, 1, 1)).days


def test_texts_and_times_that_are_dates():
    text = build(
        pl.Series(["2024-12-31", "2023-01-01 12:30", "2024-12-30T23:59:59.5", None]),
        {"dates": ["day", "year"]},
    )
    assert text.leaves.to_list() == ["2023-01-01 12:30", "2024-12-30T23:59:59.5", "2024-12-31", None]
    assert text.levels[1].names.to_list() == ["2023-01-01", "2024-12-30", "2024-12-31", None]
    assert text.levels[2].names.to_list() == ["2023", "2024", None]
    zoned = pl.Series(
        [dt.datetime(2023, 12, 31, 23, 30), dt.datetime(2023, 12, 31, 22)]
    ).dt.replace_time_zone("UTC")
    berlin = build(zoned.dt.convert_time_zone("Europe/Berlin"), {"dates": ["year"]})
    assert berlin.levels[1].names.to_list() == ["2023", "2024"]
    week = build(pl.Series([dt.date(2021, 1, 3), dt.date(2021, 1, 4)]), {"dates": ["week"]})
    assert week.levels[1].names.to_list() == ["2020-W53", "2021-W01"]


@pytest.mark.parametrize(
    ("values", "levels", "message"),
    [
        (["2024-01-01"], ["week", "month"], "a week does not lie inside one month"),
        (["2024-01-01"], ["year", "month"], "a year does not lie inside one month"),
        (["2024-01-01"], ["months"], "did you mean 'month'"),
        (["2024-01-01", "01.02.2024", "2024-02-30"], ["month"], "2 value.*'01.02.2024', '2024-02-30'"),
        (["2024-01-01T10:00+01:00", "2024-01-01T10:00Z"], ["day"], "mixes time zones"),
        (["2024-01-01T10:00+01:00", "2024-01-01T10:00"], ["day"], "mixes time zones"),
    ],
)
def test_dates_that_are_none(values, levels, message):
    with pytest.raises(HierarchyError, match=message):
        build(pl.Series(values), {"dates": levels})


# --- automatic and none -----------------------------------------------------------------------------------


def test_without_a_hierarchy():
    numbers = build(pl.Series([3.5, math.nan, None, -math.inf, 1.0]))
    assert numbers.free
    assert numbers.ordered == 3
    assert numbers.levels[0].names.to_list() == ["-inf", "1.0", "3.5", "NaN", None]
    assert numbers.positions is not None
    assert numbers.positions[:3].tolist() == [1.0, 1.0, 3.5]
    words = build(pl.Series(["b", None, "a"]), "none")
    assert (words.free, words.ordered, words.positions) == (False, 0, None)
    assert words.leaves.to_list() == ["a", "b", None]
    assert build(pl.Series([-0.0, 0.0])).levels[0].names.to_list() == ["0.0"]
    assert build(pl.Series(["x"])).height == 0
    durations = build(pl.Series([dt.timedelta(hours=2), dt.timedelta(minutes=5)]))
    assert durations.levels[0].names.to_list() == ["PT5M", "PT2H"]
    assert build(pl.Series(["b", "a"], dtype=pl.Categorical)).leaves.to_list() == ["a", "b"]


@pytest.mark.parametrize("count", [1, 4, 5, 7, 16, 17, 100, 5000])
def test_automatic_trees_are_balanced(count):
    for values in (pl.Series(range(count)), pl.Series([f"person {i}" for i in range(count)])):
        hierarchy = build(values.shuffle(seed=3), "auto")
        check(hierarchy)
        assert hierarchy.leaves.to_list() == values.to_list()
        assert len(hierarchy.levels) <= 2 + math.log(max(count, 2), 3)
        for index, level in enumerate(hierarchy.levels[1:], start=1):
            below = hierarchy.levels[index - 1].starts
            children = np.diff(np.append(np.searchsorted(below, level.starts), len(below)))
            assert children.max() <= 8
            sizes = np.diff(np.append(level.starts, count))
            assert sizes.max() - sizes.min() <= 1


def test_automatic_names():
    words = build(pl.Series(["item 10", "item 9", "a", "b", "c" * 40, "d", "e", "f"]), "auto")
    assert words.levels[1].names.to_list() == ["{a, b}", "c" * 40 + "..e", "{f, item 9, item 10}"]
    zips = build(pl.Series([f"{n:05}" for n in range(1000, 1100)]), "auto")
    assert zips.levels[1].names.to_list()[:2] == ["01000", "{01001, 01002}"]  # 64 shares of 100
    signed = build(pl.Series(["-3", "10", "2.5", "-12", "9", "x"]), "auto")
    assert signed.leaves.to_list() == ["-12", "-3", "2.5", "9", "10", "x"]
    numbers = build(pl.Series([5, 1, 9, 7, -3, 2, 100, 8]), "auto")
    assert numbers.levels[1].names.to_list() == ["[-3, 1]", "[2, 7]", "[8, 100]"]


def test_texts_that_are_numbers_or_moments_are_named_by_their_meaning():
    values = ["2.50", "10", "-1.50", "7.00", "3.25", "40"]
    tree = build(pl.Series([*values, "x"]), "auto")
    seen = np.array([leaf != "x" for leaf in tree.leaves])
    assert tree.leaves.to_list() == ["-1.50", "2.50", "3.25", "7.00", "10", "40", "x"]
    low, high = np.array([0, 1, 4], np.int32), np.array([1, 1, 6], np.int32)
    starts = tree.levels[1].starts
    for level, first, last in ((None, low[1:2], high[1:2]), (1, starts, tree.high[1, starts])):
        names = tree.names(first, last, level, seen)
        # The same values without the text, as a file without types has them.
        assert all(
            name.strip("[]").split(", ")[0] in ("-1.5", "2.5", "3.25", "7.0", "10.0") for name in names
        )
        again = tree.read(names)
        assert again[2].all()
        assert (again[0] == tree.narrow_to_seen(first, last, seen)[0]).all()
        assert (again[1] == tree.narrow_to_seen(first, last, seen)[1]).all()
    assert tree.own_names.to_list() == tree.leaves.to_list()
    moments = build(pl.Series(["2001-02-03T04:05", "1999-01-01T00:00", "soon"]))
    seen = np.array([leaf != "soon" for leaf in moments.leaves])
    codes = moments.locate(pl.Series(["2001-02-03T04:05", "1999-01-01T00:00"]))
    assert moments.names(codes, codes, None, seen).to_list() == ["2001-02-03 04:05:00", "1999-01-01 00:00:00"]
    assert (
        moments.read(pl.Series(["2001-02-03 04:05:00", "1999-01-01 00:00:00"]))[0].tolist() == codes.tolist()
    )
