"""`Case`: a random table with a random policy, method, format and reading options, made from a seed and a number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import polars as pl

from shoal.coding.hierarchy import KINDS
from shoal.io.formats import FORMATS, file_format_of, suffixes
from shoal.judging.models import MODELS
from shoal.methods import METHODS
from shoal.policy.method_options import option_types
from tests.fuzz.columns import NESTED, TYPES, Column, drawn, with_hierarchy
from tests.fuzz.questions import Question, question_for
from tests.oracles.checker.checks import Asked

FRAMES = ("polars", "polars-lazy", "pandas", "pyarrow")
NAMES = [
    "age", "town", "ill", "pay", "a b", "ü", "x.y", "[q]", "with,comma", 'quo"te', "semi;colon", "bucket", "count",
    "column_1", "日本", "-", "#", "1", "true", "null", "sex ", "UPPER", "Age", "=a", "{x}", "it's",
]  # fmt: skip


PLAIN_NAMES = [
    "age",
    "town",
    "ill",
    "pay",
    "ü",
    "bucket",
    "count",
    "column_1",
    "x1",
    "UPPER",
    "weight",
    "kind",
]
"""Names that statistical packages allow."""
STATISTICAL = tuple(suffix for suffix, name in suffixes().items() if FORMATS[name].extra == "stats")
STATISTICAL = tuple(suffix for suffix in STATISTICAL if file_format_of(Path(f"x{suffix}")) is not None)
"""Endings of statistical packages: where a release goes, and no source, because they hold few types."""
SOURCES = tuple(
    suffix
    for suffix in suffixes()
    if file_format_of(Path(f"x{suffix}")) is not None and suffix not in STATISTICAL
)


LINED = (
    "int",
    "small int",
    "big int",
    "float",
    "half",
    "float32",
    "decimal",
    "date",
    "datetime",
    "zoned",
    "time",
)
HAS_BOUNDS = tuple(name for name, kind in KINDS.items() if kind.has_bounds)
ALL = tuple(TYPES)
AS_TEXT = tuple(name for name in ALL if TYPES[name].texts and name not in NESTED)
AS_JSON = tuple(name for name in AS_TEXT if name != "odd float")
AS_CELLS = ("int", "small int", "half", "text", "unicode", "code", "date", "bool", "category", "enum")
TYPES_OF = {".jsonl": AS_JSON, ".ndjson": AS_JSON, ".xlsx": AS_CELLS} | dict.fromkeys(
    (".csv", ".txt", ".tsv", ".tab"), AS_TEXT
)
"""Ending of a source -> the types that it can hold as they are; other sources hold all."""


PERTURBED = {
    "int": ("round", 25),
    "small int": ("swap", 0.2),
    "float": ("noise", 0.3),
    "half": ("noise", 0.5),
    "date": ("swap", 0.3),
    "datetime": ("swap", 0.5),
    "text": ("pram", 0.5),
    "unicode": ("pram", 0.0),
    "bool": ("pram", 0.7),
    "category": ("pram", 0.3),
}
"""Type of a plain column -> how it is perturbed."""


@dataclass(frozen=True)
class Case:
    """All that makes a release: table, policy, where it comes from and where it goes."""

    number: int
    columns: tuple[Column, ...]
    question: Question
    method: Mapping[str, Any]
    suppression: float
    source: str
    """A frame kind, or the ending of a file name."""
    target: str
    """The same; a frame kind gives back its own kind."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """The section `[data]`."""
    tag: str | None = None
    others: int = 0
    """How many rows at the end of the table are people outside of it, for guarantees about presence."""
    measure: str = "lm"
    release_seed: int = 0
    extras: frozenset[str] = frozenset()
    """What else is asked for: ``uniform`` levels, suppressed ``cells``, ``bounds`` of cells, ``pseudonyms`` of
    identifiers, ``perturbed`` plain columns."""
    part_rows: int = 0
    """How many rows a part of the table has at most; 0: the policy says nothing about parts."""

    @property
    def bounded(self) -> list[str]:
        """The columns that are shown with their bounds."""
        quasi = self.of_role("quasi") if "bounds" in self.extras else []
        return [column.name for column in quasi if column.type in LINED and column.kind in HAS_BOUNDS]

    @property
    def followed(self) -> list[str]:
        """The identifiers that are published as pseudonyms."""
        return [column.name for column in self.of_role("identifier")] if "pseudonyms" in self.extras else []

    @property
    def perturbed(self) -> dict[str, tuple[str, float]]:
        """The columns that show other values than their own, each with the way how. Without a column that names owners,
        nobody could tell whether they do so rightly.
        """
        if "perturbed" not in self.extras or self.tag is None:
            return {}
        own = [column for column in self.of_role("plain") if column.name != self.tag]
        return {column.name: PERTURBED[column.type] for column in own if column.type in PERTURBED}

    @property
    def rows(self) -> int:
        """Rows, those of people outside included."""
        return len(self.columns[0].values)

    @property
    def frame(self) -> pl.DataFrame:
        """The table with its types."""
        return pl.DataFrame([column.series for column in self.columns])

    def of_role(self, role: str) -> list[Column]:
        """Return the columns of a role."""
        return [column for column in self.columns if column.role == role]

    @property
    def untyped(self) -> bool:
        """The table comes from a file of text."""
        return self.source.removesuffix(".gz") in TYPES_OF

    @property
    def policy(self) -> dict[str, Any]:
        """The policy as tables."""
        columns: dict[str, Any] = {}
        for column in self.columns:
            if column.role == "member":
                continue
            entry: dict[str, Any] = {"role": column.role}
            if column.spec is not None:
                entry["hierarchy"] = column.spec
            if column.protected:
                entry["protected"] = list(column.protected)
            if column.limit is not None:
                entry["limit"] = column.limit
            if self.question.safe_harbor:
                entry["safe_harbor"] = "other"
            if column.name in self.bounded:
                entry["show"] = "bounds"
            if column.name in self.followed:
                entry["publish"] = "pseudonym"
            if column.name in self.perturbed:
                entry["perturb"] = dict([self.perturbed[column.name]])
            columns[column.name] = entry
        out: dict[str, Any] = {
            "columns": columns,
            "privacy": dict(self.question.privacy),
            "method": dict(self.method),
            "utility": {"suppression": self.suppression, "measure": self.measure},
        }
        if "uniform" in self.extras:
            out["utility"]["levels"] = "uniform"
        elif "cells" in self.extras:
            out["utility"]["suppress"] = "cells"
        if self.data:
            out["data"] = dict(self.data)
        if self.part_rows:
            out["engine"] = {"part_rows": self.part_rows, "jobs": 1}
        if self.others:
            out["population"] = {"column": self.of_role("member")[0].name}
        return out

    def asked(self, **more: Any) -> Asked:
        """What the checker is told."""
        kind = METHODS[self.method["name"]]
        sensitive = {
            column.name: replace(column.domain, loose=self.untyped) for column in self.of_role("sensitive")
        }
        return Asked(
            columns=[column.name for column in self.columns],
            quasi={
                column.name: replace(column.domain, loose=self.untyped) for column in self.of_role("quasi")
            },
            sensitive=sensitive,
            plain=[column.name for column in (*self.of_role("plain"), *self.of_role("weight"))],
            models=[
                (model, {**parameters, **self._protected(model, column)}, column)
                for model, parameters in self.question.models
                for column in (list(sensitive) if _about_column(model) else [None])
            ],
            suppression=self.suppression,
            tag=self.tag,
            relocates=bool(kind.false_cells.how),
            loose=self.untyped,
            perturbed=self.perturbed,
            **more,
        )

    def _protected(self, model: str, column: str | None) -> dict[str, Any]:
        if model != "extended-p-sensitive":
            return {}
        return {"protected": next(own.protected for own in self.columns if own.name == column)}

    def fewer_rows(self, keep: list[int]) -> Case:
        """Return the case with some rows only."""
        inside = sum(at < self.rows - self.others for at in keep)
        columns = tuple(replace(c, values=[c.values[at] for at in keep]) for c in self.columns)
        return replace(self, columns=columns, others=len(keep) - inside)

    def without(self, name: str) -> Case:
        """Return the case without a column."""
        return replace(self, columns=tuple(column for column in self.columns if column.name != name))


def _about_column(model: str) -> bool:
    from shoal.policy.privacy import about_column

    return about_column(MODELS[model])


def case(seed: int, number: int) -> Case:
    """Return the case of this number: the same for the same seed."""
    random = Random(f"{seed}/{number}")
    names = list(METHODS)
    method = names[number % len(names)]
    question = question_for(random, method)
    if random.random() < 0.2 and not question.population:
        question = replace(question, limit=True)
    rows = random.randint(*question.rows)
    source = random.choice([*SOURCES, *FRAMES * 2])
    target = source if source in FRAMES else random.choice([*SOURCES, *STATISTICAL])
    texts = TYPES_OF.get(source.removesuffix(".gz"), ALL)
    taken = random.sample(PLAIN_NAMES if target in STATISTICAL else NAMES, 8)
    others = rows if question.population else 0
    whole = rows + others
    columns = []
    for _ in range(random.choice([1, 2, 2, 3]) if not question.population else random.choice([1, 2])):
        columns += [_quasi(random, taken.pop(), whole, texts, question)]
    for _ in range(random.choice([1, 1, 2]) if question.sensitive else random.choice([0, 1])):
        columns += [_sensitive(random, taken.pop(), whole, texts, question)]
    if random.random() < 0.5:
        marks = [f"ID{random.randint(10**6, 10**7)}q" for _ in range(whole)]
        columns.append(Column(taken.pop(), "identifier", "text", marks))
    tag = None
    if random.random() < 0.7 or METHODS[method].false_cells.how:
        tag = taken.pop()
        marks = random.sample(range(10_000, 99_999), whole)
        columns.append(Column(tag, "plain", "int", [own + (own % 10 == 0) * 100_000 for own in marks]))
    if random.random() < 0.3:
        columns.append(drawn(random, taken.pop(), "plain", random.choice(texts), whole))
    random.shuffle(columns)
    # By numbers of its own, so that other cases stay the same.
    apart = Random(f"{seed}/{number}/weight")
    if apart.random() < 0.2 and taken:
        columns.append(Column(taken.pop(), "weight", "int", [apart.randint(1, 40) for _ in range(whole)]))
    if others:
        columns.append(Column("member", "member", "bool", [True] * rows + [False] * others))
    if source == ".xlsx" and any(
        set(row) == {None} for row in zip(*(c.values for c in columns), strict=True)
    ):
        source = ".parquet"  # a row without any value is no row of a sheet
    data = _data(random, source, question)
    if data.get("header") is False:
        columns = [replace(column, name=f"column_{at}") for at, column in enumerate(columns, 1)]
        tag = next(
            (
                column.name
                for column in columns
                if tag is not None
                and column.type == "int"
                and column.role == "plain"
                and None not in column.values
                and min(column.values) >= 10_000
            ),
            None,
        )
    options = _options(random, method)
    return Case(
        number=number,
        columns=tuple(columns),
        question=question,
        method={"name": method, **options},
        suppression=random.choice([0.1, 0.25, 0.4, 0.5, 1.0]) if random.random() < 0.6 else 0,
        source=source,
        target=target,
        data=data,
        tag=tag,
        others=others,
        release_seed=random.randrange(2**31),
        extras=_extras(random, method, options, question),
        part_rows=_part_rows(random, method, options),
    )


def _part_rows(random: Random, method: str, options: Mapping[str, Any]) -> int:
    """Divide some tables into tiny parts, if the method can."""
    if isinstance(METHODS[method].parts, str) or isinstance(METHODS[method](**options).divides, str):
        return 0
    return random.choice([0, 0, 0, *range(2, 6), 12])


def _extras(random: Random, method: str, options: Mapping[str, Any], question: Question) -> frozenset[str]:
    """Draw what is asked for in addition."""
    kind = METHODS[method]
    suited = kind.shows.classes and not kind.can.presence_only and not question.population
    able = {"bounds": 0.25, "pseudonyms": 0.3, "uniform": 0.2 * (suited and options.get("show") != "sets")}
    able["cells"] = 0.5 * (suited and kind.can.search_mappings)
    able["perturbed"] = 0.3
    return frozenset(name for name, share in able.items() if random.random() < share)


def _quasi(random: Random, name: str, rows: int, texts: tuple[str, ...], question: Question) -> Column:
    types = [own for own in texts if TYPES[own].kinds]
    column = drawn(random, name, "quasi", random.choice(types), rows)
    kinds = TYPES[column.type].kinds
    trees = [kind for kind in kinds if kind in ("tree", "file")] if question.limit else []
    column = with_hierarchy(random, column, random.choice(trees or kinds))
    if question.limit and (column.domain.above is not None or random.random() < 0.2):
        limit = random.choice([0, 1, 1]) if column.domain.above is not None else 0
        column = replace(column, limit=limit, domain=replace(column.domain, limit=limit))
    if column.kind == "none" and random.random() < 0.5:
        column = replace(column, spec=None)
    return column


def _sensitive(random: Random, name: str, rows: int, texts: tuple[str, ...], question: Question) -> Column:
    types = [own for own in texts if TYPES[own].kinds]
    if question.tree:
        types = [own for own in types if "tree" in TYPES[own].kinds]
    if question.numbers:
        types = [own for own in types if own in ("int", "small int", "half", "date", "big int")]
    for _ in range(20):
        column = drawn(random, name, "sensitive", random.choice(types), rows)
        if len({str(value) for value in column.values}) > 1:
            break
    if question.tree:
        column = with_hierarchy(random, column, "tree")
        if question.protects:
            above = column.domain.above or {}
            # A value that is called like a node elsewhere is not below that node, which a name cannot tell.
            nodes = [names[1] for names in above.values() if names[1] not in above]
            column = replace(column, protected=(random.choice(nodes),)) if nodes else column
    return column


def _data(random: Random, source: str, question: Question) -> dict[str, Any]:
    """Return reading options that a file of text needs."""
    if not source.startswith((".csv", ".txt", ".tsv", ".tab")) or random.random() < 0.5:
        return {}
    found: dict[str, Any] = {}
    if source.startswith((".csv", ".txt")) and random.random() < 0.5:
        found["delimiter"] = random.choice([";", "|", "\t", ","])
    if random.random() < 0.25:
        found["encoding"] = random.choice(["utf-16", "utf-8"])
    if random.random() < 0.25:
        found["header"] = False
    if random.random() < 0.25:
        found["quote"] = "'"
    if random.random() < 0.25:
        found["null_values"] = random.choice([["?"], ["NA", "null"], ["-"]])
    if found.get("delimiter") in (";", "|") and random.random() < 0.4:
        found |= {"decimal": ","} | (
            {"thousands": random.choice([".", " ", "'"])} if random.random() < 0.5 else {}
        )
    elif random.random() < 0.15 and not question.numbers:
        found["guess_types"] = False
    return found


CHOICES: dict[str, list[Any]] = {
    "show": ["sets", "ranges"],
    "choose": ["gain", "width"],
    "correlation": ["contingency", "pearson"],
    "seeds": ["farthest", "random"],
    "distance": ["growth", "difference", "logarithm", "ratio", "nergiz-clifton"],
    "partitioner": ["mondrian", "agglomerative", "forest"],
    "order": ["best"],
    "grouping": ["auto", "mdav", "projection"],
    "aggregate": ["mean", "median"],
    "k": [2, 3],
}
"""Option of a method -> values that it takes; those that are true or false take both."""


def _options(random: Random, method: str) -> dict[str, Any]:
    """Return none, one of the sets of options that are worth a trial, or some options at random."""
    kind = METHODS[method]
    chance = random.random()
    if chance < 0.5:
        return {}
    if chance < 0.65:
        return dict(random.choice(kind.trials))
    choices = {
        name: [True, False] if own is bool else CHOICES.get(name) for name, own in option_types(kind).items()
    }
    return {name: random.choice(own) for name, own in choices.items() if own and random.random() < 0.4}
