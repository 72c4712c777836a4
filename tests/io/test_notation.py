"""Cells as people write them: decimal commas, units, other dates, codes for missing, in every kind of source."""

from __future__ import annotations

import datetime as dt

import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import DataError, PolicyError
from shoal.io import ReadOptions, read, write
from shoal.io.read_options import ColumnReading
from shoal.pipeline.anonymize import anonymize_file
from shoal.policy import Policy
from shoal.release.record import card_markdown


def csv_column(folder, texts, **options):
    path = folder / "t.csv"
    path.write_text("x;y\n" + "".join(f"{text};1\n" for text in texts), encoding="utf-8")
    return read(path, ReadOptions(delimiter=";", **options)).column("x")


@pytest.mark.parametrize(
    ("texts", "decimal", "thousands", "values"),
    [
        (["1,5", "-2,25", "3"], ",", "", [1.5, -2.25, 3.0]),
        (["1.234,5", "12", "-1.000.000,25"], ",", ".", [1234.5, 12.0, -1000000.25]),
        (["1.234", "12"], ",", ".", [1234, 12]),
        (["1,234.5", "12.25"], ".", ",", [1234.5, 12.25]),
        (["1'234", "999"], ".", "'", [1234, 999]),
        (["1 234,5", "1\u00a0234\u00a0567,0", "1\u202f000,0"], ",", " ", [1234.5, 1234567.0, 1000.0]),
        # Not numbers in this notation, so they stay as they are written.
        (["1.5", "2.25"], ",", "", ["1.5", "2.25"]),
        (["1.5", "2.25"], ",", ".", ["1.5", "2.25"]),
        (["1.23", "1.234.56"], ",", ".", ["1.23", "1.234.56"]),
        (["1,10", "1,1"], ",", "", ["1,10", "1,1"]),
        (["01", "1"], ",", ".", ["01", "1"]),
        (["12.5.2020", "1,5"], ",", ".", ["12.5.2020", "1,5"]),
        (["1,5", "x"], ",", "", ["1,5", "x"]),
        # Whole numbers and ISO dates need no decimal sign.
        (["7", "12"], ",", "", [7, 12]),
        (["2020-01-31"], ",", ".", [dt.date(2020, 1, 31)]),
    ],
)
def test_numbers_in_another_notation(tmp_path, texts, decimal, thousands, values):
    assert csv_column(tmp_path, texts, decimal=decimal, thousands=thousands).to_list() == values


@given(st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=5), st.sampled_from([".", " ", "'"]))
def test_any_number_with_a_decimal_comma_is_the_number(tmp_path_factory, cents, mark):
    texts = [f"{cent / 100:,.2f}".replace(",", "m").replace(".", ",").replace("m", mark) for cent in cents]
    found = csv_column(tmp_path_factory.getbasetemp(), texts, decimal=",", thousands=mark)
    assert found.to_list() == [cent / 100 for cent in cents]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"decimal": ","}, "decimal and thousands are both ','"),
        ({"decimal": ";"}, "the decimal sign must be"),
        ({"thousands": "_"}, "the sign between thousands"),
    ],
)
def test_notations_that_nobody_can_read(options, words):
    with pytest.raises(DataError, match=words):
        ReadOptions(**{"thousands": ",", **options})
    with pytest.raises(PolicyError):
        Policy.from_dict(
            {"data": {"thousands": ",", **options}, "columns": {"a": "quasi"}, "privacy": {"k": 2}}
        )


@pytest.mark.parametrize(
    ("texts", "unit", "values"),
    [
        (["12 €", "1.234,50 €", "-3€", "7"], "€", [12.0, 1234.5, -3.0, 7.0]),
        (["EUR 12", "EUR -1,25", "-EUR 3"], "EUR", [12.0, -1.25, -3.0]),
        (["80 kg", "75\u00a0kg"], "kg", [80, 75]),
        (["$1", "$2"], "$", [1, 2]),
        # A unit says that they are numbers, so the same number may be written in two ways.
        (["1,10 €", "1,1 €"], "€", [1.1, 1.1]),
    ],
)
def test_units(tmp_path, texts, unit, values):
    told = {"x": ColumnReading(unit=unit)}
    assert csv_column(tmp_path, texts, decimal=",", thousands=".", columns=told).to_list() == values


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (ColumnReading(unit="€"), r"column 'x': 2 of 3 texts are not numbers with the unit '€'"),
        (ColumnReading(date_format="%d.%m.%Y"), r"column 'x': 3 of 3 texts are not dates in the format %d"),
        (ColumnReading(("secret",), unit="€"), r"column 'x': 1 of 2 texts are not numbers"),
    ],
)
def test_cells_that_are_not_what_was_told_are_counted_and_not_shown(tmp_path, told, words):
    with pytest.raises(DataError, match=words) as caught:
        csv_column(tmp_path, ["12 €", "secret", "13 USD"], columns={"x": told})
    assert "secret" not in str(caught.value)
    assert "null_values" in str(caught.value)


