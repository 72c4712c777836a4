"""Adversaries that attack a release before publication. A new one is a file here and a line in `ATTACKS`."""

from shoal.attacks.base import Attack, Exposure
from shoal.registry import Registry

ATTACKS: Registry[Attack] = Registry(
    "attack",
    {
        "linkage": "shoal.attacks.linkage:Linkage",
        "membership": "shoal.attacks.membership:Membership",
        "statistical": "shoal.attacks.statistical:Statistical",
        "attribute-disclosure": "shoal.attacks.attribute_disclosure:AttributeDisclosure",
        "corruption": "shoal.attacks.corruption:Corruption",
        "algorithm-aware": "shoal.attacks.algorithm_aware:AlgorithmAware",
    },
)

__all__ = ["ATTACKS", "Attack", "Exposure"]
