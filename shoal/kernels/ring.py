"""Partitions of a sorted table into runs of rows, and the value sets of windows that slide around each run."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit


@njit(cache=True, nogil=True)
def sort_by(codes, size, order):
    """Return the rows of `order` sorted by code; rows with equal codes keep their order. O(rows + size)."""
    place = np.zeros(size + 1, np.int64)
    for at in range(len(order)):
        place[codes[order[at]] + 1] += 1
    for code in range(size):
        place[code + 1] += place[code]
    out = np.empty_like(order)
    for at in range(len(order)):
        code = codes[order[at]]
        out[place[code]] = order[at]
        place[code] += 1
    return out


@njit(cache=True, nogil=True)
def lexicographic_groups(codes, blocks, k):
    """Split sorted rows into groups of at least k, one column at a time; return where groups start, and the end.

    `codes` is [columns, rows], rows in lexicographic order within each block blocks[b]..blocks[b+1]-1 (which has
    at least k rows). By each column in turn, a group becomes one group per value. A group with fewer than k rows takes
    the missing ones from a neighbour if the two have 2k rows; otherwise it joins the smaller neighbour. Groups
    that mix values have fewer than 2k rows, so they are not split further. O(rows x columns).
    """
    columns, rows = codes.shape
    starts = np.empty(rows // k + 2, np.int64)
    groups = 0
    todo = np.empty((rows // k + len(blocks) + 1, 3), np.int64)
    cut = np.empty(rows + 2, np.int64)
    first = np.empty(rows // k + 2, np.int64)
    for b in range(len(blocks) - 1):
        todo[0, 0], todo[0, 1], todo[0, 2] = blocks[b], blocks[b + 1], 0
        waiting = 1
        while waiting:
            waiting -= 1
            begin, end, column = todo[waiting, 0], todo[waiting, 1], todo[waiting, 2]
            if column == columns or end - begin < 2 * k:
                starts[groups] = begin
                groups += 1
                continue
            runs = 1
            cut[0] = begin
            for row in range(begin + 1, end):
                if codes[column, row] != codes[column, row - 1]:
                    cut[runs] = row
                    runs += 1
            cut[runs] = end
            # first[:made] are the groups that are large enough; low..high is the current one.
            made = 0
            following = 1
            low, high = begin, cut[1]
            while True:
                size = high - low
                left = low - first[made - 1] if made else 0
                right = cut[following + 1] - high if following < runs else 0
                if size >= k or left + right == 0:
                    first[made] = low
                    made += 1
                    if following == runs:
                        break
                    low, high = high, cut[following + 1]
                    following += 1
                    continue
                if left + size >= 2 * k:
                    low = high - k
                elif right + size >= 2 * k:
                    high = low + k
                elif right and (left == 0 or right <= left):
                    high = cut[following + 1]
                    following += 1
                else:
                    made -= 1
                    low = first[made]
            for group in range(made - 1, -1, -1):
                stop = first[group + 1] if group + 1 < made else end
                todo[waiting, 0], todo[waiting, 1], todo[waiting, 2] = first[group], stop, column + 1
                waiting += 1
    starts[groups] = blocks[len(blocks) - 1]
    return starts[: groups + 1]


@njit(cache=True, nogil=True)
def window_sets(codes, starts, widths, size):
    """Return the distinct codes that windows show: position -> set, where sets start, codes of sets ascending.

    The window of position i of the group starts[p]..starts[p+1]-1 holds widths[p] rows from i on; past the end it
    continues at the start. A new set begins only where the next window differs, so equal sets may occur again later.
    O(rows + codes of sets).
    """
    rows = len(codes)
    set_of = np.empty(rows, np.int32)
    begins = np.empty(rows + 1, np.int64)
    values = np.empty(2 * rows + 16, np.int32)
    count = np.zeros(size, np.int32)
    current = np.empty(size, np.int32)
    sets = 0
    used = 0
    for p in range(len(starts) - 1):
        begin, end, width = starts[p], starts[p + 1], widths[p]
        same = begin
        while same < end and codes[same] == codes[begin]:
            same += 1
        if same == end:
            # One value in the whole group, the usual case: one set.
            width = end - begin
        distinct = 0
        changed = True
        ahead = begin
        for position in range(begin, end):
            while ahead < position + width:
                entering = codes[ahead] if ahead < end else codes[ahead - end + begin]
                ahead += 1
                count[entering] += 1
                if count[entering] == 1:
                    at = distinct
                    while at > 0 and current[at - 1] > entering:
                        current[at] = current[at - 1]
                        at -= 1
                    current[at] = entering
                    distinct += 1
                    changed = True
            if changed:
                if used + distinct > len(values):
                    larger = np.empty(2 * len(values) + distinct, np.int32)
                    for at in range(used):
                        larger[at] = values[at]
                    values = larger
                begins[sets] = used
                for at in range(distinct):
                    values[used + at] = current[at]
                used += distinct
                sets += 1
                changed = False
            set_of[position] = sets - 1
            if width == end - begin:
                for later in range(position, end):
                    set_of[later] = sets - 1
                break
            leaving = codes[position]
            # The row that enters next decides whether the set really loses the value.
            if codes[ahead if ahead < end else ahead - end + begin] == leaving:
                ahead += 1
                continue
            count[leaving] -= 1
            if count[leaving] == 0:
                at = 0
                while current[at] != leaving:
                    at += 1
                for later in range(at, distinct - 1):
                    current[later] = current[later + 1]
                distinct -= 1
                changed = True
        for at in range(distinct):
            count[current[at]] = 0
    begins[sets] = used
    return set_of, begins[: sets + 1], values[:used]


@njit(cache=True, nogil=True)
def number_lists(start, values):
    """Give equal lists values[start[i]:start[i+1]] one number, by first appearance: list -> number, number -> first.

    Expected O(lists + values).
    """
    lists = len(start) - 1
    bits = 4
    while (1 << bits) < 2 * lists:
        bits += 1
    slots = np.full(1 << bits, -1, np.int32)
    mask = np.uint64((1 << bits) - 1)
    numbers = np.empty(lists, np.int32)
    first = np.empty(lists, np.int64)
    found = 0
    for i in range(lists):
        key = np.uint64(start[i + 1] - start[i])
        for at in range(start[i], start[i + 1]):
            key = (key ^ np.uint64(values[at] + 1)) * np.uint64(0x9E3779B97F4A7C15)
            key ^= key >> np.uint64(29)
        slot = key & mask
        while True:
            known = slots[slot]
            if known < 0:
                slots[slot] = found
                first[found] = i
                numbers[i] = found
                found += 1
                break
            j = first[known]
            length = start[i + 1] - start[i]
            same = start[j + 1] - start[j] == length
            at = 0
            while same and at < length:
                same = values[start[i] + at] == values[start[j] + at]
                at += 1
            if same:
                numbers[i] = known
                break
            slot = (slot + np.uint64(1)) & mask
    return numbers, first[:found]


@njit(cache=True, nogil=True)
def diverse_pieces(values, starts, least, target):
    """Split each group into pieces in which no value occurs twice: rows piece by piece, and where pieces start.

    Rows of a group are 0.. in a good order, values[row] is below the number of values, and no value has more than
    1/least of a group. Pieces have at least `least` rows, and about `target` if the remaining rows can still be split
    afterwards. A piece takes the next rows in the order, and every value that would be too frequent in the remaining
    rows. O(rows) for most orders, O(rows x values) for any.
    """
    rows = len(values)
    number = 0
    for row in range(rows):
        number = max(number, values[row] + 1)
    queue = np.empty(rows, np.int64)
    ahead = np.empty(rows + 1, np.int64)
    behind = np.empty(rows + 1, np.int64)
    left = np.zeros(number, np.int64)
    head = np.zeros(number + 1, np.int64)
    inside = np.full(number, -1, np.int64)
    forced = np.full(number, -1, np.int64)
    own = np.empty(number, np.int32)
    order = np.empty(rows, np.int32)
    cuts = np.empty(rows // least + 2, np.int64)
    with_count = np.zeros(rows + 2, np.int64)
    pieces = 0
    done = 0
    for p in range(len(starts) - 1):
        begin, end = starts[p], starts[p + 1]
        # Queues of rows by value, a linked list of all rows, and how many values have each count.
        kinds = 0
        for row in range(begin, end):
            if left[values[row]] == 0:
                own[kinds] = values[row]
                kinds += 1
            left[values[row]] += 1
        at = begin
        most = 0
        for i in range(kinds):
            head[own[i]] = at
            at += left[own[i]]
            with_count[left[own[i]]] += 1
            most = max(most, left[own[i]])
        for row in range(begin, end):
            queue[head[values[row]]] = row
            head[values[row]] += 1
            ahead[row], behind[row] = row + 1, row - 1
        for i in range(kinds):
            head[own[i]] -= left[own[i]]
        start = begin
        rest = end - begin
        while rest:
            while with_count[most] == 0:
                most -= 1
            size = max(least, min(target, rest - (most - 1) * least))
            must = 0
            for attempt in range(2):
                must = 0
                if attempt or most * least > rest - size:
                    for i in range(kinds):
                        needed = left[own[i]] * least > rest - size
                        forced[own[i]] = pieces if needed else -1
                        must += needed
                if must <= size:
                    break
                size = least
            size = max(size, must)
            taken = 0
            row = start
            looked = 0
            while taken < size:
                v = -1
                if row < end and looked < 2 * (kinds + size):
                    v = values[row]
                    looked += 1
                    following = ahead[row]
                    if inside[v] == pieces or (forced[v] != pieces and size - taken == must):
                        row = following
                        continue
                else:
                    # Many rows of the same values come first: look at the next row of each value instead.
                    best = end
                    for i in range(kinds):
                        u = own[i]
                        if (
                            inside[u] == pieces
                            or left[u] == 0
                            or (forced[u] != pieces and size - taken == must)
                        ):
                            continue
                        if queue[head[u]] < best:
                            best, v = queue[head[u]], u
                    if v < 0:
                        break
                    following = row
                chosen = queue[head[v]]
                head[v] += 1
                with_count[left[v]] -= 1
                left[v] -= 1
                with_count[left[v]] += 1
                inside[v] = pieces
                must -= forced[v] == pieces
                if chosen == start:
                    start = ahead[chosen]
                else:
                    ahead[behind[chosen]] = ahead[chosen]
                if ahead[chosen] < end:
                    behind[ahead[chosen]] = behind[chosen]
                row = following
                at = done + taken
                while at > done and order[at - 1] > chosen:
                    order[at] = order[at - 1]
                    at -= 1
                order[at] = chosen
                taken += 1
            cuts[pieces] = done
            pieces += 1
            done += taken
            rest -= taken
        for i in range(kinds):
            with_count[left[own[i]]] = 0
            left[own[i]] = 0
        with_count[0] = 0
    cuts[pieces] = done
    return order[:done], cuts[: pieces + 1]


@njit(cache=True, nogil=True)
def diverse_groups(codes, values, blocks, k, least):
    """Split sorted rows one column after the other, as long as groups have k rows and no value exceeds 1/least of them.

    As `lexicographic_groups`, but a group that fails is merged with those after it until it does not, and the last
    ones with those before them. Each block as a whole must be diverse. O(rows x columns), unless many rows are left
    at the end.
    """
    columns, rows = codes.shape
    number = 0
    for row in range(rows):
        number = max(number, values[row] + 1)
    count = np.zeros(number, np.int64)
    starts = np.empty(rows // k + 2, np.int64)
    groups = 0
    todo = np.empty((rows // k + len(blocks) + 1, 3), np.int64)
    first = np.empty(rows // k + 2, np.int64)
    mixed = np.empty(rows // k + 2, np.bool_)
    for b in range(len(blocks) - 1):
        todo[0, 0], todo[0, 1], todo[0, 2] = blocks[b], blocks[b + 1], 0
        waiting = 1
        while waiting:
            waiting -= 1
            begin, end, column = todo[waiting, 0], todo[waiting, 1], todo[waiting, 2]
            if column == columns or end - begin < 2 * k:
                starts[groups] = begin
                groups += 1
                continue
            made = 0
            low = begin
            most = 0
            for row in range(begin, end):
                count[values[row]] += 1
                most = max(most, count[values[row]])
                last = row + 1 == end
                if not last and codes[column, row] == codes[column, row + 1]:
                    continue
                while last and low > begin and (row + 1 - low < k or most * least > row + 1 - low):
                    made -= 1
                    for other in range(first[made], low):
                        count[values[other]] += 1
                        most = max(most, count[values[other]])
                    low = first[made]
                if last or (row + 1 - low >= k and most * least <= row + 1 - low):
                    first[made], mixed[made] = low, codes[column, low] != codes[column, row]
                    made += 1
                    for other in range(low, row + 1):
                        count[values[other]] = 0
                    low, most = row + 1, 0
            for group in range(made - 1, -1, -1):
                stop = first[group + 1] if group + 1 < made else end
                todo[waiting, 0], todo[waiting, 1] = first[group], stop
                todo[waiting, 2] = columns if mixed[group] else column + 1
                waiting += 1
    starts[groups] = blocks[len(blocks) - 1]
    return starts[: groups + 1]