@pytest.mark.parametrize(
    ("form", "texts", "values"),
    [
        ("%d.%m.%Y", ["31.1.2020", "01.12.1959"], [dt.date(2020, 1, 31), dt.date(1959, 12, 1)]),
        ("%m/%d/%Y", ["01/31/2020"], [dt.date(2020, 1, 31)]),
        ("%Y%m%d", ["20200131"], [dt.date(2020, 1, 31)]),
        ("%d %b %Y", ["31 Jan 2020"], [dt.date(2020, 1, 31)]),
        ("%d.%m.%Y %H:%M", ["31.01.2020 23:59"], [dt.datetime(2020, 1, 31, 23, 59)]),
        ("%d.%m.%Y", ["2020-01-31"], [dt.date(2020, 1, 31)]),  # is a date already
    ],
)
def test_dates_in_other_formats(tmp_path, form, texts, values):
    assert csv_column(tmp_path, texts, columns={"x": ColumnReading(date_format=form)}).to_list() == values


CODED = {
    "texts": (["N", "714000", "12"], [None, 714000, 12]),
    "numbers": ([-9, 5, 99], [None, 5, None]),
    "fractions": ([-9.0, 5.5, 99.0], [None, 5.5, None]),
    "dates": ([dt.date(9999, 12, 31), dt.date(2020, 1, 1), None], [None, dt.date(2020, 1, 1), None]),
    "words": (["N", "a", "-9"], [None, "a", None]),
    "codes": (["N", "007", "012"], [None, "007", "012"]),
}
TOLD = {"x": ColumnReading(("N", "-9", "99", "9999-12-31"))}


@pytest.mark.parametrize("case", CODED)
@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "jsonl", "xlsx", "polars", "lazy", "pandas"])
def test_codes_for_missing_are_null_in_every_kind_of_source(tmp_path, kind, case):
    """Texts that are numbers without them become numbers, as in a table that never had codes."""
    given, wanted = CODED[case]
    frame = pl.DataFrame({"x": given, "n": range(len(given))})
    source = {"polars": frame, "lazy": frame.lazy(), "pandas": frame.to_pandas()}.get(kind)
    source = write(frame, tmp_path / f"t.{kind}") if source is None else source
    found = read(source, ReadOptions(columns=TOLD))
    column = found.column("x")
    column = column.dt.date() if isinstance(column.dtype, pl.Datetime) else column  # pandas has no days
    assert column.to_list() == wanted
    assert found.schema["x"] == found.data.schema["x"]


def test_codes_of_the_whole_table_are_null_in_numbers_of_every_format(tmp_path):
    frame = pl.DataFrame({"x": [-9, 5, 2**53 + 1], "y": [-9.0, 0.5, 1.0], "z": ["-9", "a", "b"]})
    for kind in ("csv", "parquet", "jsonl", "arrow"):
        found = read(write(frame, tmp_path / f"t.{kind}"), ReadOptions(null_values=("-9", str(2**53)))).data
        assert found["x"].to_list() == [None, 5, 2**53 + 1]
        assert found["y"].to_list() == [-9.0 if kind == "csv" else None, 0.5, 1.0]  # text is compared as text
        assert found["z"].to_list() == [None, "a", "b"]


def test_a_frame_comes_back_with_the_types_of_what_was_read():
    """A column of text that was told to be numbers is a column of numbers in the release."""
    people = pd.DataFrame({"age": [20, 20, 30, 30], "rent": ["500 €", "N", "600 €", "500 €"]})
    told = {"rent": {"unit": "€", "null_values": ["N"]}}
    result = shoal.anonymize(people, quasi=["age"], plain=["rent"], reading=told, k=2)
    assert sorted(result.table["rent"].dropna()) == [500, 500, 600]
    assert result.table["rent"].isna().sum() == 1


