"""`Gate`: what an edition may show. The public one shows nothing that depends on fewer than k people."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.arrays import FloatVector, LongVector
from shoal.models.requirements import Requirements

USUAL_K = 5
"""The smallest group of people in a public report, if the policy has no k."""
FEW_LEFT_OUT = (
    "Fewer than {0:,} rows were suppressed. Comparing figures of the original with those of the release would "
    "reveal these few people, so this public edition does not show figures of the original."
)

SEVERAL_ROWS = (
    "Some people have several rows, and one of them can change figures of the original by more than {0:,} rows. Nor "
    "does a release show whose its rows are, unless they can be followed. So this public edition shows no figures of "
    "the original, and for the number of people in a class only what is guaranteed."
)


@dataclass(frozen=True)
class Gate:
    """Lets counts of people pass, or hides small ones."""

    public: bool
    k: int
    """Counts of fewer people than this are hidden in the public edition."""
    left_out: int = 0
    """Rows of the original that are not in the release."""
    several: bool = False
    """Some people have several rows, or households are counted: then a row says nothing about how many people."""

    @classmethod
    def of(
        cls, requirements: Requirements, *, public: bool, left_out: int = 0, several: bool = False
    ) -> Gate:
        """Return the gate of an edition, by the k of the policy."""
        asked = [getattr(model, "k", 1) for model in requirements.models]
        k = max([requirements.k, *(int(k) for k in asked if isinstance(k, int))])
        return cls(public, k if k > 1 else USUAL_K, left_out, several)

    @property
    def tells_before(self) -> bool:
        """Whether figures of the original may be shown next to those of the release. If few rows were suppressed, the
        difference would be about these few people, however it is rounded; if people have several rows, one of them
        could change a figure by more than it is rounded.
        """
        return not self.public or (not self.several and (self.left_out == 0 or self.left_out >= self.k))

    @property
    def tells_crowds(self) -> bool:
        """Whether the numbers of people in classes may be shown: not to the public if rows do not show them."""
        return not (self.public and self.several)

    @property
    def why(self) -> str:
        """Why figures of the original are not shown."""
        return (SEVERAL_ROWS if self.several else FEW_LEFT_OUT).format(self.k)

    def count(self, people: int) -> str:
        """Write a number of people of the original."""
        if people and not self.tells_before:
            return "some"
        if self.public and 0 < people < self.k:
            return f"fewer than {self.k:,}"
        return f"{people:,}"

    def share(self, people: float, total: int) -> str:
        """Write people of the original as a share of all; the public edition rounds to steps of k people.

        Zero is shown like a small count: otherwise it would distinguish no person from a few.
        """
        if self.public and people < self.k:
            return f"less than {self.k / max(total, 1):.2%}"
        return f"{self.steps(np.array([people], np.float64))[0] / max(total, 1):.1%}"

    def steps(self, people: FloatVector | LongVector) -> FloatVector:
        """Round counts of people of the original: to multiples of k in the public edition."""
        exact = np.asarray(people, np.float64)
        return np.round(exact / self.k) * self.k if self.public else exact

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
