"""What is public depends on the published rows and the policy: no byte of it changes if a suppressed row, or a value
behind a generalized cell, is another one.

`tried` makes a release, and other originals that the same rows are a release of: a suppressed row is removed or
changed, a person moves within their cell, or two people of a bucket exchange values. `documents` makes all that is
public from one of these.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.documents.card import card_of
from shoal.documents.codebook.codebook_files import codebook_text
from shoal.documents.codebook.describe import codebook
from shoal.documents.report.build_report import public_page
from shoal.documents.report.report_parts import SignOff
from shoal.documents.report.subject import read_subject
from shoal.errors import ShoalError
from shoal.judging.read_case import Received, read_case
from shoal.methods import METHODS as ALL_METHODS
from shoal.release.record import card_markdown

TREE = {"tree": {"North": {"Oslo": {}, "Bergen": {}}, "South": {"Rome": {}, "Bari": {}, "Palermo": {}}}}
TOWNS = ["Oslo", "Bergen", "Rome", "Bari", "Palermo"]
AGES: list[Any] = ["auto", {"widths": [5, 10, 20]}, {"cuts": [[35, 60]]}]
METHODS: dict[str, dict[str, Any]] = {
    "mondrian": {},
    "full-domain": {},
    "agglomerative": {},
    "microaggregation": {"relocation": {"budget": 1.0}},
    "hybrid": {"relocation": {"budget": 0.2}},
    "k-k": {"adversary": ["knows-some"]},
    "ring": {"adversary": ["knows-members"]},
    "bucketization": {"l": 2},
    "anatomy": {"l": 2},
    "slicing": {"l": 2},
    "slice-columns": {"l": 2},
    "forest": {},
    "hilbert": {},
    "lexicographic": {},
    "incognito": {},
    "p-k": {"p": 2},
    "greedy-p-k": {"p": 2},
    "enhanced-p-k": {"p": 2},
    "nearest": {"notion": "k-1"},
    "expansion": {"notion": "k-1"},
    "global-1-k": {"notion": "global-1-k"},
    "hybrid-mondrian": {"relocation": {"budget": 0.2}},
    "relocate": {"relocation": {"budget": 0.2}},
}
PRESENCE = {"mpalm", "spalm", "permute-generalize"}
"""Methods for a population, which suppress nobody; `tests.fuzz.public_bytes` has them."""
MORE: list[dict[str, Any]] = [{}, {}, {"l": 2}, {"t": {"equal": 0.7}}, {"l": {"entropy": 1.5}}]


def table(draw: random.Random, rows: int) -> pl.DataFrame:
    """People of whom a few are far from the others, so that methods suppress these."""
    diseases = draw.choice((("flu", "hiv", "gout", "kuru"), ("flu", "flu", "hiv")))  # many have one, or not
    ages = [draw.choice((21, 22, 24, 33, 34, 37, 58, 61)) for _ in range(rows)]
    codes = [f"{draw.randint(10, 13)}{draw.choice('05')}" for _ in range(rows)]
    for far in draw.sample(range(rows), draw.randint(0, 2)):
        ages[far] = draw.choice((1, 12, 47, 83, 99, 104))
        codes[far] = draw.choice(("9", "77777"))
    return pl.DataFrame(
        {
            "name": [f"n{i}" for i in range(rows)],
            "block": ["n"] * (rows - 1) + ["r"],  # nobody is like the last one
            "age": ages,
            "town": [draw.choice(TOWNS) for _ in range(rows)],
            "code": codes,
            "disease": [draw.choice(diseases) for _ in range(rows)],
            "visits": [draw.randint(0, 9) for _ in range(rows)],
        }
    )


def policy_of(draw: random.Random, method: str) -> shoal.Policy:
    privacy = METHODS[method] | (draw.choice(MORE) if "l" not in METHODS[method] else {})
    # Two columns with a random hierarchy each, and sometimes a third that masks make levels of.
    quasi = draw.choice((["age", "town"], ["age", "code"], ["age", "town", "code"]))
    columns: dict[str, Any] = {name: {"role": "quasi"} for name in quasi}
    columns["age"] |= {"hierarchy": draw.choice(AGES)}
    if "town" in quasi:
        columns["town"] |= {"hierarchy": draw.choice(("auto", TREE))}
    columns |= {name: {"role": "plain"} for name in ("town", "code", "visits") if name not in quasi}
    columns |= {"disease": {"role": "sensitive"}, "name": {"role": "identifier"}}
    suppression = draw.choice((0.0, 0.2, 0.3))
    columns["block"] = {"role": "quasi", "limit": 0} if suppression else {"role": "identifier"}
    buckets = {"partitioner": "mondrian"} if method == "anatomy" and suppression else {}
    return shoal.Policy.from_dict(
        {
            "columns": columns,
            "privacy": ({} if "l" in METHODS[method] else {"k": draw.choice((2, 3))}) | privacy,
            "utility": {"suppression": suppression},
            "method": {"name": method, **buckets},
        }
    )


def others(
    draw: random.Random, rows: pl.DataFrame, suppressed: list[int], buckets: list[int] | None
) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield other originals: some of them do not fit the release, which `reading` finds out."""
    for _ in range(4 if buckets is not None else 0):
        one, other = draw.sample(range(len(rows)), 2)
        if buckets is not None and buckets[one] == buckets[other] and one not in suppressed:
            name = draw.choice(("disease", "disease", "age", "town", "code"))
            values = rows[name][one], rows[name][other]
            yield "exchanged", _with(_with(rows, one, {name: values[1]}), other, {name: values[0]})
    if suppressed:
        gone = draw.choice(suppressed)
        yield "removed", rows.with_row_index("at").filter(pl.col("at") != gone).drop("at")
        new = {
            "age": draw.choice((2, 33, 38, 99, 120)),
            "town": draw.choice(TOWNS),
            "code": draw.choice(("1", "105", "999999")),
            "disease": draw.choice(("flu", "hiv", "ebola")),
            "visits": draw.choice((0, 50)),
        }
        yield (
            "changed",
            _with(rows, gone, {name: new[name] for name in draw.sample(list(new), draw.randint(1, 5))}),
        )
    for _ in range(6):
        one = draw.randrange(len(rows))
        if one in suppressed:
            continue
        step = draw.choice((-3, -2, -1, 1, 2, 3))
        new = {
            "age": rows["age"][one] + step,
            "town": draw.choice(TOWNS),
            "code": draw.choice(rows["code"].to_list()),
        }
        name = draw.choice(("age", "age", "town", "code"))
        yield "moved", _with(rows, one, {name: new[name]})


