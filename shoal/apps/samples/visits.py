"""The visits to a fictional hospital in one month: several rows of one person, and the same people again next month.

No real person is in it. Most people come once, few come dozens of times. Birth date, sex and zip code of a person stay
the same, and so do many of their diagnoses.
"""

from __future__ import annotations

from datetime import date
from functools import cache

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.apps.samples.draw import BATCH, Codes, draw, read_sample_hierarchy, slots, text
from shoal.apps.samples.patients import BAND, DIAGNOSES, SEXES, tables
from shoal.errors import DataError

YEAR = 2024
MONTHS = 12
HERE = 0.6
"""How likely a person comes in a month."""
MOST = 40
"""The most visits of a person in a month."""
AGAIN = 0.6
"""How likely a visit is for the same reason as the first one."""


def visits(rows: int, seed: int | None = None, month: int = 1) -> pl.DataFrame:
    """Return synthetic visits in a month of 2024: patient_id, birth_date, sex, zip, visited, diagnosis, minutes.

    The rows of a person are neighbours, in the order of their dates. The same seed gives the same people in every
    month; in each, about six of ten of them come. The first rows are the same however many are asked for. O(rows).
    """
    if not 1 <= month <= MONTHS:
        raise DataError(f"month must be 1 to {MONTHS}, not {month}")
    start = 1 if seed is None else seed
    who = np.random.Generator(np.random.PCG64DXSM([start, 0]))
    what = np.random.Generator(np.random.PCG64DXSM([start, month]))
    batches: list[pl.DataFrame] = []
    while sum(batch.height for batch in batches) < rows:
        batches.append(_batch(who, what, len(batches) * BATCH, month))
    return pl.concat(batches).head(rows)


def _batch(who: np.random.Generator, what: np.random.Generator, before: int, month: int) -> pl.DataFrame:
    """Draw people, who are the same in every month, and then their visits."""
    drawn, nothing = tables(), np.zeros(BATCH, np.int32)
    age = draw(drawn.age, nothing, who)
    sex = draw(drawn.sex, age // BAND, who)
    place = draw(drawn.zip, nothing, who)
    born = np.floor(age * 365.2425).astype(np.int64) + who.integers(0, 365, BATCH)
    count = (draw(_often(), nothing, what).astype(np.int64) + 1) * (what.random(BATCH) < HERE)
    person = np.repeat(np.arange(BATCH), count)
    first = date(YEAR, month, 1)
    days = ((date(YEAR, month + 1, 1) if month < MONTHS else date(YEAR + 1, 1, 1)) - first).days
    day = what.integers(0, days, len(person))
    day = day[np.lexsort((day, person))]
    diagnosis = _diagnoses(drawn.diagnosis, (age // BAND).astype(np.int32) * 2 + sex, person, what)
    minutes = np.clip(np.rint(np.exp(3.3 + 0.6 * what.standard_normal(len(person)))), 5, 240)
    zips = [line[0] for line in read_sample_hierarchy("patients_zip.csv")]
    return pl.DataFrame(
        {
            "number": before + 1 + person,
            "born": born[person],
            "sex": text(SEXES, sex[person]),
            "zip": text(zips, place[person]),
            "day": day,
            "diagnosis": text(DIAGNOSES, diagnosis),
            "minutes": minutes.astype(np.int64),
        }
    ).select(
        pl.format("P{}", pl.col("number").cast(pl.String).str.zfill(7)).alias("patient_id"),
        (pl.lit(date(YEAR, 1, 1)) - pl.duration(days="born")).cast(pl.Date).alias("birth_date"),
        "sex",
        "zip",
        (pl.lit(first) + pl.duration(days="day")).cast(pl.Date).alias("visited"),
        "diagnosis",
        "minutes",
    )


def _diagnoses(
    table: Codes, parents: npt.NDArray[np.integer], person: npt.NDArray[np.int64], random: np.random.Generator
) -> Codes:
    """Draw a diagnosis for each visit; later ones of a person are often that of the first."""
    found = draw(table, parents[person], random)
    first = np.searchsorted(person, person)
    again = random.random(len(person)) < AGAIN
    return np.where(again, found[first], found)


@cache
def _often() -> Codes:
    """How often people come: half of them once, a few dozens of times, about 3 times on average."""
    often = np.arange(1, MOST + 1, dtype=np.float64)
    return slots(np.power(often, -1.8, dtype=np.float64)[np.newaxis])
