"""Plain twins of the kernels in `shoal/kernels/founding.py`, written to be read and not to be fast."""

from __future__ import annotations

import numpy as np

from tests.oracles.losses import box_losses


def found(
    codes,
    row_item,
    item_start,
    item_rows,
    near,
    cluster_of,
    size,
    loss,
    k,
    losses,
    clusters,
    begin,
    end,
):
    for seed in range(begin, end):
        if clusters == len(size):
            break
        members, looked, candidates, fresh = [], [], [], seed

        def cost(row):
            box = np.array([[x for j in codes.T for x in (min(j[inside]), max(j[inside]))]])  # noqa: B023
            return k * box_losses(box, losses)[0] - loss[cluster_of[row]]

        while len(members) < k:
            for item in [i for i in [fresh, *near[fresh].tolist()] if i >= 0 and i not in looked]:
                looked.append(item)
                rows = item_rows[item_start[item] : item_start[item + 1]].tolist()
                candidates += [row for row in rows if loss[cluster_of[row]] > 0]
            taken = [cluster_of[row] for row in members]
            costs = []
            for row in candidates:
                spare = size[cluster_of[row]] - taken.count(cluster_of[row]) > k
                if row not in members and spare:
                    inside = [seed, *row_item[members].tolist(), row_item[row]]
                    costs.append((cost(row), row))
            least = min((value for value, _ in costs), default=np.inf)
            if least == np.inf:
                break
            members.append(next(row for value, row in costs if value == least))
            fresh = row_item[members[-1]]
        if len(members) < k:
            continue
        inside = [seed, *row_item[members].tolist()]
        now = (cost(members[0]) + loss[cluster_of[members[0]]]) / k
        if loss[cluster_of[members]].sum() <= k * now + 1e-6:
            continue
        for row in members:
            size[cluster_of[row]] -= 1
            cluster_of[row] = clusters
        size[clusters], loss[clusters] = k, now
        clusters += 1
    return clusters
