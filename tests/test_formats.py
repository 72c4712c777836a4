"""Contract of every file format in the registry: its names, what it keeps, what it refuses, its documentation."""

from __future__ import annotations

import dataclasses
import datetime as dt
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import assume, given
from hypothesis import strategies as st
from polars.testing import assert_series_equal

from shoal.cli import main
from shoal.errors import DataError, OutputError
from shoal.frames import FORMATS, Frame, ReadOptions, formats, read, write
from shoal.frames.formats.base import FileFormat, Format
from shoal.frames.frame import framed

PAGE = Path(__file__).parents[1] / "docs" / "command-line.md"
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


def test_samples_cover_every_type_that_a_format_claims():
    named = {word for name in FILES for word in (*(FORMATS[name].keeps or ()), *FORMATS[name].refuses)}
    assert named <= {column.name for column in COLUMNS}


def round_trip(chosen, column, folder):
    """Return the column, or what comes back; the last row of the table is never empty."""
    data = pl.DataFrame([column, pl.Series("n", range(len(column)))])
    back = read(write(data, folder / f"t{chosen.suffixes[0]}", force=True)).data
    assert back["n"].to_list() == list(range(len(column)))
    return back[column.name]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: f"{column.name}-{len(column)}")
@pytest.mark.parametrize("name", FILES)
def test_what_a_format_holds(tmp_path, name, column):
    """A column comes back as it was, or altered as the format says, or is refused with a way out."""
    chosen = FORMATS[name]()
    if not chosen.holds(column.dtype):
        assert column.name not in (chosen.keeps or ())
        with pytest.raises(
            OutputError, match=rf"column '{column.name}' holds {column.dtype.base_type()}.*Parquet"
        ):
            round_trip(chosen, column, tmp_path)
        assert list(tmp_path.iterdir()) == []
        return
    back = round_trip(chosen, column, tmp_path)
    equal = back.dtype == column.dtype and back.equals(column, null_equal=True)
    # JSON guesses what a list or a struct contains, so its claim is the careful one.
    if not (equal and column.dtype.is_nested()):
        assert equal == (chosen.altered(column) == ""), (chosen.altered(column), back)


texts = st.text(
    st.one_of(st.characters(codec="utf-8"), st.sampled_from("0123456789-.:T, ;\"'\n")), max_size=12
)
values = st.one_of(
    st.lists(st.none() | texts, min_size=1, max_size=5).map(lambda v: pl.Series("a", v, pl.String)),
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5).map(
        lambda v: pl.Series("a", v, pl.Int64)
    ),
    st.lists(st.none() | st.floats(), min_size=1, max_size=5).map(lambda v: pl.Series("a", v, pl.Float64)),
    st.lists(st.none() | st.dates(), min_size=1, max_size=5).map(lambda v: pl.Series("a", v, pl.Date)),
)


@pytest.mark.parametrize("name", FILES)
@given(column=values)
def test_a_column_comes_back_equal_unless_the_format_says_otherwise(tmp_path_factory, name, column):
    chosen = FORMATS[name]()
    assume(chosen.altered(column) == "")
    assert_series_equal(round_trip(chosen, column, tmp_path_factory.getbasetemp()), column)


@pytest.mark.parametrize("name", FORMATS)
def test_names_are_consistent(name):
    kind = FORMATS[name]
    assert kind.name == name
    assert kind.title
    assert kind.suffixes or kind.schemes
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
    assert cells[1].split(";")[0] == ", ".join(f"`{suffix}`" for suffix in kind.suffixes)
    assert (f"extra `{kind.extra}`" in cells[1]) == bool(kind.extra)
    options = [option for option in kind.options if option != "null_values"]
    assert cells[2] == (", ".join(f"`{option}`" for option in options) or "none")


OTHER = ReadOptions(
    delimiter="|",
    encoding="latin-1",
    quote="'",
    sheet="other",
    header=False,
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
    if option == "null_values":
        assert read(path, ReadOptions(null_values=("NA",))).column("c").to_list() == [None, "x"]
        return
    changed = dataclasses.replace(ReadOptions(), **{option: getattr(OTHER, option)})
    assert read(path, changed).data.equals(read(path).data)


def test_every_option_is_used_by_a_format():
    used = {option for kind in FORMATS.values() for option in kind.options}
    # No user sets these two: what to try first, and what messages call the section.
    assert used | {"likely_delimiter", "section"} == {field.name for field in dataclasses.fields(ReadOptions)}


class Pond(Format):
    """A source that is no file."""

    name = "pond"
    title = "Pond"
    schemes = ("pond",)

    def read(self, source: object, options: ReadOptions) -> Frame:
        data = pl.DataFrame({"asked": [str(source)]})
        return framed(self.name, data.lazy(), options)


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
        "import sys; from shoal import errors, frames\n"
        "try: frames.read(sys.argv[1])\n"
        "except errors.DataError as error: assert 'no such file' in str(error)\n"
        "try: frames.check_writable(sys.argv[1] + '.docx')\n"
        "except errors.OutputError as error: assert 'unknown file ending' in str(error)\n"
        "assert not {'polars', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "t.csv")], check=True)
