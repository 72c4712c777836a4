"""The method that a policy names: which options it takes, what is wrong with them, and the method itself."""

from __future__ import annotations

import json
from collections.abc import Hashable
from dataclasses import MISSING, fields, replace
from functools import cache, cached_property
from typing import Any, cast, get_type_hints

from pydantic import TypeAdapter, ValidationError

from shoal.errors import PolicyError, Problem, did_you_mean
from shoal.judging.measures import MEASURES, measures_that_steer
from shoal.methods import METHODS, Method
from shoal.policy.privacy import Privacy
from shoal.policy.problems import explain_errors, format_path
from shoal.policy.sections import MethodChoice, Utility

AUTO = "auto"
"""The method that chooses among the others. It is not one of them, so the registry does not have it."""


def option_types(method: type[Any]) -> dict[str, Any]:
    """Return the options of a method and their types: the fields of its dataclass."""
    hints = _hints(cast(Hashable, method))
    return {entry.name: hints[entry.name] for entry in fields(method) if entry.init}


@cache
def _hints(method: Hashable) -> dict[str, Any]:
    """Return the types of all attributes; looking them up takes longer than checking the options."""
    return get_type_hints(method)


class NamedMethod:
    """The method that a policy names, imported and built when it is first needed, and only once."""

    def __init__(self, choice: MethodChoice) -> None:
        self.choice = choice

    @property
    def is_registered(self) -> bool:
        """Whether there is a method of this name."""
        return self.choice.name in METHODS or self.choice.name == AUTO

    @cached_property
    def _built(self) -> tuple[Method | None, list[Problem]]:
        if self.is_registered:
            return _build(method_kind(self.choice.name), self.choice)
        hint = did_you_mean(self.choice.name, [*METHODS, AUTO])
        return None, [Problem("method.name", f"there is no method '{self.choice.name}'", hint)]

    @property
    def method(self) -> Method | None:
        """The method with its options; None if something is wrong with them."""
        return self._built[0]

    @property
    def problems(self) -> list[Problem]:
        """What is wrong with the name and the options. A method without options is not imported for it."""
        return self._built[1] if self.choice.options() or not self.is_registered else []

    def build(self) -> Method:
        """Return the method with its options, or raise PolicyError."""
        method, problems = self._built
        if method is None:
            raise PolicyError(problems)
        return method


def check_steering(named: NamedMethod, measure: str) -> list[Problem]:
    """Return a problem if a measure cannot steer a method, with the measures that can. Methods that optimize nothing
    accept the default measure, so they are not imported for this check.
    """
    if measure == Utility().measure:
        return []
    method = named.method
    if method is None or MEASURES[measure].steers in method.kinds_that_steer:
        return []
    can = measures_that_steer(method.kinds_that_steer)
    message = f"'{measure}' cannot steer {named.choice.name}"
    if not can:
        message += ", which optimizes no measure with these options"
        can = [Utility().measure]
    hint = f"choose {', '.join(can[:-1])} or {can[-1]}" if can[1:] else f"leave it at {can[0]}"
    return [Problem("utility.measure", message, f"{hint}; every measure can be reported")]


def not_uniform(named: NamedMethod, utility: Utility, privacy: Privacy | None) -> list[Problem]:
    """Return why a policy cannot have one set of labels per column, if it asks for it."""
    choice = named.choice
    if utility.levels is None or named.problems or choice.name == AUTO:
        return []
    kind = METHODS[choice.name]
    if not kind.shows.classes or kind.can.presence_only:
        can = [name for name, one in METHODS.items() if one.shows.classes and not one.can.presence_only]
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


def method_kind(name: str) -> type[Any]:
    """Return the class of a method, including the one that chooses among the others."""
    if name == AUTO:
        from shoal.methods.auto import Auto

        return Auto
    return METHODS[name]


def _build(method: Any, choice: MethodChoice) -> tuple[Method | None, list[Problem]]:
    types = option_types(method)
    found: list[Problem] = []
    checked: dict[str, Any] = {}
    for name, value in choice.options().items():
        path = format_path("method", name)
        if name not in types:
            hint = did_you_mean(name, types) or "it has none"
            found.append(Problem(path, f"is not an option of {choice.name}", hint))
            continue
        try:
            checked[name] = _option(types[name], value)
        except ValidationError as error:
            found += explain_errors(error, None, "method", name)
    for entry in fields(method):
        needed = entry.init and entry.default is MISSING and entry.default_factory is MISSING
        if needed and entry.name not in choice.options():
            found.append(Problem(format_path("method", entry.name), f"is missing; {choice.name} needs it"))
    if found:
        return None, found
    try:
        return method(**checked), []
    except PolicyError as error:
        return None, [
            one if one.path.startswith("method") else replace(one, path=f"method.{one.path}")
            for one in error.problems
        ]
    except ValueError as error:
        return None, [Problem("method", str(error))]


def _option(kind: Any, value: Any) -> Any:
    """Check one option against its type: strictly, so that "5" is not 5, but a list may be given for a tuple."""
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    if isinstance(value, list | tuple):
        return adapter.validate_json(json.dumps(value), strict=True)
    return adapter.validate_python(value, strict=True)
