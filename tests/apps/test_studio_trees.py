"""The screen Hierarchies in a browser: cut points, trees, files, and values that are hostile."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

pytest.importorskip("playwright", reason="playwright is not installed: pip install 'shoal[dev]'")

from playwright.sync_api import Page, Route, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

import shoal
from shoal.coding.hierarchy import build, to_csv
from shoal.policy import Policy

TOWNS = ["Kiel", "Bremen", "Hannover", "Ulm", "Passau"]
ROWS = 100


@pytest.fixture
def place(studio, tmp_path: Path):
    """Studio with a small table, at the column `town`."""
    pl.DataFrame(
        {
            "age": [20 + at % 60 for at in range(ROWS)],
            "town": [TOWNS[at % 5] for at in range(ROWS)],
            "illness": ["flu" if at % 3 else "gout" for at in range(ROWS)],
        }
    ).write_csv(tmp_path / "people.csv")
    (tmp_path / "policy.toml").write_text(
        '[columns.age]\nrole = "quasi"\nhierarchy = { cuts = [[30, 40, 60], [40]] }\n'
        '[columns.town]\nrole = "quasi"\nhierarchy = { tree = { North = ["Kiel", "Bremen", "Hannover"], '
        'South = ["Ulm", "Passau"] } }\n'
        '[columns.illness]\nrole = "sensitive"\n[privacy]\nk = 3\n'
    )
    visit = studio("people.csv", "-p", "policy.toml")
    visit.go("data")
    expect(visit.page.get_by_text("people.csv").first).to_be_visible()
    return visit


def node(page: Page, name: str):
    return page.get_by_role("treeitem").filter(has=page.locator(".twig-name", has_text=name)).first


def policy_of(page: Page) -> Policy:
    """The policy that Studio shows, as somebody would copy it."""
    return Policy.from_toml(page.locator("#as-file").text_content() or "")


def hierarchy_of(page: Page, name: str) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(page.locator("#as-file").text_content() or "")["columns"][name][
        "hierarchy"
    ]
    return found


def does(page: Page, step: str, hierarchy: object) -> None:
    """Wait until a step has reached the policy."""
    button = page.get_by_role("button", name="Undo")
    expect(button).to_have_attribute("title", f"Take back: {step}")
    assert hierarchy_of(page, "town") == {"tree": hierarchy}


def test_a_tree_is_renamed_dragged_merged_and_undone(place, tmp_path: Path):
    page = place.go("hierarchies?column=1")
    node(page, "North").click()
    page.get_by_label("Name", exact=True).fill("Up")
    page.get_by_role("button", name="Rename").click()
    does(page, "town: rename a node", {"Up": ["Kiel", "Bremen", "Hannover"], "South": ["Ulm", "Passau"]})

    node(page, "Hannover").drag_to(node(page, "South"))
    does(page, "town: move nodes", {"Up": ["Kiel", "Bremen"], "South": ["Ulm", "Passau", "Hannover"]})
    expect(node(page, "South")).to_contain_text("60 rows")

    node(page, "Kiel").click()
    node(page, "Ulm").click(modifiers=["ControlOrMeta"])
    page.get_by_label("Name", exact=True).fill("Both")
    page.get_by_role("button", name="New group").click()
    does(
        page, "town: new group", {"Both": ["Kiel", "Ulm"], "Up": ["Bremen"], "South": ["Passau", "Hannover"]}
    )

    node(page, "Up").click()
    node(page, "South").click(modifiers=["ControlOrMeta"])
    page.get_by_role("button", name="Merge").click()
    merged = {"Both": ["Kiel", "Ulm"], "Up and South": ["Bremen", "Passau", "Hannover"]}
    does(page, "town: merge nodes", merged)
    page.get_by_role("button", name="Undo").click()
    does(
        page, "town: new group", {"Both": ["Kiel", "Ulm"], "Up": ["Bremen"], "South": ["Passau", "Hannover"]}
    )
    page.get_by_role("button", name="Redo").click()
    does(page, "town: merge nodes", merged)

    # The command line makes the same tree of the policy that is shown.
    sent = page.request.get(f"{place.address}/hierarchies/export?column=1").text()
    policy = policy_of(page)
    plan = policy.plans(["age", "town", "illness"])[1]
    assert to_csv(build(pl.Series(TOWNS), plan.hierarchy)) == sent
    result = shoal.anonymize(tmp_path / "people.csv", policy, seed=1)
    assert set(result.table["town"].cast(str)) <= {*TOWNS, "Both", "Up and South", "*"}


def test_a_click_is_not_lost_before_the_script_of_the_screen_answers(place):
    """A script that came late left the click without effect, and every button stayed disabled."""
    held: list[Route] = []
    page = place.page
    page.route("**/hierarchies.js", lambda route: held.append(route))
    page.goto(f"{place.address}/hierarchies?column=1", wait_until="domcontentloaded")
    with pytest.raises(PlaywrightTimeout):
        node(page, "North").click(timeout=500)
    [late] = held
    late.continue_()
    node(page, "North").click()
    expect(page.get_by_role("button", name="Rename")).to_be_enabled()


def test_a_tree_by_keyboard_alone(place):
    page = place.go("hierarchies?column=1")
    top = page.get_by_role("treeitem").first
    for _ in range(60):
        page.keyboard.press("Tab")
        if top.evaluate("one => one === document.activeElement"):
            break
    expect(top).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(node(page, "North")).to_be_focused()
    page.keyboard.press("F2")
    page.keyboard.type("Up")
    page.keyboard.press("Enter")
    does(page, "town: rename a node", {"Up": ["Kiel", "Bremen", "Hannover"], "South": ["Ulm", "Passau"]})
    expect(node(page, "Up")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    page.keyboard.press("Space")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Control+x")
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    expect(node(page, "South")).to_be_focused()
    page.keyboard.press("Control+v")
    does(page, "town: move nodes", {"Up": ["Hannover"], "South": ["Ulm", "Passau", "Kiel", "Bremen"]})
    expect(node(page, "Kiel")).to_be_focused()
    page.keyboard.press("Control+z")
    does(page, "town: rename a node", {"Up": ["Kiel", "Bremen", "Hannover"], "South": ["Ulm", "Passau"]})
    node(page, "Up").focus()
    page.keyboard.press("ArrowLeft")
    expect(node(page, "Up")).to_have_attribute("aria-expanded", "false")
    expect(page.get_by_role("treeitem").filter(has_text="Kiel")).to_have_count(0)
    expect(node(page, "Up")).to_be_focused()
    page.keyboard.press("Delete")
    does(
        page, "town: dissolve a node", {"Kiel": [], "Bremen": [], "Hannover": [], "South": ["Ulm", "Passau"]}
    )


def test_cut_points_by_mouse_and_by_keyboard(place):
    page = place.go("hierarchies?column=0")
    point = page.get_by_role("slider", name="Cut point 2 of 3")
    expect(point).to_have_attribute("aria-valuenow", "40")
    point.scroll_into_view_if_needed()
    box = point.bounding_box()
    line = page.locator("svg.line")
    whole = line.bounding_box()
    assert box is not None
    assert whole is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 8)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2 + whole["width"] / 10, box["y"] + 8, steps=4)
    page.mouse.up()
    undo = page.get_by_role("button", name="Undo")
    expect(undo).to_have_attribute("title", "Take back: age: cut points")
    dragged = hierarchy_of(page, "age")
    moved = dragged["cuts"][1][0]
    assert 44 <= moved <= 48  # a tenth of the width is six of sixty years
    assert dragged == {"cuts": [[30, moved, 60], [moved]]}

    again = page.get_by_role("slider", name="Cut point 1 of 3")
    again.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Level 1: a new band begins at")).to_have_value(f"31, {moved}, 60")
    expect(page.locator("#as-file")).to_contain_text("[31,")
    assert hierarchy_of(page, "age") == {"cuts": [[31, moved, 60], [moved]]}
    expect(page.get_by_role("slider", name="Cut point 1 of 3")).to_be_focused()

    page.get_by_role("checkbox", name="60 divides at level 2").click()
    expect(page.get_by_label("Level 2: a new band begins at")).to_have_value(f"{moved}, 60")
    expect(page.locator("#as-file")).to_contain_text(f"[{moved}, 60]]")  # the page has come back
    page.get_by_role("slider", name="Cut point 1 of 3").focus()
    page.keyboard.press("Delete")
    expect(page.get_by_role("slider")).to_have_count(2)
    page.get_by_label("Level 1: a new band begins at").fill("25, 35, 70")
    # Without 31 both levels had the same points, so one of them went.
    expect(page.get_by_label("Level 2: a new band begins at")).to_have_count(0)
    page.get_by_role("button", name="Set these points").click()
    expect(page.get_by_role("slider")).to_have_count(3)
    assert hierarchy_of(page, "age") == {"cuts": [[25, 35, 70]]}
    page.get_by_label("Level 1: a new band begins at").fill("25, many")
    page.get_by_role("button", name="Set these points").click()
    expect(page.get_by_text("'many' is not a number")).to_be_visible()
    assert hierarchy_of(page, "age") == {"cuts": [[25, 35, 70]]}


def test_a_file_comes_in_values_without_a_place_get_one_and_limits_are_clicked(place, tmp_path: Path):
    page = place.go("hierarchies?column=1")
    (tmp_path / "arx.csv").write_text(
        "Kiel;Coast;North;*\nBremen;Coast;North;*\nUlm;Ulm;South;*\nJena;Jena;East;*\n"
    )
    page.get_by_label("Drop a hierarchy file here").set_input_files(tmp_path / "arx.csv")
    expect(page.get_by_text("2 values have no place in the tree")).to_be_visible()
    page.get_by_label("Place of Hannover").select_option(label="\u2003North")
    page.get_by_role("listitem").filter(has_text="Hannover").get_by_role("button", name="Put there").click()
    expect(page.get_by_text("1 value has no place in the tree")).to_be_visible()
    page.get_by_role("button", name="Give all a place").click()
    expect(page.get_by_text("no place in the tree")).to_have_count(0)
    tree = {
        "North": {"Coast": ["Kiel", "Bremen"], "Hannover": []},
        "South": ["Ulm"],
        "East": ["Jena"],
        "Other": ["Passau"],
    }
    does(page, "town: give values a place", tree)
    expect(node(page, "Jena")).to_contain_text("0 rows")

    page.get_by_role("radio", name="Up to here").first.check()
    expect(page.locator("#as-file")).to_contain_text("limit = 1")
    node(page, "North").click()
    page.get_by_role("button", name="Limit here").click()
    expect(page.locator("#as-file")).to_contain_text('limit = ["North"]')
    expect(node(page, "North")).to_contain_text("limit")
    page.get_by_label("Weight of a loss here").fill("2")
    page.keyboard.press("Enter")
    expect(page.locator("#as-file")).to_contain_text("weight = 2")
    expect(page.locator("body[aria-busy]")).to_have_count(0)

    (tmp_path / "broken.csv").write_text("Kiel;North;*\nUlm\n")
    page.get_by_label("Drop a hierarchy file here").set_input_files(tmp_path / "broken.csv")
    expect(page.get_by_text("broken.csv is unbalanced")).to_be_visible()
    place.complaints.clear()


def test_hostile_names_and_values_are_only_shown(studio, tmp_path: Path):
    evil = "<script>document.title='taken'</script>"
    name = "<img src=x onerror=alert(1)>\"'/.?&#"
    values = [
        evil,
        "' onmouseover='alert(1)",
        "</title></svg>",
        "\u202eRTL",
        "🐟" * 40,
        "x" * 10_000,
        'a;b,c\n"d"',
        "",
    ]
    frame = pl.DataFrame({name: values * 4, "age": list(range(32)), "ill": ["a", "b"] * 16})
    frame.write_parquet(tmp_path / "odd.parquet")
    key = '"' + name.replace('"', '\\"') + '"'
    (tmp_path / "policy.toml").write_text(
        f'[columns.{key}]\nrole = "quasi"\n[columns.age]\nrole = "quasi"\n[columns.ill]\nrole = "sensitive"\n'
        "[privacy]\nk = 2\n"
    )
    visit = studio("odd.parquet", "-p", "policy.toml")
    page = visit.go("hierarchies?column=0")
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    page.get_by_role("button", name="Edit as a tree").click()
    expect(page.get_by_role("treeitem")).to_have_count(len(values) + 1)
    node(page, evil).click()
    node(page, "RTL").click(modifiers=["ControlOrMeta"])
    page.get_by_label("Name", exact=True).fill(f"{evil}\"'")
    page.get_by_role("button", name="New group").click()
    expect(page.locator("#as-file")).to_contain_text(f"{evil}\\\"'")
    assert page.title().startswith("Hierarchies")
    tree = hierarchy_of(page, name)["tree"]
    assert set(tree[f"{evil}\"'"]) == {evil, "\u202eRTL"}
    plan = policy_of(page).plans(frame.columns)[0]
    sent = page.request.get(f"{visit.address}/hierarchies/export?column=0").body().decode()
    assert to_csv(build(frame[name], plan.hierarchy)) == sent


def test_a_tree_with_ten_thousand_values_can_be_searched_and_edited(studio, tmp_path: Path):
    names = [f"town {at:05}" for at in range(10_000)]
    pl.DataFrame({"town": names * 2, "ill": ["a", "b"] * 10_000}).write_csv(tmp_path / "many.csv")
    (tmp_path / "policy.toml").write_text(
        '[columns.town]\nrole = "quasi"\nhierarchy = "none"\n[columns.ill]\nrole = "sensitive"\n[privacy]\nk = 2\n'
    )
    visit = studio("many.csv", "-p", "policy.toml")
    page = visit.go("hierarchies?column=0")
    page.get_by_role("button", name="Edit as a tree").click()
    expect(page.get_by_role("button", name="New group")).to_be_visible()
    expect(page.get_by_role("button", name="Show more of the 9,940 that follow")).to_be_visible()
    page.get_by_label("Search the tree").fill("town 012")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.get_by_text("100 nodes match")).to_be_visible()
    page.get_by_label("all 100 matches").check()
    page.get_by_label("Name", exact=True).fill("Twelve")
    page.get_by_role("button", name="New group").click()
    expect(page.locator("#as-file")).to_contain_text("Twelve")
    page.get_by_role("button", name="Show the whole tree").click()
    expect(node(page, "Twelve")).to_contain_text("200 rows")