GERMAN = """[data]
decimal = ","
thousands = "."
[columns.Alter]
role = "quasi"
[columns.Geburtsdatum]
role = "quasi"
dates = { format = "%d.%m.%Y" }
hierarchy = { dates = ["year", "decade"] }
[columns.Miete]
role = "quasi"
unit = "€"
hierarchy = { cuts = [[500, 1000], [1000]] }
[columns.Note]
role = "plain"
null_values = ["k.A.", -9]
[privacy]
k = 3
[utility]
suppression = 0.1
"""


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx", "jsonl"])
def test_a_german_file_is_released_and_audited(tmp_path, ending):
    """Shoal writes numbers with points and ISO dates, and reads its own release so."""
    rows = [
        f"{20 + i % 5};0{1 + i % 9}.0{1 + i % 7}.{1950 + i % 20};{i % 3}.{100 + i:03},{i % 10}0 €;"
        + ("k.A." if i % 4 == 0 else "-9" if i % 7 == 0 else f"{i % 6},5")
        for i in range(60)
    ]
    (tmp_path / "in.csv").write_text(
        "Alter;Geburtsdatum;Miete;Note\n" + "\n".join(rows) + "\n", encoding="utf-8"
    )
    policy = Policy.from_toml(GERMAN)
    out = tmp_path / f"out.{ending}"
    made = anonymize_file(tmp_path / "in.csv", policy, out, cards=[tmp_path / "c.md"])
    judged = shoal.audit(out, policy, original=tmp_path / "in.csv")
    assert judged.holds
    assert judged.measures["lm"] == pytest.approx(made.measures["lm"])
    assert judged.classes == made.classes
    notes = read(out).column("Note").cast(pl.Float64)
    assert notes.null_count() == made.table["Note"].null_count() > 0
    assert set(notes.drop_nulls()) <= {0.5, 1.5, 2.5, 3.5, 4.5, 5.5}
    assert made.card["codes_for_missing_are_null"] == ["Note"]
    card = (tmp_path / "c.md").read_text()
    assert "Codes for missing values in the original are empty cells here: Note." in card
    assert "k.A." not in card
    assert card.startswith(card_markdown(made.card))


def test_a_release_of_another_tool_may_have_decimal_commas(tmp_path):
    original = pl.DataFrame({"age": [20, 20, 30, 30], "grade": [1.5, 2.5, 1.0, 3.25]})
    theirs = "age;grade\n20;1,5\n20;2,5\n30;1,0\n30;3,25\n"
    (tmp_path / "theirs.csv").write_text(theirs)
    asked = {"quasi": ["age"], "plain": ["grade"], "k": 2}
    judged = shoal.audit(tmp_path / "theirs.csv", original=original, **asked, release={"decimal": ","})
    assert judged.holds
    assert "truthful" in [verdict.model for verdict in judged.verdicts]
    unread = shoal.audit(tmp_path / "theirs.csv", original=original, **asked)
    assert [verdict.model for verdict in unread.verdicts if not verdict.holds] == ["truthful"]


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"dates": {"format": "%d.%m.%y"}}, r"columns.a.dates.format: two digits of a year"),
        ({"dates": {"format": "%d.%m"}}, r"columns.a.dates.format: is not the format of a date"),
        ({"dates": {"format": "%d.%m.%Y %Q"}}, r"columns.a.dates.format: is not the format of a date"),
        ({"null_values": "N"}, r"columns.a.null_values: must be a list of codes, not 'N' \(write \['N'\]\)"),
        ({"null_values": [True]}, r"columns.a.null_values: must hold texts and numbers, not true"),
    ],
)
def test_columns_that_are_told_wrongly(entry, words):
    with pytest.raises(PolicyError, match=words):
        Policy.from_dict({"columns": {"a": {"role": "quasi", **entry}}, "privacy": {"k": 2}})


def test_removed_columns_are_not_read_so():
    """Whatever is wrong with their cells does not matter."""
    told = {"born": {"dates": {"format": "%d.%m.%Y"}}}
    people = pl.DataFrame({"age": [1, 1], "born": ["x", "y"]})
    assert shoal.anonymize(people, quasi=["age"], drop=["born"], reading=told, k=2).table.columns == ["age"]
    with pytest.raises(DataError, match="2 of 2 texts are not dates"):
        shoal.anonymize(people, quasi=["age"], plain=["born"], reading=told, k=2)
