"""From a table and a plan for its columns to a `CodedTable`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from shoal.arrays import IntMatrix, IntVector
from shoal.errors import DataError, HierarchyError, ShoalError, did_you_mean
from shoal.frames import Frame, factorize
from shoal.hierarchy import Hierarchy, build
from shoal.hierarchy.kinds import parsed
from shoal.table import Attribute, CodedTable
from shoal.table.plan import REMOVED, ColumnPlan
from shoal.wording import type_name


def encode(source: Frame | pl.DataFrame, plan: Sequence[ColumnPlan]) -> CodedTable:
    """Code the quasi-identifying and sensitive columns of a table, and drop what must not be published.

    Columns are read one at a time, so that a file that is read lazily has only one decoded quasi-identifier in
    memory.

    Each column is factorized, its hierarchy is built over the few distinct values, and the codes are then
    renumbered in the order of the hierarchy: O(rows + distinct values) per column. Columns without a plan are
    dropped, like identifiers and columns to drop. All problems of all columns are raised together.
    """
    table = _InMemory(source) if isinstance(source, pl.DataFrame) else source
    _check_columns(table, plan)
    problems: list[tuple[str, ShoalError]] = []
    by_name = {column.name: column for column in plan}
    quasi = [by_name[name] for name in table.columns if _role(by_name, name) == "quasi"]
    sensitive = [by_name[name] for name in table.columns if _role(by_name, name) == "sensitive"]
    attributes, codes = _coded(table, quasi, problems)
    secrets, sensitive_codes = _coded(table, sensitive, problems)
    if problems:
        _raise(problems)
    kept = [name for name in table.columns if _role(by_name, name) in ("sensitive", "plain")]
    columns = [name for name in table.columns if name in by_name and not by_name[name].removed]
    # By name: in a list, polars renames a column whose name is empty, as names of index columns often are.
    shown = pl.DataFrame({name: table.column(name) for name in kept})
    dropped = tuple(name for name in table.columns if name not in columns)
    owners = [name for name in table.columns if _role(by_name, name) == "person"]
    named = [name for name in columns if by_name[name].role in REMOVED]
    return CodedTable(
        attributes,
        codes,
        secrets,
        sensitive_codes,
        shown,
        tuple(columns),
        dropped=dropped,
        named=pl.DataFrame({name: table.column(name) for name in named}),
        person=_people(table, owners) if owners else None,
    )


def _people(table: _Columns, names: Sequence[str]) -> IntVector | None:
    """Number the people of a table, whom some columns name together, or return None if every row is a person of its
    own. Raises DataError for rows of nobody.
    """
    from shoal.kernels.grouping import distinct

    numbers = np.empty((table.rows, len(names)), np.int32, order="F")
    lines = []
    for index, name in enumerate(names):
        values = table.column(name)
        nobody = values.null_count()
        if nobody:
            lines.append(
                f"column '{name}' says whose a row is, but it is empty in {nobody:,} of {table.rows:,} rows: fill them "
                "in, or leave these rows out"
            )
        else:
            numbers[:, index] = factorize(values)[0]
    if lines:
        raise DataError(_together(lines))
    person, first = distinct(numbers)
    return None if len(first) == table.rows else person


class _InMemory:
    """A polars frame with the part of the interface of `Frame` that is used here."""

    def __init__(self, data: pl.DataFrame) -> None:
        self.columns, self.rows, self.column = data.columns, data.height, data.get_column


_Columns = Frame | _InMemory


def _role(by_name: dict[str, ColumnPlan], name: str) -> str | None:
    return by_name[name].role if name in by_name else None


def _check_columns(table: _Columns, plan: Sequence[ColumnPlan]) -> None:
    """Check that every plan has its column, and that every column has at most one plan."""
    lines = []
    if table.rows == 0:
        lines.append("the table has no rows")
    names = [column.name for column in plan]
    for name in dict.fromkeys(names):
        if name not in table.columns:
            lines.append(f"the table has no column '{name}' ({did_you_mean(name, table.columns)})")
        elif names.count(name) > 1:
            roles = ", ".join(column.role for column in plan if column.name == name)
            lines.append(f"column '{name}' has more than one role: {roles}")
    if lines:
        raise DataError(_together(lines))


def _coded(
    table: _Columns, plan: Sequence[ColumnPlan], problems: list[tuple[str, ShoalError]]
) -> tuple[tuple[Attribute, ...], IntMatrix]:
    codes = np.empty((table.rows, len(plan)), np.int32, order="F")
    attributes = []
    for index, column in enumerate(plan):
        try:
            hierarchy = encode_column(table.column(column.name), column, codes[:, index])
            bounds = parsed(column.hierarchy) if column.show is not None else None
            if bounds is not None:
                check_bounds(hierarchy)
            attributes.append(Attribute(column.name, hierarchy, column.weight, bounds))
        except ShoalError as error:
            problems.append((column.name, error))
    return tuple(attributes), codes


def check_bounds(hierarchy: Hierarchy) -> None:
    """Refuse to show bounds of values that have no ends: texts, durations, categories."""
    whole = hierarchy.unlimited or hierarchy
    if whole.ordered == 0 or isinstance(whole.leaves.dtype, pl.Duration):
        raise HierarchyError(
            'show = "bounds" is for numbers and dates, but the column holds '
            f"{type_name(whole.leaves.dtype)} values: leave it out, or give the column widths, cuts or dates"
        )


def encode_column(values: pl.Series, plan: ColumnPlan, out: IntVector) -> Hierarchy:
    """Write the codes of one column into `out` and return its hierarchy."""
    if values.null_count() == len(values):
        raise DataError(f"all values are null: drop the column, or make it plain instead of {plan.role}")
    numbers, distinct = factorize(values)
    hierarchy = build(distinct, plan.hierarchy)
    if plan.limit is not None and plan.role == "quasi":
        hierarchy = hierarchy.limited(plan.limit)
    # Every distinct value has a leaf here: `build` raises an error for a value without one.
    renumber(numbers, hierarchy.locate(distinct), out)
    return hierarchy


def renumber(numbers: IntVector, code_of: IntVector, out: IntVector) -> None:
    """Write ``code_of[numbers]`` into `out`, in pieces, to avoid an index array as long as the table."""
    if np.array_equal(code_of, np.arange(len(code_of))):
        out[:] = numbers
        return
    piece = 1 << 18
    for start in range(0, len(numbers), piece):
        part = slice(start, start + piece)
        np.take(code_of, numbers[part], out=out[part], mode="clip")


def _raise(problems: list[tuple[str, ShoalError]]) -> None:
    kind = HierarchyError if all(isinstance(error, HierarchyError) for _, error in problems) else DataError
    raise kind(_together([_of_column(name, str(error)) for name, error in problems]))


def _of_column(name: str, message: str) -> str:
    start = f"column '{name}'"
    return message if message.startswith(start) else f"{start}: {message}"


def _together(lines: list[str]) -> str:
    if len(lines) == 1:
        return lines[0]
    return "\n".join([f"{len(lines)} problems with the table", *(f"  {line}" for line in lines)])
