"""Rows that can be followed: let a method by classes make people alike, not rows.

People with equally many rows form a table with one row per person (`WideTable`). A method makes classes of them as of
any table, and each of their rows then shows what the class shows in its place. People whose number of rows is too rare
show fewer rows, or none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.coding import CodedTable
from shoal.coding.followed_people import WideTable, crowds, rows_of_people
from shoal.errors import InfeasibleError, LimitError
from shoal.judging.measures import MEASURES
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.requirements import Requirements
from shoal.methods.cell_suppression import loss_of, release_with_cells
from shoal.methods.method import Method
from shoal.methods.numbers_of_rows import fewest_left_out
from shoal.release import Release, ValueSets
from shoal.support.arrays import IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief
from shoal.support.run import Run
from shoal.support.wording import format_count, more_suppression

TIMES = (1, 2, 4)
"""So many times k people are to share a number of rows: more rows are left out, but larger tables lose less."""
SAMPLE = 2_000
"""So many people decide how rows are sorted."""


def release_people(method: Method, table: CodedTable, requirements: Requirements, run: Run) -> Release:
    """Return a release in which people look alike. Takes as long as the method for each number of rows; where rows have
    to be left out, up to three times as long.

    Raises InfeasibleError if rows would have to be left out, and the policy does not allow so many.
    """
    people = _People(table, requirements, run)
    found: list[tuple[float, Release]] = []
    refused: list[LimitError] = []
    tried: list[LongVector] = []
    # Searches over mappings take long with many columns, so they get one try.
    for times in TIMES[:1] if method.can.search_mappings else TIMES:
        shown = people.numbers(times * max(requirements.k, 1))
        if shown is None or any(np.array_equal(shown, other) for other in tried):
            continue
        tried.append(shown)
        try:
            made = people.release(method, shown)
        except LimitError as error:
            refused.append(error)
            continue
        found.append((loss_of(table, requirements, made), made))
    if not found:
        raise refused[0]
    return min(found, key=lambda pair: pair[0])[1]


def alike(table: CodedTable, requirements: Requirements, release: Release) -> bool:
    """Return whether people who show the same rows satisfy the models together: those of two classes may be alike."""
    from shoal.kernels.grouping import distinct

    rows = np.flatnonzero(release.region_of >= 0)
    if release.sets is not None:
        class_of = release.region_of[rows]  # a finer grouping than a reader's, at worst
    else:
        cells = np.hstack([release.low, release.high])[release.region_of[rows]].astype(np.int32)
        class_of = distinct(np.asfortranarray(cells))[0]
    person = distinct(np.asfortranarray(table.counting.owner[rows][:, None]))[0]
    crowd = crowds(class_of, person)
    groups = table.group_rows(crowd[person], int(crowd.max(initial=-1)) + 1, rows)
    return bool(requirements.holds_in(groups).all())


@dataclass(frozen=True, eq=False, repr=False)
class _Part(Brief):
    """People who show equally many rows."""

    table: WideTable
    lost: int
    """Rows that the method cannot publish: even as one class they do not satisfy the requirements."""

    @property
    def rows(self) -> int:
        """How many rows of the original these are."""
        return self.table.members.size


class _People:
    """The rows of people, in the order in which they are compared."""

    def __init__(self, table: CodedTable, requirements: Requirements, run: Run) -> None:
        self.table, self.requirements, self.run = table, requirements, run
        self.most = requirements.suppressible(table.rows)
        """How many rows may be left out."""
        self.often: LongVector = np.bincount(table.counting.owner).astype(np.int64)
        self.start = np.concatenate([[0], np.cumsum(self.often)])
        self.mixed = run.random.permutation(len(self.often))
        """People in an order that tells nothing: the first ones are the first to lose rows."""
        self.order: LongVector
        self.order, self.by = self._sort_rows()
        self.kept: dict[tuple[int, ...], Release] = {}

    # --- the order of the rows of a person ----------------------------------------------------------------

    def _sort_rows(self) -> tuple[LongVector, str]:
        table, varying = self.table, self._find_varying()
        if table.counting.place is not None:
            return self._by([table.counting.place], varying), ""
        names = [table.attributes[j].name for j in varying]
        if len(varying) < 2:
            return self._by([], varying), names[0] if names else ""
        losses = [self._try_order(self._by([], self._led(lead, varying))) for lead in varying]
        best = int(np.argmin(losses))
        return self._by([], self._led(varying[best], varying)), names[best]

    def _find_varying(self) -> list[int]:
        """Return the quasi-identifiers that differ between rows of the same person."""
        first = rows_of_people(self.table.counting.owner)[0][self.start[:-1]][self.table.counting.owner]
        return [
            j
            for j in range(len(self.table.attributes))
            if not np.array_equal(self.table.quasi.narrow[j], self.table.quasi.narrow[j][first])
        ]

    @staticmethod
    def _led(lead: int, columns: list[int]) -> list[int]:
        return [lead, *(j for j in columns if j != lead)]

    def _by(self, keys: list[IntVector], columns: list[int]) -> LongVector:
        """Sort by person, then by these keys, then by these columns."""
        wanted = [self.table.counting.owner, *keys, *(self.table.quasi.narrow[j] for j in columns)]
        found: LongVector = np.lexsort(wanted[::-1])
        return found

    def _try_order(self, order: LongVector) -> float:
        """Return the loss of a sample of people whose rows are sorted in this order, if only k is required."""
        from shoal.methods import METHODS

        k = max(self.requirements.k, 1)
        only = Requirements(models=(KAnonymity(k=k),) if k > 1 else (), measure=MEASURES.default)
        lost, left = 0.0, SAMPLE
        counts = np.bincount(self.often)
        for number in np.argsort(-counts, kind="stable"):
            people = np.flatnonzero(self.often == number)[:left]
            if number > 1 and len(people) >= k:
                wide = WideTable.of(self.table, self._members(order, people, int(number)))
                made = METHODS[METHODS.default]().anonymize(wide.table, only, self.run)
                lost += loss_of(wide.table, only, made)
                left -= len(people)
        return lost

    def _members(self, order: LongVector, people: LongVector, number: int) -> IntMatrix:
        """Return the rows that people show: all, or as many as they may, drawn at random."""
        found = np.empty((len(people), number), np.int32)
        whole = self.often[people] == number
        found[whole] = order[self.start[people[whole]][:, None] + np.arange(number)]
        for at in np.flatnonzero(~whole):
            drawn = np.sort(self.run.random.permutation(self.often[people[at]])[:number])
            found[at] = order[self.start[people[at]] + drawn]
        return found

    # --- how many rows people show --------------------------------------------------------------------------

    def numbers(self, least: int) -> LongVector | None:
        """Return how many rows each person shows, or None if too many would be left out for more than k people to share
        a number. Raises InfeasibleError if too many would be for k people.
        """
        shown = np.empty_like(self.often)
        shown[self.mixed] = fewest_left_out(self.often[self.mixed], least)
        left = int((self.often - shown).sum())
        if left <= self.most and shown.any():
            return shown
        k = max(self.requirements.k, 1)
        if least > k:
            return None
        rows = self.table.rows
        raise InfeasibleError(
            f"no release whose rows can be followed is {k:,}-anonymous: how many rows a person has is published, too, "
            f"and fewer than {k:,} people have as many rows as some do. At least {left:,} of "
            f"{format_count(rows, 'row')} "
            f"would have to be left out, but only {self.most:,} may be: {more_suppression()}, or leave out publish, so "
            "that nobody can follow rows"
        )

    def _parts(self, shown: LongVector) -> list[_Part]:
        """Return the tables of people who show equally many rows, those with most rows first."""
        found = []
        for number in np.unique(shown[shown > 0])[::-1]:
            people = np.flatnonzero(shown == number)
            members = self._members(self.order, people, int(number))
            wide = WideTable.of(self.table, members)
            blocks = wide.table.blocks
            good = self.requirements.holds_in(blocks)
            found.append(_Part(wide, int(blocks.rows[~good].sum()) * int(number)))
        return found

    def _fit_to_requirements(self, shown: LongVector) -> tuple[LongVector, list[_Part]]:
        """Publish fewer rows, or none, of people whose number of rows makes the requirements impossible, until the
        number of suppressed rows is within the limit. Raises LimitError if that fails.
        """
        while True:
            parts = self._parts(shown)
            left = int((self.often - shown).sum())
            failing = [place for place, part in enumerate(parts) if part.lost]
            whole = [part.table.members.shape[1] for part in parts if part.lost == part.rows]
            if left + sum(part.lost for part in parts) <= self.most and len(whole) < len(parts):
                found = [part for part in parts if part.lost < part.rows]
                return np.where(np.isin(shown, whole), 0, shown), found
            if not failing:
                raise LimitError(self._refusal(left), self._advice)
            worst = max(failing, key=lambda place: parts[place].lost)
            shown = self._show_fewer(shown, parts, worst)
            if not shown.any():
                raise LimitError(self._refusal(self.table.rows), self._advice)

    def _show_fewer(self, shown: LongVector, parts: list[_Part], worst: int) -> LongVector:
        """Publish fewer rows per person, in the way that suppresses the fewest: this part as many as the next part, the
        part before as many as this part, or this part none.
        """
        sizes = [part.table.members.shape for part in parts]
        people, number = sizes[worst]
        ways = []
        if worst + 1 < len(parts):
            ways.append((people * (number - sizes[worst + 1][1]), number, sizes[worst + 1][1]))
        if worst > 0:
            before = sizes[worst - 1]
            ways.append((before[0] * (before[1] - number), before[1], number))
        ways.append((people * number, number, 0))
        _, old, new = min(ways)
        return np.where(shown == old, new, shown)

    def _refusal(self, left: int) -> str:
        asked = " and ".join(model.title for model in self.requirements.group_models)
        return (
            f"people who show equally many rows do not satisfy {asked} together unless {left:,} of "
            f"{format_count(self.table.rows, 'row')} are left out, and {self.most:,} may be"
        )

    @property
    def _advice(self) -> str:
        allow = more_suppression()
        return f"{allow[:1].upper()}{allow[1:]}, ask for less, or leave out publish, so that nobody can follow rows"

    # --- the release ----------------------------------------------------------------------------------------

    def release(self, method: Method, shown: LongVector) -> Release:
        """Let a method anonymize the table of each number of rows, and fold what it publishes."""
        shown, parts = self._fit_to_requirements(shown)
        spare = self.most - int((self.often - shown).sum()) - sum(part.lost for part in parts)
        rows = sum(part.rows for part in parts)
        made = []
        for part in parts:
            share = part.lost / part.rows + max(spare, 0) / max(rows, 1)
            made.append(self._release_part(method, part, min(share, 1.0)))
            done = int((made[-1].region_of < 0).sum()) * part.table.members.shape[1]
            spare, rows = spare - (done - part.lost), rows - part.rows
        folded = _fold_parts(self.table, parts, made)
        return replace(folded, facts=self._facts(folded, shown))

    def _release_part(self, method: Method, part: _Part, share: float) -> Release:
        wide = part.table
        asked = replace(self.requirements, suppression=share, uniform=False)
        key = (round(share * 1e9), *wide.members.shape, hash(wide.members.tobytes()))
        if key not in self.kept:
            try:
                if method.can.search_mappings and not wide.table.counting.one_value and not asked.only_k:
                    found = release_with_cells(method, wide.table_of_rows, asked, self.run)
                    found = replace(found, region_of=found.region_of[:: wide.members.shape[1]])
                else:
                    found = release_with_cells(method, wide.table, asked, self.run)
            except (InfeasibleError, LimitError) as error:
                who = (
                    f"{format_count(wide.table.rows, 'person', 'people')} with "
                    f"{format_count(wide.members.shape[1], 'row')}"
                )
                raise LimitError(who + ": " + str(error), self._advice) from None
            self.kept[key] = found
        return self.kept[key]

    def _facts(self, made: Release, shown: LongVector) -> dict[str, Any]:
        published = made.region_of >= 0
        there = np.bincount(self.table.counting.owner[published], minlength=len(self.often))
        fewer = (there > 0) & (there < self.often)
        facts: dict[str, Any] = {
            "suppressed": int((~published).sum()),
            "people_with_fewer_rows": int(fewer.sum()),
            "rows_they_lost": int((self.often - there)[fewer].sum()),
            "people_left_out": int((there == 0).sum()),
        }
        if self.by:
            facts["rows_sorted_by"] = self.by
        if fewer.any():
            facts["note"] = (
                f"{format_count(int(fewer.sum()), 'person', 'people')} of a rare number of rows "
                f"{'shows' if fewer.sum() == 1 else 'show'} fewer: {format_count(facts['rows_they_lost'], 'row')} "
                "of theirs "
                "were left out at random"
            )
        return facts


def _fold_parts(table: CodedTable, parts: list[_Part], made: list[Release]) -> Release:
    """Give each row the cells that its person's class has at the position of the row."""
    region_of = np.full(table.rows, -1, np.int32)
    low, high, at = [], [], 0
    for part, own in zip(parts, made, strict=True):
        members, places = part.table.members, part.table.places
        count = members.shape[1]
        inside = own.region_of >= 0
        region_of[members[inside]] = at + own.region_of[inside][:, None] * count + np.arange(count)
        low.append(own.low[:, places].reshape(-1, len(table.attributes)))
        high.append(own.high[:, places].reshape(-1, len(table.attributes)))
        at += len(own.low) * count
    sets = None
    if any(own.sets is not None for own in made):
        each = [_fold_sets(part.table, own) for part, own in zip(parts, made, strict=True)]
        lengths = np.concatenate([np.diff(one.start) for one in each])
        sets = ValueSets(
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            np.concatenate([one.codes for one in each]),
        )
    return Release(region_of, np.concatenate(low), np.concatenate(high), sets=sets)


def _fold_sets(table: WideTable, made: Release) -> ValueSets:
    """Return the value sets of each region, row by row of its people."""
    width = made.low.shape[1]
    wanted = (np.arange(len(made.low))[:, None, None] * width + table.places).ravel()
    if made.sets is None:
        ends = made.low.ravel()[wanted], made.high.ravel()[wanted]
        lists = [np.arange(first, last + 1, dtype=np.int32) for first, last in zip(*ends, strict=True)]
        start = np.concatenate([[0], np.cumsum([len(one) for one in lists])])
        return ValueSets(start.astype(np.int64), np.concatenate([*lists, np.empty(0, np.int32)]))
    begins, lengths = made.sets.start[wanted], np.diff(made.sets.start)[wanted]
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    at = np.repeat(begins - start[:-1], lengths) + np.arange(start[-1])
    return ValueSets(start, made.sets.codes[at])
