"""Files that no library can read, policies that no parser can, and what is not a file: a message, never a fault."""

from __future__ import annotations

import errno
import gzip
import json
import os
import random
import socket
import sqlite3
import string
import sys
import time

import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal import io
from shoal.apps.cli import main
from shoal.coding.column_plan import ColumnPlan
from shoal.coding.encode import encode
from shoal.coding.hierarchy.tree_files import read_text
from shoal.coding.roles import DROP, QUASI
from shoal.errors import DataError, HierarchyError, PolicyError, did_you_mean
from shoal.io import read_errors as unreadable
from shoal.io.databases import DatabaseTable
from shoal.network.read_network import read_network
from shoal.pipeline.comparison.comparison import VERSION, Comparison
from shoal.pipeline.comparison.trial import Trial
from shoal.policy import Policy
from shoal.policy.suggestions.harbor import small_areas
from shoal.release.received.read_record import read_record
from shoal.support.machine import files
from shoal.support.wording import type_name
from tests.fuzz import originals

TABLE = pl.DataFrame({"age": [1, 2, 3, 4], "word": ["a", "b", "c", "d"]})


class Panic(BaseException):
    """As a panic of a library in Rust: not an Exception."""


@pytest.mark.parametrize(
    "error",
    [
        Panic("Zaphod"),
        ValueError("Zaphod"),
        OverflowError("Zaphod"),
        RecursionError("Zaphod"),
        EOFError("Zaphod"),
    ],
)
def test_any_error_of_a_library_is_a_damaged_file_and_shows_no_value(error):
    with (
        pytest.raises(DataError, match=r"a.csv: is not a readable CSV file: it is damaged") as raised,
        unreadable.as_data_error("a.csv", "CSV"),
    ):
        raise error
    assert "Zaphod" not in str(raised.value)


@pytest.mark.parametrize(
    "error", [Panic("Zaphod"), OSError(errno.EMFILE, "Too many open files"), ValueError("Zaphod")]
)
def test_a_file_is_not_called_damaged_if_few_more_files_can_be_opened(error, monkeypatch):
    monkeypatch.setattr(unreadable, "few_handles_left", lambda: True)
    with (
        pytest.raises(DataError, match=r"a.csv: cannot be read as CSV: too many files .* `ulimit -n 1024`$"),
        unreadable.as_data_error("a.csv", "CSV"),
    ):
        raise error


@pytest.mark.skipif(sys.platform == "win32", reason="uses limits of Linux")
def test_whether_few_more_files_can_be_opened(tmp_path):
    import resource

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    os.close(lowest)
    assert not files.few_handles_left()
    for more in (0, 1, 3):
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + more, before[1]))
        try:
            few = files.few_handles_left()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
        assert few
    assert not files.few_handles_left()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1), MemoryError(), DataError("x")])
def test_interrupts_lack_of_memory_and_own_errors_stay_what_they_are(error):
    with pytest.raises(type(error)) as raised, unreadable.as_data_error("a.csv", "CSV"):
        raise error
    assert raised.value is error


@pytest.mark.parametrize("ending", ["csv.gz", "tsv.gz"])
def test_damaged_compressed_text_is_refused(tmp_path, ending):
    path = tmp_path / f"data.{ending}"
    good = gzip.compress(TABLE.write_csv().encode() * 50)
    for at in range(len(good)):
        path.write_bytes(good[:at] + bytes([good[at] ^ 0x41]) + good[at + 1 :])
        try:
            io.read(path)
        except DataError as error:
            assert str(path) in str(error)  # noqa: PT017 (some changes hurt nobody)


def test_a_file_that_unpacks_to_more_than_the_memory_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "data.csv.gz"
    path.write_bytes(gzip.compress(b"age,word\n" + b"1,a\n" * 8_000_000))
    monkeypatch.setattr(unreadable, "memory_left", lambda: 10_000_000)
    with pytest.raises(DataError, match=r"unpacks to 0.0 GB or more, and 0.0 GB of memory are left"):
        io.read(path)


def test_a_workbook_that_unpacks_to_more_than_the_memory_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "data.xlsx"
    TABLE.write_excel(path)
    assert io.read(path).rows == 4
    monkeypatch.setattr(unreadable, "memory_left", lambda: 5_000)
    with pytest.raises(DataError, match="unpacks to"):
        io.read(path)


@pytest.mark.parametrize("name", ["zlib", "rot13", "base64", "undefined", "a\0b", "x" * 5000, ""])
def test_encodings_that_are_not_of_text_are_refused(name):
    with pytest.raises(DataError, match="is unknown"):
        io.ReadOptions(encoding=name)
    with pytest.raises(PolicyError, match="is not a known encoding"):
        Policy.from_dict(
            {"data": {"encoding": name}, "columns": {"age": {"role": "quasi"}}, "privacy": {"k": 3}}
        )


