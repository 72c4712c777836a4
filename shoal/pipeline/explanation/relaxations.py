"""All ways to relax a policy by one step: one requirement, column or method changed, all else unchanged."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from shoal.coding.roles import PLAIN, QUASI
from shoal.errors import PolicyError
from shoal.methods import METHODS
from shoal.methods.clustering.agglomerative import Agglomerative
from shoal.policy import Policy
from shoal.policy.privacy import Asked
from shoal.support.wording import format_count, number

Kind = Literal["requirement", "column", "method"]

Strength = Literal["same", "weaker", "exposed"]
"""What a step does to the protection: every requirement still holds, one is weaker, or a column loses it."""
SUPPRESSION = "suppression"

OTHERS = (METHODS.default, Agglomerative.name)
"""Methods that are tried instead: a fast one, and a careful one. `shoal compare` tries all."""
LEAST_SUPPRESSION = 0.02
"""Suppression is raised to at least this."""


@dataclass(frozen=True)
class Relaxation:
    """A policy with one thing relaxed."""

    kind: Kind
    what: str
    """What is changed, as the policy calls it."""
    before: str
    after: str
    policy: Policy

    @property
    def strength(self) -> Strength:
        """What the change does to the protection."""
        return strength_of(self.kind, self.what)

    @property
    def words(self) -> str:
        """Name the change in one line."""
        return f"{self.what}: {self.before} → {self.after}"


def strength_of(kind: Kind, what: str) -> Strength:
    """Return what a step does to the protection. Suppressed rows and another method change no requirement."""
    if kind == "column":
        return "exposed"
    return "same" if kind == "method" or what == SUPPRESSION else "weaker"


def relaxations(policy: Policy) -> list[Relaxation]:
    """Return one step for each requirement, then each column made plain, then other methods."""
    return [*_requirements(policy), *_columns(policy), *_methods(policy)]


def _build_relaxation(
    policy: Policy, kind: Kind, what: str, before: str, after: str, change: Callable[[dict[str, Any]], None]
) -> Iterator[Relaxation]:
    """Yield the changed policy if it is valid: other requirements may need what was removed."""
    raw = copy.deepcopy(policy.to_dict())
    change(raw)
    try:
        yield Relaxation(kind, what, before, after, Policy.from_dict(raw, policy.base))
    except PolicyError:
        return


def _requirements(policy: Policy) -> Iterator[Relaxation]:
    for asked in policy.privacy.requirements:
        yield from relax_value(policy, asked, asked.kind.looser(asked.value))
    yield from _limits(policy)
    yield from _earlier(policy)
    share = policy.utility.suppression
    more = min(1.0, max(2 * share, LEAST_SUPPRESSION))
    if more > share:
        yield from allow_suppression(policy, more)


def _earlier(policy: Policy) -> Iterator[Relaxation]:
    """Stop the weaker adversary who intersects earlier releases, or none."""
    if policy.privacy.earlier is None:
        return
    before = format_count(len(policy.privacy.earlier), "release")
    if policy.privacy.earlier_adversary == "members":
        yield from _build_relaxation(
            policy, "requirement", "earlier_adversary", "members", "some",
            lambda raw: raw["privacy"].update(earlier_adversary="some"),
        )  # fmt: skip
        return
    yield from _build_relaxation(policy, "requirement", "earlier", before, "none", _without_earlier)


def _without_earlier(raw: dict[str, Any]) -> None:
    for key in ("earlier", "earlier_adversary"):
        raw["privacy"].pop(key, None)


def allow_suppression(policy: Policy, share: float) -> Iterator[Relaxation]:
    """Allow more suppression, if the policy is then valid."""
    yield from _build_relaxation(
        policy, "requirement", SUPPRESSION, f"{policy.utility.suppression:.4g}", f"{share:.4g}",
        lambda raw: raw["utility"].update(suppression=share),
    )  # fmt: skip


def relax_value(policy: Policy, asked: Asked, looser: Any) -> Iterator[Relaxation]:
    """Change one value of the policy, or take it out with every table that is empty without it if there is no `looser`
    one. Yields nothing if the policy is then not valid.
    """
    path = asked.path

    def change(raw: dict[str, Any]) -> None:
        tables = [raw]
        for name in path[:-1]:
            tables.append(tables[-1][name])
        if looser is not None:
            tables[-1][path[-1]] = looser
            return
        del tables[-1][path[-1]]
        for table, name in zip(reversed(tables[:-1]), reversed(path[:-1]), strict=True):
            if not set(table[name]) - set(asked.options):  # Options alone ask for nothing.
                del table[name]

    after = "none" if looser is None else _describe_value(asked, looser)
    yield from _build_relaxation(
        policy, "requirement", asked.title, _describe_value(asked, asked.value), after, change
    )


def _describe_value(asked: Asked, value: Any) -> str:
    """Format a value with its meaning in words, except for a journalist's threshold, which depends on the table."""
    words = asked.kind.in_words(value) if asked.options.get("by", "prosecutor") == "prosecutor" else ""
    return f"{_format_value(value)} ({words})" if words else _format_value(value)


def _format_value(value: Any) -> str:
    if isinstance(value, tuple | list):
        return f"({', '.join(_format_value(inner) for inner in value)})"
    return number(value)


def _limits(policy: Policy) -> Iterator[Relaxation]:
    """Generalization limits and protected categories, column by column."""
    for name, column in policy.columns.items():
        for key, given in (("limit", column.limit), ("protected", column.protected)):
            if given is not None:
                # Names of nodes may be values, so only their number is shown.
                before = f"level {given}" if isinstance(given, int) else format_count(len(given), "node")
                yield from _build_relaxation(
                    policy, "requirement", f"{key} of {name}", before, "none",
                    lambda raw, name=name, key=key: raw["columns"][name].pop(key),  # type: ignore[misc]
                )  # fmt: skip


def without_limits(policy: Policy) -> Iterator[Relaxation]:
    """Drop all generalization limits at once."""
    limited = [name for name, column in policy.columns.items() if column.limit is not None]

    def change(raw: dict[str, Any]) -> None:
        for name in limited:
            del raw["columns"][name]["limit"]

    if limited:
        names = ", ".join(limited)
        yield from _build_relaxation(policy, "requirement", "limits", f"of {names}", "none", change)


def _columns(policy: Policy) -> Iterator[Relaxation]:
    """Each quasi-identifier as if nobody could know it: published as it is."""
    names = policy.names(QUASI)
    for name in names if len(names) > 1 else ():
        yield from _build_relaxation(
            policy, "column", name, QUASI, PLAIN,
            lambda raw, name=name: raw["columns"].update({name: {"role": PLAIN.name}}),  # type: ignore[misc]
        )  # fmt: skip


def _methods(policy: Policy) -> Iterator[Relaxation]:
    own = policy.method.name
    for name in OTHERS:
        if name != own:
            yield from _build_relaxation(
                policy, "method", "method", own, name,
                lambda raw, name=name: raw.update(method={"name": name}),  # type: ignore[misc]
            )  # fmt: skip
