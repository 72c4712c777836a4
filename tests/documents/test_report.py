"""Reports: well-formed pages that need nothing else, that escape what data throws at them, and that keep the rare."""

from __future__ import annotations

import datetime
import json
import re
from html import escape, unescape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import shoal
from shoal.apps.cli import main
from shoal.apps.samples import write_sample
from shoal.judging.measures import MEASURES
from shoal.pipeline.comparison import Comparison, Outcome, Trial
from shoal.release.record import NOT_FOR_PUBLICATION

VOID = {"meta", "br", "hr", "img", "link", "input"}
INLINE = {"a", "strong", "span"}


class Page(HTMLParser):
    """Reads a page, and notes what would be wrong with it."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.problems: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        self.problems += [f"{tag} is never closed" for tag in self.open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._line(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def _line(self, tag: str) -> None:
        if tag not in INLINE:
            self.words.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._line(tag)
        if not self.open or self.open[-1] != tag:
            self.problems.append(f"</{tag}> closes {self.open[-1:]}")
        else:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


def people(rows: int = 60) -> pl.DataFrame:
    cities = ["Rome"] * 20 + ["Oslo"] * 20 + ["Bern"] * 18 + ["Ultima Thule", "Timbuktu"]
    return pl.DataFrame(
        {
            "name": [f"person number {i}" for i in range(rows)],
            "age": [20 + (i * 7) % 40 for i in range(rows - 1)] + [103],
            "city": cities,
            "disease": [("flu", "cold", "gout")[i % 3] for i in range(rows - 1)] + ["kuru"],
        }
    )


ROLES = {"quasi": ["age", "city"], "sensitive": ["disease"], "identifier": ["name"]}


@pytest.fixture(scope="module")
def made() -> shoal.Result:
    return shoal.anonymize(people(), **ROLES, k=5, suppression=0.1)


@pytest.fixture(scope="module")
def pages(made: shoal.Result) -> dict[str, str]:
    return {
        edition: shoal.report(made, original=people(), edition=edition, **ROLES, k=5, suppression=0.1).html
        for edition in ("public", "private")
    }


# --- the page ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("edition", ["public", "private"])
def test_a_page_is_well_formed_and_says_which_edition_it_is(pages: dict[str, str], edition: str) -> None:
    page = Page(pages[edition])
    assert page.problems == []
    assert pages[edition].startswith("<!DOCTYPE html>")
    above_the_title = pages[edition].partition("<h1>")[0]
    assert f"<strong>{edition.capitalize()} edition.</strong>" in above_the_title


@pytest.mark.parametrize("edition", ["public", "private"])
def test_a_page_asks_nothing_of_the_network(pages: dict[str, str], edition: str) -> None:
    page = Page(pages[edition])
    policies = [m["content"] for m in page.named("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    assert len(policies) == 1
    assert "default-src 'none'" in str(policies[0])
    for tag, attrs in page.tags:
        assert tag not in ("script", "link", "img", "image", "iframe", "object", "embed", "base")
        assert not [name for name in attrs if name.startswith("on")]
        for name in ("href", "src", "action", "data"):
            assert str(attrs.get(name, "#")).startswith("#")
        assert not re.search(r"url\((?!#)", str(attrs.get("style", "")))
    style = "".join(re.findall(r"<style[^>]*>(.*?)</style>", pages[edition], flags=re.S))
    assert "@import" not in style
    assert "url(" not in style
    elsewhere = set(re.findall(r"(?:https?:)?//[\w.]+[^\s\"'<]*", pages[edition]))
    assert elsewhere <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


@pytest.mark.parametrize("edition", ["public", "private"])
def test_a_page_can_be_found_one_s_way_in(pages: dict[str, str], edition: str) -> None:
    page = Page(pages[edition])
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert page.named("html")[0]["lang"] == "en"
    assert len(page.named("main")) == len(page.named("header")) == len(page.named("nav")) == 1
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    for _, attrs in page.tags:
        for name in ("aria-labelledby", "aria-describedby"):
            assert attrs.get(name) is None or attrs[name] in ids
        if str(attrs.get("href", "")).startswith("#"):
            assert str(attrs["href"])[1:] in ids
    assert len(page.named("table")) == len(page.named("caption"))
    assert {attrs.get("scope") for attrs in page.named("th")} == {"col", "row"}


@pytest.mark.parametrize("edition", ["public", "private"])
def test_every_chart_is_told_in_words_and_as_a_table(pages: dict[str, str], edition: str) -> None:
    figures = re.findall(r"<figure.*?</figure>", pages[edition], flags=re.S)
    assert len(figures) >= (2 if edition == "public" else 6)
    drawings = []
    for figure in figures:
        own = re.findall(r"<svg.*?</svg>", figure, flags=re.S)
        # One drawing, or a pair of them, and its numbers.
        assert len(own) == (2 if 'class="pair"' in figure else 1)
        assert figure.count("<details") == figure.count("<table") == 1
        drawings += own
    signs = re.findall(r'<svg class="icon".*?</svg>', pages[edition], flags=re.S)
    assert pages[edition].count("<svg") == len(drawings) + len(signs)
    assert all('aria-hidden="true"' in sign for sign in signs)
    for drawing in drawings:
        root = ElementTree.fromstring(drawing)
        assert root.get("role") == "img"
        words = [root.findtext(f"{{http://www.w3.org/2000/svg}}{tag}") for tag in ("title", "desc")]
        assert all(words)


def test_the_private_edition_tells_of_rows_and_run_and_the_public_one_does_not(
    tmp_path: Path, made: shoal.Result
) -> None:
    people().write_csv(tmp_path / "people.csv")
    policy = shoal.Policy.from_keywords(**ROLES, k=5, suppression=0.1)
    result = shoal.anonymize(tmp_path / "people.csv", policy)
    digest = result.record["input"]["sha256"]
    public, private = (
        shoal.report(result, policy, original=tmp_path / "people.csv", edition=edition).html
        for edition in ("public", "private")
    )
    assert digest in private
    assert "row of the original" in private
    assert "seconds to anonymize" in private
    for secret in (digest, "row of the original", "seconds to", "SHA-256", str(tmp_path), "seed"):
        assert secret not in public


def test_a_release_made_with_a_seed_is_marked_and_its_seed_stays_private() -> None:
    policy = shoal.Policy.from_keywords(**ROLES, k=5, suppression=0.1)
    result = shoal.anonymize(people(), policy, seed=987_654_321)
    for edition in ("public", "private"):
        html = shoal.report(result, policy, original=people(), edition=edition).html
        assert NOT_FOR_PUBLICATION in html
        assert ("987654321" in html) == (edition == "private")


# --- what the public may not learn ------------------------------------------------------------------------


def rare_and_unseen(before: pl.DataFrame, after: pl.DataFrame, columns: list[str], k: int) -> set[str]:
    """Values of the original that fewer than k people have and that no cell of the release is."""
    shown = {str(value) for column in after.columns for value in after[column].cast(pl.String).unique()}
    found = set()
    for column in columns:
        counts = before[column].cast(pl.String).drop_nulls().value_counts()
        found |= {value for value, count in counts.iter_rows() if count < k and value not in shown}
    return found


def test_values_of_few_people_are_not_in_the_public_edition(
    pages: dict[str, str], made: shoal.Result
) -> None:
    rare = rare_and_unseen(people(), made.table, ["name", "city"], 5)
    assert {"Ultima Thule", "Timbuktu", "person number 7"} <= rare
    assert [value for value in rare if value in pages["public"]] == []
    # The oldest person has an age of her own; limits of bins are round numbers that nobody has a say in.
    assert "103" not in Page(pages["public"]).text
    # The release shows this value, but one person alone has it.
    assert "kuru" not in Page(pages["public"]).text


WITHOUT_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)
"""Every example draws a whole page, so that making a failure smaller would take minutes."""
WORDS = st.sampled_from(["amber", "beryl", "coral", "diamond", "emerald", "flint", "garnet", "hematite"])
KINDS = ("none", "auto", "tree", "mask")
STONES = {
    "red stones": ["coral", "garnet", "amber"],
    "other stones": ["beryl", "diamond", "emerald", "flint", "hematite"],
}


@given(
    values=st.lists(st.tuples(WORDS, st.integers(0, 3), WORDS), min_size=6, max_size=30),
    kind=st.sampled_from(KINDS),
    k=st.integers(2, 4),
    method=st.sampled_from(["mondrian", "full-domain", "k-k"]),
)
@settings(max_examples=15, phases=WITHOUT_SHRINKING)
def test_no_rare_value_that_the_release_hides_is_in_the_public_edition(
    values: list[tuple[str, int, str]], kind: str, k: int, method: str
) -> None:
    table = pl.DataFrame(
        {
            "stone": [f"{word}" for word, _, _ in values],
            "code": [f"ZQ{number}{ord(word[0])}" for word, number, _ in values],
            "ill": [f"fever-of-{word[::-1]}" for _, _, word in values],
            "id": [f"who-{place:05d}" for place in range(len(values))],
            "remark": [f"says {word} {place:04d}" for place, (word, _, _) in enumerate(values)],
        }
    )
    hierarchy = {"tree": {"tree": STONES}, "mask": {"mask": "right"}}.get(kind, kind)
    policy = shoal.Policy.from_keywords(
        quasi=["stone", "code"],
        sensitive=["ill"],
        identifier=["id"],
        plain=["remark"],
        k=k,
        notion="k-k" if method == "k-k" else None,
        hierarchies={"stone": hierarchy, "code": "auto"},
        method=method,
        suppression=0.3,
    )
    result = shoal.anonymize(table, policy)
    html = shoal.report(result, policy, original=table).html
    assert Page(html).problems == []
    text = unescape(html)
    rare = rare_and_unseen(table, result.table, ["stone", "code", "ill", "id", "remark"], k)
    assert [value for value in rare if value in text] == []


def test_reasons_of_methods_that_failed_are_for_the_private_edition(made: shoal.Result) -> None:
    comparison = compared(reason="city = Ultima Thule (1 row) cannot be served")
    for edition in ("public", "private"):
        html = shoal.report(
            made, original=people(), comparison=comparison, edition=edition, **ROLES, k=5, suppression=0.1
        ).html
        assert ("Ultima Thule" in html) == (edition == "private")
        assert ("agglomerative, k = 5" in html) == (edition == "private")


def compared(reason: str) -> Comparison:
    def outcome(success: float, at_risk: int = 0) -> tuple[Outcome, ...]:
        return (
            Outcome(
                attack="linkage",
                adversary="knows",
                success=success,
                baseline=0.01,
                at_risk=at_risk,
                people=60,
            ),
        )

    trials = (
        Trial(method="mondrian", k=5, measures={"lm": 0.3}, attacks=outcome(0.15)),
        Trial(method="agglomerative", k=5, measures={"lm": 0.2}, attacks=outcome(0.2)),
        Trial(method="k-k", k=5, measures={"lm": 0.1}, attacks=outcome(0.3, at_risk=3)),
        Trial(method="full-domain", k=5, status="refused", reason=reason),
    )
    return Comparison(trials=trials, adversaries=("knows-some",), k=5, rows=60)


def test_the_frontier_is_drawn_from_a_folder_too(tmp_path: Path, made: shoal.Result) -> None:
    comparison = compared("no")
    (tmp_path / "comparison.json").write_text(json.dumps(comparison.to_json()), encoding="utf-8")
    asked = {**ROLES, "k": 5, "suppression": 0.1, "edition": "private"}
    page = Page(shoal.report(made, original=people(), comparison=tmp_path, **asked).html)
    assert page.problems == []
    # k-k does not withstand; mondrian has less risk than agglomerative, which has less loss: both are preferable.
    assert (
        "3 releases were compared, 2 withstand the adversary, and 2 are on the Pareto frontier" in page.text
    )


# --- two originals, one page ------------------------------------------------------------------------------

AGES = {"role": "quasi", "hierarchy": {"cuts": [[35, 80]]}, "limit": 1}
CLASSES = ["flu"] * 6 + ["hiv"] * 4 + ["gout"] * 2 + ["flu"] * 5 + ["hiv"] * 4 + ["gout"] * 3


def pages_of(
    rows: pl.DataFrame, policy: dict[str, object], *, left_out: int, from_file: Path | None = None
) -> tuple[str, str, list[tuple[object, ...]]]:
    """Return both editions, and the release in an order of its own."""
    made = shoal.Policy.from_dict(policy)
    result = shoal.anonymize(rows, made)
    assert result.suppressed == left_out
    source: object = result
    if from_file is not None:
        result.table.write_csv(from_file)
        source = from_file
    public, private = (
        shoal.report(source, made, original=rows, edition=edition).html for edition in ("public", "private")
    )
    return public, private, sorted(result.table.rows(), key=str)


@pytest.mark.parametrize("from_file", [False, True])
@pytest.mark.parametrize(
    ("diseases", "secrets"),
    [
        # 11 flu, 8 hiv and 5 gout are published; of 25 people one more has something.
        (CLASSES, ("flu", "hiv", "gout")),
        # 4 hiv are published; with the one that is not it would be k.
        ((["flu"] * 10 + ["hiv"] * 2) * 2, ("flu", "hiv")),
        # Nobody else has the last one's disease.
        ((["flu"] * 10 + ["hiv"] * 2) * 2, ("flu", "kuru")),
    ],
)
def test_the_public_edition_does_not_tell_what_a_person_has_who_was_left_out(
    diseases: list[str], secrets: tuple[str, ...], from_file: bool, tmp_path: Path
) -> None:
    policy = {
        "columns": {"age": AGES, "disease": "sensitive", "drug": "plain"},
        "privacy": {"k": 5, "t": {"equal": 0.6}},
        "utility": {"suppression": 0.05},
        "method": {"name": "full-domain"},
    }
    found = []
    for secret in secrets:
        own = [*diseases, secret]
        rows = pl.DataFrame(
            {"age": [30] * 12 + [40] * 12 + [90], "disease": own, "drug": [f"anti-{one}" for one in own]}
        )
        place = tmp_path / "release.csv" if from_file else None
        found.append(pages_of(rows, policy, left_out=1, from_file=place))
    public, private, release = zip(*found, strict=True)
    assert all(other == release[0] for other in release)
    assert all(other == public[0] for other in public)
    assert "at most 0.6" in public[0]
    assert "Distribution of drug in the release" in public[0]
    assert len(set(private)) == len(secrets)


def test_the_public_edition_does_not_tell_how_old_a_person_is_who_was_left_out() -> None:
    policy = {
        "columns": {"age": AGES, "disease": "sensitive"},
        "privacy": {"k": 5},
        "utility": {"suppression": 0.05},
        "method": {"name": "full-domain"},
    }
    pages = [
        pages_of(
            pl.DataFrame({"age": [30, 31, 32, 33] * 3 + [40] * 12 + [age], "disease": [*CLASSES, "flu"]}),
            policy,
            left_out=1,
        )[0]
        for age in (81, 90, 103)
    ]
    assert pages[0] == pages[1] == pages[2]
    assert "at most 5.00% of the original's rows were suppressed" in Page(pages[0]).text


@pytest.mark.parametrize("sensitive", [{"l": 2}, {"p": 2}])
def test_the_public_edition_does_not_tell_how_sensitive_values_hang_together_with_others(
    sensitive: dict[str, object],
) -> None:
    """The release shows one class, whoever has what."""
    policy = {
        "columns": {"region": "quasi", "pay": "sensitive"},
        "privacy": {"k": 5, **sensitive},
        "method": {"name": "mondrian"},
    }
    decided = [1000] * 30 + [2000] * 20
    # In the south all have 1000, in the north 10 of 30: no region can stand alone in either world.
    mixed = [1000] * 10 + [2000] * 20 + [1000] * 20
    found = [
        pages_of(pl.DataFrame({"region": ["north"] * 30 + ["south"] * 20, "pay": pay}), policy, left_out=0)
        for pay in (decided, mixed)
    ]
    assert found[0][2] == found[1][2]
    assert found[0][0] == found[1][0]
    # Cramer's V of 10, 20, 20 and 0 people is 20 x 20 / (30 x 20).
    assert ">1.00<" in found[0][1]
    assert ">0.67<" in found[1][1]


def test_rank_correlations_with_sensitive_numbers_are_for_the_private_edition() -> None:
    policy = {
        "columns": {"age": "quasi", "size": "quasi", "pay": "sensitive"},
        "privacy": {"k": 5, "l": 20},
        "method": {"name": "mondrian"},
    }
    ages = list(range(20, 80))
    rows = pl.DataFrame({"age": ages, "size": ages[::-1], "pay": [1000 * age for age in ages]})
    public, private, _ = pages_of(rows, policy, left_out=0)
    for pair in ("age and pay", "size and pay", "age and size"):
        assert pair in private
        assert pair not in public


def test_the_public_edition_does_not_count_people_in_small_groups() -> None:
    policy = {"columns": {"region": "quasi"}, "privacy": {"k": 5}, "method": {"name": "mondrian"}}
    found = [
        pages_of(pl.DataFrame({"region": ["north"] * (50 - south) + ["south"] * south}), policy, left_out=0)
        for south in (1, 2, 3)
    ]
    assert found[0][2] == found[1][2] == found[2][2]
    assert found[0][0] == found[1][0] == found[2][0]
    assert "entropy" not in found[0][0]
    assert "entropy" in found[0][1]
    assert found[0][1] != found[1][1] != found[2][1]


def test_what_the_public_learns_of_attribute_disclosure_follows_from_the_rows() -> None:
    # Classes: 4 rows with a, and 2 rows with a and 2 with b. The share of one's own value is 1 for 4 rows and 1/2 for 4
    # rows, so 75% on average; a is 6 of 8, so a blind guess is right for 6/8 x 6/8 + 2/8 x 2/8 = 62.5%.
    rows = pl.DataFrame({"city": ["x"] * 4 + ["y"] * 4, "ill": ["a"] * 6 + ["b"] * 2})
    asked = {"quasi": ["city"], "sensitive": ["ill"], "k": 4}
    html = shoal.report(shoal.anonymize(rows, **asked), original=rows, **asked).html
    assert re.search(
        r"right about 75\.00%, a .*?blind guess.*? about 62\.50%; certain for 50\.00%", html, flags=re.S
    )


def test_a_frontier_is_for_the_private_edition(made: shoal.Result) -> None:
    trials = tuple(
        Trial(method=name, k=5, measures={"entropy": loss})
        for name, loss in (("mondrian", 1.25), ("forest", 1.5))
    )
    comparison = Comparison(trials=trials, adversaries=(), measure="entropy", k=5, rows=60)
    asked = {**ROLES, "k": 5, "suppression": 0.1}
    html = shoal.report(made, original=people(), comparison=comparison, **asked).html
    assert "1.25" not in Page(html).text


# --- hostile data -----------------------------------------------------------------------------------------

HOSTILE = '<script>alert("x")</script>'


@pytest.mark.parametrize("edition", ["public", "private"])
def test_markup_in_names_and_values_stays_text(edition: str) -> None:
    bad = "</td></table><img src=x onerror=alert(1)>"
    odd = "$x^2$ & \x1b[31m\x00 \u202eleft {{ 7 * 7 }} %s"
    table = pl.DataFrame(
        {
            HOSTILE: [HOSTILE, bad, odd, "]]>", "--><b>", "'\"`"] * 6,
            "n & <b>": list(range(36)),
            "s'\"><svg onload=1>": ([HOSTILE] * 3 + [bad] * 3) * 6,
        }
    )
    names = table.columns
    asked = {"quasi": names[:2], "sensitive": names[2:], "k": 2}
    result = shoal.anonymize(table, **asked)
    html = shoal.report(result, original=table, edition=edition, **asked).html
    page = Page(html)
    assert page.problems == []
    assert not page.named("script")
    assert not page.named("img")
    assert not page.named("b")
    assert not [attrs for _, attrs in page.tags if any(name.startswith("on") for name in attrs)]
    assert HOSTILE not in html
    assert escape(HOSTILE, quote=False) in html or escape(HOSTILE) in html.replace("&#34;", "&quot;")
    assert ("{{ 7 * 7 }}" in html) == (edition == "private")  # the public one draws no quasi-identifiers
    assert not set(html) & {"\x00", "\x1b", "\u202e"}
    for drawing in re.findall(r"<svg.*?</svg>", html, flags=re.S):
        ElementTree.fromstring(drawing)


# --- what is reported -------------------------------------------------------------------------------------


def test_a_release_of_another_tool_is_reported_without_a_record() -> None:
    release = pl.DataFrame(
        {
            "age": ["20-59"] * 60,
            "city": ["Rome"] * 20 + ["Oslo"] * 20 + ["Bern"] * 20,
            "disease": people()["disease"],
        }
    )
    # Two people live elsewhere, and the release would be false of them.
    original = people().with_columns(city=release["city"])
    found = shoal.report(release, original=original, **ROLES, k=5)
    page = Page(found.html)
    assert page.problems == []
    assert found.holds
    assert not shoal.report(release, original=people(), **ROLES, k=5).holds
    assert "not known: no record of the run was given" in page.text
    private = shoal.report(release, original=original, edition="private", **ROLES, k=5).html
    assert "no loss can be computed" in Page(private).text


def test_plain_columns_are_shown_without_the_rows_that_were_left_out() -> None:
    table = pl.DataFrame({"city": ["Rome"] * 6 + ["Oslo"] * 6 + ["Bern"], "pet": ["cat"] * 7 + ["dog"] * 6})
    asked = {"quasi": ["city"], "plain": ["pet"], "k": 6, "suppression": 0.1, "method": "full-domain"}
    for source in (table.head(12), shoal.anonymize(table, **asked)):
        found = shoal.report(source, original=table, edition="private", **asked)
        rows = re.findall(
            r'<th role="rowheader" scope="row">(cat|dog)</th><td[^>]*>(.*?)</td><td[^>]*>(.*?)</td>',
            found.html,
        )
        # 7 and 6 of 13 before; Bern's dog is gone, so 7 and 5 of 12 after.
        assert rows == [("cat", "53.8%", "58.3%"), ("dog", "46.2%", "41.7%")]


def test_a_violation_is_said_in_so_many_words() -> None:
    release = people().drop("name")
    found = shoal.report(release, original=people(), **ROLES, k=5)
    assert found.holds is False
    assert found.conclusion.reasons[0] == "5-anonymity is violated"
    assert "violates its policy: 5-anonymity" in Page(found.html).text


def test_attacks_that_need_to_know_whose_row_is_whose_are_tried_on_a_result() -> None:
    asked = {**ROLES, "k": 3, "notion": "probabilistic-k", "method": "ring"}
    result = shoal.anonymize(people(), **asked)
    page = Page(shoal.report(result, original=people(), edition="private", **asked).html)
    assert page.problems == []
    assert "knows the algorithm and some rows" in page.text
    assert "the strongest linkage attack stands for the risk after" in page.text


def test_a_population_brings_the_membership_attack() -> None:
    everybody = pl.concat([people(), people()])
    asked = {**ROLES, "k": 3, "presence": [0.0, 0.9], "method": "spalm"}
    result = shoal.anonymize(people(), population=everybody, **asked)
    asked |= {"edition": "private"}
    page = Page(shoal.report(result, original=people(), population=everybody, **asked).html)
    assert "120 people could be in the table" in page.text
    assert "upper bounds" not in page.text


def test_buckets_are_reported() -> None:
    asked = {"quasi": ["age", "city"], "sensitive": ["disease"], "identifier": ["name"], "l": {"distinct": 2}}
    for method in ("bucketization", "slice-columns", "anatomy"):
        result = shoal.anonymize(people(), method=method, **asked)
        buckets = result.table["bucket"].n_unique()
        page = Page(shoal.report(result, original=people(), method=method, edition="private", **asked).html)
        assert page.problems == []
        stands = "membership" if method == "slice-columns" else "strongest linkage"
        assert f"the {stands} attack stands for the risk after" in page.text
        assert f"60 rows in {buckets} buckets, within which columns were shuffled" in page.text
        # What the measure `classes` is stays true, though it says little here, and so does the glossary.
        text = page.text.replace(MEASURES["classes"].summary, "").rpartition("Glossary")[0]
        assert "buckets" in text
        assert "read alike" not in text
        assert "identical quasi-identifiers" not in text
        assert "generalizes each row separately" not in page.text


def test_a_record_of_another_table_is_refused(made: shoal.Result) -> None:
    record = {**made.record, "input": {"rows": 61, "sha256": None}}
    with pytest.raises(shoal.DataError, match=r"61 rows, but the original has 60"):
        shoal.report(made.table, original=people(), record=record, **ROLES, k=5)
    other = {**made.record, "classes": made.classes + 1}
    doubt = "may be the record of another release"
    asked = {**ROLES, "k": 5, "edition": "private"}
    assert doubt in shoal.report(made, original=people(), record=other, **asked).html
    assert doubt not in shoal.report(made.table, original=people(), record=made.record, **asked).html
    with pytest.raises(shoal.DataError, match="not a record of a run"):
        shoal.report(made.table, original=people(), record={"a": 1}, **ROLES, k=5)
    with pytest.raises(shoal.DataError, match=r"59 rows|60 rows"):
        shoal.report(made, original=people().head(59), **ROLES, k=5)


def test_an_unknown_edition_is_refused(made: shoal.Result) -> None:
    with pytest.raises(shoal.PolicyError, match="did you mean 'public'"):
        shoal.report(made, original=people(), edition="publik", **ROLES, k=5)  # type: ignore[arg-type]


# --- the command ------------------------------------------------------------------------------------------


def test_the_command_writes_one_page_and_replaces_nothing_unasked(tmp_path: Path) -> None:
    write_sample("patients", 200, tmp_path / "patients.csv")
    data, policy, release, record, page = (
        str(tmp_path / name)
        for name in ("patients.csv", "patients.toml", "release.csv", "record.json", "page.html")
    )
    run = CliRunner().invoke
    assert run(main, ["anonymize", data, "-p", policy, "-o", release, "--record", record]).exit_code == 0
    asked = ["report", release, "--original", data, "-p", policy, "-o", page, "--record", record]
    done = run(main, [*asked, "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output) == {
        "output": page, "pdf": None, "edition": "public", "holds": True,
            "conclusion": {"decision": "pass", "reasons": [], "remarks": []},
    }  # fmt: skip
    html = Path(page).read_text(encoding="utf-8")
    assert Page(html).problems == []
    assert "mondrian" in html
    assert run(main, asked).exit_code == 6
    done = run(main, [*asked, "--private", "--force"])
    assert done.exit_code == 0
    assert "the private edition" in done.output
    assert run(main, [*asked[:-4], "-o", data, "--force"]).exit_code == 6
    assert Path(data).read_text().startswith("patient_id")
    stricter = [*asked, "--force", "--set", "privacy.k=50"]
    assert run(main, stricter).exit_code == 5


def test_the_templates_are_part_of_the_package() -> None:
    from importlib.resources import files

    names = {entry.name for entry in files("shoal.documents.report").joinpath("templates").iterdir()}
    assert {"report.html", "report.css"} <= names


def test_a_release_in_two_tables_is_reported(tmp_path: Path) -> None:
    policy = shoal.Policy.from_keywords(**ROLES, l={"distinct": 2}, method="anatomy")
    result = shoal.anonymize(people(), policy)
    result.table.write_csv(tmp_path / "out.csv")
    result.second.write_csv(tmp_path / "out-sensitive.csv")
    for source in (result, tmp_path / "out.csv"):
        assert Page(shoal.report(source, policy, original=people()).html).problems == []


def test_columns_of_every_type_are_drawn() -> None:
    rows = 24
    nan, infinite = float("nan"), float("inf")
    table = pl.DataFrame(
        {
            "whole": [(i * 5) % 11 for i in range(rows - 1)] + [None],
            "real": [0.1 * i for i in range(rows - 3)] + [nan, infinite, 1e300],
            "date": [datetime.date(1900 + 5 * i, 1 + i % 12, 1) for i in range(rows)],
            "moment": [datetime.datetime(2024, 1, 1 + i, i % 24) for i in range(rows)],
            "clock": [datetime.time(i % 24) for i in range(rows)],
            "truth": [i % 2 == 0 for i in range(rows)],
            "one": ["same"] * rows,
            "secret": [None if i % 5 == 0 else f"s{i % 3}" for i in range(rows)],
        }
    )
    asked = {"quasi": table.columns[:-1], "sensitive": ["secret"], "k": 3}
    result = shoal.anonymize(table, **asked)
    for edition in ("public", "private"):
        page = Page(shoal.report(result, original=table, edition=edition, **asked).html)
        assert page.problems == []
        drawn = [name for name in table.columns if f"Distribution of {name}" in page.text]
        assert drawn == (table.columns if edition == "private" else ["secret"])
