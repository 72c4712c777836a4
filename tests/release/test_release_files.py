"""Releases are read from files by what they are, however the original was read: dialect, types, suppressed rows."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.apps.cli import main
from shoal.apps.samples import sample
from shoal.errors import DataError
from shoal.policy import Policy
from shoal.release.published_types import restore_type

ROWS = 60


def people(seed: int = 3) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": random.integers(20, 60, ROWS),
            "town": random.choice(["Köln", "Łódź", "Aš, CZ", "o'Brien", 'the "X"'], ROWS),
            "ill": random.choice(["flu", "?", "grün; rot", "ulcer"], ROWS),
        }
    )


def write_odd(folder, name: str, options: dict) -> str:
    """Write the people in the dialect that the options describe, and return the TOML of a policy for it."""
    data = people()
    names = data.columns if options.get("header", True) else [f"column_{i}" for i in (1, 2, 3)]
    if name.endswith(".xlsx"):
        import xlsxwriter

        with xlsxwriter.Workbook(folder / name) as book:
            pl.DataFrame({"nothing": [1, 2]}).write_excel(book, worksheet="cover")
            data.write_excel(book, worksheet=options["sheet"])
    else:
        quote = options.get("quote") or '"'
        text = data.write_csv(
            separator=options.get("delimiter", ","),
            quote_char=quote,
            include_header=options.get("header", True),
        )
        (folder / name).write_bytes(text.encode(options.get("encoding", "utf-8")))
    told = "\n".join(f"{key} = {json.dumps(value)}" for key, value in options.items())
    roles = "\n".join(f'{n} = "{r}"' for n, r in zip(names, ("quasi", "quasi", "sensitive"), strict=True))
    return f"[data]\n{told}\n[columns]\n{roles}\n[privacy]\nk = 4\nl = 2\n[utility]\nsuppression = 0.1\n"


ODD = {
    "header": ("in.csv", {"header": False}),
    "encoding": ("in.csv", {"encoding": "utf-16"}),
    "quote": ("in.csv", {"quote": "'"}),
    "delimiter": ("in.csv", {"delimiter": "^"}),
    "semicolon": ("in.csv", {"delimiter": ";"}),
    "tab": ("in.tsv", {"delimiter": "\t"}),
    "null_values": ("in.csv", {"null_values": ["?", "flu"]}),
    "sheet": ("in.xlsx", {"sheet": "people"}),
    "all text": ("in.csv", {"guess_types": False}),
    "many": ("in.csv", {"header": False, "encoding": "utf-16", "quote": "'", "delimiter": "|"}),
}


def run(*words: object, codes: tuple[int, ...] = (0,)) -> str:
    done = CliRunner().invoke(main, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code in codes, done.output
    return done.output


@pytest.mark.parametrize("out", ["out.csv", "out.tsv", "out.csv.gz", "out.parquet", "out.jsonl", "out.xlsx"])
@pytest.mark.parametrize("case", ODD)
def test_a_release_is_read_in_its_own_dialect(tmp_path, case, out):
    """However the original is read, audit, attack and report understand what anonymize wrote."""
    name, options = ODD[case]
    (tmp_path / "p.toml").write_text(write_odd(tmp_path, name, options))
    files = (tmp_path / out, "-p", tmp_path / "p.toml", "--original", tmp_path / name)
    made = json.loads(
        run("anonymize", tmp_path / name, "-p", tmp_path / "p.toml", "-o", tmp_path / out, "--json")
    )
    for words, code, unknown in ((files, 0, []), (files[:3], 9, ["suppression"])):
        judged = json.loads(run("audit", *words, "--json", codes=(code,)))
        assert judged["classes"] == made["classes"]
        assert [one["model"] for one in judged["verdicts"] if one["holds"] is None] == unknown
        assert all(one["holds"] for one in judged["verdicts"] if one["model"] not in unknown)
    judged = json.loads(run("audit", *files, "--json"))
    assert judged["suppressed"] == made["suppressed"]
    assert judged["measures"]["dm"] == made["measures"]["dm"]
    assert judged["measures"]["lm"] == pytest.approx(made["measures"]["lm"])
    assert json.loads(run("attack", *files, "--json"))["at_risk"] == 0
    run("report", *files, "-o", tmp_path / "r.html")


@pytest.mark.parametrize("delimiter", [",", ";", "^", ":", " ", "\t"])
def test_one_column_without_any_delimiter_is_read_with_that_of_the_original(tmp_path, delimiter):
    """`[20, 29]` in a file of one column has a comma in it, and two parts where spaces separate."""
    table = pl.DataFrame({"age": np.arange(20, 60).repeat(2), "more": ["x"] * 80})
    table.write_csv(tmp_path / "in.csv", separator=delimiter)
    policy = Policy.from_keywords(
        quasi=["age"], k=4, other_columns="drop", data={"delimiter": delimiter}, method="hilbert"
    )
    from shoal.pipeline.anonymize import anonymize_file

    made = anonymize_file(tmp_path / "in.csv", policy, tmp_path / "out.csv")
    judged = shoal.audit(tmp_path / "out.csv", policy, original=tmp_path / "in.csv")
    assert judged.holds
    assert judged.classes == made.classes
    assert shoal.audit(tmp_path / "out.csv", policy).classes == made.classes


FOREIGN = {
    "delimiter": {"delimiter": "^"},
    "encoding": {"encoding": "cp1250"},
    "quote": {"quote": "'"},
    "header": {"header": False},
    "null_values": {"null_values": ["n/a"]},
}


@pytest.mark.parametrize("case", FOREIGN)
def test_what_another_tool_wrote_is_described_in_the_policy(tmp_path, case):
    options = FOREIGN[case]
    data = people().with_columns(pl.col("ill").replace({"?": None}))
    data.write_csv(tmp_path / "in.csv")
    other = people().with_columns(age=pl.lit("*"), ill=pl.col("ill").replace({"?": "n/a"}))
    if case != "null_values":
        other = other.with_columns(pl.col("ill").replace({"n/a": None}))
    text = other.write_csv(
        separator=options.get("delimiter", ","),
        quote_char=options.get("quote", '"'),
        include_header=options.get("header", True),
    )
    (tmp_path / "theirs.csv").write_bytes(text.encode(options.get("encoding", "utf-8")))
    roles = {"quasi": ["age"], "sensitive": ["ill"], "plain": ["town"]}
    if case == "header":
        roles = {"quasi": ["column_1"], "sensitive": ["column_3"], "plain": ["column_2"]}
        data.columns = ["column_1", "column_2", "column_3"]
        data.write_csv(tmp_path / "in.csv")
    policy = Policy.from_keywords(**roles, k=ROWS, release=options)
    judged = shoal.audit(tmp_path / "theirs.csv", policy, original=tmp_path / "in.csv")
    assert judged.holds
    assert judged.classes == 1
    (tmp_path / "p.toml").write_text(Policy.from_keywords(**roles, k=ROWS).to_toml())
    key, value = next(iter(options.items()))
    setting = f"release.{key}={json.dumps(value)}"
    words = (tmp_path / "theirs.csv", "-p", tmp_path / "p.toml", "--original", tmp_path / "in.csv")
    assert json.loads(run("audit", *words, "--set", setting, "--json"))["classes"] == 1
    assert Policy.from_toml(policy.to_toml()) == policy


def test_the_second_table_is_read_in_the_same_dialect(tmp_path):
    (tmp_path / "p.toml").write_text(
        write_odd(tmp_path, "in.csv", {"header": False, "quote": "'"}).replace("k = 4\n", "")
    )
    files = (tmp_path / "out.csv", "-p", tmp_path / "p.toml", "--original", tmp_path / "in.csv")
    setting = ("--set", "method.name=anatomy")
    run("anonymize", tmp_path / "in.csv", "-p", tmp_path / "p.toml", "-o", tmp_path / "out.csv", *setting)
    assert (tmp_path / "out-sensitive.csv").is_file()
    run("audit", *files)
    run("audit", *files[:3], codes=(9,))


def test_messages_name_the_section_of_the_policy_that_helps(tmp_path):
    (tmp_path / "theirs.csv").write_bytes("a,s\nKöln,x\nKöln,y\n".encode("latin-1"))
    with pytest.raises(DataError, match=r'release=\{"encoding": "latin-1"\}'):
        shoal.audit(tmp_path / "theirs.csv", quasi=["a"], k=2)
    (tmp_path / "ragged.csv").write_text("a,s\nx,y,z\n")
    with pytest.raises(DataError, match=r"set \[release\] delimiter and quote"):
        shoal.audit(tmp_path / "ragged.csv", quasi=["a"], k=2)


# --- types ------------------------------------------------------------------------------------------------


def versions(last: str) -> pl.DataFrame:
    """A column of texts that look like numbers but for the last, which suppression removes."""
    texts = ["1.10"] * 4 + ["2.50"] * 4 + [last]
    return pl.DataFrame({"age": [30] * 8 + [99], "version": texts, "ill": texts})


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl", "xlsx"])
@pytest.mark.parametrize(("role", "l"), [("quasi", None), ("sensitive", 1)])
def test_types_of_the_original_hold_for_the_release(tmp_path, role, l, ending):  # noqa: E741
    data = versions("unknown").with_columns(pl.col("age").cast(pl.Int64))
    data.write_csv(tmp_path / "in.csv")
    other = "ill" if role == "quasi" else "version"
    release = data.head(8).drop(other)
    shoal.io.write(release, tmp_path / f"out.{ending}")
    roles = {"quasi": ["age", "version"]} if role == "quasi" else {"quasi": ["age"], "sensitive": ["ill"]}
    asked = {**roles, "k": 4, "suppression": 0.2, "other_columns": "drop", "hierarchies": {"version": "none"}}
    if role == "sensitive":
        asked.pop("hierarchies")
        asked["l"] = 2
    judged = shoal.audit(tmp_path / f"out.{ending}", original=tmp_path / "in.csv", **asked)
    assert judged.holds, judged.verdicts
    assert judged.suppressed == 1
    assert judged.classes == (2 if role == "quasi" else 1)
    assert not any("not in the policy's hierarchies" in note for note in judged.notes)


TYPED = {
    "whole numbers": [1, 2, 3, None, 40],
    "fractions": [1.0, 2.0, 2.5, None, 1e300],
    "whole fractions": [1.0, 2.0, 3.0, None, 40.0],
    "booleans": [True, False, True, None, False],
    "dates": [dt.date(2020, 1, 31), dt.date(2020, 2, 1), None, dt.date(1999, 1, 1), dt.date(2020, 1, 1)],
    "moments": [dt.datetime(2020, 1, 31, 1, 2, 3), dt.datetime(2020, 2, 1), None] * 2,
    "zip codes": ["01234", "00012", None, "99999", "1234"],
    "decimals": [Decimal("1.10"), Decimal("2.50"), None, Decimal("3.00"), Decimal("1.11")],
    "nothing": [None, None, None, None, "x"],
    "categories": ["a", "b", None, "true", "1"],
}


def written_by(kind: str, release: pl.DataFrame, folder) -> object:
    """The release as other tools hand it over."""
    if kind == "pandas":
        return release.to_pandas()
    if kind == "pandas csv":
        release.to_pandas().to_csv(folder / "out.csv", index=False)
        return folder / "out.csv"
    if kind == "pyarrow":
        return release.to_arrow()
    path = folder / f"out.{kind}"
    shoal.io.write(release, path)
    return path


@pytest.mark.parametrize("before", ["frame", "csv"])
@pytest.mark.parametrize(
    "kind", ["csv", "parquet", "jsonl", "xlsx", "arrow", "pandas", "pandas csv", "pyarrow"]
)
@pytest.mark.parametrize("values", TYPED)
def test_values_are_found_in_the_original_whatever_the_format(tmp_path, values, kind, before):
    """Sensitive, quasi-identifying and plain columns; the last row is suppressed, so types are guessed from fewer."""
    column = pl.Series("s", TYPED[values])
    data = pl.DataFrame({"q": [1] * len(column), "s": column, "p": column, "q2": column})
    release = data.head(len(column) - 1)
    if values == "decimals" and kind in ("jsonl", "xlsx"):
        release = release.with_columns(pl.col("s", "p", "q2").cast(pl.String))
    source = written_by(kind, release, tmp_path)
    original: object = data
    if before == "csv":
        data.write_csv(tmp_path / "in.csv")
        original = tmp_path / "in.csv"
    asked = {"quasi": ["q"], "sensitive": ["s"], "plain": ["p", "q2"], "k": 4, "suppression": 0.5}
    judged = shoal.audit(source, original=original, **asked)
    assert judged.holds, judged.verdicts
    assert judged.suppressed == 1
    second = shoal.audit(
        source, original=original, quasi=["q2"], plain=["q", "s", "p"], k=1 + 1, suppression=1.0
    )
    assert second.classes == release["q2"].n_unique()


def test_whole_numbers_that_became_fractions_among_texts():
    original = pl.DataFrame({"q": [1] * 5, "s": ["4", "5", "4", "5", "unknown"]})
    release = pl.DataFrame({"q": [1] * 4, "s": [4.0, 5.0, 4.0, 5.0]})
    assert shoal.audit(
        release, original=original, quasi=["q"], sensitive=["s"], k=4, suppression=0.2, l=2
    ).holds


def test_a_value_that_the_original_lacks_is_refused_in_every_type():
    original = pl.DataFrame({"q": [1] * 4, "s": [1, 2, 3, 4]})
    for wrong in ([1, 2, 3, 5], ["1", "2", "3", "x"], [1.0, 2.0, 3.0, 4.5]):
        with pytest.raises(DataError, match="the original does not have"):
            shoal.audit(
                pl.DataFrame({"q": [1] * 4, "s": wrong}), original=original, quasi=["q"], sensitive=["s"], k=2
            )


def test_types_never_merge_two_texts():
    """Classes are formed by letters: 1.10 and 1.1 are two, even if the original has numbers."""
    texts = pl.Series("a", ["1.10", "1.1", "2"])
    assert restore_type(texts, pl.Float64()).equals(texts)
    assert restore_type(texts[1:], pl.Float64()).to_list() == [1.1, 2.0]
    assert restore_type(pl.Series([1.0, 2.5]), pl.Int64()).to_list() == [1.0, 2.5]
    noon = pl.Series([dt.datetime(2020, 1, 1, 12), dt.datetime(2020, 1, 1)])
    assert restore_type(noon, pl.Date()).equals(noon)


def test_a_day_among_moments_is_a_day_and_not_its_midnight():
    moments = [dt.datetime(2023, 11, 14, 11, 30)] * 4 + [dt.datetime(2024, 1, 7, 13, 30)] * 3
    original = pl.DataFrame({"t": [*moments, dt.datetime(2024, 1, 7, 23, 30)]})
    asked = {"quasi": ["t"], "hierarchies": {"t": {"dates": ["day", "month", "year"]}}, "k": 4}
    made = shoal.anonymize(original, **asked)
    judged = shoal.audit(made.table, original=original, **asked)
    assert judged.measures["lm"] == pytest.approx(made.measures["lm"])
    assert not any("hierarchies" in note for note in judged.notes)


def test_without_the_original_sensitive_numbers_are_numbers_and_listed_values_are_texts(tmp_path):
    release = pl.DataFrame({"q": ["*"] * 4, "s": ["1.10", "2.50", "1.10", "2.50"]})
    release.write_csv(tmp_path / "out.csv")
    spread = shoal.audit(tmp_path / "out.csv", quasi=["q"], sensitive=["s"], ke=[2, 1.4])
    assert spread.holds
    tree = {"s": {"tree": {"old": ["1.10"], "new": ["2.50"]}}}
    assert shoal.audit(tmp_path / "out.csv", quasi=["q"], sensitive=["s"], l=2, hierarchies=tree).holds


# --- rows that show * everywhere --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "notion"), [("forest", None), ("mondrian", None), ("k-k", "k-k"), ("global-1-k", "global-1-k")]
)
def test_rows_that_show_a_star_everywhere_are_a_class_for_every_command(tmp_path, method, notion):
    """Anonymize, record, audit and report count the same classes, suppressed rows and losses."""
    quasi = ["education", "marital", "race", "workclass"]
    sample("census", 300, 1).select(*quasi, "salary").write_csv(tmp_path / "in.csv")
    policy = Policy.from_keywords(
        quasi=quasi, sensitive=["salary"], k=5, notion=notion, method=method,
        suppression=0.5, hierarchies=dict.fromkeys(quasi, "none"),
    )  # fmt: skip
    (tmp_path / "p.toml").write_text(policy.to_toml())
    out, record = tmp_path / "out.csv", tmp_path / "record.json"
    words = ("-p", tmp_path / "p.toml", "--json", "--seed", 1)
    made = json.loads(run("anonymize", tmp_path / "in.csv", "-o", out, "--record", record, *words))
    starred = sum(line.startswith("*,*,*,*,") for line in out.read_text().splitlines())
    assert starred > 0, "the test needs rows that show * everywhere"
    files = (out, "-p", tmp_path / "p.toml", "--original", tmp_path / "in.csv")
    judged = json.loads(run("audit", *files, "--json"))
    for other in (judged, json.loads(record.read_text())):
        assert (other["classes"], other["suppressed"]) == (made["classes"], 0)
        assert other["measures"]["lm"] == pytest.approx(made["measures"]["lm"])
        assert other["measures"].get("dm") == made["measures"].get("dm")
        reached = {verdict["model"]: verdict["reached"] for verdict in other["verdicts"]}
        assert {v["model"]: reached[v["model"]] for v in made["verdicts"]} == {
            v["model"]: v["reached"] for v in made["verdicts"]
        }
    assert any(f"{starred} rows show *" in note for note in judged["notes"])
    page = tmp_path / "report.html"
    run("report", *files, "-o", page, "--record", record)
    assert "another release" not in page.read_text()
    # Left out, they break what overlapping cells promise; that is what the user says then.
    named = json.loads(run("audit", *files, "--json", "--suppressed-as", "*", codes=(0, 5)))
    assert named["suppressed"] == starred
    attacked = json.loads(run("attack", *files, "--suppressed-as", "*", "--json", codes=(0, 5)))
    assert attacked["notes"] == []
    run("report", *files, "--suppressed-as", "*", "-o", page, "--force", codes=(0, 5))


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_a_release_without_rows_is_audited(tmp_path, name):
    """If all rows may be suppressed, a release may have none; that is no reason to refuse it."""
    original = pl.DataFrame({"age": [1, 2, 3], "ill": ["flu", "cold", "gout"]})
    empty = original.clear()
    empty.write_csv(tmp_path / name) if name.endswith("csv") else empty.write_parquet(tmp_path / name)
    policy = {"quasi": ["age"], "sensitive": ["ill"], "k": 2, "suppression": 1.0}
    for source in (tmp_path / name, empty):
        judged = shoal.audit(source, original=original, **policy)
        assert (judged.holds, judged.classes, judged.suppressed) == (True, 0, 3)
