"""A plain reference for searches over mappings: try them all, with dictionaries and the models' own words."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.coding.groups import group
from shoal.judging.linking.evidence import Evidence
from shoal.judging.measures import MEASURES, CellMeasure
from shoal.judging.models.model import GroupModel, Monotone
from shoal.release.published import Boxes, Published


@dataclass(frozen=True, kw_only=True)
class NotAMultiple(GroupModel):
    """A group's size is no multiple of a number: sizes 1 and 2 satisfy it for 3, their union does not."""

    name: ClassVar[str] = "not-a-multiple"
    summary: ClassVar[str] = "deliberately not monotone"
    monotone: ClassVar[Monotone] = Monotone.NEVER
    number: int

    @property
    def threshold(self):
        return 1.0

    @property
    def title(self):
        return f"no multiple of {self.number}"

    def score_groups(self, groups):
        return (groups.size % self.number != 0).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class ShareOfFirst(GroupModel):
    """The first sensitive code has at most a given share: monotone, but a bad group can spoil a good one."""

    name: ClassVar[str] = "share-of-first"
    summary: ClassVar[str] = "monotone, with groups that a part can mend"
    monotone: ClassVar[Monotone] = Monotone.OVER_ROWS
    higher_is_safer: ClassVar[bool] = False
    share: float

    @property
    def threshold(self):
        return self.share

    @property
    def title(self):
        return f"share at most {self.share}"

    def score_groups(self, groups):
        own = groups.sensitive[0]
        found = np.zeros(len(groups))
        for g in range(len(groups)):
            run = slice(own.start[g], own.start[g + 1])
            found[g] = own.count[run][own.value[run] == 0].sum() / max(groups.size[g], 1)
        return found


def published(table, requirements, levels):
    """What a mapping publishes when all groups that fail are dropped."""
    shown = [
        tuple(int(a.hierarchy.low[lv, c]) for a, lv, c in zip(table.attributes, levels, row, strict=True))
        for row in table.quasi.wide.tolist()
    ]
    numbers = {cells: i for i, cells in enumerate(dict.fromkeys(shown))}
    group_of = np.array([numbers[cells] for cells in shown], np.int32)
    groups = group(group_of, len(numbers), table.secrets.wide, table.sensitive, table.sensitive_counts)
    good = requirements.holds_in(groups)
    kept = [cells for cells, number in numbers.items() if good[number]]
    place = {cells: i for i, cells in enumerate(kept)}
    rows = [i for i, cells in enumerate(shown) if cells in place]
    low = np.array(kept, np.int32).reshape(len(kept), len(levels))
    high = np.array(
        [
            [a.hierarchy.high[lv, c] for a, lv, c in zip(table.attributes, levels, cells, strict=True)]
            for cells in kept
        ],
        np.int32,
    ).reshape(low.shape)
    class_of = np.array([place[shown[i]] for i in rows], np.int32)
    return Published(
        table.attributes,
        table.sensitive,
        class_of,
        table.secrets.wide[rows],
        Boxes(low, high),
        suppressed=table.rows - len(rows),
    )


def loss(table, requirements, release):
    measure = MEASURES[requirements.measure]()
    value = measure.value(Evidence(release, table, k=requirements.k))
    if isinstance(measure, CellMeasure) and measure.total:
        value /= table.rows * sum(a.weight for a in table.attributes)
    return value


def satisfying(table, requirements):
    """Every mapping that holds, best first: (loss, suppressed, sum of levels, levels)."""
    most = requirements.suppressible(table.rows)
    found = []
    for levels in itertools.product(*(range(len(a.hierarchy.levels)) for a in table.attributes)):
        release = published(table, requirements, levels)
        if release.suppressed <= most:
            value = round(loss(table, requirements, release), 12)
            found.append((value, release.suppressed, sum(levels), levels))
    return sorted(found)


def minimal(found):
    """Those with no proper specialization among them."""
    all_levels = [entry[3] for entry in found]
    return [
        m
        for m in all_levels
        if not any(o != m and all(a <= b for a, b in zip(o, m, strict=True)) for o in all_levels)
    ]
