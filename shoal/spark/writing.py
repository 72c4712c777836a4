"""A release as a folder of files: written under a temporary name, read back, and renamed once it is verified."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import OutputError
from shoal.frames.databases.writing import forced
from shoal.frames.drafts import Draft, is_draft
from shoal.frames.formats import FORMATS, scheme_of, suffix_of, suffixes
from shoal.frames.formats.delimited import Csv
from shoal.frames.formats.parquet import Parquet
from shoal.machine.ending import journal
from shoal.spark.session import translated
from shoal.spark.sources import EMPTY, Store, address, with_empty_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MARK = "_SUCCESS"
"""An empty file that appears last, because object stores rename one file after the other."""


@dataclass
class Folder:
    """Where a release goes."""

    session: SparkSession
    target: str
    force: bool
    kind: type
    delimiter: str = ","

    @classmethod
    def at(cls, session: SparkSession, output: Any, *, force: bool) -> Folder:
        """Check that a release can be written there, before any work."""
        suffix = suffix_of(str(output).rstrip("/").rsplit("/", 1)[-1])
        kind = Parquet if suffix is None else FORMATS[suffixes()[suffix]]
        if not issubclass(kind, Parquet | Csv) or str(output).endswith(".gz"):
            raise OutputError(
                f"{output}: on Spark, Shoal writes folders of Parquet or CSV files: .parquet, or .csv"
            )
        folder = cls(session, address(str(output).rstrip("/")), force, kind)
        if is_draft(folder.target.rsplit("/", 1)[-1]):
            raise OutputError(f"{output}: folders of such a name are drafts of Shoal; choose another name")
        with translated("looking at the place of the release"):
            if Store(session, folder.target).exists() and not force:
                raise OutputError(
                    f"{output} exists already; choose another name, or overwrite it with {forced()}"
                )
            if not Store(session, folder.target.rsplit("/", 1)[0] or "/").exists():
                parent = folder.target.rsplit("/", 1)[0]
                raise OutputError(f"{output}: there is no folder {parent}; create it first")
        return folder

    @property
    def is_text(self) -> bool:
        """Whether its files hold text without types."""
        return issubclass(self.kind, Csv)

    @contextlib.contextmanager
    def draft(self) -> Iterator[str]:
        """Yield the address of a folder that is gone after the block, unless it was renamed."""
        parent, _, name = self.target.rpartition("/")
        place = f"{parent}/{Draft(Path(name)).path.name}"
        local = not scheme_of(place)
        if local:
            journal.lend(place)  # whoever ends this process removes it
        try:
            yield place
        finally:
            with contextlib.suppress(Exception):
                Store(self.session, place).delete()

    def write(self, frame: DataFrame, columns: tuple[str, ...], place: str) -> None:
        """Write rows with columns f0, f1, .. under their names."""
        lower = [name.lower() for name in columns]
        twice = [name for name in columns if lower.count(name.lower()) > 1]
        if twice:
            raise OutputError(
                f"Spark takes the columns {' and '.join(twice[:2])} for one, because it does not tell upper case from "
                "lower; rename one of them"
            )
        named = frame.toDF(*columns)
        writer = named.write.mode("errorifexists").option(
            "mapreduce.fileoutputcommitter.marksuccessfuljobs", "false"
        )
        with translated("writing the release"):
            if self.is_text:
                # As our own writer does: null is an empty cell, empty text is quoted, quotes are doubled.
                writer.csv(place, header=True, sep=self.delimiter, quote='"', escape='"', nullValue="", emptyValue='""',
                           ignoreLeadingWhiteSpace=False, ignoreTrailingWhiteSpace=False)  # fmt: skip
            else:
                writer.parquet(place)

    def read(self, place: str, columns: tuple[str, ...]) -> DataFrame:
        """Read what was written, as an outsider does, with columns f0, f1, .."""
        with translated("reading the release back"):
            files = Store(self.session, place).files()
            names = [f"f{i}" for i in range(len(columns))]
            if not self.is_text:
                if not files:
                    raise OutputError("nothing was written: the release has no rows")
                return self.session.read.parquet(*files).toDF(*names)
            from pyspark.sql.types import StringType, StructField, StructType

            back = self.session.read.csv(
                files,
                schema=StructType([StructField(name, StringType()) for name in names]),
                header=True,
                sep=self.delimiter,
                quote='"',
                escape='"',
                multiLine=True,
                mode="FAILFAST",
                maxCharsPerColumn=-1,
                emptyValue=EMPTY,
            )
            return with_empty_text(back)

    def appear(self, place: str) -> None:
        """Give a verified release its name, and mark it as complete."""
        store, target = Store(self.session, place), Store(self.session, self.target)
        with translated("renaming the release"), journal.move():
            aside = None
            if target.exists():
                if not self.force:
                    raise OutputError(
                        f"{self.target} was created in the meantime; choose another name, or use {forced()}"
                    )
                aside = Store(self.session, f"{place}.former")
                target.rename(aside)
            if not store.rename(target):
                if aside is not None:
                    aside.rename(target)
                raise OutputError(
                    f"{self.target} could not be renamed from its temporary name; nothing was changed"
                )
            if aside is not None:
                aside.delete()
            Store(self.session, f"{self.target}/{MARK}").touch()
            journal.write(self.target)


def fingerprint(frame: DataFrame) -> list[Any]:
    """Return what sums up all cells of a frame, whatever the order of its rows: how many there are, and sums of
    hashes."""
    from pyspark.sql import functions as F

    from shoal.spark.showing import hashable

    hashed = F.xxhash64(*[hashable(frame, name) for name in frame.columns])
    return [
        F.count(F.lit(1)).alias("rows"),
        F.sum(hashed.cast("decimal(20,0)")).alias("sum"),
        F.bit_xor(hashed).alias("xor"),
    ]
