"""Whole journeys through Studio, as a person makes them."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="Studio is not installed: pip install 'shoal[studio]'")

from tests.harness.studio import REPOSITORY, Visit, studio  # noqa: F401

LONG = 120_000
"""Milliseconds that a job may take on a busy machine."""


def shoal(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command line."""
    command = [sys.executable, "-m", "shoal", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment, check=False)


def test_audit_of_another_tools_output(studio: Callable[..., Visit], tmp_path: Path) -> None:  # noqa: F811
    from playwright.sync_api import expect

    people = [(f"{20 + at}", "0213" + str(at % 2), "flu" if at % 3 else "cold") for at in range(12)]
    write = lambda path, rows: path.write_text(  # noqa: E731
        "\n".join(",".join(row) for row in [("age", "zip", "illness"), *rows]) + "\n"
    )
    write(tmp_path / "people.csv", people)
    # Another tool made two groups of six, and one of its rows tells an age after all.
    other = [("20-25" if at < 6 else "26-31", "0213*", ill) for at, (_, _, ill) in enumerate(people)]
    write(tmp_path / "good.csv", other)
    write(tmp_path / "bad.csv", [("20", "02130", "cold"), *other[1:]])
    (tmp_path / "policy.toml").write_text(
        '[columns]\nage = { role = "quasi", hierarchy = { cuts = [[20, 26, 32]] } }\n'
        'zip = { role = "quasi", hierarchy = { mask = "right" } }\nillness = { role = "sensitive" }\n'
        "[privacy]\nk = 5\n"
    )
    visit = studio()
    page = visit.go("audit")
    page.get_by_label("Policy", exact=True).fill(str(tmp_path / "policy.toml"))
    page.get_by_label("Original", exact=True).fill(str(tmp_path / "people.csv"))
    page.locator("#file-release").set_input_files(tmp_path / "bad.csv")
    expect(page.get_by_text("Given: bad.csv.")).to_be_visible()
    expect(page.get_by_label("Policy", exact=True)).to_have_value(str(tmp_path / "policy.toml"))
    page.get_by_role("button", name="Audit", exact=True).click()
    expect(page.get_by_role("heading", name="Violates its policy")).to_be_visible(timeout=LONG)
    row = page.get_by_role("row", name="5-anonymity").first
    expect(row).to_contain_text("violated")
    page.get_by_label("Release", exact=True).fill(str(tmp_path / "good.csv"))
    page.get_by_role("button", name="Audit", exact=True).click()
    expect(page.get_by_role("heading", name="Violates its policy")).to_have_count(0, timeout=LONG)
    expect(page.get_by_role("row", name="5-anonymity").first).to_contain_text("holds", timeout=LONG)
    command = shoal(
        "audit", "good.csv", "-p", "policy.toml", "--original", "people.csv", "--json", cwd=tmp_path
    )
    found = {one["model"]: one["holds"] for one in json.loads(command.stdout)["verdicts"]}
    for model, holds in found.items():
        shown = page.locator("tr").filter(has=page.get_by_role("rowheader", name=model, exact=True)).first
        expect(shown).to_contain_text("holds" if holds else "violated")


def test_a_synthetic_table(studio: Callable[..., Visit], tmp_path: Path) -> None:  # noqa: F811
    from playwright.sync_api import expect

    from tests.inputs.generators import bootstrap, population

    both = population(600, 1)
    tables = {"train": both[:300], "control": both[300:], "synth": bootstrap(both[:300], 300, 2)}
    for name, table in tables.items():
        table.write_csv(tmp_path / f"{name}.csv")
    visit = studio()
    page = visit.go("synthetic")
    page.get_by_label("Synthetic table", exact=True).fill(str(tmp_path / "synth.csv"))
    page.get_by_label("Original", exact=True).fill(str(tmp_path / "train.csv"))
    page.get_by_role("button", name="Attack it").click()
    expect(page.get_by_role("heading", name="The risk cannot be known")).to_be_visible(timeout=LONG)
    page.locator("#file-holdout").set_input_files(tmp_path / "control.csv")
    expect(page.get_by_text("Given: control.csv.")).to_be_visible()
    page.get_by_role("button", name="Attack it").click()
    expect(page.get_by_role("heading", name="Training rows leak")).to_be_visible(timeout=LONG)
    expect(page.get_by_role("row", name="Copies: exact copies").first).to_contain_text("%")
    with page.expect_download() as downloaded:
        page.get_by_role("link", name="Download the public report").click()
    assert "Training rows leak" in downloaded.value.path().read_text(encoding="utf-8")


