"""Adversaries that a policy may name instead of models: what each knows, which models stop her, and why.

Every derivation says no more than is proven: who is linked to which row, or who is in the table. What a release tells
about sensitive values is another question, which `l`, `t`, `alpha` and `p` are about.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from shoal.errors import Problem

if TYPE_CHECKING:
    from shoal.models import Model
    from shoal.policy.parts import MethodChoice
    from shoal.policy.privacy import Privacy

AdversaryName = Literal[
    "knows-some", "knows-members", "knows-algorithm", "knows-distribution", "unsure-of-membership"
]


@dataclass(frozen=True)
class Adversary:
    """One adversary of whom a policy may speak."""

    name: str
    knows: str
    """What she knows and does, as the end of a sentence."""
    notion: str | None
    """The weakest model about links that is known to stop her; None where she does not link."""
    because: str
    """Why that is enough, and which methods give it."""


ADVERSARIES: dict[str, Adversary] = {
    adversary.name: adversary
    for adversary in (
        Adversary(
            "knows-some",
            "knows the quasi-identifiers of people of whom she knows that they are in the table, but not who else is",
            "k-k",
            "(k,k)-anonymity is enough: k published rows fit every person, and k people every row. Classes of k equal "
            "rows have this, and the rings of `ring` unless rows are suppressed, so that methods by classes, `k-k`, "
            "`global-1-k` and `ring` may serve.",
        ),
        Adversary(
            "knows-members",
            "knows everybody's quasi-identifiers and exactly who is in the table, and drops every pair of a person and "
            "a row that no complete assignment contains",
            "global-1-k",
            "(k,k) is not enough; global (1,k)-anonymity is: k rows are left for every person after that. Classes of k "
            "equal rows and the rings of `ring` have this too, so that methods by classes, `global-1-k` and `ring` "
            "may serve.",
        ),
        Adversary(
            "knows-algorithm",
            "knows everybody's quasi-identifiers, who is in the table, and the method, and runs it again",
            "probabilistic-k",
            "She repeats whatever follows from the quasi-identifiers, so only rows that read alike, or chance, are "
            "enough: probabilistic k. In classes of k equal rows each is a person's with 1/k at most, and `ring` deals "
            "its cells out at random, each to one of k people with 1/k. `k-k`, `global-1-k` and relocation by a fixed "
            "rule can be repeated and are ruled out. What the choice of classes tells about sensitive values, where a "
            "method looks at them, is not covered.",
        ),
        Adversary(
            "knows-distribution",
            "knows how often which quasi-identifiers truly occur, and looks for classes that are larger than they can "
            "be",
            None,
            "She can only find rows that were relocated. Where no cell is untrue there are none; where the policy "
            "permits some, the sizes of the classes must pass Pearson's chi-squared test (alpha-hybrid). A test that "
            "does not reject is no proof that she learns nothing.",
        ),
        Adversary(
            "unsure-of-membership",
            "knows everybody in a population, and asks who of them is in the table at all",
            None,
            "delta-presence says it outright: everybody's chance to be in the table stays between two bounds. It is "
            "worked out against the population that the policy names, and holds for no other.",
        ),
    )
}

HELPLESS = {
    "nearest": ("knows-some", "knows-members", "knows-algorithm"),
    "expansion": ("knows-some", "knows-members", "knows-algorithm"),
    "k-k": ("knows-members", "knows-algorithm"),
    "global-1-k": ("knows-algorithm",),
}
"""Method -> adversaries whom it does not stop, whatever its options."""

RELOCATING = ("hybrid", "hybrid-mondrian", "relocate")
"""Methods that change cells outright."""
DRAWN = ("randomized", "rstat")
"""Variants of relocation that cannot be run again."""
ALPHA = 0.05
"""Significance level against `knows-distribution`, unless the policy has one."""


def notions_against(names: Sequence[str]) -> tuple[str, ...]:
    """Return the notions that stop these adversaries. None is left out for following from another: where rows are
    suppressed, fewer do.
    """
    needed = (ADVERSARIES[name].notion for name in ADVERSARIES if name in names)
    return tuple(notion for notion in needed if notion is not None)


def models_against(privacy: Privacy) -> Iterator[Model]:
    """Yield the models that stop the adversaries of a policy, without those that its own notion says already."""
    from shoal.models import MODELS

    for notion in notions_against(privacy.adversary or ()):
        # Classes of k equal rows stop all of them, suppressed rows or not.
        if privacy.notion not in (notion, "k-anonymity"):
            kind: Any = MODELS[notion]
            yield kind(k=privacy.k)
    relocation = privacy.relocation
    if "knows-distribution" in (privacy.adversary or ()) and (relocation is None or relocation.alpha is None):
        from shoal.models.hybrid import AlphaHybrid

        yield AlphaHybrid(alpha=ALPHA)


def about_links(privacy: Privacy) -> bool:
    """Whether an adversary is named who links people to rows, so that k is about her."""
    return bool(notions_against(privacy.adversary or ()))


def implied(privacy: Privacy) -> tuple[str, ...]:
    """Return the adversaries that a policy names, and those that its models are about where it names none."""
    found: list[str] = list(privacy.adversary or ())
    if privacy.k is not None and not about_links(privacy):
        notion = privacy.notion or "k-anonymity"
        stopped = {"probabilistic-k": "knows-algorithm", "k-anonymity": "knows-members"}
        found.append(stopped.get(notion, "knows-members" if notion == "global-1-k" else "knows-some"))
    if privacy.presence is not None:
        found.append("unsure-of-membership")
    if privacy.relocation is not None and privacy.relocation.alpha is not None:
        found.append("knows-distribution")
    return tuple(name for name in ADVERSARIES if name in found)


def derivation(privacy: Privacy) -> tuple[str, ...]:
    """Say, adversary by adversary, what is asked of a release and why."""
    named = privacy.adversary or ()
    lines = []
    for name in implied(privacy):
        adversary = ADVERSARIES[name]
        if name in named:
            lines.append(f"{name}, named by the policy: {adversary.knows}. {adversary.because}")
            continue
        line = (
            f"{name}, whom the policy's requirements are about: {adversary.knows}. Releases are attacked so."
        )
        if adversary.notion is not None and privacy.notion in (None, "k-anonymity"):
            line += " Named in privacy.adversary instead of k-anonymity, more methods may stop her."
        lines.append(line)
    return tuple(lines)


def adversary_problems(privacy: Privacy, method: MethodChoice | None) -> list[Problem]:
    """Return what is missing or contradictory where a policy names adversaries."""
    path, found = "privacy.adversary", []
    names: tuple[str, ...] = privacy.adversary or ()
    twice = sorted({name for name in names if names.count(name) > 1})
    found += [Problem(path, f"{name} stands there twice", "once is enough") for name in twice]
    for name in dict.fromkeys(names):
        if name == "unsure-of-membership":
            if privacy.presence is None:
                message = f"{name} needs the chances between which she may be left"
                found.append(Problem(path, message, "add presence = [0.0, 0.5], and a [population]"))
        elif privacy.k is None:
            message = f"{name} is stopped by a number of people who might be meant, but there is no k"
            found.append(Problem(path, message, "add for example k = 5"))
    if method is None:
        return found
    for name in HELPLESS.get(method.name, ()):
        if name in names:
            hint = "take auto, or see which methods do: `shoal compare`"
            found.append(Problem("method.name", f"{method.name} does not stop the adversary {name}", hint))
    for name in ("knows-some", "knows-members") if method.name in RELOCATING else ():
        if name in names:
            message = "rows that were relocated fit people who do not own them, so that "
            message += f"{ADVERSARIES[name].notion} cannot be verified"
            hint = f"ask for k and relocation without {name}, or take another method"
            found.append(Problem("method.name", message, hint))
    variant = method.options().get("variant", "deterministic")
    if method.name in RELOCATING and "knows-algorithm" in names and variant not in DRAWN:
        message = f"{method.name} moves rows by a fixed rule, which whoever knows it can run again"
        found.append(Problem("method.variant", message, "take randomized, or rstat"))
    if method.name in RELOCATING and "knows-algorithm" in names and privacy.presence is not None:
        message = f"{method.name} relocates rows, and presence is judged as if nobody knew"
        hint = "ask for presence without knows-algorithm, or take another method: mpalm, spalm"
        found.append(Problem("privacy.presence", message, hint))
    return found
