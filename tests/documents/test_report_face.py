"""The face of a report: its verdict, the three threats, the sign-off, rows before and after, the glossary, and PDF."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.apps.cli import main
from shoal.documents.pages import pdf as printing
from shoal.documents.pages.scatter import HEIGHT, RADIUS, TOP, WIDTH, Axis, names_of
from shoal.documents.pages.svg import Bars, bar_chart, triangle
from shoal.documents.report.terms import TERMS, Explainer, glossary, key_of
from shoal.errors import OutputError
from shoal.judging.attacks import ATTACKS
from shoal.judging.models import MODELS
from shoal.judging.models.threats import QUESTIONS
from shoal.pipeline.comparison import Comparison, Outcome, Trial
from shoal.pipeline.comparison.frontier_plot import frontier_drawing, frontier_svg
from tests.documents.test_report import ROLES, Page, people

ASKED = {**ROLES, "k": 5, "suppression": 0.1}


@pytest.fixture(scope="module")
def made() -> shoal.Result:
    return shoal.anonymize(people(), **ASKED)


def classes_of(html: str, start: str) -> str:
    """The classes of the first element whose classes begin so."""
    found = re.search(rf'class="({start}[^"]*)"', html)
    assert found is not None
    return found.group(1)


def tile(html: str, label: str) -> str:
    """The text of a tile of the verdict."""
    found = re.search(rf'<p class="tile-label">{label}</p>(.*?)</div>', html, flags=re.S)
    assert found is not None
    return " ".join(re.sub(r"<[^>]+>", " ", found.group(1)).split())


# --- the verdict ------------------------------------------------------------------------------------------


def test_a_good_release_is_green_and_says_so():
    rows = pl.DataFrame({"city": ["x"] * 4 + ["y"] * 4, "ill": list("abcd") * 2})
    asked = {"quasi": ["city"], "sensitive": ["ill"], "k": 4, "l": {"distinct": 4}}
    html = shoal.report(shoal.anonymize(rows, **asked), original=rows, **asked).html
    assert classes_of(html, "verdict ") == "verdict good"
    assert classes_of(html, "topline") == "topline public"
    assert ">Satisfies its policy</h2>" in html
    # Two classes of four: at most 1/4, on average 2 classes over 8 rows.
    assert "25.0%" in tile(html, "Risk of re-identification")
    assert tile(html, "Information lost").startswith("0.0%")
    assert tile(html, "Rows published") == "8 none was suppressed"
    private = shoal.report(shoal.anonymize(rows, **asked), original=rows, edition="private", **asked).html
    assert tile(private, "Rows published").startswith("8 of 8")
    assert "nobody is exposed" in tile(private, "Attacks")


def test_the_verdict_comes_before_everything_else(made):
    html = shoal.report(made, original=people(), **ASKED).html
    places = [
        html.index(f'id="{key}"')
        for key in ("re-identification", "attribute-disclosure", "membership", "asked", "glossary")
    ]
    assert html.index('class="verdict ') < html.index('aria-label="Sign-off"') < places[0]
    assert places == sorted(places)


@pytest.mark.parametrize("edition", ["public", "private"])
def test_a_violated_policy_is_red_from_the_first_line_on(edition):
    html = shoal.report(people().drop("name"), original=people(), edition=edition, **ASKED).html
    body = html[html.index("<body") :]
    first = re.search(r'<div class="topline ([^"]*)">(.*?)</div>', body, flags=re.S)
    assert first is not None
    assert first.group(1) == "bad"
    assert "Violates its policy: do not publish" in first.group(2)
    assert "<title>Violates its policy." in html
    assert classes_of(html, "verdict ") == "verdict bad"
    assert "5-anonymity is violated (required 5, reached 1)" in Page(html).text


def test_a_bound_of_the_risk_before_is_not_shown_next_to_a_higher_risk_after():
    rows = pl.DataFrame({"city": ["x"] * 4 + ["y"] * 4, "ill": list("abcd") * 2})
    asked = {"quasi": ["city"], "sensitive": ["ill"], "k": 8}
    public, private = (
        tile(shoal.report(rows, original=rows, edition=edition, **asked).html, "Risk of re-identification")
        for edition in ("public", "private")
    )
    # "More than 12.5%" before and 25% after would read as if the release had made it worse.
    assert public.startswith("25.0%")
    assert private.startswith("before: 25%")


def test_an_attack_that_gets_through_is_amber_though_the_policy_holds():
    rows = pl.DataFrame({"city": ["x"] * 4 + ["y"] * 4, "ill": ["a"] * 4 + list("abcd")})
    asked = {"quasi": ["city"], "sensitive": ["ill"], "k": 4}
    made = shoal.anonymize(rows, **asked)
    # What follows from the rows is public: four of them have one city and one value.
    public = shoal.report(made, original=rows, **asked)
    assert classes_of(public.html, "verdict ") == "verdict warn"
    assert "Satisfies its policy, with remarks" in public.html
    assert re.search(r'class="answer warn" id="attribute-disclosure"', public.html)
    found = shoal.report(made, original=rows, edition="private", **asked)
    assert found.holds
    assert found.conclusion.decision == "pass with remarks"
    assert classes_of(found.html, "verdict ") == "verdict warn"
    assert (
        "Attribute disclosure exposes 4 people, and no requirement of the policy prevents it"
        in Page(found.html).text
    )
    assert re.search(r"^1 of \d got through", tile(found.html, "Attacks"))
    assert re.search(r'class="answer warn" id="attribute-disclosure"', found.html)
    assert re.search(r'class="answer good" id="re-identification"', found.html)


def test_a_seeded_release_is_not_green():
    made = shoal.anonymize(people(), **ASKED, seed=1)
    html = shoal.report(made, original=people(), **ASKED).html
    assert classes_of(html, "verdict ") == "verdict warn"


# --- re-identification, attribute disclosure, membership --------------------------------------------------


def test_every_model_and_attack_says_which_threat_it_is_about():
    assert {kind.threat for kind in ATTACKS.values()} <= {"", *QUESTIONS}
    assert {kind.threat for kind in MODELS.values()} == {
        "",
        "re-identification",
        "attribute disclosure",
        "membership",
    }
    # What bounds how general values become protects nobody; every other model does.
    assert [name for name, kind in MODELS.items() if not kind.threat] == [
        "generalization-limit",
        "hidden-values",
        "safe-harbor",
    ]


@pytest.mark.parametrize("edition", ["public", "private"])
def test_k_anonymity_is_not_said_to_guarantee_more_than_it_does(made, edition):
    """k-anonymity does not prevent predicate singling out (Cohen and Nissim 2020)."""
    text = Page(shoal.report(made, original=people(), edition=edition, **ASKED).html).text
    assert "guaranteed" not in text
    assert "only the columns that the policy names as known" in text


def test_a_threat_that_nothing_speaks_of_is_not_called_withstood():
    rows = pl.DataFrame({"city": ["x"] * 4 + ["y"] * 4, "note": list("abcdefgh")})
    asked = {"quasi": ["city"], "plain": ["note"], "k": 4}
    html = shoal.report(shoal.anonymize(rows, **asked), original=rows, **asked).html
    assert re.search(r'class="answer warn" id="attribute-disclosure"', html)
    assert "names no sensitive column" in Page(html).text
    assert "not assessed" in html


def test_unique_rows_are_not_called_withstood():
    rows = pl.DataFrame({"city": ["x"] * 4 + ["z"], "ill": list("abcde")})
    asked = {"quasi": ["city"], "sensitive": ["ill"], "l": {"distinct": 2}}
    html = shoal.report(rows, original=rows, **asked).html
    assert re.search(r'class="answer warn" id="re-identification"', html)
    assert "some rows are unique" in html


def test_people_with_one_candidate_are_not_called_safe():
    """Every person matches two rows, but of complete assignments each leaves one row to the person of age 3."""
    ages = pl.DataFrame({"age": [1, 2, 3, 4, 5, 6], "s": list("uvwxyz")})
    rows = pl.DataFrame(
        {"age": ["[1, 3]", "[1, 3]", "[3, 4]", "[4, 5]", "[5, 6]", "[5, 6]"], "s": list("uvwxyz")}
    )
    asked = {"quasi": ["age"], "sensitive": ["s"], "k": 2, "notion": "k-k"}
    html = shoal.report(rows, original=ages, edition="private", **asked).html
    assert re.search(r'class="answer warn" id="re-identification"', html)
    # Two of six people have one candidate.
    assert "leaves one candidate for 33.3% of people" in Page(html).text


# --- sign-off ---------------------------------------------------------------------------------------------


def test_what_is_given_is_shown_and_what_is_not_is_a_line_to_write_on(made):
    blank = shoal.report(made, original=people(), **ASKED).html
    assert blank.count('class="blank"') == 6
    signed = {"owner": "Ward <7>", "purpose": "research", "recipient": "a university", "date": "2026-11-16"}
    html = shoal.report(made, original=people(), **signed, signed_by="Dr. B", **ASKED).html
    # A signature is always by hand.
    assert html.count('class="blank"') == 1
    text = Page(html).text
    for value in (*signed.values(), "Dr. B"):
        assert value in text


# --- rows before and after --------------------------------------------------------------------------------


def example_rows(html: str) -> list[list[str]]:
    table = re.search(r"<caption>A few rows before and after</caption>(.*?)</table>", html, flags=re.S)
    assert table is not None
    rows = re.findall(r'<tr role="row">(.*?)</tr>', table.group(1), flags=re.S)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, flags=re.S) for row in rows]


def test_rows_before_and_after_are_of_the_same_person_and_private(made):
    public, private = (
        shoal.report(made, original=people(), edition=edition, **ASKED).html
        for edition in ("public", "private")
    )
    assert "A few rows before and after" not in public
    head, *rows = example_rows(private)
    assert head == ["", "age", "city", "disease"]
    assert len(rows) == 12
    for before, after in zip(rows[::2], rows[1::2], strict=True):
        number = int(before[0].removeprefix("row ").removesuffix(" before"))
        assert before[1:] == [str(value) for value in people().drop("name").row(number)]
        assert after[0] == "after"
        # The disease is published as it is, and the cell for the age covers the age.
        assert after[3] == before[3]
        ends = [int(end) for end in re.findall(r"\d+", after[1])]
        assert not ends or ends[0] <= int(before[1]) <= ends[-1]


def test_rows_of_another_tool_stand_below_rows_that_they_cover(made):
    html = shoal.report(made.table, original=people(), edition="private", **ASKED).html
    _, *rows = example_rows(html)
    covered = [int(row[0].split()[-1].rstrip(")")) for row in rows if row[0].startswith("after")]
    assert covered
    assert all(count >= 5 for count in covered)


def test_rows_of_many_columns_say_how_many_are_not_shown():
    wide = pl.DataFrame({f"c{at:02d}": [at % 3] * 6 for at in range(20)})
    asked = {"quasi": wide.columns[:2], "plain": wide.columns[2:], "k": 3}
    html = shoal.report(shoal.anonymize(wide, **asked), original=wide, edition="private", **asked).html
    assert "The first 12 of 20 columns are shown." in Page(html).text
    assert len(example_rows(html)[0]) == 13


def test_shuffled_rows_are_nobody_s_so_none_are_shown():
    asked = {**ROLES, "method": "slice-columns", "l": {"distinct": 2}}
    made = shoal.anonymize(people(), **asked)
    html = shoal.report(made, original=people(), edition="private", **asked).html
    assert "A few rows before and after" not in html


# --- words ------------------------------------------------------------------------------------------------


def test_terms_are_explained_once_per_section_and_in_the_glossary(made):
    page = Page(shoal.report(made, original=people(), **ASKED).html)
    ids = {attrs["id"] for _, attrs in page.tags if "id" in attrs}
    assert {f"term-{key_of(term)}" for term in TERMS} <= ids
    links = [attrs for attrs in page.named("a") if attrs.get("class") == "term"]
    assert len({attrs["href"] for attrs in links}) >= 8
    meaning = {f"#term-{key}": told for key, _, told in glossary()}
    for attrs in links:
        assert attrs["title"] == meaning[str(attrs["href"])]


def test_an_explained_text_says_the_same_and_escapes_it():
    explainer = Explainer()
    text = 'An adversary <b> knows the "quasi-identifiers" of a class; the adversaries link identifiers.'
    shown = str(explainer.explain(text))
    page = Page(f"<p>{shown}</p>")
    assert page.text.strip() == text
    found = [str(attrs["href"]) for attrs in page.named("a")]
    assert found == [
        "#term-adversary", "#term-quasi-identifier", "#term-equivalence-class", "#term-re-identification",
        "#term-identifier",
    ]  # fmt: skip
    assert "<a" not in str(explainer.explain("Another adversary."))
    explainer.start()
    assert "<a" in str(explainer.explain("Another adversary."))


def test_every_term_is_in_the_glossary_of_the_documentation():
    pages = (Path(__file__).parents[2] / "docs" / "glossary.md").read_text(encoding="utf-8")
    explained = re.findall(r"^(\S.*)\n:   ", pages, flags=re.MULTILINE)
    assert set(TERMS) <= set(explained)


def test_every_term_is_found_by_its_own_word():
    for term in TERMS:
        assert f'href="#term-{key_of(term)}"' in str(Explainer().explain(f"the {term} here"))


# --- the frontier -----------------------------------------------------------------------------------------


def overlap(one, other):
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


@given(
    at=st.lists(st.tuples(st.floats(70, WIDTH - 20), st.floats(TOP, HEIGHT - 60)), min_size=1, max_size=40),
    data=st.data(),
)
@settings(max_examples=60)
def test_names_cover_neither_names_nor_points(at, data):
    names = [data.draw(st.sampled_from(["", "ring", "mondrian (strict=no)", "agglomerative"])) for _ in at]
    first = [data.draw(st.booleans()) for _ in at]
    found = names_of(names, at, first)
    boxes = list(found.values())
    assert all(names[place] for place in found)
    for number, box in enumerate(boxes):
        assert not any(overlap(box, other) for other in boxes[number + 1 :])
        for x, y in at:
            assert not overlap(box, (x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS))


def many(count: int, spread: float) -> Comparison:
    """Releases of which each has a little more loss and a little less risk than the one before: all on the frontier."""

    def outcome(success: float) -> tuple[Outcome, ...]:
        return (
            Outcome(attack="linkage", adversary="x", success=success, baseline=0.01, at_risk=0, people=60),
        )

    trials = tuple(
        Trial(
            method="mondrian",
            options={"turn": at},
            k=5,
            measures={"lm": 0.2 + spread * at},
            attacks=outcome(0.5 - spread * at),
        )
        for at in range(count)
    )
    return Comparison(trials=trials, adversaries=("knows-some",), k=5, rows=60)


@pytest.mark.parametrize(("count", "spread"), [(4, 0.1), (30, 0.01), (40, 1e-6), (99, 1e-3)])
def test_every_point_of_the_frontier_is_labelled(count, spread):
    compared = many(count, spread)
    assert len(compared.frontier()) == count
    words = re.findall(r"<text[^>]*>([^<]*)</text>", frontier_drawing(compared, "key"))
    for trial in compared.trials:
        assert any(word.startswith(trial.label) for word in words)
    if count > 4:
        # Numbers stand at the points, and again before the names.
        for number in range(1, count + 1):
            assert words.count(str(number)) >= 2


def test_refused_methods_are_folded_away(made):
    trials = (*many(2, 0.1).trials, Trial(method="full-domain", k=5, status="refused", reason="no"))
    compared = Comparison(trials=trials, adversaries=("knows-some",), k=5, rows=60)
    html = shoal.report(made, original=people(), comparison=compared, edition="private", **ASKED).html
    folded = re.findall(r"<details.*?</details>", html, flags=re.S)
    place = [part for part in folded if "Methods without a release" in part]
    assert len(place) == 1
    assert html.count("Methods without a release") == 1
    assert " open" not in place[0].partition(">")[0]


def test_a_drawing_for_a_file_brings_its_colours():
    drawn = frontier_svg(many(3, 0.1))
    assert "--series-1:" in drawn
    assert "prefers-color-scheme: dark" in drawn
    assert drawn.startswith("<?xml")


@pytest.mark.parametrize(
    "drawn",
    [
        bar_chart("k", "t", "d", ["<a>", "b"], [Bars("before", [0.5, 0], ["1", "2"], filled=False)]),
        triangle("k", "t", "d", "before", ["a&b", "c"], [[1, 0], [0.5, 1]]),
        frontier_drawing(many(3, 0.1), "k"),
    ],
)  # fmt: skip
def test_drawings_use_tokens_and_no_style(drawn):
    assert "style" not in drawn
    assert not re.search(r"#[0-9a-f]{3,8}\b", drawn)
    assert re.search(r"var\(--\w", drawn)


@given(low=st.floats(1e-6, 1e6), factor=st.floats(1.0, 1e5))
def test_an_axis_writes_round_values_within_itself(low, factor):
    axis = Axis.over("x", [low, low * factor], 0, 100, str)
    ticks = axis.ticks()
    assert 2 <= len(ticks) <= 30
    assert all(-1e-6 <= axis.at(tick) <= 100 + 1e-6 for tick in ticks)
    assert 0 <= axis.at(low) <= axis.at(low * factor) <= 100
    steps = {float(f"{after - before:.6g}") for before, after in pairwise(ticks)}
    if axis.logarithmic:
        assert {f"{tick:e}"[0] for tick in ticks} <= set("125")
    else:
        assert max(steps) <= 1.001 * min(steps)


# --- PDF --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def program() -> str:
    found = printing.browser()
    if found is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    return found


@pytest.fixture
def files(tmp_path: Path, made) -> list[str]:
    people().write_csv(tmp_path / "people.csv")
    made.table.write_csv(tmp_path / "release.csv")
    (tmp_path / "policy.toml").write_text(shoal.Policy.from_keywords(**ASKED).to_toml())
    release, original, policy = (
        str(tmp_path / name) for name in ("release.csv", "people.csv", "policy.toml")
    )
    return ["report", release, "--original", original, "-p", policy]


def test_a_report_is_printed_to_pdf(program, files, tmp_path):
    target = tmp_path / "report.pdf"
    done = CliRunner().invoke(main, [*files, "--pdf", str(target), "--owner", "Ward 7"])
    assert done.exit_code == 0, done.output
    content = target.read_bytes()
    assert content.startswith(b"%PDF-")
    assert content.count(b"/Type /Page\n") + content.count(b"/Type /Page ") >= 2
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "people.csv",
        "policy.toml",
        "release.csv",
        "report.pdf",
    ]
    assert CliRunner().invoke(main, [*files, "--pdf", str(target)]).exit_code == 6


def test_without_a_browser_a_pdf_is_refused_before_the_work(files, tmp_path, monkeypatch):
    monkeypatch.setattr(printing, "browser", lambda: None)
    target = tmp_path / "report.pdf"
    done = CliRunner().invoke(main, [*files, "--pdf", str(target), "-o", str(tmp_path / "report.html")])
    assert done.exit_code == 6
    assert "needs Chromium, Chrome or Edge" in done.output
    assert not target.exists()
    assert not (tmp_path / "report.html").exists()


def test_a_browser_that_fails_is_named(tmp_path, monkeypatch):
    broken = tmp_path / "browser"
    broken.write_text("#!/bin/sh\necho no display >&2\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setattr(printing, "browser", lambda: str(broken))
    with pytest.raises(OutputError, match=r"exit code 3\): no display"):
        printing.pdf_of("<p>x</p>")


def test_a_report_goes_somewhere(files):
    done = CliRunner().invoke(main, files)
    assert done.exit_code == 2
    assert "--pdf" in done.output


@pytest.mark.parametrize("edition", ["public", "private"])
def test_few_known_columns_limit_no_risk_of_those_who_know_more(edition):
    """k over sets of columns says nothing about an adversary who knows all quasi-identifiers."""
    rows = pl.DataFrame({"a": list("xxyy") * 2, "b": list("uvuv") * 2, "n": range(8)})
    asked = {"quasi": ["a", "b"], "plain": ["n"], "k": 4, "keys": {"any": 1}}
    text = Page(shoal.report(rows, original=rows, edition=edition, **asked).html).text
    assert "4-anonymity for an adversary who knows any 1 column" in text
    assert "for nobody who knows more" in text
    assert "25.0%" not in text
    assert "at most 25" not in text
