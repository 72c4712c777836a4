"""Whole journeys through Studio, as a person makes them."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="Studio is not installed: pip install 'shoal[studio]'")

from tests.studio import REPOSITORY, Visit, studio  # noqa: F401

LONG = 120_000
"""Milliseconds that a job may take on a busy machine."""


def shoal(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command line."""
    import os

    command = [sys.executable, "-m", "shoal.cli", *map(str, arguments)]
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
    page.get_by_label("Policy", exact=True).fill(str(tmp_path / "policy.toml"))
    page.get_by_label("Original", exact=True).fill(str(tmp_path / "people.csv"))
    page.get_by_role("button", name="Audit", exact=True).click()
    expect(page.get_by_role("heading", name="Violates its policy")).to_be_visible(timeout=LONG)
    row = page.get_by_role("row", name="5-anonymity")
    expect(row).to_contain_text("violated")
    page.get_by_label("Release", exact=True).fill(str(tmp_path / "good.csv"))
    page.get_by_role("button", name="Audit", exact=True).click()
    expect(page.get_by_role("heading", name="Violates its policy")).to_have_count(0, timeout=LONG)
    expect(page.get_by_role("row", name="5-anonymity")).to_contain_text("holds", timeout=LONG)
    command = shoal(
        "audit", "good.csv", "-p", "policy.toml", "--original", "people.csv", "--json", cwd=tmp_path
    )
    found = {one["model"]: one["holds"] for one in json.loads(command.stdout)["verdicts"]}
    for model, holds in found.items():
        shown = page.locator("tr").filter(has=page.get_by_role("rowheader", name=model, exact=True)).first
        expect(shown).to_contain_text("holds" if holds else "violated")


def test_a_network(studio: Callable[..., Visit], tmp_path: Path) -> None:  # noqa: F811
    from playwright.sync_api import expect

    graph = pytest.importorskip("networkx", reason="networkx is not installed: pip install 'shoal[dev]'")
    made = graph.karate_club_graph()
    for node in made:
        made.nodes[node].clear()
        made.nodes[node].update(age=20 + node % 9, town="Aa Bb Cc".split()[node % 3])
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
        "network", "audit", "out/public", "--graph", "club.graphml", "-p", "out/private/policy.toml", cwd=tmp_path
    )
    assert audit.returncode == 0, audit.stdout + audit.stderr


def classes_of(text: str, columns: list[str]) -> list[tuple[tuple[str, ...], int]]:
    from collections import Counter

    rows = list(csv.DictReader(io.StringIO(text)))
    return sorted(Counter(tuple(row[name] for name in columns) for row in rows).items())
