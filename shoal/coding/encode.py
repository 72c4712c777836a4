"""From a table and a plan for its columns to a `CodedTable`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from shoal.coding import Attribute, CodedTable
from shoal.coding.column_plan import ColumnPlan
from shoal.coding.columns import Columns, Kept
from shoal.coding.counting import ByOwners, ByRows, Counting
from shoal.coding.hierarchy import Hierarchy, build
from shoal.coding.hierarchy.kinds import parse_hierarchy
from shoal.coding.roles import WEIGHT
from shoal.coding.survey_weights import check_weights
from shoal.errors import DataError, HierarchyError, ShoalError, did_you_mean
from shoal.io import Frame, factorize
from shoal.io.coded import Coded, Codes, narrowest
from shoal.io.sheet import Sheet, code_values
from shoal.support.arrays import IntVector
from shoal.support.brief import Brief
from shoal.support.machine.threads import PIECE, in_threads
from shoal.support.wording import type_name

_OFTEN = 8
"""A column that is published as it is is kept as codes if its values occur so often on average."""


def encode(source: Frame | Sheet | pl.DataFrame, plan: Sequence[ColumnPlan]) -> CodedTable:
    """Code the quasi-identifying and sensitive columns of a table, and drop what must not be published.

    Columns are read in pieces, so that a file that stays on disk is never decoded as a whole, and side by side, if the
    table is large.

    Each column is factorized, its hierarchy is built over the few distinct values, and the codes are then
    renumbered in the order of the hierarchy: O(rows + distinct values) per column. Columns without a plan are
    dropped, like identifiers and columns to drop. All problems of all columns are raised together.
    """
    table = source if isinstance(source, Frame) else _InMemory(Sheet.of(source))
    _check_columns(table, plan)
    by_name = {column.name: column for column in plan}
    planned = [by_name[name] for name in table.columns if name in by_name]
    quasi = [column for column in planned if column.role.generalized]
    found = _code_columns(table, [*quasi, *(column for column in planned if column.role.protected)])
    attributes, secrets = found[: len(quasi)], found[len(quasi) :]
    columns = [column for column in planned if not column.is_removed]
    names = tuple(column.name for column in columns)
    values = _columns(secrets, table.rows)
    return CodedTable(
        _columns(attributes, table.rows),
        values,
        _keep_columns(table, planned, secrets),
        names,
        _countings(table, values, [column for column in planned if column.role.counted]),
        dropped=tuple(name for name in table.columns if name not in names),
        named=pl.DataFrame({one.name: table.column(one.name) for one in columns if one.role.removed}),
    )


def _keep_columns(table: _Columns, planned: Sequence[ColumnPlan], secrets: Sequence[_Column]) -> Kept:
    """Return the columns that are published as they are."""
    # By name: in a list, polars renames a column whose name is empty, as names of index columns often are.
    own = {one.attribute.name: one.kept for one in secrets}
    kept = [column.name for column in planned if column.role.is_shown_unchanged]
    shown = {name: _keep_column(table, name) if (mine := own.get(name)) is None else mine for name in kept}
    weights = next((column.name for column in planned if column.role == WEIGHT), None)
    if weights is not None:
        check_weights(table.column(weights))
    return Kept(shown, weights)


def _columns(found: Sequence[_Column], rows: int) -> Columns:
    exact = {j: one.exact for j, one in enumerate(found) if one.exact is not None}
    return Columns(tuple(one.attribute for one in found), tuple(one.codes for one in found), rows, exact)


def _countings(table: _Columns, secrets: Columns, plan: Sequence[ColumnPlan]) -> tuple[Counting, ...]:
    """Number the people of a table, unless every row is a person of its own, and the groups that they belong to.
    Columns of one kind name them together. Raises DataError for rows of nobody.
    """
    lines = []
    for column in plan:
        nobody = count_nameless_cells(table.column(column.name))
        if nobody:
            what = "whose a row is" if column.group is None else f"to which {column.group} a row belongs"
            lines.append(
                f"column '{column.name}' says {what}, but it is empty in {nobody:,} of {table.rows:,} rows: fill them "
                "in, or leave these rows out"
            )
    if lines:
        raise DataError(_together(lines))
    person, people = _number_names(table, [column.name for column in plan if column.group is None])
    units = []
    for kind in dict.fromkeys(column.group for column in plan if column.group is not None):
        number, count = _number_names(table, [column.name for column in plan if column.group == kind])
        units.append(ByOwners(secrets, count, number_of=number, name=kind))
    pseudonyms = any(column.publish for column in plan)
    if people in (0, table.rows):
        return (replace(ByRows.of(secrets), pseudonyms=pseudonyms), *units)
    if units:
        # Rows that are sorted by person are then sorted by household, too, if nobody belongs to two.
        first = np.empty(people, np.int64)
        first[person] = units[0].owner
        rank = np.empty(people, np.int32)
        rank[np.argsort(first, kind="stable")] = np.arange(people, dtype=np.int32)
        person = rank[person]
    place = _in_order(table, [column.order for column in plan])
    return (ByOwners(secrets, people, pseudonyms=pseudonyms, number_of=person, place=place), *units)


def count_nameless_cells(column: pl.Series) -> int:
    """Return how many cells name nobody: empty ones, blank text, and what is no number."""
    nobody = column.is_null()
    if column.dtype.is_float():
        nobody |= column.is_nan().fill_null(False)
    elif column.dtype in (pl.String, pl.Categorical, pl.Enum):
        _, values = factorize(column)
        blank = values.filter(values.cast(pl.String).str.strip_chars() == "")
        nobody |= column.is_in(blank.implode()).fill_null(False)
    return int(nobody.sum())


def _number_names(table: _Columns, names: Sequence[str]) -> tuple[IntVector, int]:
    """Number the distinct combinations of values in some identifier columns; return the numbers and their count."""
    from shoal.kernels.grouping import distinct

    if not names:
        return np.zeros(table.rows, np.int32), 0
    numbers = np.empty((table.rows, len(names)), np.int32, order="F")
    for index, name in enumerate(names):
        numbers[:, index] = factorize(table.column(name))[0]
    number, first = distinct(numbers)
    return number, len(first)


def _in_order(table: _Columns, names: Sequence[str | None]) -> IntVector | None:
    """Number the rows by the column that orders those of a person; rows without a value come last."""
    named = [name for name in names if name is not None]
    if not named:
        return None
    values = table.column(named[0])
    if values.dtype.is_nested() or values.dtype == pl.Object:
        raise DataError(f"column '{named[0]}' holds {type_name(values.dtype)} values, which have no order")
    number, distinct = factorize(values)
    place = np.empty(len(distinct), np.int32)
    place[distinct.arg_sort(nulls_last=True).to_numpy()] = np.arange(len(distinct), dtype=np.int32)
    return place[number]


class _InMemory:
    """A table in memory with the part of the interface of `Frame` that is used here."""

    def __init__(self, rows: Sheet) -> None:
        self.columns, self.rows, self.schema = rows.columns, len(rows), rows.schema
        self.sheet = rows

    def column(self, name: str) -> pl.Series:
        """Return one column."""
        return self.sheet[name]

    def code_column(self, name: str) -> Coded:
        """Return one column as codes and distinct values."""
        return Coded(*self.sheet.number_cells(name, code_values))


_Columns = Frame | _InMemory


def _check_columns(table: _Columns, plan: Sequence[ColumnPlan]) -> None:
    """Check that every plan has its column, and that every column has at most one plan."""
    lines = []
    if table.rows == 0:
        lines.append("the table has no rows")
    present = dict.fromkeys(table.columns)
    for name, plans in Counter(column.name for column in plan).items():
        if name not in present:
            lines.append(f"the table has no column '{name}' ({did_you_mean(name, present)})")
        elif plans > 1:
            roles = ", ".join(column.role for column in plan if column.name == name)
            lines.append(f"column '{name}' has more than one role: {roles}")
    if lines:
        raise DataError(_together(lines))


@dataclass(frozen=True, eq=False, repr=False)
class _Column(Brief):
    """One column, coded in the order of its hierarchy."""

    attribute: Attribute
    codes: Codes
    exact: Codes | None
    """Row -> number of its value as it was read, if the hierarchy does not tell all values apart."""
    kept: Coded | None
    """Its values by these codes, exactly as they came; None if codes do not tell them."""


def _code_columns(table: _Columns, plan: Sequence[ColumnPlan]) -> list[_Column]:
    """Code columns, or raise the problems of all of them together."""

    def one(column: ColumnPlan) -> _Column | ShoalError:
        try:
            values = table.code_column(column.name)
            hierarchy, codes = encode_column(values, column)
            bounds = parse_hierarchy(column.hierarchy) if column.show is not None else None
            if bounds is not None:
                check_bounds(hierarchy)
        except ShoalError as error:
            return error
        return _Column(
            Attribute(column.name, hierarchy, column.weight, bounds),
            codes,
            None if hierarchy.hiding is None or not column.role.generalized else values.codes,
            _values_by_code(values, codes, hierarchy) if column.role.protected else None,
        )

    found = in_threads(one, plan, many=table.rows > PIECE)
    problems = [
        (column.name, own) for column, own in zip(plan, found, strict=True) if isinstance(own, ShoalError)
    ]
    if problems:
        raise_together(problems)
    return [own for own in found if isinstance(own, _Column)]


def _values_by_code(given: Coded, codes: Codes, hierarchy: Hierarchy) -> Coded | None:
    """Return a column by the codes of its hierarchy, so that it takes no memory of its own; None if these cannot say
    what it held: the two zeros have one code.
    """
    if given.values.dtype.is_float():
        return None
    number = hierarchy.locate(given.values)
    if len(np.unique(number)) < len(number):
        return None
    own = np.full(hierarchy.size, 0, np.int64)
    own[number] = np.arange(len(number))
    return Coded(codes, given.values.gather(own))


def _keep_column(table: _Columns, name: str) -> Coded | pl.Series:
    """Return a column that is published as it is, as codes if these are exact and take less memory."""
    dtype = table.schema[name]
    if table.rows <= PIECE or dtype.is_nested() or dtype.is_float() or dtype == pl.Object:
        return table.column(name)
    found = table.code_column(name)
    return found if len(found.values) <= table.rows // _OFTEN else table.column(name)


def check_bounds(hierarchy: Hierarchy) -> None:
    """Refuse to show bounds of values that have no ends: texts, durations, categories."""
    whole = hierarchy.unlimited or hierarchy
    if whole.ordered == 0 or isinstance(whole.leaves.dtype, pl.Duration):
        raise HierarchyError(
            'show = "bounds" is for numbers and dates, but the column holds '
            f"{type_name(whole.leaves.dtype)} values: leave it out, or give the column widths, cuts or dates"
        )


def encode_column(column: Coded, plan: ColumnPlan) -> tuple[Hierarchy, Codes]:
    """Return the hierarchy of one column, and its codes in the order of the hierarchy."""
    if column.values.null_count() == len(column.values):
        raise DataError(f"all values are null: drop the column, or make it plain instead of {plan.role}")
    hierarchy = build(column.values, plan.hierarchy)
    if plan.limit is not None and plan.role.generalized:
        hierarchy = hierarchy.with_limit(plan.limit)
    # Every distinct value has a leaf here: `build` raises an error for a value without one.
    return hierarchy, renumber(column.codes, hierarchy.locate(column.values), hierarchy.size)


def renumber(numbers: Codes, code_of: IntVector, size: int) -> Codes:
    """Return ``code_of[numbers]`` in the narrowest type for codes below `size`, in pieces, to avoid an index array as
    long as the table."""
    code_of = code_of.astype(narrowest(size))
    if numbers.dtype == code_of.dtype and np.array_equal(code_of, np.arange(len(code_of))):
        return numbers
    out = np.empty(len(numbers), code_of.dtype)
    for start in range(0, len(numbers), PIECE):
        part = slice(start, start + PIECE)
        np.take(code_of, numbers[part], out=out[part], mode="clip")
    return out


def raise_together(problems: list[tuple[str, ShoalError]]) -> None:
    """Raise the problems of several columns as one error."""
    kind = HierarchyError if all(isinstance(error, HierarchyError) for _, error in problems) else DataError
    raise kind(_together([_of_column(name, str(error)) for name, error in problems]))


def _of_column(name: str, message: str) -> str:
    start = f"column '{name}'"
    return message if message.startswith(start) else f"{start}: {message}"


def _together(lines: list[str]) -> str:
    if len(lines) == 1:
        return lines[0]
    return "\n".join([f"{len(lines)} problems with the table", *(f"  {line}" for line in lines)])
