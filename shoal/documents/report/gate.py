"""`Gate`: how charts of columns join rare values. In the public edition no bin has fewer than k rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.judging.models.requirements import Requirements
from shoal.support.arrays import LongVector

USUAL_K = 5
"""The smallest bin of a public chart, if the policy has no k."""


@dataclass(frozen=True)
class Gate:
    """Lets bins pass, or joins small ones."""

    public: bool
    k: int
    """Bins of fewer people than this are joined with others in the public edition."""

    @classmethod
    def of(cls, requirements: Requirements, *, public: bool = True) -> Gate:
        """Return the gate of an edition, by the k of the policy."""
        asked = [getattr(model, "k", 1) for model in requirements.models]
        k = max([requirements.k, *(int(k) for k in asked if isinstance(k, int))])
        return cls(public, k if k > 1 else USUAL_K)

    def runs(self, people: LongVector) -> list[tuple[int, int]]:
        """Divide ordered bins into runs ``[first, last]``: each bin by itself, or in the public edition joined with
        its neighbours until every run has nobody, or k people. One run is left if there are fewer people in all.
        """
        runs = [(bin_, bin_) for bin_ in range(len(people))]
        if not self.public:
            return runs
        held = [int(count) for count in people]
        while len(runs) > 1 and any(0 < count < self.k for count in held):
            at = held.index(min(count for count in held if count))
            # The smaller neighbour, so that large bins stay unchanged.
            left = at > 0 and (at == len(runs) - 1 or held[at - 1] <= held[at + 1])
            first = at - 1 if left else at
            runs[first : first + 2] = [(runs[first][0], runs[first + 1][1])]
            held[first : first + 2] = [held[first] + held[first + 1]]
        return runs

    def hidden(self, people: LongVector, most: int) -> list[bool]:
        """Choose which categories are combined: all but the `most` largest ones, in the public edition also each with
        fewer than k people, and then as many of the next smallest as the combined one needs to have k people.
        """
        order = np.argsort(-people, kind="stable")
        lumped = np.zeros(len(people), np.bool_)
        if len(people) > most:
            lumped[order[most - 1 :]] = True
        lumped |= people == 0
        if self.public:
            lumped |= people < self.k
            for category in order[::-1]:
                if not 0 < int(people[lumped].sum()) < self.k:
                    break
                lumped[category] = True
        return [bool(one) for one in lumped]
