"""The class size that another model comes to in a table, as searches take it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from shoal.judging.models.k_anonymity import KAnonymity
from shoal.support.wording import format_count

if TYPE_CHECKING:
    from shoal.coding import CodedTable


@dataclass(frozen=True, kw_only=True)
class ClassSize(KAnonymity):
    """Classes of so many people, because another model asks for it. No policy names it, and nothing is verified
    against it."""

    name: ClassVar[str] = "class-size"

    because: str
    """The title of the model that asks for it."""

    @property
    def title(self) -> str:
        """Name the model that asks for it."""
        return self.because

    def infeasible(self, table: CodedTable, suppressible: int = 0) -> str | None:
        """No class can have more people than the table."""
        if self.k <= table.counting.count:
            return None
        return (
            f"no release can satisfy {self.because}: it takes classes of {self.k:,}, and the table has "
            + format_count(table.counting.count, "person", "people")
        )
