"""The screen Promise: from an adversary, a preset or the models to what a release must guarantee."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData, QueryParams

from shoal.apps.studio.form_values import pick, read_field
from shoal.apps.studio.project import Project
from shoal.apps.studio.requirements.forms import (
    Entry,
    as_number,
    entries,
    is_ready,
    methods,
    notions,
    option_value,
    options,
    questions,
    read_options,
    read_value,
    with_entry,
    without_entry,
)
from shoal.apps.studio.requirements.outlook import find_coded_table, find_outlook, outlook
from shoal.apps.studio.screens import Action, State
from shoal.coding.roles import PERSON, PLAIN, QUASI, SENSITIVE
from shoal.errors import PolicyError, Problem
from shoal.judging.measures import MEASURES
from shoal.judging.models.of_group import of_groups
from shoal.policy import Policy
from shoal.policy.adversaries import ADVERSARIES, derivation, find_adversaries
from shoal.policy.method_options import AUTO, method_kind, option_types
from shoal.policy.privacy import KINDS, NOTION_KEY, NOTIONS, SENSITIVE_KEYS, takes_known
from shoal.policy.problems import format_path
from shoal.policy.sections import MethodChoice, Utility
from shoal.policy.suggestions.presets import PRESETS
from shoal.policy.suggestions.sensitivity import Distribution, distribution_of

PARTS = ("privacy", "method", "utility", "population")
"""The sections of a policy that this screen changes; limits, weights and protected nodes are of columns."""


def state(project: Project) -> State:
    """A promise that cannot be kept is a problem."""
    wrong = _problems(project)
    if wrong:
        return State("problem", wrong[0].message)
    if project.policy is None:
        return State("open")
    told = ", ".join(model.title for model in project.policy.models()[:3])
    found = find_outlook(project)
    if found is None:
        return State("open", told)
    if not found.possible:
        return State("problem", "cannot be kept" if found.reasons else "cannot be checked")
    if found.unsuited or found.warnings:
        return State("attention", told)
    return State("done", told)


def _list_requirements(policy: Policy) -> list[tuple[str, str]]:
    """Return every requirement, also those that count households, with what it means."""
    several = bool(policy.names(PERSON))
    models = of_groups(policy.models(), policy.groups)
    return [(one.title, one.meaning(several=several, followed=False)) for one in models]


def context(project: Project, query: QueryParams) -> Mapping[str, Any]:
    """Return all questions with what the policy says about each."""
    tables = project.tables
    privacy: dict[str, Any] = tables.get("privacy", {})
    policy = project.policy
    method = _method(tables)
    table = find_coded_table(project)
    found = outlook(project)
    levels = {} if table is None else {one.name: one.hierarchy.height for one in table.attributes}
    return {
        "outlook": found,
        "wrong": _problems(project),
        "models": () if policy is None else _list_requirements(policy),
        "whose": () if policy is None else policy.names(PERSON),
        "groups": () if policy is None else policy.groups,
        "derivation": () if policy is None else derivation(policy.privacy),
        "adversaries": list(ADVERSARIES.values()),
        "named": _named(privacy),
        "implied": () if policy is None else find_adversaries(policy.privacy),
        "presets": list(PRESETS.values()),
        "preset": _preset(project),
        "k": privacy.get(NOTION_KEY),
        "usual_k": KINDS[NOTION_KEY][0].usual,
        "notion": privacy.get("notion") or NOTIONS[0],
        "notions": notions(),
        "known": privacy.get("known"),
        "takes_known": takes_known(privacy.get("notion"), _named(privacy)),
        "questions": questions(privacy),
        "sensitive": _names(tables, SENSITIVE),
        "quasi": _columns(tables, QUASI, levels),
        "protected": _columns(tables, SENSITIVE, {}),
        "utility": {**Utility().model_dump(), **tables.get("utility", {})},
        "formula": _formula(tables.get("utility", {}).get("regression")),
        "predictable": [*_names(tables, SENSITIVE), *_names(tables, PLAIN)],
        "measures": [(name, kind.summary) for name, kind in MEASURES.items()],
        "population": tables.get("population", {}),
        "population_name": project.store.get("population"),
        "free": [] if project.frame is None else project.frame.columns,
        "methods": methods(),
        "method": method,
        "options": options(method, _options(tables)) if is_ready() and _has_method(method) else None,
        "auto": AUTO,
    }


def take_file(project: Project, path: Path, name: str, query: QueryParams) -> None:
    """Take a table of the population."""
    project.store["population"] = name
    with project.edit(f"population: {name}") as tables:
        tables["population"] = {"file": str(path)}


def _has_method(method: str) -> bool:
    return method in {name for name, *_ in methods()}


def _problems(project: Project) -> list[Problem]:
    own = [one for part in PARTS for one in project.problems_at(part)]
    inside = (".limit", ".weight", ".protected")
    return own + [one for one in project.problems_at("columns") if one.path.endswith(inside)]


def _names(tables: Mapping[str, Any], role: str) -> list[str]:
    found = tables.get("columns", {})
    return [
        name
        for name, entry in found.items()
        if (entry if isinstance(entry, str) else entry.get("role")) == role
    ]


def _columns(tables: Mapping[str, Any], role: str, levels: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return the columns of a role with their number, weight, limit and protected nodes."""
    found = []
    for place, (name, entry) in enumerate(tables.get("columns", {}).items()):
        own = {"role": entry} if isinstance(entry, str) else entry
        if own.get("role") == role:
            found.append(
                {
                    "place": place,
                    "name": name,
                    "weight": own.get("weight", 1),
                    "limit": _format_list(own.get("limit")),
                    "protected": _format_list(own.get("protected")),
                    "levels": levels.get(name),
                }
            )
    return found


