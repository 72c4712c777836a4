"""Attribute disclosure: which sensitive values do the rows that match a person suggest? (Truta, Vinay 2006.)"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.coding import CodedTable
from shoal.coding.followed_people import crowds as same_rows
from shoal.errors import DataError, PolicyError, Problem
from shoal.judging.attacks.attack_base import Attack, Exposure, Options, Setting
from shoal.judging.linking.behind_pseudonyms import Followed
from shoal.judging.linking.candidate_people import candidate_people, crowds
from shoal.judging.linking.evidence import Evidence
from shoal.judging.models.extended_p import strong_values
from shoal.judging.models.threats import ATTRIBUTE_DISCLOSURE, Threat
from shoal.release.published import Published
from shoal.support.arrays import BoolVector, FloatVector, IntVector, LongVector
from shoal.support.confidence_intervals import NORMAL_95
from shoal.support.run import Run


@dataclass(frozen=True, kw_only=True)
class AttributeDisclosure(Attack):
    """Looks up everyone by quasi-identifiers. Their belief in a sensitive value is its share of the matching rows.

    If some people have several rows, it is the share of people: of those who own matching rows, how many show the value
    in at least one of these. By which of their rows the adversary knows a person, nobody can tell: the one that tells
    most counts. If rows can be followed, they know all rows of a person, and believe what people show who may have all
    of them.

    With protected nodes a category is enough for them: all values under a protected node count as one.
    """

    name: ClassVar[str] = "attribute-disclosure"
    title: ClassVar[str] = "attribute disclosure"
    threat: ClassVar[Threat] = ATTRIBUTE_DISCLOSURE
    informs: ClassVar[Options | None] = {}
    only_rows: ClassVar[str] = ""
    follows: ClassVar[bool] = True
    summary: ClassVar[str] = (
        "knows the quasi-identifiers; believes a sensitive value by its share of the matching rows"
    )

    threshold: float = 1.0
    """A person is at risk if a value is certain, or has a larger share of the matching rows than this."""
    thresholds: tuple[float, ...] = ()
    """Per sensitive column, the share that the policy allows a single value: alpha, or 1/l. They replace `threshold`.
    For a protected category the policy has no such share, so it must only not be certain.
    """
    gains: tuple[float, ...] = ()
    """Per sensitive column, how much more likely than by a blind guess a true value may be although it is certain: if
    97 % of people have a value, a class in which everybody has it adds 3 points. By default 0.
    """
    protected: tuple[tuple[str, ...], ...] = ()
    """Per sensitive column, the protected nodes of its hierarchy; without any, single values count."""
    group: str = ""
    """The kind of groups that are counted instead of people, such as households; empty: people."""

    def __post_init__(self) -> None:
        for threshold in (self.threshold, *self.thresholds):
            if not 0 < threshold <= 1:
                message = f"must be a share above 0 and up to 1, not {threshold}"
                raise PolicyError([Problem("threshold", message, "1 means certain")])

    @classmethod
    def inapplicable(cls, setting: Setting) -> str:
        """Without sensitive values there is nothing to disclose."""
        return "" if setting.sensitive else "the table has no sensitive column"

    @classmethod
    def findings(cls, figures: Mapping[str, Any], people: int) -> Iterator[str]:
        """Yield the figures that matter, in words."""
        for name, column in figures["columns"].items():
            before, after = (column[when]["certain"] for when in ("before", "after"))
            gain, low, high = (100 * one for one in (column["gain"], *column["gain_interval"]))
            yield (
                f"{name}: the adversary is right about {column['success']:.1%}, a blind guess about "
                f"{column['baseline']:.1%} (gain {gain:.1f} points, 95 % interval {low:.1f} to {high:.1f}); "
                f"certain for {after:.1%} of people, before for {before:.1%}"
            )

    def attempt(self, evidence: Evidence, run: Run) -> Exposure:
        """Read the rows that match each person, before and after. O(links between people and classes).

        A person who matches no row was suppressed; the adversary learns nothing about them.
        """
        original = evidence.original
        if not original.sensitive:
            raise DataError("the release has no sensitive column, so nothing can be disclosed")
        known = _Known(original)
        risky = np.zeros(original.counting.count, np.bool_)
        risky_before = np.zeros(original.counting.count, np.bool_)
        chances, blind = np.zeros(original.rows), np.zeros(original.rows)
        columns: dict[str, Any] = {}
        for j, attribute in enumerate(original.sensitive):
            run.progress("believe", j / len(original.sensitive))
            nodes = self.protected[j] if j < len(self.protected) else ()
            strong = strong_values(attribute.hierarchy, tuple(nodes))
            label_of = np.ascontiguousarray(strong[original.secrets.wide[:, j]])
            top, own = _after(evidence, j, strong, label_of)
            top_before = _before(original, label_of)
            limit = self.thresholds[j] if j < len(self.thresholds) else self.threshold
            worst, worst_before = known.worst(top), known.worst(top_before)
            blind_own = known.shares(label_of)[label_of]
            if limit == 1 or (nodes and j < len(self.thresholds)):
                allowed = self.gains[j] if j < len(self.gains) else 0.0
                exposed, exposed_before = (
                    _at_risk(
                        known.worst(np.where(_adds_little(own_belief, blind_own, allowed), 0.0, belief)), 1.0
                    )
                    for belief, own_belief in ((top, own), (top_before, top_before))
                )
                if limit < 1:
                    single = strong_values(attribute.hierarchy, ())
                    own_label = np.ascontiguousarray(single[original.secrets.wide[:, j]])
                    exposed |= _at_risk(known.worst(_after(evidence, j, single, own_label)[0]), limit)
                    exposed_before |= _at_risk(known.worst(_before(original, own_label)), limit)
            else:
                exposed, exposed_before = _at_risk(worst, limit), _at_risk(worst_before, limit)
            columns[attribute.name] = {
                "threshold": limit,
                "before": _figures(worst_before, exposed_before),
                "after": _figures(worst, exposed),
                "categories": list(nodes),
                **_gain(known.worst(own), known.worst(blind_own)),
            }
            risky |= exposed
            risky_before |= exposed_before
            chances = np.maximum(chances, own)
            blind = np.maximum(blind, blind_own)
        figures = {
            "threshold": min(column["threshold"] for column in columns.values()),
            "share_at_risk_before": float(risky_before.mean()),
            "share_at_risk": float(risky.mean()),
            "columns": columns,
        }
        return Exposure(
            attack=self.name,
            adversary="knows people's quasi-identifiers, and that they are in the table",
            success=float(known.worst(chances).mean()),
            baseline=float(known.worst(blind).mean()),
            figures=figures,
            chances=known.worst(chances),
            at_risk=int(risky.sum()),
            rows=known.rows(chances),
        )


class _Known:
    """The rows by which an adversary may know each person."""

    def __init__(self, original: CodedTable) -> None:
        self.counting = original.counting
        self.person, self.people = self.counting.owner, self.counting.count

    def worst(self, each: FloatVector) -> FloatVector:
        """Return, per person, the largest number of their rows."""
        if self.counting.adds_up:
            return each
        found = np.zeros(self.people)
        np.maximum.at(found, self.person, each)
        return found

    def rows(self, each: FloatVector) -> LongVector | None:
        """Return, per person, the row with the largest number; None if every row is a person of its own."""
        if self.counting.adds_up:
            return None
        order = np.lexsort((-each, self.person))
        found: LongVector = order[np.searchsorted(self.person[order], np.arange(self.people))]
        return found

    def shares(self, label_of: IntVector) -> FloatVector:
        """Return the share of people who have each label."""
        if self.counting.adds_up:
            return np.bincount(label_of) / len(label_of)
        pairs = np.unique(label_of.astype(np.int64) * self.people + self.person)
        return np.bincount(pairs // self.people) / self.people


def _at_risk(top: FloatVector, threshold: float) -> BoolVector:
    return np.asarray((top > threshold + 1e-12) | (top >= 1 - 1e-12))


def _adds_little(own: FloatVector, blind: FloatVector, allowed: float) -> BoolVector:
    """Return who has a certain value that is likely by a blind guess, so that this adds at most `allowed`; nobody if it
    is 0.
    """
    return np.asarray((own >= 1 - 1e-12) & (1 - blind <= allowed) & (allowed > 0))


def _gain(own: FloatVector, blind: FloatVector) -> dict[str, Any]:
    """Compare beliefs in true values with a blind guess. The interval is for people like these, drawn at random."""
    gain = own - blind
    middle = float(gain.mean()) if len(gain) else 0.0
    half = NORMAL_95 * float(gain.std(ddof=1)) / len(gain) ** 0.5 if len(gain) > 1 else 1.0
    return {
        "success": float(own.mean()),
        "baseline": float(blind.mean()),
        "gain": middle,
        "gain_interval": [max(middle - half, -1.0), min(middle + half, 1.0)],
    }


def _figures(top: FloatVector, exposed: BoolVector) -> dict[str, float]:
    return {
        "certain": float((top >= 1 - 1e-12).mean()),
        "above_threshold": float(exposed.mean()),
        "mean_belief": float(top.mean()),
    }


def _before(original: CodedTable, label_of: IntVector) -> FloatVector:
    """Return, per row, the share of the most frequent label among rows with equal quasi-identifiers, or among the
    people who have such rows; the people who have all such rows, if rows can be followed.
    """
    from shoal.kernels.diversity import top_counts
    from shoal.kernels.grouping import distinct, histograms

    point_of, first = distinct(original.quasi.wide)
    person, people = original.counting.owner, original.counting.count
    if not original.counting.adds_up:
        if original.counting.followed:
            point_of = same_rows(point_of, person)[person]
            first = np.unique(point_of, return_index=True)[1]
        labels = int(label_of.max(initial=0)) + 1
        cells, cell_of = np.unique(point_of.astype(np.int64) * labels + label_of, return_inverse=True)
        shown = np.unique(cell_of * people + person) // people
        top = np.zeros(len(first))
        np.maximum.at(top, cells // labels, np.bincount(shown, minlength=len(cells)))
        pairs = np.unique(point_of.astype(np.int64) * people + person)
        return np.asarray((top / np.bincount(pairs // people, minlength=len(first)))[point_of])
    start, _, count = histograms(point_of, len(first), label_of, np.ones(original.rows, np.int64))
    largest, _ = top_counts(start, count, 1)
    return np.asarray((largest / np.bincount(point_of, minlength=len(first)))[point_of])


def _count_possible_labels(
    published: Published, shown: IntVector
) -> tuple[LongVector, IntVector, LongVector]:
    """Return which labels rows of each class may have, and how often: those of its bucket, if values were shuffled
    within buckets.
    """
    from shoal.kernels.grouping import histograms

    ones, number = np.ones(published.rows, np.int64), published.candidates
    start, label, count = histograms(number, int(number.max(initial=-1)) + 1, shown, ones)
    group_of = np.empty(published.classes, np.int64)
    group_of[published.class_of] = number
    many = np.diff(start)[group_of]
    begin = np.concatenate([[0], np.cumsum(many)]).astype(np.int64)
    at = np.repeat(start[group_of] - begin[:-1], many) + np.arange(begin[-1])
    return begin, label[at], count[at]


def _of_followed(
    evidence: Evidence, known: Followed, shown: IntVector, labels: int, label_of: IntVector
) -> tuple[FloatVector, FloatVector]:
    """Return the same among the people who may be somebody all of whose rows are known."""
    person, crowd_of, original = evidence.owners.person, evidence.crowd_of, evidence.original
    assert person is not None
    assert crowd_of is not None
    pairs = np.unique(person.astype(np.int64) * labels + shown)
    beliefs = known.count_beliefs((crowd_of[pairs // labels], (pairs % labels).astype(np.int32)), labels)
    lists = known.list_of[original.counting.owner]
    return beliefs.top()[lists], beliefs.of(lists, label_of)


def _after(
    evidence: Evidence, column: int, strong: IntVector, label_of: IntVector
) -> tuple[FloatVector, FloatVector]:
    """Return, per row of the original, the shares of the most frequent and of its own label among matching rows, or
    among the people who own these.
    """
    from shoal.kernels.disclosure import beliefs
    from shoal.kernels.grouping import distinct

    published = evidence.published
    low, high = published.cell_ranges
    if evidence.owners.unknown:
        raise DataError(f"people cannot be counted: {evidence.owners.unknown}")
    if published.in_buckets and np.array_equal(low, high):
        from shoal.judging.models.slicing_l import beliefs as over_buckets

        return over_buckets(published, evidence.original, column, strong)
    if not published.rows_intact:
        from shoal.judging.models.slicing_l import beliefs_of_ranges

        # No row shows the cells of one person, so people match buckets, not rows.
        return beliefs_of_ranges(published, evidence.original, column, strong)
    shown = np.ascontiguousarray(strong[published.sensitive_codes[:, column]])
    if evidence.people_by_pseudonym is not None:
        return _of_followed(evidence, evidence.people_by_pseudonym, shown, len(strong), label_of)
    if not evidence.original.counting.adds_up:
        point_of = evidence.consistency.people.row_of
        found = crowds(evidence, shown, len(strong))
        people = np.maximum(candidate_people(evidence, pruned=False), 1)[point_of]
        return found.top()[point_of] / people, found.count_showing(point_of, label_of) / people
    held = _count_possible_labels(published, shown)
    graph = evidence.consistency
    point_of = graph.people.row_of
    points = np.arange(len(graph.people.weight) + 1)
    # The graph lists people by class; here classes by person are needed. Rows that are not published tell nothing.
    links = graph.links[: graph.start[published.classes]]
    classes = np.repeat(
        np.arange(published.classes, dtype=np.int32), np.diff(graph.start)[: published.classes]
    )
    over = classes[np.argsort(links, kind="stable")]
    over_start = np.concatenate(([0], np.cumsum(np.bincount(links, minlength=len(points) - 1))))
    atom_of, atom_first = distinct(np.stack([point_of, label_of], axis=1))
    order = np.argsort(point_of[atom_first], kind="stable")
    own_start = np.searchsorted(point_of[atom_first][order], points)
    believe: Any = beliefs  # numba's type stubs allow fewer arguments
    fitting, top, own = believe(over_start, over, *held, len(strong), own_start, label_of[atom_first][order])
    rows = np.maximum(fitting, 1)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return (top / rows)[point_of], own[place[atom_of]] / rows[point_of]
