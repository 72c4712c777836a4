"""The risk after, in a report: what the strongest linkage adversary finds, not a weaker one."""

from __future__ import annotations

from itertools import permutations

import polars as pl

import shoal
from shoal.documents.report.attack_results import try_all
from shoal.documents.report.risk_section import risks_of
from shoal.documents.report.subject import read_subject
from shoal.judging.read_case import Received
from shoal.pipeline.comparison.trial import Outcome, Trial
from shoal.policy import Policy
from shoal.support.run import silent
from tests.documents.test_report import Page

AGES = [1, 2, 3, 4, 5, 6]
RANGES = [(1, 3), (1, 3), (3, 4), (4, 5), (5, 6), (5, 6)]
"""(2,2)-anonymous, but ages 1 and 2 match only the first two rows, and the last two rows match only ages 5 and 6."""
PEOPLE = pl.DataFrame({"age": AGES, "s": list("uvwxyz")})
ROWS = pl.DataFrame({"age": [f"[{low}, {high}]" for low, high in RANGES], "s": list("uvwxyz")})
ASKED = {"quasi": ["age"], "sensitive": ["s"], "k": 2, "notion": "k-k"}


def left_for_each() -> list[int]:
    """How many rows can be each person's, over all complete assignments, by trying them all."""
    found: list[set[int]] = [set() for _ in AGES]
    for order in permutations(range(len(RANGES))):
        if all(RANGES[row][0] <= age <= RANGES[row][1] for row, age in zip(order, AGES, strict=True)):
            for person, row in enumerate(order):
                found[person].add(row)
    return [len(rows) for rows in found]


def test_the_risk_after_is_that_of_the_adversary_who_knows_all_members() -> None:
    assert left_for_each() == [2, 2, 1, 1, 2, 2]
    policy = Policy.from_keywords(**ASKED)
    subject = read_subject(Received(ROWS, original=PEOPLE, record=None), policy)
    risks = risks_of(subject, try_all(subject, silent))
    assert risks.after is None
    assert risks.sizes_after.tolist() == left_for_each()
    page = Page(shoal.report(ROWS, **ASKED, original=PEOPLE, edition="private").html).text
    assert "strongest linkage attack stands" in page


def test_shuffled_columns_have_no_candidates_by_rows() -> None:
    people = pl.DataFrame({"a": [1, 2, 3, 4], "b": [5, 6, 7, 8], "s": list("xyxy")})
    shuffled = pl.DataFrame({"a": [2, 1, 4, 3], "b": [5, 6, 7, 8], "s": list("xyyx"), "bucket": [0, 0, 1, 1]})
    asked = {"quasi": ["a", "b"], "sensitive": ["s"], "method": "slice-columns", "presence": [0, 1]}
    policy = Policy.from_keywords(**asked)
    subject = read_subject(Received(shuffled, original=people, population=people, record=None), policy)
    risks = risks_of(subject, try_all(subject, silent))
    assert not len(risks.sizes_after)
    page = shoal.report(shuffled, **asked, original=people, population=people, edition="private").html
    assert "no row of a person to find" in page
    assert "number of candidates" not in page


def test_the_risk_of_a_trial_is_that_of_the_strongest_adversary() -> None:
    def outcome(success: float | None, decides: bool = True) -> Outcome:
        return Outcome(
            attack="linkage",
            adversary="",
            success=success,
            baseline=0.1,
            at_risk=0,
            people=6,
            decides=decides,
        )

    shares = (outcome(0.25), outcome(0.5), outcome(None), outcome(0.9, decides=False))
    assert Trial(method="k-k", attacks=shares).risk == 0.5
    assert Trial(method="k-k", attacks=shares[2:]).risk is None
