"""Learned l-diversity: what the buckets or classes of a release together teach about sensitive values (Kifer 2009)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from shoal.errors import DataError
from shoal.judging.models.keys import Bounds, Key
from shoal.judging.models.l_diversity import L, ProbabilisticDiversity, one_less
from shoal.judging.models.model import Model
from shoal.release.results import plain
from shoal.support.wording import number

if TYPE_CHECKING:
    from shoal.coding import CodedTable
    from shoal.judging.linking.evidence import Evidence
    from shoal.release.verdict import Verdict


@dataclass(frozen=True, kw_only=True)
class LearnedDiversity(Model):
    """No value has more than 1/l of a class or bucket, and somebody who learns from all of them guesses no better.

    The second part is what the attack `definetti` measures: of the people about whom it is equally sure, not more than
    1/l are guessed right, beyond chance.
    """

    name: ClassVar[str] = "learned-l"
    summary: ClassVar[str] = (
        "an adversary who learns from all classes together guesses a sensitive value with a probability of at most 1/l"
    )
    key: ClassVar[Key] = L
    rules: ClassVar[Mapping[str, Mapping[str, Any]]] = {"learned": {}}
    usual: ClassVar[Any] = 3
    about: ClassVar[str] = "learns-from-release"
    weakest: ClassVar[bool] = True

    column: int
    """Which of the sensitive columns, from 0."""
    column_name: str
    """Its name."""
    l: Annotated[float, Bounds(gt=1)]  # noqa: E741
    """1 over the largest allowed share of right guesses."""

    @classmethod
    def looser(cls, value: Any) -> Any:
        """Ask for one value less."""
        return one_less(value)

    @property
    def belief(self) -> float:
        """A guess is right with probability 1/l at most."""
        return 1.0 / self.l

    @property
    def title(self) -> str:
        """Name the model."""
        return f"learned {number(self.l)}-diversity of {self.column_name}"

    @property
    def values_needed(self) -> int:
        """As many as without learning."""
        return self.by_classes.values_needed

    @property
    def by_classes(self) -> ProbabilisticDiversity:
        """What holds in each class or bucket. It is necessary, but not enough: the whole release decides."""
        return ProbabilisticDiversity(l=self.l, column=self.column, column_name=self.column_name)

    def verify(self, evidence: Evidence) -> Verdict:
        """Judge the classes, and then learn from them and compare the guesses with the original."""
        from shoal.judging.linking.bucket_learner import Guesses, learn
        from shoal.judging.models.bucket_members import find_members

        published, table = evidence.published, evidence.table
        if published.rows == 0:
            return self.verdict(published, None, True, "nothing is published")
        by_classes = self.by_classes.verify(evidence)
        if by_classes.holds is not True:
            return self.verdict(published, by_classes.reached, by_classes.holds, by_classes.detail)
        if table is None:
            return self.verdict_unknown(published, "only the original shows which guesses are right; give it")
        if not table.counting.adds_up:
            return self.verdict_unknown(
                published, "some people have several rows, and it takes each row for a person"
            )
        try:
            members = find_members(published, table)
        except DataError as error:
            return self.verdict_unknown(published, str(error))
        learned = learn(members, published, self.column)
        truth = table.secrets.wide[:, self.column]
        after = Guesses.of(learned.after, members.point_of, truth)
        before = Guesses.of(learned.before, members.point_of, truth)
        worst = max(float(after.least_right.max(initial=0.0)), 1 / float(by_classes.reached))
        exposed = int(after.find_exposed(self.belief).sum())
        detail = (
            f"{after.right.mean():.1%} of the guesses are right, {before.right.mean():.1%} without learning"
        )
        if exposed:
            detail = f"{exposed:,} of {table.rows:,} people are guessed right too often; {detail}"
        return self.verdict(published, plain(round(1 / worst, 12)), not exposed, detail)

    def infeasible(self, table: CodedTable, suppressible: int = 0) -> str | None:
        """What no class can reach without learning, none can reach with it."""
        found = self.by_classes.infeasible(table, suppressible)
        return None if found is None else found.replace(self.by_classes.title, self.title)


def find_limit(models: tuple[Model, ...], column: int) -> float | None:
    """Return the largest share of right guesses about a column that these models allow; None if none is about it."""
    own = [model.belief for model in models if isinstance(model, LearnedDiversity) and model.column == column]
    return min(own, default=None)
