from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.coding.column_plan import ColumnPlan
from shoal.coding.encode import encode
from shoal.coding.roles import QUASI, SENSITIVE
from shoal.errors import InfeasibleError, PolicyError
from shoal.judging.measures import MEASURES
from shoal.judging.models import MODELS
from shoal.judging.models.hybrid_k import AlphaHybrid, HybridK
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.l_diversity import DistinctDiversity
from shoal.judging.models.requirements import Requirements
from shoal.kernels.losses import GRAIN
from shoal.kernels.relocation import RelocationWorkspace, relocate_cells
from shoal.methods import METHODS
from shoal.methods.loss_tables import losses_of
from shoal.methods.partitioning.mondrian import Mondrian
from shoal.methods.relocating.hybrid_mondrian import HybridMondrian, Relocate, relocate_within
from shoal.methods.relocating.relocation import VARIANTS, Allowance
from shoal.release import Release
from shoal.support.run import Run
from tests import oracles
from tests.inputs.strategies import tables
from tests.methods.test_hybrid import evidence_by, plain, untrue


def workspace(room, rows, width):
    return RelocationWorkspace(
        np.empty(room),
        np.empty((room, 5), np.int64),
        np.empty(room, np.int64),
        np.empty(room + 2, np.int64),
        *(np.empty(rows + 1, np.int64) for _ in range(4)),
        np.empty((rows + 1, 2 * width + 1), np.int32),
    )


@settings(max_examples=300)
@given(tables(rows=st.integers(1, 14), columns=st.integers(1, 3)), st.data())
def test_relocation_in_boxes_agrees_with_its_twin(table, data):
    box_of = np.array(data.draw(st.lists(st.integers(0, 2), min_size=table.rows, max_size=table.rows)))
    ids = np.argsort(box_of, kind="stable").astype(np.int32)
    sizes = np.unique(box_of, return_counts=True)[1]
    k = data.draw(st.sampled_from([0, 2, 3, 4]))
    room, width = len(sizes) + table.rows, len(table.attributes)
    begins, ends = np.zeros(room, np.int64), np.zeros(room, np.int64)
    ends[: len(sizes)] = np.cumsum(sizes)
    begins[: len(sizes)] = ends[: len(sizes)] - sizes
    true = np.ascontiguousarray(table.quasi.wide[ids])
    noise = np.ones((room, width))
    if data.draw(st.booleans()):
        noise = 1.0 - np.random.default_rng(data.draw(st.integers(0, 99))).random((room, width))
    cells = data.draw(st.integers(0, 12))
    limit = data.draw(st.sampled_from([np.inf, 0.5, 3.0, 8.1]))
    losses = losses_of(table, data.draw(st.sampled_from(["lm", "gcp", "precision", "entropy"])))
    arguments = (len(sizes), k, cells, limit, noise, losses)
    expected, price, statistic = oracles.relocation.relocate_cells(
        true, true, ids, begins, ends, *arguments, None
    )
    codes = true.copy()
    count, used, chi = relocate_cells(
        codes, true, ids, begins, ends, *arguments, workspace(room, table.rows, width)
    )
    ours = [
        sorted((int(ids[row]), tuple(codes[row].tolist())) for row in range(begins[b], ends[b]))
        for b in range(count)
    ]
    assert ours == expected
    assert used == price
    assert chi == pytest.approx(statistic)


@settings(max_examples=200)
@given(
    tables(rows=st.integers(1, 20), columns=st.integers(1, 3)),
    st.integers(2, 5),
    st.sampled_from([0.0, 0.05, 0.1, 0.3]),
    st.sampled_from(VARIANTS),
    st.sampled_from(["lm", "gcp", "entropy", "il"]),
    st.integers(0, 9),
)
def test_every_variant_keeps_its_promises_and_never_loses_more(table, k, budget, variant, measure, seed):
    requirements = plain(k, 0.0, measure)
    method = HybridMondrian(variant=variant, budget=budget)
    try:
        base = Mondrian().anonymize(table, requirements, Run.start(seed))
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            method.anonymize(table, requirements, Run.start(seed))
        return
    release = method.anonymize(table, requirements, Run.start(seed))
    before, after = evidence_by(table, base), evidence_by(table, release)
    assert KAnonymity(k=k).verify(after).holds
    assert HybridK(k=k, budget=budget).verify(after).holds
    wrong = untrue(table, release)
    assert release.facts["changed_cells"] == len(wrong) <= budget * table.rows * len(table.attributes) + 1e-9
    if variant in ("statistical", "rstat"):
        assert AlphaHybrid(alpha=0.05).verify(after).holds
    rule = MEASURES[measure]()
    cells = table.rows * sum(attribute.weight for attribute in table.attributes) if rule.total else 1
    # Searches see losses in whole grains, so one per cell may be rounding.
    rounding = GRAIN * len(table.attributes) * cells
    assert rule.value(after) <= rule.value(before) + rounding + 1e-9
    assert release.facts["loss_with_relocation"] == pytest.approx(rule.value(after) / cells)
    assert release.facts["loss_without_relocation"] == pytest.approx(rule.value(before) / cells)
    if budget == 0:
        np.testing.assert_array_equal(release.low[release.region_of], base.low[base.region_of])
        np.testing.assert_array_equal(release.high[release.region_of], base.high[base.region_of])


