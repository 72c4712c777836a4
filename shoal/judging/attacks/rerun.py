"""What an adversary who knows the method learns by rerunning its deterministic part on public data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from shoal.errors import DataError
from shoal.judging.attacks.attack_base import Attack, Options, Setting
from shoal.judging.linking.evidence import Evidence
from shoal.judging.models.probabilistic_k import ProbabilisticK
from shoal.judging.models.requirements import Requirements
from shoal.methods.cells.ring import Ring
from shoal.methods.partitioning.partition import Partition
from shoal.methods.partitioning.windows import Windows, windows
from shoal.release.published import Published
from shoal.release.render import seen_codes
from shoal.support.arrays import BoolVector, IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief
from shoal.support.run import Run
from shoal.support.wording import either


@dataclass(frozen=True, eq=False, repr=False)
class Rerun(Brief):
    """The rings that the method makes of these people, and the published rows that show the cells of each position."""

    parts: Partition
    k: int
    class_at: IntVector
    """Position -> class of published rows that show its cell; -1 if none does."""
    varied: BoolVector
    """Rings whose cells differ and do not all cover everyone."""

    @property
    def ring_of(self) -> IntVector:
        """Position -> ring."""
        return np.repeat(np.arange(len(self.parts.sizes), dtype=np.int32), self.parts.sizes)

    def guesses(self, offset: int) -> IntVector:
        """Return, for the person at each position, the class of their row if the cells of each ring were assigned by
        rotating it by `offset` positions.
        """
        begin, size = (
            np.repeat(self.parts.starts[:-1], self.parts.sizes),
            np.repeat(self.parts.sizes, self.parts.sizes),
        )
        at = np.arange(len(begin)) - begin
        return self.class_at[begin + (at - offset) % size]

    def alike(self) -> LongVector:
        """Return, per position, how many positions of its ring show the same cell."""
        from shoal.kernels.grouping import distinct

        number, first = distinct(np.stack([self.ring_of, self.class_at], axis=1))
        found: LongVector = np.bincount(number, minlength=len(first))[number]
        return found


def rerun(evidence: Evidence, method: Ring, k: int, run: Run) -> Rerun:
    """Rerun partition, order and generalization, and look the cells up among the published ones."""
    published, original = evidence.published, evidence.original
    requirements = Requirements(models=(ProbabilisticK(k=k),), suppression=1.0)
    parts, widths = method.rings(original, k, None, requirements, run)
    shown = windows(original, parts, widths, "ranges" if published.sets is None else "sets")
    class_at = _classes(published, _as_named(evidence, shown))[shown.region]
    return Rerun(parts, k, class_at, shown.varied & (parts.sizes > k))


def _as_named(evidence: Evidence, shown: Windows) -> Windows:
    """Return ranges as their names tell them, which may be made of the values of published rows."""
    if evidence.owner is None or shown.sets is not None:
        return shown
    low, high = shown.low.copy(), shown.high.copy()
    for j, attribute in enumerate(evidence.original.attributes):
        seen = seen_codes(evidence.original, evidence.owner, j)
        low[:, j], high[:, j] = attribute.hierarchy.narrow_to_seen(low[:, j], high[:, j], seen)
    return replace(shown, low=low, high=high)


def _classes(published: Published, shown: Windows) -> IntVector:
    """Return the published class that shows what each region shows, -1 for none."""
    from shoal.kernels.grouping import distinct
    from shoal.kernels.ring import number_lists

    cells: IntMatrix
    if published.sets is None or shown.sets is None:
        theirs = np.concatenate(published.cell_ranges, axis=1)
        cells = np.concatenate([theirs, np.concatenate([shown.low, shown.high], axis=1)])
    else:
        start = np.concatenate([published.sets.start, published.sets.start[-1] + shown.sets.start[1:]])
        codes = np.concatenate([published.sets.codes[: published.sets.start[-1]], shown.sets.codes])
        cells = number_lists(start, codes)[0].reshape(-1, shown.low.shape[1])
    number, _ = distinct(cells)
    class_of = np.full(int(number.max(initial=-1)) + 1, -1, np.int32)
    class_of[number[: published.classes]] = np.arange(published.classes, dtype=np.int32)
    return class_of[number[published.classes :]]


def true_classes(evidence: Evidence) -> IntVector:
    """Return the class of each person's row, -1 if it is not published; only the maker of the release knows it."""
    if evidence.owner is None:
        raise DataError(
            f"this attack must know the owner of each row to judge its guesses: {how_to_tell_owners()}"
        )
    own = np.full(evidence.original.rows, -1, np.int32)
    own[evidence.owner] = evidence.published.class_of
    return own


def how_to_tell_owners() -> str:
    """Say how the owners of rows are told to an attack."""
    return either(
        command="only Python can tell it, by giving `shoal.attack` what `shoal.anonymize` returned",
        python="give `shoal.attack` what `shoal.anonymize` returned",
    )


@dataclass(frozen=True, kw_only=True)
class RingAttack(Attack):
    """An adversary who knows the method and reconstructs its rings."""

    only_rows: ClassVar[str] = "rings are made of rows that are each a person of their own"

    k: int = 2
    """How many rows each cell covers."""
    partition: str = Ring.partition
    """The partition of the ring method."""
    order: str = Ring.order
    """Its order of rows."""

    @classmethod
    def inapplicable(cls, setting: Setting) -> str:
        """Only rings can be reconstructed, and only known owners tell whether a guess is right."""
        if not setting.made.rebuilt_by:
            return "the release was not made by the method ring"
        if setting.owners:
            return ""
        return f"whose row is whose is not known; {how_to_tell_owners()}"

    @classmethod
    def reads(cls, setting: Setting) -> Options:
        """Read how the method forms and orders its rings: an adversary knows that."""
        known = {} if setting.made.k is None or not setting.made.rebuilt_by else {"k": setting.made.k}
        return {**setting.made.rebuilt_by, **known}

    def rerun(self, evidence: Evidence, run: Run) -> Rerun:
        """Form the rings again."""
        # The form that cells have steers some partitions and orders.
        show = "ranges" if evidence.published.sets is None else "sets"
        method = Ring(partition=self.partition, order=self.order, show=show)
        again = rerun(evidence, method, self.k, run)
        shown = again.class_at[again.varied[again.ring_of]] >= 0
        if not shown.all():
            raise DataError(
                f"Shoal cannot reconstruct the rings: the release shows {int(shown.sum()):,} of {len(shown):,} cells "
                f"that the method makes with k = {self.k}, partition = {self.partition} and order = {self.order}; give "
                "those that the release was made with"
            )
        return again