def _format_list(value: Any) -> str:
    return "" if value is None else str(value) if isinstance(value, int) else "\n".join(value)


def _method(tables: Mapping[str, Any]) -> str:
    own = tables.get("method", {})
    return own if isinstance(own, str) else str(own.get("name", MethodChoice().name))


def _options(tables: Mapping[str, Any]) -> dict[str, Any]:
    own = tables.get("method", {})
    return {} if isinstance(own, str) else {name: value for name, value in own.items() if name != "name"}


def _preset(project: Project) -> str:
    """Return the preset that the policy follows now, if any."""
    tables, known = project.tables, _distributions(project)
    own = {name: tables.get(name, {}) for name in ("privacy", "columns")}
    share = tables.get("utility", {}).get("suppression", Utility().suppression)
    for preset in PRESETS.values():
        after, _ = preset.apply_to(tables, distributions=known)
        if {name: after.get(name, {}) for name in own} == own and share == preset.suppression:
            return preset.name
    return ""


def _distributions(project: Project) -> list[Distribution]:
    """Return how the values of each sensitive column are distributed, if the table is read."""
    if project.frame is None:
        return []
    data = project.frame.data
    return [distribution_of(data[name]) for name in _names(project.tables, SENSITIVE) if name in data.columns]


# --- answers --------------------------------------------------------------------------------------------------


