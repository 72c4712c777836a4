"""The screen Roles: guesses and reasons, moving columns, who is unique."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

pytest.importorskip("starlette", reason="Studio is not installed: pip install 'shoal[studio]'")

from starlette.datastructures import QueryParams

from shoal.apps.samples import sample, write_sample
from shoal.apps.studio.data.source import Source
from shoal.apps.studio.page import page
from shoal.apps.studio.private_folder import Folder
from shoal.apps.studio.project import Project
from shoal.apps.studio.roles import screen as roles_screen
from shoal.apps.studio.roles.changes import options_for, role_in
from shoal.coding.roles import ROLES
from shoal.errors import ShoalError
from shoal.policy.column_section import Column


@pytest.fixture
def project(tmp_path: Path):
    made = Project(Folder())
    table = tmp_path / "patients.csv"
    sample("patients", 300).write_csv(table)
    made.read(Source(table, "patients.csv"))
    yield made
    made.close()


def act(project: Project, name: str, **form: object) -> None:
    roles_screen.ACTIONS[name](project, {key: str(value) for key, value in form.items()})  # type: ignore[arg-type]


def place(project: Project, name: str) -> int:
    assert project.frame is not None
    return project.frame.columns.index(name)


def shown(project: Project) -> str:
    return bytes(page(project, "roles", QueryParams("")).body).decode()


def test_every_role_of_a_policy_is_offered_with_its_meaning():
    assert list(ROLES) == list(get_args(Column.model_fields["role"].annotation))
    assert all(one.meaning for one in ROLES.values())
    assert sorted(one.letter for one in ROLES.values()) == ["d", "e", "i", "p", "q", "s", "w"]


@pytest.mark.parametrize("role", ROLES)
def test_settings_that_are_offered_are_accepted(role: str):
    from shoal.policy import Policy

    offered = options_for(role)
    assert ("weight" in offered) == (role == "quasi")
    assert set(offered) <= set(Column.model_fields)
    for key in offered:
        example = {"weight": 0.5, "null_values": ["?"], "unit": "EUR"}.get(key)
        if example is not None:
            Policy.from_dict(
                {"columns": {"a": {"role": role, key: example}, "b": {"role": "quasi"}}, "privacy": {"k": 2}}
            )


def test_every_column_is_shown_with_its_guess_and_reason(project: Project):
    from markupsafe import escape

    assert project.suggestion is not None
    text = shown(project)
    for guess in project.suggestion.columns:
        assert str(escape(guess.reason)) in text
        assert f'data-column="{place(project, guess.name)}"' in text


def test_a_column_moves_and_comes_back_with_what_it_had(project: Project):
    before = project.tables["columns"]["birth_date"]
    act(project, "options", column=place(project, "birth_date"), weight="0.5", null_values="")
    assert project.tables["columns"]["birth_date"] == {**before, "weight": 0.5}
    act(project, "give", column=place(project, "birth_date"), role="plain")
    assert project.tables["columns"]["birth_date"] == {"role": "plain"}
    assert project.policy is not None
    assert "changed" in shown(project)
    act(project, "give", column=place(project, "birth_date"), role="quasi")
    assert project.tables["columns"]["birth_date"] == {**before, "weight": 0.5}
    for _ in range(3):
        project.undo()
    assert project.tables["columns"]["birth_date"] == before
    assert not project.last_step


def test_a_new_quasi_identifier_gets_a_proposed_hierarchy(project: Project):
    act(project, "give", column=place(project, "name"), role="quasi")
    assert project.tables["columns"]["name"]["role"] == "quasi"
    assert "hierarchy" in project.tables["columns"]["name"]
    assert project.policy is not None


def test_unique_rows_are_counted_for_the_current_quasi_identifiers(project: Project):
    assert project.frame is not None
    for gone in ("birth_date", "admitted", "zip"):
        act(project, "give", column=place(project, gone), role="drop")
        quasi = [name for name in project.frame.columns if role_in(project.tables, name) == "quasi"]
        counts = project.frame.data.group_by(quasi).len()["len"]
        unique = int((counts == 1).sum())
        assert f"{unique:,} of 300 rows" in shown(project)
        assert roles_screen.context(project, QueryParams(""))["unique"] == unique


def test_the_worst_sets_are_those_of_the_current_quasi_identifiers(project: Project):
    act(project, "give", column=place(project, "birth_date"), role="drop")
    found = roles_screen.context(project, QueryParams(""))["sets"]
    assert found is not None
    assert found["sets"]
    assert all("birth_date" not in one.columns for one in found["sets"])


def test_without_a_sensitive_column_its_requirement_can_be_dropped(project: Project):
    with project.edit("p") as tables:
        tables["privacy"] = {"k": 5, "p": 2}
    act(project, "give", column=place(project, "diagnosis"), role="plain")
    problems = [one.path for one in project.problems]
    assert problems == ["privacy.p"]
    assert "Do not ask for p" in shown(project)
    act(project, "ask_less", path="privacy.p")
    assert project.policy is not None
    assert roles_screen.state(project).mark == "attention"


def test_a_new_sensitive_column_gets_a_requirement_of_its_own(project: Project):
    before = project.tables["privacy"]
    assert before["l"] == {"diagnosis": {"distinct": 3}}
    act(project, "give", column=place(project, "stay_days"), role="sensitive")
    assert project.policy is not None
    assert {one.column for one in project.policy.privacy.requirements} == {None, "diagnosis", "stay_days"}
    act(project, "give", column=place(project, "stay_days"), role="plain")
    assert project.tables["privacy"] == before
    # One that covers all columns is enough.
    with project.edit("p") as tables:
        tables["privacy"] = {"k": 5, "p": 2}
    act(project, "give", column=place(project, "stay_days"), role="sensitive")
    assert project.tables["privacy"] == {"k": 5, "p": 2}


def test_a_requirement_about_one_column_goes_with_it(project: Project):
    act(project, "give", column=place(project, "stay_days"), role="sensitive")
    with project.edit("p") as tables:
        tables["privacy"].update(p={"diagnosis": 2, "stay_days": 3})
    act(project, "give", column=place(project, "stay_days"), role="plain")
    assert project.tables["privacy"]["p"] == {"diagnosis": 2}
    assert project.policy is not None


def test_many_columns_at_once_and_back_to_the_guesses(project: Project):
    before = project.tables
    act(project, "several", find="A", role="drop")
    assert project.frame is not None
    dropped = {name for name in project.frame.columns if role_in(project.tables, name) == "drop"}
    assert dropped == {name for name in project.frame.columns if "a" in name.lower()}
    act(project, "guesses")
    assert project.tables["columns"] == before["columns"]
    assert project.last_step.startswith("roles of")
    with pytest.raises(ShoalError, match="no column"):
        act(project, "several", find="zzz", role="drop")


@pytest.mark.parametrize(
    "form",
    [{"column": "99", "role": "plain"}, {"column": "x", "role": "plain"}, {"column": "0", "role": "king"}],
)
def test_forms_about_nothing_are_refused(project: Project, form: dict[str, str]):
    with pytest.raises(ShoalError):
        roles_screen.ACTIONS["give"](project, form)  # type: ignore[arg-type]


def test_no_quasi_identifier_is_a_problem_with_words(project: Project):
    assert project.frame is not None
    for name in project.frame.columns:
        act(project, "give", column=place(project, name), role="plain")
    assert roles_screen.state(project).mark == "problem"
    assert "no column is a quasi-identifier" in shown(project)


def test_columns_without_a_role_are_shown(project: Project):
    with project.edit("less") as tables:
        tables["columns"].pop("sex")
    assert "Without a role" in shown(project)
    act(project, "give", column=place(project, "sex"), role="quasi")
    assert "Without a role" not in shown(project)
    assert project.policy is not None


# --- in the browser -----------------------------------------------------------------------------------------


def test_roles_by_keyboard_menu_and_mouse(studio, tmp_path: Path):
    from playwright.sync_api import expect

    write_sample("patients", 1_000, tmp_path / "patients.csv")
    browser_page = studio("patients.csv").go("roles")
    unique = browser_page.locator("#unique-now")
    expect(unique).to_contain_text("Unique by 5 quasi-identifiers")

    def group(role: str):
        return browser_page.locator(f"#role-{role}")

    def card(name: str):
        return browser_page.get_by_role("listitem", name=f"{name}, ")

    # a key on the focused column, and back with undo
    card("stay_days").focus()
    browser_page.keyboard.press("p")
    expect(group("plain").get_by_text("stay_days", exact=True)).to_be_visible()
    expect(unique).to_contain_text("Unique by 4 quasi-identifiers")
    expect(card("stay_days")).to_be_focused()
    browser_page.keyboard.press("Control+z")
    expect(group("quasi").get_by_text("stay_days", exact=True)).to_be_visible()
    # arrows move the focus
    card("birth_date").focus()
    browser_page.keyboard.press("ArrowDown")
    expect(card("sex")).to_be_focused()
    browser_page.keyboard.press("ArrowRight")
    expect(card("diagnosis")).to_be_focused()
    browser_page.keyboard.press("ArrowUp")
    browser_page.keyboard.press("d")
    expect(group("drop").get_by_text("stay_days", exact=True)).to_be_visible()
    # the menu
    browser_page.get_by_label("Role of admitted").select_option("plain")
    expect(group("plain").get_by_text("admitted", exact=True)).to_be_visible()
    # the mouse
    card("name").drag_to(group("plain").locator("h2"))
    expect(group("plain").get_by_text("name", exact=True)).to_be_visible()
    card("name").drag_to(browser_page.locator(".role-tile[data-role=identifier]"))
    expect(group("identifier").get_by_text("name", exact=True)).to_be_visible()
    # settings of a column
    card("zip").get_by_text("Settings").click()
    card("zip").get_by_label("Weight").fill("2")
    card("zip").get_by_label("Weight").press("Enter")
    browser_page.get_by_role("button", name="Policy").click()
    expect(browser_page.locator("#as-file")).to_contain_text("weight = 2")
