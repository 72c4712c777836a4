"""Thresholds as exact fractions: 0.2 means 1/5, as it is written, and "1/11" what no decimal number is."""

from __future__ import annotations

import re
from fractions import Fraction
from math import ceil
from typing import Any

from shoal.judging.models.keys import LARGEST

DIGITS = len(str(LARGEST))
SPELLED = "^[0-9]{1,N}(/[0-9]{1,N}|[.][0-9]{1,N})?$".replace("N", str(DIGITS))
"""How a policy may spell a fraction as a text."""
SMALLEST = Fraction(1, LARGEST)
"""A smaller threshold would mean larger classes than a policy can ask for."""


def exact(value: Any) -> Fraction:
    """Return the fraction that a policy spells: a number by its shortest decimal form, or a text such as ``1/11``.

    A binary float next to 0.2 is a little larger than 1/5; whoever writes 0.2 means 1/5. Raises ValueError if a text
    is no fraction, and OverflowError if a number is closer to 0 than `SMALLEST`.
    """
    if isinstance(value, str):
        plain = value.replace(" ", "")
        if not re.fullmatch(SPELLED, plain):
            raise ValueError(value)
        try:
            value = Fraction(plain)
        except ZeroDivisionError:
            raise ValueError(value) from None
    found = value if isinstance(value, Fraction) else Fraction(repr(float(value)))
    if 0 < found < SMALLEST:
        raise OverflowError(value)
    return found


def least_size(risk: Fraction) -> int:
    """Return the smallest class whose risk, one over its size, is at most a threshold."""
    return ceil(1 / risk)


def format_ratio(value: Fraction) -> str:
    """Write a fraction as a policy may spell it: a decimal number where it is a short one, else as a quotient."""
    decimal = f"{float(value):.6f}".rstrip("0").rstrip(".")
    return decimal if Fraction(decimal) == value else f"{value.numerator}/{value.denominator}"


def size_in_words(risk: Fraction) -> str:
    """Say which class size a threshold means, and how to spell the next smaller one if it is meant perhaps: 0.0909 is
    a little less than 1/11.
    """
    size = least_size(risk)
    words = f"classes of {size:,} or more"
    near = size > 2 and risk != Fraction(1, size) and Fraction(1, size - 1) - risk < risk / 100
    return f'{words}; "1/{size - 1}" means {size - 1:,}' if near else words
