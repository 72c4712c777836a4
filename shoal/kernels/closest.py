"""The classes that are closest to people, where no class need cover them."""

from __future__ import annotations

from shoal.kernels.compiled import njit


@njit(cache=True, nogil=True)
def _distance(values, low, high, codes, cells, tables, starts, widths, person, group, most):
    """Return the squared distance of a person to the cells of a class; something larger than `most` if it is larger."""
    total = 0.0
    for j in range(values.shape[1]):
        value = values[person, j]
        step = max(low[group, j] - value, value - high[group, j], 0.0)
        total += step * step
        if total > most:
            return total
    for j in range(codes.shape[1]):
        total += tables[starts[j] + cells[group, j] * widths[j] + codes[person, j]]
        if total > most:
            return total
    return total


@njit(cache=True, nogil=True)
def closest_classes(values, low, high, codes, cells, tables, starts, widths, sizes, best, ties):
    """Write, per person, the least squared distance to a class, and how many rows the classes at that distance have.

    Numbers: ``values[people, d]`` against ranges ``low[classes, d]`` to ``high``. Categories: ``codes[people, m]``
    against ``cells[classes, m]``, whose squared distance is in `tables`, a matrix per column that begins at `starts`
    and has rows of `widths`. O(people x classes x columns), less where the first columns decide.
    """
    for person in range(len(best)):
        least, rows = best[person], ties[person]
        for group in range(len(sizes)):
            found = _distance(values, low, high, codes, cells, tables, starts, widths, person, group, least)
            if found < least:
                least, rows = found, sizes[group]
            elif found == least:
                rows += sizes[group]
        best[person], ties[person] = least, rows


@njit(cache=True, nogil=True)
def distances_to(values, low, high, codes, cells, tables, starts, widths, person, group, out):
    """Write the squared distance of each pair of a person and a class, added up as in `closest_classes`."""
    for at in range(len(out)):
        out[at] = _distance(
            values, low, high, codes, cells, tables, starts, widths, person[at], group[at], 1e308
        )
