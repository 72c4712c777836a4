"""How the values of a release were shuffled within buckets: by its record, or by what its rows show.

A file cannot say how it was made, and a policy at hand may be that of another release. With the original, the rows
themselves tell: columns that stayed together show combinations that the original has, as often as it has them. Where
several ways are possible, all are returned, and a release is judged by the worst.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shoal.coding import CodedTable
from shoal.errors import DataError
from shoal.release.layout import Shuffling
from shoal.release.published import Published
from shoal.release.received.combinations import Combinations, Groups
from shoal.release.received.read_record import read_method, read_section


@dataclass(frozen=True)
class Making(Shuffling):
    """One way in which a release may have been made. No groups mean that each column was shuffled by itself."""

    in_buckets: bool = True
    """Values were shuffled within buckets; otherwise every row shows the values of one person."""

    @classmethod
    def of(cls, shuffling: Shuffling) -> Making:
        """Return what a method does, in one spelling."""
        together, sensitive_in = shuffling.together, shuffling.sensitive_in
        alone = together is None or all(len(group) == 1 for group in together)
        if sensitive_in is not None and all(place < 0 for place in sensitive_in):
            sensitive_in = None
        return cls(None if alone and sensitive_in is None else together, sensitive_in)

    @classmethod
    def of_groups(cls, groups: Groups, quasi: int, sensitive: int) -> Making:
        """Return what it means that these columns, quasi-identifiers first, were shuffled as units."""
        if len(groups) == 1:
            return INTACT
        units = sorted(groups)
        kept = [tuple(j for j in group if j < quasi) for group in units]
        together = tuple(group for group in kept if group)
        place = [-1] * sensitive
        for unit, own in zip(units, kept, strict=True):
            for j in unit:
                if j >= quasi and own:
                    place[j - quasi] = together.index(own)
        return cls.of(Shuffling(together, tuple(place)))

    def units(self, quasi: int, columns: int) -> Groups:
        """Return the columns that were shuffled as a unit, quasi-identifiers first."""
        groups = [list(group) for group in self.together or ()]
        for j, place in enumerate(self.sensitive_in or ()):
            if place >= 0 and quasi + j < columns:
                groups[place].append(quasi + j)
        grouped = {j for group in groups for j in group}
        return (*map(tuple, groups), *((j,) for j in range(columns) if j not in grouped))

    def in_words(self, published: Published) -> str:
        """Say it to the user."""
        if not self.in_buckets:
            return "every row shows the values of one person, and nothing was shuffled"
        quasi = len(published.attributes)
        if self.together is None:
            return "each column was shuffled by itself within buckets"
        if self.together == (tuple(range(quasi)),) and self.sensitive_in is None:
            return "sensitive values were shuffled within buckets, and quasi-identifiers stayed in their rows"
        if len(self.together) == 1 and self.sensitive_in is not None and -1 not in self.sensitive_in:
            return "rows stayed whole, and somebody's row is one of their bucket"
        names = [[published.attributes[j].name for j in group] for group in self.together]
        for j, place in enumerate(self.sensitive_in or ()):
            if place >= 0:
                names[place].append(published.sensitive[j].name)
        groups = "; ".join(" with ".join(group) for group in names)
        return f"groups of columns were shuffled within buckets: {groups}"


INTACT = Making(in_buckets=False)
APART = Making()
"""Each column was shuffled by itself: whatever shuffling within buckets gives, this gives too."""


@dataclass(frozen=True)
class Ways:
    """The ways in which a release may have been made."""

    found: tuple[Making, ...]
    """They include one that tells an adversary at least as much as the true way."""
    complete: bool = True
    """They include the true way itself, as far as it decides who may be in which bucket. Knowing more does not always
    make it likelier that somebody is in the table, so a way that tells more does not stand for the others there."""


def by_record(record: Mapping[str, Any], published: Published, table: CodedTable | None) -> Making:
    """Return how the record of a run says that a release was made."""
    method = read_method(record)
    if not method.shows.buckets:
        return INTACT
    groups = record.get("groups")
    if groups is None:
        return Making.of(method.find_shuffling(published if table is None else table))
    names = [attribute.name for attribute in (*published.attributes, *published.sensitive)]
    listed = {*names, *read_section(record, "columns")}
    unknown = [name for group in groups for name in group if name not in listed]
    if unknown:
        raise DataError(f"the record shuffles a column '{unknown[0]}' that its policy does not name")
    units = tuple(tuple(names.index(name) for name in group if name in names) for group in groups)
    units = tuple(unit for unit in units if unit)
    if len(units) == 1:  # A single group: rows are as they were, and still have bucket numbers.
        return Making((tuple(range(len(published.attributes))),), (0,) * len(published.sensitive))
    return Making.of_groups(units, len(published.attributes), len(published.sensitive))


def possible(published: Published, table: CodedTable | None, claimed: Making | None, *, apart: bool) -> Ways:
    """Return the ways in which a release with a column of buckets may have been made; `claimed` is what the method of
    the policy at hand would do, `apart` says that sensitive values are in a second table.

    They include one that tells an adversary at least as much as the true way does: columns that truly stayed together
    show combinations of the original, so some of the largest groups that do contain each of them. Where shuffling
    would not show in these rows, the ways with more shuffling are returned too. If the population is known, so are all
    ways to group quasi-identifiers that these rows may come from. A few sorts of the rows; O(rows) pairs of rows and
    people where cells are ranges.
    """
    quasi, sensitive = len(published.attributes), 0 if apart else len(published.sensitive)
    unshuffled = Making((tuple(range(quasi)),)) if quasi > 1 else APART
    if table is None or not published.in_ranges:
        ways = [unshuffled] if apart else [INTACT, unshuffled, *_ways_with_links(quasi, sensitive)]
        if table is not None:
            ways.append(APART)
        return Ways(tuple(_first(claimed, ways) if apart else ways), complete=quasi < 2)
    combinations = Combinations(published, table, quasi + sensitive)
    found = _ways_by_combinations(combinations, claimed, unshuffled, apart=apart)
    of_people = combinations.of_people() if table.context.population is not None else ()
    found += [Making.of(Shuffling(groups)) for groups in of_people or ()]
    found = list(dict.fromkeys(found))
    return Ways(tuple(_first(claimed, found) if claimed in found else found), of_people is not None)


def _ways_by_combinations(
    combinations: Combinations, claimed: Making | None, unshuffled: Making, *, apart: bool
) -> list[Making]:
    """Return the ways that the combinations of values in the original leave possible."""
    quasi, sensitive = combinations.quasi, combinations.columns - combinations.quasi
    found = [Making.of_groups(groups, quasi, sensitive) for groups in combinations.largest(quasi)]
    if apart:
        found = [way if way.in_buckets else unshuffled for way in found]
    if INTACT not in found and not apart and combinations.more_than_chance():
        found.append(INTACT)
    if combinations.unseen():
        found += [APART] if claimed is None or not _may_be(claimed, combinations) else [claimed, APART]
    return found


def as_recorded(way: Making, published: Published, table: CodedTable | None, *, apart: bool) -> Ways:
    """Return the way that a record tells, and ways with less shuffling if far more rows are rows of the original than
    the shuffle would leave. Raises DataError if the release cannot have been made so.
    """
    if table is None or not published.in_ranges or not way.in_buckets:
        return Ways((way,))
    quasi, sensitive = len(published.attributes), 0 if apart else len(published.sensitive)
    combinations = Combinations(published, table, quasi + sensitive)
    if not _may_be(way, combinations):
        raise DataError(
            f"by the record, {way.in_words(published)}, but the original lacks combinations that the release shows: "
            "the record is about another release; give the record of this one"
        )
    units, known = (
        combinations.with_secrets_joined(way.units(quasi, combinations.columns)),
        tuple(range(quasi)),
    )
    ways = [way]
    if not any(set(known) <= set(unit) for unit in units) and combinations.looks_unshuffled(units, known):
        ways.append(Making((known,)))
    if not apart and combinations.looks_unshuffled(units, tuple(range(quasi + sensitive))):
        ways.append(INTACT)
    return Ways(tuple(ways))


def _may_be(way: Making, combinations: Combinations) -> bool:
    """Whether the release may have been made in this way."""
    if not way.in_buckets:
        return combinations.is_true(range(combinations.columns))
    return all(map(combinations.is_true, way.units(combinations.quasi, combinations.columns)))


def _ways_with_links(quasi: int, sensitive: int) -> list[Making]:
    """Return the ways in which sensitive values stay with quasi-identifiers: with all of them, which tells most about
    the rows of a bucket, or with one of them.
    """
    if not quasi or not sensitive:
        return []
    alone = tuple((j,) for j in range(quasi))
    whole = Making((tuple(range(quasi)),), (0,) * sensitive)
    return list(dict.fromkeys([whole, *(Making(alone, (j,) * sensitive) for j in range(quasi))]))


def _first(claimed: Making | None, ways: list[Making]) -> list[Making]:
    """Put the claimed way first, so that it names the release; the verdicts are those of the worst way anyhow."""
    return ways if claimed is None else [claimed, *(way for way in ways if way != claimed)]
