"""Names that are made of values of the data: a release makes them from the values of its published rows alone.

`[31, 60]` names two values, and the number of stars in `12***` tells the length of the longest value. If only a
suppressed row has such a value, the name must not show it. So a hierarchy whose names depend on the data has a
`Naming`, which names nodes by the values that published rows have (`seen`) and reads such names back.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from shoal.coding.hierarchy.distinct_values import all_whole, is_ordered, meant_by, parse
from shoal.support.arrays import BoolVector, IntVector

if TYPE_CHECKING:
    from shoal.coding.hierarchy.tree import Hierarchy

ROOT = "*"
LISTED_VALUES = 4
LISTED_CHARACTERS = 32

Found = pl.DataFrame
"""Names and the first and last code that each means: ``names``, ``low``, ``high``; null if a name means nothing."""
FOUND = {"names": pl.String, "low": pl.Int32, "high": pl.Int32}


class Naming(ABC):
    """How names follow from the values of the data that published rows have."""

    by_meaning: ClassVar[bool] = False
    """Texts are named by the numbers, dates or times that they are, not as they are written."""

    @abstractmethod
    def rename_nodes(
        self, hierarchy: Hierarchy, names: pl.Series, low: IntVector, high: IntVector, seen: BoolVector
    ) -> pl.Series:
        """Return the names of nodes or ranges by the values that are `seen`, given their `names` by all values."""

    @abstractmethod
    def read(self, hierarchy: Hierarchy, texts: pl.Series, unknown: pl.Series) -> Found:
        """Return what texts mean, given those among them that are `unknown` as names by all values."""

    def narrow_to_seen(
        self, hierarchy: Hierarchy, low: IntVector, high: IntVector, seen: BoolVector
    ) -> tuple[IntVector, IntVector]:
        """Return the part of each range that its label covers."""
        return low, high


@dataclass(frozen=True)
class Ends(Naming):
    """A node is named by the first and the last value in it, or by all its values if these are few and short."""

    by_meaning: ClassVar[bool] = True

    opening: str
    between: str
    closing: str
    listed: bool = False
    """Name a node by up to four values, ``{a, b, c}``, if that is short."""

    def narrow_to_seen(
        self, hierarchy: Hierarchy, low: IntVector, high: IntVector, seen: BoolVector
    ) -> tuple[IntVector, IntVector]:
        """Cut each range to its first and last seen value; use the whole domain if its label names no values."""
        several = hierarchy.merge_hidden(low) != hierarchy.merge_hidden(high)
        at = np.flatnonzero(several & ~self._tops(hierarchy, low, high))
        a, b = low.copy(), high.copy()
        a[at], b[at], some = within(low[at], high[at], seen)
        whole = at[~some | _all_seen(hierarchy, a[at], b[at], seen)]
        a[whole], b[whole] = 0, hierarchy.size - 1
        return a, b

    def _tops(self, hierarchy: Hierarchy, low: IntVector, high: IntVector) -> BoolVector:
        """Return which ranges are called `*`."""
        top = hierarchy.levels[-1]
        starred = np.zeros(hierarchy.size, np.bool_)
        starred[top.starts] = (top.names == ROOT).fill_null(False).to_numpy()
        called: BoolVector = (
            starred[low] & (low == hierarchy.low[-1, low]) & (high == hierarchy.high[-1, low])
        )
        return called

    def rename_nodes(
        self, hierarchy: Hierarchy, names: pl.Series, low: IntVector, high: IntVector, seen: BoolVector
    ) -> pl.Series:
        """Return the names of nodes by the first and last value in them that are seen."""
        several = hierarchy.merge_hidden(low) != hierarchy.merge_hidden(high)
        at = np.flatnonzero(several & (names != ROOT).fill_null(True).to_numpy())
        if not len(at):
            return names
        a, b, some = within(low[at], high[at], seen)
        style = self
        if self.listed:
            style = style_of(hierarchy.leaves.filter(pl.Series(seen)))
        made = style.text(hierarchy.value_names(seen), a, b, seen)
        return names.scatter(at, made.set(pl.Series(~some | _all_seen(hierarchy, a, b, seen)), ROOT))

    def text(
        self, names: pl.Series, low: IntVector, high: IntVector, seen: BoolVector | None = None
    ) -> pl.Series:
        """Return the name of each range of codes; `names` are those of the leaves. O(ranges).

        Values that are `seen` are listed. Others between them, which only suppressed rows have, change nothing: such a
        list is read as a set of its values.
        """
        size = high.astype(np.int64) - low + 1
        frame = pl.DataFrame({"first": names.gather(low), "last": names.gather(high), "size": size})
        ends = pl.concat_str(
            pl.lit(self.opening), "first", pl.lit(self.between), "last", pl.lit(self.closing)
        )
        name = pl.when(pl.col("size") == 1).then("first").otherwise(ends)
        frame = frame.with_columns(names=name)
        if not self.listed or not len(size):
            return frame["names"]
        codes = np.arange(len(names)) if seen is None else np.flatnonzero(seen)
        first, last = np.searchsorted(codes, low), np.searchsorted(codes, high)
        for length in range(2, LISTED_VALUES + 1):
            at = np.flatnonzero(last - first + 1 == length)
            if len(at):
                members = pl.DataFrame({f"m{i}": names.gather(codes[first[at] + i]) for i in range(length)})
                whole = members.select(pl.concat_str(pl.all(), separator=", ").alias("whole")).to_series()
                short = (whole.str.len_chars() <= LISTED_CHARACTERS).to_numpy()
                braced = pl.select("{" + whole.filter(pl.Series(short)) + "}").to_series()
                frame = frame.with_columns(frame["names"].scatter(at[short], braced))
        return frame["names"]

    def read(self, hierarchy: Hierarchy, texts: pl.Series, unknown: pl.Series) -> Found:
        """Return the range between the ends that each text names, or over the values that it lists.

        Texts of the data may make a name ambiguous; then it means the smallest range that covers all its meanings.
        """
        codes = pl.concat(
            pl.DataFrame({"end": names, "code": np.arange(hierarchy.size, dtype=np.int32)})
            for names in hierarchy.all_value_names
        ).drop_nulls()
        # Names made of texts with the signs of names in them can be ambiguous even if they are known.
        odd = self.listed and bool(codes["end"].str.contains(r"[.,{}]").any())
        wanted = texts.drop_nulls() if odd else unknown
        inside = wanted.str.strip_prefix(self.opening).str.strip_suffix(self.closing)
        framed = wanted.str.starts_with(self.opening) & wanted.str.ends_with(self.closing)
        frame = pl.DataFrame({"names": wanted, "inside": inside}).filter(
            framed & inside.str.contains(self.between, literal=True)
        )
        halves = pl.col("inside").str.splitn(self.between, 2)
        frame = frame.with_columns(first=halves.struct.field("field_0"), last=halves.struct.field("field_1"))
        first = codes.select(pl.col("end").alias("first"), pl.col("code").alias("low"))
        last = codes.select(pl.col("end").alias("last"), pl.col("code").alias("high"))
        frame = frame.join(first, on="first", how="left").join(last, on="last", how="left")
        found = frame.select("names", "low", "high").drop_nulls().filter(pl.col("low") <= pl.col("high"))
        # Any two signs of the separator may be the place, also in "a...b".
        unsure = frame.filter(pl.col("last").str.contains(self.between[-1], literal=True))["names"]
        braced = wanted.filter(wanted.str.contains(r"(?s)^\{.*\}$")) if self.listed else unsure.clear()
        if len(braced) and not odd:
            found = found.vstack(_plain_lists(braced, codes))
        elif len(unsure) or len(braced):
            code_of = dict(codes.iter_rows())
            more = [(text, *meant) for text in unsure for meant in self._splits(text, code_of)]
            more += [(text, *meant) for text in braced for meant in _lists(text, code_of)]
            found = found.vstack(pl.DataFrame(more, schema=FOUND, orient="row"))
        if self.listed:
            found = found.vstack(INTERVAL.read(hierarchy, texts, unknown).select(found.columns))
        return found.group_by("names").agg(pl.col("low").min(), pl.col("high").max())

    def _splits(self, text: str, code_of: dict[str, int]) -> Iterator[tuple[int, int]]:
        inside = text[len(self.opening) : len(text) - len(self.closing)]
        at = inside.find(self.between)
        while at >= 0:
            first, last = code_of.get(inside[:at]), code_of.get(inside[at + len(self.between) :])
            if first is not None and last is not None and first <= last:
                yield first, last
            at = inside.find(self.between, at + 1)


def _all_seen(hierarchy: Hierarchy, low: IntVector, high: IntVector, seen: BoolVector) -> BoolVector:
    """Return which ranges hold all values that are seen, and more than one: they are called like the root, as they are
    if nobody has another value. A range in which nothing is seen has nothing to be named by, and is called so, too.
    """
    codes = np.flatnonzero(seen)
    rooted = hierarchy.unlimited is None and hierarchy.levels[-1].names[0] == ROOT
    if not rooted or len(codes) < 2:
        return np.zeros(len(low), np.bool_)
    all_of_them: BoolVector = (low <= codes[0]) & (high >= codes[-1])
    return all_of_them


def style_of(values: pl.Series) -> Ends:
    """Return how nodes over texts are named, in the order of the leaves: as in a column of numbers or dates, if all
    texts are such and in their order. One other text, which may be that of a suppressed row, would make them texts.
    """
    meant = meant_by(values.drop_nulls())
    if not len(meant) or not is_ordered(meant.dtype) or (meant.dtype.is_float() and meant.is_nan().any()):
        return SPAN
    return INTERVAL if meant.is_sorted() else SPAN


def within(low: IntVector, high: IntVector, seen: BoolVector) -> tuple[IntVector, IntVector, BoolVector]:
    """Return the first and the last code that is seen in each range, and whether there is one."""
    codes = np.flatnonzero(seen).astype(np.int32)
    first = np.searchsorted(codes, low, side="left")
    last = np.searchsorted(codes, high, side="right") - 1
    some = first <= last
    a, b = low.copy(), high.copy()
    a[some], b[some] = codes[first[some]], codes[last[some]]
    return a, b, some


def _plain_lists(braced: pl.Series, codes: pl.DataFrame) -> Found:
    """Return the ranges that lists of consecutive values mean, if no value contains a comma."""
    inside = pl.col("names").str.strip_prefix("{").str.strip_suffix("}")
    each = pl.DataFrame({"names": braced}).with_columns(end=inside.str.split(", ")).explode("end")
    placed = each.join(codes, on="end", how="left", maintain_order="left")
    code = pl.col("code")
    return (
        placed.group_by("names", maintain_order=True)
        .agg(
            low=code.first(),
            high=code.last(),
            listed=pl.len() > 1,
            known=code.is_not_null().all() & (code.diff().drop_nulls() == 1).all(),
        )
        .filter("listed", "known")
        .select("names", "low", "high")
    )


def _lists(text: str, code_of: dict[str, int]) -> Iterator[tuple[int, int]]:
    """Yield the ranges that a list of two or more consecutive values may mean: values may contain commas. A list leaves
    out values that only suppressed rows have. Unless its values contain commas or braces, it is then read as a set.
    """
    parts = text[1:-1].split(", ")
    gaps = not all(part in code_of and not re.search("[{}]", part) for part in parts)

    def continue_list(at: int, first: int, last: int, values: int) -> Iterator[tuple[int, int]]:
        if at == len(parts):
            yield from [(first, last)] if values > 1 else []
        for end in range(at + 1, len(parts) + 1 if values < LISTED_VALUES else 0):
            code = code_of.get(", ".join(parts[at:end]))
            if code is not None and (values == 0 or code == last + 1 or (gaps and code > last)):
                yield from continue_list(end, first if values else code, code, values + 1)

    if len(parts) <= LISTED_CHARACTERS:
        yield from continue_list(0, 0, 0, 0)


INTERVAL = Ends("[", ", ", "]")
SPAN = Ends("", "..", "", listed=True)


@dataclass(frozen=True)
class Unmissed(Naming):
    """The root lies above the only top of a tree because of missing values; without them the top is the root."""

    present: int
    """How many leading codes are values; null and NaN come after them."""

    def narrow_to_seen(
        self, hierarchy: Hierarchy, low: IntVector, high: IntVector, seen: BoolVector
    ) -> tuple[IntVector, IntVector]:
        """Return the top of the tree instead of the root if no missing value is seen."""
        if seen[self.present :].any():
            return low, high
        return low, np.where(low < self.present, np.minimum(high, self.present - 1), high).astype(np.int32)

    def rename_nodes(
        self, hierarchy: Hierarchy, names: pl.Series, low: IntVector, high: IntVector, seen: BoolVector
    ) -> pl.Series:
        """Return the name of the top instead of the root's if no missing value is seen."""
        whole = (low < self.present) & (high >= self.present)
        if seen[self.present :].any() or not whole.any():
            return names
        return names.set(pl.Series(whole), hierarchy.levels[-2].names[0])

    def read(self, hierarchy: Hierarchy, texts: pl.Series, unknown: pl.Series) -> Found:
        """Return nothing: all names are names of nodes."""
        return pl.DataFrame(schema=FOUND)


