"""What leaves is what was verified: files are read back before they get their names, frames once they are converted."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import json
import math
from collections import defaultdict
from dataclasses import replace
from decimal import Decimal

import pandas as pd
import polars as pl
import pyarrow.feather
import pyarrow.parquet
import pytest
from click.testing import CliRunner

import shoal
from shoal import io
from shoal.apps.cli import main
from shoal.coding.encode import encode
from shoal.errors import OutputError, ViolationError
from shoal.io import FORMATS, dataframes
from shoal.io.formats.format import FileFormat
from shoal.judging.read_case import read_proposal
from shoal.methods import METHODS
from shoal.methods.partitioning.mondrian import Mondrian
from shoal.network.anonymize_network import anonymize_network_files
from shoal.network.network_files import NetworkFiles
from shoal.pipeline.anonymize import anonymize_file
from shoal.policy import Policy

NAN, INF = math.nan, math.inf
FILES = [kind.suffixes[0] for kind in FORMATS.values() if issubclass(kind, FileFormat)]
PEOPLE = pl.DataFrame(
    {"age": [30, 31, 32, 33, 40, 41, 42, 43], "town": list("abcdabcd"), "ill": list("uvwxuvwx")}
)


def policy(**more):
    return shoal.Policy.from_keywords(quasi=["age", "town"], sensitive=["ill"], **{"k": 4, "l": 2, **more})


def anonymized(folder, table, name, asked=None, **more):
    """Anonymize a table from file to file, and return the result and where it is."""
    table.write_parquet(folder / "in.parquet")
    chosen = asked or shoal.Policy.from_keywords(**more)
    result = anonymize_file(folder / "in.parquet", chosen, folder / name, seed=1)
    return result, folder / name


def refused(folder, table, name, monkeypatch, **more):
    """Return why an output is refused. The method must not have started, and nothing is there afterwards."""

    def started(*_):
        pytest.fail("the work has begun")

    monkeypatch.setattr(Mondrian, "anonymize", started)
    with pytest.raises(OutputError) as caught:
        anonymized(folder, table, name, **more)
    assert sorted(path.name for path in folder.iterdir()) == ["in.parquet"]
    return str(caught.value)


# --- the cases that were found ----------------------------------------------------------------------------


def test_json_lines_cannot_tell_nan_and_infinity_from_null(tmp_path, monkeypatch):
    """The run said that 4-diversity was reached; the file had four nulls."""
    table = pl.DataFrame({"q": [1] * 4, "s": [NAN, INF, -INF, None]})
    why = refused(tmp_path, table, "out.jsonl", monkeypatch, quasi=["q"], sensitive=["s"], k=4, l=4)
    assert "column 's' has NaN or infinity" in why
    others = "Parquet (.parquet), Arrow IPC (.arrow), Excel (.xlsx), SPSS (.sav) or Stata (.dta)"
    assert f"write CSV (.csv), TSV (.tsv), {others} instead" in why


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".arrow", ".xlsx"])
def test_other_formats_tell_nan_and_infinity_from_null(tmp_path, ending):
    table = pl.DataFrame({"q": [1] * 4, "s": [NAN, INF, -INF, None]})
    result, path = anonymized(tmp_path, table, f"out{ending}", quasi=["q"], sensitive=["s"], k=4, l=4)
    assert result.holds
    audit = shoal.audit(path, quasi=["q"], sensitive=["s"], k=4, l=4)
    assert [verdict.reached for verdict in audit.verdicts] == [4, 4]


@pytest.mark.parametrize("role", ["sensitive", "plain"])
@pytest.mark.parametrize(
    ("values", "says"),
    [
        (["", None, "a", "b"], "empty text, which Excel cannot tell from null"),
        (["", "c", "a", "b"], "empty text, which Excel cannot tell from null"),
        (["x" * 32_768, "y", "a", "b"], "more than 32,767 characters"),
        (["\U0001f600" * 16_384, "y", "a", "b"], "more than 32,767 characters"),
        (["\uffff", "y", "a", "b"], "U+FFFE or U+FFFF"),
        (["\x01", "y", "a", "b"], "control characters, which readers of Excel do not all give back"),
        (["_x00aF_", "y", "a", "b"], "some readers of Excel take for a control character"),
    ],
)
def test_text_that_excel_changes_is_refused(tmp_path, monkeypatch, values, says, role):
    table = pl.DataFrame({"q": [1] * 4, "s": values})
    why = refused(tmp_path, table, "out.xlsx", monkeypatch, quasi=["q"], **{role: ["s"]}, k=4)
    assert f"column 's' has {says}" in why or says in why
    assert values[0] == "" or values[0] not in why


@pytest.mark.parametrize("name", ["s\x01", "_x0001_", "s\uffff", "\U0001f600" * 128])
def test_names_that_excel_changes_are_refused(tmp_path, monkeypatch, name):
    table = pl.DataFrame({"q": [1] * 4, name: ["a", "b"] * 2})
    why = refused(tmp_path, table, "out.xlsx", monkeypatch, quasi=["q"], plain=[name], k=4)
    assert "a column name has" in why


@pytest.mark.parametrize("role", ["quasi", "sensitive", "plain"])
@pytest.mark.parametrize(
    "values",
    [
        pl.Series([0.1 + 0.2, 0.3]),
        pl.Series([1e300, 2e300]),
        pl.Series([2.0**60, 1.0]),
        pl.Series([5e-324, 1.7976931348623157e308]),
        pl.Series([2**53 + 1, 2**53 + 3]),
        pl.Series([Decimal("12345678901234567890.12"), Decimal("12345678901234567890.13")]),
        pl.Series([dt.datetime(2020, 1, 1, 0, 0, 0, 1), dt.datetime(2020, 1, 1, 0, 0, 0, 2)]),
        pl.Series([dt.datetime(1700, 1, 1), dt.datetime(2020, 1, 1)]),
        pl.Series([dt.date(1, 1, 1), dt.date(1900, 2, 28)]),
        pl.Series([dt.time(1, 2, 3, 4), dt.time(1, 2, 3, 5)]),
    ],
    ids=[
        "fraction",
        "huge",
        "whole",
        "extreme",
        "integer",
        "decimal",
        "microsecond",
        "1700",
        "year 1",
        "time",
    ],
)
def test_excel_keeps_what_it_would_round_as_text(tmp_path, values, role):
    """`0.1 + 0.2` and `0.3` were one number; 1e300 made a file that Shoal could not read."""
    table = pl.DataFrame({"q": [1, 1, 2, 2] * 2, "s": values.gather([0, 1] * 4)})
    names = {"quasi": ["q"]} | ({"quasi": ["q", "s"]} if role == "quasi" else {role: ["s"]})
    # In four classes, so that every value stands alone.
    result, path = anonymized(tmp_path, table, "out.xlsx", **names, k=2)
    assert result.holds
    assert result.losses.get("s", 0.0) == 0.0
    assert io.read(path).column("s").n_unique() == 2
    assert shoal.audit(path, **names, k=2, original=table).holds


def test_excel_holds_a_column_called_star(tmp_path):
    table = pl.DataFrame({"*": [1, 1, 2, 2], "b": ["x", "y", "x", "y"], "c": [0.5] * 4})
    result, path = anonymized(tmp_path, table, "out.xlsx", quasi=["*"], sensitive=["b"], plain=["c"], k=2)
    assert result.holds
    assert io.read(path).columns == ["*", "b", "c"]
    assert sorted(io.read(path).data.rows()) == sorted(table.rows())


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (("a", ""), "empty name"),
        (("a", "x" * 256), "255 characters"),
        (("a", "A"), "only in capital letters"),
    ],
)
def test_names_that_a_sheet_cannot_have_are_refused(tmp_path, monkeypatch, names, says):
    table = pl.DataFrame({name: [1, 1] for name in names})
    assert says in refused(tmp_path, table, "out.xlsx", monkeypatch, quasi=[names[0]], plain=[names[1]], k=2)


def test_a_sheet_has_no_empty_rows_at_its_end(tmp_path):
    table = pl.DataFrame({"a": pl.Series([1, 1, None, None], dtype=pl.Int64)})
    with pytest.raises(
        OutputError, match=r"some rows have no value at all.*nothing was written; write Parquet"
    ):
        anonymized(tmp_path, table, "out.xlsx", quasi=["a"], k=2)
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


@pytest.mark.parametrize("ending", [".csv", ".tsv.gz"])
def test_only_quotes_tell_empty_text_from_null_in_csv(tmp_path, monkeypatch, ending):
    """Python's csv, pandas and spreadsheets ignore them, so both are one sensitive value for their users."""
    table = pl.DataFrame({"q": [1] * 4, "s": ["", None] * 2})
    why = refused(tmp_path, table, f"out{ending}", monkeypatch, quasi=["q"], sensitive=["s"], k=4, l=2)
    assert "column 's' is sensitive and has both null and empty text" in why
    monkeypatch.undo()
    for values in (["", "a"] * 2, [None, "a"] * 2):
        one = table.with_columns(s=pl.Series(values))
        result, path = anonymized(tmp_path, one, f"out{ending}", quasi=["q"], sensitive=["s"], k=4, l=2)
        assert result.holds
        path.unlink()
    _, path = anonymized(tmp_path, table, f"out{ending}", quasi=["q"], plain=["s"], k=4)
    text = path.read_bytes() if ending == ".csv" else gzip.decompress(path.read_bytes())
    cells = [line.split("\t" if "tsv" in ending else ",")[1] for line in text.decode().splitlines()]
    assert (cells[0], sorted(cells[1:])) == ("s", ["", "", '""', '""'])


