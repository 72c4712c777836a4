"""Information loss, usefulness and risk. A new measure is a file here and a line in `MEASURES`."""

from collections.abc import Sequence

from shoal.judging.measures.measure import CellMeasure, ClassMeasure, Measure
from shoal.support.registry import Registry

MEASURES: Registry[Measure] = Registry(
    "measure",
    {
        "lm": "shoal.judging.measures.cell_losses:Lm",
        "gcp": "shoal.judging.measures.cell_losses:Gcp",
        "entropy": "shoal.judging.measures.entropy:Entropy",
        "entropy-nonuniform": "shoal.judging.measures.entropy:NonUniformEntropy",
        "precision": "shoal.judging.measures.cell_losses:Precision",
        "ag": "shoal.judging.measures.cell_losses:Ag",
        "il": "shoal.judging.measures.cell_losses:Il",
        "dm": "shoal.judging.measures.class_sizes:Discernibility",
        "avg": "shoal.judging.measures.class_sizes:AverageClass",
        "classes": "shoal.judging.measures.class_sizes:NumberOfClasses",
        "query-error": "shoal.judging.measures.count_queries:QueryError",
        "query-error-mean": "shoal.judging.measures.count_queries:MeanQueryError",
        "k-marginal": "shoal.judging.measures.marginals:KMarginal",
        "pmse": "shoal.judging.measures.propensity:Pmse",
        "pmse-ratio": "shoal.judging.measures.propensity:PmseRatio",
        "workload-loss": "shoal.judging.measures.workload:WorkloadLoss",
        "workload-error": "shoal.judging.measures.workload:WorkloadError",
        "workload-error-max": "shoal.judging.measures.workload:WorkloadErrorMax",
        "regression-overlap": "shoal.judging.measures.regression:RegressionOverlap",
        "classification": "shoal.judging.measures.classification:Classification",
        "classification-auc": "shoal.judging.measures.classification:ClassificationAuc",
        "classification-loss": "shoal.judging.measures.classification:ClassificationLoss",
        "prediction-r2": "shoal.judging.measures.prediction:PredictionR2",
        "prediction-r2-loss": "shoal.judging.measures.prediction:PredictionR2Loss",
        "risk-prosecutor-max": "shoal.judging.measures.risk_measures:ProsecutorMax",
        "risk-prosecutor-mean": "shoal.judging.measures.risk_measures:ProsecutorMean",
        "risk-at-risk": "shoal.judging.measures.risk_measures:AtRisk",
        "risk-journalist-max": "shoal.judging.measures.risk_measures:JournalistMax",
        "risk-marketer": "shoal.judging.measures.risk_measures:Marketer",
        "unique-before": "shoal.judging.measures.risk_measures:UniqueBefore",
        "unique-after": "shoal.judging.measures.risk_measures:UniqueAfter",
        "unique-in-population-pitman-before": "shoal.judging.measures.population_uniqueness:PitmanBefore",
        "unique-in-population-pitman-after": "shoal.judging.measures.population_uniqueness:PitmanAfter",
        "unique-in-population-zayatz-before": "shoal.judging.measures.population_uniqueness:ZayatzBefore",
        "unique-in-population-zayatz-after": "shoal.judging.measures.population_uniqueness:ZayatzAfter",
        "unique-in-population-snb-before": "shoal.judging.measures.population_uniqueness:SnbBefore",
        "unique-in-population-snb-after": "shoal.judging.measures.population_uniqueness:SnbAfter",
        "unique-in-population-dankar-before": "shoal.judging.measures.population_uniqueness:DankarBefore",
        "unique-in-population-dankar-after": "shoal.judging.measures.population_uniqueness:DankarAfter",
        "risk-individual-max-before": "shoal.judging.measures.individual_risk_measures:HighestBefore",
        "risk-individual-max-after": "shoal.judging.measures.individual_risk_measures:HighestAfter",
        "risk-individual-mean-before": "shoal.judging.measures.individual_risk_measures:MeanBefore",
        "risk-individual-mean-after": "shoal.judging.measures.individual_risk_measures:MeanAfter",
        "risk-individual-expected-before": "shoal.judging.measures.individual_risk_measures:ExpectedBefore",
        "risk-individual-expected-after": "shoal.judging.measures.individual_risk_measures:ExpectedAfter",
        "unique-in-few-before": "shoal.judging.measures.singling_out:SingledOutBefore",
        "unique-in-few-after": "shoal.judging.measures.singling_out:SingledOutAfter",
    },
)


def measures_that_steer(kinds: Sequence[str]) -> list[str]:
    """Return the measures that steer a search which optimizes one of these kinds."""
    return [name for name in MEASURES if MEASURES[name].steers in kinds]


__all__ = ["MEASURES", "CellMeasure", "ClassMeasure", "Measure", "measures_that_steer"]
