"""Cuts of boxes that are declined at random: all sets of rows of a box, and all releases of all tables, one by one."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import combinations


def count_outcomes(people, rows, allows):
    """Return how likely all sides are allowed, and the rows of each side then, times that: over all sets of so many
    rows among the people of all sides. `allows` takes a number of rows and of people.
    """
    side_of = [side for side, many in enumerate(people) for _ in range(many)]
    sets = list(combinations(side_of, rows))
    good = [own for own in sets if all(allows(own.count(i), many) for i, many in enumerate(people))]
    expected = [Fraction(sum(own.count(i) for own in good), len(sets)) for i in range(len(people))]
    return Fraction(len(good), len(sets)), expected


def list_releases(box, rows_in, choose, split, allows):
    """Yield what a method may publish of a box, and how likely: each part with its rows. `rows_in` counts the rows of a
    part, `choose` returns its cut, or None, and how often the cut is declined.
    """
    cut, declined = choose(box)
    whole = ((box, rows_in(box)),) if rows_in(box) else ()
    sides = [] if cut is None else split(box, cut)
    if cut is None or not all(allows(side) for side in sides):
        yield whole, 1.0
        return
    yield whole, declined
    found = [((), 1 - declined)]
    for side in sides:
        found = [
            (before + more, chance * likely)
            for before, chance in found
            for more, likely in list_releases(side, rows_in, choose, split, allows)
        ]
    yield from found


def chances_of_all(people, size, releases_of):
    """Return, for each release, everybody's probability of being in the table: over all tables of this size, each with
    all releases that the method may make of it, and how likely these are.
    """
    mass = defaultdict(float)
    inside = defaultdict(lambda: [0.0] * people)
    for table in combinations(range(people), size):
        for release, chance in releases_of(table):
            mass[release] += chance
            for person in table:
                inside[release][person] += chance
    return {release: [own / mass[release] for own in inside[release]] for release in mass}
