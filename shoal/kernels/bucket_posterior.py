"""Who of a bucket has which of its values, if the values of the bucket and how well each fits each person are known."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit

ROUNDS = 50
"""So often rows and columns are scaled at most."""
CLOSE = 1e-6
"""Scaling ends when all sums are that close."""
LEAST = -200.0
"""Logarithms below this one count as this one."""


@njit(cache=True, nogil=True)
def share_values(first, mass, begin, count, logs, most, out):
    """Fill in, per bucket and person, the expected number of values of each kind.

    Bucket b has the people ``first[b]:first[b + 1]`` and the values ``begin[b]:begin[b + 1]``, value v `count[v]`
    times. `logs` has, bucket after bucket, a matrix of people and values: the logarithm of how well they fit. An
    assignment of the values to the people is as likely as the product of what its pairs say. If all people have mass 1,
    and the choices from the values are at most `most`, `out` is exact: the share of the weight of all assignments that
    give the person the value. Else rows and columns are scaled to the masses and counts, which approximates the same.
    O(choices x values) per bucket, or O(people x values) per round.
    """
    at = 0
    for b in range(len(first) - 1):
        people, values = first[b + 1] - first[b], begin[b + 1] - begin[b]
        if people == 0 or values == 0:
            continue
        size = people * values
        weight = _weights(logs[at : at + size], people, values)
        mine, counts = mass[first[b] : first[b + 1]], count[begin[b] : begin[b + 1]]
        _balance(weight, mine, counts, people, values)
        choices, whole = 1.0, True
        for v in range(values):
            choices *= counts[v] + 1
        for i in range(people):
            whole = whole and mine[i] == 1.0
        if not (whole and choices <= most and _count_exactly(weight, counts, people, values, out, at)):
            for e in range(size):
                out[at + e] = weight[e]
            # The last round scaled the columns.
            for i in range(people):
                total = 0.0
                for v in range(values):
                    total += weight[i * values + v]
                for v in range(values):
                    out[at + i * values + v] *= mine[i] / total if total > 0 else 0.0
        at += size


@njit(cache=True, nogil=True, no_cpython_wrapper=True)
def _weights(logs, people, values):
    """Return the weights of a bucket without the factors that all pairs of a person, or of a value, share."""
    own = logs.copy()
    for i in range(people):
        top = -np.inf
        for v in range(values):
            top = max(top, own[i * values + v])
        for v in range(values):
            own[i * values + v] -= top
    for v in range(values):
        top = -np.inf
        for i in range(people):
            top = max(top, own[i * values + v])
        for i in range(people):
            own[i * values + v] = np.exp(max(own[i * values + v] - top, LEAST))
    return own


@njit(cache=True, nogil=True, no_cpython_wrapper=True)
def _balance(weight, mass, counts, people, values):
    """Scale rows to the masses and columns to the counts, in turn. It changes no share of an assignment."""
    for _ in range(ROUNDS):
        away = 0.0
        for i in range(people):
            total = 0.0
            for v in range(values):
                total += weight[i * values + v]
            away = max(away, abs(total - mass[i]))
            if total > 0:
                for v in range(values):
                    weight[i * values + v] *= mass[i] / total
        for v in range(values):
            total = 0.0
            for i in range(people):
                total += weight[i * values + v]
            if total > 0:
                for i in range(people):
                    weight[i * values + v] *= counts[v] / total
        if away < CLOSE:
            return


@njit(cache=True, nogil=True, no_cpython_wrapper=True)
def _count_exactly(weight, counts, people, values, out, at):
    """Add up all assignments over the choices of values that the first people took; return whether that worked."""
    step = np.empty(values + 1, np.int64)
    step[0] = 1
    for v in range(values):
        step[v + 1] = step[v] * (counts[v] + 1)
    choices = step[values]
    taken = np.zeros(choices, np.float64)
    left = np.zeros(choices, np.float64)
    taken[0] = 1.0
    left[choices - 1] = 1.0
    for state in range(choices):
        if taken[state] == 0.0:
            continue
        person = _chosen(state, step, values)
        if person == people:
            continue
        for v in range(values):
            if (state // step[v]) % (counts[v] + 1) < counts[v]:
                taken[state + step[v]] += taken[state] * weight[person * values + v]
    total = taken[choices - 1]
    if not total > 0.0 or _chosen(choices - 1, step, values) != people:
        return False
    out[at : at + people * values] = 0.0
    for state in range(choices - 2, -1, -1):
        person = _chosen(state, step, values)
        for v in range(values):
            if (state // step[v]) % (counts[v] + 1) < counts[v]:
                more = weight[person * values + v] * left[state + step[v]]
                left[state] += more
                out[at + person * values + v] += taken[state] * more / total
    return True


@njit(cache=True, nogil=True, no_cpython_wrapper=True)
def _chosen(state, step, values):
    """Return how many values a choice has taken."""
    many = 0
    for v in range(values):
        many += (state % step[v + 1]) // step[v]
    return many
