"""From a release, made by any tool, and its original to the `Case` that is judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from shoal import io
from shoal.coding import CodedTable
from shoal.coding.population import check_size
from shoal.coding.roles import WEIGHT
from shoal.coding.survey_weights import weights_shown
from shoal.errors import DataError
from shoal.io.sheet import Sheet
from shoal.judging.case import Case
from shoal.judging.linking.consistency import People
from shoal.judging.linking.origins import RECEIVED, MadeHere, Proposed, Recorded
from shoal.judging.linking.persons import RowIsPerson, find_persons
from shoal.judging.models.requirements import Requirements
from shoal.policy import Policy
from shoal.release import Release
from shoal.release.pseudonyms import pseudonym_numbers
from shoal.release.read_published import read_back
from shoal.release.received.read_buckets import NO_OTHERS
from shoal.release.received.read_earlier import encode_whole
from shoal.release.received.read_record import check_original, read_owners, read_record
from shoal.release.received.read_release import as_published, convert_types, read_release
from shoal.release.render import Rendered, render
from shoal.release.results import Clock, Result
from shoal.support.machine.threads import PIECE, Ahead
from shoal.support.run import Progress, silent


def domain_sizes(table: CodedTable) -> tuple[int, ...]:
    """Return how many values the domain of each quasi-identifier has. A population can only add some, so equal numbers
    mean equal domains."""
    return tuple(attribute.hierarchy.size for attribute in table.attributes)


def read_proposal(
    policy: Policy,
    table: CodedTable,
    release: Release,
    *,
    requirements: Requirements | None = None,
    record: Mapping[str, Any] | None = None,
    digest: str | None = None,
) -> Case:
    """Render what a method proposes, and read the rows back. Verdicts are those of the rows. O(rows x columns).

    `requirements` are those of the policy, if they have been resolved already.
    """
    requirements = policy.requirements(table.sensitive) if requirements is None else requirements
    rendered = render(table, release)
    origin = Proposed(release, rendered.owner, record)
    return _read_back(policy, table, requirements, origin, rendered, digest)


def read_made(
    policy: Policy, table: CodedTable, release: Release, rendered: Rendered, requirements: Requirements
) -> Case:
    """Read the rows of a release as they came back from a file or a frame. O(rows x columns)."""
    return _read_back(policy, table, requirements, MadeHere(release, rendered.owner), rendered)


def _read_back(
    policy: Policy,
    table: CodedTable,
    requirements: Requirements,
    origin: MadeHere,
    rendered: Rendered,
    digest: str | None = None,
) -> Case:
    return _with_policy(
        policy,
        requirements,
        rendered.sheet,
        published=read_back(table, origin.release, rendered),
        table=table,
        origin=origin,
        second=rendered.second,
        notes=(),
        other_readings=NO_OTHERS,
        digest=digest,
    )


def _with_policy(policy: Policy, requirements: Requirements, sheet: Sheet, **known: Any) -> Case:
    """Return a case with what the policy says about people and the population."""
    weights = policy.names(WEIGHT)
    return Case(
        policy=policy,
        requirements=requirements,
        sheet=sheet,
        k=requirements.k,
        persons=find_persons(pseudonym_numbers(sheet, policy.people))
        if requirements.people
        else RowIsPerson(),
        told_size=policy.population_size,
        survey=weights_shown(sheet, weights) if weights else None,
        **known,
    )


@dataclass(frozen=True, eq=False)
class Received:
    """A release that any tool made, and what is known of it: paths or frames."""

    release: Any
    """Also a `Result` of this original, which knows the owner of each row."""
    original: Any = None
    second: Any = None
    """The second table of a release in two."""
    population: Any = None
    suppressed_as: str | None = None
    """The text that rows show in every quasi-identifier if another tool marks suppressed rows so."""
    record: Any = None
    """The private record of the run that made the release: it says how the release was made."""
    earlier: Sequence[Any] | None = None
    """Earlier releases of the same people, instead of those that the policy names."""


def read_case(
    received: Received, policy: Policy, clock: Clock | None = None, progress: Progress = silent
) -> Case:
    """Read a release and, if it is given, its original."""
    source, original = received.release, received.original
    clock = Clock() if clock is None else clock
    progress("read", 0.0)
    with clock("read"):
        before = None if original is None else io.read(policy.source(original), policy.read_options())
        delimiter = None if before is None else before.options.delimiter
        own = isinstance(source, Result)
        record = read_record(source.record if own and received.record is None else received.record)
        rows = None if own else read_release(source, received.second, policy, delimiter=delimiter)
    progress("encode", 0.1)
    with clock("encode"):
        table, digest = None, None
        if before is not None:
            table = encode_whole(before, policy, received.population, received.earlier)
            digest = before.digest
        if rows is None and table is not None and source.domains not in ((), domain_sizes(table)):
            # A population that the release was not made with has further values, so its codes mean others here.
            rows = read_release(source.table, source.second, policy, delimiter=delimiter)
        if rows is None:
            return read_result(source, policy, table, record, digest)
        crowd = None
        if table is not None and table.rows > PIECE:  # while the rows of the release are numbered
            crowd = Ahead(partial(People.in_table, table))
        if record is not None and table is not None:
            check_original(record, table.rows, digest)
        found = replace(received, release=rows[0], record=record)
        return read_rows(found, policy, table, in_two=rows[1], digest=digest, crowd=crowd)


def read_result(
    result: Result,
    policy: Policy,
    table: CodedTable | None,
    record: Mapping[str, Any] | None,
    digest: str | None,
) -> Case:
    """Read what `anonymize` made of this table."""
    if table is None:
        raise DataError("give the table that the result was made from, too")
    if len(result.release.region_of) != table.rows:
        raise DataError(
            f"the result was made from {len(result.release.region_of):,} rows, but the original has "
            f"{table.rows:,}: give the table that it was made from"
        )
    return read_proposal(policy, table, result.release, record=record, digest=digest)


def read_rows(
    received: Received,
    policy: Policy,
    table: CodedTable | None,
    *,
    in_two: bool = False,
    digest: str | None = None,
    crowd: Callable[[], People] | None = None,
) -> Case:
    """Judge the rows of a release, with its record as it was read; see `as_published`."""
    record = received.record
    shown = convert_types(Sheet.of(received.release), policy, table)
    found = as_published(
        shown, policy, table, in_two=in_two, suppressed_as=received.suppressed_as, record=record
    )
    requirements = policy.requirements(found.published.sensitive)
    if table is None and policy.population_size is not None and not requirements.people:
        check_size(policy.population_size, found.published.rows)
    return _with_policy(
        policy,
        requirements,
        found.rows,
        published=found.published,
        table=table,
        origin=RECEIVED if record is None else Recorded(record, read_owners(record)),
        notes=found.notes,
        other_readings=found.other_readings,
        digest=digest,
        crowd=crowd,
    )
