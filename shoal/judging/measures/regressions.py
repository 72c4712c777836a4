"""Small regressions: least squares and logistic by Newton's method, with weights and standard errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.support.arrays import BoolVector, FloatMatrix, FloatVector
from shoal.support.brief import Brief

STEPS = 60
ENOUGH = 1e-8
"""Newton's method is near the end when the deviance changes by less than this share."""
MORE = 4
"""Steps after that. What still moves then is infinite: elsewhere each step doubles the number of correct digits."""
MOVES = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class Fit(Brief):
    """Coefficients with their standard errors; NaN for those that the rows do not determine."""

    coefficients: FloatVector
    errors: FloatVector
    rows: float


def find_independent_columns(design: FloatMatrix, weights: FloatVector) -> BoolVector:
    """Return which columns of a design matrix are linearly independent of the columns before them."""
    scaled = design * np.sqrt(weights)[:, None]
    kept = np.zeros(design.shape[1], np.bool_)
    basis = np.zeros((design.shape[1], len(design)))
    for j, column in enumerate(scaled.T):
        size = float(np.linalg.norm(column))
        rest = column - basis[:j].T @ (basis[:j] @ column)
        rest -= basis[:j].T @ (basis[:j] @ rest)
        left = float(np.linalg.norm(rest))
        if size > 0 and left > 1e-8 * size:
            kept[j], basis[j] = True, rest / left
    return kept


def linear(design: FloatMatrix, outcome: FloatVector, weights: FloatVector) -> Fit:
    """Fit by least squares; `weights` say how many rows each line stands for. O(rows x columns^2)."""
    kept = find_independent_columns(design, weights)
    own = design[:, kept]
    inverse = np.linalg.inv((own * weights[:, None]).T @ own)
    found = inverse @ (own.T @ (weights * outcome))
    rest = outcome - own @ found
    rows = float(weights.sum())
    free = rows - own.shape[1]
    spread = float(weights @ rest**2) / free if free > 0 else np.nan
    return _fit(kept, found, np.sqrt(np.diag(inverse) * spread), rows)


def logistic(design: FloatMatrix, outcome: FloatVector, weights: FloatVector) -> Fit | None:
    """Fit the log-odds of an outcome from 0 to 1 by Newton's method. A coefficient that is infinite, because some rows
    can be predicted without error, is NaN; the others are as if these rows were left out. None if all rows can be.
    O(rows x columns^2) per step.
    """
    kept = find_independent_columns(design, weights)
    own = design[:, kept]
    found, before, more = np.zeros(own.shape[1]), np.inf, MORE
    for _ in range(STEPS):
        odds = own @ found
        chance = 1.0 / (1.0 + np.exp(-np.clip(odds, -500.0, 500.0)))
        deviance = float(weights @ (np.logaddexp(0.0, odds) - outcome * odds))
        if deviance <= ENOUGH * float(weights.sum()):
            return None  # Every row is predicted without error.
        information = (own * (weights * chance * (1.0 - chance))[:, None]).T @ own
        slope = own.T @ (weights * (outcome - chance))
        step = np.asarray(np.linalg.lstsq(information, slope, rcond=1e-14)[0], np.float64)
        still = np.abs(step) > MOVES * np.maximum(1.0, np.abs(found))
        if abs(before - deviance) <= ENOUGH * deviance:
            more -= 1
            if more == 0 or not still.any():
                break
        before, found = deviance, found + step
    else:
        return None
    if still.all():
        return None
    errors = np.sqrt(np.maximum(np.diag(np.linalg.pinv(information, rcond=1e-14, hermitian=True)), 0.0))
    return _fit(kept, np.where(still, np.nan, found), np.where(still, np.nan, errors), float(weights.sum()))


def _fit(kept: BoolVector, found: FloatVector, errors: FloatVector, rows: float) -> Fit:
    whole = np.full((2, len(kept)), np.nan)
    whole[:, kept] = found, errors
    return Fit(whole[0], whole[1], rows)
