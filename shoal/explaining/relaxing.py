"""Every way to ask for a little less: one requirement, one column or the method changed, all else as it was."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from shoal.errors import PolicyError
from shoal.policy import Policy
from shoal.wording import counted, number

Kind = Literal["requirement", "column", "method"]

OTHERS = ("mondrian", "agglomerative")
"""Methods that are tried instead: a fast one, and a careful one. `shoal compare` tries all."""
STEP = 1.5
"""How much larger a t or an alpha becomes."""
LEAST_BUDGET = 0.01
"""What a budget for relocated cells is raised to at least."""
LEAST_SUPPRESSION = 0.02
"""What suppression is raised to at least."""


@dataclass(frozen=True)
class Relaxation:
    """A policy that asks for less in one respect."""

    kind: Kind
    what: str
    """What is changed, as the policy calls it."""
    before: str
    after: str
    policy: Policy

    @property
    def words(self) -> str:
        """Name the change in one line."""
        return f"{self.what}: {self.before} → {self.after}"


def relaxations(policy: Policy) -> list[Relaxation]:
    """Return one step for each requirement, then each column made plain, then other methods."""
    return [*_requirements(policy), *_columns(policy), *_methods(policy)]


def _made(
    policy: Policy, kind: Kind, what: str, before: str, after: str, change: Callable[[dict[str, Any]], None]
) -> Iterator[Relaxation]:
    """Yield the changed policy, unless it would be none: what it asks for may need what was left out."""
    raw = copy.deepcopy(policy.to_dict())
    change(raw)
    try:
        yield Relaxation(kind, what, before, after, Policy.from_dict(raw, policy.base))
    except PolicyError:
        return


def _requirements(policy: Policy) -> Iterator[Relaxation]:
    privacy = policy.to_dict().get("privacy", {})
    for key, value in privacy.items():
        if key == "k":
            yield from _entry(policy, ("privacy", "k"), "k", value, max(2, value // 2) if value > 2 else None)
        elif key in ("l", "t"):
            yield from _nested(policy, key, value)
        elif key in ("alpha", "p"):
            columns = value if isinstance(value, dict) else {None: value}
            for column, own in columns.items():
                path = ("privacy", key) if column is None else ("privacy", key, column)
                title = key if column is None else f"{key} of {column}"
                yield from _entry(policy, path, title, own, _looser(key, own))
        elif key == "presence":
            low, high = value
            wider = (low / 2, (high + 1) / 2)
            yield from _entry(policy, ("privacy", "presence"), "presence", tuple(value), wider)
        elif key == "relocation":
            for rule, own in value.items():
                # A significance level asks for less the smaller it is.
                looser = own / 2 if rule == "alpha" else min(1.0, max(2 * own, LEAST_BUDGET))
                if looser != own:
                    yield from _entry(
                        policy, ("privacy", "relocation", rule), f"relocation {rule}", own, looser
                    )
    yield from _limits(policy)
    share = policy.utility.suppression
    more = min(1.0, max(2 * share, LEAST_SUPPRESSION))
    if more > share:
        yield from _made(
            policy, "requirement", "suppression", f"{share:.4g}", f"{more:.4g}",
            lambda raw: raw["utility"].update(suppression=more),
        )  # fmt: skip


def _nested(policy: Policy, key: str, value: dict[str, Any]) -> Iterator[Relaxation]:
    """Rules of l and t: for all sensitive columns, or per column."""
    per_column = any(isinstance(inner, dict) for inner in value.values())
    for column, rules in value.items() if per_column else [(None, value)]:
        for rule, own in rules.items():
            path = ("privacy", key, rule) if column is None else ("privacy", key, column, rule)
            title = f"{rule} {key}" if column is None else f"{rule} {key} of {column}"
            yield from _entry(policy, path, title, own, _looser(rule, own))


def _looser(rule: str, value: Any) -> Any:
    """Return one sensible step less; None where the step is to do without."""
    if rule == "recursive":
        c, l = value  # noqa: E741
        return (c, l - 1) if l > 2 else None
    if rule in ("distinct", "entropy", "probabilistic", "slicing", "p"):
        return value - 1 if value > 2 else None
    # Shares and distances: t and alpha.
    return min(1.0, value * STEP) if 0 < value < 1 and (rule != "alpha" or value * STEP < 1) else None


def _entry(
    policy: Policy, path: tuple[str, ...], title: str, value: Any, looser: Any
) -> Iterator[Relaxation]:
    """Change one value of the policy, or take it out with every table that is empty without it."""

    def change(raw: dict[str, Any]) -> None:
        tables = [raw]
        for name in path[:-1]:
            tables.append(tables[-1][name])
        if looser is not None:
            tables[-1][path[-1]] = looser
            return
        for table, name in zip(reversed(tables), reversed(path), strict=True):
            if name == path[-1] or not table[name]:
                del table[name]

    after = "none" if looser is None else _shown(looser)
    yield from _made(policy, "requirement", title, _shown(value), after, change)


def _shown(value: Any) -> str:
    if isinstance(value, tuple | list):
        return f"({', '.join(_shown(inner) for inner in value)})"
    return number(value)


def _limits(policy: Policy) -> Iterator[Relaxation]:
    """Generalization limits and protected categories, column by column."""
    for name, column in policy.columns.items():
        for key, given in (("limit", column.limit), ("protected", column.protected)):
            if given is not None:
                # Names of nodes may be values, so only how many there are is said.
                before = f"level {given}" if isinstance(given, int) else counted(len(given), "node")
                yield from _made(
                    policy, "requirement", f"{key} of {name}", before, "none",
                    lambda raw, name=name, key=key: raw["columns"][name].pop(key),  # type: ignore[misc]
                )  # fmt: skip


def _columns(policy: Policy) -> Iterator[Relaxation]:
    """Each quasi-identifier as if nobody could know it: published as it is."""
    names = policy.names("quasi")
    for name in names if len(names) > 1 else ():
        yield from _made(
            policy, "column", name, "quasi", "plain",
            lambda raw, name=name: raw["columns"].update({name: {"role": "plain"}}),  # type: ignore[misc]
        )  # fmt: skip


def _methods(policy: Policy) -> Iterator[Relaxation]:
    own = policy.method.name
    for name in OTHERS:
        if name != own:
            yield from _made(
                policy, "method", "method", own, name,
                lambda raw, name=name: raw.update(method={"name": name}),  # type: ignore[misc]
            )  # fmt: skip