def test_a_network(studio: Callable[..., Visit], tmp_path: Path) -> None:  # noqa: F811
    from playwright.sync_api import expect

    graph = pytest.importorskip("networkx", reason="networkx is not installed: pip install 'shoal[dev]'")
    made = graph.karate_club_graph()
    for node in made:
        made.nodes[node].clear()
        made.nodes[node].update(age=20 + node % 9, town=("Aa", "Bb", "Cc")[node % 3])
    graph.write_graphml(made, tmp_path / "club.graphml")
    visit = studio()
    page = visit.go("network")
    page.locator("#network-file").set_input_files(tmp_path / "club.graphml")
    expect(page.get_by_text("34 people and 78 contacts")).to_be_visible()
    page.get_by_label("Weight of attributes").fill("0.25")
    page.get_by_role("button", name="Mask the network").click()
    expect(page.get_by_role("heading", name="Satisfies its policy")).to_be_visible(timeout=LONG)
    expect(page.get_by_role("heading", name="Before and after")).to_be_visible()
    expect(page.get_by_text("34 people in")).to_be_visible()
    with page.expect_download() as waited:
        page.get_by_role("button", name="Download as one zip").click()
    archive = zipfile.ZipFile(waited.value.path())
    archive.extractall(tmp_path / "out")
    public = {path.name for path in (tmp_path / "out" / "public").iterdir()}
    assert {"masked.graphml", "nodes.csv", "edges.csv", "card.md"} <= public
    (tmp_path / "out" / "public" / "card.md").unlink()
    (tmp_path / "out" / "public" / "card.json").unlink()
    audit = shoal(
        "network",
        "audit",
        "out/public",
        "--graph",
        "club.graphml",
        "-p",
        "out/private/policy.toml",
        cwd=tmp_path,
    )
    assert audit.returncode == 0, audit.stdout + audit.stderr


def classes_of(path: Path, columns: list[str]) -> Counter[tuple[str, ...]]:
    """Return the sizes of the equivalence classes, by what they show."""
    with path.open(newline="") as file:
        return Counter(tuple(row[name] for name in columns) for row in csv.DictReader(file))


