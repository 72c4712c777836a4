"""Membership: is this person in the table at all? The probability for everybody in the population."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from shoal.coding import CodedTable
from shoal.coding.population import how_to_name, population_of
from shoal.errors import DataError, PolicyError, Problem, check_known
from shoal.judging.attacks.attack_base import Attack, Exposure, Options, Setting
from shoal.judging.attacks.membership_rerun import rerun_presence
from shoal.judging.linking.evidence import Evidence
from shoal.judging.membership.chances import MOST_STATES, SECONDS
from shoal.judging.membership.presence_chances import Presence, presence
from shoal.judging.models.delta_presence import SLACK
from shoal.judging.models.requirements import Requirements
from shoal.judging.models.threats import MEMBERSHIP, Threat
from shoal.methods import Method
from shoal.release.layout import Shuffling
from shoal.support.arrays import IntMatrix, IntVector, LongVector
from shoal.support.run import Run

ADVERSARIES = {
    "method": "knows everybody in the population, and how the release was made",
    "columns": "knows everybody in the population, and that columns were shuffled each by itself within buckets",
    "rows": "knows everybody in the population, and that quasi-identifiers were not shuffled",
    "knows-algorithm": "knows everybody in the population, and the method, and reruns it on every possible table",
}
RERUN = "knows-algorithm"

WITHOUT_BUCKETS = "knows everybody in the population"
"""Nothing was shuffled, so there is nothing to assume about it."""


@dataclass(frozen=True, kw_only=True)
class Membership(Attack):
    """Computes, for everybody in the population, the share of all possible tables that contain the person."""

    name: ClassVar[str] = "membership"
    title: ClassVar[str] = "membership"
    only_rows: ClassVar[str] = (
        "a population lists each person once, so it does not say which rows a table could hold"
    )
    threat: ClassVar[Threat] = MEMBERSHIP
    against: ClassVar[Mapping[str, Options]] = {
        "unsure-of-membership": {},
        "knows-algorithm": {"adversary": RERUN},
    }
    summary: ClassVar[str] = (
        "computes the probability that each person of a population is in the table, exactly if possible"
    )

    adversary: str = "method"
    """What the adversary knows about buckets: how the ``method`` shuffled them; or they assume that ``columns`` were
    shuffled each by itself, or that the quasi-identifiers of ``rows`` stay together and only sensitive values were
    shuffled. Without buckets all are the same. ``knows-algorithm`` reruns the method on every table that the release
    allows, which is exact for small tables and for `mpalm` with ``drawn``."""
    together: tuple[tuple[str, ...], ...] | None = None
    """Which quasi-identifiers were shuffled as a unit, by name, if neither of the two is true."""
    presence: tuple[float, float] = (0.0, 1.0)
    """The allowed probabilities. People with a higher one, or who are certain, are at risk."""
    limit: int = MOST_STATES
    """States that counting may use per bucket; above it, certain people are still found, and others estimated."""
    seconds: float = SECONDS
    """Time per bucket for people who cannot be counted; more time gives narrower intervals, and decides more people."""

    method: Method | None = None
    """The method that made the release, with its options, for ``knows-algorithm``."""
    requirements: Requirements | None = None
    """What it was asked for."""

    def __post_init__(self) -> None:
        check_known("adversary", self.adversary, ADVERSARIES)

    @classmethod
    def inapplicable(cls, setting: Setting) -> str:
        """Who could be in the table must be known."""
        return "" if setting.population else f"no population is known ({how_to_name()})"

    @classmethod
    def options_to_play(cls, adversary: str, setting: Setting) -> Options | None:
        """Whether somebody is in the table is a question for ``knows-algorithm`` only if the policy asks it."""
        asked = any(model.threat == MEMBERSHIP for model in setting.models)
        return super().options_to_play(adversary, setting) if asked or adversary != RERUN else None

    @classmethod
    def findings(cls, figures: Mapping[str, Any], people: int) -> Iterator[str]:
        """Yield the figures that matter, in words."""
        yield f"{figures['population']:,} people could be in the table"
        yield f"{figures['certainly_in']:,} are certainly in it"
        if "highest" in figures:
            lowest, highest = figures["lowest"], figures["highest"]
            yield f"for an adversary who knows the method, probabilities are {lowest:.3f} to {highest:.3f}"

    def attempt(self, evidence: Evidence, run: Run) -> Exposure:
        """Count, bucket by bucket. O(people x classes) without buckets."""
        original = evidence.original
        population = population_of(original)
        run.progress("count", 0.0)
        if self.adversary == RERUN:
            return self._attempt_reruns(evidence, population, run)
        seen = evidence.published
        if self.adversary != "method" or self.together is not None:
            seen = replace(seen, layout=seen.layout.with_shuffling(Shuffling(self._groups(original))))
        found = presence(
            seen,
            population,
            limit=self.limit,
            random=run.random,
            seconds=self.seconds,
            progress=lambda share: run.progress("count", share),
        )
        place = _places(original, population)
        chance = found.chance[place]
        # If only an interval is known, use its middle; the notes say for how many people.
        chances = np.where(np.isnan(chance), (found.low[place] + found.high[place]) / 2, chance)
        certain = found.certainly_in[place]
        risk = certain | (np.maximum(chances, found.low[place]) > self.presence[1] + 1e-9)
        return Exposure(
            attack=self.name,
            adversary=ADVERSARIES[self.adversary] if seen.in_buckets else WITHOUT_BUCKETS,
            success=float(chances.mean()),
            baseline=original.rows / len(population),
            figures={
                "population": len(population),
                "certainly_in": int(certain.sum()),
                "share_certainly_in": float(certain.mean()),
                "certainly_out": int(found.certainly_out.sum()),
                "exact": int(found.exact.sum()),
                "estimated": int((~found.exact).sum()),
                "answers": _answers(found),
                **_indicators(found, original, population, place),
            },
            chances=chances,
            at_risk=int(risk.sum()),
            notes=_notes(found),
        )

    def _attempt_reruns(self, evidence: Evidence, population: IntMatrix, run: Run) -> Exposure:
        """Run the method on every table that the release allows. People outside either bound are at risk, those who
        are not in the table included.
        """
        if self.requirements is None:
            raise DataError("this attack must know what the method was asked for")
        found = rerun_presence(evidence, self.method, self.requirements, run)
        everyone = found.chances[found.place]
        chances = everyone[_places(evidence.original, population)]
        low, high = self.presence
        outside = (everyone > high + SLACK) | (everyone < low - SLACK) | ((everyone >= 1) & (high < 1))
        return Exposure(
            attack=self.name,
            adversary=ADVERSARIES[RERUN],
            success=float(chances.mean()),
            baseline=evidence.original.rows / len(population),
            figures={
                "population": len(population),
                "certainly_in": int((chances >= 1).sum()),
                "share_certainly_in": float((chances >= 1).mean()),
                "certainly_out": int((everyone <= 0).sum()),
                "highest": float(everyone.max()),
                "lowest": float(everyone.min()),
                "outside_the_bounds": int(outside.sum()),
                "tables_tried": found.tables,
                "tables_that_fit": found.fitting,
            },
            chances=chances,
            at_risk=min(int(outside.sum()), len(chances)),
            notes=(
                f"{int(outside.sum()):,} of {len(everyone):,} people of the population are outside the bounds",
                *(
                    ()
                    if found.tables
                    else ("computed from what the method says about its draws, without reruns",)
                ),
            ),
            counted="the people of the table, on average",
        )

    def _groups(self, original: CodedTable) -> tuple[tuple[int, ...], ...] | None:
        names = [attribute.name for attribute in original.attributes]
        if self.together is None:
            return (tuple(range(len(names))),) if self.adversary == "rows" else None
        given = [name for group in self.together for name in group]
        if sorted(given) != sorted(names):
            listed = ", ".join(names)
            raise PolicyError([Problem("together", f"must name each quasi-identifier once: {listed}")])
        return tuple(tuple(names.index(name) for name in group) for group in self.together)


def _answers(found: Presence) -> dict[str, int]:
    """Count the people of the population by the kind of answer; everybody is counted once."""
    bounded = found.bounded & ~found.undecided
    estimated = ~found.exact & ~found.undecided & ~bounded & ~np.isnan(found.chance)
    kinds = {
        "certainly_in": found.certainly_in,
        "certainly_out": found.certainly_out,
        "exact_chance": found.exact & ~found.certainly_in & ~found.certainly_out,
        "estimated": estimated,
        "bounded": bounded,
        "not_certain": ~found.exact & ~found.undecided & ~bounded & ~estimated,
        "undecided": found.undecided,
    }
    return {name: int(people.sum()) for name, people in kinds.items()}


def _notes(found: Presence) -> tuple[str, ...]:
    """Return in words what is not exact."""
    notes = []
    estimates = ~found.exact & ~found.bounded & ~np.isnan(found.chance)
    if estimates.any():
        half = (found.high - found.low)[estimates] / 2
        notes.append(
            f"the probabilities of {int(estimates.sum()):,} of {len(found.exact):,} people are estimates, not exact: "
            f"95 % intervals of plus or minus {half.mean():.3f} on average, {half.max():.3f} at most"
        )
    blind = ~found.exact & ~found.bounded & np.isnan(found.chance) & ~found.undecided
    if blind.any():
        notes.append(
            f"for {int(blind.sum()):,} people only one thing is known: they are neither certainly in nor certainly out"
        )
    if found.undecided.any():
        notes.append(
            f"for {int(found.undecided.sum()):,} people Shoal could not decide whether they are certain"
        )
    if found.bounded.any():
        wide = (found.high - found.low)[found.bounded]
        notes.append(
            f"for {int(found.bounded.sum()):,} people the probability is not known, but proven to lie between bounds, "
            f"{wide.mean():.3f} apart on average: classes overlap, or rows were suppressed, which could be anybody's"
        )
    if found.overlapping:
        notes.append(
            f"{found.overlapping:,} people match several classes or buckets; their probability is that of the union "
            "of these"
        )
    if found.indicators is not None:
        notes.append("the indicators are cheap substitutes from the literature; they guarantee nothing")
    return tuple(notes)


def _indicators(
    found: Presence, original: CodedTable, population: IntMatrix, place: LongVector
) -> dict[str, Any]:
    """Return the product formula and the measures of fake tuples, and how far the formula is off."""
    if found.indicators is None:
        return {}
    product, matching = found.indicators.product, found.indicators.matching
    known = ~np.isnan(found.chance)
    off = np.abs(product - found.chance)[known]
    number, _ = _distinct(np.concatenate([population, original.quasi.wide]))
    theirs = np.isin(number[: len(population)], number[len(population) :])
    fakes = ~theirs & (matching > 0)
    _, first = _distinct(original.quasi.wide)
    return {
        "indicators": {
            "product_formula": {
                "average": float(product[place].mean()),
                "highest": float(product[place].max()),
                "off_by_on_average": float(off.mean()) if len(off) else None,
                "off_by_at_most": float(off.max()) if len(off) else None,
            },
            # Every row of the table matches some bucket, and combinations that match are real.
            "fake_tuples": found.indicators.combinations - int(matching[place[first]].sum()),
            "matching_buckets": {
                "members": float(matching[place].mean()),
                "fakes": float(matching[fakes].mean()) if fakes.any() else None,
            },
        }
    }


def _distinct(codes: IntMatrix) -> tuple[IntVector, LongVector]:
    from shoal.kernels.grouping import distinct

    return distinct(np.asfortranarray(codes))


def _places(table: CodedTable, population: IntMatrix) -> LongVector:
    """Return for each row a person of the population with the same values: their probability is the same."""
    number, first = _distinct(np.concatenate([population, table.quasi.wide]))
    somebody = np.full(len(first), -1, np.int64)
    somebody[number[: len(population)]] = np.arange(len(population))
    found: LongVector = somebody[number[len(population) :]]
    return found
