"""Ways to make a release. A new one is a file here and a line in `METHODS`."""

from shoal.methods.base import Method
from shoal.registry import Registry

METHODS: Registry[Method] = Registry(
    "method",
    {
        "mondrian": "shoal.methods.mondrian:Mondrian",
        "full-domain": "shoal.methods.full_domain:FullDomain",
        "incognito": "shoal.methods.incognito:Incognito",
        "hybrid": "shoal.methods.hybrid:Hybrid",
        "hybrid-mondrian": "shoal.methods.hybrid_mondrian:HybridMondrian",
        "relocate": "shoal.methods.hybrid_mondrian:Relocate",
        "p-k": "shoal.methods.p_k:PK",
        "greedy-p-k": "shoal.methods.greedy_p_k:GreedyPK",
        "enhanced-p-k": "shoal.methods.enhanced_p_k:EnhancedPK",
        "agglomerative": "shoal.methods.agglomerative:Agglomerative",
        "forest": "shoal.methods.forest:Forest",
        "nearest": "shoal.methods.k_one:Nearest",
        "expansion": "shoal.methods.k_one:Expansion",
        "k-k": "shoal.methods.k_k:KK",
        "global-1-k": "shoal.methods.global_one_k:GlobalOneK",
        "ring": "shoal.methods.ring:Ring",
        "hilbert": "shoal.methods.hilbert:Hilbert",
        "mpalm": "shoal.methods.mpalm:MPALM",
        "spalm": "shoal.methods.spalm:SPALM",
        "bucketization": "shoal.methods.permuting:Bucketization",
        "anatomy": "shoal.methods.anatomy:Anatomy",
        "slice-columns": "shoal.methods.permuting:SliceColumns",
        "slicing": "shoal.methods.slicing:Slicing",
        "permute-generalize": "shoal.methods.permute_generalize:PermuteGeneralize",
        "lexicographic": "shoal.methods.lexicographic:Lexicographic",
    },
)

__all__ = ["METHODS", "Method"]
