"""Tables with several rows of one person: guarantees, risks and attacks count people, not rows."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shoal
from shoal.apps.cli import main
from shoal.apps.samples import sample
from shoal.errors import DataError, InfeasibleError, LimitError, PolicyError
from shoal.judging.attacks import ATTACKS
from shoal.judging.models.l_diversity import ProbabilisticDiversity
from shoal.judging.models.model import Monotone
from shoal.judging.read_case import Received, read_case
from shoal.kernels import people as kernels
from shoal.methods import METHODS
from shoal.policy import Policy
from shoal.policy.suggestions import look_at
from tests import oracles
from tests.oracles import outsider_people as crowd

COUNTING = [name for name, kind in METHODS.items() if kind.can.count_people]
EXAMPLE = pl.DataFrame(
    {
        "person": list("AAABC"),
        "zip": ["02139", "02139", "02138", "02138", "02141"],
        "age": [31, 32, 33, 34, 35],
        "diagnosis": ["flu"] * 4 + ["asthma"],
    }
)
ROLES = {"quasi": ["zip", "age"], "sensitive": ["diagnosis"], "person": ["person"]}
NUMBERED = {**ROLES, "plain": ["row"]}


def reached(found) -> dict[str, object]:
    return {verdict.model.split(" of ")[0]: verdict.reached for verdict in found.verdicts}


# --- the example of the definition ----------------------------------------------------------------------------


def test_five_rows_of_three_people_are_three_anonymous():
    asked = {"k": 3, "l": {"distinct": 2, "probabilistic": 1.5}}
    made = shoal.anonymize(EXAMPLE, seed=1, **ROLES, **asked)
    assert made.people == 3
    assert made.rows == 5
    assert reached(made) == {"3-anonymity": 3, "distinct 2-diversity": 2, "probabilistic 1.5-diversity": 1.5}
    assert made.measures["risk-prosecutor-max"] == pytest.approx(1 / 3)
    assert "5 rows of 3 people" in repr(made)
    assert made.record["people"] == 3
    with pytest.raises(InfeasibleError, match="3 people in 5 rows"):
        shoal.anonymize(EXAMPLE, seed=1, **ROLES, k=4)
    # Whoever counts rows calls it 5-anonymous, and believes in flu with 4/5 instead of 2/3.
    rows = shoal.anonymize(EXAMPLE, seed=1, **{**ROLES, "person": [], "identifier": ["person"]}, k=5)
    assert reached(rows) == {"5-anonymity": 5}
    assert "people" not in rows.record
    rule = {"probabilistic": 1.5}
    with pytest.raises((InfeasibleError, LimitError)):
        shoal.anonymize(EXAMPLE, seed=1, **{**ROLES, "person": [], "identifier": ["person"]}, k=3, l=rule)


def test_several_columns_name_a_person_together():
    table = EXAMPLE.with_columns(clinic=pl.Series(["x", "y", "x", "x", "x"]))
    made = shoal.anonymize(table, seed=1, **{**ROLES, "person": ["clinic", "person"]}, k=4)
    assert made.people == 4
    assert not {"clinic", "person"} & set(made.table.columns)


# --- what counts ----------------------------------------------------------------------------------------------


@st.composite
def visits(draw):
    """Up to eight people with up to four rows each, in any order."""
    rows = []
    for person in range(draw(st.integers(2, 8))):
        home = draw(st.integers(0, 3))
        for _ in range(draw(st.integers(1, 4))):
            zip_code = home if draw(st.integers(0, 3)) else draw(st.integers(0, 3))
            rows.append(
                (f"p{person}", f"0213{zip_code}", draw(st.integers(20, 26)), draw(st.sampled_from("abc")))
            )
    rows = draw(st.permutations(rows))
    table = pl.DataFrame(rows, schema=["person", "zip", "age", "diagnosis"], orient="row")
    return table.with_columns(row=pl.int_range(len(rows)))


def owned(table: pl.DataFrame, release: pl.DataFrame) -> list[crowd.Seen]:
    """The rows of a release with the owners that only the original knows, joined by the number of the row."""
    owner = dict(table.select("row", "person").iter_rows())
    return [
        crowd.Seen((str(row["zip"]), str(row["age"])), owner[int(row["row"])], row["diagnosis"])
        for row in release.iter_rows(named=True)
    ]


def raw(table: pl.DataFrame) -> list[crowd.Seen]:
    return owned(table, table)


@pytest.mark.parametrize("method", COUNTING)
@settings(max_examples=25, deadline=None)
@given(table=visits(), k=st.integers(2, 4), data=st.data())
def test_releases_keep_what_an_outsider_counts(method, table, k, data):
    rule = data.draw(
        st.sampled_from(
            [
                {},
                {"l": {"distinct": 2}},
                {"l": {"probabilistic": 1.5}},
                {"l": {"entropy": 1.5}},
                {"l": {"recursive": (2.0, 2)}},
                {"t": {"equal": 0.4}},
                {"alpha": 0.7},
                {"p": 2},
            ]
        )
    )
    share = data.draw(st.sampled_from([0.0, 0.3]))
    try:
        made = shoal.anonymize(table, seed=3, method=method, suppression=share, k=k, **rule, **NUMBERED)
    except (InfeasibleError, LimitError):
        if len(crowd.people(raw(table))) >= k:
            # No rule about k alone keeps all rows from being one class.
            assert rule
        return
    seen = owned(table, made.table)
    if not seen:
        return
    assert crowd.k(seen) >= k
    kinds = {
        "distinct": lambda need: crowd.distinct_l(seen) >= need,
        "probabilistic": lambda need: crowd.probabilistic_l(seen) >= Fraction(need),
        "entropy": lambda need: crowd.entropy_l(seen) >= need - 1e-9,
        "recursive": lambda need: crowd.recursive_c(seen, need[1]) < need[0],
        "equal": lambda need: crowd.t_equal(seen, raw(table)) <= need + 1e-9,
        "alpha": lambda need: 1 / crowd.probabilistic_l(seen) <= Fraction(need) + Fraction(1, 10**9),
        "p": lambda need: crowd.distinct_l(seen) >= need,
    }
    for key, value in rule.items():
        for kind, need in value.items() if isinstance(value, dict) else [(key, value)]:
            assert kinds[kind](need), (kind, need)
    gone = crowd.people(raw(table)) - crowd.people(seen)
    assert (made.people_suppressed if made.people is not None else made.suppressed) == len(gone)
    assert made.suppressed == table.height - len(seen)


@settings(max_examples=150, deadline=None)
@given(table=visits(), k=st.integers(2, 3))
def test_figures_are_those_of_an_outsider(table, k):
    """Of any release: here of Mondrian's, judged by weak requirements, and audited by its rows and the original."""
    assume(len(crowd.people(raw(table))) >= k)
    made = shoal.anonymize(table, seed=3, k=k, **NUMBERED)
    seen, whole = owned(table, made.table), raw(table)
    weak = {
        "k": 2,
        "l": {"distinct": 2, "probabilistic": 1.1, "entropy": 1.1, "recursive": (9.0, 2)},
        "t": {"equal": 0.9},
        "alpha": 0.9,
        "p": 2,
        "beta": {"basic": 5.0},
        "delta": 5.0,
    }
    found = reached(shoal.audit(made, original=table, **weak, **NUMBERED))
    assert found["2-anonymity"] == crowd.k(seen)
    assert found["distinct 2-diversity"] == crowd.distinct_l(seen)
    assert found["probabilistic 1.1-diversity"] == pytest.approx(float(crowd.probabilistic_l(seen)))
    assert found["entropy 1.1-diversity"] == pytest.approx(crowd.entropy_l(seen))
    assert _number(found["recursive (9, 2)-diversity"]) == pytest.approx(crowd.recursive_c(seen, 2))
    assert found["0.9-closeness (equal)"] == pytest.approx(crowd.t_equal(seen, whole), abs=1e-12)
    assert found["(0.9, k)-anonymity"] == pytest.approx(float(1 / crowd.probabilistic_l(seen)))
    assert found["2-sensitivity"] == crowd.distinct_l(seen)
    assert found["basic 5-likeness"] == pytest.approx(crowd.beta(seen, whole), abs=1e-9)
    assert _number(found["5-disclosure"]) == pytest.approx(crowd.delta(seen, whole), abs=1e-9)
    assert made.measures["risk-prosecutor-max"] == pytest.approx(1 / crowd.k(seen))
    parts = [len(crowd.people(own)) for own in crowd.classes(seen)]
    assert made.measures["risk-prosecutor-mean"] == pytest.approx(len(parts) / sum(parts))
    assert made.measures["unique-after"] == pytest.approx(parts.count(1) / sum(parts))
    before = [len(crowd.people(own)) for own in crowd.classes(whole)]
    assert made.measures["unique-before"] == pytest.approx(before.count(1) / sum(before))


