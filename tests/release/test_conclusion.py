"""One release, one conclusion: the rule, and the same words and figures through every door."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.apps.cli import main
from shoal.apps.studio.job_tasks.audit_task import audit as audit_in_studio
from shoal.apps.studio.job_tasks.release_task import release as release_in_studio
from shoal.judging.read_case import Received
from shoal.release.conclusion import conclude
from shoal.release.verdict import Verdict
from tests.documents.test_report import Page


@dataclass(frozen=True)
class Tried:
    title: str
    named: bool
    exposes: int | None


def verdict(holds):
    return Verdict("5-anonymity", 5, None, holds)


@given(
    st.lists(st.sampled_from([True, None, False]), max_size=4),
    st.lists(st.tuples(st.booleans(), st.sampled_from([None, 0, 3])), max_size=4),
)
def test_the_rule(held, tried):
    """Spelled out case by case, the worst first."""
    attacks = [Tried("linkage", named, exposes) for named, exposes in tried]
    found = conclude([verdict(one) for one in held], attacks)
    if False in held or (True, 3) in tried:
        expected = "fail", False, 5
    elif None in held:
        expected = "could not be checked", None, 9
    elif (False, 3) in tried:
        expected = "pass with remarks", True, 0
    else:
        expected = "pass", True, 0
    assert (found.decision, found.holds, found.exit_code) == expected
    assert bool(found.reasons) == (not found.holds)
    assert bool(found.remarks) == (found.decision == "pass with remarks")


def test_words():
    assert conclude([verdict(True)]).sentence == "the release satisfies its policy"
    failed = conclude([verdict(False)], [Tried("linkage", True, 1)])
    assert (
        failed.sentence
        == "the release violates its policy: 5-anonymity is violated; linkage exposes 1 person"
    )
    unknown = conclude([verdict(None)], [Tried("linkage", True, None)])
    assert unknown.details == ("5-anonymity could not be checked.",)
    passed = conclude([verdict(True)], [Tried("linkage", False, 2)])
    assert passed.heading == "Satisfies its policy, with remarks"
    assert passed.details == ("Linkage exposes 2 people, and no requirement of the policy prevents it.",)


class Line:
    """What a job of Studio talks to."""

    def __init__(self, folder):
        self.folder = folder

    def progress(self, *_):
        pass

    def note(self, _):
        pass


def rare():
    """Several incomes, and a rare yes that the policy protects by t-closeness. Most classes say no for certain,
    and so does a blind guess.
    """
    draw = np.random.default_rng(5)
    people = 600
    return pl.DataFrame(
        {
            "age": draw.integers(20, 60, people),
            "town": draw.choice(["Rome", "Oslo", "Bern"], people),
            "income": draw.choice(["low", "middle", "high", "top"], people),
            "award": draw.choice(["no", "yes"], people, p=[0.97, 0.03]),
        }
    )


POLICY = """
[columns.age]
role = "quasi"
[columns.town]
role = "quasi"
[columns.income]
role = "sensitive"
[columns.award]
role = "sensitive"
[privacy]
k = 5
l.income.distinct = 3
t.award.equal = 0.2
[method]
name = "mondrian"
"""
UNPROTECTED = POLICY.replace("l.income.distinct = 3\n", "").replace("t.award.equal = 0.2\n", "")


def through_all_doors(folder: Path, policy: str) -> dict[str, str]:
    """Return the decision of every door about one release."""
    rare().write_csv(folder / "people.csv")
    (folder / "policy.toml").write_text(policy)
    files = {name: str(folder / name) for name in ("people.csv", "policy.toml", "release.csv", "record.json")}
    data, asked, release, record = files.values()
    received = ["-p", asked, "--original", data, "--record", record, "--json"]
    found = {}

    def command(*words):
        done = CliRunner().invoke(main, list(words))
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)["conclusion"]["decision"]

    found["anonymize"] = command("anonymize", data, "-p", asked, "-o", release, "--record", record, "--json")
    found["audit"] = command("audit", release, *received)
    found["report"] = command("report", release, *received, "-o", str(folder / "r.html"), "--private")
    found["evidence"] = command("evidence", release, *received, "-o", str(folder / "pack"))
    page = Page((folder / "r.html").read_text()).text
    made = shoal.report(release, asked, original=data, record=record, edition="private")
    assert made.conclusion.heading in page
    pack = (folder / "pack/private/anonymization-report.md").read_text()
    assert f"The release {made.conclusion.headline}." in pack
    (folder / "job").mkdir()
    studio = release_in_studio(
        Line(folder / "job"), source=Path(data), policy=policy, base=folder, output="release.csv", keys=False
    )
    found["Look"] = studio.conclusion.decision
    judged = audit_in_studio(
        Line(folder / "job"),
        received=Received(Path(release), Path(data), record=Path(record)),
        policy=policy,
        base=folder,
    )
    found["Audit in Studio"] = judged["conclusion"].decision
    compared = shoal.compare(data, asked, methods=["mondrian"])
    found["compare"] = compared.best().conclusion.decision
    return found


def test_every_door_passes_what_satisfies_its_policy(tmp_path):
    found = through_all_doors(tmp_path, POLICY)
    assert set(found.values()) == {"pass"}, found


def test_what_the_policy_asks_nothing_about_is_a_remark_where_attacks_run(tmp_path):
    """Commands that attack nothing cannot remark on it."""
    found = through_all_doors(tmp_path, UNPROTECTED)
    remarks = {door for door, decision in found.items() if decision == "pass with remarks"}
    assert set(found.values()) <= {"pass", "pass with remarks"}, found
    assert {"report", "evidence", "Look", "Audit in Studio"} <= remarks


@pytest.mark.parametrize("edition", ["public", "private"])
def test_a_rare_value_is_not_exposed_by_classes_without_it(edition):
    """Raw shares are above 90 %; the gain over the blind guess is what counts."""
    table, asked = rare(), shoal.Policy.from_toml(POLICY)
    made = shoal.anonymize(table, asked)
    report = shoal.report(made, asked, original=table, edition=edition)
    assert report.conclusion.decision == "pass"
    (own,) = [one for one in report.tried if one.attack == "attribute-disclosure"]
    award = own.exposure.figures["columns"]["award"]
    assert award["success"] > 0.9
    assert award["gain"] == pytest.approx(award["success"] - award["baseline"])
    low, high = award["gain_interval"]
    assert low <= award["gain"] <= high
    assert award["gain"] < 0.05
    assert "gain" in own.details


def test_false_cells_are_said_first_everywhere(tmp_path):
    """A method that makes cells false, under a policy that says nothing about it."""
    rare().write_csv(tmp_path / "people.csv")
    (tmp_path / "policy.toml").write_text(UNPROTECTED.replace("mondrian", "hybrid"))
    data, asked, release, record, card = (
        str(tmp_path / name)
        for name in ("people.csv", "policy.toml", "release.csv", "record.json", "card.md")
    )
    words = ["anonymize", data, "-p", asked, "-o", release, "--record", record, "--card", card]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    said = next(at for at, line in enumerate(lines) if "remark:" in line and "false" in line)
    assert said < next(at for at, line in enumerate(lines) if "5-anonymity" in line)
    text = Path(card).read_text()
    assert text.index("False cells") < text.index("## What it protects against")
    for edition in ("public", "private"):
        made = shoal.report(release, asked, original=data, record=record, edition=edition)
        assert made.conclusion.decision == "pass with remarks"
        assert "false" in made.conclusion.remarks[0]
        page = Page(made.html).text
        assert 0 < page.index("false") < page.index("Rows published")


def test_an_adversary_whom_only_a_requirement_implies_does_not_turn_the_verdict():
    """Every row matches two people, so (2,1) holds. The person of age 4 matches one row; the policy names nobody."""
    ages = pl.DataFrame({"age": [1, 2, 3, 4]})
    rows = pl.DataFrame({"age": ["[1, 2]", "[1, 3]", "[1, 3]", "[3, 4]"]})
    asked = {"quasi": ["age"], "k": 2, "notion": "k-1"}
    audited = shoal.audit(rows, original=ages, **asked)
    reported = shoal.report(rows, original=ages, edition="private", **asked).conclusion
    assert audited.conclusion.holds
    assert reported.holds
    assert reported.decision == "pass with remarks"
    assert any("linkage" in remark for remark in reported.remarks)
    named = {**asked, "adversary": "knows-some"}
    assert shoal.audit(rows, original=ages, **named).conclusion.decision == "fail"
    assert shoal.report(rows, original=ages, edition="private", **named).conclusion.decision == "fail"
