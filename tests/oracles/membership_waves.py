"""Plain twins of the kernels in `shoal/kernels/membership_waves.py`, written to be read and not to be fast."""

from __future__ import annotations

import itertools

import numpy as np


def sum_waves(
    coefficients, axis_start, source, target, choices, rest, after, points, power, turn, wanted, cut, limit
):
    """The sum over the whole grid, and its derivatives by the coefficients of the factors, as complex numbers."""
    axis_of = [d for d in range(len(points) + 1) for _ in range(axis_start[d], axis_start[d + 1])]
    factors = []
    for i in range(len(source)):
        if source[i] >= 0:
            chain = [i]
            while after[chain[-1]] >= 0:
                chain.append(int(after[chain[-1]]))
            shape = tuple(int(choices[j]) for j in chain)
            size = int(np.prod(shape))
            factors.append((source[i], [axis_of[j] for j in chain], shape, size))

    def whole(tensors):
        total = 0j
        for ks in itertools.product(*(range(p) for p in points)):
            polynomial = np.ones(1, complex)
            for (_, axes, shape, _), tensor in zip(factors, tensors, strict=True):
                own = np.zeros(wanted + 1 + max(shape), complex)
                for place in itertools.product(*(range(s) for s in shape)):
                    term, at = complex(tensor[place]), 0
                    for d, m in zip(axes, place, strict=True):
                        if d < len(points):
                            term *= complex(power[d, 0, m, ks[d]], power[d, 1, m, ks[d]])
                        else:
                            at = m
                    own[at] += term
                polynomial = np.convolve(polynomial, own)
            for d, k in enumerate(ks):
                polynomial = polynomial * complex(turn[d, 0, k], turn[d, 1, k])
            total += polynomial[wanted] if wanted < len(polynomial) else 0.0
        return total

    tensors = [
        np.asarray(coefficients[start : start + size]).reshape(shape) for start, _, shape, size in factors
    ]
    slope = np.zeros(len(coefficients))
    for f, (start, _, shape, size) in enumerate(factors):
        for c in range(size):
            unit = np.zeros(size)
            unit[c] = 1.0
            slope[start + c] = whole([*tensors[:f], unit.reshape(shape), *tensors[f + 1 :]]).real
    return whole(tensors).real, slope
