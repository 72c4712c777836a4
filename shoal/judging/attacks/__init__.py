"""Adversaries that attack a release before publication. A new one is a file here and a line in `ATTACKS`."""

from shoal.judging.attacks.attack_base import Attack, Exposure
from shoal.support.registry import Registry

ATTACKS: Registry[Attack] = Registry(
    "attack",
    {
        "linkage": "shoal.judging.attacks.linkage:Linkage",
        "few-known": "shoal.judging.attacks.few_known:FewKnown",
        "record-linkage": "shoal.judging.attacks.record_linkage:RecordLinkage",
        "attribute-disclosure": "shoal.judging.attacks.attribute_disclosure:AttributeDisclosure",
        "statistical": "shoal.judging.attacks.statistical_attack:Statistical",
        "membership": "shoal.judging.attacks.membership:Membership",
        "algorithm-aware": "shoal.judging.attacks.algorithm_aware:AlgorithmAware",
        "minimality": "shoal.judging.attacks.minimality:Minimality",
        "corruption": "shoal.judging.attacks.corruption:Corruption",
        "refinement": "shoal.judging.attacks.refinement:Refinement",
        "singling-out": "shoal.judging.attacks.singling_out:SinglingOut",
        "definetti": "shoal.judging.attacks.definetti:DeFinetti",
        "downcoding": "shoal.judging.attacks.downcoding:Downcoding",
        "intersection": "shoal.judging.attacks.intersection:Intersection",
    },
)

__all__ = ["ATTACKS", "Attack", "Exposure"]
