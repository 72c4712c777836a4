"""Relocation inside boxes: Mondrian with splits that relocate a few rows (M-Hybrid), and the same for any method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from shoal.coding import CodedTable
from shoal.errors import PolicyError, Problem, did_you_mean
from shoal.judging.linking.evidence import Evidence
from shoal.judging.models.hybrid_k import ChiSquared, chi_squared
from shoal.judging.models.requirements import Requirements
from shoal.methods import METHODS
from shoal.methods.loss_tables import cell_measure, losses_of
from shoal.methods.method import Abilities
from shoal.methods.relocating.relocation import Allowance, Relocating, account, check_options, group_rules
from shoal.release import Release
from shoal.release.render import ends_of_cells
from shoal.support.arrays import IntMatrix, IntVector
from shoal.support.run import Run

WIDEST = 2.0
"""No larger multiple of the limit for the kernel's statistic is tried; the stated test rejects long before."""
TRIALS = 7
"""How many multiples are tried: the largest that passes is known to a hundredth."""


@dataclass(frozen=True, kw_only=True)
class HybridMondrian(Relocating):
    """M-Hybrid: Mondrian, and when no split is left, splits that relocate the rows of a side that is too small.

    Such a side either moves, in the column that is split, to the edge of the other side, so that the box becomes
    smaller; or it is filled up to k with rows from the edge of the other side. The change with the largest gain per
    changed cell comes first, until the budget is used up.
    """

    name: ClassVar[str] = "hybrid-mondrian"
    summary: ClassVar[str] = (
        "mondrian, then relocation of a bounded share of cells, so that boxes are smaller"
    )
    paper: ClassVar[str] = (
        "Nergiz, Gök and Özkanlı: Preservation of Utility through Hybrid k-Anonymization, TrustBus 2013"
    )
    can: ClassVar[Abilities] = Abilities(optimize=("cells",))

    measure: str = ""
    """The measure that chooses the changes; empty: the measure of the policy."""
    strict: bool = True
    """As for ``mondrian``: rows with equal values stay together in every split."""
    choose: str = "gain"
    """As for ``mondrian``: how to choose a split."""

    def __post_init__(self) -> None:
        from shoal.methods.partitioning.mondrian import Mondrian

        check_options(self.variant, self.budget, self.alpha, self.measure, self.can.optimize)
        Mondrian(strict=self.strict, choose=self.choose)

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Split as Mondrian does, then relocate; see `relocate_within`."""
        from shoal.methods.partitioning.mondrian import Mondrian

        rules = group_rules(requirements, self.measure)
        base = Mondrian(strict=self.strict, choose=self.choose).anonymize(table, rules, run)
        # A box that is split gets new groups, which are only certain to satisfy plain k.
        k = rules.k if rules.plain_k(table) else 0
        return self.make_tested(
            table,
            requirements,
            lambda allowance: relocate_within(table, base, allowance, rules.measure, run, k),
        )


@dataclass(frozen=True, kw_only=True)
class Relocate(Relocating):
    """Relocation on top of another method: its classes stay, but show smaller ranges.

    A class of nine people aged 20 to 29 and one aged 65 shows 20-29 after that one age is changed. Sizes and
    sensitive values of classes do not change, so every model for classes holds as before.
    """

    name: ClassVar[str] = "relocate"
    trials: ClassVar[tuple[Mapping[str, Any], ...]] = ({"base": METHODS.default}, {"base": "agglomerative"})
    summary: ClassVar[str] = (
        "any other method, then relocation of a bounded share of cells, so that classes show smaller ranges"
    )
    paper: ClassVar[str] = HybridMondrian.paper
    can: ClassVar[Abilities] = Abilities(optimize=("cells",))

    base: str = METHODS.default
    """The method whose release is improved, with its default options."""

    def __post_init__(self) -> None:
        check_options(self.variant, self.budget, self.alpha)
        known = [name for name, kind in METHODS.items() if kind.shows.classes]
        if self.base in known:
            return
        hint = f"choose one of {', '.join(known)}"
        if self.base in METHODS:
            message = f"'{self.base}' does not publish true ranges of whole classes, so relocation cannot narrow them"
        else:
            message, hint = f"there is no method '{self.base}' to improve", did_you_mean(self.base, known)
        raise PolicyError([Problem("method.base", message, hint)])

    @property
    def kinds_that_steer(self) -> tuple[str, ...]:
        """Relocation is steered by measures of cells, and the other method must be, too."""
        return tuple(kind for kind in self.can.optimize if kind in METHODS[self.base]().kinds_that_steer)

    def problems_with(self, requirements: Requirements, sensitive: Sequence[str]) -> list[Problem]:
        """Return what neither relocation nor the other method can satisfy."""
        return [
            *super().problems_with(requirements, sensitive),
            *METHODS[self.base]().problems_with(group_rules(requirements), sensitive),
        ]

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Run the other method, then relocate within its classes; see `relocate_within`."""
        rules = group_rules(requirements)
        base = METHODS[self.base]().anonymize(table, rules, run)
        return self.make_tested(
            table,
            requirements,
            lambda allowance: relocate_within(table, base, allowance, requirements.measure, run),
        )


