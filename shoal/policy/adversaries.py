"""Adversaries that a policy may name instead of models: what each knows, and which models stop them, and why.

A model says on its class which adversary it is about, and whether it is the weakest known to stop them. Every
derivation claims no more than is proven: who is linked to which row, or who is in the table. What a release reveals
about sensitive values is another question, which `l`, `t`, `alpha` and `p` are about.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal

from shoal.errors import Problem
from shoal.judging.models import MODELS, GroupModel, Model
from shoal.support.wording import format_setting

if TYPE_CHECKING:
    from shoal.methods import Method
    from shoal.policy.privacy import Privacy

AdversaryName = Literal[
    "knows-some",
    "knows-members",
    "knows-algorithm",
    "knows-distribution",
    "learns-from-release",
    "unsure-of-membership",
]


@dataclass(frozen=True)
class Adversary:
    """An adversary that a policy may name."""

    name: str
    knows: str
    """What they know and do, as the end of a sentence."""
    needs: str
    """The key of `[privacy]` without which a policy cannot name them."""
    because: str
    """Why the weakest model about them is enough, and which methods give it."""


ADVERSARIES: dict[str, Adversary] = {
    adversary.name: adversary
    for adversary in (
        Adversary(
            "knows-some",
            "knows the quasi-identifiers of some people and that they are in the table, but not who else is",
            "k",
            "(k,k)-anonymity is enough only if they know fewer than k others. People who match no more rows than they "
            "are own these rows, and under (k,k) that takes at least k people. An adversary who knows them removes "
            "these rows from the candidates of everyone else. At least k rows must be left for every person, whichever "
            "others the adversary knows: as many as `known` says; without it, everyone else. Equivalence classes of k "
            "rows have this property for any number, and so have the releases of `ring` unless rows are suppressed. "
            "Methods by classes, `k-k`, `global-1-k` and `ring` qualify.",
        ),
        Adversary(
            "knows-members",
            "knows everyone's quasi-identifiers and exactly who is in the table, and drops every pair of a person and "
            "a row that no complete assignment contains",
            "k",
            "(k,k) is not enough; global (1,k)-anonymity is: at least k rows are left for every person after that. "
            "They need not be equally likely: see the likeliest pair of the attack `linkage`. "
            "Equivalence classes of k rows and the releases of `ring` have this property too. Methods by classes, "
            "`global-1-k` and `ring` qualify.",
        ),
        Adversary(
            "knows-algorithm",
            "knows everyone's quasi-identifiers, who is in the table, and the method, and runs it again",
            "k",
            "They can repeat whatever follows from the quasi-identifiers, so only equivalence classes or random "
            "assignments are enough: probabilistic k. In a class of k rows each row belongs to a person with a "
            "probability of at most 1/k, and `ring` assigns its cells at random, each to one of k people with "
            "probability 1/k. `k-k` and `global-1-k` can be repeated and are ruled out, and the sizes of classes show "
            "where relocated rows went. Bounds on presence hold for them only with `drawn = true` of `mpalm`. "
            "This does not cover what the choice of classes reveals about sensitive values where a method reads them: "
            "the attack `minimality` measures that, and `blind = true` of `lexicographic` and `hilbert` stops it.",
        ),
        Adversary(
            "knows-distribution",
            "knows how often each combination of quasi-identifiers truly occurs, and looks for classes that are larger "
            "than they can be",
            "k",
            "They can only find rows that were relocated. A release without false cells has none. If the policy allows "
            "some, the class sizes must pass Pearson's chi-squared test (alpha-hybrid). A test that does not reject is "
            "not a proof that they learn nothing.",
        ),
        Adversary(
            "learns-from-release",
            "knows everyone's quasi-identifiers and who is in the table, and learns from all classes or buckets "
            "together which values go with which quasi-identifiers",
            "l",
            "No rule about single classes or buckets is enough. Learned l-diversity plays the attack `definetti` on "
            "the release: where people are guessed right more often than in 1/l of all cases, the release fails. That "
            "holds for this adversary, not for one with a better classifier.",
        ),
        Adversary(
            "unsure-of-membership",
            "knows everyone in a population, and asks which of them are in the table at all",
            "presence",
            "delta-presence states it directly: everyone's probability to be in the table stays between two bounds. "
            "Shoal computes it against the population that the policy names; it holds for no other.",
        ),
    )
}


def weakest_against(names: Sequence[str]) -> list[type[Model]]:
    """Return the weakest models that stop these adversaries. All are listed, even if one implies another: it may not
    where rows are suppressed.
    """
    ordered = [name for name in ADVERSARIES if name in names]
    return [kind for name in ordered for kind in MODELS.values() if kind.weakest and kind.about == name]


def models_against(privacy: Privacy) -> Iterator[Model]:
    """Yield the models that stop the adversaries of a policy, without those that the policy asks for itself."""
    asked = [one.kind for one in privacy.requirements]
    for kind in weakest_against(privacy.adversary or ()):
        if not _links(kind):
            if kind not in asked and not _of_columns(kind):
                yield kind.from_policy(kind.usual)
        # Classes of k rows stop everyone who links, suppressed rows or not. Without k the policy is rejected.
        elif privacy.k is not None and (
            privacy.notion is None or not issubclass(MODELS[privacy.notion], (kind, GroupModel))
        ):
            yield kind.from_policy(privacy.k, **privacy.options_of(kind))


def _links(kind: type[Model]) -> bool:
    """Whether a model is about linking people to rows: one of the notions of k."""
    return kind.key is next(iter(MODELS.values())).key


def _of_columns(kind: type[Model]) -> bool:
    """Whether a model is about a sensitive column, so that the policy must say how much it asks for."""
    return any(field.name == "column" for field in fields(kind))  # type: ignore[arg-type]


def find_adversaries(privacy: Privacy) -> tuple[str, ...]:
    """Return the adversaries that a policy names, and those that its own models are about."""
    found: list[str] = list(privacy.adversary or ())
    links = any(_links(kind) for kind in weakest_against(found))
    # Anyone who knows few columns is none of those who link, because these know all quasi-identifiers.
    links = links or privacy.keys is not None
    found += [one.kind.about for one in privacy.requirements if not (links and _links(one.kind))]
    return tuple(name for name in ADVERSARIES if name in found)


def derivation(privacy: Privacy) -> tuple[str, ...]:
    """Explain, adversary by adversary, what a policy asks of a release and why."""
    named = privacy.adversary or ()
    by_classes = privacy.notion is None or issubclass(MODELS[privacy.notion], GroupModel)
    lines = []
    for name in find_adversaries(privacy):
        adversary = ADVERSARIES[name]
        if name in named:
            lines.append(f"{name}, named by the policy: {adversary.knows}. {adversary.because}")
            continue
        line = f"{name}, implied by the policy's requirements: {adversary.knows}. Shoal attacks releases this way."
        if by_classes and any(_links(kind) for kind in weakest_against([name])):
            line += (
                " Tip: name the adversary (`privacy.adversary`) instead of k alone, and more methods qualify."
            )
        lines.append(line)
    return tuple(lines)


def adversary_problems(privacy: Privacy) -> list[Problem]:
    """Return what is missing or contradictory if a policy names adversaries."""
    path, found = "privacy.adversary", []
    names: tuple[str, ...] = privacy.adversary or ()
    twice = sorted({name for name in names if names.count(name) > 1})
    found += [Problem(path, f"lists {name} twice", "once is enough") for name in twice]
    for name in dict.fromkeys(names):
        needs = ADVERSARIES[name].needs
        if privacy.values_by_key.get(needs) is None and not any(map(_of_columns, weakest_against([name]))):
            example = next(kind.usual for kind in MODELS.values() if kind.key.name == needs)
            hint = f"add for example {needs} = {list(example) if isinstance(example, tuple) else example}"
            found.append(Problem(path, f"{name} needs {needs}, which the policy does not set", hint))
    asked = [one.kind for one in privacy.requirements]
    for kind in weakest_against(names):
        if _of_columns(kind) and kind not in asked:
            rule = next(iter(kind.rules))
            hint = f"add for example {kind.key.name} = {{ {rule} = {kind.usual} }}"
            message = f"{kind.about} is stopped only by {kind.name}, which the policy does not ask for"
            found.append(Problem(path, message, hint))
    return found


def check_stopped(privacy: Privacy, method: Method | None) -> list[Problem]:
    """Return the adversaries of a policy that its method cannot stop; nothing if the method cannot be built."""
    names: tuple[str, ...] = privacy.adversary or ()
    learns = "learns-from-release" in find_adversaries(privacy)
    if method is None or not (names or learns):
        return []
    found = [problem for name, problem in method.cannot_stop.items() if name in names]
    if "knows-algorithm" in names and privacy.presence is not None and not method.hides_presence:
        message = (
            f"{method.name} is not proven to hide who is in the table from an adversary who runs it again"
        )
        hint = "ask for presence without knows-algorithm, or take mpalm with " + format_setting(
            "method.drawn", True
        )
        found.append(Problem("privacy.presence", message, hint))
    if method.false_cells.how and learns:
        message = f"{method.name} {method.false_cells.how}, so nobody can tell who is in which class"
        found.append(Problem("privacy.l", message, "take another method, or remove `learned`"))
    return found
