"""The screen Promise: every model and option can be asked for, and what cannot be kept is said at once."""

from __future__ import annotations

import ast
import threading
import time
from pathlib import Path

import polars as pl
import pytest
from playwright.sync_api import expect
from starlette.datastructures import FormData, QueryParams

from shoal.apps.studio.data.source import Source
from shoal.apps.studio.page import page
from shoal.apps.studio.private_folder import Folder
from shoal.apps.studio.project import Project
from shoal.apps.studio.requirements import screen as promise
from shoal.apps.studio.requirements.forms import Entry, entries, options, questions, with_entry, without_entry
from shoal.apps.studio.requirements.outlook import find_outlook, outlook
from shoal.errors import PolicyError
from shoal.judging.models import MODELS
from shoal.judging.models.keys import parameters
from shoal.methods import METHODS
from shoal.policy import Policy
from shoal.policy import field_docs as notes
from shoal.policy.adversaries import ADVERSARIES
from shoal.policy.column_section import Column
from shoal.policy.field_docs import field_notes
from shoal.policy.method_options import AUTO, method_kind, option_types
from shoal.policy.privacy import KINDS, NOTIONS
from shoal.policy.suggestions.presets import PRESETS

ODD = "<script>alert(1)</script> \"'/.\u202e\N{FISH}"
"""A name that nobody should trust."""


@pytest.fixture
def project(tmp_path: Path):
    rows = pl.DataFrame(
        {
            "age": [20 + row % 40 for row in range(120)],
            "sex": ["f", "m"] * 60,
            "in": [True, True, False] * 40,
            "disease": ["flu", "flu", "cold", "gout"] * 30,
            ODD: ["x", "y", "z"] * 40,
        }
    )
    rows.write_csv(tmp_path / "people.csv")
    policy = Policy.from_keywords(
        quasi=["age", "sex"],
        sensitive=["disease", ODD],
        hierarchies={"disease": "auto"},
        other_columns="drop",
        k=4,
    )
    (tmp_path / "policy.toml").write_text(policy.to_toml())
    made = Project(Folder())
    made.read(Source(tmp_path / "people.csv", "people.csv"), tmp_path / "policy.toml")
    yield made
    made.close()


def act(project: Project, name: str, *fields: tuple[str, object]) -> None:
    promise.ACTIONS[name](project, FormData([(key, str(value)) for key, value in fields]))


def html(project: Project) -> str:
    return bytes(page(project, "promise", QueryParams()).body).decode()


def test_every_model_can_be_asked_for_with_every_parameter_and_taken_back(project):
    for _key, _meaning, own in questions({}):
        for one in own:
            before = project.tables["privacy"]
            kind = next(k for k in KINDS[one.key] if one.rule in (k.rules or ("",)))
            assert [field.name for field in one.fields] == list(parameters(kind))
            assert all(field.note for field in one.fields), f"{one.title} has a parameter without help"
            fields = [("key", one.key), ("rule", one.rule), *(("value", field.usual) for field in one.fields)]
            act(project, "ask", *fields, ("column", 0))
            assert any(asked.kind is kind for asked in project.require_policy().privacy.requirements), (
                one.title
            )
            places = [(e.key, e.rule) for e in entries(project.tables["privacy"])]
            act(project, "drop", ("entry", places.index((one.key, one.rule))))
            assert project.tables["privacy"] == before
    # With the notions of k, that is every model that a policy asks for itself.
    asked = {kind.name for kinds in KINDS.values() for kind in kinds}
    assert asked == {name for name, kind in MODELS.items() if kind.asked_in == "privacy"}