TREE = {"tree": {"all": {"x": ["a", "b"], "y": ["c"]}}}


@settings(max_examples=100, deadline=None)
@given(table=visits(), k=st.integers(2, 3))
def test_figures_with_orders_and_trees_are_those_of_an_outsider(table, k):
    assume(len(crowd.people(raw(table))) >= k)
    roles = {**NUMBERED, "hierarchies": {"diagnosis": TREE}}
    made = shoal.anonymize(table, seed=3, k=k, **roles)
    seen, whole = owned(table, made.table), raw(table)
    weak = {
        "t": {"ordered": 0.9, "hierarchical": 0.9},
        "beta": {"enhanced": 5.0},
        "delta": {"present": 5.0},
        "p": 2,
    }
    found = reached(shoal.audit(made, original=table, **weak, **roles, protected={"diagnosis": ["x"]}))
    there = sorted({one.value for one in whole})
    above = {"a": "x", "b": "x", "c": "y"}

    def in_order(a, b):
        return abs(there.index(a) - there.index(b)) / max(len(there) - 1, 1)

    def in_tree(a, b):
        return 0.0 if a == b else 0.5 if above[a] == above[b] else 1.0

    assert found["0.9-closeness (ordered)"] == pytest.approx(crowd.t_moved(seen, whole, in_order), abs=1e-9)
    assert found["0.9-closeness (hierarchical)"] == pytest.approx(
        crowd.t_moved(seen, whole, in_tree), abs=1e-9
    )
    assert _number(found["enhanced 5-likeness"]) == pytest.approx(crowd.beta_enhanced(seen, whole), abs=1e-9)
    assert found["5-disclosure (present values)"] == pytest.approx(crowd.delta_present(seen, whole), abs=1e-9)
    protected = next(value for name, value in found.items() if "sensitivity" in name)
    assert protected == crowd.categories(seen, {"a": "x", "b": "x", "c": "c"})


