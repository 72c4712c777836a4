"""Record linkage by distance: if no row shows a person's values, which rows are closest to them?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.coding import CodedTable
from shoal.coding.hierarchy import Hierarchy
from shoal.errors import DataError
from shoal.judging.attacks.attack_base import Attack, Exposure, Options, Setting
from shoal.judging.attacks.linkage import SHUFFLED
from shoal.judging.attacks.rerun import how_to_tell_owners
from shoal.judging.linking.evidence import Evidence
from shoal.support.arrays import FloatMatrix, IntMatrix
from shoal.support.run import Run

AT_ONCE = 2000
"""How many people are compared between two checks of progress and interrupts."""
MOST_PAIRS = 1 << 35
"""More pairs of people and classes than this would take hours."""
MOST_CELLS = 1 << 27
"""No larger table of distances between categories and cells is made."""
NOT_JUDGED = "the policy has no k, so the number of candidates judges nobody"


@dataclass(frozen=True, kw_only=True)
class RecordLinkage(Attack):
    """Takes the published rows that are closest to a person's quasi-identifiers, whether they cover them or not.

    Numbers and dates count by their distance to the cell, in standard deviations; categories by the share of hierarchy
    levels on which they and the cell lie under different nodes. Squares add up.
    """

    name: ClassVar[str] = "record-linkage"
    title: ClassVar[str] = "record linkage by distance"
    against: ClassVar[Mapping[str, Options]] = {
        "knows-some": {},
        "knows-members": {},
        "knows-algorithm": {},
    }
    least_k: ClassVar[int] = 1
    only_rows: ClassVar[str] = "it counts the closest rows, which may all be those of one person"
    summary: ClassVar[str] = (
        "takes the rows that are closest to what a person has, where cells may be false and match nobody"
    )

    k: int = 2
    """With fewer rows at the least distance a person whose row is among them is at risk; 1: nobody is judged."""

    @classmethod
    def inapplicable(cls, setting: Setting) -> str:
        """Where every row covers its owner, candidates are known for sure, and distance adds nothing."""
        if not setting.rows.intact:
            return SHUFFLED
        if not setting.made.false_cells.how:
            return "every row covers its owner's values, so the attack linkage knows the candidates for sure"
        return "" if setting.owners else f"whose row is whose is not known; {how_to_tell_owners()}"

    @classmethod
    def findings(cls, figures: Mapping[str, Any], people: int) -> Iterator[str]:
        """Yield the figures that matter, in words."""
        yield f"the closest rows include the right one for {figures['right_class']:.2%} of people"
        yield f"on average {figures['closest_rows']:,.1f} rows are equally close"

    def attempt(self, evidence: Evidence, run: Run) -> Exposure:
        """Compare all people with all classes. O(people x classes x columns)."""
        from shoal.kernels.closest import closest_classes, distances_to
        from shoal.kernels.grouping import distinct

        table, published = evidence.original, evidence.published
        assert evidence.owner is not None
        person_of, first = distinct(table.quasi.wide)
        if len(first) * published.classes > MOST_PAIRS:
            raise DataError(
                f"{len(first):,} different people and {published.classes:,} classes are too many pairs to compare: "
                "attack a sample of the table"
            )
        given = _prepare_people(table, evidence, first)
        best = np.full(len(first), 1e308)
        ties = np.zeros(len(first), np.int64)
        values, low, high, codes, *rest = given
        for start in range(0, len(first), AT_ONCE):
            run.progress("compare", start / len(first))
            some = slice(start, start + AT_ONCE)
            closest_classes(
                values[some], low, high, codes[some], *rest, published.sizes, best[some], ties[some]
            )
        # People whose rows are suppressed cannot be found.
        own = np.zeros(published.rows)
        owners = person_of[evidence.owner].astype(np.int64)
        distances_to(*given, owners, published.class_of.astype(np.int64), own)
        right = own == best[owners]
        chances = np.zeros(table.rows)
        chances[evidence.owner] = np.where(right, 1.0 / np.maximum(ties[owners], 1), 0.0)
        figures = {
            "k": self.k if self.k > 1 else None,
            "right_class": float(right.sum() / max(table.rows, 1)),
            "closest_rows": float(ties[person_of].mean()) if table.rows else 0.0,
            "fewest_closest_rows": int(ties.min(initial=published.rows)),
        }
        return Exposure(
            attack=self.name,
            adversary="knows the quasi-identifiers of some people in the table, and takes the closest rows",
            success=float(chances.mean()) if table.rows else 0.0,
            baseline=1.0 / max(table.rows, 1),
            figures=figures,
            chances=chances,
            at_risk=int((right & (ties[owners] < self.k)).sum()),
            notes=() if self.k > 1 else (NOT_JUDGED,),
        )


def _prepare_people(table: CodedTable, evidence: Evidence, first: Any) -> tuple[Any, ...]:
    """Return people and classes as the kernels take them."""
    published = evidence.published
    lows, highs = published.cell_ranges
    numbers: list[tuple[Any, Any, Any]] = []
    labels: list[tuple[Any, Any, FloatMatrix]] = []
    for j, attribute in enumerate(table.attributes):
        tree, codes = attribute.hierarchy, table.quasi.narrow[j][first].astype(np.int64)
        low, high = lows[:, j], highs[:, j]
        there = tree.by_width and tree.positions is not None
        if there and max(int(codes.max(initial=0)), int(high.max(initial=0))) < tree.ordered:
            assert tree.positions is not None
            own = tree.positions[table.quasi.narrow[j]]
            spread = float(own.std()) or 1.0
            line = tree.positions / spread
            numbers.append((line[codes], line[low], line[high]))
            continue
        used, cell = np.unique(np.stack([low, high], axis=1), axis=0, return_inverse=True)
        if len(used) * tree.size > MOST_CELLS:
            raise DataError(f"column '{attribute.name}' has too many values and cells to compare them all")
        labels.append((codes, cell.reshape(-1), _apart(tree, used)))
    shape = (len(first), published.classes)
    values, low, high = (_stack_columns([one[at] for one in numbers], shape[at > 0]) for at in range(3))
    widths = np.array([one[2].shape[1] for one in labels], np.int64)
    sizes = np.array([one[2].size for one in labels], np.int64)
    tables = np.concatenate([one[2].ravel() for one in labels]) if labels else np.empty(0)
    return (
        values,
        low,
        high,
        _stack_columns([one[0] for one in labels], shape[0]).astype(np.int64),
        _stack_columns([one[1] for one in labels], shape[1]).astype(np.int64),
        tables,
        np.cumsum(sizes) - sizes,
        widths,
    )


def _stack_columns(columns: list[Any], rows: int) -> Any:
    return np.ascontiguousarray(np.stack(columns, axis=1)) if columns else np.empty((rows, 0))


def _apart(tree: Hierarchy, cells: IntMatrix) -> FloatMatrix:
    """Return the squared distance of each cell to each code: the share of levels below the top whose node over the code
    does not cover the cell; 0 if the cell covers the code.
    """
    low, high = cells[:, :1], cells[:, 1:]
    codes = np.arange(tree.size)
    inside = (low <= codes) & (codes <= high)
    apart = np.zeros((len(cells), tree.size))
    levels = max(tree.height, 1)
    for level in range(levels):
        apart += ~((tree.low[level] <= low) & (high <= tree.high[level]))
    return np.where(inside, 0.0, apart / levels) ** 2
