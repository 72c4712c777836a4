"""Dates generalized by the calendar: days, weeks, months, quarters, years, decades."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from shoal.coding.hierarchy.distinct_values import distinct_values, numbers_of, runs
from shoal.coding.hierarchy.domains import Domain
from shoal.coding.hierarchy.end_groups import Groups
from shoal.coding.hierarchy.tree import Hierarchy
from shoal.errors import HierarchyError
from shoal.support.wording import format_count, some_values, type_name

_DAY = r"^\d{4}-\d{2}-\d{2}"
_TIME = r"[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)"
_ZONE = r"(Z|[+-]\d{2}:?\d{2})$"


def from_dates(
    values: pl.Series,
    dates: Sequence[str],
    finest: str | None = None,
    top: int | None = None,
    bottom: int | None = None,
) -> Hierarchy:
    """Build calendar levels over dates, date-times, or texts that are ISO dates (these stay as written).

    Names are ``2024-03-01``, ``2024-W09``, ``2024-03``, ``2024-Q1``, ``2024``, ``2020s``. Each level must lie
    inside the next: a week does not lie inside a month. `finest` takes the place of the dates. Years from `top` on
    are one node up to the root, and so are years before `bottom`; the rest of a decade is named ``1937-1939``.
    O(levels x n log n).
    """
    data = distinct_values(values)
    local = _local(data)
    frame = pl.DataFrame({"leaves": data, "local": local}).sort("local", "leaves", nulls_last=True)
    regular = len(data) - data.null_count()
    times = frame["local"].head(regular)
    above = []
    groups = Groups.among(times.dt.year().cast(pl.Int64).to_numpy(), top, bottom)
    inside = times.slice(groups.first, groups.last - groups.first)
    for level in dates:
        names = _names(inside, level, (bottom, top))
        starts = runs(names.rle_id().to_numpy())
        above.append(groups.level(regular, starts + np.int32(groups.first), names.gather(starts)))
    domain = Domain(frame["leaves"], regular, numbers_of(times))
    if finest is None:
        return domain.hierarchy(*above, finest=groups.finest_of(domain))
    at = list(dates).index(finest)
    return domain.hierarchy(*above[at + 1 :], finest=above[at])


def _local(data: pl.Series) -> pl.Series:
    """Return the date or local time of each value, without its zone."""
    dtype = data.dtype
    if isinstance(dtype, pl.Datetime):
        return data.dt.replace_time_zone(None)
    if isinstance(dtype, pl.Date):
        return data
    if dtype != pl.String:
        raise HierarchyError(f"dates is for dates, but the column holds {type_name(dtype)} values")
    text = pl.col("leaves").str.strip_chars()
    frame = data.to_frame().select(
        "leaves",
        day=text.str.extract(_DAY, 0),
        time=text.str.extract(_TIME, 1),
        zone=text.str.extract(_ZONE, 1),
        whole=text.str.contains(f"{_DAY}(?:{_TIME}(?:{_ZONE[:-1]})?)?$"),
    )
    clock = pl.col("time").fill_null("00:00")
    clock = pl.when(clock.str.len_chars() == 5).then(clock + ":00").otherwise(clock)
    stamp = pl.when("whole").then(pl.concat_str("day", pl.lit(" "), clock))
    frame = frame.with_columns(
        local=stamp.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)
    )
    bad = frame.filter(pl.col("leaves").is_not_null() & pl.col("local").is_null())["leaves"].sort()
    if len(bad):
        raise HierarchyError(
            f"{format_count(len(bad), 'value')} of the column "
            f"{'is not an ISO date' if len(bad) == 1 else 'are not ISO dates'}: {some_values(bad.to_list())}; "
            "write them as 2024-03-01, make them null, or use another hierarchy"
        )
    zones = (
        frame.filter(pl.col("time").is_not_null())
        .select(pl.col("zone").fill_null("no zone"))["zone"]
        .unique()
        .sort()
    )
    if len(zones) > 1:
        raise HierarchyError(
            f"the column mixes time zones ({some_values(zones.to_list())}), so its days are not comparable: "
            "convert it to one time zone first"
        )
    timed = frame["time"].is_not_null().any()
    return frame["local"] if timed else frame["local"].cast(pl.Date)


def _names(times: pl.Series, level: str, ends: tuple[int | None, int | None]) -> pl.Series:
    time = times.to_frame("time")
    year, month = pl.col("time").dt.year(), pl.col("time").dt.month()
    two = {"month": month, "week": pl.col("time").dt.week()}
    digits = {name: part.cast(pl.String).str.zfill(2) for name, part in two.items()}
    name = {
        "day": pl.col("time").cast(pl.Date).cast(pl.String),
        "week": pl.format("{}-W{}", pl.col("time").dt.iso_year(), digits["week"]),
        "month": pl.format("{}-{}", year, digits["month"]),
        "quarter": pl.format("{}-Q{}", year, pl.col("time").dt.quarter()),
        "year": year.cast(pl.String),
        "decade": _decades(year, *ends),
    }[level]
    return time.select(name.alias("names")).to_series()


def _decades(year: pl.Expr, bottom: int | None, top: int | None) -> pl.Expr:
    """Return the name of each decade, or its years if it ends in a group."""
    decade = year // 10 * 10
    first, last = pl.max_horizontal(decade, pl.lit(bottom)), pl.min_horizontal(decade + 9, pl.lit(top) - 1)
    return (
        pl.when(first == last)
        .then(first.cast(pl.String))
        .when(last - first < 9)
        .then(pl.format("{}-{}", first, last))
        .otherwise(pl.format("{}s", decade))
    )