def _number(value):
    """Infinity is null in summaries."""
    return math.inf if value is None else value


# --- searches --------------------------------------------------------------------------------------------------


def test_rules_about_shares_are_not_kept_by_merging_if_people_have_several_rows():
    """Half of each class has flu. In both together, three people have asthma, and six of nine have flu."""
    rows = [(f"a{i}", "1", "flu") for i in range(3)] + [(f"s{i}", "1", "asthma") for i in range(3)]
    rows += [(f"b{i}", "2", "flu") for i in range(3)] + [(f"s{i}", "2", "asthma") for i in range(3)]
    table = pl.DataFrame(rows, schema=["person", "zip", "diagnosis"], orient="row")
    roles = {"quasi": ["zip"], "sensitive": ["diagnosis"], "person": ["person"]}
    seen = [crowd.Seen((zip_code,), person, value) for person, zip_code, value in rows]
    assert crowd.probabilistic_l(seen) == 2
    assert crowd.probabilistic_l([crowd.Seen((), one.owner, one.value) for one in seen]) == Fraction(3, 2)
    coded = shoal.Policy.from_keywords(k=2, **roles)
    assert coded.requirements().people
    made = shoal.anonymize(table, seed=1, method="full-domain", k=6, l={"probabilistic": 2}, **roles)
    assert reached(made)["probabilistic 2-diversity"] == 2
    assert made.classes == 2
    model = ProbabilisticDiversity(l=2.0, column=0, column_name="diagnosis")
    assert model.monotone is Monotone.OVER_ROWS
    assert not model.merges(_coded(table, coded).counting)


def _coded(table, policy):
    from shoal import io
    from shoal.policy.encode_table import encode_with_population

    return encode_with_population(io.read(table, policy.read_options()), policy)


@settings(max_examples=40, deadline=None)
@given(table=visits(), data=st.data())
def test_merging_keeps_every_rule_that_says_so(table, data):
    """Models that count people or values; a search prunes by this."""
    coded = _coded(table, Policy.from_keywords(k=2, **NUMBERED))
    assume(not coded.counting.adds_up)
    group_of = np.array(
        data.draw(st.lists(st.integers(0, 1), min_size=coded.rows, max_size=coded.rows)), np.int32
    )
    apart, whole = coded.group_rows(group_of, 2), coded.group_rows(np.zeros(coded.rows, np.int32), 1)
    for policy in ({"k": 3}, {"l": {"distinct": 2}}, {"p": 2}):
        (model,) = Policy.from_keywords(**policy, **NUMBERED).requirements(coded.sensitive).models
        assert model.merges(coded.counting)
        if model.holds_in(apart).any():
            assert model.holds_in(whole).all()


@settings(max_examples=40, deadline=None)
@given(table=visits(), k=st.integers(2, 4), share=st.sampled_from([0.0, 0.2]))
def test_full_domain_finds_the_best_mapping_for_people(table, k, share):
    """Against all mappings, with people counted by hand. A column without a hierarchy shows a value or nothing."""
    roles = {**NUMBERED, "hierarchies": {"zip": "none", "age": "none"}}
    people = [row["person"] for row in table.iter_rows(named=True)]
    best = math.inf
    for shown in range(4):
        cells = [
            (row["zip"] if shown & 1 else "*", row["age"] if shown & 2 else "*")
            for row in table.iter_rows(named=True)
        ]
        crowds = {cell: {p for p, own in zip(people, cells, strict=True) if own == cell} for cell in cells}
        lost = sum(len(crowds[cell]) < k for cell in cells)
        if lost <= share * len(cells) + 1e-9 and lost < len(cells):
            kept = len(cells) - lost
            wide = (0 if shown & 1 else _wide(table, "zip")) + (0 if shown & 2 else _wide(table, "age"))
            top = _wide(table, "zip") + _wide(table, "age")
            best = min(best, (kept * wide + lost * top) / 2 / len(cells))
    try:
        made = shoal.anonymize(table, seed=1, method="full-domain", suppression=share, k=k, **roles)
    except (InfeasibleError, LimitError):
        assert best == math.inf
        return
    assert made.measures["lm"] == pytest.approx(best)


def _wide(table, column):
    return 1 if table[column].n_unique() > 1 else 0


