"""File formats and databases. A new one is a file here and a line in `FORMATS`.

A source is found by the scheme of its URI (``scheme://..``), else by the ending of its name. Neither the registry
nor the classes import polars before a table is read or written.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from shoal.errors import DataError
from shoal.io.formats.format import FileFormat, Format, check_readable
from shoal.support.machine.files import why_not_named
from shoal.support.registry import Registry
from shoal.support.wording import either, printable

FORMATS: Registry[Format] = Registry(
    "file format",
    {
        "csv": "shoal.io.formats.delimited:Csv",
        "tsv": "shoal.io.formats.delimited:Tsv",
        "parquet": "shoal.io.formats.parquet:Parquet",
        "arrow": "shoal.io.formats.arrow:Arrow",
        "excel": "shoal.io.formats.excel:Excel",
        "xls": "shoal.io.formats.excel:OldExcel",
        "jsonl": "shoal.io.formats.json_lines:JsonLines",
        "spss": "shoal.io.formats.spss:Spss",
        "stata": "shoal.io.formats.stata:Stata",
        "sas": "shoal.io.formats.sas:Sas",
        "postgresql": "shoal.io.formats.postgresql:PostgreSql",
        "sqlite": "shoal.io.formats.sqlite:Sqlite",
        "duckdb": "shoal.io.formats.duckdb:DuckDb",
        "folder": "shoal.io.formats.folder:Folder",
    },
)

CATALOG = "catalog"
"""The scheme of tables in the catalog of a Spark session."""
REMOTE = ("abfs", "abfss", CATALOG, "dbfs", "file", "gs", "hdfs", "s3", "s3a", "viewfs", "wasbs")
"""Schemes that Spark reads from and writes to, and nobody else does."""
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")


def scheme_of(source: str | os.PathLike[str]) -> str:
    """Return the scheme of a URI in lower case, "" for a path."""
    found = _SCHEME.match(source) if isinstance(source, str) else None
    return found[1].lower() if found else ""


def suffixes() -> dict[str, str]:
    """Return the known endings of file names, each with the name of its format."""
    return {suffix: name for name, kind in FORMATS.items() for suffix in kind.suffixes}


def suffix_of(path: str | os.PathLike[str]) -> str | None:
    """Return the longest known ending of a file name, such as ``.csv.gz``; None if none is known."""
    name = Path(path).name.lower()
    return max((suffix for suffix in suffixes() if name.endswith(suffix)), key=len, default=None)


def format_of(source: str | os.PathLike[str]) -> Format:
    """Return the format of a source, or raise `DataError` if Shoal cannot read it."""
    scheme = scheme_of(source)
    if scheme:
        for kind in FORMATS.values():
            if scheme in kind.schemes:
                return kind()
        if scheme in REMOTE:
            how = either(command="--engine spark", python='[engine] name = "spark" in the policy')
            raise DataError(f"only Spark reads from {scheme}:// addresses: use {how}, or name a file")
        # The rest of a URI may hold a password.
        raise DataError(f"Shoal cannot read from {scheme}:// addresses; name a file ({_endings()})")
    if reason := why_not_named(source):
        raise DataError(f"{printable(os.fspath(source))}: {reason}")
    if next(Path(source).glob("part-*"), None) is not None:
        return FORMATS["folder"]()
    suffix = suffix_of(source)
    if suffix is None:
        check_readable(Path(source))
        raise DataError(f"{source}: unknown file ending; known are {_endings()}")
    return FORMATS[suffixes()[suffix]]()


def file_format_of(path: Path) -> FileFormat | None:
    """Return the format in which a file of this name is written; None if its ending is unknown."""
    suffix = suffix_of(path)
    found = FORMATS[suffixes()[suffix]]() if suffix is not None else None
    return found if isinstance(found, FileFormat) else None


def _endings() -> str:
    return ", ".join(suffixes())


__all__ = [
    "CATALOG",
    "FORMATS",
    "REMOTE",
    "FileFormat",
    "Format",
    "file_format_of",
    "format_of",
    "scheme_of",
    "suffix_of",
    "suffixes",
]
