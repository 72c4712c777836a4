"""`Subject`: what a report is about, read once: the original, the release as an outsider sees it, and its record."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from shoal.case import Case
from shoal.errors import DataError, PolicyError
from shoal.policy import Policy
from shoal.release.results import Result
from shoal.release.verdict import Verdict
from shoal.reporting.gate import Gate
from shoal.table import CodedTable
from shoal.wording import either

SUPPRESSION = "how many rows were suppressed because they could not be made safe"
TRUTH = "how many rows are false: they cover nobody, or only people whom other rows need"
IDENTIFIERS = "no column of the release names people directly"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Subject(Case):
    """A case with its original, its record and the edition of the report."""

    table: CodedTable
    public: bool
    """The edition that is written: public, or private."""
    name: str
    """The name of the release."""
    record: Mapping[str, Any] | None
    """The run record, if there is one: how the release was made."""
    run_notes: tuple[str, ...] = ()
    """Notes of the run that made the release."""

    @cached_property
    def gate(self) -> Gate:
        """What the edition may show."""
        return Gate.of(self.requirements, public=self.public, left_out=self.published.suppressed)

    @cached_property
    def judged(self) -> tuple[tuple[Verdict, str], ...]:
        """Each verdict with what it means in plain words."""
        meanings = [model.summary for model in self.requirements.judged]
        meanings += [SUPPRESSION] * (len(self.verdicts) - len(meanings))
        meanings += [TRUTH] * len(self.truthful) + [IDENTIFIERS] * len(self.identifiers_removed)
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
    subject = Subject.read(
        source,
        policy,
        name=Path(source).name if isinstance(source, str | Path) else "the release",
        record=_record(source.record if record is None and own else record),
        run_notes=source.notes if own else (),
        **more,
    )
    _check_record(subject.record, subject.table, subject.digest)
    return subject


def _record(given: Any) -> Mapping[str, Any] | None:
    """Read the private record of a run: a mapping, or the path of one."""
    if given is None:
        return None
    found = given
    if not isinstance(given, Mapping):
        try:
            found = json.loads(Path(given).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise DataError(f"the record {given} does not exist: {_source()}") from None
        except (OSError, ValueError) as error:
            raise DataError(f"{given} cannot be read as a record: {error}") from None
    wanted = ("policy", "method", "seed", "input")
    if not isinstance(found, Mapping) or any(key not in found for key in wanted):
        raise DataError(
            f"this is not a record of a run: it lacks one of policy, method, seed, input; {_source()}"
        )
    return found


def _source() -> str:
    """Say where records come from."""
    return either(
        command="`shoal anonymize --record FILE` writes one",
        python="`record` of what `shoal.anonymize` returns is one",
    )


def _check_record(record: Mapping[str, Any] | None, table: CodedTable, digest: str | None) -> None:
    """Refuse the record of another table, which would make the report false."""
    if record is None:
        return
    made = record["input"]
    if made.get("rows") != table.rows:
        raise DataError(
            f"the record is about a table of {made.get('rows'):,} rows, but the original has {table.rows:,}: "
            "give the record of this release"
        )
    if digest and made.get("sha256") and made["sha256"] != digest:
        raise DataError(
            "the record is about another file: the original's SHA-256 differs from the one in the record"
        )
