"""How far each attack gets against releases of each method: Adult and the census sample, k = 5 and 10, l = 3.

Writes attack_table.md here, and the same table into docs/attacks/index.md. Not in it: `minimality`, which reruns the
method thousands of times (minimality.md), and `intersection`, which needs earlier releases.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import polars as pl

import shoal
from shoal.apps.samples import sample
from shoal.errors import DataError, ShoalError

DATA = Path(os.environ.get("SHOAL_DATA", Path(__file__).parent.parent.parent / "shared" / "data"))
SAMPLES = Path(shoal.__file__).parent / "apps" / "samples" / "data"
PAGE = Path(__file__).parent.parent / "docs" / "attacks" / "index.md"
BEGIN, END = "<!-- experiments/attack_table.py -->\n", "<!-- end of the table -->\n"
ROWS = 3_000
SIZES = (5, 10)
L = {"l": {"probabilistic": 3}}
CLASSES = {"mondrian": {}, "agglomerative": {}, "full-domain": {"suppression": 0.05, "suppress": "cells"}}
NOTIONS = {"k-k": "k-k", "ring": "probabilistic-k"}
BUCKETS = ("anatomy", "bucketization", "slicing")
RANGES = {"mondrian, ages as ranges": "mondrian", "agglomerative, ages as ranges": "agglomerative"}
"""Releases in which an age may become any range; the others use its hierarchy."""
METHODS = (*CLASSES, *RANGES, *NOTIONS, "hybrid", "mpalm", *BUCKETS)
ATTACKS = {
    "linkage": {"adversary": "members"},
    "few-known": {"known": 30},
    "attribute-disclosure": {},
    "definetti": {},
    "singling-out": {},
    "downcoding": {},
    "refinement": {},
    "statistical": {},
    "algorithm-aware": {},
    "corruption": {},
    "membership": {},
}
MEMBER = "member"


def adult():
    rows = pl.read_csv(DATA / "adult" / "adult.csv", separator=";").sample(2 * ROWS, seed=1)
    columns = {
        name: {"role": "quasi", "hierarchy": str(DATA / "adult" / f"adult_hierarchy_{name}.csv")}
        for name in rows.columns
    }
    return rows, {**columns, "occupation": {"role": "sensitive"}}, "."


def census():
    base = shoal.Policy.read(SAMPLES / "census.toml")
    return sample("census", 2 * ROWS, 1), base.to_dict()["columns"], base.base


def asked(method, k, columns, base, *, learned=False):
    """Return the policy; with `learned`, one that judges an adversary who learns from the release."""
    if method in RANGES:
        columns = {**columns, "age": {"role": "quasi", "hierarchy": "none"}}
        method = RANGES[method]
    rule = "slicing" if method == "slicing" else "probabilistic"
    diverse = {"l": {rule: 3, **({"learned": 3} if learned else {})}}
    privacy = {"k": k, **diverse}
    more: dict = {}
    options: dict = {}
    if method in NOTIONS:
        privacy = {"k": k, "notion": NOTIONS[method], **(diverse if method == "ring" and not learned else {})}
    elif method in BUCKETS:
        privacy, options = diverse, {"k": k}
    elif method == "mpalm":
        privacy, more = {"presence": [0.0, 0.75]}, {"population": {"column": MEMBER}}
    elif method == "hybrid":
        privacy = {"k": k, "relocation": {"budget": 0.05}}
    if CLASSES.get(method):
        more = {"utility": CLASSES[method]}
    raw = {"columns": columns, "privacy": privacy, "method": {"name": method, **options}, **more}
    return shoal.Policy.from_dict(raw, base)


def results(method, k, rows, columns, base):
    """Yield each attack that applies, with its cell of the table."""
    rows = (
        rows.with_columns(pl.Series(MEMBER, [True, False] * ROWS)) if method == "mpalm" else rows.head(ROWS)
    )
    policy = asked(method, k, columns, base)
    made = shoal.anonymize(rows, policy, seed=1)
    for name, options in ATTACKS.items():
        judged = policy
        if name == "definetti" and method not in (*NOTIONS, "hybrid", "mpalm"):
            judged = asked(method, k, columns, base, learned=True)
        start = time.perf_counter()
        try:
            found = shoal.attack(made, judged, original=rows, name=name, options=options, seed=1)
        except DataError:
            continue
        seconds = time.perf_counter() - start
        risk = "–" if any("nobody is judged" in note for note in found.notes) else f"{found.at_risk:,}"
        yield name, f"{found.success:.1%} ({found.baseline:.1%}), {risk}, {seconds:.1f} s"


def main():
    cells: dict[tuple[str, str], dict] = {}
    for data, load in (("Adult", adult), ("census", census)):
        rows, columns, base = load()
        for method in METHODS:
            for k in SIZES:
                try:
                    for name, cell in results(method, k, rows, columns, base):
                        cells.setdefault((name, method), {})[data, k] = cell
                        print(data, method, k, name, cell, flush=True)
                except ShoalError as error:
                    print(data, method, k, error, flush=True)
    places = [(data, k) for data in ("Adult", "census") for k in SIZES]
    table = "| attack | method | " + " | ".join(f"{data}, k = {k}" for data, k in places) + " |\n"
    table += "| --- " * (2 + len(places)) + "|\n"
    for name in ATTACKS:
        for method in METHODS:
            if (own := cells.get((name, method))) is not None:
                shown = " | ".join(own.get(place, "") for place in places)
                kind, _, how = method.partition(", ")
                table += f"| `{name}` | `{kind}`{how and ', ' + how} | {shown} |\n"
    Path(__file__).with_suffix(".md").write_text(f"# Attacks and methods\n\n{table}", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + BEGIN + "\n" + table + "\n" + END + after, encoding="utf-8")


if __name__ == "__main__":
    main()
