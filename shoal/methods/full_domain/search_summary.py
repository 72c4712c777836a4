"""What a search over mappings tells about itself."""

from __future__ import annotations

from typing import Any

from shoal.methods.full_domain.mapping_judge import Judge


def describe_pruning(judge: Judge) -> dict[str, str]:
    """Return, for the facts of a release, what the search could prune by."""
    by = "groups that fail at every specialization"
    loose = judge.loose
    if loose:
        note = (
            f"{', '.join(loose)} not monotone: a mapping that fails says nothing about its specializations, so only "
            "bounds and groups that fail at every specialization rule mappings out"
        )
        return {"pruned_by": by, "pruning": note}
    if judge.others and not judge.strict:
        note = (
            "with suppression, rows that these models suppress may be published in specializations, so only bounds and "
            "groups that fail at every specialization rule mappings out"
        )
        return {"pruned_by": by, "pruning": note}
    return {"pruned_by": by}


def proof(judge: Judge, value: float, bound: float, *, exact: bool) -> dict[str, Any]:
    """Return, for the facts of a release, its loss, what no mapping can lose less than, and whether both are equal."""
    unit = judge.objective.unit
    return {"loss": value * unit, "bound": bound * unit, "exact": exact}


def infeasible(mappings: int, judge: Judge) -> str:
    """Return how far the best mapping is from satisfying the requirements."""
    titles = [model.title for model in judge.requirements.group_models]
    models = " and ".join([*titles, *(rule.title for rule in judge.rules)])
    return (
        f"none of the {mappings:,} mappings satisfies {models}: the best mapping found leaves {judge.fewest:,} of "
        f"{judge.rows:,} rows in groups that fail, and only {judge.most:,} may be suppressed"
    )
