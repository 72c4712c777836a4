"""The admissions of a fictional hospital in one year: the table of the demo and of the tutorial.

No real person is in it. Diagnoses depend on age and sex, stays on diagnosis and age. Zip codes differ in size, as
towns do.
"""

from __future__ import annotations

from datetime import date
from functools import cache
from typing import NamedTuple

import numpy as np
import polars as pl

from shoal.apps.samples.draw import (
    BATCH,
    Codes,
    Weights,
    draw,
    read_sample_file,
    read_sample_hierarchy,
    slots,
    text,
)

OLDEST = 99
BAND = 5
"""Years of age that share one distribution."""
SEXES = ["female", "male"]
YEAR = date(2024, 1, 1)
DAYS = 366

# For each diagnosis: how common, at what age (middle and spread), share of women, days in hospital.
_DIAGNOSES: dict[str, tuple[float, float, float, float, float]] = {
    "Lung cancer": (18, 70, 11, 0.45, 9),
    "Breast cancer": (20, 62, 13, 0.99, 5),
    "Prostate cancer": (16, 71, 9, 0.0, 5),
    "Bowel cancer": (16, 69, 12, 0.46, 9),
    "Leukemia": (6, 45, 28, 0.45, 14),
    "Uterine fibroids": (9, 43, 8, 1.0, 3),
    "Colon polyps": (12, 63, 11, 0.46, 1),
    "Heart attack": (34, 68, 13, 0.37, 6),
    "Heart failure": (40, 79, 10, 0.51, 8),
    "Irregular heartbeat": (32, 73, 13, 0.48, 4),
    "Stroke": (30, 74, 13, 0.49, 9),
    "High blood pressure": (24, 66, 15, 0.55, 3),
    "Deep vein thrombosis": (10, 58, 18, 0.52, 4),
    "Pneumonia": (38, 62, 30, 0.47, 7),
    "Influenza": (16, 42, 32, 0.51, 4),
    "Bronchitis": (16, 30, 32, 0.48, 4),
    "HIV infection": (3, 42, 12, 0.24, 6),
    "Hepatitis C": (4, 48, 13, 0.36, 4),
    "Sepsis": (14, 69, 20, 0.46, 11),
    "Asthma": (16, 22, 22, 0.52, 3),
    "Chronic obstructive lung disease": (26, 71, 10, 0.46, 7),
    "Stomach ulcer": (9, 60, 18, 0.43, 4),
    "Appendicitis": (20, 24, 14, 0.46, 3),
    "Gallstones": (24, 54, 18, 0.64, 4),
    "Gastroenteritis": (22, 36, 32, 0.53, 3),
    "Type 1 diabetes": (7, 22, 16, 0.46, 4),
    "Type 2 diabetes": (22, 65, 13, 0.45, 6),
    "Kidney stones": (14, 47, 15, 0.34, 2),
    "Kidney failure": (13, 73, 14, 0.46, 8),
    "Depression": (20, 43, 18, 0.62, 21),
    "Bipolar disorder": (5, 41, 14, 0.55, 22),
    "Anxiety disorder": (9, 37, 15, 0.64, 9),
    "Alcohol dependence": (16, 47, 12, 0.27, 8),
    "Opioid dependence": (6, 36, 9, 0.31, 9),
    "Hip fracture": (22, 82, 9, 0.71, 11),
    "Wrist fracture": (14, 46, 30, 0.58, 2),
    "Concussion": (16, 30, 27, 0.44, 2),
    "Burn": (5, 28, 22, 0.39, 7),
    "Birth of a child": (90, 31, 5, 1.0, 3),
    "Miscarriage": (8, 33, 6, 1.0, 1),
}


DIAGNOSES = list(_DIAGNOSES)


class Tables(NamedTuple):
    """One table of slots per drawn column; see `slots`."""

    age: Codes
    sex: Codes
    diagnosis: Codes
    zip: Codes


