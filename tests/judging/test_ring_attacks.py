"""Corruption and algorithm-aware attacks: the draw withstands them, one common turn per ring does not."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from shoal.coding.column_plan import ColumnPlan
from shoal.coding.encode import encode
from shoal.coding.roles import QUASI, SENSITIVE
from shoal.errors import DataError
from shoal.judging.attacks import ATTACKS
from shoal.judging.linking.evidence import Evidence
from shoal.judging.linking.origins import RECEIVED
from shoal.judging.models import MODELS
from shoal.judging.models.requirements import Requirements
from shoal.methods.cells import ring
from shoal.methods.cells.ring import Ring
from shoal.support.run import Run

K = 6


def people(rows=400):
    """Nobody shares all values with another, so that every ring has cells that differ."""
    frame = pl.DataFrame(
        {"a": [i % 5 for i in range(rows)], "b": list(range(rows)), "s": [f"v{i % 7}" for i in range(rows)]}
    )
    return encode(frame, [ColumnPlan("a", QUASI), ColumnPlan("b", QUASI), ColumnPlan("s", SENSITIVE)])


def evidence_by(table, **options):
    requirements = Requirements(models=(MODELS["probabilistic-k"](k=K),))
    release = Ring(**options).anonymize(table, requirements, Run.start(1))
    return Evidence.of_release(table, release)


def one_turn(parts, widths, varied, run):
    begin, size = np.repeat(parts.starts[:-1], parts.sizes), np.repeat(parts.sizes, parts.sizes)
    turn = np.repeat(run.random.integers(0, widths), parts.sizes)
    return (begin + (np.arange(len(begin)) - begin + turn) % size).astype(np.int32)


def no_turn(parts, widths, varied, run):
    return np.arange(len(parts.order), dtype=np.int32)


# Parts of 6 to 11 rows, all different; those of more than six have cells that differ.
@pytest.fixture
def table():
    return people(9 * 45)


@pytest.mark.parametrize("show", ["sets", "ranges"])
@pytest.mark.parametrize("partition", ["none", "mondrian", "agglomerative"])
def test_the_draw_withstands_both(table, show, partition):
    evidence = evidence_by(table, partition=partition, show=show)
    aware = ATTACKS["algorithm-aware"](k=K, partition=partition).attempt(evidence, Run.start(2))
    assert aware.figures["cells_recognised"] == 1.0
    assert aware.holds
    assert aware.success < 2 / K
    corrupt = ATTACKS["corruption"](k=K, partition=partition).attempt(evidence, Run.start(2))
    assert corrupt.holds
    for q in (0, 1, 2, K - 2):
        assert corrupt.figures[f"with_{q}_known"]["fewest"] >= K - q


@pytest.mark.parametrize("draw", [None, one_turn])
def test_ranges_that_read_alike_do_not_look_turned(monkeypatch, tmp_path, draw):
    import shoal
    from shoal.apps.samples import write_sample

    if draw is not None:
        monkeypatch.setattr(ring, "draw_owners", draw)
    data = tmp_path / "census.csv"
    write_sample("census", 1000, data)
    policy = shoal.Policy.read(tmp_path / "census.toml").override(
        [f"privacy.k={K}", "privacy.notion=probabilistic-k", "method.name=ring", "method.show=ranges"]
    )
    result = shoal.anonymize(data, policy)
    # Under these hierarchies most rings show two different cells, dealt out as a turn would.
    found = shoal.attack(result, policy, original=data, name="algorithm-aware")
    assert found.figures["rings"] > 20
    assert found.holds == (draw is None)


@pytest.mark.parametrize("partition", ["none", "mondrian"])
def test_one_common_turn_falls_to_both(table, monkeypatch, partition):
    monkeypatch.setattr(ring, "draw_owners", one_turn)
    evidence = evidence_by(table, partition=partition)
    corrupt = ATTACKS["corruption"](k=K, partition=partition, known=(1,)).attempt(evidence, Run.start(2))
    assert corrupt.figures["with_1_known"]["guessed"] > 0.9
    assert not corrupt.holds
    aware = ATTACKS["algorithm-aware"](k=K, partition=partition).attempt(evidence, Run.start(2))
    assert aware.figures["rings_that_one_turn_names"] == 1.0
    assert not aware.holds


def test_without_randomness_running_again_names_everyone(table, monkeypatch):
    monkeypatch.setattr(ring, "draw_owners", no_turn)
    evidence = evidence_by(table, partition="none")
    aware = ATTACKS["algorithm-aware"](k=K, partition="none").attempt(evidence, Run.start(2))
    assert aware.success == 1.0
    assert aware.at_risk == table.rows


def test_who_did_not_make_the_release_cannot_judge(table):
    from dataclasses import replace

    evidence = replace(evidence_by(table), origin=RECEIVED)
    for name in ("corruption", "algorithm-aware"):
        with pytest.raises(DataError, match="must know the owner of each row"):
            ATTACKS[name](k=K).attempt(evidence, Run.start(1))


def test_a_result_of_ours_can_be_attacked_as_it_is():
    import shoal

    frame = pl.DataFrame({"a": [i % 5 for i in range(200)], "b": list(range(200)), "s": ["x", "y"] * 100})
    policy = {"quasi": ["a", "b"], "sensitive": ["s"], "k": K, "notion": "probabilistic-k"}
    policy["method"] = {"name": "ring", "partition": "none"}
    result = shoal.anonymize(frame, **policy)
    for name in ("corruption", "algorithm-aware"):
        found = shoal.attack(result, **policy, original=frame, name=name, options={"partition": "none"})
        assert found.holds
        assert found.figures["rings"] == 1
    with pytest.raises(DataError, match=r"shoal\.anonymize"):
        shoal.attack(result.table, **policy, original=frame, name="corruption")
