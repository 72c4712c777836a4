"""Privacy models. A new one is a file here and a line in `MODELS`."""

from shoal.judging.models.model import GroupModel, Model, SensitiveModel
from shoal.support.registry import Registry

MODELS: Registry[Model] = Registry(
    "model",
    {
        "k-anonymity": "shoal.judging.models.k_anonymity:KAnonymity",
        "distinct-l": "shoal.judging.models.l_diversity:DistinctDiversity",
        "probabilistic-l": "shoal.judging.models.l_diversity:ProbabilisticDiversity",
        "entropy-l": "shoal.judging.models.l_diversity:EntropyDiversity",
        "recursive-cl": "shoal.judging.models.l_diversity:RecursiveDiversity",
        "t-equal": "shoal.judging.models.t_closeness:EqualCloseness",
        "t-ordered": "shoal.judging.models.t_closeness:OrderedCloseness",
        "t-hierarchical": "shoal.judging.models.t_closeness:HierarchicalCloseness",
        "beta-likeness": "shoal.judging.models.beta_likeness:BetaLikeness",
        "delta-disclosure": "shoal.judging.models.delta_disclosure:DeltaDisclosure",
        "alpha-k": "shoal.judging.models.alpha_k:AlphaK",
        "k-e": "shoal.judging.models.k_e:KE",
        "p-sensitive": "shoal.judging.models.p_sensitive:PSensitive",
        "hybrid-k": "shoal.judging.models.hybrid_k:HybridK",
        "alpha-hybrid": "shoal.judging.models.hybrid_k:AlphaHybrid",
        "extended-p-sensitive": "shoal.judging.models.extended_p:ExtendedPSensitive",
        "1-k": "shoal.judging.models.k_type:OneK",
        "k-1": "shoal.judging.models.k_type:KOne",
        "k-k": "shoal.judging.models.k_type:KK",
        "global-1-k": "shoal.judging.models.k_type:GlobalOneK",
        "probabilistic-k": "shoal.judging.models.probabilistic_k:ProbabilisticK",
        "delta-presence": "shoal.judging.models.delta_presence:DeltaPresence",
        "slicing-l": "shoal.judging.models.slicing_l:SlicingDiversity",
        "learned-l": "shoal.judging.models.learned_l:LearnedDiversity",
        "candidate-l": "shoal.judging.models.probabilistic_k:CandidateDiversity",
        "highest-risk": "shoal.judging.models.risk_limits:HighestRisk",
        "average-risk": "shoal.judging.models.risk_limits:AverageRisk",
        "share-at-risk": "shoal.judging.models.risk_limits:ShareAtRisk",
        "known-columns": "shoal.judging.models.known_columns:KnownColumns",
        "k-map": "shoal.judging.models.k_map:KMap",
        "generalization-limit": "shoal.judging.models.generalization_limit:WithinLimit",
        "hidden-values": "shoal.judging.models.hidden:HiddenValues",
        "safe-harbor": "shoal.judging.models.safe_harbor:SafeHarbor",
    },
)

__all__ = ["MODELS", "GroupModel", "Model", "SensitiveModel"]
