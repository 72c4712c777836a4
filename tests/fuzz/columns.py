"""Random columns: values of every type, odd ones among them, and the hierarchies that fit them."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl

from tests.oracles.checker.cells import letters
from tests.oracles.checker.labels import Domain

Values = list[Any]
WORDS = ["flu", "cold", "ulcer", "gout", "asthma", "Ulm", "Bonn", "Kiel", "Jena", "Trier", "Husum", "Celle"]
UNICODE = ["Zoë", "日本", "עברית", "👩‍👩‍👧", "İzmir", "ß", "é", "é", "عربي", "\u202eevil", "Ωmega", "𝒜"]
ODD = [
    "*", "**", "[1, 2]", "{a}", "{a, b}", "", " ", "  x ", 'q"uote', "a,b", "a;b", "tab\there", "line\nbreak",
    "null", "nan", "NaN", "None", "NA", "#N/A", "=1+1", "{}", "1-5", "<5", ">=5", "a..b", "back\\slash", "it's",
    "true", "False", "inf", "-", "0", "00", "1e5", "2024-01-01", "x|y", "[a, b)", "@at", "cr\rlf",
]  # fmt: skip
ZONE = ZoneInfo("Europe/Berlin")
DAY = dt.date(2021, 12, 28)


def _some(random: Random, pool: list[Any], least: int = 1) -> Values:
    return random.sample(pool, min(len(pool), random.randint(least, 6)))


def _whole(random: Random) -> Values:
    return _some(random, list(range(-3, 70)) + [100 + 37 * i for i in range(30)], 2)


def _floats(random: Random) -> Values:
    return _some(random, [0.1 + 0.2, 0.3, 1.5, -2.25, 1e300, -0.0, 1e-7, 100.0, 12.5, 1 / 3, 2.0**60, 17.0])


def _odd_floats(random: Random) -> Values:
    return [*_floats(random)[:4], *random.sample([math.nan, math.inf, -math.inf], 2)]


def _days(random: Random) -> Values:
    return [DAY + dt.timedelta(days=random.randint(0, 500)) for _ in range(random.randint(2, 6))]


def _moments(random: Random) -> Values:
    start = dt.datetime(2023, 10, 29, 0, 30)
    return [
        start + dt.timedelta(hours=random.randint(0, 2000), microseconds=random.choice([0, 0, 1, 500_000]))
        for _ in range(random.randint(2, 5))
    ]


def _zoned(random: Random) -> Values:
    return [moment.replace(tzinfo=dt.UTC).astimezone(ZONE) for moment in _moments(random)]


@dataclass(frozen=True)
class Type:
    """A type of values."""

    dtype: Any
    pool: Callable[[Random], Values]
    kinds: tuple[str, ...] = ("none", "auto")
    """The kinds of hierarchies that it may have; none where it can only be kept."""
    texts: bool = True
    """Whether a file of text can give it back as it was."""


MONTHS = ["January", "February", "March", "June", "July", "October", "December"]
TEXT_KINDS = ("none", "auto", "mask", "tree", "file")
NUMBER_KINDS = ("none", "auto", "widths", "grid", "cuts", "top", "tree", "file", "mask")
TYPES: dict[str, Type] = {
    "int": Type(pl.Int64, _whole, NUMBER_KINDS),
    "small int": Type(pl.UInt8, lambda r: _some(r, list(range(0, 99)), 2), NUMBER_KINDS),
    "big int": Type(
        pl.Int64,
        lambda r: _some(r, [2**53 + 1, 2**53 + 3, 2**53 + 5, 10**15 + 1, -(2**53) - 1, 10**18, 7]),
    ),
    "float": Type(pl.Float64, _floats, ("none", "auto")),
    "half": Type(
        pl.Float64,
        lambda r: [x / 2 for x in _some(r, list(range(1, 60)), 2)],
        ("none", "auto", "widths", "grid", "cuts", "top"),
    ),
    "odd float": Type(pl.Float64, _odd_floats, ("none", "auto")),
    "float32": Type(pl.Float32, lambda r: _some(r, [0.5, 1.25, 3.0, -7.75, 1024.0, 2.5])),
    "text": Type(pl.String, lambda r: _some(r, WORDS), TEXT_KINDS),
    "unicode": Type(pl.String, lambda r: _some(r, UNICODE), TEXT_KINDS),
    "odd text": Type(pl.String, lambda r: _some(r, ODD), TEXT_KINDS),
    "code": Type(
        pl.String, lambda r: [f"{r.randint(0, 99999):05}" for _ in range(r.randint(2, 12))], TEXT_KINDS
    ),
    "month": Type(pl.String, lambda r: _some(r, MONTHS), ("known", "mask", "tree")),
    "date": Type(pl.Date, _days, ("none", "auto", "dates")),
    "datetime": Type(pl.Datetime("us"), _moments, ("none", "auto", "dates")),
    "zoned": Type(pl.Datetime("us", "Europe/Berlin"), _zoned, ("none", "auto", "dates"), texts=False),
    "time": Type(pl.Time, lambda r: [dt.time(r.randint(0, 23), r.choice([0, 30]), 5) for _ in range(3)]),
    "duration": Type(
        pl.Duration("us"),
        lambda r: [dt.timedelta(hours=r.randint(0, 99), seconds=r.choice([0, 1])) for _ in range(4)],
    ),
    "bool": Type(pl.Boolean, lambda r: [True, False], ("none", "auto", "tree")),
    "decimal": Type(pl.Decimal(20, 2), lambda r: [Decimal(r.randint(1, 9999)).scaleb(-2) for _ in range(4)]),
    "category": Type(pl.Categorical, lambda r: _some(r, WORDS), TEXT_KINDS),
    "enum": Type(pl.Enum(WORDS), lambda r: _some(r, WORDS), TEXT_KINDS),
    "list": Type(
        pl.List(pl.Int64), lambda r: [[1, 2], [r.randint(100, 999)], [], [7, None]], (), texts=False
    ),
    "text list": Type(
        pl.List(pl.String), lambda r: [["a", "b"], ["x, y"], ["null"], [r.choice(WORDS)]], (), texts=False
    ),
    "enum list": Type(pl.List(pl.Enum(WORDS)), lambda r: [[w] for w in _some(r, WORDS)], (), texts=False),
    "array": Type(pl.Array(pl.Int64, 2), lambda r: [[1, 2], [3, r.randint(100, 999)]], (), texts=False),
    "struct": Type(
        pl.Struct({"a": pl.Int64, "b": pl.Enum(WORDS)}),
        lambda r: [{"a": r.randint(100, 999), "b": w} for w in _some(r, WORDS)],
        (),
        texts=False,
    ),
    "binary": Type(pl.Binary, lambda r: [b"\0\1", bytes([r.randint(0, 255)])], (), texts=False),
}
NESTED = tuple(name for name, own in TYPES.items() if not own.kinds)


@dataclass(frozen=True)
class Column:
    """A column of a random table, with all that its policy says."""

    name: str
    role: str
    type: str
    values: Values
    kind: str | None = None
    spec: Any = None
    """How the policy spells the hierarchy."""
    file: str | None = None
    """The content of the hierarchy's file."""
    domain: Domain = field(default_factory=lambda: Domain("none"))
    protected: tuple[str, ...] = ()
    limit: int | None = None

    @property
    def series(self) -> pl.Series:
        """The column with its type."""
        return pl.Series(self.name, self.values, dtype=TYPES[self.type].dtype, strict=False)