def test_a_blank_line_is_no_row(tmp_path):
    table = pl.DataFrame({"a": ["x", "x", None, None]})
    with pytest.raises(OutputError, match="column 'a' is the only one, and null in it is a blank line"):
        anonymized(tmp_path, table, "out.csv", quasi=["a"], k=2)
    _, path = anonymized(tmp_path, table, "out.jsonl", quasi=["a"], k=2)
    assert sorted(path.read_text().splitlines()) == ['{"a":"x"}'] * 2 + ['{"a":null}'] * 2


def test_messages_name_no_categories(tmp_path, monkeypatch):
    """The type of an Enum lists values of the data."""
    secret = pl.Enum(["secret", "x"])
    table = pl.DataFrame(
        {"q": [1] * 2, "s": pl.Series([{"a": ["x"]}] * 2, dtype=pl.Struct({"a": pl.List(secret)}))}
    )
    why = refused(tmp_path, table, "out.csv", monkeypatch, quasi=["q"], plain=["s"], k=2)
    assert "column 's' holds Struct(a: List(Enum)), which CSV cannot" in why
    with pytest.raises(shoal.errors.DataError, match=r"holds Struct\(a: List\(Enum\)\)"):
        shoal.anonymize(table, quasi=["q", "s"], k=2)


@pytest.mark.parametrize("ending", FILES)
def test_a_release_without_rows_keeps_its_columns_or_is_refused(tmp_path, ending):
    table = pl.DataFrame({"a": ["x", "y"] * 3, "b": range(6), "s": ["x", "y"] * 3})
    names = {"quasi": ["a", "b"], "sensitive": ["s"], "limits": {"a": 0, "b": 0}}
    asked = shoal.Policy.from_keywords(**names, k=4, suppression=1.0, method="full-domain")
    if ending in (".xlsx", ".jsonl"):
        with pytest.raises(OutputError, match=r"there are no rows.*; write CSV \(\.csv\)"):
            anonymized(tmp_path, table, f"out{ending}", asked)
        assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]
        return
    result, path = anonymized(tmp_path, table, f"out{ending}", asked)
    assert (result.suppressed, len(result.table)) == (6, 0)
    assert result.table.columns == ["a", "b", "s"]
    assert path.exists()


