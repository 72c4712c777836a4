"""The public card of a release: made of its published rows, its policy and how its method works, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.coding.column_plan import ColumnPlan
from shoal.documents.codebook.label_losses import losses_shown, mean_loss
from shoal.judging.case import Case
from shoal.judging.models.hybrid_k import false_shares
from shoal.judging.public_case import public_case, shows_levels
from shoal.methods import METHODS
from shoal.policy import Policy
from shoal.release.record import PUBLISHED_AS, make_card

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
    # Methods that do not generalize report what they do instead.
    words = {**PUBLISHED_AS, **facts.get("published_as", {})}
    return make_card(
        {
            "rows": published.rows,
            "suppressed_at_most": limit,
            "classes": published.public_classes,
            "buckets": published.buckets,
            "method": policy.method.name,
            "levels": facts.get("levels") if shows_levels(case) else None,
            "shuffled_together": facts.get("groups"),
            "cells_changed_at_most": false_cells_allowed(case, policy),
            "codes_for_missing_are_null": list(recoded),
            "rows_that_can_be_followed": list(case.notes_on_following),
        },
        [
            {
                "name": plan.name,
                "role": plan.role,
                "published": _describe_column(plan, policy, words),
                "loss": losses.get(plan.name),
            }
            for plan in policy.plans(columns)
        ],
        case.verdicts,
        case.meanings(),
        public_measures(outside, losses),
        seed,
    )


def _describe_column(plan: ColumnPlan, policy: Policy, words: Mapping[str, str]) -> str:
    """Say how a column is published."""
    if plan.group is not None:
        return f"removed; guarantees count by {plan.group}"
    if plan.name in policy.perturbations:  # it shows other values than its own
        return f"perturbed: {policy.perturbations[plan.name].title}"
    return words[plan.publish or plan.role]


def false_cells_allowed(case: Case, policy: Policy) -> float | None:
    """Return which share of cells may be false; None if the method makes none. How many are, an adversary who knows
    everybody but one could solve for the last."""
    if policy.method.name not in METHODS or not METHODS[policy.method.name].false_cells.how:
        return None
    budgets = false_shares(case.requirements.models)
    return min([getattr(policy.build_method(), "budget", 1.0), *budgets])
