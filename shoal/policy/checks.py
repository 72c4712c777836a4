"""All problems of a policy at once: the shape of every section, and contradictions between sections."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, cast, get_type_hints

from pydantic import TypeAdapter, ValidationError

from shoal.coding import Attribute
from shoal.coding.column_plan import AS_THEY_ARE, REMOVED, bound_names
from shoal.coding.hierarchy.kinds import parsed
from shoal.errors import PolicyError, Problem, did_you_mean
from shoal.io.formats import scheme_of
from shoal.judging.models import GroupModel
from shoal.policy.adversaries import adversary_problems
from shoal.policy.hierarchies import file_problem
from shoal.policy.perturb import perturb_problems
from shoal.policy.privacy import KINDS, SENSITIVE_KEYS, Privacy
from shoal.policy.problems import dotted, explained
from shoal.policy.purposes import purpose_problems
from shoal.policy.section import Part
from shoal.policy.sections import Column, Data, Engine, MethodChoice, Population, ReleaseFile, Utility
from shoal.support.wording import role_of, setting, shown

SECTIONS: dict[str, type[Part]] = {
    "data": Data,
    "privacy": Privacy,
    "method": MethodChoice,
    "utility": Utility,
    "population": Population,
    "release": ReleaseFile,
    "engine": Engine,
}
AUTO = "auto"
"""The method that chooses among the others. It is not one of them, so the registry does not have it."""


@dataclass
class _Draft:
    """The sections of a policy that are valid by themselves."""

    columns: dict[str, Column] = field(default_factory=dict)
    parts: dict[str, Any] = field(default_factory=dict)
    broken_columns: bool = False

    def names(self, role: str) -> list[str]:
        return [name for name, column in self.columns.items() if column.role == role]


def problems_of(raw: Mapping[str, Any], base: Path) -> list[Problem]:
    """Return everything that is wrong with a policy, given as plain tables or as section objects."""
    found: list[Problem] = []
    draft = _Draft()
    known = ("data", "columns", *(name for name in SECTIONS if name != "data"))
    for name, section in raw.items():
        if name not in known:
            found.append(Problem(dotted(name), "is not a section of a policy", did_you_mean(name, known)))
        elif name == "columns":
            found += _check_columns(section, draft)
        else:
            draft.parts[name] = _validated(SECTIONS[name], section, found, name)
    for name, model in SECTIONS.items():
        if name not in draft.parts:
            draft.parts[name] = model() if name != "population" else None
    found += _cross(draft, base)
    return found


def _check_columns(section: Any, draft: _Draft) -> list[Problem]:
    if not isinstance(section, Mapping):
        draft.broken_columns = True
        return [Problem("columns", f"must be a table, not {shown(section)}", "one [columns.NAME] per column")]
    found: list[Problem] = []
    for name, entry in section.items():
        if not isinstance(name, str):
            found.append(Problem("columns", f"column names must be text, not {shown(name)}"))
            continue
        column = _validated(Column, entry, found, "columns", name)
        if column is not None:
            draft.columns[name] = column
        else:
            draft.broken_columns = True
    return found


def _validated(model: type[Any], value: Any, found: list[Problem], *path: str) -> Any:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        found += explained(error, model, *path)
        return None


def _cross(draft: _Draft, base: Path) -> list[Problem]:
    """Return the contradictions between valid sections."""
    found: list[Problem] = []
    for name, column in draft.columns.items():
        found += _check_column(name, column, base)
    found += without_safe_harbor(draft.columns)
    if not draft.broken_columns:
        quasi = draft.names("quasi")
        if not quasi:
            hint = f"give a column that others may know {role_of('quasi')}"
            found.append(Problem("columns", "no column is a quasi-identifier", hint))
        elif all(draft.columns[name].weight == 0 for name in quasi):
            found.append(Problem("columns", "all weights are 0", "give a quasi-identifier a weight above 0"))
    for name in draft.names("weight")[1:]:
        message = f"is a second column of survey weights, next to {draft.names('weight')[0]}"
        found.append(Problem(dotted("columns", name), message, "make one of them plain"))
    if draft.parts["population"] is not None:
        found += _check_population(draft.parts["population"], draft, base)
    privacy = draft.parts["privacy"]
    if draft.names("person") and not draft.broken_columns:
        found += _check_people(privacy if not found else None, draft)
    if privacy is not None:
        found += _check_privacy(privacy, draft, base)
        choice = draft.parts["method"] if privacy.adversary else None
        found += adversary_problems(privacy, _method(choice) if choice is not None else None)
    found += perturb_problems(draft.columns, privacy, draft.parts["method"])
    data, utility = draft.parts["data"], draft.parts["utility"]
    if utility is not None and not draft.broken_columns:
        others = data is not None and data.other_columns == "plain"
        found += purpose_problems(utility, draft.columns, others, base)
    if draft.parts["method"] is not None:
        found += method_problems(draft.parts["method"])
        if draft.parts["utility"] is not None:
            found += steering_problems(draft.parts["method"], draft.parts["utility"].measure)
            found += _not_uniform(draft.parts["method"], draft.parts["utility"], privacy)
    told = any(problem.path == "utility.measure" for problem in found)
    if draft.parts["utility"] is not None and not draft.broken_columns and not told:
        found += _unknown_measure(draft.parts["utility"].measure, draft)
    return found


def _unknown_measure(measure: str, draft: _Draft) -> list[Problem]:
    """Return a problem if releases are to be ranked by a measure that nothing in the policy tells."""
    if measure == Utility().measure:
        return []
    from shoal.judging.measures import MEASURES

    kind = MEASURES[measure]
    if kind.needs_population and draft.parts["population"] is None:
        hint = "add [population] with size = .., or choose another measure"
        return [Problem("utility.measure", f"'{measure}' needs the size of the population", hint)]
    if kind.needs_weights and not draft.names("weight"):
        hint = f"give the column of survey weights {role_of('weight')}, or choose another measure"
        return [Problem("utility.measure", f"'{measure}' needs survey weights", hint)]
    return []


def _check_people(privacy: Privacy | None, draft: _Draft) -> list[Problem]:
    """Return what is not defined where a column says whose each row is."""
    whose = f"and {' and '.join(draft.names('person'))} says whose each row is"
    found = _check_followed(draft)
    for name, column in draft.columns.items():
        if column.publish is not None and column.role == "identifier":
            message = f"pseudonyms would tie rows together, {whose}: guarantees would not hold"
            found.append(Problem(dotted("columns", name, "publish"), message, "leave it out"))
    if draft.parts["population"] is not None and draft.parts["population"].listed:
        hint = "leave out the population, or the role person; its size alone is possible"
        found.append(Problem("population", f"counts its rows as people, {whose}", hint))
    models = privacy.models(draft.names("sensitive")) if privacy is not None else ()
    groups = [name for name in draft.names("person") if draft.columns[name].group is not None]
    for model in models if groups else ():
        if model.about_classes and (not isinstance(model, GroupModel) or model.needs_population()):
            message = (
                f"{model.name} counts people, and {' and '.join(groups)} asks to count groups of them, too"
            )
            hint = "leave out `group`, or ask for k, or for the highest risk of a prosecutor"
            found.append(Problem(f"privacy.{model.key.name}", message, hint))
    for model in models:
        if not model.about_classes:
            message = f"{model.name} is about rows, not about people, {whose}"
            hint = "ask for k without a notion, relocation or presence"
            found.append(Problem(f"privacy.{model.key.name}", message, hint))
    return found


def _check_followed(draft: _Draft) -> list[Problem]:
    """Return what does not go together with rows that can be followed."""
    people = draft.names("person")
    shown = [name for name in people if draft.columns[name].publish is not None]
    if not shown:
        return []
    found = []
    groups = [name for name in people if draft.columns[name].group is not None]
    if groups:
        message = "groups of people are counted only where rows cannot be followed"
        hint = f"leave it out, or leave out publish of {shown[0]}"
        found.append(Problem(dotted("columns", groups[0], "group"), message, hint))
    elif len(people) > 1:
        message = f"needs one column that names a person, but {' and '.join(people)} do so together"
        hint = "join them into one column, or leave it out"
        found.append(Problem(dotted("columns", shown[0], "publish"), message, hint))
    utility = draft.parts["utility"]
    if utility is not None and utility.levels is not None:
        message = (
            "rows of people are generalized place by place if they can be followed, each with its own labels"
        )
        hint = "leave it out, or leave out publish"
        found.append(Problem("utility.levels", message, hint))
    return found


def _not_uniform(choice: MethodChoice, utility: Utility, privacy: Privacy | None) -> list[Problem]:
    """Return why a policy cannot have one set of labels per column, if it asks for it."""
    from shoal.methods import METHODS

    if utility.levels is None or method_problems(choice) or choice.name == AUTO:
        return []
    kind = METHODS[choice.name]
    if not kind.whole_classes or kind.needs_presence:
        can = [name for name, one in METHODS.items() if one.whole_classes and not one.needs_presence]
        message = f"{choice.name} cannot show one set of labels per column"
        return [Problem("utility.levels", message, f"leave it out, or choose {', '.join(can)}")]
    if choice.options().get("show") == "sets":
        return [
            Problem("utility.levels", 'goes with labels, but method.show is "sets"', "leave one of them out")
        ]
    if privacy is not None and privacy.presence is not None:
        return [
            Problem("utility.levels", "cannot be combined with bounds on presence", "leave one of them out")
        ]
    return []


def _check_column(name: str, column: Column, base: Path) -> list[Problem]:
    found: list[Problem] = []

    def add(key: str, message: str, hint: str = "") -> None:
        found.append(Problem(dotted("columns", name, key), message, hint))

    role = column.role
    if column.limit is not None and role != "quasi":
        add("limit", f"goes with quasi-identifiers, but the column is {role}", "only they are generalized")
    if column.weight != 1.0 and role != "quasi":
        add("weight", f"goes with quasi-identifiers, but the column is {role}", "only they lose precision")
    if column.protected is not None and role != "sensitive":
        add("protected", f"goes with sensitive columns, but the column is {role}")
    if column.show is not None and role != "quasi":
        add("show", f"goes with quasi-identifiers, but the column is {role}", "only they are generalized")
    elif column.show is not None and not parsed(column.hierarchy).has_bounds:
        kind = parsed(column.hierarchy).name
        add(
            "show",
            f"labels of the hierarchy kind '{kind}' have no bounds",
            "leave it out, or use widths, cuts or dates",
        )
    if column.publish is not None and role not in ("identifier", "person"):
        message = f"goes with identifiers and people, but the column is {role}"
        add("publish", message, "only they become pseudonyms")
    if column.order is not None and (role != "person" or column.publish is None):
        message = "goes with people whose rows can be followed, and nobody can follow rows by this column"
        add("order", message, 'leave it out, or add publish = "pseudonym" to a column with the role person')
    elif column.order == name:
        add("order", "says whose a row is, so it cannot order the rows of a person", "name another column")
    if column.group is not None and role != "person":
        message = f"goes with the role person, but the column is {role}"
        add("group", message, "give it the role person, or leave it out")
    elif column.group is not None and not column.group.strip():
        add("group", "is blank, so verdicts could not say what they count", 'name it: group = "household"')
    elif column.group is not None and column.publish is not None:
        add("publish", "would show which people belong together, which nothing protects", "leave it out")
    if role == "sensitive" and parsed(column.hierarchy).hides:
        message = "hides values, but a sensitive column is published as it is"
        add("hierarchy", message, "make the column quasi, or group these values before you open the table")
    if column.hierarchy is not None and role in (*AS_THEY_ARE, *REMOVED):
        add("hierarchy", f"goes with quasi and sensitive columns, but the column is {role}")
    else:
        missing = file_problem(column.hierarchy, base)
        if missing is not None:
            add("hierarchy", *missing)
    return found


def without_safe_harbor(columns: Mapping[str, Column]) -> list[Problem]:
    """Return the published columns that say nothing about Safe Harbor, if others do: the rule is about all of them."""
    if all(column.safe_harbor is None for column in columns.values()):
        return []
    hint = 'say what it is, such as safe_harbor = "other"'
    return [
        Problem(
            dotted("columns", name, "safe_harbor"), "is missing, and the rule is about every column", hint
        )
        for name, column in columns.items()
        if column.safe_harbor is None and not (column.role in REMOVED and column.publish is None)
    ]


def collisions(columns: Mapping[str, Column], names: Sequence[str]) -> list[Problem]:
    """Return the columns whose bounds would have the name of another column."""
    added = {name: bound_names(name) for name, column in columns.items() if column.show is not None}
    return [
        Problem(
            dotted("columns", name, "show"),
            f"would add a column '{one}', but the table has one already",
            "rename that column, or leave `show` out",
        )
        for name, own in added.items()
        for one in own
        if one in names or any(one in others for other, others in added.items() if other != name)
    ]


def _check_population(population: Population, draft: _Draft, base: Path) -> list[Problem]:
    if population.column is not None and population.column in draft.columns:
        role = draft.columns[population.column].role
        message = f"'{population.column}' says who is in the table, so it cannot be {role}"
        return [Problem("population.column", message, f"take it out of [columns.{population.column}]")]
    if population.file is None or scheme_of(population.file):
        return []
    if not (base / population.file).is_file():
        hint = "paths are relative to the policy file"
        return [Problem("population.file", f"there is no file {base / population.file}", hint)]
    return []


def _check_earlier(privacy: Privacy, draft: _Draft, base: Path) -> list[Problem]:
    """Return what has no meaning together with earlier releases, and files that do not exist."""
    if privacy.earlier is None:
        if privacy.earlier_adversary is None:
            return []
        hint = f"name them: {setting('privacy.earlier', ['january.csv'])}"
        return [Problem("privacy.earlier_adversary", "there are no earlier releases", hint)]
    found = []
    for model in privacy.models(draft.names("sensitive")):
        if not model.over_time:
            message = f"{model.name} has no meaning for several releases together"
            hint = "with earlier releases ask for k, distinct l or p: how many candidates and values are left"
            found.append(Problem(f"privacy.{model.key.name}", message, hint))
    for name, column in draft.columns.items():
        if column.role == "person" and (column.group is not None or column.publish is not None):
            message = "only single people, whose rows cannot be followed, are recognised in earlier releases"
            found.append(
                Problem(dotted("columns", name), message, "leave out `group` or `publish`, or `earlier`")
            )
    if draft.parts["population"] is not None and draft.parts["population"].listed:
        found.append(
            Problem("population", "is not read together with earlier releases", "leave one of them out")
        )
    for number, one in enumerate(privacy.earlier):
        for name, text in one:
            if text is not None and not scheme_of(text) and not (base / text).is_file():
                hint = "paths are relative to the policy file"
                found.append(
                    Problem(f"privacy.earlier[{number}].{name}", f"there is no file {base / text}", hint)
                )
    return found


def _check_privacy(privacy: Privacy, draft: _Draft, base: Path) -> list[Problem]:
    found: list[Problem] = []
    if not privacy.asked and privacy.adversary is None:
        if any(column.safe_harbor is not None for column in draft.columns.values()):
            return []
        return [Problem("privacy", "asks for nothing", "k = 5 is a usual choice")]
    if draft.broken_columns:
        return []
    sensitive = draft.names("sensitive")
    found += _check_earlier(privacy, draft, base)
    for name in privacy.lasting or ():
        if name not in sensitive:
            hint = did_you_mean(name, sensitive) or f"give the column to protect {role_of('sensitive')}"
            found.append(Problem("privacy.lasting", f"'{name}' is not a sensitive column", hint))
    for name in sensitive:
        if draft.columns[name].protected and not _heeded(privacy, name, sensitive):
            message = "has no effect: no requirement is about protected nodes of this column"
            hint = f"add for example {setting('privacy.p', 2)}"
            found.append(Problem(dotted("columns", name, "protected"), message, hint))
    for key in SENSITIVE_KEYS:
        value = privacy.asked.get(key)
        if value is None:
            continue
        if not sensitive:
            hint = f"give the column to protect {role_of('sensitive')}"
            found.append(Problem(f"privacy.{key}", "there is no sensitive column", hint))
            continue
        for name in value if isinstance(value, dict) else ():
            if name not in sensitive:
                role = draft.columns[name].role if name in draft.columns else None
                message = f"the column is {role}, not sensitive" if role else "is not a column of the policy"
                found.append(Problem(dotted("privacy", key, name), message, did_you_mean(name, sensitive)))
    for asked in privacy.requirements:
        for name in sensitive if getattr(asked.kind, "needs_hierarchy", False) else ():
            if asked.column in (None, name) and draft.columns[name].hierarchy in (None, "none"):
                message = f"is missing, and {'.'.join(asked.path[1:])} needs it"
                hint = "give the column a hierarchy, or choose another rule"
                found.append(Problem(dotted("columns", name, "hierarchy"), message, hint))
    return found


def without_order(privacy: Privacy, sensitive: Sequence[Attribute]) -> list[Problem]:
    """Return the requirements that need an order, for columns of a table whose values have none."""
    found = []
    for asked in privacy.requirements if sensitive else ():
        for attribute in sensitive if asked.kind.needs_order else ():
            if asked.column in (None, attribute.name) and not attribute.hierarchy.in_order:
                message = f"`{attribute.name}` holds text, which has no order; the alphabet is none"
                hint = (
                    "give the column a tree that lists its values in order, such as { tree = { all = "
                    '["low", "middle", "high"] } }'
                )
                others = [
                    rule for kind in KINDS[asked.kind.key.name] if not kind.needs_order for rule in kind.rules
                ]
                hint += f", or measure by {' or '.join(others)} instead of {asked.rule}" if others else ""
                found.append(Problem(dotted(*asked.path), message, hint))
    return found


def _heeded(privacy: Privacy, column: str, sensitive: list[str]) -> bool:
    """Whether protected nodes in this column change some model."""
    return privacy.models(sensitive, {column: ("*",)}) != privacy.models(sensitive)


def _method(choice: MethodChoice) -> Any:
    """Return the method with its options, or None if it cannot be built."""
    from shoal.methods import METHODS

    return _made(METHODS[choice.name], choice)[0] if choice.name in METHODS else None


# --- methods and their options ----------------------------------------------------------------------------


def option_types(method: type[Any]) -> dict[str, Any]:
    """Return the options of a method and their types: the fields of its dataclass."""
    hints = _hints(cast(Hashable, method))
    return {entry.name: hints[entry.name] for entry in fields(method) if entry.init}


@cache
def _hints(method: Hashable) -> dict[str, Any]:
    """Return the types of all attributes; looking them up takes longer than checking the options."""
    return get_type_hints(method)


def method_problems(choice: MethodChoice, complete: bool = False) -> list[Problem]:
    """Return what is wrong with a method's name and options.

    Without options the method's module is not imported, unless `complete`.
    """
    from shoal.methods import METHODS

    if choice.name not in METHODS and choice.name != AUTO:
        hint = did_you_mean(choice.name, [*METHODS, AUTO])
        return [Problem("method.name", f"there is no method '{choice.name}'", hint)]
    if not choice.options() and not complete:
        return []
    return _made(method_kind(choice.name), choice)[1]


def steering_problems(choice: MethodChoice, measure: str) -> list[Problem]:
    """Return a problem if a measure cannot steer a method, with the measures that can. Methods that optimize nothing
    accept the default measure, so they are not imported for this check.
    """
    if measure == Utility().measure or method_problems(choice):
        return []
    from shoal.judging.measures import MEASURES, steering

    method = _made(method_kind(choice.name), choice)[0]
    if method is None or MEASURES[measure].steers in method.steered_by:
        return []
    can = steering(method.steered_by)
    message = f"'{measure}' cannot steer {choice.name}"
    if not can:
        message += ", which optimizes no measure with these options"
        can = [Utility().measure]
    hint = f"choose {', '.join(can[:-1])} or {can[-1]}" if can[1:] else f"leave it at {can[0]}"
    return [Problem("utility.measure", message, f"{hint}; every measure can be reported")]


def method_kind(name: str) -> type[Any]:
    """Return the class of a method, including the one that chooses among the others."""
    if name == AUTO:
        from shoal.methods.auto import Auto

        return Auto
    from shoal.methods import METHODS

    return METHODS[name]


def built(choice: MethodChoice) -> Any:
    """Return the method with its options, or raise PolicyError."""
    problems = method_problems(choice, complete=True)
    if problems:
        raise PolicyError(problems)
    return _made(method_kind(choice.name), choice)[0]


def _made(method: Any, choice: MethodChoice) -> tuple[Any, list[Problem]]:
    types = option_types(method)
    found: list[Problem] = []
    checked: dict[str, Any] = {}
    for name, value in choice.options().items():
        path = dotted("method", name)
        if name not in types:
            hint = did_you_mean(name, types) or "it has none"
            found.append(Problem(path, f"is not an option of {choice.name}", hint))
            continue
        try:
            checked[name] = _option(types[name], value)
        except ValidationError as error:
            found += explained(error, None, "method", name)
    for entry in fields(method):
        needed = entry.init and entry.default is MISSING and entry.default_factory is MISSING
        if needed and entry.name not in choice.options():
            found.append(Problem(dotted("method", entry.name), f"is missing; {choice.name} needs it"))
    if found:
        return None, found
    try:
        return method(**checked), []
    except PolicyError as error:
        return None, [
            problem
            if problem.path.startswith("method")
            else Problem(f"method.{problem.path}", *_rest(problem))
            for problem in error.problems
        ]
    except ValueError as error:
        return None, [Problem("method", str(error))]


def _rest(problem: Problem) -> tuple[str, str]:
    return problem.message, problem.hint


def _option(kind: Any, value: Any) -> Any:
    """Check one option against its type: strictly, so that "5" is not 5, but a list may be given for a tuple."""
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    if isinstance(value, list | tuple):
        return adapter.validate_json(json.dumps(value), strict=True)
    return adapter.validate_python(value, strict=True)
