"""What a policy file must not say. A policy is data and may come from anyone: most settings of Spark can run code, as
they name modules, jars, options of Java, or other machines, and options of libpq name files that are read as keys and
passwords, and other servers. The user gives those, with ``--set``, in Python or in the environment.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from shoal.errors import DataError, Problem
from shoal.io.databases.database_table import database_at
from shoal.io.formats import REMOTE, scheme_of
from shoal.policy.problems import format_path
from shoal.support.wording import either, format_value

_STRICTER = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
"""Values of sslmode, from the weakest to the strictest."""
_OPTIONS = {
    "sslmode": "require|verify-ca|verify-full",
    "sslrootcert": "system",
    "channel_binding": "require",
    "connect_timeout": "[0-9]{1,4}",
    "application_name": "[A-Za-z0-9_. -]{1,63}",
    "target_session_attrs": "any|read-write|read-only|primary|standby|prefer-standby",
}
"""Options of PostgreSQL that a policy file may have, and their values: they make a connection safer, or change nothing
about it."""
_SETTING = re.compile(
    r"spark\.(cores\.max|default\.parallelism|speculation|locality\.wait|network\.timeout|rpc\.message\.maxSize"
    r"|shuffle\.compress|python\.worker\.reuse|task\.(cpus|maxFailures)|memory\.(fraction|storageFraction)"
    r"|driver\.(memory|memoryOverhead|cores|maxResultSize)"
    r"|executor\.(memory|memoryOverhead|pyspark\.memory|cores|instances|heartbeatInterval)"
    r"|dynamicAllocation\.(enabled|minExecutors|maxExecutors|initialExecutors|executorIdleTimeout)"
    r"|sql\.(shuffle\.partitions|autoBroadcastJoinThreshold|broadcastTimeout|files\.maxPartitionBytes"
    r"|adaptive\.(enabled|coalescePartitions\.enabled|advisoryPartitionSizeInBytes|skewJoin\.enabled)"
    r"|execution\.arrow\.max(Records|Bytes)PerBatch))"
)
"""Settings of Spark that a policy file may have: about memory, cores, parts and time."""
_VALUE = re.compile(r"-?[0-9]+(\.[0-9]+)?[A-Za-z]{0,3}|true|false", re.IGNORECASE)
_MASTER = re.compile(r"local(\[([0-9]+|\*)\])?")


def problems_in_file(raw: Mapping[str, Any]) -> list[Problem]:
    """Return what the tables of a policy file must not say; their shape is checked elsewhere."""
    engine = raw.get("engine")
    found = [*_about_spark(engine)] if isinstance(engine, Mapping) else []
    for path, part, key in places_in(raw):
        if isinstance(part[key], str) and scheme_of(part[key]):
            found += [(path, message) for message in _about_address(part[key])]
    return [Problem(path, message, _hint(path)) for path, message in found]


def places_in(tables: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield where a policy names files and tables: the path, and the table or list with the key that has the name. Of
    hierarchies, only some are files. What has another shape is checked elsewhere.
    """
    columns, privacy = tables.get("columns"), tables.get("privacy")
    named = columns if isinstance(columns, Mapping) else {}
    for path, part, key in (
        *((("data",), tables.get("data"), "source"), (("population",), tables.get("population"), "file")),
        (("utility",), tables.get("utility"), "workload"),
        *((("columns", name), column, "hierarchy") for name, column in named.items()),
    ):
        if isinstance(part, Mapping) and key in part:
            yield format_path(*path, key), part, key
    earlier = privacy.get("earlier") if isinstance(privacy, Mapping) else None
    for number, one in enumerate(earlier if isinstance(earlier, list) else [earlier]):
        where = f"privacy.earlier[{number}]"
        if isinstance(one, Mapping):
            yield from ((f"{where}.{key}", one, key) for key in one)
        elif isinstance(earlier, list):
            yield where, earlier, number
        elif one is not None:
            yield where, privacy, "earlier"


def for_file(source: str) -> str:
    """Return the address of a database as a policy file may have it: without the options that only a user gives."""
    database = database_at(source)
    if database is None or database.in_file:
        return source
    address = database.address(source)
    kept = {name: value for name, value in address.options.items() if not _about_option(name, value)}
    return replace(address, options=kept).whole


def _about_address(text: str) -> Iterator[str]:
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
    yield from filter(None, (_about_option(name, value) for name, value in address.options.items()))
    own = os.environ.get("PGHOST", "").split(",")
    others = [host for host, _ in address.hosts if host and host not in own]
    if os.environ.get("PGPASSWORD") and others:
        hosts = ",".join(others)
        yield (
            f"names the server {hosts}, and the password in PGPASSWORD would be sent there: if that is right, also set "
            f"PGHOST={hosts}"
        )


def _about_option(name: str, value: str) -> str:
    """Return why a policy file must not have this option of PostgreSQL; empty if it may."""
    if name not in _OPTIONS:
        return (
            f"has the option '{name}', which a policy file must not set: options can read files, or lead to another "
            "server"
        )
    if re.fullmatch(_OPTIONS[name], value) is None:
        return f"has {name}={value}, and a policy file may only have {_OPTIONS[name].replace('|', ', ')}"
    own = os.environ.get("PGSSLMODE", "")
    if name == "sslmode" and own in _STRICTER[_STRICTER.index(value) + 1 :]:
        return f"has sslmode={value}, and a policy file must not weaken PGSSLMODE={own}"
    return ""


def _about_spark(engine: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    master, settings = engine.get("master"), engine.get("settings")
    if isinstance(master, str) and not _MASTER.fullmatch(master):
        yield "engine.master", f"is {format_value(master)}: a policy file names only local[N]"
    for name, value in settings.items() if isinstance(settings, Mapping) else ():
        path = format_path("engine", "settings", str(name))
        if not _SETTING.fullmatch(str(name)):
            yield path, "may run code or lead to another machine, so a policy file must not set it"
        elif not _VALUE.fullmatch(str(value)):
            yield path, f"is {format_value(value)}, and not a number, a size, true or false"


def _hint(path: str) -> str:
    path = re.sub(r"(privacy\.earlier)\[.*", r"\1", path)  # no setting reaches into a list
    return either(
        command=f"give it yourself: --set '{path}=…'",
        python=f"give it yourself: Policy.read(…, ['{path}=…'])",
        studio="leave it out",
    )
