"""Bad and odd input through the command line: a message that helps, the right exit code, and nothing written."""

from __future__ import annotations

import datetime as dt
import json
import os
import signal
import subprocess
import sys
import time
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal import io
from shoal.apps.cli import main
from shoal.coding.hierarchy import build
from shoal.errors import DataError, HierarchyError, InfeasibleError, OutputError, PolicyError

ROWS = 24
SECRETS = [f"Zaphod-{i}" for i in range(ROWS)]
POLICY = """
[columns.name]
role = "identifier"
[columns.age]
role = "quasi"
hierarchy = { widths = [5, 10, 20] }
[columns.city]
role = "quasi"
[columns.disease]
role = "sensitive"
[privacy]
k = 4
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pl.DataFrame(
        {
            "name": SECRETS,
            "age": [20 + (i * 7) % 30 for i in range(ROWS)],
            "city": [("Rome", "Bonn", "Oslo")[i % 3] for i in range(ROWS)],
            "disease": [("flu", "cold", "gout", "mumps")[i % 4] for i in range(ROWS)],
        }
    )
    table.write_csv("data.csv")
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


def run(folder, *words):
    """Run a command; give back its result and the files that it made."""
    before = set(folder.iterdir())
    argv, sys.argv = sys.argv, ["shoal", *map(str, words)]
    try:
        result = CliRunner().invoke(main, [str(word) for word in words])
    finally:
        sys.argv = argv
    return result, {path.name for path in set(folder.iterdir()) - before}


@pytest.mark.parametrize("name", ["NUMBA_NUM_THREADS", "POLARS_MAX_THREADS"])
@pytest.mark.parametrize("value", ["0", "-1", "x", "1.5", "\N{SUPERSCRIPT TWO}", "9" * 5000])
def test_a_number_of_threads_that_no_library_accepts_is_named(folder, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    result = CliRunner().invoke(main, ["anonymize", "data.csv", "-p", "policy.toml", "-o", "out.csv"])
    assert result.exit_code == 2
    assert f"{name}={value[:20]}: set it to a whole number from 1 on, or unset it" in result.stderr
    assert not (folder / "out.csv").exists()


def refused(folder, code, *words, says=()):
    result, made = run(folder, *words)
    text = result.stderr
    assert result.exit_code == code, result.output + text
    assert made == set()
    assert "Traceback" not in text
    assert "bug in Shoal" not in text
    assert "mistake of its own" not in text
    assert "Zaphod" not in text  # no raw record
    for words_wanted in [says] if isinstance(says, str) else says:
        assert words_wanted in text
    return text


ANONYMIZE = ("anonymize", "data.csv", "-p", "policy.toml", "-o", "out.csv")


@pytest.mark.parametrize(
    ("code", "words", "says"),
    [
        (2, ("--set", "columns.agee.role=quasi"), "did you mean 'age'?"),
        (2, ("--k", "1"), "at least 2, not 1"),
        (2, ("--k", "0"), "at least 2, not 0"),
        (2, ("--k", "-3"), "at least 2, not -3"),
        (2, ("--k", "x"), "not a valid integer"),
        (2, ("--set", "privacy.k=2.5"), "whole number"),
        (4, ("--k", "25"), "25-anonymous: the table has 24 rows"),
        (4, ("--set", "privacy.l={distinct=5}"), "has 4"),
        (4, ("--set", "privacy.p=5"), "has 4"),
        (4, ("--set", "privacy.alpha=0.2"), "has 4"),
        (4, ("--set", "privacy.l={recursive=[0.1,2]}"), "whole table as one class"),
        (4, ("--set", "columns.city.limit=0", "--k", "9"), "loosen the limits"),
        (2, ("--set", "nonsense"), "write PATH=VALUE"),
        (2, ("--set", "="), "write PATH=VALUE"),
        (2, ("--set", "privacy.k=["), "not a TOML value"),
        (2, ("--set", "privacy.kk=3"), "did you mean 'k'?"),
        (2, ("--set", "columns.age=quasii"), "did you mean 'quasi'?"),
        (2, ("--set", "columns.age.hierarchy=nowhere.csv"), "there is no file"),
        (2, ("--set", "columns.age.hierarchy=."), "is a folder"),
        (2, ("--method", "mondrain"), "did you mean 'mondrian'?"),
        (2, ("--seed", "-1"), "-1"),
        (2, ("--quasi", "age"), "give one or the other"),
        (3, ("--set", "data.delimiter=tab"), "delimiter"),
        (6, ("--record", "nowhere/x.json"), "create it first"),
        (6, ("--card", "."), "is a directory"),
        (6, ("--record", "out.csv"), "would replace the release"),
        (6, ("--record", "data.csv", "--force"), "would replace the data"),
        (6, ("-o", "data.csv", "--force"), "would replace the data"),
        (6, ("--record", "policy.toml", "--force"), "would replace the policy"),
        (6, ("--card", "c.md", "--record", "c.md"), "choose another name"),
        (2, ("--set", "nonsense"), "1 problem in the settings"),
        (2, ("--set", "privacy.k=2.5"), "1 problem in the policy with the settings"),
        (2, ("--quasi", "age"), "1 problem in the command line"),
        (2, ("--k", "3", "--set", "privacy.k=4"), "privacy.k: is set to 4 and to 3"),
        (2, ("--set", "privacy.k=3", "--set", "privacy.k=4"), "privacy.k: is set to 3 and to 4"),
        (2, ("--set", "privacy.l=3", "--set", "privacy.l.distinct=4"), "privacy.l: is set to 3 and to"),
        (2, ("--set", "columns.age=plain", "--set", "columns.age.role=quasi"), "'plain' and to 'quasi'"),
        (
            2,
            ("--method", "mondrian", "--set", "method=forest"),
            "method.name: is set to 'forest' and to 'mondrian'",
        ),
    ],
)
def test_refused_with_the_data_of_the_fixture(folder, code, words, says):
    refused(folder, code, *ANONYMIZE, *words, says=says)


def test_infeasible_limits_on_several_columns_show_no_records(folder):
    words = (*ANONYMIZE, "--set", "columns.city.limit=0", "--set", "columns.age.limit=0")
    text = refused(folder, 4, *words, says="a combination of age and city")
    assert not any(city in text for city in ("Rome", "Bonn", "Oslo"))


@pytest.mark.parametrize(
    ("code", "output", "says"),
    [
        (6, ".", "add a file name"),
        (6, "data.csv", "would replace the data"),
        (6, "policy.toml", "would replace the policy"),
        (6, "old.csv", "--force"),
        (6, "out.foo", "unknown file ending"),
        (6, "nowhere/out.csv", "create it first"),
    ],
)
def test_places_that_cannot_be_written(folder, code, output, says):
    before = (folder / "data.csv").read_bytes()
    (folder / "old.csv").write_text("old")
    refused(folder, code, "anonymize", "data.csv", "-p", "policy.toml", "-o", output, says=says)
    assert (folder / "data.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("code", "content", "says"),
    [
        (3, b"", "is empty"),
        (3, b"a,b\n", "no rows"),
        (4, b"a,b\n1,Zaphod\n", "the table has a single row"),
        (3, b"a,a\n1,2\n1,2\n", "rename all but one"),
        (3, b"a,b\n1,2\nZaphod\n1,2\n", "line 3"),
        (3, b"a,b\n1,2\n1,2,Zaphod\n", "line 3"),
        (3, b'a,b\n1,"Zaphod\n1,2\n', "quote"),
        (3, "a,b\n1,é\n1,é\n".encode("latin-1"), "data.encoding=latin-1"),
        (3, b"a,b\n1,\n2,\n", "all values are null"),
    ],
)
def test_files_that_cannot_be_used(folder, code, content, says):
    (folder / "bad.csv").write_bytes(content)
    refused(folder, code, "anonymize", "bad.csv", "-o", "out.csv", "--quasi", "a,b", "--k", "2", says=says)


@pytest.mark.parametrize(
    ("code", "words", "says"),
    [
        (2, ("--quasi", "age", "--sensitive", "age"), "has two roles"),
        (2, ("--quasi", "age,city", "--sensitive", "disease"), "without a role: name"),
        (2, (), "`shoal init` writes one"),
    ],
)
def test_roles_on_the_command_line(folder, code, words, says):
    refused(folder, code, "anonymize", "data.csv", "-o", "out.csv", *words, says=says)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("Rome;south;*\nBonn;north;*\n", "'Oslo'"),
        ("Rome;a;b;*\nBonn;b;a;*\nOslo;a;b;*\n", "cyclic"),
        ("Rome;south;*\nBonn;north;cold;*\nOslo;*\n", "unbalanced"),
        ("Rome;a;b;*\nBonn;a;c;*\nOslo;d;c;*\n", "two parents"),
        ("Rome;a;*\nRome;b;*\nBonn;a;*\nOslo;a;*\n", "more than one line"),
        ("", "is empty"),
        ('Rome;"south;*\nBonn;north;*\nOslo;north;*\n', "not valid CSV"),
    ],
)
def test_hierarchy_files_that_are_no_trees(folder, lines, says):
    (folder / "h.csv").write_text(lines)
    refused(folder, 3, *ANONYMIZE, "--set", "columns.city.hierarchy=h.csv", says=("column 'city'", says))


def test_trees_in_the_policy_are_not_spoken_of_as_lines():
    values = pl.Series(["x", "y", "z"])
    with pytest.raises(HierarchyError, match="'x' occurs 2 times"):
        build(values, {"tree": {"a": ["x", "y"], "b": ["x", "z"]}})
    with pytest.raises(HierarchyError, match=r"'z'.*Put each of them under a node"):
        build(values, {"tree": {"a": ["x"], "b": ["y"]}})


@pytest.mark.parametrize("spec", ["widths = [5]", "cuts = [[5]]"])
def test_numeric_column_with_text_in_it(folder, spec):
    pl.DataFrame({"a": ["1", "2", "many", "n/a"]}).write_csv(folder / "bad.csv")
    (folder / "p.toml").write_text(f'[columns.a]\nrole = "quasi"\nhierarchy = {{ {spec} }}\n[privacy]\nk = 2')
    says = ("is for numbers", "'many', 'n/a'")
    refused(folder, 3, "anonymize", "bad.csv", "-p", "p.toml", "-o", "out.csv", says=says)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[columns\n", "line 1"),
        ("", "no column is a quasi-identifier"),
        ('[columns.a]\nrole="quasi"\n[columns.a]\nrole="plain"\n', "twice"),
        (
            '[columns.age]\nrole="quasi"\nhierarchy={widths=[' + "9" * 400 + "]}\n[privacy]\nk=2\n",
            "too large",
        ),
        ('[columns.age]\nrole="quasi"\nhierarchy={widths=[1e-300,1e300]}\n[privacy]\nk=2\n', "too far apart"),
    ],
)
def test_policies_that_cannot_be_read(folder, text, says):
    (folder / "bad.toml").write_text(text)
    refused(folder, 2, "anonymize", "data.csv", "-p", "bad.toml", "-o", "out.csv", says=says)


def test_text_without_an_order_has_no_ordered_distance(folder):
    words = (*ANONYMIZE, "--set", "privacy.t={ordered=0.5}")
    says = ("privacy.t.ordered", "`disease` holds text, which has no order", "{ tree = { all = ")
    refused(folder, 2, *words, says=says)
    refused(
        folder, 2, "explain", "data.csv", "-p", "policy.toml", "--set", "privacy.t={ordered=0.5}", says=says
    )
    refused(
        folder, 2, "audit", "data.csv", "-p", "policy.toml", "--set", "privacy.t={ordered=0.5}", says=says
    )
    tree = 'columns.disease.hierarchy={tree={all=["cold", "flu", "gout", "mumps"]}}'
    assert run(folder, *words, "--set", tree, "--record", "run.json")[0].exit_code == 0
    words = ("audit", "out.csv", "-p", "policy.toml", "--set", "privacy.t={ordered=0.5}", "--set", tree)
    words = (*words, "--record", "run.json")
    assert run(folder, *words)[0].exit_code == 0


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, 3] * 4,
        [1.5, 2.5, None] * 4,
        [dt.date(2020, 1, day) for day in (1, 2, 3)] * 4,
        [True, False] * 6,
        ["yes", "no"] * 6,
    ],
)
def test_values_with_an_order_have_an_ordered_distance(values):
    table = pl.DataFrame({"a": range(12), "s": values})
    assert shoal.anonymize(table, quasi=["a"], sensitive=["s"], k=3, t={"ordered": 0.5}).holds


def test_types_with_categories_give_no_order_that_the_policy_does_not_give():
    """Shoal sorts categories by their text, so their order in the type does not count."""
    table = pl.DataFrame(
        {"a": range(12), "s": pl.Series(["low", "mid", "high"] * 4, dtype=pl.Enum(["low", "mid", "high"]))}
    )
    with pytest.raises(PolicyError, match="no order"):
        shoal.anonymize(table, quasi=["a"], sensitive=["s"], k=3, t={"ordered": 0.5})
    tree = {"s": {"tree": {"all": ["low", "mid", "high"]}}}
    made = shoal.anonymize(table, quasi=["a"], sensitive=["s"], k=3, t={"ordered": 0.5}, hierarchies=tree)
    assert made.holds


def test_settings_may_mend_a_policy_that_is_wrong_without_them(folder):
    """Only what the settings make of a policy is checked, and once."""
    (folder / "draft.toml").write_text(POLICY.replace("k = 4", "k = 1"))
    words = ("anonymize", "data.csv", "-p", "draft.toml", "-o", "out.csv")
    refused(folder, 2, *words, says="at least 2, not 1")
    assert run(folder, *words, "--k", "4")[0].exit_code == 0
    (folder / "none.toml").write_text(POLICY.replace("[privacy]\nk = 4", ""))
    assert run(folder, "audit", "out.csv", "-p", "none.toml", "--set", "privacy.k=4")[0].exit_code == 0


def test_a_setting_adds_to_a_number_that_stands_for_a_word(folder):
    (folder / "l.toml").write_text(POLICY + "l = 2\n")
    policy = shoal.Policy.read(folder / "l.toml", ["privacy.l.entropy=1.5"])
    assert (policy.privacy.l.distinct, policy.privacy.l.entropy) == (2, 1.5)


@pytest.mark.parametrize(
    ("code", "words", "says"),
    [
        (3, ("init", "missing.csv"), "missing.csv: there is no such file"),
        (3, ("init", "."), "is a directory"),
        (6, ("init", "data.csv", "-o", "data.csv"), "would replace the data"),
        (6, ("init", "data.csv", "-o", "policy.toml"), "policy.toml exists already"),
        (
            3,
            ("report", "missing.csv", "--original", "data.csv", "-p", "policy.toml", "-o", "old.html"),
            "no such file",
        ),
        (
            6,
            ("report", "data.csv", "--original", "data.csv", "-p", "policy.toml", "-o", "data.csv"),
            "would replace",
        ),
        (
            3,
            ("attack", "missing.csv", "--original", "data.csv", "-p", "policy.toml", "-o", "old.html"),
            "no such",
        ),
        (
            6,
            (
                "attack",
                "data.csv",
                "--original",
                "data.csv",
                "-p",
                "policy.toml",
                "-o",
                "data.csv",
                "--force",
            ),
            "would replace",
        ),
        (
            6,
            (
                "attack",
                "data.csv",
                "--original",
                "data.csv",
                "-p",
                "policy.toml",
                "-o",
                "policy.toml",
                "--force",
            ),
            "would replace",
        ),
    ],
)
def test_the_problem_at_hand_comes_first(folder, code, words, says):
    """A source that is missing comes before an output that exists, and what --force cannot do before --force."""
    (folder / "missing.toml").write_text("old")
    (folder / "old.html").write_text("old")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    refused(folder, code, *words, says=says)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_data_named_as_the_policy_show_no_record(folder):
    (folder / "people.csv").write_text("Erika Mustermann,flu\nMax Mustermann,cold\n")
    says = ("line 1", "is this a policy file?")
    text = refused(folder, 2, "anonymize", "data.csv", "-p", "people.csv", "-o", "out.csv", says=says)
    assert "Mustermann" not in text
    (folder / "bad.toml").write_text("[columns.age]\nrole = Mustermann\n")
    text = refused(folder, 2, "anonymize", "data.csv", "-p", "bad.toml", "-o", "out.csv", says="line 2")
    assert "Mustermann" not in text
    assert "policy file?" not in text


@pytest.mark.parametrize("place", [".", "..", "/"])
def test_a_folder_is_no_table(folder, place):
    refused(folder, 3, "init", place, says="is a directory")


@pytest.mark.parametrize(
    "words",
    [
        (*ANONYMIZE, "--k", "1"),
        (*ANONYMIZE, "--k", "many"),
        ("anonymize",),
        ("anonymise",),
        ("audit", "nowhere.csv", "-p", "policy.toml"),
        ("init", "nowhere.csv"),
        ("sample", "census", "--rows", "0", "-o", "x.csv"),
    ],
)
def test_errors_as_json(folder, words):
    result, made = run(folder, *words, "--json")
    error = json.loads(result.stdout)["error"]
    assert error["exit_code"] == result.exit_code != 0
    assert error["message"]
    assert error["kind"]
    assert not made


# --- settings beyond 64 bits ------------------------------------------------------------------------------


def test_widths_and_cuts_beyond_64_bits():
    values = pl.Series([-1, 2, 3, 2**60])
    wide = build(values, {"widths": [10**23]})
    # All values but -1 lie in the interval from 0, so level 1 has two nodes.
    assert len(wide.levels[1].starts) == 2
    assert len(build(values, {"widths": [2**61, 2**64]}).levels[2].starts) == 2
    assert len(build(values, {"cuts": [[3, 10**23]]}).levels[1].starts) == 2
    assert len(build(values, {"widths": [10**10], "origin": 10**22 - 10**22 % 10**10}).levels) == 3
    with pytest.raises(HierarchyError, match="use wider intervals"):
        build(values, {"widths": [5], "origin": 10**23})
    with pytest.raises(HierarchyError, match="too large a number"):
        build(values, {"widths": [10**400]})
    with pytest.raises(HierarchyError, match="too far apart"):
        build(values, {"widths": [1e-300, 1e300]})


def test_the_two_zeros_are_one_value():
    codes, values = io.factorize(pl.Series([0.0, -0.0, 1.0, None, float("nan"), -float("nan")]))
    assert codes[0] == codes[1]
    assert codes[4] == codes[5]
    assert len(values) == 4
    table = pl.DataFrame({"a": [0.0, -0.0] * 3})
    result = shoal.anonymize(table, quasi=["a"], k=6)
    assert result.classes == 1
    assert result.table["a"].to_list() == [0.0] * 6


# --- odd values and names ---------------------------------------------------------------------------------

INF, NAN = float("inf"), float("nan")
ODD = {
    "not finite": [1.0, INF, NAN, -INF, 0.0, -0.0, None, 2.0, 3.0, 4.0, 5.0, 6.0],
    "truth": [True, False, None] * 4,
    "decimal": [Decimal("1.10"), Decimal("2.20"), Decimal("-3.30")] * 4,
    "duration": [dt.timedelta(hours=i) for i in range(12)],
    "time": [dt.time(i) for i in range(12)],
    "zoned": pl.Series([dt.datetime(2020, 1, i + 1, 1, 2, 3) for i in range(12)]).dt.replace_time_zone(
        "Europe/Paris"
    ),
    "category": pl.Series([f"c{i % 4}" for i in range(12)], dtype=pl.Categorical),
    "enum": pl.Series([f"c{i % 4}" for i in range(12)], dtype=pl.Enum(["c0", "c1", "c2", "c3", "unused"])),
    "text": ["😀", "a\nb", "[bold]x[/]", '"q"', "*", "", "a,b", "a;b", "[1, 2]", "{a, b}", "é", None],
    "128 bits": pl.Series([2**100 + i for i in range(12)], dtype=pl.Int128),
    "unsigned": pl.Series([2**64 - 1 - i for i in range(12)], dtype=pl.UInt64),
    "extremes": [-(2**63), 2**63 - 1, 0] * 4,
}


# A sheet cannot tell empty text from null, many readers of CSV do not, and JSON has neither NaN nor infinity.
CANNOT = {
    ("not finite", "sensitive", "out.jsonl"),
    ("not finite", "plain", "out.jsonl"),
    ("text", "sensitive", "out.csv"),
    ("text", "sensitive", "out.xlsx"),
    ("text", "plain", "out.xlsx"),
}


@pytest.mark.parametrize("output", ["out.parquet", "out.csv", "out.jsonl", "out.xlsx"])
@pytest.mark.parametrize("role", ["quasi", "sensitive", "plain"])
@pytest.mark.parametrize("kind", ODD)
def test_odd_values_make_a_release_that_its_audit_confirms(tmp_path, kind, role, output):
    table = pl.DataFrame({"group": [i % 3 for i in range(12)], "odd": ODD[kind]})
    table.write_parquet(tmp_path / "in.parquet")
    names = {"quasi": ["group"], "sensitive": [], "plain": []}
    names[role] = [*names[role], "odd"]
    policy = shoal.Policy.from_keywords(**names, k=3)
    from shoal.pipeline.anonymize import anonymize_file

    if (kind, role, output) in CANNOT:
        with pytest.raises(OutputError, match=r"column 'odd' .*; write .*Parquet \(\.parquet\).* instead"):
            anonymize_file(tmp_path / "in.parquet", policy, tmp_path / output)
        assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]
        return
    result = anonymize_file(tmp_path / "in.parquet", policy, tmp_path / output)
    assert result.holds
    written = io.read(tmp_path / output).data
    assert "unused" not in (tmp_path / output).read_bytes().decode("latin-1")
    if role == "quasi":
        sizes = written.group_by("group", "odd").len()["len"]
        assert sizes.min() >= 3
    report = shoal.audit(tmp_path / output, policy, original=tmp_path / "in.parquet")
    assert report.holds
    assert report.rows == 12


@pytest.mark.parametrize(
    "values",
    [[[1], [2, 3]] * 2, [{"x": 1}, {"x": 2}] * 2, [b"\xff", b"a"] * 2],
    ids=["list", "struct", "binary"],
)
def test_columns_without_single_values_are_refused_unless_they_stay_as_they_are(tmp_path, values):
    table = pl.DataFrame({"a": [1, 1, 2, 2], "odd": values})
    for role in ("quasi", "sensitive"):
        names = {"quasi": ["a"], "sensitive": []}
        names[role] = [*names[role], "odd"]
        with pytest.raises((DataError, HierarchyError), match="column 'odd'") as caught:
            shoal.anonymize(table, **names, k=2)
        assert str(caught.value).count("column 'odd'") == 1
    kept = shoal.anonymize(table, quasi=["a"], plain=["odd"], k=2).table
    assert sorted(map(str, kept["odd"].to_list())) == sorted(map(str, values))
    if table["odd"].dtype == pl.Binary:
        for name in ("x.jsonl", "x.csv", "x.xlsx"):
            with pytest.raises(
                OutputError, match=r"write Parquet \(\.parquet\) or Arrow IPC \(\.arrow\) instead"
            ):
                io.write(kept, tmp_path / name)
    assert not list(tmp_path.iterdir())


ODD_NAMES = [
    "[bold]a[/bold]", "a.b", 'q"uote', "new\nline", "😀", "it's", "a,b", "[/]", "-x", "*", "k", "\\", "#",
    "= 1", " lead", "", "\x1b[31mred",
]  # fmt: skip


def test_odd_column_names_all_the_way(folder):
    pl.DataFrame({name: [i % 3 for i in range(18)] for name in ODD_NAMES}).write_csv("names.csv")
    for words in (
        ("init", "names.csv"),
        (
            "anonymize",
            "names.csv",
            "-p",
            "names.toml",
            "-o",
            "out.csv",
            "--card",
            "c.md",
            "--record",
            "r.json",
        ),
        ("anonymize", "names.csv", "-p", "names.toml", "-o", "out.parquet"),
        ("audit", "out.csv", "-p", "names.toml", "--original", "names.csv"),
    ):
        result, _ = run(folder, *words)
        assert result.exit_code == 0, result.stderr
        assert "\x1b[31m" not in result.stdout
    assert pl.read_parquet("out.parquet").columns == ODD_NAMES
    assert io.read(folder / "out.csv").columns == ODD_NAMES


def test_a_column_called_star_is_one_column(tmp_path):
    table = pl.DataFrame({"*": [1, 1, 2, 2], "b": ["x"] * 4})
    table.write_parquet(tmp_path / "in.parquet")
    assert io.read(tmp_path / "in.parquet").column("*").to_list() == [1, 1, 2, 2]


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl", "xlsx"])
def test_names_that_are_patterns_are_refused(folder, ending):
    table = pl.DataFrame({"^b.*$": ["x"] * 4, "bc": ["y"] * 4})
    io.write(table, folder / f"in.{ending}")
    refused(folder, 3, "init", f"in.{ending}", says="rename '^b.*$'")
    with pytest.raises(DataError, match="cannot begin with"):
        io.read(table)


def test_index_columns_without_a_name_survive_pandas():
    table = pd.DataFrame({"": [1, 2, 3, 4], "a": [1, 1, 2, 2]})
    result = shoal.anonymize(table, quasi=["a"], plain=[""], k=2)
    assert list(result.table.columns) == ["", "a"]
    assert sorted(result.table[""]) == [1, 2, 3, 4]


def test_mixed_time_zones_are_refused_for_dates(folder):
    (folder / "tz.csv").write_text("t\n2020-01-01T00:00:00+01:00\n2020-01-01T00:00:00+02:00\n")
    (folder / "p.toml").write_text('[columns.t]\nrole="quasi"\nhierarchy={dates=["month"]}\n[privacy]\nk=2\n')
    refused(folder, 3, "anonymize", "tz.csv", "-p", "p.toml", "-o", "out.csv", says="one time zone")


def test_two_hundred_columns(folder):
    random = np.random.default_rng(1)
    pl.DataFrame({f"c{j}": random.integers(0, 4, 60) for j in range(200)}).write_csv("wide.csv")
    assert run(folder, "init", "wide.csv")[0].exit_code == 0
    result, _ = run(folder, "anonymize", "wide.csv", "-p", "wide.toml", "-o", "out.csv")
    assert result.exit_code == 0, result.stderr
    assert pl.read_csv("out.csv").width == 200
    words = ("anonymize", "wide.csv", "-p", "wide.toml", "-o", "o.csv", "--method")
    start = time.perf_counter()
    result, _ = run(folder, *words, "full-domain", "--set", "method.seconds=1", "--json")
    assert time.perf_counter() - start < 20
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    assert told["bound"] <= told["loss"]
    assert told["exact"] == (told["bound"] == told["loss"])
    refused(folder, 2, *words[:-1], "--force", "--method", "incognito", says="mappings")


def test_other_encodings_and_delimiters(folder):
    (folder / "latin.csv").write_bytes("näme;b\n1;é\n1;é\n".encode("latin-1"))
    refused(folder, 3, "init", "latin.csv", says="--set data.encoding=latin-1")
    assert run(folder, "init", "latin.csv", "--set", "data.encoding=latin-1")[0].exit_code == 0
    assert 'encoding = "latin-1"' in (folder / "latin.toml").read_text()
    assert (
        run(folder, "anonymize", "latin.csv", "-p", "latin.toml", "-o", "out.csv", "--k", "2")[0].exit_code
        == 0
    )
    refused(folder, 2, "init", "latin.csv", "-o", "x.toml", "--set", "privacy.k=3", says="data.*")
    refused(folder, 6, "init", "latin.csv", "-o", "latin.csv", "--force", says="would replace the data")
    (folder / "bom.csv").write_bytes(b"\xef\xbb\xbfa;b\n1;2\n1;2\n")
    words = ("anonymize", "bom.csv", "-o", "bom_out.csv", "--quasi", "a,b", "--k", "2")
    assert run(folder, *words)[0].exit_code == 0
    assert (folder / "bom_out.csv").read_text().startswith("a;b\n")


# --- audits -----------------------------------------------------------------------------------------------


def test_audit_fails_where_identifiers_are_still_there(folder):
    result, _ = run(folder, "audit", "data.csv", "-p", "policy.toml", "--set", "privacy.k=2", "--json")
    assert result.exit_code == 5
    verdict = json.loads(result.stdout)["verdicts"][-1]
    assert verdict == {
        "model": "identifiers removed", "required": 0, "reached": 1, "holds": False, "detail": "name",
    }  # fmt: skip
    assert run(folder, *ANONYMIZE)[0].exit_code == 0
    report = shoal.audit(folder / "out.csv", folder / "policy.toml")
    assert [(v.model, v.reached, v.holds) for v in report.verdicts][-1] == ("identifiers removed", 0, True)
    without = shoal.audit(pl.DataFrame({"a": [1, 1]}), quasi=["a"], k=2)
    assert [verdict.model for verdict in without.verdicts] == ["2-anonymity"]


def test_audit_of_files_that_do_not_fit(folder):
    assert run(folder, *ANONYMIZE)[0].exit_code == 0
    release = pl.read_csv("out.csv")
    odd = {
        "missing.csv": (release.drop("age"), 2, "the release has no such column"),
        "longer.csv": (pl.concat([release, release]), 3, "check that it is the right one"),
        "other.csv": (
            release.with_columns(disease=pl.lit("plague")),
            3,
            "the original does not have 'plague'",
        ),
    }
    for name, (table, code, says) in odd.items():
        table.write_csv(name)
        words = ("audit", name, "-p", "policy.toml", "--original", "data.csv")
        refused(folder, code, *words, says=says)


def test_audit_without_original_knows_no_losses_of_unknown_domains():
    report = shoal.audit(pl.DataFrame({"a": ["*"] * 4}), quasi=["a"], k=2)
    assert report.holds
    assert np.isnan(report.measures.get("lm", np.nan))


def test_audit_of_quasi_identifiers_that_are_no_text():
    hours = [dt.timedelta(hours=1)] * 4
    report = shoal.audit(pl.DataFrame({"a": hours}), quasi=["a"], k=2, suppression=1.0)
    assert report.suppressed is None
    starred = pl.DataFrame({"a": ["*", "*", "x", "x"]})
    assert shoal.audit(starred, quasi=["a"], k=2, suppression=0.5).suppressed is None
    assert shoal.audit(starred, quasi=["a"], k=2, suppression=0.4, suppressed_as="*").suppressed == 2
    hours = [dt.timedelta(hours=1)] * 4
    report = shoal.audit(pl.DataFrame({"a": hours}), quasi=["a"], k=2, suppressed_as="*")
    assert report.suppressed == 0


def test_excel_keeps_what_its_numbers_cannot_hold(tmp_path, capfd):
    table = pl.DataFrame({"f": [1.5, INF, NAN], "i": [10**17 + 1, 2, 3], "empty": [None] * 3})
    io.write(table, tmp_path / "x.xlsx")
    read = io.read(tmp_path / "x.xlsx").data
    assert read["f"].to_list() == ["1.5", "inf", "NaN"]
    assert read["i"].to_list() == ["100000000000000001", "2", "3"]
    assert capfd.readouterr().err == ""


def test_audit_reads_numbers_that_another_tool_spelled_differently():
    original = pl.DataFrame({"a": [1, 1, 2, 2], "s": [1.5, 2.0, 3.0, 2.0]})
    release = pl.DataFrame({"a": [2, 2], "s": [3, 2]})
    report = shoal.audit(release, original=original, quasi=["a"], sensitive=["s"], k=2, suppression=0.5)
    assert report.holds


# --- Python -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [None, 3, [1], {"a": [1]}, b"x", "nowhere.csv"])
def test_sources_that_are_no_tables(source):
    with pytest.raises(DataError):
        shoal.anonymize(source, quasi=["a"], k=2)


@pytest.mark.parametrize(
    "keywords",
    [
        {"quasi": ["a"]},
        {"quasi": None, "k": 2},
        {"quasi": ["a"], "k": "5"},
        {"quasi": ["a"], "k": True},
        {"quasi": ["a"], "k": 2, "seed": -1},
        {"quasi": ["a"], "k": 2, "seed": "x"},
        {"quasi": [1], "k": 2},
        {"quasi": ["a"], "k": 2, "kk": 3},
        {"quasi": ["a"], "k": 2, "hierarchies": {"b": "auto"}},
    ],
)
def test_keywords_that_make_no_policy(keywords):
    with pytest.raises(PolicyError):
        shoal.anonymize(pl.DataFrame({"a": [1, 1, 2, 2]}), **keywords)


def test_calls_leave_nothing_behind():
    table = pl.DataFrame({"a": [1, 1, 2, 2], "b": list("xxyy")})
    first = shoal.anonymize(table, quasi=["a"], plain=["b"], k=2, seed=3)
    other = shoal.anonymize(table, quasi=["b"], identifier=["a"], k=4, seed=3)
    again = shoal.anonymize(table, quasi=["a"], plain=["b"], k=2, seed=3)
    assert first.table.equals(again.table)
    assert other.table.columns == ["b"]
    assert other.classes == 1
    with pytest.raises(InfeasibleError):
        shoal.anonymize(table, quasi=["a"], plain=["b"], k=5)


def test_a_seed_gives_the_same_file(folder):
    for name in ("one.csv", "two.csv"):
        words = ("anonymize", "data.csv", "-p", "policy.toml", "-o", name, "--seed", "7")
        assert run(folder, *words)[0].exit_code == 0
    assert (folder / "one.csv").read_bytes() == (folder / "two.csv").read_bytes()


# --- writing goes wrong -----------------------------------------------------------------------------------


@pytest.mark.parametrize("failing", ["out.csv", "r.json", "c.md"])
def test_full_disk_leaves_everything_as_it_was(folder, monkeypatch, failing):
    (folder / "out.csv").write_text("old")
    real = os.fsync

    def full(handle):
        if failing in os.readlink(f"/proc/self/fd/{handle}"):
            raise OSError(28, "No space left on device")
        real(handle)

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("needs to know which file a handle belongs to")
    monkeypatch.setattr(os, "fsync", full)
    words = (*ANONYMIZE, "--force", "--record", "r.json", "--card", "c.md")
    refused(folder, 6, *words, says="No space left on device; nothing was changed")
    assert (folder / "out.csv").read_text() == "old"


def test_a_panic_of_a_library_is_no_stack_trace(folder, monkeypatch):
    def panic(*_a, **_k):
        raise pl.exceptions.PanicException("Zaphod")

    monkeypatch.setattr(pl.DataFrame, "write_csv", panic)
    refused(folder, 6, *ANONYMIZE, says="the writer failed; nothing was changed")


@pytest.mark.parametrize(
    ("sent", "code", "says"),
    [(signal.SIGINT, 130, "interrupted; nothing was written"), (signal.SIGTERM, 143, "")],
)
def test_an_end_in_the_middle_of_a_write_leaves_the_old_file(tmp_path, sent, code, says):
    program = """
