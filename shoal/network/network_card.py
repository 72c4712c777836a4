"""The public card of a masked network: what it protects against and what it lost. Nothing about individuals."""

from __future__ import annotations

from typing import Any

from shoal.documents.card import public_measures
from shoal.documents.codebook.label_losses import losses_shown
from shoal.judging.case import SUPPRESSION_MEANING
from shoal.judging.public_case import public_case
from shoal.network.judge_network import BY_STRUCTURE, NetworkAudit, network_case
from shoal.network.masked import MaskedNetwork
from shoal.policy import Policy
from shoal.release.record import PUBLISHED_AS, make_card

MEANINGS = {
    "suppression": SUPPRESSION_MEANING,
    "possible structure": "the numbers of people and of edges are consistent",
    "all nodes": "nobody was suppressed",
    "all edges": "no edge was left out",
    "truthful": "every member shows the values of a person of its cluster: nothing was invented",
    "edges of clusters": "the numbers of edges inside and between clusters are those of the original",
    "identifiers removed": "columns that name people are removed",
    "candidates by structure": "for an adversary who knows the edges around a person, and the quasi-identifiers, "
    "so many candidates remain; tested by attacks",
    BY_STRUCTURE: "the candidates of a person have so many different values of the column; tested by the same attacks",
}
"""The meaning of verdicts that do not come from a model of the policy."""
ALWAYS = ("suppression", "possible structure", "identifiers removed")
"""Those of them that Shoal computes whether nodes were suppressed or not."""


def network_card(
    report: NetworkAudit, masked: MaskedNetwork, policy: Policy, alpha: float, seed: int | None
) -> dict[str, Any]:
    """Return the card of a masked network; verdicts of the policy's models come first and in their order."""
    outside = public_case(network_case(masked, policy, None))
    losses = losses_shown(outside.count_texts, policy)
    models = outside.requirements.all_models
    meanings = [model.summary for model in models]
    meanings += [MEANINGS[verdict.model.partition(":")[0]] for verdict in report.verdicts[len(models) :]]
    # That the others are there says that nobody was suppressed: public only where the policy allows nothing else.
    whole = not outside.requirements.suppression
    told = [
        (verdict, meaning)
        for place, (verdict, meaning) in enumerate(zip(report.verdicts, meanings, strict=True))
        if whole or place < len(models) or verdict.model in ALWAYS
    ]
    card = make_card(
        {
            "rows": outside.published.rows,
            "suppressed_at_most": outside.requirements.suppression,
            "classes": report.classes,
            "buckets": None,
            "method": "network clustering",
            "levels": None,
        },
        [
            {
                "name": name,
                "role": str(column.role),
                "published": PUBLISHED_AS[str(column.role)],
                "loss": losses.get(name),
            }
            for name, column in policy.columns.items()
        ],
        [verdict for verdict, _ in told],
        [meaning for _, meaning in told],
        # The structural loss follows from the published counts.
        {"nsil": report.measures["nsil"], **public_measures(outside, losses)},
        seed,
    )
    return card | {
        "edges_published": report.edges_published,
        "weight_of_attributes": alpha,
        "weight_of_structure": 1.0 - alpha,
    }
