"""Contract of every file format in the registry: its names, what it holds, what it refuses, its documentation."""

from __future__ import annotations

import csv
import dataclasses
import datetime as dt
import json
import re
import subprocess
import sys
import zipfile
from decimal import Decimal
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import polars as pl
import pyarrow.feather
import pyarrow.parquet
import pyreadstat
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.apps.cli import main
from shoal.errors import DataError, OutputError
from shoal.io import FORMATS, Frame, Outbox, ReadOptions, formats, read, write
from shoal.io.format_limits import refusal
from shoal.io.formats.format import FileFormat, Format
from shoal.io.frame import build_frame
from shoal.io.read_options import ColumnReading

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
FILES = [name for name, kind in FORMATS.items() if issubclass(kind, FileFormat)]
MOMENT = dt.datetime(2021, 5, 5, 0, 0, 1, 500000)
COLUMNS = [
    pl.Series("String", ["01234", "", None, 'a "quoted", word', "two\nlines", "🐟 émoji", " x "]),
    pl.Series("String", ["1.10", "1.1", "NA", None]),
    pl.Series("Boolean", [True, None, False]),
    *(
        pl.Series(dtype.__name__, [0, None, pl.select(dtype.min()).item(), pl.select(dtype.max()).item()], dtype)
        for dtype in (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)
    ),
    pl.Series("Int128", [0, None, -4], pl.Int128),
    pl.Series("UInt128", [0, None, 2**128 - 1], pl.UInt128),
    pl.Series("Int64", [3, -4, None]),
    pl.Series("Float32", [0.5, None, -3.25], pl.Float32),
    pl.Series("Float64", [0.1, None, -3.25, 12345.678]),
    pl.Series("Float64", [0.5, float("inf"), float("nan"), None]),
    pl.Series("Decimal", [Decimal("1.10"), None], pl.Decimal(10, 2)),
    pl.Series("Date", [dt.date(1990, 1, 2), None, dt.date(2001, 12, 31)]),
    pl.Series("Datetime", [MOMENT, None], pl.Datetime("us")),
    pl.Series("Datetime", [MOMENT, None], pl.Datetime("us", "UTC")),
    pl.Series("Time", [dt.time(10, 30), None]),
    pl.Series("Duration", [dt.timedelta(days=1, seconds=2), None]),
    pl.Series("Enum", ["b", None, "a"], pl.Enum(["b", "a"])),
    pl.Series("Categorical", ["b", None, "a"], pl.Categorical),
    pl.Series("Null", [None, None], pl.Null),
    pl.Series("Binary", [b"\x00\xff", None]),
    pl.Series("List", [["a", "b"], None, []]),
    pl.Series("Array", [[1, 2], None], pl.Array(pl.Int64, 2)),
    pl.Series("Struct", [{"x": 1, "y": "a"}, {"x": 2, "y": None}]),
    pl.Series("Object", [object(), object()], dtype=pl.Object),
]  # fmt: skip


# Columns of no type are read as text; integers of 128 bits are decimal numbers, or text beyond 38 digits.
OTHERWISE = ("Null", "UInt128")


def test_samples_cover_every_type():
    named = {word for name in FILES for word in FORMATS[name].refuses}
    assert named <= {column.name for column in COLUMNS}


def published(chosen, data, folder):
    """Return a table as readers of its file see it, and where the file is."""
    with Outbox(force=True) as box:
        path = folder / f"t{chosen.suffixes[0]}"
        back = box.publish(data, path)
        assert not path.exists() or back.height
    return back, path


def in_other_words(column):
    """What each value is, in Python, with NaN equal to itself."""
    if isinstance(column.dtype, pl.Time | pl.Duration):
        return column.to_physical().to_list()  # Python's own types cut nanoseconds
    if isinstance(column.dtype, pl.Datetime):
        return column.dt.epoch(column.dtype.time_unit).to_list()
    return [repr(value) if value is not None else None for value in column.to_list()]


def cells_of(path, name):
    """The cells of a column as other readers than ours see them, in any notation; "" and null are one in CSV."""
    if path.suffix in (".csv", ".tsv"):
        with path.open(newline="", encoding="utf-8") as file:
            return [
                row[name] for row in csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ",")
            ]
    if path.suffix == ".jsonl":
        # Numbers as they are spelled: floats would hide that two of them are one.
        lines = path.read_text(encoding="utf-8").split("\n")[:-1]
        return [repr(json.loads(line, parse_float=str, parse_constant=str)[name]) for line in lines]
    if path.suffix == ".xlsx":
        return cells_of_sheet(path)
    if path.suffix == ".dta":
        return in_other_words(pl.Series(pd.read_stata(path, convert_categoricals=False)[name], strict=False))
    if path.suffix == ".sav":
        raw = pyreadstat.read_sav(path, output_format="dict", disable_datetime_conversion=True)[0]
        return [repr(cell) for cell in list(raw[name])]
    read = pyarrow.parquet.read_table if path.suffix == ".parquet" else pyarrow.feather.read_table
    return in_other_words(pl.Series(pl.from_arrow(read(path)[name].combine_chunks())))


