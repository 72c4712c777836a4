"""What forms and addresses say: texts, whole numbers, and things that they name by their place in a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from shoal.io.databases import DatabaseTable

T = TypeVar("T")


def read_field(form: Mapping[str, Any], name: str) -> str:
    """Return the text of a field without spaces around it; empty if the form does not have the field."""
    return str(form.get(name) or "").strip()


def read_count(form: Mapping[str, Any], name: str, otherwise: int = -1) -> int:
    """Return a whole number of 0 or more, which may have commas; `otherwise` if the field has none."""
    text = read_field(form, name).replace(",", "")
    return int(text) if text.isdecimal() and len(text) < 16 else otherwise


def pick(form: Mapping[str, Any], name: str, items: Sequence[T]) -> T | None:
    """Return the item at the place that a field names; names may be anything, so forms use places."""
    place = read_count(form, name)
    return items[place] if 0 <= place < len(items) else None


def read_database(form: Mapping[str, Any], address: str) -> str | DatabaseTable:
    """Return the table or the query of a database that a form names, and remember its password. The address of a file
    is returned as it is."""
    from shoal.io.databases import DatabaseTable, in_database, passwords

    table, query = (read_field(form, key) or None for key in ("table", "query"))
    found: str | DatabaseTable = in_database(address, table, query)  # refuses a password in the address
    if not isinstance(found, DatabaseTable):
        return found
    found = found.beside(Path.cwd())
    passwords.ask_with(None)  # a question on the terminal would not be seen
    password = str(form.get("password", ""))
    if password:
        passwords.remember({found.place: password})
    return found
