"""Downcoding: what were the values behind cells that a method generalized no further than it had to? (Cohen 2022.)"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.errors import DataError
from shoal.judging.attacks.attack_base import Attack, Exposure, Options, Setting
from shoal.judging.attacks.class_contents import Score, Truth
from shoal.judging.attacks.linkage import SHUFFLED
from shoal.judging.attacks.minimality import looks
from shoal.judging.attacks.possible_tables import FloatCube, PossibleTables, Rerun, as_rows, leave
from shoal.judging.linking.evidence import Evidence
from shoal.judging.linking.statements import named_values
from shoal.judging.models.requirements import Requirements
from shoal.judging.models.threats import Threat
from shoal.methods import Method
from shoal.support.arrays import FloatMatrix, FloatVector, IntVector, LongVector
from shoal.support.run import Run

MOST_TABLES = 10_000
"""With more tables that the release allows, only the ends of labels are used."""
TIE = 1e-9


@dataclass(frozen=True, kw_only=True)
class Downcoding(Attack):
    """Knows the method and which values a column can have, and nothing about people.

    A method that generalizes no further than it has to says with each cell that less was not enough. So this adversary
    reruns it on every table that the release allows, keeps those that give this very release, and guesses the likeliest
    values of each class, not which of its rows has which. With too many tables, they use only the ends of labels such
    as `[20, 25]`: somebody in the class has each.
    """

    name: ClassVar[str] = "downcoding"
    title: ClassVar[str] = "downcoding of minimal generalization"
    threat: ClassVar[Threat] = ""  # nobody is linked, and no sensitive value is learned
    only_rows: ClassVar[str] = "it tries tables in which each row is a person of its own"
    summary: ClassVar[str] = (
        "knows the method, and learns the values behind cells from their being no more general than they had to be"
    )
    unrequired: ClassVar[str] = (
        "no requirement of a policy is about the values behind cells, so nobody is judged"
    )

    method: Method | None = None
    """The method that made the release, with its options; None: not known."""
    requirements: Requirements | None = None
    """What it was asked for."""
    moved: bool = False
    """Rows may have been moved into cells that do not cover their values."""

    @classmethod
    def inapplicable(cls, setting: Setting) -> str:
        """The method must be known, or labels must name values."""
        if setting.rows.empty:
            return "it has no rows"
        if not setting.rows.intact or setting.rows.in_buckets:
            return SHUFFLED
        if setting.made.method is None and not setting.rows.name_values:
            return "the method that made it is not known, and no label is made of values"
        return ""

    @classmethod
    def reads(cls, setting: Setting) -> Options:
        """An adversary knows the method and its options."""
        return {"method": setting.made.method, "moved": setting.may_relocate}

    @classmethod
    def scenarios(cls, setting: Setting) -> Mapping[str, Options]:
        """Reports do not try it: it reruns the method many times."""
        return {}

    @classmethod
    def findings(cls, figures: Mapping[str, Any], people: int) -> Iterator[str]:
        """Yield the figures that matter, in words."""
        yield (
            f"{figures['given_away']:,} of {figures['cells']:,} generalized values are certain, without the rows that "
            "have them"
        )

    def attempt(self, evidence: Evidence, run: Run) -> Exposure:
        """Rerun the method on every table, or take the ends of labels."""
        run.progress("read", 0.0)
        truth = Truth.of(evidence)
        labels = self._labels(evidence)
        possible = PossibleTables(evidence, labels, moved=self.moved)
        why = self._why_not_exact(evidence, possible)
        if not why:
            return self._try_all(evidence, truth, possible, run)
        if self.moved:
            raise DataError(f"rows may have been moved into cells of others, and {why}")
        return self._take_ends(evidence, truth, why)

    def _labels(self, evidence: Evidence) -> IntVector:
        """Return the label of each row's sensitive values: one for all, if the method did not look at them."""
        models = () if self.requirements is None else self.requirements.models
        if not looks(models):
            return np.zeros(evidence.published.rows, np.int32)
        known = np.unique(evidence.original.secrets.wide, axis=0).tolist()
        return np.array([known.index(own) for own in evidence.published.sensitive_codes.tolist()], np.int32)

    def _why_not_exact(self, evidence: Evidence, possible: PossibleTables) -> str:
        if self.method is None or self.requirements is None:
            return "the method that made the release is not known"
        if evidence.published.suppressed:
            return f"{evidence.published.suppressed:,} rows were suppressed, which could be anybody's"
        if not possible.fewer_than(MOST_TABLES):
            return f"the release allows more than {MOST_TABLES:,} tables, which are too many to try"
        return ""

    def _try_all(self, evidence: Evidence, truth: Truth, possible: PossibleTables, run: Run) -> Exposure:
        assert self.method is not None
        assert self.requirements is not None
        table = evidence.original
        secrets, number = np.unique(table.secrets.wide, axis=0, return_inverse=True)
        if not looks(self.requirements.models):
            number = np.zeros(table.rows, np.int64)
        own = as_rows(table.quasi.wide, number.reshape(-1))
        left = leave(possible, Rerun(table, secrets, self.method, self.requirements, run), own)
        scores = []
        for j, chances in enumerate(left.chances):
            right = _pick(chances, truth.as_matrix(j), truth.sizes)
            scores.append(Score.of(truth, j, right, _guess_blindly(possible, truth, j)))
        certain = sum(
            float((chances >= 1 - TIE).sum(axis=(1, 2)) @ truth.coarse[:, j])
            for j, chances in enumerate(left.chances)
        )
        figures = {
            "exact": True,
            "tables": left.tables,
            "tables_that_give_the_release": left.consistent,
            "given_away": round(certain),
        }
        return self._expose(truth, scores, figures, ())

    def _take_ends(self, evidence: Evidence, truth: Truth, why: str) -> Exposure:
        """Guess that somebody has each end of a label, and spread the other rows evenly over what the cell covers."""
        found = {one.column: one for one in named_values(evidence.published)}
        if evidence.published.sets is not None or not found:
            raise DataError(f"{why}, and no label is made of the ends of ranges")
        scores, certain = [], 0.0
        for j, one in found.items():
            taken = truth.at(j, one.class_of, one.code)
            ends = np.bincount(one.class_of, minlength=len(truth.sizes))
            there = np.bincount(one.class_of, taken > 0, len(truth.sizes))
            certain += float(there @ truth.coarse[:, j])
            rest = truth.spread(j, truth.sizes - ends, without=(one.class_of, one.code))
            scores.append(Score.of(truth, j, there + rest, truth.spread(j, truth.sizes)))
        figures = {
            "exact": False,
            "tables": None,
            "tables_that_give_the_release": None,
            "given_away": round(certain),
        }
        bound = f"{why}; so only the ends of labels are used, and the method may reveal more"
        return self._expose(truth, scores, figures, (bound,))

    def _expose(
        self, truth: Truth, scores: list[Score], figures: dict[str, Any], notes: tuple[str, ...]
    ) -> Exposure:
        cells = sum(one.cells for one in scores)
        if not cells:
            raise DataError("no cell of the release is generalized, so there is nothing to find out")
        right: FloatVector = np.sum([one.right for one in scores], axis=0)
        counted: FloatVector = np.sum([one.rows for one in scores], axis=0)
        each = np.divide(right, counted, out=np.zeros_like(right), where=counted > 0)
        return Exposure(
            attack=self.name,
            adversary="knows the method and the domain of each column, and nothing about people",
            success=float(right.sum() / cells),
            baseline=sum(float(one.blind.sum()) for one in scores) / cells,
            figures={**figures, "cells": cells, "share_given_away": figures["given_away"] / cells},
            chances=np.where(truth.class_of >= 0, each[truth.class_of], 0.0),
            at_risk=0,
            notes=(self.unrequired, *notes),
            counted="the generalized cells, whose values were guessed class by class",
        )


