"""What the pages of the experiments claim follows from their own tables."""

from __future__ import annotations

import re
import shutil

import pytest

from experiments.claims import HEAD, JUDGING, PAPERS, claims_of, computed, lines_of, with_words
from experiments.claims.hybrid import in_words
from experiments.claims.pages import FOLDER, Page, Pages, counted, ends, numbers, verdict

README = (FOLDER / "README.md").read_text()


def test_tables_are_read_as_they_stand():
    page = Page(
        "# a\n\n## Section\n\nWords:\n\n| k | LM, s |\n| ---: | ---: |\n| 5 | 0.0100 ± 0.0020 |\n| 10 | 1,200 |\n\n"
        "### Below\n\n| k | x |\n| --- | --- |\n| 1 | 2.9% to 4.2% |\n"
    )
    first, second = page.tables
    assert (first.section, first.caption, first.head) == ("Section", "Words:", ["k", "LM, s"])
    assert first.numbers("LM, s") == [0.01, 1200]
    assert ends(first.rows[0][1]) == pytest.approx((0.008, 0.012))
    assert ends(first.rows[1][1]) == (1200, 1200)
    assert (second.section, second.title, second.caption) == ("Section", "Below", "")
    assert numbers(second.row("1")[0]) == [2.9, 4.2]
    assert page.one("Below").where(k="1") == [{"k": "1", "x": "2.9% to 4.2%"}]
    assert [numbers(text) for text in ("1.369e-197 (3e-05 to 1)", "k = 5: -0.5")] == [
        [1.369e-197, 3e-5, 1],
        [5, -0.5],
    ]


def test_verdicts_are_counts():
    assert counted([True, False, True]) == "2 of 3"
    assert verdict([True] * 3) == "confirmed: 3 of 3"
    assert verdict([True, True, False]) == "mostly: 2 of 3"
    assert verdict([True, False, False]) == "reproduced in part: 1 of 3"
    assert verdict([False, False]) == "not reproduced on other data: 0 of 2"


@pytest.mark.parametrize("heading", PAPERS)
def test_every_finding_has_a_function_and_every_function_a_finding(heading):
    said = [
        line.strip("| ").split(" | ")[0]
        for place, finding, line in lines_of(README)
        if finding and place == heading
    ]
    assert said == list(claims_of(heading))


def test_the_results_are_those_of_the_tables():
    wanted = computed(README, Pages())
    for said, line in zip(README.splitlines(), wanted.splitlines(), strict=True):
        assert said == line, "run python -m experiments.claims"


def test_the_sentences_of_hybrid_are_those_of_its_tables():
    pages = Pages()
    assert with_words(pages["hybrid"].text, in_words(pages)) == pages["hybrid"].text, (
        "run python -m experiments.claims"
    )


def test_only_computed_sentences_judge():
    headings = set()
    for heading, finding, line in lines_of(README):
        headings |= {heading} if line == HEAD else set()
        assert finding or not JUDGING.search(line), line
    assert headings == set(PAPERS)


@pytest.mark.parametrize(
    ("page", "heading", "finding", "head", "cell"),
    [
        ("hybrid", "Hybrid k-anonymity", 1, "statistical", "0.0001"),
        ("hybrid", "Hybrid k-anonymity", 2, "statistical: change over p", "99%"),
        ("hybrid", "Hybrid k-anonymity", 3, "right", "0.5%"),
        ("p_sensitive", "p-sensitive k-anonymity", 2, "classes enhanced", "1"),
        ("presence", "Presence", 1, "k = 32", "0.10%"),
        ("non_homogeneous", "Non-homogeneous generalization", 0, "NH", "0.9"),
        ("k_type", "k-type anonymity", 2, "k = 20", "0.9"),
    ],
)
def test_a_table_that_changes_changes_what_is_said(tmp_path, page, heading, finding, head, cell):
    for file in FOLDER.glob("*.md"):
        shutil.copy(file, tmp_path)
    claim = list(claims_of(heading).values())[finding]
    before = claim(Pages(tmp_path))
    place = None
    lines = []
    for line in (tmp_path / f"{page}.md").read_text().splitlines():
        cells = line.strip().strip("|").split("|") if line.startswith("|") else []
        names = [name.strip() for name in cells]
        if not cells:
            place = None
        elif head in names:
            place = names.index(head)
        elif place is not None and not re.match(r"\|[ :-]+\|", line):
            cells[place] = f" {cell} "
            line = "|" + "|".join(cells) + "|"
        lines.append(line)
    (tmp_path / f"{page}.md").write_text("\n".join(lines) + "\n")
    assert claim(Pages(tmp_path)) != before


def test_the_script_about_rings_still_runs():
    """Scripts run for minutes, so tests run their parts on few rows: a method that changes may leave them behind."""
    from experiments import non_homogeneous as script

    table = script.census(2_000, 3, secret=True)
    losses = {name: lost for name, (lost, _) in script.of_all(script.census(2_000, 3), 5).items()}
    assert set(losses) == set(script.METHODS)
    assert losses["NH"] <= losses["HP"]
    assert losses["HS"] <= losses["HR"]
    assert 0 < script.anatomy(table, 3) < 1
    lines = script.attacks()
    assert any(line.startswith("| one rotation per ring |") for line in lines)


def test_the_page_of_attacks_shows_the_table_that_was_computed():
    """``python -m experiments.attack_table`` writes both."""
    table = (FOLDER / "attack_table.md").read_text(encoding="utf-8").partition("\n\n")[2]
    page = (FOLDER.parent / "docs" / "attacks" / "index.md").read_text(encoding="utf-8")
    assert table in page
    assert table.count("\n") > 30
