"""Pairs of tables that differ in one suppressed row, in one identifier, or in one person who moves within their cell.

A pair follows from a number. Its table has a block of rows that is too small to publish, so these rows are suppressed
whatever else they hold, and one of them changes: a fraction among whole numbers, a text among numbers, nothing, a
far date, a longer text, a new category. Where a source declares its types, the changed value has the same type
(`Pair.typed`); formats that have no types may hold anything (`Pair.loose`, `Pair.cells`). `same_decision` says whether
two releases group and generalize their published rows alike: a search sees all rows, so it may choose otherwise, and
then nothing is to be compared.
"""

from __future__ import annotations

import contextlib
import datetime as dt
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

import shoal
from shoal.io import read
from shoal.release.received.read_earlier import encode_whole

Values = list[Any]

WORDS = ["ada", "bo", "cid", "dot", "eve", "fay", "gus", "hal", "ida", "jo", "kim", "lou", "max", "ned"]
CODES = [f"{a}{b}7" for a in "123" for b in "1234"]
TREE = {"top": {"early": WORDS[:7], "late": WORDS[7:]}}
DAYS = [dt.date(1960 + 3 * i, 1 + i % 12, 1 + i) for i in range(20)]
MOMENTS = [dt.datetime(2001, 2, 3, hour) for hour in range(12)]
HIERARCHIES: dict[str, list[Any]] = {
    "number": ["none", "auto", {"widths": [10, 20]}, {"cuts": [[30, 50]]}, {"widths": [10], "top": 60}],
    "real": ["none", "auto", {"widths": [10, 20]}, {"widths": [2.5, 10]}],
    "word": ["none", "auto", {"mask": "right"}, {"mask": "left", "keep": 1}, {"tree": TREE}],
    "code": ["auto", "none", {"mask": "right", "steps": 2}],
    "day": ["none", "auto", {"dates": ["month", "year"]}],
}
MARKS = ["a", "b..c", "a..b", "c", "d", "e..", "..f", "h, i", "h", "i", "{j}", "k #2"]
ZIPS = [
    "02108",
    "02139",
    "02201",
    "03311",
    "06510",
    "06515",
    "07002",
    "07010",
    "9",
    "12",
    "08801-1",
    "B10",
    "B9",
]
GRADES = pl.Enum(["worst", "low", "mid", "high", "top", "best"])
ODD: dict[str, list[Any]] = {
    "signed": ["auto", "none", {"widths": [10]}],
    "amount": ["auto", "auto", "none", {"widths": [5]}],
    "zip": ["auto", "auto", "none", {"mask": "right"}],
    "mark": ["auto", "none"],
    "since": ["auto", "auto", "none"],
    "grade": ["auto", "none"],
    "band": ["auto", "none"],
}
"""Columns whose hierarchies Shoal makes from values that are written in several ways."""
TYPED: dict[str, Values] = {
    "signed": [-1000, 5, 99, None],
    "amount": [0.125, 1e9, -3.0, None],
    "zip": ["0", "99999", "unknown", "", "7e3", None],
    "mark": ["b..c", "zz..", "{a, b}", "7", None],
    "since": [
        dt.datetime(1801, 5, 5, 1),
        dt.datetime(2999, 1, 1),
        dt.datetime(2001, 2, 3, 4, 5, 6, 789),
        None,
    ],
    "grade": ["worst", "best", "mid", None],
    "band": ["new", "g1", "A", None],
    "number": [107, -3, 1_000_000, None],
    "real": [30.5, 1e9, -0.125, None],
    "word": ["ned", "ada", None],
    "code": ["3477", "117", "9", None],
    "day": [dt.date(1801, 5, 5), dt.date(2999, 1, 1), None],
    "pay": [1200.5, 1e12, None],
    "count": [2**40, -1, None],
    "note": ["a long text that no published row has", "", "\u00e9\u4e16 \U0001f600", 'x,"y"', None],
    "flag": [True, False, None],
    "moment": [dt.datetime(2001, 2, 3, 4, 5, 6, 789), dt.datetime(1850, 1, 1), None],
    "secret": ["u", "nowhere else", None],
    "name": ["n1", "another name", "", None],
}
"""Column -> values that a suppressed row may have instead, in the same type."""
LOOSE: dict[str, Values] = {
    "signed": ["-5", "1e2", "040", "30.5", "", "-0", "99999999999999999999"],
    "amount": ["7", "2.5", "", "1e2", "0.10", "007"],
    "zip": ["0", "99999", "unknown", "", "7e3", "-5"],
    "mark": ["b..c", "zz..", "7", "", "{a, b}"],
    "since": ["", "1801-05-05", "2999-01-01T00:00:00", "2001-02-03T04:05:06.789", "2001-02-03 04:05:06"],
    "grade": ["worst", "7", "", "2001-01-01"],
    "band": ["new", "7", "", "A"],
    "number": ["30.5", "1e3", "040", "", "107", "3.0"],
    "real": ["31", "7", "", "2.50", "1e2"],
    "word": ["7", "true", "", "2001-01-01", "lou"],
    "code": ["3477", "0117", "", "9.5"],
    "day": ["", "1801-05-05", "2999-01-01"],
    "pay": ["1200.5", "unknown", "", "1e12", "NaN", "true"],
    "count": ["7.25", "unknown", "", "007", "99999999999999999999"],
    "note": ["12", "a long text that no published row has", "", "\u00e9\u4e16", 'x;"y"', "x\ty"],
    "flag": ["maybe", "", "1", "TRUE"],
    "moment": ["soon", "", "2001-02-03T04:05:06.000789", "1850-01-01"],
    "secret": ["7", "", "nowhere else"],
    "name": ["7", "", "another name", "2001-01-01"],
}
"""The same for texts of a file without types. Texts that no hierarchy of the column takes would be an error."""
WORDS_TOO = ("signed", "amount", "since")
"""Columns of numbers and moments: if nothing but their values makes their hierarchy, a word may be among them, too."""
CELLS: dict[str, Values] = {
    "signed": [True, 30.5, 1e20],
    "amount": [False, 7, 1e300],
    "zip": [7, True, 2.5],
    "mark": [7, True],
    "since": [dt.datetime(2001, 2, 3), dt.datetime(1801, 5, 5, 4)],
    "grade": [7, True],
    "band": [7, 2.5],
    "number": [True, 30.5, 1e20],
    "real": [False, 1e300],
    "word": [7, True, 2.5, dt.datetime(2001, 2, 3)],
    "day": [dt.datetime(2001, 2, 3, 4, 5), "soon", 7, True],
    "pay": [True, 10**20, 1e20, dt.datetime(2001, 2, 3)],
    "count": [False, 10**20, 7.25, "x"],
    "note": [7, 2.5, True, dt.datetime(2001, 2, 3, 4)],
    "flag": [1, 0.5, "TRUE", dt.datetime(2001, 2, 3)],
    "moment": [dt.datetime(2001, 2, 3), 7, "soon", False],
    "secret": [7, True],
    "name": [7, True, 2.5, dt.datetime(2001, 2, 3)],
}
"""Cells of other types, for formats whose cells have types and whose columns have none."""
METHODS: dict[str, dict[str, Any]] = {
    "mondrian": {"k": 3},
    **{
        key: {"k": 3}
        for key in ("full-domain", "incognito", "hilbert", "lexicographic", "agglomerative", "forest")
    },
    **{key: {"k": 3, "p": 2} for key in ("p-k", "greedy-p-k", "enhanced-p-k")},
    **{key: {"k": 3, "notion": "k-1"} for key in ("nearest", "expansion")},
    "k-k": {"k": 3, "notion": "k-k"},
    "global-1-k": {"k": 3, "notion": "global-1-k"},
    "ring": {"k": 3, "notion": "probabilistic-k"},
    **{key: {"k": 3, "relocation": {"budget": 0.1}} for key in ("hybrid", "hybrid-mondrian", "relocate")},
    "microaggregation": {"k": 3, "relocation": {"budget": 1.0}},
    **{key: {"l": {"probabilistic": 1.5}} for key in ("bucketization", "anatomy")},
    **{key: {"l": {"slicing": 1.5}} for key in ("slice-columns", "slicing")},
    **{key: {"presence": [0.0, 0.8]} for key in ("mpalm", "spalm", "permute-generalize")},
}
"""Method -> what a policy asks of it."""
KEPT = ("pay", "count", "note", "flag", "moment")
PERTURBED: dict[str, list[dict[str, float]]] = {
    "pay": [{"round": 500}, {"noise": 0.1}, {"swap": 0.2}, {"pram": 0.5}],
    "count": [{"round": 2}, {"noise": 0.5}, {"swap": 0.5}, {"pram": 0.5}],
    "note": [{"pram": 0.5}],
    "flag": [{"pram": 0.8}],
    "moment": [{"swap": 0.3}, {"pram": 0.5}],
}
"""Column -> ways to publish other values than the true ones."""


