"""Generalization limits: is a value published in a more general form than allowed? (Campan, Truta and Cooper 2010.)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from shoal.judging.models.keys import Key
from shoal.judging.models.model import AskedIn, Model
from shoal.judging.models.threats import Threat
from shoal.support.wording import format_count

if TYPE_CHECKING:
    from shoal.judging.linking.evidence import Evidence
    from shoal.release.verdict import Verdict

LIMIT = Key("limit", "how far the values of a column may be generalized")


@dataclass(frozen=True, kw_only=True)
class WithinLimit(Model):
    """No published cell of a column is more general than the column's highest allowed nodes.

    It judges the cells as they are published: a name above the limit, or a set of values that no allowed node covers.
    Methods never see it, because the table that they get has no node above a limit.
    """

    name: ClassVar[str] = "generalization-limit"
    threat: ClassVar[Threat] = ""
    summary: ClassVar[str] = "no value is published in a more general form than its column allows"
    key: ClassVar[Key] = LIMIT
    asked_in: ClassVar[AskedIn] = "columns"
    usual: ClassVar[Any] = 1
    public: ClassVar[Any] = "always"
    higher_is_safer: ClassVar[bool] = False

    column_name: str
    limit: int | tuple[str, ...]
    """A level, or the names of the highest allowed nodes."""

    @classmethod
    def from_policy(cls, value: Any, rule: str = "", **place: Any) -> Model:
        """Return the model for the limit of one column."""
        return cls(limit=value, **place)

    @property
    def title(self) -> str:
        """Name the model."""
        return f"limit of {self.column_name}"

    @property
    def threshold(self) -> int:
        """No cell may be above the limit."""
        return 0

    def verify(self, evidence: Evidence) -> Verdict:
        """Count the cells above the limit. O(distinct cells)."""
        published = evidence.published
        faults = published.faults_of(self.column_name)
        above, rests = faults.above, faults.rests
        if faults.unread:
            why = f"{format_count(faults.unread, 'cell')} not in the hierarchy of the column"
            hint = (
                ""
                if evidence.table is not None
                else "; give the original, which says what the hierarchy holds"
            )
            return self.verdict_unknown(published, why + hint)
        if rests and evidence.table is None:
            many = format_count(sum(rows for _, _, rows in rests), "cell")
            why = f"{many} above it for some values only; give the original, which says for how many"
            return self.verdict_unknown(published, why)
        if rests and evidence.owner is None and evidence.table is not None:
            # They are within it for as many rows at most as have such values; the widest has all that the others have.
            low, high = min(low for low, _, _ in rests), max(high for _, high, _ in rests)
            place = [attribute.name for attribute in published.attributes].index(self.column_name)
            others = int(evidence.table.value_counts[place][low : high + 1].sum())
            above += max(sum(rows for _, _, rows in rests) - others, 0)
        return self.verdict(
            published, above, above == 0, f"{format_count(above, 'cell')} above it" if above else ""
        )
