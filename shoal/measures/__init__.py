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
        "k-marginal": "shoal.measures.marginals:KMarginal",
        "pmse": "shoal.measures.propensity:Pmse",
        "pmse-ratio": "shoal.measures.propensity:PmseRatio",
        "workload-loss": "shoal.measures.workload:WorkloadLoss",
        "workload-error": "shoal.measures.workload:WorkloadError",
        "workload-error-max": "shoal.measures.workload:WorkloadErrorMax",
        "regression-overlap": "shoal.measures.regression:RegressionOverlap",
        "classification": "shoal.measures.learning:Classification",
        "classification-auc": "shoal.measures.learning:ClassificationAuc",
        "classification-loss": "shoal.measures.learning:ClassificationLoss",
        "prediction-r2": "shoal.measures.prediction:PredictionR2",
        "prediction-r2-loss": "shoal.measures.prediction:PredictionR2Loss",
        "risk-prosecutor-max": "shoal.measures.risk:ProsecutorMax",
        "risk-prosecutor-mean": "shoal.measures.risk:ProsecutorMean",
        "risk-at-risk": "shoal.measures.risk:AtRisk",
        "risk-journalist-max": "shoal.measures.risk:JournalistMax",
        "risk-marketer": "shoal.measures.risk:Marketer",
        "unique-before": "shoal.measures.risk:UniqueBefore",
        "unique-after": "shoal.measures.risk:UniqueAfter",
        "unique-in-population-pitman-before": "shoal.measures.population:PitmanBefore",
        "unique-in-population-pitman-after": "shoal.measures.population:PitmanAfter",
        "unique-in-population-zayatz-before": "shoal.measures.population:ZayatzBefore",
        "unique-in-population-zayatz-after": "shoal.measures.population:ZayatzAfter",
        "unique-in-population-snb-before": "shoal.measures.population:SnbBefore",
        "unique-in-population-snb-after": "shoal.measures.population:SnbAfter",
        "unique-in-population-dankar-before": "shoal.measures.population:DankarBefore",
        "unique-in-population-dankar-after": "shoal.measures.population:DankarAfter",
        "risk-individual-max-before": "shoal.measures.individual:HighestBefore",
        "risk-individual-max-after": "shoal.measures.individual:HighestAfter",
        "risk-individual-mean-before": "shoal.measures.individual:MeanBefore",
        "risk-individual-mean-after": "shoal.measures.individual:MeanAfter",
        "risk-individual-expected-before": "shoal.measures.individual:ExpectedBefore",
        "risk-individual-expected-after": "shoal.measures.individual:ExpectedAfter",
        "unique-in-few-before": "shoal.measures.singling_out:SingledOutBefore",
        "unique-in-few-after": "shoal.measures.singling_out:SingledOutAfter",
    },
)


def steering(kinds: Sequence[str]) -> list[str]:
    """Return the measures that steer a search which optimizes one of these kinds."""
    return [name for name in MEASURES if MEASURES[name].steers in kinds]


__all__ = ["MEASURES", "CellMeasure", "ClassMeasure", "Measure", "steering"]