def test_all_problems_are_told_at_once_with_the_formats_that_can(tmp_path, monkeypatch):
    table = pl.DataFrame({"q": [1] * 2, "s": ["", "b"], "t": ["x" * 40_000, "y"], "u": [b"a", b"b"]})
    why = refused(
        tmp_path, table, "out.xlsx", monkeypatch, quasi=["q"], sensitive=["s"], plain=["t", "u"], k=2
    )
    assert why.splitlines()[0].endswith(
        "Excel cannot hold this table; write Parquet (.parquet) or Arrow IPC (.arrow) instead"
    )
    assert len(why.splitlines()) == 4


def test_columns_that_are_not_published_do_not_matter(tmp_path):
    """Identifiers are dropped, and generalized values are text, whatever the format can hold."""
    table = pl.DataFrame({"id": ["", None] * 2, "q": [NAN, INF, 1.0, 2.0], "s": ["a", "b"] * 2})
    for name in ("out.xlsx", "out.jsonl"):
        result, _ = anonymized(
            tmp_path, table, name, identifier=["id"], quasi=["q"], sensitive=["s"], k=4, l=2
        )
        assert result.holds


def test_single_values_that_a_format_changes_are_refused_after_the_work(tmp_path):
    """Only then it is known that they are not generalized."""
    table = pl.DataFrame({"q": [NAN, NAN, 1.0, 1.0], "s": ["a", "b"] * 2})
    with pytest.raises(OutputError, match="column 'q' has NaN or infinity"):
        anonymized(tmp_path, table, "out.jsonl", quasi=["q"], sensitive=["s"], k=2)
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


