"""What Shoal does not do on Spark, each with a reason and, if there is one, the way that does work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.coding.roles import PERSON
from shoal.errors import ARGUMENTS, PolicyError, Problem
from shoal.judging.models.model import GroupModel

if TYPE_CHECKING:
    from shoal.methods import Method
    from shoal.policy import Policy

LOCAL = 'use the engine "local"'


def check_possible(policy: Policy) -> Method:
    """Return the method of a policy, or raise PolicyError with everything in it that Spark cannot do."""
    from shoal.methods import METHODS

    name = policy.method.name
    problems = check_judging(policy)
    if name not in METHODS:
        hint = "find the best method on a sample with the local engine, and name it"
        raise PolicyError(
            [*problems, Problem("method.name", f"'{name}' tries many methods on the whole table", hint)]
        )
    method = policy.build_method()
    able = [one for one, kind in METHODS.items() if by_classes(kind)]
    exact = method.can.search_mappings or method.box_cuts is not None
    if by_classes(type(method)) and not exact and isinstance(method.divides, str):
        hint = f"change its options, use {METHODS.default}, or {LOCAL}"
        problems.append(Problem("method", f"{name} cannot work on parts: {method.divides}", hint))
    if not by_classes(type(method)):
        why = "its release is not made of equivalence classes, so no task can judge a part of it alone"
        problems.append(Problem("method.name", f"{name}: {why}", f"use {', '.join(able)}, or {LOCAL}"))
    if not getattr(method, "strict", True):
        why = "cuts depend on the order of rows, and a cluster has none"
        problems.append(Problem("method.strict", f"false: {why}", f"leave it out, or {LOCAL}"))
    show = getattr(method, "show", "ranges")
    if show != "ranges":
        why = "value sets are not written on Spark"
        problems.append(Problem("method.show", f'"{show}": {why}', f'use "ranges", or {LOCAL}'))
    if policy.utility.levels is not None:
        why = "one set of labels per column needs the whole table at once"
        problems.append(
            Problem("utility.levels", why, f"use full-domain, which has one level per column, or {LOCAL}")
        )
    if policy.utility.suppress != "rows":
        why = "suppressing cells needs the whole table at once"
        problems.append(Problem("utility.suppress", why, f'use "rows", or {LOCAL}'))
    if policy.pseudonyms:
        why = "pseudonyms are drawn on one machine"
        name = policy.pseudonyms[0]
        problems.append(Problem(f"columns.{name}.publish", why, f"leave it out, or {LOCAL}"))
    for name in policy.perturbations:
        why = "values are perturbed on one machine"
        problems.append(Problem(f"columns.{name}.perturb", why, f"leave it out, or {LOCAL}"))
    if policy.release.escape_formulas:
        why = "Spark writes texts as they are"
        problems.append(Problem("release.escape_formulas", why, f"leave it out, or {LOCAL}"))
    if problems:
        raise PolicyError(problems)
    return method


def refuse_population(given: Any) -> None:
    """Refuse a population that was given next to the table."""
    if given is not None:
        why = "who could be in the table is compared row by row, which Spark does not do"
        raise PolicyError([Problem("population", why, f"leave it out, or {LOCAL}")], where=ARGUMENTS)


def by_classes(kind: type[Method]) -> bool:
    """Return whether releases of a method are made of classes, so that tasks can make and judge them part by part."""
    return (kind.shows.classes or kind.can.make_buckets) and not kind.can.presence_only


def check_judging(policy: Policy) -> list[Problem]:
    """Return what of a policy Spark cannot judge."""
    problems = []
    for model in policy.models():
        if model.about_classes and (not isinstance(model, GroupModel) or model.needs_population()):
            why = f"{model.name} is judged over all classes together, or with a population, which Spark does not do"
            hint = f"ask for k or for the highest risk of a prosecutor, or {LOCAL}"
            problems.append(Problem(f"privacy.{model.key.name}", why, hint))
        elif not isinstance(model, GroupModel) and model.asked_in != "columns":
            why = f"{model.name} is verified by matching people and rows across the whole table"
            hint = f"ask for guarantees of classes (k, l, t, p, alpha), or {LOCAL}"
            problems.append(Problem(f"privacy.{model.key.name}", why, hint))
    for model in policy.column_models():
        if model.readings == "any":
            why = f"{model.name} is verified on the cells of all rows"
            problems.append(Problem(f"columns.{model.key.name}", why, f"leave it out, or {LOCAL}"))
            break
    if policy.population is not None and policy.population.has_table:
        why = "who could be in the table is compared row by row"
        problems.append(Problem("population", why, f"leave it out, or {LOCAL}"))
    if policy.privacy.earlier is not None:
        why = "what several releases leave open together is found row by row"
        problems.append(Problem("privacy.earlier", why, f"leave it out, or {LOCAL}"))
    for key in ("workload", "regression", "predict"):
        if getattr(policy.utility, key) is not None:
            why = "what analysts will do is tried on all rows of the original and of the release"
            problems.append(Problem(f"utility.{key}", why, f"leave it out, or {LOCAL}"))
    if policy.names(PERSON):
        why = f"{', '.join(policy.names(PERSON))} says whose each row is, and Spark counts rows"
        hint = f"make the column an identifier if everybody has one row, or {LOCAL}"
        problems.append(Problem("columns", why, hint))
    return problems
