"""Statements that a release suggests, on text: "in this class, and with this value". Written to be read."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Person = tuple[float, ...]
Cell = str


def values_of(cell: Cell) -> tuple[float, float, list[float]] | None:
    """Return the ends of a range and the values that its label names; None for `*`."""
    if cell == "*":
        return None
    if cell.startswith("["):
        low, high = map(float, cell[1:-1].split(", "))
        return low, high, [low, high]
    if cell.startswith("{"):
        listed = [float(word) for word in cell[1:-1].split(", ")]
        return min(listed), max(listed), listed
    return float(cell), float(cell), [float(cell)]


def covers(cell: Cell, value: float) -> bool:
    """Whether a cell may stand for a value."""
    meant = values_of(cell)
    if meant is None:
        return True
    return value in meant[2] if cell.startswith("{") else meant[0] <= value <= meant[1]


def in_class(cells: Sequence[Cell], person: Person) -> bool:
    """Whether all cells of a class cover a person."""
    return all(covers(cell, value) for cell, value in zip(cells, person, strict=True))


def statements_of(rows: Sequence[tuple[Cell, ...]]) -> list[tuple[tuple[Cell, ...], int, float]]:
    """Return all statements: class, column, value. A cell with a single value, or `*`, makes none."""
    found = []
    for cells in sorted(set(rows)):
        for column, cell in enumerate(cells):
            meant = values_of(cell)
            if meant is not None and len(set(meant[2])) > 1:
                found += [(cells, column, value) for value in sorted(set(meant[2]))]
    return found


def true_of(statement: tuple[tuple[Cell, ...], int, float], people: Sequence[Person]) -> list[int]:
    """Return the people of whom a statement is true."""
    cells, column, value = statement
    return [at for at, person in enumerate(people) if person[column] == value and in_class(cells, person)]


def chance_of_one(matching: int, of: int, drawn: int) -> Fraction:
    """Return the probability that exactly one of some people drawn at random is among those that match."""
    if drawn > of:
        share = Fraction(matching, of)
        return drawn * share * (1 - share) ** (drawn - 1)
    # One after the other: the probability that exactly the first of them matches, times how many may be the first.
    chance, left = Fraction(matching, of), of - 1
    for at in range(drawn - 1):
        if left - at - (matching - 1) <= 0:
            return Fraction(0)
        chance *= Fraction(left - at - (matching - 1), left - at)
    return drawn * chance
