"""Minimality: what does the choice of classes reveal to whoever knows the method? (Wong, Fu, Wang, Pei 2007.)"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import factorial, prod
from typing import Any, ClassVar

import numpy as np

from shoal.coding import CodedTable
from shoal.coding.columns import Columns
from shoal.errors import DataError, PolicyError, Problem
from shoal.judging.attacks.attack_base import Attack, Exposure, Options, Setting
from shoal.judging.attacks.possible_releases import arrangements, key_of_release, outcomes
from shoal.judging.linking.evidence import Evidence
from shoal.judging.models import Model
from shoal.judging.models.requirements import Requirements
from shoal.judging.models.threats import ATTRIBUTE_DISCLOSURE, Threat
from shoal.methods import Method
from shoal.support.arrays import FloatMatrix, IntVector
from shoal.support.run import Run

MOST_TABLES = 5_000
"""With more tables that have the release's sensitive values, a chain walks over those that give the release."""
ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class Minimality(Attack):
    """Knows everyone's quasi-identifiers, the sensitive values of the release, and the method; not who has which value.

    A method that looks at sensitive values makes other classes for other tables. So this adversary reruns it on every
    table with these values, keeps those that give this very release, and holds them equally likely. Exact for small
    tables. For larger ones a Markov chain starts with the true table and swaps values of people who could have
    each other's row, as long as the method gives the same release; that is an estimate.
    """

    name: ClassVar[str] = "minimality"
    title: ClassVar[str] = "minimality"
    only_rows: ClassVar[str] = (
        "the tables that it thinks possible exchange values between rows, as if each row were a person of its own"
    )
    threat: ClassVar[Threat] = ATTRIBUTE_DISCLOSURE
    summary: ClassVar[str] = (
        "knows the method, reruns it on every possible table, and learns values from the choice of classes"
    )

    threshold: float = 1.0
    """A person is at risk if a value is certain, or more likely than this."""
    thresholds: tuple[float, ...] = ()
    """Per sensitive column, what the policy allows: alpha, or 1/l. They replace `threshold`."""
    reruns: int = 2_000
    """How often the method is rerun where not all tables can be tried."""
    method: Method | None = None
    """The method that made the release, with its options."""
    requirements: Requirements | None = None
    """What it was asked for."""

    def __post_init__(self) -> None:
        if self.reruns < 1:
            raise PolicyError([Problem("reruns", f"must be at least 1, not {self.reruns}")])

    @classmethod
    def inapplicable(cls, setting: Setting) -> str:
        """The method must be known, and must have looked at sensitive values."""
        if setting.made.method is None:
            return "the method that made the release is not known"
        if not setting.sensitive:
            return "the table has no sensitive column"
        if setting.rows.in_buckets or not setting.rows.intact:
            return "values were shuffled within buckets, and the attack compares classes"
        if setting.may_relocate:
            return "rows may have been relocated"
        if not looks(setting.models):
            return "the policy asks for nothing about sensitive values, so the method did not look at them"
        return ""

    @classmethod
    def reads(cls, setting: Setting) -> Options:
        """An adversary knows the method and its options."""
        return {"method": setting.made.method}

    @classmethod
    def scenarios(cls, setting: Setting) -> Mapping[str, Options]:
        """Reports do not try it: it reruns the method many times."""
        return {}

    @classmethod
    def findings(cls, figures: Mapping[str, Any], people: int) -> Iterator[str]:
        """Yield the figures that matter, in words."""
        how = "" if figures["exact"] else " (an estimate)"
        yield f"the likeliest value of a person has a probability of {figures['largest']:.3f}{how}"

    def attempt(self, evidence: Evidence, run: Run) -> Exposure:
        """Rerun the method on all tables, or along a chain of them."""
        original = evidence.original
        if self.method is None or self.requirements is None:
            raise DataError("this attack must know the method and what it was asked for")
        if not original.sensitive:
            raise DataError("the release has no sensitive column, so nothing can be disclosed")
        values, label_of = np.unique(original.secrets.wide, axis=0, return_inverse=True)
        labels = label_of.reshape(-1).astype(np.int32)
        rerun = _Rerun(original, values, self.method, self.requirements, run)
        counts = Counter(labels.tolist())
        many = factorial(len(labels)) // prod(factorial(count) for count in counts.values())
        exact = many <= MOST_TABLES
        if exact:
            beliefs, consistent = rerun.all_tables(labels, evidence)
        else:
            beliefs, consistent = rerun.some_tables(labels, evidence, self.reruns)
        limits = [self._limit(j) for j in range(len(original.sensitive))]
        risky = np.zeros(original.rows, np.bool_)
        largest = 0.0
        for j, limit in enumerate(limits):
            code, number = np.unique(values[:, j], return_inverse=True)
            own = np.stack([beliefs[:, number == c].sum(axis=1) for c in range(len(code))], axis=1)
            top = own.max(axis=1)
            largest = max(largest, float(top.max(initial=0.0)))
            risky |= top > limit + ROUNDING if limit < 1 else top > 1 - ROUNDING
        chances = beliefs[np.arange(original.rows), labels]
        blind = max(counts.values()) / max(len(labels), 1)
        figures = {
            "exact": exact,
            "tables": many if exact else None,
            "tables_that_give_the_release": consistent,
            "reruns": many if exact else self.reruns,
            "largest": largest,
            "threshold": min(limits),
        }
        return Exposure(
            attack=self.name,
            adversary="knows the quasi-identifiers of everyone, the values of the release, and the method",
            success=float(beliefs.max(axis=1).mean()),
            baseline=blind,
            figures=figures,
            chances=chances,
            at_risk=int(risky.sum()),
            notes=() if exact else (ESTIMATED,),
        )

    def _limit(self, column: int) -> float:
        """Return how likely a value may be: as the policy says, and 1/l where l is about candidates."""
        assert self.requirements is not None
        own = [
            model.belief_of_choice
            for model in self.requirements.models
            if getattr(model, "column", None) == column
        ]
        given = self.thresholds[column] if column < len(self.thresholds) else self.threshold
        return min([given, *own])


