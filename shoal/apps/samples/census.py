"""A synthetic census: nine columns with the domain sizes of the CENSUS table of the literature.

No real person is in it. The columns depend on each other as in a real census: schooling on age, marital status
on age and gender, country on race, occupation on schooling and gender, work class on occupation, and salary on
age, gender, schooling and occupation.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import polars as pl

from shoal.apps.samples.draw import BATCH, Codes, Weights, draw, read_sample_hierarchy, slots, text

YOUNGEST, OLDEST = 17, 95
BAND = 5
"""Years of age that share one distribution."""
SALARY_STEP, SALARIES = 4_000, 50
TEXT_COLUMNS = ("gender", "education", "marital", "race", "workclass", "country", "occupation")

GENDERS = ["Female", "Male"]

# For each occupation: share of the work force in per mille, typical schooling (0..16), how widely schooling
# varies, share of women, pay against the average.
_OCCUPATIONS = np.array(
    [
        (9, 13.5, 1.2, 0.25, 2.6),
        (30, 12.5, 1.8, 0.32, 1.7),
        (22, 12.8, 1.5, 0.40, 1.8),
        (14, 10.5, 1.8, 0.46, 0.9),
        (9, 11.5, 1.8, 0.52, 1.1),
        (22, 13.2, 0.8, 0.60, 1.4),
        (12, 13.5, 0.7, 0.40, 1.7),
        (10, 13.0, 1.0, 0.74, 1.2),
        (9, 15.0, 0.3, 0.38, 2.3),
        (9, 12.0, 1.5, 0.50, 1.1),
        (20, 13.4, 0.8, 0.20, 1.9),
        (10, 12.0, 1.4, 0.24, 1.4),
        (20, 13.4, 0.7, 0.14, 1.7),
        (9, 15.2, 1.0, 0.44, 1.5),
        (16, 11.3, 1.0, 0.26, 1.1),
        (9, 15.1, 0.3, 0.38, 3.0),
        (30, 12.8, 0.9, 0.90, 1.4),
        (4, 15.0, 0.4, 0.55, 1.9),
        (8, 14.0, 0.7, 0.78, 1.2),
        (24, 9.8, 1.2, 0.90, 0.6),
        (12, 15.4, 0.9, 0.47, 1.4),
        (46, 13.7, 0.6, 0.76, 1.0),
        (12, 10.5, 1.4, 0.90, 0.5),
        (11, 13.3, 0.8, 0.81, 0.9),
        (14, 12.8, 1.5, 0.48, 0.9),
        (36, 10.2, 1.2, 0.95, 0.8),
        (20, 10.4, 1.2, 0.88, 0.8),
        (30, 10.0, 1.2, 0.68, 0.7),
        (20, 9.2, 1.4, 0.38, 0.6),
        (6, 10.0, 1.0, 0.40, 1.0),
        (46, 9.8, 1.5, 0.50, 0.7),
        (36, 9.0, 1.5, 0.75, 0.4),
        (20, 11.8, 1.6, 0.28, 1.4),
        (28, 8.2, 2.2, 0.40, 0.5),
        (22, 9.3, 1.5, 0.72, 0.4),
        (30, 7.2, 2.6, 0.32, 0.5),
        (16, 6.0, 2.8, 0.88, 0.4),
        (16, 9.4, 1.6, 0.95, 0.4),
        (10, 9.8, 1.0, 0.90, 0.5),
        (10, 11.0, 1.2, 0.15, 1.2),
        (11, 9.6, 1.3, 0.22, 0.7),
        (18, 8.4, 1.9, 0.02, 0.9),
        (12, 9.9, 1.0, 0.02, 1.2),
        (28, 6.8, 2.4, 0.03, 0.7),
        (16, 9.2, 1.3, 0.02, 0.9),
        (20, 8.4, 1.9, 0.40, 0.7),
        (24, 8.2, 2.0, 0.25, 0.8),
        (38, 8.7, 1.6, 0.05, 0.9),
        (26, 8.2, 1.8, 0.18, 0.6),
        (12, 4.0, 2.6, 0.20, 0.4),
    ]
)

# Work class by group of occupations: private, nonprofit, local, state, federal, armed forces, incorporated,
# own account, unpaid in the family, looking for work.
_WORK_CLASS = {
    "Management": (76, 4, 2, 1, 1.5, 0.1, 9, 5, 0.05, 1.4),
    "Business and law": (74, 5, 2, 2, 4, 0.1, 5, 7, 0.05, 1),
    "Science and engineering": (83, 2, 1, 3, 6, 0.6, 2, 1.5, 0.02, 1),
    "Health": (66, 18, 3, 4, 3, 0.4, 2, 3, 0.02, 0.6),
    "Education and arts": (16, 12, 50, 14, 1, 0.1, 0.6, 6, 0.02, 0.5),
    "Clerical": (78, 5, 6, 3, 5, 0.3, 0.8, 0.8, 0.3, 1),
    "Sales": (89, 0.5, 0.1, 0.1, 0.1, 0.02, 3, 4, 0.5, 2.5),
    "Personal service": (77, 3, 4, 1, 0.3, 0.1, 0.8, 11, 0.3, 2.6),
    "Protection": (32, 0.6, 46, 12, 7, 2.5, 0.2, 0.2, 0.01, 0.4),
    "Construction and repair": (74, 0.3, 2, 0.8, 0.8, 0.3, 4, 14, 0.2, 4),
    "Production and transport": (90, 0.3, 1.5, 0.4, 0.6, 0.1, 0.8, 4, 0.1, 2.2),
    "Farming": (62, 0.3, 0.3, 0.5, 0.3, 0.02, 3, 27, 4, 3),
}

_SCHOOLING = (4, 0.6, 5, 9, 11, 10, 14, 17, 11, 290, 215, 45, 50, 210, 85, 16, 14)
_RACES = (780, 118, 7, 13, 4, 38, 24, 14, 2)

# Where people of each race come from: the share born in the United States, and the regions of the others.
_ORIGINS: dict[str, tuple[float, dict[str, float]]] = {
    "White": (
        0.955,
        {
            "Central America": 6,
            "Western Europe": 3,
            "Eastern Europe": 2,
            "Southern Europe": 1,
            "South America": 1.5,
            "Caribbean": 1.5,
            "Middle East": 0.7,
            "North America": 1.2,
            "Oceania": 0.2,
        },
    ),
    "Black": (0.92, {"Caribbean": 6, "Africa": 3, "South America": 0.5, "Central America": 0.5}),
    "American Indian": (0.97, {"Central America": 4, "South America": 1}),
    "Chinese": (0.3, {"East Asia": 9, "South-East Asia": 1}),
    "Japanese": (0.6, {"East Asia": 1}),
    "Other Asian or Pacific": (
        0.25,
        {"South Asia": 5, "South-East Asia": 6, "East Asia": 1.5, "Oceania": 0.3},
    ),
    "Other race": (0.4, {"Central America": 7, "Caribbean": 2, "South America": 1.5, "Middle East": 0.2}),
    "Two races": (0.9, {"Central America": 2, "Caribbean": 1, "Western Europe": 1, "South-East Asia": 1}),
    "Three or more races": (0.96, {"Caribbean": 1, "Oceania": 1, "South America": 0.5}),
}
_HOME = {"Japanese": "Japan", "Chinese": "China"}

# Exponents that make common values more common, chosen so that a million rows hold about 180,000 distinct
# combinations of the eight quasi-identifiers: neither all equal nor all unique.
_SKEW = {"education": 1.3, "marital": 1.3, "race": 1.2, "workclass": 1.6, "occupation": 2.0}


class Tables(NamedTuple):
    """One table of slots per drawn column; see `slots`."""

    age: Codes
    gender: Codes
    education: Codes
    marital: Codes
    race: Codes
    workclass: Codes
    country: Codes
    occupation: Codes


def census(rows: int, seed: int | None = None) -> pl.DataFrame:
    """Return a synthetic census table: age, gender, education, marital, race, workclass, country, occupation
    (79, 2, 17, 6, 9, 10, 83 and 50 distinct values) and salary (50 distinct amounts).

    The same seed gives the same rows, and the first rows are the same however many are asked for. None stands
    for a fixed seed: this is not personal data. O(rows); the working memory is a tenth of the result.
    """
    random = np.random.Generator(np.random.PCG64DXSM(1 if seed is None else seed))
    tables = _tables()
    codes = {name: np.empty(rows, np.uint8) for name in ("age", *TEXT_COLUMNS, "salary")}
    for start in range(0, rows, BATCH):
        batch = _batch(tables, random)
        for name, column in codes.items():
            column[start : start + BATCH] = batch[name][: rows - start]
    columns = [pl.Series("age", codes["age"]).cast(pl.Int64) + YOUNGEST]
    columns += [text(values(name), codes.pop(name)).alias(name) for name in TEXT_COLUMNS]
    columns.append((pl.Series("salary", codes["salary"]).cast(pl.Int64) + 1) * SALARY_STEP)
    return pl.DataFrame(columns)


def values(column: str) -> list[str]:
    """Return the values of a text column, in the order of its shipped hierarchy."""
    return (
        GENDERS if column == "gender" else [line[0] for line in read_sample_hierarchy(f"census_{column}.csv")]
    )


def _batch(tables: Tables, random: np.random.Generator) -> dict[str, Codes]:
    nothing = np.zeros(BATCH, np.int32)
    age = draw(tables.age, nothing, random)
    band = age // BAND
    gender = draw(tables.gender, band, random)
    education = draw(tables.education, band, random)
    marital = draw(tables.marital, band.astype(np.int32) * 2 + gender, random)
    race = draw(tables.race, nothing, random)
    country = draw(tables.country, race, random)
    occupation = draw(tables.occupation, education.astype(np.int32) * 2 + gender, random)
    workclass = draw(tables.workclass, occupation, random)
    return {
        "age": age,
        "gender": gender,
        "education": education,
        "marital": marital,
        "race": race,
        "workclass": workclass,
        "country": country,
        "occupation": occupation,
        "salary": _salary(age, gender, education, occupation, random),
    }


def _salary(
    age: Codes, gender: Codes, education: Codes, occupation: Codes, random: np.random.Generator
) -> Codes:
    """Return bands of a log-normal salary that peaks in the early fifties."""
    years = np.arange(YOUNGEST, OLDEST + 1)
    of_age = np.where(years < 52, -(((52 - years) / 32) ** 2), -(((years - 52) / 40) ** 2))
    log = (
        np.log(54_000)
        + of_age[age]
        + np.array([-0.1, 0.08])[gender]
        + 0.04 * (education.astype(np.float64) - 10)
        + 0.8 * np.log(_OCCUPATIONS[:, 4])[occupation]
        + 0.35 * random.standard_normal(len(age), dtype=np.float32)
    )
    band: Codes = np.clip(np.rint(np.exp(log) / SALARY_STEP) - 1, 0, SALARIES - 1).astype(np.uint8)
    return band


@cache
def _tables() -> Tables:
    years = np.arange(YOUNGEST, OLDEST + 1, dtype=np.float64)
    middle: Weights = np.arange(YOUNGEST, OLDEST + 1, BAND, dtype=np.float64) + (BAND - 1) / 2
    return Tables(
        age=slots(_ages(years)[np.newaxis]),
        gender=slots(_genders(middle)),
        education=slots(_weigh_schooling(middle) ** _SKEW["education"]),
        marital=slots(_marital(middle) ** _SKEW["marital"]),
        race=slots(np.array(_RACES, np.float64)[np.newaxis] ** _SKEW["race"]),
        workclass=slots(_work_class() ** _SKEW["workclass"]),
        country=slots(_countries()),
        occupation=slots(_occupations() ** _SKEW["occupation"]),
    )


def _ages(years: Weights) -> Weights:
    """Return weights that are flat up to about sixty, then fall faster and faster."""
    return np.asarray(1 / (1 + np.exp((years - 70) / 6)))


def _genders(middle: Weights) -> Weights:
    women = 0.5 + 0.2 * np.clip((middle - 60) / 35, 0, 1)
    return np.stack([women, 1 - women], axis=1)


def _weigh_schooling(middle: Weights) -> Weights:
    """Younger generations went to school longer, and the youngest have not finished."""
    level = np.arange(len(_SCHOOLING))
    tilt = -0.08 * np.clip((middle - 45) / 10, 0, None)
    weights = np.array(_SCHOOLING) * np.exp(tilt[:, np.newaxis] * (level - 9))
    needed = np.array([0, 0, 0, 0, 0, 0, 0, 0, 0, 17, 17, 19, 19, 21, 23, 24, 26])
    ready = np.clip((middle[:, np.newaxis] + 2 - needed) / 4, 0, 1)
    return np.asarray(weights * np.where(needed > 0, ready, 1))


def _marital(middle: Weights) -> Weights:
    """Return ``[band x gender, status]``: most marry in their twenties and thirties, women outlive men."""
    out = []
    for age in middle:
        for widowhood in (1.0, 0.35):
            never = 0.08 + 0.92 / (1 + np.exp((age - 27) / 3.5))
            widowed = widowhood * 0.75 / (1 + np.exp((78 - age) / 7))
            divorced = 0.15 * np.clip((age - 22) / 25, 0, 1)
            rest = np.clip(1 - never, 0, None)
            married = max(rest - widowed - divorced, 0.05 * rest)
            out.append((never, married, 0.02 * rest, 0.025 * rest, divorced * rest, widowed * rest))
    return np.array(out)


def _countries() -> Weights:
    """Return ``[race, country]``: one large country, and a long tail within each region."""
    lines = read_sample_hierarchy("census_country.csv")
    names = [line[0] for line in lines]
    regions = [line[1] for line in lines]
    within = np.array([1.0 / (1 + regions[:at].count(region)) ** 1.6 for at, region in enumerate(regions)])
    share = {region: within[[r == region for r in regions]].sum() for region in regions}
    out = np.zeros((len(_ORIGINS), len(names)))
    for race, (native, origins) in enumerate(_ORIGINS.values()):
        total = sum(origins.values())
        for at, region in enumerate(regions):
            out[race, at] = (1 - native) * origins.get(region, 0.0) / total * within[at] / share[region]
        out[race, names.index("United States")] = native
    for race_name, home in _HOME.items():
        race = list(_ORIGINS).index(race_name)
        out[race] *= 0.2
        out[race, names.index("United States")] /= 0.2
        out[race, names.index(home)] += 0.8 * (1 - _ORIGINS[race_name][0])
    return out


def _occupations() -> Weights:
    """Return ``[education x gender, occupation]``: popularity, fit of schooling, share of the gender."""
    popularity, typical, spread, women, _ = _OCCUPATIONS.T
    out = []
    for level in range(len(_SCHOOLING)):
        # A job is rarer the further a person's schooling is from what it usually takes, but never impossible.
        fit = np.exp(-(((level - typical) / spread) ** 2) / 2) + 1e-6
        out += [popularity * fit / spread * share for share in (women, 1 - women)]
    return np.array(out)


def _work_class() -> Weights:
    return np.array([_WORK_CLASS[line[1]] for line in read_sample_hierarchy("census_occupation.csv")])
