"""Hints are in the words of whoever reads them: flags on the command line, keywords in Python."""

from __future__ import annotations

import ast
import json
import pickle
import re
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal import io
from shoal.apps.cli import main
from shoal.errors import LimitError, PolicyError, Problem, ShoalError
from shoal.support.wording import Advice, either, format_setting, list_fixes, speak, voice

ROOT = Path(shoal.__file__).parent
# Colours of drawings are names with dashes, too: var(--ink).
FLAGS = re.compile(r"(?<![\w-])(?<!var\()--[a-z]{2,}(?!:)|`shoal [a-z]")
KEYWORDS = re.compile(r"\b[a-z_]+=(True|\.\.|\[\.\.\])|`shoal\.[a-z]")


def hints(path):
    """Every text of a file that somebody may read, with the keyword of `either` that it is given as, if any."""
    tree = ast.parse(path.read_text())
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    word_of = {
        id(inner): keyword.arg
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "either"
        for keyword in node.keywords
        for inner in ast.walk(keyword.value)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in docstrings | documented
        ):
            yield node.lineno, node.value, word_of.get(id(node))


def test_no_message_outside_the_command_line_names_flags_unless_python_reads_something_else():
    seen = {"command": 0, "python": 0}
    # Policy files are for the command line, Studio hands over commands, and browsers have flags: these are no hints.
    apart = {
        "documents/pages/pdf.py",
        "policy/suggestions/policy_writer.py",
        "apps/studio/handover/items.py",
        "support/wording.py",
    }
    for path in sorted(ROOT.rglob("*.py")):
        where = path.relative_to(ROOT).as_posix()
        if where in apart:
            continue
        for line, text, word in hints(path):
            if FLAGS.search(text) and not where.startswith("apps/cli/"):
                assert word == "command", f"{where}:{line} speaks to the command line alone: {text}"
            if KEYWORDS.search(text) and "only Python" not in text:
                assert word == "python", f"{where}:{line} speaks to Python alone: {text}"
            if word in seen:
                seen[word] += 1
    assert min(seen.values()) > 5


def test_settings_in_both_languages():
    cases = {
        ("utility.suppression", ...): ("--set utility.suppression=..", "suppression=.."),
        ("privacy.k", 5): ("--set privacy.k=5", "k=5"),
        ("privacy.relocation.budget", 0.01): (
            "--set privacy.relocation.budget=0.01",
            'relocation={"budget": 0.01}',
        ),
        ("privacy.presence", (0.0, 0.5)): ("--set 'privacy.presence=[0.0,0.5]'", "presence=[0.0, 0.5]"),
        ("data.other_columns", "drop"): ("--set data.other_columns=drop", 'other_columns="drop"'),
        ("data.encoding", "latin-1"): ("--set data.encoding=latin-1", 'data={"encoding": "latin-1"}'),
        ("method.name", "forest"): ("--set method.name=forest", 'method="forest"'),
        ("method.budget", 0.1): ("--set method.budget=0.1", 'method={"name": .., "budget": 0.1}'),
    }
    for (path, value), (command, python) in cases.items():
        assert format_setting(path, value) == python
        before = speak("command")
        try:
            assert format_setting(path, value) == command
        finally:
            speak(before)


def test_no_text_loses_the_setting_that_it_proposes():
    seen = 0
    for path in sorted(ROOT.rglob("*.py")):
        tree = ast.parse(path.read_text())
        inside = {
            id(one) for text in ast.walk(tree) if isinstance(text, ast.JoinedStr) for one in ast.walk(text)
        }
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Call)
                and getattr(node.func, "id", "") == "format_setting"
                and not (isinstance(node.args[1], ast.Constant) and node.args[1].value is ...)
            ):
                seen += 1
                assert id(node) not in inside, (
                    f"{path}:{node.lineno}: add it with +, so that Studio shows a button"
                )
    assert seen > 15


SUPPRESS = format_setting("utility.suppression", 0.05)
FIX = (("utility.suppression", "0.05"),)


@pytest.mark.parametrize(
    "error",
    [
        ShoalError("too few rows: " + SUPPRESS + ", or less"),
        LimitError("too few rows", "Try " + SUPPRESS),
        PolicyError(
            [Problem("privacy.k", "is too large"), Problem("privacy.l", "is, too", "try " + SUPPRESS)]
        ),
    ],
)
def test_errors_keep_the_settings_that_they_propose(error):
    for text in (str(error), str(pickle.loads(pickle.dumps(str(error))))):
        assert list_fixes(text) == FIX
        assert SUPPRESS in text
    assert list_fixes(f"no: {error}") == list_fixes(str(error).upper()) == ()


def test_a_text_with_settings_is_text():
    words = "a" + SUPPRESS + "b"
    assert words == f"a{SUPPRESS}b"
    assert hash(words) == hash(f"a{SUPPRESS}b")
    assert json.loads(json.dumps({words: words})) == {str(words): words}
    assert list_fixes(words + words) == FIX * 2
    assert list_fixes(Advice("c", words)) == FIX


@pytest.fixture
def people(tmp_path):
    table = pl.DataFrame({"age": [20, 21, 22, 23], "town": ["Ulm", "Aix", "Ulm", "Aix"]})
    table.write_csv(tmp_path / "people.csv")
    (tmp_path / "people.toml").write_text('[columns]\nage = "quasi"\n[privacy]\nk = 2\n')
    (tmp_path / "old.csv").write_text("old")
    return tmp_path


def said(people, *words):
    found = CliRunner().invoke(main, [str(people / word) if "." in word else word for word in words])
    assert found.exit_code
    return found.output


def test_the_same_mistakes_in_python_and_on_the_command_line(people):
    with pytest.raises(shoal.PolicyError, match='other_columns="drop"'):
        shoal.anonymize(people / "people.csv", quasi=["age"], k=2)
    by_command = said(people, "anonymize", "people.csv", "-p", "people.toml", "-o", "out.csv")
    assert "--set data.other_columns=drop" in by_command
    assert not KEYWORDS.search(by_command)
    with pytest.raises(shoal.OutputError, match="force=True") as error:
        io.write(pl.DataFrame({"a": [1]}), people / "old.csv")
    assert not FLAGS.search(str(error.value))
    by_command = said(people, "anonymize", "people.csv", "-p", "people.toml", "-o", "old.csv")
    assert "--force" in by_command
    assert "force=True" not in by_command
    with pytest.raises(shoal.PolicyError, match=r"`shoal\.suggest`"):
        shoal.Policy.read(people / "none" / "policy.toml")
    assert voice() == "python"
    assert either(command="--x", python="x=..") == "x=.."


def test_infeasible_limits_name_the_setting(people):
    frame = pl.DataFrame({"age": [1, 2, 3, 4]})
    with pytest.raises(shoal.InfeasibleError, match=r"suppression=\.\."):
        shoal.anonymize(frame, quasi=["age"], k=2, limits={"age": 0})
    frame.write_csv(people / "few.csv")
    (people / "few.toml").write_text('[columns]\nage = { role = "quasi", limit = 0 }\n[privacy]\nk = 2\n')
    assert "--set utility.suppression=.." in said(
        people, "anonymize", "few.csv", "-p", "few.toml", "-o", "out.csv"
    )


def test_a_policy_and_keywords_at_once():
    with pytest.raises(TypeError, match=r"not both: k; .*override"):
        shoal.anonymize(pl.DataFrame({"a": [1]}), shoal.Policy.from_keywords(quasi=["a"], k=2), k=3)
