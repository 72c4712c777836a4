"""Large tables in parts: releases of parts are together a release of the table, whatever becomes of their processes."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.apps.samples import sample
from shoal.coding import CodedTable
from shoal.coding.roles import QUASI, SENSITIVE
from shoal.errors import InfeasibleError, LimitError, PolicyError, ShoalBug, ShoalError
from shoal.judging.models import MODELS
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.requirements import Requirements
from shoal.methods import METHODS
from shoal.methods.clustering.agglomerative import Agglomerative
from shoal.methods.clustering.forest import Forest
from shoal.methods.method import Method, Parts
from shoal.methods.parts import on_parts as dividing
from shoal.methods.parts.boxes import part_size, parts_of, shares_of
from shoal.methods.parts.join_parts import join_releases
from shoal.methods.parts.on_parts import release_in_parts
from shoal.release import closures
from shoal.support.run import Division, Run
from tests.fuzz.cases import case
from tests.fuzz.trial import tried
from tests.inputs.strategies import tables

CLAIMING = [name for name, kind in METHODS.items() if isinstance(kind.parts, Parts)]
BY_CLASSES = [name for name in CLAIMING if not METHODS[name].shows.notions]
MORE = {
    "distinct-l": {"l": 2},
    "entropy-l": {"l": 1.5},
    "t-equal": {"t": 0.4},
    "t-ordered": {"t": 0.4},
    "beta-likeness": {"beta": 2.0},
}


def asked(k=2, *models, **more):
    return Requirements(models=(KAnonymity(k=k), *models), **more)


def in_parts(method, table, requirements, rows, jobs=1, seed=1, progress=None):
    run = Run.start(seed, progress or (lambda *_: None), Division(part_rows=rows, jobs=jobs))
    return release_in_parts(method, table, requirements, run)


def census(rows):
    from benchmarks.data import census as made

    return made(rows)


STARTED: set[int] = set()
"""Processes that other tests have started, such as a database server."""


@pytest.fixture(autouse=True)
def only_own_processes():
    STARTED.clear()
    STARTED.update(children())


def children():
    """The processes that a test has started and not yet seen the end of."""
    found = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended since it was listed
            found.update(map(int, (task / "children").read_text().split()))
    return found - STARTED


# --- what methods say about parts -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", METHODS)
def test_every_method_says_how_it_works_on_parts_or_why_not(name):
    how = METHODS[name]().divides
    if isinstance(how, str):
        assert len(how) > 20
    else:
        assert how.why
        assert how.whole is None or how.whole >= how.rows > 1000


def test_parts_are_refused_with_the_reason_before_anything_is_read():
    asks = {"quasi": ["a"], "k": 2, "engine": {"part_rows": 100}}
    with pytest.raises(
        PolicyError, match=r"engine.part_rows: full-domain cannot work on parts: each column has one"
    ):
        shoal.anonymize("nowhere.csv", method="full-domain", **asks)
    with pytest.raises(PolicyError, match="lower bound is about the whole table"):
        shoal.anonymize("nowhere.csv", method={"name": "agglomerative", "bound": True}, **asks)


def test_methods_that_build_on_another_one_let_it_work_on_parts(monkeypatch):
    made = []
    monkeypatch.setattr(dividing, "join_releases", lambda *given: made.append(1) or join_releases(*given))
    table = sample("census", 300).select("age", "education", "salary")
    asks = {"quasi": ["age", "education"], "sensitive": ["salary"], "l": 2, "seed": 1}
    method = {"name": "slicing", "partitioner": "forest"}
    shoal.anonymize(table, **asks, method=method)
    assert not made
    result = shoal.anonymize(table, **asks, method=method, engine={"part_rows": 60, "jobs": 1})
    assert made
    assert result.buckets > 5
    with pytest.raises(PolicyError, match="mondrian cannot work on parts"):
        shoal.anonymize(table, **asks, method="slicing", engine={"part_rows": 60})


def test_auto_divides_for_the_methods_that_can():
    table = sample("census", 300).select("age", "education")
    method = {"name": "auto", "methods": ["forest", "mondrian"]}
    result = shoal.anonymize(
        table, quasi=["age", "education"], k=3, method=method, seed=1, engine={"part_rows": 60, "jobs": 1}
    )
    assert result.holds


def test_small_tables_stay_whole_unless_the_policy_says_so():
    table = sample("census", 400).select("age", "education", "gender")
    asks = {"quasi": ["age", "education", "gender"], "k": 3, "method": "forest", "seed": 1}
    whole, same = shoal.anonymize(table, **asks), shoal.anonymize(table, **asks, engine={"part_rows": 0})
    parts = shoal.anonymize(table, **asks, engine={"part_rows": 100, "jobs": 1})
    assert "parts" not in whole.release.facts
    assert whole.table.equals(same.table)
    assert parts.release.facts["parts"] > 3
    assert parts.release.facts["largest_part"] <= 100
    assert [note for note in parts.notes if "the table was divided into" in note]
    assert not [note for note in whole.notes if "divided" in note]


@given(st.integers(1, 10**8), st.sampled_from([None, 0, 1, 5000, 10**9]))
def test_a_part_has_at_most_as_many_rows_as_asked(rows, asked_rows):
    class Sized:
        indivisible = ""
        counting = SimpleNamespace(whole=None)

    table = Sized()
    table.rows = rows
    size = part_size(Forest(), table, Division(part_rows=asked_rows, jobs=1))
    if asked_rows == 0 or (asked_rows is None and rows <= Forest.parts.whole):
        assert size == rows
    else:
        assert 1 <= size <= min(rows, asked_rows or Forest.parts.rows)
    assert part_size(METHODS["mondrian"](), table, Division(part_rows=asked_rows)) == rows


# --- soundness --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BY_CLASSES)
@given(
    table=tables(rows=st.integers(4, 40)),
    k=st.integers(2, 3),
    rows=st.integers(2, 15),
    model=st.sampled_from([None, *MORE]),
    suppression=st.sampled_from([0.0, 0.3]),
)
@settings(max_examples=40)
def test_every_class_of_every_part_satisfies_the_models_of_the_whole(
    name, table, k, rows, model, suppression
):
    more = [] if model is None else [MODELS[model](column=0, column_name="s0", **MORE[model])]
    wanted = asked(k, *more, suppression=suppression)
    try:
        made = in_parts(METHODS[name](), table, wanted, rows)
    except (InfeasibleError, LimitError):
        assert not wanted.holds_in(table.blocks).all()
        return
    kept = made.region_of >= 0
    assert (~kept).sum() <= wanted.suppressible(table.rows)
    numbers = np.unique(made.region_of[kept], return_inverse=True)[1].astype(np.int32)
    group_of = np.full(table.rows, -1, np.int32)
    group_of[kept] = numbers
    # Of the whole table: a part would compare with its own distribution.
    assert wanted.holds_in(table.group_rows(group_of, int(numbers.max()) + 1)).all()
    for j in range(0 if METHODS[name].false_cells.how else len(table.attributes)):
        codes = table.quasi.wide[kept, j]
        assert (made.low[made.region_of[kept], j] <= codes).all()
        assert (codes <= made.high[made.region_of[kept], j]).all()


@pytest.mark.parametrize("name", CLAIMING)
def test_the_independent_checker_finds_nothing_in_releases_made_of_parts(
    name, tmp_path, monkeypatch, request
):
    made = []
    monkeypatch.setattr(dividing, "join_releases", lambda *given: made.append(1) or join_releases(*given))
    at = list(METHODS).index(name)
    tries = 30 if request.config.getoption("--thorough") else 10
    released = 0
    for turn in range(tries):
        drawn = case(7, at + turn * len(METHODS))
        assert drawn.method["name"] == name
        if isinstance(METHODS[name](**{o: v for o, v in drawn.method.items() if o != "name"}).divides, str):
            continue
        drawn = replace(drawn, part_rows=2 + turn % 9)
        outcome = tried(drawn, tmp_path)
        assert outcome.problems == [], (drawn.policy, drawn.frame)
        released += outcome.status == "released"
    assert released
    assert made


def test_t_closeness_compares_with_the_whole_table():
    """In each half every row is close to its half, and none to the whole."""
    table = tables_of_two_halves()
    model = MODELS["t-equal"](column=0, column_name="s0", t=0.2)
    part = table.part(np.flatnonzero(table.quasi.wide[:, 0] == 0))
    assert not model.holds_in(part.group_rows(np.zeros(part.rows, np.int32), 1)).any()
    assert model.holds_in(table.group_rows(np.zeros(table.rows, np.int32), 1)).all()
    made = in_parts(Agglomerative(), table, asked(2, model), 10)
    groups = table.group_rows(made.region_of, len(made.low))
    assert model.holds_in(groups).all()


def tables_of_two_halves():
    from shoal.coding.column_plan import ColumnPlan
    from shoal.coding.encode import encode

    frame = pl.DataFrame({"q0": ["a"] * 10 + ["b"] * 10, "s0": ["x"] * 10 + ["y"] * 10})
    return encode(frame, [ColumnPlan("q0", QUASI), ColumnPlan("s0", SENSITIVE)])


@given(tables(rows=st.integers(2, 40)), st.integers(2, 3), st.integers(2, 15), st.floats(0, 1))
def test_limits_of_suppression_are_divided_by_size_and_rounded_down(table, k, rows, share):
    wanted = asked(k, suppression=share)
    try:
        parts = parts_of(table, wanted, rows, Run.start(1))
    except (InfeasibleError, LimitError):
        return
    kept = np.concatenate(parts)
    assert len(kept) == len(set(kept.tolist()))
    lost = table.rows - len(kept)
    left = wanted.suppressible(table.rows) - lost
    allowed = [
        own.suppressible(len(rows)) for own, rows in zip(shares_of(table, wanted, parts), parts, strict=True)
    ]
    assert lost + sum(allowed) <= wanted.suppressible(table.rows)
    assert allowed == [left * len(rows) // len(kept) for rows in parts]


@given(tables(rows=st.integers(4, 40)), st.integers(2, 3), st.integers(2, 15))
def test_parts_are_small_wherever_a_cut_is_allowed(table, k, rows):
    try:
        parts = parts_of(table, asked(k), rows, Run.start(1))
    except (InfeasibleError, LimitError):
        return
    for own in parts:
        if len(own) > rows:
            # Not two boxes, but one that mondrian cannot cut.
            alone = parts_of(table.part(own), asked(k), rows, Run.start(1))
            assert len(alone) == 1
        assert (np.diff(own) > 0).all()


@pytest.mark.parametrize("name", [name for name in CLAIMING if METHODS[name].can.count_people])
def test_people_in_several_parts_are_counted_in_every_class(name):
    visits = sample("visits", 500).drop("visited", "diagnosis", "minutes")
    asks = {
        "quasi": ["birth_date", "sex", "zip"],
        "person": ["patient_id"],
        "k": 3,
        "method": name,
        "seed": 3,
    }
    result = shoal.anonymize(visits, **asks, engine={"part_rows": 60, "jobs": 1})
    assert result.release.facts["parts"] > 3
    owner = visits["patient_id"].to_list()
    people: dict[int, set[str]] = {}
    for row, region in enumerate(result.release.region_of.tolist()):
        if region >= 0:
            people.setdefault(region, set()).add(owner[row])
    assert min(map(len, people.values())) >= 3


@pytest.mark.parametrize("jobs", [1, 2])
def test_households_in_several_parts_are_counted_in_every_class(jobs):
    visits = sample("visits", 500).drop("visited", "minutes")
    homes = [f"home {int(patient[1:]) // 3}" for patient in visits["patient_id"]]
    visits = visits.with_columns(home=pl.Series(homes))
    result = shoal.anonymize(
        visits,
        quasi=["birth_date", "sex", "zip"],
        sensitive=["diagnosis"],
        person=["patient_id"],
        groups={"household": ["home"]},
        k=3,
        l={"entropy": 1.5},
        method="forest",
        seed=3,
        engine={"part_rows": 100, "jobs": jobs},
    )
    assert result.release.facts["parts"] > 2
    inside: dict[int, set[str]] = {}
    for row, region in enumerate(result.release.region_of.tolist()):
        inside.setdefault(region, set()).add(homes[row])
    assert min(map(len, inside.values())) >= 3


def test_people_who_can_be_followed_are_not_divided():
    visits = sample("visits", 300).drop("visited", "diagnosis", "minutes")
    asks = {"quasi": ["birth_date", "sex", "zip"], "person": ["patient_id"], "k": 2, "suppression": 0.5}
    asks |= {"method": "forest", "publish": {"patient_id": "pseudonym"}, "seed": 1}
    assert "parts" not in shoal.anonymize(visits, **asks).release.facts
    with pytest.raises(PolicyError, match="cannot be divided: people whose rows can be followed"):
        shoal.anonymize(visits, **asks, engine={"part_rows": 50})


def test_a_part_knows_the_whole_table():
    table = census(300)
    part = table.part(np.arange(0, 300, 7))
    again = part.part(np.arange(0, part.rows, 2))
    for own in (part, again):
        for counts, whole in zip(own.value_counts, table.value_counts, strict=True):
            np.testing.assert_array_equal(counts, whole)
    np.testing.assert_array_equal(part.quasi.wide, table.quasi.wide[::7])
    np.testing.assert_array_equal(again.quasi.wide, table.quasi.wide[::14])
    assert not part.kept.columns
    # It does not know earlier releases, nor can a part of a part be divided again.
    assert table.with_context(earlier=object()).indivisible
    with pytest.raises(PolicyError, match="earlier releases"):
        part_size(Forest(), table.with_context(earlier=object()), Division(part_rows=10))
    assert part_size(Forest(), table.with_context(earlier=object()), Division()) == 300
    assert part_size(Forest(), part, Division(part_rows=10)) == part.rows


# --- parts without a release ------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Choosy(Method):
    """Publishes each table as one class, but refuses tables of fewer rows than it likes."""

    name: ClassVar[str] = "choosy"
    parts: ClassVar[Parts | str] = Parts(why="they are classes", sums=())
    least: int = 0
    error: type[Exception] = LimitError

    def anonymize(self, table: CodedTable, requirements, run) -> shoal.release.Release:
        if table.rows < self.least:
            raise self.error("too few rows")
        regions = np.zeros(table.rows, np.int32)
        return shoal.release.Release(regions, *closures(table, regions, 1))


@given(tables(rows=st.integers(8, 40), sensitive=st.just(1)), st.integers(2, 10), st.integers(1, 50))
def test_a_part_without_a_release_is_joined_with_a_neighbour(table, rows, least):
    for error in (LimitError, InfeasibleError):
        method = Choosy(least=least, error=error)
        if table.rows < least:
            with pytest.raises(error, match="too few rows"):
                in_parts(method, table, asked(2), rows)
            continue
        made = in_parts(method, table, asked(2), rows)
        sizes = np.bincount(made.region_of)
        assert sizes.sum() == table.rows
        assert sizes.min() >= least


def test_other_errors_are_not_taken_for_a_part_without_a_release():
    table = census(200)
    with pytest.raises(ZeroDivisionError):
        in_parts(Choosy(least=1000, error=ZeroDivisionError), table, asked(2), 50)


# --- processes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["forest", "greedy-p-k"])
def test_processes_give_the_release_that_one_process_gives(name):
    table, told = census(3000), []
    options = {"seeds": "random"} if name == "greedy-p-k" else {}
    method = METHODS[name](**options)
    alone = in_parts(method, table, asked(3), 500)
    several = in_parts(
        method, table, asked(3), 500, jobs=2, progress=lambda stage, share: told.append((stage, share))
    )
    for one, other in (
        (alone.region_of, several.region_of),
        (alone.low, several.low),
        (alone.high, several.high),
    ):
        np.testing.assert_array_equal(one, other)
    assert alone.facts == several.facts
    shares = [share for stage, share in told if stage == "parts"]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert not children()


def slow_work(progress):
    return in_parts(Agglomerative(), census(12_000), asked(3), 3000, jobs=2, progress=progress)


def test_an_interrupt_ends_all_processes_at_once():
    began = []

    def progress(stage, share):
        if stage == "parts":
            began.append(time.perf_counter())
            assert len(children()) == 2
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        slow_work(progress)
    assert time.perf_counter() - began[0] < 2
    assert not children()


def test_a_process_that_is_killed_is_an_error_in_words():
    killed = []

    def progress(stage, share):
        if stage == "parts" and not killed:
            killed.append(min(children()))
            os.kill(killed[0], signal.SIGKILL)

    with pytest.raises(ShoalError, match=r"ended unexpectedly \(exit code -9\).*part_rows"):
        slow_work(progress)
    assert killed
    assert not children()


def test_errors_of_a_part_come_back_from_its_process():
    from shoal.methods.parts.part_work import answer

    table = census(60)

    def raised(error):
        method = Choosy(least=1000, error=error)
        return answer(method, table, asked(2), [1], None)

    assert raised(LimitError).unwrap() is None
    assert raised(InfeasibleError).unwrap() is None
    with pytest.raises(ShoalError, match="too few rows"):
        raised(ShoalError).unwrap()
    with pytest.raises(ShoalError, match="lack of memory"):
        raised(MemoryError).unwrap()
    # Not what it says: that may be a value of the data.
    with pytest.raises(ShoalBug, match=r"failed \(ValueError\)$"):
        raised(ValueError).unwrap()
