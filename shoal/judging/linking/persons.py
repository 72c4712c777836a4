"""How the rows of a release belong to people, as far as its policy and its columns say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.support.arrays import IntVector
from shoal.support.brief import Brief


@dataclass(frozen=True, eq=False, repr=False)
class RowIsPerson(Brief):
    """Each row is a person of its own."""

    several: ClassVar[bool] = False
    followed: ClassVar[bool] = False


@dataclass(frozen=True, eq=False, repr=False)
class HiddenPersons(Brief):
    """The policy names people, who may have several rows; the release does not show which."""

    several: ClassVar[bool] = True
    followed: ClassVar[bool] = False


@dataclass(frozen=True, eq=False, repr=False)
class FollowedPersons(Brief):
    """The release shows pseudonyms, so the rows of a person can be followed. All of it is public."""

    pseudonym: IntVector
    """Published row -> the number of its pseudonym, -1 if it has none."""
    several: ClassVar[bool] = True
    followed: ClassVar[bool] = True


Persons = RowIsPerson | HiddenPersons | FollowedPersons


def find_persons(pseudonym: IntVector | None = None) -> Persons:
    """Return how rows belong to people who may have several, by the pseudonyms that the release shows, if any."""
    return HiddenPersons() if pseudonym is None else FollowedPersons(pseudonym)
