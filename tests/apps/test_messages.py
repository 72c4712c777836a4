"""Messages end in logs, tickets and mails: they never show rows of the data.

A message may show single values of one column, if a user has to correct them: values that a hierarchy lacks or cannot
read, nodes of a hierarchy, nodes that edges of a network name, and values of a release that its original does not have.
`SHOWN` lists these messages. It may also repeat names that the user gave, such as those of columns and files.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import sqlite3
from collections.abc import Iterator
from typing import Any

import pandas as pd
import polars as pl
import pytest

import shoal
from shoal.errors import PolicyError, ShoalError
from shoal.policy import Policy

MARK = "M7Q"
ROWS = pl.DataFrame({"c": [MARK] * 3, "d": [MARK] * 3})
PEOPLE = pl.DataFrame(
    {
        "age": [20 + number % 4 for number in range(20)],
        "zip": [f"{10000 + number % 3}" for number in range(20)],
        "ill": [MARK if number % 2 else "flu" for number in range(20)],
        "name": [f"{MARK}{number}" for number in range(20)],
    }
)
ROLES: dict[str, Any] = {
    "quasi": ["age", "zip"], "sensitive": ["ill"], "identifier": ["name"], "k": 2,
}  # fmt: skip
TABLES = {
    "polars": ROWS, "lazy": ROWS.lazy(), "pandas": ROWS.to_pandas(), "arrow": ROWS.to_arrow(),
    "in a list": [ROWS], "in a table": {"x": ROWS}, "as a release": [{"release": ROWS, "original": ROWS}],
}  # fmt: skip
COLUMNS = {
    "series": ROWS["c"], "pandas series": ROWS.to_pandas()["c"], "array": ROWS.to_numpy(),
    "records": ROWS.to_dicts(), "long list": [MARK] * 20, "in a table": {"age": ROWS["c"]},
}  # fmt: skip
SEVERAL = {
    *("quasi", "sensitive", "identifier", "person", "plain", "drop", "survey_weight", "groups", "limits"),
    *("adversary", "earlier", "lasting"),
}
"""Keywords that take a list of names: each name is the user's own word, and a wrong one is repeated."""
KEYWORDS = sorted({
    *(name for name, one in inspect.signature(Policy.from_keywords).parameters.items() if one.kind is one.KEYWORD_ONLY),
    *Policy.from_keywords(quasi=["a"], k=2).privacy.__class__.model_fields,
})  # fmt: skip


def words_of(error: BaseException | None) -> Iterator[str]:
    """Every text that a log shows of an error: its own, and those of the errors that led to it."""
    while error is not None:
        yield from (str(error), repr(error))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


@contextlib.contextmanager
def silent_about(mark: str) -> Iterator[list[str]]:
    said: list[str] = []
    try:
        yield said
    except Exception as error:
        said += words_of(error)
    assert not [text for text in said if mark in text], said


@pytest.mark.parametrize("keyword", KEYWORDS)
def test_no_keyword_of_a_policy_shows_a_table_or_a_column(keyword):
    given = TABLES | ({} if keyword in SEVERAL else COLUMNS)
    for kind, value in given.items():
        with silent_about(MARK) as said:
            Policy.from_keywords(**{"quasi": ["age"], "sensitive": ["ill"], "k": 2, keyword: value})
        assert kind or said


