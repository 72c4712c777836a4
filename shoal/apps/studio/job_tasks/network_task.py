"""The work of masking a network: what ``shoal network anonymize`` does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.apps.studio.job_worker import Line
from shoal.network.anonymize_network import anonymize_network_files
from shoal.network.network_files import NetworkFiles
from shoal.network.network_report import (
    ATTACK_HEAD,
    DISCLOSURE_HEAD,
    attack_rows,
    disclosure_rows,
    structure_rows,
)
from shoal.policy import Policy


def network(
    line: Line,
    *,
    nodes: str | Path,
    edges: str | Path | None,
    policy: str,
    base: Path,
    kind: str,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Mask a network, and write it with its papers into the job's folder; `options` are those of the masking."""
    place = line.folder / "masked"
    files = NetworkFiles(
        folder=place, kind=kind, record=line.folder / "record.json", report=line.folder / "report-private.html",
        cards=[line.folder / "card.md", line.folder / "card.json"],
    )  # fmt: skip
    result = anonymize_network_files(
        nodes, edges, Policy.from_toml(policy, base), files, progress=line.progress, **options
    )
    return {
        "summary": result.summary(),
        "attack_head": ATTACK_HEAD,
        "attacks": attack_rows(result),
        "disclosure_head": DISCLOSURE_HEAD,
        "disclosures": disclosure_rows(result),
        "structure": structure_rows(result),
        "picture": result.drawing(),
        "public": sorted(path.name for path in place.iterdir()),
        "notes": list(result.notes),
    }
