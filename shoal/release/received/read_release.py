"""From a file or frame, written by Shoal or by any other tool, to the rows of a release and to `Published`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from shoal import io
from shoal.coding import CodedTable
from shoal.coding.hierarchy import ROOT, Hierarchy
from shoal.coding.roles import DROP, QUASI, SENSITIVE
from shoal.errors import DataError
from shoal.io.coded import Codes
from shoal.io.sheet import Sheet, code_values
from shoal.io.type_inference import guess_numbers_and_dates
from shoal.policy import Policy
from shoal.release.published_types import restore_type
from shoal.release.received.cell_reader import CellReader, has_domain, unreadable
from shoal.release.received.read_buckets import NO_OTHERS, ReceivedRelease, read_buckets
from shoal.release.received.read_record import check_release, read_method
from shoal.release.render import bucket_name
from shoal.release.two_tables import join_tables, second_beside
from shoal.support.arrays import BoolVector
from shoal.support.wording import either


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
    sensitive = policy.names(SENSITIVE)
    if second is None:
        second = second_beside(source, rows.columns, sensitive)
    if second is None:
        return rows, False
    both = [name for name in sensitive if name in rows.columns]
    bucket = bucket_name(policy.columns)
    if both or bucket not in rows.columns:
        word = f"has the sensitive column '{both[0]}'" if both else f"has no column '{bucket}'"
        raise DataError(f"the first table {word}, so there is nothing to join a second table to")
    both_tables = join_tables(rows.whole(), io.read(second, options).data, bucket, sensitive)
    return Sheet.of(both_tables), True


def convert_types(rows: Sheet, policy: Policy, table: CodedTable | None) -> Sheet:
    """Return the rows of a release in the types of the original. Without it, only sensitive columns get types, because
    some models compare their values as numbers; a hierarchy that lists its values knows them as text.
    """
    if table is not None:
        types = {
            attribute.name: attribute.hierarchy.leaves.dtype
            for attribute in table.attributes
            if attribute.name in rows.columns
            and not _has_only_names(rows.cells[attribute.name].values, attribute.hierarchy)
        }
        for name, column in table.kept.columns.items():
            types[name] = column.dtype if isinstance(column, pl.Series) else column.values.dtype
        return rows.with_values(
            lambda shown: restore_type(shown, types[shown.name]) if shown.name in types else shown
        )
    plans = policy.plans(rows.columns, of_release=True)
    guessed = [plan.name for plan in plans if plan.role.protected and not has_domain(plan)]
    return rows.with_values(
        lambda shown: (
            guess_numbers_and_dates(shown) if shown.name in guessed and shown.dtype == pl.String else shown
        )
    )


def _has_only_names(column: pl.Series, hierarchy: Hierarchy) -> bool:
    """Whether all cells are names in a hierarchy. Then they stay as they are: a name such as 2024-01-07 may be a whole
    day, not its midnight.
    """
    if column.dtype.is_nested():
        return True
    return bool(hierarchy.read(io.factorize(column)[1])[2].all())


def as_published(
    rows: Sheet,
    policy: Policy,
    table: CodedTable | None,
    *,
    in_two: bool = False,
    suppressed_as: str | None = None,
    record: Mapping[str, Any] | None = None,
) -> ReceivedRelease:
    """Read `convert_types` rows as a release: with the hierarchies of the original, or those that the policy alone
    defines.

    `in_two` says that the release is in two tables. Rows that are there are rows; only if `suppressed_as` is given,
    those that show this text in every quasi-identifier count as suppressed.
    """
    plans = policy.plans(rows.columns, of_release=True)
    if table is not None and len(rows) > table.rows:
        raise DataError(
            f"the release has {len(rows):,} rows, more than the {table.rows:,} of its original: check that it "
            "is the right one"
        )
    whole = len(rows)
    rows, notes = _without_suppressed(rows, policy, suppressed_as)
    left = [name for name in policy.names(DROP) if name in rows.columns]
    if left:
        notes.append(
            f"the policy drops columns that the release has, so they were not judged: {', '.join(left)}"
        )
    if record is not None:
        check_release(record, len(rows), rows.columns)
        whole = len(rows) + int(record.get("suppressed", 0))
    cells = CellReader.of(rows, plans, policy, table, whole)
    notes += cells.notes(policy)
    bucket = bucket_name(policy.columns if table is None else table.taken)
    if bucket in rows.columns:
        found = read_buckets(cells, bucket, policy, table, in_two=in_two, record=record)
        return replace(found, notes=(*notes, *found.notes))
    if record is not None and read_method(record).shows.buckets:
        raise DataError(
            f"by the record, the release has a column '{bucket}' that numbers buckets, but it is not there"
        )
    published, unknown = cells.read(None)
    return ReceivedRelease(rows, published, NO_OTHERS, (*notes, *unreadable(unknown, table)))


def _without_suppressed(rows: Sheet, policy: Policy, suppressed_as: str | None) -> tuple[Sheet, list[str]]:
    """Return the rows that do not stand for suppressed ones, and what a user should know about those that may."""
    marked = _find_rows_showing(rows, policy.names(QUASI), ROOT if suppressed_as is None else suppressed_as)
    if not marked.any():
        return rows, []
    if suppressed_as is not None:
        return Sheet.of(rows.whole().filter(~marked)), []
    return rows, [
        f"{marked.sum():,} rows show {ROOT} in every quasi-identifier; they count as rows of the release. If they "
        f"stand for suppressed rows, say so: "
        + either(command=f"--suppressed-as '{ROOT}'", python=f'suppressed_as="{ROOT}"')
    ]


def _find_rows_showing(rows: Sheet, names: tuple[str, ...], text: str) -> BoolVector:
    """Return the rows whose quasi-identifiers all show the same given text."""
    shown = np.ones(len(rows), np.bool_)
    for name in names:
        if not isinstance(rows.cells[name].values.dtype, pl.String | pl.Categorical | pl.Enum):
            return np.zeros(len(rows), np.bool_)
        places, there = rows.number_cells(name, lambda values: _find_numbers_of(values, text))
        if not there.any():
            return np.zeros(len(rows), np.bool_)
        shown &= there[places]
    return shown


def _find_numbers_of(values: pl.Series, text: str) -> tuple[Codes, BoolVector]:
    """Number the values of a column; return the numbers, and which of them stand for a given text."""
    number, distinct = code_values(values)
    return number, distinct.cast(pl.String).eq_missing(text).to_numpy()
