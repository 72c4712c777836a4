"""Writing: whole or not at all, and nothing that was not meant to be published."""

from __future__ import annotations

import datetime as dt
import gzip
import os
import subprocess
import sys

import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from shoal.errors import OutputError
from shoal.io import Outbox, ReadOptions, check_writable, give_back, output, read, write, write_text

TABLE = pl.DataFrame(
    {
        "zip": ["01234", None, "90210"],
        "age": [31, 40, None],
        "weight": [70.5, None, 3.25],
        "born": [dt.date(1990, 1, 2), None, dt.date(2001, 12, 31)],
        "seen": [dt.datetime(2020, 1, 1, 10, 30), dt.datetime(2021, 5, 5, 0, 0, 1, 500000), None],
        "note": ['a "quoted", word', "two\nlines", "🐟 émoji"],
    }
)


ENUM = pl.DataFrame({"e": pl.Series(["b", None, "c"], dtype=pl.Enum(["secret", "c", "b"]))})


def test_categories_are_dictionaries_or_text_and_unused_ones_are_gone(tmp_path):
    sets = pl.Series("s", [["c"], None, ["b", "c"]], dtype=pl.List(pl.Enum(["secret", "c", "b"])))
    data = ENUM.with_columns(sets)
    for name in ("t.parquet", "t.arrow", "t.csv", "t.jsonl", "t.xlsx"):
        path = write(data, tmp_path / name)
        assert b"secret" not in path.read_bytes()
        assert read(path).column("e").cast(pl.String).to_list() == ["b", None, "c"]
    assert pa.types.is_dictionary(pyarrow.parquet.read_table(tmp_path / "t.parquet").schema.field("e").type)
    assert pa.types.is_dictionary(pyarrow.feather.read_table(tmp_path / "t.arrow").schema.field("e").type)
    assert read(tmp_path / "t.parquet").schema["e"] == pl.Enum(["c", "b"])
    assert give_back(ENUM, "pandas")["e"].cat.categories.tolist() == ["c", "b"]
    assert "secret" not in str(give_back(ENUM, "pyarrow").schema.field("e").metadata)


def test_value_sets_in_csv(tmp_path):
    data = pl.DataFrame({"s": [[15, 20, 48], [], None], "x": ["a", "b", "c"]})
    path = write(data, tmp_path / "t.csv")
    assert path.read_text() == 's,x\n"{15, 20, 48}",a\n{},b\n,c\n'


def test_columns_that_csv_cannot_hold(tmp_path):
    with pytest.raises(OutputError, match="column 'a' holds Struct"):
        write(pl.DataFrame({"a": [{"x": 1}]}), tmp_path / "t.csv")
    assert os.listdir(tmp_path) == []


def test_delimiter_of_the_input_is_kept(tmp_path):
    data = pl.DataFrame({"a": [1], "b": ["x"]})
    for name, delimiter, expected in (("1.csv", ";", "a;b"), ("2.csv", None, "a,b"), ("3.tsv", ";", "a\tb")):
        path = write(data, tmp_path / name, options=ReadOptions(delimiter=delimiter))
        assert path.read_text().splitlines()[0] == expected


def test_times_in_csv(tmp_path):
    moment = dt.datetime(2020, 1, 1, 10)
    data = pl.DataFrame({"a": [moment], "b": [moment.replace(tzinfo=dt.UTC)]})
    zoned = data.with_columns(c=pl.col("a").dt.replace_time_zone("Asia/Tokyo"))
    path = write(zoned, tmp_path / "t.csv")
    assert path.read_text() == "a,b,c\n2020-01-01T10:00:00,2020-01-01T10:00:00Z,2020-01-01T10:00:00+09:00\n"