def test_a_requirement_is_for_all_sensitive_columns_or_for_one(project):
    ask = ("key", "l"), ("rule", "distinct")
    act(project, "ask", *ask, ("value", 2), ("column", ""))
    assert project.tables["privacy"]["l"] == {"distinct": 2}
    act(project, "ask", *ask, ("value", 3), ("column", 1))
    assert project.tables["privacy"]["l"] == {"disease": {"distinct": 2}, ODD: {"distinct": 3}}
    act(project, "ask", ("key", "l"), ("rule", "entropy"), ("value", "1.5"), ("column", ""))
    assert project.tables["privacy"]["l"][ODD] == {"distinct": 3, "entropy": 1.5}
    act(project, "ask", *ask, ("value", 2), ("column", ""))
    # The entropy is for one column each, so the others are, too.
    each = {"distinct": 2, "entropy": 1.5}
    assert project.tables["privacy"]["l"] == {"disease": each, ODD: each}
    assert project.policy is not None
    privacy = {"k": 2, "p": {"disease": 2}}
    both = with_entry(privacy, Entry("p", "", ODD, 3), ["disease", ODD])
    assert both == {"k": 2, "p": {"disease": 2, ODD: 3}}
    assert without_entry(both, Entry("p", "", "disease", 2), ["disease", ODD]) == {"k": 2, "p": {ODD: 3}}


def test_every_option_of_every_method_has_a_field_with_help():
    for name in (*METHODS, AUTO):
        kind = method_kind(name)
        shown = options(name, {})
        assert [one.name for one in shown] == list(option_types(kind))
        assert all(one.note for one in shown), name


def test_options_are_set_checked_and_taken_back(project):
    act(project, "method", ("name", METHODS.default))
    act(project, "options", ("strict", "no"), ("choose", ""))
    assert project.policy.method.options() == {"strict": False}
    act(project, "options", ("strict", ""), ("choose", "best"))
    assert [one.path for one in project.problems] == ["method.choose"]
    assert promise.state(project).mark == "problem"
    assert "method.choose" in html(project)
    project.undo()
    assert project.policy.method.options() == {"strict": False}
    act(project, "method", ("name", AUTO))
    act(project, "options", ("methods", '["mondrian"]'), ("seconds", "5"), ("jobs", ""), ("sets", "yes"))
    assert project.policy.method.options() == {"methods": ["mondrian"], "seconds": 5.0, "sets": True}


@pytest.mark.parametrize("name", NOTIONS)
def test_k_has_every_notion(project, name):
    act(project, "k", ("k", 3), ("notion", name))
    assert project.policy.privacy.requirements[0].kind is MODELS[name]


def test_the_number_of_known_people_comes_and_goes_with_whom_it_is_about(project):
    assert 'id="known"' not in html(project)
    act(project, "k", ("k", 3), ("notion", "k-k"))
    assert 'id="known"' in html(project)
    act(project, "k", ("k", 3), ("notion", "k-k"), ("known", 10))
    assert project.tables["privacy"]["known"] == 10
    assert project.policy.models()[0].known == 10
    act(project, "k", ("k", 3), ("notion", "k-k"), ("known", "all"))
    assert project.tables["privacy"]["known"] == "all"
    # Another notion drops it, and so does another adversary.
    act(project, "k", ("k", 3), ("notion", ""), ("known", "all"))
    assert "known" not in project.tables["privacy"]
    act(project, "adversary", ("adversary", "knows-some"))
    act(project, "k", ("k", 3), ("notion", ""), ("known", 5))
    assert project.policy.models()[0].known == 5
    act(project, "adversary", ("adversary", "knows-members"))
    assert "known" not in project.tables["privacy"]
    act(project, "k", ("k", 3), ("notion", "k-k"), ("known", ""))
    assert "known" not in project.tables["privacy"]
    with pytest.raises(PolicyError, match="known"):
        act(project, "k", ("k", 3), ("notion", "k-k"), ("known", "ten"))


