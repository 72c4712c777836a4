"""Small valid files of every kind that Shoal reads, to be damaged by `tests.fuzz.damage`."""

from __future__ import annotations

import contextlib
import datetime as dt
import gzip
import os
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import polars as pl
from click.testing import CliRunner

from shoal.methods import METHODS
from shoal.policy import Policy
from tests.fuzz.cases import case

ROWS = 24
DRAWN = len(METHODS)
POLICY = """
[columns.name]
role = "identifier"
[columns.age]
role = "quasi"
hierarchy = { widths = [5, 10, 20] }
[columns.city]
role = "quasi"
hierarchy = "city.csv"
[columns.born]
role = "drop"
[columns.disease]
role = "sensitive"
[privacy]
k = 3
l = { distinct = 2 }
t = { equal = 0.9 }
[method]
name = "mondrian"
"""
MORE = """
[utility]
measure = "lm"
suppression = 0.1
levels = "uniform"
workload = "queries.toml"
[population]
file = "population.csv"
"""
QUERIES = """
[[query]]
where = { age = { from = 20, to = 40 } }
weight = 2
[[query]]
where = { city = ["Rome"] }
"""
NETWORK = """
[columns.id]
role = "identifier"
[columns.age]
role = "quasi"
[columns.city]
role = "quasi"
[columns.disease]
role = "sensitive"
[privacy]
k = 3
"""
CITIES = "Rome;south;*\nBonn;north;*\nOslo;north;*\n"
TABLES = (
    "csv", "tsv", "csv.gz", "txt", "jsonl", "parquet", "arrow", "feather", "xlsx", "sav", "zsav", "dta", "xpt",
)  # fmt: skip


def table(seed: int = 0, rows: int = ROWS) -> pl.DataFrame:
    """Return the rows of the original."""
    numbers = [(number * 7 + seed) % 30 for number in range(rows)]
    return pl.DataFrame(
        {
            "name": [f"Zaphod-{number}" for number in range(rows)],
            "age": [20 + number for number in numbers],
            "city": [("Rome", "Bonn", "Oslo")[number % 3] for number in range(rows)],
            "born": [dt.date(1950 + number, 1 + number % 12, 1 + number % 28) for number in numbers],
            "disease": [("flu", "cold", "gout", "mumps")[number % 4] for number in range(rows)],
        }
    )


def write_table(data: pl.DataFrame, path: Path) -> None:
    """Write a table in the format of its name."""
    import pyreadstat

    name = path.name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(data.write_csv().encode()))
    elif name.endswith((".csv", ".txt", ".tsv")):
        data.write_csv(path, separator="\t" if name.endswith(".tsv") else ",")
    elif name.endswith(".jsonl"):
        data.write_ndjson(path)
    elif name.endswith(".parquet"):
        data.write_parquet(path)
    elif name.endswith((".arrow", ".feather")):
        data.write_ipc(path)
    elif name.endswith(".xlsx"):
        data.write_excel(path, autofilter=False)
    elif name.endswith((".sav", ".zsav")):
        pyreadstat.write_sav(data, os.fspath(path), compress=name.endswith(".zsav"))
    elif name.endswith(".dta"):
        pyreadstat.write_dta(data, os.fspath(path))
    else:
        pyreadstat.write_xport(data, os.fspath(path))


