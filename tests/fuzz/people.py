"""Random releases of people with several rows, of rows that can be followed and of households, as they were made and
changed at random: `python -m tests.fuzz.people`. Audits with the original, with the record, with both and without both
may differ only in what they could not check.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations
from random import Random
from typing import Any

import polars as pl

import shoal
from shoal.errors import ShoalError
from shoal.methods import METHODS
from shoal.policy import Policy
from tests.fuzz.said import Said, run

COUNTING = [name for name, kind in METHODS.items() if kind.can.count_people]
RULES: list[dict[str, Any]] = [
    {}, {"l": {"distinct": 2}}, {"l": {"probabilistic": 1.5}}, {"l": {"entropy": 1.5}}, {"l": {"recursive": (2.0, 2)}},
    {"t": {"equal": 0.4}}, {"t": {"ordered": 0.3}}, {"alpha": 0.7}, {"p": 2}, {"ke": (2, 1.0)}, {"k_map": 3},
    {"beta": {"basic": 1.0}}, {"beta": {"enhanced": 2.0}}, {"delta": {"strict": 2.0}}, {"delta": {"present": 2.0}},
    {"risk": {"highest": 0.5}}, {"risk": {"average": 0.4}}, {"risk": {"share": 0.25, "above": 0.4}},
]  # fmt: skip
OF_WHOLE = ("closeness", "likeness", "disclosure")
"""Words in the titles of models that compare classes with the whole table."""
REFUTED = {"truthful", "suppression"}
MIXED = "rows with one pseudonym belong to several people"


def table(random: Random) -> pl.DataFrame:
    """Return up to 12 people with up to four rows each."""
    rows = []
    for person in range(random.randint(3, 12)):
        home, house = random.randint(0, 3), random.randint(0, 4)
        for _ in range(random.choice([1, 1, 1, 2, 2, 3, 4])):
            place = home if random.random() < 0.75 else random.randint(0, 3)
            seen = random.randint(20, 26), random.randint(1, 4), random.choice("xy")
            rows.append((f"p{person}", f"h{house}", f"0213{place}", *seen))
    random.shuffle(rows)
    names = ["person", "house", "zip", "age", "ill", "note"]
    return pl.DataFrame(rows, schema=names, orient="row").with_row_index("row")


def policy(random: Random, rows: int) -> dict[str, Any]:
    """Return a policy for such a table, as tables."""
    privacy: dict[str, Any] = {}
    for _ in range(random.choice([1, 1, 2])):
        privacy |= random.choice(RULES)
    if random.random() < 0.8 or not privacy:
        privacy["k"] = random.choice([2, 2, 3])
    # Households are counted only where rows cannot be followed.
    kind = random.choice(["rows", "followed", "followed", "households"])
    columns: dict[str, Any] = {
        "person": {"role": "person", **({"publish": "pseudonym"} if kind == "followed" else {})},
        "zip": {"role": "quasi", "hierarchy": random.choice(["auto", {"mask": "right"}])},
        "age": {"role": "quasi", "hierarchy": random.choice(["none", {"widths": [2, 4]}])},
        "ill": {"role": "sensitive"},
        "note": {"role": random.choice(["plain", "sensitive", "drop"])},
        "row": {"role": random.choice(["plain", "drop"])},
        "house": {"role": "person", "group": "household"} if kind == "households" else {"role": "drop"},
    }
    return {
        "columns": columns,
        "privacy": privacy,
        "method": {"name": random.choice(COUNTING)},
        "utility": {"suppression": random.choice([0, 0, 0.1, 0.3, 0.5])},
        **({"population": {"size": 3 * rows}} if "k_map" in privacy else {}),
    }


def changed(random: Random, release: pl.DataFrame) -> pl.DataFrame:
    """Change a release as an accident or a liar might: rows, cells, values and pseudonyms."""
    rows, quasi = release.to_dicts(), ("zip", "age")
    one, other = random.choice(rows), random.choice(rows)
    way = random.choice(["row", "person", "value", "cells", "exchange", "merge", "twice", "values"])
    if way == "row":
        rows.remove(one)
    elif way == "person" and "person" in one:
        rows = [row for row in rows if row["person"] != one["person"]]
    elif way == "value":
        one["ill"] = random.randint(1, 4)
    elif way == "cells":
        one |= {name: other[name] for name in quasi}
    elif way == "exchange" and "person" in one:
        one["person"], other["person"] = other["person"], one["person"]
    elif way == "merge" and "person" in one:
        one["person"] = other["person"]
    elif way == "twice":
        one |= other
    elif way == "values":
        values = random.sample([row["ill"] for row in rows], len(rows))
        for row, value in zip(rows, values, strict=True):
            row["ill"] = value
    return pl.DataFrame(rows, schema=release.schema) if rows else release.clear()


def tried(seed: int, number: int) -> Said:
    """Make a release, change it twice, and compare what audits say about all three."""
    random, out = Random(f"{seed}/{number}"), Said()
    data = table(random)
    try:
        asked = Policy.from_dict(policy(random, len(data)))
        made = shoal.anonymize(data, asked, seed=number)
    except ShoalError:
        out.said["refused"] += 1
        return out
    out.said["releases"] += 1
    out.said["releases that can be followed"] += bool(asked.pseudonyms)
    out.said["releases with households"] += bool(asked.groups)
    for rows in (made.table, *(changed(random, made.table) for _ in range(2 if len(made.table) else 0))):
        found = {}
        for name, more in _known(data, made.record).items():
            try:
                found[name] = shoal.audit(rows, asked, **more)
            except ShoalError as error:
                if rows is made.table:
                    out.problems.append(f"audit with {name}: refused, {error}")
        out.said["audits"] += len(found)
        own = {"the process that made it": made} if rows is made.table else {}
        out.problems += _contradictions({**own, **found}, out.said)
        if rows is made.table:
            bad = [
                (name, one.model) for name, own in found.items() for one in own.verdicts if one.holds is False
            ]
            out.problems += [f"audit with {name}: {model} is violated" for name, model in bad]
    return out


def _known(data: pl.DataFrame, record: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what an auditor may have."""
    original, told = {"original": data}, {"record": record}
    return {"both": original | told, "the original": original, "the record": told, "neither": {}}


def _contradictions(found: Mapping[str, Any], said: Counter[str]) -> Iterator[str]:
    """Say which requirements hold for one auditor and are violated for another."""
    verdicts = {name: {one.model: one for one in audit.verdicts} for name, audit in found.items()}
    refuted = any(
        (one.model in REFUTED and one.holds is False) or MIXED in one.detail
        for own in verdicts.values()
        for one in own.values()
    )
    for (name, own), (other, theirs) in combinations(verdicts.items(), 2):
        for model in own.keys() & theirs.keys():
            if {own[model].holds, theirs[model].holds} != {True, False}:
                continue
            if refuted and any(word in model for word in OF_WHOLE):
                # Whether values are those of the original, and none is missing, cannot be seen without it; and with
                # the original only, nobody sees that pseudonyms were exchanged.
                said["compared with values that the original refutes"] += 1
                continue
            words = (
                f"with {who} {one.holds}, {one.reached}"
                for who, one in ((name, own[model]), (other, theirs[model]))
            )
            yield f"{model}: {'; '.join(words)}"


if __name__ == "__main__":
    sys.exit(run("tests.fuzz.people", __doc__, 8000, lambda seed, number, _: tried(seed, number)))
