"""k-anonymity: can a person be singled out by quasi-identifiers? (Samarati 2001, Sweeney 2002.)"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from shoal.judging.models.keys import Bounds, Key
from shoal.judging.models.model import GroupModel, Monotone
from shoal.judging.models.threats import RE_IDENTIFICATION, Threat
from shoal.support.arrays import BoolVector, FloatVector
from shoal.support.wording import format_count

if TYPE_CHECKING:
    from shoal.coding import CodedTable
    from shoal.coding.groups import Groups
    from shoal.judging.linking.evidence import Evidence
    from shoal.release.verdict import Verdict

K = Key("k", "k-anonymity: an adversary cannot narrow a person down to fewer than k rows")


def smaller_k(k: int) -> int | None:
    """Return half of k, at least 2, or None if k is 2 already."""
    return max(2, k // 2) if k > 2 else None


@dataclass(frozen=True, kw_only=True)
class KAnonymity(GroupModel):
    """Every class has at least k people. Monotone: a union is at least as large as each class."""

    name: ClassVar[str] = "k-anonymity"
    threat: ClassVar[Threat] = RE_IDENTIFICATION
    summary: ClassVar[str] = (
        "an adversary who knows a person's quasi-identifiers cannot narrow them down to fewer than k rows"
    )
    key: ClassVar[Key] = K
    usual: ClassVar[Any] = 5
    about: ClassVar[str] = "knows-members"
    public: ClassVar[Any] = "always"
    over_time: ClassVar[bool] = True
    monotone: ClassVar[Monotone] = Monotone.ALWAYS

    k: Annotated[int, Bounds(ge=2)]
    """Smallest allowed class."""

    @classmethod
    def describe_guarantee(cls, *, several: bool, followed: bool) -> str:
        """Describe the guarantee in one line."""
        one = "one row of a person cannot narrow it down to the rows of"
        known = "all rows of a person cannot narrow them down to" if followed else one
        words = f"an adversary who knows the quasi-identifiers of {known} fewer than k people"
        return words if followed or several else cls.summary

    @classmethod
    def looser(cls, value: Any) -> Any:
        """Halve k."""
        return smaller_k(value)

    @property
    def title(self) -> str:
        """Name the model."""
        return f"{self.k}-anonymity"

    def score_groups(self, groups: Groups) -> FloatVector:
        """Return the size of each group."""
        return groups.size.astype(np.float64)

    def holds_in(self, groups: Groups) -> BoolVector:
        """Return which groups have k people."""
        return np.asarray(groups.size >= self.k)

    def hopeless(self, groups: Groups) -> BoolVector:
        """No subset of a small group is larger."""
        return ~self.holds_in(groups)

    def verify(self, evidence: Evidence) -> Verdict:
        """Judge the smallest class; sizes are enough, so sensitive values are not counted."""
        from shoal.coding.groups import Groups

        if evidence.owners.unknown and evidence.fewest_people is not None:
            fewest = evidence.fewest_people
            if fewest >= self.k:
                detail = "at least, whoever owns the rows that several classes could show"
                return replace(self.verdict(evidence.published, fewest, True, detail), public=False)
        if evidence.owners.person is not None or evidence.owners.unknown:
            return super().verify(evidence)
        return self.judge(evidence.published, Groups(evidence.published.sizes, (), (), ()))

    def infeasible(self, table: CodedTable, suppressible: int = 0) -> str | None:
        """No class can have more people than the table."""
        if self.k <= table.counting.count:
            return None
        if not table.counting.adds_up:
            people = format_count(table.counting.count, "person", "people")
            rows = format_count(table.rows, "row")
            return f"no release can be {self.k:,}-anonymous: the table has {people} in {rows}"
        if table.rows < 2:
            return (
                f"no release can be {self.k:,}-anonymous: the table has a single row, which nothing can hide"
            )
        hint = f"ask for k = {table.rows:,} at most, and for much less to keep detail"
        return f"no release can be {self.k:,}-anonymous: the table has {table.rows:,} rows ({hint})"
