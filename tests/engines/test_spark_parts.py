"""Parts on Spark that a method finds no release of: they are joined with neighbours, as on one machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.engines.spark import finish_boxes as finishing
from shoal.engines.spark import make_release as making
from shoal.engines.spark.count_boxes import Boxes, Router
from shoal.engines.spark.finish_boxes import MOST_JOINED, join_failed_parts
from shoal.errors import DataError, InfeasibleError, LimitError
from shoal.methods.partitioning.counted_cuts import CutTree
from shoal.methods.parts.on_parts import bundle_parts
from shoal.release import closures
from tests.engines.test_spark_releases import check_valid, people, place, policy
from tests.methods.test_parts import Choosy

pytestmark = pytest.mark.xdist_group("spark")
_ = people, place  # fixtures

# --- which parts are joined --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "together"),
    [
        ("y", [[0]]),
        ("yyy", [[0], [1], [2]]),
        ("yny", [[0, 1], [2]]),
        ("nyy", [[0, 1], [2]]),  # not the third: it has a release of its own
        ("nny", [[0, 1], [2]]),
        ("ynny", [[0, 1], [2, 3]]),
        ("yynn", [[0], [1, 2, 3]]),
        ("nnn", [[0, 1, 2]]),
        ("nnnn", [[0, 1], [2, 3]]),
        ("n", [[0]]),
    ],
)
def test_a_part_without_a_release_goes_to_the_one_before_or_to_the_next(made, together):
    assert bundle_parts([letter == "y" for letter in made]) == together


@given(st.lists(st.booleans(), min_size=2, max_size=12))
def test_every_part_stays_in_order_and_none_without_a_release_stays_alone(made):
    found = bundle_parts(made)
    assert [at for own in found for at in own] == list(range(len(made)))
    assert all(made[own[0]] for own in found if len(own) == 1)
    assert max(map(len, found)) <= 3


@given(st.lists(st.integers(0, 100), max_size=10), st.data())
def test_boxes_are_listed_as_a_walk_down_the_tree_meets_them(cuts, data):
    """Rows along one column, cut at numbers: the boxes in the list are the runs between them, in order."""
    tree = CutTree()
    ends = {0: (0, 101)}
    for at in cuts:
        node = next(node for node, (first, last) in ends.items() if first <= at < last)
        first, last = ends[node]
        if first == at:
            continue
        left, right = tree.cut(node, 0, first, at - 1)
        del ends[node]
        ends |= {left: (first, at), right: (at, last)}
    assert [ends[box] for box in tree.boxes] == sorted(ends.values())
    router = Router((), np.zeros(1, np.int64), [tree])
    closed = data.draw(st.sets(st.sampled_from(sorted(ends))))
    boxes = Boxes(router, dict.fromkeys(ends, 1), {box: ([], []) for box in closed})
    assert boxes.open == [box for box in tree.boxes if box not in closed]


def test_parts_are_joined_until_a_task_could_not_hold_them():
    sizes = {3: 90, 4: 80, 7: 100, 8: 95}
    parts = [(3,), (4,), (7,), (8,)]
    assert join_failed_parts(parts, {7: "no"}, sizes, 100) == ([(3,), (4, 7), (8,)], [(4, 7)])
    assert join_failed_parts([(3,), (4, 7), (8,)], {3: "no", 8: "no"}, sizes, 100) == (
        [(3, 4, 7, 8)],
        [(3, 4, 7, 8)],
    )
    with pytest.raises(
        LimitError, match=rf"\(no\).*has 365 rows, more than {MOST_JOINED} x 90.*part_rows to 92 or"
    ):
        join_failed_parts([(3,), (4, 7), (8,)], {3: "no", 8: "no"}, sizes, 90)
    with pytest.raises(LimitError, match=r"^no$"):
        join_failed_parts([(3, 4, 7, 8)], {3: "no"}, sizes, 100)


# --- on the cluster ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Halves(Choosy):
    """Cuts each part in two at a random place of the first column: what a task decides must follow from its seed."""

    def anonymize(self, table, requirements, run):
        super().anonymize(table, requirements, run)
        order = np.argsort(table.quasi.wide[:, 0], kind="stable")
        regions = np.zeros(table.rows, np.int32)
        regions[order[run.random.integers(10, table.rows - 10) :]] = 1
        return shoal.release.Release(regions, *closures(table, regions, 2))


def made_by(monkeypatch, method, spark, place: Path, part_rows: int) -> shoal.Result:
    monkeypatch.setattr(making, "check_possible", lambda _: method)
    return shoal.anonymize(spark.read.parquet(str(place)), policy("mondrian", part_rows))


def test_parts_without_a_release_are_joined(spark, place: Path, monkeypatch):
    rounds, first = [], []
    real, cut = finishing.finish_parts, making.cut_into_boxes

    def counted(*given, **more):
        rounds.append(given[2])
        return real(*given, **more)

    def seen(*given):
        first.append(cut(*given))
        return first[0]

    monkeypatch.setattr(making, "finish_parts", counted)
    monkeypatch.setattr(making, "cut_into_boxes", seen)
    result = made_by(monkeypatch, Choosy(least=100), spark, place, 150)
    sizes = first[0].sizes
    parts = result.release.facts["parts"]
    assert 1 < parts < len(sizes)
    # Each class is a part; small parts are gone, and every row is published once.
    assert (result.rows, result.suppressed, result.classes) == (600, 0, parts)
    table = pl.from_arrow(result.table.toArrow())
    assert table.group_by("age", "zip", "sex").len()["len"].min() >= 100
    # What had a release is not made again, and what is made anew are unions of boxes.
    assert len(rounds) >= 2
    assert len(rounds[0]) == len(sizes)
    assert all(len(part) > 1 for new in rounds[1:] for part in new)
    check_valid(result, place, policy("mondrian", 150))


def test_a_part_that_may_not_grow_further_is_told(spark, place: Path, monkeypatch):
    with pytest.raises(
        LimitError, match=r"too few rows.*joined with its neighbour.*more than 4 x 60.*part_rows to"
    ):
        made_by(monkeypatch, Choosy(least=500, error=InfeasibleError), spark, place, 60)


def test_other_errors_are_not_taken_for_a_part_without_a_release(spark, place: Path, monkeypatch):
    with pytest.raises(DataError, match="too few rows"):
        made_by(monkeypatch, Choosy(least=500, error=DataError), spark, place, 100)


def test_a_joined_part_that_is_made_again_is_the_same(spark, place: Path, monkeypatch):
    """Nothing of a round is kept on disk, so that every later pass makes all parts anew, as after a lost machine."""
    monkeypatch.setattr(making, "_persist", lambda _, frame: frame)
    result = made_by(monkeypatch, Halves(least=120), spark, place, 100)
    check_valid(result, place, policy("mondrian", 100))
    assert (result.rows, result.suppressed) == (600, 0)
