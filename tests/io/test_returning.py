"""What came back counts as the same only if each cell says the same."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import polars as pl
import pytest

from shoal.io.read_back import same_values

S = pl.Series
NOON = dt.datetime(2020, 1, 1, 12)
UTC = S([NOON]).dt.replace_time_zone("UTC")
CENTS = pl.Decimal(10, 2)


@pytest.mark.parametrize(
    ("back", "given"),
    [
        (S([1.5, 2.0]), S([1, 2])),
        (S([5, 0]), S([True, False])),
        (S([1001], dtype=pl.Duration("ns")), S([1], dtype=pl.Duration("us"))),
        (S([1001]).cast(pl.Datetime("ns")), S([1]).cast(pl.Datetime("us"))),
        (S([NOON]), S([NOON.date()])),
        (S([1.004]), S([Decimal("1.00")], dtype=CENTS)),
        (S(["1.005"]), S([Decimal("1.00")], dtype=CENTS)),
        (S([Decimal("1.004")], dtype=pl.Decimal(10, 3)), S([Decimal("1.00")], dtype=CENTS)),
        (S(["01"]), S([1])),
        (S(["+1"]), S([1])),
        (UTC, S([NOON])),
        (S([NOON]), UTC),
        (S(["2020-01-01T12:00:00.0001"]), S([NOON]).cast(pl.Datetime("ms"))),
        (S([[1.5]]), S([[1]])),
        (S([{"x": 1.5}]), S([{"x": 1}])),
    ],
)
def test_changed_cells_are_noticed(back, given):
    assert same_values(back, given) is None


@pytest.mark.parametrize(
    ("back", "given"),
    [
        (S([1.0, None]), S([1, None])),
        (S([1, None]), S([1.0, None])),
        (S([0.1, None]), S([0.1, None], dtype=pl.Float32)),
        (S([1.1, 12345678901.23, None]), S([Decimal("1.1"), Decimal("12345678901.23"), None], dtype=pl.Decimal(20, 2))),
        (S(["1.1", "-0.50", "7", None]), S([Decimal("1.1"), Decimal("-0.5"), Decimal(7), None], dtype=CENTS)),
        (S(["0", "-12", None]), S([0, -12, None])),
        (S([1000]).cast(pl.Datetime("ns")), S([1]).cast(pl.Datetime("us"))),
        (S([dt.datetime(2020, 1, 1)]), S([dt.date(2020, 1, 1)])),
        (S(["2020-01-01 12:00:00.000000"]), S([NOON]).cast(pl.Datetime("ms"))),
        (S(["2020-01-01T12:00:00.500Z"]), S([NOON.replace(microsecond=500000)]).dt.replace_time_zone("UTC")),
        (UTC, UTC.dt.convert_time_zone("Asia/Tokyo")),
        (S([[1.0], None]), S([[1], None])),
    ],
)  # fmt: skip
def test_other_types_of_the_same_cells_are_no_change(back, given):
    assert same_values(back, given) is not None
