"""What a method is: from a coded table and requirements to a proposed release."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from shoal.models.requirements import Requirements
from shoal.release import Release
from shoal.run import Run
from shoal.table import CodedTable

Shuffled = tuple[tuple[tuple[int, ...], ...] | None, tuple[int, ...] | None]


class Method(ABC):
    """A way to make a release. Concrete methods are frozen, keyword-only dataclasses whose fields are their
    options (a docstring under each, checks in ``__post_init__``), registered in methods/__init__.py.
    """

    name: ClassVar[str]
    """The key in the registry."""
    summary: ClassVar[str]
    """One line: what it does, and when to choose it."""
    paper: ClassVar[str]
    """Where it comes from."""
    two_tables: ClassVar[bool] = False
    """Releases are two tables that are joined by bucket."""

    shows_buckets: ClassVar[bool] = False
    """Its releases have a column that numbers buckets, within which values were shuffled."""

    @property
    def heeds_limits(self) -> bool:
        """Rows that generalization limits part can share no class or bucket."""
        return True

    @abstractmethod
    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Propose a release. The pipeline verifies it afterwards; a method is never trusted.

        Raises InfeasibleError with a reason where no release of its kind satisfies the requirements.
        """

    def shuffled_together(self, table: CodedTable) -> Shuffled:
        """Say which columns this method shuffles as a unit, for whoever reads a release back from a file: `together`
        and `sensitive_in` of `Release`. An adversary knows the method, so this is no secret.
        """
        return None, None
