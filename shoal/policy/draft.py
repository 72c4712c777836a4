"""`Draft`: the sections of a policy while it is checked, before it is known that they go together."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from shoal.coding.roles import Role
from shoal.errors import Problem
from shoal.io.formats import scheme_of
from shoal.policy.column_section import Column
from shoal.policy.privacy import Privacy
from shoal.policy.section import Part
from shoal.policy.sections import Data, Engine, MethodChoice, Population, ReleaseFile, Utility

SECTIONS: dict[str, type[Part]] = {
    "data": Data,
    "privacy": Privacy,
    "method": MethodChoice,
    "utility": Utility,
    "population": Population,
    "release": ReleaseFile,
    "engine": Engine,
}


@dataclass
class Draft:
    """The sections of a policy that are valid by themselves; None for those that are not."""

    base: Path
    """The folder that files in the policy are relative to."""
    columns: dict[str, Column] = field(default_factory=dict)
    broken_columns: bool = False
    data: Data | None = field(default_factory=Data)
    privacy: Privacy | None = field(default_factory=Privacy)
    method: MethodChoice | None = field(default_factory=MethodChoice)
    utility: Utility | None = field(default_factory=Utility)
    population: Population | None = None
    release: ReleaseFile | None = None
    engine: Engine | None = None

    def names(self, role: Role) -> list[str]:
        """Return the columns of a role."""
        return [name for name, column in self.columns.items() if column.role == role]

    def check_file(self, path: str, place: str | None) -> list[Problem]:
        """Return a problem if there is no file at a place, unless it is in a database."""
        if place is None or scheme_of(place) or (self.base / place).is_file():
            return []
        hint = "paths are relative to the policy file"
        return [Problem(path, f"there is no file {self.base / place}", hint)]