@dataclass(frozen=True, eq=False)
class Whole(Naming):
    """Intervals are written for whole numbers if all numbers that are seen are whole, or texts that are such."""

    by_meaning: ClassVar[bool] = True

    words: Mapping[str, str]
    """The names of intervals of any numbers -> of whole numbers: ``[20.0, 25.0)`` -> ``20-24``."""

    def rename_nodes(
        self, hierarchy: Hierarchy, names: pl.Series, low: IntVector, high: IntVector, seen: BoolVector
    ) -> pl.Series:
        """Return the names for whole numbers, unless another number is seen."""
        values = hierarchy.leaves.filter(pl.Series(seen & ~hierarchy.hidden)).drop_nulls()
        if values.dtype == pl.String:
            values = parse(values, pl.Float64())
        return names.replace(dict(self.words)) if all_whole(values) else names

    def read(self, hierarchy: Hierarchy, texts: pl.Series, unknown: pl.Series) -> Found:
        """Return the intervals of whole numbers."""
        real = {whole: name for name, whole in self.words.items()}
        # Also known texts: an interval of width 1 has the name of a value.
        names = texts.replace_strict(real, default=None, return_dtype=pl.String)
        wanted = pl.DataFrame({"whole": texts, "names": names})
        found = wanted.drop_nulls().join(hierarchy.name_table, on="names", how="inner").drop("names")
        return found.select(pl.col("whole").alias("names"), "low", "high")


