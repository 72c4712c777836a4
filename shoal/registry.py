"""`Registry`: names to classes, each imported when it is first used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Generic, TypeVar

from shoal.errors import PolicyError, Problem, did_you_mean

T = TypeVar("T")


class Registry(Mapping[str, type[T]], Generic[T]):
    """A mapping from a public name to a class, given as ``module:Class`` so that listing names imports nothing."""

    def __init__(self, kind: str, places: dict[str, str]) -> None:
        self.kind = kind
        self._places = places

    def __getitem__(self, name: str) -> type[T]:
        if name not in self._places:
            raise PolicyError([Problem(self.kind, f"'{name}' is unknown", did_you_mean(name, self._places))])
        module, _, attribute = self._places[name].partition(":")
        found: type[T] = getattr(import_module(module), attribute)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, name: object) -> bool:
        return name in self._places
