"""Membership: is this person in the table at all? Exact chances for everybody in the population."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from shoal.arrays import IntMatrix, LongVector
from shoal.attacks.base import Attack, Exposure
from shoal.errors import PolicyError, Problem, did_you_mean
from shoal.membership import MOST_STATES, SECONDS
from shoal.population import population_of
from shoal.presence import presence
from shoal.published import Published
from shoal.run import Run
from shoal.table import CodedTable

ADVERSARIES = {
    "columns": "knows everybody in the population, and that columns were shuffled each by itself within buckets",
    "rows": "knows everybody in the population, and that quasi-identifiers were not shuffled",
}


@dataclass(frozen=True, kw_only=True)
class Membership(Attack):
    """Works out, for everybody in the population, the share of all possible tables that contain the person."""

    name: ClassVar[str] = "membership"
    summary: ClassVar[str] = (
        "works out the chance of everybody in a population to be in the table, exactly where it can"
    )

    adversary: str = "columns"
    """What is known of buckets: ``columns`` were shuffled each by itself, or the quasi-identifiers of ``rows`` stand
    together and only sensitive values were shuffled. Without buckets both are the same."""
    together: tuple[tuple[str, ...], ...] | None = None
    """Which quasi-identifiers were shuffled as a unit, by name, where neither of the two is true."""
    presence: tuple[float, float] = (0.0, 1.0)
    """The permitted chances. Whoever has a higher one, or is certain, is at risk."""
    limit: int = MOST_STATES
    """States that counting may use per bucket; beyond, people who are certain are still found, and others estimated."""
    seconds: float = SECONDS
    """Time per bucket for what cannot be counted."""

    def __post_init__(self) -> None:
        if self.adversary not in ADVERSARIES:
            hint = did_you_mean(self.adversary, ADVERSARIES)
            raise PolicyError([Problem("adversary", f"'{self.adversary}' is unknown", hint)])

    def attempt(self, published: Published, original: CodedTable, run: Run) -> Exposure:
        """Count, bucket by bucket. O(people x classes) without buckets."""
        population = population_of(original)
        run.progress("count", 0.0)
        seen = replace(published, owner=None, together=self._groups(original))
        found = presence(
            seen,
            population,
            limit=self.limit,
            random=run.random,
            seconds=self.seconds,
            progress=lambda share: run.progress("count", share),
        )
        place = _places(original, population)
        chance, high = found.chance[place], found.high[place]
        # Where nothing but an interval is known, its middle stands in; the notes say for how many.
        chances = np.where(np.isnan(chance), (found.low[place] + high) / 2, chance)
        certain = found.exact[place] & (chances == 1.0)
        estimates = int((~found.exact).sum())
        notes = []
        if estimates:
            notes.append(
                f"the chances of {estimates:,} of {len(population):,} people are estimates, not exact"
            )
        if found.undecided.any():
            notes.append(
                f"whether {int(found.undecided.sum()):,} people are certain could not be decided in time"
            )
        if found.overlapping:
            notes.append(
                f"{found.overlapping:,} people fit several classes or buckets; these are looked at as one"
            )
        risk = certain | (chances > self.presence[1] + 1e-9)
        share = original.rows / len(population)
        return Exposure(
            attack=self.name,
            adversary=ADVERSARIES[self.adversary],
            success=float(chances.mean()),
            baseline=share,
            figures={
                "population": len(population),
                "certainly_in": int(certain.sum()),
                "share_certainly_in": float(certain.mean()),
                "certainly_out": int((found.exact & (found.chance == 0.0)).sum()),
                "exact": int(found.exact.sum()),
                "estimated": estimates,
            },
            chances=chances,
            at_risk=int(risk.sum()),
            notes=tuple(notes),
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


def _places(table: CodedTable, population: IntMatrix) -> LongVector:
    """Return for each row somebody of the population with the same values: people who are alike have one chance."""
    from shoal.kernels.grouping import distinct

    number, first = distinct(np.asfortranarray(np.concatenate([population, table.codes])))
    somebody = np.full(len(first), -1, np.int64)
    somebody[number[: len(population)]] = np.arange(len(population))
    found: LongVector = somebody[number[len(population) :]]
    return found