def test_integers_of_128_bits_are_written_so_that_others_can_read_them(tmp_path):
    values = pl.Series([2**100, 2**100 + 1, 2**127 - 1, 0], dtype=pl.Int128)
    for ending, read in ((".parquet", pyarrow.parquet.read_table), (".arrow", pyarrow.feather.read_table)):
        for part in (values.head(2), values):
            table = pl.DataFrame({"q": [1] * len(part), "s": part})
            _, path = anonymized(tmp_path, table, f"{len(part)}{ending}", quasi=["q"], sensitive=["s"], k=2)
            assert sorted(int(cell) for cell in read(path)["s"].to_pylist()) == sorted(part.to_list())


# --- the order of work ------------------------------------------------------------------------------------


def spoiled(monkeypatch, change):
    """Let every file be written with some change to its table."""
    kinds = {kind: kind.save for kind in FORMATS.values() if issubclass(kind, FileFormat)}
    for kind, real in kinds.items():

        def save(self, data, file, target, options, real=real):
            real(self, change(data), file, target, options)

        monkeypatch.setattr(kind, "save", save)


CHANGES = {
    "a sensitive value": lambda data: (
        data.with_columns(ill=pl.Series(["u"] * len(data))) if "ill" in data.columns else data
    ),
    "a cell": lambda data: data.with_columns(
        pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("x")).otherwise(data.to_series(1)).alias("town")
    ),
    "one row less": lambda data: data.head(len(data) - 1),
    "another order": lambda data: data.reverse(),
    "a name": lambda data: data.rename({data.columns[-1]: "other"}),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("ending", FILES)
def test_a_file_that_is_not_what_was_made_never_appears(tmp_path, monkeypatch, ending, change):
    spoiled(monkeypatch, CHANGES[change])
    asked = policy()
    PEOPLE.write_parquet(tmp_path / "in.parquet")
    with pytest.raises(OutputError, match=r"does not give back .*nothing was written; write ") as caught:
        anonymize_file(
            tmp_path / "in.parquet", asked, tmp_path / f"out{ending}",
            record=tmp_path / "record.json", cards=[tmp_path / "card.md"],
        )  # fmt: skip
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]
    assert ".shoal-" not in str(caught.value)


