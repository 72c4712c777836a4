"""`assess`: how risky a table is as it is: its rows as a sample of a population, row by row and column by column."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal import io
from shoal.errors import PolicyError, Problem
from shoal.judging.linking.evidence import Evidence
from shoal.judging.linking.individual_risk import IndividualRisk
from shoal.judging.linking.sampled import minimal_uniques_of
from shoal.judging.linking.suda import LARGEST, SinglingOut
from shoal.judging.linking.uniqueness import Estimates
from shoal.policy import Policy
from shoal.policy.encode_table import encode_with_population
from shoal.release.results import plain
from shoal.release.verdict import Verdict
from shoal.support.arrays import LongVector
from shoal.support.brief import Brief

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False, repr=False)
class Assessment(Brief):
    """What a table says about the risk of the people in it. It is about single people: keep it with the table."""

    columns: tuple[str, ...]
    """The quasi-identifiers."""
    class_sizes: LongVector
    """Row -> how many rows have the same quasi-identifiers."""
    estimates: Estimates | None
    """How many rows are unique in the population; None if that cannot be estimated."""
    not_estimated: str | None
    """Why not."""
    individual: IndividualRisk | None
    """The individual risk of each row; None without survey weights."""
    no_individual: str | None
    """Why not."""
    singled_out: SinglingOut
    """Which few columns single people out, and the SUDA score of each row."""
    few_known: Verdict | None = None
    """What adversaries find in the table as it is who know the few columns that the policy names; None if it names
    none."""

    @property
    def by_row(self) -> pl.DataFrame:
        """A line per row of the table, in its order: the size of its class, its individual risk (null if unknown), its
        SUDA score, and the fewest columns that single it out (0: none).
        """
        import polars as pl

        found = {"row": np.arange(len(self.class_sizes)), "class_size": self.class_sizes}
        lines = pl.DataFrame(found)
        risk = None if self.individual is None else pl.Series(self.individual.of_row)
        return lines.with_columns(
            pl.Series("individual_risk", [None] * lines.height if risk is None else risk, dtype=pl.Float64),
            pl.Series("suda_score", self.singled_out.scores),
            pl.Series("fewest_columns", self.singled_out.fewest),
        )

    def summary(self) -> dict[str, Any]:
        """Return everything but the rows as plain data, for JSON."""
        own = self.singled_out
        sets = [
            {"columns": [self.columns[column] for column in one.columns], "people": one.people}
            for one in own.sets
        ]
        out: dict[str, Any] = {
            "rows": len(self.class_sizes),
            "unique_rows": int(np.count_nonzero(self.class_sizes == 1)),
            "singled_out": {
                "columns_at_most": own.largest,
                "people": own.people,
                "of": own.of,
                "minimal": sets,
                "contribution": dict(zip(self.columns, own.contribution.tolist(), strict=True)),
            },
        }
        if self.few_known is not None:
            out["few_known"] = self.few_known.summary()
        if self.estimates is None:
            out["population"] = {"unknown": self.not_estimated}
        else:
            low, high = self.estimates.range
            out["population"] = {
                "people": self.estimates.people,
                "range": [low, high],
                "proven": self.estimates.proven,
                "estimates": {
                    one.name: {"share": plain(one.share), "assumes": one.assumes, "refused": one.refused}
                    for one in (*self.estimates.all, self.estimates.rule)
                },
            }
        if self.individual is None:
            out["individual_risk"] = {"unknown": self.no_individual}
        else:
            figures = ("highest", "mean", "expected")
            out["individual_risk"] = {name: getattr(self.individual, name) for name in figures}
        return out


def assess(
    source: Any,
    policy: Policy | str | Path | None = None,
    *,
    population: Any = None,
    size: int = LARGEST,
    **keywords: Any,
) -> Assessment:
    """Assess the risk of a table as it is, before anything is done to it: a path or a frame.

    The policy, or keywords as in `anonymize`, says which columns are quasi-identifiers, which one holds survey weights,
    and how many people could be in the table (``population={"size": 9_000_000}`` among the keywords). `population` is a
    table of these people. `size` is how many columns a set may have that singles people out; time grows with the number
    of such sets. O(rows x sets of columns) at worst.
    """
    chosen = Policy.given(policy, keywords)
    if size < 1:
        raise PolicyError([Problem("size", f"must be 1 or more, not {size}")])
    frame = io.read(chosen.source(source), chosen.read_options())
    table = encode_with_population(frame, chosen, population)
    evidence = Evidence.of_original(table, chosen.population_size)
    own, _ = evidence.as_samples
    not_estimated, no_individual = own.why_no_estimates, own.why_no_weights
    published = evidence.published
    few = [model.verify(evidence) for model in chosen.models() if model.known_sets is not None]
    return Assessment(
        tuple(attribute.name for attribute in table.attributes),
        published.sizes[published.class_of],
        None if not_estimated else own.estimates,
        not_estimated,
        None if no_individual else own.individual,
        no_individual,
        minimal_uniques_of(table, size),
        few[0] if few else None,
    )
