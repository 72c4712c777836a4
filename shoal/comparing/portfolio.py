"""Which methods are tried with which options, and which attacks fit which adversaries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.errors import PolicyError
from shoal.methods import METHODS
from shoal.policy import Policy
from shoal.policy.adversaries import ALPHA, DRAWN, RELOCATING, implied
from shoal.policy.checks import option_types

Options = Mapping[str, Any]

OPTIONS: dict[str, tuple[Options, ...]] = {
    "mondrian": ({}, {"strict": False}),
    # Improvement may outlast the time limit, the clustering before it hardly does.
    "agglomerative": ({}, {"improve": False}),
    "ring": ({"order": "best"}, {"partition": "hilbert", "order": "best"}),
}
"""Options worth a trial of their own; a method that is not here is tried as it is."""

SHOWING = ("ring", "hilbert", "lexicographic")
"""Methods that list the values that occur, whatever hierarchies say, unless they are told to show nodes or ranges."""


@dataclass(frozen=True)
class Planned:
    """A trial to be run, or one that the policy rules out."""

    method: str
    options: Options
    refusal: str = ""


@dataclass(frozen=True)
class Attempt:
    """An attack to be tried on a release."""

    attack: str
    options: Options
    decides: bool
    """The policy is about this adversary."""


def lists_values(policy: Policy) -> bool:
    """Whether the policy's own method publishes lists of values instead of nodes of the hierarchies."""
    usual = "sets" if policy.method.name in SHOWING else None
    return policy.method.options().get("show", usual) == "sets"


def portfolio(policy: Policy, methods: Sequence[str], *, sets: bool = False) -> list[Planned]:
    """Return the trials of a policy: every method with options that suit it, and the policy's own choice of them.

    Lists of values lose far less than nodes by every measure of cells, but they are not what hierarchies permit: they
    are tried beside nodes only if `sets` says so.
    """
    found: list[Planned] = []
    for name in methods:
        choices: list[Options] = list(_relocating(policy) if name in RELOCATING else OPTIONS.get(name, ({},)))
        if policy.privacy.k is not None and "k" in option_types(METHODS[name]):
            # Buckets of as many rows as the policy wants people to be among.
            choices = [{**options, "k": policy.privacy.k} for options in choices]
        if name == "relocate":
            choices = [
                {"base": base, **options} for base in ("mondrian", "agglomerative") for options in choices
            ]
        if name in SHOWING:
            shown = [{"show": "sets"}] * sets + [{"show": "ranges"}]
            choices = [{**options, **show} for show in shown for options in choices]
        elif sets and "show" in option_types(METHODS[name]):
            choices += [{**options, "show": "sets"} for options in choices]
        if policy.method.name == name and policy.method.options() not in choices:
            choices.append(policy.method.options())
        if name in RELOCATING and not choices:
            refusal = (
                f"{name} changes cells outright, and the policy permits no untrue cells; "
                "privacy.relocation = { budget = 0.01 } would permit one in a hundred"
            )
            found.append(Planned(name, {}, refusal))
        found += [Planned(name, options, _ruled_out(policy, name, options)) for options in choices]
    return found


def _relocating(policy: Policy) -> Iterator[Options]:
    """Variants of relocation within what the policy permits, and none that its adversaries could undo."""
    limits = policy.privacy.relocation
    if limits is None or limits.budget is None:
        return
    adversaries = implied(policy.privacy)
    tested = "knows-distribution" in adversaries
    variants: tuple[str, ...] = ("statistical", "rstat") if tested else ("deterministic", "randomized")
    if "knows-algorithm" in adversaries:
        variants = tuple(variant for variant in variants if variant in DRAWN)
    for variant in variants:
        options: dict[str, Any] = {"variant": variant, "budget": limits.budget}
        yield options | ({"alpha": limits.alpha or ALPHA} if tested else {})


def _ruled_out(policy: Policy, method: str, options: Options) -> str:
    """Say why the policy itself does not permit a method with these options, or nothing."""
    try:
        with_method(policy, method, options)
    except PolicyError as error:
        return "; ".join(problem.message for problem in error.problems)
    return ""


def with_method(policy: Policy, method: str, options: Options) -> Policy:
    """Return the policy with exactly this method and these options."""
    return Policy.from_dict({**policy.to_dict(), "method": {"name": method, **options}}, policy.base)


def with_k(policy: Policy, k: int | None) -> Policy:
    """Return the policy with another k."""
    if k is None or k == policy.privacy.k:
        return policy
    raw = policy.to_dict()
    return Policy.from_dict({**raw, "privacy": {**raw.get("privacy", {}), "k": k}}, policy.base)


def in_words(error: PolicyError) -> str:
    """Say what is wrong without the paths, for a reason in a table."""
    return "; ".join(
        f"{problem.message} ({problem.hint})" if problem.hint else problem.message
        for problem in error.problems
    )


def attempts(policy: Policy, method: str, options: Options) -> list[Attempt]:
    """Return the attacks that fit the adversaries of a policy and what a method publishes, the deciding ones first."""
    adversaries = implied(policy.privacy)
    found = []
    if "knows-some" in adversaries:
        found.append(Attempt("linkage", {"adversary": "some"}, True))
    if "knows-members" in adversaries or "knows-algorithm" in adversaries:
        # Where rows were relocated nobody can tell which assignments are complete; rows that fit can be counted.
        knows = "some" if method in RELOCATING else "members"
        found.append(Attempt("linkage", {"adversary": knows}, True))
    if "knows-algorithm" in adversaries and method == "ring":
        rings = {key: options[key] for key in ("partition", "order") if key in options}
        found.append(Attempt("algorithm-aware", rings, True))
    if "knows-distribution" in adversaries:
        limits = policy.privacy.relocation
        alpha = limits.alpha if limits is not None and limits.alpha is not None else ALPHA
        found.append(Attempt("statistical", {"alpha": alpha}, True))
    if "unsure-of-membership" in adversaries:
        found.append(Attempt("membership", {}, True))
    if not any(attempt.attack == "linkage" for attempt in found):
        found.append(Attempt("linkage", {"adversary": "members"}, False))
    if policy.names("sensitive"):
        found.append(Attempt("attribute-disclosure", {}, False))
    return found
