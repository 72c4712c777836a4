"""A release as a folder of files: written under a temporary name, read back, and renamed once it is verified.

On a file system that this machine sees, its temporary folder is locked, and the next run removes what a dead one has
left. Elsewhere nobody can tell a dead run from a live one, so the next run only names what it finds.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.engines.spark.catalog_names import is_table
from shoal.engines.spark.catalog_tables import Table
from shoal.engines.spark.session import translate_errors
from shoal.engines.spark.spark_sources import EMPTY, Store, address, shares_files, with_empty_text
from shoal.errors import OutputError
from shoal.io.databases.transactions import hint_at_replacing
from shoal.io.draft_folders import DraftFolder, remove_abandoned_folders
from shoal.io.drafts import alone_in, draft_number, draft_path, is_draft
from shoal.io.formats import FORMATS, suffix_of, suffixes
from shoal.io.formats.delimited import Csv
from shoal.io.formats.parquet import Parquet
from shoal.io.links import follow_links
from shoal.support.machine.shutdown import journal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = "rows"
"""The folder in a temporary folder that holds the files, next to its lock."""
MARK = "_SUCCESS"
"""An empty file that appears last, because object stores rename one file after the other."""


def place_of(session: SparkSession, output: Any, *, force: bool) -> Folder | Table:
    """Return where a release goes, or raise OutputError, before any work, if it cannot be written there."""
    if is_table(output):
        return Table.at(session, str(output), force=force)
    return Folder.at(session, output, force=force)


@dataclass
class Folder:
    """Where a release goes."""

    session: SparkSession
    target: str
    force: bool
    kind: type
    delimiter: str = ","
    notes: list[str] = field(default_factory=list)
    """What a user should know about the place."""

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
        with translate_errors("looking at the place of the release"):
            if Store(session, folder.target).exists() and not force:
                raise OutputError(
                    f"{output} exists already; choose another name, or overwrite it with {hint_at_replacing()}"
                )
            if not Store(session, folder.target.rsplit("/", 1)[0] or "/").exists():
                parent = folder.target.rsplit("/", 1)[0]
                raise OutputError(f"{output}: there is no folder {parent}; create it first")
            local = Store(session, folder.target).local
        if local is not None:
            follow_links(local)
        return folder

    @property
    def place(self) -> str:
        """Where the release is in the end."""
        return self.target

    @property
    def is_text(self) -> bool:
        """Whether its files hold text without types."""
        return issubclass(self.kind, Csv)

    def check_apart(self, _source: Any, frame: DataFrame) -> None:
        """Refuse to replace a folder that the data is read from, which not even --force allows."""
        with translate_errors("looking at the place of the release"):
            if Store(self.session, self.target).exists() and shares_files(frame, [self.target], folder=True):
                raise OutputError(f"{self.target} (the release) would replace the data; choose another name")

    @contextlib.contextmanager
    def draft(self) -> Iterator[str]:
        """Yield the address of a folder that is gone after the block, unless it was renamed."""
        parent, _, name = self.target.rpartition("/")
        store = Store(self.session, parent or "/")
        folder = store.local
        if folder is not None:
            self.notes += [_describe_leftover(str(stays)) for stays in remove_abandoned_folders(folder)]
            held = DraftFolder(folder / name)
            try:
                try:
                    own = held.create().name
                except OSError as error:
                    raise OutputError(f"{self.target} could not be written: {error.strerror}") from None
                yield f"{parent}/{own}/{ROWS}"
            finally:
                held.close()
            return
        with translate_errors("looking at the place of the release"):
            self.notes += [_describe_leftover(stays) for stays in store.drafts()]
        place = f"{parent}/{draft_path(Path(name)).name}"
        with journal.owe(place):
            try:
                yield f"{place}/{ROWS}"
            finally:
                with contextlib.suppress(Exception):
                    if Store(self.session, place).delete():
                        journal.settle(place)

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
        with translate_errors("writing the release"):
            if self.is_text:
                # As our own writer does: null is an empty cell, empty text is quoted, quotes are doubled.
                writer.csv(place, header=True, sep=self.delimiter, quote='"', escape='"', nullValue="", emptyValue='""',
                           ignoreLeadingWhiteSpace=False, ignoreTrailingWhiteSpace=False)  # fmt: skip
            else:
                writer.parquet(place)

    def read(self, place: str, columns: tuple[str, ...]) -> DataFrame:
        """Read what was written, as an outsider does, with columns f0, f1, .."""
        with translate_errors("reading the release back"):
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
        folder = Store(self.session, self.target.rpartition("/")[0] or "/").local
        aside = None
        with translate_errors("renaming the release"), alone_in([folder] if folder else []), journal.move():
            if target.exists():
                if not self.force:
                    raise OutputError(
                        f"{self.target} was created in the meantime; choose another name, or use {hint_at_replacing()}"
                    )
                aside = Store(self.session, f"{self.target}.former-{draft_number()}")
                if not target.rename(aside):
                    raise OutputError(
                        f"{self.target} could not be put aside to be replaced; nothing was changed"
                    )
            if not store.rename(target):
                if aside is not None:
                    aside.rename(target)
                raise OutputError(
                    f"{self.target} could not be renamed from its temporary name; nothing was changed"
                )
            Store(self.session, f"{self.target}/{MARK}").touch()
            journal.write(self.target)
        if aside is not None:
            with translate_errors("removing the folder that was replaced"):
                aside.delete()


def _describe_leftover(place: str) -> str:
    return (
        f"{place} is from a run that was killed, or that still writes, and holds rows that were not verified: if no "
        "run writes there, remove it"
    )


def fingerprint(frame: DataFrame) -> list[Any]:
    """Return what sums up all cells of a frame, whatever the order of its rows: how many there are, and sums of
    hashes."""
    from pyspark.sql import functions as F

    from shoal.engines.spark.render_rows import hashable

    hashed = F.xxhash64(*[hashable(frame, name) for name in frame.columns])
    return [
        F.count(F.lit(1)).alias("rows"),
        F.sum(hashed.cast("decimal(20,0)")).alias("sum"),
        F.bit_xor(hashed).alias("xor"),
    ]
