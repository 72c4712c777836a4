"""Where tables are: frames of Spark, tables of its catalog, and files and folders at any address that Spark reads."""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from shoal.engines.spark import is_spark_frame
from shoal.engines.spark.catalog_names import is_table, table_frame
from shoal.engines.spark.session import in_words
from shoal.errors import DataError
from shoal.io.drafts import is_draft
from shoal.io.formats import FORMATS, scheme_of, suffix_of, suffixes
from shoal.io.formats.delimited import Csv
from shoal.io.formats.parquet import Parquet
from shoal.io.read_options import ReadOptions
from shoal.support.brief import Brief

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EMPTY = "\x1a(empty)\x1a"
"""What Spark's reader gives for a quoted cell without text, which it takes for null otherwise."""
HEAD = 1 << 16
"""Bytes at the start of a file that tell its delimiter and its columns."""


@dataclass(frozen=True, repr=False)
class Source(Brief):
    """A table that Spark reads. Its columns are called f0, f1, .., because Spark takes some names for expressions and
    does not tell upper case from lower."""

    frame: DataFrame
    columns: list[str]
    options: ReadOptions
    """How it is read, with what was detected."""
    text: bool
    """It holds text without types, so that they have to be inferred."""
    place: str = ""
    """The address of the files; empty for a frame."""


class Store:
    """Files at an address, through the file systems of Spark: local, HDFS, object stores."""

    def __init__(self, session: SparkSession, place: str) -> None:
        jvm: Any = session.sparkContext._jvm
        self._jvm = jvm
        self.path = jvm.org.apache.hadoop.fs.Path(place)
        self._system = self.path.getFileSystem(session.sparkContext._jsc.hadoopConfiguration())

    @property
    def local(self) -> Path | None:
        """The folder on this machine; None for one in another file system."""
        own = self._system.getUri().getScheme() == "file"
        return Path(self.path.toUri().getPath()) if own else None

    def drafts(self) -> list[str]:
        """Return the addresses of temporary folders in this folder."""
        found = self._system.globStatus(self._jvm.org.apache.hadoop.fs.Path(self.path, ".shoal-*")) or ()
        paths = [one.getPath() for one in found]
        return sorted(str(path.toString()) for path in paths if is_draft(str(path.getName())))

    def exists(self) -> bool:
        """Return whether there is a file or a folder."""
        return bool(self._system.exists(self.path))

    def is_folder(self) -> bool:
        """Return whether there is a folder."""
        return bool(self._system.getFileStatus(self.path).isDirectory())

    def files(self) -> list[str]:
        """Return the addresses of the files in a folder, however deep, or of the file itself; not of hidden ones."""
        found, each = [], self._system.listFiles(self.path, True)
        while each.hasNext():
            one = each.next()
            file = str(one.getPath().toString())
            if one.getLen() and not any(part[:1] in ("_", ".") for part in self.inside(file).split("/")):
                found.append(file)
        return sorted(found)

    def inside(self, file: str) -> str:
        """Return the place of a file in the folder; empty for the file itself."""
        root = self.path.toUri().getPath().rstrip("/")
        place: str = self._jvm.org.apache.hadoop.fs.Path(file).toUri().getPath()
        return place[len(root) :].strip("/")

    def head(self, file: str) -> bytes:
        """Return the first bytes of a file."""
        stream = self._system.open(self._jvm.org.apache.hadoop.fs.Path(file))
        try:
            first = bytes(stream.readNBytes(HEAD))
        finally:
            stream.close()
        return zlib.decompressobj(31).decompress(first, HEAD) if file.endswith(".gz") else first

    def touch(self) -> None:
        """Make an empty file."""
        self._system.create(self.path, True).close()

    def delete(self) -> bool:
        """Remove a folder with all that is in it; return whether it is gone."""
        self._system.delete(self.path, True)
        return not self.exists()

    def rename(self, target: Store) -> bool:
        """Give a folder its name; return whether that went well."""
        return bool(self._system.rename(self.path, target.path))


def shares_files(frame: DataFrame, files: Sequence[str], *, folder: bool = False) -> bool:
    """Return whether a frame reads some of these files, or a file in these folders."""
    own = [_without_scheme(file) for file in frame.inputFiles()]
    others = [_without_scheme(file).rstrip("/") for file in files]
    if folder:
        return any(file.startswith(f"{other}/") for file in own for other in others)
    return not set(own).isdisjoint(others)


def _without_scheme(file: str) -> str:
    """Return the path of a local file, whose scheme is written in several ways; others as they are."""
    return unquote("/" + file.removeprefix("file:").lstrip("/")) if file.startswith("file:") else file


def address(source: str | os.PathLike[str]) -> str:
    """Return the address of a path: absolute, because tasks have other working folders."""
    return str(source) if scheme_of(str(source)) else os.path.abspath(source)


