"""Which addresses a policy file may name. A policy is data and may come from anyone. Options of libpq name files that
are read as keys and passwords, other machines, and settings of the server: the user gives those, on the command line,
in Python or in the environment.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from shoal.errors import DataError, Problem
from shoal.frames.databases.address import Address
from shoal.frames.databases.stored import database_at
from shoal.frames.formats import REMOTE, scheme_of
from shoal.policy.problems import dotted
from shoal.wording import either

ADDRESSES = (("data", "source"), ("population", "file"))
EARLIER = ("release", "original", "record")
"""Where a policy names tables: sections with a key, and the keys of each earlier release."""
_STRICTER = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
"""Values of sslmode, from the weakest to the strictest."""
_HARMLESS = {
    "sslmode": "require|verify-ca|verify-full",
    "sslrootcert": "system",
    "channel_binding": "require",
    "connect_timeout": "[0-9]{1,4}",
    "application_name": "[A-Za-z0-9_. -]{1,63}",
    "target_session_attrs": "any|read-write|read-only|primary|standby|prefer-standby",
}
"""Options that a policy file may have, and their values: they make a connection safer, or change nothing about it."""


def problems_of_addresses(raw: Mapping[str, Any], settings: Collection[str] = ()) -> list[Problem]:
    """Return the addresses that a policy file must not name. `settings` are the user's own, and replace the file's."""
    given = {setting.partition("=")[0].strip() for setting in settings}
    return [
        Problem(path, message, _hint(path))
        for path, text in _addresses(raw)
        if path not in given
        for message in _wrong(text)
    ]


def for_file(source: str) -> str:
    """Return the address of a database as a policy file may have it: without the options that only a user gives."""
    database = database_at(source)
    if database is None or database.in_file:
        return source
    address = database.address(source)
    kept = {name: value for name, value in address.options.items() if _harmless(name, value)}
    return replace(address, options=kept).whole


def _addresses(raw: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield every address in the tables of a policy, with its path; what has another shape is checked elsewhere."""
    found: list[tuple[str, Any]] = []
    for part, key in ADDRESSES:
        table = raw.get(part)
        found += [(dotted(part, key), table.get(key))] if isinstance(table, Mapping) else []
    privacy = raw.get("privacy")
    earlier = privacy.get("earlier") if isinstance(privacy, Mapping) else None
    for number, one in enumerate(earlier if isinstance(earlier, list) else [earlier]):
        path = f"privacy.earlier[{number}]"
        if isinstance(one, Mapping):
            found += [(f"{path}.{key}", one.get(key)) for key in EARLIER]
        else:
            found.append((path, one))
    yield from ((path, text) for path, text in found if isinstance(text, str) and scheme_of(text))


def _wrong(text: str) -> Iterator[str]:
    database = database_at(text)
    if database is None:
        scheme = scheme_of(text)
        if scheme not in REMOTE:
            yield f"is a {scheme}:// address, which Shoal does not read"
        elif re.match(r"[^/]*://[^/?#]*:[^/?#]*@", text):
            yield f"is a {scheme}:// address that contains a password or a key"
        return
    try:
        address = database.address(text)
    except DataError:
        return  # found when the policy is checked
    for name, value in address.options.items():
        if name not in _HARMLESS:
            yield (
                f"has the option '{name}', which a policy file must not set: options can read files, or lead to "
                "another server"
            )
        elif not _harmless(name, value):
            yield f"has {name}={value}, and a policy file may only have {_HARMLESS[name].replace('|', ', ')}"
    if os.environ.get("PGPASSWORD") and not _named_by_user(address):
        hosts = ",".join(host for host, _ in address.hosts)
        yield (
            f"names the server {hosts}, and the password in PGPASSWORD would be sent there: if that is right, also set "
            f"PGHOST={hosts}"
        )


def _harmless(name: str, value: str) -> bool:
    if re.fullmatch(_HARMLESS.get(name, "(?!)"), value) is None:
        return False
    own = os.environ.get("PGSSLMODE", "")
    weaker = name == "sslmode" and own in _STRICTER and _STRICTER.index(value) < _STRICTER.index(own)
    return not weaker


def _named_by_user(address: Address) -> bool:
    own = os.environ.get("PGHOST", "").split(",")
    return all(host in own for host, _ in address.hosts)


def _hint(path: str) -> str:
    return either(
        command=f"give the address yourself: --set '{path}=..'; or set variables such as PGSSLROOTCERT",
        python=f"give the address yourself: Policy.read(.., ['{path}=..'])",
        studio="leave it out",
    )
