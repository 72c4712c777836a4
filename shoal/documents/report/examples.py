"""A few rows before and after, for the private edition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.documents.report.bins import label
from shoal.documents.report.report_parts import Part, Section, Table, Words
from shoal.documents.report.subject import Subject
from shoal.support.arrays import IntVector

ROWS = 6
"""Rows that are shown."""
MOST_CANDIDATES = 3
"""Rows of the original that are shown for one published row, if it is not known whose it is."""
MOST_COLUMNS = 12


def examples(subject: Subject) -> Section | None:
    """Show a few rows of the original and what became of them; None if there is nothing to show. O(rows) per row.

    Where quasi-identifiers were shuffled against each other, no row of the release is that of one person.
    """
    published = subject.published
    if not published.rows or not subject.table.rows or not published.rows_intact:
        return None
    secret = () if subject.table.named is None else subject.table.named.columns  # a page is no key table
    columns = [name for name in subject.table.columns if name in subject.rows.columns and name not in secret]
    all_columns, columns = len(columns), columns[:MOST_COLUMNS]
    chosen = np.unique(np.linspace(0, published.rows - 1, ROWS).astype(np.int64))
    rows: list[tuple[str, ...]] = []
    if subject.owner is not None and not published.in_buckets:
        words = (
            "Each pair is a row of the original, and the row of the release that belongs to the same person."
        )
        for place in chosen.tolist():
            own = int(subject.owner[place])
            rows += [
                (f"row {own:,} before", *_original(subject, own, columns)),
                ("after", *_format_row(subject, place, columns)),
            ]
    else:
        words = (
            "Who a published row belongs to is not known here, so each is shown below rows of the original that its "
            f"cells cover, at most {MOST_CANDIDATES} of them."
        )
        for place in chosen.tolist():
            covered = _find_covered_rows(subject, place)
            if covered is None:
                return None
            rows += [
                (f"row {own:,} before", *_original(subject, own, columns))
                for own in covered[:MOST_CANDIDATES].tolist()
            ]
            rows.append((f"after (covers {len(covered):,})", *_format_row(subject, place, columns)))
    if all_columns > len(columns):
        words += f" The first {MOST_COLUMNS} of {all_columns:,} columns are shown."
    parts: list[Part] = [
        Words(f"{words} Rows of the original count from 0."),
        Table("A few rows before and after", ("", *columns), rows, fit="scroll"),
    ]
    return Section("examples", "Rows before and after", parts)


def _find_covered_rows(subject: Subject, place: int) -> IntVector | None:
    """Return the rows of the original that the cells of a published row cover; None if its cells cannot be read."""
    published, codes = subject.published, subject.table.quasi.wide
    if not published.in_ranges:
        return None
    own = published.class_of[place]
    low, high = (ends[own] for ends in published.cell_ranges)
    inside = ((codes >= low) & (codes <= high)).all(axis=1)
    return np.flatnonzero(inside).astype(np.int32)


def _format_row(subject: Subject, place: int, columns: Sequence[str]) -> list[str]:
    return [label(subject.rows[name][place]) for name in columns]


def _original(subject: Subject, row: int, columns: Sequence[str]) -> list[str]:
    table = subject.table
    quasi = {attribute.name: at for at, attribute in enumerate(table.attributes)}
    return [
        label(
            table.attributes[quasi[name]].hierarchy.values(table.quasi.wide[row : row + 1, quasi[name]])[0]
            if name in quasi
            else table.kept[name][row]
        )
        for name in columns
    ]