# --- one row per person ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", COUNTING)
@pytest.mark.parametrize("rule", [{}, {"l": {"probabilistic": 2}}])
def test_one_row_per_person_gives_what_rows_give(method, rule):
    random = np.random.default_rng(5)
    table = pl.DataFrame(
        {
            "person": random.permutation(300),
            "zip": random.integers(0, 40, 300).astype(str),
            "age": random.integers(18, 90, 300),
            "diagnosis": random.choice(list("abcde"), 300),
        }
    )
    people = shoal.anonymize(table, seed=7, method=method, k=4, suppression=0.05, **rule, **ROLES)
    rows = {**ROLES, "person": [], "identifier": ["person"]}
    alike = shoal.anonymize(table, seed=7, method=method, k=4, suppression=0.05, **rule, **rows)
    assert people.table.write_ndjson() == alike.table.write_ndjson()
    assert people.people is None
    assert people.measures == alike.measures
    # Only the policy decides what is public: that nobody has several rows is not.
    assert [replace(one, public=True) for one in people.verdicts] == [
        replace(one, public=True) for one in alike.verdicts
    ]
    assert people.card["guarantees"][0]["reached"] == "at least 4"
    if rule:
        return
    asked = {"original": table, "k": 4, "suppression": 0.05}
    for name in ("linkage", "attribute-disclosure"):
        ours, theirs = (
            shoal.attack(made, name=name, **asked, **roles)
            for made, roles in ((people, ROLES), (alike, rows))
        )
        assert (ours.figures, ours.chances.tolist()) == (theirs.figures, theirs.chances.tolist())
    ours, theirs = (
        shoal.report(made, edition="private", **asked, **roles).sections
        for made, roles in ((people, ROLES), (alike, rows))
    )
    same = ("attacks", "risk", "losses", "distributions")
    assert [one for one in ours if one.key in same] == [one for one in theirs if one.key in same]


# --- files and attacks -------------------------------------------------------------------------------------------


def crowded(people=60, seed=2):
    random = np.random.default_rng(seed)
    count = np.minimum(1 + random.geometric(0.4, people), 9)
    owner = random.permutation(np.repeat(np.arange(people), count))
    return pl.DataFrame(
        {
            "person": [f"p{one}" for one in owner],
            "zip": (owner % 7).astype(str),
            "age": 20 + owner % 31 + random.integers(0, 2, len(owner)),
            "diagnosis": random.choice(list("abcd"), len(owner)),
        }
    )


def test_an_audit_of_the_file_counts_people_where_the_original_shows_whose_rows_they_are(tmp_path):
    table, asked = crowded(), {"k": 4, "l": {"probabilistic": 1.5}}
    table.write_csv(tmp_path / "in.csv")
    made = shoal.anonymize(
        tmp_path / "in.csv", seed=1, method="full-domain", suppression=0.3, **asked, **ROLES
    )
    made.table.write_csv(tmp_path / "out.csv")
    audit = shoal.audit(tmp_path / "out.csv", original=tmp_path / "in.csv", suppression=0.3, **asked, **ROLES)
    assert audit.holds
    assert [v.reached for v in audit.verdicts[:2]] == [v.reached for v in made.verdicts[:2]]
    assert (audit.people, audit.people_suppressed) == (made.people, made.people_suppressed)


def test_a_release_that_counts_rows_fails_the_audit_that_counts_people(tmp_path):
    table = crowded()
    rows = {**ROLES, "person": [], "identifier": ["person"]}
    made = shoal.anonymize(table, seed=1, k=4, **rows)
    audit = shoal.audit(made.table, original=table, k=4, **ROLES)
    k = audit.verdicts[0]
    assert not k.holds
    assert k.reached is not None
    assert k.reached < 4


def test_nobody_can_count_people_without_the_original_or_in_classes_that_overlap():
    table = crowded(400)
    made = shoal.anonymize(table, seed=1, k=4, method={"name": "hilbert", "show": "ranges"}, **ROLES)
    assert made.classes > 1
    without = shoal.audit(made.table, k=4, **ROLES)
    assert not without.holds
    assert "original" in without.verdicts[0].detail
    assert "risk-prosecutor-max" not in without.measures
    rules = {"l": {"distinct": 2, "probabilistic": 1.1}, "p": 2}
    with_it = shoal.audit(made.table, original=table, k=4, **rules, **ROLES)
    assert not with_it.holds
    assert "could not be checked" in with_it.verdicts[0].detail
    # Which values a class shows does not depend on whose its rows are.
    told = {verdict.model.split()[0]: verdict.reached for verdict in with_it.verdicts}
    known = {
        v.model.split()[0]: v.reached
        for v in shoal.audit(made, original=table, k=4, **rules, **ROLES).verdicts
    }
    assert told["distinct"] == known["distinct"] is not None
    assert told["2-sensitivity"] == known["2-sensitivity"] is not None
    assert told["probabilistic"] is None
    assert "risk-prosecutor-max" not in with_it.measures
    with pytest.raises(DataError, match="people cannot be counted"):
        shoal.attack(made.table, original=table, k=4, **ROLES)
    assert shoal.audit(made, original=table, k=4, **ROLES).holds


