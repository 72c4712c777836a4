"""No public byte depends on a suppressed row, on an identifier, or on a move within a cell: neither the type of a
column, nor a label, nor the order of categories, nor the number of a bucket.

`python -m tests.fuzz.public_bytes` compares many more pairs of tables, over all formats and methods.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.methods import METHODS as ALL_METHODS
from shoal.pipeline.anonymize import anonymize_file
from tests.fuzz.public_bytes import TARGETS, content, from_cells, setting, target, tried
from tests.inputs.pairs import METHODS, odd_pair, pair

UNSUPPRESSED = {"mpalm", "spalm", "permute-generalize"}
"""Methods that suppress nobody, because they bound presence in a population, and publish every member. People of the
population who are not in the table change instead."""


def test_every_method_is_tried():
    assert METHODS.keys() == ALL_METHODS.keys()


@pytest.mark.parametrize("method", METHODS)
def test_nothing_that_is_published_depends_on_what_is_not(method, tmp_path, repeated):
    found = {"changed": 0, "removed": 0, "identifier": 0, "moved": 0}
    count = round(10 * repeated) + 1
    for number in range(500, 500 + count):
        kind, suffix = setting(number + list(METHODS).index(method))
        place = tmp_path / str(number)
        place.mkdir()
        made = odd_pair if number % 2 else pair
        for one, what, parts in tried(number, method, kind, suffix, place, many=4, made=made):
            assert not parts, (number, kind, suffix, one.what, one.column, one.text, one.cell)
            found[one.what] += what == "compared"
    assert found["identifier"] >= 0.4 * (count - 1)
    assert found["changed"] + found["removed"] >= 0.4 * (count - 1)
    assert not (found["removed"] and method in UNSUPPRESSED)


@pytest.mark.parametrize(
    ("number", "method", "kind", "suffix"),
    [
        (10_195, "ring", "pyarrow", ".csv"),  # lists and sets
        (10_261, "ring", ".tsv", ".arrow"),
        (2_000_048, "slicing", "pyarrow", ".csv"),  # numbers of buckets
        (2_000_033, "p-k", ".jsonl", ".parquet"),  # the order of rows after another search
        (2_000_091, "global-1-k", ".jsonl", ".sqlite"),  # noise that rounds to -0.0
        (1_000_140, "nearest", ".xlsx", ".parquet"),  # a text among days of Excel
        (1_000_020, "anatomy", ".csv", ".csv.gz"),  # the order of the second table
    ],
)
def test_pairs_that_once_differed(number, method, kind, suffix, tmp_path):
    outcomes = [(what, parts) for _, what, parts in tried(number, method, kind, suffix, tmp_path)]
    assert "compared" in [what for what, _ in outcomes]
    assert [parts for _, parts in outcomes if parts] == []


EXCEL: dict[str, tuple[list[Any], list[Any]]] = {
    "truth": ([True, False], [7, 0.5, "maybe", dt.datetime(2001, 2, 3), None]),
    "whole": ([1, 20], [True, 0.5, 1e20, "x", dt.datetime(2001, 2, 3), None]),
    "fraction": ([1.5, 20], [False, 7, 1e300, "x", None]),
    "large": ([1e20, 1.0], [False, 0.5, "x", dt.datetime(2001, 2, 3)]),
    "day": ([dt.datetime(2001, 2, 3), dt.datetime(2004, 5, 6)],
            [dt.datetime(2001, 2, 3, 4, 5), "soon", 7, True, None]),
    "moment": ([dt.datetime(2001, 2, 3, 4), dt.datetime(2004, 5, 6)], ["soon", 7, True, None]),
    "text": (["a", "7"], [7, True, dt.datetime(2001, 2, 3), None]),
}  # fmt: skip
"""The cells of published rows, and those of a suppressed one."""


@pytest.mark.parametrize("role", ["plain", "sensitive", "quasi"])
@pytest.mark.parametrize("name", EXCEL)
def test_a_cell_of_another_type_in_excel(name, role, tmp_path):
    cells, others = EXCEL[name]
    columns = {"block": {"role": "quasi", "limit": 0}, "own": {"role": role}}
    if role == "quasi":
        columns["own"]["hierarchy"] = "none"
    policy = shoal.Policy.from_dict(
        {
            "columns": columns,
            "privacy": {"k": 2},
            "utility": {"suppression": 0.4},
            "method": {"name": "lexicographic"},
        }
    )
    expected = None
    for at, other in enumerate([cells[0], *others]):
        place = tmp_path / str(at)
        place.mkdir()
        rows = [{"block": "n", "own": cell} for cell in cells * 2] + [{"block": "r", "own": other}]
        source, out = from_cells(rows, place / "table.xlsx"), place / "release.parquet"
        anonymize_file(source, policy, out, codebooks=[place / "codebook.json"], seed=1)
        found = [content(path) for path in (out, place / "codebook.json")]
        expected = expected or found
        assert found == expected, other


def test_numbers_beyond_integers_are_read_from_excel(tmp_path):
    source = from_cells([{"own": 1e20}, {"own": 3}], tmp_path / "table.xlsx")
    assert shoal.io.read(source).data["own"].to_list() == [1e20, 3.0]


JSON: list[tuple[Any, list[Any]]] = [
    (3, [1.5, 10**20, 1e20, "x", None]),
    (1.5, [3, 10**20, 1e300, "x"]),
    (1e20, [3, "x"]),
    ("2001-02-03", ["soon", 7, "2001-02-03T04:05"]),
    ([1, 2], [[1.5], ["x"], [], None]),
    ({"b": 1}, [{"c": 1}, {"b": 1.5, "c": "x"}, None]),
    ([{"b": 1}], [[{"c": 1.5}], [{"b": "x"}], []]),
]
"""The cell of published rows, and those of a suppressed one."""


def from_json(cell: Any, other: Any, place: Path) -> object:
    """Return the release of a table in JSON lines, with one suppressed row."""
    columns = {"block": {"role": "quasi", "limit": 0}, "own": {"role": "plain"}}
    policy = shoal.Policy.from_dict(
        {"columns": columns, "privacy": {"k": 2}, "utility": {"suppression": 0.4}}
    )
    place.mkdir()
    rows = [{"block": "n", "own": cell}] * 3 + [{"block": "r", "own": other}]
    anonymize_file(from_cells(rows, place / "table.jsonl"), policy, place / "release.parquet", seed=1)
    return content(place / "release.parquet")


@pytest.mark.parametrize(("cell", "others"), JSON)
def test_a_cell_of_another_type_in_json(cell, others, tmp_path):
    expected = from_json(cell, cell, tmp_path / "same")
    for at, other in enumerate(others):
        assert from_json(cell, other, tmp_path / str(at)) == expected, other


@pytest.mark.parametrize(("cell", "other"), [({"b": 1}, "x"), ([1], "x"), ([{"b": 1}], ["x"])])
def test_objects_and_texts_in_one_column_of_json_are_rejected(cell, other, tmp_path):
    with pytest.raises(shoal.DataError, match="'own' holds a list or an object on one line"):
        from_json(cell, other, tmp_path / "table")


def test_texts_with_codes_for_missing_have_the_type_of_published_rows():
    frame = pl.DataFrame({"block": ["n"] * 3 + ["r"], "pay": ["7", "8", "-9", "unknown"]})
    columns = {
        "block": {"role": "quasi", "limit": 0},
        "pay": {"role": "plain", "null_values": ["-9"]},
    }
    policy = shoal.Policy.from_dict(
        {"columns": columns, "privacy": {"k": 3}, "utility": {"suppression": 0.4}}
    )
    for table in (frame, frame.head(3)):
        for given in (table, table.to_pandas(use_pyarrow_extension_array=True), table.to_arrow()):
            made = shoal.anonymize(given, policy, seed=1).table
            assert pl.DataFrame(made)["pay"].dtype == pl.Int64


AGES, PAYS = ["21", "22", "24", "31", "35", "38"], ["1700", "1800", "1800", "2000", "2100", "2200"]
ODD = {
    "a fraction of a year": ("30.5", "1700", "a"),
    "cents": ("30", "1200.5", "a"),
    "a word": ("30", "unknown", "a"),
    "nothing": ("", "", ""),
    "a far value": ("1000007", "99999999999999999999", "a text that is much longer than all others \u4e16"),
    "a number for a text": ("30", "true", "7"),
}


def from_csv(
    folder: Path, suffix: str, hierarchy: object, row: tuple[str, str, str] | None, **more: object
) -> object:
    """Return what is published of a table with this suppressed row, or without one."""
    folder.mkdir()
    lines = [f"n,{age},{pay},t" for age, pay in zip(AGES, PAYS, strict=True)]
    lines += [] if row is None else [",".join(["r", *row])]
    source, out = folder / "table.csv", folder / f"release{suffix}"
    source.write_text("\n".join(["block,age,pay,note", *lines]))
    columns = {
        "block": {"role": "quasi", "limit": 0},
        "age": {"role": "quasi", "hierarchy": hierarchy, **more},
        "pay": {"role": "sensitive"},
        "note": {"role": "plain"},
    }
    policy = shoal.Policy.from_dict(
        {"columns": columns, "privacy": {"k": 3}, "utility": {"suppression": 0.4}}
    )
    books = [folder / "codebook.json"]
    anonymize_file(source, policy, target(out), codebooks=books, seed=1)
    judged = shoal.audit(target(out), policy, original=source)
    assert all(verdict.holds for verdict in judged.verdicts)
    return [content(path) for path in (out, *books)]


@pytest.mark.parametrize("suffix", TARGETS)
def test_every_format_has_the_types_of_its_published_rows(suffix, tmp_path):
    alone = from_csv(tmp_path / "none", suffix, {"widths": [10]}, None)
    for name, row in ODD.items():
        assert from_csv(tmp_path / name, suffix, {"widths": [10]}, row) == alone, name


@pytest.mark.parametrize(
    "hierarchy",
    ["none", {"cuts": [[30]]}, {"widths": [10], "top": 60}, {"widths": [10], "bottom": 31}, {"bottom": 31}],
)
def test_every_label_is_that_of_published_rows(hierarchy, tmp_path):
    alone = from_csv(tmp_path / "none", ".parquet", hierarchy, None, show="bounds")
    for name, row in ODD.items():
        assert from_csv(tmp_path / name, ".parquet", hierarchy, row, show="bounds") == alone, name


def test_what_covers_all_published_values_is_called_like_the_root():
    frame = pl.DataFrame({"block": ["n"] * 4 + ["r"], "age": [20, 30, 40, 50, 107]})
    columns = {"block": {"role": "quasi", "limit": 0}, "age": {"role": "quasi", "hierarchy": "none"}}
    policy = shoal.Policy.from_dict(
        {"columns": columns, "privacy": {"k": 3}, "utility": {"suppression": 0.4}}
    )
    for table in (frame, frame.head(4)):
        assert shoal.anonymize(table, policy, seed=1).table["age"].to_list() == ["*"] * 4


@pytest.mark.parametrize("other", ["3477", "0117", "unknown", "237"])
def test_a_suppressed_text_does_not_change_how_labels_of_numbers_are_written(tmp_path, other):
    rows = [f"a,{number}" for number in (237, 317, 337, 402, 512, 619, 733, 811) for _ in range(2)]
    (tmp_path / "in.csv").write_text("\n".join(["block,code", *rows, f"b,{other}"]) + "\n")
    columns = {"block": {"role": "quasi", "limit": 0}, "code": {"role": "quasi", "hierarchy": "auto"}}
    asked = {"columns": columns, "privacy": {"k": 4}, "utility": {"suppression": 0.1}}
    made = shoal.anonymize(tmp_path / "in.csv", shoal.Policy.from_dict(asked), seed=1)
    labels = made.table["code"].cast(pl.String).unique().to_list()
    assert len(labels) > 1
    assert all(label == "*" or label.startswith("[") for label in labels), labels


WRITTEN = {
    "ages": [21, 22, 24, 31, 35, 38, 44, 47, 52, 59, 63, 70],
    "codes": [117, 127, 137, 147, 217, 227, 237, 247, 317, 327, 337, 347],
    "zip codes": [
        "02108",
        "02139",
        "02201",
        "03311",
        "06510",
        "06515",
        "07002",
        "07010",
        "08800",
        "08801",
        "09000",
    ],
    "codes with letters": ["A10", "A1B", "A22", "B13", "B99", "C01", "C45", "CC1", "D12", "D7A", "E55"],
    "negative numbers": [-21, -3, 0, 4, 11, 15, -8, 27, 30, -40, 6, 9],
    "prices": [
        "2.50",
        "3.75",
        "10.00",
        "11.25",
        "0.50",
        "7.00",
        "-1.50",
        "8.25",
        "9.00",
        "12.10",
        "1.00",
        "6.50",
    ],
    "moments": [f"19{year}-05-06T0{year % 2}:00:00" for year in range(60, 84, 2)],
    "years and moments": [f"19{year}-05-06T00:00" for year in range(60, 72)],
}
OTHERS = [
    "unknown",
    "33",
    "30.5",
    "",
    "0117",
    "-5",
    "3477",
    "A",
    "2999-01-01",
    "x" * 300,
    "1e300",
    "true",
    "\u4e16",
]


@pytest.mark.parametrize("method", ["mondrian", "full-domain"])
@pytest.mark.parametrize("name", WRITTEN)
def test_labels_of_automatic_hierarchies_follow_from_published_values(name, method, tmp_path):
    """A suppressed text of another length, or with a letter, once turned masks into ranges, fractions into texts as
    written, and categories with an order into ones without. Where other classes are formed, nothing is compared."""
    columns = {"block": {"role": "quasi", "limit": 0}, "own": {"role": "quasi", "hierarchy": "auto"}}
    asked = {
        "columns": columns,
        "privacy": {"k": 4},
        "utility": {"suppression": 0.2},
        "method": {"name": method},
    }
    policy, values = shoal.Policy.from_dict(asked), [value for value in WRITTEN[name] for _ in range(2)]
    found: dict[str, Any] = {}
    for at, other in enumerate([None, *OTHERS]):
        place = tmp_path / str(at)
        place.mkdir()
        lines = [f"n,{value}" for value in values] + ([] if other is None else [f"r,{other}"])
        (place / "table.csv").write_text("\n".join(["block,own", *lines]) + "\n")
        books = [place / "codebook.json"]
        try:
            made = anonymize_file(place / "table.csv", policy, place / "out.parquet", codebooks=books, seed=1)
        except shoal.HierarchyError:  # a word among dates
            continue
        classes = made.release.region_of[: len(values)]
        together = (classes[:, None] == classes).tobytes()
        seen = [content(path) for path in (place / "out.parquet", *books)] + [made.card]
        first = found.setdefault(str(together), (other, seen))
        assert seen == first[1], (other, first[0])
    assert len(found) < 1 + len(OTHERS)


def test_lists_of_odd_texts_are_true_if_a_suppressed_value_lies_between_them():
    values = ["..f", "a", "a..b", "b..c", "c", "d", "e..", "h", "h, i", "i", "k #2", "{j}"]
    frame = pl.DataFrame({"block": ["n"] * 24 + ["r"], "own": [*values * 2, "zz.."]})
    columns = {"block": {"role": "quasi", "limit": 0}, "own": {"role": "quasi", "hierarchy": "auto"}}
    asked = {"columns": columns, "privacy": {"k": 4}, "utility": {"suppression": 0.2}}
    policy = shoal.Policy.from_dict(asked | {"method": {"name": "incognito"}})
    made = shoal.anonymize(frame, policy, seed=1)
    assert "{i, k #2, {j}}" in made.table["own"].to_list()
    assert all(verdict.holds for verdict in shoal.audit(made.table, policy, original=frame).verdicts)
