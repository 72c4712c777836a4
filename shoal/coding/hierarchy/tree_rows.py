"""A tree given as rows, one per value: the value and its ancestors up to the top. Checks it, then sorts it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl

from shoal.coding.hierarchy.distinct_values import (
    distinct_values,
    is_ordered,
    numbers_of,
    parse,
    runs,
    text_of,
)
from shoal.coding.hierarchy.domains import Domain
from shoal.coding.hierarchy.label_parser import locate
from shoal.coding.hierarchy.labels import Unmissed
from shoal.coding.hierarchy.tree import ROOT, Hierarchy, Level
from shoal.errors import HierarchyError
from shoal.support.arrays import IntVector
from shoal.support.wording import shorten, some_values


def from_rows(
    values: pl.Series, rows: Sequence[Sequence[str]], source: str, lines: Sequence[int] | None = None
) -> Hierarchy:
    """Build the hierarchy from rows ``value, node at level 1, .., top``, all of the same length.

    Siblings keep the order of the rows; numbers and dates are sorted by value if that keeps every node
    contiguous. An empty value means null, unless the data has empty texts. Null and NaN without a row
    become separate nodes under the root. Raises HierarchyError if the rows are not a tree or
    lack values of the data. O(levels x rows log rows).
    """
    data = distinct_values(values)
    columns = [
        pl.Series(f"L{i}", column, dtype=pl.String) for i, column in enumerate(zip(*rows, strict=True))
    ]
    frame = pl.DataFrame([pl.Series("line", lines or range(1, len(rows) + 1)), *columns])
    frame = _with_null(frame, data, source)
    leaves = _leaves(frame["L0"], data.dtype)
    _no_duplicates(leaves, frame["line"], source, in_lines=lines is not None)
    frame, leaves = _with_missing(frame.drop("line"), leaves, data)
    _all_there(leaves, data, frame, source, in_lines=lines is not None)
    width = frame.width
    frame = _with_root(frame.with_columns(text_of(leaves).alias("L0")))
    _is_tree(frame, source)
    _no_cycle(frame, source)
    tree = _in_order(frame, leaves)
    # The tree has one top, and a root above it only because the data has missing values.
    alone = 1 < width < frame.width and columns[-1].replace("", None).drop_nulls().n_unique() == 1
    return replace(tree, naming=Unmissed(int(tree.high[-2, 0]) + 1)) if alone else tree


def leaf_of(data: pl.Series, texts: pl.Series) -> IntVector:
    """Return for each value of the data which of the texts, written as in a tree, is its leaf; -1 if none is.

    As in `from_rows`: numbers compare by value, and an empty text means null unless the data has empty texts.
    """
    blank = data.dtype == pl.String and (data == "").any()
    leaves = _leaves(texts if blank else texts.replace("", None), data.dtype)
    first = leaves.is_first_distinct().arg_true().to_numpy()
    found = locate(leaves.gather(first), data)
    return np.where(found < 0, -1, first[found]).astype(np.int32)


def _with_null(frame: pl.DataFrame, data: pl.Series, source: str) -> pl.DataFrame:
    """Read an empty value as null, and refuse empty names at other levels."""
    value, above = pl.col("L0"), frame.columns[2:]
    blank = frame.filter(
        (value != "") & pl.any_horizontal(pl.lit(False), *(pl.col(name) == "" for name in above))
    )
    if len(blank):
        raise HierarchyError(
            f"{source}: line {blank['line'][0]} has an empty name: every value needs a name at every level"
        )
    if data.dtype == pl.String and (data == "").any():
        return frame
    return frame.with_columns(
        pl.when(value != "").then(name).otherwise(pl.col(name).replace("", None)).alias(name)
        for name in frame.columns[1:]
    )


def _leaves(text: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Read the values in the type of the data; if that fails for some, all of them stay text."""
    read = parse(text, dtype).alias("leaves")
    if read.null_count() == text.null_count():
        return read
    return pl.DataFrame({"read": text_of(read), "text": text}).select(pl.coalesce("read", "text")).to_series()


def _no_duplicates(leaves: pl.Series, line: pl.Series, source: str, in_lines: bool) -> None:
    twice = pl.DataFrame({"value": leaves, "line": line}).filter(leaves.is_duplicated())
    if len(twice):
        first = twice.sort("line")["value"][0]
        at = twice.filter(pl.col("value").eq_missing(first))["line"].to_list()
        count = twice["value"].n_unique()
        more = f" ({count - 1:,} more values occur twice)" if count > 1 else ""
        where = (
            f"has more than one line: {', '.join(map(str, at[:8]))}"
            if in_lines
            else f"occurs {len(at)} times"
        )
        raise HierarchyError(f"{source}: the value {first!r} {where}{more}; keep one of them")


def _with_missing(frame: pl.DataFrame, leaves: pl.Series, data: pl.Series) -> tuple[pl.DataFrame, pl.Series]:
    """Append NaN and null as separate nodes, if the data has them and the rows do not: only the root covers them."""
    extra: list[str | None] = []
    if data.dtype.is_float() and data.is_nan().any():
        seen = leaves.is_nan() if leaves.dtype.is_float() else leaves == "NaN"
        if not seen.fill_null(False).any():
            extra.append("NaN")
    if data.null_count() and not leaves.null_count():
        extra.append(None)
    if not extra:
        return frame, leaves
    more = pl.DataFrame(dict.fromkeys(frame.columns, extra), schema=frame.schema)
    tops = frame.to_series(frame.width - 1)
    if frame.width > 1 and (tops == ROOT).all():
        more = more.with_columns(pl.lit(ROOT).alias(tops.name))
    added = pl.Series("leaves", extra, dtype=pl.String).cast(leaves.dtype)
    return frame.vstack(more), pl.concat([leaves, added])


