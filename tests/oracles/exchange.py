"""Plain twins of the kernels in `shoal/kernels/exchange.py`, written to be read and not to be fast."""

from __future__ import annotations

import itertools

import numpy as np

from tests.oracles.losses import lift, range_loss


def gather_classes(codes, labels, demand_of, exchange, losses):
    for c in range(len(exchange.first)):
        own = np.flatnonzero(exchange.class_of == c)
        exchange.size[c] = len(own)
        exchange.loss[c] = _class_loss(codes, own, losses)
        inside = set(labels[own].ravel().tolist())
        for label in range(exchange.counts.shape[1]):
            exchange.counts[c, label] = int((labels[own] == label).sum())
        for d in range(exchange.different.shape[1]):
            exchange.different[c, d] = len({label for label in inside if demand_of[label] == d})


def _class_loss(codes, rows, losses):
    columns = codes[np.asarray(rows, int)].astype(int).T
    return sum(range_loss(losses, j, min(column), max(column)) for j, column in enumerate(columns))


def _class_cost(codes, rows, losses, even):
    return len(rows) * _class_loss(codes, rows, losses) + even * len(rows) ** 2 if len(rows) else 0.0


def _labels_suffice(labels, rows, p):
    return all(len(set(labels[rows, d].tolist())) >= p[d] for d in range(labels.shape[1]))


def _class_lists(exchange):
    return [np.flatnonzero(exchange.class_of == c).tolist() for c in range(len(exchange.first))]


def _cheapest_class(codes, classes, row, without, losses, even):
    """The class that costs least more with a row, the first of equals, and how much more."""
    found = []
    for b, own in enumerate(classes):
        if b != without:
            found.append(
                (_class_cost(codes, [*own, row], losses, even) - _class_cost(codes, own, losses, even), b)
            )
    return min(found)


def move_rows(codes, labels, exchange, p, k, even, losses, order, begin, end):
    saved = 0.0
    for row in order[begin:end]:
        classes = _class_lists(exchange)
        a = exchange.class_of[row]
        rest = [r for r in classes[a] if r != row]
        if len(rest) < k or not _labels_suffice(labels, rest, p) or len(classes) == 1:
            continue
        gain = _class_cost(codes, classes[a], losses, even) - _class_cost(codes, rest, losses, even) - 1e-9
        cost, b = _cheapest_class(codes, classes, row, a, losses, even)
        if cost < gain:
            exchange.class_of[row] = b
            saved += gain - cost
    return saved


def swap_rows(codes, labels, exchange, p, losses, order, begin, end):
    saved = 0.0
    for row in order[begin:end]:
        classes = _class_lists(exchange)
        a = exchange.class_of[row]
        rest = [r for r in classes[a] if r != row]
        if not rest or _class_loss(codes, rest, losses) >= _class_loss(codes, classes[a], losses):
            continue
        best, chosen = 1e-9, None
        for b, own in enumerate(classes):
            for come in own if b != a else []:
                mine, theirs = [*rest, come], [*(r for r in own if r != come), row]
                gain = _class_cost(codes, classes[a], losses, 0) + _class_cost(codes, own, losses, 0)
                gain -= _class_cost(codes, mine, losses, 0) + _class_cost(codes, theirs, losses, 0)
                if gain > best and _labels_suffice(labels, mine, p) and _labels_suffice(labels, theirs, p):
                    best, chosen = gain, (come, b)
        if chosen:
            exchange.class_of[row], exchange.class_of[chosen[0]] = chosen[1], a
            saved += best
    return saved


def narrow_classes(codes, labels, exchange, p, k, even, losses, order, begin, end):
    saved = 0.0
    for a in order[begin:end]:
        for j, side in itertools.product(range(codes.shape[1]), range(2)):
            values = sorted({int(c) for c in codes[exchange.class_of == a, j]}, reverse=bool(side))
            for cut in values[:-1]:
                classes = _class_lists(exchange)
                beyond = [r for r in classes[a] if (codes[r, j] >= cut if side else codes[r, j] <= cut)]
                rest = [r for r in classes[a] if r not in beyond]
                if len(rest) < k or not beyond:
                    break
                if not _labels_suffice(labels, rest, p):
                    continue
                budget = _class_cost(codes, classes[a], losses, even) - 1e-9
                budget -= _class_cost(codes, rest, losses, even)
                classes[a] = rest
                for row in beyond:
                    if len(classes) > 1 and budget > 0:
                        cost, b = _cheapest_class(codes, classes, row, a, losses, even)
                        budget = budget - cost if cost < budget else -1.0
                        classes[b].append(row)
                    else:
                        budget = -1.0
                if budget > 0:
                    saved += budget
                    for b, own in enumerate(classes):
                        exchange.class_of[own] = b
    return saved


def widen_classes(codes, labels, exchange, p, k, even, losses, order, begin, end):
    saved = 0.0
    for b, j, side in itertools.product(order[begin:end], range(codes.shape[1]), range(2)):
        top = int(losses.shape[j, 1])
        for step in (2**i for i in range(40) if 2**i < 2 * top):
            classes = _class_lists(exchange)
            low, high = (getattr(codes[classes[b]].astype(int), end)(axis=0) for end in ("min", "max"))
            if side:
                high[j] = min(high[j] + step, top - 1)
            else:
                low[j] = max(low[j] - step, 0)
            wide = sum(range_loss(losses, c, low[c], high[c]) for c in range(len(low)))
            now = [_class_loss(codes, own, losses) for own in classes]
            if wide <= now[b] or wide == np.inf:
                continue
            ends = [lift(losses, c, low[c], high[c]) for c in range(len(low))]
            budget = -len(classes[b]) * (wide - now[b]) - 1e-9
            for row in range(len(codes)):
                a = next(c for c, own in enumerate(classes) if row in own)
                rest = [r for r in classes[a] if r != row]
                if a == b or now[a] <= wide or len(rest) < k or not _labels_suffice(labels, rest, p):
                    continue
                if all(first <= codes[row, c] <= last for c, (first, last) in enumerate(ends)):
                    gain = now[a] - wide + 2 * even * (len(classes[a]) - len(classes[b]) - 1)
                    if gain > 0:
                        budget += gain
                        classes[a] = rest
                        classes[b].append(row)
            if budget > 0:
                saved += budget
                for c, own in enumerate(classes):
                    exchange.class_of[own] = c
    return saved