def test_the_second_table_is_read_back_too(tmp_path, monkeypatch):
    """Values of two buckets are exchanged: each table is as it should be but for that."""

    def exchanged(data):
        if "count" not in data.columns:
            return data
        return data.with_columns(pl.Series("ill", data["ill"].to_list()[1:] + data["ill"].to_list()[:1]))

    asked = {"quasi": ["age", "town"], "sensitive": ["ill"], "l": {"probabilistic": 2}, "method": "anatomy"}
    result, path = anonymized(tmp_path, PEOPLE, "good.csv", **asked)
    assert result.holds
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "good-sensitive.csv",
        "good.csv",
        "in.parquet",
    ]
    assert shoal.audit(path, original=PEOPLE, **asked).holds
    spoiled(monkeypatch, exchanged)
    with pytest.raises(OutputError, match=r"out-sensitive\.csv: CSV does not give back the values of 'ill'"):
        anonymized(tmp_path, PEOPLE, "out.csv", **asked)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "good-sensitive.csv",
        "good.csv",
        "in.parquet",
    ]


@pytest.mark.parametrize("ending", FILES)
def test_verdicts_are_those_of_the_file(tmp_path, monkeypatch, ending):
    """If the comparison let it pass, a file that violates the policy would still not appear."""
    spoiled(monkeypatch, CHANGES["a sensitive value"])
    monkeypatch.setattr("shoal.io.read_back.compare_returned", lambda back, given: (back, ""))
    with pytest.raises(ViolationError, match="so it was not written"):
        anonymized(tmp_path, PEOPLE, f"out{ending}", policy())
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


@pytest.mark.parametrize("ending", FILES)
def test_classes_of_the_file_are_those_that_were_verified(tmp_path, ending):
    """Read with other readers than ours where the standard library has one."""
    result, path = anonymized(tmp_path, PEOPLE, f"out{ending}", policy())
    if ending in (".csv", ".tsv"):
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t" if ending == ".tsv" else ","))
    elif ending == ".jsonl":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    else:
        rows = io.read(path).data.to_dicts()
    classes = defaultdict(list)
    for row in rows:
        classes[row["age"], row["town"]].append(row["ill"])
    assert len(classes) == result.classes
    assert min(map(len, classes.values())) >= 4
    assert min(len(set(values)) for values in classes.values()) >= 2


def test_owners_are_shuffled_with_their_rows(tmp_path):
    """Measures that need the owner of each row would differ from those of the rows in their first order."""
    asked = policy().override(["method.name=hybrid", "privacy.relocation.budget=0.2"])
    result, _ = anonymized(tmp_path, PEOPLE, "out.csv", asked)
    in_memory = read_proposal(asked, encode(PEOPLE, asked.plans(PEOPLE.columns)), result.release)
    assert dict(result.measures) == pytest.approx(dict(in_memory.measures))
    verdicts = [replace(v, detail="") for v in result.verdicts]
    assert verdicts.pop().model == "truthful"  # the run compares the release with its original, too
    assert verdicts == [replace(v, detail="") for v in in_memory.verdicts]


