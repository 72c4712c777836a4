"""Rows that can be followed: people look alike, not rows."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.apps.cli import main
from shoal.errors import DataError, InfeasibleError, LimitError, PolicyError
from shoal.kernels import followed as kernels
from shoal.methods import METHODS
from shoal.methods.numbers_of_rows import fewest_left_out
from shoal.pipeline.anonymize import anonymize_file
from shoal.policy import Policy
from tests import oracles
from tests.oracles import outsider_followed as followers

COUNTING = [name for name, kind in METHODS.items() if kind.can.count_people]
ROLES = {
    "quasi": ["zip", "age"],
    "sensitive": ["diagnosis"],
    "person": ["person"],
    "plain": ["row"],
    "publish": {"person": "pseudonym"},
}
RULES = [
    {},
    {"l": {"distinct": 2}},
    {"l": {"probabilistic": 1.5}},
    {"l": {"entropy": 1.5}},
    {"l": {"recursive": (2.0, 2)}},
    {"t": {"equal": 0.4}},
    {"alpha": 0.7},
    {"p": 2},
    {"beta": {"basic": 1.0}},
]


def rows_of(table: pl.DataFrame) -> list[followers.Row]:
    return [
        (row["person"], (str(row["zip"]), str(row["age"])), row["diagnosis"])
        for row in table.iter_rows(named=True)
    ]


@st.composite
def visits(draw):
    """Up to eight people with up to four rows each, in any order."""
    rows = []
    for person in range(draw(st.integers(2, 8))):
        home = draw(st.integers(0, 3))
        for _ in range(draw(st.sampled_from([1, 1, 2, 2, 3, 4]))):
            zip_code = home if draw(st.integers(0, 3)) else draw(st.integers(0, 3))
            rows.append(
                (f"p{person}", f"0213{zip_code}", draw(st.integers(20, 26)), draw(st.sampled_from("abc")))
            )
    rows = draw(st.permutations(rows))
    table = pl.DataFrame(rows, schema=["person", "zip", "age", "diagnosis"], orient="row")
    return table.with_columns(row=pl.int_range(len(rows)))


def crowded(people: int = 60, seed: int = 1) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    often = random.integers(1, 5, people)
    person = np.repeat(np.arange(people), often)
    rows = len(person)
    return pl.DataFrame(
        {
            "person": [f"p{one}" for one in person],
            "zip": [f"0{one}" for one in random.integers(2100, 2110, people)[person]],
            "age": random.integers(20, 60, rows),
            "diagnosis": random.choice(["flu", "asthma", "gout"], rows),
            "row": range(rows),
        }
    )


# --- guarantees ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", COUNTING)
@settings(max_examples=40, deadline=None)
@given(table=visits(), k=st.integers(2, 4), data=st.data())
def test_releases_keep_what_an_outsider_counts(method, table, k, data):
    rule = data.draw(st.sampled_from(RULES))
    share = data.draw(st.sampled_from([0.0, 0.3, 0.6]))
    more = (
        {"order": {"person": data.draw(st.sampled_from(["row", "age"]))}} if data.draw(st.booleans()) else {}
    )
    asked = {"k": k, "suppression": share, **rule, **ROLES, **more}
    whole = rows_of(table)
    often = list(Counter(table["person"]).values())
    needed = followers.fewest_left_out(often, k)
    possible = needed <= int(share * table.height + 1e-9) and needed < table.height
    try:
        made = shoal.anonymize(table, seed=3, method=method, **asked)
    except InfeasibleError:
        assert not possible or rule
        return
    except LimitError:
        assert rule  # enough people share each number of rows, so k alone can be had
        return
    assert possible
    seen = rows_of(made.table)
    assert len(seen) == table.height - made.suppressed
    assert made.suppressed <= share * table.height + 1e-9
    # One token per person, and none that says whose it is.
    name = dict(table.select("row", "person").iter_rows())
    pairs = {(name[row], token) for row, token in made.table.select("row", "person").iter_rows()}
    assert len(pairs) == len({one for one, _ in pairs}) == len({token for _, token in pairs})
    assert followers.k(seen) >= k
    audit = shoal.audit(made.table, original=table, record=made.record, **asked)
    assert audit.holds, audit.verdicts
    alone = shoal.audit(made.table, **asked)
    for found in (made, audit, alone):
        assert found.verdicts[0].reached == followers.k(seen)
        assert found.fewest_people == followers.k(seen)
    if "beta" in rule:
        assert followers.beta(seen, whole) <= 1.0 + 1e-9
    if "alpha" in rule:
        assert followers.probabilistic_l(seen) >= 1 / 0.7 - 1e-9
    if "p" in rule:
        assert followers.distinct_l(seen) >= 2
    if "t" in rule:
        assert followers.t_equal(seen, whole) <= 0.4 + 1e-9
    if "l" in rule:
        ((kind, need),) = rule["l"].items()
        if kind == "recursive":
            assert followers.recursive_c(seen, need[1]) < need[0]
        else:
            reached = {
                "distinct": followers.distinct_l,
                "probabilistic": followers.probabilistic_l,
                "entropy": followers.entropy_l,
            }[kind](seen)
            assert reached >= need - 1e-9


@settings(max_examples=150, deadline=None)
@given(table=visits(), coarse=st.booleans())
def test_an_audit_judges_any_rows_as_an_outsider_does(table, coarse):
    """Whatever made them: here nothing did, or somebody who blurred ages."""
    if coarse:
        table = table.with_columns(age=pl.lit("*"))
    roles = {name: value for name, value in ROLES.items() if name != "plain"} | {"plain": ["row"]}
    rules = {
        "l": {"distinct": 2, "probabilistic": 1.5, "entropy": 1.5, "recursive": (2.0, 2)},
        "t": {"equal": 0.4},
        "alpha": 0.7,
        "p": 2,
        "beta": {"basic": 1.0},
    }
    seen = rows_of(table)
    found = {v.model.split(" of ")[0]: v for v in shoal.audit(table, k=2, **rules, **roles).verdicts}
    wanted = {
        "2-anonymity": followers.k(seen),
        "distinct 2-diversity": followers.distinct_l(seen),
        "probabilistic 1.5-diversity": followers.probabilistic_l(seen),
        "entropy 1.5-diversity": followers.entropy_l(seen),
        "2-sensitivity": followers.distinct_l(seen),
        "0.4-closeness (equal)": followers.t_equal(seen, seen),
        "recursive (2, 2)-diversity": followers.recursive_c(seen, 2),
    }
    for name, value in found.items():
        if name in wanted and value.reached is not None:
            assert value.reached == pytest.approx(float(wanted[name]), rel=1e-9), name
    assert len(set(found) & set(wanted)) == 7, list(found)


# --- how many rows people show ------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(often=st.lists(st.integers(1, 4), min_size=1, max_size=7), least=st.integers(1, 4))
def test_as_few_rows_as_possible_are_left_out(often, least):
    shown = fewest_left_out(np.array(often), least)
    assert (shown <= often).all()
    assert all(count >= least for number, count in Counter(shown.tolist()).items() if number)
    assert sum(often) - shown.sum() == followers.fewest_left_out(often, least)


@given(often=st.lists(st.integers(1, 30), min_size=1, max_size=300), least=st.integers(1, 6))
def test_people_who_are_not_looked_at_share_their_number(often, least):
    shown = fewest_left_out(np.array(often), least)
    assert (shown <= often).all()
    assert all(count >= least for number, count in Counter(shown.tolist()).items() if number)


# --- what audits read ---------------------------------------------------------------------------------------------


def test_lists_of_values_that_nobody_knows_are_told_apart():
    """Without the original, no value of a column has a code."""
    lists = pl.Series([["02130", "02131"]] * 2 + [["02130", "02132"]], dtype=pl.List(pl.String))
    release = pl.DataFrame({"zip": lists, "sick": ["a", "b", "c"]})
    assert shoal.audit(release, quasi=["zip"], sensitive=["sick"], k=2).verdicts[0].reached == 1


# --- attacks ------------------------------------------------------------------------------------------------------


@st.composite
def lists_and_crowds(draw):
    """Rows that some classes cover, lists of rows, and crowds of classes: as arrays."""
    classes, rows = draw(st.integers(1, 4)), draw(st.integers(1, 5))

    def many(values, most, least=1):
        return draw(st.lists(values, min_size=least, max_size=most))

    covering = [sorted(set(many(st.integers(0, classes - 1), 4, 0))) for _ in range(rows)]
    lists = [many(st.integers(0, rows - 1), 4) for _ in range(draw(st.integers(0, 4)))]
    shown = [sorted(many(st.integers(0, classes - 1), 4)) for _ in range(draw(st.integers(0, 4)))]
    holding = [[g for g, own in enumerate(shown) for one in own if one == c] for c in range(classes)]

    def arrays(nested):
        start = np.cumsum([0, *map(len, nested)]).astype(np.int64)
        return start, np.array([one for own in nested for one in own], np.int32)

    return (*arrays(lists), *arrays(covering), *arrays(holding), *arrays(shown), draw(st.integers(0, 2)))


@settings(max_examples=200, deadline=None)
@given(lists_and_crowds())
def test_the_kernel_pairs_lists_and_crowds_as_its_twin_does(given_arrays):
    found = set(zip(*map(list, kernels.fitting_crowds(*given_arrays)), strict=True))
    assert found == set(zip(*map(list, oracles.followed.fitting_crowds(*given_arrays)), strict=True))


def _covers(cells, row):
    """Whether published cells cover a row (zip, age)."""
    ages = [int(number) for number in re.findall(r"\d+", cells[1])]
    return cells[0] in ("*", row[0]) and (not ages or ages[0] <= row[1] <= ages[-1])


@settings(max_examples=60, deadline=None)
@given(table=visits(), k=st.integers(2, 3), share=st.sampled_from([0.3, 0.6]), l=st.booleans())
def test_attacks_find_what_enumeration_finds(table, k, share, l):  # noqa: E741
    roles = {**ROLES, "hierarchies": {"zip": "none"}}
    rule = {"k": k}
    if l:
        rule["l"] = {"probabilistic": 1.2}
    try:
        made = shoal.anonymize(table, seed=3, suppression=share, **rule, **roles)
    except (InfeasibleError, LimitError):
        return
    if not made.table.height:
        return
    known = {}
    for row in table.iter_rows(named=True):
        known.setdefault(row["person"], []).append((row["zip"], row["age"]))
    if len(known) == table.height:
        return
    shown = [(token, cells) for token, cells, _ in rows_of(made.table)]
    fits = followers.candidates(shown, known, _covers, left_out=made.suppressed)
    counts = {person: len(tokens) for person, tokens in fits.items() if tokens}
    asked = {"original": table, "suppression": share, **rule, **roles}
    found = shoal.attack(made, adversary="some", **asked)
    assert len(found.chances) == len(known)
    assert found.figures["candidates"]["least"] == min(counts.values())
    assert found.figures["candidates"]["mean"] == pytest.approx(sum(counts.values()) / len(counts))
    assert found.success == pytest.approx(sum(1 / count for count in counts.values()) / len(known))
    assert found.at_risk == 0
    assert min(counts.values()) >= k
    # Who knows everybody prunes; with few people, all assignments of tokens can be listed.
    tokens = sorted({token for token, _ in shown})
    if len(known) <= 6:
        true = {person: set() for person in known}
        for chosen in itertools.permutations(sorted(known), len(tokens)):
            if all(token in fits[person] for person, token in zip(chosen, tokens, strict=True)):
                for person, token in zip(chosen, tokens, strict=True):
                    true[person].add(token)
        sizes = [len(own) for own in true.values() if own]
        pruned = shoal.attack(made, adversary="members", **asked)
        assert pruned.figures["candidates_after_pruning"]["least"] == min(sizes)
        assert pruned.figures["candidates_after_pruning"]["mean"] == pytest.approx(sum(sizes) / len(sizes))
    # Who knows one row has more candidates: everybody with a row that covers it.
    alone = {
        person: min(
            (len(own) for row in rows if (own := {token for token, cells in shown if _covers(cells, row)})),
            default=0,
        )
        for person, rows in known.items()
    }
    weaker = shoal.attack(made, adversary="row", **asked)
    assert weaker.figures["candidates"]["least"] == min(own for own in alone.values() if own)
    # Beliefs in a value: the share of candidates who show it.
    believed = shoal.attack(made, name="attribute-disclosure", **asked)
    values = {}
    for token, _, value in rows_of(made.table):
        values.setdefault(token, set()).add(value)
    tops = [
        max((sum(value in values[token] for token in own) / len(own) for value in "abc"), default=0)
        for own in fits.values()
        if own
    ]
    tops += [0.0] * (len(known) - len(tops))
    figures = believed.figures["columns"]["diagnosis"]["after"]
    assert figures["mean_belief"] == pytest.approx(sum(tops) / len(known))
    assert figures["certain"] == pytest.approx(sum(top == 1 for top in tops) / len(known))


# --- what is told -------------------------------------------------------------------------------------------------


def test_results_speak_of_people_who_can_be_followed(tmp_path):
    table = crowded()
    table.write_csv(tmp_path / "in.csv")
    asked = {"k": 3, "suppression": 0.2, **ROLES}
    policy = Policy.from_keywords(**asked)
    out, record, keys = tmp_path / "out.csv", tmp_path / "record.json", tmp_path / "keys.csv"
    card = tmp_path / "card.md"
    made = anonymize_file(tmp_path / "in.csv", policy, out, record=record, keys=keys, cards=[card])
    assert "every person looks like at least" in made.whose
    assert "can be followed" in card.read_text()
    assert "all rows of a person" in card.read_text()
    assert {column["name"]: column["role"] for column in made.card["columns"]}["person"] == "person"
    assert next(c.published for c in made.codebook.columns if c.name == "person").startswith("as random")
    assert made.card["guarantees"][0]["reached"] == made.verdicts[0].reached >= 3
    # The written file, with and without the record and the original: k needs neither.
    alone = shoal.audit(out, policy)
    assert alone.verdicts[0].reached == made.verdicts[0].reached
    assert [v.model for v in alone.failing] == ["suppression", "identifiers removed"]
    for more in ({"record": record}, {"original": tmp_path / "in.csv"}):
        found = shoal.audit(out, policy, **more)
        assert found.verdicts[0].reached == made.verdicts[0].reached
        assert found.holds, found.verdicts
    both = shoal.audit(out, policy, record=record, original=tmp_path / "in.csv")
    assert both.holds
    assert both.people == 60
    report = shoal.report(made, policy, original=table, edition="private")
    assert report.smallest == made.verdicts[0].reached
    assert "linkage, knows one row of some people" in report.html
    for edition in ("public", "private"):
        page = shoal.report(made, policy, original=table, edition=edition).html
        words = " ".join(re.sub("<[^>]+>", "", page).split())
        assert "published as pseudonyms, by which rows can be followed" in words
        # How many people a class has does not follow from its rows, so only the private edition says so.
        assert ("everybody is in one" in words) == (edition == "private")
        # What is true only where rows cannot be followed.
        for other in ("and is not published", "counts once in each", "of one row of a person cannot"):
            assert other not in words
    named = dict(pl.read_csv(keys).select("identifier", "pseudonym").iter_rows())
    assert set(pl.read_csv(out)["person"]) <= set(named.values())


def test_the_order_of_rows_and_pseudonyms_tells_nothing():
    """Rows of a person stand anywhere, and tokens are new in each run, even with a seed."""
    table = crowded(200)
    made = [shoal.anonymize(table, seed=seed, k=2, suppression=0.2, **ROLES) for seed in (1, 1, 2)]
    tokens = [set(one.table["person"]) for one in made]
    assert not tokens[0] & tokens[1]
    assert made[0].table["row"].to_list() == made[1].table["row"].to_list() != made[2].table["row"].to_list()
    for one in made:
        places = one.table.with_row_index("at").group_by("person").agg("at", "row").filter(pl.len() >= 0)
        near = [abs(a - b) == 1 for at in places["at"] for a, b in itertools.pairwise(sorted(at))]
        assert sum(near) / len(near) < 0.1
        rising = [a < b for row in places["row"] for a, b in itertools.pairwise(row)]
        assert 0.3 < sum(rising) / len(rising) < 0.7


def test_pseudonyms_that_tear_people_apart_or_join_them_are_found_out():
    table = crowded()
    asked = {"k": 3, "suppression": 0.2, **ROLES}
    made = shoal.anonymize(table, seed=1, **asked)
    rows = made.table.with_row_index("at")
    once = rows.with_columns(person=pl.format("p{}", "at")).drop("at")
    joined = made.table.with_columns(person=pl.lit("p0"))
    for wrong, words in ((once, "several pseudonyms"), (joined, "belong to several people")):
        found = shoal.audit(wrong, original=table, record=made.record, **asked)
        assert found.verdicts[0].holds is None
        assert words in found.verdicts[0].detail
        without = shoal.audit(wrong, original=table, **asked)
        assert "no people with so many rows" in without.verdicts[0].detail
    empty = made.table.with_columns(person=pl.when(pl.int_range(pl.len()) > 2).then("person"))
    assert "3 rows have no pseudonym" in shoal.audit(empty, **asked).verdicts[0].detail
    hidden = shoal.audit(made.table.drop("person"), **asked).verdicts[0]
    assert hidden.holds is None
    assert "could not be checked" in hidden.detail


def test_one_row_per_person_gives_the_release_of_rows():
    table = crowded().with_columns(person=pl.format("x{}", "row"))
    followed = shoal.anonymize(table, seed=1, k=4, **ROLES)
    plain = shoal.anonymize(
        table, seed=1, k=4, **{**ROLES, "publish": None, "person": [], "identifier": ["person"]}
    )
    assert followed.table.drop("person").equals(plain.table)
    assert [v.reached for v in followed.verdicts] == [v.reached for v in plain.verdicts]


# --- bad input ----------------------------------------------------------------------------------------------------


def test_rows_of_nobody_are_refused_with_their_number():
    table = crowded().with_columns(person=pl.when(pl.int_range(pl.len()) > 1).then("person"))
    with pytest.raises(DataError, match=r"'person'.*2 of \d+ rows"):
        shoal.anonymize(table, k=2, **ROLES)


def test_one_person_with_most_rows_loses_them_or_nothing_is_published():
    alone = pl.DataFrame(
        {
            "person": ["A"] * 90 + [f"p{i}" for i in range(10)],
            "zip": [str(i % 9) for i in range(100)],
            "age": [20 + i % 50 for i in range(100)],
            "diagnosis": ["flu", "asthma"] * 50,
            "row": range(100),
        }
    )
    with pytest.raises(
        InfeasibleError, match="At least 89 of 100 rows would have to be left out, but only 50"
    ):
        shoal.anonymize(alone, seed=1, k=5, suppression=0.5, **ROLES)
    made = shoal.anonymize(alone, seed=1, k=5, suppression=0.9, **ROLES)
    assert made.suppressed == 89
    assert made.people_suppressed == 0
    assert made.verdicts[0].reached >= 5
    with pytest.raises(InfeasibleError, match="11 people in 100 rows"):
        shoal.anonymize(alone, k=12, suppression=0.9, **ROLES)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"order": {"person": "visited"}}, "the table has no column 'visited'"),
        ({"order": {"person": "person"}}, "cannot order the rows of a person"),
        ({"order": {"zip": "age"}}, "goes with people whose rows can be followed"),
        ({"publish": None, "order": {"person": "age"}}, "goes with people whose rows can be followed"),
        ({"publish": {"zip": "pseudonym"}}, "goes with identifiers and people"),
        ({"levels": "uniform"}, "place by place"),
        ({"person": ["person", "row"], "plain": []}, "needs one column that names a person"),
        ({"notion": "k-k"}, "k-k is about rows"),
        ({"groups": {"household": ["row"]}, "plain": []}, "only where rows cannot be followed"),
    ],
)
def test_what_does_not_go_together_is_refused_before_the_work(more, told):
    with pytest.raises(PolicyError, match=told):
        shoal.anonymize(crowded(), **{"k": 2, **ROLES, **more})


def test_an_order_needs_values_that_have_one():
    table = crowded().with_columns(row=pl.concat_list("row"))
    with pytest.raises(DataError, match="which have no order"):
        shoal.anonymize(table, k=2, **{**ROLES, "order": {"person": "row"}})


def test_values_that_everybody_has_are_told_where_the_rule_allows_them():
    """Two people with flu and asthma each: two values, entropy 2, and no doubt about either."""
    table = pl.DataFrame(
        {"person": list("AABB"), "zip": ["1"] * 4, "age": [20] * 4, "diagnosis": ["flu", "asthma"] * 2}
    )
    roles = {name: value for name, value in ROLES.items() if name != "plain"}
    made = shoal.anonymize(table, seed=1, k=2, l={"distinct": 2, "entropy": 2}, **roles)
    assert made.holds
    assert any("everybody has one value of `diagnosis`" in note for note in made.notes)
    audit = shoal.audit(made.table, k=2, l={"distinct": 2}, **roles)
    assert any("everybody has one value of `diagnosis`" in note for note in audit.notes)
    # Everybody in the table has these values, so the release adds nothing to a blind guess; but they are certain.
    found = shoal.attack(made, original=table, k=2, name="attribute-disclosure", **roles)
    assert (found.success, found.baseline, found.at_risk) == (1.0, 1.0, 0)
    assert found.figures["columns"]["diagnosis"]["after"]["certain"] == 1
    asked = {"name": "attribute-disclosure", "options": {"threshold": 1.0}}
    assert shoal.attack(made, original=table, k=2, **asked, **roles).at_risk == 2
    with pytest.raises((InfeasibleError, LimitError)):
        shoal.anonymize(table, seed=1, k=2, l={"probabilistic": 1.5}, **roles)


def test_rows_are_sorted_by_what_loses_least_on_a_sample():
    """Everybody has the same three ages, but zip codes in any order: sorted by age, rows are alike place by place."""
    random = np.random.default_rng(1)
    people = 200
    table = pl.DataFrame(
        {
            "person": np.repeat(np.arange(people), 3),
            "age": np.tile([20, 40, 60], people),
            "zip": random.permutation(3 * people),
            "diagnosis": ["flu"] * 3 * people,
            "row": range(3 * people),
        }
    )
    roles = {**ROLES, "hierarchies": {"zip": "none"}}
    made = shoal.anonymize(table, seed=1, k=50, **roles)
    assert made.release.facts["rows_sorted_by"] == "age"
    assert made.losses["age"] == 0
    assert shoal.anonymize(table, seed=1, k=50, **roles, order={"person": "zip"}).losses["age"] > 0


def test_the_command_line_follows_rows(tmp_path):
    crowded().write_csv(tmp_path / "in.csv")
    (tmp_path / "policy.toml").write_text(
        """