def test_how_few_people_could_own_a_class_of_a_large_table():
    """33,000 classes times 66,000 values are more than 32 bits hold. Two people own each class, with a value each."""
    rows = range(66_000)
    table = pl.DataFrame({"age": rows, "pay": rows, "who": rows}).with_columns(pl.col("age") // 2)
    table = table.with_columns(who=pl.col("pay") // 4 * 2 + pl.col("pay") % 2)
    roles = {"age": {"role": "quasi"}, "pay": {"role": "sensitive"}, "who": {"role": "person"}}
    policy = shoal.Policy.from_dict({"columns": roles, "privacy": {"k": 2}})
    assert read_case(Received(table.drop("who"), original=table), policy).fewest_people == 2


@settings(max_examples=80, deadline=None)
@given(table=visits(), k=st.integers(2, 3), method=st.sampled_from(["mondrian", "hilbert", "agglomerative"]))
def test_how_few_people_could_own_a_class_is_never_more_than_do(table, k, method):
    assume(len(crowd.people(raw(table))) >= k)
    roles = {**NUMBERED, "hierarchies": {"zip": "none"}}
    options = {"mondrian": {"strict": False}, "hilbert": {"show": "ranges"}}.get(method, {})
    made = shoal.anonymize(table, seed=3, k=k, method={"name": method, **options}, **roles)
    seen = owned(table, made.table)
    shown = list(made.table.iter_rows(named=True))
    fits = {
        row["row"]: {at for at, cells in enumerate(shown) if _covers(cells, row)}
        for row in table.iter_rows(named=True)
    }
    exact = crowd.fewest(fits, seen, dict(zip(table["row"], raw(table), strict=True)))
    assert exact <= crowd.k(seen)
    audit = shoal.audit(made.table.drop("row"), original=table.drop("row"), k=k, **{**roles, "plain": []})
    found = audit.verdicts[0]
    if found.detail.startswith("at least"):
        assert k <= found.reached <= exact
    elif found.detail.startswith("could not be checked"):
        assert not found.holds
    else:
        assert found.reached == (
            crowd.k(seen) if audit.people is not None else min(map(len, crowd.classes(seen)))
        )


def test_an_audit_decides_where_too_few_rows_of_a_person_fit_a_class():
    """Two classes of five rows overlap. Of the first, only A could own two; of the second, nobody could."""
    table = pl.DataFrame(
        {
            "person": list("ABCDEFGHAB"),
            "zip": ["1"] * 10,
            "age": [20, 21, 22, 23, 24, 25, 26, 27, 24, 25],
            "diagnosis": ["flu"] * 10,
        }
    )
    ages = ["[20, 24]"] * 5 + ["[23, 27]"] * 5
    release = pl.DataFrame({"zip": ["1"] * 10, "age": ages, "diagnosis": ["flu"] * 10})
    for k, holds in ((4, True), (5, None)):
        found = shoal.audit(release, original=table, k=k, **ROLES).verdicts[0]
        assert found.holds is holds
        assert found.detail.startswith("at least" if holds else "could not be checked")


@pytest.mark.parametrize("show", ["ranges", "sets"])
def test_the_record_says_whose_rows_are_and_is_believed_only_if_it_can_be_true(show):
    table = crowded(400)
    rules = {"k": 4, "l": {"probabilistic": 1.1}}
    made = shoal.anonymize(table, seed=1, method={"name": "hilbert", "show": show}, **rules, **ROLES)
    audit = shoal.audit(made.table, original=table, record=made.record, **rules, **ROLES)
    assert audit.holds
    assert [v.reached for v in audit.verdicts[:2]] == [v.reached for v in made.verdicts[:2]]
    assert shoal.attack(made.table, original=table, record=made.record, k=4, **ROLES).holds
    turned = " ".join(reversed(made.record["owners"].split()))
    for owners in (
        turned,
        "0 " * table.height,
        "1 2 3",
        " ".join(["-1", *made.record["owners"].split()[1:]]),
    ):
        false = shoal.audit(
            made.table, original=table, record={**made.record, "owners": owners}, **rules, **ROLES
        )
        assert not false.holds
        assert "could not be checked" in false.verdicts[0].detail
    with pytest.raises(DataError, match="numbers of rows"):
        shoal.audit(made.table, original=table, record={**made.record, "owners": "a b"}, **rules, **ROLES)


def test_an_audit_finds_a_person_column_that_was_published():
    table = crowded()
    audit = shoal.audit(table, original=table, k=2, **ROLES)
    assert [v.holds for v in audit.verdicts if v.model == "identifiers removed"] == [False]


@settings(max_examples=60, deadline=None)
@given(table=visits(), k=st.integers(2, 3), strict=st.booleans())
def test_linkage_counts_the_people_that_enumeration_finds(table, k, strict):
    assume(len(crowd.people(raw(table))) >= k)
    roles = {**NUMBERED, "hierarchies": {"zip": "none"}}
    made = shoal.anonymize(table, seed=3, k=k, method={"name": "mondrian", "strict": strict}, **roles)
    found = shoal.attack(made, original=table, k=k, adversary="some", **roles)
    shown = list(made.table.iter_rows(named=True))
    owners = [one.owner for one in owned(table, made.table)]
    fits = {
        row["row"]: {at for at, cells in enumerate(shown) if _covers(cells, row)}
        for row in table.iter_rows(named=True)
    }
    known = dict(table.select("row", "person").iter_rows())
    counts = crowd.candidates(fits, owners, known)
    if len(known) == len(set(known.values())):
        return
    assert found.figures["candidates"]["least"] == min(counts.values())
    assert found.figures["candidates"]["mean"] == pytest.approx(sum(counts.values()) / len(counts))
    assert len(found.chances) == len(set(known.values()))
    assert found.success == pytest.approx(sum(1 / count for count in counts.values()) / len(counts))
    assert found.at_risk == 0


def _covers(cells, row):
    ages = [int(number) for number in re.findall(r"\d+", str(cells["age"]))]
    return cells["zip"] in ("*", row["zip"]) and (not ages or ages[0] <= row["age"] <= ages[-1])


@settings(max_examples=60, deadline=None)
@given(table=visits(), k=st.integers(2, 3), strict=st.booleans(), share=st.sampled_from([0.0, 0.3]))
def test_attribute_disclosure_believes_what_enumeration_finds(table, k, strict, share):
    assume(len(crowd.people(raw(table))) >= k)
    roles = {**NUMBERED, "hierarchies": {"zip": "none"}, "suppression": share}
    made = shoal.anonymize(table, seed=3, k=k, method={"name": "mondrian", "strict": strict}, **roles)
    found = shoal.attack(
        made, original=table, name="attribute-disclosure", options={"threshold": 0.6}, k=k, **roles
    )
    shown = list(made.table.iter_rows(named=True))
    fits = {
        row["row"]: {at for at, cells in enumerate(shown) if _covers(cells, row)}
        for row in table.iter_rows(named=True)
    }
    whole = raw(table)
    known = dict(zip(table["row"], whole, strict=True))
    told = crowd.disclosed(fits, owned(table, made.table), known)
    before = crowd.disclosed(
        {row: {at for at, one in enumerate(whole) if one.cells == known[row].cells} for row in known},
        whole,
        known,
    )
    if len(told) == table.height:
        return
    column = found.figures["columns"]["diagnosis"]
    for when, beliefs in (("after", told), ("before", before)):
        assert column[when]["certain"] == pytest.approx(_share(top == 1 for top, _ in beliefs.values()))
        assert column[when]["mean_belief"] == pytest.approx(_share(top for top, _ in beliefs.values()))
    assert len(found.chances) == len(told)
    assert found.success == pytest.approx(_share(own for _, own in told.values()))
    assert found.at_risk == sum(top > Fraction(6, 10) for top, _ in told.values())
    prior = crowd.beliefs(whole)
    blind = {one: max(prior[row.value] for row in whole if row.owner == one) for one in told}
    assert found.baseline == pytest.approx(_share(blind.values()))


def _share(values):
    values = list(values)
    return float(sum(values)) / len(values)


def test_rows_of_one_person_do_not_make_a_value_likely():
    """Three rows of A show flu; of the three people of the class two have it."""
    made = shoal.anonymize(EXAMPLE, seed=1, k=3, **ROLES)
    found = shoal.attack(
        made, original=EXAMPLE, name="attribute-disclosure", options={"threshold": 0.7}, k=3, **ROLES
    )
    assert found.figures["columns"]["diagnosis"]["after"]["mean_belief"] == pytest.approx(2 / 3)
    assert found.at_risk == 0
    assert found.success == pytest.approx((2 / 3 + 2 / 3 + 1 / 3) / 3)


@pytest.mark.parametrize("name", [name for name, kind in ATTACKS.items() if kind.only_rows])
def test_attacks_that_count_rows_say_why_they_refuse(name):
    table = crowded()
    made = shoal.anonymize(table, seed=1, k=4, **ROLES)
    assert ATTACKS[name].only_rows
    with pytest.raises(DataError, match="some people have several rows"):
        shoal.attack(made, original=table, k=4, name=name, **ROLES)


def test_the_private_report_counts_people():
    table = crowded()
    made = shoal.anonymize(table, seed=1, k=4, **ROLES)
    found = shoal.report(made, original=table, edition="private", k=4, **ROLES)
    assert found.smallest == made.verdicts[0].reached
    assert found.risk_after == pytest.approx(1 / found.smallest)
    assert f"{table.height} rows of 60 people" in found.html


def _text(html):
    """What a reader sees, without charts."""
    words = re.sub(r"<(style|script|svg).*?</\1>", "", html, flags=re.S)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", words))


def test_the_public_report_tells_what_is_guaranteed_and_no_number_of_people():
    table = crowded(61)
    rules = {"k": 4, "suppression": 0.1}
    made = shoal.anonymize(table, method="mondrian", **rules, **ROLES)
    found = shoal.report(made, original=table, **rules, **ROLES)
    told = _text(found.html)
    assert f"{made.rows - made.suppressed} rows in " in told
    assert not re.search(r"\b61\b", told)
    assert re.search(r"the chance to find the row of a known person is at most 25\.00%", told)
    assert "4-anonymity yes 4 at least 4" in told
    assert not {section.key for section in found.sections} & {"associations", "questions", "private"}
    # What a class has, and what the attacks count, follows from whose rows they are.
    people = made.measures["risk-prosecutor-mean"]
    assert f"{people:.1%}" not in told
    assert f"{people:.2%}" not in told
    private = _text(shoal.report(made, original=table, edition="private", **rules, **ROLES).html)
    assert f"{people:.2%}" in private
    assert "people in the original 61" in private


def test_the_public_report_of_a_release_that_counts_rows_says_so():
    table = crowded()
    rows = {**ROLES, "person": [], "identifier": ["person"]}
    made = shoal.anonymize(table, k=4, **rows)
    found = shoal.report(made, original=table, k=4, **ROLES)
    assert not found.holds
    told = _text(found.html)
    assert "4-anonymity NO 4" in told
    assert "at most 25.00%" not in told


def test_a_report_needs_to_know_whose_rows_are():
    table = crowded(400)
    made = shoal.anonymize(table, k=4, method={"name": "hilbert", "show": "ranges"}, **ROLES)
    with pytest.raises(DataError, match="people cannot be counted"):
        shoal.report(made.table, original=table, k=4, **ROLES)
    assert shoal.report(made.table, original=table, record=made.record, k=4, **ROLES).holds


def test_the_command_line_counts_people(tmp_path):
    EXAMPLE.write_csv(tmp_path / "in.csv")
    out = tmp_path / "out.csv"
    roles = ["--quasi", "zip,age", "--sensitive", "diagnosis", "--person", "person", "--k", "3"]
    made = CliRunner().invoke(main, ["anonymize", str(tmp_path / "in.csv"), "-o", str(out), *roles])
    assert made.exit_code == 0, made.output
    assert "3 people in 5 rows; every row looks like those of at least 2 other people" in made.output
    whole = ["--original", str(tmp_path / "in.csv")]
    audited = CliRunner().invoke(main, ["audit", str(out), *whole, *roles, "--json"])
    assert audited.exit_code == 0, audited.output
    assert json.loads(audited.output)["people"] == 3
    assert CliRunner().invoke(main, ["audit", str(out), *roles]).exit_code == 9


# --- bad input ----------------------------------------------------------------------------------------------------


def test_rows_of_nobody_are_refused_with_their_number():
    table = EXAMPLE.with_columns(person=pl.Series(["A", None, "A", None, "C"]))
    with pytest.raises(DataError, match=r"'person'.*2 of 5 rows"):
        shoal.anonymize(table, k=2, **ROLES)


def test_one_person_with_most_rows_does_not_pass_for_a_crowd():
    table = pl.DataFrame(
        {
            "person": ["A"] * 90 + [f"p{i}" for i in range(10)],
            "zip": [str(i % 9) for i in range(100)],
            "age": [20 + i % 50 for i in range(100)],
            "diagnosis": ["flu", "asthma"] * 50,
        }
    )
    made = shoal.anonymize(table, seed=1, k=5, **ROLES)
    assert reached(made)["5-anonymity"] >= 5
    with pytest.raises(InfeasibleError, match="11 people in 100 rows"):
        shoal.anonymize(table, seed=1, k=12, **ROLES)


@pytest.mark.parametrize("share", [0.0, 0.2])
@pytest.mark.parametrize("method", COUNTING)
def test_one_person_with_nine_of_ten_rows_keeps_nobody_below_k(method, share):
    """A has 90 of 100 rows, each with other values; a class can hold few rows of others."""
    table = pl.DataFrame(
        {
            "person": ["A"] * 90 + [f"p{i}" for i in range(10)],
            "zip": [f"021{i:02}" for i in range(100)],
            "age": [20 + i % 50 for i in range(100)],
            "diagnosis": ["flu", "asthma"] * 50,
        }
    )
    made = shoal.anonymize(table, seed=1, k=4, method=method, suppression=share, **ROLES)
    assert reached(made)["4-anonymity"] >= 4
    assert made.classes is not None
    # Each class has three of the ten others at least.
    assert made.classes <= 3
    assert made.suppressed <= 100 * share


def test_more_rows_than_people_allow_is_said_before_the_work(monkeypatch):
    """Half of the people have flu at most, whatever the rows say: who has two values counts for both."""

    def never(*_):
        raise AssertionError("the method was asked")

    for kind in METHODS.values():
        monkeypatch.setattr(kind, "anonymize", never)
    rows = [(f"p{i % 4}", str(i), i, "flu") for i in range(40)]
    table = pl.DataFrame(rows, schema=["person", "zip", "age", "diagnosis"], orient="row")
    with pytest.raises(InfeasibleError, match="4 people in 40 rows"):
        shoal.anonymize(table, k=5, **ROLES)
    with pytest.raises(InfeasibleError, match="2"):
        shoal.anonymize(table, k=2, l={"distinct": 2}, **ROLES)
    empty = table.with_columns(person=pl.Series([None, *table["person"][1:]]))
    with pytest.raises(DataError, match=r"'person' says whose a row is, but it is empty in 1 of 40 rows"):
        shoal.anonymize(empty, k=2, **ROLES)
    with pytest.raises(DataError, match=r"'person' says whose a row is, but it is empty in 40 of 40 rows"):
        shoal.anonymize(table.with_columns(person=pl.lit(None, pl.String)), k=2, **ROLES)
    for blank in ("", "  ", "\t"):
        some = table.with_columns(person=pl.Series([blank, blank, *table["person"][2:]]))
        for kind in (pl.String, pl.Categorical):
            with pytest.raises(
                DataError, match="'person' says whose a row is, but it is empty in 2 of 40 rows"
            ):
                shoal.anonymize(some.cast({"person": kind}), k=2, **ROLES)
    numbers = table.with_columns(person=pl.Series([float("nan"), *(float(i % 4) for i in range(39))]))
    with pytest.raises(DataError, match="'person' says whose a row is, but it is empty in 1 of 40 rows"):
        shoal.anonymize(numbers, k=2, **ROLES)
    with pytest.raises(InfeasibleError, match="1 person in 40 rows"):
        shoal.anonymize(table.with_columns(person=pl.lit("A")), k=2, **ROLES)


@pytest.mark.parametrize("method", [name for name in METHODS if name not in COUNTING])
def test_methods_that_count_rows_refuse(method):
    with pytest.raises(PolicyError):
        shoal.anonymize(EXAMPLE, k=2, method=method, l={"distinct": 2}, **ROLES)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"notion": "k-k"}, "k-k is about rows"),
        ({"notion": "probabilistic-k"}, "about rows"),
        ({"population": {"column": "member"}}, "counts its rows as people"),
    ],
)
def test_what_is_not_defined_for_people_is_refused(more, told):
    with pytest.raises(PolicyError, match=told):
        Policy.from_keywords(k=2, **{**ROLES, **more})


