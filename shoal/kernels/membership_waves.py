"""Counting the sets of people that are consistent with a bucket, by characteristic functions (see
shoal/judging/membership/waves.py).

Complex numbers are kept as rows of real and of imaginary parts, and waves of one axis next to each other, so that loops
over waves become vector instructions.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit

ROUNDED = 1e-10
"""The error of a factor is smaller. Bounds are raised by this much, so they hold, and can be divided out again."""
AT_ONCE = 256
"""Points whose derivatives are summed before they are added to the total: long sums of floats become short ones."""
ANY_ORDER = {"reassoc", "contract"}
"""Sums may be computed in any order; bounds on rounding hold for every order."""


@njit(cache=True, nogil=True)
def _put_in(value, bound, source, stride, target, choices, rest, points, power, axis):
    """Insert all waves of its first axis into a factor: ``[choices, rest]``, `stride` apart, to ``[rest, points]``.

    ``bound[0]`` has a bound on the factor at its first place, one for each wave, ``bound[1]`` its share of the bound
    before, and ``bound[2]`` by how much its inverse grew.
    """
    old = bound[0, source]
    for k in range(points):
        bound[0, target + k] = 0.0
    for r in range(rest):
        at = target + r * points
        x = value[0, source + r * stride]
        y = value[1, source + r * stride]
        for k in range(points):
            value[0, at + k] = x
            value[1, at + k] = y
        for m in range(1, choices):
            x = value[0, source + (m * rest + r) * stride]
            y = value[1, source + (m * rest + r) * stride]
            for k in range(points):
                value[0, at + k] += x * power[axis, 0, m, k] - y * power[axis, 1, m, k]
                value[1, at + k] += x * power[axis, 1, m, k] + y * power[axis, 0, m, k]
        for k in range(points):
            bound[0, target + k] += np.sqrt(value[0, at + k] ** 2 + value[1, at + k] ** 2)
    for k in range(target, target + points):
        bound[0, k] = min(bound[0, k] + ROUNDED, old)
        bound[1, k] = bound[0, k] / old
        bound[2, k] = 1.0 / bound[0, k] - 1.0 / old


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)
def _take_back(slope, source, stride, target, choices, rest, points, power, axis):
    """Turn derivatives by a factor with its waves into derivatives by the factor before, add them, clear the former."""
    for r in range(rest):
        at = target + r * points
        for m in range(choices):
            x = 0.0
            y = 0.0
            for k in range(points):
                x += slope[0, at + k] * power[axis, 0, m, k] - slope[1, at + k] * power[axis, 1, m, k]
                y += slope[0, at + k] * power[axis, 1, m, k] + slope[1, at + k] * power[axis, 0, m, k]
            slope[0, source + (m * rest + r) * stride] += x
            slope[1, source + (m * rest + r) * stride] += y
        for k in range(points):
            slope[0, at + k] = 0.0
            slope[1, at + k] = 0.0


@njit(cache=True, nogil=True)
def _last_axis(value, slope, first, source, stride, choices, wanted, product, forward, backward, least, most):
    """Return the coefficient of power `wanted` of a product of polynomials, and add its derivatives by theirs, times
    `product`."""
    count = len(source) - first
    for i in range(count + 1):
        for j in range(wanted + 1):
            forward[i, j] = 0.0
            backward[i, j] = 0.0
    forward[0, 0] = 1.0
    for i in range(count):
        for m in range(choices[first + i]):
            place = source[first + i] + m * stride[first + i]
            here = complex(value[0, place], value[1, place])
            for j in range(least[i], min(most[i], wanted - m) + 1):
                forward[i + 1, j + m] += forward[i, j] * here
    backward[count, wanted] = product
    for i in range(count - 1, -1, -1):
        for m in range(choices[first + i]):
            place = source[first + i] + m * stride[first + i]
            here = complex(value[0, place], value[1, place])
            change = 0j
            for j in range(least[i], min(most[i], wanted - m) + 1):
                further = backward[i + 1, j + m]
                change += forward[i, j] * further
                backward[i, j] += here * further
            slope[0, place] += change.real
            slope[1, place] += change.imag
    return forward[count, wanted]


@njit(cache=True, nogil=True)
def _look_ahead(
    value, bound, begin, end, target, after, turn, points, axis, high, low, inverse, whole, before
):
    """Bound the points below each wave of an axis, and multiply the factors that have no axis after it.

    ``before[:, i]`` is the product before that of entry i.
    """
    for k in range(points):
        # Waves k and -k of the first axis are conjugate.
        many = 2.0 if axis == 0 and k > 0 and 2 * k != points else 1.0
        high[axis, k] *= many
        whole[axis, 0, k] = turn[axis, 0, k] * many
        whole[axis, 1, k] = turn[axis, 1, k] * many
    for i in range(begin, end):
        at = target[i]
        for k in range(points):
            high[axis, k] *= bound[1, at + k]
            low[axis, k] = min(low[axis, k], bound[0, at + k])
            inverse[axis, k] += bound[2, at + k]
        if after[i] < 0:
            for k in range(points):
                x = whole[axis, 0, k]
                y = whole[axis, 1, k]
                before[0, i, k] = x
                before[1, i, k] = y
                whole[axis, 0, k] = x * value[0, at + k] - y * value[1, at + k]
                whole[axis, 1, k] = x * value[1, at + k] + y * value[0, at + k]


@njit(cache=True, nogil=True)
def _settle(value, slope, begin, end, target, after, count, axis, product, whole, before, below):
    """Return the sum over the waves of an axis, and add its derivatives: `below` holds the sums of the axes after each
    wave, and is overwritten."""
    total = 0j
    for k in range(count):
        total += complex(whole[axis, 0, k], whole[axis, 1, k]) * complex(below[axis, 0, k], below[axis, 1, k])
        behind = product * complex(below[axis, 0, k], below[axis, 1, k])
        below[axis, 0, k] = behind.real
        below[axis, 1, k] = behind.imag
    for i in range(end - 1, begin - 1, -1):
        if after[i] < 0:
            at = target[i]
            for k in range(count):
                x = below[axis, 0, k]
                y = below[axis, 1, k]
                slope[0, at + k] += before[0, i, k] * x - before[1, i, k] * y
                slope[1, at + k] += before[0, i, k] * y + before[1, i, k] * x
                below[axis, 0, k] = x * value[0, at + k] - y * value[1, at + k]
                below[axis, 1, k] = x * value[1, at + k] + y * value[0, at + k]
    return total


@njit(cache=True, nogil=True)
def _put_aside(slope, aside, begin, end):
    """Add derivatives to the total, and clear them."""
    for i in range(2):
        for j in range(begin, end):
            aside[i, j] += slope[i, j]
            slope[i, j] = 0.0


@njit(cache=True, nogil=True)
def sum_waves(
    coefficients, axis_start, source, target, choices, rest, after, points, power, turn, wanted, cut, limit
):
    """Sum a product of trigonometric polynomials over a grid of angles, with its derivative by each coefficient.

    All axes but the last are angles; for the last, the coefficient of power `wanted` is taken. `coefficients` holds
    those of each factor, its first axis slowest, and room to insert waves. Entries ``axis_start[d]`` to
    ``axis_start[d + 1]`` are the factors that have axis d, with powers 0 to ``choices - 1`` of it and `rest`
    coefficients for each; ``after`` is the entry of the factor's next axis, or -1. A factor's first entry finds its
    coefficients at `source`, others (-1) where the previous entry has written them; `target` has room for
    ``rest x points[d]`` numbers. ``power[d, :, m, k]`` is the m-th power of wave k of axis d, real and imaginary part,
    and ``turn[d, :, k]`` is its coefficient. Waves k and -k of the first axis are conjugate, so only one of them is
    visited. The absolute values of a factor's coefficients add up to at most 1.

    Subgrids whose sum, without any one factor, is surely below `cut` are skipped. Return the sum and its derivative by
    each coefficient (real parts); bounds on what was skipped, in the sum and in a sum without any one factor; over the
    visited points, the sum of bounds on the latter, and its error if each factor has an error of 1; and the number of
    these points, -1 if it was more than `limit`. O(points x factors of the last two axes).
    """
    waves = len(points)
    first = axis_start[waves]
    value = np.zeros((2, len(coefficients)))
    slope, aside = np.zeros((2, len(coefficients))), np.zeros((2, len(coefficients)))
    bound = np.zeros((3, len(coefficients)))
    for i in range(len(coefficients)):
        value[0, i] = coefficients[i]
        bound[0, i] = 1.0
    here = source.copy()
    stride = np.zeros(len(source), np.int64)
    axis_of = np.zeros(len(source), np.int64)
    for d in range(waves + 1):
        for i in range(axis_start[d], axis_start[d + 1]):
            axis_of[i] = d
            stride[i] = 1
    # Points of the grid below each wave of an axis.
    inner = np.zeros(waves + 1)
    inner[max(waves - 1, 0)] = 1.0
    for d in range(waves - 2, -1, -1):
        inner[d] = inner[d + 1] * points[d + 1]
    widest = turn.shape[2]
    # By axis and wave: the product of all bounds, the lowest bound, and the sum of their inverses; then products,
    # and sums of the axes after it.
    high, low = np.zeros((waves + 1, widest)), np.zeros((waves + 1, widest))
    inverse = np.zeros((waves + 1, widest))
    factors = np.sum(source >= 0)
    whole, below = np.zeros((waves + 1, 2, widest)), np.zeros((waves + 1, 2, widest))
    before = np.zeros((2, len(source), widest))
    product = np.zeros(waves + 1, np.complex128)
    product[0] = 1.0
    at = np.zeros(waves + 1, np.int64)
    ends = len(source) - first
    forward = np.zeros((ends + 1, wanted + 1), np.complex128)
    backward = np.zeros((ends + 1, wanted + 1), np.complex128)
    least, most = np.zeros(ends + 1, np.int64), np.zeros(ends + 1, np.int64)
    left = wanted
    for i in range(ends):
        most[i + 1] = min(most[i] + choices[first + i] - 1, wanted)
        left -= choices[first + i] - 1
    for i in range(ends):
        least[i] = max(left, 0)
        left += choices[first + i] - 1
    dropped, dropped_without, spread, noise, visited, begun = 0.0, 0.0, 0.0, 0.0, 0, 0
    # The axis whose waves are being visited; -1 before and after all.
    depth = -1
    total = product[0]
    down = True
    while True:
        if down:
            # Everything before the next axis is fixed: insert its waves.
            if depth >= 0:
                k = at[depth]
                product[depth + 1] = product[depth] * complex(whole[depth, 0, k], whole[depth, 1, k])
                for i in range(axis_start[depth], axis_start[depth + 1]):
                    if after[i] >= 0:
                        here[after[i]] = target[i] + k
                        stride[after[i]] = points[depth]
            begin = 0 if depth < 0 else axis_start[depth]
            for i in range(begin, len(source) if depth < 0 else axis_start[depth + 1]):
                j = i if depth < 0 else after[i]
                if j >= 0 and here[j] >= 0 and j < first:
                    d = axis_of[j]
                    _put_in(
                        value, bound, here[j], stride[j], target[j], choices[j], rest[j], points[d], power, d
                    )
            depth += 1
            if depth < waves:
                for k in range(points[depth]):
                    high[depth, k] = high[depth - 1, at[depth - 1]] if depth > 0 else 1.0
                    low[depth, k] = low[depth - 1, at[depth - 1]] if depth > 0 else 1.0
                    inverse[depth, k] = inverse[depth - 1, at[depth - 1]] if depth > 0 else factors
                    below[depth, 0, k] = 0.0
                    below[depth, 1, k] = 0.0
                _look_ahead(
                    value, bound, axis_start[depth], axis_start[depth + 1], target, after, turn,
                    points[depth], depth, high, low, inverse, whole, before,
                )  # fmt: skip
                at[depth] = -1
                down = False
                # Skipped waves count towards the time limit, too.
                begun += 1
                if begun > limit:
                    return 0.0, slope[0], dropped, dropped_without, spread, noise, -1
            else:
                visited += 1
                if visited > limit:
                    return 0.0, slope[0], dropped, dropped_without, spread, noise, -1
                if visited % AT_ONCE == 0:
                    _put_aside(slope, aside, 0, len(coefficients))
                if waves > 0:
                    lowest = low[depth - 1, at[depth - 1]]
                    without = high[depth - 1, at[depth - 1]] / lowest
                    spread += without
                    # Leave out the factor with the lowest bound, and divide out each of the others in turn; no other
                    # choice of two is worse. 1 represents that factor itself, in the whole sum.
                    noise += without * (inverse[depth - 1, at[depth - 1]] - 1.0 / lowest + 1.0)
                total = _last_axis(
                    value, slope, first, here, stride, choices, wanted, product[depth],
                    forward, backward, least, most,
                )  # fmt: skip
                depth -= 1
                down = False
                if depth < 0:
                    return total.real, slope[0], dropped, dropped_without, 1.0, 1.0 * factors, visited
                below[depth, 0, at[depth]] = total.real
                below[depth, 1, at[depth]] = total.imag
            continue
        count = points[0] // 2 + 1 if depth == 0 else points[depth]
        at[depth] += 1
        while at[depth] < count:
            bounded = high[depth, at[depth]] * inner[depth]
            if bounded >= cut * low[depth, at[depth]]:
                down = True
                break
            dropped += bounded
            dropped_without += bounded / low[depth, at[depth]]
            at[depth] += 1
        if down:
            continue
        total = _settle(
            value, slope, axis_start[depth], axis_start[depth + 1], target, after, count, depth,
            product[depth], whole, before, below,
        )  # fmt: skip
        depth -= 1
        begin = 0 if depth < 0 else axis_start[depth]
        for i in range(begin, len(source) if depth < 0 else axis_start[depth + 1]):
            j = i if depth < 0 else after[i]
            if j >= 0 and j < first and (depth >= 0 or source[j] >= 0):
                d = axis_of[j]
                if visited >= AT_ONCE:
                    _put_aside(aside, slope, target[j], target[j] + rest[j] * points[d])
                _take_back(slope, here[j], stride[j], target[j], choices[j], rest[j], points[d], power, d)
        if depth < 0:
            _put_aside(aside, slope, 0, len(coefficients))
            return total.real, slope[0], dropped, dropped_without, spread, noise, visited
        below[depth, 0, at[depth]] = total.real
        below[depth, 1, at[depth]] = total.imag
