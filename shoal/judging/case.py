"""`Case`: what is judged: a release with its policy and its original; each part is computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import polars as pl

from shoal.errors import DataError
from shoal.io.coded import Codes
from shoal.io.sheet import Sheet, code_values
from shoal.judging.identifier_columns import describe_following
from shoal.judging.linking.consistency import People
from shoal.judging.linking.evidence import Evidence
from shoal.judging.measures import MEASURES
from shoal.judging.measures.evaluate import measure_all, per_column
from shoal.judging.models.model import Model
from shoal.judging.models.requirements import Requirements
from shoal.judging.truthfulness import Truthfulness
from shoal.policy import Policy
from shoal.release.bounds import label_texts
from shoal.release.perturbed_columns import column_of, judge_column
from shoal.release.published_types import restore_type
from shoal.release.received.read_buckets import OtherReadings
from shoal.release.verdict import Verdict, worst
from shoal.support.wording import either

Answer = TypeVar("Answer")
TOO_MANY_WAYS = "there are too many ways in which columns may have been shuffled; give the record"
SUPPRESSION_MEANING = "rows that could not be made safe without harming the rest were suppressed"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Case(Evidence):
    """A release, the policy that it is judged by and, if known, its original; `shoal.judging.read_case` reads it."""

    policy: Policy
    requirements: Requirements
    """Of the policy, resolved against the sensitive columns of the release."""
    sheet: Sheet
    """The published rows, to be looked up; `rows` holds them all in memory."""
    notes: tuple[str, ...]
    """What a reader should know about how the rows were read."""
    other_readings: OtherReadings
    """If nothing shows for sure how the release was made; the worst counts."""
    second: pl.DataFrame | None = None
    """The sensitive values by bucket, if a method publishes them as a separate table."""
    digest: str | None = None
    """SHA-256 of the original, if it was read from a file."""
    crowd: Callable[[], People] | None = None
    """The people of the original, for the comparison with it, if a thread already looks for them."""

    @cached_property
    def rows(self) -> pl.DataFrame:
        """The published rows, all in memory."""
        return self.sheet.whole()

    def number_texts(self, column: str) -> tuple[Codes, pl.Series] | None:
        """Return which text each row shows in any published column, by number, and the distinct texts. O(rows)."""
        own = self.sheet if column in self.sheet.columns else self.second
        if own is None or column not in own.columns:
            return None
        return Sheet.of(own).number_cells(column, _as_texts)

    def find_kept_column(self, name: str) -> pl.Series | None:
        """Return the published values of a column that is published unchanged; None if the release lacks it."""
        return self.sheet[name] if name in self.sheet.columns else None

    @cached_property
    def readings(self) -> tuple[Evidence, ...]:
        """The release as it may have been made, in each possible way; the first is the case itself."""
        others = (self.read_as(other) for other in self.other_readings.published)
        return (self, *others)

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What every model of the policy says, and whether suppression stays within its limit."""
        verdicts = [
            self._of_public(model, self._without_whole(model) or self._verdict(model))
            for model in self.requirements.all_models
        ]
        return (*verdicts, *self._suppression(), *self.perturbation_verdicts.values())

    @property
    def suppressed(self) -> int | None:
        """How many rows were suppressed. None if the policy allows some, and nothing says how many were."""
        known = self.table is not None or self.origin.record is not None or self.published.suppressed > 0
        return self.published.suppressed if known or not self.requirements.suppression else None

    def _suppression(self) -> Iterator[Verdict]:
        """Yield whether suppression stays within its limit, if rows may be or were suppressed."""
        limit, suppressed = self.requirements.suppression, self.suppressed
        if suppressed is None:
            sources = either(command="--original FILE or --record FILE", python="original or record")
            why = f"only the original or the record shows how many rows were suppressed; give {sources}"
            holds = True if limit >= 1 else None  # No number is too large for a limit of 1.
            detail = "the limit allows any number" if holds else f"could not be checked: {why}"
            yield Verdict("suppression", limit, None, holds, detail, higher_is_safer=False)
        elif limit or suppressed:
            rows = self.published.rows + suppressed
            share = suppressed / rows if rows else 0.0
            holds = suppressed <= self.requirements.suppressible(rows)
            detail = f"{suppressed:,} of {rows:,} rows"
            yield Verdict("suppression", limit, share, holds, detail, higher_is_safer=False)

    def _of_public(self, model: Model, found: Verdict) -> Verdict:
        """Say whether the public may learn how far a release gets. The policy decides it, and never the data: otherwise
        that something is shown would say that nobody was suppressed, or that nobody has several rows.
        """
        complete = not self.requirements.suppression
        of_rows = model.public == "always" and not model.needs_population()
        hidden = model.about_classes and self.persons.several and not self.persons.followed
        return replace(found, public=found.public and (complete or of_rows) and not hidden)

    @cached_property
    def perturbation_verdicts(self) -> Mapping[str, Verdict]:
        """For each column that the policy perturbs: whether it shows what its rule can make of the true values, how
        many cells are false, and how far they are from the truth. Only columns of which something can be said.
        """
        found: dict[str, Verdict] = {}
        for name, way in self.policy.perturbations.items():
            if self.table is None or not self.origin.published or name not in self.sheet.columns:
                continue
            before = column_of(self.table, name)
            said = judge_column(before, restore_type(self.sheet[name], before.dtype), self.owner, way)
            if said is not None:
                title = f"{name} {way.title}"
                found[name] = Verdict(
                    title, said.bound, said.reached, said.holds, said.detail, higher_is_safer=False
                )
        return found

    def meanings(self) -> tuple[str, ...]:
        """What each verdict means, in plain words."""
        models = [
            model.meaning(several=self.persons.several, followed=self.persons.followed)
            for model in self.requirements.all_models
        ]
        ways = [self.policy.perturbations[name].meaning for name in self.perturbation_verdicts]
        others = len(self.verdicts) - len(models) - len(ways)
        return (*models, *[SUPPRESSION_MEANING] * others, *ways)

    def _without_whole(self, model: Model) -> Verdict | None:
        """Return that a model which compares classes with the whole table could not be checked, if rows may be missing:
        the published rows stand for the table only if nothing was suppressed.
        """
        complete = (self.origin.record or {}).get("suppressed") == 0
        if model.public != "complete" or self.table is not None or complete:
            return None
        why = "it compares classes with the whole table, and rows may have been suppressed; give the original"
        return model.verdict_unknown(self.published, why)

    def _verdict(self, model: Model) -> Verdict:
        """Return what a model says. A release that is not true of its original may fit no people at all: then nothing
        can be known, and the verdict about truth says why.
        """
        try:
            found = worst(answers(model.verify, (self,) if model.readings == "any" else self.readings))
            if found.holds and model.readings == "all" and not self.other_readings.complete:
                return model.verdict_unknown(self.published, TOO_MANY_WAYS)
            return found
        except DataError as error:
            truth = self.truthfulness.truth
            if self.origin.release is not None or truth is None or not truth.least:
                raise
            return model.verdict_unknown(self.published, str(error))

    @property
    def people(self) -> dict[str, Any]:
        """How many people the original has, of how many all rows were suppressed, and how many the smallest class has;
        the same for groups of people, such as households. Empty if every row is a person of its own, or if nobody can
        know.
        """
        table, person, rows = self.table, self.owners.person, self.owners.rows
        found: dict[str, Any] = {}
        if person is not None and (table is not None or self.persons.followed):
            there = len(np.unique(person))
            people = there if table is None else table.counting.count
            found = {
                "people": people,
                "people_suppressed": None if table is None and self.suppressed != 0 else people - there,
                "fewest_people": int(self.sizes.min()) if len(self.sizes) else 0,
                "followed": self.persons.followed,
            }
        if table is not None and rows is not None and table.countings[1:]:
            found["groups_of_people"] = {
                unit.name: {
                    "count": unit.count,
                    "suppressed": unit.count - len(np.unique(unit.owner[rows])),
                    "fewest": int(own.size.min(initial=unit.count)) if len(own) else 0,
                }
                for unit, own in zip(table.countings[1:], self.groups.units, strict=True)
            }
        return found

    @property
    def failing(self) -> list[Verdict]:
        """The verdicts that do not hold."""
        return [verdict for verdict in self.verdicts if not verdict.holds]

    @cached_property
    def truthfulness(self) -> Truthfulness:
        """The comparison with the original."""
        return Truthfulness(self)

    @cached_property
    def notes_on_following(self) -> tuple[str, ...]:
        """Notes about rows that can be followed by pseudonyms, for the public documents."""
        return describe_following(self)

    @cached_property
    def classes_tell(self) -> bool:
        """Whether the size of an equivalence class says who can be found; not if rows are generalized separately, nor
        if columns were shuffled.
        """
        small = self.published.rows > 0 and self.published.sizes.min() < self.requirements.k
        return super().classes_tell and not (self.requirements.without_classes and small)

    @cached_property
    def measures(self) -> Mapping[str, float]:
        """The default measures that this release has."""
        return measure_all(self)

    def measure_with(self, extra: Sequence[str] = ()) -> dict[str, float]:
        """Return the default measures and those asked for by name."""
        return {**self.measures, **measure_all(self, extra)}

    @cached_property
    def losses(self) -> Mapping[str, float]:
        """The information loss (LM) of each quasi-identifier."""
        return per_column(MEASURES.default, self)


def _as_texts(values: pl.Series) -> tuple[Codes, pl.Series]:
    """Number the texts of a column."""
    return code_values(label_texts(values))


def answers(question: Callable[[Evidence], Answer], readings: Sequence[Evidence]) -> list[Answer]:
    """Ask each reading of a release. One that cannot be, because no people fit it, says nothing; the error is raised
    only if no reading can be.
    """
    found, errors = [], []
    for evidence in readings:
        try:
            found.append(question(evidence))
        except DataError as error:
            errors.append(error)
    if not found:
        raise errors[0]
    return found
