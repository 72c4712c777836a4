"""PostgreSQL to PostgreSQL: a release of Shoal next to a bare copy of the same table with ADBC.

python -m benchmarks.databases [ROWS ..]
"""

from __future__ import annotations

import sys
import time

import polars as pl

from shoal import DatabaseTable
from shoal.apps.samples import sample
from shoal.pipeline.anonymize import anonymize_file
from shoal.policy import Policy
from tests.harness.server import Server, programs, running

COLUMNS = 8
QUASI = ("age", "gender", "education", "marital")


def copied(server: Server, source: str, target: str) -> float:
    """Seconds of a bare copy: read a table as Arrow, and write it as it is."""
    start = time.perf_counter()
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f'SELECT * FROM "{source}"')
        rows = cursor.fetch_arrow_table()
        cursor.adbc_ingest(target, rows, mode="create")
        connection.commit()
    return time.perf_counter() - start


def measured(server: Server, rows: int) -> None:
    whole = sample("census", 1_000_000 if rows > 1_000_000 else rows, 1)
    table = pl.concat([whole] * -(-rows // len(whole))).head(rows)[:, :COLUMNS]
    server.load("people", table)
    plain = [name for name in table.columns if name not in QUASI]
    policy = Policy.from_keywords(quasi=QUASI, plain=plain, k=10, method="mondrian")
    bare = copied(server, "people", "copy")
    server.run("DROP TABLE copy")
    start = time.perf_counter()
    result = anonymize_file(DatabaseTable(server.url, "people"), policy, DatabaseTable(server.url, "release"))
    took = time.perf_counter() - start
    moved = result.seconds["read"] + result.seconds["write"]
    stages = "  ".join(f"{stage} {seconds:.1f}" for stage, seconds in result.seconds.items())
    print(
        f"{rows:,} x {table.width}: bare copy {bare:.1f} s; release {took:.1f} s ({stages}); reading and writing "
        f"{moved:.1f} s = {moved / bare:.2f} x the copy",
        flush=True,
    )
    server.run("DROP TABLE release")


def main() -> None:
    found = programs()
    if found is None:
        sys.exit("no PostgreSQL server is installed")
    with running(found) as server:
        print(f"PostgreSQL {server.version}")
        for rows in [int(word) for word in sys.argv[1:]] or [1_000_000]:
            measured(server, rows)


if __name__ == "__main__":
    main()