@in_words("reading the table")
def read(session: SparkSession, source: Any, options: ReadOptions) -> Source:
    """Return a table that Spark reads. Raises DataError if there is none, if it is in another format, or if its files
    do not have the same columns."""
    if is_spark_frame(source):
        return _build_source(source, source.columns, options, text=False)
    if is_table(source):
        frame = table_frame(session, str(source))
        return _build_source(frame, frame.columns, options, text=False, place=str(source))
    place = address(source)
    store = Store(session, place)
    if not store.exists():
        raise DataError(f"{source}: there is no such file or folder")
    files = store.files()
    if not files:
        raise DataError(f"{source}: the folder holds no files with rows")
    if any("=" in store.inside(file).rpartition("/")[0] for file in files):
        raise DataError(
            f"{source}: folders named by the values of a column (year=2024/) are not read, because their types would "
            "be a guess; read the table with Spark, and give the frame"
        )
    kinds = {_kind(file) for file in files}
    if len(kinds) > 1:
        raise DataError(f"{source}: the folder holds files of several formats; name one with a single format")
    kind = kinds.pop()
    if kind == Parquet.name:
        return _parquet(session, source, files, options)
    if kind is not None and issubclass(FORMATS[kind], Csv):
        return _read_delimited(session, store, source, files, options)
    raise DataError(f"{source}: on Spark, Shoal reads Parquet and CSV; convert the table first")


def _kind(file: str) -> str | None:
    suffix = suffix_of(file.rsplit("/", 1)[-1])
    return None if suffix is None else suffixes()[suffix]


def _build_source(
    frame: DataFrame, names: Sequence[str], options: ReadOptions, *, text: bool, place: str = ""
) -> Source:
    twice = [name for name in dict.fromkeys(names) if list(names).count(name) > 1]
    if twice:
        raise DataError(f"two columns are called '{twice[0]}'; rename one of them")
    if not names:
        raise DataError("the table has no columns")
    return Source(frame.toDF(*(f"f{i}" for i in range(len(names)))), list(names), options, text, place)


def _parquet(session: SparkSession, source: Any, files: list[str], options: ReadOptions) -> Source:
    with ThreadPoolExecutor(8) as pool:
        schemas = list(pool.map(lambda file: _columns_of(session, file), files))
    _refuse_changes(source, files, schemas)
    frame = session.read.parquet(*files)
    return _build_source(frame, [name for name, _ in schemas[0]], options, text=False, place=str(source))


def _columns_of(session: SparkSession, file: str) -> list[tuple[str, str]]:
    return [(one.name, one.dataType.simpleString()) for one in session.read.parquet(file).schema.fields]


def _refuse_changes(source: Any, files: list[str], schemas: Sequence[Sequence[tuple[str, str]]]) -> None:
    """Refuse files with different columns: Spark would fill those that a file lacks with null."""
    for file, schema in zip(files, schemas, strict=True):
        if list(schema) == list(schemas[0]):
            continue
        names, first = dict(schema), dict(schemas[0])
        name = next((one for one in (*first, *names) if first.get(one) != names.get(one)), "")
        own, other = names.get(name, "missing"), first.get(name, "missing")
        what = (
            f"column '{name}' is {own} there and {other} in {_short(files[0])}"
            if name
            else "their order differs"
        )
        raise DataError(f"{source}: the file {_short(file)} has other columns than the first: {what}")


def with_empty_text(frame: DataFrame) -> DataFrame:
    """Return text that was read with `EMPTY` in the place of quoted empty cells, which are empty text and not null."""
    from pyspark.sql import functions as F

    return frame.select(
        *(F.when(F.col(name) == EMPTY, "").otherwise(F.col(name)).alias(name) for name in frame.columns)
    )


def _short(file: str) -> str:
    return file.rsplit("/", 1)[-1]


def _read_delimited(
    session: SparkSession, store: Store, source: Any, files: list[str], options: ReadOptions
) -> Source:
    from shoal.io.formats.delimited_text import settle_options

    names, options = settle_options(store.head(files[0]), Path(_short(files[0])), options)
    for file in files[1:]:
        own, _ = settle_options(store.head(file), Path(_short(file)), options)
        _refuse_changes(source, [files[0], file], [[(n, "text") for n in names], [(n, "text") for n in own]])
    from pyspark.sql import functions as F
    from pyspark.sql.types import StringType, StructField, StructType

    quote = options.quote or ""
    several = False
    if quote:
        # A record that goes over several lines has a line with an odd number of quotes.
        lines = session.read.option("encoding", options.encoding or "utf-8").text(files)
        count = F.length("value") - F.length(F.replace("value", F.lit(quote)))
        several = not lines.filter(count % 2 == 1).isEmpty()
    schema = StructType([StructField(f"f{i}", StringType()) for i in range(len(names))])
    frame = session.read.csv(
        files,
        schema=schema,
        header=options.header,
        sep=options.delimiter,
        quote=quote,
        escape=quote,
        encoding=options.encoding,
        multiLine=several,
        mode="FAILFAST",
        maxCharsPerColumn=-1,
        enforceSchema=True,
        emptyValue=EMPTY,
    )
    return _build_source(with_empty_text(frame), names, options, text=True, place=str(source))
