"""The attack on sensitive values: against its plain twin, by hand, and on releases that are meant to withstand it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.coding import Attribute
from shoal.errors import DataError, PolicyError
from shoal.judging.attacks import ATTACKS
from shoal.judging.attacks.attribute_disclosure import AttributeDisclosure
from shoal.judging.linking.evidence import Evidence
from shoal.judging.models.alpha_k import AlphaK
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.p_sensitive import PSensitive
from shoal.judging.models.requirements import Requirements
from shoal.kernels import disclosure as kernels
from shoal.methods import METHODS
from shoal.release import Release
from shoal.support.run import Run
from tests import oracles
from tests.inputs.coded_tables import table_of_matrices
from tests.inputs.model_cases import TREE, simple_table
from tests.inputs.strategies import tables


def shown(table, release):
    return Evidence.of_release(table, release)


def patients():
    """Flu, cold | ulcer, ulcer | flu: three people known as 0, one as 1, one as 2."""
    table = simple_table([0, 1, 2, 2, 0], quasi=(Attribute("q", TREE), [0, 0, 0, 1, 2]))
    kept = pl.DataFrame({"s0": TREE.leaves.gather(table.secrets.wide[:, 0])})
    return table_of_matrices(
        table.attributes, table.quasi.wide, table.sensitive, table.secrets.wide, kept, table.columns
    )


def in_regions(table, region_of, *ranges):
    ends = np.array(ranges, np.int32)
    return shown(table, Release(np.array(region_of, np.int32), ends[:, :1], ends[:, 1:]))


def test_beliefs_by_hand():
    """One class of the first four rows, which shows lung, and one of the last alone."""
    table = patients()
    published = in_regions(table, [0, 0, 0, 0, 1], (0, 1), (2, 2))
    found = AttributeDisclosure().attempt(published, Run.start(1))
    column = found.figures["columns"]["s0"]
    # Before, the last two stand alone; after, only the last.
    assert column["before"]["certain"] == pytest.approx(2 / 5)
    assert column["after"]["certain"] == pytest.approx(1 / 5)
    assert found.at_risk == 1
    assert found.chances.tolist() == pytest.approx([1 / 4, 1 / 4, 2 / 4, 2 / 4, 1])
    assert found.success == pytest.approx(2.5 / 5)
    assert found.baseline == pytest.approx((2 / 5 * 4 + 1 / 5) / 5)
    assert found.most_exposed[0] == 4


def test_a_threshold_and_a_category():
    table = patients()
    published = in_regions(table, [0, 0, 0, 0, 1], (0, 1), (2, 2))
    assert AttributeDisclosure(threshold=0.5).attempt(published, Run.start(1)).at_risk == 1
    assert AttributeDisclosure(threshold=0.4).attempt(published, Run.start(1)).at_risk == 5
    stomach = AttributeDisclosure(protected=(("lung", "stomach"),), threshold=0.49)
    found = stomach.attempt(published, Run.start(1))
    # Two of the four rows of the first class are of the lung, two of the stomach.
    assert found.chances.tolist() == pytest.approx([1 / 2, 1 / 2, 1 / 2, 1 / 2, 1])
    assert found.figures["columns"]["s0"]["categories"] == ["lung", "stomach"]


def test_rows_of_every_class_that_fits_are_read():
    """The last row is shown as anything at all, so it may be anybody's."""
    table = patients()
    published = in_regions(table, [0, 0, 0, 1, 1], (0, 0), (0, 3))
    found = AttributeDisclosure().attempt(published, Run.start(1))
    # The first three: flu, cold, ulcer, ulcer, flu fit. The others: ulcer and flu.
    assert found.chances.tolist() == pytest.approx([2 / 5, 1 / 5, 2 / 5, 1 / 2, 1 / 2])


def test_suppressed_people_are_learned_nothing_about():
    table = patients()
    published = in_regions(table, [0, 0, 0, 0, -1], (0, 1))
    found = AttributeDisclosure().attempt(published, Run.start(1))
    assert found.chances[4] == 0
    assert found.at_risk == 0


def test_bad_options_and_tables():
    with pytest.raises(PolicyError, match="up to 1, not 2"):
        AttributeDisclosure(threshold=2)
    table = patients()
    published = in_regions(table, [0, 0, 0, 0, 0], (0, 3))
    bare = table_of_matrices(
        table.attributes, table.quasi.wide, (), table.secrets.wide[:, :0], table.kept.whole, ("q",)
    )
    with pytest.raises(DataError, match="no sensitive column"):
        ATTACKS["attribute-disclosure"]().attempt(replace(published, table=bare), Run.start(1))