@pytest.mark.parametrize("writer", ["table", "text"])
def test_where_nothing_can_be_written(tmp_path, writer):
    def save(path, **keywords):
        return write(TABLE, path, **keywords) if writer == "table" else write_text(path, "x", **keywords)

    old = tmp_path / "old.csv"
    old.write_text("old")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(OutputError, match="is a directory"):
        save(tmp_path / "folder.csv", force=True)
    with pytest.raises(OutputError, match=r"exists already.*force=True"):
        save(old)
    with pytest.raises(OutputError, match="there is no directory"):
        save(tmp_path / "nowhere" / "t.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(OutputError, match="not a regular file"):
        save(tmp_path / "pipe.csv", force=True)
    assert old.read_text() == "old"
    save(old, force=True)
    assert old.read_text() != "old"


def test_unknown_ending_cannot_be_written(tmp_path):
    with pytest.raises(OutputError, match=r"known are \.csv"):
        check_writable(tmp_path / "t.docx")
    assert check_writable(tmp_path / "card.md", table=False) == (tmp_path / "card.md").resolve()


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError(28, "No space left on device"), MemoryError])
@pytest.mark.parametrize("where", ["write", "fsync", "replace"])
@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.xlsx", "t.txt"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, failure, where, name):
    path = tmp_path / name
    path.write_text("old")
    path.chmod(0o640)

    def fail(*_arguments, **_keywords):
        raise failure

    def write_half(_data, file, *_arguments, **_keywords):
        if name != "t.xlsx":  # a workbook is made in memory first
            file.write(b"half")
        raise failure

    if where == "write":
        for method in ("write_csv", "write_parquet", "write_excel"):
            monkeypatch.setattr(pl.DataFrame, method, write_half)
    else:
        monkeypatch.setattr(output.os, where, fail)
    expected = OutputError if isinstance(failure, OSError) else failure
    with pytest.raises(expected):
        write(TABLE, path, force=True)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == [name]
    monkeypatch.undo()
    write(TABLE, path, force=True)
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.arrow", "t.jsonl", "t.xlsx", "t.csv.gz"])
def test_a_file_that_outgrows_its_limit(tmp_path, name):
    """A real failure in the middle of writing: the system permits files of 20,000 bytes only."""
    (tmp_path / name).write_text("old")
    script = (
        "import resource, signal, sys, numpy as np, polars as pl; from shoal import errors, io\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "data = pl.DataFrame({'a': np.random.default_rng(1).random(20_000)})\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "try: io.write(data, sys.argv[1], force=True)\n"
        "except errors.OutputError as error: print(error)"
    )
    command = [sys.executable, "-c", script, str(tmp_path / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "could not be written" in done.stdout, done.stderr
    assert (tmp_path / name).read_text() == "old"
    assert os.listdir(tmp_path) == [name]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    write(TABLE, tmp_path / "link.csv", force=True)
    assert (tmp_path / "link.csv").is_symlink()
    assert read(tmp_path / "real.csv").rows == 3


def test_text(tmp_path):
    path = write_text(tmp_path / "card.md", "é\n")
    assert path.read_bytes() == "é\n".encode()


def test_compressed_csv_is_the_same_text(tmp_path):
    plain, packed = write(TABLE, tmp_path / "a.csv"), write(TABLE, tmp_path / "b.csv.gz")
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()


@pytest.mark.parametrize("suffix", [".arrow", ".parquet"])
def test_names_with_u0000(tmp_path, suffix):
    cells = {"a\0": ["x", None], "b": [{"f\0": "x"}, None], "c": [[{"f\0": 1}], None]}
    data = pl.DataFrame(cells)
    with Outbox() as box:
        assert box.publish(data, tmp_path / f"out{suffix}").equals(data)


def test_a_file_that_cannot_be_read_again_is_refused(tmp_path):
    data = pl.DataFrame({"x": pl.Series([[], []], dtype=pl.Array(pl.Int64, 0))})
    with pytest.raises(OutputError, match="does not give back the table"), Outbox() as box:
        box.publish(data, tmp_path / "out.arrow")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", [7, 10**38])
@pytest.mark.parametrize("suffix", [".arrow", ".parquet"])
def test_integers_of_128_bits_inside_others_are_read_by_all(tmp_path, suffix, number):
    wide = pl.Struct({"f": pl.Int128, "g": pl.List(pl.UInt128), "h": pl.Array(pl.Int128, 1)})
    cells = [{"f": number, "g": [number, None], "h": [-number]}, None]
    data = pl.DataFrame(
        {"x": pl.Series(cells, dtype=wide), "y": pl.Series([[number], []], dtype=pl.List(pl.Int128))}
    )
    with Outbox() as box:
        back = box.publish(data, tmp_path / f"out{suffix}")
    assert back.height == 2
    library = pyarrow.feather if suffix == ".arrow" else pyarrow.parquet
    there = library.read_table(tmp_path / f"out{suffix}").to_pylist()
    assert [int(number) for number in there[0]["y"]] == [number]
    assert int(there[0]["x"]["h"][0]) == -number
