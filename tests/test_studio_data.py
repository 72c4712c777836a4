"""The screen Data: opening a table, looking at its rows, reading it otherwise."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect

from shoal.samples import write_sample


def test_a_table_opens_with_the_link(studio, tmp_path: Path):
    write_sample("patients", 200, tmp_path / "patients.csv")
    visit = studio("patients.csv")
    page = visit.go("data")
    expect(page.get_by_role("heading", name="Data", exact=True)).to_be_visible()
