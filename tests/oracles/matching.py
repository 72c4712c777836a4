"""Plain twins of the kernels in `shoal/kernels/matching.py`, written to be read and not to be fast."""

from __future__ import annotations


def unmatched(own_start, own, their_start, their, start, links, classes, people, first, last):
    """One published row after the other, each along any augmenting path to an original row of its value."""
    lost = 0
    for value in range(first, last):
        rows = their[their_start[value] : their_start[value + 1]].tolist()
        holder = {}

        def find(g, seen, rows=rows, holder=holder):
            inside = set(links[start[g] : start[g + 1]].tolist())
            for at, row in enumerate(rows):
                if row in inside and at not in seen:
                    seen.add(at)
                    if at not in holder or find(holder[at], seen):
                        holder[at] = g
                        return True
            return False

        lost += sum(not find(g, set()) for g in own[own_start[value] : own_start[value + 1]].tolist())
    return lost
