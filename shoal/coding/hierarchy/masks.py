"""Masked codes: characters replaced by ``*``, from the right or from the left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import polars as pl

from shoal.coding.hierarchy.distinct_values import distinct_values, runs, text_of
from shoal.coding.hierarchy.domains import Domain
from shoal.coding.hierarchy.labels import Stars
from shoal.coding.hierarchy.tree import Hierarchy, Level
from shoal.errors import HierarchyError

LONGEST = 64


def from_mask(
    values: pl.Series,
    mask: Literal["right", "left"] = "right",
    keep: int = 0,
    steps: int | Sequence[int] = 1,
    show: int | None = None,
    small: Sequence[str] = (),
) -> Hierarchy:
    """Build one level per masked character of the longest value: ``12345``, ``1234*``, .., ``1****``, ``*``.

    Shorter values count as padded on the masked side: they join a node when the mask reaches their end.
    `keep` characters on the other side are masked only at the root. `steps` is how many more characters
    each level masks, or the list of how many each level masks. With `show`, see `_build_mask`. O(levels x n log n).
    """
    if show is not None:
        return _build_mask(values, mask, keep, show, small)
    data = distinct_values(values)
    text = text_of(data)
    frame = pl.DataFrame({"leaves": data, "text": text, "key": _reverse_texts(text, mask)})
    frame = frame.sort("key", nulls_last=True)
    regular = len(frame) - frame["text"].null_count()
    keys = frame["key"].head(regular)
    longest = int(keys.str.len_chars().max() or 0)  # type: ignore[arg-type]
    levels = []
    kepts = tuple(longest - masked for masked in _count_masked(longest, keep, steps))
    for kept in kepts:
        cut = keys.str.slice(0, kept)
        starts = runs(cut.rle_id().to_numpy())
        names = (
            cut.gather(starts)
            .to_frame("key")
            .select(
                pl.when(pl.col("key").str.len_chars() == kept)
                .then(pl.col("key") + "*" * (longest - kept))
                .otherwise("key")
            )
            .to_series()
        )
        levels.append(Level(starts, _reverse_texts(names, mask).alias("names")))
    # If all values have the same length, the number of stars tells nothing about the other rows.
    alike = bool((keys.str.len_chars() == longest).all())
    naming = None if alike else Stars(mask, longest, kepts)
    return replace(Domain(frame["leaves"], regular).hierarchy(*levels, naming=naming), grown=True)


def _build_mask(
    values: pl.Series, mask: Literal["right", "left"], keep: int, show: int, small: Sequence[str]
) -> Hierarchy:
    """Build levels that keep `show` characters at most, then one less each: ``021*``, ``02*``, ``0*``, ``*``.

    One star stands for all that is masked, so names do not depend on the length of values. Values that begin (or end)
    with a text of `small`, and those that begin with zeros, are one node up to the root: ``000*``.
    """
    data = distinct_values(values)
    text = text_of(data)
    zeros = "0" * show
    hidden = [zeros, *(one if mask == "right" else one[::-1] for one in small)] if small else []
    frame = pl.DataFrame({"leaves": data, "text": text, "key": _reverse_texts(text, mask)})
    few = pl.col("key").str.slice(0, show).is_in(hidden)
    frame = frame.with_columns(
        key=pl.when(few).then(pl.lit(zeros)).otherwise("key"), few=few.fill_null(False)
    )
    frame = frame.sort(pl.col("text").is_null(), ~pl.col("few"), "key", "text")
    regular = len(frame) - frame["text"].null_count()
    keys, apart = frame["key"].head(regular), frame["few"].head(regular)
    levels = []
    for kept in range(show, max(keep, 1) - 1 if keep <= show else show - 1, -1):
        part = pl.DataFrame({"key": keys, "few": apart}).select(
            name=pl.when("few")
            .then(pl.lit(zeros + "*"))
            .when(pl.col("key").str.len_chars() < kept)
            .then("key")
            .otherwise(pl.col("key").str.slice(0, kept) + "*"),
            few="few",
        )
        starts = runs(part.select(pl.struct("name", "few").rle_id()).to_series().to_numpy())
        names = part["name"].gather(starts)
        levels.append(Level(starts, _reverse_texts(names, mask).alias("names")))
    return Domain(frame["leaves"], regular).hierarchy(*levels[1:], finest=levels[0])


def _reverse_texts(texts: pl.Series, mask: Literal["right", "left"]) -> pl.Series:
    """Return texts backwards if their left side is masked. Polars would keep the characters of one symbol in order (a
    letter and its accent), and a level that ends between them would show the wrong ones.
    """
    if mask == "right":
        return texts
    return pl.Series(texts.name, [None if text is None else text[::-1] for text in texts], pl.String)


def _count_masked(longest: int, keep: int, steps: int | Sequence[int]) -> list[int]:
    """Return how many characters each level masks, without the root, which masks all."""
    wanted = range(steps, longest, steps) if isinstance(steps, int) else steps
    counts = [count for count in wanted if count <= longest - max(keep, 1)]
    if len(counts) > LONGEST:
        raise HierarchyError(
            f"values have up to {longest} characters, so the mask has {len(counts)} levels; the most is {LONGEST}: "
            "mask more characters per level with steps, or use 'auto'"
        )
    return counts
