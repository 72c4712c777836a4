"""Which methods are tried with which options, and which attacks play which adversaries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from shoal.coding.roles import PERSON, SENSITIVE
from shoal.errors import PolicyError
from shoal.judging.attacks import ATTACKS
from shoal.judging.attacks.attack_base import Counted, Making, Setting
from shoal.judging.models.hybrid_k import false_shares, size_test_levels
from shoal.methods import METHODS
from shoal.methods.partitioning.windows import SETS
from shoal.methods.relocating.relocation import TESTED, VARIANTS
from shoal.pipeline.attack import attacks_against
from shoal.policy import Policy
from shoal.policy.adversaries import find_adversaries
from shoal.policy.method_options import NamedMethod, check_steering, option_types
from shoal.policy.sections import MethodChoice, Utility
from shoal.support.wording import Advice, format_setting

Options = Mapping[str, Any]


@dataclass(frozen=True)
class Planned:
    """A trial to be run, or one that the policy rules out."""

    method: str
    options: Options
    policy: Policy | None = None
    """The policy with this method and these options; None where it rules them out."""
    refusal: str = ""


@dataclass(frozen=True)
class PlannedAttack:
    """An attack to be tried on a release."""

    attack: str
    options: Options
    decides: bool
    """The policy is about this adversary."""
    named: bool = False
    """The policy names this adversary."""


def lists_values(policy: Policy) -> bool:
    """Return whether the policy's own method publishes lists of values instead of nodes of the hierarchies."""
    return bool(policy.method.options().get("show", _default_of_show(policy.method.name)) == SETS)


def _default_of_show(method: str) -> Any:
    """Return what a method shows by default; None if it has no choice."""
    options = fields(METHODS[method]) if method in METHODS else ()  # type: ignore[arg-type]
    return next((option.default for option in options if option.name == "show"), None)


def portfolio(policy: Policy, methods: Sequence[str], *, sets: bool = False) -> list[Planned]:
    """Return the trials of a policy: every method with suitable options, and the policy's own choice.

    Lists of values lose far less than nodes by every measure of cells, but they are not what hierarchies allow: they
    are tried in addition to nodes only if `sets` is set.
    """
    found: list[Planned] = []
    for name in methods:
        false_cells = METHODS[name].false_cells
        choices = _vary_options(policy, name, sets=sets)
        if false_cells.how and not choices:
            refusal = (
                f"{name} {false_cells.how}, and the policy allows no false cells; "
                f"to allow {100 * false_cells.share:g} %: "
                + format_setting("privacy.relocation.budget", false_cells.share)
            )
            found.append(Planned(name, {}, refusal=refusal))
        found += [_plan_method(policy, name, options) for options in choices]
    return found


def _vary_options(policy: Policy, name: str, *, sets: bool) -> list[Options]:
    """Return the options with which a method is tried; none if the policy rules out its false cells."""
    kind = METHODS[name]
    known = option_types(kind)
    choices: list[Options] = list(kind.trials)
    if kind.false_cells.how:
        allowed = [{n: v for n, v in options.items() if n in known} for options in _vary_relocation(policy)]
        choices = [{**own, **options} for own in kind.trials for options in allowed]
        choices = [options for at, options in enumerate(choices) if options not in choices[:at]]
    if policy.privacy.k is not None and "k" in known:
        # Buckets of at least k rows, the k of the policy.
        choices = [{**options, "k": policy.privacy.k} for options in choices]
    choices = _vary_show(choices, _default_of_show(name), sets=sets)
    if policy.method.name == name and policy.method.options() not in choices:
        choices.append(policy.method.options())
    return choices


def _vary_show(choices: list[Options], by_default: Any, *, sets: bool) -> list[Options]:
    """Return options that also say whether lists of values are published, if the method has the choice."""
    if by_default == SETS:
        shown = [{"show": SETS}] * sets + [{"show": "ranges"}]
        return [{**options, **show} for show in shown for options in choices]
    return choices + [{**options, "show": SETS} for options in choices if sets and by_default]


def _vary_relocation(policy: Policy) -> Iterator[Options]:
    """Yield the variants of relocation that the policy allows."""
    models = policy.models()
    budgets = false_shares(models)
    tests = size_test_levels(models)
    for variant in VARIANTS if budgets else ():
        if (variant in TESTED) == bool(tests):
            yield {"variant": variant, "budget": min(budgets)} | ({"alpha": max(tests)} if tests else {})


def _plan_method(policy: Policy, method: str, options: Options) -> Planned:
    """Plan a method with these options, or say why the policy itself rules them out."""
    try:
        return Planned(method, options, with_method(policy, method, options))
    except PolicyError as error:
        return Planned(method, options, refusal="; ".join(problem.message for problem in error.problems))


def with_method(policy: Policy, method: str, options: Options) -> Policy:
    """Return the policy with exactly this method and these options. If the policy's measure cannot steer the method,
    the default measure does; releases are still ranked by the policy's.
    """
    raw = {**policy.to_dict(), "method": {"name": method, **options}}
    choice = MethodChoice.model_validate(raw["method"])
    if check_steering(NamedMethod(choice), policy.utility.measure):
        raw["utility"] = {**raw["utility"], "measure": Utility().measure}
    return Policy.from_dict(raw, policy.base)


def with_k(policy: Policy, k: int | None) -> Policy:
    """Return the policy with another k."""
    if k is None or k == policy.privacy.k:
        return policy
    raw = policy.to_dict()
    return Policy.from_dict({**raw, "privacy": {**raw.get("privacy", {}), "k": k}}, policy.base)


def in_words(error: PolicyError) -> str:
    """Return what is wrong without the paths, as a reason in a table."""
    words = (
        f"{problem.message} ({problem.hint})" if problem.hint else problem.message
        for problem in error.problems
    )
    return Advice("; ".join(words), *(problem.hint for problem in error.problems))


def plan_attacks(policy: Policy) -> list[PlannedAttack]:
    """Return the attacks that play the adversaries of a policy and apply to its method, the deciding ones first."""
    setting = Setting(
        made=Making(method=policy.build_method()),
        models=policy.models(),
        sensitive=bool(policy.names(SENSITIVE)),
        population=True,  # A policy about presence names a population, or it is given with the table.
        owners=True,
        counted=Counted(
            people=bool(policy.names(PERSON)),
            followed=any(name in policy.pseudonyms for name in policy.names(PERSON)),
        ),
    )
    named = attacks_against(policy.privacy.adversary or (), setting)
    found = [
        PlannedAttack(name, options, True, (name, options) in named)
        for name, options in attacks_against(find_adversaries(policy.privacy), setting)
    ]
    decided = {attempt.attack for attempt in found}
    return found + [
        PlannedAttack(name, kind.informs, False)
        for name, kind in ATTACKS.items()
        if kind.informs is not None and name not in decided and not kind.refuses(setting)
    ]