def make(folder: Path, *, quick: bool = False) -> None:
    """Write all files into an empty folder; with `quick`, without those that take seconds."""
    data = table()
    for ending in TABLES:
        write_table(data, folder / f"data.{ending}")
    _databases(data, folder)
    texts = {
        "policy.toml": POLICY, "two.toml": POLICY.replace("k = 3\n", ""),
        "more.toml": POLICY.replace("[method]", "k_map = 3\n[method]") + MORE,
        "queries.toml": QUERIES, "network.toml": NETWORK,
        "city.csv": CITIES, "areas.txt": "# small areas\n036,12000\n059\n102;3\n",
    }  # fmt: skip
    for name, text in texts.items():
        (folder / name).write_text(text)
    table(3, 60).write_csv(folder / "population.csv")
    _network(data, folder)
    (folder / "part").mkdir()
    for number in range(2):
        shutil.copy(folder / "data.parquet", folder / "part" / f"part-{number}.parquet")
    with contextlib.chdir(folder):
        run("anonymize data.csv -p policy.toml -o release.csv --record record.json --seed 1 --card card.json")
        run("anonymize data.csv -p policy.toml -o release.parquet --seed 1")
        run("anonymize data.csv -p two.toml -o two.csv --method anatomy --seed 1 --record two.json")
        os.mkfifo("pipe.csv")
        if quick:
            return
        _drawn()
        run("compare data.csv -p policy.toml -o compared --methods mondrian --jobs 1")
        run("evidence release.csv -p policy.toml --original data.csv --record record.json -o pack")
        run("network anonymize --nodes nodes.csv --edges edges.csv -p network.toml -o masked --samples 0")


def run(words: str, *codes: int) -> None:
    """Run a command that must end well, or with one of these exit codes."""
    from shoal.apps.cli import main

    result = CliRunner().invoke(main, words.split())
    assert result.exit_code in (0, *codes), (words, result.output)


def _drawn() -> None:
    """Write a table with a policy for each method, as `tests.fuzz` draws them, and a release if there is one."""
    for number in range(DRAWN):
        chosen, place = replace(case(7, number), source="polars", data={}), Path(f"drawn-{number}")
        place.mkdir()
        chosen.frame.write_parquet(place / "data.parquet")
        for column in chosen.columns:
            if column.file is not None:
                (place / str(column.spec)).write_text(column.file, encoding="utf-8")
        policy = Policy.from_dict(chosen.policy, place)
        (place / "policy.toml").write_text(policy.to_toml(), "utf-8")
        made = f"-o {place}/release.parquet --record {place}/record.json"
        run(f"anonymize {place}/data.parquet -p {place}/policy.toml {made}", 2, 3, 4, 7)


def _databases(data: pl.DataFrame, folder: Path) -> None:
    import duckdb

    for name, encoding in (("data.db", "UTF-8"), ("wide.db", "UTF-16le")):
        with sqlite3.connect(folder / name) as own:
            own.execute(f"PRAGMA encoding = '{encoding}'")
            own.execute("CREATE TABLE people (name TEXT, age INTEGER, city TEXT, born DATE, disease TEXT)")
            rows = [tuple(map(str, row)) for row in data.rows()]
            own.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?)", rows)
        own.close()
    with duckdb.connect(folder / "data.duckdb") as other:
        other.execute("CREATE TABLE people AS SELECT * FROM data")


def _network(data: pl.DataFrame, folder: Path) -> None:
    nodes = data.select(pl.col("name").alias("id"), "age", "city", "disease")
    nodes.write_csv(folder / "nodes.csv")
    names = nodes["id"].to_list()
    pairs = [(names[at], names[(at * 5 + 1) % ROWS]) for at in range(ROWS)]
    pl.DataFrame(pairs, schema=["a", "b"], orient="row").write_csv(folder / "edges.csv")
    (folder / "edges.txt").write_text("# list\n" + "".join(f"{a} {b}\n" for a, b in pairs))
    keys = "".join(
        f'<key id="{name}" for="node" attr.name="{name}" attr.type="{kind}"/>'
        for name, kind in (("age", "int"), ("city", "string"), ("disease", "string"))
    )
    inside = "".join(
        f'<node id="{row["id"]}">'
        + "".join(f'<data key="{key}">{row[key]}</data>' for key in ("age", "city", "disease"))
        + "</node>"
        for row in nodes.iter_rows(named=True)
    )
    edges = "".join(f'<edge source="{a}" target="{b}"/>' for a, b in pairs)
    head = '<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    (folder / "graph.graphml").write_text(
        f'{head}{keys}<graph edgedefault="undirected">{inside}{edges}</graph></graphml>'
    )
