"""Plain twins of the kernels in `shoal/kernels/closest.py`, written to be read and not to be fast."""

from __future__ import annotations


def _to_class(values, low, high, codes, cells, tables, starts, widths, person, group):
    total = 0.0
    for j in range(values.shape[1]):
        value = float(values[person, j])
        total += max(float(low[group, j]) - value, value - float(high[group, j]), 0.0) ** 2
    for j in range(codes.shape[1]):
        matrix = tables[starts[j] :]
        total += float(matrix[cells[group, j] * widths[j] + codes[person, j]])
    return total


def closest_classes(values, low, high, codes, cells, tables, starts, widths, sizes, best, ties):
    given = values, low, high, codes, cells, tables, starts, widths
    for person in range(len(best)):
        far = [_to_class(*given, person, group) for group in range(len(sizes))]
        best[person] = min(far)
        ties[person] = sum(int(size) for size, own in zip(sizes, far, strict=True) if own == min(far))


def distances_to(values, low, high, codes, cells, tables, starts, widths, person, group, out):
    given = values, low, high, codes, cells, tables, starts, widths
    out[:] = [_to_class(*given, p, g) for p, g in zip(person, group, strict=True)]