def test_an_adversary_brings_what_they_need(project):
    act(project, "k", ("k", ""), ("notion", ""))
    for name, adversary in ADVERSARIES.items():
        act(project, "adversary", ("adversary", name))
        assert project.tables["privacy"]["adversary"] == [name]
        assert adversary.needs in project.tables["privacy"]
        assert adversary.knows in html(project).replace("&#39;", "'")
    act(project, "adversary")
    assert "adversary" not in project.tables["privacy"]


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_offered_and_shown_as_in_use(project, name):
    act(project, "preset", ("name", name))
    assert project.policy.privacy.values_by_key.keys() >= PRESETS[name].privacy.keys()
    assert html(project).count("in use") == 1
    project.undo()
    assert project.policy.privacy.k == 4


def test_what_cannot_be_kept_is_said_with_the_nearest_that_can(project):
    act(project, "ask", ("key", "l"), ("rule", "distinct"), ("value", 7))
    found = outlook(project, 30)
    assert [one.words for one in found.nearest] == ["distinct l: 7 → 3"]
    assert promise.state(project) == promise.state(project).__class__("problem", "cannot be kept")
    shown = html(project)
    assert "This promise cannot be kept" in shown
    assert "`disease` has 3" in shown
    assert "<script>alert" not in shown
    act(project, "mend", ("place", 0))
    assert project.policy.privacy.l.distinct == 3
    assert outlook(project, 30).possible
    assert promise.state(project).mark == "done"
    # Advice for an earlier policy is not followed.
    act(project, "k", ("k", 100_000), ("notion", ""))
    assert find_outlook(project) is None
    act(project, "mend", ("place", 0))
    assert project.policy.privacy.k == 100_000
    assert outlook(project, 30).nearest[0].words == "k: 100,000 → 120"


def test_the_table_is_coded_once_for_all_promises_about_the_same_columns(project, monkeypatch):
    from shoal.release.received import read_earlier as earlier

    coded = []
    own = earlier.encode_whole
    monkeypatch.setattr(earlier, "encode_whole", lambda *rest: coded.append(1) or own(*rest))
    for k in (2, 3, 4, 5):
        act(project, "k", ("k", k), ("notion", ""))
        assert outlook(project, 30).possible
    assert len(coded) == 1
    act(project, "columns", ("limit-0", "0"))
    assert outlook(project, 30).reasons
    assert len(coded) == 2


def test_weights_limits_and_protected_nodes_go_to_their_columns(project):
    act(project, "columns", ("weight-0", "0.5"), ("limit-0", "2"), ("limit-1", "f\nm"), ("weight-1", "1"))
    assert project.tables["columns"]["age"] == {"role": "quasi", "weight": 0.5, "limit": 2}
    assert list(project.tables["columns"]["sex"]["limit"]) == ["f", "m"]
    act(project, "columns", ("weight-0", "1"), ("limit-0", ""), ("limit-1", ""))
    assert project.tables["columns"]["age"] == {"role": "quasi"}
    with pytest.raises(Exception, match="must be a number, not 'many'"):
        act(project, "columns", ("weight-0", "many"))
    act(project, "columns", ("protected-2", "flu"))
    assert promise.state(project).mark == "problem"  # no requirement is about it


def test_the_population_is_a_column_or_a_file(project, tmp_path):
    place = project.frame.columns.index("in")
    act(project, "adversary", ("adversary", "unsure-of-membership"))
    act(project, "population", ("column", place))
    assert project.policy.population.column == "in"
    assert outlook(project, 30) is not None
    act(project, "population", ("column", ""))
    assert project.policy.population is None
    pl.read_csv(tmp_path / "people.csv").write_csv(tmp_path / "everybody.csv")
    promise.take_file(project, tmp_path / "everybody.csv", "everybody.csv", QueryParams())
    assert outlook(project, 30).error == ""
    assert "everybody.csv" in html(project)
    act(project, "adversary")
    act(project, "k", ("k", "2"))
    act(project, "population", ("column", ""), ("size", "9,000,000"))
    assert project.policy.population.size == 9_000_000
    assert "9,000,000" in html(project)