def ages(values):
    return encode(pl.DataFrame({"age": values}), [ColumnPlan("age", QUASI)])


def whole(table):
    top = np.array([[a.hierarchy.size - 1 for a in table.attributes]], np.int32)
    return Release(np.zeros(table.rows, np.int32), np.zeros_like(top), top)


def test_one_old_person_becomes_as_old_as_the_oldest_of_the_rest():
    table = ages([20, 21, 22, 23, 65])
    release = relocate_within(table, whole(table), Allowance(1, None, False), "gcp", Run.start(1))
    assert table.attributes[0].hierarchy.names(release.low[:, 0], release.high[:, 0]).to_list() == [
        "[20, 23]"
    ]
    assert untrue(table, release) == [(4, 0)]


def test_a_side_that_lacks_one_row_takes_it_from_the_edge_of_the_other():
    """Two rows of 20, four of 30, k = 3: one 30 changed to 20 parts the box; giving up both 20s costs two cells."""
    table = ages([20, 20, 30, 30, 30, 30])
    release = relocate_within(table, whole(table), Allowance(1, None, False), "lm", Run.start(1), k=3)
    assert release.facts["split"] == 1
    assert sorted(np.bincount(release.region_of)) == [3, 3]
    assert release.facts["changed_cells"] == 1
    np.testing.assert_array_equal(release.low, release.high)


def test_sensitive_values_stay_where_they_were():
    table = encode(
        pl.DataFrame(
            {"age": [20, 21, 22, 60, 61, 90], "disease": ["flu", "flu", "cold", "cold", "flu", "hiv"]}
        ),
        [ColumnPlan("age", QUASI), ColumnPlan("disease", SENSITIVE)],
    )
    diverse = DistinctDiversity(l=2, column=0, column_name="disease")
    requirements = Requirements(models=(KAnonymity(k=2), diverse))
    for method in (HybridMondrian(budget=0.3), Relocate(budget=0.3)):
        release = method.anonymize(table, requirements, Run.start(1))
        base = Mondrian().anonymize(table, requirements, Run.start(1))
        assert release.facts["changed_cells"] > 0
        assert len(np.unique(np.stack([release.region_of, base.region_of]), axis=1).T) == len(base.low)
        assert diverse.verify(evidence_by(table, release)).holds


@pytest.mark.parametrize("base", ["mondrian", "full-domain", "incognito", "agglomerative"])
def test_relocation_improves_the_release_of_any_method(base):
    random = np.random.default_rng(5)
    data = pl.DataFrame({"a": random.integers(0, 30, 80), "b": random.integers(0, 9, 80)})
    table = encode(data, [ColumnPlan("a", QUASI, {"widths": [5, 10]}), ColumnPlan("b", QUASI)])
    release = Relocate(base=base, budget=0.05).anonymize(table, plain(5), Run.start(1))
    evidence = evidence_by(table, release)
    assert HybridK(k=5, budget=0.05).verify(evidence).holds
    assert release.facts["loss_with_relocation"] < release.facts["loss_without_relocation"]


@pytest.mark.parametrize("base", ["k-k", "nearest"])
def test_rows_with_cells_of_their_own_are_not_narrowed(base):
    table = ages([20, 21, 22, 23, 65, 66])
    asked = Requirements(models=(MODELS["k-k" if base == "k-k" else "k-1"](k=2),))
    with pytest.raises(PolicyError, match="whole classes"):
        Relocate(base=base, budget=0.3).anonymize(table, asked, Run.start(1))


def test_wrong_options_are_named():
    assert METHODS["hybrid-mondrian"] is HybridMondrian
    assert METHODS["relocate"] is Relocate
    with pytest.raises(PolicyError, match="variant"):
        HybridMondrian(variant="best")
    with pytest.raises(PolicyError, match="choose"):
        HybridMondrian(choose="height")
    with pytest.raises(PolicyError, match="did you mean 'mondrian'"):
        Relocate(base="mondrain")
    with pytest.raises(PolicyError, match="relocate"):
        Relocate(base="relocate")
