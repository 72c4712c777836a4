"""Releases in two tables: quasi-identifiers with their bucket, and the sensitive values of each bucket."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import DataError, did_you_mean
from shoal.io.databases import DatabaseTable
from shoal.io.formats import suffix_of
from shoal.release.published_types import restore_type

COUNT = "count"


def second_path(path: str | Path | DatabaseTable) -> Any:
    """Return where the second table of a release goes: ``out-sensitive.csv.gz`` next to ``out.csv.gz``, and in a
    database ``out_sensitive`` next to ``out``.
    """
    if isinstance(path, DatabaseTable):
        return path.named_also("_sensitive")
    place = Path(path)
    ending = suffix_of(place) or place.suffix
    stem = place.name[: len(place.name) - len(ending)] if ending else place.name
    # Not `with_name`: a folder such as "." has no name, and is rejected later, with a message.
    return place.parent / f"{stem}-sensitive{place.name[len(stem) :]}"


def second_beside(source: Any, columns: Sequence[str], sensitive: Sequence[str]) -> Any:
    """Return the file or table next to a release that holds its sensitive columns, if the release lacks them and the
    file or table exists."""
    if not sensitive or any(name in columns for name in sensitive):
        return None
    if isinstance(source, DatabaseTable):
        beside = second_path(source)
        return beside if beside is not None and beside.database.has(beside) else None
    if not isinstance(source, str | os.PathLike):
        return None
    place = second_path(Path(source))
    return place if place.is_file() else None


def choose_name(name: str, taken: Collection[str]) -> str:
    """Return a column name that is not taken."""
    while name in taken:
        name += "_"
    return name


def split(rows: pl.DataFrame, bucket: str, sensitive: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split rows into a table without sensitive columns, and one that counts their values by bucket. O(rows)."""
    count = choose_name(COUNT, (bucket, *sensitive))
    second = rows.group_by([bucket, *sensitive], maintain_order=True).len(name=count)
    return rows.drop(sensitive), second.with_columns(pl.col(count).cast(pl.Int64))


def join_tables(
    first: pl.DataFrame, second: pl.DataFrame, bucket: str, sensitive: Sequence[str]
) -> pl.DataFrame:
    """Assign the sensitive values of each bucket to its rows, in any order: all are equally likely.

    A second table without counts lists each value as often as it occurs. Raises DataError if the tables do not belong
    together. O(rows log rows).
    """
    for name in (bucket, *sensitive):
        if name not in second.columns:
            hint = did_you_mean(name, second.columns)
            raise DataError(f"the second table has no column '{name}' ({hint})" if hint else
                            f"the second table has no column '{name}'")  # fmt: skip
    count = choose_name(COUNT, (bucket, *sensitive))
    further = [name for name in second.columns if name not in (bucket, count, *sensitive)]
    if further:
        raise DataError(
            f"the second table has a column '{further[0]}', but only buckets, sensitive values and counts belong in it"
        )
    keys = pl.concat([first[bucket].cast(pl.String), second[bucket].cast(pl.String)]).rank("dense")
    number = keys.to_numpy()
    if keys.null_count():
        raise DataError(f"some cells of '{bucket}' are empty, so the two tables cannot be joined by it")
    own, theirs = number[: len(first)].astype(np.int64), number[len(first) :].astype(np.int64)
    often = _counts(second, bucket, sensitive)
    size = int(number.max(initial=0)) + 1
    wanted, there_are = np.bincount(own, minlength=size), np.bincount(theirs, often, size).astype(np.int64)
    odd = np.flatnonzero(wanted != there_are)
    if len(odd):
        raise DataError(
            f"{len(odd):,} buckets have different numbers of rows and of sensitive values, {int(wanted[odd[0]]):,} and "
            f"{int(there_are[odd[0]]):,} in one of them: check that the two tables belong together"
        )
    order = np.argsort(theirs, kind="stable")
    dealt = np.empty(len(first), np.int64)
    dealt[np.argsort(own, kind="stable")] = np.repeat(order, often[order])
    return first.with_columns(second[name].gather(dealt) for name in sensitive)


def _counts(
    second: pl.DataFrame, bucket: str, sensitive: Sequence[str]
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return how often each line of the second table counts."""
    name = choose_name(COUNT, (bucket, *sensitive))
    if name not in second.columns:
        return np.ones(len(second), np.int64)
    # Text formats and other tools may write counts as text, or as 2.0.
    column = second[name] if second[name].dtype.is_integer() else restore_type(second[name], pl.Int64())
    whole = column.dtype.is_integer() and column.null_count() == 0
    if not whole or (column < 1).any():
        raise DataError(f"'{name}' of the second table must hold whole numbers, 1 or more")
    return column.to_numpy().astype(np.int64)
