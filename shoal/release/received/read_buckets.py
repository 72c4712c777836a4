"""Reading a release with a column of buckets, in each of the ways in which it may have been made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shoal.coding import CodedTable
from shoal.errors import DataError, PolicyError
from shoal.io.sheet import Sheet
from shoal.methods import METHODS
from shoal.policy import Policy
from shoal.release.published import Published
from shoal.release.received.cell_reader import CellReader, unreadable
from shoal.release.received.read_record import check_buckets
from shoal.release.received.shuffled_columns import APART, Making, as_recorded, by_record, possible
from shoal.support.brief import Brief
from shoal.support.wording import either

MOST_WAYS = 4
"""A note lists so many ways in which a release may have been made, or one more; others are counted."""


@dataclass(frozen=True, eq=False, repr=False)
class OtherReadings(Brief):
    """The other ways in which a release with buckets may have been made."""

    published: tuple[Published, ...] = ()
    """Empty where it is known how the release was made. A release is judged by the worst of all."""
    complete: bool = True
    """As in `Ways`."""
    loosest: Published | None = None
    """As if each column had been shuffled by itself, if that may be: what is true of it is not refuted."""


NO_OTHERS = OtherReadings()


@dataclass(frozen=True, eq=False, repr=False)
class ReceivedRelease(Brief):
    """A release as an outsider reads it."""

    rows: Sheet
    """The rows, without those that count as suppressed."""
    published: Published
    """The first reading, which names the release and its parts."""
    other_readings: OtherReadings
    notes: tuple[str, ...]
    """What a user should know about how it was read."""


def read_buckets(
    cells: CellReader,
    bucket: str,
    policy: Policy,
    table: CodedTable | None,
    *,
    in_two: bool,
    record: Mapping[str, Any] | None,
) -> ReceivedRelease:
    """Read a release in all ways in which it may have been made: by its record, or by what its rows show."""
    shuffled, unknown = cells.read(bucket)
    if record is not None:
        check_buckets(record, shuffled.buckets)
        made = as_recorded(by_record(record, shuffled, table), shuffled, table, apart=in_two)
    else:
        made = possible(shuffled, table, _shuffling_of_policy(policy, shuffled, table), apart=in_two)
    in_buckets = all(way.in_buckets for way in made.found)
    if in_two and not in_buckets:
        raise DataError("by the record, the release is in one table, but this one is in two")
    intact = shuffled if in_buckets else cells.read(None)[0]
    first, *others = [_with_shuffling(shuffled, way) if way.in_buckets else intact for way in made.found]
    notes = [_describe_making(bucket, made.found, shuffled, table, by_record=record is not None)]
    if not made.complete and table is not None and table.context.population is not None:
        notes.append(
            "not known: how likely people are to be in the table. There are too many ways in which columns may have "
            f"been shuffled; give {either(command='--record FILE', python='record')}"
        )
    loosest = None if record is not None else _with_shuffling(shuffled, APART)
    other_readings = OtherReadings(tuple(others), made.complete, loosest)
    return ReceivedRelease(cells.rows, first, other_readings, (*notes, *unreadable(unknown, table)))


def _with_shuffling(published: Published, way: Making) -> Published:
    return replace(published, layout=published.layout.with_shuffling(way))


def _shuffling_of_policy(policy: Policy, published: Published, table: CodedTable | None) -> Making | None:
    """Return how the method of the policy at hand shuffles; None if it does not."""
    if policy.method.name not in METHODS or not METHODS[policy.method.name].shows.buckets:
        return None
    try:
        return Making.of(policy.build_method().find_shuffling(published if table is None else table))
    except (DataError, PolicyError):  # its groups need the original, or are about other columns
        return None


def _describe_making(
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
