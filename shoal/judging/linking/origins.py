"""How a release came to Shoal, and what that says about the original row behind each published row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shoal.coding import CodedTable
from shoal.judging.linking.owners import Owners, confirm_record
from shoal.release import Release
from shoal.release.published import Published
from shoal.support.arrays import IntVector
from shoal.support.brief import Brief


class Origin(Brief):
    """What is known besides the rows; by default nothing."""

    record: Mapping[str, Any] | None = None
    """The private record of the run that made the release."""
    release: Release | None = None
    """What the method proposed."""
    owner: IntVector | None = None
    """Published row -> row of the original."""
    claimed: IntVector | None = None
    """The same as the record says. It counts only if it can be true."""
    published: bool = True
    """The rows are published; otherwise columns still show their own values."""

    def find_owners(self, published: Published, table: CodedTable) -> Owners | None:
        """Return the person behind each published row; None if only matching rows with the original can show it."""
        if self.owner is not None:
            return Owners.of(table, self.owner)
        return None if self.claimed is None else confirm_record(published, table, self.claimed)


@dataclass(frozen=True, eq=False, repr=False)
class Received(Origin):
    """Its rows were read, and nothing else."""


@dataclass(frozen=True, eq=False, repr=False)
class Recorded(Origin):
    """Its rows were read together with the record of its run."""

    record: Mapping[str, Any]
    claimed: IntVector | None


@dataclass(frozen=True, eq=False, repr=False)
class Traced(Origin):
    """The original row behind each published row is known, but not how the release was made."""

    owner: IntVector


@dataclass(frozen=True, eq=False, repr=False)
class MadeHere(Origin):
    """It was made and published in this process."""

    release: Release
    owner: IntVector | None
    """Not known for rows on a cluster."""


@dataclass(frozen=True, eq=False, repr=False)
class Proposed(MadeHere):
    """A method proposes it: the rows are rendered, but nothing is published. A `Result` also has a record."""

    record: Mapping[str, Any] | None = None
    published = False


RECEIVED = Received()
