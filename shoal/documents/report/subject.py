"""`Subject`: what a report is about, read once: the original, the release as an outsider sees it, and its record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path

import polars as pl

from shoal.coding import CodedTable
from shoal.documents.report.gate import Gate
from shoal.errors import PolicyError
from shoal.judging.case import Case
from shoal.judging.identifier_columns import check_identifiers
from shoal.judging.models.requirements import Requirements
from shoal.judging.models.threats import RE_IDENTIFICATION, Threat
from shoal.judging.read_case import Received, read_case, read_result
from shoal.policy import Policy
from shoal.release.received.read_record import read_record
from shoal.release.results import Clock, Result
from shoal.release.verdict import Verdict
from shoal.support.run import Progress, silent

TRUTH = "how many rows are false: they cover nobody, or only people whom other rows need"
IDENTIFIERS = "no column of the release names people directly"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Subject(Case):
    """A case with its original, its record and the edition of the report."""

    table: CodedTable
    name: str
    """The name of the release."""
    run_notes: tuple[str, ...] = ()
    """Notes of the run that made the release."""

    @cached_property
    def gate(self) -> Gate:
        """How charts of the private edition join values."""
        return Gate.of(self.requirements, public=False)

    @cached_property
    def verdicts_with_meanings(self) -> tuple[tuple[Verdict, str], ...]:
        """Each verdict with what it means in plain words."""
        identifiers = check_identifiers(self)
        meanings = [
            *self.meanings(),
            *[TRUTH] * len(self.truthfulness.verdicts),
            *[IDENTIFIERS] * len(identifiers),
        ]
        verdicts = (*self.verdicts, *self.truthfulness.verdicts, *identifiers)
        return tuple(zip(verdicts, meanings, strict=True))

    @cached_property
    def largest_risk(self) -> float | None:
        """The largest chance to find a person that the policy allows."""
        return risk_allowed(self.requirements, self.verdicts_with_meanings)

    @cached_property
    def plain(self) -> Mapping[str, pl.Series]:
        """The plain columns as they are published."""
        secret = {attribute.name for attribute in self.table.sensitive}
        names = [name for name in self.table.kept.columns if name not in secret]
        return {name: self.rows[name] for name in names if name in self.rows.columns}

    @cached_property
    def policy_of_run(self) -> Policy | None:
        """The policy of the run that made the release, if it is known."""
        if self.origin.record is None:
            return None
        try:
            return Policy.from_toml(self.origin.record["policy"], self.policy.base)
        except PolicyError:  # its hierarchies may lie elsewhere by now
            return None

    @property
    def is_seeded(self) -> bool:
        """The random choices of the release can be repeated: it is not for publication."""
        record = self.origin.record
        return record is not None and not record.get("for_publication", True)


def of_threat(
    requirements: Requirements, judged: Sequence[tuple[Verdict, str]], threat: Threat
) -> list[tuple[Verdict, str]]:
    """Return the verdicts of the models about a threat, each with what it means. They come first among all."""
    return [
        own for own, model in zip(judged, requirements.all_models, strict=False) if model.threat == threat
    ]


def risk_allowed(requirements: Requirements, judged: Sequence[tuple[Verdict, str]]) -> float | None:
    """Return the largest chance to find a person that the requirements allow, if they limit it and hold; else None.

    They do not limit it for somebody who knows more columns than they say.
    """
    if requirements.known_sets is not None:
        return None
    held = all(verdict.holds for verdict, _ in of_threat(requirements, judged, RE_IDENTIFICATION))
    return 1 / requirements.k if requirements.k > 1 and held else None


def read_subject(
    received: Received, policy: Policy, clock: Clock | None = None, progress: Progress = silent
) -> Subject:
    """Read a release and its original. O(rows)."""
    source = received.release
    name = Path(source).name if isinstance(source, str | Path) else "the release"
    notes = source.notes if isinstance(source, Result) else ()
    return _subject(read_case(received, policy, clock, progress), name, notes)


def subject_of(result: Result, policy: Policy, table: CodedTable, digest: str | None) -> Subject:
    """Return the subject of a release that was made just now, of a table that is coded already. O(rows)."""
    case = read_result(result, policy, table, read_record(result.record), digest)
    return _subject(case, "the release", result.notes)


def _subject(case: Case, name: str, notes: tuple[str, ...]) -> Subject:
    own = {field.name: getattr(case, field.name) for field in fields(case)}
    return Subject(**own, name=name, run_notes=notes)