def _all_there(leaves: pl.Series, data: pl.Series, frame: pl.DataFrame, source: str, in_lines: bool) -> None:
    missing = text_of(data.filter(pl.Series(locate(leaves, data) < 0))).sort()
    if not len(missing):
        return
    names = text_of(leaves).drop_nulls()
    alike = dict(zip(names.str.strip_chars().str.to_lowercase(), names, strict=True))
    close = [
        shorten(f"{value!r} is there as {alike[value.strip().lower()]!r}", 200)
        for value in missing.head(1000)
        if value.strip().lower() in alike
    ]
    hint = f"; {' and '.join(close[:3])}" if close else ""
    example = ";".join([shorten(str(missing[0]), 60), *([".."] if frame.width > 2 else []), ROOT])
    count = "1 value of the data is" if len(missing) == 1 else f"{len(missing):,} values of the data are"
    advice = f"Add a line for each, such as {example!r}" if in_lines else "Put each of them under a node"
    raise HierarchyError(f"{source}: {count} missing: {some_values(missing.to_list())}{hint}. {advice}")


def _with_root(frame: pl.DataFrame) -> pl.DataFrame:
    """Add a root if the last level has more than one node, or null without a name."""
    top = frame.to_series(frame.width - 1)
    if len(top) > 1 and (frame.width == 1 or top.n_unique() > 1):
        if frame.width > 1 and (top.drop_nulls() == ROOT).all():
            return frame.with_columns(top.fill_null(ROOT))
        return frame.with_columns(pl.lit(ROOT).alias(f"L{frame.width}"))
    return frame


def _is_tree(frame: pl.DataFrame, source: str) -> None:
    """Refuse a node with two parents."""
    for level, (name, above) in enumerate(pairwise(frame.columns)):
        pairs = frame.select(pl.col(name).alias("node"), pl.col(above).alias("parent")).unique(
            maintain_order=True
        )
        twice = pairs.filter(pairs["node"].is_duplicated())
        if len(twice):
            node = twice["node"][0]
            parents = twice.filter(pl.col("node").eq_missing(node))["parent"].to_list()
            raise HierarchyError(
                f"{source}: the node {node!r} at level {level} has two parents, {parents[0]!r} and {parents[1]!r}: "
                "give the nodes different names, or one of them the other's parent"
            )


def _no_cycle(frame: pl.DataFrame, source: str) -> None:
    """Refuse a name that lies above itself with another name in between. The root, which covers all, may."""
    inner = frame.columns[: frame.width - 1]
    edges = [frame.select(pl.col(a).alias("node"), pl.col(b).alias("parent")) for a, b in pairwise(inner)]
    if not edges:
        return
    left = pl.concat(edges).drop_nulls().filter(pl.col("node") != pl.col("parent")).unique()
    # A name that is never a child or never a parent is on no cycle. Names that survive this pruning are on one.
    while True:
        on = pl.col("node").is_in(left["parent"].implode()) & pl.col("parent").is_in(left["node"].implode())
        kept = left.filter(on)
        if len(kept) == len(left):
            break
        left = kept
    if len(left):
        names = sorted(set(left["node"].to_list()))
        raise HierarchyError(
            f"{source}: the hierarchy is cyclic, each of these names lies above itself: {some_values(names)}; "
            "give the nodes different names"
        )


def _in_order(frame: pl.DataFrame, leaves: pl.Series) -> Hierarchy:
    """Sort leaves depth-first: siblings by value if that sorts all leaves by value, else in the order of the rows."""
    lined = is_ordered(leaves.dtype)
    apart = leaves.is_null().to_numpy()
    if leaves.dtype.is_float():
        apart = apart | leaves.is_nan().fill_null(False).to_numpy()
    regular = len(leaves) - int(apart.sum())
    if lined:
        rank = np.empty(len(leaves), np.int64)
        rank[leaves.arg_sort(nulls_last=True).to_numpy()] = np.arange(len(leaves))
        ranked = _rank_nodes(frame, rank, regular)
        order = np.lexsort([column.to_numpy() for column in ranked])
        lined = bool(np.array_equal(rank[order][:regular], np.arange(regular)))
    if not lined:
        rank = np.empty(len(leaves), np.int64)
        rank[np.argsort(apart + leaves.is_null().to_numpy(), kind="stable")] = np.arange(len(leaves))
        ranked = _rank_nodes(frame, rank, regular)
        order = np.lexsort([column.to_numpy() for column in ranked])
    levels = []
    for name, column in zip(frame.columns, ranked, strict=True):
        starts = runs(column.to_numpy()[order])
        levels.append(Level(starts, frame[name].gather(order[starts]).alias("names")))
    sorted_leaves = leaves.gather(order)
    domain = Domain(sorted_leaves, regular, numbers_of(sorted_leaves.head(regular)) if lined else None)
    return Hierarchy(
        sorted_leaves,
        tuple(levels),
        ordered=regular if lined else 0,
        positions=domain.positions(),
        category=True,
    )


def _rank_nodes(
    frame: pl.DataFrame, rank: np.ndarray[tuple[int], np.dtype[np.int64]], regular: int
) -> list[pl.Series]:
    """Rank the node of each row at each level by its first leaf, but nodes with NaN or null last."""
    ranks = pl.DataFrame({"rank": rank}).hstack(frame)
    first, last = pl.col("rank").min(), pl.col("rank").max()
    return ranks.select(
        pl.when(last >= regular).then(last).otherwise(first).over(name).alias(name) for name in frame.columns
    ).get_columns()
