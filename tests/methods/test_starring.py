"""`suppress = "cells"`: rows that fit no class are shown with `*` in some cells."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl
import pytest
from hypothesis import event, given, settings

import shoal
from shoal.coding.groups import group
from shoal.errors import LimitError, PolicyError
from shoal.methods import METHODS
from shoal.methods.cell_suppression import loss_of, release_with_cells
from shoal.methods.full_domain.full_domain import FullDomain
from shoal.support.run import Run
from tests.methods.test_full_domain import cases


@settings(max_examples=200)
@given(cases())
def test_classes_with_suppressed_cells_satisfy_the_models_and_lose_no_more(case):
    table, requirements = case
    if any(model.by_classes is not model for model in requirements.models):
        return
    wanted = dataclasses.replace(requirements, suppress="cells")
    try:
        usual = FullDomain().anonymize(table, requirements, Run.start(1))
    except LimitError:
        usual = None
    try:
        made = release_with_cells(FullDomain(), table, wanted, Run.start(1))
    except LimitError:
        assert usual is None
        return
    event(f"cells: {'suppressed_cells' in made.facts}")
    kept = np.flatnonzero(made.region_of >= 0)
    assert table.rows - len(kept) <= requirements.suppressible(table.rows)
    region = made.region_of[kept]
    codes = table.quasi.wide[kept]
    assert ((made.low[region] <= codes) & (codes <= made.high[region])).all()
    # What reads alike is one class, whatever regions the method made.
    _, number = np.unique(np.hstack([made.low, made.high])[region], axis=0, return_inverse=True)
    number = number.ravel().astype(np.int32)
    if len(kept):
        rest = table.sensitive, table.sensitive_counts
        groups = group(number, int(number.max()) + 1, table.secrets.wide[kept], *rest)
        assert requirements.holds_in(groups).all()
    if usual is not None:
        assert loss_of(table, requirements, made) <= loss_of(table, requirements, usual) + 1e-9


def people():
    random = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "age": np.clip(random.normal(45, 18, 2000), 0, 104).astype(int),
            "zip": random.choice(["10115", "10117", "20095", "80331", "80333"], 2000, p=[0.6, 0.2, 0.15, 0.04, 0.01]),
            "sex": random.choice(["f", "m", "x"], 2000, p=[0.5, 0.49, 0.01]),
            "ill": random.choice(["flu", "cold", "ulcer"], 2000),
        }
    )  # fmt: skip


WANTED = {
    "quasi": ["age", "zip", "sex"], "sensitive": ["ill"], "k": 5, "l": 2,
    "hierarchies": {"age": {"widths": [5, 20]}, "zip": {"mask": "right"}},
}  # fmt: skip


@pytest.mark.parametrize("method", ["full-domain", "incognito"])
def test_a_class_shows_a_star_instead_of_losing_rows_or_a_level_everywhere(method):
    table = people()
    rows = shoal.anonymize(table, **WANTED, method=method, seed=1)
    cells = shoal.anonymize(table, **WANTED, method=method, suppress="cells", seed=1)
    assert cells.suppressed == 0
    assert len(cells.table) == 2000
    assert cells.measures["lm"] < rows.measures["lm"]
    assert cells.record["suppressed_cells"] > 0
    assert any("instead of being suppressed" in note for note in cells.notes)
    sizes = cells.table.group_by("age", "zip", "sex").agg(n=pl.len(), values=pl.col("ill").n_unique())
    assert sizes["n"].min() >= 5
    assert sizes["values"].min() >= 2
    stars = sum((pl.col(name).cast(str) == "*").cast(int) for name in ("age", "zip", "sex"))
    assert {0, 1} <= set(sizes.select(stars.alias("stars"))["stars"])
    judged = shoal.audit(cells.table, original=table, **WANTED)
    assert judged.holds
    assert judged.measures["lm"] == pytest.approx(cells.measures["lm"])
    assert {v.model: v.holds for v in judged.verdicts}["truthful"]


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_by_classes_takes_it_and_others_refuse(name):
    kind = METHODS[name]
    by_classes = not (
        kind.shows.notions or kind.shows.buckets or kind.false_cells.how or kind.can.presence_only
    )
    more = {"p": 2} if "p-k" in name else {"l": 2}
    wanted = {**WANTED, "l": None, **more, "method": name, "suppress": "cells"}
    if by_classes:
        assert shoal.anonymize(people()[:300], seed=1, **wanted).holds
    else:
        with pytest.raises(PolicyError):
            shoal.anonymize(people()[:300], seed=1, **wanted)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"method": "bucketization", "k": None}, "needs a method that makes equivalence classes"),
        ({"levels": "uniform"}, "forbids that"),
        ({"notion": "k-k"}, "judge each class by itself"),
        ({"suppress": "columns"}, "suppress"),
    ],
)
def test_what_single_cells_cannot_be_suppressed_for(more, says):
    with pytest.raises(PolicyError, match=says):
        shoal.anonymize(people(), **{**WANTED, "method": "full-domain", "suppress": "cells", **more})
