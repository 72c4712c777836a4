"""Relocation between groups: small ones are dissolved, big ones filled up, within a budget of changed cells."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit

ENOUGH = 48
"""With more small groups, hashing groups is faster than comparing them all."""


@njit(cache=True, nogil=True, error_model="numpy")
def _slot(keys, g, word, mask, words, bits):
    """Hash a group's key without one column."""
    mixed = np.uint64(0)
    for w in range(words):
        part = keys[w, g] & ~mask if w == word else keys[w, g]
        mixed = ((mixed ^ (mixed >> np.uint64(29))) + part) * np.uint64(0x9E3779B97F4A7C15)
    # The column is part of the hash, or a group would meet itself in every chain.
    return np.int64(((mixed ^ mask) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits))


@njit(cache=True, nogil=True, error_model="numpy")
def relocate_groups(keys, word, mask, before, k, cells, limit, most, draws, after, moves):
    """Move rows between groups until every group has none or at least k rows; return whether all but `most`
    rows are in such groups, then the number of moves, the cells changed and the chi-squared statistic.

    Group g is the packed row ``keys[:, g]`` with ``before[g]`` rows; column j is ``keys[word[j], g] & mask[j]``, and
    moving a row changes the cells in which two groups differ. First each group of at most k/2 rows moves as a whole
    to the closest group that has more than k/2 but fewer than k rows; if there is none, to the closest that has k.
    Then each group that still has too few rows takes the missing ones from the closest group that keeps more than k,
    from that group's own rows. Closest is the first group that differs in the fewest columns. The kernel stops if no
    group is admissible, or if a move would change more than `cells` cells in all or raise the statistic above `limit`.

    `draws` is empty, or holds random numbers in [0, 1), two per group: then a random admissible group is taken, and
    a group takes a random number of rows that leaves both with k. `after` receives the sizes, `moves` source,
    target and number of rows. O(groups + short groups x candidates x columns); it gives up as soon as the rows
    still to be moved exceed the remaining budget.
    """
    groups, columns, words = len(before), len(word), len(keys)
    randomized = len(draws) > 0
    drawn = 0
    short, waiting, lacking = 0, 0, 0
    own = before.copy()
    place_of = np.full(groups, -1, np.int64)
    is_full = np.zeros(groups, np.bool_)
    small = np.empty(groups, np.int64)
    big = np.empty(groups, np.int64)
    full = np.empty(groups, np.int64)
    smalls = bigs = fulls = 0
    for g in range(groups):
        after[g] = before[g]
        if 2 * before[g] <= k:
            small[smalls] = g
            smalls += 1
            waiting += before[g]
            short += before[g]
        elif before[g] < k:
            big[bigs] = g
            place_of[g] = g
            bigs += 1
            lacking += k - before[g]
            short += before[g]
        else:
            full[fulls] = g
            place_of[g] = fulls
            is_full[g] = True
            fulls += 1
    made, used, chi = 0, 0, 0.0
    if short == 0:
        return True, made, used, chi
    # Every row of a small group must move, and every row that a big one lacks: at least one cell each.
    if most == 0 and (max(waiting, lacking) > cells or waiting > limit):
        return False, made, used, chi
    if waiting - most > cells:
        return False, made, used, chi
    # If many groups look for the closest, hashing all columns but one finds those that differ in one column.
    hashed = not randomized and smalls > ENOUGH
    bits = 4
    while hashed and (1 << bits) < 2 * columns * (bigs + fulls):
        bits += 1
    heads = np.full(1 << bits, -1, np.int32)
    links = np.empty(columns * groups if hashed else 0, np.int32)
    for g in range(groups if hashed else 0):
        if place_of[g] >= 0:
            for j in range(columns):
                slot = _slot(keys, g, word[j], mask[j], words, bits)
                links[g * columns + j] = heads[slot]
                heads[slot] = g * columns + j
    for s in range(smalls + groups):
        distributing = s < smalls
        if not distributing and s - smalls >= bigs:
            break
        if distributing:
            g = small[s]
            candidates, count = (big, bigs) if bigs > 0 else (full, fulls)
        else:
            g = big[s - smalls]
            candidates, count = full, fulls
        need = after[g] if distributing else k - after[g]
        target, least, place = -1, columns + 1, 0
        if randomized:
            admissible = 0
            for i in range(count):
                c = candidates[i]
                admissible += distributing or (after[c] - need > k and own[c] >= need)
            if admissible:
                wanted = min(int(draws[drawn] * admissible), admissible - 1)
                for i in range(count):
                    c = candidates[i]
                    if distributing or (after[c] - need > k and own[c] >= need):
                        if wanted == 0:
                            target, place = c, i
                            break
                        wanted -= 1
            drawn += 1
        elif hashed:
            for j in range(columns):
                entry = heads[_slot(keys, g, word[j], mask[j], words, bits)]
                while entry >= 0:
                    c = entry // columns
                    fits = entry % columns == j and c != g and is_full[c] == (not distributing or bigs == 0)
                    if fits and (distributing or (after[c] - need > k and own[c] >= need)):
                        for w in range(words):
                            odd = keys[w, c] ^ keys[w, g]
                            fits &= odd & ~mask[j] == 0 if w == word[j] else odd == 0
                        if fits and (target < 0 or place_of[c] < place_of[target]):
                            target, least = c, 1
                    entry = links[entry]
            if target >= 0 and distributing and bigs > 0:
                place = 0
                while big[place] != target:
                    place += 1
        if target < 0 and not randomized:
            for i in range(count):
                c = candidates[i]
                if distributing or (after[c] - need > k and own[c] >= need):
                    differing = 0
                    for j in range(columns):
                        differing += ((keys[word[j], g] ^ keys[word[j], c]) & mask[j]) != 0
                        if differing >= least:
                            break
                    if differing < least:
                        target, least, place = c, differing, i
                        if differing <= 1:
                            break
        if target < 0:
            break
        differing = 0
        for j in range(columns):
            differing += ((keys[word[j], g] ^ keys[word[j], target]) & mask[j]) != 0
        source, sink, rows = (g, target, need) if distributing else (target, g, need)
        if randomized and not distributing:
            spare = min(after[source] - k, own[source]) - need
            rows += min(int(draws[drawn] * (spare + 1)), spare)
            drawn += 1
        off = np.float64(after[source] - before[source])
        gone = off - rows
        chi_then = chi + (gone * gone - off * off) / before[source]
        off = np.float64(after[sink] - before[sink])
        come = off + rows
        chi_then += (come * come - off * off) / before[sink]
        if used + rows * differing > cells or chi_then > limit:
            break
        used += rows * differing
        chi = chi_then
        moves[made, 0], moves[made, 1], moves[made, 2] = source, sink, rows
        made += 1
        after[source] -= rows
        own[source] -= rows
        after[sink] += rows
        if distributing:
            short -= rows
            waiting -= rows
            if bigs > 0 and after[sink] >= k:
                short -= after[sink] - rows
                for i in range(place, bigs - 1):
                    big[i] = big[i + 1]
                bigs -= 1
                full[fulls] = sink
                place_of[sink] = fulls
                is_full[sink] = True
                fulls += 1
            elif bigs > 0:
                short += rows
            if waiting - most > cells - used:
                break
        else:
            short -= after[sink] - rows
            full[fulls] = sink
            place_of[sink] = fulls
            is_full[sink] = True
            fulls += 1
    return short <= most, made, used, chi
