"""Privacy models. A new one is a file here and a line in `MODELS`."""

from shoal.models.base import GroupModel, Model, SensitiveModel
from shoal.registry import Registry

MODELS: Registry[Model] = Registry(
    "model",
    {
        "k-anonymity": "shoal.models.k_anonymity:KAnonymity",
        "distinct-l": "shoal.models.l_diversity:DistinctDiversity",
        "probabilistic-l": "shoal.models.l_diversity:ProbabilisticDiversity",
        "entropy-l": "shoal.models.l_diversity:EntropyDiversity",
        "recursive-cl": "shoal.models.l_diversity:RecursiveDiversity",
        "t-equal": "shoal.models.t_closeness:EqualCloseness",
        "t-ordered": "shoal.models.t_closeness:OrderedCloseness",
        "t-hierarchical": "shoal.models.t_closeness:HierarchicalCloseness",
        "beta-likeness": "shoal.models.beta_likeness:BetaLikeness",
        "delta-disclosure": "shoal.models.delta_disclosure:DeltaDisclosure",
        "alpha-k": "shoal.models.alpha_k:AlphaK",
        "k-e": "shoal.models.k_e:KE",
        "p-sensitive": "shoal.models.p_sensitive:PSensitive",
        "hybrid-k": "shoal.models.hybrid:HybridK",
        "alpha-hybrid": "shoal.models.hybrid:AlphaHybrid",
        "extended-p-sensitive": "shoal.models.extended_p:ExtendedPSensitive",
        "1-k": "shoal.models.k_type:OneK",
        "k-1": "shoal.models.k_type:KOne",
        "k-k": "shoal.models.k_type:KK",
        "global-1-k": "shoal.models.k_type:GlobalOneK",
        "probabilistic-k": "shoal.models.probabilistic_k:ProbabilisticK",
        "delta-presence": "shoal.models.delta_presence:DeltaPresence",
        "slicing-l": "shoal.models.slicing_l:SlicingDiversity",
        "candidate-l": "shoal.models.probabilistic_k:CandidateDiversity",
        "highest-risk": "shoal.models.risk:HighestRisk",
        "average-risk": "shoal.models.risk:AverageRisk",
        "share-at-risk": "shoal.models.risk:ShareAtRisk",
        "k-map": "shoal.models.k_map:KMap",
        "generalization-limit": "shoal.models.limit:WithinLimit",
        "hidden-values": "shoal.models.hidden:HiddenValues",
        "safe-harbor": "shoal.models.safe_harbor:SafeHarbor",
    },
)

__all__ = ["MODELS", "GroupModel", "Model", "SensitiveModel"]