def _with(rows: pl.DataFrame, at: int, values: dict[str, Any]) -> pl.DataFrame:
    return rows.with_columns(
        pl.Series(name, [value if i == at else old for i, old in enumerate(rows[name].to_list())])
        for name, value in values.items()
    )


def with_original(record: dict[str, Any], published: pl.DataFrame, original: pl.DataFrame) -> dict[str, Any]:
    """The record of a run with another original."""
    left_out = len(original) - len(published)
    return {**record, "input": {**record["input"], "rows": len(original)}, "suppressed": left_out}


def documents(
    published: pl.DataFrame, second: Any, policy: shoal.Policy, original: pl.DataFrame, record: dict[str, Any]
) -> dict[str, str]:
    """All that is public of a release, made with an original and the record that fits it."""
    own = with_original(record, published, original)
    subject = read_subject(Received(published, original=original, second=second, record=own), policy)
    card = card_of(subject, policy, original.columns, own, seed=own["seed"])
    page = public_page(subject, SignOff())
    book = codebook(published, policy, second=second)
    return {
        "card.json": json.dumps(card, indent=2),
        "card.md": card_markdown(card),
        "report.html": page,
        **{name: codebook_text(book, Path(name), None) for name in ("codebook.md", "codebook.json")},
    }


def reading(
    published: pl.DataFrame, second: Any, policy: shoal.Policy, original: pl.DataFrame, record: Any
) -> Any:
    """Return which requirements fail, where the rows are a release of an original; else None. Where nobody knows the
    owners of rows, some cannot be checked: they fail with every original.
    """
    own = with_original(record, published, original)
    try:
        case = read_case(Received(published, original=original, second=second, record=own), policy)
        true = all(verdict.holds for verdict in case.truthfulness.verdicts)
        return [verdict.model for verdict in case.failing] if true else None
    except ShoalError:
        return None


def tried(seed: int) -> dict[tuple[str, str], int]:
    """Make a release, and compare what is public of it with what would be with each other original."""
    draw = random.Random(seed)
    method = sorted(METHODS)[seed % len(METHODS)]
    rows, policy = table(draw, draw.randint(8, 24)), policy_of(draw, method)
    try:
        made = shoal.anonymize(rows, policy, seed=seed)
    except ShoalError:
        return {}
    record = {**json.loads(json.dumps(made.record)), "input": {"sha256": None, "rows": len(rows)}}
    published, second = made.table, made.second
    expected = documents(published, second, policy, rows, record)
    failing = reading(published, second, policy, rows, record)
    if not failing:  # what the run itself wrote, knowing the owner of each row, is the same
        assert json.loads(expected["card.json"]) == json.loads(json.dumps(made.card)), seed
        if seed < len(METHODS):
            assert shoal.report(made, policy, original=rows).html == expected["report.html"], seed
    suppressed = [i for i, region in enumerate(made.release.region_of.tolist()) if region < 0]
    found: dict[tuple[str, str], int] = {}
    layout = made.release.layout
    buckets = layout.bucket_of.tolist() if layout.in_buckets else None
    for how, other in others(draw, rows, suppressed, buckets):
        if (
            other.equals(rows)
            or failing is None
            or reading(published, second, policy, other, record) != failing
        ):
            continue
        got = documents(published, second, policy, other, record)
        for name, text in expected.items():
            assert got[name] == text, (seed, method, how, name)
        found[method, how] = found.get((method, how), 0) + 1
    return found


def test_every_method_is_tried() -> None:
    assert METHODS.keys() | PRESENCE == ALL_METHODS.keys()


@pytest.mark.parametrize("method", sorted(METHODS))
def test_no_public_byte_depends_on_a_suppressed_row_or_on_a_value_within_a_cell(method: str) -> None:
    at, found = sorted(METHODS).index(method), Counter[str]()
    for round_ in range(40):
        found.update({how: many for (_, how), many in tried(at + round_ * len(METHODS)).items()})
        within = found["moved"] + found["exchanged"]
        if found["changed"] and found["removed"] and within >= 2:
            break
    assert found["changed"]
    assert found["removed"]
    assert within >= 2
