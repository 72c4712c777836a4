"""What a method is: it takes a coded table and requirements, and proposes a release."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.coding import CodedTable
from shoal.errors import PolicyError, Problem
from shoal.judging.models import Model
from shoal.judging.models.requirements import Requirements
from shoal.release import Release, ValueSets
from shoal.release.layout import Shuffling
from shoal.release.published import Published
from shoal.support.arrays import FloatVector, IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief
from shoal.support.run import Run
from shoal.support.wording import either


@dataclass(frozen=True, kw_only=True)
class Parts:
    """A method that may work on disjoint parts of a table: its releases of them are together a release of the table."""

    why: str
    """Why the releases of the parts are together a release that satisfies the requirements: a proof in a sentence."""
    whole: int | None = None
    """Tables of at most so many rows are not divided unless the policy says so; None: no table is."""
    rows: int = 0
    """How many rows a part has, unless the policy says so."""
    memory: int = 1000
    """About how many bytes its search needs per row."""
    sums: tuple[str, ...] = ("suppressed",)
    """Facts about its work that add up over parts; others are not told, because they are about a part only."""
    same: tuple[str, ...] = ()
    """Facts that are the same for every part, because they follow from the policy."""


@dataclass(frozen=True, kw_only=True)
class Shows:
    """What the releases of a method show."""

    classes: bool = False
    """By default, all rows of a class show one node or range per column, and no cell is false: other methods can build
    on it."""
    notions: tuple[type[Model], ...] = ()
    """The notions of k that they satisfy without equivalence classes."""
    buckets: bool = False
    """A column numbers buckets, and values were shuffled within each bucket."""
    exact: bool = False
    """Quasi-identifiers are shown as they are, never generalized."""
    two_tables: bool = False
    """They are two tables, joined by bucket number."""


@dataclass(frozen=True, kw_only=True)
class Abilities:
    """What a method can be asked for."""

    count_people: bool = False
    """Its searches count the people of a class, if the policy names a person ID column."""
    keep_earlier: bool = False
    """Its searches show every rule the rows of each class, so they can keep open what earlier releases leave open."""
    search_mappings: bool = False
    """It searches for one level per column. So rows with equal quasi-identifiers are always in one class, single
    classes can be suppressed, and the search judges all classes together: it satisfies rules about averages and shares
    by itself. For other methods by classes, Shoal joins classes of their releases until such rules hold."""
    make_buckets: bool = False
    """Its classes can become the buckets of methods that shuffle within buckets."""
    presence_only: bool = False
    """It works only with bounds on presence."""
    delegate: bool = False
    """It lets other methods make the release."""
    optimize: tuple[str, ...] = ()
    """What its search makes small: losses of ``cells``, numbers about ``classes``, or nothing (`Measure.steers`)."""


@dataclass(frozen=True, kw_only=True)
class FalseCells:
    """How a method makes some cells false: they do not hold the value of the person whose row it is."""

    how: str = ""
    """In words, such as ``relocates cells``; empty: all its cells are true."""
    share: float = 0.01
    """A share of false cells that is worth permitting."""
    moves_rows: bool = False
    """It moves rows into classes of people with other values, and which rows and where to is a secret."""
    single_values: str = "as it is"
    """What a single value in a cell of a quasi-identifier is, in words."""


@dataclass(frozen=True, eq=False, repr=False)
class Draws(Brief):
    """Every release that a method may make of a table: it draws, for one group of rows after the other, which region
    each row shows."""

    low: IntMatrix
    high: IntMatrix
    sets: ValueSets | None
    each: Sequence[Iterable[tuple[IntVector | LongVector, IntVector, float]]]
    """Per group, the ways to do so: rows, their regions, and the probability."""


@dataclass(frozen=True)
class BoxCuts:
    """How boxes of rows are cut in two, where counts are enough to choose the cuts."""

    strict: bool = True
    """Rows with equal values stay together."""
    by_width: bool = False
    """The widest column is cut, not the one that saves most."""


CLASSES_OF_PARTS = "classes of disjoint parts are classes of the table, and every class is judged by itself"
"""Why methods that make classes may work on parts."""


class Method(ABC):
    """An algorithm that proposes a release. Concrete methods are frozen, keyword-only dataclasses. Their fields are
    their options (a docstring under each, checks in ``__post_init__``). methods/__init__.py registers them.
    """

    name: ClassVar[str]
    """The key in the registry."""
    summary: ClassVar[str]
    """One line: what it does, and when to choose it."""
    paper: ClassVar[str]
    """The paper that introduced it."""
    shows: ClassVar[Shows] = Shows()
    can: ClassVar[Abilities] = Abilities()
    false_cells: ClassVar[FalseCells] = FalseCells()
    trials: ClassVar[tuple[Mapping[str, Any], ...]] = ({},)
    """Options that are worth a trial of their own when methods are compared."""
    parts: ClassVar[Parts | str] = "it is not proven that releases of parts make a release of the whole table"
    """How it works on parts of a large table, or why it cannot."""

    def problems_with(self, requirements: Requirements, sensitive: Sequence[str]) -> list[Problem]:
        """Return which requirements this method cannot satisfy, whatever the data, each with what to do. `sensitive`
        names the sensitive columns. Known before anything is read.
        """
        return []

    def check_suited(self, requirements: Requirements, sensitive: Sequence[str]) -> None:
        """Raise PolicyError with everything that `problems_with` returns."""
        problems = tuple(dict.fromkeys(self.problems_with(requirements, sensitive)))
        if requirements.people and not self.can.count_people:
            message = f"{self.name} counts rows, but a column of the policy says whose each row is"
            compare = either(command="`shoal compare`", python="`shoal.compare`")
            problems += (
                Problem("method.name", message, f"take auto, or see which methods count people: {compare}"),
            )
        if requirements.with_earlier is not None and not self.can.keep_earlier:
            compare = either(command="`shoal compare`", python="`shoal.compare`")
            message = f"{self.name} does not heed earlier releases, but the policy names some"
            problems += (Problem("method.name", message, f"take auto, or see which methods do: {compare}"),)
        shuffles = self.shows.buckets
        for model in requirements.models if shuffles else ():
            if model.by_cells:
                message = f"{self.name} shuffles values within buckets, and {model.name} is about whom cells lead to"
                hint = "take auto, or a method that makes equivalence classes"
                problems += (Problem("method.name", message, hint),)
        if problems:
            raise PolicyError(problems)

    @property
    def cannot_stop(self) -> Mapping[str, Problem]:
        """The adversaries that it does not stop with these options, each with what to tell a policy that names them."""
        return {}

    @property
    def hides_presence(self) -> bool:
        """It is proven that an adversary who knows the method with these options learns no more about who is in the
        table than bounds on presence allow.
        """
        return False

    @property
    def kinds_that_steer(self) -> tuple[str, ...]:
        """Return the kinds of measures that steer this method with its options: by default what it optimizes."""
        return self.can.optimize

    @property
    def divides(self) -> Parts | str:
        """How it works on parts of a large table with these options, or why it cannot."""
        return self.parts

    @property
    def builds_on(self) -> Method | None:
        """The method that makes its classes, and that works on parts of a large table in its place; None: no other."""
        return None

    @property
    def box_cuts(self) -> BoxCuts | None:
        """How it cuts a table into boxes by counts alone; None: it needs the rows."""
        return None

    @property
    def heeds_limits(self) -> bool:
        """Rows that generalization limits put into different blocks cannot share a class or bucket."""
        return True

    def kernels(self, requirements: Requirements) -> set[str]:
        """Name the kernels that it will call."""
        from shoal.kernels.preparing import kernels_of

        found = kernels_of(self.name)
        return found if requirements.people else {name for name in found if not name.startswith("people.")}

    def prepare(self, table: CodedTable, requirements: Requirements, run: Run) -> None:
        """Compile the kernels that it will call, if this machine has not compiled them before."""
        from shoal.kernels.preparing import forms, prepare

        codes = max((attribute.hierarchy.size for attribute in table.attributes), default=0)
        prepare(forms(self.kernels(requirements), codes), lambda stage: run.progress(stage, 0.2))

    @abstractmethod
    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Propose a release. The pipeline verifies it afterwards; a method is never trusted.

        Raises LimitError with a reason if it finds no release that satisfies the requirements; InfeasibleError only
        with a proof that there is none, whatever the method.
        """

    def draws(self, table: CodedTable, requirements: Requirements, run: Run) -> Draws:
        """Return every release that it may make of a table, and how likely each is. By default it draws nothing."""
        made = self.anonymize(table, requirements, run)
        rows: LongVector = np.flatnonzero(made.region_of >= 0)
        return Draws(made.low, made.high, made.sets, [[(rows, made.region_of[rows], 1.0)]])

    def find_presence(
        self, table: CodedTable, requirements: Requirements, published: Published
    ) -> FloatVector | None:
        """Return how likely everyone is in the table for an adversary who knows this method, by the distinct tuples of
        `count_with_population`; None if that does not follow from what is published.
        """
        return None

    @property
    def rebuilt_by(self) -> Mapping[str, Any]:
        """The options by which an adversary who knows everyone's quasi-identifiers forms its groups again; none: only
        sensitive values or draws tell."""
        return {}

    def find_shuffling(self, table: CodedTable | Published) -> Shuffling:
        """Return which columns this method shuffles as a unit, for reading a release back from a file. An
        adversary knows the method, so this is not secret. The columns of the release are enough, unless they are
        grouped by what the table holds.
        """
        return Shuffling()
