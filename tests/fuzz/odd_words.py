"""Commands with options and values that nobody expects: numbers, names, paths, settings and queries."""

from __future__ import annotations

import random
from collections.abc import Sequence

import click

PATHS = (
    "", ".", "..", "-", "--", "~", "x" * 300, "x" * 5000, "no/such/x.csv", "\udcff.csv", "a\nb.csv", "=x.csv", "*",
    "data.csv", "data.csv/x.csv", "policy.toml", "part", "city.csv", "record.json", "release.csv", "pack", "pack.zip",
    "compared", "out.", "out.xyz", ".csv", "sqlite:///data.db", "duckdb:///data.duckdb", "duckdb://", "sqlite:///",
    "sqlite:///x/y.db", "http://x/y.csv", "s3://x/y.csv", "file:///etc/passwd", "postgresql://", "out.parquet",
    "out.xlsx", "out.sav", "out.dta", "out.xpt", "out.jsonl", "out.arrow", "out.csv.gz", "out.json", "out.md",
    "masked", "two.csv", "\u202e.csv", "con.csv", "pipe.csv",
)  # fmt: skip
"""Nothing in a folder of the system: whatever is written stays in the folder of the case."""
READ_ONLY = (
    "/dev/zero",
    "/dev/null",
    "/dev/full",
    "/dev/stdin",
    "/proc/self/mem",
    "/proc/self/environ",
    "/etc",
)
READ = ("policy", "original", "second", "population", "comparison", "areas", "signers")
"""Options for files that are only read, whatever the command."""
TEXTS = (
    "", " ", "*", "0", "-1", "1e999", "nan", "9" * 400, "9" * 5000, "1/0", "\0", "\udcff", "\x1b[31m", "x" * 20_000,
    ",", ",,", "age", "age,age", "age,city", "city", "disease", "name", "no such", "[", "{", "[[1", "a=b", "=", "a=",
    "=b", "household=age", "a=b=c", "<script>", "some", "members", "linkage", "record-linkage", "membership",
    "intersection", "minimality", "corruption", "statistical", "algorithm-aware", "attribute-disclosure", "mondrian",
    "full-domain", "anatomy", "auto", "lm", "entropy", "people", "safe-harbor", "counts", "csv", "2024-02-30",
)  # fmt: skip
NUMBERS = (
    "0",
    "1",
    "-1",
    "2",
    "3",
    "1000000",
    "2147483648",
    "9223372036854775808",
    "1e3",
    "0.5",
    "nan",
    "inf",
    "9" * 5000,
    "x",
    "",
)
SETTINGS = (
    "", "=", "x", "k", "k=3", "privacy", "privacy=3", "privacy.k", "privacy.k=", "privacy.k=0", "privacy.k=nan",
    "privacy.k=[[", "privacy.k=" + "9" * 5000, "privacy.k=" + "[" * 5000, "privacy.k.k=3", "privacy..k=3", ".=1",
    "..=..", "privacy.l=2", "privacy.l={distinct=2}", 'privacy.t={equal="x"}', "privacy.k=1979-05-27",
    "columns.age=3", "columns.age.role=plain", "columns.age.role=person", "columns.age.hierarchy=none",
    "columns.age.hierarchy={widths=[0]}", "columns.age.weight=-1", "columns.age.hierarchy={cuts=[[1e999]]}",
    "columns.city.hierarchy=/dev/zero", "columns.city.hierarchy=.", "columns.no.role=quasi", 'columns."".role=quasi',
    "columns.disease.role=quasi", "data.encoding=utf-7", "data.encoding=x", "data.delimiter=", "data.delimiter=ab",
    'data.delimiter="\\n"', "data.null_values=[1]", "data.quote=", "data.query=SELECT 1", "data.file=/dev/zero",
    "data.sheet=9", "data.no=1", "engine.name=x", "engine.parts=0", "engine.part_rows=-1", "engine.part_rows=1",
    "engine.settings={a=1}", "method=3", "method.name=", "method.name=ring", "method.seconds=-1", "method.no=3",
    "utility.measure=x", "utility.suppression=2", "utility.suppression=1e-300", "utility.workload=/dev/zero",
    "utility.levels=x", "utility.workload=.", "population.file=/dev/zero", "population.file=data.csv",
    "population.column=age", "population.size=-1", "privacy.earlier=[]", 'privacy.earlier=["no.csv"]',
    'privacy.earlier=[{release="two.csv"}]', "privacy.notion=k-k", "privacy.presence=[0,2]", "privacy.adversary=x",
    "privacy.adversaries=[1]", "network.alpha=nan", "a." * 2000 + "b=1", "\0=1", "privacy.relocation={budget=-1}",
    "columns.disease.values=[]", "columns.age.top=1e400", "columns.age.bottom=x", "columns.age.show=bounds",
    "columns.name.pseudonym=true", "columns.born.role=quasi", "columns.born.hierarchy=dates",
    'columns.city.hierarchy={mask="left"}', "columns.age.perturb={noise=1e999}", "release.formulas=x",
    "data.decimal=,",
)  # fmt: skip
QUERIES = (
    "", ";", "SELECT", "SELECT 1; SELECT 2", "SELECT * FROM people WHERE", "SELECT * FROM no_such",
    "SELECT 1 AS age, 2 AS age", "SELECT NULL", "SELECT * FROM people LIMIT 0", "DROP TABLE people",
    "PRAGMA user_version", "ATTACH 'x.db' AS x", "--", "/*", "SELECT * FROM people UNION ALL SELECT * FROM people",
    "SELECT age, city, disease FROM people; --", "VALUES (1)", "'", "\0", "SELECT abs(-9223372036854775808)",
    "SELECT * FROM read_csv('/etc/passwd')", "SELECT x'ff' AS age", "(" * 3000, "SELECT CAST('x' AS DATE) AS born",
    "SELECT 1e999 AS age", "COPY people TO 'x.csv'", "INSTALL httpfs", "\udcff",
)  # fmt: skip
NEVER = ("help", "pdf", "engine", "samples")
"""What takes long, as long as it is asked to, or prints only."""


def odd_words(words: Sequence[str], rng: random.Random) -> tuple[str, ...]:
    """Add some options to a command, or give one of its arguments another value."""
    from shoal.apps.cli import main

    found: list[str] = list(words)
    command: click.Command = main
    depth = 0
    while isinstance(command, click.Group):
        command = command.get_command(click.Context(command), found[depth]) or main.commands["audit"]
        depth += 1
    options = [one for one in command.params if isinstance(one, click.Option) and one.name not in NEVER]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if rng.random() < 0.15:
            place = rng.randrange(depth, len(found))
            if not found[place].startswith("-") and found[place - 1] not in ("-o", "--output"):
                found[place] = rng.choice((*PATHS, *READ_ONLY))
                continue
        option = rng.choice(options)
        found.append(max(option.opts, key=len))
        if not option.is_flag:
            found += [_value(option, rng) for _ in range(option.nargs)]
    return tuple(found)


def _value(option: click.Option, rng: random.Random) -> str:
    """Return a value for an option: mostly one of its own kind."""
    name = option.name or ""
    if isinstance(option.type, click.types.IntParamType | click.types.FloatParamType):
        return rng.choice(NUMBERS)
    if name == "settings":
        return rng.choice(SETTINGS)
    if "query" in name:
        return rng.choice(QUERIES)
    if name in READ:
        return rng.choice((*PATHS, *READ_ONLY))
    return rng.choice(TEXTS if isinstance(option.type, click.types.StringParamType) else PATHS)
