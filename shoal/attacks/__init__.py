"""Adversaries that attack a release before publication. A new one is a file here and a line in `ATTACKS`."""

from shoal.attacks.base import Attack, Exposure
from shoal.registry import Registry

ATTACKS: Registry[Attack] = Registry(
    "attack",
    {
        "linkage": "shoal.attacks.linkage:Linkage",
        "record-linkage": "shoal.attacks.record_linkage:RecordLinkage",
        "attribute-disclosure": "shoal.attacks.attribute_disclosure:AttributeDisclosure",
        "statistical": "shoal.attacks.statistical:Statistical",
        "membership": "shoal.attacks.membership:Membership",
        "algorithm-aware": "shoal.attacks.algorithm_aware:AlgorithmAware",
        "minimality": "shoal.attacks.minimality:Minimality",
        "corruption": "shoal.attacks.corruption:Corruption",
        "intersection": "shoal.attacks.intersection:Intersection",
    },
)

__all__ = ["ATTACKS", "Attack", "Exposure"]
