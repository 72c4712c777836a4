"""Random series of releases of the same people, intersected by definition: `python -m tests.fuzz.series`.

Each release is made, audited with its record, with its original only and without both. What they say about
intersecting the releases is compared with `tests.oracles.outsider_over_time`, which enumerates and imports nothing of
the package.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import polars as pl

import shoal
from shoal.errors import InfeasibleError, LimitError, PolicyError, ShoalError
from shoal.methods import METHODS
from shoal.policy import Policy
from tests.fuzz.said import Said, run
from tests.oracles import outsider_over_time as over_time
from tests.oracles.outsider_over_time import Row, Shown

HEEDING = [name for name, kind in METHODS.items() if kind.can.keep_earlier]
QUASI = {"zip": ["11", "12", "21", "22"], "age": ["31", "32", "41"]}
TREES = {
    "zip": {"tree": {"1*": ["11", "12"], "2*": ["21", "22"]}},
    "age": {"tree": {"3*": ["31", "32"], "4*": ["41"]}},
}
VERDICT = "people exposed by intersecting earlier releases"


@dataclass(frozen=True)
class Series:
    """Tables of the same people, and what is asked of their releases."""

    months: list[list[Row]]
    named: bool
    """A column names people, and they may have several rows."""
    adversary: str
    k: int
    needed: int
    method: str
    share: float
    """How many rows may be suppressed."""
    carelessly: bool
    """The last release is made without a look at the earlier ones."""


def series(seed: int, number: int) -> Series:
    """Return the series of this number: the same for the same seed."""
    random = Random(f"{seed}/{number}")
    named = random.random() < 0.7
    many = random.choice([1, 1, 2, 3]) if named else 1
    people = {
        f"p{at}": {name: random.choice(own) for name, own in QUASI.items()}
        for at in range(random.randint(4, 8))
    }
    ill = {who: random.choice("wxyz") for who in people}
    moves, changes = random.choice([0, 0.2]), random.choice([0, 0, 0.3])
    months = []
    for _ in range(random.choice([2, 2, 3])):
        rows = []
        for who, home in people.items():
            for _ in range(random.randint(1, many) if random.random() < 0.85 else 0):
                known = tuple(
                    random.choice(QUASI[name]) if random.random() < moves else value
                    for name, value in home.items()
                )
                value = random.choice("wxyz") if random.random() < changes else ill[who]
                rows.append(Row(who, known, (value, "d")))
        random.shuffle(rows)
        months.append(rows)
    return Series(
        months,
        named,
        random.choice(["some", "members"]),
        random.choice([2, 2, 3]),
        random.choice([1, 2, 2]),
        random.choice(HEEDING),
        random.choice([0, 0.3, 0.5]),
        random.random() < 0.4,
    )


def frame(rows: Sequence[Row]) -> pl.DataFrame:
    """Return an original as a table."""
    names = ("who", "zip", "age", "ill", "drug")
    cells = [(row.person, *row.known, *row.values) for row in rows]
    return pl.DataFrame(cells, schema=dict.fromkeys(names, pl.String), orient="row").with_row_index("row")


def shown(table: pl.DataFrame) -> list[Shown]:
    """Return the rows of a release; a plain column says which rows of the original they are."""
    return [
        Shown(
            tuple(tuple(own) if isinstance(own, list) else own for own in (row["zip"], row["age"])),
            (row["ill"], row["drug"]),
            row["row"],
        )
        for row in table.iter_rows(named=True)
    ]


def exposed(own: Series, releases: Sequence[Sequence[Shown]]) -> tuple[int, int]:
    """Count the people of the last release to whom all releases together leave too little, by enumeration: as far as
    the files say who they are, and in truth, of those whose quasi-identifiers stayed the same.
    """
    months = own.months[: len(releases)]
    truth = over_time.by_people(months, releases)
    found = truth if own.named else over_time.by_rows(months[-1], releases, owned=True)
    known = {(row.person, row.known) for rows in months for row in rows}
    moved = {who for who, many in Counter(who for who, _ in known).items() if many > 1}

    def safe(left: over_time.Left) -> bool:
        candidates = left.candidates if own.adversary == "some" else min(left.candidates, left.crowd)
        return candidates >= own.k and left.values[0] >= own.needed

    bad = [{who for who, lefts in some.items() if not all(map(safe, lefts))} for some in (found, truth)]
    return len(bad[0]), len(bad[1] - moved)


def tried(own: Series, place: Path) -> Said:
    """Make all releases of a series, audit each that has earlier ones, and compare."""
    out, releases = Said(), []
    earlier: list[Any] = []
    for at, rows in enumerate(own.months):
        data = frame(rows)
        asked: dict[str, Any] = {
            "quasi": list(QUASI), "sensitive": ["ill", "drug"], "plain": ["row"], "hierarchies": TREES, "k": own.k,
            "suppression": own.share, "method": own.method, "base": place,
            **({"person": ["who"]} if own.named else {"drop": ["who"]}),
            **({"l": {"ill": {"distinct": own.needed}}} if own.needed > 1 else {}),
        }  # fmt: skip
        whole = {**asked, "earlier": list(earlier), "earlier_adversary": own.adversary} if earlier else asked
        careless = own.carelessly and at == len(own.months) - 1 and bool(earlier)
        try:
            made = shoal.anonymize(data, Policy.from_keywords(**(asked if careless else whole)), seed=at)
        except (InfeasibleError, LimitError, PolicyError):
            out.said["refused"] += 1
            return out
        except ShoalError as error:
            # An earlier release that breaks the policy by itself, or of which nobody can tell whose its rows are.
            out.said[f"refused: {str(error).partition(':')[2][:60]}"] += 1
            return out
        releases.append(shown(made.table))
        if earlier:
            by_hand = exposed(own, releases)
            out.said["releases with earlier ones"] += 1
            out.said["releases that expose somebody"] += by_hand != (0, 0)
            policy = Policy.from_keywords(**whole)
            out.problems += _compared(own, made, policy, data, by_hand, out.said, careless=careless)
        names = {
            "release": f"release{at}.parquet",
            "original": f"table{at}.parquet",
            "record": f"record{at}.json",
        }
        made.table.write_parquet(place / names["release"])
        data.write_parquet(place / names["original"])
        (place / names["record"]).write_text(json.dumps(made.record))
        earlier.append(names if own.named else names["release"])
    return out


def _compared(
    own: Series,
    made: Any,
    policy: Policy,
    data: pl.DataFrame,
    counts: tuple[int, int],
    said: Counter[str],
    *,
    careless: bool,
) -> Iterator[str]:
    """Say where verdicts differ from enumeration."""
    by_hand, in_truth = counts
    audits: dict[str, dict[str, Any]] = {
        "record": {"original": data, "record": made.record},
        "original": {"original": data},
        "neither": {},
    }
    if not careless:
        found = [one for one in made.verdicts if one.model.startswith(VERDICT)]
        if [(one.reached, one.holds) for one in found] != [(by_hand, True)] or by_hand or in_truth:
            yield f"released although {by_hand} are exposed, in truth {in_truth}: {found}"
    for name, more in audits.items():
        try:
            judged = shoal.audit(made.table, policy, **more)
        except ShoalError as error:
            if "nobody of the table can be in it" in str(error):  # It may be of another table.
                said["refused: nobody is in both"] += 1
            else:
                yield f"audit with {name}: refused, {error}"
            continue
        (verdict,) = (one for one in judged.verdicts if one.model.startswith(VERDICT))
        said[f"audit with {name}: {verdict.holds}"] += 1
        told = name == "record" and "owners" in made.record
        if verdict.holds and in_truth:
            yield f"audit with {name}: nobody is exposed, in truth {in_truth}"
        elif told and verdict.holds is None and (own.named or own.adversary == "some"):
            yield f"audit with {name}: {verdict.detail}"
        elif verdict.holds is not None and (
            verdict.holds != (by_hand == 0) or (told and verdict.reached != by_hand)
        ):
            yield f"audit with {name}: {verdict.reached} exposed, by hand {by_hand}"
        elif name == "neither" and verdict.holds is not None:
            yield "an audit without the original knows who is in the earlier releases"


if __name__ == "__main__":
    sys.exit(
        run(
            "tests.fuzz.series", __doc__, 3000, lambda seed, number, place: tried(series(seed, number), place)
        )
    )
