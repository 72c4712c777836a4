"""`Format`: what Shoal knows about a kind of source. `SourceFile`: one whose tables are files. `FileFormat`: one whose
files Shoal writes, too.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar

from shoal.errors import DataError, did_you_mean
from shoal.io.read_errors import as_data_error
from shoal.support.machine.memory import check_addresses
from shoal.support.machine.threads import PIECE
from shoal.support.wording import type_name

if TYPE_CHECKING:
    import polars as pl

    from shoal.io.frame import Frame
    from shoal.io.narrow_types import Guessed
    from shoal.io.read_options import ReadOptions
    from shoal.io.row_groups import RowGroups

_DECIMAL_DIGITS = 38


class Format(ABC):
    """A kind of source that Shoal reads tables from."""

    name: ClassVar[str]
    """Its name in the registry, which becomes `Frame.kind`."""
    title: ClassVar[str]
    """Its name in messages and in the documentation."""
    suffixes: ClassVar[tuple[str, ...]] = ()
    """Endings of file names, in lower case, with their dot."""
    schemes: ClassVar[tuple[str, ...]] = ()
    """Schemes of URIs, in lower case, without ``://``."""
    is_folder: ClassVar[bool] = False
    """Whether a source is a folder, whatever its name."""
    is_database: ClassVar[bool] = False
    """Whether a source has many tables, so that each needs a name."""
    options: ClassVar[tuple[str, ...]] = ()
    """The fields of `ReadOptions` that its reader uses. `null_values` holds for the others too, after reading."""
    told_by_name: ClassVar[tuple[str, ...]] = ()
    """Fields of `ReadOptions` that the ending of the name tells, so that a policy need not."""
    extra: ClassVar[str] = ""
    """The extra of the package that installs the libraries below."""
    reads_with: ClassVar[tuple[str, ...]] = ()
    """Libraries that reading needs beyond the plain installation."""
    writes_with: ClassVar[tuple[str, ...]] = ()
    """Libraries that writing needs beyond the plain installation."""

    @abstractmethod
    def read(self, source: str | os.PathLike[str], options: ReadOptions) -> Frame:
        """Return the table, or raise `DataError`."""

    def what_to_install(self, *, writing: bool = False) -> str:
        """Return what to install before reading or writing, in words; "" if all libraries are there."""
        for library in self.writes_with if writing else self.reads_with:
            try:
                import_module(library)
            except ImportError:
                verb = "writing" if writing else "reading"
                return f'{verb} {self.title} needs the library {library}: pip install "shoal[{self.extra}]"'
        return ""


