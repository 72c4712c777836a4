"""PostgreSQL, through ADBC: rows arrive as Arrow, in a read-only transaction with one snapshot."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from shoal.errors import DataError, OutputError, did_you_mean
from shoal.io.databases.address import Address
from shoal.io.databases.column_types import narrower, no_null_character
from shoal.io.databases.database import Database, Wanted, names_of
from shoal.io.databases.driver_values import ADVICE, OUTSIDE, as_polars
from shoal.io.databases.libpq import connection_to, driver_errors, explain_error, is_driver
from shoal.io.databases.sessions import AdbcSession, RowSession, Session, vendor_of
from shoal.io.databases.sql_names import TableName, meanings, names_by_schema, quote_name

if TYPE_CHECKING:
    import polars as pl

    from shoal.io.databases.database_table import DatabaseTable

_PLAIN = {
    *("bool", "int2", "int4", "int8", "float4", "float8", "text", "varchar", "bytea"),
    *("date", "timestamp", "timestamptz", "time"),
}
"""Types that arrive as they are."""
_CASTS = {"numeric": "text", "money": "numeric::text", "oid": "int8"}
"""Types that arrive in another one; all others arrive as text, so char(n) loses its padding."""
_REFUSED = {
    "A": "arrays",
    "C": "records",
    "R": "ranges",
    "T": "intervals of time",
    "P": "values of no fixed type",
}
"""Categories of types that hold more than one value, or nothing that polars can hold."""
_NAME_BYTES = 63
_DECIMAL_DIGITS = 38


@dataclass(frozen=True)
class _Column:
    name: str
    type: str
    category: str
    labels: tuple[str, ...] = ()
    """The values of an enum, in their order."""

    @property
    def select_expression(self) -> str:
        if self.type in _PLAIN:
            return quote_name(self.name)
        # As text, an address of one host would end in /32.
        name = f"pg_catalog.abbrev({quote_name(self.name)})" if self.type == "inet" else quote_name(self.name)
        return f"{name}::{_CASTS.get(self.type, 'text')} AS {quote_name(self.name)}"

    @property
    def problem(self) -> str:
        what = _REFUSED.get(self.category, "")
        return f"holds {what}, which have no single value to generalize; {ADVICE}" if what else ""


class PostgreSql(Database):
    """PostgreSQL."""

    name: ClassVar[str] = "postgresql"
    title: ClassVar[str] = "PostgreSQL"
    schemes: ClassVar[tuple[str, ...]] = ("postgresql", "postgres")
    extra: ClassVar[str] = "postgresql"
    reads_with: ClassVar[tuple[str, ...]] = ("adbc_driver_postgresql",)
    writes_with: ClassVar[tuple[str, ...]] = ("adbc_driver_postgresql",)
    example: ClassVar[str] = "postgresql://user@host:5432/database"

    @classmethod
    def owns(cls, connection: object) -> bool:
        """Return whether it is a connection of ADBC, or of a Python driver, to PostgreSQL."""
        return vendor_of(connection) == cls.title or is_driver(connection)

    def wrap_connection(self, connection: Any) -> Session:
        """Return a session over a connection of ADBC or of a Python driver."""
        return AdbcSession(connection) if vendor_of(connection) else RowSession(connection)

    def connect(self, address: Address, *, writing: bool) -> Session:
        """Connect, and begin a transaction."""
        session = AdbcSession(connection_to(address), own=True)
        if not writing:
            session.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            return session
        # Rows come back in the order in which they were written, and nobody waits for somebody else's lock for long.
        for setting in (
            "synchronize_seqscans = off",
            "max_parallel_workers_per_gather = 0",
            "lock_timeout = '10s'",
        ):
            session.execute(f"SET LOCAL {setting}")
        return session

    def errors(self) -> tuple[type[BaseException], ...]:
        """Return the errors of ADBC, and of whatever driver is in use."""
        return driver_errors()

    def explain_error(self, error: BaseException) -> str:
        """Return what an error means, by its SQLSTATE: the texts of a server may show values."""
        return explain_error(error)

    def tables(self, session: Session) -> list[TableName]:
        """Return tables, views, materialized views and foreign tables, with and without schema."""
        found = session.rows(
            "SELECT n.nspname::text, c.relname::text, pg_catalog.pg_table_is_visible(c.oid) "
            "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
            "WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname !~ '^pg_(toast|temp)' "
            "AND n.nspname NOT IN ('pg_catalog', 'information_schema')"
        )
        return names_by_schema(found)

    def check_query(self, session: Session, query: str) -> None:
        """Let the server prepare the query, which it gets as a text: some drivers would run several statements."""
        mark = f"$shoal_{secrets.token_hex(12)}$"
        session.rows(
            "SELECT pg_catalog.length(pg_catalog.query_to_xmlschema("
            f"{mark}{query}{mark}, false, false, '')::pg_catalog.text)"
        )

    def data(self, session: Session, wanted: Wanted) -> pl.DataFrame:
        """Return the rows: numbers with all their digits, enums in their order."""
        columns = self._columns(session, wanted)
        for column in columns:
            if column.problem:
                raise DataError(f"{wanted.where}: column '{column.name}' {column.problem}")
        if not isinstance(session, AdbcSession):
            _refuse_infinite(session, wanted, columns)
        chosen = ", ".join(column.select_expression for column in columns)
        table = session.fetch(f"SELECT {chosen} FROM ({wanted.select}) AS shoal_rows")
        return as_polars(
            table,
            wanted.where,
            decimals=[column.name for column in columns if column.type in ("numeric", "money")],
            enums={column.name: column.labels for column in columns if column.category == "E"},
        )

    # --- writing --------------------------------------------------------------------------------------

    def target(self, session: Session, stored: DatabaseTable) -> TableName:
        """Return the name with its schema: the one that is written, if it exists, else the current one."""
        *_, meant = meanings(stored.table or "")
        schemas = {str(name) for (name,) in session.rows("SELECT nspname::text FROM pg_catalog.pg_namespace")}
        if meant.schema and meant.schema not in schemas:
            hint = did_you_mean(meant.schema, sorted(name for name in schemas if not name.startswith("pg_")))
            name = quote_name(stored.table or "")
            raise OutputError(
                f"{stored.place}: there is no schema '{meant.schema}' ({hint}); a table with a dot in its name is "
                f"written '{name}'"
            )
        if not meant.schema:
            ((current,),) = session.rows("SELECT pg_catalog.current_schema()::text")
            if current is None:
                raise OutputError(f"{stored.place}: there is no current schema; write SCHEMA.TABLE")
            meant = replace(meanings(stored.table or "")[0], schema=current)
        if len(meant.table.encode()) > _NAME_BYTES:
            raise OutputError(
                f"{stored.place}: the name of the table has {len(meant.table.encode())} bytes, and PostgreSQL cuts "
                f"names after {_NAME_BYTES}; choose a shorter one"
            )
        ((allowed,),) = session.rows(
            f"SELECT pg_catalog.has_schema_privilege({_text(meant.schema)}, 'CREATE')"
        )
        if not allowed:
            raise OutputError(
                f"{stored.place}: you have no right to create tables in the schema '{meant.schema}'; ask its owner "
                "(GRANT CREATE ON SCHEMA), or name another schema"
            )
        return meant

    def irreplaceable(self, session: Session, target: TableName) -> str:
        """Return why a relation cannot be replaced: only a table can be, and only by its owner."""
        ((kind, own),) = session.rows(
            "SELECT relkind::text, pg_catalog.pg_has_role(relowner, 'USAGE') FROM pg_catalog.pg_class "
            f"WHERE oid = {_text(target.sql)}::regclass"
        )
        if kind not in ("r", "p"):
            return (
                "a view or a foreign table has this name, and Shoal replaces only tables; choose another name"
            )
        return (
            ""
            if own
            else "somebody else owns the table, and only its owner can replace it; choose another name"
        )

    def lost_with(self, session: Session, target: TableName) -> list[str]:
        """Return the grants of a table as statements that give them again, and whether rows were hidden by policies."""
        found = session.rows(
            "SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE "
            "pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END::text, "
            "pg_catalog.string_agg(a.privilege_type, ', ' ORDER BY a.privilege_type)::text "
            "FROM pg_catalog.pg_class c, pg_catalog.aclexplode(c.relacl) a "
            f"WHERE c.oid = {_text(target.sql)}::regclass AND a.grantee <> c.relowner GROUP BY 1 ORDER BY 1"
        )
        notes = []
        if found:
            again = "; ".join(f"GRANT {rights} ON {target.sql} TO {who}" for who, rights in found)
            notes.append(
                f"the table that was replaced had grants, and the new one has none. To give them again: {again}"
            )
        ((hidden, columns),) = session.rows(
            "SELECT c.relrowsecurity, EXISTS (SELECT 1 FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND "
            f"a.attacl IS NOT NULL) FROM pg_catalog.pg_class c WHERE c.oid = {_text(target.sql)}::regclass"
        )
        if columns:
            notes.append("the table that was replaced had grants on single columns, and the new one has none")
        if hidden:
            notes.append("the table that was replaced had row-level security, and the new one has none")
        return notes

    def identity(self, session: Session) -> str:
        """Return when the server was started, and the name of the database."""
        ((found,),) = session.rows(
            "SELECT pg_catalog.pg_postmaster_start_time()::text || ' ' || pg_catalog.current_database()::text"
        )
        return str(found)

    def read_by(self, session: Session, wanted: Wanted) -> set[TableName]:
        """Return the tables in the plan of a SELECT."""
        explain = f"EXPLAIN (VERBOSE, FORMAT JSON) {wanted.select}"
        if isinstance(session, AdbcSession):
            found = session.fetch(explain, {"adbc.postgresql.use_copy": "false"}).column(0).to_pylist()[0]
        else:
            found = session.rows(explain)[0][0]
        return self._with_parents(
            session, set(_relations(json.loads(found) if isinstance(found, str) else found))
        )

    def _with_parents(self, session: Session, read: set[TableName]) -> set[TableName]:
        """Return tables and all tables that they are parts of: a plan names the partitions of a table alone, and they
        go when it goes.
        """
        if not read:
            return read
        listed = ", ".join(f"({_text(name.schema)}, {_text(name.table)})" for name in sorted(read))
        found = session.rows(
            "WITH RECURSIVE part(oid) AS (SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n "
            f"ON n.oid = c.relnamespace WHERE (n.nspname::text, c.relname::text) IN ({listed}) "
            "UNION SELECT i.inhparent FROM pg_catalog.pg_inherits i JOIN part ON i.inhrelid = part.oid) "
            "SELECT n.nspname::text, c.relname::text FROM part JOIN pg_catalog.pg_class c ON c.oid = part.oid "
            "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
        )
        return read | {TableName(table, schema) for schema, table in found}

    def misfits(self, columns: Sequence[str], rows: int) -> list[str]:
        """Return names of columns that PostgreSQL would cut, and too many columns."""
        found = [
            f"the name of column '{name}' has {len(name.encode())} bytes, and PostgreSQL cuts names after {_NAME_BYTES}"
            for name in columns
            if len(name.encode()) > _NAME_BYTES
        ]
        found += ["a column has no name"] if "" in columns else []
        found += [f"PostgreSQL holds 1,600 columns, not {len(columns):,}"] if len(columns) > 1600 else []
        return found

    def problem(self, column: pl.Series) -> str:
        """Return why the values would not come back: PostgreSQL has no U+0000 in texts."""
        return super().problem(column) or no_null_character(column, self.title)

    def fit_column(self, column: pl.Series) -> pl.Series:
        """Return categories, sets and durations as text, wide integers as narrower or decimal numbers, and moments in
        microseconds."""
        import polars as pl

        from shoal.io.text_columns import as_text

        column = narrower(column)
        if isinstance(column.dtype, pl.Datetime) and column.dtype.time_unit == "ns":
            short = column.cast(pl.Datetime("us", column.dtype.time_zone))
            same = short.cast(column.dtype).equals(column)
            return short if same else as_text(column)
        if isinstance(column.dtype, pl.Datetime):
            return column
        return as_text(column, sets=True)

    def column_type(self, dtype: pl.DataType) -> str:
        """Return the type of a column."""
        import polars as pl

        if isinstance(dtype, pl.Decimal):
            return f"numeric({_DECIMAL_DIGITS}, {dtype.scale})"
        if isinstance(dtype, pl.Datetime):
            return "timestamp" if dtype.time_zone is None else "timestamptz"
        return _TYPES.get(dtype.base_type().__name__, "text")

    def _columns(self, session: Session, wanted: Wanted) -> list[_Column]:
        """Return the columns of a SELECT with their types, without running it."""
        names = names_of(session, wanted)
        if not names:
            return []
        kinds = ", ".join(
            f"pg_catalog.pg_typeof(q.{quote_name(name)})::oid::int8 AS t{place}"
            for place, name in enumerate(names)
        )
        # A join with nothing has one row of nulls, whatever the SELECT holds.
        (found,) = session.rows(
            f"SELECT {kinds} FROM (SELECT 1) AS o LEFT JOIN ({wanted.select}) AS q ON false"
        )
        known = self._types(session, set(found))
        return [_Column(name, *known[kind]) for name, kind in zip(names, found, strict=True)]

    def _types(self, session: Session, kinds: set[int]) -> dict[int, tuple[str, str, tuple[str, ...]]]:
        """Return the name, the category and the labels of types; a domain is what it is based on."""
        known: dict[int, tuple[str, str, int]] = {}
        waiting = set(kinds)
        while waiting:
            listed = ", ".join(str(int(kind)) for kind in waiting)
            for kind, name, category, base in session.rows(
                "SELECT oid::int8, typname::text, typcategory::text, typbasetype::int8 FROM pg_catalog.pg_type "
                f"WHERE oid IN ({listed})"
            ):
                known[kind] = (name, category, base)
            waiting = {base for _, _, base in known.values() if base} - known.keys()
        labels: dict[int, list[str]] = {}
        listed = ", ".join(str(int(kind)) for kind in known)
        for kind, label in session.rows(
            f"SELECT enumtypid::int8, enumlabel::text FROM pg_catalog.pg_enum WHERE enumtypid IN ({listed}) "
            "ORDER BY enumtypid, enumsortorder"
        ):
            labels.setdefault(kind, []).append(label)

        def resolve_type(kind: int) -> tuple[str, str, tuple[str, ...]]:
            while known[kind][2]:
                kind = known[kind][2]
            return known[kind][0], known[kind][1], tuple(labels.get(kind, ()))

        return {kind: resolve_type(kind) for kind in kinds}


_TYPES = {
    "Boolean": "boolean",
    **dict.fromkeys(("Int8", "UInt8", "Int16"), "smallint"),
    **dict.fromkeys(("UInt16", "Int32"), "integer"),
    **dict.fromkeys(("UInt32", "Int64"), "bigint"),
    "Float32": "real",
    "Float64": "double precision",
    "Date": "date",
    "Time": "time",
    "Binary": "bytea",
}


def _refuse_infinite(session: Session, wanted: Wanted, columns: Sequence[_Column]) -> None:
    """Refuse infinite dates where they are: some Python drivers give the last day of the year 9999 instead."""
    dates = [column.name for column in columns if column.type in ("date", "timestamp", "timestamptz")]
    if not dates:
        return
    asked = ", ".join(f"bool_and(isfinite({quote_name(name)})) AS f{at}" for at, name in enumerate(dates))
    (finite,) = session.rows(f"SELECT {asked} FROM ({wanted.select}) AS shoal_dates")
    for name, all_finite in zip(dates, finite, strict=True):
        if all_finite is False:
            raise DataError(f"{wanted.where}: column '{name}' {OUTSIDE}")


def _relations(plan: Any) -> Iterator[TableName]:
    """Yield the tables of a plan."""
    for part in plan.values() if isinstance(plan, dict) else plan if isinstance(plan, list) else ():
        yield from _relations(part)
    if isinstance(plan, dict) and "Relation Name" in plan:
        yield TableName(plan["Relation Name"], plan.get("Schema", ""))


def _text(value: str) -> str:
    escaped = value.replace("'", "''")
    return f"'{escaped}'"