def drawn(random: Random, name: str, role: str, kind: str, rows: int) -> Column:
    """Return a column of random values of a type."""
    own = TYPES[kind]
    pool = own.pool(random)
    if random.random() < 0.06:
        pool = pool[:1]
    if random.random() < 0.25:
        pool = [*pool, None]
    weights = [random.choice([1, 1, 2, 4]) for _ in pool]
    values = random.choices(pool, weights, k=rows)
    if random.random() < 0.15:
        # One row alone has a value, so that it may be suppressed.
        values[random.randrange(rows)] = random.choice(own.pool(random))
    return Column(name, role, kind, values)


def with_hierarchy(random: Random, column: Column, kind: str) -> Column:
    """Give a column a random hierarchy of a kind."""
    from dataclasses import replace

    spec, above, content, setting, origin = MAKERS[kind](random, column)
    domain = Domain(kind, setting, above, origin, blank="" in column.values)
    if isinstance(spec, dict):
        hidden = _hidden(random, kind, spec)
        spec = {**spec, **hidden}
        small = {"small": tuple(hidden["small"])} if "small" in hidden else {}
        domain = replace(domain, **{**hidden, **small})
    return replace(column, kind=kind, spec=spec, file=content, domain=domain)


Made = tuple[Any, Any, str | None, Any, float]


def _word(kind: str) -> Callable[[Random, Column], Made]:
    return lambda random, column: (kind, None, None, None, 0)


def _widths(random: Random, column: Column) -> Made:
    widths = random.choice([[5, 10], [10], [2, 4, 8], [20, 100], [2.5, 5]])
    origin = random.choice([0, 0, 1, -3])
    return {"widths": widths, **({"origin": origin} if origin else {})}, None, None, widths, origin


