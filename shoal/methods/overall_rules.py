"""Any method by classes, made to keep rules over all classes together: its classes start small, and the pairs whose
union loses least are joined until the rules hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.coding import CodedTable
from shoal.errors import InfeasibleError, LimitError
from shoal.judging.measures.measure import CellMeasure
from shoal.judging.models.class_size import ClassSize
from shoal.judging.models.overall import Overall, Seen
from shoal.judging.models.people_behind_classes import Counted, InPopulation
from shoal.judging.models.requirements import Requirements
from shoal.methods.loss_tables import losses_of
from shoal.methods.method import Method
from shoal.methods.partitioning.windows import SETS
from shoal.release import Release, closures
from shoal.support.arrays import FloatVector, IntMatrix, IntVector, LongVector
from shoal.support.run import Run

if TYPE_CHECKING:
    from shoal.kernels.losses import Losses

Ends = IntMatrix | NDArray[np.int64]
Propose = Callable[[Method, CodedTable, Requirements, Run], Release]

LARGE, MIDDLE = 200_000, 0.4
"""Classes of larger tables start with this share of the size that would be enough, because there are many."""
NEAR = 12
"""So many neighbours on each side, in two orders of the classes, may be joined with a class."""
MANY, FEW = 50_000, 6_000
"""With more classes than `MANY`, fewer neighbours are looked at; with at most `FEW`, the nearest of all are."""
NEAREST = 4
"""How many of the nearest."""
AT_ONCE = 0.2
"""At most this share of the classes is joined in one round, so that later choices know the earlier ones."""


def in_reach(method: Method, requirements: Requirements) -> Requirements:
    """Return requirements that a search can keep: where it does not say which rows a class has, or where cells list
    values, people of the release stand for those of the population, who are at least as many.
    """
    counts = method.can.keep_earlier and getattr(method, "show", "") != SETS
    if counts or not any(isinstance(model, InPopulation) for model in requirements.models):
        return requirements
    rules = (
        ClassSize(k=model.least, because=model.title) if isinstance(model, InPopulation) else model
        for model in requirements.models
    )
    return replace(requirements, models=tuple(rules))


def release_with_rules(
    propose: Propose,
    method: Method,
    table: CodedTable,
    requirements: Requirements,
    rules: Sequence[Overall],
    run: Run,
) -> Release:
    """Propose two releases and return the one with less loss: one with the smallest classes that the other requirements
    allow, joined until the rules hold, and one whose classes are large enough from the start.

    Where classes cannot be joined, because cells list values or each column has one set of labels, the smallest class
    size with which the rules hold is searched instead. Raises LimitError if the method finds no release.
    """
    method.check_suited(requirements, [attribute.name for attribute in table.sensitive])
    inner = replace(
        requirements, models=tuple(model for model in requirements.models if model.overall(table) is None)
    )
    trials = _Trials(propose, method, table, inner, " and ".join(rule.title for rule in rules), run)
    least, enough = max(inner.k, 1), max(rule.enough for rule in rules)
    if least >= enough or table.counting.followed:
        return trials.try_size(enough, 0.0, 1.0)
    start = least if table.rows <= LARGE else max(least, round(MIDDLE * enough))
    work = _Joining(table, inner, rules)
    try:
        small = trials.try_size(start, 0.0, 0.4)
    except (InfeasibleError, LimitError):
        return trials.try_size(enough, 0.4, 1.0)
    found = work.join_classes(small)
    try:
        large = trials.try_size(enough, 0.5, 0.9)
    except LimitError:
        if found is None:
            raise
        return found
    if found is not None:
        return min(found, large, key=work.loss)
    # Their classes cannot be joined: look for the smallest size with which the rules hold.
    low, high = start, enough
    while high - low > 1:
        middle = (low + high) // 2
        try:
            between = trials.try_size(middle, 0.9, 1.0)
        except (InfeasibleError, LimitError):
            break
        if work.holds(between):
            high, large = middle, min(between, large, key=work.loss)
        else:
            low = middle
    return large


@dataclass(frozen=True, eq=False)
class _Trials:
    """A method on one table, asked for classes of several sizes."""

    propose: Propose
    method: Method
    table: CodedTable
    inner: Requirements
    """The requirements of single classes."""
    title: str
    """What the rules over all classes are called."""
    run: Run

    def try_size(self, size: int, begin: float, end: float) -> Release:
        """Return a release with classes of at least this size; raise LimitError if the method finds none."""
        asked = self.inner
        least = max(self.inner.k, 1)
        if size > least:
            rule = ClassSize(k=size, because=self.title)
            asked = replace(self.inner, models=(*self.inner.models, rule))

        def report(stage: str, share: float) -> None:
            self.run.progress(stage, begin + (end - begin) * share)

        try:
            found = self.propose(self.method, self.table, asked, replace(self.run, progress=report))
        except InfeasibleError as error:
            if size <= least:
                raise
            # Smaller classes next to larger ones might do, so this proves nothing.
            raise LimitError(f"with classes of {size:,}: {error}") from None
        return replace(found, facts={**found.facts, "classes of at least": size})


class _Joining:
    """Joins classes of one table."""

    def __init__(self, table: CodedTable, requirements: Requirements, rules: Sequence[Overall]) -> None:
        from shoal.judging.measures import MEASURES

        self.table, self.requirements, self.rules = table, requirements, rules
        self.steered = issubclass(MEASURES[requirements.measure], CellMeasure)
        self.losses: Losses = losses_of(table, requirements.measure if self.steered else MEASURES.default)
        self.crowd = Counted(table.context.population) if table.context.population is not None else None
        self.free = requirements.monotone(table) and not requirements.uniform
        self.free &= requirements.suppress == "rows"

    def loss(self, release: Release) -> float:
        """Return the sum over rows of what their cells lose; a suppressed row loses everything."""
        from shoal.kernels.losses import box_losses

        rows = np.bincount(release.region_of[release.region_of >= 0], minlength=len(release.low))
        shown = float(box_losses(_boxes(release), self.losses) @ rows)
        whole = np.array(
            [[end for a in self.table.attributes for end in (0, a.hierarchy.size - 1)]], np.int64
        )
        lost = float(box_losses(whole, self.losses)[0])
        missing = int((release.region_of < 0).sum())
        return shown + (missing * lost if np.isfinite(lost) else missing)

    def join_classes(self, release: Release) -> Release | None:
        """Join classes until the rules hold; None if they do not, or if this release cannot be changed."""
        if not (release.region_of >= 0).any():
            return None
        plain = release.levels is None and release.sets is None
        plain &= not release.layout.in_buckets and not release.relocated
        class_of, low, high = _alike(release)
        sizes = self._sizes(class_of, len(low))
        if self._hold(sizes, low, high, lists=release.sets is not None):
            return release
        if not plain or not self.free:
            return None
        box = _side_by_side(low, high)
        found = self._join(class_of, box, sizes)
        if found is None:
            return None
        class_of, count = found
        low, high = closures(self.table, class_of, count)
        return replace(release, region_of=class_of, low=low, high=high)

    def holds(self, release: Release) -> bool:
        """Return whether a release keeps the rules as it is."""
        class_of, low, high = _alike(release)
        return self._hold(self._sizes(class_of, len(low)), low, high, lists=release.sets is not None)

    def _sizes(self, class_of: IntVector, count: int) -> LongVector:
        if self.table.counting.adds_up:
            return np.bincount(class_of[class_of >= 0], minlength=count)
        return self.table.group_rows(class_of, count).size

    def _hold(self, sizes: LongVector, low: Ends, high: Ends, *, lists: bool = False) -> bool:
        """Return whether the rules hold. Lists of values match fewer people than the ranges around them, so there only
        people of the table count.
        """
        for rule in self.rules:
            crowd = None
            if self.crowd is not None and rule.of_population and not lists:
                crowd = np.maximum(self.crowd.within(low, high), sizes)
            if not rule.holds(Seen(sizes, crowd, rule.share)):
                return False
        return True

    def _excess(self, sizes: LongVector) -> FloatVector:
        """Return what each class adds to what has to shrink: its part in the sum of every rule, or how far it is from
        being large enough, where only rows above a threshold count.
        """
        total = np.zeros(len(sizes))
        for rule in self.rules:
            if rule.above is None:
                total += sizes * rule.weights(sizes)
            else:
                total += np.maximum(rule.enough - sizes, 0) / rule.enough
        return total

    def _join(self, class_of: IntVector, box: LongVector, sizes: LongVector) -> tuple[IntVector, int] | None:
        from shoal.kernels.losses import box_losses
        from shoal.methods.clustering.cluster_classes import number_clusters

        class_of = class_of.copy()
        while not self._hold(sizes, box[:, ::2], box[:, 1::2]):
            own = box_losses(box, self.losses)
            first, second = self._pairs(box, own, sizes)
            if not len(first):
                return None
            union = box[first].copy()
            union[:, ::2] = np.minimum(union[:, ::2], box[second][:, ::2])
            union[:, 1::2] = np.maximum(union[:, 1::2], box[second][:, 1::2])
            both = sizes[first] + sizes[second]
            with np.errstate(invalid="ignore"):
                cost = box_losses(union, self.losses) * both - (own * sizes)[first] - (own * sizes)[second]
            excess = self._excess(sizes)
            gain = excess[first] + excess[second] - self._excess(both)
            with np.errstate(divide="ignore", invalid="ignore"):
                price = np.where((gain > 1e-12) & np.isfinite(cost), np.maximum(cost, 0.0) / gain, np.inf)
            chosen = _cheapest(first, second, price, len(box), self._count_needed(sizes, gain, price))
            if not len(chosen):
                return None
            a, b = np.minimum(first[chosen], second[chosen]), np.maximum(first[chosen], second[chosen])
            into = np.arange(len(box), dtype=np.int32)
            into[b] = a
            box[a] = union[chosen]
            kept = np.ones(len(box), np.bool_)
            kept[b] = False
            place = np.cumsum(kept).astype(np.int32) - 1
            class_of = np.where(class_of >= 0, place[into[np.maximum(class_of, 0)]], -1).astype(np.int32)
            sizes = np.bincount(into, sizes, len(box))[kept].astype(np.int64)
            box = box[kept]
            if not self.table.counting.adds_up:
                sizes = self._sizes(class_of, len(box))
        return number_clusters(class_of)

    def _pairs(
        self, box: LongVector, losses: FloatVector, sizes: LongVector
    ) -> tuple[LongVector, LongVector]:
        """Return pairs of classes whose union may lose little: neighbours in their own order and along a Hilbert curve,
        and, if there are not too many classes, the nearest of all. O(classes), or O(classes^2) for these.
        """
        from shoal.kernels.neighbours import nearest_clusters

        count = len(box)
        near = NEAR if count <= MANY else 3
        orders = (np.arange(count), _along_curve(box))
        steps = [(order, step) for order in orders for step in range(1, min(near, count - 1) + 1)]
        pairs = [(order[:-step], order[step:]) for order, step in steps]
        if 1 < count <= FEW:
            everyone = np.arange(count, dtype=np.int64)
            found = nearest_clusters(box, losses, sizes, everyone, self.losses, NEAREST)
            at, choice = np.nonzero(found >= 0)
            pairs.append((at, found[at, choice]))
        none: LongVector = np.empty(0, np.int64)
        firsts, seconds = zip(*pairs, strict=True) if pairs else ((none,), (none,))
        return np.concatenate(firsts), np.concatenate(seconds)

    def _count_needed(self, sizes: LongVector, gain: FloatVector, price: FloatVector) -> int:
        """Return the maximal number of pairs to join in this round: not more than may be needed, nor too many."""
        most = max(1, int(AT_ONCE * len(sizes)))
        if any(rule.above is not None for rule in self.rules) or not self.table.counting.adds_up:
            return most
        over = max(
            float((sizes * rule.weights(sizes)).sum()) - float(rule.most) * float(sizes.sum())
            for rule in self.rules
        )
        useful = gain[np.isfinite(price)]
        each = float(np.median(useful)) if len(useful) else 1.0
        return max(1, min(most, int(np.ceil(over / max(each, 1e-12)))))


def _boxes(release: Release) -> LongVector:
    return _side_by_side(release.low, release.high)


def _side_by_side(low: IntVector, high: IntVector) -> LongVector:
    box = np.empty((len(low), 2 * low.shape[1]), np.int64)
    box[:, ::2], box[:, 1::2] = low, high
    return box


def _alike(release: Release) -> tuple[IntVector, IntVector, IntVector]:
    """Return the classes as readers see them: regions with the same cells are one."""
    used = np.unique(release.region_of[release.region_of >= 0])
    cells = np.hstack([release.low, release.high])[used]
    _, first, number = np.unique(cells, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(first), np.int32)
    rank[order] = np.arange(len(first), dtype=np.int32)
    place = np.full(len(release.low) + 1, -1, np.int32)  # the last one: a suppressed row, whose region is -1
    place[used] = rank[number.ravel()]
    class_of: IntVector = place[release.region_of]
    chosen = used[first[order]]
    return class_of, release.low[chosen], release.high[chosen]


def _along_curve(box: LongVector) -> LongVector:
    """Return the classes in the order of their middles on a Hilbert curve."""
    from shoal.kernels.hilbert import hilbert_keys

    middle = box[:, ::2] + box[:, 1::2]
    spread = middle.max(axis=0) - middle.min(axis=0)
    columns = np.flatnonzero(spread)[:16]
    if not len(columns):
        return np.arange(len(box))
    bits = max(1, min(63 // len(columns), 10))
    places = (middle[:, columns] - middle[:, columns].min(axis=0)) * ((1 << bits) - 1) // spread[columns]
    keys = hilbert_keys(np.ascontiguousarray(places, np.int64), bits)
    order: LongVector = np.argsort(keys, kind="stable")
    return order


def _cheapest(first: LongVector, second: LongVector, price: FloatVector, count: int, most: int) -> LongVector:
    """Return pairs that are the cheapest of both their classes, the cheapest first, at most `most`."""
    able = np.flatnonzero(np.isfinite(price))
    order = able[np.argsort(price[able], kind="stable")]
    rank = np.full(count, len(order), np.int64)
    for side in (first, second):
        np.minimum.at(rank, side[order], np.arange(len(order)))
    mutual = (rank[first[order]] == np.arange(len(order))) & (rank[second[order]] == np.arange(len(order)))
    chosen: LongVector = order[mutual][:most]
    return chosen