ESTIMATED = (
    "there are too many tables to try all, so a chain of tables that give the same release estimates the "
    "probabilities; it may have missed some"
)


def looks(models: tuple[Model, ...]) -> bool:
    """Whether a method that satisfies these models has to look at sensitive values."""
    return any(getattr(model, "column", None) is not None for model in models)


class _Rerun:
    """A table whose sensitive values are exchanged, and what the method makes of it."""

    def __init__(
        self, table: CodedTable, values: Any, method: Method, requirements: Requirements, run: Run
    ) -> None:
        self.table, self.values, self.method, self.requirements, self.run = (
            table,
            values,
            method,
            requirements,
            run,
        )

    def table_of(self, labels: IntVector) -> CodedTable:
        """Return the table with other sensitive values."""
        codes = np.asfortranarray(self.values[labels])
        return self.table.with_secrets(Columns.of(self.table.sensitive, codes))

    def releases(self, labels: IntVector) -> dict[Any, float]:
        """Return what the method may publish of a table, and how likely each release is."""
        return outcomes(self.method, self.table_of(labels), labels, self.requirements, self.run)

    def all_tables(self, labels: IntVector, evidence: Evidence) -> tuple[FloatMatrix, int]:
        """Return how likely each value is for each person, over all tables that give the release; and their number."""
        wanted = key_of_release(evidence, labels, self.releases(labels))
        total, consistent = np.zeros((len(labels), len(self.values))), 0
        for done, arranged in enumerate(arrangements(labels)):
            if done % 64 == 0:
                self.run.progress("rerun", 0.5)
            likely = self.releases(arranged).get(wanted, 0.0)
            total[np.arange(len(labels)), arranged] += likely
            consistent += likely > 0
        return total / total[0].sum(), consistent

    def some_tables(self, labels: IntVector, evidence: Evidence, reruns: int) -> tuple[FloatMatrix, int]:
        """The same over a chain of tables: two people of a class swap values, if the release stays the same."""
        found = self.releases(labels)
        if len(found) > 1:
            raise DataError(
                f"{self.method.name} draws who gets which cell, and the table has too many rows to try all others"
            )
        wanted = key_of_release(evidence, labels, found)
        regions = self.method.anonymize(self.table_of(labels), self.requirements, self.run).region_of
        groups = [rows for rows in _members(regions) if len(set(labels[rows].tolist())) > 1]
        total, now, accepted = np.zeros((len(labels), len(self.values))), labels.copy(), 0
        for turn in range(reruns):
            if not groups:
                break
            self.run.progress("rerun", turn / reruns)
            rows = groups[int(self.run.random.integers(len(groups)))]
            one, other = self.run.random.choice(rows, 2, replace=False)
            if now[one] != now[other]:
                now[one], now[other] = now[other], now[one]
                if wanted in self.releases(now):
                    accepted += 1
                else:
                    now[one], now[other] = now[other], now[one]
            total[np.arange(len(labels)), now] += 1
        if not groups:
            total[np.arange(len(labels)), now] += 1
        return total / total[0].sum(), accepted + 1


def _members(regions: IntVector) -> list[Any]:
    order = np.argsort(regions, kind="stable")
    order = order[int((regions < 0).sum()) :]
    return np.split(order, np.flatnonzero(np.diff(regions[order])) + 1) if len(order) else []
