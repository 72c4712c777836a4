"""Corruption and algorithm-aware attacks: the draw withstands them, one common turn per ring does not."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from shoal.apps.cli import main
from shoal.coding.column_plan import ColumnPlan
from shoal.coding.encode import encode
from shoal.coding.roles import QUASI, SENSITIVE
from shoal.errors import DataError
from shoal.judging.attacks import ATTACKS, ring_draws
from shoal.judging.attacks.rerun import Rerun
from shoal.judging.linking.evidence import Evidence
from shoal.judging.linking.origins import RECEIVED
from shoal.judging.models import MODELS
from shoal.judging.models.requirements import Requirements
from shoal.methods.cells import ring
from shoal.methods.cells.ring import Ring
from shoal.methods.partitioning.partition import Partition
from shoal.support.run import Run
from tests.inputs.coded_tables import with_changes
from tests.oracles.ring_draws import count_fitting

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
    with pytest.raises(DataError, match="must know the owner of each row"):
        ATTACKS["corruption"](k=K).attempt(evidence, Run.start(1))
    # Nobody differs in what is not generalized.
    alike = replace(evidence, table=with_changes(table, sensitive_codes=np.zeros((table.rows, 1), np.int32)))
    alike = replace(
        alike, published=replace(evidence.published, sensitive_codes=np.zeros((table.rows, 1), np.int32))
    )
    with pytest.raises(DataError, match="no sensitive values that could show who got which cell"):
        ATTACKS["algorithm-aware"](k=K).attempt(alike, Run.start(1))


CENSUS_OF = {"quasi": ["age", "gender", "education", "marital"], "sensitive": ["occupation"], "k": 5}


def census(rows):
    from shoal.apps.samples import sample

    return sample("census", rows).select(*CENSUS_OF["quasi"], *CENSUS_OF["sensitive"])


@pytest.mark.parametrize(("draw", "holds"), [(None, True), (no_turn, False), (one_turn, False)])
def test_an_audit_of_the_rows_alone_finds_rings_that_were_not_drawn(monkeypatch, draw, holds):
    import shoal

    people = census(400)
    if draw is not None:
        monkeypatch.setattr(ring, "draw_owners", draw)
    made = shoal.anonymize(people, **CENSUS_OF, notion="probabilistic-k", method="ring", seed=1)
    asked = {**CENSUS_OF, "adversary": "knows-algorithm", "method": "ring"}
    found = shoal.audit(made.table, **asked, original=people)
    assert found.holds == holds
    last = found.verdicts[-1]
    assert (last.model, last.required) == ("people at risk by knows-algorithm, attack algorithm-aware", 0)
    assert (last.reached > 0) == (not holds)


@pytest.mark.parametrize("draw", [no_turn, one_turn])
def test_a_ring_that_was_not_drawn_is_not_written(monkeypatch, tmp_path, draw):
    import shoal
    from shoal.errors import ViolationError

    monkeypatch.setattr(ring, "draw_owners", draw)
    people = census(400)
    people.write_csv(tmp_path / "in.csv")
    asked = {**CENSUS_OF, "adversary": "knows-algorithm", "method": "ring"}
    with pytest.raises(
        ViolationError, match=r"algorithm-aware: required 0, reached \d+ .* take another method"
    ):
        shoal.anonymize(people, **asked)
    (tmp_path / "p.toml").write_text(shoal.Policy.from_keywords(**asked).to_toml())
    paths = [str(tmp_path / name) for name in ("in.csv", "p.toml", "out.csv")]
    done = CliRunner().invoke(main, ["anonymize", paths[0], "--policy", paths[1], "--output", paths[2]])
    assert done.exit_code == ViolationError.exit_code == 5
    assert sorted(file.name for file in tmp_path.iterdir()) == ["in.csv", "p.toml"]
    # The policy names nobody, so nobody is played.
    assert shoal.anonymize(people, **CENSUS_OF, notion="probabilistic-k", method="ring").holds


def test_random_assignments_are_hardly_ever_taken_for_rotations():
    import shoal

    people = census(300)
    asked = {**CENSUS_OF, "adversary": "knows-algorithm", "method": "ring"}
    wrong = 0
    for seed in range(40):
        made = shoal.anonymize(people, **CENSUS_OF, notion="probabilistic-k", method="ring", seed=seed + 5)
        wrong += not shoal.audit(made.table, **asked, original=people).holds
    assert wrong <= 3  # 0.4 are expected at 1 in 100


@pytest.mark.parametrize("seed", range(30))
def test_what_rotations_explain_is_counted_as_by_hand(seed):
    random = np.random.default_rng(seed)
    k, rings = int(random.integers(2, 4)), int(random.integers(1, 5))
    sizes = random.integers(k, 2 * k + 1, rings)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    cells = np.concatenate([random.integers(0, 3, size) + 3 * at for at, size in enumerate(sizes)]).astype(
        np.int32
    )
    labels = random.integers(0, 3, starts[-1])
    order = random.permutation(starts[-1])
    parts = Partition(order.astype(np.int32), starts, starts[[0, -1]])
    again = Rerun(parts, k, cells, np.ones(rings, np.bool_))
    work = ring_draws._Rings(again, order, np.ones(starts[-1], np.bool_), labels, 3)
    owner = random.permutation(starts[-1])
    shown = np.sort(work.pairs(cells, owner))
    first, explained = work.count_fitting(shown)
    told = [
        [(int(cells[p]), int(labels[order[p]])) for p in range(a, b)] for a, b in itertools.pairwise(starts)
    ]
    rows = [(int(cells[p]), int(labels[order[owner[p]]])) for p in range(starts[-1])]
    assert (first, explained.tolist()) == count_fitting(told, rows, k)


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
