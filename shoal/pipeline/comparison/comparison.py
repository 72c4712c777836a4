"""`Comparison`: all trials of a table under one policy, the best of them, and the Pareto frontier of risk and loss."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from shoal.errors import DataError
from shoal.judging.measures import MEASURES
from shoal.judging.measures.evaluate import analyses
from shoal.pipeline.comparison.trial import Trial
from shoal.support.brief import html_table
from shoal.support.machine.files import read_json
from shoal.support.wording import either, first_line, format_count, number

VERSION = 1
"""Version of the file format."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Comparison:
    """The trials of all methods on one table under one policy. Reasons of trials may name values that few rows have."""

    trials: tuple[Trial, ...]
    adversaries: tuple[str, ...]
    """The adversaries that releases had to withstand, by their names in the policy."""
    derivation: tuple[str, ...] = ()
    """Why these models and methods stop them, in one or two sentences each."""
    measure: str = MEASURES.default
    """The policy's measure, by which releases are ranked."""
    lower_is_better: bool = True
    k: int | None = None
    """The policy's own k."""
    rows: int = 0
    columns: Mapping[str, str] = field(default_factory=dict)
    """Column -> role."""
    seconds: float = 0.0
    """Total seconds of all trials, whether in parallel or not."""

    def __repr__(self) -> str:
        """Say in a line which release is best, without reasons that may be about few rows."""
        return f"<Comparison: {self._head()}>"

    def _repr_html_(self) -> str:
        """Return the trials that made a release as a table for notebooks, the best first."""
        shown = (self.measure, *self.analyses)
        made = sorted(
            (trial for trial in self.trials if trial.holds),
            key=lambda trial: (not trial.withstands, self.loss(trial), trial.suppressed),
        )
        rows: list[tuple[str | bool, ...]] = [
            (
                trial.label,
                number(trial.k),
                *(number(float(trial.measures.get(name, math.nan))) for name in shown),
                "-" if trial.risk is None else f"{trial.risk:.2%}",
                number(trial.classes),
                number(trial.suppressed),
                trial.withstands,
            )
            for trial in made
        ]
        columns = ("method", "k", *shown, "risk", "classes", "suppressed", "withstands its adversaries")
        return html_table(self._head(), columns, rows)

    def _head(self) -> str:
        best = self.best()
        chosen = (
            "no release satisfies the policy and withstands its adversaries"
            if best is None
            else f"best by {self.measure}: {best.label}"
        )
        return f"{format_count(len(self.trials), 'trial')} of {format_count(self.rows, 'row')}; {chosen}"

    def loss(self, trial: Trial) -> float:
        """Return the measure of a trial, with the sign changed if higher is better; infinite if it is unknown."""
        value = trial.measures.get(self.measure, math.nan)
        if value is None or math.isnan(value):
            return math.inf
        return value if self.lower_is_better else -value

    @property
    def analyses(self) -> list[str]:
        """The measures of analyses that the policy names, as far as people are shown them."""
        found = analyses(name for trial in self.trials for name in trial.measures)
        return [name for name in found if name != self.measure]

    @property
    def ks(self) -> tuple[int | None, ...]:
        """Every k that was tried, ascending."""
        return tuple(sorted({trial.k for trial in self.trials}, key=lambda k: -1 if k is None else k))

    def candidates(self, k: int | None = None) -> tuple[Trial, ...]:
        """Return the trials that satisfy the policy and withstand its adversaries, best first; for all k, or for one.
        Of equally good ones, the first: how long they took is different in every run."""
        return tuple(
            sorted(
                (trial for trial in self.trials if trial.withstands and (k is None or trial.k == k)),
                key=lambda trial: (self.loss(trial), trial.suppressed),
            )
        )

    def best(self, k: int | None = None) -> Trial | None:
        """Return the best trial for a k, by default the policy's; None if no release withstands the adversaries."""
        wanted = self.k if k is None else k
        if wanted is None and len(self.ks) > 1:
            wanted = self.ks[-1]
        return next(iter(self.candidates(wanted)), None)

    def frontier(self) -> tuple[Trial, ...]:
        """Return the Pareto frontier: the candidates that no other one beats in both risk and loss. From the least loss
        to the least risk.
        """
        known = [trial for trial in self.candidates() if trial.risk is not None]
        found: list[Trial] = []
        least = math.inf
        for trial in sorted(known, key=lambda trial: (self.loss(trial), trial.risk)):
            assert trial.risk is not None
            if trial.risk < least and math.isfinite(self.loss(trial)):
                found.append(trial)
                least = trial.risk
        return tuple(found)

    def to_json(self) -> dict[str, Any]:
        """Return plain data, without text that may be about few rows."""
        best = self.best()
        return {
            "version": VERSION,
            "adversaries": list(self.adversaries),
            "derivation": list(self.derivation),
            "measure": self.measure,
            "lower_is_better": self.lower_is_better,
            "k": self.k,
            "rows": self.rows,
            "columns": dict(self.columns),
            "seconds": round(self.seconds, 3),
            "best": None if best is None else best.label,
            "frontier": [self.trials.index(trial) for trial in self.frontier()],
            "trials": [trial.without_rows().to_json() for trial in self.trials],
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Comparison:
        """Read a comparison back, with every value in its type."""
        try:
            if raw["version"] != VERSION:
                raise DataError(
                    f"this comparison has version {raw['version']}, but this Shoal reads version {VERSION}"
                )
            trials: Sequence[Any] = raw["trials"]
            own = {entry.name: raw[entry.name] for entry in fields(cls)}
            own["trials"] = tuple(Trial.from_json(trial) for trial in trials)
            return TypeAdapter(cls).validate_python(own)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"this is not a comparison: {first_line(error)}") from None

    @classmethod
    def read(cls, path: str | Path) -> Comparison:
        """Read the file of a comparison, or the one in the folder that `shoal compare` wrote."""
        place = Path(path)
        place = place / "comparison.json" if place.is_dir() else place
        try:
            raw = read_json(place)
        except FileNotFoundError:
            raise DataError(
                f"the comparison {place} does not exist: "
                + either(
                    command="`shoal compare DATA -p POLICY -o FOLDER` makes one",
                    python="give what `shoal.compare` returned",
                )
            ) from None
        except (OSError, ValueError) as error:
            raise DataError(f"{place} cannot be read as a comparison: {error}") from None
        if not isinstance(raw, dict):
            raise DataError(f"{place} is not a comparison")
        return cls.from_json(raw)
