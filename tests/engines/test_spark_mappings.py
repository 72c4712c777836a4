"""Full-domain and incognito with more combinations than the driver holds: the optimum of trying all mappings, and the
release of the local engine."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.coding.columns import Columns, Kept
from shoal.coding.counting import ByRows
from shoal.engines.spark import make_release as making
from shoal.engines.spark.driver_tables import Counted
from shoal.engines.spark.mappings import Combinations, DistantJudge
from shoal.errors import LimitError
from shoal.methods.full_domain.full_domain import FullDomain
from shoal.methods.full_domain.incognito import Incognito
from shoal.methods.full_domain.mapping_judge import Judge
from shoal.methods.full_domain.mapping_lattice import Lattice
from shoal.support.run import Run
from tests.engines.test_spark_releases import check_same, locally, policy
from tests.inputs.samples import CENSUS, TAG
from tests.methods.test_full_domain import cases
from tests.oracles.all_mappings import published, satisfying

pytestmark = pytest.mark.xdist_group("spark")

# --- the search, with tasks in this process ---------------------------------------------------------------------


class Frame:
    """As much of a frame of Spark as is asked for, with partitions in this process."""

    def __init__(self, parts: list[pl.DataFrame]) -> None:
        self.parts = parts

    @property
    def columns(self) -> list[str]:
        return self.parts[0].columns

    def _together(self) -> pl.DataFrame:
        return pl.concat(self.parts)

    def count(self) -> int:
        return len(self._together())

    def repartition(self, _parts: int, *names: str) -> Frame:
        """Deal groups to two partitions, whole, and one that gets none."""
        rows = self._together()
        mark = rows.select(pl.sum_horizontal(names) % 2).to_series()
        return Frame([rows.filter(mark == 1), rows.filter(mark == 0), rows.clear()])

    def mapInArrow(self, work, schema: str) -> Frame:
        kinds = dict(one.strip().split(" ") for one in schema.split(","))
        types = {"int": pa.int32(), "long": pa.int64(), "binary": pa.binary()}
        own = pa.schema([(name, types[kind]) for name, kind in kinds.items()])
        made = [pa.Table.from_batches(work(iter(part.to_arrow().to_batches())), own) for part in self.parts]
        return Frame([pl.from_arrow(one) for one in made])

    def groupBy(self, *names: str) -> Frame:
        self.names = names
        return self

    def sum(self, name: str) -> Frame:
        return Frame([self._together().group_by(self.names).agg(pl.col(name).sum())])

    def toArrow(self) -> pa.Table:
        return self._together().to_arrow()

    def collect(self) -> list[dict]:
        return self._together().to_dicts()


SESSION = SimpleNamespace(
    sparkContext=SimpleNamespace(broadcast=lambda value: SimpleNamespace(value=value)),
)


def distant(table, requirements, most: int) -> tuple[Counted, Combinations]:
    """The same table with its combinations elsewhere."""
    rows = {f"c{j}": table.quasi.wide[:, j] for j in range(len(table.attributes))}
    if not requirements.only_k:
        rows |= {f"s{j}": table.secrets.wide[:, j] for j in range(len(table.sensitive))}
    frame = pl.DataFrame(rows)
    frame = frame.group_by(frame.columns, maintain_order=True).agg(pl.len().cast(pl.Int64).alias("many"))
    half = len(frame) // 2
    secrets = np.zeros((1, len(table.sensitive)), np.int32)
    values = Columns.of(table.sensitive, secrets, table.sensitive_counts)
    counted = Counted(
        Columns.of(table.attributes, np.zeros((1, len(table.attributes)), np.int32), table.value_counts),
        values,
        Kept(),
        table.columns,
        (ByRows(values, table.rows),),
        total=table.rows,
    )
    parts = Frame([frame[:half], frame[half:]])
    return counted, Combinations(SESSION, parts, counted, requirements, most)


LIMITS = st.sampled_from([0, 1, 2, 4, 8])
"""Combinations that the driver holds; with 0, tasks count everything."""


@settings(max_examples=300)
@given(cases(), LIMITS)
def test_full_domain_finds_the_optimum_of_trying_all_mappings(case, most):
    table, requirements = case
    counted, there = distant(table, requirements, most)
    judge = DistantJudge(counted, requirements, there)
    expected = satisfying(table, requirements)
    if not expected:
        with pytest.raises(LimitError, match="rows"):
            FullDomain().search(counted, judge, Run.start(1))
        return
    release = FullDomain().search(counted, judge, Run.start(1))
    value, suppressed, _, levels = expected[0]
    assert release.levels == levels
    unit = judge.objective.unit
    assert release.facts["loss"] == pytest.approx(value * unit, abs=1e-9)
    shown = published(table, requirements, levels)
    kept = {tuple(row) for row in shown.cells.low.tolist()}
    failing = there.find_failing(np.array(levels, np.int64))._together()
    assert len(failing) == len(failing.unique())
    every = {
        tuple(int(a.hierarchy.low[lv, c]) for a, lv, c in zip(table.attributes, levels, row, strict=True))
        for row in table.quasi.wide.tolist()
    }
    assert set(failing.rows()) == every - kept
    assert table.rows - shown.rows == suppressed


@settings(max_examples=150)
@given(cases(), LIMITS)
def test_incognito_finds_all_minimal_mappings(case, most):
    table, requirements = case
    counted, there = distant(table, requirements, most)
    valid = satisfying(table, requirements)
    judge = DistantJudge(counted, requirements, there)
    if not valid:
        with pytest.raises(LimitError):
            Incognito().search(counted, judge, Run.start(1))
        return
    levels = [np.array(one[3]) for one in valid]
    minimal = [
        one for one, own in zip(valid, levels, strict=True)
        if not any((other <= own).all() and (other < own).any() for other in levels)
    ]  # fmt: skip
    release = Incognito().search(counted, judge, Run.start(1))
    assert release.levels == minimal[0][3]
    assert sorted(map(tuple, release.facts["minimal"])) == sorted(one[3] for one in minimal)


@settings(max_examples=300)
@given(cases() | cases(st.sampled_from(["dm", "avg"])), LIMITS)
def test_every_check_says_what_is_true(case, most):
    """Values are those of the reference, and bounds hold for everything below and above."""
    table, requirements = case
    counted, there = distant(table, requirements, most)
    judge, lattice = DistantJudge(counted, requirements, there), Lattice(table)
    values = {one[3]: one[0] for one in satisfying(table, requirements)}
    own = {one[3]: one[1] for one in satisfying(table, requirements)}
    usual = Judge(table, requirements)
    for index in range(lattice.size):
        levels = lattice.levels(index)
        check = judge.check(levels)
        assert all(len(base.weights) <= most for base in judge.rollups._bases)
        name = tuple(levels.tolist())
        assert (check.value < np.inf) == (name in values)
        if name in values:
            assert check.value == pytest.approx(values[name], abs=1e-9)
            assert check.dropped == own[name]
        for other, value in values.items():
            if (np.array(other) <= levels).all():
                least = usual.objective.least_at(np.array(other))
                assert max(least + check.floor, check.below) <= value + 1e-9
                assert least + check.floor_at(np.array(other)) <= value + 1e-9
            if (np.array(other) >= levels).all():
                assert check.above <= value + 1e-9


# --- against the local engine, on the cluster -------------------------------------------------------------------


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    random = np.random.default_rng(4)
    n = 500
    table = pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(n)],
            "age": random.integers(18, 60, n),
            "zip": [f"{zip_:02d}" for zip_ in random.integers(0, 40, n)],
            "sex": random.choice(["f", "m"], n),
            "disease": random.choice(["flu", "cold", "asthma", "gout"], n, p=[0.4, 0.3, 0.2, 0.1]),
            "stay": random.integers(1, 9, n),
        }
    )
    path = tmp_path_factory.mktemp("mappings") / "people.parquet"
    table.write_parquet(path)
    return path


WIDTHS = {"age": {"widths": [4, 16]}, "zip": {"mask": "right"}}


@pytest.mark.parametrize(
    ("method", "most", "asked"),
    [
        ("full-domain", 20, {}),
        ("full-domain", 20, {"suppression": 0.05}),
        ("full-domain", 100, {"suppression": 0.05, "measure": "dm"}),
        ("full-domain", 50, {"suppression": 0.05, "l": {"distinct": 3}}),
        ("full-domain", 50, {"t": {"equal": 0.4}}),
        ("incognito", 100, {"suppression": 0.05, "limits": {"zip": 1}}),
    ],
)
def test_the_release_is_that_of_the_local_engine(
    spark, people: Path, monkeypatch, method: str, most: int, asked: dict
):
    counted = []
    real = Combinations.tally
    monkeypatch.setattr(Combinations, "tally", lambda *given: counted.append(1) or real(*given))
    monkeypatch.setattr(making, "MOST_COMBINATIONS", most)
    chosen = policy(method, hierarchies=WIDTHS, **asked)
    there = shoal.anonymize(spark.read.parquet(str(people)), chosen)
    check_same(there, shoal.anonymize(people, locally(chosen)))
    assert counted, "the driver held everything"


def test_the_census_with_few_combinations_on_the_driver(spark, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(making, "MOST_COMBINATIONS", 300)
    CENSUS.frame(2000).write_parquet(tmp_path / "census.parquet")
    chosen = CENSUS.policy({"k": 5}, {"name": "full-domain"}, utility={"suppression": 0.05})
    there = shoal.anonymize(
        spark.read.parquet(str(tmp_path / "census.parquet")), chosen.override(["engine.name=spark"])
    )
    here = shoal.anonymize(tmp_path / "census.parquet", chosen)
    check_same(there, here)
    assert there.suppressed
    assert TAG in there.table.columns


def test_too_many_mappings_over_too_many_combinations(spark, people: Path, monkeypatch):
    monkeypatch.setattr(making, "MOST_COMBINATIONS", 50)
    monkeypatch.setattr(making, "MOST_MAPPINGS", 10)
    with pytest.raises(
        LimitError, match=r"has 24 mappings and more than 50 different combinations.*mondrian"
    ):
        shoal.anonymize(spark.read.parquet(str(people)), policy("full-domain", hierarchies=WIDTHS))
