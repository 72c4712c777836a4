"""The experiments on presence as Markdown tables; `experiments.presence` writes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.presence_trials import (
    BOUNDS_OF_BOTH,
    DRAWS,
    K_ANONYMOUS,
    LIMIT,
    MANY_SIZES,
    METHODS_TRIED,
    PARTITIONERS,
    PLAIN_SIZES,
    SECONDS,
    SIZES,
    USUAL,
    attacked_by_definition,
)
from experiments.presence_words import against_k_words, words
from shoal.coding import CodedTable
from shoal.methods.permuting.permute_generalize import MOST_STATES


@dataclass(frozen=True)
class Found:
    """All figures, as the functions of `experiments.presence_trials` give them."""

    table: CodedTable
    first: dict[Any, Any]
    alone: dict[Any, Any]
    people_first: dict[Any, Any]
    people_alone: dict[Any, Any]
    second: dict[Any, Any]
    third: dict[Any, Any]
    fourth: tuple[dict[Any, Any], dict[Any, Any]]
    drawn: Any


def grid(head, rows):
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + " ---: |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def shares_of(found, rows):
    """Re-identified shares, by method and k."""
    lines = []
    for label in dict.fromkeys(label for label, _ in found):
        cells = []
        for k in SIZES:
            one = found[label, k]
            if one is None:
                cells.append("no release")
                continue
            more = f" to {(one['certain'] + one['unsure']) / rows:.2%}" if one["unsure"] else ""
            cells.append(f"{one['certain'] / rows:.2%}{more}")
        lines.append([label, *cells])
    return grid(["method", *(f"k = {k}" for k in SIZES)], lines)


def kinds_of(found):
    """What kind of answers the attack gave, and its seconds."""
    lines = [
        [label, k, f"{one['exact']:,}", f"{one['bounded']:,}", f"{one['estimated']:,}", f"{one['undecided']:,}",
         f"{one['made']:.1f}", f"{one['seconds']:.1f}"]
        for label in (*METHODS_TRIED, "MPALM") for k in SIZES
        if (one := found[label, k]) is not None and (label != "MPALM" or k == SIZES[0])
    ]  # fmt: skip
    head = [
        "method",
        "k",
        "exact",
        "bounded",
        "estimated",
        "undecided",
        "seconds to make",
        "seconds to attack",
    ]
    return grid(head, lines)


def text_of(found, plots):
    """Everything as Markdown."""
    table = found.table
    shares, unique = found.drawn
    own = attacked_by_definition(table)
    low, middle, high = np.quantile(shares, [0.01, 0.5, 0.99], axis=0)
    size, rows = len(table.population), table.rows
    parts = [
        "# Presence: who is re-identified in shuffled tables\n",
        f"Written by `presence.py`. The population is Adult without rows with missing values, {size:,} people with 9 "
        f"quasi-identifiers and their hierarchies; the table is {rows:,} of them at random. A person of the table "
        "is re-identified if, given the release and the population, they are certainly in it. Seconds are processor "
        "time.\n",
        words(found, own),
        "## 1. Re-identified people of the table\n",
        shares_of(found.first, rows),
        f"The bounds of CombinedAlg and MPALM are {USUAL}. *From .. to* means that the attack could not decide some "
        "people in the time given.\n",
        *plots[:1],
        "### Kinds of answers, for all people of the population\n",
        kinds_of(found.first),
        "*Exact*: counted, or proven to be certainly in or out. *Bounded*: matches several classes, so the attack "
        "proves bounds, not a probability. *Estimated*: not certain, the probability is an estimate. *Undecided*: "
        f"{LIMIT:,} states and {SECONDS:g} s per bucket did not decide whether the person is certain.\n",
        "### Why not 94 %?\n",
        f"Over {DRAWS:,} random tables of {rows:,} people:\n",
        grid(
            ["share of the rows", "this table", "1 % of tables below", "median", "1 % above"],
            [
                [label, f"{value:.2%}", f"{low[i]:.2%}", f"{middle[i]:.2%}", f"{high[i]:.2%}"]
                for i, (label, value) in enumerate(
                    zip(
                        (
                            "certain by the definition: all people with these values are in",
                            "no other row of the table has these values",
                            "distinct combinations of values",
                        ),
                        own,
                        strict=True,
                    )
                )
            ],
        ),
        f"Of the population, {unique:.2%} have a combination of values that nobody else has.\n",
        "### If people with equal values were one person\n",
        "The population and the table without duplicates; the share is still of the 2,000 rows.\n",
        shares_of(found.alone, rows),
        "### If k counts people of the population\n",
        "Buckets of at least k people of the population, in which about one of fifteen is in the table.\n",
        shares_of(found.people_first, rows),
        "The same, and people with equal values as one person:\n",
        shares_of(found.people_alone, rows),
        "## 2. CombinedAlg against MPALM\n",
        compared_table(found.second),
        "k is the smallest for which there is a release. DM: squared sizes of buckets or classes. AG: levels, over "
        "rows and columns. All releases were verified. With boxes of people there is no release if everybody must "
        "be covered.\n",
        *plots[1:2],
        "## 3. Growing k\n",
        growing_table(found.third),
        f"Bounds {USUAL}; the method skips a mapping that needs more than {MOST_STATES:,} states.\n",
        *plots[2:],
        against_k_text(*found.fourth),
    ]
    return "\n".join(parts)


def compared_table(second):
    """Experiment 2 as a table."""
    lines = []
    for bounds, one in second.items():
        for name in ("mpalm", *PARTITIONERS):
            if name not in one:
                continue
            word = "MPALM" if name == "mpalm" else f"CombinedAlg, {PARTITIONERS[name]}"
            own = one[name]
            where = f"({bounds[0]:g}, {bounds[1]:g})"
            figures = [f"{own['dm']:,}", f"{own['ag']:,}", f"{own['groups']:,}", f"{own['seconds']:.1f}"]
            lines.append([where, word, own.get("k", ""), *figures])
    return grid(["bounds", "method", "k", "DM", "AG", "buckets or classes", "seconds"], lines)


def growing_table(third):
    """Experiment 3 as a table."""
    lines = []
    for (name, k), one in third.items():
        if one is None:
            lines.append([PARTITIONERS[name], k, "no release", *[""] * 5])
            continue
        figures = [f"{one[word]:,}" for word in ("ag", "dm", "groups", "mappings_tried", "mappings_counted")]
        lines.append([PARTITIONERS[name], k, f"{one['seconds']:.1f}", *figures])
    return grid(["buckets of", "k", "seconds", "AG", "DM", "buckets", "mappings tried", "counted"], lines)


def against_k_text(fourth, plain):
    """Experiment 4, with its words and tables."""
    lines = []
    for bounds in BOUNDS_OF_BOTH:
        for name in ("MPALM", "SPALM", *K_ANONYMOUS):
            one = fourth[bounds, name]
            where = f"({bounds[0]:g}, {bounds[1]:g})"
            if one is None:
                lines.append([where, name, f"none of {MANY_SIZES[0]} to {MANY_SIZES[-1]}", *[""] * 6])
            else:
                lines.append([where, name, one.get("k", ""), *_figures(one)])
    head = ["DM", "AG", "LM", "classes", "lowest probability", "highest probability"]
    by_k = [
        [name, k, *_figures(plain[name, k]), f"{plain[name, k]['certain']:,}", f"{plain[name, k]['overlapping']:,}"]
        for name in K_ANONYMOUS
        for k in PLAIN_SIZES
    ]  # fmt: skip
    return "\n".join(
        [
            "## 4. MPALM and SPALM against k-anonymity\n",
            against_k_words(fourth, plain),
            grid(["bounds", "method", "k", *head], lines),
            f"For k-anonymity, k is the smallest of {len(MANY_SIZES)} from {MANY_SIZES[0]} to {MANY_SIZES[-1]} whose "
            "release is within the bounds, for everybody in the population. These releases are made from the table "
            "alone; the deltas of all were verified on the population. Boxes of Mondrian may overlap, and then "
            "the probabilities are proven bounds; *disjoint boxes* are split along the hierarchies, like those of "
            "MPALM, until k stops it.\n",
            "What k-anonymity reaches by itself:\n",
            grid(["method", "k", *head, "certainly in", "match several classes"], by_k),
        ]
    )


def _figures(one):
    """What both tables say of a release."""
    sizes = [f"{one['dm']:,}", f"{one['ag']:,}", f"{one['lm']:.3f}", f"{one['groups']:,}"]
    return [*sizes, f"{one['least']:.3f}", f"{one['most']:.3f}"]
