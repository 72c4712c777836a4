"""How a policy asks for a model: keys of `[privacy]`, and the numbers that a parameter may be."""

from __future__ import annotations

import math
from dataclasses import MISSING, dataclass, fields
from fractions import Fraction
from functools import cache
from typing import get_type_hints

LARGEST = 2**63 - 1
"""The largest whole number in TOML."""
_WORDS = {"ge": "at least", "gt": "greater than", "le": "at most", "lt": "less than"}


@dataclass(frozen=True)
class Key:
    """A key of `[privacy]`. Models that share a key are the words of its table, such as `l = { distinct = 3 }`."""

    name: str
    meaning: str
    """What the key asks of a release: for editors and reports."""
    shorthand: str = ""
    """The word that a bare number stands for; without one, the policy must give a word."""


@dataclass(frozen=True)
class Bounds:
    """The numbers that a parameter may be; its type says whether it must be whole."""

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None

    @property
    def given(self) -> dict[str, float]:
        """The bounds by their short names."""
        return {name: bound for name, bound in vars(self).items() if bound is not None}

    def broken(self, value: float | Fraction, kind: type) -> str:
        """Return what a value must be, if it violates a bound; else an empty text."""
        tests = {"ge": value >= (self.ge or 0), "gt": value > (self.gt or 0)}
        tests |= {"le": value <= (self.le or 0), "lt": value < (self.lt or 0)}
        # A whole number or a fraction may be too large to become a float.
        finite = not isinstance(value, float) or math.isfinite(value)
        whole = kind is not int or value % 1 == 0
        if finite and whole and all(tests[name] for name in self.given):
            return ""
        wanted = " and ".join(f"{_WORDS[name]} {bound:g}" for name, bound in self.given.items())
        return f"must be {'a whole number, ' if kind is int else ''}{wanted}"


@cache
def bounds(model: type) -> dict[str, tuple[type, Bounds]]:
    """Return the bounded fields of a model, with the type and the bounds of each."""
    found = {}
    for name, hint in get_type_hints(model, include_extras=True).items():
        for limit in getattr(hint, "__metadata__", ()):
            if isinstance(limit, Bounds):
                found[name] = (hint.__origin__, limit)
    return found


@cache
def parameters(model: type) -> tuple[str, ...]:
    """Return the fields that the value in a policy fills: the bounded ones without a default."""
    return tuple(f.name for f in fields(model) if f.name in bounds(model) and f.default is MISSING)
