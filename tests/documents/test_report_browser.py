"""Reports as a browser draws them: they fit phones and screens, can be read in light and dark, and fetch nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.network.network_report import report_html
from tests.documents.test_report import people
from tests.documents.test_report_face import ASKED, many
from tests.harness.studio import opened_browser
from tests.network.test_network import ROLES as NETWORK
from tests.network.test_network import people as network_of

CONTRAST = r"""() => {
  const parsed = c => { const m = c.match(/[\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
  const linear = v => v / 255 <= .04045 ? v / 255 / 12.92 : ((v / 255 + .055) / 1.055) ** 2.4;
  const light = c => .2126 * linear(c[0]) + .7152 * linear(c[1]) + .0722 * linear(c[2]);
  const paper = e => parsed(getComputedStyle(e).backgroundColor);
  const poor = [];
  for (const e of document.querySelectorAll('body *')) {
    if (e.closest('svg, .unseen, .skip') || !e.checkVisibility()) continue;
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
    let under = e;
    while (under.parentElement && paper(under)[3] === 0) under = under.parentElement;
    const [a, b] = [light(parsed(getComputedStyle(e).color)), light(paper(under))].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    if (ratio < 4.5) poor.push([e.tagName, e.className, e.textContent.trim().slice(0, 30), ratio]);
  }
  return poor;
}"""
"""Texts with less contrast to what is behind them than WCAG AA asks for."""
OVERLAPS = """() => {
  const texts = [...document.querySelectorAll('#frontier svg text')];
  const boxes = texts.map(t => [t.textContent, t.getBoundingClientRect()]);
  const meet = (a, b) => a.left + 1 < b.right && a.top + 4 < b.bottom;
  const found = [];
  for (const [i, [one, a]] of boxes.entries())
    for (const [other, b] of boxes.slice(i + 1))
      if (meet(a, b) && meet(b, a)) found.push([one, other]);
  return found;
}"""
"""Pairs of texts in the drawing of the frontier that lie over each other; lines may touch."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with opened_browser() as started:
        yield started


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A good, a private, a bad and a network's report, with long names and a crowded frontier."""
    folder = tmp_path_factory.mktemp("pages")
    long = people().rename({"city": "c" * 90}).with_columns(disease=people()["disease"] + "_" * 80)
    asked = {**ASKED, "quasi": ["age", "c" * 90]}
    made = shoal.anonymize(long, **asked)
    private = shoal.report(made, original=long, edition="private", comparison=many(18, 0.004), **asked)
    good = shoal.report(made, original=long, comparison=many(5, 0.05), owner="W" * 200, **asked)
    bad = shoal.report(long.drop("name"), original=long, **asked)
    network = shoal.anonymize_network(*network_of(40, 2), **NETWORK, k=3)
    found = {"good": good.html, "private": private.html, "bad": bad.html, "network": report_html(network)}
    for name, html in found.items():
        (folder / f"{name}.html").write_text(html, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in found}


@pytest.mark.parametrize("name", ["good", "private", "bad", "network"])
@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_fits_can_be_read_and_asks_for_nothing(browser, pages, name, width, scheme):
    tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    asked, said = [], []
    tab.on("request", lambda request: asked.append(request.url))
    tab.on("console", lambda message: said.append(message.text))
    tab.goto(pages[name].as_uri())
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    tab.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.evaluate(CONTRAST) == []
    assert asked == [pages[name].as_uri()]
    assert said == []
    tab.close()


@pytest.mark.parametrize("name", ["private"])
def test_no_words_of_the_frontier_lie_over_others(browser, pages, name):
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.goto(pages[name].as_uri())
    assert tab.locator("#frontier svg text").count() > 10
    assert tab.evaluate(OVERLAPS) == []
    tab.close()


def test_a_page_begins_for_the_keyboard_with_a_way_past_its_head(browser, pages):
    tab = browser.new_page()
    tab.goto(pages["good"].as_uri())
    tab.keyboard.press("Tab")
    assert tab.locator(":focus").inner_text() == "To the report"
    # A table that scrolls can be scrolled without a mouse, and what is folded can be opened.
    tab.goto(pages["private"].as_uri())
    tab.locator("#examples .scroll").focus()
    assert tab.locator(":focus").get_attribute("aria-label") == "A few rows before and after"
    fold = tab.locator("#frontier details").last
    fold.locator("summary").focus()
    tab.keyboard.press("Enter")
    assert fold.get_attribute("open") is not None
    tab.close()


def test_print_shows_what_is_folded_and_no_dark_colours(browser, pages):
    tab = browser.new_page(color_scheme="dark")
    tab.emulate_media(media="print")
    tab.goto(pages["private"].as_uri())
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert tab.locator("#frontier details table").last.is_visible()
    assert not tab.locator("nav").is_visible()
    tab.close()


def test_the_checks_of_this_file_can_fail(browser):
    tab = browser.new_page()
    tab.set_content(
        '<body style="background: #fff"><p style="color: #888">pale</p><p style="color: #000">dark</p>'
    )
    assert [found[2] for found in tab.evaluate(CONTRAST)] == ["pale"]
    tab.set_content(
        '<div id="frontier"><svg><text y="20">one</text><text y="22">two</text><text y="90">far</text></svg>'
    )
    assert tab.evaluate(OVERLAPS) == [["one", "two"]]
    tab.close()
