"""l-diversity of sliced tables: what do all buckets that a person may be in reveal together? (Li et al. 2012.)"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from shoal.judging.models.keys import Bounds, Key
from shoal.judging.models.l_diversity import L, ProbabilisticDiversity, one_less
from shoal.judging.models.model import GroupModel, Model
from shoal.release.results import plain
from shoal.support.arrays import FloatVector, IntMatrix, IntVector
from shoal.support.wording import number

if TYPE_CHECKING:
    import polars as pl

    from shoal.coding import CodedTable
    from shoal.judging.linking.evidence import Evidence
    from shoal.release.published import Published
    from shoal.release.verdict import Verdict

PIECE = 20_000
"""How many people are looked up at a time."""


@dataclass(frozen=True, kw_only=True)
class SlicingDiversity(Model):
    """No sensitive value of anybody is more likely than 1/l, over all buckets that the person may be in.

    A bucket is as likely as the product, over the groups of columns that were shuffled together, of the shares of its
    rows that show the person's values there. Within a bucket a sensitive value is as likely as its share of the rows
    that show the person's values in the quasi-identifiers of its group.
    """

    name: ClassVar[str] = "slicing-l"
    summary: ClassVar[str] = (
        "over all buckets that a person may be in, no sensitive value has a probability above 1/l"
    )
    key: ClassVar[Key] = L
    rules: ClassVar[Mapping[str, Mapping[str, Any]]] = {"slicing": {}}
    usual: ClassVar[Any] = 3

    column: int
    """Which of the sensitive columns, from 0."""
    column_name: str
    """Its name."""
    l: Annotated[float, Bounds(gt=1)]  # noqa: E741
    """1 over the largest allowed probability."""

    @classmethod
    def looser(cls, value: Any) -> Any:
        """Ask for one value less."""
        return one_less(value)

    @property
    def belief(self) -> float:
        """A guess over all buckets is right with probability 1/l at most."""
        return 1.0 / self.l

    @property
    def title(self) -> str:
        """Name the model."""
        return f"slicing {number(self.l)}-diversity of {self.column_name}"

    @property
    def by_classes(self) -> GroupModel:
        """If no value is more likely in any bucket, it is not over several buckets either."""
        return ProbabilisticDiversity(l=self.l, column=self.column, column_name=self.column_name)

    def verify(self, evidence: Evidence) -> Verdict:
        """Judge the person whose value is most certain; without the original, the worst of all buckets."""
        published, original = evidence.published, evidence.table
        if published.rows == 0:
            return self.verdict(published, None, True, "nothing is published")
        exact = published.readable and np.array_equal(*published.cell_ranges)
        if original is None or not published.in_buckets or not exact:
            judged = self.by_classes.verify(evidence)
            why = "judged bucket by bucket, which is stricter" if published.in_buckets else ""
            detail = "; ".join(filter(None, (judged.detail, why)))
            return self.verdict(published, judged.reached, judged.holds, detail)
        chances = likeliest(published, original, self.column)
        worst = float(chances.max(initial=0.0))
        outside = int((chances > 1 / self.l + 1e-9).sum())
        detail = f"{outside:,} of {len(chances):,} people have a more likely value" if outside else ""
        reached = plain(round(1 / worst, 12)) if worst else None
        return self.verdict(published, reached, not outside, detail)

    def infeasible(self, table: CodedTable, suppressible: int = 0) -> str | None:
        """Probabilities of at most 1/l need l values to sum to one."""
        values, needed = int((table.sensitive_counts[self.column] > 0).sum()), int(np.ceil(self.l - 1e-9))
        if values >= needed:
            return None
        return f"no release can satisfy {self.title}: it needs {needed:,} values, `{self.column_name}` has {values:,}"


def likeliest(published: Published, original: CodedTable, column: int) -> FloatVector:
    """Return, per row of the original, the probability of the likeliest value of a sensitive column; see `beliefs`."""
    return beliefs(published, original, column)[0]


def beliefs(
    published: Published, original: CodedTable, column: int, label_of: IntVector | None = None
) -> tuple[FloatVector, FloatVector]:
    """Return, per row of the original, the probabilities of the likeliest and of the person's own value of a sensitive
    column, over all buckets that the person may be in; 0 for people who match none. Values with one label count as one.

    Cells must be single values. O(pairs of distinct people and buckets that match in one group of columns).
    """
    import polars as pl

    from shoal.kernels.grouping import distinct

    shown = published.cell_ranges[0][published.class_of]
    person_of, first = distinct(original.quasi.wide)
    people = original.quasi.wide[first]
    together = published.layout.shuffling.groups(shown.shape[1])
    place = published.layout.shuffling.place(column)
    labels = np.arange(published.sensitive[column].hierarchy.size) if label_of is None else label_of
    rows = pl.DataFrame({"b": published.part_of, "s": labels[published.sensitive_codes[:, column]]})
    rows = rows.with_columns(size=pl.len().over("b"))
    shares = []
    values = []
    beside = pl.repeat(0, len(rows), dtype=pl.Int32, eager=True)
    for at, group in enumerate(together):
        number_of, theirs = _number_combinations(shown, people, list(group))
        counted = (
            rows.with_columns(v=pl.Series(number_of)).group_by("v", "b").agg(pl.len() / pl.first("size"))
        )
        shares.append(counted.rename({"len": "f"}))
        values.append(theirs)
        if at == place:
            beside = pl.Series(number_of)
    shown_beside = rows.with_columns(v=beside).with_columns(size=pl.len().over("v", "b"))
    shown_beside = shown_beside.group_by("v", "b", "s").agg((pl.len() / pl.first("size")).alias("p"))
    # The group of columns that leaves the fewest buckets comes first.
    order = sorted(range(len(shares)), key=lambda g: _pairs(shares[g], values[g]))
    top, own = np.zeros(len(people)), np.zeros(original.rows)
    truth = pl.DataFrame({"t": person_of.astype(np.int64), "s": labels[original.secrets.wide[:, column]]})
    truth = truth.with_row_index("row").sort("t")
    for begin in range(0, len(people), PIECE):
        part = np.arange(begin, min(begin + PIECE, len(people)))
        fits = pl.DataFrame({"t": part}).with_columns(weight=1.0)
        for step, g in enumerate(order):
            fits = fits.with_columns(v=pl.Series(values[g]).gather(fits["t"]))
            fits = fits.join(shares[g], on=["v"] if step == 0 else ["v", "b"])
            fits = fits.with_columns(weight=pl.col("weight") * pl.col("f")).drop("v", "f")
        fits = fits.with_columns(weight=pl.col("weight") / pl.col("weight").sum().over("t"))
        nothing = pl.repeat(0, len(fits), dtype=pl.Int32, eager=True)
        said = pl.Series(values[place]).gather(fits["t"]) if place >= 0 else nothing
        fits = fits.with_columns(v=said).join(shown_beside, on=["v", "b"])
        found = fits.group_by("t", "s").agg((pl.col("weight") * pl.col("p")).sum().alias("p"))
        true = truth.filter(pl.col("t").is_between(begin, begin + len(part) - 1)).join(found, on=["t", "s"])
        own[true["row"].to_numpy()] = true["p"].to_numpy()
        found = found.group_by("t").agg(pl.col("p").max())
        top[found["t"].to_numpy()] = found["p"].to_numpy()
    return top[person_of], own


def beliefs_of_ranges(
    published: Published, original: CodedTable, column: int, label_of: IntVector
) -> tuple[FloatVector, FloatVector]:
    """Return the same as `beliefs` where cells are ranges, and no quasi-identifier was shuffled with sensitive values.

    O(pairs of distinct people and buckets that match).
    """
    from scipy.sparse import coo_array

    from shoal.judging.membership.presence_chances import ShuffledBuckets
    from shoal.kernels.grouping import distinct

    person_of, first = distinct(original.quasi.wide)
    many = np.bincount(person_of, minlength=len(first)).astype(np.int64)
    buckets = ShuffledBuckets(published, np.ascontiguousarray(original.quasi.wide[first]), many)
    shown = label_of[published.sensitive_codes[:, column]]
    weight = np.zeros(len(first))
    who, what, mass = [], [], []
    for rows in buckets.rows_of:
        fit = buckets.match_tuples(rows)
        labels, often = np.unique(shown[rows], return_counts=True)
        weight[fit.left] += fit.product
        who.append(np.repeat(fit.left, len(labels)))
        what.append(np.tile(labels, len(fit.left)))
        mass.append(np.outer(fit.product, often / len(rows)).ravel())
    size = (len(first), int(label_of.max(initial=0)) + 1)
    none = np.zeros(0)
    rows_of = np.concatenate([*who, none]).astype(np.int64)
    columns_of = np.concatenate([*what, none]).astype(np.int64)
    chance: FloatVector = np.concatenate([*mass, none])
    believed = coo_array((chance, (rows_of, columns_of)), shape=size).tocsr()
    safe = np.where(weight > 0, weight, 1.0)
    top = believed.max(axis=1).toarray().ravel() / safe
    own = np.asarray(believed[person_of, label_of[original.secrets.wide[:, column]]]).ravel()
    return top[person_of], own / safe[person_of]


def _number_combinations(
    shown: IntMatrix, people: IntMatrix, columns: list[int]
) -> tuple[IntVector, IntVector]:
    """Number the combinations of values in some columns, of both rows and people."""
    from shoal.kernels.grouping import distinct

    both = np.asfortranarray(np.concatenate([shown[:, columns], people[:, columns]]))
    number_of = distinct(both)[0]
    return number_of[: len(shown)], number_of[len(shown) :]


def _pairs(shares: pl.DataFrame, values: IntVector) -> int:
    """Return how many pairs of people and buckets match in one group of columns."""
    shown = shares["v"].to_numpy()
    most = int(max(values.max(initial=0), shown.max(initial=0))) + 1
    return int(np.bincount(shown, minlength=most)[values].sum())
