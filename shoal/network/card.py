"""The public card of a masked network: what it protects against and what it lost. Nothing about individuals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.anonymizing import SUPPRESSION_MEANING
from shoal.measures.evaluate import public_measures
from shoal.models.base import Model
from shoal.network.judging import BY_STRUCTURE, NetworkAudit
from shoal.release.record import make_card

MEANINGS = {
    "suppression": SUPPRESSION_MEANING,
    "possible structure": "the numbers of people and of edges are consistent",
    "all nodes": "nobody was suppressed",
    "all edges": "no edge was left out",
    "identifiers removed": "columns that name people are removed",
    "candidates by structure": "for an adversary who knows the edges around a person, and the quasi-identifiers, "
    "so many candidates remain; tested by attacks",
    BY_STRUCTURE: "the candidates of a person have so many different values of the column; tested by the same attacks",
}
"""The meaning of verdicts that do not come from a model of the policy."""


def network_card(
    report: NetworkAudit, roles: dict[str, str], models: Sequence[Model], alpha: float, seed: int | None
) -> dict[str, Any]:
    """Return the card of a masked network; verdicts of the policy's models come first and in their order."""
    summary = report.summary() | {"method": "network clustering"}
    measures = summary["measures"]
    meanings = [model.summary for model in models]
    meanings += [MEANINGS[verdict.model.partition(":")[0]] for verdict in report.verdicts[len(models) :]]
    card = make_card(
        summary,
        roles=roles,
        verdicts=report.verdicts,
        meanings=meanings,
        # The structural loss follows from the published counts.
        measures={**public_measures(measures), **({"nsil": measures["nsil"]} if "nsil" in measures else {})},
        seed=seed,
    )
    return card | {
        "edges_published": report.edges_published,
        "weight_of_attributes": alpha,
        "weight_of_structure": 1.0 - alpha,
    }
