"""Fast draws from conditional distributions: one table look-up per cell, no loop over rows."""

from __future__ import annotations

from importlib import resources

import numpy as np
import numpy.typing as npt
import polars as pl

Codes = npt.NDArray[np.uint8]
Weights = npt.NDArray[np.float64]

SLOTS = 1 << 16
"""Probabilities are multiples of 1/SLOTS, so that a 16-bit random number is a draw."""

BATCH = 1 << 16
"""Rows drawn together. A sample is a run of whole batches, cut to length: the first rows are the same
however many are asked for, and the working memory does not grow with them."""


def slots(weights: Weights) -> Codes:
    """Turn ``[parents, values]`` weights into ``[parents, SLOTS]`` values, each as frequent as its weight.

    A positive weight gets at least one slot, so every possible value can be drawn. O(parents x SLOTS).
    """
    out = np.empty((len(weights), SLOTS), np.uint8)
    for parent, row in enumerate(weights):
        counts = np.floor(row / row.sum() * SLOTS).astype(np.int64)
        counts[(row > 0) & (counts == 0)] = 1
        counts[np.argmax(row)] += SLOTS - counts.sum()
        out[parent] = np.repeat(np.arange(len(row), dtype=np.uint8), counts)
    return out


def draw(table: Codes, parents: npt.NDArray[np.integer], random: np.random.Generator) -> Codes:
    """Draw one value per parent. O(rows)."""
    slot = random.integers(0, SLOTS, len(parents), dtype=np.uint16)
    place = parents.astype(np.int32) * SLOTS + slot
    return table.ravel().take(place)


def text(values: list[str], codes: npt.NDArray[np.integer]) -> pl.Series:
    """Return the values of the codes as a String column."""
    return pl.Series(values, dtype=pl.String).gather(codes.astype(np.uint32))


def read_sample_file(file: str) -> str:
    """Return the text of a file that ships with the samples."""
    return resources.files("shoal.apps.samples").joinpath("data", file).read_text(encoding="utf-8")


def read_sample_hierarchy(file: str) -> list[list[str]]:
    """Return the lines of a shipped hierarchy, each a value followed by the nodes above it."""
    return [line.split(";") for line in read_sample_file(file).splitlines()]
