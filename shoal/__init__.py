"""Shoal turns personal data into releases that are safe to publish: safety in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.registry import imported_late

__version__ = "0.1.0"

if TYPE_CHECKING:
    from shoal.anonymizing import anonymize
    from shoal.assessing import Assessment, assess
    from shoal.attacking import attack
    from shoal.attacks import Exposure
    from shoal.auditing import audit
    from shoal.codebooks.codebook import codebook
    from shoal.comparing import Comparison
    from shoal.comparing.compare import compare
    from shoal.errors import (
        DataError,
        HierarchyError,
        InfeasibleError,
        LimitError,
        OutputError,
        PolicyError,
        ShoalError,
        ViolationError,
    )
    from shoal.explaining import Explanation
    from shoal.explaining.explain import explain
    from shoal.frames.databases import DatabaseTable
    from shoal.network.anonymize import NetworkResult, anonymize_network
    from shoal.network.judging import audit_network
    from shoal.packs.checking import check_evidence
    from shoal.packs.pack import evidence
    from shoal.policy import Policy
    from shoal.release import Release
    from shoal.release.results import Audit, Result
    from shoal.reporting.report import Report, report
    from shoal.suggesting import suggest

# Late, so that `import shoal` and `shoal --help` cost nothing.
__getattr__ = imported_late(
    __name__,
    {
        "anonymizing": ("anonymize",),
        "assessing": ("Assessment", "assess"),
        "attacking": ("attack",),
        "attacks": ("Exposure",),
        "auditing": ("audit",),
        "codebooks.codebook": ("codebook",),
        "comparing": ("Comparison",),
        "comparing.compare": ("compare",),
        "errors": (
            "DataError",
            "HierarchyError",
            "InfeasibleError",
            "LimitError",
            "OutputError",
            "PolicyError",
            "ShoalError",
            "ViolationError",
        ),
        "explaining": ("Explanation",),
        "explaining.explain": ("explain",),
        "frames.databases": ("DatabaseTable",),
        "network.anonymize": ("NetworkResult", "anonymize_network"),
        "network.judging": ("audit_network",),
        "packs.checking": ("check_evidence",),
        "packs.pack": ("evidence",),
        "policy": ("Policy",),
        "release": ("Release",),
        "release.results": ("Audit", "Result"),
        "reporting.report": ("Report", "report"),
        "suggesting": ("suggest",),
    },
)

__all__ = [
    "Assessment",
    "Audit",
    "Comparison",
    "DataError",
    "DatabaseTable",
    "Explanation",
    "Exposure",
    "HierarchyError",
    "InfeasibleError",
    "LimitError",
    "NetworkResult",
    "OutputError",
    "Policy",
    "PolicyError",
    "Release",
    "Report",
    "Result",
    "ShoalError",
    "ViolationError",
    "anonymize",
    "anonymize_network",
    "assess",
    "attack",
    "audit",
    "audit_network",
    "check_evidence",
    "codebook",
    "compare",
    "evidence",
    "explain",
    "report",
    "suggest",
]


def __dir__() -> list[str]:
    return sorted(["__version__", *__all__])