def _grid(random: Random, column: Column) -> Made:
    grid, origin = random.choice([5, 10, 2, 2.5]), random.choice([0, 0, 1, -3])
    return {"grid": grid, **({"origin": origin} if origin else {})}, None, None, grid, origin


def _cuts(random: Random, column: Column) -> Made:
    fine = sorted(random.sample(range(-2, 90), 4))
    cuts = random.choice([[fine], [fine, [fine[1]]], [fine, fine[::2]]])
    return {"cuts": cuts}, None, None, cuts, 0


def _mask(random: Random, column: Column) -> Made:
    side = random.choice(["right", "left"])
    more = random.choice([{}, {}, {"keep": 1}, {"steps": 2}])
    return {"mask": side, **more}, None, None, side, 0


def _dates(random: Random, column: Column) -> Made:
    levels = random.choice(
        [["month", "year"], ["week"], ["day", "month", "quarter", "year", "decade"], ["year", "decade"]]
    )
    return {"dates": levels}, None, None, levels, 0


def _ends(random: Random, column: Column) -> Made:
    return {}, None, None, None, 0


def _hidden(random: Random, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Return settings that hide values, for half of the columns whose kind has any."""
    if kind not in ("widths", "cuts", "top", "dates", "mask") or (kind != "top" and random.random() < 0.5):
        return {}
    if kind == "mask":
        more = random.choice([{}, {"small": ["000", "021"]}]) if "steps" not in spec else {}
        return {"show": 3, **more} if "keep" not in spec else {"show": 2}
    low, high = (2023, 2024) if kind == "dates" else sorted(random.sample(range(1, 80), 2))
    found = random.choice([{"top": high}, {"bottom": low}, {"top": high, "bottom": low}])
    if kind == "dates":
        finest = {"finest": random.choice(spec["dates"])}
        return random.choice([finest, {**finest, **found}, found]) if "week" not in spec["dates"] else finest
    return found


def _texts(column: Column) -> list[str]:
    found = dict.fromkeys(str(letters(value)) for value in column.values if value is not None)
    return list(found)


def _tree(random: Random, column: Column) -> Made:
    texts = _texts(column)
    random.shuffle(texts)
    cut = random.randint(1, max(1, len(texts) - 1))
    left, right = texts[:cut], texts[cut:]
    nodes = random.choice([("North", "South"), ("{a, b}", "[1, 2]"), ("A–Z", "ö"), ("x..y", "1-5")])
    if not right:
        tree = {nodes[0]: left}
        above = {text: [text, nodes[0]] for text in left}
        return {"tree": tree}, _under_root(column, above), None, None, 0
    tree = {nodes[0]: left, nodes[1]: right}
    above = {text: [text, node, "*"] for node, own in tree.items() for text in own}
    if random.random() < 0.2:
        top = random.choice(["all", "letters"])
        tree, above = {top: tree}, {text: [*names[:-1], top] for text, names in above.items()}
    return {"tree": tree}, _under_root(column, above), None, None, 0


def _under_root(column: Column, above: dict[str, list[str]]) -> dict[str, list[str]]:
    """A null value lies outside of the tree, so that only * covers both."""
    if None not in column.values or all(names[-1] == "*" for names in above.values()):
        return above
    return {text: [*names, "*"] for text, names in above.items()}


def _known(random: Random, column: Column) -> Made:
    quarters = {"January": 1, "February": 1, "March": 1, "June": 2, "July": 3, "October": 4, "December": 4}
    names = {
        1: ("Jan-Mar", "Jan-Jun"),
        2: ("Apr-Jun", "Jan-Jun"),
        3: ("Jul-Sep", "Jul-Dec"),
        4: ("Oct-Dec", "Jul-Dec"),
    }
    above = {month: [month, *names[quarter], "*"] for month, quarter in quarters.items()}
    return {"known": "months"}, above, None, None, 0


def _file(random: Random, column: Column) -> Made:
    import csv
    import io

    texts = _texts(column)
    above = {
        text: [text, f"G{at // 2}", *([f"H{at // 4}"] if len(texts) > 4 else []), "*"]
        for at, text in enumerate(texts)
    }
    out = io.StringIO()
    csv.writer(out, delimiter=";", lineterminator="\n").writerows(above.values())
    return f"tree-{column.name and column.series.name.encode().hex()}.csv", above, out.getvalue(), None, 0


MAKERS: dict[str, Callable[[Random, Column], Made]] = {
    "none": _word("none"),
    "auto": _word("auto"),
    "widths": _widths,
    "grid": _grid,
    "cuts": _cuts,
    "mask": _mask,
    "dates": _dates,
    "known": _known,
    "top": _ends,
    "tree": _tree,
    "file": _file,
}
"""Kind of hierarchy -> how it is spelled, the names above each text, the content of its file, setting, origin."""
