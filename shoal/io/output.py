"""`write`, `write_text` and `Outbox`: a file appears complete or not at all.

Shoal writes to a temporary file in a folder next to the target that only its owner can enter, flushes it to the disk,
and only then renames it to the target. A public file then has the permissions of any new file, or of the one that it
replaces; a private file can be read by its owner only, from its first byte on.
If anything fails before that (an error, a full disk, an interrupt), Shoal removes the temporary file and leaves an
older file as it was.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from shoal.errors import OutputError
from shoal.io.databases import DatabaseTable
from shoal.io.databases.transactions import Pending, check_kept, check_target, forced
from shoal.io.draft_folders import Draft, remove_abandoned_folders
from shoal.io.drafts import alone_in, is_draft
from shoal.io.format_limits import instead, refusal
from shoal.io.formats import FORMATS, file_format_of, suffix_of, suffixes
from shoal.io.links import follow_links
from shoal.io.read_options import ReadOptions
from shoal.support.machine.files import TOO_FEW_HANDLES, denied_by_system, few_handles_left, why_not_named
from shoal.support.machine.shutdown import journal
from shoal.support.machine.threads import PIECE
from shoal.support.wording import first_line, printable

if TYPE_CHECKING:
    import polars as pl

    from shoal.io.formats.format import Holder
    from shoal.io.sheet import Sheet

_LIKE_A_DRAFT = "files of such a name are drafts of Shoal, which the next run removes"


class Outbox:
    """Files that appear together once all of them are complete on the disk, or not at all.

    ``with Outbox() as box: box.write(..)``: leaving the block renames the files to their targets, the first one
    last, so that a release never appears without its record and card.
    """

    def __init__(self, *, force: bool = False) -> None:
        self.force = force
        self._waiting: list[tuple[Path, Draft]] = []
        self._databases: dict[str, Pending] = {}

    @property
    def notes(self) -> list[str]:
        """What a user should know about tables of a database that are replaced."""
        return [note for pending in self._databases.values() for note in pending.notes]

    def write(self, data: pl.DataFrame, path: str | Path, *, options: ReadOptions | None = None) -> Path:
        """Prepare a table in the format that the file name ends in, and return where it will be.

        A CSV file gets the delimiter of the input, if `options` tell it. Categories become text in CSV, Excel and
        JSON lines. In Parquet and Arrow they stay dictionaries, without unused categories.
        """
        target = check_writable(path, force=self.force)
        chosen = file_format_of(target)
        assert chosen is not None
        reason = refusal(chosen, data)
        if reason:
            raise OutputError(f"{path}: {reason}")
        self._prepare(target, lambda file: chosen.save(chosen.fitted(data), file, target, options))
        return target

    def publish(
        self, data: pl.DataFrame, path: str | Path | DatabaseTable, *, options: ReadOptions | None = None
    ) -> pl.DataFrame:
        """Prepare a table as `write` does, or in a database, and return it as an outsider reads it from there.

        Raises `OutputError` if a cell does not come back as it was given. The result has the types of `data` where
        the format has them, or where its text gives them back.
        """
        from shoal.io.sheet import Sheet

        return self.publish_sheet(Sheet.of(data), path, options=options).whole()

    def publish_sheet(
        self, sheet: Sheet, path: str | Path | DatabaseTable, *, options: ReadOptions | None = None
    ) -> Sheet:
        """Publish a table as `publish` does. A large one is written, read back and compared in pieces, if its format
        can be."""
        import polars as pl

        from shoal.io.read_back import returned, returned_by_codes, returned_in_pieces
        from shoal.io.sheet import Sheet

        if isinstance(path, DatabaseTable):
            return Sheet.of(self._publish_stored(sheet.whole(), path))
        chosen = file_format_of(check_writable(path, force=self.force))
        assert chosen is not None
        pieces = chosen.in_pieces and len(sheet) > PIECE
        sheet = sheet.narrowed() if pieces else sheet
        values = sheet.values
        if pieces:
            target = self._write_pieces(sheet, path, options)
            lost = chosen.lost_rows(values[0]) if len(values) == 1 else ""
        else:
            whole = sheet.whole()
            target = self.write(whole, path, options=options)
            lost = chosen.lost_rows(whole)
            values = [whole]
        draft = self._waiting[-1][1].path
        try:
            groups = chosen.row_groups(draft) if pieces else None
            if groups is not None:
                others = partial(chosen.reread_pieces, draft, options)
                back, changed = returned_by_codes(groups, sheet, others)
            elif pieces:
                back, changed = returned_in_pieces(chosen.reread_pieces(draft, options), sheet)
            else:
                found, changed = returned(chosen.reread(draft, options), values[0])
                back = Sheet.of(found)
        except OSError as error:  # for example, its folder is gone
            raise _not_written(target, error) from error
        except MemoryError:
            raise
        except (Exception, pl.exceptions.PanicException):
            # The message may name the temporary file, or show values.
            back, changed = sheet, "the table"
        if changed and (full := _no_room(draft)) is not None:
            raise _not_written(target, full)
        if lost or changed:
            reason = lost or f"{chosen.title} does not give back {changed} as it was"

            def able(other: Holder) -> bool:
                return not any(other.problems(part) or other.lost_rows(part) for part in values)

            raise OutputError(f"{target}: {reason}, so nothing was written; {instead(chosen, able)}")
        return back

    def _write_pieces(self, sheet: Sheet, path: str | Path, options: ReadOptions | None) -> Path:
        target = check_writable(path, force=self.force)
        chosen = file_format_of(target)
        assert chosen is not None
        reason = refusal(chosen, sheet.values, columns=sheet.columns, rows=len(sheet))
        if reason:
            raise OutputError(f"{path}: {reason}")
        fitted = sheet.with_values(lambda values: chosen.fitted(values.to_frame()).to_series())
        self._prepare(
            target, lambda file: chosen.save_pieces(fitted.parts(), fitted.schema, file, target, options)
        )
        return target

    def _publish_stored(self, data: pl.DataFrame, stored: DatabaseTable) -> pl.DataFrame:
        check_target(stored, force=self.force)
        chosen = stored.database
        reason = refusal(chosen, data)
        if reason:
            raise OutputError(f"{stored}: {reason}")
        place = str(stored.source)
        if place not in self._databases:
            self._databases[place] = Pending(stored, force=self.force)
        back, changed = self._databases[place].publish(data, stored)
        if changed:
            advice = instead(chosen, lambda other: not other.problems(data) and not other.lost_rows(data))
            raise OutputError(
                f"{stored}: {chosen.title} does not give back {changed} as it was, so nothing was written; {advice}"
            )
        return back

    def write_text(self, path: str | Path, text: str, *, private: bool = True) -> Path:
        """Prepare a text in UTF-8, and return where it will be. Only its owner can read a `private` one."""
        try:
            content = text.encode()
        except UnicodeEncodeError:  # tables hold no such text, and policies neither
            given = "a name or a text that it must contain is not UTF-8; check what the command line gives"
            raise OutputError(f"{printable(str(path))}: {given}") from None
        return self.write_bytes(path, content, private=private)

    def write_bytes(self, path: str | Path, content: bytes, *, private: bool = True) -> Path:
        """Prepare a file with this content, and return where it will be. Only its owner can read a `private` one."""
        target = check_writable(path, force=self.force, table=False)
        self._prepare(target, lambda file: file.write(content), private=private)
        return target

    def copy(self, source: Path, path: str | Path, *, private: bool = True) -> Path:
        """Prepare a copy of a file, byte by byte, and return where it will be."""
        target = check_writable(path, force=self.force, table=False)
        with source.open("rb") as given:
            self._prepare(target, lambda file: shutil.copyfileobj(given, file, 1 << 20), private=private)
        return target

    def _prepare(self, target: Path, fill: Callable[[IO[bytes]], object], *, private: bool = False) -> None:
        import polars as pl

        if any(target == other for other, _ in self._waiting):
            raise OutputError(f"{target} would be written twice; choose another name for one of the files")
        try:
            remove_abandoned_folders(target.parent)
            draft = Draft(target, private=private)
            self._waiting.append((target, draft))
            with draft.create() as file:
                fill(file)
                file.flush()
                os.fsync(file.fileno())
        except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise _not_written(target, error) from error

    def __enter__(self) -> Outbox:
        """Begin with no files."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Rename the files to their targets, or remove them all, also after an interrupt."""
        try:
            if kind is None:
                self._appear()
        finally:
            for _target, draft in self._waiting:
                draft.close()
            for pending in self._databases.values():
                pending.close()

    def _appear(self) -> None:
        folders = {target.parent for target, _ in self._waiting}
        with alone_in(folders), journal.move():
            appeared: list[Path] = []
            databases = list(self._databases.values())
            try:
                for pending in databases:
                    pending.rename()
                for target, draft in reversed(self._waiting):
                    draft.appear(force=self.force)
                    appeared.append(target)
                for pending in databases:  # last, because nothing can undo it
                    pending.commit()
            except OutputError as error:
                if not self.force:
                    while appeared:
                        appeared.pop().unlink(missing_ok=True)
                rest = f"; already replaced: {', '.join(map(str, appeared))}" if appeared else ""
                raise OutputError(f"{error}{rest}") from None
            except OSError as error:
                if not self.force:  # all of them are new, so none needs to stay
                    while appeared:
                        appeared.pop().unlink(missing_ok=True)
                if isinstance(error, FileExistsError):
                    message = f"{target} was created in the meantime; choose another name, or use {forced()}"
                    raise OutputError(message) from None
                raise _not_written(target, error, appeared) from error
            for place in [*appeared, *(stored for pending in databases for stored in pending.tables)]:
                journal.write(str(place))
        for folder in folders:
            _flush_directory(folder)


