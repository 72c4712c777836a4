"""The nearest policies that a table does not rule out, if the one at hand is ruled out by a proof."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from shoal.errors import PolicyError
from shoal.explaining.relaxing import Relaxation, relaxed, suppressing, without_limits
from shoal.models.feasibility import reasons_against
from shoal.models.keys import bounds, parameters
from shoal.models.requirements import Requirements
from shoal.policy import Policy
from shoal.policy.privacy import Asked
from shoal.table import CodedTable

STEPS = 60
"""How often a value is relaxed at most."""
DIGITS = 12
"""How often the room between two numbers is halved."""
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
"""Shares of suppressed rows that are tried."""


@dataclass(frozen=True)
class Nearest:
    """A change of a policy after which no reason against it is known."""

    changes: tuple[Relaxation, ...]
    """What is changed, one after another; the last has the whole policy."""

    @property
    def words(self) -> str:
        """Name the change in one line."""
        return "; ".join(change.words for change in self.changes)

    @property
    def policy(self) -> Policy:
        """The policy with all changes."""
        return self.changes[-1].policy


def reasons(table: CodedTable, policy: Policy) -> list[str]:
    """Return every known reason why no release of a table can satisfy a policy; each is a proof."""
    return reasons_against(table, _asked(table, policy), limits=policy.build_method().heeds_limits)


def _asked(table: CodedTable, policy: Policy) -> Requirements:
    return policy.requirements(table.sensitive)


def nearest(table: CodedTable, policy: Policy) -> list[Nearest]:
    """Return changes after which no reason is known any more, each as small as possible: one requirement relaxed as far
    as needed, a requirement dropped, more suppression; if none of these is enough, several requirements relaxed.

    Takes some O(rows) for each value that is tried. A policy without a reason may still have no release.
    """
    found = [Nearest((one,)) for one in _single(table, policy)]
    return found or list(_together(table, policy))


def _single(table: CodedTable, policy: Policy) -> Iterator[Relaxation]:
    for asked in policy.privacy.requirements:
        change = _enough(table, policy, asked)
        if change is not None:
            yield change
    if policy.build_method().heeds_limits and not reasons_against(table, _asked(table, policy), limits=False):
        # The table is coded within the limits, so only what remains without any of them can be told from it.
        yield from without_limits(policy)
    for share in SHARES:
        if share > policy.utility.suppression:
            for change in suppressing(policy, share):
                if not _ruled_out(table, change.policy):
                    yield change
                    return


def _enough(table: CodedTable, policy: Policy, asked: Asked) -> Relaxation | None:
    """Relax one requirement until no reason is left: as little as possible if it is a single number."""
    close = _between(table, policy, asked)
    if close is not None:
        return close
    value, bad = asked.kind.looser(asked.value), asked.value
    for _ in range(STEPS):
        change = next(relaxed(policy, asked, value), None)
        if change is not None and not _ruled_out(table, change.policy):
            return _least(table, policy, asked, value, bad) or change
        if value is None:
            return None
        value, bad = asked.kind.looser(value), value
    return None


def _between(table: CodedTable, policy: Policy, asked: Asked) -> Relaxation | None:
    """Search the allowed numbers below or above the one that is asked for, to three digits."""
    names = parameters(asked.kind)
    own, limits = bounds(asked.kind)[names[0]]
    if len(names) != 1 or own is int or not isinstance(asked.value, int | float):
        return None
    safer = asked.kind.higher_is_safer
    ends = (limits.ge, limits.gt) if safer else (limits.le, limits.lt)
    good, bad = next((end for end in ends if end is not None), None), float(asked.value)
    found = None
    for _ in range(DIGITS if good is not None else 0):
        assert good is not None
        middle = (good + bad) / 2
        shift = math.floor(math.log10(abs(middle))) - 2 if middle else 0
        rounded = (math.floor if safer else math.ceil)(middle / 10.0**shift) * 10.0**shift
        change = next(relaxed(policy, asked, float(f"{rounded:.6g}")), None)
        if change is None or _ruled_out(table, change.policy):
            bad = middle
        else:
            good, found = middle, change
    return found


def _least(table: CodedTable, policy: Policy, asked: Asked, good: object, bad: object) -> Relaxation | None:
    """Search between a whole number that is not ruled out and one that is."""
    if not isinstance(good, int) or not isinstance(bad, int):
        return None
    found = None
    while abs(bad - good) > 1:
        middle = (good + bad) // 2
        change = next(relaxed(policy, asked, middle), None)
        if change is None:
            return found
        if _ruled_out(table, change.policy):
            bad = middle
        else:
            good, found = middle, change
    return found


def _together(table: CodedTable, policy: Policy) -> Iterator[Nearest]:
    """Relax every requirement that is ruled out by itself, one after another."""
    changes: list[Relaxation] = []
    for asked in policy.privacy.requirements:
        alone = _only(policy, asked)
        if alone is None or not _ruled_out(table, alone):
            continue
        own = _enough(table, alone, asked)
        if own is None:
            return
        base = changes[-1].policy if changes else policy
        value = next((one.value for one in own.policy.privacy.requirements if one.path == asked.path), None)
        change = next(relaxed(base, asked, value), None)
        if change is None:
            return
        changes.append(change)
    if changes and not _ruled_out(table, changes[-1].policy):
        yield Nearest(tuple(changes))


def _only(policy: Policy, asked: Asked) -> Policy | None:
    """Return the policy with one requirement alone, on a method that takes any."""
    raw = policy.to_dict()
    value = asked.value
    for name in reversed(asked.path[2:]):
        value = {name: value}
    raw["privacy"] = {asked.path[1]: value}
    raw.pop("method", None)
    try:
        return Policy.from_dict(raw, policy.base)
    except PolicyError:
        return None


def _ruled_out(table: CodedTable, policy: Policy) -> bool:
    return bool(reasons(table, policy))

