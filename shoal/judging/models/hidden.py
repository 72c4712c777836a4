"""Values that are never shown as they are: does a release divide a group such as `90+`?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from shoal.coding.hierarchy.kinds import Kind, parse_hierarchy
from shoal.judging.models.keys import Key
from shoal.judging.models.model import AskedIn, Model
from shoal.judging.models.threats import Threat
from shoal.support.wording import format_count

if TYPE_CHECKING:
    from shoal.judging.linking.evidence import Evidence
    from shoal.release.verdict import Verdict

HIERARCHY = Key("hierarchy", "how a column may be generalized, and what it never shows")


@dataclass(frozen=True, kw_only=True)
class HiddenValues(Model):
    """No published cell of a column tells values apart that its hierarchy never tells apart.

    It judges the text of the cells, so it needs no original. Methods never see it: all values of a group have one code.
    """

    name: ClassVar[str] = "hidden-values"
    threat: ClassVar[Threat] = ""
    summary: ClassVar[str] = (
        "no value is published in a finer form than its column allows, such as an age of 90 or more"
    )
    key: ClassVar[Key] = HIERARCHY
    asked_in: ClassVar[AskedIn] = "columns"
    usual: ClassVar[Any] = {"top": 90}
    public: ClassVar[Any] = "always"
    higher_is_safer: ClassVar[bool] = False

    column_name: str
    kind: Kind

    @classmethod
    def from_policy(cls, value: Any, rule: str = "", **place: Any) -> Model:
        """Return the model for the hierarchy of one column."""
        return cls(kind=parse_hierarchy(value), **place)

    @classmethod
    def of_column(cls, name: str, column: Any) -> Model | None:
        """Return the model of a quasi-identifier whose hierarchy hides values."""
        hides = column.role.generalized and parse_hierarchy(column.hierarchy).hides
        return cls.from_policy(column.hierarchy, column_name=name) if hides else None

    @property
    def title(self) -> str:
        """Name the model."""
        return f"hidden values of {self.column_name}"

    @property
    def threshold(self) -> int:
        """No cell may show them."""
        return 0

    def verify(self, evidence: Evidence) -> Verdict:
        """Count the cells that show them."""
        published = evidence.published
        faults = published.faults_of(self.column_name)
        more, unread = faults.finer, faults.unclear
        if more:
            return self.verdict(
                published, more, False, f"{format_count(more, 'cell')} finer than the policy allows"
            )
        if unread:
            why = f"{format_count(unread, 'cell')} not written as the hierarchy writes them"
            return self.verdict_unknown(published, why)
        return self.verdict(published, 0, True)
