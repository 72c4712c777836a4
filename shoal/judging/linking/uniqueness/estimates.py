"""All estimators together: what each says and assumes, the rule of Dankar and others, and the range."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shoal.judging.linking.uniqueness.pitman import pitman
from shoal.judging.linking.uniqueness.sample_sizes import Refusal, Sample
from shoal.judging.linking.uniqueness.slide import slide_negative_binomial
from shoal.judging.linking.uniqueness.zayatz import zayatz
from shoal.support.arrays import LongVector

SMALL = 0.1
"""Sampling fractions up to it are small ones in the rule of Dankar and others (2012)."""

ESTIMATORS: dict[str, tuple[Callable[[Sample], float], str]] = {
    "pitman": (
        pitman,
        "classes grow in proportion to their size, and new classes keep coming; it reads all sizes of classes",
    ),
    "zayatz": (
        zayatz,
        "classes of the population are as large as those of the sample; it says too much if the sample is small",
    ),
    "snb": (
        slide_negative_binomial,
        "sizes of classes have a negative binomial distribution, moved by one; it reads the number of classes and of "
        "unique rows",
    ),
}
"""Name -> the estimator, and what it assumes besides random sampling."""
RULE = (
    "the rule of Dankar and others (2012): Pitman up to a sampling fraction of 10 %, Zayatz if it does not converge; "
    "above it the smaller one of SNB and Zayatz"
)


@dataclass(frozen=True)
class Estimate:
    """What one estimator says."""

    name: str
    share: float
    """Share of the rows that are unique in the population; NaN if it has no answer."""
    assumes: str
    refused: str | None = None
    """Why it has no answer."""


@dataclass(frozen=True)
class Estimates:
    """What all estimators say about one sample."""

    rows: int
    people: int
    uniques: int
    """Rows that are unique in the sample: no more can be unique in the population."""
    all: tuple[Estimate, ...]
    proven: str | None = None
    """Why the share is known without an estimator, if it is."""

    @property
    def answers(self) -> tuple[Estimate, ...]:
        """Those that have an answer."""
        return tuple(one for one in self.all if one.refused is None)

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest answer; there always is one, because Zayatz always answers."""
        shares = [one.share for one in self.answers]
        return min(shares), max(shares)

    def __getitem__(self, name: str) -> Estimate:
        """Return what one estimator says, or the rule."""
        return self.rule if name == "dankar" else next(one for one in self.all if one.name == name)

    @property
    def rule(self) -> Estimate:
        """What the rule of Dankar and others chooses."""
        if self.rows <= SMALL * self.people:
            named: Sequence[str] = ("pitman", "zayatz")
            share = next(self[name].share for name in named if self[name].refused is None)
        else:
            share = min(self[name].share for name in ("snb", "zayatz") if self[name].refused is None)
        return Estimate("dankar", share, RULE)


def requires(rows: int, people: int | None) -> str | None:
    """Return why nothing can be estimated, or None."""
    if people is None:
        return "needs the size of the population: [population] size = .. in the policy"
    if rows == 0:
        return "there are no rows"
    if rows > people:
        return f"the table has {rows:,} people, more than the population of {people:,}"
    return None


def estimate_uniques(sizes: LongVector, people: int) -> Estimates:
    """Estimate how many rows are unique in a population of `people`, from the sizes of their classes.

    If the table is the whole population, or no row of it is unique, the answer is known and all agree. No answer is
    above the share of rows that are unique in the sample: others are not unique in the population either.
    """
    sample = Sample(sizes, people)
    why = requires(sample.rows, people)
    if why is not None:
        raise ValueError(why)
    most, proven = sample.uniques / sample.rows, None
    if sample.rows == people:
        proven = "the table is the whole population"
    elif sample.uniques == 0:
        proven = "no row is unique in the table, so none is unique in the population"
    found = []
    for name, (estimator, assumes) in ESTIMATORS.items():
        if proven is not None:
            found.append(Estimate(name, most, assumes))
            continue
        try:
            share = min(estimator(sample), most)
            if not share > 0:
                raise Refusal("its parameters leave nobody unique, to within rounding")
        except Refusal as refusal:
            found.append(Estimate(name, math.nan, assumes, f"does not converge: {refusal}"))
        else:
            found.append(Estimate(name, share, assumes))
    return Estimates(sample.rows, people, sample.uniques, tuple(found), proven)