def write(
    data: pl.DataFrame, path: str | Path, *, force: bool = False, options: ReadOptions | None = None
) -> Path:
    """Write a table in the format that the file name ends in, and return where it is."""
    with Outbox(force=force) as box:
        return box.write(data, path, options=options)


def write_text(path: str | Path, text: str, *, force: bool = False, private: bool = True) -> Path:
    """Write a text in UTF-8, and return where it is. Only its owner can read a `private` one."""
    with Outbox(force=force) as box:
        return box.write_text(path, text, private=private)


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
    for path, what in places:
        if is_draft(os.path.basename(os.path.realpath(path))):
            raise OutputError(f"{os.path.realpath(path)} ({what}): {_LIKE_A_DRAFT}; rename it first")
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
        if os.path.isdir(output):
            folder = Path(os.path.realpath(output))
            for path, inside in places:
                if Path(os.path.realpath(path)).is_relative_to(folder):
                    raise OutputError(
                        f"{output} ({what}) is a directory and would replace {inside}, which is in it; add a file "
                        "name, or choose another folder"
                    )
    check_kept(list(sources), [path for path, _ in outputs])


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
    chosen = file_format_of(target)
    if table and chosen is None and (suffix := suffix_of(target)) is not None:
        title = FORMATS[suffixes()[suffix]].title
        written = ", ".join(known for known in suffixes() if file_format_of(Path(f"x{known}")) is not None)
        raise OutputError(f"{path}: Shoal reads {title}, but does not write it; it writes {written}")
    if table and chosen is None:
        raise OutputError(f"{path}: unknown file ending; known are {', '.join(suffixes())}")
    if target.exists():
        if not target.is_file():
            raise OutputError(f"{path} is not a regular file; choose another name")
        if not force:
            raise OutputError(f"{path} exists already; choose another name, or overwrite it with {forced()}")
    if not target.parent.is_dir():
        raise OutputError(f"{path}: there is no directory {target.parent}; create it first")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise OutputError(f"{path}: no permission to write in {target.parent}")
    missing = chosen.missing(writing=True) or why_not_named(target) if table and chosen is not None else ""
    if missing:
        raise OutputError(f"{printable(str(path))}: {missing}")
    return target


def _no_room(draft: Path) -> OSError | None:
    """Return why nothing more can be written into a draft that did not come back; not all writers notice."""
    try:
        with draft.open("ab") as file:
            file.write(bytes(1 << 16))
    except OSError as error:
        return error
    return None


def _not_written(target: Path, error: BaseException, replaced: Sequence[Path] = ()) -> OutputError:
    import polars as pl

    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        raise MemoryError from error  # the disk is good
    reason = first_line(error)
    if denied_by_system(error) == TOO_FEW_HANDLES:
        reason = TOO_FEW_HANDLES
    elif isinstance(error, OSError) and error.strerror:
        reason = error.strerror
    elif isinstance(error, pl.exceptions.PanicException):
        # Its message may show values.
        reason = TOO_FEW_HANDLES if few_handles_left() else "the writer failed"
    rest = f"already replaced: {', '.join(map(str, replaced))}" if replaced else "nothing was changed"
    return OutputError(f"{target} could not be written: {reason}; {rest}")


def _flush_directory(folder: Path) -> None:
    """Make the new name survive a power cut, if the system can flush directories."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)
