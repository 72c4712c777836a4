"""The nearest policies that a table does not rule out, if the one at hand is ruled out by a proof."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from shoal.coding import CodedTable
from shoal.errors import PolicyError
from shoal.judging.models.feasibility import reasons_against
from shoal.judging.models.keys import bounds, parameters
from shoal.judging.models.ratios import exact
from shoal.judging.models.requirements import Requirements
from shoal.pipeline.explanation.relaxations import Relaxation, allow_suppression, relax_value, without_limits
from shoal.policy import Policy
from shoal.policy.privacy import Asked

STEPS = 60
"""How often a value is relaxed at most."""
HALVINGS = 32
"""How often the room between two numbers is halved at most."""
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
    return reasons_against(table, _requirements_of(table, policy), limits=policy.build_method().heeds_limits)


def _requirements_of(table: CodedTable, policy: Policy) -> Requirements:
    return policy.requirements(table.sensitive).in_table(table)


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
    if policy.build_method().heeds_limits and not reasons_against(
        table, _requirements_of(table, policy), limits=False
    ):
        # The table is coded within the limits, so only what remains without any of them can be told from it.
        yield from without_limits(policy)
    for share in SHARES:
        if share > policy.utility.suppression:
            for change in allow_suppression(policy, share):
                if not _is_ruled_out(table, change.policy):
                    yield change
                    return


def _enough(table: CodedTable, policy: Policy, asked: Asked) -> Relaxation | None:
    """Relax one requirement until no reason is left: as little as possible if it is a single number."""
    close = _between(table, policy, asked)
    if close is not None:
        return close
    value = asked.kind.looser(asked.value)
    for _ in range(STEPS):
        change = _possible(table, policy, asked, value)
        if change is not None or value is None:
            return change
        value = asked.kind.looser(value)
    return None


def _between(table: CodedTable, policy: Policy, asked: Asked) -> Relaxation | None:
    """Search the numbers on the weaker side of the one that is asked for: the nearest whole one, or three digits."""
    names = parameters(asked.kind)
    kind, limits = bounds(asked.kind)[names[0]]
    given = limits.given
    safer = asked.kind.higher_is_safer
    end = given.get("ge", given.get("gt")) if safer else given.get("le", given.get("lt"))
    if len(names) != 1 or end is None:
        return None
    whole = kind is int
    found = _possible(table, policy, asked, int(end)) if whole else None
    if whole and found is None:
        return None
    good, bad = float(end), float(exact(asked.value))
    for _ in range(HALVINGS):
        middle = (good + bad) / 2
        value = int(middle) if whole else _round_weaker(middle, down=safer)
        if whole and abs(bad - good) <= 1:
            break
        change = _possible(table, policy, asked, value)
        if change is None:
            bad = value if whole else middle
        else:
            good, found = (value if whole else middle), change
    return found


def _round_weaker(value: float, *, down: bool) -> float:
    """Return a number with three digits, on the weaker side."""
    shift = math.floor(math.log10(abs(value))) - 2 if value else 0
    return float(f"{(math.floor if down else math.ceil)(value / 10.0**shift) * 10.0**shift:.6g}")


def _possible(table: CodedTable, policy: Policy, asked: Asked, value: Any) -> Relaxation | None:
    """Return a policy with another value, if it is valid and not ruled out; None as the value drops the requirement."""
    change = next(relax_value(policy, asked, value), None)
    return None if change is None or _is_ruled_out(table, change.policy) else change


def _together(table: CodedTable, policy: Policy) -> Iterator[Nearest]:
    """Relax every requirement that is ruled out by itself, one after another."""
    changes: list[Relaxation] = []
    for asked in policy.privacy.requirements:
        alone = _only(policy, asked)
        if alone is None or not _is_ruled_out(table, alone):
            continue
        own = _enough(table, alone, asked)
        if own is None:
            return
        base = changes[-1].policy if changes else policy
        value = next((one.value for one in own.policy.privacy.requirements if one.path == asked.path), None)
        change = next(relax_value(base, asked, value), None)
        if change is None:
            return
        changes.append(change)
    if changes and not _is_ruled_out(table, changes[-1].policy):
        yield Nearest(tuple(changes))


def _only(policy: Policy, asked: Asked) -> Policy | None:
    """Return the policy with one requirement alone, on a method that takes any."""
    raw = policy.to_dict()
    value = asked.value
    for name in reversed(asked.path[2:]):
        value = {name: value}
    if asked.options and isinstance(value, dict):
        value = {**value, **asked.options}
    raw["privacy"] = {asked.path[1]: value}
    raw.pop("method", None)
    try:
        return Policy.from_dict(raw, policy.base)
    except PolicyError:
        return None


def _is_ruled_out(table: CodedTable, policy: Policy) -> bool:
    return bool(reasons(table, policy))
