"""A tree of boxes over distinct rows, the rows inside given ranges, and assignments of rows to ranges."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit

LEAF = 8


@njit(cache=True, nogil=True)
def plant_boxes(codes, scale, cuts, starts):
    """Build a tree of tight boxes over rows; nodes are in preorder.

    Return the rows in the order of the tree; per node its first row, the end of its rows and the node that
    follows its subtree; and ``[node, 2 x column]`` lowest and highest codes. A node with more than a few rows
    is split in the column whose extent times `scale` is largest, near the median, and if possible where a
    high node of the hierarchy begins (``cuts[starts[j] + code]``). Usually O(rows x columns x log rows).
    """
    rows, columns = codes.shape
    order = np.arange(rows).astype(np.int32)
    most = max(2 * rows, 1)
    first = np.empty(most, np.int32)
    last = np.empty(most, np.int32)
    skip = np.empty(most, np.int32)
    box = np.empty((most, 2 * columns), np.int32)
    # Open nodes: where they begin and end; with an end of -1, the begin is the node to close.
    stack = np.empty((2 * rows + 2, 2), np.int32)
    stack[0, 0], stack[0, 1] = 0, rows
    depth, count = 1 if rows else 0, 0
    sample = np.empty(17, np.int32)
    while depth:
        depth -= 1
        begin, end = stack[depth]
        if end < 0:
            skip[begin] = count
            continue
        node = count
        count += 1
        first[node], last[node] = begin, end
        low, high = box[node, :columns], box[node, columns:]
        for j in range(columns):
            low[j] = high[j] = codes[order[begin], j]
        for at in range(begin + 1, end):
            row = order[at]
            for j in range(columns):
                code = codes[row, j]
                low[j] = min(low[j], code)
                high[j] = max(high[j], code)
        column = 0
        for j in range(1, columns):
            if (high[j] - low[j]) * scale[j] > (high[column] - low[column]) * scale[column]:
                column = j
        if end - begin <= LEAF or low[column] == high[column]:
            skip[node] = count
            continue
        for s in range(17):
            code = codes[order[begin + (end - begin - 1) * s // 16], column]
            place = s
            while place > 0 and sample[place - 1] > code:
                sample[place] = sample[place - 1]
                place -= 1
            sample[place] = code
        cut = sample[8] if sample[8] > low[column] else sample[8] + 1
        lowest = max(sample[4], low[column]) + 1
        highest = sample[12]
        if highest - lowest < 4096:
            for code in range(lowest, highest + 1):
                if cuts[starts[column] + code] > cuts[starts[column] + cut]:
                    cut = code
        left, right = begin, end - 1
        while left <= right:
            if codes[order[left], column] < cut:
                left += 1
            else:
                order[left], order[right] = order[right], order[left]
                right -= 1
        stack[depth, 0], stack[depth, 1] = node, -1
        stack[depth + 1, 0], stack[depth + 1, 1] = left, end
        stack[depth + 2, 0], stack[depth + 2, 1] = begin, left
        depth += 3
    return order, first[:count].copy(), last[:count].copy(), skip[:count].copy(), box[:count].copy()


@njit(cache=True, nogil=True)
def rows_inside(codes, first, last, skip, box, low, high):
    """List the rows inside each range, as a start per range and one array of rows (positions in the tree).

    `codes` are in the order of the tree. Output-sensitive: a subtree outside a range is skipped, one
    inside is listed without a visit.
    """
    ranges, columns = low.shape
    start = np.zeros(ranges + 1, np.int64)
    found = np.empty(max(16 * ranges, 1024), np.int32)
    used = 0
    nodes = len(skip)
    for g in range(ranges):
        node = 0
        while node < nodes:
            inside = True
            outside = False
            for j in range(columns):
                if box[node, j] > high[g, j] or box[node, columns + j] < low[g, j]:
                    outside = True
                    break
                inside &= box[node, j] >= low[g, j] and box[node, columns + j] <= high[g, j]
            if outside:
                node = skip[node]
                continue
            if not inside and skip[node] != node + 1:
                node += 1
                continue
            begin, end = first[node], last[node]
            node = skip[node]
            if used + end - begin > len(found):
                more = np.empty(2 * len(found) + end - begin, np.int32)
                for at in range(used):
                    more[at] = found[at]
                found = more
            for row in range(begin, end):
                fits = True
                if not inside:
                    for j in range(columns):
                        if codes[row, j] < low[g, j] or codes[row, j] > high[g, j]:
                            fits = False
                            break
                if fits:
                    found[used] = row
                    used += 1
        start[g + 1] = used
    return start, found[:used]


@njit(cache=True, nogil=True)
def assign_units(start, links, supply, demand, order):
    """Assign the units of each range to rows inside it; no row gets more than its demand.

    Range g may use ``links[start[g]:start[g + 1]]``. Returns the units along each link; if not all units can be
    assigned, as many as possible. Greedy, the ranges in the given order, then shortest augmenting paths in
    phases (Dinic): O(sqrt(units) x links) for single units, and fast in practice.
    """
    ranges, rows, edges = len(supply), len(demand), len(links)
    flow = np.zeros(edges, np.int64)
    left = supply.copy()
    room = demand.copy()
    # Links by row, to walk back along units that are already assigned.
    back = np.zeros(rows + 1, np.int64)
    for edge in range(edges):
        back[links[edge] + 1] += 1
    for row in range(rows):
        back[row + 1] += back[row]
    by_row = np.empty(edges, np.int64)
    source = np.empty(edges, np.int32)
    fill = back[:rows].copy()
    for g in range(ranges):
        for edge in range(start[g], start[g + 1]):
            row = links[edge]
            by_row[fill[row]] = edge
            fill[row] += 1
            source[edge] = g
    # The rows with the fewest ranges are taken first.
    for g in order:
        for rare in range(2):
            for edge in range(start[g], start[g + 1]):
                row = links[edge]
                if left[g] and room[row] and (rare or back[row + 1] - back[row] <= 2):
                    units = min(left[g], room[row])
                    flow[edge] += units
                    left[g] -= units
                    room[row] -= units
    level = np.empty(ranges, np.int32)
    queue = np.empty(ranges, np.int32)
    pointer = np.empty(ranges, np.int64)
    inner = np.empty(ranges, np.int64)
    path = np.empty(2 * ranges + 2, np.int64)
    seen = np.empty(rows, np.bool_)
    while True:
        for g in range(ranges):
            level[g] = -1
            pointer[g] = start[g]
            inner[g] = -1
        for row in range(rows):
            seen[row] = False
        head, tail = 0, 0
        for g in range(ranges):
            if left[g]:
                level[g] = 0
                queue[tail] = g
                tail += 1
        reached = False
        while head < tail:
            g = queue[head]
            head += 1
            for edge in range(start[g], start[g + 1]):
                row = links[edge]
                if seen[row]:
                    continue
                seen[row] = True
                reached |= room[row] > 0
                for at in range(back[row], back[row + 1]):
                    other = source[by_row[at]]
                    if flow[by_row[at]] and level[other] < 0:
                        level[other] = level[g] + 1
                        queue[tail] = other
                        tail += 1
        if not reached:
            return flow
        for origin in range(ranges):
            while left[origin]:
                # Depth first along rising levels; `path` holds forward and backward links in turn.
                g, depth, arrived = origin, 0, False
                while True:
                    moved = False
                    while pointer[g] < start[g + 1]:
                        edge = pointer[g]
                        row = links[edge]
                        if room[row]:
                            path[depth] = edge
                            depth += 1
                            arrived = True
                            break
                        if inner[g] < 0:
                            inner[g] = back[row]
                        while inner[g] < back[row + 1]:
                            other = by_row[inner[g]]
                            if flow[other] and level[source[other]] == level[g] + 1:
                                path[depth], path[depth + 1] = edge, other
                                depth += 2
                                g = source[other]
                                moved = True
                                break
                            inner[g] += 1
                        if moved:
                            break
                        pointer[g] += 1
                        inner[g] = -1
                    if arrived:
                        break
                    if moved:
                        continue
                    if depth == 0:
                        break
                    # A dead end: step back, and skip it from now on.
                    depth -= 2
                    g = source[path[depth]]
                    inner[g] += 1
                if not arrived:
                    break
                units = min(left[origin], room[links[path[depth - 1]]])
                for step in range(1, depth, 2):
                    units = min(units, flow[path[step]])
                for step in range(depth):
                    flow[path[step]] += -units if step % 2 else units
                left[origin] -= units
                room[links[path[depth - 1]]] -= units
