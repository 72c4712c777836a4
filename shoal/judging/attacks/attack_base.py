"""What an attack is: a program that plays an adversary with some knowledge against the published rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from shoal.errors import DataError
from shoal.judging.linking.evidence import Evidence
from shoal.judging.models import Model
from shoal.judging.models.hybrid_k import false_shares, size_test_levels
from shoal.judging.models.threats import RE_IDENTIFICATION, Threat
from shoal.methods import Method
from shoal.methods.method import FalseCells
from shoal.release.results import plain
from shoal.support.arrays import FloatVector, LongVector
from shoal.support.brief import html_table
from shoal.support.run import Run
from shoal.support.wording import number

MOST_EXPOSED = 20

Options = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Making:
    """How a release was made, as far as that is known."""

    method: Method | None
    """The method that made it, or else that of the policy; None where neither is known."""
    k: int | None = None
    """The k that it was made with."""
    certain: bool = False
    """The run or its record names the method, not only the policy."""

    @property
    def false_cells(self) -> FalseCells:
        """How the method makes cells false; where it is not known, as if it made none."""
        return FalseCells() if self.method is None else self.method.false_cells

    @property
    def rebuilt_by(self) -> Options:
        """The options by which an adversary forms the groups of the method again; none if the method is not known."""
        return {} if self.method is None else self.method.rebuilt_by


@dataclass(frozen=True, kw_only=True)
class Rows:
    """What the rows of a release are like."""

    intact: bool = True
    """The quasi-identifiers of a row are those of one person: they were not shuffled against each other."""
    in_buckets: bool = False
    """They show buckets, within which values were shuffled."""
    empty: bool = False
    """There are no rows."""
    name_values: bool = False
    """Some cells name values that somebody has: a range its ends, a set its elements."""


@dataclass(frozen=True, kw_only=True)
class Counted:
    """Whom guarantees count."""

    people: bool = False
    """Some people have several rows, so people count, not rows."""
    followed: bool = False
    """Their rows can be followed, so guarantees are about people who show the same rows."""
    groups: tuple[str, ...] = ()
    """The kinds of groups of people that count, too, such as households."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What is known about a release before it is attacked."""

    made: Making
    models: tuple[Model, ...]
    sensitive: bool
    """The table has sensitive columns."""
    population: bool
    """Everybody who could be in the table is known."""
    owners: bool
    """It is known whose each row is, so that guesses can be judged."""
    rows: Rows = Rows()
    counted: Counted = Counted()
    earlier: bool = False
    """Earlier releases of the same people are known."""

    @property
    def may_relocate(self) -> bool:
        """Whether rows may have been relocated, by the method or because the policy allows it. If it is known that the
        method relocates no row, an adversary can trust every row.
        """
        if self.made.certain and self.made.method is not None:
            return bool(self.made.false_cells.how)
        return bool(false_shares(self.models) or size_test_levels(self.models) or self.made.false_cells.how)

    @property
    def may_move_rows(self) -> bool:
        """Rows may have been moved into classes of people with other values: not if the method is known to make its
        false cells in another way.
        """
        return self.may_relocate and (self.made.false_cells.moves_rows or not self.made.false_cells.how)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Exposure:
    """How far an adversary gets."""

    attack: str
    adversary: str
    """What the adversary knows, in words."""
    success: float
    """Expected share of people that the adversary identifies."""
    baseline: float
    """The same without the release, by a blind guess."""
    figures: Mapping[str, Any]
    """Further numbers that say nothing about individuals."""
    chances: FloatVector
    """Row of the original -> probability that the adversary identifies this person; if some people have several rows,
    person -> that of the row by which they are identified most easily. Private."""
    at_risk: int
    """People for whom the adversary gets further than the policy allows."""
    notes: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    whom: str = "people"
    """Who is counted: people, or groups of them."""
    counted: str = ""
    """What `success` and `baseline` are shares of, if not of people."""
    rows: LongVector | None = None
    """Person -> that row of the original, if some people have several rows. Private."""

    @property
    def holds(self) -> bool:
        """Nobody is exposed more than the policy allows."""
        return self.at_risk == 0

    def __repr__(self) -> str:
        """Say in a line how far the adversary gets; nothing about single people."""
        return f"<Exposure: {self._head()}>"

    def _repr_html_(self) -> str:
        """Return the figures as a table for notebooks; nothing about single people."""
        people = len(self.chances)
        figures = {name: value for name, value in self.figures.items() if isinstance(value, int | float)}
        rows: list[tuple[str, str | bool]] = [
            ("success", _share(self.success)),
            ("success without the release", _share(self.baseline)),
            *((name.replace("_", " "), number(value)) for name, value in figures.items()),
            (f"{self.whom} at risk", f"{self.at_risk:,} of {people:,}"),
            ("holds", self.holds),
        ]
        return html_table(f"The adversary {self.adversary}.", (self.attack, ""), rows)

    def _head(self) -> str:
        risk = "nobody is" if self.holds else f"{self.at_risk:,} of {len(self.chances):,} {self.whom} are"
        return (
            f"{self.attack}; success {_share(self.success)}, without the release {_share(self.baseline)}; "
            f"{risk} exposed more than the policy allows"
        )

    @property
    def most_exposed(self) -> list[int]:
        """The rows of the original, counted from 0, with the highest probabilities. Private."""
        return list(self.exposed)

    @property
    def exposed(self) -> dict[int, float]:
        """The same rows, each with its probability. Private."""
        order = np.argsort(-self.chances, kind="stable")[:MOST_EXPOSED]
        return {
            int(one if self.rows is None else self.rows[one]): float(self.chances[one])
            for one in order
            if self.chances[one] > 0
        }

    def summary(self) -> dict[str, Any]:
        """Return plain data for ``--json``: nothing about individuals."""
        return {
            "attack": self.attack,
            "adversary": self.adversary,
            "people": len(self.chances),
            **({} if self.whom == "people" else {"counted": self.whom}),
            "success": plain(self.success),
            "baseline": plain(self.baseline),
            "at_risk": self.at_risk,
            "holds": self.holds,
            **{name: plain(value) for name, value in self.figures.items()},
            "seconds": {name: round(value, 6) for name, value in self.seconds.items()},
            "notes": list(self.notes),
        }

    def record(self) -> dict[str, Any]:
        """Return the private record: the summary, and the people who are most exposed, by row number."""
        return {
            "private": "Keep this record with the original data; it is not part of the release.",
            **self.summary(),
            "most_exposed": [{"row": row, "chance": chance} for row, chance in self.exposed.items()],
        }