@dataclass(frozen=True)
class Pair:
    """A table, a policy, and another row in the place of one that is suppressed."""

    number: int
    frame: pl.DataFrame
    policy: dict[str, Any]
    row: int
    """The row that is suppressed because of its block."""
    column: str
    """The column in which it changes."""
    instead: Any
    """Its other value, in the type of the column."""
    text: str
    """Its other text in a file without types."""
    cell: Any
    """Its other cell in a file whose cells have types."""
    what: str = "changed"
    """A suppressed row is ``changed`` or ``removed``, an ``identifier`` is another one, or somebody ``moved``."""

    @property
    def removed(self) -> bool:
        """The row is left out."""
        return self.what == "removed"

    @property
    def method(self) -> str:
        """The name of the method."""
        name: str = self.policy["method"]["name"]
        return name

    @property
    def typed(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The two tables; their columns have the same types."""
        if self.removed:
            return self.frame, self.frame.filter(pl.int_range(self.frame.height) != self.row)
        column = self.frame[self.column]
        other = pl.Series(self.column, [self.instead], dtype=column.dtype)
        changed = pl.concat([column[: self.row], other, column[self.row + 1 :]])
        return self.frame, self.frame.with_columns(changed)

    @property
    def loose(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The two tables as texts; null is an empty cell."""
        first = self.frame.with_columns(_as_text(column) for column in self.frame)
        if self.removed:
            return first, first.filter(pl.int_range(first.height) != self.row)
        texts = first[self.column].to_list()
        texts[self.row] = self.text or None
        return first, first.with_columns(pl.Series(self.column, texts, dtype=pl.String))

    @property
    def cells(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The two tables as rows, for formats whose cells have types and whose columns have none."""
        first = self.frame.to_dicts()
        if self.removed:
            return first, [row for at, row in enumerate(first) if at != self.row]
        return first, [
            row | {self.column: self.cell} if at == self.row else row for at, row in enumerate(first)
        ]


def _as_cell(text: str) -> Any:
    """Return a text as the cell that people would write."""
    for kind in (int, float) if text not in ("040", "007", "0117") else ():
        with contextlib.suppress(ValueError):
            return kind(text)
    return text or None


def _as_text(column: pl.Series) -> pl.Series:
    if column.name == "amount":
        return pl.Series(column.name, [None if one is None else f"{one:.2f}" for one in column], pl.String)
    if isinstance(column.dtype, pl.Float64) and (column.drop_nulls() % 1 == 0).all():
        return column.cast(pl.Int64).cast(pl.String)  # as people write whole amounts
    if isinstance(column.dtype, pl.Datetime):
        return column.dt.to_string("%Y-%m-%dT%H:%M:%S%.f")
    return column.cast(pl.String)


def odd_pair(number: int, method: str | None = None) -> Pair:
    """Return the pair with a number among those with `ODD` columns. The rows of the small block come first, so that
    categories that only they have are the first ones.
    """
    random = np.random.default_rng([number, 2])
    rows, few = int(random.integers(12, 40)), int(random.integers(1, 3))
    days = [
        dt.datetime(1960 + 5 * at, 1 + at, 1 + at, at % 2 * int(random.integers(0, 2))) for at in range(9)
    ]
    columns: dict[str, Values | pl.Series] = {
        "name": [f"n{at}" for at in range(rows)],
        "block": ["rare"] * few + ["north"] * (rows - few),
        "signed": random.integers(-12, 120, rows).tolist(),
        "amount": (random.integers(-9, 90, rows) / int(random.choice([1, 4]))).tolist(),
        "zip": random.choice(ZIPS[: int(random.choice([8, 13]))], rows).tolist(),
        "mark": random.choice(MARKS, rows).tolist(),
        "since": [days[at] for at in random.integers(0, len(days), rows)],
        "grade": pl.Series(random.choice(GRADES.categories.to_list()[1:], rows).tolist(), dtype=GRADES),
        "band": pl.Series([f"g{at}" for at in random.integers(0, 12, rows)], dtype=pl.Categorical),
        "note": random.choice(["a", "bb", "c d"], rows).tolist(),
        "count": random.integers(0, 5, rows).tolist(),
        "secret": random.choice(["u", "v", "w"], rows).tolist(),
    }
    return _assembled(number, random, columns, few, ODD, ("note", "count"), method)


def pair(number: int, method: str | None = None) -> Pair:
    """Return the pair with a number."""
    random = np.random.default_rng(number)
    rows, few = int(random.integers(12, 40)), int(random.integers(1, 3))
    whole = random.random() < 0.5
    columns: dict[str, Values | pl.Series] = {
        "name": [f"n{at}" for at in range(rows)],
        "block": ["north"] * (rows - few) + ["rare"] * few,
        "number": random.integers(10, 10 + int(random.choice([9, 80])), rows).tolist(),
        "real": (random.integers(0, 90, rows) / (1 if whole else 8)).tolist(),
        "word": random.choice(WORDS, rows).tolist(),
        "code": random.choice(CODES, rows).tolist(),
        "day": [DAYS[at] for at in random.integers(0, len(DAYS), rows)],
        "pay": (random.integers(10, 99, rows) * (100.0 if whole else 12.5)).tolist(),
        "count": random.integers(0, 5, rows).tolist(),
        "note": random.choice(["a", "bb", "c d"], rows).tolist(),
        "flag": (random.random(rows) < 0.5).tolist(),
        "moment": [MOMENTS[at] for at in random.integers(0, len(MOMENTS), rows)],
        "secret": random.choice(["u", "v", "w"], rows).tolist(),
    }
    return _assembled(number, random, columns, few, HIERARCHIES, KEPT, method)


def _assembled(
    number: int,
    random: np.random.Generator,
    columns: dict[str, Values | pl.Series],
    few: int,
    hierarchies: dict[str, list[Any]],
    plain: tuple[str, ...],
    method: str | None,
) -> Pair:
    """Return a pair with some of these columns."""
    rows = len(columns["name"])
    for name in random.choice([*hierarchies, *plain], 2, replace=False).tolist():
        if random.random() < 0.3:
            own = pl.Series(columns[name])
            empty = [None if at % 7 == 3 else value for at, value in enumerate(own)]
            columns[name] = pl.Series(empty, dtype=own.dtype)
    name = method or str(random.choice(list(METHODS)))
    quasi = [str(one) for one in random.choice(list(hierarchies), int(random.integers(1, 4)), replace=False)]
    kept = [
        str(one) for one in random.choice(plain, int(random.integers(1, len(plain[:3]) + 1)), replace=False)
    ]
    roles: dict[str, Any] = {"block": {"role": "quasi", "limit": 0}, "secret": {"role": "sensitive"}}
    for one in quasi:
        choice = hierarchies[one][int(random.integers(0, len(hierarchies[one])))]
        roles[one] = {"role": "quasi", "hierarchy": choice}
    for one in kept:
        way = PERTURBED[one][int(random.integers(0, len(PERTURBED[one])))]
        roles[one] = {"role": "plain"} | ({"perturb": way} if random.random() < 0.3 else {})
    roles["name"] = {"role": "identifier"}
    policy = {
        "columns": roles,
        "privacy": METHODS[name],
        "method": {"name": name},
        "utility": {"suppression": 0.4},
    }
    frame = pl.DataFrame(columns).select("name", "block", *quasi, *kept, "secret")
    if "presence" in METHODS[name]:
        policy["population"] = {"column": "member"}
        others = frame.sample(rows, with_replacement=True, seed=number)
        frame = pl.concat([frame, others]).with_columns(member=pl.int_range(2 * rows) < rows)
        roles["block"] = {"role": "quasi"}
    row = int(random.integers(0, few))
    row = row if columns["block"][0] == "rare" else rows - 1 - row
    if "presence" in METHODS[name]:
        row = frame.height - 1
    if name == "anatomy" and random.random() < 0.7:
        policy["method"] = {"name": name, "partitioner": "mondrian"}
    return changed(Pair(number, frame, policy, row, "", None, "", None), random)


def changed(one: Pair, random: np.random.Generator) -> Pair:
    """Return another change of the suppressed row of a pair. With a population, nobody is suppressed, and it is
    somebody in the population who is not in the table: the values change that no adversary knows.
    """
    columns = [name for name in one.frame.columns if name not in ("block", "name", "member")]
    if "population" in one.policy:
        columns = [name for name in columns if one.policy["columns"].get(name, {}).get("role") != "quasi"]
    elif random.random() < 0.2:
        return replace(one, what="removed")
    column = str(random.choice(columns))
    return _with_value(replace(one, what="changed"), column, random)


def renamed(one: Pair, random: np.random.Generator) -> Pair:
    """Return a pair in which somebody has another identifier."""
    row = int(random.integers(0, one.frame.height))
    return _with_value(replace(one, row=row, what="identifier"), "name", random)


def _with_value(one: Pair, column: str, random: np.random.Generator) -> Pair:
    free = one.policy["columns"].get(column, {}).get("hierarchy") in ("auto", "none")
    more = ["unknown", "x1"] if column in WORDS_TOO and free else []
    instead, text = (
        values[int(random.integers(0, len(values)))] for values in (TYPED[column], LOOSE[column] + more)
    )
    cells = CELLS.get(column, [])
    cell = cells[int(random.integers(0, len(cells)))] if cells and random.random() < 0.5 else _as_cell(text)
    return replace(one, column=column, instead=instead, text=text, cell=cell)


def moved(one: Pair, source: Any, made: shoal.Result, random: np.random.Generator) -> Pair | None:
    """Return a pair in which one published person moves within one of their cells, to the value of somebody else. None
    if nobody can. Somebody else keeps the value that they leave, so that published rows have the same values as before.
    """
    release = made.release
    if release.layout.in_buckets or made.method == "microaggregation":
        return None  # rows show other rows' values, or means
    policy = shoal.Policy.from_dict(one.policy)
    table = encode_whole(read(policy.source(source), policy.read_options()), policy, None)
    rows = np.flatnonzero(release.region_of >= 0)
    found = []
    for j, attribute in enumerate(table.attributes):
        codes, region = table.quasi.narrow[j][rows].astype(np.int64), release.region_of[rows]
        low, high = release.low[region, j][:, None], release.high[region, j][:, None]
        inside = (low <= codes) & (codes <= high) & (low <= codes[:, None]) & (codes[:, None] <= high)
        shared = np.bincount(codes)[codes] > 1
        away = inside & shared[:, None] & (codes != codes[:, None])
        found += [
            (attribute.name, int(rows[a]), int(rows[b])) for a, b in zip(*np.nonzero(away), strict=True)
        ]
    found = [(name, row, to) for name, row, to in found if one.frame[name][to] is not None]
    if not found:
        return None
    name, row, to = found[int(random.integers(0, len(found)))]
    value = one.frame[name][to]
    text = str(one.loose[0][name][to])
    return replace(one, row=row, column=name, instead=value, text=text, cell=value, what="moved")


def suppressed(one: Pair, made: shoal.Result) -> bool:
    """Return whether a release leaves out the row that changes, or the table does."""
    region = made.release.region_of
    return one.row >= len(region) or bool(region[one.row] < 0)


def same_decision(one: Pair, first: Any, second: Any, a: shoal.Result, b: shoal.Result) -> bool:
    """Return whether two releases, of the sources `first` and `second`, suppress the same rows, and treat the others
    alike. Cells are compared by the published rows whose values they cover.
    """
    policy = shoal.Policy.from_dict(one.policy)
    shown = [a.release.region_of >= 0, b.release.region_of >= 0]
    if one.removed:
        shown[0] = np.delete(shown[0], one.row)
    if not np.array_equal(*shown):
        return False
    meant = [_meaning(source, policy, made.release) for source, made in ((first, a), (second, b))]
    if one.what == "moved":  # other cells may cover one of the two values
        place = int(np.count_nonzero(a.release.region_of[: one.row] >= 0))
        for own in meant:
            own |= {
                key: np.delete(own[key], place, axis=1) for key in own if key.startswith(("covers", "sets"))
            }
    return all(_alike(meant[0][key], meant[1][key]) for key in meant[0])


def _alike(a: Any, b: Any) -> bool:
    return np.array_equal(a, b) if isinstance(a, np.ndarray) else bool(a == b)


def _numbered(groups: Any) -> Any:
    """Return the first row of each row's group: groups may have other numbers."""
    return (groups[:, None] == groups).argmax(axis=1)


def _meaning(source: Any, policy: shoal.Policy, release: Any) -> dict[str, Any]:
    table = encode_whole(read(policy.source(source), policy.read_options()), policy, None)
    rows = np.flatnonzero(release.region_of >= 0)
    regions = release.region_of[rows]
    found: dict[str, Any] = {
        "regions": _numbered(regions),
        "buckets": _numbered(release.layout.bucket_of[rows]) if release.layout.in_buckets else None,
        "together": release.layout.shuffling.together,
    }
    place = np.full(table.rows, -1)
    place[rows] = np.arange(len(rows))
    if release.layout.in_buckets:
        found["from"] = place[release.layout.shown_from[rows]]
    for j, attribute in enumerate(table.attributes):
        codes, hierarchy = table.quasi.narrow[j][rows].astype(np.int64), attribute.hierarchy
        low, high = release.low[regions, j], release.high[regions, j]
        found[f"covers {attribute.name}"] = (low[:, None] <= codes) & (codes <= high[:, None])
        if not hierarchy.free and not hierarchy.grown:
            level = hierarchy.level_of(low, high) if release.levels is None else np.array(release.levels[j])
            found[f"levels {attribute.name}"] = hierarchy.height - level
        if release.sets is not None:
            start, width = release.sets.start, len(table.attributes)
            own = [release.sets.codes[start[r * width + j] : start[r * width + j + 1]] for r in regions]
            found[f"sets {attribute.name}"] = np.array([np.isin(codes, part) for part in own])
    return found
