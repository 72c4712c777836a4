"""`Subject`: what a report is about, read once: the original, the release as an outsider sees it, and its record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from shoal.coding import CodedTable
from shoal.documents.report.gate import Gate
from shoal.errors import PolicyError
from shoal.judging.case import Case
from shoal.judging.models.threats import SINGLING_OUT
from shoal.policy import Policy
from shoal.release.received.read_record import read_record
from shoal.release.results import Result
from shoal.release.verdict import Verdict

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
    def largest_risk(self) -> float | None:
        """The largest chance to find a person that the requirements allow, if they limit it and hold; else None."""
        k = self.requirements.k
        judged = zip(self.verdicts, self.requirements.judged, strict=False)
        held = all(verdict.holds for verdict, model in judged if model.threat == SINGLING_OUT)
        return 1 / k if k > 1 and held else None

    @cached_property
    def judged(self) -> tuple[tuple[Verdict, str], ...]:
        """Each verdict with what it means in plain words."""
        meanings = [
            *self.meanings(),
            *[TRUTH] * len(self.truthful),
            *[IDENTIFIERS] * len(self.identifiers_removed),
        ]
        verdicts = (*self.verdicts, *self.truthful, *self.identifiers_removed)
        return tuple(zip(verdicts, meanings, strict=True))

    @cached_property
    def plain(self) -> Mapping[str, pl.Series]:
        """The plain columns as they are published."""
        secret = {attribute.name for attribute in self.table.sensitive}
        names = [name for name in self.table.kept.columns if name not in secret]
        return {name: self.rows[name] for name in names if name in self.rows.columns}

    @cached_property
    def made_by(self) -> Policy | None:
        """The policy of the run that made the release, if it is known."""
        if self.record is None:
            return None
        try:
            return Policy.from_toml(self.record["policy"], self.policy.base)
        except PolicyError:  # its hierarchies may lie elsewhere by now
            return None

    @property
    def seeded(self) -> bool:
        """The random choices of the release can be repeated: it is not for publication."""
        return self.record is not None and not self.record.get("for_publication", True)


def read_subject(source: Any, policy: Policy, *, record: Any, **more: Any) -> Subject:
    """Read a release, a file, a frame or a `Result`, with its record; `more` goes to `Case.read`. O(rows)."""
    own = isinstance(source, Result)
    return Subject.read(
        source,
        policy,
        name=Path(source).name if isinstance(source, str | Path) else "the release",
        record=record,
        run_notes=source.notes if own else (),
        **more,
    )


def subject_of(result: Result, policy: Policy, table: CodedTable, digest: str | None) -> Subject:
    """Return the subject of a release that was made just now, of a table that is coded already. O(rows)."""
    return Subject.of_result(
        result, policy, table, name="the release", run_notes=result.notes,
        record=read_record(result.record), digest=digest,
    )  # fmt: skip
