"""`write`, `write_text` and `Outbox`: a file appears complete or not at all.

Shoal writes to a temporary file in a folder next to the target that only its owner can enter, flushes it to the disk,
and only then renames it to the target. A public file then has the permissions of any new file, or of the one that it
replaces; a private file can be read by its owner only, from its first byte on.
If anything fails before that (an error, a full disk, an interrupt), Shoal removes the temporary file and leaves an
older file as it was.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

from shoal.errors import OutputError
from shoal.io.databases import DatabaseTable
from shoal.io.databases.transactions import Pending, check_target, hint_at_replacing
from shoal.io.draft_folders import Draft, remove_abandoned_folders
from shoal.io.drafts import alone_in
from shoal.io.format_limits import instead
from shoal.io.formats import file_format_of
from shoal.io.output_checks import check_holds, check_writable
from shoal.io.read_options import ReadOptions
from shoal.support.machine.files import TOO_FEW_HANDLES, explain_denial, few_handles_left
from shoal.support.machine.shutdown import journal
from shoal.support.machine.threads import PIECE
from shoal.support.wording import first_line, printable

if TYPE_CHECKING:
    import polars as pl

    from shoal.io.formats.format import FileFormat, Holder
    from shoal.io.sheet import Sheet


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
        target, chosen = self._table_at(path)
        check_holds(path, data)
        self._prepare(target, lambda file: chosen.save(chosen.fit_table(data), file, target, options))
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

        from shoal.io.sheet import Sheet

        if isinstance(path, DatabaseTable):
            return Sheet.of(self._publish_stored(sheet.whole(), path))
        _, chosen = self._table_at(path)
        pieces = chosen.in_pieces and len(sheet) > PIECE
        sheet = sheet.narrow() if pieces else sheet
        values = sheet.values
        if pieces:
            target = self._write_pieces(sheet, path, options)
            lost = chosen.lost_rows(values[0]) if len(values) == 1 else ""
        else:
            whole = sheet.whole()
            sheet = Sheet.of(whole)
            target = self.write(whole, path, options=options)
            lost = chosen.lost_rows(whole)
            values = [whole]
        draft = self._waiting[-1][1].path
        try:
            back, changed = _read_back(chosen, draft, sheet, options, pieces=pieces)
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

    def _table_at(self, path: str | Path) -> tuple[Path, FileFormat]:
        """Return where a table of this name will be, and its format."""
        target = check_writable(path, force=self.force)
        chosen = file_format_of(target)
        assert chosen is not None
        return target, chosen

    def _write_pieces(self, sheet: Sheet, path: str | Path, options: ReadOptions | None) -> Path:
        target, chosen = self._table_at(path)
        check_holds(path, sheet.values, columns=sheet.columns, rows=len(sheet))
        fitted = sheet.with_values(lambda values: chosen.fit_table(values.to_frame()).to_series())
        self._prepare(
            target, lambda file: chosen.save_pieces(fitted.parts(), fitted.schema, file, target, options)
        )
        return target

    def _publish_stored(self, data: pl.DataFrame, stored: DatabaseTable) -> pl.DataFrame:
        check_target(stored, force=self.force)
        check_holds(stored, data)
        chosen = stored.database
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
            except (OutputError, OSError) as error:
                while appeared and not self.force:  # all of them are new, so none needs to stay
                    appeared.pop().unlink(missing_ok=True)
                if isinstance(error, OutputError):
                    rest = f"; already replaced: {', '.join(map(str, appeared))}" if appeared else ""
                    raise OutputError(f"{error}{rest}") from None
                if isinstance(error, FileExistsError):
                    message = f"{target} was created in the meantime; choose another name, or use {hint_at_replacing()}"
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


def _read_back(
    chosen: FileFormat, draft: Path, sheet: Sheet, options: ReadOptions | None, *, pieces: bool
) -> tuple[Sheet, str]:
    """Return a table as a draft gives it back, and what has changed, if anything."""
    from shoal.io.read_back import compare_by_codes, compare_in_pieces, compare_returned
    from shoal.io.sheet import Sheet

    if not pieces:
        found, changed = compare_returned(chosen.reread(draft, options), sheet.whole())
        return Sheet.of(found), changed
    groups = chosen.row_groups(draft)
    if groups is not None:
        return compare_by_codes(groups, sheet, partial(chosen.reread_pieces, draft, options))
    return compare_in_pieces(chosen.reread_pieces(draft, options), sheet)


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
    if explain_denial(error) == TOO_FEW_HANDLES:
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
