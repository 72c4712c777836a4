"""Releases with a seed, as digests: a change of the code that should change no release is checked against them.

    python -m tests.golden write before.json      # in the old checkout
    python -m tests.golden compare before.json    # in the new one

Every method gets one table with policies that use each feature. Only the public interface is used, so that this file
fits both checkouts. A digest covers the rows in their order, the second table, the card, the codebook and the run
record; of a policy that is rejected, only the class of the error.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import polars as pl

import shoal
from shoal.methods import METHODS

ROWS = 240
QUASI: dict[str, Any] = {
    "age": {"role": "quasi", "hierarchy": {"widths": [5, 10, 20]}},
    "zip": {"role": "quasi", "hierarchy": {"mask": "right"}},
    "sex": {"role": "quasi"},
    "visited": {"role": "quasi", "hierarchy": {"dates": ["month", "year"]}},
}
PLAIN = dict.fromkeys(("patient", "address", "member"), "drop")
COLUMNS = {**QUASI, **PLAIN, "ill": "sensitive", "pay": "plain"}
SOME = {"suppression": 0.4}
FEATURES: dict[str, dict[str, Any]] = {
    "k": {},
    "rows suppressed": {"utility": {"suppression": 0.1}},
    "cells suppressed": {"utility": {"suppression": 0.1, "suppress": "cells"}},
    "uniform": {"utility": {"levels": "uniform", **SOME}},
    "l": {"privacy": {"l": {"distinct": 2, "probabilistic": 1.2}}, "utility": SOME},
    "t": {"privacy": {"t": {"equal": 0.5}}, "utility": SOME},
    "slicing": {"privacy": {"k": None, "l": {"slicing": 2}}},
    "risk": {"privacy": {"k": None, "risk": {"average": 0.2, "highest": 0.5}}, "utility": SOME},
    "people": {"columns": {"patient": "person"}, "utility": SOME},
    "followed": {"columns": {"patient": {"role": "person", "publish": "pseudonym"}}, "utility": {"suppression": 0.9}},
    "households": {"columns": {"patient": "person", "address": {"role": "person", "group": "household"}}},
    "earlier": {"privacy": {"l": {"distinct": 2}, "earlier": ["earlier.csv"]}, "utility": {"suppression": 0.9}},
    "presence": {
        "columns": {"member": None}, "privacy": {"k": None, "presence": [0.0, 0.9]},
        "population": {"column": "member"}, "utility": SOME,
    },
    "k-map": {"columns": {"member": None}, "privacy": {"k": None, "k_map": 3}, "population": {"column": "member"}},
    "population size": {"population": {"size": 100_000}},
    "notion": {"privacy": {"notion": "k-k"}},
    "global": {"privacy": {"notion": "global-1-k"}},
    "relocation": {"privacy": {"relocation": {"budget": 0.3}}},
    "sets": {"method": {"show": "sets"}},
    "bounds": {"columns": {"age": {**QUASI["age"], "show": "bounds"}}},
    "parts": {"engine": {"part_rows": 80, "jobs": 1}},
    "perturbed": {"columns": {"pay": {"role": "plain", "perturb": {"noise": 0.3}}}},
    "pseudonyms": {"columns": {"patient": {"role": "identifier", "publish": "pseudonym"}}},
    "weights": {"columns": {"pay": "weight"}},
    "limits": {"columns": {"age": {**QUASI["age"], "limit": 2}}, "utility": SOME},
    "purposes": {"utility": {"regression": "pay ~ age + sex", "predict": "ill"}},
}  # fmt: skip

_PRESENCE = {
    "privacy": {"k": None, "presence": [0.0, 0.9]},
    "population": {"column": "member"},
    "columns": {"member": None},
}
_BUCKETS = {"privacy": {"k": None, "l": {"slicing": 2}}}
_ROWS = {"privacy": {"notion": "k-1"}}
_FALSE_CELLS = {"privacy": {"relocation": {"budget": 0.3}}}
NEEDED: dict[str, dict[str, Any]] = {
    "full-domain": {"method": {"seconds": 60}},
    **dict.fromkeys(("nearest", "expansion"), _ROWS),
    "k-k": {"privacy": {"notion": "k-k"}},
    "global-1-k": {"privacy": {"notion": "global-1-k"}},
    "ring": {"privacy": {"notion": "probabilistic-k"}},
    **dict.fromkeys(("mpalm", "spalm", "permute-generalize"), _PRESENCE),
    **dict.fromkeys(("bucketization", "slice-columns", "slicing"), _BUCKETS),
    "anatomy": {"privacy": {"k": None, "l": 2}},
    "microaggregation": {"privacy": {"relocation": {"budget": 1.0}}},
    **dict.fromkeys(("hybrid", "hybrid-mondrian", "relocate"), _FALSE_CELLS),
}
"""Method -> what every policy with it has."""


def table() -> pl.DataFrame:
    """Return visits of people who live in households; each person has one sex, age and zip code."""
    random = Random("golden")
    people = [
        (random.randint(20, 79), f"{random.randint(10, 13)}{random.randint(0, 99):02}") for _ in range(110)
    ]
    rows = []
    for _ in range(ROWS):
        patient = random.randrange(len(people))
        age, zip_code = people[patient]
        rows.append(
            {
                "patient": f"P{patient}", "address": f"H{patient // 3}", "age": age, "zip": zip_code,
                "sex": "fm"[patient % 2], "visited": f"2025-{random.randint(1, 12):02}-{random.randint(1, 28):02}",
                "ill": random.choice(["flu", "flu", "asthma", "cold", "gout"]), "pay": random.randint(10, 99) * 100,
                "member": random.random() < 0.6,
            }
        )  # fmt: skip
    return pl.DataFrame(rows).with_columns(pl.col("visited").str.to_date())


def policy_of(method: str, feature: Mapping[str, Any]) -> dict[str, Any]:
    """Return a policy with one feature; None removes a key."""
    options = {"seconds": 0} if "seconds" in METHODS[method].__dataclass_fields__ else {}
    made: dict[str, Any] = {"columns": COLUMNS, "privacy": {"k": 3}, "method": {"name": method, **options}}
    for more in (NEEDED.get(method, {}), feature):
        for part, keys in more.items():
            made[part] = {**made.get(part, {}), **keys}
    return {part: {key: own for key, own in keys.items() if own is not None} for part, keys in made.items()}


def digests() -> Iterator[tuple[str, str]]:
    """Yield a name and a digest of each release, or the class of the error."""
    rows = table()
    with tempfile.TemporaryDirectory() as place:
        first = shoal.anonymize(rows, shoal.Policy.from_dict(policy_of("mondrian", FEATURES["l"])), seed=1)
        first.table.write_csv(Path(place, "earlier.csv"))
        for method in METHODS:
            for title, feature in FEATURES.items():
                yield f"{method}, {title}", _digest(rows, policy_of(method, feature), Path(place))


def _digest(rows: pl.DataFrame, policy: dict[str, Any], place: Path) -> str:
    try:
        result = shoal.anonymize(rows, shoal.Policy.from_dict(policy, place), seed=7)
    except shoal.ShoalError as error:
        return type(error).__name__
    rows = result.table.drop("patient", strict=False)  # its pseudonyms follow from no seed
    second = result.second.write_ndjson() if result.second is not None else ""
    record = {
        name: own
        for name, own in result.record.items()
        if name not in ("made", "versions") and not name.startswith("seconds")
    }
    documents = json.dumps([result.card, record], default=str, sort_keys=True)
    whole = "\n".join([str(rows.schema), rows.write_ndjson(), second, documents, str(result.codebook)])
    return hashlib.blake2b(whole.encode(), digest_size=12).hexdigest()


def main() -> int:
    """Write the digests, or compare with those that were written."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("what", choices=("write", "compare"))
    parser.add_argument("file", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    found = dict(digests())
    released = sum(" " not in own and not own.endswith("Error") for own in found.values())
    print(f"{len(found):,} policies, {released:,} releases")
    if asked.what == "write":
        asked.file.write_text(json.dumps(found, indent=1), encoding="utf-8")
        return 0
    before = json.loads(asked.file.read_text(encoding="utf-8"))
    different = [name for name in {**before, **found} if before.get(name) != found.get(name)]
    for name in different:
        print(f"{name}: {before.get(name)} -> {found.get(name)}")
    print(f"{len(found) - len(different):,} the same, {len(different):,} different")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())
