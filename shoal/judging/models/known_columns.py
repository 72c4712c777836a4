"""k for somebody who knows few columns: at most m of them, or one of several sets (`[privacy.keys]`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from shoal.errors import DataError
from shoal.judging.models.k_anonymity import KAnonymity, smaller_k
from shoal.judging.models.keys import Bounds, Key
from shoal.judging.models.model import AskedIn, GroupModel, Model
from shoal.judging.models.threats import RE_IDENTIFICATION, Threat
from shoal.support.wording import format_count

if TYPE_CHECKING:
    from shoal.coding import CodedTable
    from shoal.judging.linking.evidence import Evidence
    from shoal.judging.linking.key_matches import Chosen, Found
    from shoal.release.verdict import Verdict

KEYS = Key("keys", "the quasi-identifiers that an adversary knows of a person, if not all of them")
MOST_SETS = 50_000
"""More sets of columns are not counted."""
NAMED = 3
"""So many failing sets are named."""


@dataclass(frozen=True)
class KeySets:
    """The sets of quasi-identifiers of which an adversary knows one: any so many, or those that a policy names."""

    any: int = 0
    """Any so many columns; 0 for none."""
    sets: tuple[tuple[str, ...], ...] = ()

    def among(self, names: Sequence[str]) -> list[Chosen]:
        """Return the sets by position, each in the order of the columns, without those inside others."""
        place = {name: at for at, name in enumerate(names)}
        found = set(combinations(range(len(names)), min(self.any, len(names)))) if self.any else set()
        found |= {tuple(sorted(place[name] for name in own)) for own in self.sets}
        large = [set(own) for own in found if len(own) > self.any or not self.any]
        return sorted(
            own for own in found if len(own) >= self.any and not any(set(own) < other for other in large)
        )

    def smaller(self, columns: int) -> list[Chosen]:
        """Return the smaller sets in which a search for the smallest failing ones begins."""
        from shoal.judging.linking.suda import LARGEST

        sizes = range(1, min(self.any, columns + 1, LARGEST + 1))
        return [own for size in sizes for own in combinations(range(columns), size)]

    def count_among(self, columns: int) -> int:
        """Return how many sets there are at most."""
        return (math.comb(columns, min(self.any, columns)) if self.any else 0) + len(self.sets)

    def __str__(self) -> str:
        """Name the sets as a person reads them."""
        words = [f"any {format_count(self.any, 'column')}"] if self.any else []
        return " or ".join([*words, *(" and ".join(own) for own in self.sets)])


@dataclass(frozen=True, kw_only=True)
class KnownColumns(Model):
    """Anyone who knows a person in one of several sets of columns finds k rows, and each row matches k people.

    This is (k,k)-anonymity over each set. One direction alone would protect nobody: k rows of `*` match everybody, and
    all other rows could then be published as they are. Classes of k rows satisfy it, whatever the sets.
    """

    name: ClassVar[str] = "known-columns"
    threat: ClassVar[Threat] = RE_IDENTIFICATION
    summary: ClassVar[str] = (
        "an adversary who knows a person in one of these sets of columns finds at least k rows, and a row fits k people"
    )
    key: ClassVar[Key] = KEYS
    asked_in: ClassVar[AskedIn] = "keys"
    usual: ClassVar[Any] = {"any": 3}
    by_cells: ClassVar[bool] = True

    k: Annotated[int, Bounds(ge=2)]
    """How many rows must match a person, and people a row."""
    keys: KeySets
    """What the adversary may know."""

    @classmethod
    def looser(cls, value: Any) -> Any:
        """Halve k."""
        return smaller_k(value)

    @property
    def known_sets(self) -> KeySets:
        """The sets of columns of which an adversary knows one."""
        return self.keys

    @property
    def title(self) -> str:
        """Name k and the sets."""
        return f"{self.k}-anonymity for an adversary who knows {self.keys}"

    @property
    def by_classes(self) -> GroupModel:
        """Classes of k rows are enough."""
        return KAnonymity(k=self.k)

    def verify(self, evidence: Evidence) -> Verdict:
        """Judge the person, or row, with the fewest matches in any of the sets. O(sets x (rows + people))."""
        from shoal.judging.linking.key_matches import KeyCells, count_matches

        published, table = evidence.published, evidence.table
        if not published.rows:
            return self.verdict(published, None, True, "nothing is published")
        if evidence.persons.several:
            return self.verdict_unknown(published, "it counts rows, and people have several")
        if published.in_buckets:
            return self.verdict_unknown(published, "values were shuffled within buckets")
        names = [attribute.name for attribute in published.attributes]
        sets = [*self.keys.smaller(len(names)), *self.keys.among(names)]
        if not published.in_ranges or (table is not None and not table.rows_known):
            return self._verify_texts(evidence, names, sets)
        found = count_matches(KeyCells.of_release(published, table), sets, self.k)
        if not found.failing:
            counted = f"counted in {format_count(found.sets, 'set')} of columns"
            return self.verdict(published, found.least, True, counted)
        words = describe_failing(found.failing, names)
        if table is None and not any(one.certain for one in found.failing):
            why = f"{words}, unless their `*` stand for values that others have: give the original"
            return self.verdict_unknown(published, why)
        return self.verdict(published, found.least, False, words)

    def _verify_texts(self, evidence: Evidence, names: Sequence[str], sets: Sequence[Chosen]) -> Verdict:
        """Judge by the text of cells, if nobody can tell what they cover: rows that show the same match the same
        people, and each other's owners.
        """
        from shoal.judging.linking.key_matches import KeyCells, count_matches

        published = evidence.published
        if int(published.sizes.min()) >= self.k:
            detail = "every class has as many rows, so every set of columns has"
            return self.verdict(published, int(published.sizes.min()), True, detail)
        try:
            texts = [evidence.number_texts(name) for name in names]
        except DataError:
            texts = [None]
        numbers = [own[0] for own in texts if own is not None]
        if len(numbers) == len(names):
            shown = np.stack(numbers, axis=1).astype(np.int32)
            cells = KeyCells.of_boxes(
                shown, shown, np.ones(len(shown), np.int64), None, np.zeros(0, np.int64)
            )
            found = count_matches(cells, sets, self.k)
            if not found.failing:
                detail = f"counted in {format_count(found.sets, 'set')} of columns, by the text of cells"
                return self.verdict(published, found.least, True, detail)
        why = (
            "fewer than k rows show the same in some set of columns, and nobody can tell what their cells cover; give "
            "the original"
        )
        return self.verdict_unknown(published, why)

    def infeasible(self, table: CodedTable, suppressible: int = 0) -> str | None:
        """No person can match more rows than there are. Cells within generalization limits do not cover values of other
        top nodes, so people who share theirs with fewer than k in some set cannot be published.
        """
        from shoal.judging.linking.key_matches import Counter, KeyCells

        if self.k > table.rows:
            return f"no release can satisfy {self.title}: the table has {format_count(table.rows, 'row')}"
        trees = [attribute.hierarchy for attribute in table.attributes]
        limited = {j for j, tree in enumerate(trees) if len(tree.levels[-1].starts) > 1}
        names = [attribute.name for attribute in table.attributes]
        sets = {tuple(j for j in own if j in limited) for own in self.keys.among(names)} - {()}
        if not sets:
            return None
        number, first = table.number_rows()
        codes = table.quasi.wide[first]
        top = np.stack([tree.low[-1, codes[:, j]] for j, tree in enumerate(trees)], axis=1).astype(np.int32)
        heads = np.bincount(number, minlength=len(first))
        counter = Counter(KeyCells.of_boxes(top, top, heads, top, heads), self.k)
        worst = max((counter.count(own) for own in sorted(sets)), key=lambda found: found.short_people)
        if worst.short_people <= suppressible:
            return None
        columns = " and ".join(names[j] for j in worst.columns)
        return (
            f"no release can satisfy {self.title}: at the highest nodes that the limits of {columns} allow, "
            f"{format_count(worst.short_people, 'row')} still have fewer than {self.k:,} like them, and "
            f"{suppressible:,} may be suppressed (loosen the limits)"
        )


def describe_failing(failing: Sequence[Found], names: Sequence[str]) -> str:
    """Say in which sets of columns somebody has too few matches: the smallest sets, and how many people and rows."""
    listed = []
    for one in failing[:NAMED]:
        short = []
        if one.short_people:
            short.append(f"{format_count(one.short_people, 'person', 'people')} with too few rows")
        if one.short_rows:
            short.append(f"{format_count(one.short_rows, 'row')} with too few people")
        listed.append(f"{' and '.join(names[j] for j in one.columns)} ({', '.join(short)})")
    more = f"; and {len(failing) - NAMED:,} more sets" if len(failing) > NAMED else ""
    return f"the smallest sets of columns that fall short: {'; '.join(listed)}{more}"