@settings(max_examples=60)
@given(data=st.data(), points=st.integers(1, 10), classes=st.integers(1, 4))
def test_the_plain_twin_believes_the_same(data, points, classes):
    def lists(what, count, **most):
        drawn = [data.draw(st.lists(what, **most)) for _ in range(count)]
        return np.cumsum([0, *map(len, drawn)]), [one for items in drawn for one in items]

    over_start, over = lists(st.integers(0, classes - 1), points, unique=True)
    start, held = lists(st.tuples(st.integers(0, 3), st.integers(1, 3)), classes, max_size=3)
    own_start, own = lists(st.integers(0, 3), points, max_size=3)
    label, count = (np.array([pair[part] for pair in held], np.int64) for part in (0, 1))
    given_ = (over_start, np.array(over, np.int32), start, label.astype(np.int32), count, 4,
              own_start, np.array(own, np.int32))  # fmt: skip
    for mine, twin in zip(kernels.beliefs(*given_), oracles.disclosure.beliefs(*given_), strict=True):
        assert mine.tolist() == twin.tolist()


@settings(max_examples=60)
@given(
    table=tables(rows=st.integers(2, 14), sensitive=st.just(1)), method=st.sampled_from(["p-k", "mondrian"])
)
def test_models_keep_their_promises(table, method):
    """p-sensitive releases leave nobody certain, and (alpha,k) bounds what is believed of a class."""
    place = {"column": 0, "column_name": "s0"}
    for model, attack in (
        (PSensitive(p=2), AttributeDisclosure()),
        (AlphaK(alpha=0.5, **place), AttributeDisclosure(threshold=0.5)),
    ):
        wish = Requirements(models=(KAnonymity(k=2), model))
        if any(one.infeasible(table) for one in wish.models):
            continue
        published = shown(table, METHODS[method]().anonymize(table, wish, Run.start(1)))
        found = attack.attempt(published, Run.start(1))
        assert found.at_risk == 0
        assert found.holds


def test_it_is_let_loose_on_files(tmp_path):
    """A release made elsewhere: two classes of two, in one of which both have a cancer."""
    original = pl.DataFrame({"age": [21, 22, 31, 32], "illness": ["colon", "breast", "colon", "flu"]})
    release = pl.DataFrame({"age": ["[21, 22]"] * 2 + ["[31, 32]"] * 2, "illness": original["illness"]})
    release.write_csv(tmp_path / "release.csv")
    original.write_csv(tmp_path / "original.csv")
    asked = {"quasi": ["age"], "sensitive": ["illness"], "k": 2, "p": 2}
    tree = {"hierarchies": {"illness": {"tree": {"cancer": ["colon", "breast"], "other": ["flu"]}}}}
    files = {"original": tmp_path / "original.csv", "name": "attribute-disclosure"}
    values = shoal.attack(tmp_path / "release.csv", **files, **asked, **tree)
    assert values.at_risk == 0
    categories = shoal.attack(
        tmp_path / "release.csv", **files, **asked, **tree, protected={"illness": ["cancer"]}
    )
    assert categories.at_risk == 2
    half = shoal.attack(tmp_path / "release.csv", **files, **asked, **tree, options={"threshold": 0.4})
    assert half.at_risk == 4


def test_the_threshold_follows_from_the_policy_as_the_audit_does():
    """Two classes of four: in the first three of four have flu, in the second two have each."""
    illness = ["flu", "flu", "flu", "cold", "flu", "flu", "cold", "cold"]
    original = pl.DataFrame({"age": list(range(21, 29)), "illness": illness})
    release = original.with_columns(age=pl.Series(["[21, 24]"] * 4 + ["[25, 28]"] * 4))
    roles = {"original": original, "quasi": ["age"], "sensitive": ["illness"]}
    rules = [
        ({"alpha": 0.5}, 4),
        ({"alpha": 0.75}, 0),
        ({"alpha": {"illness": 0.7}}, 4),
        ({"l": {"probabilistic": 2}}, 4),
        ({"l": {"probabilistic": 1.25}}, 0),
        ({"l": {"probabilistic": 4 / 3}, "alpha": 0.5}, 4),
        ({"l": {"distinct": 2}}, 0),
    ]
    for rule, at_risk in rules:
        found = shoal.attack(release, name="attribute-disclosure", k=4, **roles, **rule)
        assert found.at_risk == at_risk, rule
        assert shoal.audit(release, k=4, **roles, **rule).holds == found.holds
    given = shoal.attack(
        release, name="attribute-disclosure", k=4, alpha=0.5, options={"threshold": 0.9}, **roles
    )
    assert (given.at_risk, given.figures["threshold"]) == (0, 0.9)


def test_with_categories_single_values_are_held_against_alpha():
    tree = {"tree": {"cancer": ["colon", "breast"], "other": ["flu", "cold"]}}
    illness = ["colon", "colon", "breast", "flu"]
    original = pl.DataFrame({"age": [21, 22, 23, 24], "illness": illness})
    release = original.with_columns(age=pl.Series(["[21, 24]"] * 4))
    asked = {"original": original, "quasi": ["age"], "sensitive": ["illness"], "k": 2, "p": 2}
    asked |= {"hierarchies": {"illness": tree}, "protected": {"illness": ["cancer"]}}
    for alpha, holds in ((0.5, True), (0.4, False)):
        assert shoal.attack(release, name="attribute-disclosure", alpha=alpha, **asked).holds is holds
        assert shoal.audit(release, alpha=alpha, **asked).holds is holds
