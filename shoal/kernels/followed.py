"""Whose rows can be those that carry one pseudonym: lists of published rows against lists of rows of people."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit


@njit(cache=True, nogil=True)
def _covers(match_start, match_class, own, wanted):
    """Return whether a class covers a row: the classes of each row ascend."""
    low, high = match_start[own], match_start[own + 1]
    while low < high:
        middle = (low + high) // 2
        if match_class[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low < match_start[own + 1] and match_class[low] == wanted


@njit(cache=True, nogil=True)
def _all_fit(shown, own, match_start, match_class):
    """Return whether every published row covers a row of its own, by augmenting paths."""
    taken = np.full(len(own), -1, np.int64)
    came = np.empty(len(own), np.int64)
    queue = np.empty(len(shown), np.int64)
    for row in range(len(shown)):
        came[:] = -1
        queue[0] = row
        first, last, free = 0, 1, -1
        while first < last and free < 0:
            one = queue[first]
            first += 1
            for place in range(len(own)):
                if came[place] >= 0 or not _covers(match_start, match_class, own[place], shown[one]):
                    continue
                came[place] = one
                if taken[place] < 0:
                    free = place
                    break
                queue[last] = taken[place]
                last += 1
        if free < 0:
            return False
        while free >= 0:
            one = came[free]
            before = -1
            if one != row:
                for place in range(len(own)):
                    if taken[place] == one:
                        before = place
                        break
            taken[free] = one
            if before >= 0:
                taken[before] = -1
            free = before
    return True


@njit(cache=True, nogil=True)
def fitting_crowds(
    own_start, own_rows, match_start, match_class, holds_start, holds_crowd, crowd_start, crowd_class, most
):
    """Pair lists of rows with the crowds that may show them: each published row of a crowd covers a row of the list of
    its own, and at most `most` rows of the list are left over. Return the lists and the crowds of all pairs.

    List i has the rows ``own_rows[own_start[i]:own_start[i + 1]]``, row r is covered by the classes
    ``match_class[match_start[r]:match_start[r + 1]]``, ascending, class c occurs in the crowds
    ``holds_crowd[holds_start[c]:holds_start[c + 1]]``, once for each of their rows in it, and the people of crowd g
    show rows of the classes ``crowd_class[crowd_start[g]:crowd_start[g + 1]]``. O(lists x crowds that share a class),
    and the cube of rows at worst for each crowd whose classes all cover some row.
    """
    lists, classes, crowds = len(own_start) - 1, len(holds_start) - 1, len(crowd_start) - 1
    marked = np.full(classes, -1, np.int64)
    seen = np.full(crowds, -1, np.int64)
    hits = np.zeros(crowds, np.int64)
    near = np.empty(crowds, np.int64)
    who = np.empty(16, np.int64)
    what = np.empty(16, np.int64)
    found = 0
    for i in range(lists):
        own = own_rows[own_start[i] : own_start[i + 1]]
        count = 0
        for row in own:
            for at in range(match_start[row], match_start[row + 1]):
                c = match_class[at]
                if marked[c] == i:
                    continue
                marked[c] = i
                for place in range(holds_start[c], holds_start[c + 1]):
                    g = holds_crowd[place]
                    if seen[g] != i:
                        seen[g] = i
                        hits[g] = 0
                        near[count] = g
                        count += 1
                    hits[g] += 1
        for place in range(count):
            g = near[place]
            shown = crowd_class[crowd_start[g] : crowd_start[g + 1]]
            left = len(own) - len(shown)
            if hits[g] < len(shown) or left < 0 or left > most:
                continue
            if len(shown) > 1 and not _all_fit(shown, own, match_start, match_class):
                continue
            if found == len(who):
                who = np.concatenate((who, np.empty(found, np.int64)))
                what = np.concatenate((what, np.empty(found, np.int64)))
            who[found] = i
            what[found] = g
            found += 1
    return who[:found].copy(), what[:found].copy()
