"""Connections to servers of PostgreSQL, and what their errors mean."""

from __future__ import annotations

import sys
from typing import Any

from shoal.errors import DataError
from shoal.io.databases import passwords
from shoal.io.databases.address import SECRETS, Address
from shoal.support.wording import first_line

_SECONDS = "5"
"""How long to wait for a server that does not answer."""
_DRIVERS = ("psycopg", "psycopg2", "pg8000")
_STATES = {
    "28P01": f"the server refuses the user or the password; {SECRETS}",
    "28000": f"the server refuses the user; {SECRETS}",
    **dict.fromkeys(
        ("42P07", "23505"), "a table of this name was created in the meantime; choose another name"
    ),
    "53100": "the disk of the server is full",
    "53200": "the server has not enough memory",
    "55P03": "the table is in use by somebody else; try again later",
    "57014": "the server ended the work, because it took too long or because somebody asked it to",
    "2BP01": "other objects in the database, such as views, depend on the table; drop them first, or choose another "
    "name",
}


def is_driver(connection: object) -> bool:
    """Return whether it is a connection of a Python driver for PostgreSQL."""
    return type(connection).__module__.partition(".")[0] in _DRIVERS


def driver_errors() -> tuple[type[BaseException], ...]:
    """Return the errors of ADBC, and of the Python drivers that are in use."""
    others = tuple(
        error
        for error in (getattr(sys.modules.get(name), "Error", None) for name in _DRIVERS)
        if isinstance(error, type)
    )
    try:
        from adbc_driver_manager import Error
    except ImportError:
        return others
    return (Error, *others)


def explain_error(error: BaseException) -> str:
    """Return what an error means and what to do. The texts of a server may show values, so only some are repeated."""
    state = str(getattr(error, "sqlstate", None) or getattr(error, "pgcode", None) or "")
    text = _primary(error)
    if state == "42501":
        return f"{text}; ask the owner of the table for the right"
    if state in _STATES:
        return _STATES[state]
    if state.startswith("42") or state in ("25006", "0A000", "3F000"):
        return f"{text} (SQLSTATE {state})"  # about names and syntax
    if state.startswith(("08", "57P")) or (not state and type(error).__name__ == "OperationalError"):
        return f"the connection to the server was lost ({_lost(text)})"
    if not state:
        return f"the driver stopped ({type(error).__name__}), often because of a value"
    return f"the server stopped with SQLSTATE {state}, often because of a value; its own log has the details"


def _primary(error: BaseException) -> str:
    """Return the first line of what the server says."""
    for key, value in getattr(error, "details", None) or ():
        if key in (b"PG_DIAG_MESSAGE_PRIMARY", "PG_DIAG_MESSAGE_PRIMARY"):
            return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    return first_line(error)


def _lost(text: str) -> str:
    return text.rpartition("ERROR:")[2].rpartition("[libpq]")[2].strip().removeprefix("Failed to connect: ")


def connection_to(address: Address) -> Any:
    """Connect to a server. If it wants a password that nothing knows, ask for it."""
    import adbc_driver_postgresql.dbapi as driver
    from adbc_driver_manager import Error

    shown = str(address)
    while True:
        try:
            return driver.connect(_conninfo(address, passwords.password_of(shown)))
        except Error as error:
            text = str(error)
            if "no password supplied" in text and passwords.ask_password(shown):
                continue
            passwords.forget(shown)
            raise DataError(passwords.scrub_passwords(f"{shown}: {_explain_refusal(text)}")) from None


def _explain_refusal(text: str) -> str:
    """Explain why the server rejected the connection."""
    reason = first_line(Exception(text)).partition("Failed to connect: ")[2] or first_line(Exception(text))
    if "password authentication failed" in text:
        return f"the server refuses the user or the password; {SECRETS}"
    if "no password supplied" in text:
        return f"the server wants a password; {SECRETS}"
    if ("database" in text and "does not exist" in text) or ("role" in text and "does not exist" in text):
        return reason.rpartition("FATAL:")[2].strip()
    return f"no connection: {reason}; check the host and the port, and that the server is running"


def _conninfo(address: Address, password: str) -> str:
    """Write the parts of an address for libpq. A password that was asked for goes no other way than this."""
    parts = {
        "connect_timeout": _SECONDS,
        "application_name": "shoal",
        "user": address.user,
        "dbname": address.name,
        "host": ",".join(host.strip("[]") for host, _ in address.hosts),
        "port": ",".join(port for _, port in address.hosts) if any(port for _, port in address.hosts) else "",
        **address.options,
        "password": password,
    }
    return " ".join(f"{name}={_value(value)}" for name, value in parts.items() if value)


def _value(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
