"""The work of the screen Promise: from an adversary, a preset or the models to what a release must guarantee."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.datastructures import FormData, QueryParams

from shoal.apps.studio.project import Project, Tables
from shoal.apps.studio.requirements.forms import (
    Entry,
    as_number,
    asked_options,
    asked_value,
    entries,
    methods,
    notions,
    option_value,
    options,
    prepared,
    questions,
    with_entry,
    without_entry,
)
from shoal.apps.studio.requirements.outlook import coded_table, known, outlook
from shoal.apps.studio.screen_base import Action, State
from shoal.errors import PolicyError, Problem
from shoal.judging.measures import MEASURES
from shoal.policy.adversaries import ADVERSARIES, derivation, implied
from shoal.policy.method_options import AUTO, method_kind, option_types
from shoal.policy.privacy import KINDS, NOTION_KEY, NOTIONS, SENSITIVE_KEYS
from shoal.policy.problems import dotted
from shoal.policy.sections import MethodChoice, Utility
from shoal.policy.suggestions.presets import PRESETS

if TYPE_CHECKING:
    from shoal.errors import Problem as ProblemType
    from shoal.policy import Policy

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
    found = known(project)
    if found is None:
        return State("open", told)
    if not found.possible:
        return State("problem", "cannot be kept" if found.reasons else "cannot be checked")
    if found.unsuited or found.warnings:
        return State("attention", told)
    return State("done", told)


def _asked(policy: Policy) -> list[tuple[str, str]]:
    """Return every requirement, also those that count households, with what it means."""
    from shoal.judging.models.of_group import of_groups

    several = bool(policy.names("person"))
    models = of_groups(policy.models(), policy.groups)
    return [(one.title, (several and one.summary_of_people) or one.summary) for one in models]


def context(project: Project, query: QueryParams) -> Mapping[str, Any]:
    """Return all questions with what the policy says about each."""
    tables = project.tables
    privacy: dict[str, Any] = tables.get("privacy", {})
    policy = project.policy
    method = _method(tables)
    table = coded_table(project)
    found = outlook(project)
    levels = {} if table is None else {one.name: one.hierarchy.height for one in table.attributes}
    named = privacy.get("adversary") or ()
    return {
        "outlook": found,
        "wrong": _problems(project),
        "models": () if policy is None else _asked(policy),
        "whose": () if policy is None else policy.names("person"),
        "groups": () if policy is None else policy.groups,
        "derivation": () if policy is None else derivation(policy.privacy),
        "adversaries": list(ADVERSARIES.values()),
        "named": (named,) if isinstance(named, str) else tuple(named),
        "implied": () if policy is None else implied(policy.privacy),
        "presets": list(PRESETS.values()),
        "preset": _preset(tables),
        "k": privacy.get(NOTION_KEY),
        "usual_k": KINDS[NOTION_KEY][0].usual,
        "notion": privacy.get("notion") or NOTIONS[0],
        "notions": notions(),
        "questions": questions(privacy),
        "sensitive": _names(tables, "sensitive"),
        "quasi": _columns(tables, "quasi", levels),
        "protected": _columns(tables, "sensitive", {}),
        "utility": {**Utility().model_dump(), **tables.get("utility", {})},
        "formula": _formula(tables.get("utility", {}).get("regression")),
        "predictable": [*_names(tables, "sensitive"), *_names(tables, "plain")],
        "measures": [(name, kind.summary) for name, kind in MEASURES.items()],
        "population": tables.get("population", {}),
        "population_name": project.store.get("population"),
        "free": [] if project.frame is None else project.frame.columns,
        "methods": methods(),
        "method": method,
        "options": options(method, _options(tables)) if prepared() and _known(method) else None,
        "auto": AUTO,
    }


def take_file(project: Project, path: Path, name: str, query: QueryParams) -> None:
    """Take a table of the population."""

    def change(tables: Tables) -> None:
        tables["population"] = {"file": str(path)}

    project.store["population"] = name
    project.edit(f"population: {name}", change)


def _known(method: str) -> bool:
    return method in {name for name, *_ in methods()}


def _problems(project: Project) -> list[ProblemType]:
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
                    "limit": _listed(own.get("limit")),
                    "protected": _listed(own.get("protected")),
                    "levels": levels.get(name),
                }
            )
    return found


def _listed(value: Any) -> str:
    return "" if value is None else str(value) if isinstance(value, int) else "\n".join(value)


def _method(tables: Mapping[str, Any]) -> str:
    own = tables.get("method", {})
    return own if isinstance(own, str) else str(own.get("name", MethodChoice().name))


def _options(tables: Mapping[str, Any]) -> dict[str, Any]:
    own = tables.get("method", {})
    return {} if isinstance(own, str) else {name: value for name, value in own.items() if name != "name"}


def _preset(tables: Mapping[str, Any]) -> str:
    """Return the preset that the policy follows now, if any."""
    own = {name: tables.get(name, {}) for name in ("privacy", "columns")}
    share = tables.get("utility", {}).get("suppression", Utility().suppression)
    for preset in PRESETS.values():
        after, _ = preset.applied(tables)
        if {name: after.get(name, {}) for name in own} == own and share == preset.suppression:
            return preset.name
    return ""


# --- answers --------------------------------------------------------------------------------------------------


def _adversary(project: Project, form: FormData) -> None:
    names = [name for name in ADVERSARIES if name in form.getlist("adversary")]

    def change(tables: Tables) -> None:
        privacy = tables.setdefault("privacy", {})
        privacy.pop("adversary", None)
        if not names:
            return
        privacy["adversary"] = names
        for name in names:
            needs = ADVERSARIES[name].needs
            if needs not in privacy:
                usual = KINDS[needs][0].usual
                privacy[needs] = list(usual) if isinstance(usual, tuple) else usual

    project.edit(f"adversary: {', '.join(names) or 'none named'}", change)


def _apply_preset(project: Project, form: FormData) -> None:
    preset = PRESETS.get(str(form.get("name")))
    if preset is None:
        return
    types = {} if project.frame is None else dict(project.frame.schema)
    removed: dict[str, str] = {}

    def change(tables: Tables) -> None:
        after, gone = preset.applied(tables, types)
        removed.update(gone)
        tables.clear()
        tables.update(after)

    project.edit(f"preset: {preset.title}", change)
    if removed:
        lines = [f"{preset.title}: {len(removed)} columns are not published any more"]
        project.tell(
            "warning", "\n".join([*lines, *(f"{name}: {why}" for name, why in removed.items())]), "promise"
        )


def _k(project: Project, form: FormData) -> None:
    text, notion = str(form.get(NOTION_KEY, "")).strip(), str(form.get("notion", ""))
    k = as_number(text, f"privacy.{NOTION_KEY}", whole=True) if text else None

    def change(tables: Tables) -> None:
        privacy = tables.setdefault("privacy", {})
        privacy.pop("notion", None)
        if k is None:
            privacy.pop(NOTION_KEY, None)
            return
        tables["privacy"] = {
            NOTION_KEY: k,
            **{name: one for name, one in privacy.items() if name != NOTION_KEY},
        }
        if notion in NOTIONS[1:]:
            tables["privacy"]["notion"] = notion

    words = "no k" if k is None else f"k = {k}" if notion not in NOTIONS[1:] else f"k = {k} ({notion})"
    project.edit(words, change)


def _ask(project: Project, form: FormData) -> None:
    key, rule = str(form.get("key")), str(form.get("rule", ""))
    if key not in KINDS or key == NOTION_KEY:
        raise PolicyError([Problem("privacy", "there is no such requirement")])
    value = asked_value(key, rule, [str(text).strip() for text in form.getlist("value")])
    told = {str(name).removeprefix("option-"): str(own).strip() for name, own in form.items()}
    options = asked_options(key, rule, told)
    names = _names(project.tables, "sensitive")
    place = str(form.get("column", ""))
    single = key in SENSITIVE_KEYS and place.isdecimal() and int(place) < len(names)
    column = names[int(place)] if single else None

    def change(tables: Tables) -> None:
        tables["privacy"] = with_entry(
            tables.get("privacy", {}), Entry(key, rule, column, value, options), names
        )

    project.edit(" ".join(filter(None, (rule, key, f"of {column}" if column else ""))), change)


def _drop(project: Project, form: FormData) -> None:
    place = str(form.get("entry"))
    found = list(entries(project.tables.get("privacy", {})))
    if not place.isdecimal() or int(place) >= len(found):
        return
    old, names = found[int(place)], _names(project.tables, "sensitive")

    def change(tables: Tables) -> None:
        tables["privacy"] = without_entry(tables.get("privacy", {}), old, names)

    project.edit(f"without {old.rule or ''} {old.key}".replace("  ", " "), change)


def _mend(project: Project, form: FormData) -> None:
    found, place = known(project), str(form.get("place"))
    if found is None or not place.isdecimal() or int(place) >= len(found.nearest):
        project.tell(
            "warning", "The policy has changed since; this advice was for the one before.", "promise"
        )
        return
    chosen = found.nearest[int(place)]

    def change(tables: Tables) -> None:
        tables.clear()
        tables.update(chosen.policy.to_dict())

    project.edit(chosen.words, change)


def _utility(project: Project, form: FormData) -> None:
    share = (
        as_number(str(form.get("suppression", "0")).strip() or "0", "utility.suppression", whole=False) / 100
    )
    measure = str(form.get("measure", MEASURES.default))
    given = {key: str(form[key]).strip() for key in ("regression", "predict") if key in form}

    def change(tables: Tables) -> None:
        utility = {**tables.get("utility", {}), "measure": measure, "suppression": round(share, 10)}
        for key, text in given.items():
            if not text:
                utility.pop(key, None)
            elif key != "regression" or text != _formula(utility.get(key)):
                utility[key] = text
        tables["utility"] = utility

    told = "".join(f", {key} {text}" for key, text in given.items() if text)
    project.edit(f"at most {100 * share:g} % suppressed, measured by {measure}{told}", change)


def _formula(regression: Any) -> str:
    """Write a regression as a formula."""
    if not isinstance(regression, Mapping):
        return str(regression or "")
    return f"{regression.get('outcome', '')} ~ {' + '.join(map(str, regression.get('on', ())))}"


def _set_columns(project: Project, form: FormData) -> None:
    names = list(project.tables.get("columns", {}))
    found: dict[str, dict[str, Any]] = {}
    for place, name in enumerate(names):
        for key in ("weight", "limit", "protected"):
            text = form.get(f"{key}-{place}")
            if text is not None:
                found.setdefault(name, {})[key] = _column_value(key, str(text).strip(), name)

    def change(tables: Tables) -> None:
        for name, own in found.items():
            entry = tables["columns"][name]
            entry = tables["columns"][name] = {"role": entry} if isinstance(entry, str) else entry
            for key, value in own.items():
                if value is None:
                    entry.pop(key, None)
                else:
                    entry[key] = value

    project.edit("weights and limits", change)


def _column_value(key: str, text: str, name: str) -> Any:
    """Return what a field of a column says; None where it says nothing or the default."""
    if key == "weight":
        value = as_number(text or "1", dotted("columns", name, key), whole=False)
        return None if value == 1 else value
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if key == "limit" and len(lines) == 1 and lines[0].isdecimal():
        return int(lines[0])
    return lines or None


def _population(project: Project, form: FormData) -> None:
    columns = [] if project.frame is None else project.frame.columns
    place = str(form.get("column", ""))
    name = columns[int(place)] if place.isdecimal() and int(place) < len(columns) else None
    size = str(form.get("size", "")).replace(",", "").replace("_", "").replace(" ", "")

    def change(tables: Tables) -> None:
        tables.pop("population", None)
        if name is None and size:
            tables["population"] = {"size": int(size) if size.isdecimal() else size}
        if name is not None:
            tables["population"] = {"column": name}
            tables.get("columns", {}).pop(name, None)  # it says who is in the table, and has no other role

    told = name or size[:20]
    project.edit(f"population: {told}" if told else "no population", change)


def _set_method(project: Project, form: FormData) -> None:
    project.set("method.name", str(form.get("name", MethodChoice().name)))


def _set_options(project: Project, form: FormData) -> None:
    method = _method(project.tables)
    kind = method_kind(method)
    given = {name: str(form.get(name, "")).strip() for name in option_types(kind)}
    said = {name: option_value(method, name, text) for name, text in given.items() if text}

    def change(tables: Tables) -> None:
        tables["method"] = {"name": method, **said}

    project.edit(f"options of {method}", change)


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
