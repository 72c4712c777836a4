"""Minimality: what the choice of classes reveals, by trying every table; and groups whose choice reveals nothing."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import permutations, product

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.coding.column_plan import ColumnPlan
from shoal.coding.encode import encode
from shoal.coding.roles import QUASI, SENSITIVE
from shoal.errors import DataError, LimitError, PolicyError
from shoal.judging.attacks.minimality import Minimality
from shoal.judging.attacks.possible_releases import arrangements, outcomes
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.l_diversity import ProbabilisticDiversity
from shoal.judging.models.probabilistic_k import CandidateDiversity, ProbabilisticK
from shoal.judging.models.requirements import Requirements
from shoal.methods import METHODS
from shoal.methods.cells.ring import assignments
from shoal.support.run import Run
from tests.inputs.coded_tables import with_changes

PLACE = {"column": 0, "column_name": "s"}
CLASSES = Requirements(models=(KAnonymity(k=2), ProbabilisticDiversity(l=2.0, **PLACE)))
RINGS = Requirements(models=(ProbabilisticK(k=2), CandidateDiversity(l=2, shares=True, **PLACE)))
EXAMPLE = pl.DataFrame({"age": [1, 2, 3, 4, 5, 6], "s": list("aabbcc")})
ROLES = {"quasi": ["age"], "sensitive": ["s"], "k": 2, "l": {"probabilistic": 2}}


def coded(labels):
    frame = pl.DataFrame({"age": range(1, len(labels) + 1), "s": [str(label) for label in labels]})
    table = encode(frame, [ColumnPlan("age", QUASI, None), ColumnPlan("s", SENSITIVE, None)])
    return with_changes(table, sensitive_codes=np.asfortranarray(np.array(labels, np.int32)[:, None]))


def tables_above(method, requirements, labels, most):
    """Tables with these values whose release makes some value of somebody likelier than 1 in `most`."""
    by_release = defaultdict(list)
    for arranged in sorted(set(permutations(labels))):
        table = coded(arranged)
        for key, likely in outcomes(method, table, np.array(arranged), requirements, Run.start(1)).items():
            by_release[key].append((arranged, likely))
    found = Counter()
    for given in by_release.values():
        total = sum(likely for _, likely in given)
        for person in range(len(labels)):
            for value in set(labels):
                belief = sum(likely for arranged, likely in given if arranged[person] == value) / total
                if belief > 1 / most + 1e-9:
                    found.update({arranged for arranged, _ in given})
    return len(found), len(set(permutations(labels)))


@pytest.mark.parametrize("name", ["ring", "lexicographic", "hilbert"])
def test_eighteen_of_ninety_tables(name):
    """The example: ages 1..6, values aabbcc, l = 2."""
    found = tables_above(METHODS[name](), RINGS if name == "ring" else CLASSES, [0, 0, 1, 1, 2, 2], 2)
    assert found == (18, 90)


@pytest.mark.parametrize("name", ["lexicographic", "hilbert"])
@pytest.mark.parametrize(
    "labels", ["aabbcc", "aabcd", "aabbcdef", "aaabbcde", "aabbccdd", "abcdefg", "aaabbbcc"]
)
def test_blind_groups_reveal_nothing(name, labels):
    codes = [ord(letter) - ord("a") for letter in labels]
    if len(set(permutations(codes))) > 2600:
        codes = codes[:6]
    assert tables_above(METHODS[name](blind=True), CLASSES, codes, 2)[0] == 0


def test_blind_groups_split_where_both_halves_hold():
    found = METHODS["lexicographic"](blind=True).anonymize(
        coded([0, 1, 1, 2, 2, 2, 1, 0]), CLASSES, Run.start(1)
    )
    # 0112 holds, 2210 too; 01 and 12 hold, 22 does not, so 2210 stays whole.
    sizes = sorted(Counter(found.region_of.tolist()).values())
    assert sizes == [2, 2, 4]


def test_blind_groups_refuse_what_they_cannot_begin_with():
    """80 rows begin as 64 and 16; most of the last 16 have one value."""
    labels = [1 + i % 2 for i in range(64)] + [0] * 10 + [1] * 6
    with pytest.raises(LimitError, match="2 runs of rows, and 1 of them"):
        METHODS["lexicographic"](blind=True).anonymize(coded(labels), CLASSES, Run.start(1))


@pytest.mark.parametrize("method", ["ring", "lexicographic", "hilbert"])
def test_the_attack_finds_the_only_table(method):
    notion = {"notion": "probabilistic-k"} if method == "ring" else {}
    release = shoal.anonymize(EXAMPLE, **ROLES, **notion, method=method)
    found = shoal.attack(release, original=EXAMPLE, **ROLES, **notion, method=method, name="minimality")
    assert found.figures["exact"]
    assert found.figures["tables"] == 90
    assert found.figures["tables_that_give_the_release"] == 1
    assert found.at_risk == 6
    assert found.success == 1.0
    assert not found.holds


def test_blind_groups_withstand_the_attack():
    method = {"name": "lexicographic", "blind": True}
    release = shoal.anonymize(EXAMPLE, **ROLES, method=method)
    found = shoal.attack(release, original=EXAMPLE, **ROLES, method=method, name="minimality")
    assert found.holds
    assert found.figures["largest"] <= 0.5


def test_larger_tables_are_estimated():
    """A chain over tables that give the same release: close to counting all of them where that can be done."""
    frame = pl.DataFrame({"age": range(1, 13), "s": list("abcabdcdabcd")})
    release = shoal.anonymize(frame, **ROLES, method="lexicographic")
    asked = {"original": frame, **ROLES, "method": "lexicographic", "name": "minimality", "seed": 1}
    found = shoal.attack(release, **asked, options={"reruns": 300})
    assert not found.figures["exact"]
    assert any("estimates" in note for note in found.notes)
    assert 0 < found.figures["tables_that_give_the_release"] <= 301


def test_the_estimate_is_close_to_all_tables(monkeypatch):
    monkeypatch.setattr("shoal.judging.attacks.minimality.MOST_TABLES", 0)
    release = shoal.anonymize(EXAMPLE, **ROLES, method="mondrian")
    asked = {"original": EXAMPLE, **ROLES, "method": "mondrian", "name": "minimality", "seed": 1}
    estimate = shoal.attack(release, **asked, options={"reruns": 3000})
    monkeypatch.undo()
    exact = shoal.attack(release, **asked)
    assert estimate.chances == pytest.approx(exact.chances, abs=0.08)


def test_it_refuses_what_did_not_look_at_values():
    asked = {"quasi": ["age"], "sensitive": ["s"], "k": 2, "method": "lexicographic"}
    release = shoal.anonymize(EXAMPLE, **asked)
    with pytest.raises(DataError, match="did not look at them"):
        shoal.attack(release, original=EXAMPLE, **asked, name="minimality")
    with pytest.raises(PolicyError, match="must be at least 1"):
        Minimality(reruns=0)


def test_at_two_the_ring_of_the_paper_is_safe():
    """Neighbours differ, and there are two assignments: everybody has one of two different values."""
    for size in range(3, 8):
        for values in product("abc", repeat=size):
            if any(values[i] == values[i - 1] for i in range(size)):
                continue
            # Cell i covers i and i + 1, so its owner is one of them; turned by one, all are the other.
            for turn in (0, 1):
                shown = [values[(cell + turn) % size] for cell in range(size)]
                for person in range(size):
                    assert shown[person] != shown[person - 1]


def test_another_release_is_not_taken_for_this_one():
    release = shoal.anonymize(EXAMPLE, **ROLES, method="lexicographic")
    with pytest.raises(DataError, match="cannot reproduce"):
        shoal.attack(release.table, original=EXAMPLE, **ROLES, method="mondrian", name="minimality")


def test_arrangements():
    found = [tuple(one.tolist()) for one in arrangements(np.array([1, 0, 1, 2], np.int32))]
    assert found == sorted(set(permutations([0, 1, 1, 2])))


def test_the_coins_of_rings_are_fair():
    """With two choices there are two assignments; with three, every pair has a third of the draws."""
    drawn = dict(assignments(4, 3))
    assert sum(drawn.values()) == pytest.approx(1.0)
    for position in range(4):
        for owner in range(4):
            share = sum(likely for owners, likely in drawn.items() if owners[position] == owner)
            assert share == pytest.approx(0.0 if (owner - position) % 4 == 3 else 1 / 3, abs=0.01)
