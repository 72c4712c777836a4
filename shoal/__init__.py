"""Shoal turns personal data into releases that are safe to publish: safety in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.support.registry import import_late

__version__ = "0.1.0"

if TYPE_CHECKING:
    from shoal.documents.codebook.describe import codebook
    from shoal.documents.evidence.check_pack import check_evidence
    from shoal.documents.evidence.pack import evidence
    from shoal.documents.report.build_report import Report, report
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
    from shoal.io.databases import DatabaseTable
    from shoal.judging.attacks import Exposure
    from shoal.network.anonymize_network import NetworkResult, anonymize_network
    from shoal.network.judge_network import audit_network
    from shoal.pipeline.anonymize import anonymize
    from shoal.pipeline.assess import Assessment, assess
    from shoal.pipeline.attack import attack
    from shoal.pipeline.audit import audit
    from shoal.pipeline.comparison import Comparison
    from shoal.pipeline.comparison.compare import compare
    from shoal.pipeline.explanation import Explanation
    from shoal.pipeline.explanation.explain import explain
    from shoal.policy import Policy
    from shoal.policy.suggestions import suggest
    from shoal.release import Release
    from shoal.release.results import Audit, Result
    from shoal.synthetic.audit_synthetic import SyntheticAudit, audit_synthetic

# Late, so that `import shoal` and `shoal --help` cost nothing.
__getattr__ = import_late(
    __name__,
    {
        "pipeline.anonymize": ("anonymize",),
        "pipeline.assess": ("Assessment", "assess"),
        "pipeline.attack": ("attack",),
        "judging.attacks": ("Exposure",),
        "pipeline.audit": ("audit",),
        "documents.codebook.describe": ("codebook",),
        "pipeline.comparison": ("Comparison",),
        "pipeline.comparison.compare": ("compare",),
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
        "pipeline.explanation": ("Explanation",),
        "pipeline.explanation.explain": ("explain",),
        "io.databases": ("DatabaseTable",),
        "network.anonymize_network": ("NetworkResult", "anonymize_network"),
        "network.judge_network": ("audit_network",),
        "documents.evidence.check_pack": ("check_evidence",),
        "documents.evidence.pack": ("evidence",),
        "policy": ("Policy",),
        "release": ("Release",),
        "release.results": ("Audit", "Result"),
        "documents.report.build_report": ("Report", "report"),
        "policy.suggestions": ("suggest",),
        "synthetic.audit_synthetic": ("SyntheticAudit", "audit_synthetic"),
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
    "SyntheticAudit",
    "ViolationError",
    "anonymize",
    "anonymize_network",
    "assess",
    "attack",
    "audit",
    "audit_network",
    "audit_synthetic",
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
