"""Names that are imported when they are first used: `Registry` of classes, and the public names of a package."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, Generic, TypeVar

from shoal.errors import check_known

T = TypeVar("T")


class Registry(Mapping[str, type[T]], Generic[T]):
    """A mapping from a public name to a class, given as ``module:Class`` so that listing names imports nothing."""

    def __init__(self, kind: str, places: dict[str, str]) -> None:
        self.kind = kind
        self._places = places
        self._imported: dict[str, type[T]] = {}

    @property
    def default(self) -> str:
        """The first name: what is meant where nobody chooses."""
        return next(iter(self._places))

    def __getitem__(self, name: str) -> type[T]:
        if name not in self._imported:
            check_known(self.kind, name, self._places)
            module, _, attribute = self._places[name].partition(":")
            self._imported[name] = getattr(import_module(module), attribute)
        return self._imported[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, name: object) -> bool:
        return name in self._places


def import_late(package: str, places: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """Return a `__getattr__` for a package that imports its names, listed by module, on first use."""

    def import_name(name: str) -> Any:
        for module, names in places.items():
            if name in names:
                return getattr(import_module(f"{package}.{module}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return import_name
