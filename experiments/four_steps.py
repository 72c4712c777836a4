"""EnhancedPKClustering as Truta and Campan describe it, step by step: what enhanced-p-k is held against.

It shares no code with Shoal's methods. It reads a coded table and labels, and returns the class of each row.
"""

from __future__ import annotations

import numpy as np


def four_steps(table, labels, p, k):
    """Return the class of each row; `labels` holds a column per sensitive attribute, of values or strong values."""
    return _Steps(table, np.asarray(labels), p, k).run()


def costs(table, class_of):
    """Return IL and DM of a partition, by the definitions of the paper."""
    columns = [_heights(attribute) for attribute in table.attributes]
    il = dm = 0.0
    for one in range(int(class_of.max()) + 1):
        codes = table.quasi.wide[class_of == one]
        il += len(codes) * sum(c[codes[:, j].min(), codes[:, j].max()] for j, c in enumerate(columns))
        dm += len(codes) ** 2
    return float(il), float(dm)


def most_clusters(labels, p, k):
    """Return the most classes, the hardest attribute and its iValue."""
    rows = len(labels)
    bounds = []
    for j in range(labels.shape[1]):
        counts = np.sort(np.bincount(labels[:, j]))[::-1]
        cumulated = np.cumsum(counts[counts > 0])
        bounds += [((rows - int(cumulated[p - i - 1])) / i, j, i) for i in range(1, p)]
    bound, hardest, i_value = min(bounds)
    return min(int(bound), rows // k), hardest, i_value


def _heights(attribute):
    """Return what a row loses in a column under the smallest cover of the codes `low` to `high`, as a matrix."""
    tree = attribute.hierarchy
    if tree.free:
        values = np.array(tree.leaves.to_list(), float)
        return (values[None, :] - values[:, None]) / (values.max() - values.min())
    top = len(tree.low) - 1
    level = np.full((tree.size, tree.size), top)
    for height in range(top, -1, -1):
        level[tree.low[height][:, None] == tree.low[height][None, :]] = height
    return level / top


class _Steps:
    def __init__(self, table, labels, p, k):
        self.codes, self.labels, self.p, self.k = np.asarray(table.quasi.wide), labels, p, k
        self.columns = [_heights(attribute) for attribute in table.attributes]
        self.free = np.ones(len(labels), bool)
        self.classes, self.hardest, self.i_value = most_clusters(labels, p, k)
        self.members = [[] for _ in range(self.classes)]

    def growth(self, one, rows):
        """How much IL grows if one of some rows joins a class."""
        members = self.members[one]
        if not members:
            return np.zeros(len(rows))
        low, high = self.codes[members].min(axis=0), self.codes[members].max(axis=0)
        grown = np.zeros(len(rows))
        for j, cost in enumerate(self.columns):
            codes = self.codes[rows, j]
            wide = cost[np.minimum(low[j], codes), np.maximum(high[j], codes)]
            grown += (len(members) + 1) * wide - len(members) * cost[low[j], high[j]]
        return grown

    def diversity(self, one, rows):
        """How many missing values each row adds, weighted by how far its attribute is from p."""
        added = np.zeros(len(rows))
        for j in range(self.labels.shape[1]):
            inside = set(self.labels[self.members[one], j].tolist())
            new = ~np.isin(self.labels[rows, j], list(inside))
            added += new * max(self.p - len(inside), 0)
        return added

    def take(self, one, rows):
        """Let a class take the row that adds most diversity, and then the least IL; None if there is no row."""
        rows = rows[self.free[rows]]
        if not len(rows):
            return None
        added = self.diversity(one, rows)
        rows = rows[added == added.max()]
        chosen = int(rows[np.argmin(self.growth(one, rows))])
        self.members[one].append(chosen)
        self.free[chosen] = False
        return chosen

    def lacking(self, one):
        """The attributes that lack values."""
        return [
            j for j in range(self.labels.shape[1]) if len(set(self.labels[self.members[one], j])) < self.p
        ]

    def run(self):
        own = self.labels[:, self.hardest]
        counts = np.bincount(own)
        order = [v for v in np.argsort(-counts, kind="stable") if counts[v]]
        frequent, rare = order[: self.p - self.i_value], order[self.p - self.i_value :]
        # 1. Rare groups, largest first, in turns over the classes: a group is never larger than a turn.
        turn = 0
        for value in rare:
            group = np.flatnonzero(own == value)
            while turn < self.i_value * self.classes and self.free[group].any():
                self.take(turn % self.classes, group)
                turn += 1
        # 2. One row of each frequent group.
        for value in frequent:
            group = np.flatnonzero(own == value)
            for one in range(self.classes):
                self.take(one, group)
        self.complete(lambda one: len(self.lacking(one)) > 0, self.most_homogeneous, self.adding)
        self.complete(lambda one: len(self.members[one]) < self.k, self.smallest, lambda one, rows: rows)
        self.members = [m for m in self.members if m]
        self.assign_the_rest()
        class_of = np.full(len(own), -1)
        for one, members in enumerate(self.members):
            class_of[members] = one
        return class_of

    def assign_the_rest(self):
        """Each remaining row joins the class whose IL grows least."""
        low = np.array([self.codes[m].min(axis=0) for m in self.members]).T
        high = np.array([self.codes[m].max(axis=0) for m in self.members]).T
        size = np.array([len(m) for m in self.members])
        for row in np.flatnonzero(self.free):
            code = self.codes[row]
            grown = sum(
                (size + 1) * cost[np.minimum(low[j], code[j]), np.maximum(high[j], code[j])]
                - size * cost[low[j], high[j]]
                for j, cost in enumerate(self.columns)
            )
            best = int(np.argmin(grown))
            self.members[best].append(int(row))
            size[best] += 1
            low[:, best], high[:, best] = np.minimum(low[:, best], code), np.maximum(high[:, best], code)

    def adding(self, one, rows):
        return rows[self.diversity(one, rows) > 0]

    def complete(self, unfinished, victim, useful):
        """Steps 3 and 4: give classes what they lack; dissolve one where nothing is left."""
        while True:
            open_ = [one for one in range(len(self.members)) if self.members[one] and unfinished(one)]
            if not open_:
                return
            for one in open_:
                while self.members[one] and unfinished(one):
                    if self.take(one, useful(one, np.flatnonzero(self.free))) is None:
                        gone = victim(unfinished)
                        self.free[self.members[gone]] = True
                        self.members[gone] = []

    def most_homogeneous(self, unfinished):
        def distinct(one):
            return sum(len(set(column)) for column in self.labels[self.members[one]].T.tolist())

        return min((one for one in range(len(self.members)) if self.members[one]), key=distinct)

    def smallest(self, unfinished):
        alive = [one for one in range(len(self.members)) if self.members[one] and unfinished(one)]
        return min(alive, key=lambda one: len(self.members[one]))
