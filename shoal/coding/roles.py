"""What a column can be: one `Role` for each, with everything that other files ask about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False, repr=False)
class Role(str):
    """What a column is. A role is the text by which a policy names it, so it is compared and written as one."""

    name: str
    meaning: str
    """In the documentation of policies, and in Studio."""
    published: str
    """What is published of the column, on cards and in reports."""
    columns: str
    """Which columns are meant, in the help of the command line."""
    heading: str
    """Above its columns in Studio."""
    letter: str
    """The key of Studio that gives a column this role."""
    keyword: str = ""
    """The keyword in Python; by default the name."""
    settings: tuple[str, ...] = ()
    """Settings of a column that only some roles have, and this one has."""
    generalized: bool = False
    protected: bool = False
    """Requirements are about the values of the column, which are published as they are."""
    counted: bool = False
    """The values name who is counted: people, or groups of them."""
    removed: bool = False
    """Nothing of the column is published, unless `publish` asks for pseudonyms."""
    unperturbed: str = ""
    """Why a published column must not show other values than its own; empty if it may."""

    def __new__(cls, name: str, *_: Any, **__: Any) -> Role:
        """Make the text that a role is."""
        return super().__new__(cls, name)

    def __post_init__(self) -> None:
        object.__setattr__(self, "keyword", self.keyword or self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        return find_role, (self.name,)

    @property
    def has_codes(self) -> bool:
        """The column has a hierarchy, and methods and models see its values as codes."""
        return self.generalized or self.protected

    @property
    def is_shown_unchanged(self) -> bool:
        """The column is published as it is."""
        return not self.generalized and not self.removed

    @property
    def done(self) -> str:
        """What was done with the column, in the outlines of an evidence pack."""
        return "generalized" if self.generalized else "removed" if self.removed else "published as it is"


QUASI = Role(
    "quasi",
    "known to others, generalized.",
    "generalized",
    "the quasi-identifiers",
    "Quasi-identifiers",
    "q",
    settings=("limit", "weight", "show", "hierarchy"),
    generalized=True,
    unperturbed="it is generalized",
)
SENSITIVE = Role(
    "sensitive",
    "published, protected.",
    "as it is",
    "the sensitive columns",
    "Sensitive",
    "s",
    settings=("protected", "hierarchy"),
    protected=True,
)
IDENTIFIER = Role(
    "identifier",
    "names people, removed.",
    "removed",
    "columns to remove",
    "Identifiers",
    "i",
    settings=("publish",),
    removed=True,
)
PLAIN = Role("plain", "published as it is.", "as it is", "columns to keep as they are", "Plain", "p")
DROP = Role(
    "drop",
    "not published, although it names nobody.",
    "not published",
    "columns to leave out",
    "Dropped",
    "d",
    removed=True,
)
PERSON = Role(
    "person",
    "says whose a row is; removed, and guarantees count people.",
    "removed; guarantees count people",
    "columns that say whose a row is; guarantees then count people",
    "Person",
    "e",
    settings=("publish", "group", "order"),
    counted=True,
    removed=True,
)
WEIGHT = Role(
    "weight",
    "how many people of the population a row stands for; published as it is, and read for the risk of a survey.",
    "as it is",
    "the column of survey weights",
    "Survey weights",
    "w",
    keyword="survey_weight",
    unperturbed="estimates need true weights",
)

ROLES = {role.name: role for role in (QUASI, SENSITIVE, IDENTIFIER, PLAIN, DROP, PERSON, WEIGHT)}
REMOVED = tuple(role for role in ROLES.values() if role.removed)
CODED = tuple(role for role in ROLES.values() if role.has_codes)


def find_role(name: str) -> Role:
    """Return the role of this name."""
    return ROLES[name]
