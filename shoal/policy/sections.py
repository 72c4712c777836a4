"""The sections of a policy as frozen objects: reading options, columns, method, utility, engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    ConfigDict,
    Field,
    PlainValidator,
    Strict,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from shoal.errors import did_you_mean
from shoal.io.read_options import is_encoding
from shoal.judging.measures import MEASURES
from shoal.methods import METHODS
from shoal.policy.purposes import Formula
from shoal.policy.section import Number, Part, Text, Whole, wrong
from shoal.support.wording import format_value

if TYPE_CHECKING:
    from shoal.io.read_options import ReadOptions
    from shoal.policy.column_section import Column
    from shoal.support.run import Division

# --- reading options --------------------------------------------------------------------------------------


def _one_character(value: str) -> str:
    named = {"tab": "\t", "comma": ",", "semicolon": ";", "space": " ", "pipe": "|"}.get(value.lower(), value)
    if len(named) != 1 or not named.isascii() or named in "\r\n":
        raise wrong(
            f"must be a single ASCII character, not {format_value(value)}", "for example ';', or 'tab'"
        )
    return named


class Reading(Part):
    """How a file is read, where it does not say so itself."""

    delimiter: Text | None = None
    """Character between the cells of a text file; detected if not given."""
    encoding: Text | None = None
    """Encoding of a text file, such as `utf-8` or `latin-1`."""
    quote: Text | None = None
    """Character around cells that contain the delimiter; an empty string when nothing is quoted."""
    null_values: tuple[Text, ...] = ()
    """Texts that mean "no value", such as `?` or `NA`."""
    decimal: Literal[".", ","] = "."
    """The sign before the fraction of a number in a text file."""
    thousands: Literal["", ".", ",", "'", " "] = ""
    """The sign between groups of three digits in a text file; an empty string for none."""
    sheet: Text | None = None
    """Sheet of a workbook; the first one when not given."""
    header: Annotated[bool, Strict()] = True
    """Whether the first line of a text file names the columns; otherwise they are column_1, column_2, .."""

    @field_validator("delimiter")
    @classmethod
    def _delimiter(cls, value: str | None) -> str | None:
        return None if value is None else _one_character(value)

    @field_validator("quote")
    @classmethod
    def _quote(cls, value: str | None) -> str | None:
        return value if value is None or value == "" else _one_character(value)

    @model_validator(mode="after")
    def _differ(self) -> Reading:
        if self.quote and self.quote == self.delimiter:
            raise wrong(f"delimiter and quote are both {self.quote!r}", "they have to differ")
        if self.decimal == self.thousands:
            raise wrong(f"decimal and thousands are both {self.decimal!r}", "they have to differ")
        return self

    @field_validator("encoding")
    @classmethod
    def _check_encoding(cls, value: str | None) -> str | None:
        if value is not None and not is_encoding(value):
            usual = ("utf-8", "utf-16", "latin-1", "cp1252", "iso-8859-15", "ascii")
            raise wrong(f"{format_value(value)} is not a known encoding", did_you_mean(value, usual))
        return value


def _no_secret(value: str | None) -> str | None:
    """Refuse an address of a database with a password in it, without repeating it."""
    from shoal.errors import DataError
    from shoal.io.databases.address import refuse_other_form
    from shoal.io.databases.database_table import database_at
    from shoal.io.formats import scheme_of

    if value is None:
        return None
    database = database_at(value)
    try:
        if database is not None:
            database.address(value)
        elif not scheme_of(value):
            refuse_other_form(value)
    except DataError as error:
        raise wrong(str(error)) from None
    return value


class InDatabase(Part):
    """Which table of a database."""

    table: Text | None = None
    """The table in the database; `schema.table` names one in a schema."""
    query: Text | None = None
    """A SELECT statement instead of a table."""

    @model_validator(mode="after")
    def _one(self) -> InDatabase:
        if self.table is not None and self.query is not None:
            raise wrong("has a table and a query", "give one of them")
        return self


class Data(Reading, InDatabase):
    """Where the table is, how it is read, and what happens to columns that the policy does not name."""

    source: Text | None = None
    """The table, if no other is given: a file relative to the policy, or the address of a database."""
    guess_types: Annotated[bool, Strict()] = True
    """Whether columns of numbers or dates in a text file are read as such; otherwise text stays text."""
    other_columns: Literal["refuse", "drop", "plain"] = "refuse"
    """What to do with columns that the policy does not name: refuse the table, drop them, or publish them as
    they are."""

    @field_validator("source")
    @classmethod
    def _source(cls, value: str | None) -> str | None:
        return _no_secret(value)

    def options(self, columns: Mapping[str, Column] | None = None) -> ReadOptions:
        """Return how to read a table and these columns of it."""
        from shoal.io.read_options import ColumnReading, ReadOptions

        told = {name: own.to_reading() for name, own in (columns or {}).items()}
        return ReadOptions(
            **self.model_dump(exclude={"other_columns", "source", "table", "query"}),
            columns={name: own for name, own in told.items() if own != ColumnReading()},
        )


class ReleaseFile(Reading):
    """How a release of another tool is read. What Shoal writes needs none of this, however the table was read, except
    that formulas are escaped on request.
    """

    escape_formulas: Annotated[bool, Strict()] = False
    """Whether cells of a text file that a spreadsheet would run as formulas begin with an apostrophe, which Shoal
    writes, and removes when it reads the release."""

    def options(self, likely: str | None) -> ReadOptions:
        """Return how to read a release: in the dialect that Shoal writes, unless this section says otherwise.

        Types are not guessed: from other rows they may turn out otherwise than in the table. `likely` is the delimiter
        of the table, if it is known: Shoal writes it, so it is tried too.
        """
        from shoal.io.read_options import ReadOptions

        return ReadOptions(**self.model_dump(), guess_types=False, likely_delimiter=likely, section="release")


# --- method and utility -----------------------------------------------------------------------------------


class MethodChoice(Part):
    """The name of the method, and its options next to the name."""

    model_config = ConfigDict(extra="allow")

    name: Text = METHODS.default
    """Name of the method; `shoal methods` lists them."""

    def options(self) -> dict[str, Any]:
        """Return the options as they were written."""
        return dict(self.model_extra or {})


class Population(InDatabase):
    """Everybody who could be in the table: a separate file, the same file with a column that says who is in it, or only
    their number."""

    file: Text | None = None
    """A table of the population with the same quasi-identifiers, relative to the policy, or the address of a
    database."""
    column: Text | None = None
    """A column of the table that is true for the rows to publish; the file then holds the whole population."""
    size: Annotated[Whole, Field(ge=1)] | None = None
    """How many people could be in the table, if no table of them exists. What follows from it is an estimate."""

    @property
    def has_table(self) -> bool:
        """Whether there is a table of these people."""
        return self.size is None

    @field_validator("file")
    @classmethod
    def _file(cls, value: str | None) -> str | None:
        return _no_secret(value)

    @model_validator(mode="after")
    def _one_of_them(self) -> Population:
        given = [name for name in ("file", "column", "size") if getattr(self, name) is not None]
        if len(given) != 1:
            has = f"has {' and '.join(given)}" if given else "is empty"
            hint = 'for example file = "register.csv", or size = 9_000_000'
            raise wrong(f"{has}: give a file, a column or a size, exactly one", hint)
        if self.size is not None and (self.table is not None or self.query is not None):
            raise wrong("has a size and a table of a database", "give one of them")
        return self


class Utility(Part):
    """What a good release is."""

    measure: Text = MEASURES.default
    """The loss to keep small; `shoal measures` lists them."""
    levels: Literal["uniform"] | None = None
    """`uniform`: each column shows one set of labels, none of which covers another. By default each class has its
    own."""
    suppression: Annotated[Number, Field(ge=0, le=1)] = 0.0
    """Largest share of rows, 0 to 1, that may be suppressed."""
    suppress: Literal["rows", "cells"] = "rows"
    """`rows`: rows that fit no class are left out. `cells`: they are shown with `*` in some cells, if possible."""
    workload: Text | None = None
    """A TOML file of queries that analysts will run, relative to the policy."""
    regression: Formula | None = None
    """A regression that analysts will run, such as `income ~ age + sex`."""
    predict: Text | None = None
    """The sensitive or plain column that a learner will predict."""

    @field_validator("measure")
    @classmethod
    def _check_measure(cls, name: str) -> str:
        if name not in MEASURES:
            raise wrong(f"there is no measure '{name}'", did_you_mean(name, MEASURES))
        return name


def _settings(value: object) -> object:
    """Return settings by name, or refuse what is no single value."""
    if not isinstance(value, Mapping):
        raise wrong(
            f"must be a table of settings, not {format_value(value)}",
            'for example { "spark.executor.memory" = "8g" }',
        )
    for name, one in value.items():
        if not isinstance(name, str) or not isinstance(one, str | int | float | bool):
            raise wrong(
                f"{format_value(name)} must be a text, a number, true or false, not {format_value(one)}"
            )
    return dict(value)


class Engine(Part):
    """Where and how the work is done. It changes how long the work takes and how much memory it needs; with parts it
    also changes which classes some methods find."""

    name: Literal["local", "spark"] = "local"
    """`local`: this machine. `spark`: Apache Spark, for tables that outgrow one machine."""
    master: Text | None = None
    """Which Spark: `spark://HOST:7077`, `yarn`, `local[4]`. Without it: the session that exists, else `local[*]`."""
    settings: Annotated[
        dict[str, str | int | float | bool],
        PlainValidator(_settings),
        WithJsonSchema({"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}),
    ] = Field(default_factory=dict)
    """Settings of Spark, such as `spark.executor.memory`."""
    part_rows: Annotated[Whole, Field(ge=0)] | None = None
    """How many rows a part has at most, for methods that work on parts of a large table; 0: the table stays whole. By
    default the method and the memory decide, and small tables are not divided."""
    jobs: Annotated[Whole, Field(ge=1)] | None = None
    """How many parts are worked on at a time, each in a process. By default one per processor."""

    @property
    def division(self) -> Division:
        """How the table is divided into parts on this machine."""
        from shoal.support.run import Division

        return Division(self.part_rows, self.jobs)

    @property
    def on_cluster(self) -> bool:
        """Whether a cluster has the rows, so that this process neither reads files nor divides tables."""
        return self.name == "spark"

    @model_validator(mode="after")
    def _of_spark(self) -> Engine:
        if not self.on_cluster and (self.master is not None or self.settings):
            given = "master" if self.master is not None else "settings"
            raise wrong(
                f"{given} is about Spark, and the engine is {self.name}",
                'set name = "spark", or leave it out',
            )
        return self
