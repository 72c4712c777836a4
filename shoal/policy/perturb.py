"""How a policy spells the perturbation of a column: this part of the schema comes from the registry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from pydantic import PlainValidator, WithJsonSchema

from shoal.errors import Problem, did_you_mean
from shoal.methods import METHODS
from shoal.policy.problems import format_path
from shoal.policy.section import wrong
from shoal.release.perturbing import PERTURBATIONS, Perturbation
from shoal.support.wording import format_value

if TYPE_CHECKING:
    from shoal.policy.privacy import Privacy
    from shoal.policy.sections import Column, MethodChoice


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
        path, way = format_path("columns", name, "perturb"), perturbation(column.perturb)
        if column.role.removed or column.role.unperturbed:
            why = column.role.unperturbed or "nothing of its values is published"
            message = (
                f"goes with columns that are published as they are, but the column is {column.role}: {why}"
            )
            found.append(Problem(path, message, "leave it out, or make the column plain"))
        elif column.role.protected:
            own = [model for model in models if getattr(model, "column_name", None) == name]
            if not way.keeps_values:
                can = ", ".join(other for other, one in PERTURBATIONS.items() if one.keeps_values)
                message = (
                    f"{way.name} makes values that nobody has, and models compare those of sensitive columns"
                )
                found.append(Problem(path, message, f"take one of {can}, or make the column plain"))
            elif own:
                message = (
                    f"{own[0].title} would be a promise about values that are not true: it may hold for the published "
                    "values and not for the true ones, or the other way round"
                )
                found.append(Problem(path, message, "leave it out, or make the column plain"))
            elif kind is not None and kind.shows.buckets:
                message = f"{kind.name} shuffles sensitive values within buckets, and these have to be true"
                found.append(Problem(path, message, "leave it out, or make the column plain"))
    return found