def _share(value: float) -> str:
    return f"{value:.2%}" if value == value else "unknown"


def check_everybody(unmatched: int, suppressed: int) -> None:
    """Refuse a release that is not of these people: an adversary would seem to find nobody."""
    if unmatched > suppressed:
        raise DataError(
            f"the release is not a generalization of the original: {unmatched:,} people match no row of it, but only "
            f"{suppressed:,} were suppressed; check that both files, the columns and the hierarchies belong together"
        )


class Attack(ABC):
    """An adversary. Concrete attacks are frozen, keyword-only dataclasses whose fields are what the adversary knows,
    registered in attacks/__init__.py.
    """

    name: ClassVar[str]
    """The key in the registry."""
    summary: ClassVar[str]
    """One line: what the adversary knows, and does."""
    title: ClassVar[str]
    """What a report calls it."""
    threat: ClassVar[Threat] = RE_IDENTIFICATION
    """What it would do to people."""
    against: ClassVar[Mapping[str, Options]] = {}
    """The adversaries of a policy that it plays, each with the options to play them."""
    informs: ClassVar[Options | None] = None
    """The options with which methods are compared where no adversary of the policy asks for it; None: not at all."""
    unrequired: ClassVar[str] = ""
    """Why nobody is judged by it, if no requirement is about what it does."""
    least_k: ClassVar[int] = 2
    """The k where the policy asks for none."""

    only_rows: ClassVar[str] = "it counts rows as people"
    """Why it would say too little where people have several rows; empty: it counts people then."""
    follows: ClassVar[bool] = False
    """It takes all rows of a person together where they can be followed. Others would say too little then."""

    @classmethod
    def refuses(cls, setting: Setting) -> str:
        """Return why it cannot be played against such a release, or an empty text."""
        if setting.counted.people and cls.only_rows:
            return f"some people have several rows, and {cls.only_rows}"
        if setting.counted.followed and not cls.follows:
            return "rows of a person can be followed, and it takes each row by itself"
        return cls.inapplicable(setting)

    @classmethod
    def inapplicable(cls, setting: Setting) -> str:
        """Return why it means nothing for such a release, or an empty text."""
        return ""

    @classmethod
    def why_unrequired(cls, setting: Setting) -> str:
        """Return why nobody is judged by it, or an empty text."""
        return cls.unrequired

    @classmethod
    def reads(cls, setting: Setting) -> Options:
        """Return the options that follow from the method and the models, which an adversary knows."""
        return {}

    @classmethod
    def options_to_play(cls, adversary: str, setting: Setting) -> Options | None:
        """Return the attack's options for an adversary of the policy; None if it does not play this adversary."""
        if adversary not in cls.against or cls.refuses(setting):
            return None
        return {**cls.against[adversary], **cls.reads(setting)}

    @classmethod
    def scenarios(cls, setting: Setting) -> Mapping[str, Options]:
        """Return the titles under which a report tries it, each with its options."""
        return {} if cls.refuses(setting) else cls.by_group({cls.title: cls.reads(setting)}, setting)

    @classmethod
    def by_group(cls, found: Mapping[str, Options], setting: Setting) -> dict[str, Options]:
        """Return scenarios, and the same for each kind of groups of people."""
        more = {
            f"{title}, by {kind}": {**options, "group": kind}
            for kind in (() if cls.only_rows else setting.counted.groups)
            for title, options in found.items()
        }
        return {**found, **more}

    @classmethod
    def findings(cls, figures: Mapping[str, Any], people: int) -> Iterator[str]:
        """Yield the figures that matter, in words, for those who keep the original."""
        yield from ()

    @abstractmethod
    def attempt(self, evidence: Evidence, run: Run) -> Exposure:
        """Attack the published rows, and compare the result with the original. The owners of rows serve only to judge
        the result.
        """