def test_from_a_dropped_file_to_a_defended_release(studio: Callable[..., Visit], tmp_path: Path) -> None:  # noqa: F811
    """Roles mended, a tree edited, an adversary set, advice followed, methods compared, and everything exported."""
    from playwright.sync_api import expect

    towns = ("Kiel", "Husum", "Jena", "Gera", "Aach")
    lines = [
        f"{20 + at % 50},{towns[at % 5]},P{at},{('flu', 'cold', 'gout')[at % 3]},{at % 7}"
        for at in range(240)
    ]
    (tmp_path / "people.csv").write_text("\n".join(["age,town,code,illness,visits", *lines]) + "\n")
    visit = studio()
    page = visit.page
    # Data: drop a file.
    page.get_by_label("Choose a file").set_input_files(tmp_path / "people.csv")
    expect(page.get_by_text("240").first).to_be_visible()
    # Roles: mend two of them.
    visit.go("roles")
    for name, role in (("code", "identifier"), ("visits", "plain")):
        page.get_by_label(f"Role of {name}").select_option(role)
        expect(page.locator("#as-file")).to_contain_text(f'[columns.{name}]\nrole = "{role}"')
    page.get_by_label("Role of illness").select_option("sensitive")
    expect(page.locator("#as-file")).to_contain_text('[columns.illness]\nrole = "sensitive"')
    # Hierarchies: edit a tree: group, rename, take back.
    visit.go("hierarchies?column=1")
    page.get_by_role("button", name="Edit as a tree").click()
    for town in ("Kiel", "Husum"):
        page.get_by_role("treeitem").filter(has_text=town).last.click(modifiers=["Control"])
    page.get_by_label("Name", exact=True).fill("North")
    page.get_by_role("button", name="New group").click()
    expect(page.locator("#as-file")).to_contain_text("North")
    # Promise: an adversary, then more than the table can give, and the advice.
    visit.go("promise")
    page.get_by_role("checkbox", name="knows the quasi-identifiers of some people").check()
    expect(page.locator("#as-file")).to_contain_text("knows-some")
    page.get_by_role("checkbox", name="knows the quasi-identifiers of some people").uncheck()
    page.get_by_label("k, rows that nobody can be told apart in").fill("900")
    page.keyboard.press("Tab")
    expect(page.get_by_role("heading", name="This promise cannot be kept")).to_be_visible()
    page.get_by_role("button", name="k: 900 → 240", exact=True).click()
    expect(page.get_by_text("Nothing in this table rules the promise out")).to_be_visible()
    page.get_by_label("k, rows that nobody can be told apart in").fill("6")
    page.keyboard.press("Tab")
    expect(page.locator("#as-file")).to_contain_text("k = 6")
    # Compare, stop one trial, choose a point.
    visit.go("compare")
    page.get_by_text("What to try: methods, several k, time").click()
    for name in ("mondrian", "full-domain"):
        page.get_by_role("checkbox", name=name, exact=True).check()
    page.get_by_role("button", name="Compare these").click()
    point = page.get_by_role("link", name=re.compile("^mondrian: risk"))
    expect(point).to_be_visible(timeout=LONG)
    page.get_by_role("button", name="Choose mondrian", exact=True).click()
    # Look at rows.
    expect(page.get_by_role("heading", name="Satisfies its policy")).to_be_visible(timeout=LONG)
    expect(page.get_by_role("region", name="Rows side by side")).to_be_visible()
    # Hand everything over.
    visit.go("handover")
    page.get_by_label("Data owner").fill("City Hospital")
    page.get_by_role("button", name="Write the reports").click()
    expect(page.get_by_role("button", name="Write the reports again")).to_be_visible(timeout=LONG)
    page.get_by_label("Or write them to a folder").fill(str(tmp_path / "out"))
    page.get_by_role("button", name="Write to the folder").click()
    expect(page.get_by_text(f"Written to {tmp_path / 'out'}")).to_be_visible()
    with page.expect_download() as waited:
        page.get_by_role("button", name="Download as one zip").click()
    names = set(zipfile.ZipFile(waited.value.path()).namelist())
    written = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.*")}
    assert names == written
    assert {
        "public/release.csv",
        "public/report-public.html",
        "private/record.json",
        "private/policy.toml",
    } <= names
    assert "City Hospital" in (tmp_path / "out" / "public" / "report-public.html").read_text()
    # The command line agrees: the audit of the files, and the classes that the policy gives.
    out = tmp_path / "out"
    audit = shoal(
        "audit", "public/release.csv", "-p", "private/policy.toml", "--original", "../people.csv",
        "--record", "private/record.json", cwd=out,
    )  # fmt: skip
    assert audit.returncode == 0, audit.stdout + audit.stderr
    again = shoal("anonymize", "../people.csv", "-p", "private/policy.toml", "-o", "again.csv", cwd=out)
    assert again.returncode == 0, again.stderr
    first, second = (classes_of(out / name, ["age", "town"]) for name in ("public/release.csv", "again.csv"))
    assert first == second
    assert min(first.values()) >= 6