def test_a_database_in_utf_16_is_read_and_invalid_text_in_one_is_refused(tmp_path):
    for encoding in ("UTF-8", "UTF-16le", "UTF-16be"):
        path = tmp_path / f"{encoding}.db"
        with sqlite3.connect(path) as own:
            own.execute(f"PRAGMA encoding = '{encoding}'")
            own.execute("CREATE TABLE people (word TEXT, number INTEGER)")
            own.execute("INSERT INTO people VALUES ('é', 1)")
        assert io.read(DatabaseTable(f"sqlite:///{path}", "people")).data.rows() == [("é", 1)]
        with own:
            own.execute("INSERT INTO people VALUES (CAST(x'ffd841' AS TEXT), 2)")
        own.close()
        if encoding == "UTF-8":  # the others have a sign for each pair of bytes
            with pytest.raises(DataError, match="column 'word' holds text that is not valid UTF-8"):
                io.read(DatabaseTable(f"sqlite:///{path}", "people"))


DEEP = "[" * 5000


@pytest.mark.parametrize(
    "content",
    [
        b"[privacy]\nk = " + b"9" * 5000,
        b"[privacy]\nk = " + b"9" * 400,
        b"[population]\nsize = " + b"9" * 400,
        b"[privacy]\nt = " + b"9" * 400,
        b"[privacy]\nk = " + DEEP.encode(),
        b"[a" + b".a" * 5000 + b"]",
        b"\xff\xfe[\x00",
        "[privacy]\nk = 3".encode("utf-16"),
        "[privacy]\nk = 3".encode("utf-32"),
        b"[privacy]\nk = \x003",
        b"[privacy]\nk = 3 # \xff",
        b"[privacy]\nk = 0001-99-99",
    ],
)
def test_policies_that_cannot_be_parsed_are_refused(tmp_path, content):
    path = tmp_path / "policy.toml"
    path.write_bytes(content)
    with pytest.raises(PolicyError) as raised:
        Policy.read(path)
    assert len(str(raised.value)) < 1000


def test_a_setting_that_cannot_be_parsed_is_refused():
    policy = Policy.from_dict({"columns": {"age": {"role": "quasi"}}, "privacy": {"k": 3}})
    for value in ("9" * 5000, DEEP, "{a=" * 5000):
        with pytest.raises(PolicyError):
            policy.override([f"privacy.k={value}"])


def test_a_record_nested_too_deeply_is_refused(tmp_path):
    path = tmp_path / "record.json"
    path.write_text(DEEP)
    with pytest.raises(DataError, match="nested too deeply"):
        read_record(path)
    path.write_text(json.dumps({"policy": f"a = {DEEP}", "method": "", "seed": 1, "input": {"rows": 3}}))
    assert read_record(path) is not None


READERS = {
    "table": (lambda path: io.read(path), DataError),
    "policy": (Policy.read, PolicyError),
    "hierarchy": (read_text, HierarchyError),
    "record": (read_record, DataError),
    "areas": (small_areas, DataError),
}


@pytest.mark.skipif(sys.platform != "linux", reason="has devices and pipes of Linux")
@pytest.mark.parametrize("kind", READERS)
def test_what_is_not_a_file_is_refused_at_once(tmp_path, kind):
    reader, error = READERS[kind]
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "folder.csv").mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket.csv"))
        for name in ("zero.csv", "pipe.csv", "folder.csv", "socket.csv"):
            with pytest.raises(error, match=name):
                reader(tmp_path / name)


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (3_000_000, pl.Date),
        (-800_000, pl.Date),
        (2**31 - 1, pl.Date),
        (2**61, pl.Datetime("us")),
        (-(2**62), pl.Datetime("ms")),
    ],
)
def test_dates_that_no_calendar_has_are_refused(tmp_path, ending, number, kind):
    path = tmp_path / f"data.{ending}"
    whole = pl.Int32 if kind == pl.Date else pl.Int64
    odd = TABLE.with_columns(day=pl.Series([0, 1, 2, number], dtype=whole).cast(kind))
    odd.write_parquet(path) if ending == "parquet" else odd.write_ipc(path)
    frame = io.read(path)
    assert frame.column("age").to_list() == [1, 2, 3, 4]
    for use in (lambda: frame.column("day"), lambda: frame.code_column("day"), lambda: frame.data):
        with pytest.raises(DataError, match="column 'day' holds dates before the year 1 or after 9999"):
            use()
    for last in ("9999-12-31", "0001-01-01"):
        fine = TABLE.with_columns(day=pl.Series([last] * 4).str.to_date().cast(kind))
        assert io.read(fine).column("day").dt.year().unique().to_list() == [int(last[:4])]


