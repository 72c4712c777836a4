"""What all sections of a policy share: frozen objects that report mistakes in Shoal's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, Strict, ValidationError
from pydantic_core import PydanticCustomError

from shoal.errors import PolicyError
from shoal.policy.problems import explained

Whole = Annotated[int, Strict()]
Number = Annotated[float, Strict(), Field(allow_inf_nan=False)]
Text = Annotated[str, Strict()]


def wrong(message: str, hint: str = "") -> PydanticCustomError:
    """Return an error whose message the user sees exactly as given."""
    return PydanticCustomError("shoal", "{message}", {"message": message, "hint": hint})


class Part(BaseModel):
    """A frozen section of a policy. Mistakes raise one PolicyError that lists them all."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    if not TYPE_CHECKING:

        def __init__(self, /, **values: Any) -> None:
            try:
                super().__init__(**values)
            except ValidationError as error:
                raise PolicyError(explained(error, type(self))) from None

        # Tells pydantic not to call this when a section is validated inside a policy: a policy collects the problems
        # of all sections, not only of the first.
        __init__.__pydantic_base_init__ = True