def test_a_risk_is_asked_for_with_its_options(project):
    act(project, "ask", ("key", "risk"), ("rule", "highest"), ("value", "1/11"), ("option-by", "prosecutor"))
    act(project, "ask", ("key", "risk"), ("rule", "share"), ("value", "0,05"), ("option-above", "0.25"))
    assert project.tables["privacy"]["risk"] == {
        "highest": "1/11", "share": 0.05, "above": 0.25, "by": "prosecutor"
    }  # fmt: skip
    page = html(project)
    assert "highest risk 1/11 (classes of 11 or more)" in page
    assert "share 0.05 of rows with a risk above 0.25" in page
    found = [entry for entry in entries(project.tables["privacy"]) if entry.key == "risk"]
    assert [(entry.rule, entry.options) for entry in found] == [
        ("highest", {"by": "prosecutor"}), ("share", {"above": 0.25, "by": "prosecutor"})
    ]  # fmt: skip
    place = [entry.rule for entry in entries(project.tables["privacy"])].index("share")
    act(project, "drop", ("entry", place))
    assert project.tables["privacy"]["risk"] == {"highest": "1/11", "by": "prosecutor"}
    act(project, "ask", ("key", "k_map"), ("rule", "people"), ("value", "5"), ("option-error", ""))
    assert project.tables["privacy"]["k_map"] == {"people": 5}


def test_what_may_be_lost(project):
    act(project, "utility", ("suppression", "2,5"), ("measure", "entropy"))
    assert project.policy.utility.suppression == 0.025
    assert project.policy.utility.measure == "entropy"


# --- in a browser ---------------------------------------------------------------------------------------------


def test_meet_an_infeasible_requirement_and_follow_the_advice(studio, tmp_path: Path):
    from shoal.apps.samples import write_sample

    write_sample("patients", 400, tmp_path / "patients.csv")
    page = studio("patients.csv").go("promise")
    expect(page.get_by_role("heading", name="Promise", exact=True)).to_be_visible()
    expect(page.get_by_text("Nothing in this table rules the promise out")).to_be_visible()
    # The adversary, in words.
    page.get_by_role("checkbox", name="knows the quasi-identifiers of some people").check()
    expect(page.get_by_text("(k,k)-anonymity", exact=False).first).to_be_attached()
    expect(page.get_by_role("checkbox", name="knows the quasi-identifiers of some people")).to_be_checked()
    page.get_by_role("checkbox", name="knows the quasi-identifiers of some people").uncheck()
    # k by keyboard, as soon as it is left.
    page.get_by_label("k, rows that nobody can be told apart in").fill("900")
    page.keyboard.press("Tab")
    expect(page.get_by_role("heading", name="This promise cannot be kept")).to_be_visible()
    expect(page.get_by_text("the table has 400 rows").first).to_be_visible()
    expect(page.get_by_role("link", name="Promise").first).to_contain_text("cannot be kept")
    page.get_by_role("button", name="k: 900 → 400", exact=True).click()
    expect(page.get_by_text("Nothing in this table rules the promise out")).to_be_visible()
    expect(page.get_by_label("k, rows that nobody can be told apart in")).to_have_value("400")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("heading", name="This promise cannot be kept")).to_be_visible()
    page.get_by_role("button", name="Use Research access").click()
    expect(page.get_by_text("in use")).to_be_visible()
    expect(page.get_by_label("k, rows that nobody can be told apart in")).to_have_value("")
    expect(page.get_by_text("classes of 5 or more").first).to_be_attached()


def test_docstrings_are_parsed_by_one_thread_at_a_time(monkeypatch):
    """Pages are made in threads, and parsing at once raises SystemError now and then in Python 3.11."""
    parsing, most = 0, 0
    real = ast.parse

    def slow(*args: object, **options: object) -> ast.AST:
        nonlocal parsing, most
        parsing += 1
        most = max(most, parsing)
        time.sleep(0.01)
        parsing -= 1
        return real(*args, **options)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(ast, "parse", slow)
    notes._own_notes.cache_clear()
    threads = [threading.Thread(target=field_notes, args=(Column,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
