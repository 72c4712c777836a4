"""From published rows to `Published`: the rows as an outsider reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from shoal.coding import Attribute, CodedTable
from shoal.coding.column_plan import bound_names
from shoal.coding.hierarchy import Hierarchy
from shoal.errors import DataError
from shoal.io.coded import Codes
from shoal.io.sheet import Sheet, code_values
from shoal.release import Release
from shoal.release.bounds import read_bounded
from shoal.release.layout import CLASSES, Buckets
from shoal.release.published import Boxes, BoxesInPart, CellFaults, Published
from shoal.release.published_types import find_texts, without_fraction
from shoal.release.render import Rendered
from shoal.release.two_tables import join_tables
from shoal.release.value_sets import PlacedCells, class_sets
from shoal.support.arrays import BoolVector, IntMatrix, IntVector, LongVector
from shoal.support.machine.threads import PIECE, in_threads
from shoal.support.wording import some_values


def read_back(table: CodedTable, release: Release, rendered: Rendered) -> Published:
    """Read a release of ours as an outsider does, from the rows alone. Two tables are joined first."""
    rows: pl.DataFrame | Sheet = rendered.sheet
    if rendered.second is not None:
        assert rendered.bucket is not None
        rows = join_tables(rendered.rows, rendered.second, rendered.bucket, [a.name for a in table.sensitive])
    bounds = {a.name: bound_names(a.name) for a in table.attributes if a.bounds is not None}
    published, _ = read_published(
        rows,
        PublishedColumns(table.attributes, table.sensitive, rendered.bucket, bounds),
        sensitive_codes(rows, table.sensitive),
        table.rows - len(rendered.owner),
    )
    return replace(published, layout=published.layout.with_shuffling(release.layout.shuffling))


def sensitive_codes(rows: pl.DataFrame | Sheet, sensitive: tuple[Attribute, ...]) -> IntMatrix:
    """Code sensitive columns by the domains of the original."""
    sheet = Sheet.of(rows)
    codes = np.empty((len(rows), len(sensitive)), np.int32, order="F")
    for j, attribute in enumerate(sensitive):
        places, values = sheet.number_cells(attribute.name, code_values)
        found = attribute.hierarchy.locate(values)
        if (found < 0).any():
            # Other tools and formats may write numbers and times differently.
            low, high, known = attribute.hierarchy.read(values)
            found = np.where((found < 0) & known & (low == high), low, found).astype(np.int32)
        if (found < 0).any():
            # Whole numbers with gaps are fractions to some tools: 4 becomes 4.0.
            whole = attribute.hierarchy.locate(without_fraction(values))
            found = np.where(found < 0, whole, found).astype(np.int32)
        if (found < 0).any():
            found = np.where(found < 0, find_texts(attribute.hierarchy.leaves, values), found).astype(
                np.int32
            )
        if (found < 0).any():
            odd = values.filter(found < 0).to_list()
            raise DataError(
                f"'{attribute.name}' is sensitive and published as it is, but the original does not have "
                f"{some_values(odd)}: check that it is the right original"
            )

        def place(start: int, j: int = j, found: IntVector = found, places: Codes = places) -> None:
            rows = slice(start, start + PIECE)
            np.take(found, places[rows], out=codes[rows, j], mode="clip")

        in_threads(place, range(0, len(places), PIECE))
    return codes


@dataclass(frozen=True, eq=False)
class PublishedColumns:
    """What the columns of a release are."""

    attributes: tuple[Attribute, ...]
    sensitive: tuple[Attribute, ...]
    bucket: str | None = None
    """The column with the numbers of buckets."""
    bounds: Mapping[str, tuple[str | None, str | None]] = field(default_factory=dict)
    """The columns with the ends of cells. They are part of the text, and a cell means what it and its bounds say."""


def read_published(
    rows: pl.DataFrame | Sheet,
    columns: PublishedColumns,
    sensitive_codes: IntMatrix,
    suppressed: int = 0,
    weights: LongVector | None = None,
) -> tuple[Published, list[str]]:
    """Read rows as an outsider does. Also returns the columns with cells that their hierarchy does not know.

    Rows belong to one class if their texts are identical, letter by letter. Cells are found in their domain by name; if
    a name is unknown there, the classes remain valid, but no loss can be computed. `weights` says how many equal rows
    each row stands for, where equal ones were counted.
    """
    from shoal.kernels.grouping import distinct_rows

    sheet, attributes, bucket = Sheet.of(rows), columns.attributes, columns.bucket

    def read(attribute: Attribute) -> tuple[Codes, PlacedCells]:
        own = columns.bounds.get(attribute.name, (None, None))
        return read_bounded(sheet, attribute.name, attribute.hierarchy, own)

    found = in_threads(read, attributes, many=len(sheet) > PIECE)
    texts, cells = [number for number, _ in found], [shown for _, shown in found]
    buckets = [] if bucket is None else [sheet.number_cells(bucket, code_values)[0].astype(np.int32)]
    class_of, first = distinct_rows([*texts, *buckets], len(sheet))
    unknown = [a.name for a, shown in zip(attributes, cells, strict=True) if not shown.known.all()]
    published = Published(
        attributes,
        columns.sensitive,
        class_of,
        sensitive_codes,
        _read_boxes(attributes, cells, texts, first),
        suppressed,
        Buckets(buckets[0], texts=_of_classes(texts, first)) if buckets else CLASSES,
        tuple(_count_faults(shown, texts[j], weights) for j, shown in enumerate(cells)),
    )
    return published, unknown


def _read_boxes(
    attributes: Sequence[Attribute], cells: Sequence[PlacedCells], texts: Sequence[Codes], first: LongVector
) -> Boxes | BoxesInPart:
    """Return what the cells of each class cover. A column of which nothing is in its hierarchy may cover any value."""
    unread, foreign, placed = np.zeros(len(first), np.bool_), [], []
    for attribute, shown, number in zip(attributes, cells, texts, strict=True):
        if _foreign(shown, attribute.hierarchy):
            foreign.append(attribute.name)
            placed.append(_cover_anything(shown, attribute.hierarchy.size))
            continue
        placed.append(shown)
        if not shown.known.all():
            unread |= (~shown.known & ~shown.above)[number[first]]
    low = _place(texts, first, [shown.low for shown in placed])
    high = _place(texts, first, [shown.high for shown in placed])
    listed = any(shown.sets is not None for shown in placed)
    sets = class_sets(placed, _of_classes(texts, first)) if listed else None
    if all(shown.known.all() for shown in cells):
        return Boxes(low, high, sets)
    return BoxesInPart(low, high, sets, unread, tuple(foreign))


def _foreign(shown: PlacedCells, hierarchy: Hierarchy) -> bool:
    """Return whether nothing in a column is in its hierarchy but null and the whole domain: another tool named it."""
    if shown.known.all():
        return False
    narrow = (shown.low > 0) | (shown.high < hierarchy.size - 1) | (hierarchy.size == 1)
    null = hierarchy.size - 1 if hierarchy.leaves.null_count() else hierarchy.size
    return not np.any((shown.known & narrow & (shown.low < null)) | shown.above)


def _cover_anything(shown: PlacedCells, size: int) -> PlacedCells:
    """Widen the cells that are not known to the whole domain."""
    low = np.where(shown.known, shown.low, 0).astype(np.int32)
    high = np.where(shown.known, shown.high, size - 1).astype(np.int32)
    return replace(shown, low=low, high=high, sets=None)


def _count_faults(shown: PlacedCells, number: Codes, weights: LongVector | None) -> CellFaults:
    """Count the rows with cells of each fault."""

    def rows(*faults: BoolVector) -> tuple[int, ...]:
        if not any(fault.any() for fault in faults):
            return (0,) * len(faults)
        per_cell = np.bincount(number, weights, minlength=len(shown.known))
        return tuple(int(per_cell[fault].sum()) for fault in faults)

    above, unread = rows(shown.above, ~shown.known & ~shown.above)
    finer, unclear = (0, 0) if shown.finer is None else rows(*shown.finer)
    return CellFaults(above, unread, _rests(shown, number, weights), finer, unclear)


def _rests(shown: PlacedCells, number: Codes, weights: LongVector | None) -> tuple[tuple[int, int, int], ...]:
    """Return the codes and the rows of each cell whose name lies above the limit for some values only."""
    if not len(shown.rest):
        return ()
    many = np.ones(len(number), np.int64) if weights is None else weights
    return tuple(
        (int(shown.low[at]), int(shown.high[at]), int(many[number == at].sum())) for at in shown.rest
    )


def _place(texts: Sequence[Codes], first: LongVector, ends: list[IntVector]) -> IntMatrix:
    """Return the codes of each class's cells, looked up through one of its rows."""
    placed = np.empty((len(first), len(ends)), np.int32)
    for j, end in enumerate(ends):
        placed[:, j] = end[texts[j][first]]
    return placed


def _of_classes(texts: Sequence[Codes], first: LongVector) -> IntMatrix:
    """Return the number of each class's text in each column."""
    shown = np.empty((len(first), len(texts)), np.int32)
    for j, number in enumerate(texts):
        shown[:, j] = number[first]
    return shown
