"""`CodedTable`: what was read, as integer codes in hierarchy order, with its attributes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from shoal.coding.column_plan import bound_names
from shoal.coding.columns import Columns, Kept, count_codes
from shoal.coding.counting import Counting
from shoal.coding.groups import Groups
from shoal.coding.purpose import Purpose
from shoal.support.arrays import FloatVector, IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief

if TYPE_CHECKING:
    import polars as pl

    from shoal.coding.hierarchy import Hierarchy
    from shoal.coding.hierarchy.kinds import Kind
    from shoal.judging.linking.series import Earlier


@dataclass(frozen=True, eq=False, repr=False)
class Attribute(Brief):
    """One coded column: its name, its hierarchy, and the weight of its information loss."""

    name: str
    hierarchy: Hierarchy
    weight: float = 1.0
    bounds: Kind | None = None
    """Its kind of hierarchy, if the ends of its cells are published as columns of their own."""
    asked: FloatVector | None = None
    """``[codes]`` how much a workload asks about the borders between values up to each code; None: there is none."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Context(Brief):
    """What a policy adds to the rows: who could be in the table, what was published before, what the release is for."""

    population: IntMatrix | None = None
    """``[people, quasi-identifiers]`` leaf codes of everybody who could be in the table, including the people in it;
    None if unknown."""
    population_size: int | None = None
    """How many people could be in the table; None if unknown. It may be known without a table of these people."""
    earlier: Earlier | None = None
    """Earlier releases of the same people; None if there are none, or if they do not matter."""
    purpose: Purpose = field(default_factory=Purpose)
    """The analyses that the policy names. Parts do not have it."""

    @property
    def indivisible(self) -> str:
        """Why methods cannot work on parts of the table; empty if they can."""
        if self.population is not None:
            return "parts do not know the population"
        return "" if self.earlier is None else "parts do not know earlier releases of the same people"