class SourceFile(Format):
    """A format of files that are read. Subclasses say how to load one."""

    on_disk: ClassVar[bool] = False
    """Whether columns stay on disk until they are asked for."""

    @abstractmethod
    def load(self, path: Path, options: ReadOptions) -> tuple[pl.LazyFrame, ReadOptions]:
        """Read a file that exists and is not empty, and return its options with what was detected filled in."""

    def columns_to_guess(self, path: Path, query: pl.LazyFrame, options: ReadOptions) -> Guessed | None:
        """Return the columns whose types follow from their values, because the file declares none."""
        return None

    def pieces(self, path: Path, name: str) -> Iterator[tuple[Any, pl.Series]] | None:
        """Yield the pieces of a column as codes and the distinct values of each; None if a file does not hold it so."""
        return None

    def read(self, source: str | os.PathLike[str], options: ReadOptions) -> Frame:
        """Return the table in a file, with the digest of its bytes."""
        path = Path(source)
        check_readable(path)  # before polars is imported, which takes longer
        from shoal.io.frame import Origin, build_frame, file_version, refuse_changed

        missing = self.what_to_install()
        if missing:
            raise DataError(f"{path}: {missing}")
        version: tuple[int, ...] | None = None
        try:
            with as_data_error(path, self.title):
                version = file_version(path)
                with path.open("rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
                if not path.stat().st_size:
                    raise DataError(f"{path}: the file is empty")
                query, options = self.load(path, options)
                frame = build_frame(
                    self.name,
                    query,
                    options,
                    Origin(
                        where=str(path),
                        path=path,
                        digest=digest,
                        version=version if self.on_disk else None,
                        pieces=partial(self.pieces, path),
                    ),
                    nulls_done="null_values" in self.options,
                    guessed=self.columns_to_guess(path, query, options),
                )
                refuse_changed(path, version)
                return frame
        except DataError:
            if version is not None:
                with contextlib.suppress(OSError):
                    refuse_changed(
                        path, version
                    )  # what looks like a mistake in the file may be half of an edit
            raise


class Holder(ABC):
    """What a file or a database can hold, and in which types."""

    name: ClassVar[str]
    title: ClassVar[str]
    refuses: ClassVar[tuple[str, ...]] = ("Object",)
    """Names of the polars types that it cannot hold, not even as text."""
    copies_memory: ClassVar[bool] = True
    """Whether files hold columns as they lie in memory, not cell by cell."""
    nests: ClassVar[bool] = True
    """Whether lists may hold lists."""

    def problem(self, column: pl.Series) -> str:
        """Return why the values of this column would not come back, in words; "" if they would.

        The words hold no value. Types may change: what comes back as text, or as a wider number, is not lost.
        """
        names = [dtype.base_type().__name__ for dtype in types_in(column.dtype)]
        if any(name in self.refuses for name in names) or (not self.nests and names.count("List") > 1):
            return f"holds {type_name(column.dtype)}, which {self.title} cannot"
        return ""

    def problems(self, data: pl.DataFrame, sensitive: Collection[str] = ()) -> list[str]:
        """Return which columns cannot be held, and why. In `sensitive` columns, values must also differ for
        readers that are less exact than Shoal's.
        """
        # Under another name: polars takes some names for patterns.
        found = {column.name: self.problem(column.alias("column")) for column in data}
        return [f"column '{name}' {problem}" for name, problem in found.items() if problem]

    def misfits(self, columns: Sequence[str], rows: int) -> list[str]:
        """Return which names of columns, and how many rows and columns, cannot be held."""
        return []

    def lost_rows(self, data: pl.DataFrame) -> str:
        """Return why readers would not see some rows of a table, in words; "" if they would see all."""
        return ""

    def fit_column(self, column: pl.Series) -> pl.Series:
        """Return a column in a type that can be held."""
        return column

    def fit_table(self, data: pl.DataFrame) -> pl.DataFrame:
        """Return the table as it can be held, without leftovers."""
        from shoal.io.leftovers import without_leftovers

        fitted = data.with_columns([self.fit_column(column) for column in data])
        return without_leftovers(fitted, buffers=self.copies_memory)


class FileFormat(SourceFile, Holder):
    """A format of files that are read and written. Subclasses say how to save one, and what such a file can hold."""

    @abstractmethod
    def save(self, data: pl.DataFrame, file: IO[bytes], target: Path, options: ReadOptions | None) -> None:
        """Write a table that `fit_table` returned. `target` is the name that the file will have."""

    in_pieces: ClassVar[bool] = False
    """Whether large tables can be written and read back in pieces: `save_pieces` and `reread_pieces`."""

    def reread(self, path: Path, options: ReadOptions | None) -> pl.DataFrame:
        """Return a table that `save` wrote with these options, as an outsider reads it, with text as it stands."""
        return self._written(path, options).collect()

    def save_pieces(
        self, pieces: Iterator[pl.DataFrame], schema: pl.Schema, file: IO[bytes], target: Path,
        options: ReadOptions | None,
    ) -> None:  # fmt: skip
        """Write a table piece by piece; otherwise as `save`."""
        raise NotImplementedError

    def reread_pieces(
        self, path: Path, options: ReadOptions | None, names: Sequence[str] | None = None
    ) -> Iterator[pl.DataFrame]:
        """Yield a table that was written in pieces, or some of its columns, in pieces of any size; otherwise as
        `reread`."""
        from polars import selectors

        query = self._written(path, options)
        if names is not None:
            query = query.select(selectors.by_name(*names))
        yield from query.collect_batches(chunk_size=PIECE, maintain_order=True)

    def row_groups(self, path: Path) -> RowGroups | None:
        """Return the pieces of a file as the codes that it holds; None if it holds none."""
        return None

    def _written(self, path: Path, options: ReadOptions | None) -> pl.LazyFrame:
        from shoal.io.read_options import ReadOptions

        return self.load(path, ReadOptions(guess_types=False))[0]


def types_in(dtype: Any) -> Iterator[Any]:
    """Yield a type and the types of what is inside it."""
    yield dtype
    inner = getattr(dtype, "inner", None)
    for part in [inner] if inner is not None else [field.dtype for field in getattr(dtype, "fields", ())]:
        yield from types_in(part)


def without_wide_integers(column: pl.Series) -> pl.Series:
    """Return integers of 128 bits, also inside lists and structs, as decimal numbers, or as text if they have too many
    digits.

    Of all readers of Arrow's types, only polars opens a file that has such integers.
    """
    import polars as pl

    if not any(dtype in (pl.Int128, pl.UInt128) for dtype in types_in(column.dtype)):
        return column
    try:
        return column.cast(_narrower(column.dtype, pl.Decimal(_DECIMAL_DIGITS, 0)))
    except pl.exceptions.PolarsError:
        return column.cast(_narrower(column.dtype, pl.String()))


def _narrower(dtype: Any, other: pl.DataType) -> Any:
    """Return a type with another one in the place of integers of 128 bits."""
    import polars as pl

    if isinstance(dtype, pl.Struct):
        return pl.Struct({field.name: _narrower(field.dtype, other) for field in dtype.fields})
    if isinstance(dtype, pl.Array):
        return pl.Array(_narrower(dtype.inner, other), dtype.shape[0])
    if isinstance(dtype, pl.List):
        return pl.List(_narrower(dtype.inner, other))
    return other if dtype in (pl.Int128, pl.UInt128) else dtype


def has_empty_text(column: pl.Series) -> bool:
    """Return whether a column of text, or of categories, has a value without letters."""
    import polars as pl

    if not isinstance(column.dtype, pl.String | pl.Categorical | pl.Enum):
        return False
    return bool((column.cast(pl.String).str.len_bytes() == 0).any())


def check_readable(path: Path) -> None:
    """Raise `DataError` if there is no such regular file; it names a file with a similar name.

    Raises MemoryError if this process may not reserve enough memory to read any file.
    """
    check_addresses()
    if path.is_dir():
        raise DataError(f"{path} is a directory; name a file in it")
    if not path.exists():
        folder = path.parent
        if not folder.is_dir():
            raise DataError(f"{path}: there is no directory {folder}")
        names = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
        raise DataError(f"{path}: there is no such file; {did_you_mean(path.name, names)}".rstrip("; "))
    if not path.is_file():
        raise DataError(
            f"{path} is not a regular file, and Shoal reads a file more than once; save it as one first"
        )
