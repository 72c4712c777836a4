"""From a file or frame, written by Shoal or by any other tool, to the rows of a release and to `Published`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from shoal import io
from shoal.coding import Attribute, CodedTable
from shoal.coding.column_plan import ColumnPlan
from shoal.coding.encode import encode
from shoal.coding.hierarchy import ROOT, Hierarchy, Level, build
from shoal.coding.hierarchy.kinds import parsed
from shoal.errors import DataError, PolicyError
from shoal.io.coded import Codes
from shoal.io.sheet import Sheet, coded_values
from shoal.io.type_inference import guess_numbers_and_dates
from shoal.methods import METHODS
from shoal.policy import Policy
from shoal.release.bounds import bounds_among
from shoal.release.published import Published
from shoal.release.published_types import retyped
from shoal.release.read_published import read_published, sensitive_codes
from shoal.release.received.read_record import check_buckets, check_release, recorded_method
from shoal.release.received.shuffled_columns import APART, Making, as_recorded, by_record, possible
from shoal.release.render import bucket_name
from shoal.release.two_tables import joined, second_beside
from shoal.support.arrays import BoolVector
from shoal.support.brief import Brief
from shoal.support.wording import either

MOST_WAYS = 4
"""A note lists so many ways in which a release may have been made, or one more; others are counted."""


def read_release(
    source: Any, second: Any, policy: Policy, *, delimiter: str | None = None
) -> tuple[Sheet, bool]:
    """Read the rows of a release, and return whether it is in two tables: then sensitive values are assigned to the
    rows of their bucket.

    Shoal reads a release in its own dialect, however the original was read; what another tool wrote is described by
    `[release]` of the policy. `delimiter` is the original's, if it is known. Text stays text.
    """
    options = policy.release_options(delimiter)
    rows = io.read(source, options).sheet()
    sensitive = policy.names("sensitive")
    if second is None:
        second = second_beside(source, rows.columns, sensitive)
    if second is None:
        return rows, False
    both = [name for name in sensitive if name in rows.columns]
    bucket = bucket_name(policy.columns)
    if both or bucket not in rows.columns:
        word = f"has the sensitive column '{both[0]}'" if both else f"has no column '{bucket}'"
        raise DataError(f"the first table {word}, so there is nothing to join a second table to")
    both_tables = joined(rows.whole(), io.read(second, options).data, bucket, sensitive)
    return Sheet.of(both_tables), True


def typed(rows: Sheet, policy: Policy, table: CodedTable | None) -> Sheet:
    """Return the rows of a release in the types of the original. Without it, only sensitive columns get types, because
    some models compare their values as numbers; a hierarchy that lists its values knows them as text.
    """
    if table is not None:
        types = {
            attribute.name: attribute.hierarchy.leaves.dtype
            for attribute in table.attributes
            if attribute.name in rows.columns
            and not _named(rows.cells[attribute.name].values, attribute.hierarchy)
        }
        for name, column in table.kept_columns.items():
            types[name] = column.dtype if isinstance(column, pl.Series) else column.values.dtype
        return rows.with_values(
            lambda shown: retyped(shown, types[shown.name]) if shown.name in types else shown
        )
    plans = policy.plans(rows.columns, of_release=True)
    guessed = [plan.name for plan in plans if plan.role == "sensitive" and not has_domain(plan)]
    return rows.with_values(
        lambda shown: (
            guess_numbers_and_dates(shown) if shown.name in guessed and shown.dtype == pl.String else shown
        )
    )


def _named(column: pl.Series, hierarchy: Hierarchy) -> bool:
    """Whether all cells are names in a hierarchy. Then they stay as they are: a name such as 2024-01-07 may be a whole
    day, not its midnight.
    """
    if column.dtype.is_nested():
        return True
    return bool(hierarchy.read(io.factorize(column)[1])[2].all())


@dataclass(frozen=True, eq=False, repr=False)
class Readings(Brief):
    """A release as an outsider reads it, in each of the ways in which it may have been made."""

    rows: Sheet
    """The rows, without those that count as suppressed."""
    published: Published
    """The first, which names the release and its parts."""
    others: tuple[Published, ...] = ()
    """Empty where it is known how the release was made. A release is judged by the worst of all."""
    complete: bool = True
    """As in `Ways`."""
    loosest: Published | None = None
    """As if each column had been shuffled by itself, if that may be: what is true of it is not refuted."""
    notes: tuple[str, ...] = ()
    """What a user should know about how it was read."""


def as_published(
    rows: Sheet,
    policy: Policy,
    table: CodedTable | None,
    *,
    in_two: bool = False,
    suppressed_as: str | None = None,
    record: Mapping[str, Any] | None = None,
) -> Readings:
    """Read `typed` rows as a release: with the hierarchies of the original, or those that the policy alone defines.

    `in_two` says that the release is in two tables. Rows that are there are rows; only if `suppressed_as` is given,
    those that show this text in every quasi-identifier count as suppressed.
    """
    plans = policy.plans(rows.columns, of_release=True)
    whole = table.rows if table is not None else len(rows)
    if len(rows) > whole:
        raise DataError(
            f"the release has {len(rows):,} rows, more than the {whole:,} of its original: check that it "
            "is the right one"
        )
    notes = []
    marked = _showing(rows, policy.names("quasi"), ROOT if suppressed_as is None else suppressed_as)
    if suppressed_as is not None:
        rows = Sheet.of(rows.whole().filter(~marked)) if marked.any() else rows
    elif marked.any():
        notes.append(
            f"{marked.sum():,} rows show {ROOT} in every quasi-identifier; they count as rows of the release. If they "
            f"stand for suppressed rows, say so: "
            + either(command=f"--suppressed-as '{ROOT}'", python=f'suppressed_as="{ROOT}"')
        )
    left = [name for name in policy.names("drop") if name in rows.columns]
    if left:
        notes.append(
            f"the policy drops columns that the release has, so they were not judged: {', '.join(left)}"
        )
    if record is not None:
        check_release(record, len(rows), rows.columns)
    if record is not None and table is None:
        whole = len(rows) + int(record.get("suppressed", 0))
    if table is not None:
        attributes, sensitive = table.attributes, table.sensitive
        codes = sensitive_codes(rows, sensitive)
    else:
        attributes = tuple(attribute_of(plan) for plan in plans if plan.role == "quasi")
        shown = encode(rows, [plan for plan in plans if plan.role == "sensitive"])
        sensitive, codes = shown.sensitive, shown.sensitive_codes
    known = [has_domain(plan) for plan in plans if plan.role == "quasi"]
    closed = table is not None or all(known)

    own = () if table is None else (*table.columns, *table.dropped)
    bounds = {a.name: bounds_among(rows.columns, a.name, (*policy.columns, *own)) for a in attributes}
    told = [one for name in bounds for one in bounds[name] if one and policy.columns[name].show is None]
    if told:
        notes.append(
            f"columns {', '.join(told)} are read as the ends of generalized cells, because of their names. If they are "
            "something else, give them a role in the policy"
        )

    def read(bucket: str | None) -> tuple[Published, list[str]]:
        published, unknown = read_published(
            rows, attributes, sensitive, codes, suppressed=whole - len(rows), bucket=bucket, bounds=bounds
        )
        if closed:
            return published, unknown
        # Without a domain no cell has a loss, not even one that shows *, and nobody knows what is above a limit.
        beyond = [
            own if there else (0, len(rows))
            for own, there in zip(published.beyond_limits, known, strict=True)
        ]
        return replace(published, low=None, high=None, beyond_limits=tuple(beyond)), unknown

    bucket = bucket_name(policy.columns if table is None else table.taken)
    if bucket not in rows.columns:
        if record is not None and recorded_method(record).shows_buckets:
            raise DataError(
                f"by the record, the release has a column '{bucket}' that numbers buckets, but it is not there"
            )
        published, unknown = read(None)
        return Readings(rows, published, notes=(*notes, *_unreadable(unknown, table)))
    shuffled, unknown = read(bucket)
    if record is not None:
        check_buckets(record, shuffled.buckets)
        made = as_recorded(by_record(record, shuffled, table), shuffled, table, apart=in_two)
    else:
        made = possible(shuffled, table, _claimed(policy, shuffled, table), apart=in_two)
    ways = made.found
    if in_two and not all(way.in_buckets for way in ways):
        raise DataError("by the record, the release is in one table, but this one is in two")
    intact = shuffled if all(way.in_buckets for way in ways) else read(None)[0]
    first, *others = [
        replace(shuffled, layout=shuffled.layout.with_shuffling(way)) if way.in_buckets else intact
        for way in ways
    ]
    notes.append(_told(bucket, ways, shuffled, table, by_record=record is not None))
    if not made.complete and table is not None and table.population is not None:
        notes.append(
            "not known: how likely people are to be in the table. There are too many ways in which columns may have "
            f"been shuffled; give {either(command='--record FILE', python='record')}"
        )
    return Readings(
        rows,
        first,
        tuple(others),
        made.complete,
        None if record is not None else replace(shuffled, layout=shuffled.layout.with_shuffling(APART)),
        (*notes, *_unreadable(unknown, table)),
    )


def _claimed(policy: Policy, published: Published, table: CodedTable | None) -> Making | None:
    """Return how the method of the policy at hand shuffles; None if it does not."""
    if policy.method.name not in METHODS or not METHODS[policy.method.name].shows_buckets:
        return None
    try:
        return Making.of(policy.build_method().shuffled_together(published if table is None else table))
    except (DataError, PolicyError):  # its groups need the original, or are about other columns
        return None


def _told(
    bucket: str, ways: Sequence[Making], published: Published, table: CodedTable | None, *, by_record: bool
) -> str:
    """Say how the release was made, and how that is known."""
    words = [way.in_words(published) for way in ways]
    if len(ways) == 1:
        source = "the record says" if by_record else "its rows, next to the original, show"
        if table is None and not by_record:
            source = "two tables mean"
        return f"column '{bucket}': {source} that {words[0]}"
    if by_record:
        return (
            f"column '{bucket}': the record says that {words[0]}, but next to the original far more rows show the "
            f"values of one person than such a shuffle would leave. Maybe {'; or '.join(words[1:])}. Shoal judges each "
            "guarantee by the worst of these. Check that the record is about this release"
        )
    if len(words) > MOST_WAYS + 1:
        words = [*words[:MOST_WAYS], f"{len(words) - MOST_WAYS:,} other ways to keep columns together"]
    settles = either(command="--record FILE", python="record")
    if table is None:
        settles += either(command=" or --original FILE", python=" or original")
    return (
        f"column '{bucket}' may number buckets, and nothing shows for sure how values were shuffled within them. "
        f"Possible: {'; or '.join(words)}. Shoal judges each guarantee by the worst of these. To settle it, give "
        f"{settles}; if '{bucket}' is a column of the original, give it a role in the policy"
    )


def _unreadable(unknown: Sequence[str], table: CodedTable | None) -> list[str]:
    if not unknown or table is None:
        return []
    return [
        f"cells of {', '.join(unknown)} are not in the policy's hierarchies, or above their limits, so losses "
        "cannot be computed; classes are rows with identical quasi-identifiers"
    ]


def has_domain(plan: ColumnPlan) -> bool:
    """Return whether the policy alone defines the domain of a column: files and trees do, others need the original."""
    return parsed(plan.hierarchy).knows_domain


def attribute_of(plan: ColumnPlan) -> Attribute:
    """Return what the policy alone says about a quasi-identifier."""
    if has_domain(plan):
        hierarchy = build(pl.Series([], dtype=pl.String), plan.hierarchy)
        limited = hierarchy if plan.limit is None else hierarchy.limited(plan.limit)
        return Attribute(plan.name, limited, plan.weight)
    names, kind = pl.Series([ROOT]), parsed(plan.hierarchy)
    level = Level(np.zeros(1, np.int32), names)
    hierarchy = Hierarchy(names, (level,), hiding=kind if kind.hides else None)
    return Attribute(plan.name, hierarchy, plan.weight)


def _showing(rows: Sheet, names: tuple[str, ...], text: str) -> BoolVector:
    """Return the rows that show a text in every quasi-identifier."""
    shown = np.ones(len(rows), np.bool_)
    for name in names:
        if not isinstance(rows.cells[name].values.dtype, pl.String | pl.Categorical | pl.Enum):
            return np.zeros(len(rows), np.bool_)
        places, there = rows.numbered(name, lambda values: _saying(values, text))
        if not there.any():
            return np.zeros(len(rows), np.bool_)
        shown &= there[places]
    return shown


def _saying(values: pl.Series, text: str) -> tuple[Codes, BoolVector]:
    """Number the values of a column, and return which numbers are a text."""
    number, distinct = coded_values(values)
    return number, distinct.cast(pl.String).eq_missing(text).to_numpy()