@dataclass(frozen=True)
class Stars(Naming):
    """Masked characters are shown as stars, as many as the longest value has more than the node keeps."""

    side: str
    """The side that is masked: right or left."""
    longest: int
    """Characters of the longest value."""
    kept: tuple[int, ...]
    """How many characters the nodes of each level keep."""

    def rename_nodes(
        self, hierarchy: Hierarchy, names: pl.Series, low: IntVector, high: IntVector, seen: BoolVector
    ) -> pl.Series:
        """Return names with as many stars as the longest value that is seen requires."""
        leaves = hierarchy.levels[0].names
        longest = int(leaves.filter(pl.Series(seen)).str.len_chars().max() or 0)  # type: ignore[arg-type]
        if longest == self.longest:
            return names
        own = leaves.gather(low)
        frame = pl.DataFrame({"names": names, "own": own, "single": low == high})
        masked = (pl.col("names").str.len_chars() == self.longest) & ~(
            pl.col("single") & (pl.col("names") == pl.col("own"))
        )
        fewer = rf"\*{{0,{self.longest - longest}}}"
        pattern = f"{fewer}$" if self.side == "right" else f"^{fewer}"
        shorter = pl.col("names").str.replace(pattern, "")
        return frame.select(pl.when(masked).then(shorter).otherwise("names").alias("names")).to_series()

    def read(self, hierarchy: Hierarchy, texts: pl.Series, unknown: pl.Series) -> Found:
        """Return the nodes that keep the characters before (or after) the stars."""
        made = []
        for text in unknown:
            plain = text if self.side == "right" else text[::-1]
            for kept in self.kept:
                if kept < len(plain) <= self.longest and set(plain[kept:]) == {"*"}:
                    whole = plain[:kept] + "*" * (self.longest - kept)
                    made.append((text, whole if self.side == "right" else whole[::-1]))
        wanted = pl.DataFrame(made, schema={"names": pl.String, "whole": pl.String}, orient="row")
        known = hierarchy.name_table.rename({"names": "whole"})
        found = wanted.join(known, on="whole", how="inner").drop("whole")
        return found.group_by("names").agg(pl.col("low").min(), pl.col("high").max())