def test_a_comparison_with_values_of_other_types_is_refused(tmp_path):

    path = tmp_path / "comparison.json"
    good = Comparison(trials=(Trial(method="mondrian", k=3),), adversaries=("linkage",)).to_json()
    path.write_text(json.dumps(good))
    assert Comparison.read(path).trials[0].k == 3
    for name, value in (
        ("k", "x"),
        ("suppressed", None),
        ("measures", {"lm": "x"}),
        ("verdicts", [{"model": 1}]),
    ):
        path.write_text(json.dumps({**good, "trials": [{**good["trials"][0], name: value}]}))
        with pytest.raises(DataError, match="not a trial of a comparison"):
            Comparison.read(path)
    path.write_text(json.dumps({**good, "rows": "x", "version": VERSION}))
    with pytest.raises(DataError, match="this is not a comparison"):
        Comparison.read(path)


@pytest.mark.parametrize(
    "words", ["anonymize {} -p policy.toml", "anonymize data.csv -p {}", "anonymize data.csv -p long.toml"]
)
def test_names_that_no_file_can_have_are_refused(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    name = "x" * 5000
    policy = {"columns": {"age": {"role": "quasi"}, "word": {"role": "drop"}}, "privacy": {"k": 2}}
    (tmp_path / "policy.toml").write_text(Policy.from_dict(policy).to_toml())
    (tmp_path / "long.toml").write_text(
        f'{Policy.from_dict(policy).to_toml()}\n[population]\nfile = "{name}.csv"\n'
    )
    TABLE.write_csv("data.csv")
    result = CliRunner().invoke(main, [*words.format(f"{name}.csv").split(), "-o", "out.csv"])
    assert result.exit_code in (1, 2, 3)
    assert "File name too long" in result.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx", "jsonl", "arrow", "sav"])
def test_a_name_that_is_not_utf_8_is_refused(valid, ending):
    name = os.fsdecode(b"b\xffd." + ending.encode())
    originals.write_table(originals.table(), valid / f"data.{ending}")
    os.rename(f"data.{ending}", name)
    originals.table().write_csv("data.csv")
    for words in (
        ["anonymize", name, "-p", "policy.toml", "-o", f"out.{ending}"],
        ["anonymize", "data.csv", "-p", "policy.toml", "-o", f"other-{name}"],
        ["audit", name, "-p", "policy.toml"],
    ):
        result = run(*words)
        assert result.exit_code in (3, 6), result.output
        assert "b\N{REPLACEMENT CHARACTER}d" in result.stderr
        assert "is not UTF-8; rename it" in result.stderr


@pytest.mark.parametrize("option", ["--date", "--signed-by"])
def test_a_text_for_a_report_that_is_not_utf_8_is_refused(valid, option):
    originals.table().write_csv("data.csv")
    words = [
        "report",
        "data.csv",
        "-p",
        "policy.toml",
        "--original",
        "data.csv",
        "-o",
        "out.html",
        option,
        "b\udcffd",
    ]
    result = run(*words)
    assert result.exit_code == 6, result.output
    assert "out.html: a name or a text that it must contain is not UTF-8" in result.stderr
    assert not os.path.exists("out.html")


def test_a_folder_is_no_place_for_two_tables(valid):
    originals.table().write_csv("data.csv")
    result = run(
        "anonymize",
        "data.csv",
        "--quasi",
        "age",
        "--sensitive",
        "disease",
        "--method",
        "anatomy",
        "--set",
        "privacy.l=2",
        "-o",
        ".",
    )
    assert result.exit_code == 6, result.output
    assert "is a directory" in result.stderr
    assert "add a file name" in result.stderr


@pytest.mark.parametrize("scheme", ["sqlite", "duckdb"])
def test_an_address_that_is_not_utf_8_is_refused(scheme):
    with pytest.raises(DataError, match=rf"a {scheme}:// address: .* is not UTF-8; rename it"):
        DatabaseTable(f"{scheme}:///b\udcffd.db", "people")


@pytest.mark.parametrize(
    "head", ['<?xml version="1.0" encoding="utf-7"?>', '<?xml version="1.0" encoding="shift_jis"?>', "<"]
)
def test_a_graph_that_no_parser_reads_is_refused(tmp_path, head):
    path = tmp_path / "graph.graphml"
    path.write_text(f"{head}<graphml><graph><node id='a'/></graph></graphml>")
    with pytest.raises(DataError, match=r"graph.graphml"):
        read_network(path)


def test_edges_in_a_damaged_parquet_file_are_refused(tmp_path):
    path = tmp_path / "edges.parquet"
    path.write_bytes(b"PAR1 no table PAR1")
    with pytest.raises(DataError, match="is not a readable Parquet file"):
        read_network(TABLE.rename({"word": "id"}), path)


@pytest.mark.parametrize("kind", [{"widths": [5, 10]}, {"cuts": [[20, 40]]}])
def test_an_original_without_a_number_is_audited(kind):
    release = pl.DataFrame({"age": ["[20, 25)"] * 4, "word": list("abab")})
    original = pl.DataFrame({"age": [float("nan")] * 4, "word": list("abab")})
    roles = {"quasi": ["age"], "sensitive": ["word"], "hierarchies": {"age": kind}}
    assert shoal.audit(release, original=original, k=2, **roles).verdicts


def run(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture
def valid(tmp_path, monkeypatch):
    """A table with a policy and a hierarchy file, in the current folder."""
    monkeypatch.chdir(tmp_path)
    originals.table().write_csv("data.csv")
    (tmp_path / "policy.toml").write_text(originals.POLICY)
    (tmp_path / "city.csv").write_text(originals.CITIES)
    return tmp_path


@pytest.mark.parametrize("column", ["age", "city", "disease"])
def test_bytes_that_are_not_text_in_a_release_are_refused(valid, column):
    rows = originals.table().select("age", "city", "disease")
    rows.with_columns(pl.Series(column, [b"\xff\x00"] * rows.height)).write_parquet("release.parquet")
    for verb in ("audit", "attack"):
        result = run(verb, "release.parquet", "-p", "policy.toml", "--original", "data.csv")
        assert result.exit_code == 3, result.output
        assert f"column '{column}': values of type Binary cannot be read as text" in result.stderr


def test_a_message_shows_only_a_part_of_a_huge_value(valid):
    data = originals.table()
    data.with_columns(city=pl.lit("R" * 2_000_000)).write_csv("data.csv")
    for more in ([], ["--json"]):
        result = run("anonymize", "data.csv", "-p", "policy.toml", "-o", "out.csv", *more)
        assert result.exit_code == 3
        assert "1 value of the data is missing: 'RRR" in result.stderr
        assert "Add a line for each" in result.stderr
        assert len(result.output) < 2000
    data.rename({"born": "b" * 2_000_000}).write_csv("data.csv")
    result = run("anonymize", "data.csv", "-p", "policy.toml", "-o", "out.csv")
    assert result.exit_code == 2
    assert len(result.output) < 20_000


def test_names_that_are_long_or_many_are_compared_quickly():
    chance = random.Random(1)
    long = ["".join(chance.choices(string.printable, k=100_000)) for _ in range(9)]
    start = time.perf_counter()
    assert len(did_you_mean(long[0], long[1:])) < 2000
    assert did_you_mean("ages", [*long, "age"]) == "did you mean 'age'?"
    assert time.perf_counter() - start < 5


def test_a_type_is_named_briefly():
    deep = pl.Int64()
    for _ in range(300):
        deep = pl.List(deep)
    assert type_name(deep) == "List(List(List(List(…))))"
    wide = pl.Struct({f"c{number}": pl.Int64 for number in range(1000)})
    assert type_name(wide) == "Struct(c0: Int64, c1: Int64, c2: Int64, c3: Int64, …)"
    assert type_name(pl.List(pl.Struct({"a": pl.Enum(["x"])}))) == "List(Struct(a: Enum))"
    assert type_name(pl.Datetime("us")) == str(pl.Datetime("us"))


@pytest.mark.parametrize("name", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_its_mark_is_named(tmp_path, name):
    path = tmp_path / "data.csv"
    path.write_bytes(TABLE.write_csv().encode(name))
    with pytest.raises(DataError, match=rf'looks like UTF-16 .* \[data\] encoding = "{name}"'):
        io.read(path)
    assert io.read(path, io.ReadOptions(encoding=name)).data.equals(TABLE)


def test_json_lines_that_form_no_table_are_explained(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_text(f'{{"a": {10**60}}}\n{{"a": {{"b": 1}}}}\n')
    with pytest.raises(DataError, match=r"do not form a table: .*; write such values as text$"):
        io.read(path)


def test_deep_nesting_is_named(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_text('{"a": ' + "[" * 50_000 + "]" * 50_000 + "}\n")
    with pytest.raises(DataError, match="it is damaged, or nested too deeply"):
        io.read(path)


def test_a_table_with_very_many_columns(valid):
    """Time grows with the number of columns, not with its square; no policy is suggested for so many."""
    data = originals.table()
    many = {f"c{number}": pl.Series([1] * data.height) for number in range(12_000)}
    wide = data.with_columns(**many)
    plan = [*(ColumnPlan(name, DROP) for name in many), ColumnPlan("age", QUASI)]
    start = time.perf_counter()
    encode(io.read(wide), plan)
    assert time.perf_counter() - start < 10
    with pytest.raises(DataError, match=r"has 12,005 columns, and Shoal suggests roles for at most 10,000"):
        shoal.suggest(wide)
