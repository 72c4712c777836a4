"""Large tables are worked on in pieces: with small pieces, every table is large, and nothing may change."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal
from itertools import permutations

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal import io
from shoal.apps.samples import sample
from shoal.coding import encode
from shoal.coding.column_plan import ColumnPlan
from shoal.coding.roles import PLAIN, QUASI, SENSITIVE
from shoal.errors import DataError, OutputError
from shoal.io import coded, frame, output, sheet
from shoal.io import read_back as returning
from shoal.io.coded import narrowest
from shoal.io.formats import format as base
from shoal.io.formats import parquet
from shoal.judging.models import MODELS
from shoal.judging.models.requirements import Requirements
from shoal.kernels import grouping
from shoal.methods.full_domain import rollups
from shoal.methods.full_domain.full_domain import FullDomain
from shoal.methods.partitioning import branches, mondrian
from shoal.pipeline.anonymize import anonymize_file
from shoal.release import read_published as reading
from shoal.release import render
from shoal.support.run import Run

KINDS = {
    "text": pl.Series(
        [None, "", "a", "ä", "NA", "a long text that no short view holds", "a"], dtype=pl.String
    ),
    "words": pl.Series(["x", "y", None, "x", "x", "y", "z"], dtype=pl.Categorical),
    "sizes": pl.Series(["s", "m", None, "l", "s", "s", "m"], dtype=pl.Enum(["s", "m", "l", "xl"])),
    "int": pl.Series([5, None, -(2**63), 2**63 - 1, 5, 0, 0], dtype=pl.Int64),
    "float": pl.Series([0.0, -0.0, None, float("nan"), 1.5, 1.5, float("inf")]),
    "bool": pl.Series([True, None, False, True, True, None, False]),
    "day": pl.Series([dt.date(2020, 1, 1), None, dt.date(1, 1, 1)] * 2 + [None]),
    "cents": pl.Series([Decimal("1.10"), None, Decimal("-0.01")] * 2 + [Decimal(0)], dtype=pl.Decimal(10, 2)),
    "null": pl.Series([None] * 7, dtype=pl.String),
    "a.b": pl.Series(list("aabbcca")),
}


@pytest.fixture
def small_pieces(monkeypatch):
    for module in (coded, frame, encode):
        monkeypatch.setattr(module, "PIECE", 3)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize("name", KINDS)
def test_columns_of_a_file_are_coded_in_pieces(name, suffix, tmp_path, small_pieces):
    path = io.write(pl.DataFrame({name: KINDS[name], "other": range(7)}), tmp_path / f"t{suffix}")
    read = io.read(path)
    found = read.code_column(name)
    shown, wanted = found.gather(slice(None)), KINDS[name].alias(name)
    assert shown.equals(read.column(name), null_equal=True, check_dtypes=True)
    assert shown.cast(pl.String).equals(wanted.cast(pl.String), null_equal=True) or wanted.dtype.is_float()
    assert found.codes.dtype == np.uint8
    assert sorted(set(found.codes.tolist())) == list(range(len(found.values)))


@pytest.mark.parametrize("values", [["b", None, "a", "a", "b"], ["b"] * 5, ["a", "b", "c", "d", "e"]])
def test_dictionaries_of_row_groups_are_joined(values, tmp_path, small_pieces):
    path = tmp_path / "groups.parquet"
    pq.write_table(pa.table({"x": pa.array(values), "x.y": list("vwxyz")}), path, row_group_size=2)
    for name, wanted in (("x", values), ("x.y", list("vwxyz"))):
        assert io.read(path).code_column(name).gather(slice(None)).to_list() == wanted


def test_values_that_only_a_dictionary_lists_are_no_values_of_the_column(tmp_path, small_pieces):
    path = tmp_path / "listed.parquet"
    listed = pa.DictionaryArray.from_arrays(pa.array([0, 2, None, 0, 2]), pa.array(["a", "nobody", "b"]))
    pq.write_table(pa.table({"x": listed}), path)
    found = io.read(path).code_column("x")
    assert sorted(found.values.drop_nulls().cast(pl.String)) == ["a", "b"]


def test_bytes_that_are_not_text_are_refused(tmp_path, small_pieces):
    path = tmp_path / "odd.parquet"
    odd = pa.Array.from_buffers(pa.string(), 4, pa.array([b"\xff"] * 4).buffers())
    pq.write_table(pa.table({"x": odd}), path)
    with pytest.raises(DataError, match="x"):
        io.read(path).code_column("x")


def test_reading_options_hold_for_columns_in_pieces(tmp_path, small_pieces):
    path = io.write(pl.DataFrame({"x": ["a", "NA", "b", "NA", "a"]}), tmp_path / "t.parquet")
    found = io.read(path, io.ReadOptions(null_values=("NA",))).code_column("x")
    assert found.gather(slice(None)).to_list() == ["a", None, "b", None, "a"]


def test_a_file_that_changes_between_its_columns_is_refused(tmp_path, small_pieces):
    path = io.write(pl.DataFrame({"x": list("aabbc")}), tmp_path / "t.parquet")
    read = io.read(path)
    io.write(pl.DataFrame({"x": list("bbaac")}), path, force=True)
    with pytest.raises(DataError, match="changed"):
        read.code_column("x")


@given(st.lists(st.sampled_from(["a", "b", None, "c"]), min_size=1, max_size=12))
def test_tables_are_coded_alike_whole_and_in_pieces(values):
    rows = pl.DataFrame({"q": values, "s": values[::-1], "p": values, "n": range(len(values))}, strict=False)
    rows = rows.with_columns(q=pl.col("q").fill_null("d"), s=pl.col("s").fill_null("d"))
    plan = [
        ColumnPlan("q", QUASI),
        ColumnPlan("s", SENSITIVE),
        ColumnPlan("p", PLAIN),
        ColumnPlan("n", PLAIN),
    ]
    whole = encode.encode(rows, plan)
    with pytest.MonkeyPatch.context() as patch:
        for module in (coded, frame, encode):
            patch.setattr(module, "PIECE", 2)
        pieces = encode.encode(rows, plan)
    assert np.array_equal(whole.quasi.wide, pieces.quasi.wide)
    assert np.array_equal(whole.secrets.wide, pieces.secrets.wide)
    assert whole.kept.whole.equals(pieces.kept.whole)
    assert pieces.kept.whole.equals(rows.select("s", "p", "n"))
    assert pieces.quasi.narrow[0].dtype == np.uint8


@pytest.mark.parametrize(("size", "kind"), [(1, "uint8"), (256, "uint8"), (257, "uint16"), (65_537, "int32")])
def test_the_narrowest_type(size, kind):
    assert narrowest(size) == np.dtype(kind)
    assert np.arange(size, dtype=np.int64)[-1] == np.arange(size, dtype=np.int64).astype(kind)[-1]


# --- publishing ---------------------------------------------------------------------------------------------


@pytest.fixture
def small_sheets(monkeypatch, small_pieces):
    for module in (output, sheet, parquet, base, reading, grouping):
        monkeypatch.setattr(module, "PIECE", 4)


def policy(**more):
    return shoal.Policy.from_dict(
        {
            "columns": {
                "age": {"role": "quasi", "hierarchy": {"widths": [5, 10]}},
                "sex": {"role": "quasi"},
                "job": {"role": "quasi"},
                "pay": {"role": "sensitive"},
                "note": {"role": "plain"},
                "score": {"role": "plain"},
            },
            "privacy": {"k": 2},
            "utility": {"suppression": 0.2},
            **more,
        }
    )


def people(rows=40):
    random = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "age": random.integers(0, 30, rows),
            "sex": random.choice(["f", "m"], rows),
            "job": pl.Series(random.choice(["a", "b", None], rows).tolist()).cast(pl.Categorical),
            "pay": random.integers(0, 4, rows) * 1000,
            "note": random.choice(["", "x", None, "a longer text than twelve letters"], rows).tolist(),
            "score": np.where(random.random(rows) < 0.3, -0.0, random.random(rows)),
        },
        strict=False,
    )


def released(rows, path, given, folder):
    source = io.write(rows, folder / "in.parquet", force=True)
    result = anonymize_file(source, given, path, seed=5, force=True)
    return result, pl.read_parquet(path)


@pytest.mark.parametrize("method", ["mondrian", "full-domain", "anatomy", "slicing", "k-k"])
def test_a_release_in_pieces_is_the_release(method, tmp_path, request):
    more = {"method": {"name": method}}
    if method in ("anatomy", "slicing"):
        more["privacy"] = {"l": {"probabilistic" if method == "anatomy" else "slicing": 2}}
    if method == "k-k":
        more["privacy"] = {"k": 2, "notion": "k-k"}
    given = policy(**more)
    whole, file = released(people(), tmp_path / "out.parquet", given, tmp_path)
    request.getfixturevalue("small_sheets")
    pieces, other = released(people(), tmp_path / "other.parquet", given, tmp_path)
    assert other.equals(file)
    assert other.schema == file.schema
    assert pieces.table.equals(whole.table)
    assert pieces.measures == whole.measures
    assert [verdict.summary() for verdict in pieces.verdicts] == [v.summary() for v in whole.verdicts]
    zeros = other["score"].to_numpy()
    assert np.signbit(zeros[zeros == 0]).all()


def test_the_order_is_drawn_over_the_whole_file(tmp_path, small_sheets):
    rows = people(200).with_columns(score=pl.Series(np.arange(200.0)))
    _, file = released(rows, tmp_path / "out.parquet", policy(), tmp_path)
    place = file["score"].to_numpy()
    assert len(place) > 150
    # A row that stayed in its piece of four would be at most three places away.
    assert (np.abs(place - np.arange(len(place))) > 10).mean() > 0.7


class _Changing:
    """A writer that changes one cell of a later piece."""

    def __init__(self, change):
        self.change, self.save = change, parquet.Parquet.save_pieces

    def __call__(self, own, pieces, schema, file, target, options):
        def changed():
            for number, piece in enumerate(pieces):
                yield from self.change(number, piece)

        self.save(own, changed(), schema, file, target, options)


def _other_pay(number, piece):
    yield (
        piece.with_columns(pay=pl.when(pl.int_range(pl.len()) == 1).then(7).otherwise("pay"))
        if number == 3
        else piece
    )


def _other_label(number, piece):
    low = piece["age"].cast(pl.String)
    swapped = (
        low.gather([1, 0, *range(2, len(low))]).cast(piece["age"].dtype) if number == 2 else piece["age"]
    )
    yield piece.with_columns(age=swapped)


def _null_note(number, piece):
    yield piece.with_columns(note=pl.lit(None, pl.String)) if number == 1 else piece


def _lost_piece(number, piece):
    if number != 2:
        yield piece


def _more_rows(number, piece):
    yield piece
    if number == 2:
        yield piece


def _moved(number, piece):
    yield piece.reverse() if number == 4 else piece


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_other_pay, "values of 'pay'"),
        (_other_label, "values of 'age'"),
        (_null_note, "values of 'note'"),
        (_lost_piece, "values|number of rows"),
        (_more_rows, "values|number of rows"),
        (_moved, "values of"),
    ],
)
def test_a_writer_that_changes_a_later_piece_is_noticed(change, words, tmp_path, small_sheets, monkeypatch):
    writer = _Changing(change)
    monkeypatch.setattr(parquet.Parquet, "save_pieces", lambda *given: writer(*given))
    with pytest.raises(OutputError, match=words):
        released(people(), tmp_path / "out.parquet", policy(), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.parquet"]


def test_nothing_of_suppressed_rows_is_in_a_file_of_pieces(tmp_path, small_sheets):
    rows = people().with_columns(
        note=pl.when(pl.int_range(pl.len()) == 7).then(pl.lit("only-one-has-this")).otherwise("note"),
        age=pl.when(pl.int_range(pl.len()) == 7).then(pl.lit(900)).otherwise("age"),
        job=pl.when(pl.int_range(pl.len()) == 7)
        .then(pl.lit("recluse"))
        .otherwise(pl.col("job").cast(pl.String)),
    )
    given = policy(method={"name": "full-domain"})
    result, file = released(
        rows.with_columns(pl.col("note", "job").cast(pl.Categorical)),
        tmp_path / "out.parquet",
        given,
        tmp_path,
    )
    assert result.suppressed
    assert "only-one-has-this" not in file["note"].cast(pl.String)
    content = (tmp_path / "out.parquet").read_bytes()
    assert b"only-one-has-this" not in content
    assert b"recluse" not in content


@given(st.data())
def test_a_narrowed_sheet_has_the_same_rows(data):
    height = data.draw(st.integers(1, 12))
    index = np.array(data.draw(st.lists(st.integers(0, 3), min_size=height, max_size=height)), np.int32)
    own = [data.draw(st.lists(st.sampled_from(["a", "b", None]), min_size=4, max_size=4)) for _ in range(2)]
    cells = {
        "shared": sheet.Cells(pl.Series(own[0], dtype=pl.String), index),
        "words": sheet.Cells(pl.Series(own[1], dtype=pl.String).cast(pl.Categorical), index),
        "zero": sheet.Cells(pl.Series([0.0, -0.0, float("nan"), 1.0]), index),
        "plain": sheet.Cells(pl.Series(range(height))),
    }
    wide = sheet.Sheet(cells, height)
    if data.draw(st.booleans()):
        wide = wide.taken(np.array(data.draw(st.permutations(range(height))), np.int32))
    else:
        wide = wide.only(["shared", "words", "zero"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sheet, "PIECE", 5)
        narrow = wide.narrow()
        assert pl.concat(narrow.parts()).equals(wide.whole())
    assert narrow.whole().equals(wide.whole(), null_equal=True)
    assert [narrow[name].to_list() for name in ("shared", "words")] == [
        wide[name].to_list() for name in ("shared", "words")
    ]
    assert narrow.cells["shared"].placed is not None
    assert narrow.cells["zero"].placed is None  # one code for two zeros would change a cell
    numbers, values = narrow.number_cells("words", sheet.code_values)
    assert values.gather(numbers).equals(wide["words"].alias("words"), null_equal=True)
    back = np.array(data.draw(st.permutations(range(height))), np.int32)
    assert narrow.taken(back).whole().equals(wide.whole()[back], null_equal=True)


def test_every_order_of_many_rows_is_equally_likely(monkeypatch, repeated):
    monkeypatch.setattr(render, "PIECE", 1)
    monkeypatch.setattr(render, "BUCKETS", 2)
    random, draws = np.random.default_rng(11), round(24_000 * repeated)
    seen = Counter(tuple(render.permute_rows(4, random).tolist()) for _ in range(draws))
    assert set(seen) == set(permutations(range(4)))
    expected = draws / 24
    # Chi squared with 23 degrees of freedom is above 49.7 once in a thousand.
    assert sum((count - expected) ** 2 / expected for count in seen.values()) < 49.7


def test_many_rows_are_put_in_the_same_order_by_the_same_seed(monkeypatch):
    monkeypatch.setattr(render, "PIECE", 100)
    first, again, other = (render.permute_rows(5000, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert np.array_equal(np.sort(first), np.arange(5000))
    assert first.dtype == np.int32


def test_a_value_that_only_the_file_lists_is_noticed(tmp_path):
    path = tmp_path / "listed.parquet"
    listed = pa.DictionaryArray.from_arrays(pa.array([0, 2, None, 0, 2]), pa.array(["a", "nobody", "b"]))
    pq.write_table(pa.table({"x": listed}), path)
    rows = sheet.Sheet(
        {"x": sheet.Cells(pl.Series(["b", "a", None]), np.array([1, 0, 2, 1, 0], np.int32))}, 5
    ).narrow()
    _, changed = returning.compare_by_codes(parquet.Parquet().row_groups(path), rows, lambda _: [])
    assert changed == "the values of 'x'"
    pq.write_table(pa.table({"x": ["a", "b", None, "a", "b"]}), path, row_group_size=2)
    back, changed = returning.compare_by_codes(parquet.Parquet().row_groups(path), rows, lambda _: [])
    assert (changed, back.whole()["x"].to_list()) == ("", ["a", "b", None, "a", "b"])


@pytest.mark.parametrize("most", [0, 1 << 16])
@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["a", "b", None, "a", "c"], "the values of 'x'"),
        (["a", "b", "", "a", "b"], "the values of 'x'"),
        (["a", "b", None, "b", "a"], "the values of 'x'"),
        (["a", "b", None, "a"], "the number of rows (4 instead of 5)"),
        (["a", "b", None, "a", "b"], ""),
    ],
)
def test_texts_are_compared_by_their_places(cells, words, most, tmp_path, monkeypatch):
    monkeypatch.setattr(returning, "_LISTED", most)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": cells}), path, row_group_size=2)
    rows = sheet.Sheet(
        {"x": sheet.Cells(pl.Series(["b", "a", None]), np.array([1, 0, 2, 1, 0], np.int32))}, 5
    ).narrow()
    assert returning.compare_by_codes(parquet.Parquet().row_groups(path), rows, lambda _: [])[1] == words


@pytest.mark.parametrize("options", [{}, {"strict": False}, {"choose": "width"}])
@pytest.mark.parametrize("limit", [None, 1])
@pytest.mark.parametrize("processors", [1, 2, 5])
@pytest.mark.parametrize("part", [False, True])
def test_mondrian_in_threads_makes_the_same_regions(options, limit, processors, part, monkeypatch):
    plan = [
        ColumnPlan("age", QUASI, {"widths": [20, 40]}, limit=limit),
        *(ColumnPlan(name, QUASI) for name in ("gender", "education", "occupation")),
    ]
    table = encode.encode(sample("census", 3000), plan)
    if part:  # it compares with the whole table, and knows how often values occur there
        table = table.part(np.arange(0, 3000, 3, dtype=np.int32))
    wanted = Requirements(models=(MODELS["k-anonymity"](k=3),), suppression=0.1)
    alone = mondrian.Mondrian(**options).anonymize(table, wanted, Run.start(1))
    for module in (mondrian, branches):
        monkeypatch.setattr(module, "PIECE", 100)
    monkeypatch.setattr(branches, "processors", lambda: processors)
    seen = []
    many = mondrian.Mondrian(**options).anonymize(table, wanted, Run.start(1, lambda *at: seen.append(at)))
    assert np.array_equal(alone.region_of, many.region_of)
    assert np.array_equal(alone.low, many.low)
    assert np.array_equal(alone.high, many.high)
    assert seen


def test_rows_that_are_all_alike_are_one_branch(monkeypatch):
    for module in (mondrian, branches):
        monkeypatch.setattr(module, "PIECE", 10)
    table = encode.encode(
        pl.DataFrame({"a": [1] * 500, "b": ["x"] * 500}), [ColumnPlan(n, QUASI) for n in "ab"]
    )
    wanted = Requirements(models=(MODELS["k-anonymity"](k=3),))
    assert len(mondrian.Mondrian().anonymize(table, wanted, Run.start(1)).low) == 1


def test_full_domain_of_many_equal_rows(monkeypatch):
    columns = ("age", "gender", "education", "marital")
    plan = [ColumnPlan(name, QUASI, {"widths": [5, 20]} if name == "age" else None) for name in columns]
    table = encode.encode(sample("census", 3000), [*plan, ColumnPlan("salary", SENSITIVE)])
    wanted = Requirements(
        models=(MODELS["k-anonymity"](k=3), MODELS["distinct-l"](l=2, column=0, column_name="salary")),
        suppression=0.05,
    )
    whole = FullDomain().anonymize(table, wanted, Run.start(1))
    monkeypatch.setattr(rollups, "PIECE", 100)
    grouped = FullDomain().anonymize(table, wanted, Run.start(1))
    assert np.array_equal(whole.region_of, grouped.region_of)
    assert np.array_equal(whole.low, grouped.low)
    assert whole.levels == grouped.levels
    assert whole.facts == grouped.facts
