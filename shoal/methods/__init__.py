"""Ways to make a release. A new one is a file here and a line in `METHODS`."""

from shoal.methods.method import Method
from shoal.support.registry import Registry

METHODS: Registry[Method] = Registry(
    "method",
    {
        "mondrian": "shoal.methods.partitioning.mondrian:Mondrian",
        "full-domain": "shoal.methods.full_domain.full_domain:FullDomain",
        "incognito": "shoal.methods.full_domain.incognito:Incognito",
        "hybrid": "shoal.methods.relocating.hybrid:Hybrid",
        "hybrid-mondrian": "shoal.methods.relocating.hybrid_mondrian:HybridMondrian",
        "relocate": "shoal.methods.relocating.hybrid_mondrian:Relocate",
        "p-k": "shoal.methods.sensitive.p_k:PK",
        "greedy-p-k": "shoal.methods.sensitive.p_k:GreedyPK",
        "enhanced-p-k": "shoal.methods.sensitive.p_k:EnhancedPK",
        "agglomerative": "shoal.methods.clustering.agglomerative:Agglomerative",
        "forest": "shoal.methods.clustering.forest:Forest",
        "nearest": "shoal.methods.cells.k_one:Nearest",
        "expansion": "shoal.methods.cells.k_one:Expansion",
        "k-k": "shoal.methods.cells.k_k:KK",
        "global-1-k": "shoal.methods.cells.global_one_k:GlobalOneK",
        "ring": "shoal.methods.cells.ring:Ring",
        "hilbert": "shoal.methods.partitioning.ordered:Hilbert",
        "mpalm": "shoal.methods.presence.mpalm:MPALM",
        "spalm": "shoal.methods.presence.spalm:SPALM",
        "bucketization": "shoal.methods.permuting.shuffled_buckets:Bucketization",
        "anatomy": "shoal.methods.permuting.anatomy:Anatomy",
        "slice-columns": "shoal.methods.permuting.shuffled_buckets:SliceColumns",
        "slicing": "shoal.methods.permuting.slicing:Slicing",
        "permute-generalize": "shoal.methods.permuting.permute_generalize:PermuteGeneralize",
        "microaggregation": "shoal.methods.aggregating.microaggregation:Microaggregation",
        "lexicographic": "shoal.methods.partitioning.ordered:Lexicographic",
    },
)

__all__ = ["METHODS", "Method"]