def test_the_command_line_says_what_to_write_instead(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"q": [1] * 4, "s": [NAN, INF, -INF, None]}).write_parquet("in.parquet")
    words = ["anonymize", "in.parquet", "-o", "out.jsonl", "--quasi", "q", "--sensitive", "s", "--k", "2"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == OutputError.exit_code
    assert "write CSV (.csv), TSV (.tsv), Parquet (.parquet)" in " ".join(result.stderr.split())


# --- networks ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "arrow"])
def test_a_masked_network_is_read_back(tmp_path, monkeypatch, kind):
    edges = pl.DataFrame({"a": [0, 1, 2, 3, 4, 5, 6], "b": [1, 2, 3, 4, 5, 6, 7]})
    nodes = PEOPLE.with_row_index("id")
    nodes.write_parquet(tmp_path / "nodes.parquet")
    edges.write_parquet(tmp_path / "edges.parquet")
    asked = shoal.Policy.from_keywords(identifier=["id"], quasi=["age", "town"], sensitive=["ill"], k=2)
    given = (
        tmp_path / "nodes.parquet",
        tmp_path / "edges.parquet",
        asked,
        NetworkFiles(folder=tmp_path / "out", kind=kind),
    )
    spoiled(monkeypatch, CHANGES["a sensitive value"])
    with pytest.raises(OutputError, match=rf"members\.{kind}: .* does not give back the values of 'ill'"):
        anonymize_network_files(*given, seed=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edges.parquet", "nodes.parquet"]
    monkeypatch.undo()
    anonymize_network_files(*given, seed=1)
    assert io.read(tmp_path / "out" / f"members.{kind}").rows == 8


def test_null_and_empty_text_in_a_member_table_are_refused(tmp_path):
    nodes = PEOPLE.with_row_index("id").with_columns(ill=pl.Series(["", None] * 4))
    nodes.write_parquet(tmp_path / "nodes.parquet")
    pl.DataFrame({"a": [0, 1], "b": [1, 2]}).write_parquet(tmp_path / "edges.parquet")
    asked = shoal.Policy.from_keywords(identifier=["id"], quasi=["age", "town"], sensitive=["ill"], k=2)
    given = (
        tmp_path / "nodes.parquet",
        tmp_path / "edges.parquet",
        asked,
        NetworkFiles(folder=tmp_path / "out"),
    )
    with pytest.raises(OutputError, match="column 'ill' is sensitive and has both null and empty text"):
        anonymize_network_files(*given, seed=1)
    assert not (tmp_path / "out").exists()


# --- frames -----------------------------------------------------------------------------------------------

KINDS = {
    "polars": lambda table: table,
    "polars-lazy": lambda table: table.lazy(),
    "pandas": lambda table: table.to_pandas(),
    "pyarrow": lambda table: table.to_arrow(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_is_verified_as_converted(monkeypatch, kind):
    table = KINDS[kind](PEOPLE)
    asked = {"quasi": ["age", "town"], "sensitive": ["ill"], "k": 4, "l": 2}
    result = shoal.anonymize(table, **asked, seed=1)
    assert type(result.table) is type(table)
    real = dataframes.give_back

    def spoil(data, *more):
        return real(CHANGES["a sensitive value"](data), *more)

    monkeypatch.setattr(dataframes, "give_back", spoil)
    with pytest.raises(OutputError, match=f"a {kind} frame does not give back the values of 'ill'"):
        shoal.anonymize(table, **asked)
    monkeypatch.setattr("shoal.io.read_back.compare_returned", lambda back, given: (back, ""))
    with pytest.raises(ViolationError):
        shoal.anonymize(table, **asked)


def test_pandas_integers_that_floats_cannot_hold_stay_apart():
    """2**53 + 1 and 2**53 + 3 became one float, and three verified classes came back as two."""
    values = [2**53 + 1, 2**53 + 3, None] * 3
    table = pd.DataFrame({"a": pd.array(values, dtype="Int64"), "s": list("xyz") * 3})
    result = shoal.anonymize(table, quasi=["a"], sensitive=["s"], k=3)
    assert result.classes == 3
    assert sorted(result.table["a"].dropna().tolist()) == sorted(v for v in values if v)
    assert shoal.audit(result.table, quasi=["a"], sensitive=["s"], k=3, original=table).holds


@pytest.mark.parametrize(
    ("name", "values"), [("o.xlsx", ["", "", "a", "a"] * 4), ("o.jsonl", [1.5, 1.5, math.nan, math.nan] * 4)]
)
def test_exact_quasi_identifiers_are_refused_before_the_work(tmp_path, monkeypatch, name, values):
    """Methods that publish them say at once what the file cannot hold, and others generalize it."""
    source, asked = tmp_path / "d.parquet", {"quasi": ["q"], "sensitive": ["s"]}
    pl.DataFrame({"q": values, "s": list("abcd") * 4}).write_parquet(source)
    exact = [method for method, kind in METHODS.items() if kind.shows.exact]
    assert exact
    for method in exact:
        monkeypatch.setattr(METHODS[method], "anonymize", lambda *_: pytest.fail("worked"))
        policy = Policy.from_keywords(**asked, l=2, method=method)
        with pytest.raises(OutputError, match=rf"{name}: column 'q' .* instead"):
            anonymize_file(source, policy, tmp_path / name)