[columns]
zip = "quasi"
age = "quasi"
diagnosis = "sensitive"
row = "plain"
person = { role = "person", publish = "pseudonym", order = "row" }
[privacy]
k = 3
[utility]
suppression = 0.2
"""
    )
    given = [str(tmp_path / "in.csv"), "-p", str(tmp_path / "policy.toml"), "-o", str(tmp_path / "out.csv")]
    made = CliRunner().invoke(main, ["anonymize", *given, "--record", str(tmp_path / "record.json")])
    assert made.exit_code == 0, made.output
    assert "every person looks like at least" in " ".join(made.output.split())
    audit = ["audit", str(tmp_path / "out.csv"), "-p", str(tmp_path / "policy.toml"), "--json"]
    told = CliRunner().invoke(main, [*audit, "--record", str(tmp_path / "record.json")])
    assert told.exit_code == 0, told.output
    assert json.loads(told.output)["verdicts"][0]["reached"] >= 3
    attacked = CliRunner().invoke(
        main, ["attack", *audit[1:], "--original", str(tmp_path / "in.csv"), "--adversary", "row"]
    )
    assert attacked.exit_code == 0, attacked.output


def test_a_measure_of_classes_steers_full_domain_where_no_order_is_named():
    made = shoal.anonymize(
        crowded(30), seed=1, k=2, suppression=0.3, **{**ROLES, "hierarchies": {"age": {"widths": [20]}}},
        method="full-domain", measure="dm",
    )  # fmt: skip
    assert followers.k(rows_of(made.table)) >= 2


def test_a_population_is_refused_however_it_is_given():
    table = crowded()
    with pytest.raises(PolicyError, match="counts its rows as people"):
        shoal.anonymize(table, population=table.select("zip", "age"), k=2, **ROLES)
