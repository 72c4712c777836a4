"""Who is in the table, for an adversary who reruns the method on every table of a population: all subsets, by hand."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import combinations


def all_releases(people, size, publish):
    """Return each release of a method, with the tables that lead to it: subsets of `size` of the `people`.

    `publish` takes the positions of the people in a table, and returns what each of their rows shows, or None if
    it refuses the table. All tables are equally likely.
    """
    found = defaultdict(list)
    for inside in combinations(range(people), size):
        rows = publish(inside)
        if rows is not None:
            found[tuple(sorted(rows))].append(inside)
    return found


def chances_of(tables, people):
    """Return each person's share of the tables that contain them."""
    return [Fraction(sum(i in own for own in tables), len(tables)) for i in range(people)]


def count_exposed(people, size, publish, highest):
    """Count the releases that put somebody above the `highest` allowed probability, the tables that lead to one of
    these, and all of both.
    """
    releases = all_releases(people, size, publish)
    bad = [
        tables
        for tables in releases.values()
        if any(chance > highest for chance in chances_of(tables, people))
    ]
    return len(bad), len(releases), sum(map(len, bad)), sum(map(len, releases.values()))
