"""What `utility.measure` does: it steers a method, or the policy is refused before the work."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.apps.samples import sample
from shoal.coding import Attribute
from shoal.coding.hierarchy import build
from shoal.errors import PolicyError
from shoal.judging.measures import MEASURES, CellMeasure, ClassMeasure, measures_that_steer
from shoal.judging.measures.cell_losses import Gcp, Il
from shoal.methods import METHODS

CENSUS = Path(shoal.__file__).parent / "apps" / "samples" / "data" / "census.toml"
QUERIES = Path(__file__).parents[1] / "queries.toml"
CELLS = measures_that_steer(["cells"])
ASKED = {
    "nearest": {"notion": "k-1"},
    "expansion": {"notion": "k-1"},
    "k-k": {"notion": "k-k"},
    "global-1-k": {"notion": "global-1-k"},
    "ring": {"notion": "probabilistic-k"},
}
IDLE = {"lexicographic", "ring", "anatomy", "permute-generalize", "microaggregation"}
"""Methods that optimize no measure with their default options."""
MAPPINGS = {"full-domain", "incognito", "hybrid"}
"""Methods that compare whole mappings, so that measures of classes steer them, too."""


def policy(method, utility, **options):
    raw = shoal.Policy.read(CENSUS).to_dict()
    raw |= {"privacy": {"k": 5, **ASKED.get(method, {})}, "method": {"name": method, **options}}
    raw["utility"] = {**raw["utility"], "measure": utility}
    if MEASURES[utility].analysis.key == "workload":
        raw["utility"]["workload"] = str(QUERIES)
    if MEASURES[utility].analysis.key == "regression":
        raw["utility"]["regression"] = "salary ~ age"
    if METHODS[method].name in ("mpalm", "spalm", "permute-generalize", "bucketization", "slice-columns"):
        most = 1 if method in ("bucketization", "slice-columns") else 0.8
        raw["privacy"], raw["population"] = {"presence": [0, most]}, {"column": "member"}
    if method == "slicing":
        raw["privacy"] = {"l": {"slicing": 2}}
    if method == "anatomy":
        raw["privacy"] = {"l": {"probabilistic": 3}}
    return shoal.Policy.from_dict(raw, CENSUS.parent)


def classes(method, measure, frame, **options):
    """Rows of the release by what they show, whatever their order."""
    made = shoal.anonymize(frame, policy(method, measure, **options), seed=3)
    return sorted(map(str, made.table.rows()))


def test_measures_of_cells_and_of_classes_steer_and_no_others():
    for name in MEASURES:
        kind = MEASURES[name]
        expected = (
            "cells" if issubclass(kind, CellMeasure) else "classes" if issubclass(kind, ClassMeasure) else ""
        )
        assert kind.steers == expected
    assert set(CELLS) == {"lm", "gcp", "entropy", "precision", "ag", "il", "workload-loss"}


@pytest.mark.parametrize("measure", list(MEASURES))
@pytest.mark.parametrize("method", list(METHODS))
def test_a_policy_is_refused_if_its_measure_cannot_steer(method, measure):
    kinds = () if method in IDLE else ("cells", "classes") if method in MAPPINGS else ("cells",)
    if measure == "lm" or MEASURES[measure].steers in kinds:
        assert policy(method, measure).utility.measure == measure
        return
    with pytest.raises(PolicyError) as caught:
        policy(method, measure)
    (problem,) = caught.value.problems
    assert problem.path == "utility.measure"
    assert problem.message.startswith(f"'{measure}' cannot steer {method}")
    for name in measures_that_steer(kinds) or ["lm"]:
        assert name in problem.hint


def test_options_decide_whether_a_measure_steers():
    assert policy("ring", "entropy", partition="hilbert").utility.measure == "entropy"
    assert policy("anatomy", "entropy", partitioner="mondrian").utility.measure == "entropy"
    with pytest.raises(PolicyError, match="cannot steer anatomy"):
        policy("anatomy", "entropy", partitioner="lexicographic")
    with pytest.raises(PolicyError, match=r"method\.measure: 'dm' cannot steer this method"):
        policy("hybrid-mondrian", "lm", measure="dm")
    with pytest.raises(PolicyError, match="there is no measure 'lmm'"):
        policy("hybrid", "lm", measure="lmm")


@pytest.mark.parametrize("method", [name for name in METHODS if name not in IDLE])
def test_every_measure_of_cells_makes_a_release_of_its_own(method):
    frame = sample("census", 120, 2)
    people = pl.concat([frame.with_columns(member=True), sample("census", 240, 3).with_columns(member=False)])
    known = policy(method, "lm").population is not None
    found = {}
    for measure in CELLS:
        found[measure] = classes(method, measure, people if known else frame)
    if method not in MAPPINGS | {"spalm", "bucketization", "slice-columns"}:
        assert found["lm"] != found["entropy"]
        assert found["lm"] != found["precision"]


def test_a_search_gains_by_the_measure_that_steers_it():
    frame = sample("census", 600, 1)
    lost = {}
    for measure in ("lm", "entropy"):
        made = shoal.anonymize(frame, policy("agglomerative", measure), seed=1)
        lost[measure] = made.measures
    assert lost["lm"]["lm"] < lost["entropy"]["lm"]
    assert lost["entropy"]["entropy"] < lost["lm"]["entropy"]


@pytest.mark.parametrize("rule", [Il(), Gcp()])
def test_codes_that_look_like_numbers_are_categories_if_they_have_a_tree(rule):
    zips = [41075, 41076, 41095, 41099, 42000]
    tree = {"*": {"410**": {"4107*": ["41075", "41076"], "4109*": ["41095", "41099"]}, "42***": ["42000"]}}
    lost = []
    for values in (pl.Series("zip", zips), pl.Series("zip", list(map(str, zips)))):
        hierarchy = build(values, {"tree": tree})
        assert not hierarchy.by_width
        codes = hierarchy.locate(values)
        ends = [np.array([codes[a] for a in side], np.int32) for side in ((0, 0, 0), (1, 3, 4))]
        ends = [np.minimum(*ends), np.maximum(*ends)]
        lost.append(rule.loss(Attribute("zip", hierarchy), np.ones(5, np.int64), *hierarchy.lift(*ends)))
    np.testing.assert_array_equal(lost[0], lost[1])
    assert build(pl.Series("zip", zips), {"widths": [10]}).by_width
    assert build(pl.Series("zip", zips)).by_width


def test_number_like_codes_lose_the_same_in_a_release_from_integers_and_from_text(tmp_path):
    random = np.random.default_rng(4)
    zips = random.choice([41075, 41076, 41095, 41099, 42000, 42001], 60)
    (tmp_path / "zip.csv").write_text("".join(f"{z},{str(z)[:3]}**,*\n" for z in sorted(set(zips.tolist()))))
    raw = {
        "columns": {"zip": {"role": "quasi", "hierarchy": "zip.csv"}, "age": {"role": "quasi"}},
        "privacy": {"k": 4},
        "utility": {"measure": "il"},
    }
    frame = pl.DataFrame({"zip": zips, "age": random.integers(20, 60, 60)})
    made = [
        shoal.anonymize(data, shoal.Policy.from_dict(raw, tmp_path), seed=1)
        for data in (frame, frame.with_columns(pl.col("zip").cast(pl.String)))
    ]
    assert made[0].measures["il"] == pytest.approx(made[1].measures["il"])
    assert made[0].measures["gcp"] == pytest.approx(made[1].measures["gcp"])


def test_the_page_of_measures_tells_what_steers_what():
    page = (Path(__file__).parents[2] / "docs" / "measures.md").read_text()
    words = {"of cells, of classes": ("cells", "classes"), "of cells": ("cells",)}
    table = page.partition("| methods | measures that steer them |")[2].partition("\n\n")[0]
    told = {}
    for line in table.splitlines()[2:]:
        _, methods, measures, _ = line.split("|")
        told |= dict.fromkeys(
            methods.replace("`", "").replace(" ", "").split(","), words.get(measures.strip(), ())
        )
    assert told == {name: METHODS[name]().kinds_that_steer for name in METHODS}
    for kind in ("cells", "classes"):
        listed = page.partition(f"easures of {kind} are ")[2].partition(";" if kind == "cells" else ".")[0]
        assert set(listed.replace("`", "").replace(",", " ").replace(" and ", " ").split()) == set(
            measures_that_steer([kind])
        )
