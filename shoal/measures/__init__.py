"""Information loss, usefulness and risk. A new measure is a file here and a line in `MEASURES`."""

from collections.abc import Sequence

from shoal.measures.base import CellMeasure, ClassMeasure, Measure
from shoal.registry import Registry

MEASURES: Registry[Measure] = Registry(
    "measure",
    {
        "lm": "shoal.measures.cells:Lm",
        "gcp": "shoal.measures.cells:Gcp",
        "entropy": "shoal.measures.entropy:Entropy",
        "entropy-nonuniform": "shoal.measures.entropy:NonUniformEntropy",
        "precision": "shoal.measures.cells:Precision",
        "ag": "shoal.measures.cells:Ag",
        "il": "shoal.measures.cells:Il",
        "dm": "shoal.measures.classes:Discernibility",
        "avg": "shoal.measures.classes:AverageClass",
        "classes": "shoal.measures.classes:NumberOfClasses",
        "query-error": "shoal.measures.queries:QueryError",
        "query-error-mean": "shoal.measures.queries:MeanQueryError",
        "classification": "shoal.measures.learning:Classification",
        "classification-auc": "shoal.measures.learning:ClassificationAuc",
        "classification-loss": "shoal.measures.learning:ClassificationLoss",
        "risk-prosecutor-max": "shoal.measures.risk:ProsecutorMax",
        "risk-prosecutor-mean": "shoal.measures.risk:ProsecutorMean",
        "risk-at-risk": "shoal.measures.risk:AtRisk",
        "risk-journalist-max": "shoal.measures.risk:JournalistMax",
        "risk-marketer": "shoal.measures.risk:Marketer",
        "unique-before": "shoal.measures.risk:UniqueBefore",
        "unique-after": "shoal.measures.risk:UniqueAfter",
    },
)


def steering(kinds: Sequence[str]) -> list[str]:
    """Return the measures that steer a search which optimizes one of these kinds."""
    return [name for name in MEASURES if MEASURES[name].steers in kinds]


__all__ = ["MEASURES", "CellMeasure", "ClassMeasure", "Measure", "steering"]
