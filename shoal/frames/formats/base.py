"""`Format`: what Shoal knows about a kind of source. `FileFormat`: one whose tables are files, read and written."""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, ClassVar

from shoal.errors import DataError, OutputError, did_you_mean
from shoal.wording import first_line

if TYPE_CHECKING:
    import polars as pl

    from shoal.frames.frame import Frame
    from shoal.frames.options import ReadOptions


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

    def missing(self, *, writing: bool = False) -> str:
        """Return what to install before reading or writing, in words; "" if all libraries are there."""
        for library in self.writes_with if writing else self.reads_with:
            try:
                import_module(library)
            except ImportError:
                verb = "writing" if writing else "reading"
                return f'{verb} {self.title} needs the library {library}: pip install "shoal[{self.extra}]"'
        return ""


class FileFormat(Format):
    """A format of files. Subclasses say how to load and save one, and what such a file can hold."""

    keeps: ClassVar[tuple[str, ...] | None] = ()
    """Names of the polars types that the format has, None for all; values of other types come back in another type."""
    refuses: ClassVar[tuple[str, ...]] = ("Object",)
    """Names of the polars types that a file cannot hold, not even as text."""
    copies_memory: ClassVar[bool] = True
    """Whether files hold columns as they lie in memory, not cell by cell."""
    on_disk: ClassVar[bool] = False
    """Whether columns stay on disk until they are asked for."""

    @abstractmethod
    def load(self, path: Path, options: ReadOptions) -> tuple[pl.LazyFrame, ReadOptions]:
        """Read a file that exists and is not empty, and return its options with what was detected filled in."""

    @abstractmethod
    def save(self, data: pl.DataFrame, file: IO[bytes], target: Path, options: ReadOptions | None) -> None:
        """Write a table that `fitted` returned. `target` is the name that the file will have."""

    def holds(self, dtype: pl.DataType) -> bool:
        """Whether a file can hold columns of this type, perhaps as text."""
        return dtype.base_type().__name__ not in self.refuses

    def refusal(self, data: pl.DataFrame) -> str:
        """Return why a file cannot hold this table, and what to do; "" if it can."""
        for column in data:
            if not self.holds(column.dtype):
                return (
                    f"column '{column.name}' holds {column.dtype}, which {self.title} cannot; "
                    "turn it into text, or write Parquet instead"
                )
        return ""

    def altered(self, column: pl.Series) -> str:
        """Return how the column differs when it is written and read back, in words; "" if it comes back equal."""
        name = column.dtype.base_type().__name__
        # A column without any type is read as text.
        kept = name != "Null" if self.keeps is None else name in self.keeps
        return "" if kept else f"{column.dtype} comes back as another type"

    def fitted_column(self, column: pl.Series) -> pl.Series:
        """Return a column in a type that the file can hold."""
        return column

    def fitted(self, data: pl.DataFrame) -> pl.DataFrame:
        """Return the table as the file can hold it, without leftovers, or raise `OutputError`."""
        from shoal.frames.leftovers import without_leftovers

        refusal = self.refusal(data)
        if refusal:
            raise OutputError(refusal)
        fitted = data.with_columns([self.fitted_column(column) for column in data])
        return without_leftovers(fitted, buffers=self.copies_memory)

    def read(self, source: str | os.PathLike[str], options: ReadOptions) -> Frame:
        """Return the table in a file, with the digest of its bytes."""
        path = Path(source)
        check_readable(path)  # before polars is imported, which takes longer
        import polars as pl

        from shoal.frames.frame import file_version, framed

        missing = self.missing()
        if missing:
            raise DataError(f"{path}: {missing}")
        try:
            version = file_version(path)
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            if not path.stat().st_size:
                raise DataError(f"{path}: the file is empty")
            query, options = self.load(path, options)
            return framed(
                self.name,
                query,
                options,
                path=path,
                digest=digest,
                version=version if self.on_disk else None,
                nulls_done="null_values" in self.options,
            )
        except OSError as error:
            raise DataError(f"{path}: cannot be read as {self.title}: {error.strerror or error}") from None
        except pl.exceptions.PolarsError as error:
            raise DataError(f"{path}: is not a readable {self.title} file: {first_line(error)}") from None


def check_readable(path: Path) -> None:
    """Raise `DataError` if there is no such file; it names a file with a similar name."""
    if path.is_dir():
        raise DataError(f"{path} is a directory; name a file in it")
    if not path.exists():
        folder = path.parent
        if not folder.is_dir():
            raise DataError(f"{path}: there is no directory {folder}")
        names = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
        raise DataError(f"{path}: there is no such file; {did_you_mean(path.name, names)}".rstrip("; "))
