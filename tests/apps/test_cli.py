"""The command line as a user meets it: exit codes, messages, files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.apps.cli import main

POLICY = """
[columns.name]
role = "identifier"
[columns.age]
role = "quasi"
hierarchy = { widths = [5, 10, 20] }
[columns.zip]
role = "quasi"
hierarchy = { mask = "right" }
[columns.disease]
role = "sensitive"
[privacy]
k = 4
[method]
name = "mondrian"
"""


@pytest.fixture
def folder(tmp_path):
    rows = 30
    pl.DataFrame(
        {
            "name": [f"Person {i}" for i in range(rows)],
            "age": [20 + (i * 7) % 30 for i in range(rows)],
            "zip": [f"0{1000 + (i * 13) % 5}" for i in range(rows)],
            "disease": [("flu", "cold", "cancer")[i % 3] for i in range(rows)],
        }
    ).write_csv(tmp_path / "data.csv", separator=";")
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


def run(*words, code=0):
    # The command line looks at sys.argv for --json when it reports an error.
    before, sys.argv = sys.argv, ["shoal", *map(str, words)]
    try:
        result = CliRunner().invoke(main, [str(word) for word in words])
    finally:
        sys.argv = before
    assert result.exit_code == code, result.output + result.stderr
    return result


def test_anonymize_writes_release_record_and_cards(folder):
    out = folder / "out.csv"
    result = run(
        "anonymize", folder / "data.csv", "-p", folder / "policy.toml", "-o", out,
        "--record", folder / "record.json", "--card", folder / "card.md", "--card", folder / "card.json", "--json",
    )  # fmt: skip
    summary = json.loads(result.output)
    assert {"rows", "suppressed", "classes", "verdicts", "measures", "seconds"} <= set(summary)
    assert {"read", "encode", "anonymize", "verify", "measure", "write"} <= set(summary["seconds"])
    assert {"model", "required", "reached", "holds"} <= set(summary["verdicts"][0])
    assert {"lm", "gcp", "entropy", "dm", "avg"} <= set(summary["measures"])
    text = out.read_text()
    assert text.startswith("age;zip;disease")
    assert "Person" not in text
    assert "Person" not in (folder / "record.json").read_text() + (folder / "card.md").read_text()
    record = json.loads((folder / "record.json").read_text())
    assert len(record["input"]["sha256"]) == 64
    assert json.loads((folder / "card.json").read_text())["rows_published"] == 30
    run("audit", out, "-p", folder / "policy.toml", "--original", folder / "data.csv")


def test_lattice_methods_tell_levels_and_checks(folder):
    result = run(
        "anonymize", folder / "data.csv", "-p", folder / "policy.toml", "-o", folder / "out.csv",
        "--method", "full-domain", "--set", "privacy.k=5", "--json",
    )  # fmt: skip
    summary = json.loads(result.output)
    assert len(summary["levels"]) == 2
    assert summary["checked"] >= 1
    assert summary["verdicts"][0]["required"] == 5


def test_without_a_policy_file(folder):
    out = folder / "out.parquet"
    run(
        "anonymize", folder / "data.csv", "-o", out,
        "--quasi", "age,zip", "--sensitive", "disease", "--identifier", "name", "--k", "5",
    )  # fmt: skip
    rows = pl.read_parquet(out)
    assert rows.columns == ["age", "zip", "disease"]
    assert rows.group_by("age", "zip").len()["len"].min() >= 5


def test_nothing_is_overwritten_without_force(folder):
    out = folder / "out.csv"
    out.write_text("precious")
    words = ("anonymize", folder / "data.csv", "-p", folder / "policy.toml", "-o", out)
    result = run(*words, code=6)
    assert "--force" in result.stderr
    assert out.read_text() == "precious"
    run(*words, "--force")
    assert out.read_text() != "precious"


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"data": "nothing.csv"}, 3, ["nothing.csv"]),
        ({"policy": POLICY.replace("age", "agee")}, 2, ["agee", "age"]),
        ({"policy": POLICY.replace("k = 4", "k = 1")}, 2, ["privacy.k", "2"]),
        ({"policy": POLICY.replace("k = 4", "k = 31")}, 4, ["31", "30 rows"]),
        ({"policy": POLICY.replace('"mondrian"', '"mondrain"')}, 2, ["mondrain", "did you mean 'mondrian'"]),
        ({"policy": POLICY.replace("k = 4", "k = 4\np = 4")}, 4, ["4-sensitive", "disease", "3 values"]),
        ({"policy": POLICY.replace("k = 4", "k = ")}, 2, ["line"]),
        ({"output": "."}, 6, ["directory"]),
        ({"output": "no/such/folder/out.csv"}, 6, ["no/such/folder"]),
    ],
)  # fmt: skip
def test_mistakes_get_a_message_and_an_exit_code(folder, change, code, words):
    if "policy" in change:
        (folder / "policy.toml").write_text(change["policy"])
    data = folder / change.get("data", "data.csv")
    out = folder / change.get("output", "out.csv")
    before = sorted(folder.iterdir())
    result = run("anonymize", data, "-p", folder / "policy.toml", "-o", out, code=code)
    for word in words:
        assert word in result.stderr
    assert "Traceback" not in result.stderr
    assert sorted(folder.iterdir()) == before


def test_all_problems_of_a_policy_are_shown_at_once(folder):
    broken = POLICY.replace("k = 4", "k = 1").replace("quasi", "quasy").replace("mondrian", "mondrain")
    (folder / "policy.toml").write_text(broken)
    words = (
        "anonymize",
        folder / "data.csv",
        "-p",
        folder / "policy.toml",
        "-o",
        folder / "out.csv",
        "--json",
    )
    result = run(*words, code=2)
    for word in ("privacy.k", "columns.age", "mondrain"):
        assert word in result.stderr
    assert json.loads(result.stdout)["error"]["exit_code"] == 2


def test_audit_of_a_violating_file_exits_with_5(folder):
    result = run("audit", folder / "data.csv", "--quasi", "age,zip", "--k", "5", code=5)
    assert "violates" in result.output


@pytest.mark.parametrize("kind", ["methods", "models", "measures"])
def test_registries_are_listed(kind):
    lines = json.loads(run(kind, "--json").output)
    assert lines
    assert all(summary for summary in lines.values())
    assert set(lines) == {line.split()[0] for line in run(kind).output.splitlines()}


def test_init_writes_a_policy_that_works_unedited(folder):
    run("init", folder / "data.csv", "-o", folder / "made.toml")
    run("anonymize", folder / "data.csv", "-p", folder / "made.toml", "-o", folder / "out.csv")
    run("audit", folder / "out.csv", "-p", folder / "made.toml", "--original", folder / "data.csv")
    assert "columns" in json.loads(run("init", folder / "data.csv", "-o", folder / "b.toml", "--json").output)


@pytest.mark.parametrize("name", ["census", "patients", "visits"])
def test_samples_come_with_a_policy_that_works(folder, name):
    run("sample", name, "--rows", "300", "-o", folder / f"{name}.csv")
    run("anonymize", folder / f"{name}.csv", "-p", folder / f"{name}.toml", "-o", folder / "out.csv")


def test_schema_and_completion():
    assert "properties" in json.loads(run("schema").output)
    assert "_SHOAL_COMPLETE" in run("completion", "bash").output


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from click.testing import CliRunner; from shoal.apps.cli import main\n"
        "assert CliRunner().invoke(main, ['--help']).exit_code == 0\n"
        "print([name for name in ('numba', 'polars', 'pydantic', 'rich', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["anonymize", "missing.csv", "-p", "policy.toml", "-o", "out.csv"], 3),
        (["anonymize", "data.csv", "-p", "missing.toml", "-o", "out.csv"], 2),
        (["anonymize", "data.csv", "-p", "policy.toml", "-o", "out.csv", "--set", "privacy.k=none"], 2),
        (["audit", "missing.csv", "-p", "policy.toml"], 3),
        (["explain", "missing.csv", "-p", "policy.toml"], 3),
        (["compare", "missing.csv", "-p", "policy.toml"], 3),
        (["attack", "data.csv", "--original", "missing.csv", "-p", "policy.toml"], 3),
        (["report", "missing.csv", "--original", "data.csv", "-p", "policy.toml", "-o", "out.html"], 3),
    ],
)
def test_a_wrong_name_or_policy_is_answered_before_anything_heavy_is_imported(folder, words, code):
    script = (
        "import sys; from click.testing import CliRunner; from shoal.apps.cli import main\n"
        f"print(CliRunner().invoke(main, {words}).exit_code)\n"
        "print([name for name in ('numba', 'polars', 'scipy', 'rich') if name in sys.modules])"
    )
    home = str(Path(shoal.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": home},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split("\n")[:2] == [str(code), "[]"]


def test_inside_another_program_nothing_is_forked(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["shoal", "schema"])
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("forked"), raising=False)
    assert main(standalone_mode=False) is None
    ended = []

    def work():
        try:
            main()
        except SystemExit as exit:
            ended.append(exit.code)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert ended == [0]


def test_an_interrupt_leaves_the_old_file(folder, monkeypatch):
    out = folder / "out.csv"
    out.write_text("precious")

    def interrupted(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(pl.DataFrame, "write_csv", interrupted)
    before = sorted(folder.iterdir())
    result = run(
        "anonymize", folder / "data.csv", "-p", folder / "policy.toml", "-o", out, "--force", code=130
    )  # fmt: skip
    assert "nothing was written" in result.stderr
    assert out.read_text() == "precious"
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("cause", "code", "says"),
    [
        (KeyboardInterrupt(), 130, "interrupted; nothing was written"),
        (MemoryError(), 1, "there is not enough memory; no file was left half written. Use a machine with"),
        (OSError(12, "Cannot allocate memory"), 1, "there is not enough memory"),
        (ValueError("Zaphod"), 70, "Shoal made a mistake of its own (SystemError)"),
    ],
)
def test_what_is_behind_an_error_of_a_library_counts(folder, monkeypatch, cause, code, says):
    """numba, for example, makes a SystemError of an interrupt inside a kernel."""

    def fail(*_args, **_options):
        raise SystemError("returned a result with an exception set") from cause

    monkeypatch.setattr(pl.DataFrame, "write_csv", fail)
    words = ("anonymize", folder / "data.csv", "-p", folder / "policy.toml", "-o", folder / "out.csv")
    result = run(*words, code=code)
    assert says in result.stderr
    assert "Zaphod" not in result.stderr


def test_two_tables_are_both_named_and_counted_in_buckets(folder):
    ages = pl.DataFrame({"age": list(range(20, 36)), "s": ["a", "b", "c", "d"] * 4})
    ages.write_csv(folder / "ages.csv")
    (folder / "two.toml").write_text(
        '[columns]\nage = "quasi"\ns = "sensitive"\n[privacy]\nl = 4\n[method]\nname = "anatomy"\n'
    )
    out = run("anonymize", folder / "ages.csv", "-p", folder / "two.toml", "-o", folder / "two.csv").output
    told = " ".join(out.split())
    assert "16 of 16 rows in 4 buckets, by anatomy" in told
    assert "two-sensitive.csv: 16 rows, the sensitive values by bucket" in told
    assert "classes" not in told


def test_sensitive_columns_that_nothing_protects_are_noted(folder):
    ages = pl.DataFrame({"age": [1, 1, 1], "s": ["a", "b", "c"], "t": ["a", "b", "c"]})
    roles = {"quasi": ["age"], "sensitive": ["s", "t"], "k": 3}

    def noted(**rules):
        notes = shoal.anonymize(ages, **roles, **rules).notes
        return [
            name for name in "st" if any(f"protects the sensitive column `{name}`" in note for note in notes)
        ]

    assert noted() == ["s", "t"]
    assert noted(l={"s": {"distinct": 2}}) == ["t"]
    assert noted(p=2) == noted(l=2) == noted(alpha=0.5) == noted(t={"equal": 0.5}) == []
    ages.write_csv(folder / "ages.csv")
    command = ("anonymize", folder / "ages.csv", "-o", folder / "o.csv", "--quasi", "age", "--k", "3")
    out = " ".join(run(*command, "--sensitive", "s", "--plain", "t").output.split())
    assert "3 of 3 rows in 1 class, by" in out
    assert "nothing in the policy protects the sensitive column `s`" in out


def test_help_lists_the_exit_codes():
    shown = run("--help").output
    for code in (0, 1, 2, 3, 4, 5, 6, 70, 130):
        assert f" {code}  " in shown


def test_every_exit_code_is_listed_in_the_help_and_in_the_docs():
    import re

    from shoal import errors

    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and hasattr(kind, "exit_code")]
    codes = {str(kind.exit_code) for kind in kinds}
    assert "8" in codes
    helped = CliRunner().invoke(main, ["--help"]).output
    listed = set(re.findall(r"(?:^| {2,})(\d+)  \S", helped, re.MULTILINE))
    assert codes <= listed, codes - listed
    page = (Path(__file__).parents[2] / "docs/command-line.md").read_text()
    told = set(re.findall(r"^\| (\d+) \|", page, re.MULTILINE))
    assert codes <= told, codes - told
