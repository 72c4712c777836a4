"""What a masked network has lost: generalization (NGIL) and structure (NSIL)."""

from __future__ import annotations

import numpy as np

from shoal.judging.linking.evidence import Evidence
from shoal.judging.measures.cell_losses import Il
from shoal.network.masked import MaskedNetwork


def ngil(evidence: Evidence) -> float:
    """Normalized generalization information loss: IL over what it would be if every cell showed its whole domain.

    0..1; NaN if cells are not in their domains.
    """
    published = evidence.published
    weights = sum(attribute.weight for attribute in published.attributes)
    rows = published.rows + published.suppressed
    return Il().value(evidence) / (rows * weights) if rows * weights else 0.0


def nsil(masked: MaskedNetwork) -> float:
    """Normalized structural information loss: how uncertain it is, on average, whether two nodes are joined.

    A super-node of s nodes with e inner edges loses 2 e (1 - e / pairs), a super-edge likewise; all divided by the
    maximum, n (n - 1) / 4, which is reached if every second pair is joined. 0..1. O(super-nodes + super-edges).
    """
    a, b, between = masked.between
    pairs = masked.size * (masked.size - 1) / 2
    lost = _uncertain(masked.inside, pairs) + _uncertain(between, masked.size[a] * masked.size[b])
    people = masked.people
    return lost / (people * (people - 1) / 4) if people > 1 else 0.0


def _uncertain(edges: np.ndarray, pairs: np.ndarray) -> float:
    return float((2.0 * edges * (1.0 - edges / np.maximum(pairs, 1))).sum())