@dataclass(frozen=True, eq=False, repr=False)
class CodedTable(Brief):
    """A table ready to be anonymized. Rows are positions 0..n-1, in the order in which they were read."""

    quasi: Columns
    """The quasi-identifiers."""
    secrets: Columns
    """The sensitive columns. Their hierarchies give order and distance; their values are never generalized."""
    kept: Kept
    """The columns that are published as they are: sensitive and plain ones. Identifiers are not included."""
    columns: tuple[str, ...]
    """Names of all published columns, in the order of the input."""
    countings: tuple[Counting, ...]
    """Whom guarantees count: people, who are rows if none has several, and each kind of groups of people, such as
    households."""
    context: Context = Context()
    """What the policy adds to the rows."""
    dropped: tuple[str, ...] = ()
    """Names of the columns that are not published."""
    named: pl.DataFrame | None = None
    """The identifiers that are published as pseudonyms. They never leave the process, except in a key table."""

    rows_known: ClassVar[bool] = True
    """Its rows are here; not if only counts of them are."""

    @property
    def counting(self) -> Counting:
        """How people are counted."""
        return self.countings[0]

    def with_secrets(self, secrets: Columns) -> CodedTable:
        """Return the table with other sensitive columns."""
        return replace(self, secrets=secrets, countings=tuple(own.over(secrets) for own in self.countings))

    def with_context(self, **changes: Any) -> Self:
        """Return the table with another population, other earlier releases or another purpose."""
        return replace(self, context=replace(self.context, **changes))

    @property
    def shared(self) -> Counting | None:
        """Whom guarantees count who may have several rows: people, else the first kind of groups; None: nobody has."""
        return next((one for one in self.countings if not one.adds_up), None)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The quasi-identifiers."""
        return self.quasi.attributes

    @property
    def sensitive(self) -> tuple[Attribute, ...]:
        """The sensitive columns."""
        return self.secrets.attributes

    @property
    def taken(self) -> tuple[str, ...]:
        """Names that a further column must not have: one of an identifier would look as if it were published."""
        return (*self.release_columns, *self.dropped)

    @property
    def release_columns(self) -> tuple[str, ...]:
        """Names of all columns of a release: the published ones, each with its bounds if they are shown."""
        bounded = {attribute.name for attribute in self.attributes if attribute.bounds is not None}
        return tuple(
            one for name in self.columns for one in (name, *(bound_names(name) if name in bounded else ()))
        )

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.quasi.rows

    @property
    def weights(self) -> LongVector:
        """How many rows of the original each row of `quasi` stands for: one, unless equal rows are counted together."""
        return np.ones(self.rows, np.int64)

    @cached_property
    def survey_weights(self) -> FloatVector | None:
        """How many people of the population each row stands for; None if the table does not say."""
        from shoal.coding.survey_weights import read_weights
        from shoal.io.coded import Coded

        if self.kept.weights is None:
            return None
        column = self.kept.columns[self.kept.weights]
        if not isinstance(column, Coded):
            return read_weights(column)[0]
        found: FloatVector = read_weights(column.values)[0][column.codes]
        return found

    @property
    def value_counts(self) -> tuple[LongVector, ...]:
        """How often each code occurs, per quasi-identifier; in a part, how often in the whole table."""
        return self.quasi.counts

    def number_rows(self, *, as_read: bool = False) -> tuple[IntVector, LongVector]:
        """Number the distinct combinations of quasi-identifiers: row -> number, and the first row of each. O(rows).
        With `as_read`, values are told apart that methods do not tell apart.
        """
        from shoal.kernels.grouping import distinct_rows

        if as_read and self.quasi.exact:
            return distinct_rows(self.quasi.as_read, self.rows)
        number, first = distinct_rows(list(self.quasi.narrow), self.rows)
        vars(self)["alike"] = count_codes(number, len(first))
        return number, first

    @cached_property
    def alike(self) -> LongVector:
        """How many rows have each distinct combination of quasi-identifiers, by the numbers of `number_rows`."""
        self.number_rows()
        found: LongVector = vars(self)["alike"]
        return found

    @property
    def sensitive_counts(self) -> tuple[LongVector, ...]:
        """How often each code occurs, per sensitive column."""
        return self.secrets.counts

    def group_rows(
        self, group_of: IntVector, groups: int, rows: IntVector | LongVector | None = None
    ) -> Groups:
        """Return the groups for the privacy models, from one group number per row (or per row in `rows`). Rows with
        number -1 are in no group. O(rows + groups), or O(rows log rows) if people have to be sorted.
        """
        codes = self.secrets.wide if rows is None else self.secrets.wide[rows]
        found, *others = (counting.tally(group_of, groups, codes, rows) for counting in self.countings)
        placed = (group_of, rows) if self.context.indivisible else None
        return replace(found, units=tuple(others), placed=placed)

    @property
    def indivisible(self) -> str:
        """Why methods cannot work on parts of it; empty if they can."""
        return self.context.indivisible or self.counting.indivisible

    def part(self, rows: IntVector | LongVector) -> CodedTable:
        """Return some rows as a table of their own, for methods. Losses are those of the whole table, and models
        compare with it. It has nothing to publish: no columns that are kept, no identifiers. O(rows).
        """
        secrets = self.secrets.take(rows)
        return CodedTable(
            replace(self.quasi.take(rows), of_whole=self.value_counts),
            secrets,
            Kept(),
            self.columns,
            tuple(counting.part(secrets, rows) for counting in self.countings),
            Context(population_size=self.context.population_size),
        )

    @cached_property
    def block_of(self) -> IntVector:
        """Row -> block. Generalization limits split the table into blocks; rows of different blocks can never share
        a class. Without limits there is one block, 0.
        """
        from shoal.kernels.grouping import distinct

        if self._one_block:
            return np.zeros(self.rows, np.int32)
        tops = np.stack(
            [a.hierarchy.blocks[codes] for a, codes in zip(self.attributes, self.quasi.narrow, strict=True)],
            axis=1,
        )
        return distinct(tops)[0]

    @property
    def _one_block(self) -> bool:
        return all(len(attribute.hierarchy.levels[-1].starts) == 1 for attribute in self.attributes)

    @cached_property
    def blocks(self) -> Groups:
        """The blocks as groups, as privacy models see them."""
        return self._group_blocks()

    def _group_blocks(self) -> Groups:
        if self._one_block and self.shared is None and not self.context.indivisible:
            return self.counting.tally_all()
        return self.group_rows(self.block_of, int(self.block_of.max(initial=0)) + 1)
