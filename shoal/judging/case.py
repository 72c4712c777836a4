"""`Case`: what is judged: a release with its policy and its original; each part is computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self, TypeVar

import numpy as np
import polars as pl

from shoal import io
from shoal.coding import CodedTable
from shoal.coding.column_plan import REMOVED
from shoal.coding.population import check_size
from shoal.coding.survey_weights import weights_shown
from shoal.errors import DataError
from shoal.io.coded import Codes
from shoal.io.sheet import Sheet, coded_values
from shoal.judging.linking.consistency import People
from shoal.judging.linking.evidence import Evidence
from shoal.judging.linking.truth import Truth, truth_of
from shoal.judging.measures import MEASURES
from shoal.judging.measures.evaluate import measure_all, per_column
from shoal.judging.models.hybrid_k import false_shares
from shoal.judging.models.model import Model
from shoal.judging.models.requirements import Requirements
from shoal.methods import METHODS
from shoal.policy import Policy
from shoal.release import Release
from shoal.release.bounds import bounds_among, label_texts
from shoal.release.perturbed_columns import column_of, judged
from shoal.release.pseudonyms import (
    PSEUDONYM,
    betrayed,
    followed,
    of_our_form,
    people_followed,
    pseudonym_numbers,
)
from shoal.release.published import Published
from shoal.release.published_types import retyped
from shoal.release.read_published import read_back
from shoal.release.received.cell_reader import attribute_of
from shoal.release.received.read_earlier import encode_whole
from shoal.release.received.read_record import (
    check_original,
    read_record,
    recorded_method,
    recorded_owners,
    recorded_section,
)
from shoal.release.received.read_release import as_published, read_release, typed
from shoal.release.render import Rendered, bucket_name, render
from shoal.release.results import Clock, Result
from shoal.release.verdict import Verdict, worst
from shoal.support.arrays import LongVector
from shoal.support.machine.threads import PIECE, Ahead
from shoal.support.run import Progress, silent
from shoal.support.wording import either, setting

Answer = TypeVar("Answer")
TOO_MANY_WAYS = "there are too many ways in which columns may have been shuffled; give the record"
SUPPRESSION_MEANING = "rows that could not be made safe without harming the rest were suppressed"


def domain_sizes(table: CodedTable) -> tuple[int, ...]:
    """Return how many values the domain of each quasi-identifier has. A population can only add some, so equal numbers
    mean equal domains."""
    return tuple(attribute.hierarchy.size for attribute in table.attributes)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Case(Evidence):
    """A release, the policy that it is judged by and, if known, its original. Makers: `made` and `read`."""

    policy: Policy
    requirements: Requirements
    """Of the policy, resolved against the sensitive columns of the release."""
    sheet: Sheet
    """The published rows, to be looked up; `rows` holds them all in memory."""
    second: pl.DataFrame | None = None
    """The sensitive values by bucket, if a method publishes them as a separate table."""
    release: Release | None = None
    """What the method proposed, if the release was made in this process."""
    notes: tuple[str, ...] = ()
    """What a reader should know about how the rows were read."""
    others: tuple[Published, ...] = ()
    """The release read in other ways, if nothing shows for sure how it was made; the worst counts."""
    complete: bool = True
    """The true way is among them; see `shoal.release.received.shuffled_columns.Ways`."""
    loosest: Published | None = None
    """The release as if each column had been shuffled by itself within buckets, if that is not known to be wrong."""
    record: Mapping[str, Any] | None = None
    """The private record of the run that made the release, if it is known."""
    proposed: bool = False
    """The rows are those of a proposal: nothing is published, so columns still show their own values."""
    digest: str | None = None
    """SHA-256 of the original, if it was read from a file."""
    crowd: Callable[[], People] | None = None
    """The people of the original, for the comparison with it, if a thread already looks for them."""
    counted: bool = True
    """It is known how many rows were suppressed: from the original, from the record, or because rows are marked."""

    @classmethod
    def made(
        cls,
        policy: Policy,
        table: CodedTable,
        release: Release,
        rendered: Rendered | None = None,
        *,
        requirements: Requirements | None = None,
        **more: Any,
    ) -> Self:
        """Read the rows of a method's release. Verdicts are those of the rows. O(rows x columns).

        `rendered` holds the rows as they came back from a file or a frame; without it they are rendered here.
        `requirements` are those of the policy, if they have been resolved already.
        """
        requirements = policy.requirements(table.sensitive) if requirements is None else requirements
        more.setdefault("proposed", rendered is None)
        rendered = render(table, release) if rendered is None else rendered
        return cls(
            published=read_back(table, release, rendered),
            table=table,
            owner=rendered.owner,
            k=requirements.k,
            of_people=requirements.people,
            policy=policy,
            requirements=requirements,
            sheet=rendered.sheet,
            second=rendered.second,
            release=release,
            follow=pseudonym_numbers(rendered.sheet, policy.people),
            told_size=policy.population_size,
            survey=weights_shown(rendered.sheet, policy.names("weight")),
            **more,
        )

    @cached_property
    def rows(self) -> pl.DataFrame:
        """The published rows, all in memory."""
        return self.sheet.whole()

    @classmethod
    def read(
        cls,
        source: Any,
        policy: Policy,
        *,
        original: Any = None,
        second: Any = None,
        population: Any = None,
        suppressed_as: str | None = None,
        record: Any = None,
        earlier: Sequence[Any] | None = None,
        clock: Clock | None = None,
        progress: Progress = silent,
        **more: Any,
    ) -> Self:
        """Read a release, made by any tool, and its original: paths or frames.

        `source` may also be a `Result` of this original, which knows the owner of each row. `suppressed_as` is the text
        that rows show in every quasi-identifier if another tool marks suppressed rows so. `record` is the private
        record of the run that made the release, or its path: it says how the release was made. `earlier` are earlier
        releases of the same people, instead of those that the policy names.
        """
        clock = Clock() if clock is None else clock
        progress("read", 0.0)
        with clock("read"):
            before = None if original is None else io.read(policy.source(original), policy.read_options())
            known = None if before is None else before.options.delimiter
            own = isinstance(source, Result)
            told = read_record(source.record if own and record is None else record)
            rows = None if own else read_release(source, second, policy, delimiter=known)
        progress("encode", 0.1)
        with clock("encode"):
            table = None if before is None else encode_whole(before, policy, population, earlier)
            more |= {"digest": None if before is None else before.digest, "record": told}
            if rows is None and table is not None and source.domains not in ((), domain_sizes(table)):
                # A population that the release was not made with has further values, so its codes mean others here.
                rows = read_release(source.table, source.second, policy, delimiter=known)
            if rows is None:
                return cls.of_result(source, policy, table, **more)
            if table is not None and table.rows > PIECE:  # while the rows of the release are numbered
                more["crowd"] = Ahead(partial(People.in_table, table))
            if told is not None and table is not None:
                check_original(told, table.rows, more["digest"])
            return cls.of_rows(rows[0], policy, table, in_two=rows[1], suppressed_as=suppressed_as, **more)

    @classmethod
    def of_result(cls, result: Result, policy: Policy, table: CodedTable | None, **more: Any) -> Self:
        """Read what `anonymize` made of this table."""
        if table is None:
            raise DataError("give the table that the result was made from, too")
        if len(result.release.region_of) != table.rows:
            raise DataError(
                f"the result was made from {len(result.release.region_of):,} rows, but the original has "
                f"{table.rows:,}: give the table that it was made from"
            )
        return cls.made(policy, table, result.release, **more)

    @classmethod
    def of_rows(
        cls,
        rows: pl.DataFrame | Sheet,
        policy: Policy,
        table: CodedTable | None,
        *,
        in_two: bool = False,
        suppressed_as: str | None = None,
        record: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Self:
        """Read rows as a release; see `as_published`."""
        shown = typed(Sheet.of(rows), policy, table)
        found = as_published(shown, policy, table, in_two=in_two, suppressed_as=suppressed_as, record=record)
        requirements = policy.requirements(found.published.sensitive)
        if table is None and policy.population_size is not None and not requirements.people:
            check_size(policy.population_size, found.published.rows)
        return cls(
            published=found.published,
            others=found.others,
            complete=found.complete,
            loosest=found.loosest,
            table=table,
            k=requirements.k,
            of_people=requirements.people,
            policy=policy,
            requirements=requirements,
            sheet=found.rows,
            notes=found.notes,
            record=record,
            counted=table is not None or record is not None or found.published.suppressed > 0,
            claimed=None if record is None else recorded_owners(record),
            follow=pseudonym_numbers(found.rows, policy.people),
            told_size=policy.population_size,
            survey=weights_shown(found.rows, policy.names("weight")),
            **more,
        )

    def shown(self, column: str) -> tuple[pl.Series, LongVector] | None:
        """Return the distinct texts of any published column, and how many rows show each. O(rows)."""
        own = self.sheet if column in self.sheet.columns else self.second
        if own is None or column not in own.columns:
            return None
        number, texts = Sheet.of(own).numbered(column, _as_texts)
        return texts, np.bincount(number, minlength=len(texts)).astype(np.int64)

    def kept_column(self, name: str) -> pl.Series | None:
        """Return what the published rows show in a column that is published as it is; None if it is not there."""
        return self.sheet[name] if name in self.sheet.columns else None

    @cached_property
    def readings(self) -> tuple[Evidence, ...]:
        """The release as it may have been made, in each possible way; the first is the case itself."""
        return (
            self,
            *(
                Evidence(
                    other,
                    self.table,
                    None,
                    self.k,
                    self.of_people,
                    self.claimed,
                    self.follow,
                    self.told_size,
                    self.survey,
                )
                for other in self.others
            ),
        )

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What every model of the policy says, and whether suppression stays within its limit."""
        verdicts = [
            self._of_public(model, self._without_whole(model) or self._verdict(model))
            for model in self.requirements.judged
        ]
        return (*verdicts, *self._suppression(), *self.perturbed.values())

    @property
    def suppressed(self) -> int | None:
        """How many rows were suppressed. None if the policy allows some, and nothing says how many were."""
        return None if self.requirements.suppression and not self.counted else self.published.suppressed

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
        hidden = model.about_classes and self.of_people and self.follow is None
        return replace(found, public=found.public and (complete or of_rows) and not hidden)

    @cached_property
    def perturbed(self) -> Mapping[str, Verdict]:
        """For each column that the policy perturbs: whether it shows what its rule can make of the true values, how
        many cells are false, and how far they are from the truth. Only columns of which something can be said.
        """
        found: dict[str, Verdict] = {}
        for name, way in self.policy.perturbed.items():
            if self.table is None or self.proposed or name not in self.sheet.columns:
                continue
            before = column_of(self.table, name)
            said = judged(before, retyped(self.sheet[name], before.dtype), self.owner, way)
            if said is not None:
                title = f"{name} {way.title}"
                found[name] = Verdict(
                    title, said.bound, said.reached, said.holds, said.detail, higher_is_safer=False
                )
        return found

    def meanings(self) -> tuple[str, ...]:
        """What each verdict means, in plain words."""
        models = [
            model.meaning(several=self.of_people, followed=self.follow is not None)
            for model in self.requirements.judged
        ]
        ways = [self.policy.perturbed[name].meaning for name in self.perturbed]
        others = len(self.verdicts) - len(models) - len(ways)
        return (*models, *[SUPPRESSION_MEANING] * others, *ways)

    def _without_whole(self, model: Model) -> Verdict | None:
        """Return that a model which compares classes with the whole table could not be checked, if rows may be missing:
        the published rows stand for the table only if nothing was suppressed.
        """
        complete = (self.record or {}).get("suppressed") == 0
        if not model.of_whole or self.table is not None or complete:
            return None
        why = "it compares classes with the whole table, and rows may have been suppressed; give the original"
        return model.unknown(self.published, why)

    def _verdict(self, model: Model) -> Verdict:
        """Return what a model says. A release that is not true of its original may fit no people at all: then nothing
        can be known, and the verdict about truth says why.
        """
        try:
            found = worst(answers(model.verify, (self,) if model.of_text else self.readings))
            if found.holds and model.needs_every_way and not self.complete:
                return model.unknown(self.published, TOO_MANY_WAYS)
            return found
        except DataError as error:
            if self.release is not None or self.truth is None or not self.truth.least:
                raise
            return model.unknown(self.published, str(error))

    @property
    def people(self) -> dict[str, Any]:
        """How many people the original has, of how many all rows were suppressed, and how many the smallest class has;
        the same for groups of people, such as households. Empty if every row is a person of its own, or if nobody can
        know.
        """
        table, person, rows = self.table, self.owners.person, self.owners.rows
        found: dict[str, Any] = {}
        if person is not None and not (table is None and self.follow is None):
            there = len(np.unique(person))
            people = there if table is None else table.people
            found = {
                "people": people,
                "people_suppressed": None if table is None and self.suppressed != 0 else people - there,
                "fewest_people": int(self.sizes.min()) if len(self.sizes) else 0,
                "followed": self.follow is not None,
            }
        if table is not None and rows is not None and table.units:
            found["groups_of_people"] = {
                unit.name: {
                    "count": unit.count,
                    "suppressed": unit.count - len(np.unique(unit.of[rows])),
                    "fewest": int(own.size.min(initial=unit.count)) if len(own) else 0,
                }
                for unit, own in zip(table.units, self.groups.units, strict=True)
            }
        return found

    @property
    def failing(self) -> list[Verdict]:
        """The verdicts that do not hold."""
        return [verdict for verdict in self.verdicts if not verdict.holds]

    @property
    def identifiers_removed(self) -> tuple[Verdict, ...]:
        """Whether the columns that name people are removed, if the policy names any, or hold pseudonyms, if it says so.

        It could not be checked if the release has columns to which the policy gives no role. Without the original and
        the record, pseudonyms cannot be distinguished from names: then neither.
        """
        identifiers = (*self.policy.names("identifier"), *self.policy.names("person"))
        left = {name: self._naming(name) for name in identifiers if name in self.sheet.columns}
        words = [f"{name}: {why}" if why else name for name, why in left.items() if why is not None]
        unsure = bool(words) and set(left.values()) <= {None, _names_or_pseudonyms()}
        reached, holds = (None, None) if unsure else (len(words), not words)
        unnamed = self.unnamed if self.policy.data.other_columns != "plain" else []
        if unnamed and holds is not False:
            reached, holds = None, None
            hint = f"give each a role, or decide for all: {setting('data.other_columns', 'plain')}"
            words.append(f"could not be checked: the policy gives no role to {', '.join(unnamed)}; {hint}")
        verdict = Verdict("identifiers removed", 0, reached, holds, "; ".join(words), public=True)
        return (verdict,) if identifiers else ()

    @property
    def unnamed(self) -> list[str]:
        """The published columns that the policy does not name, without those that Shoal adds."""
        columns, named = self.sheet.columns, self.policy.columns
        ends = {end for name in self.policy.names("quasi") for end in bounds_among(columns, name, named)}
        return [name for name in columns if name not in {*named, *ends, bucket_name(named)}]

    def _naming(self, name: str) -> str | None:
        """Return why a column names people, in words or empty; None if it holds pseudonyms."""
        if name not in self.policy.pseudonyms:
            return ""
        shown = self.sheet[name]
        if self.table is not None and self.table.named is not None:
            return betrayed(shown, self.table.named[name]) or None
        if self.record is None:
            return _names_or_pseudonyms()
        entry = recorded_section(self.record, "columns").get(name)
        if not isinstance(entry, dict) or entry.get("publish") != PSEUDONYM:
            return "by the record it was not published as pseudonyms"
        return None if of_our_form(shown) else "some cells are not pseudonyms of Shoal"

    @cached_property
    def following(self) -> tuple[str, ...]:
        """What a reader should know about rows that can be followed by pseudonyms. All of it is public."""
        published = self.published
        groups = published.part_of
        people = self.policy.people
        names = [name for name in self.policy.pseudonyms if name in self.sheet.columns and name not in people]
        told = [followed(self.sheet[name], groups).words() for name in names]
        if self.follow is not None:
            fewest = int(self.sizes.min(initial=published.rows)) if not self.owners.unknown else None
            told.append(people_followed(people, self.sheet, fewest))
        return tuple(told)

    @cached_property
    def truth(self) -> Truth | None:
        """How many published rows cover no original row of their own; None without the original. Where a release may
        have been made in several ways, it is false only if it is false in each of them, however unlikely.
        """
        if self.table is None:
            return None
        crowd, ways = self.crowd, self.policy.perturbed
        found = [
            truth_of(own.published, self.table, self.sheet, own.owner, crowd, ways) for own in self.readings
        ]
        if self.loosest is not None:
            found.append(truth_of(self.loosest, self.table, self.sheet, None, crowd, ways))
        return min(found, key=lambda truth: (truth.least, truth.invented, truth.most))

    @property
    def false_rows_allowed(self) -> int:
        """How many rows may be false: each has a false cell at least, and the policy may allow a share of cells."""
        if self.table is None:
            return 0
        budgets = false_shares(self.requirements.models)
        if not budgets and self.record is not None:
            made = recorded_method(self.record)
            budgets = [getattr(made, "budget", 0.0)] if made.false_cells.how else []
        elif not budgets and self._policy_relocates:
            budgets = [getattr(self.policy.build_method(), "budget", 0.0)]
        share = min(budgets, default=0.0)
        return int(np.floor(share * self.table.rows * len(self.table.attributes) + 1e-9))

    @property
    def _policy_relocates(self) -> bool:
        name = self.policy.method.name
        return name in METHODS and bool(METHODS[name].false_cells.how)

    @cached_property
    def truthful(self) -> tuple[Verdict, ...]:
        """Whether the release is true of the original, if that is known and the number of false rows can be decided.

        Where not everything can be compared, a release can be refuted, but not found true.
        """
        truth, allowed = self.truth, self.false_rows_allowed
        if truth is None or (truth.least <= allowed < truth.most and not truth.invented):
            return ()
        holds = truth.most <= allowed and not truth.invented
        if holds and truth.in_part:
            return ()
        return (Verdict("truthful", allowed, truth.least, holds, truth.words, higher_is_safer=False),)

    @property
    def truth_notes(self) -> list[str]:
        """What a reader should know about the comparison with the original."""
        truth = self.truth
        if truth is None:
            return []
        notes = []
        if self.record is None and self.release is None and self._policy_relocates and truth.least:
            notes.append(
                f"up to {self.false_rows_allowed:,} rows may be false by the policy; whether the method of the policy "
                "made this release is not known without its record"
            )
        unknown = [
            name
            for name in self.policy.perturbed
            if name in self.sheet.columns and name not in self.perturbed
        ]
        if unknown:
            notes.append(
                f"not judged: whether {', '.join(unknown)} shows what the policy permits. Only its maker knows whose "
                "each row is"
            )
        if truth.unlike:
            notes.append(
                f"columns that the release holds in another type were not compared: {', '.join(truth.unlike)}"
            )
        if truth.missing:
            notes.append(f"the release lacks columns of the original: {', '.join(truth.missing)}")
        removed = [name for role in REMOVED for name in self.policy.names(role)]
        known = (*self.original.shown_columns, *removed, bucket_name(self.original.taken))
        added = [name for name in self.sheet.columns if name not in known]
        if added:
            notes.append(
                f"the original lacks columns of the release, so they were not compared: {', '.join(added)}"
            )
        if not self.truthful and truth.in_part and truth.most <= self.false_rows_allowed:
            why = "some columns were not compared"
            if truth.shuffled:
                why = "each group of columns that was shuffled within buckets was compared by itself"
            notes.append(f"not judged: whether the release is truthful. It was not refuted, but {why}")
        elif not self.truthful:
            why = "classes overlap so much that the exact number takes too long"
            if truth.foreign:
                why = f"cells of {', '.join(truth.foreign)} are not in the hierarchies, so they may cover any value"
            notes.append(
                f"not judged: whether the release is truthful. Between {truth.least:,} and {truth.most:,} of its rows "
                f"cover no original row of their own: {why}"
            )
        return notes

    @property
    def classes_tell(self) -> bool:
        """Whether the size of an equivalence class says who can be found; not if rows are generalized separately, nor
        if columns were shuffled.
        """
        small = self.published.rows > 0 and self.published.sizes.min() < self.requirements.k
        return super().classes_tell and not (self.requirements.without_classes and small)

    @property
    def tells_levels(self) -> bool:
        """Whether the public may learn levels of generalization. Not if the data decides how many levels a hierarchy
        has: one person by themselves may have the longest value.
        """
        return not any(attribute.hierarchy.grown for attribute in self.original.attributes)

    @property
    def outside(self) -> Case:
        """The same release without its original: what public figures are computed from. It has the published rows and
        the policy, and neither the domains of the original nor how many rows were suppressed, nor what is estimated
        for a population.
        """
        plans = self.policy.plans(list(self.policy.columns), of_release=True)
        shown = replace(
            self.published,
            attributes=tuple(attribute_of(plan) for plan in plans if plan.role == "quasi"),
            low=None,
            high=None,
            sets=None,
            in_part=None,
            suppressed=0,
        )
        return replace(
            self,
            published=shown,
            table=None,
            owner=None,
            claimed=None,
            release=None,
            record=None,
            others=(),
            loosest=None,
            digest=None,
            crowd=None,
            told_size=None,
            survey=None,
        )

    @cached_property
    def measures(self) -> Mapping[str, float]:
        """The default measures that this release has."""
        return measure_all(self)

    def measured(self, extra: Sequence[str] = ()) -> dict[str, float]:
        """Return the default measures and those asked for by name."""
        return {**self.measures, **measure_all(self, extra)}

    @cached_property
    def losses(self) -> Mapping[str, float]:
        """The information loss (LM) of each quasi-identifier."""
        return per_column(MEASURES.default, self)


def _names_or_pseudonyms() -> str:
    """Say what shows whether a column holds names or pseudonyms."""
    sources = either(command="--original FILE or --record FILE", python="original or record")
    return f"could not be checked: only the original or the record shows whether these are pseudonyms; give {sources}"


def _as_texts(values: pl.Series) -> tuple[Codes, pl.Series]:
    """Number the texts of a column."""
    return coded_values(label_texts(values))


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
