"""Whether a file can be written: its name, its folder, what it would replace, and what its format can hold."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import OutputError
from shoal.io.databases import DatabaseTable
from shoal.io.databases.transactions import check_kept, check_target, hint_at_replacing
from shoal.io.drafts import is_draft
from shoal.io.format_limits import refusal
from shoal.io.formats import FORMATS, file_format_of, suffix_of, suffixes
from shoal.io.links import follow_links
from shoal.support.machine.files import why_not_named
from shoal.support.wording import printable

if TYPE_CHECKING:
    import polars as pl

    from shoal.io.formats.format import FileFormat

_LIKE_A_DRAFT = "files of such a name are drafts of Shoal, which the next run removes"


def check_holds(
    path: str | Path | DatabaseTable,
    data: pl.DataFrame | Sequence[pl.DataFrame],
    *,
    sensitive: Collection[str] = (),
    columns: Sequence[str] = (),
    rows: int = 0,
) -> None:
    """Raise `OutputError` if a file of this name cannot hold the values of a table. Call this before long work.

    `columns` and `rows` are those of the whole table, if `data` is only a part of it, or what each column shows.
    """
    chosen = path.database if isinstance(path, DatabaseTable) else file_format_of(Path(path))
    reason = refusal(chosen, data, sensitive, columns, rows) if chosen is not None else ""
    if reason:
        raise OutputError(f"{path}: {reason}")


def check_apart(
    sources: Mapping[Any, str], outputs: Sequence[tuple[Path | DatabaseTable | None, str]]
) -> None:
    """Refuse outputs that would replace a source or each other, which not even --force allows, and sources that have
    the name of a draft, which writing next to them would remove. Links and other spellings of a name are followed. A
    source that is a folder stands for its files, and an output that is a folder would replace all that is in it.

    `sources` and `outputs` say what each path is, such as ``the data``; anything that is not a path is ignored.
    """
    places = [(path, what) for source, what in sources.items() if (path := file_of(source)) is not None]
    _refuse_drafts(places)
    places += [(str(file), what) for path, what in places if os.path.isdir(path) for file in _parts(path)]
    taken = {key: what for path, what in reversed(places) for key in _identities(path)}
    for output, what in outputs:
        if output is None:
            continue
        if isinstance(output, DatabaseTable):  # other tables of its file stay
            for key in _identities(file_of(output) or os.devnull):
                taken.setdefault(key, "the database of the release")
            continue
        for key in _identities(output):
            if key in taken:
                raise OutputError(f"{output} ({what}) would replace {taken[key]}; choose another name")
            taken[key] = what
        _check_outside(output, what, places)
    check_kept(list(sources), [path for path, _ in outputs])


def _refuse_drafts(places: Sequence[tuple[str, str]]) -> None:
    """Refuse sources that have the name of a draft."""
    for path, what in places:
        if is_draft(os.path.basename(os.path.realpath(path))):
            raise OutputError(f"{os.path.realpath(path)} ({what}): {_LIKE_A_DRAFT}; rename it first")


def _check_outside(output: Path, what: str, places: Sequence[tuple[str, str]]) -> None:
    """Refuse an output that is a folder with one of these places in it."""
    folder = Path(os.path.realpath(output))
    for path, inside in places if os.path.isdir(output) else ():
        if Path(os.path.realpath(path)).is_relative_to(folder):
            raise OutputError(
                f"{output} ({what}) is a directory and would replace {inside}, which is in it; add a file name, or "
                "choose another folder"
            )


def _parts(folder: str) -> list[Path]:
    """Return the files of a folder that commands read: the parts of a table, and the result of a comparison."""
    return [*Path(folder).glob("part-*"), *Path(folder).glob("comparison.json")]


def _identities(path: str | Path) -> list[object]:
    """Return what two names of one file have in common: the path behind links, and the file itself, if it exists."""
    found: list[object] = [os.path.normcase(os.path.realpath(path))]
    with contextlib.suppress(OSError, ValueError):
        known = os.stat(path)
        found += [(known.st_dev, known.st_ino)] if stat.S_ISREG(known.st_mode) else []
    return found


def file_of(source: Any) -> str | None:
    """Return the file that a source is in, if it is in one."""
    if isinstance(source, DatabaseTable):
        known = isinstance(source.source, str) and source.database.in_file
        return source.database.address(source.source).name if known else None
    return os.fspath(source) if isinstance(source, str | os.PathLike) else None


def check_publishable(path: str | Path | DatabaseTable, *, force: bool = False) -> None:
    """Raise `OutputError` if a release cannot be written there, to a file or to a database."""
    if isinstance(path, DatabaseTable):
        check_target(path, force=force)
    else:
        check_writable(path, force=force)


def check_writable(path: str | Path, *, force: bool = False, table: bool = True) -> Path:
    """Return where a file of this name would be written, or raise `OutputError` if it cannot be written.

    A table also needs a known file ending. Call this before long work.
    """
    target = follow_links(path)  # writing to the target of a link keeps the link
    if target.is_dir():
        raise OutputError(f"{path} is a directory; add a file name")
    if is_draft(target.name):
        raise OutputError(f"{path}: {_LIKE_A_DRAFT}; choose another name")
    chosen = _require_format(target, path) if table else None
    if target.exists():
        if not target.is_file():
            raise OutputError(f"{path} is not a regular file; choose another name")
        if not force:
            raise OutputError(
                f"{path} exists already; choose another name, or overwrite it with {hint_at_replacing()}"
            )
    if not target.parent.is_dir():
        raise OutputError(f"{path}: there is no directory {target.parent}; create it first")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise OutputError(f"{path}: no permission to write in {target.parent}")
    missing = "" if chosen is None else chosen.what_to_install(writing=True) or why_not_named(target)
    if missing:
        raise OutputError(f"{printable(str(path))}: {missing}")
    return target


def _require_format(target: Path, path: str | Path) -> FileFormat:
    """Return the format that the ending of a table's file names."""
    chosen = file_format_of(target)
    if chosen is not None:
        return chosen
    suffix = suffix_of(target)
    if suffix is None:
        raise OutputError(f"{path}: unknown file ending; known are {', '.join(suffixes())}")
    title = FORMATS[suffixes()[suffix]].title
    written = ", ".join(known for known in suffixes() if file_format_of(Path(f"x{known}")) is not None)
    raise OutputError(f"{path}: Shoal reads {title}, but does not write it; it writes {written}")
