"""How a column may be generalized, as a policy writes it: this part of the schema comes from the registry of kinds."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

from pydantic import ValidationError
from pydantic_core import CoreSchema, InitErrorDetails, core_schema

from shoal.coding.hierarchy.kinds import KINDS, Kind, Misspelled, TableKind, parse_hierarchy
from shoal.coding.hierarchy.kinds.file import File
from shoal.coding.hierarchy.kinds.kind import WordKind
from shoal.errors import did_you_mean
from shoal.policy.section import wrong


class _Spelling:
    """Tells pydantic how a hierarchy is checked, written and described."""

    def __get_pydantic_core_schema__(self, _source: Any, _handler: Any) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            _check_hierarchy, serialization=core_schema.plain_serializer_function_ser_schema(_written)
        )

    def __get_pydantic_json_schema__(self, _schema: Any, _handler: Any) -> dict[str, Any]:
        return {"anyOf": [_describe_kind(kind) for kind in KINDS.values()]}


HierarchySpec = Annotated[str | TableKind, _Spelling()]
"""A word or the name of a file as text; a table as an object of its kind."""


def _check_hierarchy(value: Any) -> str | TableKind:
    try:
        kind = parse_hierarchy(value)
    except Misspelled as error:
        raise ValidationError.from_exception_data(
            "hierarchy",
            [
                InitErrorDetails(type=wrong(flaw.message, flaw.hint), loc=flaw.keys, input=value)
                for flaw in error.flaws
            ],
        ) from None
    return kind if isinstance(kind, TableKind) else os.fspath(value)


def _written(value: Any) -> Any:
    return value.settings() if isinstance(value, TableKind) else value


def _describe_kind(kind: type[Kind]) -> dict[str, Any]:
    from shoal.policy.field_docs import field_notes

    schema = kind.schema()
    notes = field_notes(kind)
    for name, shape in schema.get("properties", {}).items():
        shape["description"] = notes[name]
    return schema


def plan_hierarchy(spec: str | TableKind | None, base: Path) -> Kind:
    """Return the hierarchy for the column's plan; the path of a file begins with the folder of the policy."""
    kind = parse_hierarchy(spec)
    return File(base / kind.path) if isinstance(kind, File) else kind


def file_problem(spec: str | TableKind | None, base: Path) -> tuple[str, str] | None:
    """Return what is wrong with a hierarchy file, and what to do; None if it is there."""
    kind = plan_hierarchy(spec, base)
    if not isinstance(kind, File) or kind.path.is_file():
        return None
    path = kind.path
    if path.is_dir():
        return f"{path} is a folder", "name a CSV file in it"
    nearby = sorted(file.name for file in path.parent.glob("*.csv")) if path.parent.is_dir() else []
    words = [name for name, kind in KINDS.items() if issubclass(kind, WordKind)]
    hint = did_you_mean(path.name, [*nearby, *words]) if "." not in path.name or nearby else ""
    return f"there is no file {path}", hint or "paths are relative to the policy file"
