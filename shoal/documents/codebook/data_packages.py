"""A release as a dataset: a Frictionless data package, and DCAT for catalogues."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from shoal.documents.codebook.book import Codebook, Column
from shoal.io.formats import file_format_of
from shoal.io.formats.delimited import Csv
from shoal.io.read_options import ReadOptions
from shoal.release.two_tables import second_path

_PROFILE = "https://datapackage.org/profiles/2.0/datapackage.json"
_MEDIA = {
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".parquet": "application/vnd.apache.parquet",
    ".arrow": "application/vnd.apache.arrow.file",
    ".feather": "application/vnd.apache.arrow.file",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".jsonl": "application/x-ndjson",
    ".ndjson": "application/x-ndjson",
}
_PLAIN = ("string", "number", "integer", "boolean", "date", "datetime", "time", "duration", "array", "any")


def package_text(book: Codebook, release: str) -> str:
    """Write a codebook as `datapackage.json`: a resource with a schema for each table of the release."""
    package = {
        "$schema": _PROFILE,
        "name": _name(release),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "description": _description(book),
        "resources": [_resource(path, columns, book.delimiter) for path, columns in _tables(book, release)],
    }
    return json.dumps(package, indent=2, ensure_ascii=False) + "\n"


def catalogue_text(book: Codebook, release: str) -> str:
    """Write a codebook as DCAT in JSON-LD: a dataset with a distribution for each table of the release."""
    dataset = {
        "@context": {
            "dcat": "http://www.w3.org/ns/dcat#",
            "dct": "http://purl.org/dc/terms/",
            "csvw": "http://www.w3.org/ns/csvw#",
            "xsd": "http://www.w3.org/2001/XMLSchema#",
        },
        "@type": "dcat:Dataset",
        "dct:title": _name(release),
        "dct:description": _description(book),
        "dct:issued": {"@value": datetime.now(UTC).date().isoformat(), "@type": "xsd:date"},
        "dcat:distribution": [_distribution(path, columns) for path, columns in _tables(book, release)],
    }
    return json.dumps(dataset, indent=2, ensure_ascii=False) + "\n"


def _tables(book: Codebook, release: str) -> list[tuple[str, Sequence[Column]]]:
    found: list[tuple[str, Sequence[Column]]] = [(release, book.columns)]
    if book.second:
        found.append((second_path(PurePosixPath(release)).as_posix(), book.second))  # type: ignore[arg-type]
    return found


def _name(path: str) -> str:
    """Return a name that data packages allow: small letters, digits, dots, dashes and underscores."""
    stem = PurePosixPath(path).name.split(".")[0].lower()
    return re.sub(r"[^a-z0-9._-]+", "-", stem).strip("-") or "release"


def _description(book: Codebook) -> str:
    return (
        f"{book.rows:,} rows, anonymized with {book.made_with}. Labels of generalized columns are explained in the "
        "descriptions of the columns."
    )


def _resource(path: str, columns: Sequence[Column], likely: str | None) -> dict[str, Any]:
    ending = _extension_of(path)
    chosen = file_format_of(Path(path))
    dialect = {}
    if isinstance(chosen, Csv):
        dialect = {"dialect": {"delimiter": chosen.delimiter(ReadOptions(delimiter=likely))}}
    return {
        "name": _name(path),
        "type": "table",
        "path": path,
        "format": ending.lstrip("."),
        **({"mediatype": _MEDIA[ending]} if ending in _MEDIA else {}),
        "encoding": "utf-8",
        **dialect,
        **({"compression": "gz"} if path.lower().endswith(".gz") else {}),
        "schema": {"fields": [_field(column) for column in columns], "missingValues": [""]},
    }


def _extension_of(path: str) -> str:
    """Return the file extension that names the format, without ``.gz``."""
    return PurePosixPath(path.lower().removesuffix(".gz")).suffix


def _field(column: Column) -> dict[str, Any]:
    """Return a column as a field of a table schema; its labels are categories with their meanings."""
    field: dict[str, Any] = {
        "name": column.name,
        "type": column.type if column.type in _PLAIN else "any",
        **({"title": column.title} if column.title else {}),
        "description": _sentence(column),
        "shoal:role": column.role,
        "shoal:values": column.values,
    }
    if column.labels and column.type == "string":
        field["categories"] = [
            {"value": label.text, "label": label.meaning.words(column.name)}
            for label in column.labels
            if label.text is not None
        ]
    if column.labels:
        field["shoal:labels"] = [label.summary(column.name) for label in column.labels]
    return field


def _sentence(column: Column) -> str:
    return f"{column.role}; {column.published}"


def _distribution(path: str, columns: Sequence[Column]) -> dict[str, Any]:
    ending = _extension_of(path)
    return {
        "@type": "dcat:Distribution",
        "dct:title": path,
        "dcat:downloadURL": {"@id": path},
        **({"dcat:mediaType": _MEDIA[ending]} if ending in _MEDIA else {}),
        "csvw:tableSchema": {
            "csvw:column": [
                {
                    "csvw:name": column.name,
                    "csvw:datatype": column.type,
                    "dct:description": _sentence(column),
                }
                for column in columns
            ]
        },
    }
