"""The look that pages share: its colours can be read, and its components are complete and escape what they show."""

from __future__ import annotations

import pickle
import re

import pytest

from shoal.documents.pages.look import Marked, environment, is_number_column, stylesheet

TEXT, SHAPE = 4.5, 3.0
"""WCAG 2.2 AA: the least contrast of text, and of what one must see to use a page (borders of fields, bars, focus)."""
INKS = ("ink", "ink-soft", "accent", "accent-strong")
SHAPES = ("line-strong", "before", "after", "accent")
PAIRS = {
    **{(ink, under): TEXT for ink in INKS for under in ("paper", "surface", "sunken")},
    **{(state, f"{state}-soft"): TEXT for state in ("good", "warn", "bad", "accent")},
    **{(state, under): TEXT for state in ("good", "warn", "bad") for under in ("paper", "surface")},
    **{("on-state", state): TEXT for state in ("good", "warn", "bad", "ink-soft")},
    **{("on-accent", accent): TEXT for accent in ("accent", "accent-strong")},
    **{("ink", f"{state}-soft"): TEXT for state in ("good", "warn", "bad", "accent")},
    **{(shape, under): SHAPE for shape in SHAPES for under in ("paper", "surface")},
    **{(f"series-{at}", "paper"): SHAPE for at in range(1, 7)},
    **{("surface", f"series-{at}"): TEXT for at in range(1, 7)},  # numbers in the super-nodes of a network
}  # fmt: skip


def blocks() -> dict[str, dict[str, str]]:
    """The tokens of each medium: those of light, with what dark and print say instead."""
    text = re.sub(r"/\*.*?\*/", "", stylesheet(), flags=re.DOTALL)
    found = re.findall(r"(@media[^{]*\{\s*)?:root\s*\{([^}]*)\}", text)
    told = {}
    for media, body in found:
        name = "dark" if "dark" in media else "print" if "print" in media else "phone" if media else "light"
        told[name] = dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{6})\b", body))
    return {name: {**told["light"], **told[name]} for name in ("light", "dark", "print")}


def luminance(colour: str) -> float:
    """Relative luminance as WCAG defines it."""
    shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_that_of_the_standard():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("medium", ["light", "dark", "print"])
def test_every_pair_of_colours_can_be_read(medium):
    tokens = blocks()[medium]
    poor = {
        pair: round(contrast(tokens[pair[0]], tokens[pair[1]]), 2)
        for pair, least in PAIRS.items()
        if contrast(tokens[pair[0]], tokens[pair[1]]) < least
    }
    assert poor == {}


def test_dark_says_something_for_every_colour():
    light = re.search(r":root\s*\{([^}]*)\}", stylesheet()).group(1)
    dark = re.search(r"prefers-color-scheme: dark\) \{\s*:root\s*\{([^}]*)\}", stylesheet()).group(1)
    colours = set(re.findall(r"--([\w-]+):\s*#", light))
    assert colours == set(re.findall(r"--([\w-]+):\s*#", dark))
    assert {name for pair in PAIRS for name in pair} <= colours


def test_the_stylesheet_uses_tokens_and_fetches_nothing():
    text = stylesheet()
    assert "url(" not in text
    assert "@import" not in text
    rules = re.sub(r":root\s*\{[^}]*\}", "", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL))
    assert re.findall(r"#[0-9a-fA-F]{3,8}\b", rules) == []
    used, told = set(re.findall(r"var\(--([\w-]+)\)", text)), set(re.findall(r"--([\w-]+):", text))
    assert used <= told


HOSTILE = "<script>alert(1)</script>\"'"


def shown(source: str, **values: object) -> str:
    head = '{% import "look/components.html" as look %}'
    return environment("shoal.documents.pages").from_string(head + source).render(x=HOSTILE, **values)


@pytest.mark.parametrize(
    "source",
    [
        "{{ look.badge(x, 'good') }}",
        "{% call look.verdict('bad', x, x) %}{{ x }}{% endcall %}",
        "{{ look.tile(x, x, x, x, 'good', x) }}",
        "{{ look.notice('bad', x, x, [x]) }}",
        "{{ look.table(x, [x, x], [[x, x]], 'scroll') }}",
        "{% call look.fold(x) %}{{ x }}{% endcall %}",
        "{{ look.chart(x, '<svg></svg>', x) }}",
        "{{ look.term(x, 'k', x) }}",
        "{{ look.glossary([('k', x, x)]) }}",
        "{{ look.facts([(x, x)]) }}",
        "{{ look.progress(x, 0.5) }}",
        "{{ look.empty(x, x) }}",
    ],
)  # fmt: skip
def test_components_escape_what_they_show(source):
    page = shown(source)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "style=" not in page
    assert "onclick" not in page


def test_a_state_is_said_in_words_and_signs_not_by_colour_alone():
    page = shown("{{ look.badge('holds', 'good') }}{% call look.verdict('bad', 'Violates') %}{% endcall %}")
    assert page.count("<svg") == 2
    assert "holds" in page
    assert "Violates" in page


def test_a_marked_cell_is_a_badge_and_numbers_are_aligned():
    rows = [("k", Marked("holds", "good"), "5"), ("l", Marked("violated", "bad"), "1.5 %")]
    page = shown("{{ look.table('t', ['a', 'b', 'c'], rows) }}", rows=rows)
    assert page.count('class="badge good"') == page.count('class="badge bad"') == 1
    assert page.count('class="number"') == 3
    assert is_number_column(rows, 2)
    assert not is_number_column(rows, 1)


def test_what_is_not_filled_in_is_a_line_to_write_on():
    page = shown("{{ look.facts([('Owner', ''), ('Date', '2026-01-02')]) }}")
    assert page.count('class="blank"') == 1
    assert "2026-01-02" in page


def test_the_look_is_part_of_the_package():
    from importlib.resources import files

    names = {entry.name for entry in files("shoal.documents.pages").joinpath("templates").iterdir()}
    assert {"tokens.css", "look.css", "components.html", "parts.html"} <= names


def test_marked_cells_survive_the_way_from_another_process():
    again = pickle.loads(pickle.dumps(Marked("holds", "good"), protocol=5))
    assert (again, again.state) == ("holds", "good")