def test_a_policy_that_is_handed_over_names_files_that_come_with_it(tmp_path: Path) -> None:
    from shoal.apps.studio.handover.items import movable
    from shoal.apps.studio.private_folder import Folder
    from shoal.apps.studio.project import Project
    from shoal.policy import Policy

    project = Project(Folder())
    try:
        given = project.folder.inside("uploads") / "abc.csv"
        given.write_text("age\n1\n")
        (tmp_path / "ages.csv").write_text("1;low\n2;low\n")
        project.base = tmp_path
        policy = Policy.from_dict(
            {
                "columns": {"age": {"role": "quasi", "hierarchy": "ages.csv"}},
                "privacy": {"presence": [0, 0.5]},
                "method": {"name": "mpalm"},
                "population": {"file": str(given)},
            },
            tmp_path,
        )
        text, files = movable(policy.to_toml(), project)
        assert files == {"ages.csv": tmp_path / "ages.csv", "abc.csv": given}
        assert str(project.folder.path) not in text
        (tmp_path / "abc.csv").write_text("age\n1\n")
        assert Policy.from_toml(text, tmp_path).population.file == "abc.csv"  # type: ignore[union-attr]
    finally:
        project.close()


def test_visits_of_people_with_several_rows(studio: Callable[..., Visit], tmp_path: Path) -> None:  # noqa: F811
    """From the dropped table to the zip: every screen says people where people are meant."""
    from playwright.sync_api import expect

    from shoal.apps.samples import sample

    table = sample("visits", 400)
    number = table["patient_id"].str.slice(1).cast(int)
    table.with_columns((number // 2).alias("household_no")).write_csv(tmp_path / "visits.csv")
    people, rows = table["patient_id"].n_unique(), table.height
    visit = studio()
    page = visit.page
    page.get_by_label("Choose a file").set_input_files(tmp_path / "visits.csv")
    expect(page.get_by_text("400").first).to_be_visible()
    visit.go("roles")
    warning = page.get_by_text("if it says whose a row is, give it the role person")
    expect(warning).to_be_visible()
    for name, role in (("patient_id", "person"), ("household_no", "person"), ("minutes", "plain")):
        page.get_by_label(f"Role of {name}").select_option(role)
        expect(page.locator("#as-file")).to_contain_text(f'[columns.{name}]\nrole = "{role}"')
    expect(warning).to_have_count(0)
    card = page.locator("li.role-card").filter(has_text="household_no")
    card.locator("summary").click()
    card.get_by_label("Group").fill("household")
    page.keyboard.press("Tab")
    expect(page.locator("#as-file")).to_contain_text('group = "household"')
    expect(page.locator("#unique-now")).to_contain_text("which no other person has")
    visit.go("promise")
    expect(page.get_by_text("5-anonymity, counted by household")).to_be_visible()
    expect(page.get_by_text("cannot narrow it down to the rows of fewer than 5 people")).to_be_visible()
    page.get_by_label("k, different people whose rows read alike").fill("3")
    page.keyboard.press("Tab")
    expect(page.locator("#as-file")).to_contain_text("k = 3")
    visit.go("look")
    page.get_by_role("button", name="Make the release", exact=False).first.click()
    expect(page.get_by_role("heading", name="Satisfies its policy")).to_be_visible(timeout=LONG)
    expect(page.get_by_text(f"of {people:,} people in {rows:,} rows")).to_be_visible()
    expect(page.get_by_text("other people").first).to_be_visible()
    visit.go("handover")
    page.get_by_role("button", name="Write the reports").click()
    expect(page.get_by_role("button", name="Write the reports again")).to_be_visible(timeout=LONG)
    with page.expect_download() as waited:
        page.get_by_role("button", name="Download as one zip").click()
    archive = zipfile.ZipFile(waited.value.path())
    public = archive.read("public/report-public.html").decode()
    assert "Some people have several rows" not in public  # the published rows do not show it
    assert "counted by household" in public
    assert "P0000001" not in public
    archive.extractall(tmp_path / "out")
    audit = shoal(
        "audit", "public/release.csv", "-p", "private/policy.toml", "--original", "../visits.csv",
        "--record", "private/record.json", "--json", cwd=tmp_path / "out",
    )  # fmt: skip
    assert audit.returncode == 0, audit.stdout + audit.stderr
    assert json.loads(audit.stdout)["people"] == people
