"""All tables that may be behind a release, by its cells; and those of which the method makes this very release."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, product
from math import comb, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.coding import CodedTable
from shoal.coding.columns import Columns
from shoal.errors import DataError, InfeasibleError, LimitError
from shoal.judging.attacks.possible_releases import Key, write_cells
from shoal.judging.linking.evidence import Evidence
from shoal.judging.models.requirements import Requirements
from shoal.methods import Method
from shoal.support.arrays import IntVector, LongVector
from shoal.support.brief import Brief
from shoal.support.run import Run

Row = tuple[int, ...]
FloatCube = NDArray[np.float64]
Rows = tuple[tuple[int, Row], ...]
"""A table in no order: the label of the sensitive values of each row, and its codes; ascending."""


@dataclass(frozen=True, eq=False, repr=False)
class Unit(Brief):
    """Rows that nothing in the release tells apart."""

    label: int
    rows: int
    choices: tuple[Row, ...]
    """The combinations of values that each of them may have."""


class PossibleTables:
    """The tables that a release allows: any values that the cells cover, of people of the population if it is known.

    Rows that were moved into cells of others may have any values.
    """

    def __init__(self, evidence: Evidence, labels: IntVector, *, moved: bool) -> None:
        published, table = evidence.published, evidence.original
        self.table, self.published = table, published
        self.cells = write_cells(*published.cell_ranges, published.sets)
        shown = Counter(zip(published.class_of.tolist(), labels.tolist(), strict=True))
        self.key: Key = tuple(
            sorted((self.cells[c], label) for (c, label), many in shown.items() for _ in range(many))
        )
        population = table.context.population
        self.people: Counter[Row] | None = (
            None if population is None else Counter(map(tuple, population.tolist()))
        )
        self.moved, self.shown, self.labels = moved, shown, labels

    def fewer_than(self, limit: int) -> bool:
        """Whether there are at most so many tables, counted before those are found that occur twice. O(classes)."""
        ways = 1
        for choices, rows in self._sizes():
            if choices > limit:
                return False
            ways *= comb(choices + rows - 1, rows) if choices else 0
            if ways > limit:
                return False
        return True

    def _sizes(self) -> Iterator[tuple[int, int]]:
        """Yield how many choices the rows have that nothing tells apart, and how many rows."""
        if self.people is not None:
            yield from ((len(unit.choices), unit.rows) for unit in self.units())
        elif self.moved:
            many = prod(attribute.hierarchy.size for attribute in self.table.attributes)
            yield from ((many, rows) for rows in Counter(self.labels.tolist()).values())
        else:
            yield from ((prod(map(len, self.codes_of(c))), rows) for (c, _), rows in self.shown.items())

    def codes_of(self, number: int) -> list[list[int]]:
        """Return the values that each cell of a class covers."""
        cell, width = self.cells[number], len(self.table.attributes)
        if self.published.sets is not None:
            return [list(own) for own in cell]
        return [list(range(cell[j], cell[width + j] + 1)) for j in range(width)]

    def units(self) -> Iterator[Unit]:
        """Yield the rows that nothing tells apart, with what they may be."""
        if self.moved:
            every = [range(attribute.hierarchy.size) for attribute in self.table.attributes]
            for label, rows in Counter(self.labels.tolist()).items():
                yield Unit(label, rows, tuple(product(*every) if self.people is None else self.people))
            return
        for (c, label), rows in self.shown.items():
            yield Unit(label, rows, self._covered(self.codes_of(c)))

    def _covered(self, codes: list[list[int]]) -> tuple[Row, ...]:
        """Return the combinations that cells cover; of those that somebody has, if the population is known."""
        if self.people is None:
            return tuple(product(*codes))
        sets = [set(own) for own in codes]
        return tuple(
            row for row in self.people if all(code in own for code, own in zip(row, sets, strict=True))
        )

    def each(self) -> dict[Rows, float]:
        """Return every table, and how likely it is before the method is considered: every list of rows, or every choice
        of people from the population, is equally likely."""
        found: dict[Rows, float] = {}
        ways = [
            [
                [(unit.label, row) for row in rows]
                for rows in combinations_with_replacement(unit.choices, unit.rows)
            ]
            for unit in self.units()
        ]
        for parts in product(*ways):
            rows: Rows = tuple(sorted(row for part in parts for row in part))
            if rows not in found:
                found[rows] = self._weigh(rows)
        return {rows: weight for rows, weight in found.items() if weight > 0}

    def _weigh(self, rows: Rows) -> float:
        if self.people is None:
            left, weight = len(rows), 1
            for many in Counter(rows).values():
                weight *= comb(left, many)
                left -= many
            return float(weight)
        counts = Counter(row for _, row in rows)
        return float(prod(comb(self.people[row], many) for row, many in counts.items()))


@dataclass(frozen=True, eq=False, repr=False)
class Rerun(Brief):
    """What a method makes of tables."""

    table: CodedTable
    """The original, for what does not depend on the rows."""
    values: Any
    """Label -> sensitive values."""
    method: Method
    requirements: Requirements
    run: Run

    def release(self, rows: Rows, *, backwards: bool = False) -> list[tuple[Key, int]] | None:
        """Return the cells that each row shows, and its label, in the order of the rows; None if the method makes no
        release of this table, or suppresses rows. `backwards`, it reads the rows in the other order.
        """
        given = rows[::-1] if backwards else rows
        codes = np.asfortranarray(np.array([row for _, row in given], np.int32))
        labels = np.array([label for label, _ in given], np.int64)
        secrets = Columns.of(self.table.sensitive, np.asfortranarray(self.values[labels]))
        own = replace(self.table, quasi=Columns.of(self.table.attributes, codes)).with_secrets(secrets)
        try:
            made = self.method.draws(own, self.requirements, self.run)
        except (InfeasibleError, LimitError):
            return None
        ways = [list(each) for each in made.each]
        if any(len(each) > 1 for each in ways):
            raise DataError(f"{self.method.name} draws its release, so that one table gives many")
        shown: dict[int, int] = {
            int(row): int(region)
            for ((numbers, regions, _),) in ways
            for row, region in zip(numbers, regions, strict=True)
        }
        if len(shown) < len(rows):
            return None
        low, high = _name(own, made.low, made.high) if made.sets is None else (made.low, made.high)
        cells = write_cells(low, high, made.sets)
        found = [(cells[shown[i]], int(labels[i])) for i in range(len(rows))]
        return found[::-1] if backwards else found


def _name(table: CodedTable, low: Any, high: Any) -> tuple[Any, Any]:
    """Return what the labels of ranges cover, which may be made of the values of the table."""
    low, high = low.copy(), high.copy()
    for j, attribute in enumerate(table.attributes):
        seen = None if table.context.population is not None else table.value_counts[j] > 0
        low[:, j], high[:, j] = attribute.hierarchy.narrow_to_seen(low[:, j], high[:, j], seen)
    return low, high


@dataclass(frozen=True, eq=False, repr=False)
class Left(Brief):
    """What the tables that give the release say about each of its classes."""

    tables: int
    """How many tables the release allows."""
    consistent: int
    """How many of them give it."""
    chances: tuple[FloatCube, ...]
    """Per column ``[classes, values, m]`` how likely it is that more than m rows of a class have the value."""


def leave(possible: PossibleTables, rerun: Rerun, truth: Rows) -> Left:
    """Run the method on every table, and keep those that give the release. Rows may have stood in either order."""
    numbers = {cell: number for number, cell in enumerate(possible.cells)}
    most = int(possible.published.sizes.max(initial=0))
    shapes = [(len(numbers), attribute.hierarchy.size) for attribute in possible.table.attributes]
    chances = [np.zeros((*shape, most)) for shape in shapes]
    total, consistent, found_truth = 0.0, 0, False
    tables = possible.each()
    for done, (rows, weight) in enumerate(tables.items()):
        if done % 64 == 0:
            rerun.run.progress("rerun", done / len(tables))
        gives = False
        for backwards in (False, True):
            shown = rerun.release(rows, backwards=backwards)
            if shown is None or tuple(sorted(shown)) != possible.key:
                continue
            gives = True
            total += weight
            own = [np.zeros(shape, np.int64) for shape in shapes]
            for (_, codes), (cell, _) in zip(rows, shown, strict=True):
                for j, code in enumerate(codes):
                    own[j][numbers[cell], code] += 1
            for j, counts in enumerate(own):
                chances[j] += weight * (counts[:, :, None] > np.arange(most))
        consistent += gives
        found_truth |= gives and rows == truth
    if not found_truth:
        raise DataError(NOT_OURS)
    return Left(len(tables), consistent, tuple(one / total for one in chances))


NOT_OURS = (
    "Shoal cannot reproduce the release: the method with these options makes another one of the original, or the order "
    "of its rows decides. Give the policy, or the record, that the release was made with"
)


def as_rows(codes: Any, labels: IntVector | LongVector) -> Rows:
    """Return a table in no order."""
    return tuple(sorted(zip(labels.tolist(), map(tuple, codes.tolist()), strict=True)))