import sys, time
import polars as pl
real = pl.DataFrame.write_csv
def slow(self, file, **options):
    real(self, file, **options)
    file.flush()
    time.sleep(60)
pl.DataFrame.write_csv = slow
from shoal.apps.cli import main
main(["anonymize", "in.parquet", "-o", "out.csv", "--quasi", "a", "--k", "2", "--force"])
"""
    pl.DataFrame({"a": [1, 1, 2, 2]}).write_parquet(tmp_path / "in.parquet")
    (tmp_path / "out.csv").write_text("old")
    before = set(tmp_path.iterdir())
    process = subprocess.Popen(
        [sys.executable, "-c", program], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    while process.poll() is None and not any(path.name.startswith(".shoal-") for path in tmp_path.iterdir()):
        time.sleep(0.01)
    process.send_signal(sent)
    _, message = process.communicate(timeout=60)
    assert process.returncode == code, message
    assert says in message
    assert "Traceback" not in message
    assert set(tmp_path.iterdir()) == before
    assert (tmp_path / "out.csv").read_text() == "old"


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_whole_command_line_with_warnings_as_errors_on_any_terminal(folder, encoding):
    environment = {**os.environ, "PYTHONWARNINGS": "error", "PYTHONIOENCODING": encoding}
    for words in (ANONYMIZE, ("audit", "out.csv", "-p", "policy.toml", "--original", "data.csv")):
        done = subprocess.run(
            [sys.executable, "-m", "shoal", *words],
            cwd=folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert ("yes" if encoding == "ascii" else "✓") in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("audit", "data.csv", "-p", "policy.toml", "--measure", "foo"),
        ("attack", "data.csv", "--original", "data.csv", "-p", "policy.toml", "--name", "linkag"),
        ("attack", "data.csv", "--original", "data.csv", "-p", "policy.toml", "--adversary", "foo"),
        ("attack", "data.csv", "--original", "data.csv", "-p", "policy.toml", "--limit", "5"),
        ("compare", "data.csv", "-p", "policy.toml", "--methods", "mondrain"),
    ],
)
def test_mistakes_in_options_are_not_called_mistakes_in_the_policy(folder, words):
    assert "in the policy" not in refused(folder, 2, *words, says="1 problem in the arguments")


def test_two_answers_to_which_k_are_refused(folder):
    words = ("compare", "data.csv", "-p", "policy.toml", "--k", "2,3", "--set", "privacy.k=4")
    refused(folder, 2, *words, says=("1 problem in the command line", "--set privacy.k"))


def test_a_requirement_that_leaves_one_class_is_named():
    table = pl.DataFrame({"a": range(20), "s": ["x"] * 10 + ["y"] * 10})
    asked = {"quasi": ["a"], "sensitive": ["s"], "k": 2}
    made = shoal.anonymize(table, **asked, beta={"basic": 0.001})
    assert made.classes == 1
    assert any(
        "one class" in note and "0.001-likeness of s allowed no smaller" in note for note in made.notes
    )
    mixed = table.with_columns(s=pl.Series(["x", "y"] * 10))
    assert not any("one class" in note for note in shoal.anonymize(mixed, **asked, l=2).notes)


def test_a_measure_that_cannot_steer_a_network_is_refused():
    nodes = pl.DataFrame({"id": range(8), "age": range(8)})
    edges = pl.DataFrame({"a": [0, 1, 2, 3], "b": [4, 5, 6, 7]})
    with pytest.raises(PolicyError, match="'entropy' cannot steer the clusters of a network"):
        shoal.anonymize_network(nodes, edges, quasi=["age"], identifier=["id"], k=2, measure="entropy")
    assert shoal.anonymize_network(nodes, edges, quasi=["age"], identifier=["id"], k=2, seed=1).holds


def test_leaves_of_a_tree_are_categories_for_a_learner_too():
    """Zip codes in a tree look like numbers, but 10 is not between 9 and 11."""
    from shoal.coding import Attribute
    from shoal.judging.measures.classification import represent_ranges

    values = pl.Series([9, 10, 11])
    codes = np.array([[0], [1], [2]], np.int32)
    tree = Attribute("zip", build(values, {"tree": {"a": [9, 11], "b": [10]}}))
    assert np.array_equal(represent_ranges((tree,), codes, codes), np.eye(3))
    numbers = Attribute("age", build(values, None))
    assert np.array_equal(represent_ranges((numbers,), codes, codes), [[0.0], [0.5], [1.0]])
