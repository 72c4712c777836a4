"""Numbers and dates in columns of text: converted only if nothing is lost.

A column changes its type only if every value passes, not just the first ones: one zip code with a
leading zero keeps the column text. Integers must give the same text again. For numbers with a
fraction and for times, no digit may be lost and no two texts may become one value (so ``1.10`` and
``1.1`` stay text, as version numbers should); trailing zeros alone (``2.50``) are allowed.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from shoal.io.factorization import factorize

_DECIMAL = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
_WHOLE = r"^-?[0-9]+$"
_NOT_FINITE = r"^(NaN|nan|-?[iI]nf)$"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|\+00:00)?$"
_ZONE = r"(Z|\+00:00)$"
_SURE_DIGITS = 15
"""A 64-bit float always keeps this many significant digits."""


def guess_numbers_and_dates(column: pl.Series, *, points: bool = True) -> pl.Series:
    """Return a text column as Int64, Float64, Boolean, Date or Datetime if that loses nothing, else unchanged.

    Without `points`, a point in a number is no decimal sign, so that only whole numbers are numbers.
    O(rows): checks each distinct value once, and skips types that the first rows rule out.
    """
    return _first_that_fits(
        column,
        (
            (_WHOLE, _integers),
            *(((f"{_DECIMAL}|{_NOT_FINITE}", _floats),) if points else ()),
            ("^(true|false)$", _booleans),
            (_DATE, _dates),
            (_MOMENT, _moments),
        ),
    )


def guess_dates(column: pl.Series) -> pl.Series:
    """Return a text column as Date or Datetime if that loses nothing, else unchanged."""
    return _first_that_fits(column, ((_DATE, _dates), (_MOMENT, _moments)))


def numbers_in(texts: pl.Series) -> pl.Series:
    """Return each text by itself as the number that it is; null if it is not one, or a code such as ``007``."""
    return texts.set(~texts.str.contains(_DECIMAL), None).cast(pl.Float64, strict=False)


def moments_in(texts: pl.Series) -> pl.Series:
    """Return each text by itself as the ISO day or time that it is, null if it is not one. A zone must be UTC."""
    plain = texts.str.replace(_ZONE, "").str.replace(" ", "T", literal=True)
    for size, rest in ((len("2000-01-01"), "T00:00:00"), (len("2000-01-01T00:00"), ":00")):
        plain = (plain + rest).zip_with(plain.str.len_bytes() == size, plain)
    return plain.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="us", strict=False)


def _first_that_fits(
    column: pl.Series, conversions: tuple[tuple[str, Callable[[pl.Series], pl.Series | None]], ...]
) -> pl.Series:
    if column.null_count() == len(column):
        return column
    start = column.head(1000)
    for pattern, convert in conversions:
        if bool(start.str.contains(pattern).all()):
            whole = convert(column)
            if whole is not None:
                return whole
    return column


def _integers(column: pl.Series) -> pl.Series | None:
    numbers = column.cast(pl.Int64, strict=False)
    if numbers.null_count() != column.null_count():
        return None
    return numbers if bool((numbers.cast(pl.String) == column).all()) else None


def _floats(column: pl.Series) -> pl.Series | None:
    codes, values = factorize(column)
    texts = values.drop_nulls()
    finite = texts.str.contains(_DECIMAL)
    if not bool((finite | texts.str.contains(_NOT_FINITE)).all()) or not finite.any():
        return None
    if bool(texts.str.contains(_WHOLE).all()):
        return None  # whole numbers that Int64 cannot hold: too long, or -0
    numbers = texts.cast(pl.Float64, strict=False)
    if numbers.null_count() or numbers.n_unique() != len(texts):
        return None
    changed = (numbers.cast(pl.String) != texts) & finite
    mantissa = texts.filter(changed).str.replace(r"[eE].*$", "").str.replace_all(r"[-.]", "")
    mantissa = mantissa.str.strip_chars_start("0")
    size = numbers.filter(changed).abs()
    ordinary = (mantissa == "") | ((size > 1e-290) & (size < 1e290))
    safe = (mantissa.str.len_bytes() <= _SURE_DIGITS) & ordinary
    return values.cast(pl.Float64).gather(codes) if bool(safe.all()) else None


def _booleans(column: pl.Series) -> pl.Series | None:
    texts = column.unique().drop_nulls()
    return column == "true" if bool(texts.is_in(["true", "false"]).all()) else None


def _dates(column: pl.Series) -> pl.Series | None:
    codes, values = factorize(column)
    if not bool(values.str.contains(_DATE).all()):
        return None
    dates = values.str.to_date("%Y-%m-%d", strict=False)
    return dates.gather(codes) if dates.null_count() == values.null_count() else None


def _moments(column: pl.Series) -> pl.Series | None:
    codes, values = factorize(column)
    if not bool(values.str.contains(_MOMENT).all()):
        return None
    zoned = values.drop_nulls().str.contains(_ZONE)
    if zoned.any() and not zoned.all():
        return None
    moments = moments_in(values)
    if moments.null_count() != values.null_count() or moments.n_unique() != len(values):
        return None
    if bool(zoned.all()):
        moments = moments.dt.replace_time_zone("UTC")
    return moments.gather(codes)