@pytest.mark.parametrize(
    ("function", "argument"),
    [
        *(("anonymize", name) for name in ("seed", "policy", "population")),
        *(("audit", name) for name in ("original", "record", "second", "suppressed_as")),
        *(("attack", name) for name in ("seed", "original", "record", "earlier")),
        *(("report", name) for name in ("edition", "original", "record", "comparison", "owner")),
        *(("explain", name) for name in ("seed", "seconds")),
        *(
            ("suggest", "data"),
            ("codebook", "second"),
            ("anonymize_network", "seed"),
            *(
                ("audit_synthetic", name)
                for name in (
                    "holdout",
                    "columns",
                    "categories",
                    "sensitive",
                    "link_columns",
                    "regression",
                    "workload",
                )
            ),
            *(("audit_synthetic", name) for name in ("predict", "targets", "limit", "seed")),
            ("check_evidence", "original"),
        ),
    ],
)
def test_no_argument_of_a_function_is_shown(function, argument):
    policy = Policy.from_keywords(**ROLES)
    called = getattr(shoal, function)
    first = {
        "suggest": {"source": PEOPLE}, "anonymize_network": {"nodes": PEOPLE, "edges": PEOPLE, "policy": policy},
        "check_evidence": {"pack": "nowhere"}, "audit_synthetic": {"synthetic": PEOPLE, "original": PEOPLE},
    }.get(function, {"source": PEOPLE, "policy": policy})  # fmt: skip
    if function in ("audit", "attack", "report"):
        first["original"] = PEOPLE
    for value in (TABLES | (COLUMNS if argument != "earlier" else {})).values():
        with silent_about(MARK):
            called(**{**first, argument: value})


def test_an_earlier_release_as_a_frame_is_named_by_its_type():
    """What a user asks for in good faith."""
    for given in (
        PEOPLE,
        [PEOPLE],
        [{"release": PEOPLE}],
        [{"release": "r.csv", "original": PEOPLE.to_pandas()}],
    ):
        with pytest.raises(
            PolicyError, match=r"is a (polars|pandas)\.DataFrame: a policy contains names"
        ) as told:
            shoal.anonymize(PEOPLE, **ROLES, earlier=given)
        assert MARK not in str(told.value)
        assert "flu" not in str(told.value)


def stored(tmp_path) -> shoal.DatabaseTable:
    with contextlib.closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        connection.execute("CREATE TABLE t (age, zip, ill, name)")
        connection.executemany(
            "INSERT INTO t VALUES (?, ?, ?, ?)", [*PEOPLE.rows(), (MARK.encode(), 1, 2, 3)]
        )
        connection.commit()
    return shoal.DatabaseTable(f"sqlite:///{tmp_path}/t.db", "t")


class Odd:
    """A value that no format has."""

    def __repr__(self) -> str:
        return MARK


HEADER = "age,zip,ill,name\n"
LINES = PEOPLE.write_csv(include_header=False)
FILES = {
    "too many cells.csv": HEADER + LINES + f"1,2,3,4,{MARK}\n",
    "too few cells.csv": HEADER + LINES + f"{MARK}\n",
    "open quote.csv": HEADER + LINES + f'1,2,"{MARK},4\n',
    "quote inside.csv": HEADER + LINES + f'1,2,"{MARK}"x,4\n',
    "no header.csv": LINES,
    "not json.jsonl": json.dumps({"age": 1, "ill": MARK}) + "\n{" + MARK + "\n",
    "mixed.jsonl": json.dumps({"age": 1, "ill": MARK})
    + "\n"
    + json.dumps({"age": MARK, "ill": [MARK]})
    + "\n",
    "damaged.parquet": "PAR1" + MARK * 50 + "PAR1",
    "damaged.xlsx": MARK * 50,
    "damaged.arrow": MARK * 50,
    "damaged.sav": "$FL2" + MARK * 500,
    "damaged.dta": MARK * 500,
}


@pytest.mark.parametrize("name", FILES)
def test_no_file_that_cannot_be_read_is_shown(name, tmp_path):
    (tmp_path / name).write_text(FILES[name])
    with pytest.raises(ShoalError) as told:
        shoal.anonymize(tmp_path / name, **ROLES)
    assert not [text for text in words_of(told.value) if MARK in text]


