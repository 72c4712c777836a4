"""Many measures at once, and one measure column by column."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

from shoal.judging.linking.evidence import Evidence
from shoal.judging.measures import MEASURES, CellMeasure, Measure


def measure_all(evidence: Evidence, names: Iterable[str] | None = None) -> dict[str, float]:
    """Measure a release by the named measures, or by all default ones and those of the analyses that the policy names.

    A default measure whose value cannot be known is left out (`explain_unmeasured` says why); a named one is NaN. The
    work is done per class and per distinct range, so many rows stay cheap.
    """
    found = {}
    for measure in _chosen(names, evidence):
        if names is None and _explain_missing_library(measure):
            continue
        if measure.why_unknown(evidence) is None:
            found[measure.name] = measure.value(evidence)
        elif names is not None:
            found[measure.name] = float("nan")
    return found


def explain_unmeasured(evidence: Evidence) -> dict[str, str]:
    """Return the reason for each default measure, and each measure of an analysis that the policy names, that cannot be
    computed from the given data.
    """
    reasons = {
        measure.name: _explain_missing_library(measure) or measure.why_unknown(evidence)
        for measure in _chosen(None, evidence)
    }
    return {name: reason for name, reason in reasons.items() if reason is not None}


def per_column(measure: str | CellMeasure, evidence: Evidence) -> dict[str, float]:
    """Return the loss of each quasi-identifier by a cell measure: the mean over rows, or the sum if the measure
    reports sums. Weights are ignored. NaN if the value cannot be known.
    """
    chosen = MEASURES[measure]() if isinstance(measure, str) else measure
    if not isinstance(chosen, CellMeasure):
        raise TypeError(f"'{chosen.name}' is not a loss of cells, so it has no value per column")
    published = evidence.published
    names = [attribute.name for attribute in published.attributes]
    if chosen.why_unknown(evidence) is not None:
        return dict.fromkeys(names, float("nan"))
    rows = 1 if chosen.total else max(published.rows + published.suppressed, 1)
    losses = chosen.column_losses(evidence) / rows
    return dict(zip(names, losses.tolist(), strict=True))


def false_losses(evidence: Evidence) -> list[str]:
    """Say what a release with false cells would lose if they were true: losses count what cells show."""
    measure = MEASURES[MEASURES.default]()
    shown, honest = measure.value(evidence), measure.value_for_comparison(evidence)
    if not honest > shown:
        return []
    return [
        f"information loss (LM) counts what cells show, {shown:.2%}; counting each false cell at the width that would "
        f"make it true, it is {honest:.2%}"
    ]


def analyses(names: Iterable[str]) -> list[str]:
    """Return those of some measures that are about analyses which a policy names, and that people are shown."""
    known = set(names)
    return [
        name
        for name, kind in MEASURES.items()
        if kind.analysis.key and kind.reported.terminal and name in known
    ]


def measure_analyses(evidence: Evidence) -> dict[str, float]:
    """Compute the measures of the analyses that the policy names, of those that reports show."""
    own = [
        measure for measure in _chosen(None, evidence) if measure.analysis.key and measure.reported.terminal
    ]
    return {
        one.name: one.value(evidence)
        for one in own
        if not _explain_missing_library(one) and one.why_unknown(evidence) is None
    }


def _chosen(names: Iterable[str] | None, evidence: Evidence) -> list[Measure]:
    if names is not None:
        return [MEASURES[name]() for name in names]
    return [measure for kind in MEASURES.values() if (measure := kind()).is_wanted(evidence)]


def _explain_missing_library(measure: Measure) -> str | None:
    """Return which library a measure lacks, or None."""
    module, _, extra = measure.analysis.library.partition(" ")
    if not module or find_spec(module) is not None:
        return None
    return f'needs {module}, which is not installed: pip install "shoal[{extra}]"'