def patients(rows: int, seed: int | None = None) -> pl.DataFrame:
    """Return synthetic hospital admissions: patient_id, name, birth_date, sex, zip, admitted, diagnosis, stay_days.

    Zip codes are text with leading zeros. The same seed gives the same rows, and the first rows are the same
    however many are asked for. None stands for a fixed seed: this is not personal data. O(rows).
    """
    random = np.random.Generator(np.random.PCG64DXSM(1 if seed is None else seed))
    batches = [_batch(tables(), random, start) for start in range(0, max(rows, 1), BATCH)]
    return pl.concat(batches).head(rows)


def _batch(tables: Tables, random: np.random.Generator, start: int) -> pl.DataFrame:
    nothing = np.zeros(BATCH, np.int32)
    age = draw(tables.age, nothing, random)
    band = age // BAND
    sex = draw(tables.sex, band, random)
    diagnosis = draw(tables.diagnosis, band.astype(np.int32) * 2 + sex, random)
    place = draw(tables.zip, nothing, random)
    admitted = random.integers(0, DAYS, BATCH)
    # A birthday in the year of age before the admission, so that nobody is admitted before birth.
    since_birth = np.floor(age * 365.2425).astype(np.int64) + random.integers(0, 365, BATCH)
    typical = np.array([stay for *_, stay in _DIAGNOSES.values()])[diagnosis] * (0.7 + age / 170)
    stay = np.clip(np.rint(typical * np.exp(0.5 * random.standard_normal(BATCH)) - 0.3), 1, 120)
    women, men, families = (line.split() for line in read_sample_file("patients_names.txt").splitlines())
    first = random.integers(0, len(women), BATCH) + sex.astype(np.int64) * len(women)
    last = random.integers(0, len(families), BATCH)
    first_day = pl.lit(YEAR)
    return pl.DataFrame(
        {
            "number": np.arange(start + 1, start + BATCH + 1),
            "first": text(women + men, first),
            "last": text(families, last),
            "admitted": admitted,
            "since_birth": since_birth,
            "sex": text(SEXES, sex),
            "zip": text([line[0] for line in read_sample_hierarchy("patients_zip.csv")], place),
            "diagnosis": text(list(_DIAGNOSES), diagnosis),
            "stay_days": stay.astype(np.int64),
        }
    ).select(
        pl.format("P{}", pl.col("number").cast(pl.String).str.zfill(7)).alias("patient_id"),
        pl.format("{} {}", "first", "last").alias("name"),
        (first_day + pl.duration(days=pl.col("admitted") - pl.col("since_birth")))
        .cast(pl.Date)
        .alias("birth_date"),
        "sex",
        "zip",
        (first_day + pl.duration(days="admitted")).cast(pl.Date).alias("admitted"),
        "diagnosis",
        "stay_days",
    )


@cache
def tables() -> Tables:
    """Prepare to draw the age first, as the diagnoses imply it, then the sex, then the diagnosis."""
    years = np.arange(OLDEST + 1, dtype=np.float64)
    joint = _joint(years)
    bands = joint.reshape(-1, BAND, 2, len(_DIAGNOSES)).sum(axis=1)
    return Tables(
        age=slots(joint.sum(axis=(1, 2))[np.newaxis]),
        sex=slots(bands.sum(axis=2)),
        diagnosis=slots(bands.reshape(-1, len(_DIAGNOSES))),
        zip=slots(_zips()[np.newaxis]),
    )


def _joint(years: Weights) -> Weights:
    """Return ``[age, sex, diagnosis]`` weights."""
    common, middle, spread, women, _ = np.array(list(_DIAGNOSES.values())).T
    of_age = np.exp(-(((years[:, np.newaxis] - middle) / spread) ** 2) / 2)
    of_age[of_age < 1e-3] = 0
    living = 1 / (1 + np.exp((years - 88) / 4))
    weights = of_age / of_age.sum(axis=0) * common * living[:, np.newaxis]
    return np.stack([weights * women, weights * (1 - women)], axis=1)


def _zips() -> Weights:
    """Return weights: larger towns have more zip codes, and the first codes of a town have more people."""
    towns = [line[1] for line in read_sample_hierarchy("patients_zip.csv")]
    return np.array(
        [towns.count(town) / (1 + towns[:at].count(town)) ** 0.7 for at, town in enumerate(towns)]
    )
