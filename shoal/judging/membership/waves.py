"""Counting by characteristic functions, for a bucket with one column of many values (the long one) and others of few.

Given its counts, the values of the long column are independent. The people of one value, by how they count in the
other columns, form a polynomial. The number of ways to meet all counts is one coefficient of the product of these
polynomials. A coefficient is an average over waves (a discrete Fourier transform), which needs no memory. If the
polynomials are tilted so that the wanted counts are the average ones, nearly all waves cancel out and need not be
visited. What is left out is bounded, not guessed:

- waves: by the product of bounds on the absolute values of the factors,
- numbers of people beyond the grid, which alias with others: by the exact distribution of each count alone,
- rounding: by sums of absolute values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shoal.support.arrays import BoolVector, FloatMatrix, FloatVector, LongVector
from shoal.support.brief import Brief

PRECISION = 1e-10
"""The largest error of a probability."""
BEYOND = 5e-12
"""Share of the result that may come from numbers of people beyond the grid."""
LEFT_OUT = 3e-10
"""Waves that contribute less than this share of the result are left out, over the expected number of waves."""
MOST_AXES = 9
LARGEST = 200_000
"""Coefficients of all polynomials together."""
RADIUS = 7.8
"""Waves more than this many standard deviations away are expected to be left out."""
MOST_BITS, FAINTEST, STEEPEST = 300, 1e-100, 100.0
"""Limits on weights, ways of a group with weights below 1, and logarithms of tilts: nothing relevant underflows."""
ROUNDING = 2.0**-52
SLACK = 1.01
"""Factor for the rounding of the bounds themselves, and for terms of second order."""


@dataclass(frozen=True, eq=False, repr=False)
class Waved(Brief):
    """What waves say about one component of a bucket, per tuple."""

    share: FloatVector
    """The average number of people above the minimum."""
    some: BoolVector
    """Some set has somebody above the minimum."""
    less: BoolVector
    """Some set has fewer than the maximum."""
    points: int


@dataclass(eq=False, repr=False)
class _Group(Brief):
    """The undecided tuples with one value of the long column."""

    own: list[int]
    axes: list[int]
    """The counts to which they contribute, in the order of the axes."""
    count: int
    """How many of their people are present."""
    room: list[int]
    """Per axis, how many people can count there at most."""
    powers: NDArray[np.int64]
    """``[coefficients, axes]`` number of people per axis."""
    ways: FloatVector = field(init=False)
    """Coefficients before tilting."""
    tilts: FloatVector = field(init=False)
    """Factors of the coefficients."""
    chances: FloatVector = field(init=False)
    """The products; their sum is 1."""

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(size + 1 for size in self.room)

    def tilt(self, logs: FloatVector) -> None:
        """Tilt so that one more person on an axis weighs more; `logs` are the logarithms of the factors."""
        tilts = np.exp(self.powers @ logs[self.axes])
        self.tilts = tilts / float((self.ways * tilts).sum())
        self.chances = self.ways * self.tilts


def count_by_waves(
    columns: NDArray[np.int64],
    wanted: LongVector,
    weights: list[list[int]],
    limit: int,
) -> Waved | None:
    """Return what waves say; None if more than `limit` are expected, or if errors are not proven to be small.

    ``columns[t, j]`` is the count that tuple t belongs to in column j, ``wanted`` the counts, ``weights[t][x]`` the
    number of ways in which x people of tuple t are present. O(waves x factors of the last axes).
    """
    found = _Waves.of(columns, wanted, weights)
    if found is None or not found.tilt():
        return None
    found.grid()
    return found.add_up(limit) if found.expected <= limit else None


def _choose_axes(
    columns: NDArray[np.int64], wanted: LongVector, most: LongVector, values: list[LongVector], long: int
) -> list[int]:
    """Return the counts that are axes: all but those of the long column, and but the largest of each other column."""
    axes: set[int] = set()
    for j, own in enumerate(values):
        if j != long:
            people = np.bincount(columns[:, j], most, len(wanted))[own]
            axes.update(np.delete(own, np.argmax(people)).tolist())
    # Values of few tuples go last: waves are inserted there most often.
    of_tuple = np.bincount(columns.ravel(), minlength=len(wanted))
    return sorted(axes - set(values[long].tolist()), key=lambda axis: (-of_tuple[axis], axis))


class _Waves:
    """Polynomials of all groups, over common axes."""

    def __init__(
        self, groups: list[_Group], axes: list[int], wanted: LongVector, dims: list[list[int]]
    ) -> None:
        self.groups, self.axes, self.wanted, self.dims = groups, axes, wanted, dims
        self.weights: list[FloatVector] = []
        self.expected = math.inf
        self.likely = 0.0
        self.points: list[int] = []
        self.beyond = 0.0
        self.tilted = np.zeros(len(axes))

    @classmethod
    def of(cls, columns: NDArray[np.int64], wanted: LongVector, weights: list[list[int]]) -> _Waves | None:
        """Set up the polynomials; None if there are too many axes or coefficients."""
        values = [np.unique(columns[:, j]) for j in range(columns.shape[1])]
        # One count of each column follows from the others, provided that all columns count the same number of people.
        if len({int(wanted[own].sum()) for own in values}) != 1:
            return None
        if max(max(own).bit_length() for own in weights) > MOST_BITS:
            return None
        long = max(range(len(values)), key=lambda j: len(values[j]))
        most = np.array([len(own) - 1 for own in weights], np.int64)
        order = _choose_axes(columns, wanted, most, values, long)
        if not 1 <= len(order) <= MOST_AXES:
            return None
        place = {axis: number for number, axis in enumerate(order)}
        dims = [sorted({place[int(a)] for a in row if int(a) in place}) for row in columns]
        made = cls([], order, wanted[order], dims)
        made.weights = [np.array([float(w) for w in own]) / float(max(own)) for own in weights]
        return made if made._add_groups(columns[:, long], values[long], wanted, most) else None

    def _add_groups(self, long: LongVector, values: LongVector, wanted: LongVector, most: LongVector) -> bool:
        """Set up the polynomial of each value of the long column; return whether none is too large or too faint."""
        size = 0
        for value in values.tolist():
            members = np.flatnonzero(long == value).tolist()
            count = int(wanted[value])
            touched = sorted({d for t in members for d in self.dims[t]})
            room = [
                min(count, int(self.wanted[d]), sum(int(most[t]) for t in members if d in self.dims[t]))
                for d in touched
            ]
            size += (count + 1) * math.prod(r + 1 for r in room)
            # A group without an axis is decided by its own count.
            if size > LARGEST or not touched:
                return False
            powers = np.array(list(np.ndindex(*(r + 1 for r in room))), np.int64).reshape(-1, len(room))
            self.groups.append(_Group(members, touched, count, room, powers))
        for group in self.groups:
            group.ways = self._steps(group)[-1][group.count].ravel()
            if not group.ways.sum() > FAINTEST:
                return False
            group.tilt(self.tilted)
        return True

    def _shift_positions(
        self, group: _Group, t: int, x: int
    ) -> tuple[tuple[slice, ...], tuple[slice, ...]] | None:
        """Return the positions in the polynomial of a group before and after x people of a tuple are present."""
        before, after = [slice(0, group.count + 1 - x)], [slice(x, group.count + 1)]
        for d, room in zip(group.axes, group.room, strict=True):
            by = x if d in self.dims[t] else 0
            if by > room:
                return None
            before.append(slice(0, room + 1 - by))
            after.append(slice(by, room + 1))
        return None if x > group.count else (tuple(before), tuple(after))

    def _steps(self, group: _Group) -> list[FloatMatrix]:
        """Return the polynomial after each tuple of a group, by present people and by axis."""
        made = [np.zeros((group.count + 1, *group.shape))]
        made[0][(0,) * made[0].ndim] = 1.0
        for t in group.own:
            new = np.zeros_like(made[0])
            for x, weight in enumerate(self.weights[t].tolist()):
                places = self._shift_positions(group, t, x)
                if places is not None:
                    new[places[1]] += weight * made[-1][places[0]]
            made.append(new)
        return made

    def tilt(self) -> bool:
        """Make the wanted counts the average ones, by Newton's method; this changes the ways only by a factor."""
        for _ in range(100):
            mean, spread = np.zeros(len(self.axes)), np.zeros((len(self.axes), len(self.axes)))
            for group in self.groups:
                own = group.chances @ group.powers
                mean[group.axes] += own
                spread[np.ix_(group.axes, group.axes)] += (group.powers.T * group.chances) @ group.powers
                spread[np.ix_(group.axes, group.axes)] -= np.outer(own, own)
            off = self.wanted - mean
            sign, log = np.linalg.slogdet(spread)
            if sign <= 0 or not math.isfinite(log):
                return False
            if np.abs(off).max() < 1e-3:
                self.expected = math.exp(-log / 2)
                self.likely = math.exp(-(len(self.axes) * math.log(2 * math.pi) + log) / 2)
                return True
            step = np.linalg.solve(spread, off)
            step *= min(1.0, 1.0 / float(np.abs(step).max()))
            self.tilted += step
            if not max(self._steepness(group) for group in self.groups) <= STEEPEST:
                return False
            for group in self.groups:
                group.tilt(self.tilted)
        return False

    def _steepness(self, group: _Group) -> float:
        """Return an upper bound on the absolute logarithm of any tilt of a group, and of each of its terms."""
        return float((group.powers @ np.abs(self.tilted[group.axes])).max())

    def grid(self) -> None:
        """Choose how many waves each axis except the last needs, and estimate how many will be visited in all."""
        for d, wanted in enumerate(self.wanted[:-1].tolist()):
            alone = np.ones(1)
            for group in self.groups:
                if d in group.axes:
                    at = group.axes.index(d)
                    alone = np.convolve(alone, np.bincount(group.powers[:, at], group.chances))
            for points in range(1, len(alone) + wanted + 2):
                others = float(np.delete(alone[wanted % points :: points], wanted // points).sum())
                if others <= BEYOND * self.likely / len(self.axes):
                    break
            self.points.append(points)
            self.beyond += others
        axes = len(self.points)
        ball = math.pi ** (axes / 2) / math.gamma(axes / 2 + 1) * RADIUS**axes
        inside = ball * math.prod(self.points) / (2 * math.pi) ** axes * self.expected
        self.expected = min(inside, math.prod(self.points)) / 2

    def add_up(self, limit: int) -> Waved | None:
        """Sum over the waves."""
        from shoal.kernels.membership_waves import sum_waves

        places, size, start, table = self._lay_out_factors()
        value = np.zeros(size)
        for group, place in zip(self.groups, places, strict=True):
            value[place : place + len(group.chances)] = group.chances
        powers, turn = self._find_angles(int(table[3].max()))
        every = math.prod(self.points)
        total, slope, dropped, without, spread, noise, visited = sum_waves(
            value,
            start,
            table[1],
            table[2],
            table[3],
            table[4],
            table[5],
            np.array(self.points, np.int64),
            np.stack([np.cos(powers), np.sin(powers)], axis=1),
            np.stack([np.cos(turn), np.sin(turn)], axis=1),
            int(self.wanted[-1]),
            LEFT_OUT * self.likely * every / max(self.expected, 1.0),
            limit,
        )
        if visited < 0 or not total > 0.0:
            return None
        missing = dropped + without + 2 * self.beyond * every + self._bound_rounding(spread, noise, visited)
        off = SLACK * (missing / total + self._inaccuracy())
        if not off < PRECISION:
            return None
        return self._shares(slope, places, total, off, visited)

    def _lay_out_factors(self) -> tuple[list[int], int, LongVector, NDArray[np.int64]]:
        """Return where the factors of each group begin in memory, how long it is, the first entry of each axis, and
        the entries by axis: group, place, place of the result, powers, rest, index of the next entry of the group."""
        waves = len(self.points)
        entries: list[list[list[int]]] = [[] for _ in self.axes]
        places, size = [], 0
        for number, group in enumerate(self.groups):
            places.append(size)
            left = len(group.chances)
            here, size = size, size + left
            earlier = None
            for d, room in zip(group.axes, group.room, strict=True):
                left //= room + 1
                entry = [number, here, size, room + 1, left, -1]
                if earlier is not None:
                    earlier[5] = d
                entries[d].append(entry)
                here, earlier = -1, entry
                size += self.points[d] * left if d < waves else 0
        start = np.cumsum([0, *(len(own) for own in entries)])
        at = {
            (d, entry[0]): i + int(start[d]) for d, own in enumerate(entries) for i, entry in enumerate(own)
        }
        in_order = [entry for own in entries for entry in own]
        for entry in in_order:
            entry[5] = at[entry[5], entry[0]] if entry[5] >= 0 else -1
        return places, size, start, np.ascontiguousarray(np.array(in_order, np.int64).T)

    def _find_angles(self, most: int) -> tuple[NDArray[np.float64], FloatMatrix]:
        """Return the angles of each wave of each axis, for up to `most` people, and of the counts that are wanted."""
        waves = len(self.points)
        powers = np.zeros((waves, most, max(self.points, default=1)))
        turn = np.zeros((waves, powers.shape[2]))
        for d, points in enumerate(self.points):
            # Whole turns are removed in integers, so many turns are as accurate as one.
            wave = np.arange(points)
            powers[d, :, :points] = np.arange(most)[:, None] * wave % points * (2 * np.pi / points)
            turn[d, :points] = -self.wanted[d] * wave % points * (2 * np.pi / points)
        return powers, turn

    def _bound_rounding(self, spread: float, noise: float, visited: int) -> float:
        """Bound the rounding errors of the sum and of its derivatives, together.

        ROUNDING is two roundings, one for each of them. Each term of a sum counts as one, a product of complex numbers
        as three, and a sine or cosine of an angle up to a whole turn as less than 20.
        """
        from shoal.kernels.membership_waves import AT_ONCE

        # Of a factor: waves are inserted, then it is multiplied on both sides; or it is at the last axis.
        factor = max(sum(2 * (room + 1) + 28 for room in g.room) for g in self.groups) + 8
        # Of sums: derivatives by axis and those kept aside; over waves, over the last axis, and back to tuples.
        sums = min(visited, AT_ONCE * len(self.axes) + visited // AT_ONCE)
        sums += sum(self.points) + int(self.wanted[-1])
        sums += 40 * len(self.axes) + max(self._choices(g) for g in self.groups) + 64
        return ROUNDING * (factor * noise + sums * spread)

    def _choices(self, group: _Group) -> int:
        """Return how many roundings the coefficients of a group go through before they are tilted."""
        return sum(len(self.weights[t]) + 4 for t in group.own)

    def _inaccuracy(self) -> float:
        """Bound the relative error of the number of ways that comes from the coefficients. These are tilted sums of
        non-negative products."""
        steps = (self._choices(g) + (len(g.axes) + 2) * self._steepness(g) + 16 for g in self.groups)
        return ROUNDING * sum(steps)

    def _shares(self, slope: FloatVector, places: list[int], total: float, off: float, visited: int) -> Waved:
        """Translate the results from the polynomials back to tuples."""
        share = np.zeros(len(self.dims))
        for group, at in zip(self.groups, places, strict=True):
            steps = self._steps(group)
            # The weight of a coefficient before tilting.
            scale = slope[at : at + len(group.tilts)] * group.tilts / total
            behind = np.zeros_like(steps[0])
            behind[group.count] = scale.reshape(group.shape)
            for number in range(len(group.own) - 1, -1, -1):
                t = group.own[number]
                new = np.zeros_like(behind)
                for x, weight in enumerate(self.weights[t].tolist()):
                    where = self._shift_positions(group, t, x)
                    if where is not None:
                        part = weight * behind[where[1]]
                        share[t] += x * float((steps[number][where[0]] * part).sum())
                        new[where[0]] += part
                behind = new
        most = np.array([len(own) - 1 for own in self.weights])
        unsure = 2 * off * most
        return Waved(
            share=np.clip(share, 0.0, most), some=share > unsure, less=share < most - unsure, points=visited
        )
