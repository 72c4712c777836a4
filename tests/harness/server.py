"""A private PostgreSQL server: a cluster in a temporary folder, run by an ordinary user, on loopback alone."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OWNER, READER, DATABASE = "steward", "reader", "clinic"
SECRET = "Hering_&_Sprotte_93"
"""The password of both users. No file, message or process may ever show it."""


def programs() -> Path | None:
    """The folder of the server's programs; None if none is installed."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return versions[-1].parent if versions else None


def _ordinary() -> list[str]:
    """Words that run a program as somebody who is not root, as servers want it, and end it with the tests."""
    words = ["setpriv", "--pdeathsig", "QUIT"]
    if os.geteuid() != 0:
        return words if shutil.which("setpriv") else []
    nobody = pwd.getpwnam("nobody")
    return [*words, f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]


@dataclass
class Server:
    """A running server."""

    bin: Path
    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Over a socket, where nobody needs a password."""
        return f"postgresql://{OWNER}@/{DATABASE}?host={self.folder}&port={self.port}"

    def over_network(self, user: str = OWNER) -> str:
        """Over loopback, where the server wants a password."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{DATABASE}"

    @property
    def version(self) -> str:
        """Such as 15.18."""
        return str(self.rows("SELECT current_setting('server_version')")[0][0])

    def connect(self, database: str = DATABASE):
        """A connection of ADBC, of the owner."""
        import adbc_driver_postgresql.dbapi as driver

        return driver.connect(f"host={self.folder} port={self.port} user={OWNER} dbname={database}")

    def run(self, *statements: str, database: str = DATABASE) -> None:
        with self.connect(database) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            connection.commit()

    def rows(self, statement: str) -> list[tuple[object, ...]]:
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchall()

    def load(self, name: str, data) -> None:
        """Make a table of a polars frame, in place of an older one."""
        self.run(f'DROP TABLE IF EXISTS "{name}" CASCADE')
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.adbc_ingest(name, data.to_arrow(), mode="create")
            connection.commit()

    def tables(self) -> set[str]:
        found = self.rows(
            "SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace NOT IN "
            "(SELECT oid FROM pg_namespace WHERE nspname IN ('pg_catalog', 'information_schema', 'pg_toast'))"
        )
        return {str(name) for (name,) in found}

    def waits_for(self, condition: str, seconds: float = 30.0) -> None:
        """Wait until somebody else's session is as the condition says."""
        until = time.monotonic() + seconds
        asked = f"SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND {condition}"
        while not self.rows(asked)[0][0]:
            assert time.monotonic() < until, condition
            time.sleep(0.05)

    def start(self) -> None:
        command = [
            *_ordinary(), str(self.bin / "postgres"), "-D", str(self.folder / "data"), "-k", str(self.folder),
            "-p", str(self.port), "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off",
        ]  # fmt: skip
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd="/")
        until = time.monotonic() + 30
        while True:
            with contextlib.suppress(Exception):
                self.connect("postgres").close()
                return
            assert self.process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < until, "the server does not answer"
            time.sleep(0.05)

    def stop(self) -> None:
        """End it at once, as a crash does."""
        if self.process is not None:
            self.process.send_signal(3)  # SIGQUIT: immediate shutdown
            self.process.wait(30)
            self.process = None


@contextlib.contextmanager
def running(bin: Path) -> Iterator[Server]:
    """Make a cluster, start it, and remove it afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="shoal-postgresql-"))
    try:
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        subprocess.run(
            [*_ordinary(), str(bin / "initdb"), "-D", str(folder / "data"), "-U", OWNER, "-A", "trust",
             "--no-sync", "-E", "UTF8", "--locale=C"],
            check=True, stdout=subprocess.DEVNULL, cwd="/",
        )  # fmt: skip
        rules = folder / "data" / "pg_hba.conf"
        rules.write_text("local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        server = Server(bin, folder, port)
        server.start()
        try:
            for statement in (
                f"ALTER ROLE {OWNER} PASSWORD '{SECRET}'",
                f"CREATE ROLE {READER} LOGIN PASSWORD '{SECRET}'",
            ):
                server.run(statement, database="postgres")
            with server.connect("postgres") as connection:
                connection.adbc_connection.set_autocommit(True)
                with connection.cursor() as cursor:
                    cursor.execute(f"CREATE DATABASE {DATABASE}")
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
