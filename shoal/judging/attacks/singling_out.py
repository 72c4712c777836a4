"""Predicate singling out: statements made of the release that are true of exactly one person (Cohen, Nissim 2020)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.errors import DataError
from shoal.judging.attacks.attack_base import Attack, Exposure, Setting
from shoal.judging.attacks.linkage import SHUFFLED
from shoal.judging.linking.consistency import People
from shoal.judging.linking.evidence import Evidence
from shoal.judging.linking.statements import Links, Statements, named_values
from shoal.support.arrays import FloatVector, LongVector
from shoal.support.brief import Brief
from shoal.support.confidence_intervals import wilson
from shoal.support.run import Run

RARE = 0.1
"""A statement is rare if it is expected to be true of at most so many rows of a fresh table of the same size."""
NO_VALUES = (
    "no cell of the release names a value that somebody in its class has: all are single values, `*`, or labels that "
    "follow from the policy"
)
BOUND = (
    "no population is known, so the baseline is the most that any statement made without the release can reach, "
    "(1 - 1/n)^(n - 1) for n rows; with a population, it is counted on the people who are not in the table"
)


@dataclass(frozen=True, kw_only=True)
class SinglingOut(Attack):
    """Says of each class: "in this class, and with this value", for each end of a range and each value of a set.

    It succeeds with a statement that is true of exactly one row of the original. A statement that was made without the
    release is true of exactly one of n rows with a probability of at most (1 - 1/n)^(n - 1), about 37 %.
    """

    name: ClassVar[str] = "singling-out"
    title: ClassVar[str] = "singling out by statements"
    summary: ClassVar[str] = (
        "makes statements of classes and of the values that their labels name, which are true of one person only"
    )
    unrequired: ClassVar[str] = "no requirement of a policy is about singling out, so nobody is judged"

    @classmethod
    def inapplicable(cls, setting: Setting) -> str:
        """A row must show the quasi-identifiers of one person, and some cell must name a value."""
        if not setting.rows.intact:
            return SHUFFLED
        return "" if setting.rows.name_values else NO_VALUES

    @classmethod
    def findings(cls, figures: Mapping[str, Any], people: int) -> Iterator[str]:
        """Yield the figures that matter, in words."""
        yield (
            f"{figures['isolating']:,} of {figures['statements']:,} statements are true of exactly one person; "
            f"they isolate {figures['people_isolated']:,} people"
        )

    def attempt(self, evidence: Evidence, run: Run) -> Exposure:
        """Count of how many rows each statement is true. O(rows + matching pairs)."""
        run.progress("count", 0.0)
        table, published = evidence.original, evidence.published
        statements = named_values(published)
        if not statements:
            raise DataError(NO_VALUES)
        links = Links.of(published, People.in_table(table))
        counted = [one.count(links) for one in statements]
        run.progress("compare with others", 0.5)
        fresh = _Fresh.of(evidence, statements, [times for times, _ in counted])
        columns: dict[str, dict[str, Any]] = {}
        chances, rarely = np.zeros(table.rows), np.zeros(table.rows, np.bool_)
        found, alone_in = [], np.zeros(published.classes, np.bool_)
        for at, (one, (times, rows)) in enumerate(zip(statements, counted, strict=True)):
            alone = times == 1
            share = float(alone.mean())
            chances[rows[alone]] = np.maximum(chances[rows[alone]], share)
            rarely[rows[alone & fresh.rare[at]]] = True
            alone_in[one.class_of[alone]] = True
            found.append(alone)
            columns[table.attributes[one.column].name] = {
                "statements": len(alone),
                "isolating": int(alone.sum()),
                "share": share,
                "interval": list(wilson(share, len(alone))),
                "baseline": float(fresh.isolated[at].mean()),
            }
        every = np.concatenate(found)
        figures = {
            "statements": len(every),
            "isolating": int(every.sum()),
            "interval": list(wilson(float(every.mean()), len(every))),
            "baseline_from": "a fresh sample" if fresh.rows else "the bound for all statements",
            "fresh_rows": fresh.rows or None,
            "classes": published.classes,
            "classes_with_an_isolated_person": int(alone_in.sum()),
            "people_isolated": int((chances > 0).sum()),
            "people_isolated_by_rare_statements": int(rarely.sum()) if fresh.tells_rare else None,
            "columns": columns,
        }
        return Exposure(
            attack=self.name,
            adversary="sees only the release, and says of each class that one person has a value of its label",
            success=float(every.mean()),
            baseline=float(np.concatenate(fresh.isolated).mean()),
            figures=figures,
            chances=chances,
            at_risk=0,
            notes=(self.unrequired, *(() if fresh.rows else (BOUND,))),
            counted="statements",
        )


@dataclass(frozen=True, eq=False, repr=False)
class _Fresh(Brief):
    """What the same statements do to people who are not in the table."""

    rows: int
    """How many such people are known; 0: none."""
    isolated: list[FloatVector]
    """The probability that a statement is true of exactly one of as many fresh rows as the table has."""
    rare: list[Any]
    tells_rare: bool

    @classmethod
    def of(cls, evidence: Evidence, statements: list[Statements], own: list[LongVector]) -> _Fresh:
        """Count the statements on the population without the table's people, if it is known."""
        from scipy.stats import binom, hypergeom

        table, n = evidence.original, evidence.original.rows
        population = table.context.population
        if population is None or len(population) <= n:
            bound = (1 - 1 / n) ** (n - 1)
            unknown = [np.zeros(len(times), np.bool_) for times in own]
            return cls(0, [np.full(len(times), bound) for times in own], unknown, tells_rare=False)
        links = Links.of(evidence.published, People.of(table.attributes, population))
        rest = len(population) - n
        isolated, rare = [], []
        for one, inside in zip(statements, own, strict=True):
            times = np.maximum(one.count(links)[0] - inside, 0)
            # Fewer fresh rows than the table has are drawn with replacement.
            chance = hypergeom.pmf(1, rest, times, n) if rest >= n else binom.pmf(1, n, times / rest)
            isolated.append(np.asarray(chance, np.float64))
            rare.append(times * n <= RARE * rest)
        return cls(rest, isolated, rare, tells_rare=rest * RARE >= n)