def test_a_population_given_as_a_frame_is_refused_too():
    with pytest.raises(PolicyError, match="counts its rows as people"):
        shoal.anonymize(EXAMPLE, population=EXAMPLE, k=2, **ROLES)


def test_pseudonyms_of_an_identifier_would_tie_rows_together():
    with pytest.raises(PolicyError, match="tie rows together"):
        Policy.from_keywords(k=2, identifier=["ward"], publish={"ward": "pseudonym"}, **ROLES)


def test_the_public_card_does_not_tell_how_many_people_classes_have():
    made = shoal.anonymize(crowded(), seed=1, k=4, **ROLES)
    assert [entry["reached"] for entry in made.card["guarantees"]] == ["at least 4"]
    assert "people" in made.card["guarantees"][0]["meaning"]
    assert not {"people", "risk-prosecutor-max"} & {*made.card, *made.card["measures"]}


# --- kernels ------------------------------------------------------------------------------------------------------


@st.composite
def owned_rows(draw):
    rows = draw(st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 4), st.integers(0, 3)), max_size=25))
    if draw(st.booleans()):
        rows.sort(key=lambda row: row[1])
    return (np.array([row[i] for row in rows], np.int32) for i in range(3))


@given(owned_rows())
def test_kernels_count_people_as_their_twins_do(rows):
    group_of, person, codes = rows
    ours, plain = (
        kernels.rows_by_group(group_of, 4, person),
        oracles.people.rows_by_group(group_of, 4, person),
    )
    assert [np.asarray(one).tolist() for one in ours] == [np.asarray(one).tolist() for one in plain]
    by_person = np.argsort(person, kind="stable")
    order, start, ascending = kernels.rows_by_group(group_of[by_person], 4, person[by_person])
    assert ascending
    order = by_person[order]
    assert (
        kernels.count_people(order, start, person).tolist()
        == oracles.people.count_people(order, start, person).tolist()
    )
    found = kernels.once_per_person(order, start, person, codes, 4)
    wanted = oracles.people.once_per_person(order, start, person, codes, 4)
    assert [one.tolist() for one in found] == [one.tolist() for one in wanted]


