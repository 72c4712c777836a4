"""All of `shoal.codebook`: describing a release that exists."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shoal import frames
from shoal.codebooks.book import Codebook, codebook_of
from shoal.codebooks.writing import check_codebook_paths, codebook_text
from shoal.policy import Policy
from shoal.release.results import Result
from shoal.release.two_tables import second_beside


def codebook(
    source: Any,
    policy: Policy | str | Path | None = None,
    *,
    second: Any = None,
    delimiter: str | None = None,
    most: int | None = None,
    **keywords: Any,
) -> Codebook:
    """Describe a release: every column, and every label in it with its meaning.

    `source` is a path, a frame, or the `Result` of `shoal.anonymize`. The original is not needed, and not read: a
    codebook is made of published rows and the policy alone. `second` is the second table of a release in two.
    `delimiter` is the original's, if it is known. Generalized columns with more than `most` labels list none.
    """
    chosen = Policy.given(policy, keywords)
    if isinstance(source, Result):
        source, second = source.table, source.second
    options = chosen.release_options(delimiter)
    rows = frames.read(source, options).data
    if second is None:
        second = second_beside(source, rows.columns, chosen.names("sensitive"))
    other = None if second is None else frames.read(second, options).data
    return codebook_of(rows, chosen, other, most=most)


def check_codebooks(
    paths: Sequence[Path], release: Any, others: Sequence[Any] = (), *, force: bool = False
) -> None:
    """Refuse codebooks that cannot be written, or would replace the release or `others`, before the work."""
    check_codebook_paths(paths, release)
    sources = {other: str(other) for other in (release, *others) if other is not None}
    frames.check_apart(sources, [(path, "a codebook") for path in paths])
    for path in paths:
        frames.check_writable(path, force=force, table=False)


def write_codebooks(
    paths: Sequence[Path], release: Any, policy: Policy, *, second: Any = None, force: bool = False
) -> None:
    """Write the codebook of a release that exists to files, each in the format of its name."""
    if not paths:
        return
    book = codebook(release, policy, second=second)
    with frames.Outbox(force=force) as box:
        for path in paths:
            box.write_text(path, codebook_text(book, path, release if isinstance(release, Path) else None))
