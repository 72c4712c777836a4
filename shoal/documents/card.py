"""The public card of a release: made of its published rows, its policy and how its method works, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.coding.roles import PERSON
from shoal.documents.codebook.label_losses import losses_shown, mean_loss
from shoal.judging.case import Case
from shoal.judging.models.hybrid_k import false_shares
from shoal.judging.public_case import public_case, shows_levels
from shoal.methods import METHODS
from shoal.policy import Policy
from shoal.release.record import make_card

LOSS = "loss"
"""What public documents call the mean of `losses_shown`."""


def public_measures(outside: Case, losses: Mapping[str, float]) -> dict[str, float]:
    """Return the measures of a release that the public may see: what `public_case` is enough for."""
    mean = mean_loss(losses, outside.policy)
    return {**({} if mean is None else {LOSS: mean}), **outside.measures}


def card_of(
    case: Case,
    policy: Policy,
    columns: Sequence[str],
    facts: Mapping[str, Any],
    *,
    seed: int | None,
    recoded: Sequence[str] = (),
) -> dict[str, Any]:
    """Make the card of a release. `policy` names the method that made it, `columns` are those of the original, and
    `facts` what the method reports: only its levels, its groups of columns and how it publishes cells are used.
    """
    outside = public_case(case)
    losses = losses_shown(outside.count_texts, policy)
    published, limit = outside.published, case.requirements.suppression
    return make_card(
        {
            "rows": published.rows,
            "suppressed_at_most": limit,
            "classes": published.public_classes,
            "buckets": published.buckets,
            "method": policy.method.name,
            "levels": facts.get("levels") if shows_levels(case) else None,
            "losses": losses,
            "groups": facts.get("groups"),
            "published_as": facts.get("published_as", {}),
            "budget": false_cells_allowed(case, policy),
        },
        roles={plan.name: plan.publish or plan.role for plan in policy.plans(columns)},
        groups={name: own.group for name, own in policy.columns.items() if own.group is not None},
        verdicts=case.verdicts,
        meanings=case.meanings(),
        measures=public_measures(outside, losses),
        seed=seed,
        recoded=recoded,
        following=case.notes_on_following,
        person=policy.names(PERSON),
        perturbed={name: way.title for name, way in policy.perturbations.items()},
    )


def false_cells_allowed(case: Case, policy: Policy) -> float | None:
    """Return which share of cells may be false; None if the method makes none. How many are, an adversary who knows
    everybody but one could solve for the last."""
    if policy.method.name not in METHODS or not METHODS[policy.method.name].false_cells.how:
        return None
    budgets = false_shares(case.requirements.models)
    return min([getattr(policy.build_method(), "budget", 1.0), *budgets])
