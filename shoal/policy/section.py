"""What all sections of a policy share: frozen objects that report mistakes in Shoal's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, Strict, ValidationError, WithJsonSchema
from pydantic_core import PydanticCustomError

from shoal.errors import PolicyError
from shoal.judging.models.keys import Bounds
from shoal.judging.models.ratios import DIGITS, SMALLEST, SPELLED, exact
from shoal.policy.field_docs import describe_fields
from shoal.policy.problems import explain_errors
from shoal.support.wording import format_value

Whole = Annotated[int, Strict()]
Number = Annotated[float, Strict(), Field(allow_inf_nan=False)]
Text = Annotated[str, Strict()]


def ratio(limits: Bounds) -> Any:
    """Return the type of a number that may be written as a fraction in quotes, such as ``"1/11"``. It stays as it was
    written, so that a policy is written again as it was read.
    """

    def check_ratio(value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise wrong(
                f"must be a number or a fraction in quotes, not {format_value(value)}", 'for example "1/11"'
            )
        try:
            own = exact(value)
        except OverflowError:
            raise wrong(
                f"is too close to 0: {format_value(value)}", f'the smallest is "{SMALLEST}"'
            ) from None
        except ValueError:
            hint = f'for example 0.09 or "1/11"; a number in quotes has at most {DIGITS} digits'
            raise wrong(f"is not a number or a fraction: {format_value(value)}", hint) from None
        broken = limits.broken(own, float)
        if broken:
            raise wrong(f"{broken}, not {format_value(value)}")
        return value

    text = {"type": "string", "pattern": SPELLED}
    schema = {"anyOf": [{"type": "number"}, text]}
    return Annotated[int | float | str, PlainValidator(check_ratio), WithJsonSchema(schema)]


def wrong(message: str, hint: str = "") -> PydanticCustomError:
    """Return an error whose message the user sees exactly as given."""
    return PydanticCustomError("shoal", "{message}", {"message": message, "hint": hint})


class Part(BaseModel):
    """A frozen section of a policy. Mistakes raise one PolicyError that lists them all."""

    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_extra=describe_fields)

    if not TYPE_CHECKING:

        def __init__(self, /, **values: Any) -> None:
            try:
                super().__init__(**values)
            except ValidationError as error:
                raise PolicyError(explain_errors(error, type(self))) from None

        # Tells pydantic not to call this when a section is validated inside a policy: a policy collects the problems
        # of all sections, not only of the first.
        __init__.__pydantic_base_init__ = True
