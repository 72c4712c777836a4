"""Fields that are kept in little memory, and become what readers expect when somebody reads them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


class Stored(ABC):
    """What a field may be given as."""

    @abstractmethod
    def whole(self) -> Any:
        """Return what readers of the field expect."""


class _Widened:
    """A field that is given in any form, and read whole."""

    def __init__(self, name: str) -> None:
        self.given, self.wide = f"_{name}", f"_whole_{name}"

    def __get__(self, holder: object, owner: type) -> Any:
        own = vars(holder)
        given = own[self.given]
        if not isinstance(given, Stored):
            return given
        if self.wide not in own:
            own[self.wide] = given.whole()
        return own[self.wide]

    def __set__(self, holder: object, given: Any) -> None:
        vars(holder)[self.given] = given


def widened_when_read(kind: type, *names: str) -> None:
    """Let fields of a dataclass without default values be given as `Stored`: readers get the whole, made once.

    For the class and for type checkers they are plain fields. `dataclasses.replace` reads them all.
    """
    for name in names:
        setattr(kind, name, _Widened(name))


def as_given(holder: object, name: str) -> Any:
    """Return such a field as it was given."""
    return vars(holder)[f"_{name}"]