# --- the sample, and the advice of init -----------------------------------------------------------------------------


def test_most_visitors_come_once_and_few_dozens_of_times():
    table = sample("visits", 30_000)
    often = table.group_by("patient_id").len()["len"]
    assert 0.45 < (often == 1).mean() < 0.65
    assert 0.001 < (often >= 24).mean() < 0.05
    assert 2.5 < often.mean() < 4
    for name in ("birth_date", "sex", "zip"):
        assert table.group_by("patient_id").agg(pl.col(name).n_unique())[name].max() == 1
    assert (table["birth_date"] <= table["visited"]).all()
    ordered = table.with_columns(before=pl.col("visited").shift().over("patient_id"))
    assert ordered.filter(pl.col("before") > pl.col("visited")).is_empty()
    assert set(table["visited"].dt.strftime("%Y-%m")) == {"2024-01"}


def test_the_same_people_come_again_next_month():
    first, second = sample("visits", 5000), sample("visits", 5000, month=2)
    assert set(second["visited"].dt.strftime("%Y-%m")) == {"2024-02"}
    people = ["patient_id", "birth_date", "sex", "zip"]
    both = first.select(people).unique().join(second.select(people).unique(), on="patient_id")
    assert 0.4 < both.height / first["patient_id"].n_unique() < 0.8
    for name in people[1:]:
        assert (both[name] == both[f"{name}_right"]).all()
    with pytest.raises(DataError, match="has no months"):
        sample("census", 10, month=2)
    with pytest.raises(DataError, match="1 to 12"):
        sample("visits", 10, month=13)


def test_a_release_of_visits_that_counts_rows_exposes_people():
    table = sample("visits", 3000)
    roles = {"quasi": ["birth_date", "sex", "zip"], "plain": ["visited", "minutes", "diagnosis"]}
    rows = shoal.anonymize(table, seed=1, k=5, identifier=["patient_id"], **roles)
    people = {**roles, "person": ["patient_id"]}
    assert shoal.audit(rows, original=table, k=5, **people).verdicts[0].reached < 5
    assert shoal.anonymize(table, seed=1, k=5, **people).verdicts[0].reached >= 5


def test_init_says_where_a_key_of_people_repeats():
    told = {guess.name: guess.warning for guess in look_at(sample("visits", 500)).columns}
    assert "role person" in told["patient_id"]
    once = {guess.name: guess.warning for guess in look_at(sample("patients", 500)).columns}
    assert not once["patient_id"]
    assert not once["name"]
    with pytest.warns(UserWarning, match="role person"):
        shoal.suggest(sample("visits", 500))
