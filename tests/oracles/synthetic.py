"""Plain twins of the kernels in `shoal/kernels/synthetic.py`, written to be read and not to be fast."""

from __future__ import annotations

from fractions import Fraction


def distance(row, target, is_number, unit, without=-1):
    total = 0
    for j in range(len(row)):
        if j == without or row[j] == target[j]:
            continue
        known = row[j] >= 0 and target[j] >= 0
        total += abs(int(row[j]) - int(target[j])) if is_number[j] and known else unit
    return total


def nearest_rows(rows, is_number, unit, targets, left_out, nothing, best, which):
    for s, without in enumerate([-1, *left_out]):
        for t in range(targets.shape[1]):
            found = [
                distance(rows[:, row], targets[:, t], is_number, unit, without)
                for row in range(rows.shape[1])
            ]
            if found and min(found) < best[s, t]:
                best[s, t] = min(found)
                which[s, t] = found.index(min(found))


def count_satisfying(codes, column, low, high, most, count, first):
    for p in range(len(column)):
        conditions = [
            (column[p, c], low[p, c], high[p, c]) for c in range(column.shape[1]) if column[p, c] >= 0
        ]
        rows = [
            row
            for row in range(codes.shape[1])
            if all(least <= codes[j, row] <= most for j, least, most in conditions)
        ]
        count[p] += len(rows)
        first[p] = rows[0] if rows and first[p] < 0 else first[p]


def holds(predicate, row):
    """Whether a predicate, (column, low, high) per condition, is true of a row of codes."""
    return all(low <= row[column] <= high for column, low, high in predicate)


def isolates_in_parts(count, rows, part):
    """The share of all parts of the rows in which exactly one of the first `count` rows is."""
    from itertools import combinations
    from math import comb

    found = sum(sum(row < count for row in chosen) == 1 for chosen in combinations(range(rows), part))
    return found / comb(rows, part)


def right_guess(truth, guess, tolerance="0.05"):
    """Whether a guess is right: equal, or a number within the tolerance of the true number."""
    if truth is None or guess is None or isinstance(truth, str):
        return truth == guess
    truth, guess = Fraction(str(truth)), Fraction(str(guess))
    return abs(guess - truth) <= Fraction(tolerance) * abs(truth)


def nearer_pairs(train, control):
    """The share of pairs in which the training row is nearer; ties count half."""
    pairs = [(a < b) + 0.5 * (a == b) for a in train for b in control]
    return sum(pairs) / len(pairs)


def returning_uniques(rows, synthetic, largest):
    """Per row, the share of its minimal uniques of up to `largest` columns that a synthetic row shows; None if it has
    none.
    """
    from itertools import combinations

    width = len(rows[0])

    def part(row, columns):
        return tuple(row[j] for j in columns)

    def unique(row, columns):
        return sum(part(other, columns) == part(row, columns) for other in rows) == 1

    found = []
    for row in rows:
        own = [
            columns
            for size in range(1, min(largest, width) + 1)
            for columns in combinations(range(width), size)
            if unique(row, columns)
            and not any(unique(row, less) for less in combinations(columns, size - 1) if less)
        ]
        # With one column, the only smaller set is empty, in which a row is unique if it is the only one.
        own = [] if len(rows) == 1 else own
        back = [any(part(other, columns) == part(row, columns) for other in synthetic) for columns in own]
        found.append(sum(back) / len(back) if back else None)
    return found


def accused(train, control, alarms):
    """The share of training rows that are accused, nearest first, while `alarms` of the holdout rows are."""
    left, found = alarms, 0.0
    for distance in sorted(set(control) | set(train)):
        others = sum(one == distance for one in control) / len(control)
        own = sum(one == distance for one in train) / len(train)
        part = 1.0 if others <= left else left / others
        found, left = found + part * own, left - part * others
        if part < 1.0:
            break
    return found
