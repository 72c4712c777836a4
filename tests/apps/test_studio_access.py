# ruff: noqa: E501  (scripts are easier to read unbroken)
"""Everybody can use Studio: names for every control, an order of headings, no wider than a phone, enough contrast."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="Studio is not installed: pip install 'shoal[studio]'")

from playwright.sync_api import expect

from shoal.apps.studio.screens import SCREENS
from tests.harness.studio import Visit, studio  # noqa: F401

# What a screen reader says of a control is its label, its own text, or the text of an attribute.
UNNAMED = """() => [...document.querySelectorAll('input:not([type=hidden]), select, textarea, button, a[href], summary, [role=slider], [tabindex="0"]')]
  .filter((one) => one.offsetParent !== null || one.getClientRects().length)
  .filter((one) => {
    const labels = [...(one.labels ?? [])].map((label) => label.textContent).join(' ');
    const by = (one.getAttribute('aria-labelledby') ?? '').split(' ').map((id) => document.getElementById(id)?.textContent ?? '').join(' ');
    return !(labels + by + (one.getAttribute('aria-label') ?? '') + (one.title ?? '') + one.textContent).trim();
  })
  .map((one) => one.outerHTML.slice(0, 160))"""
TWICE = """() => {
  const ids = [...document.querySelectorAll('[id]')].map((one) => one.id);
  return ids.filter((id, at) => ids.indexOf(id) !== at);
}"""
HEADINGS = """() => [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')]
  .filter((one) => one.getClientRects().length).map((one) => Number(one.tagName[1]))"""
PICTURES = """() => [...document.querySelectorAll('img:not([alt]), svg:not([aria-hidden]):not([role]):not([aria-label])')]
  .filter((one) => !one.closest('[aria-hidden=true], [role=img]')).map((one) => one.outerHTML.slice(0, 120))"""
WIDTH = "() => document.documentElement.scrollWidth"
# Text and what is behind it, as the browser draws them.
COLOURS = """() => {
  const found = [];
  const solid = (colour) => !/rgba\\(.*, 0\\)|transparent/.test(colour);
  for (const one of document.querySelectorAll('main *, header *, nav *, aside *')) {
    const own = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !one.getClientRects().length || one.closest('svg, option, [disabled], .unseen, [aria-hidden=true]')) continue;
    let under = one;
    while (under && !solid(getComputedStyle(under).backgroundColor)) under = under.parentElement;
    const ink = getComputedStyle(one);
    found.push([ink.color, under ? getComputedStyle(under).backgroundColor : 'rgb(255, 255, 255)', parseFloat(ink.fontSize), Number(ink.fontWeight), one.textContent.trim().slice(0, 40)]);
  }
  return found;
}"""


def table_in(folder: Path) -> Path:
    from shoal.apps.samples import write_sample

    return write_sample("patients", 300, folder / "patients.csv")[0]


def channel(value: float) -> float:
    return value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4


def light(colour: str) -> float:
    red, green, blue = (
        channel(float(part) / 255) for part in colour.split("(")[1].rstrip(")").split(",")[:3]
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def ratio(ink: str, under: str) -> float:
    one, two = sorted((light(ink), light(under)), reverse=True)
    return (one + 0.05) / (two + 0.05)


def checked(visit: Visit, key: str) -> list[str]:
    page = visit.page
    wrong: list[str] = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for ink, under, size, weight, text in page.evaluate(COLOURS):
            large = size >= 24 or (size >= 18.66 and weight >= 700)
            if not ink.startswith("rgb(") or not under.startswith("rgb("):
                continue
            if ratio(ink, under) < (3.0 if large else 4.5) - 0.01:
                wrong.append(f"{key}, {scheme}: {text!r} has a contrast of {ratio(ink, under):.2f}")
    wrong += [f"{key}: without a name: {one}" for one in page.evaluate(UNNAMED)]
    wrong += [f"{key}: id twice: {one}" for one in page.evaluate(TWICE)]
    wrong += [f"{key}: without a description: {one}" for one in page.evaluate(PICTURES)]
    levels: list[int] = page.evaluate(HEADINGS)
    wrong += [f"{key}: {levels.count(1)} headings of level 1"] if levels.count(1) != 1 else []
    wrong += [f"{key}: level {b} follows {a}" for a, b in itertools.pairwise(levels) if b > a + 1]
    return wrong


def test_every_screen_can_be_used_by_everybody(studio: Callable[..., Visit], tmp_path: Path) -> None:  # noqa: F811
    visit = studio(table_in(tmp_path), "-p", tmp_path / "patients.toml", reduced_motion="reduce")
    wrong: list[str] = []
    for key in SCREENS:
        visit.go(key)
        wrong += checked(visit, key)
    assert not wrong, "\n".join(wrong)


def test_every_screen_fits_a_phone(studio: Callable[..., Visit], tmp_path: Path) -> None:  # noqa: F811
    visit = studio(table_in(tmp_path), "-p", tmp_path / "patients.toml")
    visit.page.set_viewport_size({"width": 400, "height": 800})
    widths: dict[str, Any] = {}
    for key in SCREENS:
        visit.go(key)
        widths[key] = visit.page.evaluate(WIDTH)
        expect(visit.page.locator("#steps [aria-current]")).to_be_in_viewport()
    assert {key: width for key, width in widths.items() if width > 400} == {}


def test_the_steps_before_the_first_release_lead_to_the_next(
    studio: Callable[..., Visit],  # noqa: F811
    tmp_path: Path,
) -> None:
    visit = studio(table_in(tmp_path))
    steps = list(SCREENS)[: list(SCREENS).index("compare") + 1]
    for key, after in itertools.pairwise(steps):
        expect(visit.go(key).locator(f"#work a[href='{after}']").last).to_have_text(re.compile("^Next: "))


def test_the_keyboard_reaches_the_work_first(studio: Callable[..., Visit], tmp_path: Path) -> None:  # noqa: F811
    visit = studio(table_in(tmp_path))
    page = visit.go("roles")
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.textContent") == "To the work"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.closest('#work') !== null")