FRAMES = {
    "mixed": pd.DataFrame(PEOPLE.to_dict(as_series=False) | {"age": [MARK, 1] * 10}),
    "odd": pd.DataFrame(PEOPLE.to_dict(as_series=False) | {"age": [Odd()] * 20}),
    "objects": PEOPLE.with_columns(pl.Series("age", [Odd()] * 20, dtype=pl.Object)),
    "records": PEOPLE.with_columns(pl.struct("ill").alias("age")),
    "lists": PEOPLE.with_columns(pl.concat_list("ill").alias("age")),
}
POLICIES: dict[str, dict[str, Any]] = {
    "too large k": {"k": 100},
    "l": {"l": 3},
    "alpha": {"alpha": 0.1},
    "dates": {"reading": {"ill": {"dates": {"format": "%d.%m.%Y"}}}},
    "unit": {"reading": {"ill": {"unit": "EUR"}}},
    "weight": {"identifier": [], "survey_weight": ["name"]},
    "population": {"identifier": [], "population": {"column": "name"}},
    "perturbed": {"sensitive": [], "plain": ["ill"], "reading": {"ill": {"perturb": {"noise": 0.1}}}},
    "method": {"method": "anatomy", "l": 2},
}


@pytest.mark.parametrize("case", [*FRAMES, *POLICIES, "database"])
def test_no_table_that_does_not_fit_is_shown(case, tmp_path):
    source = stored(tmp_path) if case == "database" else FRAMES.get(case, PEOPLE)
    with pytest.raises(ShoalError) as told:
        shoal.anonymize(source, **{**ROLES, **POLICIES.get(case, {})})
    assert not [text for text in words_of(told.value) if MARK in text]


@pytest.mark.parametrize("ending", ["sav", "dta", "xlsx"])
def test_no_value_that_a_format_cannot_hold_is_shown(ending, tmp_path):
    from shoal.pipeline.anonymize import anonymize_file

    PEOPLE.with_columns(pl.lit(MARK * 20_000).alias("note")).write_parquet(tmp_path / "p.parquet")
    with pytest.raises(ShoalError) as told:
        anonymize_file(
            tmp_path / "p.parquet", Policy.from_keywords(**ROLES, plain=["note"]), tmp_path / f"r.{ending}"
        )
    assert not [text for text in words_of(told.value) if MARK in text]


SHOWN: dict[str, tuple[dict[str, Any], str]] = {
    "a value that a tree lacks": (
        {"hierarchies": {"ill": {"tree": {"x": ["flu"]}}}},
        "1 value of the data is missing",
    ),
    "text among numbers": ({"hierarchies": {"ill": {"widths": [2]}}}, "2 values of the column are text"),
    "text among dates": (
        {"hierarchies": {"ill": {"dates": ["year"]}}},
        "2 values of the column are not ISO dates",
    ),
    "a node that does not exist": ({"limits": {"ill": ["nope"]}}, "no node is called 'nope'"),
}


@pytest.mark.parametrize("case", SHOWN)
def test_values_that_a_user_has_to_correct_are_shown_for_one_column(case):
    given, expected = SHOWN[case]
    roles = {"quasi": ["ill"], "identifier": ["name"], "drop": ["age", "zip"], "k": 2}
    with pytest.raises(ShoalError, match=expected) as told:
        shoal.anonymize(PEOPLE, **roles, **given)
    assert f"'{MARK}'" in str(told.value) or f" {MARK}," in str(told.value)
    assert f"{MARK}1" not in str(told.value)  # of another column


def test_results_show_no_value_in_notebooks_and_logs():
    found = shoal.anonymize(PEOPLE, **ROLES)
    for one in (
        found,
        shoal.audit(found.table, original=PEOPLE, **ROLES),
        shoal.assess(PEOPLE, **ROLES),
        shoal.attack(found.table, original=PEOPLE, **ROLES),
        shoal.codebook(found.table, **ROLES),
        shoal.explain(PEOPLE, **ROLES),
        shoal.suggest(PEOPLE),
    ):
        html = one._repr_html_() if hasattr(one, "_repr_html_") else ""
        assert MARK not in f"{one!r} {one!s} {html}", type(one)
