"""Earlier releases of the same people, read for what they leave open together with the next one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal import io
from shoal.coding import Attribute, CodedTable, Context
from shoal.coding.columns import Columns
from shoal.coding.counting import ByOwners
from shoal.coding.encode import count_nameless_cells, encode
from shoal.errors import DataError, PolicyError
from shoal.io import Frame, factorize
from shoal.judging.linking.owners import Owners, confirm_record, match_owners
from shoal.judging.linking.series import Earlier, Issue, Known, find_covered_rows, issue_of
from shoal.policy import Policy
from shoal.policy.encode_table import encode_with_population
from shoal.release.bounds import bounds_among
from shoal.release.published import Published
from shoal.release.published_types import without_fraction
from shoal.release.read_published import PublishedColumns, read_published
from shoal.release.received.read_record import check_original, check_release, read_owners, read_record
from shoal.release.received.read_release import convert_types, read_release
from shoal.release.render import bucket_name
from shoal.release.results import Result
from shoal.support.arrays import IntMatrix, LongVector
from shoal.support.brief import Brief
from shoal.support.wording import either

MOST = 60
"""Earlier releases that can be intersected: which of them a person is in is kept in the bits of one number."""

NO_PERSON = (
    "no column names people: give the person ID column the role person, or ask about the adversary some"
)


@dataclass(frozen=True, eq=False)
class Given:
    """An earlier release and, if known, what it was made from: paths or frames."""

    release: Any
    original: Any = None
    record: Any = None

    @classmethod
    def of(cls, given: Any) -> Given:
        """Return an earlier release that is given as a path or frame, as what `anonymize` returned, or as a mapping of
        these by name.
        """
        if isinstance(given, Mapping):
            unknown = set(given) - {"release", "original", "record"}
            if unknown or "release" not in given:
                what = f"has '{sorted(map(str, unknown))[0]}'" if unknown else "names no release"
                raise DataError(
                    f"an earlier release {what}: give its path or frame, or a table with release, original and record"
                )
            inner = cls.of(given["release"])
            return cls(inner.release, given.get("original"), given.get("record", inner.record))
        if isinstance(given, Result):
            return cls(given.table, None, given.record)
        return cls(given)

    def name_in_messages(self, number: int) -> str:
        """Return what messages call it."""
        if isinstance(self.release, str | Path):
            return f"the earlier release {self.release}"
        return f"earlier release {number}"


def encode_whole(
    frame: Frame, policy: Policy, population: Any = None, earlier: Sequence[Any] | None = None
) -> CodedTable:
    """Code a table, with the population and the earlier releases that the policy names, if any. `earlier` takes the
    place of those of the policy.
    """
    table = encode_with_population(frame, policy, population)
    given = policy.earlier if earlier is None else earlier
    return table.with_context(earlier=read_earlier(frame, policy, table, given)) if given else table


def read_earlier(frame: Frame, policy: Policy, table: CodedTable, given: Sequence[Any]) -> Earlier:
    """Read earlier releases of the people of a table: who may be in them, and what they show. O(rows x columns) each.

    Raises DataError if one is of another table, or if nobody can tell whose its rows are although the policy counts
    people.
    """
    given = [Given.of(one) for one in given]
    names = [one.name_in_messages(number) for number, one in enumerate(given, 1)]
    _check_intersection(len(given), frame, policy, table)
    whose = policy.people
    originals = _read_originals(given, names, policy)
    tables = [one for one in originals if one is not None]
    attributes, codes = _code_originals(frame, tables, table, policy)
    persons, people = _persons(frame, tables, whose)
    lasting = _find_lasting(table, policy)
    texts: list[dict[str, int]] = [{} for _ in lasting]
    domain = replace(table, quasi=table.quasi.with_attributes(attributes))
    issues: list[Issue] = []
    strangers = 1 + max((int(one.max(initial=0)) for one in persons), default=0)
    at, absent = 0, np.zeros(people, np.bool_)
    for one, name, original in zip(given, names, originals, strict=True):
        at += original is not None
        # Without a column for it, nobody can tell which rows of another table are the same people's.
        own = at if original is not None and whose else 0
        reader = _Reader(name, policy, domain, lasting, texts)
        published, values, columns = reader.read_published(one, None if original is None else original.rows)
        record = _record(one, original, published.rows, columns, name)
        issue = reader.issue(published, values, _Rows(original, codes[own], persons[own]), record, strangers)
        if not len(np.intersect1d(issue.person, persons[0])):
            raise DataError(
                f"{name}: nobody of the table can be in it. Check that it is of the same people, with the same columns "
                "and hierarchies"
            )
        seen = np.zeros(people, np.bool_)
        seen[issue.person[issue.person < people]] = True
        absent |= ~seen
        strangers += published.rows
        issues.append(issue)
    return Earlier(tuple(issues), persons[0], people, lasting, int(absent.sum()), _notes(whose))


def _check_intersection(releases: int, frame: Frame, policy: Policy, table: CodedTable) -> None:
    """Reject what earlier releases cannot be intersected with."""
    if releases > MOST:
        raise DataError(f"{releases:,} earlier releases are given; at most {MOST} can be intersected")
    if policy.pseudonyms:
        raise DataError(
            "earlier releases cannot be intersected with one whose rows can be followed by pseudonyms: who recognises "
            "one row has all of them"
        )
    if policy.groups:
        raise DataError(
            f"earlier releases cannot be intersected where guarantees count a {policy.groups[0]}, too: only people are "
            "followed from one release to the next"
        )
    if table.context.population is not None and table.rows != frame.rows:
        raise DataError("earlier releases cannot be read where a column of the table says who is in it")


def _read_originals(given: Sequence[Given], names: Sequence[str], policy: Policy) -> list[Frame | None]:
    """Read what the releases were made from; all of it is needed if the policy counts people."""
    originals = [_original(one, policy, name) for one, name in zip(given, names, strict=True)]
    missing = [name for name, one in zip(names, originals, strict=True) if one is None]
    if policy.people and missing:
        raise DataError(
            f"{missing[0]}: the policy counts people ({', '.join(policy.people)}), and only the original of that "
            "release says whose its rows are: give it, "
            + either(command="with --earlier-original FILE", python='as {"release": .., "original": ..}')
            + ", or in the policy"
        )
    return originals


def _notes(whose: Sequence[str]) -> tuple[str, ...]:
    if whose:
        return ()
    return (
        "no column says whose each row is, so everybody whose quasi-identifiers match a row of an earlier release "
        "counts as being in it; people whose quasi-identifiers have changed since are not recognised",
    )


def _format_problems(error: PolicyError) -> str:
    """Return the problems of a table in a line."""
    return "; ".join(f"{problem.path}: {problem.message}" for problem in error.problems)


def _original(given: Given, policy: Policy, name: str) -> Frame | None:
    if given.original is None:
        return None
    found = io.read(given.original, policy.read_options())
    try:
        policy.plans(found.columns)
    except PolicyError as error:
        raise DataError(f"the original of {name} is another table: {_format_problems(error)}") from None
    return found


def _record(
    given: Given, original: Frame | None, rows: int, columns: Sequence[str], name: str
) -> Mapping[str, Any] | None:
    told = read_record(given.record)
    if told is None:
        return None
    try:
        if original is not None:
            check_original(told, original.rows, original.digest)
        check_release(told, rows, columns)
    except DataError as error:
        raise DataError(f"{name}: {error}") from None
    return told


def _stack_columns(parts: Sequence[pl.Series]) -> pl.Series:
    """Put columns below each other, as text where their types differ."""
    kinds = {part.dtype for part in parts}
    if len(kinds) > 1 and not all(kind.is_numeric() for kind in kinds):
        parts = [part.cast(pl.String) for part in parts]
    return pl.concat([part.alias("x").to_frame() for part in parts], how="vertical_relaxed").to_series()


def _code_originals(
    frame: Frame, others: Sequence[Frame], table: CodedTable, policy: Policy
) -> tuple[tuple[Attribute, ...], list[IntMatrix]]:
    """Code the quasi-identifiers of all originals with the same hierarchies."""
    if not others:
        return table.attributes, [table.quasi.wide]
    wanted = [attribute.name for attribute in table.attributes]
    plans = [plan for plan in policy.plans(frame.columns) if plan.name in wanted]
    together = {name: _stack_columns([one.column(name) for one in (frame, *others)]) for name in wanted}
    coded = encode(pl.DataFrame(together), plans)
    ends = np.cumsum([one.rows for one in (frame, *others)])[:-1]
    return coded.attributes, [np.asfortranarray(part) for part in np.split(coded.quasi.wide, ends)]


def _persons(frame: Frame, others: Sequence[Frame], whose: Sequence[str]) -> tuple[list[LongVector], int]:
    """Number the people of all originals, those of the table first; without a column for them, each row of the table is
    a person, and nobody can tell who the others are.
    """
    from shoal.kernels.grouping import distinct

    if not whose:
        return [np.arange(frame.rows, dtype=np.int64) for _ in (frame, *others)], frame.rows
    numbers = np.empty((sum(one.rows for one in (frame, *others)), len(whose)), np.int32, order="F")
    for j, name in enumerate(whose):
        for one in others:
            nobody = count_nameless_cells(one.column(name))
            if nobody:
                raise DataError(
                    f"column '{name}' says whose a row is, but it is empty in {nobody:,} of {one.rows:,} rows of an "
                    "earlier original"
                )
        numbers[:, j] = factorize(_stack_columns([one.column(name) for one in (frame, *others)]))[0]
    number = distinct(numbers)[0].astype(np.int64)
    parts = np.split(number, np.cumsum([one.rows for one in (frame, *others)])[:-1])
    return parts, int(parts[0].max(initial=-1)) + 1


def _find_lasting(table: CodedTable, policy: Policy) -> tuple[int, ...]:
    """Return the sensitive columns whose values stay the same for a person: all, unless the policy names them."""
    wanted = policy.privacy.lasting
    return tuple(j for j, one in enumerate(table.sensitive) if wanted is None or one.name in wanted)


@dataclass(frozen=True, eq=False, repr=False)
class _Rows(Brief):
    """The rows that people are known by: those of the original of a release, or of the table."""

    original: Frame | None
    """What the release was made from, if it is known."""
    codes: IntMatrix
    """Of the quasi-identifiers."""
    person: LongVector


@dataclass(frozen=True, eq=False)
class _Reader:
    """Reads one earlier release."""

    name: str
    policy: Policy
    domain: CodedTable
    """The table, with the hierarchies over the values of all originals."""
    lasting: tuple[int, ...]
    texts: list[dict[str, int]]
    """Values that the table does not have, per lasting column."""

    def read_published(self, given: Given, most: int | None) -> tuple[Published, IntMatrix, list[str]]:
        """Read the rows of the release, the codes of their sensitive values, and the names of its columns."""
        policy = self.policy
        try:
            rows, in_two = read_release(given.release, None, policy)
            policy.plans(rows.columns, of_release=True)
        except PolicyError as error:
            raise DataError(f"{self.name} is of another table: {_format_problems(error)}") from None
        if in_two or bucket_name(self.domain.taken) in rows.columns:
            raise DataError(
                f"{self.name}: its values were shuffled within buckets, and only releases by classes can be intersected"
            )
        if most is not None and len(rows) > most:
            raise DataError(f"{self.name} has {len(rows):,} rows, more than the {most:,} of its original")
        rows = convert_types(rows, policy, self.domain)
        codes = np.empty((len(rows), len(self.domain.sensitive)), np.int32, order="F")
        for j, attribute in enumerate(self.domain.sensitive):
            codes[:, j] = self._codes(rows[attribute.name], j, attribute)
        attributes = self.domain.attributes
        bounds = {
            a.name: bounds_among(rows.columns, a.name, (*policy.columns, *self.domain.taken))
            for a in attributes
        }
        columns = PublishedColumns(attributes, self.domain.sensitive, bounds=bounds)
        published, unknown = read_published(rows, columns, codes, (most or len(rows)) - len(rows))
        if unknown:
            faults = {name: published.faults_of(name) for name in unknown}
            lost = {name: max(own.above + own.unread, 1) for name, own in faults.items()}
            cells = ", ".join(f"{many:,} cells of `{name}`" for name, many in lost.items())
            raise DataError(
                f"{self.name}: {cells} are not in the hierarchies of the policy, so Shoal cannot tell what they cover. "
                "It must be of the same table, made with the same hierarchies; if people have left since, give its "
                "original as well"
            )
        return published, codes, rows.columns

    def _codes(self, column: pl.Series, j: int, attribute: Attribute) -> LongVector:
        """Code sensitive values: those of the table as in the table, others by their text."""
        places, values = factorize(column)
        tree = attribute.hierarchy
        found = tree.locate(values).astype(np.int64)
        if (found < 0).any():
            low, high, known = tree.read(values)
            found = np.where((found < 0) & known & (low == high), low, found)
        for at in np.flatnonzero(found < 0):
            text = without_fraction(values[int(at) : int(at) + 1])[0]
            place = self.lasting.index(j) if j in self.lasting else -1
            others = self.texts[place] if place >= 0 else {}
            found[at] = tree.size + others.setdefault(str(text), len(others))
        coded: LongVector = found[places]
        return coded

    def issue(
        self,
        published: Published,
        codes: IntMatrix,
        of: _Rows,
        record: Mapping[str, Any] | None,
        strangers: int,
    ) -> Issue:
        """Find who may be in the release, by the rows that people are known by."""
        matches = find_covered_rows(self.domain.attributes, of.codes, published)
        owners = Owners(unknown="" if self.policy.people else NO_PERSON)
        rows = np.ones(len(of.codes), np.bool_)
        if self.policy.people and of.original is not None:
            original, person = of.original, of.person
            values = np.empty((original.rows, codes.shape[1]), np.int32, order="F")
            for j, attribute in enumerate(self.domain.sensitive):
                values[:, j] = self._codes(original.column(attribute.name), j, attribute)
            secrets = Columns.of(self.domain.sensitive, values)
            table = replace(
                self.domain,
                quasi=Columns.of(self.domain.attributes, of.codes),
                secrets=secrets,
                countings=(ByOwners.of(secrets, person.astype(np.int32)),),
                context=Context(),
            )
            claimed = None if record is None else read_owners(record)
            owners = (
                match_owners(published, table)
                if claimed is None
                else confirm_record(published, table, claimed)
            )
            if owners.person is not None:
                rows = np.isin(person, owners.person)
                if claimed is not None:
                    rows = np.zeros(len(person), np.bool_)
                    rows[claimed] = True
            elif len(np.unique(person)) < len(person):
                raise DataError(
                    f"{self.name}: people cannot be counted, because {owners.unknown}. Give the private record of "
                    "the run that made it, "
                    + either(command="with --earlier-record FILE", python='as {"release": .., "record": ..}')
                    + ", or in the policy"
                )
        lasting = np.asfortranarray(codes[:, list(self.lasting)])
        return issue_of(self.name, published, lasting, Known(of.person, matches, rows), owners, strangers)