def relocate_within(
    table: CodedTable, base: Release, allowance: Allowance, measure: str, run: Run, k: int = 0
) -> Release:
    """Return a release in which some cells are changed so that the regions of `base` show narrower ranges.

    Always makes the change that lowers the loss most per cell. With k > 0, regions of at least 2k rows may also be
    split. Regions first shrink to the closure of their rows. The statistical variants go as far as the stated test
    allows, which takes a few runs. Time as for `kernels.relocation.relocate_cells`.
    """
    limit = allowance.limit(len(base.low))
    while True:
        region_of, low, high, chi = _within(table, base, allowance, limit, measure, run, k)
        # Boxes that become identical are one class, which reduces the degrees of freedom of the test.
        fewer = min(limit, allowance.limit(len(np.unique(np.hstack([low, high]), axis=0))))
        if chi <= fewer or limit == 0:
            break
        limit = fewer if fewer < 0.9 * limit else 0.9 * limit if limit > 1e-3 else 0.0
    degrees = len(low) - 1
    if allowance.alpha is not None:
        # The kernel counts every relocated row as lost, but other classes may cover it: the stated test allows more,
        # or less if classes overlap.
        found = region_of, low, high
        test = _test_sizes(table, *found)
        passed, failed = 1.0, WIDEST
        if test.p_value < allowance.alpha:
            passed, failed = 0.0, 1.0
            found = _within(table, base, allowance, 0.0, measure, run, k)[:3]
            test = _test_sizes(table, *found)
        for _ in range(TRIALS if limit > 0 else 0):
            factor = (passed + failed) / 2
            more = _within(table, base, allowance, factor * limit, measure, run, k)[:3]
            wider = _test_sizes(table, *more)
            if wider.p_value < allowance.alpha:
                failed = factor
            else:
                passed, found, test = factor, more, wider
        region_of, low, high = found
        chi, degrees = test.statistic, test.degrees
    release = Release(region_of, low, high, relocated=True)
    facts: dict[str, Any] = {
        **base.facts,
        "split": len(low) - len(base.low),
        **account(table, release, allowance, chi, degrees),
        **_compare_losses(table, base, measure, release),
    }
    return replace(release, facts=facts)


def _test_sizes(table: CodedTable, region_of: IntVector, low: IntMatrix, high: IntMatrix) -> ChiSquared:
    """Test the classes of a release as a verdict does."""
    return chi_squared(Evidence.of_release(table, Release(region_of, low, high, relocated=True)))


def _within(
    table: CodedTable, base: Release, allowance: Allowance, limit: float, measure: str, run: Run, k: int
) -> tuple[IntVector, IntMatrix, IntMatrix, float]:
    """Relocate under one limit for the statistic; return row -> region, the regions, and the statistic."""
    from shoal.kernels.relocation import RelocationWorkspace, relocate_cells

    regions, width = len(base.low), len(table.attributes)
    kept = np.flatnonzero(base.region_of >= 0)
    ids = kept[np.argsort(base.region_of[kept], kind="stable")].astype(np.int32)
    sizes = np.bincount(base.region_of[kept], minlength=regions)
    room = regions + (len(ids) // k if k else 0)
    begins, ends = np.zeros(room, np.int64), np.zeros(room, np.int64)
    ends[:regions] = np.cumsum(sizes)
    begins[:regions] = ends[:regions] - sizes
    true = np.ascontiguousarray(table.quasi.wide[ids])
    codes = true.copy()
    noise = np.ones((room, width))
    if allowance.randomized:
        # Random priorities: an adversary cannot reconstruct what was changed, and where the budget ended.
        noise = 1.0 - run.random.random((room, width))
    largest = int(sizes.max(initial=0)) + 1
    workspace = RelocationWorkspace(
        ratio=np.empty(room),
        chosen=np.empty((room, 5), np.int64),
        heap=np.empty(room, np.int64),
        todo=np.empty(room + 2, np.int64),
        keys=np.empty(largest, np.int64),
        values=np.empty(largest, np.int64),
        upto=np.empty(largest, np.int64),
        fresh=np.empty(largest, np.int64),
        spare=np.empty((largest, 2 * width + 1), np.int32),
    )
    run.progress("relocate", 0.0)
    count, _, chi = relocate_cells(
        codes, true, ids, begins, ends, regions, k, allowance.cells, limit, noise,
        losses_of(table, measure), workspace,
    )  # fmt: skip
    order = np.argsort(begins[:count], kind="stable")
    begins, lengths = begins[order], (ends - begins)[order]
    region_of = np.full(table.rows, -1, np.int32)
    region_of[ids] = np.repeat(np.arange(count, dtype=np.int32), lengths)
    low = np.empty((count, width), np.int32)
    high = np.empty_like(low)
    if count:
        low[:] = np.minimum.reduceat(codes, begins, axis=0)
        high[:] = np.maximum.reduceat(codes, begins, axis=0)
    for j, attribute in enumerate(table.attributes):
        low[:, j], high[:, j] = attribute.hierarchy.lift(low[:, j], high[:, j])
    return region_of, low, high, float(chi)


def _compare_losses(table: CodedTable, base: Release, measure: str, relocated: Release) -> dict[str, float]:
    """Return the loss with and without relocation, over the published rows."""
    out = {}
    for name, own in {"loss_without_relocation": base, "loss_with_relocation": relocated}.items():
        first, last = ends_of_cells(table, own)
        sizes = np.bincount(own.region_of[own.region_of >= 0], minlength=len(first))
        rule = cell_measure(measure)
        total = sum(
            attribute.weight
            * float(sizes @ rule.loss(attribute, table.value_counts[j], first[:, j], last[:, j]))
            for j, attribute in enumerate(table.attributes)
        )
        weight = sum(attribute.weight for attribute in table.attributes)
        out[name] = total / max(float(weight * sizes.sum()), 1e-300)
    return out
