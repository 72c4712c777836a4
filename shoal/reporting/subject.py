"""`Subject`: what a report is about, read once: the original, the release as an outsider sees it, and its papers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from shoal import frames
from shoal.auditing import as_published, measure, read_release, verify
from shoal.errors import DataError, PolicyError
from shoal.linking.evidence import Evidence
from shoal.models.requirements import Requirements
from shoal.policy import Policy
from shoal.policy.encoding import encode_with_population
from shoal.release.published import Published
from shoal.release.results import Result
from shoal.release.verdict import Verdict
from shoal.reporting.gate import Gate
from shoal.run import Progress
from shoal.table import CodedTable


@dataclass(frozen=True, eq=False, kw_only=True)
class Subject:
    """A release, its original and its policy, as sections of a report need them."""

    policy: Policy
    table: CodedTable
    evidence: Evidence
    requirements: Requirements
    verdicts: tuple[Verdict, ...]
    meanings: tuple[str, ...]
    """What each verdict means, in plain words."""
    measures: Mapping[str, float]
    losses: Mapping[str, float]
    record: Mapping[str, Any] | None
    """The run record, where there is one: how the release was made."""
    made_here: bool
    """Whose row is whose is known, since the release was made in this process."""
    gate: Gate
    name: str
    """What the release is called."""
    plain: Mapping[str, pl.Series] = field(default_factory=dict)
    """The plain columns as they are published."""
    notes: tuple[str, ...] = ()
    digest: str | None = None

    @property
    def published(self) -> Published:
        """The release as an outsider sees it."""
        return self.evidence.published

    @property
    def made_by(self) -> Policy | None:
        """The policy of the run that made the release, if it is known."""
        if self.record is None:
            return None
        try:
            return Policy.from_toml(self.record["policy"], self.policy.base)
        except PolicyError:  # its hierarchies may lie elsewhere by now
            return None

    @property
    def has_classes(self) -> bool:
        """The size of a class tells who can be found: rows have no cells of their own, and nothing was shuffled."""
        small = self.published.rows > 0 and self.published.sizes.min() < self.requirements.k
        return self.published.bucket_of is None and not (self.requirements.without_classes and small)

    @property
    def seeded(self) -> bool:
        """The random choices of the release can be repeated: it is not for publication."""
        return self.record is not None and not self.record.get("for_publication", True)


def read_subject(
    source: Any,
    policy: Policy,
    original: Any,
    *,
    record: Any,
    population: Any,
    second: Any,
    public: bool,
    progress: Progress,
) -> Subject:
    """Read and judge a release: a file, a frame or a `Result`. O(rows)."""
    progress("read", 0.0)
    before = frames.read(original, policy.read_options())
    rows, in_two = (None, False) if isinstance(source, Result) else read_release(source, second, policy)
    progress("encode", 0.1)
    table = encode_with_population(before, policy, population)
    notes: list[str] = []
    if rows is None:
        evidence = _own(source, table)
        rows = pl.DataFrame()
    else:
        published, notes = as_published(rows, policy, table, in_buckets=in_two)
        evidence = Evidence(published, table)
    published = evidence.published
    requirements = policy.requirements([attribute.name for attribute in published.sensitive])
    evidence = replace(evidence, k=requirements.k)
    papers = _record(source.record if record is None and isinstance(source, Result) else record)
    _fits(papers, table, before.digest)
    progress("verify", 0.2)
    verdicts = list(verify(evidence, requirements))
    meanings = [model.summary for model in requirements.models]
    meanings += ["how many rows were left out because they could not be made safe"] * (
        len(verdicts) - len(meanings)
    )
    left = [name for name in policy.names("identifier") if name in rows.columns]
    if policy.names("identifier"):
        verdicts.append(Verdict("identifiers removed", 0, len(left), not left, public=True))
        meanings.append("no column of the release names people outright")
    secret = {attribute.name for attribute in table.sensitive}
    names = [name for name in table.kept.columns if name not in secret]
    if evidence.owner is not None:
        plain = {name: table.kept[name].gather(evidence.owner) for name in names}
    else:
        plain = {name: rows[name] for name in names if name in rows.columns}
    return Subject(
        policy=policy,
        table=table,
        evidence=evidence,
        requirements=requirements,
        verdicts=tuple(verdicts),
        meanings=tuple(meanings),
        **measure(evidence, requirements),
        record=papers,
        made_here=isinstance(source, Result),
        gate=Gate.of(requirements, public=public, left_out=published.suppressed),
        name=Path(source).name if isinstance(source, str | Path) else "the release",
        plain=plain,
        notes=(*notes, *(source.notes if isinstance(source, Result) else ())),
        digest=before.digest,
    )


def _own(result: Result, table: CodedTable) -> Evidence:
    if len(result.release.region_of) != table.rows:
        raise DataError(
            f"the result was made from {len(result.release.region_of):,} rows, but the original has "
            f"{table.rows:,}: give the table that it was made from"
        )
    return Evidence.of_release(table, result.release)


def _record(given: Any) -> Mapping[str, Any] | None:
    """Read the private record of a run: a mapping, or the path of one."""
    if given is None:
        return None
    found = given
    if not isinstance(given, Mapping):
        try:
            found = json.loads(Path(given).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise DataError(
                f"there is no record {given}: `shoal anonymize --record FILE` writes one"
            ) from None
        except (OSError, ValueError) as error:
            raise DataError(f"{given} cannot be read as a record: {error}") from None
    wanted = ("policy", "method", "seed", "input")
    if not isinstance(found, Mapping) or any(key not in found for key in wanted):
        raise DataError(
            "this is no record of a run: it lacks one of policy, method, seed, input; give what "
            "`shoal anonymize --record` wrote"
        )
    return found


def _fits(record: Mapping[str, Any] | None, table: CodedTable, digest: str | None) -> None:
    """A record of another table would make the report tell untruths."""
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