def cells_of_sheet(path):
    """The first column of a sheet as its XML spells it."""
    main = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
    with zipfile.ZipFile(path) as book:
        strings = ElementTree.fromstring(book.read("xl/sharedStrings.xml"))
        sheet = ElementTree.fromstring(book.read("xl/worksheets/sheet1.xml"))
    texts = ["".join(part.itertext()) for part in strings.findall(f"{main}si")]
    cells = []
    for row in sheet.iter(f"{main}row"):
        first = row.find(f"{main}c[@r='A{row.get('r')}']")
        value = None if first is None else first.findtext(f"{main}v")
        shared = first is not None and first.get("t") == "s"
        cells.append(f"text {texts[int(value)]}" if shared else value)
    return cells[1:]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: f"{column.name}-{len(column)}")
@pytest.mark.parametrize("name", FILES)
def test_what_a_format_holds(tmp_path, name, column):
    """The values of a column come back, in their type or another, or are refused with a way out."""
    chosen = FORMATS[name]()
    data = pl.DataFrame([column, pl.Series("n", range(len(column)))])
    problem = chosen.problem(column)
    if problem:
        way = r"write .*\(\..*\).* instead" if column.name != "Object" else "turn such columns into text"
        with pytest.raises(OutputError, match=rf"column '{column.name}' {re.escape(problem)}; {way}"):
            published(chosen, data, tmp_path)
        assert list(tmp_path.iterdir()) == []
        return
    back, _ = published(chosen, data, tmp_path)
    assert back["n"].to_list() == list(range(len(column)))
    if back[column.name].dtype == column.dtype:
        assert back[column.name].equals(column)
    assert chosen.name not in ("parquet", "arrow") or back.schema == data.schema or column.name in OTHERWISE


