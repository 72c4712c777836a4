"""The codebook of a release: an analyst reads every label through it, and it tells nothing of other rows."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import random
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.apps.cli import main
from shoal.coding.hierarchy import KINDS
from shoal.coding.hierarchy.meanings import Meaning, interval_label
from shoal.documents.codebook.codebook_files import (
    codebook_csv,
    codebook_json,
    codebook_markdown,
    codebook_text,
)
from shoal.documents.codebook.label_losses import _shares
from shoal.errors import OutputError
from shoal.methods import METHODS
from shoal.release.record import NOT_FOR_PUBLICATION
from shoal.support.wording import escape_formula

ANALYST = Path(__file__).parents[1] / "oracles" / "analyst.py"

DRAWN = random.Random(7)
ROWS = 300


def drawn(make):
    return [make() for _ in range(ROWS)]


def cycled(values):
    return [values[i * 7 % len(values)] for i in range(ROWS)]


NUMBERS = pl.Series(drawn(lambda: DRAWN.randint(-20, 90)))
REALS = pl.Series(drawn(lambda: round(DRAWN.uniform(-3, 60), 2)))
DAYS = pl.Series(drawn(lambda: dt.date(1985, 1, 1) + dt.timedelta(DRAWN.randint(0, 9000))))
MOMENTS = pl.Series(drawn(lambda: dt.datetime(2020, 1, 1) + dt.timedelta(minutes=DRAWN.randint(0, 900_000))))
CODES = pl.Series(drawn(lambda: f"0{DRAWN.randint(2100, 2199)}"))
UNEQUAL = pl.Series(drawn(lambda: str(DRAWN.randint(1, 3000))))
WORDS = pl.Series(drawn(lambda: f"item {DRAWN.randint(1, 30)}"))
TOWNS = pl.Series(drawn(lambda: DRAWN.choice("abcdefgh")))
FILE = "".join(f"{town};{'north' if town < 'd' else 'south'};*\n" for town in "hgfedcba")

COLUMNS = {
    "none": [
        (NUMBERS, "none"),
        (REALS, "none"),
        (DAYS, "none"),
        (MOMENTS, "none"),
        (TOWNS, "none"),
        (CODES, "none"),
    ],
    "auto": [
        (NUMBERS, "auto"),
        (REALS, "auto"),
        (DAYS, "auto"),
        (CODES, "auto"),
        (WORDS, "auto"),
        (TOWNS, "auto"),
    ],
    "widths": [
        (NUMBERS, {"widths": [5, 20]}),
        (REALS, {"widths": [0.5, 5]}),
        (NUMBERS.cast(pl.String), {"widths": [7]}),
    ],
    "grid": [
        (NUMBERS, {"grid": 7, "origin": 3}),
        (REALS, {"grid": 2.5}),
        (NUMBERS.cast(pl.String), {"grid": 5}),
    ],
    "cuts": [(NUMBERS, {"cuts": [[0, 18, 45, 65], [18]]}), (REALS, {"cuts": [[0.5, 10, 30]]})],
    "mask": [(CODES, {"mask": "right"}), (UNEQUAL, {"mask": "right"}), (UNEQUAL, {"mask": "left"})],
    "dates": [
        (DAYS, {"dates": ["week"]}),
        (DAYS, {"dates": ["month", "quarter", "year", "decade"]}),
        (MOMENTS, {"dates": ["day", "month", "year"]}),
    ],
    "top": [
        (NUMBERS, {"top": 60, "bottom": 18}),
        (NUMBERS, {"widths": [7], "top": 60}),
        (DAYS, {"dates": ["year", "decade"], "finest": "year", "bottom": 2000}),
        (CODES, {"mask": "right", "show": 2, "small": ["02"]}),
    ],
    "known": [
        (pl.Series(cycled(["Jan", "Feb", "Mar", "May", "Oct", "Dec"])), {"known": "months-by-season"}),
        (pl.Series(cycled(["OH", "NY", "CA", "AE", "TX", "PR"])), {"known": "us-states"}),
        (pl.Series(cycled(["E11.9", "E10.1", "E66", "I10", "I25.1", "C50.1"])), {"known": "icd-10"}),
        (pl.Series(cycled(["10.51", "62.01", "01.11", "47.11"])), {"known": "nace"}),
        (pl.Series(cycled(["SW1A 1AA", "SW19 5AE", "M1 1AE", "02108", "02134"])), {"known": "postcodes"}),
        (pl.Series(cycled(["07:15", "07:45", "13:00", "18:30", "23:59"])), {"known": "times-of-day"}),
        (NUMBERS, {"known": "ages"}),
        (NUMBERS, {"known": "codes"}),
        (REALS, {"known": "amounts"}),
    ],
    "tree": [
        (TOWNS, {"tree": {"low": ["b", "a", "c"], "high": {"mid": ["d", "e"], "top": ["f", "g", "h"]}}})
    ],
    "file": [(TOWNS, "towns.csv")],
}
CASES = [(kind, place) for kind, entries in COLUMNS.items() for place in range(len(entries))]


def test_every_kind_is_tried():
    assert set(COLUMNS) == set(KINDS)


@pytest.mark.parametrize(("kind", "place"), CASES)
@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("suffix", [".json", ".csv"])
def test_an_analyst_reads_every_label_through_the_codebook_alone(tmp_path, kind, place, nulls, suffix):
    """The script imports nothing of Shoal; it says for each row which values it may stand for."""
    column, spec = COLUMNS[kind][place]
    if nulls:
        column = column.clone().scatter([3, 4, 5, 6, 7, 8], [None])
    (tmp_path / "towns.csv").write_text(FILE)
    data = pl.DataFrame({"x": column, "other": TOWNS, "row": pl.Series(range(ROWS))})
    data.write_csv(tmp_path / "data.csv")
    policy = shoal.Policy.from_keywords(
        quasi=["x", "other"], plain=["row"], hierarchies={"x": spec}, k=4, base=tmp_path,
        data={"guess_types": column.dtype != pl.String},
    )  # fmt: skip
    book = tmp_path / f"book{suffix}"
    from shoal.pipeline.anonymize import anonymize_file

    anonymize_file(tmp_path / "data.csv", policy, tmp_path / "out.csv", codebooks=[book])
    asked = subprocess.run(
        [sys.executable, "-S", "-I", str(ANALYST), str(tmp_path / "out.csv"), str(book), str(tmp_path / "data.csv")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert asked.returncode == 0, asked.stderr
    found = json.loads(asked.stdout)
    assert found["rows"] == ROWS
    assert found["unread"] == []
    assert found["untrue"] == []
    shown = {tuple(label) for label in found["labels"]}
    there = {(name, text or None) for name in ("x", "other") for text in _column(tmp_path / "out.csv", name)}
    assert shown >= there


def _column(path, name):
    with path.open(newline="") as file:
        return [row[name] for row in csv.DictReader(file)]


def test_the_analyst_sees_a_wrong_codebook(tmp_path):
    """The round trip can fail: a label with another meaning, and one that is missing."""
    data = pl.DataFrame({"x": NUMBERS, "row": pl.Series(range(ROWS))})
    data.write_csv(tmp_path / "data.csv")
    made = shoal.anonymize(data, quasi=["x"], plain=["row"], hierarchies={"x": {"widths": [10]}}, k=4)
    made.table.write_csv(tmp_path / "out.csv")
    whole = made.codebook.summary()
    for change in ("moved", "lost"):
        book = json.loads(json.dumps(whole))
        labels = book["columns"][0]["labels"]
        if change == "moved":
            labels[0]["low"], labels[0]["high"] = 1000, 1001
        else:
            labels.pop()
        (tmp_path / "book.json").write_text(json.dumps(book))
        asked = subprocess.run(
            [sys.executable, "-S", "-I", str(ANALYST), "out.csv", "book.json", "data.csv"],
            capture_output=True, text=True, check=True, cwd=tmp_path,
        )  # fmt: skip
        found = json.loads(asked.stdout)
        assert found["untrue" if change == "moved" else "unread"]


def test_labels_come_in_the_order_of_their_values():
    data = pl.DataFrame({"age": NUMBERS, "town": TOWNS, "day": DAYS})
    tree = COLUMNS["tree"][0][1]
    made = shoal.anonymize(
        data, quasi=["age", "town", "day"], k=8,
        hierarchies={"age": {"cuts": [[0, 18, 45, 65], [18]]}, "town": tree, "day": {"dates": ["month", "decade"]}},
    )  # fmt: skip
    ages, towns, days = made.codebook.columns
    order = ["<0", "0-17", "18-44", "45-64", ">=65", "<18", ">=18", "*"]
    assert [label.text for label in ages.labels] == sorted(
        (label.text for label in ages.labels),
        key=["<18", "<0", "0-17", ">=18", "18-44", "45-64", ">=65", "*"].index,
    )
    assert set(order) >= {label.text for label in ages.labels}
    in_tree = ["low", "b", "a", "c", "high", "mid", "d", "e", "top", "f", "g", "h", "*"]
    assert [label.text for label in towns.labels] == sorted(
        (label.text for label in towns.labels), key=in_tree.index
    )
    firsts = [label.meaning.low for label in days.labels if label.meaning.kind == "range"]
    assert firsts == sorted(firsts)
    assert sum(label.rows for label in ages.labels) == ROWS


def test_words_say_what_a_label_means():
    data = pl.DataFrame({"age": [18] * 5 + [44] * 5, "row": range(10)})
    made = shoal.anonymize(
        data, quasi=["age"], plain=["row"], hierarchies={"age": {"cuts": [[18, 45]]}}, k=10
    )
    (label,) = made.codebook.columns[0].labels
    assert (label.text, label.meaning.words("age"), label.rows) == ("18-44", "18 <= age <= 44", 10)
    assert made.codebook.by_name["age"].value_labels == {"18-44": "18 <= age <= 44"}


def test_a_limit_says_what_a_label_does_not_cover():
    data = pl.DataFrame({"age": [20] * 5 + [26, 39] * 3 + [70, 80] * 3})
    made = shoal.anonymize(
        data,
        quasi=["age"],
        hierarchies={"age": {"cuts": [[20, 25, 40], [20, 40]]}},
        limits={"age": ["20-24"]},
        k=5,
    )
    meanings = {label.text: label.meaning for label in made.codebook.columns[0].labels}
    assert all(meaning.but == ("20-24",) for text, meaning in meanings.items() if text in ("*", "20-39"))


# --- what may not be told -----------------------------------------------------------------------------------

MARK = "MARK"
OWN = 987_654


def marked():
    """One row is suppressed; it alone has the marker, in each column."""
    return pl.DataFrame(
        {
            "name": [f"{MARK} {row}" for row in range(41)],
            "block": [*("usual" for _ in range(40)), f"{MARK} block"],
            "age": [*(row % 20 + 20 for row in range(40)), OWN],
            "free": [*(row % 2 for row in range(40)), OWN],
            "word": [*("ab"[row % 2] for row in range(40)), f"{MARK} word"],
            "code": [*(f"1{row % 2}" for row in range(40)), f"{MARK}123456"],
            "sick": [*("xy"[row % 2] for row in range(40)), f"{MARK} sick"],
            "note": [*("n" for _ in range(40)), f"{MARK} note"],
        }
    )


@pytest.mark.parametrize("method", ["mondrian", "agglomerative", "full-domain", "p-k", "bucketization"])
def test_nothing_of_suppressed_rows_or_identifiers(tmp_path, method):
    marked().write_csv(tmp_path / "data.csv")
    kinds = {"age": {"widths": [10]}, "word": "auto", "code": {"mask": "right"}}
    asked = {"l": 2} if method == "bucketization" else {"k": 3}
    policy = shoal.Policy.from_keywords(
        quasi=["block", "age", "free", "word", "code"], sensitive=["sick"], identifier=["name"], plain=["note"],
        hierarchies=kinds, limits={"block": 0}, method=method, suppression=0.1, **asked,
    )  # fmt: skip
    (tmp_path / "policy.toml").write_text(policy.to_toml())
    names = ("book.md", "book.json", "book.csv", "book.jsonld", "datapackage.json", "card.md")
    words = [
        "anonymize",
        str(tmp_path / "data.csv"),
        "-p",
        str(tmp_path / "policy.toml"),
        "-o",
        str(tmp_path / "out.csv"),
    ]
    for name in names:
        words += ["--card" if "card" in name else "--codebook", str(tmp_path / name)]
    made = CliRunner().invoke(main, words)
    assert made.exit_code == 0, made.output
    release = (tmp_path / "out.csv").read_text()
    assert MARK not in release  # else the row was not suppressed, and nothing is tried
    for name in names:
        text = (tmp_path / name).read_text()
        assert MARK not in text, name
        assert str(OWN) not in text, name


def test_the_codebook_depends_on_published_rows_and_the_policy_alone(tmp_path):
    """The same rows give the same codebook, whatever was suppressed: a longer code, another type, a missing value."""
    rows = marked().head(40).drop("name", "block")
    books = []
    rows = rows.with_columns(note=pl.lit("4"))
    for odd in (None, f"{MARK} a longer text", "a"):
        extra = rows.head(1).with_columns(
            age=pl.lit(5_000, pl.Int64), word=pl.lit(odd), note=pl.lit(odd), sick=pl.lit(odd)
        )
        data = pl.concat([rows, extra])
        data.write_csv(tmp_path / "data.csv")
        made = shoal.anonymize(
            tmp_path / "data.csv", quasi=["age", "word", "code"], sensitive=["sick"], plain=["note", "free"],
            hierarchies={"age": {"cuts": [[30, 100]]}, "word": "auto", "code": {"mask": "right"}}, k=3, suppression=0.1,
            limits={"age": 1},
        )  # fmt: skip
        assert made.suppressed == 1
        books.append(made.codebook.summary())
    assert books[0] == books[1] == books[2]


@pytest.mark.parametrize("method", ["mondrian", "anatomy"])
def test_a_release_that_exists_gets_the_same_codebook(tmp_path, method):
    data = pl.DataFrame({"age": NUMBERS, "town": TOWNS, "sick": TOWNS})
    data.write_csv(tmp_path / "data.csv")
    asked = {"l": 2} if method == "anatomy" else {"k": 3}
    policy = shoal.Policy.from_keywords(
        quasi=["age", "town"],
        sensitive=["sick"],
        hierarchies={"age": {"widths": [10]}},
        method=method,
        **asked,
    )
    (tmp_path / "policy.toml").write_text(policy.to_toml())
    words = [
        str(tmp_path / name)
        for name in ("data.csv", "policy.toml", "out.csv", "one.json", "two.json", "three.json")
    ]
    run = CliRunner()
    first = run.invoke(main, ["anonymize", words[0], "-p", words[1], "-o", words[2], "--codebook", words[3]])
    assert first.exit_code == 0, first.output
    then = run.invoke(main, ["audit", words[2], "-p", words[1], "--codebook", words[4]])
    assert then.exit_code == 0, then.output
    last = run.invoke(main, ["report", words[2], "-p", words[1], "--original", words[0], "-o", str(tmp_path / "r.html"),
                             "--codebook", words[5]])  # fmt: skip
    assert last.exit_code == 0, last.output
    books = [json.loads(Path(path).read_text()) for path in words[3:]]
    assert books[0] == books[1] == books[2]
    assert shoal.codebook(words[2], policy).summary() == books[0]
    assert ("second_table" in books[0]) == (method == "anatomy")


def test_the_owner_is_told_of_values_that_only_suppressed_rows_have(tmp_path):
    """The note is private; the codebook lists what the policy lists, whatever the data has."""
    from shoal.pipeline.anonymize import anonymize_file

    tree = {"tree": {"x": ["a", "b"], "y": ["c", "d"]}}
    base = {
        "quasi": ["town"],
        "hierarchies": {"town": tree},
        "limits": {"town": 1},
        "k": 3,
        "suppression": 0.2,
    }
    books = []
    for rare in ("c", "d"):
        pl.DataFrame({"town": ["a", "b"] * 10 + [rare]}).write_csv(tmp_path / "data.csv")
        policy = shoal.Policy.from_keywords(**base)
        files = {"codebooks": [tmp_path / "book.json"], "cards": [tmp_path / "card.json"], "force": True}
        made = anonymize_file(tmp_path / "data.csv", policy, tmp_path / "out.csv", **files)
        assert made.suppressed == 1
        assert any(
            "1 value of the tree of 'town' that only suppressed rows have" in note for note in made.notes
        )
        assert "suppressed rows have" not in (tmp_path / "card.json").read_text()
        books.append((tmp_path / "book.json").read_text())
    assert books[0] == books[1]


# --- forms ---------------------------------------------------------------------------------------------------


def release(tmp_path):
    data = pl.DataFrame({"age": NUMBERS, "od|d": TOWNS, "sick": TOWNS})
    data.write_csv(tmp_path / "data.csv")
    policy = shoal.Policy.from_keywords(
        quasi=["age", "od|d"], sensitive=["sick"], hierarchies={"age": {"widths": [10]}}, k=3
    )
    return data, policy


def test_the_three_forms_tell_the_same(tmp_path):
    data, policy = release(tmp_path)
    book = shoal.anonymize(data, policy).codebook
    told = json.loads(codebook_json(book))
    lines = list(csv.DictReader(io.StringIO(codebook_csv(book))))
    assert [(line["column"], line["label"], line["means"], int(line["rows"])) for line in lines] == [
        (column["name"], label["label"] or "", escape_formula(label["means"]), label["rows"])
        for column in told["columns"]
        for label in column["labels"]
    ]
    page = codebook_markdown(book)
    assert page.count("\n## ") == 3
    assert len(re.findall(r"^\| .* \| [0-9,]+ \|$", page, re.M)) == len(lines)
    assert "od\\|d" in page


def test_a_data_package_describes_the_file(tmp_path):
    _, policy = release(tmp_path)
    (tmp_path / "policy.toml").write_text(policy.to_toml())
    words = [
        str(tmp_path / name)
        for name in ("data.csv", "policy.toml", "out.csv", "datapackage.json", "out.jsonld")
    ]
    made = CliRunner().invoke(
        main,
        [
            "anonymize",
            words[0],
            "-p",
            words[1],
            "-o",
            words[2],
            "--codebook",
            words[3],
            "--codebook",
            words[4],
        ],
    )
    assert made.exit_code == 0, made.output
    package = json.loads(Path(words[3]).read_text())
    (resource,) = package["resources"]
    with (tmp_path / resource["path"]).open(newline="") as file:
        header = next(csv.reader(file))
    assert [field["name"] for field in resource["schema"]["fields"]] == header
    assert re.fullmatch(r"[a-z0-9._-]+", package["name"])
    categories = {one["value"] for one in resource["schema"]["fields"][0]["categories"]}
    assert categories == set(_column(tmp_path / "out.csv", "age")) - {""}
    dataset = json.loads(Path(words[4]).read_text())
    assert dataset["@type"] == "dcat:Dataset"
    assert dataset["dcat:distribution"][0]["dcat:downloadURL"] == {"@id": "out.csv"}


def test_labels_of_statistical_packages_name_columns(tmp_path):
    """Columns that are published keep what the file says about them; removed ones are not mentioned."""
    pyreadstat = pytest.importorskip("pyreadstat", reason="needs shoal[stats]")
    from shoal.pipeline.anonymize import anonymize_file

    data = pl.DataFrame({"age": NUMBERS, "who": WORDS, "row": range(ROWS)}).to_pandas()
    about = {"age": "Age of the respondent", "who": "MARK name of the respondent"}
    pyreadstat.write_sav(data, str(tmp_path / "data.sav"), column_labels=about)
    policy = shoal.Policy.from_keywords(quasi=["age"], identifier=["who"], plain=["row"], k=3)
    names = ("book.json", "book.md", "datapackage.json")
    anonymize_file(
        tmp_path / "data.sav", policy, tmp_path / "out.csv", codebooks=[tmp_path / name for name in names]
    )
    for name in names:
        text = (tmp_path / name).read_text()
        assert "Age of the respondent" in text, name
        assert "MARK" not in text, name


def test_a_packed_file_is_described_as_such(tmp_path):
    from shoal.pipeline.anonymize import anonymize_file

    _, policy = release(tmp_path)
    package = tmp_path / "datapackage.json"
    anonymize_file(tmp_path / "data.csv", policy, tmp_path / "out.csv.gz", codebooks=[package])
    (resource,) = json.loads(package.read_text())["resources"]
    assert (resource["format"], resource["compression"], resource["mediatype"]) == ("csv", "gz", "text/csv")


@pytest.mark.parametrize(
    ("source", "target", "sign"), [(";", "out.csv", ";"), (";", "out.tsv", "\t"), (",", "out.csv", ",")]
)
def test_a_data_package_says_how_cells_are_divided(tmp_path, source, target, sign):
    from shoal.pipeline.anonymize import anonymize_file

    data, policy = release(tmp_path)
    data.write_csv(tmp_path / "data.csv", separator=source)
    package = tmp_path / "datapackage.json"
    anonymize_file(tmp_path / "data.csv", policy, tmp_path / target, codebooks=[package])
    first = json.loads(package.read_text())["resources"]
    assert first[0]["dialect"] == {"delimiter": sign}
    assert (tmp_path / target).read_text().splitlines()[0].count(sign) == 2
    (tmp_path / "policy.toml").write_text(policy.to_toml())
    words = [
        "audit",
        str(tmp_path / target),
        "-p",
        str(tmp_path / "policy.toml"),
        "--codebook",
        str(package),
        "--force",
    ]
    assert CliRunner().invoke(main, words).exit_code == 0
    assert json.loads(package.read_text())["resources"] == first


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("book.txt", "a codebook is .md, .json, .csv, .jsonld, or datapackage.json"),
        ("in/datapackage.json", "folder"),
    ],
)
def test_names_that_cannot_be_codebooks_are_refused_before_the_work(tmp_path, name, words):
    from shoal.pipeline.anonymize import anonymize_file

    _, policy = release(tmp_path)
    (tmp_path / "in").mkdir()
    with pytest.raises(OutputError, match=words):
        anonymize_file(tmp_path / "data.csv", policy, tmp_path / "out.csv", codebooks=[tmp_path / name])
    assert not (tmp_path / "out.csv").exists()


def test_the_card_explains_labels(tmp_path):
    from shoal.pipeline.anonymize import anonymize_file

    _, policy = release(tmp_path)
    anonymize_file(tmp_path / "data.csv", policy, tmp_path / "out.csv", cards=[tmp_path / "card.md"])
    assert "## What the labels mean" in (tmp_path / "card.md").read_text()


def test_the_card_lists_no_values_of_trees(tmp_path):
    """A tree may be copied from the data, and everybody publishes the card."""
    from shoal.pipeline.anonymize import anonymize_file

    data, _ = release(tmp_path)
    tree = {"tree": {"low": ["a", "b", "c", "MARK"], "high": ["d", "e", "f", "g", "h"]}}
    policy = shoal.Policy.from_keywords(
        quasi=["od|d"], sensitive=["sick"], plain=["age"], hierarchies={"od|d": tree}, k=60
    )
    files = {"cards": [tmp_path / "card.md"], "codebooks": [tmp_path / "book.md"]}
    anonymize_file(tmp_path / "data.csv", policy, tmp_path / "out.csv", **files)
    assert "which the codebook lists" in (tmp_path / "card.md").read_text()
    assert "MARK" not in (tmp_path / "card.md").read_text()
    assert "MARK" in (tmp_path / "book.md").read_text()
    assert len(data) == ROWS


SHOWING = {
    "mondrian": {"show": "sets"},
    "agglomerative": {"show": "sets"},
    "hilbert": {"show": "sets"},
    "lexicographic": {"show": "sets"},
    "ring": {},
    "hybrid": {},
    "bucketization": {},
    "slice-columns": {},
    "anatomy": {},
}


@pytest.mark.parametrize("method", sorted(SHOWING))
def test_sets_and_buckets_are_explained(method):
    """The labels are those of the rows, whatever a method shows."""
    kind = METHODS[method]
    data = pl.DataFrame({"age": NUMBERS, "town": TOWNS, "sick": TOWNS})
    asked = {"l": 2} if kind.shows.buckets else {"k": 3}
    if kind.shows.notions:
        asked["notion"] = "k-k"
    made = shoal.anonymize(
        data, quasi=["age", "town"], sensitive=["sick"], method={"name": method, **SHOWING[method]}, **asked
    )  # fmt: skip
    for column in made.codebook.columns:
        if column.labels:
            assert sum(label.rows for label in column.labels) == len(made.table)
        assert all(label.meaning.kind != "unknown" for label in column.labels)
    assert [column.name for column in made.codebook.columns] == made.table.columns


@pytest.mark.parametrize("name", ["book.md", "book.json", "book.jsonld", "datapackage.json"])
def test_a_codebook_of_a_release_that_is_not_for_publication_says_so(name):
    book = shoal.codebook(pl.DataFrame({"town": ["a", "b"]}), quasi=["town"], k=2)
    path, release = Path(name), Path("out.csv")
    assert NOT_FOR_PUBLICATION not in codebook_text(book, path, release)
    text = codebook_text(book, path, release, for_publication=False)
    assert NOT_FOR_PUBLICATION in text
    if name == "book.json":
        found = json.loads(text)
        assert (found["for_publication"], found["warning"]) == (False, NOT_FOR_PUBLICATION)
        assert found.items() >= json.loads(codebook_text(book, path, release)).items()


def test_the_codebook_of_a_seeded_run_says_that_it_is_not_for_publication(tmp_path):
    pl.DataFrame({"age": [20, 21, 22, 30, 31, 32]}).write_csv(tmp_path / "data.csv")
    (tmp_path / "p.toml").write_text('[columns]\nage = "quasi"\n[privacy]\nk = 3\n')
    words = ["-p", str(tmp_path / "p.toml"), "--record", str(tmp_path / "record.json")]
    for run in ("anonymize", "audit"):
        books = [tmp_path / f"{run}.md", tmp_path / f"{run}.json"]
        more = [word for book in books for word in ("--codebook", str(book))]
        start = ["anonymize", str(tmp_path / "data.csv"), "-o", str(tmp_path / "out.csv"), "--seed", "3"]
        start = start if run == "anonymize" else ["audit", str(tmp_path / "out.csv")]
        done = CliRunner().invoke(main, [*start, *words, *more])
        assert done.exit_code == 0, done.output
        assert all(NOT_FOR_PUBLICATION in book.read_text() for book in books)


@pytest.mark.parametrize("digits", [309, 5000])
@pytest.mark.parametrize("label", ["{}", "1-{}", "{}-49", "[1, {}]", "<{}", "{}+", "-{} to 4"])
def test_numbers_that_are_too_large_for_a_float_are_texts(label, digits):
    found = interval_label(label.format("9" * digits))
    assert found is None or (found.low, found.high) == (None, None)


def test_a_codebook_of_a_release_with_a_label_of_400_digits(tmp_path: Path):
    (tmp_path / "out.csv").write_text("age\n" + "20-39\n" * 3 + f"{'1' * 400}-49\n" * 3)
    policy = shoal.Policy.from_keywords(quasi={"age": {"widths": [20]}}, k=3)
    assert [column.name for column in shoal.codebook(tmp_path / "out.csv", policy).columns] == ["age"]


def test_ranges_that_are_too_wide_for_a_float_have_no_loss():
    ends = [Meaning("range", -(10.0**308), 0.0), Meaning("range", 0.0, 10.0**308)]
    assert _shares(ends, 0) is None