def _guess_blindly(possible: PossibleTables, truth: Truth, j: int) -> FloatVector:
    """Return how many values of each class are guessed before the method is considered."""
    if possible.people is None:
        return truth.spread(j, truth.sizes)
    from scipy.stats import hypergeom

    size = possible.table.attributes[j].hierarchy.size
    chances = np.zeros((len(truth.sizes), size, int(truth.sizes.max(initial=0))))
    for number, rows in enumerate(truth.sizes.tolist()):
        inside = [set(own) for own in possible.codes_of(number)]
        fits = {
            row: many
            for row, many in possible.people.items()
            if all(code in own for code, own in zip(row, inside, strict=True))
        }
        with_value = np.zeros(size, np.int64)
        for row, many in fits.items():
            with_value[row[j]] += many
        more = np.arange(chances.shape[2])
        chances[number] = hypergeom.sf(more, sum(fits.values()), with_value[:, None], rows)
    return _pick(chances, truth.as_matrix(j), truth.sizes)


def _pick(chances: FloatCube, counts: FloatMatrix, sizes: LongVector) -> FloatVector:
    """Return how many values of each class are guessed right if the likeliest multiset is chosen: as many values as the
    class has rows, the likeliest "more than m rows have it" first. Equally likely ones share what is left.
    """
    found = np.zeros(len(sizes))
    for number, rows in enumerate(sizes.tolist()):
        likely = chances[number].ravel()
        there = (counts[number][:, None] > np.arange(chances.shape[2])).ravel()
        last = np.partition(likely, len(likely) - rows)[len(likely) - rows]
        sure, ties = likely > last + TIE, np.abs(likely - last) <= TIE
        found[number] = there[sure].sum() + there[ties].sum() * (rows - sure.sum()) / ties.sum()
    return found
