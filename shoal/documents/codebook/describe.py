"""All of `shoal.codebook`: describing a release that exists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from shoal import io
from shoal.coding import CodedTable
from shoal.coding.hierarchy.kinds import parse_hierarchy
from shoal.coding.roles import SENSITIVE
from shoal.documents.codebook.book import Codebook, codebook_of
from shoal.documents.codebook.codebook_files import check_codebook_paths, codebook_text
from shoal.errors import OutputError
from shoal.io.formats import REMOTE, scheme_of
from shoal.policy import Policy
from shoal.release.results import Result
from shoal.release.two_tables import second_beside
from shoal.support.arrays import IntVector
from shoal.support.wording import format_count


def codebook(
    source: Any,
    policy: Policy | str | Path | None = None,
    *,
    second: Any = None,
    delimiter: str | None = None,
    titles: Mapping[str, str] | None = None,
    most: int | None = None,
    **keywords: Any,
) -> Codebook:
    """Describe a release: every column, and every label in it with its meaning.

    `source` is a path, a frame, or the `Result` of `shoal.anonymize`. The original is not needed, and not read: a
    codebook is made of published rows and the policy alone. `second` is the second table of a release in two.
    `delimiter` is the original's, if it is known; `titles` says what columns are about. Generalized columns with more
    than `most` labels list none.
    """
    chosen = Policy.given(policy, keywords)
    if isinstance(source, Result):
        source, second = source.table, source.second
    options = chosen.release_options(delimiter)
    frame = io.read(source, options)
    rows = frame.data
    if second is None:
        second = second_beside(source, rows.columns, chosen.names(SENSITIVE))
    other = None if second is None else io.read(second, options).data
    book = codebook_of(rows, chosen, other, most=most)
    book = book.titled({**(titles or {}), **frame.options.labels.columns})
    return replace(book, delimiter=frame.options.delimiter or delimiter)


def find_listed_only(table: CodedTable, owner: IntVector, policy: Policy) -> list[str]:
    """Return warnings about hierarchies that list values which only suppressed rows have: a codebook would publish
    them. Private. O(rows).
    """
    suppressed = np.ones(table.rows, np.bool_)
    suppressed[owner] = False
    notes = []
    for j, attribute in enumerate(table.attributes):
        if not suppressed.any() or not parse_hierarchy(policy.columns[attribute.name].hierarchy).knows_domain:
            continue
        shown = np.bincount(table.quasi.narrow[j][owner], minlength=attribute.hierarchy.size)
        hidden = int(((table.value_counts[j] > 0) & (shown == 0)).sum())
        if hidden:
            notes.append(
                f"the codebook may list {format_count(hidden, 'value')} of the tree of '{attribute.name}' that only "
                "suppressed rows have. If you copied the tree from the data, take them from a public list instead"
            )
    return notes


def check_codebooks(
    paths: Sequence[Path], release: Any, others: Sequence[Any] = (), *, force: bool = False
) -> None:
    """Refuse codebooks that cannot be written, or would replace the release or `others`, before the work."""
    if paths and isinstance(release, str) and scheme_of(release) in REMOTE:
        raise OutputError(
            f"{paths[0]}: a codebook is made of the published rows on one machine, which does not read {release}: "
            "make it from a copy in a folder"
        )
    check_codebook_paths(paths, release)
    sources = {other: str(other) for other in (release, *others) if other is not None}
    io.check_apart(sources, [(path, "a codebook") for path in paths])
    for path in paths:
        io.check_writable(path, force=force, table=False)


def write_codebooks(
    paths: Sequence[Path],
    release: Any,
    policy: Policy,
    *,
    second: Any = None,
    for_publication: bool = True,
    force: bool = False,
) -> None:
    """Write the codebook of a release that exists to files, each in the format of its name."""
    if not paths:
        return
    book = codebook(release, policy, second=second)
    with io.Outbox(force=force) as box:
        for path in paths:
            place = release if isinstance(release, Path) else None
            text = codebook_text(book, path, place, for_publication=for_publication)
            box.write_text(path, text, private=False)
