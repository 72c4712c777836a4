"""How a policy spells the perturbation of a column: this part of the schema comes from the registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

from pydantic import PlainValidator, WithJsonSchema

from shoal.errors import Problem, did_you_mean
from shoal.methods import METHODS
from shoal.policy.problems import format_path
from shoal.policy.section import wrong
from shoal.release.perturbing import PERTURBATIONS, Perturbation
from shoal.support.wording import format_value

if TYPE_CHECKING:
    from shoal.coding.roles import Role
    from shoal.judging.models.model import Model
    from shoal.methods.method import Method
    from shoal.policy.column_section import Column
    from shoal.policy.privacy import Privacy
    from shoal.policy.sections import MethodChoice


def _perturb(value: object) -> object:
    """Return a perturbation as it was written, if it is one."""
    if isinstance(value, Mapping) and len(value) == 1:
        ((name, amount),) = value.items()
        if name not in PERTURBATIONS:
            raise wrong(f"there is no perturbation '{name}'", did_you_mean(str(name), PERTURBATIONS))
        try:
            PERTURBATIONS[name].given(amount)
        except ValueError as error:
            raise wrong(f"{name} {error}") from None
        return dict(value)
    usual = " or ".join(f"{{ {name} = {kind.example} }}" for name, kind in PERTURBATIONS.items())
    raise wrong(f"must name one perturbation, not {format_value(value)}", f"write {usual}")


Perturb = Annotated[
    dict[str, float],
    PlainValidator(_perturb),
    WithJsonSchema(
        {
            "type": "object",
            "properties": {
                name: {"type": "number", "description": kind.summary} for name, kind in PERTURBATIONS.items()
            },
            "additionalProperties": False,
            "minProperties": 1,
            "maxProperties": 1,
        }
    ),
]


def perturbation(spec: Mapping[str, float]) -> Perturbation:
    """Return the perturbation that a column asks for."""
    ((name, amount),) = spec.items()
    return PERTURBATIONS[name].given(amount)


def perturb_problems(
    columns: Mapping[str, Column], privacy: Privacy | None, method: MethodChoice | None
) -> list[Problem]:
    """Return the columns that cannot be perturbed, and what does not go together with a perturbed one."""
    found = []
    sensitive = [name for name, column in columns.items() if column.role.protected]
    models = privacy.models(sensitive) if privacy is not None and sensitive else ()
    kind = METHODS[method.name] if method is not None and method.name in METHODS else None
    for name, column in columns.items():
        if column.perturb is None:
            continue
        own = [model for model in models if getattr(model, "column_name", None) == name]
        conflict = _find_conflict(column.role, perturbation(column.perturb), own, kind)
        if conflict is not None:
            message, advice = conflict
            path = format_path("columns", name, "perturb")
            found.append(Problem(path, message, f"{advice}, or make the column plain"))
    return found


def _find_conflict(
    role: Role, way: Perturbation, models: Sequence[Model], method: type[Method] | None
) -> tuple[str, str] | None:
    """Return why a column of this role cannot be perturbed, and what to do instead; None if it can. `models` are those
    of the column.
    """
    if role.removed or role.unperturbed:
        why = role.unperturbed or "nothing of its values is published"
        return (
            f"goes with columns that are published as they are, but the column is {role}: {why}",
            "leave it out",
        )
    if not role.protected:
        return None
    if not way.keeps_values:
        can = ", ".join(other for other, one in PERTURBATIONS.items() if one.keeps_values)
        why = f"{way.name} makes values that nobody has, and models compare those of sensitive columns"
        return why, f"take one of {can}"
    if models:
        return (
            f"{models[0].title} would be a promise about values that are not true: it may hold for the published "
            "values and not for the true ones, or the other way round"
        ), "leave it out"
    if method is not None and method.shows.buckets:
        return (
            f"{method.name} shuffles sensitive values within buckets, and these have to be true",
            "leave it out",
        )
    return None