texts = st.text(
    st.one_of(st.characters(codec="utf-8"), st.sampled_from("0123456789-.:T, ;\"'{}\n\r\ufeff\uffff")),
    max_size=12,
)
moments = st.integers(-(2**62), 2**62)
single = {
    pl.String(): texts,
    pl.Int64(): st.integers(-(2**63), 2**63 - 1),
    pl.Int8(): st.integers(-128, 127),
    pl.UInt64(): st.integers(0, 2**64 - 1),
    pl.Int128(): st.integers(-(2**127), 2**127 - 1),
    pl.Float64(): st.floats() | st.sampled_from([0.1 + 0.2, 0.3, 1e300, 2.0**60]),
    pl.Float32(): st.floats(width=32),
    pl.Boolean(): st.booleans(),
    pl.Date(): st.dates(),
    pl.Datetime("ms"): st.datetimes().map(
        lambda when: when.replace(microsecond=when.microsecond // 1000 * 1000)
    ),
    pl.Datetime("us"): st.datetimes(),
    pl.Datetime("us", "UTC"): st.datetimes(),
    pl.Datetime("us", "Europe/Paris"): st.datetimes(dt.datetime(1970, 1, 1)),
    pl.Datetime("ns"): moments,
    pl.Time(): st.times(),
    pl.Duration("us"): st.integers(-(2**60), 2**60),
    pl.Duration("ns"): moments,
    pl.Decimal(20, 4): st.decimals(-(10**15), 10**15, places=4),
    pl.Categorical(): texts,
    pl.Binary(): st.binary(max_size=4),
}


@st.composite
def columns_of(draw, rows):
    dtype = draw(st.sampled_from(list(single)))
    value = st.none() | single[dtype]
    shape = draw(st.sampled_from(["one", "one", "one", "list", "struct"]))
    if shape == "list":
        value = st.none() | st.lists(value, max_size=3)
        dtype = pl.List(dtype)
    elif shape == "struct":
        value = st.none() | st.fixed_dictionaries({"x": value, "y": st.none() | st.booleans()})
        dtype = pl.Struct({"x": dtype, "y": pl.Boolean})
    return pl.Series("a", draw(st.lists(value, min_size=rows, max_size=rows)), dtype, strict=False)


@pytest.mark.parametrize("name", FILES)
@given(column=st.integers(1, 6).flatmap(columns_of))
@settings(max_examples=300)
def test_values_come_back_or_are_refused_before(tmp_path_factory, name, column):
    """Whatever the type: if a format has no objection, each cell comes back, and other readers tell as many apart."""
    chosen, folder = FORMATS[name](), tmp_path_factory.getbasetemp()
    data = pl.DataFrame([column, pl.Series("n", [f"{row}" for row in range(len(column))])])
    if refusal(chosen, data, sensitive=["a"]):
        return
    back, path = published(chosen, data, folder)
    assert back["a"].dtype != column.dtype or back["a"].equals(column)
    if column.dtype.is_nested():
        return
    own, cells = in_other_words(column), cells_of(path, "a")
    assert len(set(own)) == len(set(zip(own, cells, strict=True))) == len(set(cells))


@pytest.mark.parametrize("name", FORMATS)
def test_names_are_consistent(name):
    kind = FORMATS[name]
    assert kind.name == name
    assert kind.title
    assert kind.suffixes or kind.schemes or kind.is_folder
    assert all(suffix.startswith(".") and suffix == suffix.lower() for suffix in kind.suffixes)
    assert all(scheme == formats.scheme_of(f"{scheme}://host/x") for scheme in kind.schemes)
    assert bool(kind.extra) == bool(kind.reads_with or kind.writes_with)


def test_every_suffix_and_scheme_belongs_to_one_format():
    known = [word for kind in FORMATS.values() for word in (*kind.suffixes, *kind.schemes)]
    assert len(known) == len(set(known))
    assert len(formats.suffixes()) == sum(len(kind.suffixes) for kind in FORMATS.values())


@pytest.mark.parametrize("name", FORMATS)
def test_the_documentation_lists_the_format(name):
    kind = FORMATS[name]
    line = next(line for line in PAGE.read_text().splitlines() if line.startswith(f"| {kind.title} |"))
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    names = ["part-*"] if kind.is_folder else [*kind.suffixes, *(f"{scheme}://" for scheme in kind.schemes)]
    assert cells[1].split(";")[0] == ", ".join(f"`{name}`" for name in names)
    assert (f"extra `{kind.extra}`" in cells[1]) == bool(kind.extra)
    options = [option for option in kind.options if option != "null_values"]
    assert cells[2] == (", ".join(f"`{option}`" for option in options) or "none")


OTHER = ReadOptions(
    delimiter="|",
    encoding="latin-1",
    quote="'",
    sheet="other",
    header=False,
    decimal=",",
    thousands=" ",
    columns={"c": ColumnReading(("NA",))},
    guess_types=False,
    likely_delimiter="|",
    section="release",
)
TABLE = pl.DataFrame({"a": ["2020-01-31", "é, 'x'|y"], "b": [1, 2], "c": ["NA", "x"]})


@pytest.mark.parametrize("option", [field.name for field in dataclasses.fields(ReadOptions)])
@pytest.mark.parametrize("name", FILES)
def test_a_format_ignores_the_options_that_it_does_not_name(tmp_path, name, option):
    kind = FORMATS[name]
    if option in kind.options:
        return
    path = write(TABLE, tmp_path / f"t{kind.suffixes[0]}")
    if option in ("null_values", "columns"):  # they hold for every format
        told = ReadOptions(**{option: {"null_values": ("NA",), "columns": OTHER.columns}[option]})
        assert read(path, told).column("c").to_list() == [None, "x"]
        return
    changed = dataclasses.replace(ReadOptions(), **{option: getattr(OTHER, option)})
    assert read(path, changed).data.equals(read(path).data)


def test_every_option_is_used_by_a_format():
    used = {option for kind in FORMATS.values() for option in kind.options}
    # The first holds for every format. No user sets the others: what to try first, and what messages call the section.
    others = {"columns", "likely_delimiter", "labels", "section"}
    assert used | others == {field.name for field in dataclasses.fields(ReadOptions)}


class Pond(Format):
    """A source that is no file."""

    name = "pond"
    title = "Pond"
    schemes = ("pond",)

    def read(self, source: object, options: ReadOptions) -> Frame:
        data = pl.DataFrame({"asked": [str(source)]})
        return build_frame(self.name, data.lazy(), options)


def test_a_scheme_reaches_its_format_as_it_was_written(monkeypatch):
    monkeypatch.setitem(FORMATS._places, "pond", f"{__name__}:Pond")
    frame = read("POND://me:secret@host//fish?all=1")
    assert (frame.kind, frame.path) == ("pond", None)
    assert frame.column("asked").to_list() == ["POND://me:secret@host//fish?all=1"]
    with pytest.raises(DataError, match=r"cannot read from lake:// addresses") as caught:
        read("lake://me:secret@host/fish.csv")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("command", ["init", "anonymize -o out.csv --quasi a", "audit --quasi a --k 2"])
def test_the_command_line_refuses_an_unknown_scheme(command):
    name, *options = command.split()
    result = CliRunner().invoke(main, [name, "lake://me:secret@host/fish.csv", *options])
    assert result.exit_code == DataError.exit_code
    assert "cannot read from lake:// addresses" in result.stderr
    assert "secret" not in result.stderr


def test_a_wrong_file_name_is_answered_before_polars_is_imported(tmp_path):
    script = (
        "import sys; from shoal import errors, io\n"
        "try: io.read(sys.argv[1])\n"
        "except errors.DataError as error: assert 'no such file' in str(error)\n"
        "try: io.check_writable(sys.argv[1] + '.docx')\n"
        "except errors.OutputError as error: assert 'unknown file ending' in str(error)\n"
        "assert not {'polars', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "t.csv")], check=True)
