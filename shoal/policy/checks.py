"""All problems of a policy at once: the shape of every section, and contradictions between sections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from shoal.coding.roles import IDENTIFIER, PERSON, QUASI, SENSITIVE, WEIGHT
from shoal.errors import Problem, did_you_mean
from shoal.judging.measures import MEASURES
from shoal.judging.models import GroupModel, Model
from shoal.methods import METHODS
from shoal.policy.adversaries import adversary_problems, check_stopped
from shoal.policy.column_checks import column_problems, without_safe_harbor
from shoal.policy.column_section import Column
from shoal.policy.draft import SECTIONS, Draft
from shoal.policy.method_options import NamedMethod, check_steering, not_uniform
from shoal.policy.perturb import perturb_problems
from shoal.policy.privacy import Privacy
from shoal.policy.privacy_checks import privacy_problems
from shoal.policy.problems import explain_errors, format_path
from shoal.policy.purposes import purpose_problems
from shoal.policy.sections import Utility
from shoal.support.wording import format_value, role_of


def problems_of(raw: Mapping[str, Any], base: Path) -> list[Problem]:
    """Return everything that is wrong with a policy, given as plain tables or as section objects."""
    found: list[Problem] = []
    draft = Draft(base)
    known = ("data", "columns", *(name for name in SECTIONS if name != "data"))
    for name, section in raw.items():
        if name not in known:
            found.append(
                Problem(format_path(name), "is not a section of a policy", did_you_mean(name, known))
            )
        elif name == "columns":
            found += _check_columns(section, draft)
        else:
            setattr(draft, name, _validate(SECTIONS[name], section, found, name))
    return found + _cross(draft)


def _check_columns(section: Any, draft: Draft) -> list[Problem]:
    if not isinstance(section, Mapping):
        draft.broken_columns = True
        return [
            Problem(
                "columns", f"must be a table, not {format_value(section)}", "one [columns.NAME] per column"
            )
        ]
    found: list[Problem] = []
    for name, entry in section.items():
        if not isinstance(name, str):
            found.append(Problem("columns", f"column names must be text, not {format_value(name)}"))
            continue
        column = _validate(Column, entry, found, "columns", name)
        if column is not None:
            draft.columns[name] = column
        else:
            draft.broken_columns = True
    return found


def _validate(model: type[Any], value: Any, found: list[Problem], *path: str) -> Any:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        found += explain_errors(error, model, *path)
        return None


def _cross(draft: Draft) -> list[Problem]:
    """Return the contradictions between valid sections."""
    privacy, utility = draft.privacy, draft.utility
    method = None if draft.method is None else NamedMethod(draft.method)
    found: list[Problem] = []
    for name, column in draft.columns.items():
        found += column_problems(name, column, draft.base)
    found += without_safe_harbor(draft.columns)
    found += _check_roles(draft)
    found += _check_population(draft)
    if draft.names(PERSON) and not draft.broken_columns:
        found += _check_people(draft, judged=not found)
    if privacy is not None:
        found += privacy_problems(privacy, draft)
        found += adversary_problems(privacy)
        if method is not None and method.choice.name in METHODS:
            found += check_stopped(privacy, method.method)
    found += perturb_problems(draft.columns, privacy, draft.method)
    if utility is not None and not draft.broken_columns:
        others = draft.data is not None and draft.data.other_columns == "plain"
        found += purpose_problems(utility, draft.columns, others, draft.base)
    if method is not None:
        found += _check_method(method, privacy, utility)
    told = any(problem.path == "utility.measure" for problem in found)
    if utility is not None and not draft.broken_columns and not told:
        found += _check_measure(utility.measure, draft)
    return found


def _check_roles(draft: Draft) -> list[Problem]:
    """Return roles that no column has, or too many."""
    found = []
    quasi, weights = draft.names(QUASI), draft.names(WEIGHT)
    if not quasi and not draft.broken_columns:
        hint = f"give a column that others may know {role_of('quasi')}"
        found.append(Problem("columns", "no column is a quasi-identifier", hint))
    elif not draft.broken_columns and all(draft.columns[name].weight == 0 for name in quasi):
        found.append(Problem("columns", "all weights are 0", "give a quasi-identifier a weight above 0"))
    for name in weights[1:]:
        message = f"is a second column of survey weights, next to {weights[0]}"
        found.append(Problem(format_path("columns", name), message, "make one of them plain"))
    return found


def _check_measure(measure: str, draft: Draft) -> list[Problem]:
    """Return a problem if releases are ranked by a measure that needs settings which the policy lacks."""
    if measure == Utility().measure:
        return []
    kind = MEASURES[measure]
    if kind.needs.population and draft.population is None:
        hint = "add [population] with size = .., or choose another measure"
        return [Problem("utility.measure", f"'{measure}' needs the size of the population", hint)]
    if kind.needs.weights and not draft.names(WEIGHT):
        hint = f"give the column of survey weights {role_of('weight')}, or choose another measure"
        return [Problem("utility.measure", f"'{measure}' needs survey weights", hint)]
    return []


def _check_method(method: NamedMethod, privacy: Privacy | None, utility: Utility | None) -> list[Problem]:
    """Return what is wrong with the options of a method, and what it cannot optimize."""
    if utility is None:
        return method.problems
    return [
        *method.problems,
        *check_steering(method, utility.measure),
        *not_uniform(method, utility, privacy),
    ]


def _check_people(draft: Draft, *, judged: bool) -> list[Problem]:
    """Return what is not defined where a column says whose each row is; requirements only if they are `judged`."""
    whose = f"and {' and '.join(draft.names(PERSON))} says whose each row is"
    found = _check_followed(draft)
    for name, column in draft.columns.items():
        if column.publish is not None and column.role == IDENTIFIER:
            message = f"pseudonyms would tie rows together, {whose}: guarantees would not hold"
            found.append(Problem(format_path("columns", name, "publish"), message, "leave it out"))
    if draft.population is not None and draft.population.has_table:
        hint = "leave out the population, or the role person; its size alone is possible"
        found.append(Problem("population", f"counts its rows as people, {whose}", hint))
    if judged and draft.privacy is not None:
        models = draft.privacy.models(draft.names(SENSITIVE))
        found += _check_groups(draft, models)
        for model in models:
            if not model.about_classes:
                message = f"{model.name} is about rows, not about people, {whose}"
                hint = "ask for k without a notion, relocation or presence"
                found.append(Problem(f"privacy.{model.key.name}", message, hint))
    return found


def _check_groups(draft: Draft, models: Sequence[Model]) -> list[Problem]:
    """Return the requirements that cannot count groups of people, such as households, where a column names them."""
    groups = [name for name in draft.names(PERSON) if draft.columns[name].group is not None]
    found = []
    for model in models if groups else ():
        if model.about_classes and (not isinstance(model, GroupModel) or model.needs_population()):
            message = (
                f"{model.name} counts people, and {' and '.join(groups)} asks to count groups of them, too"
            )
            hint = "leave out `group`, or ask for k, or for the highest risk of a prosecutor"
            found.append(Problem(f"privacy.{model.key.name}", message, hint))
    return found


def _check_followed(draft: Draft) -> list[Problem]:
    """Return what does not go together with rows that can be followed."""
    people = draft.names(PERSON)
    shown = [name for name in people if draft.columns[name].publish is not None]
    if not shown:
        return []
    found = []
    groups = [name for name in people if draft.columns[name].group is not None]
    if groups:
        message = "groups of people are counted only where rows cannot be followed"
        hint = f"leave it out, or leave out publish of {shown[0]}"
        found.append(Problem(format_path("columns", groups[0], "group"), message, hint))
    elif len(people) > 1:
        message = f"needs one column that names a person, but {' and '.join(people)} do so together"
        hint = "join them into one column, or leave it out"
        found.append(Problem(format_path("columns", shown[0], "publish"), message, hint))
    if draft.utility is not None and draft.utility.levels is not None:
        message = (
            "rows of people are generalized place by place if they can be followed, each with its own labels"
        )
        hint = "leave it out, or leave out publish"
        found.append(Problem("utility.levels", message, hint))
    return found


def _check_population(draft: Draft) -> list[Problem]:
    if draft.population is None:
        return []
    column = draft.population.column
    if column is not None and column in draft.columns:
        message = f"'{column}' says who is in the table, so it cannot be {draft.columns[column].role}"
        return [Problem("population.column", message, f"take it out of [columns.{column}]")]
    return draft.check_file("population.file", draft.population.file)