def _named(privacy: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the adversaries of a section `[privacy]`."""
    named = privacy.get("adversary") or ()
    return (named,) if isinstance(named, str) else tuple(named)


def _without_unused_known(privacy: dict[str, Any]) -> dict[str, Any]:
    """Drop the number of known people if nothing is about it any more."""
    if not takes_known(privacy.get("notion"), _named(privacy)):
        privacy.pop("known", None)
    return privacy


def _adversary(project: Project, form: FormData) -> None:
    names = [name for name in ADVERSARIES if name in form.getlist("adversary")]
    with project.edit(f"adversary: {', '.join(names) or 'none named'}") as tables:
        privacy = tables.setdefault("privacy", {})
        privacy.pop("adversary", None)
        if names:
            privacy["adversary"] = names
        for needs in (ADVERSARIES[name].needs for name in names):
            usual = KINDS[needs][0].usual
            privacy.setdefault(needs, list(usual) if isinstance(usual, tuple) else usual)
        _without_unused_known(privacy)


def _apply_preset(project: Project, form: FormData) -> None:
    preset = PRESETS.get(read_field(form, "name"))
    if preset is None:
        return
    types = {} if project.frame is None else dict(project.frame.schema)
    after, removed = preset.apply_to(project.tables, types, distributions=_distributions(project))
    project.take(f"preset: {preset.title}", after)
    if removed:
        lines = [f"{preset.title}: {len(removed)} columns are not published any more"]
        lines += [f"{name}: {why}" for name, why in removed.items()]
        project.tell("warning", "\n".join(lines), "promise")


def _k(project: Project, form: FormData) -> None:
    text, notion = read_field(form, NOTION_KEY), read_field(form, "notion")
    k = as_number(text, f"privacy.{NOTION_KEY}", whole=True) if text else None
    more: dict[str, Any] = {"notion": notion} if k is not None and notion in NOTIONS[1:] else {}
    words = "no k" if k is None else f"k = {k} ({notion})" if more else f"k = {k}"
    told, known = "known" in form, read_field(form, "known").strip()
    if told and known:
        more["known"] = known if known == "all" else as_number(known, "privacy.known", whole=True)
        words += f", {known} others known"
    with project.edit(words) as tables:
        others = {
            name: one
            for name, one in tables.get("privacy", {}).items()
            if name not in (NOTION_KEY, "notion", *(("known",) if told else ()))
        }
        asked = {**({} if k is None else {NOTION_KEY: k}), **others, **more}
        tables["privacy"] = _without_unused_known(asked)


def _ask(project: Project, form: FormData) -> None:
    key, rule = read_field(form, "key"), read_field(form, "rule")
    if key not in KINDS or key == NOTION_KEY:
        raise PolicyError([Problem("privacy", "there is no such requirement")])
    value = read_value(key, rule, [str(text).strip() for text in form.getlist("value")])
    given = {str(name).removeprefix("option-"): str(own).strip() for name, own in form.items()}
    names = _names(project.tables, SENSITIVE)
    column = pick(form, "column", names) if key in SENSITIVE_KEYS else None
    entry = Entry(key, rule, column, value, read_options(key, rule, given))
    with project.edit(" ".join(filter(None, (rule, key, f"of {column}" if column else "")))) as tables:
        tables["privacy"] = with_entry(tables.get("privacy", {}), entry, names)


def _drop(project: Project, form: FormData) -> None:
    old = pick(form, "entry", list(entries(project.section("privacy"))))
    if old is not None:
        with project.edit(f"without {old.rule or ''} {old.key}".replace("  ", " ")) as tables:
            names = _names(tables, SENSITIVE)
            tables["privacy"] = without_entry(tables.get("privacy", {}), old, names)


def _mend(project: Project, form: FormData) -> None:
    found = find_outlook(project)
    chosen = None if found is None else pick(form, "place", found.nearest)
    if chosen is None:
        words = "The policy has changed since; this advice was for the one before."
        project.tell("warning", words, "promise")
    else:
        project.take(chosen.words, chosen.policy.to_dict())


def _utility(project: Project, form: FormData) -> None:
    share = as_number(read_field(form, "suppression") or "0", "utility.suppression", whole=False) / 100
    measure = read_field(form, "measure") or MEASURES.default
    given = {key: read_field(form, key) for key in ("regression", "predict") if key in form}
    told = "".join(f", {key} {text}" for key, text in given.items() if text)
    with project.edit(f"at most {100 * share:g} % suppressed, measured by {measure}{told}") as tables:
        utility = {**tables.get("utility", {}), "measure": measure, "suppression": round(share, 10)}
        for key, text in given.items():
            if not text:
                utility.pop(key, None)
            elif key != "regression" or text != _formula(utility.get(key)):
                utility[key] = text
        tables["utility"] = utility


def _formula(regression: Any) -> str:
    """Write a regression as a formula."""
    if not isinstance(regression, Mapping):
        return str(regression or "")
    return f"{regression.get('outcome', '')} ~ {' + '.join(map(str, regression.get('on', ())))}"


def _set_columns(project: Project, form: FormData) -> None:
    with project.edit("weights and limits") as tables:
        columns = tables.get("columns", {})
        for place, (name, entry) in enumerate(columns.items()):
            keys = [key for key in ("weight", "limit", "protected") if f"{key}-{place}" in form]
            if keys and isinstance(entry, str):
                entry = columns[name] = {"role": entry}
            for key in keys:
                value = _column_value(key, read_field(form, f"{key}-{place}"), name)
                entry.pop(key, None)
                if value is not None:
                    entry[key] = value


def _column_value(key: str, text: str, name: str) -> Any:
    """Return what a field of a column says; None where it says nothing or the default."""
    if key == "weight":
        value = as_number(text or "1", format_path("columns", name, key), whole=False)
        return None if value == 1 else value
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if key == "limit" and len(lines) == 1 and lines[0].isdecimal():
        return int(lines[0])
    return lines or None


def _population(project: Project, form: FormData) -> None:
    columns = [] if project.frame is None else project.frame.columns
    name, size = pick(form, "column", columns), re.sub("[,_ ]", "", str(form.get("size", "")))
    told = name or size[:20]
    with project.edit(f"population: {told}" if told else "no population") as tables:
        tables.pop("population", None)
        if name is not None:
            tables["population"] = {"column": name}
            tables.get("columns", {}).pop(name, None)  # it says who is in the table, and has no other role
        elif size:
            tables["population"] = {"size": int(size) if size.isdecimal() else size}


def _set_method(project: Project, form: FormData) -> None:
    project.set("method.name", read_field(form, "name") or MethodChoice().name)


def _set_options(project: Project, form: FormData) -> None:
    method = _method(project.tables)
    kind = method_kind(method)
    given = {name: read_field(form, name) for name in option_types(kind)}
    said = {name: option_value(method, name, text) for name, text in given.items() if text}
    with project.edit(f"options of {method}") as tables:
        tables["method"] = {"name": method, **said}


ACTIONS: dict[str, Action] = {
    "adversary": _adversary,
    "preset": _apply_preset,
    "k": _k,
    "ask": _ask,
    "drop": _drop,
    "mend": _mend,
    "utility": _utility,
    "columns": _set_columns,
    "population": _population,
    "method": _set_method,
    "options": _set_options,
}
