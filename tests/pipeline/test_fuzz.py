"""The checker of written bytes: it finds nothing in good releases, and everything that is changed in them."""

from __future__ import annotations

import ast
import csv
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.coding.hierarchy.kinds import KINDS
from shoal.io.formats import FORMATS, FileFormat
from shoal.judging.models import MODELS
from shoal.methods import METHODS
from shoal.pipeline.anonymize import anonymize_file
from tests.conftest import QUICK
from tests.fuzz import bad_inputs, originals
from tests.fuzz.added import without_added
from tests.fuzz.cases import case
from tests.fuzz.columns import MAKERS
from tests.fuzz.questions import QUESTIONS
from tests.fuzz.tallies import Tallies
from tests.fuzz.trial import WRITERS, tried
from tests.oracles.checker import readers
from tests.oracles.checker.checks import Asked, Released, problems
from tests.oracles.checker.labels import RULES, Domain
from tests.oracles.checker.readers import Cells

ORACLES = Path(__file__).parents[1] / "oracles"


def test_the_checker_imports_nothing_of_the_package():
    checker = list((ORACLES / "checker").glob("*.py"))
    assert checker
    for path in [*ORACLES.glob("outsider*.py"), *checker]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [name.name for name in node.names] if isinstance(node, ast.Import) else []
            assert not [name for name in names if name.partition(".")[0] == "shoal"], path


def test_the_lists_are_the_registries():
    """A new model, kind or format needs an entry in the fuzz and in the checker."""
    asked = {model for draw in QUESTIONS.values() for model, _ in draw(__import__("random").Random(1)).models}
    # Some draws of the relocation ask for the first; columns ask for the second.
    more = {"alpha-hybrid", *(name for name, kind in MODELS.items() if kind.asked_in == "columns")}
    assert more & {name for name, kind in MODELS.items() if kind.asked_in == "columns"} <= QUESTIONS.keys()
    assert asked | more == MODELS.keys()
    assert MAKERS.keys() == RULES.keys() == KINDS.keys()
    written = {name for name, kind in FORMATS.items() if issubclass(kind, FileFormat)}
    assert readers.READERS.keys() == written
    assert WRITERS.keys() == written - {name for name in written if FORMATS[name].extra == "stats"}
    assert {case(1, number).method["name"] for number in range(len(METHODS))} == METHODS.keys()


def test_a_case_is_the_same_again():
    assert case(7, 123) == case(7, 123) != case(8, 123)


CHUNKS, CHUNK = 6, 75
"""`make fuzz` runs many more; these are those of every run of the tests."""


@pytest.mark.parametrize("part", range(CHUNKS))
def test_random_releases_keep_their_promises(part, tmp_path, repeated):
    """A failure is repeated, made small and shown by `make fuzz SEED=15 CASE=..`."""
    often = round(CHUNK * repeated / QUICK)
    tallies = Tallies(15)
    for number in range(part * often, (part + 1) * often):
        tallies.add(tried(case(15, number), tmp_path))
    assert not tallies.failures, [(one.number, one.problems) for one in tallies.failures]
    assert tallies.checked > often / 2


# Changed releases -------------------------------------------------------------------------------------------

TABLE = pl.DataFrame(
    {
        "name": ["Anna Q", "Bert Q", "Carl Q", "Dora Q", "Emil Q", "Fred Q", "Gert Q"],
        "age": [21, 23, 24, 41, 43, 44, 907],
        "town": ["Ulm", "Ulm", "Bonn", "Kiel", "Kiel", "Jena", "Husum"],
        "ill": ["flu", "cold", "gout", "flu", "cold", "gout", "rarity"],
        "tag": [10001, 10002, 10003, 10004, 10005, 10006, 10007],
    }
)
TREE = {"South": ["Ulm", "Bonn"], "North": ["Kiel", "Jena", "Husum"]}
ABOVE = {town: [town, node, "*"] for node, towns in TREE.items() for town in towns}
ASKED = Asked(
    columns=TABLE.columns,
    quasi={"age": Domain("widths", [10, 20]), "town": Domain("tree", above=ABOVE)},
    sensitive={"ill": Domain("none")},
    plain=["tag"],
    models=[("k-anonymity", {"k": 3}, None), ("distinct-l", {"l": 3}, "ill")],
    suppression=0.15,
    tag="tag",
    types={"tag": "int64"},
)
POLICY = {
    "columns": {
        "name": {"role": "identifier"},
        "age": {"role": "quasi", "hierarchy": {"widths": [10, 20]}, "limit": 2},
        "town": {"role": "quasi", "hierarchy": {"tree": TREE}},
        "ill": {"role": "sensitive"},
        "tag": {"role": "plain"},
    },
    "privacy": {"k": 3, "l": 3},
    "utility": {"suppression": 0.15},
}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good")
    TABLE.write_parquet(folder / "in.parquet")
    policy = shoal.Policy.from_dict(POLICY, folder)
    for name in ("out.csv", "out.jsonl", "out.xlsx", "out.parquet", "out.arrow"):
        made = anonymize_file(folder / "in.parquet", policy, folder / name, seed=1)
        assert made.suppressed == 1
    return folder


