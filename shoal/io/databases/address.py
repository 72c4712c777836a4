"""Addresses of databases: ``postgresql://user@host:5432/name``, ``sqlite:///file.db``.

A password in an address is refused. Whoever lists the processes, or reads the history of the shell or a policy, would
see it. So no address that Shoal keeps or shows contains one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, unquote

from shoal.errors import DataError

_PARTS = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+)://"
    r"(?:(?P<user>[^:@/?#]*)@)?(?P<hosts>[^@/?#]*)"
    r"(?:/(?P<name>[^@?#]*))?(?:\?(?P<options>[^@#]*))?"
)
_HOST = re.compile(r"(?P<host>\[[0-9A-Fa-f:.%]+\]|[^:\[\]]*)(?::(?P<port>[0-9]*))?")
_OTHER_FORM = re.compile(
    r"jdbc:|(postgres(ql)?|sqlite|duckdb|mysql|mariadb|oracle|mssql)(\+\w+)?:(?!//)"
    r"|(.*[\s;?&])?(password|passwd|pwd)\s*=",
    re.IGNORECASE | re.DOTALL,
)
_SECRET = ("password", "secret", "passwd", "pwd", "token")
"""Options of an address that hold one of these words would hold a secret."""
SECRETS = (
    "leave it out. Shoal takes passwords from PGPASSWORD, from the file that PGPASSFILE names (~/.pgpass), or asks for "
    "one on the terminal"
)


@dataclass(frozen=True)
class Address:
    """Where a database is. It holds no password."""

    scheme: str
    user: str = ""
    hosts: tuple[tuple[str, str], ...] = ()
    """Hosts with their ports, "" for the usual one."""
    name: str = ""
    """The database on a server, or the path of a file."""
    options: Mapping[str, str] = field(default_factory=dict)
    """What else the driver should know, such as ``sslmode``."""

    def __str__(self) -> str:
        """Return the address without its options."""
        hosts = ",".join(
            f"{quote(host, safe='[:]')}:{port}" if port else quote(host, safe="[:]")
            for host, port in self.hosts
        )
        user = f"{quote(self.user)}@" if self.user else ""
        return f"{self.scheme}://{user}{hosts}/{quote(self.name, safe='/')}"

    @property
    def whole(self) -> str:
        """The address with its options."""
        options = "&".join(f"{quote(name)}={quote(value)}" for name, value in self.options.items())
        return f"{self}?{options}" if options else str(self)

    @property
    def path(self) -> Path:
        """The file of a database in one file."""
        return Path(self.name)

    def beside(self, folder: Path) -> str:
        """Return the address of a file whose path is relative to a folder."""
        return f"{self.scheme}:///{quote(str(folder / self.name), safe='/')}"


def refuse_other_form(text: str) -> None:
    """Raise `DataError` for the address of a database in another form, such as ``host=.. password=..``. It would be
    taken for the name of a file, and a message would repeat it with its password.
    """
    if _OTHER_FORM.match(text):
        raise DataError(
            "this is not a file, but the address of a database in another form, which is not repeated here because it "
            "may contain a password; write it like postgresql://user@host:5432/database, without a password"
        )


def parse_address(text: str, example: str) -> Address:
    """Return the parts of an address, or raise `DataError`; `example` is one of the same kind.

    What is refused is not repeated: if it has a password, nobody knows where that begins and ends.
    """
    scheme = text.partition("://")[0].lower()
    found = _PARTS.fullmatch(text)
    if found is None:
        if re.match(r"[^/]*://[^@]*:.*@", text, re.DOTALL):
            raise DataError(f"the {scheme}:// address contains a password; {SECRETS}")
        raise DataError(f"the {scheme}:// address cannot be read; write it like {example}")
    if ":" in unquote(found["user"] or ""):
        raise DataError(f"the {scheme}:// address contains a password; {SECRETS}")
    pairs = [_option(part, scheme) for part in (found["options"] or "").split("&") if part]
    options = dict(pairs)
    if len(options) < len(pairs):
        raise DataError(f"the {scheme}:// address has an option twice; give it once")
    hosts = []
    for part in (found["hosts"] or "").split(",") if found["hosts"] else ():
        one = _HOST.fullmatch(part)
        if one is None:
            raise DataError(f"the {scheme}:// address has no readable host and port; write it like {example}")
        hosts.append((unquote(one["host"]), one["port"] or ""))
    return _without_second_names(
        Address(scheme, unquote(found["user"] or ""), tuple(hosts), unquote(found["name"] or ""), options)
    )


def _without_second_names(address: Address) -> Address:
    """Return an address whose options name no host, port, user or database: they are moved to its parts, which
    messages show. A password goes to the server that the user was asked about. Raises `DataError` if a part is named
    twice.
    """
    options = dict(address.options)
    host, port, user, name = (options.pop(key, "") for key in ("host", "port", "user", "dbname"))
    pairs = ((host + port, address.hosts), (user, address.user), (name, address.name))
    ports = port.split(",") if port else []
    hosts = host.split(",") if host or port else []
    if (
        any(given and own for given, own in pairs)
        or ":" in user  # what follows may be a password
        or not all(one.isdecimal() for one in ports)
        or len(ports) not in (0, 1, len(hosts))
    ):
        raise DataError(
            f"the {address.scheme}:// address names its host, port, user or database twice, or not readably; write "
            "each once, in front of the question mark"
        )
    ports = ports * len(hosts) if len(ports) == 1 else ports or [""] * len(hosts)
    return Address(
        address.scheme,
        address.user or user,
        address.hosts or tuple(zip(hosts, ports, strict=True)),
        address.name or name,
        options,
    )


def _option(text: str, scheme: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    if any(word in unquote(name).lower() for word in _SECRET):
        raise DataError(f"the {scheme}:// address contains a password ({unquote(name)}); {SECRETS}")
    return unquote(name), unquote(value)


def parse_file_address(text: str, example: str) -> Address:
    """Return the address of a database in one file, or raise `DataError`."""
    found = parse_address(text, example)
    if found.hosts or found.user or found.options or not found.name or found.name.startswith(":"):
        raise DataError(
            f"a {found.scheme}:// address names a file: {example} is one in the current folder, and "
            f"{found.scheme}:////folder/file.db has an absolute path"
        )
    return found
