"""Shoal turns personal data into releases that are safe to publish: safety in numbers."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from shoal.anonymizing import anonymize
    from shoal.attacking import attack
    from shoal.attacks import Exposure
    from shoal.auditing import audit
    from shoal.comparing import Comparison
    from shoal.comparing.compare import compare
    from shoal.errors import (
        DataError,
        HierarchyError,
        InfeasibleError,
        OutputError,
        PolicyError,
        ShoalError,
        ViolationError,
    )
    from shoal.explaining import Explanation
    from shoal.explaining.explain import explain
    from shoal.network.anonymize import NetworkResult, anonymize_network
    from shoal.network.judging import audit_network
    from shoal.policy import Policy
    from shoal.release import Release
    from shoal.release.results import Audit, Result
    from shoal.reporting.report import Report, report

# Imported when first asked for, so that `import shoal` and `shoal --help` cost nothing.
_PLACES = {
    "Audit": "shoal.release.results",
    "Comparison": "shoal.comparing",
    "DataError": "shoal.errors",
    "Explanation": "shoal.explaining",
    "Exposure": "shoal.attacks",
    "HierarchyError": "shoal.errors",
    "InfeasibleError": "shoal.errors",
    "NetworkResult": "shoal.network.anonymize",
    "OutputError": "shoal.errors",
    "Policy": "shoal.policy",
    "PolicyError": "shoal.errors",
    "Release": "shoal.release",
    "Report": "shoal.reporting.report",
    "Result": "shoal.release.results",
    "ShoalError": "shoal.errors",
    "ViolationError": "shoal.errors",
    "anonymize": "shoal.anonymizing",
    "anonymize_network": "shoal.network.anonymize",
    "attack": "shoal.attacking",
    "audit": "shoal.auditing",
    "audit_network": "shoal.network.judging",
    "explain": "shoal.explaining.explain",
    "report": "shoal.reporting.report",
    "compare": "shoal.comparing.compare",
}

__all__ = [
    "Audit",
    "Comparison",
    "DataError",
    "Explanation",
    "Exposure",
    "HierarchyError",
    "InfeasibleError",
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
    "attack",
    "audit",
    "audit_network",
    "compare",
    "explain",
    "report",
]


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module 'shoal' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