def found(path: Path, asked: Asked = ASKED) -> list[str]:
    names = {"csv": "csv", "jsonl": "jsonl", "xlsx": "excel", "parquet": "parquet", "arrow": "arrow"}
    table = readers.READERS[names[path.suffix[1:]]](path)
    return list(problems(Released(asked, TABLE.to_dicts(), table)))


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl", "out.xlsx", "out.parquet", "out.arrow"])
def test_nothing_is_wrong_with_a_good_release(good, name):
    assert found(good / name) == []


def rows_of(good: Path) -> list[dict[str, Any]]:
    with (good / "out.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def written(rows: list[dict[str, Any]], path: Path) -> Path:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(text.getvalue(), encoding="utf-8")
    return path


def exchange(rows, column):
    """Exchange the cells of two rows that differ."""
    other = next(row for row in rows if row[column] != rows[0][column])
    rows[0][column], other[column] = other[column], rows[0][column]


def first(column: str, cell: str) -> Callable[[list[dict[str, Any]]], None]:
    return lambda rows: rows[0].update({column: cell})


def every(column: str, change: Callable[[str], str]) -> Callable[[list[dict[str, Any]]], None]:
    return lambda rows: [row.update({column: change(row[column])}) for row in rows] and None


CHANGES = {
    "a cell covers somebody else": (lambda rows: exchange(rows, "age"), "lie"),
    "an interval of another width": (first("age", "0-98"), "lie"),
    "a node of another branch": (lambda rows: exchange(rows, "town"), "lie"),
    "a label that means nothing": (first("town", "nowhere"), "lie"),
    "a null where a value was": (first("town", ""), "lie"),
    "a sensitive value of somebody else": (lambda rows: exchange(rows, "ill"), "kept"),
    "a sensitive value of nobody": (first("ill", "plague"), "kept"),
    "a tag of nobody": (first("tag", "99999"), "tag"),
    "a row twice": (lambda rows: rows.__setitem__(1, dict(rows[0])), "rows"),
    "a row too many": (lambda rows: rows.extend([dict(rows[0]), dict(rows[1])]), "rows"),
    "a row less than allowed": (lambda rows: rows.pop(), "suppressed"),
    "an identifier": (lambda rows: [row.update(name="x") for row in rows] and None, "columns"),
    "an index": (lambda rows: [row.update(index=at) for at, row in enumerate(rows)] and None, "columns"),
    "a column less": (lambda rows: [row.pop("ill") for row in rows] and None, "columns"),
    "a class torn apart": (first("town", "*"), "model"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_seen(good, tmp_path, name):
    change, kind = CHANGES[name]
    rows = rows_of(good)
    change(rows)
    wrong = found(written(rows, tmp_path / "out.csv"))
    assert kind in {problem.partition(":")[0] for problem in wrong}, wrong


def test_a_change_is_seen_without_owners(good, tmp_path):
    from dataclasses import replace

    blind = replace(ASKED, tag=None, plain=[], columns=["name", "age", "town", "ill"], types={})
    rows = [{name: cell for name, cell in row.items() if name != "tag"} for row in rows_of(good)]
    path = written(rows, tmp_path / "out.csv")
    original = TABLE.drop("tag").to_dicts()
    assert list(problems(Released(blind, original, readers.READERS["csv"](path)))) == []
    rows[0]["ill"] = rows[1]["ill"] = "rarity"
    table = readers.READERS["csv"](written(rows, path))
    assert [p.partition(":")[0] for p in problems(Released(blind, original, table))] == ["lie"]


def test_values_of_classes_are_counted(good, tmp_path):
    from dataclasses import replace

    strict = replace(ASKED, models=[("distinct-l", {"l": 4}, "ill")])
    assert [problem.partition(":")[0] for problem in found(good / "out.csv", strict)] == ["model"]


def test_a_secret_is_found_in_the_bytes(good, tmp_path):
    """The age, town and illness of the suppressed row, and names, in cells, metadata, dictionaries and statistics."""
    for secret in ("Husum", "rarity", "10007", "Anna Q"):
        path = tmp_path / "out.parquet"
        table = pq.read_table(good / "out.parquet")
        pq.write_table(table.replace_schema_metadata({b"note": secret.encode()}), path)
        assert [problem.partition(":")[0] for problem in found(path)] == ["secret"], secret
    table = pq.read_table(good / "out.parquet")
    illness = table["ill"].combine_chunks().cast(pa.string())
    own = illness.to_pylist()
    words = [*sorted(set(own)), "rarity"]
    indices = pa.array([words.index(word) for word in own], pa.int32())
    leftover = pa.DictionaryArray.from_arrays(indices, pa.array(words))
    changed = table.set_column(table.column_names.index("ill"), "ill", leftover)
    with (
        pa.OSFile(str(tmp_path / "out.arrow"), "wb") as sink,
        pa.ipc.new_file(sink, changed.schema) as writer,
    ):
        writer.write_table(changed)
    assert [problem.partition(":")[0] for problem in found(tmp_path / "out.arrow")] == ["secret"]


def test_a_secret_is_found_in_labels(good, tmp_path):
    """Labels that follow from the policy may name any number; those of automatic hierarchies only published ones."""
    from dataclasses import replace

    rows = rows_of(good)
    every("age", lambda _: "[21, 907]")(rows)
    every("town", lambda _: "*")(rows)
    auto = replace(ASKED, quasi={"age": Domain("auto"), "town": ASKED.quasi["town"]})
    wrong = found(written(rows, tmp_path / "out.csv"), auto)
    assert [problem.partition(":")[0] for problem in wrong] == ["secret"]
    every("age", lambda _: "[21, 44]")(rows)
    assert found(written(rows, tmp_path / "out.csv"), auto) == []


def test_a_change_of_type_is_seen(good, tmp_path):
    table = pq.read_table(good / "out.parquet")
    at = table.column_names.index("tag")
    pq.write_table(table.set_column(at, "tag", table["tag"].cast(pa.float64())), tmp_path / "out.parquet")
    assert [problem.partition(":")[0] for problem in found(tmp_path / "out.parquet")] == ["type"]


def test_what_is_not_json_is_seen(good, tmp_path):
    lines = (good / "out.jsonl").read_text(encoding="utf-8").splitlines()
    first_line = json.loads(lines[0])
    lines[0] = json.dumps({**first_line, "tag": float("nan")})
    (tmp_path / "out.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(readers.Unreadable, match="NaN"):
        found(tmp_path / "out.jsonl")
    lines[0] = json.dumps({**first_line, "town": None})
    (tmp_path / "out.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert [problem.partition(":")[0] for problem in found(tmp_path / "out.jsonl")] == ["lie"]


def test_a_set_of_one_value_is_within_every_limit():
    domain = Domain("top", top=57, bottom=12, limit=0)
    assert all(
        domain.allows(cell, [3.5, 10.5, 13.5, 20.0]) for cell in ("{<12}", "{13.5}", ["<12"], "<12", 13.5)
    )
    assert not any(domain.allows(cell, [3.5, 13.5, 20.0]) for cell in ("{<12, 13.5}", "[13.5, 20.0]"))


def test_wrong_bounds_and_tokens_are_seen():
    """The columns that a release adds are looked at: a case with both, and changes of a good release."""
    chosen = next(
        found for number in range(2000) if (found := case(1, number)).bounded[:1] and found.followed[:1]
    )
    name, person = chosen.bounded[0], chosen.followed[0]
    tokens = ["p0123456789abcdef", "p0123456789abcde0"]
    columns = [
        *(c.name for c in chosen.columns),
        *(f"{one}_{end}" for one in chosen.bounded for end in ("low", "high")),
    ]

    def wrong(**changed):
        rows = []
        for place in range(2):
            cells = dict.fromkeys(columns, 1) | {person: tokens[place], name: "1-2"}
            cells |= {f"{one}_high": 2 for one in chosen.bounded}
            rows.append(
                [{**cells, **{key: value[place] for key, value in changed.items()}}[key] for key in columns]
            )
        return [problem.partition(":")[0] for problem in without_added(chosen, Cells(columns, rows, []))[1]]

    assert wrong() == []
    assert wrong(**{person: ["Anna", "Bert"]}) == ["pseudonyms"]
    assert wrong(**{person: [tokens[0], tokens[0]]}) == ["pseudonyms"]
    assert wrong(**{f"{name}_low": [1, 0]}) == ["bounds"]
    assert wrong(**{f"{name}_low": [3, 3]}) == ["bounds"]


def test_damaged_files_of_every_kind_end_with_a_message(tmp_path):
    originals.make(tmp_path, quick=True)
    ended = list(bad_inputs.outcomes(3, 0, 120, tmp_path))
    assert [one for one in ended if one.fault] == []
    assert {one.number for one in ended} == set(range(120))
    assert {0, 2, 3} <= {one.code for one in ended}


def test_a_fault_a_crash_and_a_hang_are_findings(tmp_path, monkeypatch):
    program = """
import json, os, signal, sys, time
first = int(sys.argv[sys.argv.index("--first") + 1])
for number in range(first, 4):
    if number == 1:
        os.kill(os.getpid(), signal.SIGSEGV)
    if number == 2:
        time.sleep(600)
    fault = "ValueError" if number == 3 else ""
    print(json.dumps({"number": number, "code": 0, "fault": fault, "words": ""}), flush=True)
"""
    (tmp_path / "worker").write_text(f"#!{sys.executable}\n{program}")
    (tmp_path / "worker").chmod(0o755)
    monkeypatch.setattr(bad_inputs.sys, "executable", str(tmp_path / "worker"))
    monkeypatch.setattr(bad_inputs.os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    monkeypatch.setattr(bad_inputs, "STARTING", 3.0)
    ended = {one.number: one.fault for one in bad_inputs.outcomes(1, 0, 4, tmp_path)}
    assert ended == {0: "", 1: "ended by SIGSEGV", 2: "still running after 3 s", 3: "ValueError"}
