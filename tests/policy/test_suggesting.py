"""Starter policies: role guesses, hierarchies, uniqueness, and that they work unedited."""

from __future__ import annotations

import datetime as dt
import itertools
import json
from collections import Counter
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal import io
from shoal.coding.encode import encode
from shoal.coding.hierarchy import build
from shoal.coding.hierarchy.date_text import dates_in
from shoal.errors import DataError, HierarchyError
from shoal.policy import Policy
from shoal.policy.suggestions import look_at
from shoal.policy.suggestions.column_loss import own_loss
from shoal.policy.suggestions.column_uniqueness import find_identifying_sets
from shoal.policy.suggestions.content_rules import role_by_content
from shoal.policy.suggestions.missing import special_codes
from shoal.policy.suggestions.number_bands import bands, even_widths
from shoal.policy.suggestions.policy_writer import write_identifying_sets
from shoal.policy.suggestions.read_suggestions import suggest_reading, unit_of
from shoal.policy.suggestions.vocabulary import role_by_name


def roles(found):
    return {guess.name: guess.role for guess in found.columns}


def hierarchies(found):
    return {guess.name: guess.hierarchy for guess in found.columns}


def asked(policy):
    """What a policy requires of sensitive columns: column and rule -> value."""
    return {
        (one.column, one.rule): one.value for one in policy.privacy.requirements if one.column is not None
    }


def usable(frame):
    """Write the policy, read it back, and see that the data fits it and nothing is out of reach."""
    found = look_at(frame)
    text = found.to_toml()
    policy = Policy.from_toml(text)
    table = encode(io.read(frame, policy.read_options()), policy.plans(frame.columns))
    models = policy.models([attribute.name for attribute in table.sensitive])
    if table.rows >= policy.privacy.k:
        assert [model.infeasible(table) for model in models] == [None] * len(models)
    json.dumps(found.summary())
    write_identifying_sets(found)
    return found, policy


HOSPITAL = pl.DataFrame(
    {
        "patient_id": [f"P{i:05}" for i in range(240)],
        "Name": [f"Person {i % 190}" for i in range(240)],
        "e-mail": [f"p{i}@example.org" for i in range(240)],
        "date of birth": [dt.date(1930, 1, 1) + dt.timedelta(days=97 * i) for i in range(240)],
        "sex": ["f", "m"] * 120,
        "zip": [f"0{2100 + i % 37}" for i in range(240)],
        "admitted": [dt.datetime(2024, 1, 1, 8) + dt.timedelta(hours=37 * i) for i in range(240)],
        "weight_kg": [40.0 + (7 * i) % 60 for i in range(240)],
        "blood group": ["A", "B", "0", "AB", None] * 48,
        "remarks": [f"The patient number {i} complained at length about the food." for i in range(240)],
        "diagnosis": [f"illness {i % 13}" for i in range(240)],
        "bmi": [18.5 + i * 0.0371 for i in range(240)],
        "clinic": ["Saint Elsewhere"] * 240,
        "unused": pl.Series([None] * 240, dtype=pl.String),
    }
)


def test_hospital():
    found, policy = usable(HOSPITAL)
    assert roles(found) == {
        "patient_id": "identifier",
        "Name": "identifier",
        "e-mail": "identifier",
        "date of birth": "quasi",
        "sex": "quasi",
        "zip": "quasi",
        "admitted": "quasi",
        "weight_kg": "quasi",
        "blood group": "quasi",
        "remarks": "identifier",
        "diagnosis": "sensitive",
        "bmi": "quasi",
        "clinic": "plain",
        "unused": "drop",
    }
    assert hierarchies(found)["date of birth"] == {"dates": ["month", "year", "decade"]}
    assert hierarchies(found)["admitted"] == {"dates": ["day", "month", "quarter", "year"]}
    assert hierarchies(found)["sex"] == "none"
    assert hierarchies(found)["zip"] == {"mask": "right"}
    assert hierarchies(found)["weight_kg"] == {"widths": [5, 10, 20]}
    assert hierarchies(found)["blood group"] == "none"
    assert policy.privacy.k == 5
    assert asked(policy) == {("diagnosis", "distinct"): 3}
    assert policy.method.name == "mondrian"


def test_reasons_stand_beside_roles_and_no_value_is_written():
    text = look_at(HOSPITAL).to_toml()
    assert "# its name says 'zip'; 37 distinct values in 240 rows" in text
    for value in ("Person", "P00001", "example.org", "illness", "02100", "complained", "Elsewhere", "AB"):
        assert value not in text


def test_adult(adult):
    frame = pl.read_csv(adult / "adult.csv", separator=";")
    found, policy = usable(frame)
    assert set(policy.names("quasi")) == set(frame.columns) - {"salary-class"}
    assert policy.names("sensitive") == ("salary-class",)
    assert asked(policy) == {("salary-class", "equal"): 0.3}
    assert hierarchies(found) == {
        "sex": "none",
        "age": {"known": "ages"},
        **dict.fromkeys(("race", "marital-status", "education", "native-country", "workclass"), "none"),
        "occupation": "none",
        "salary-class": None,
    }
    whole = found.identifying[-1]
    quasi = list(policy.names("quasi"))
    counts = frame.group_by(quasi).len()["len"]
    assert whole.unique == int((counts == 1).sum())


def test_reading_options_are_written_when_they_are_unusual(tmp_path):
    from shoal import io

    path = tmp_path / "a.csv"
    path.write_text("age;sex\n" + "".join(f"{20 + i % 7};{'fm'[i % 2]}\n" for i in range(30)))
    assert Policy.from_toml(look_at(io.read(path)).to_toml()).data.delimiter == ";"
    path.write_text("age,sex\n" + "".join(f"{20 + i % 7},{'fm'[i % 2]}\n" for i in range(30)))
    assert "[data]" not in look_at(io.read(path)).to_toml()
    plain = io.read(path, io.ReadOptions(quote=""))
    assert Policy.from_toml(look_at(plain).to_toml()).data.quote == ""


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("first_name", "identifier"),
        ("LastName", "identifier"),
        ("Social Security No", "identifier"),
        ("customerId", "identifier"),
        ("Employee number", "identifier"),
        ("home address", "identifier"),
        ("country_name", "quasi"),
        ("zip code", "quasi"),
        ("ZipCode", "quasi"),
        ("dateOfBirth", "quasi"),
        ("work-class", "quasi"),
        ("marital.status", "quasi"),
        ("sex", "quasi"),
        ("sexual_orientation", "sensitive"),
        ("Annual income (EUR)", "sensitive"),
        ("ICD10", "sensitive"),
        ("Medikament", "sensitive"),
        ("Geburtsdatum", "quasi"),
        ("page", None),
        ("message", None),
        ("x1", None),
        ("", None),
    ],
)
def test_roles_by_name(name, role):
    found = role_by_name(name)
    assert (found[0] if found else None) == role


@pytest.mark.parametrize(
    ("values", "spec"),
    [
        (range(17, 91), {"widths": [5, 10, 20]}),
        (range(100), {"widths": [10, 50]}),
        (range(0, 200_000, 1000), {"widths": [20_000, 100_000]}),
        (range(8), {"widths": [2]}),
        ([0.0, 0.1, 0.25, 0.4, 0.6, 1.0], {"widths": [0.1, 0.5]}),
        ([1.0, float("inf"), float("nan"), 2.0, 3.0], {"widths": [0.2, 1]}),
        ([float("nan"), float("inf"), -float("inf"), None], "none"),
    ],
)
def test_widths_are_round_and_fit_the_span(values, spec):
    assert even_widths(pl.Series("x", list(values), strict=False)) == spec


@given(st.floats(-1e12, 1e12), st.floats(1e-9, 1e12))
def test_widths_nest_and_stay_below_the_span(low, span):
    series = pl.Series("x", [low, low + span / 3, low + span / 2, low + span])
    spec = even_widths(series)
    if spec != "none":
        widths = spec["widths"]
        assert all(width < (series.max() - series.min()) * (1 + 1e-9) for width in widths)
        for narrow, wide in itertools.pairwise(widths):
            assert abs(wide / narrow - round(wide / narrow)) < 1e-9


@given(
    st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=60)
    | st.lists(st.floats(-1e9, 1e9, allow_subnormal=False), min_size=1, max_size=60)
)
def test_bands_nest_split_the_values_and_build(numbers):
    """Each level has some of the cuts of the one below, and each band has a value."""
    series = pl.Series("x", numbers)
    spec = bands(series)
    if spec == "none":
        assert series.n_unique() < 3 or series.max() - series.min() < 1e-9 * max(1, abs(series.max()))
        return
    build(series.unique(), spec)
    for fine, coarse in itertools.pairwise(spec["cuts"]):
        assert set(coarse) < set(fine)
    for cuts in spec["cuts"]:
        assert cuts == sorted(set(cuts))
        assert len(set(series.cut(cuts, left_closed=True))) == len(cuts) + 1


def test_bands_follow_the_distribution():
    """Cuts are round, near the median of equally frequent values, and by powers in a heavy tail."""
    even = bands(pl.Series(range(1, 101)))["cuts"]
    assert even[-1] == [50]
    assert even[-2] == [20, 50, 80]
    powers = bands(pl.Series([round(10 ** (2 + at / 100), 2) for at in range(400)]))[
        "cuts"
    ]  # 100 to a million
    assert powers[-2:] == [[1000, 10000, 100000], [10000]]
    # Most stay a day or two, a few for months: the values that most have are not split first.
    stays = [1] * 500 + [2] * 300 + list(range(3, 100)) * 2

    def lost(cut):
        halves = [stay for stay in stays if stay < cut], [stay for stay in stays if stay >= cut]
        return sum(len(half) * len(set(half)) for half in halves)

    (first,) = bands(pl.Series(stays))["cuts"][-1]
    best, whole = min(map(lost, range(2, 100))), len(stays) * 99
    assert first > 2
    assert lost(first) <= best + 0.1 * (whole - best) < lost(50)


@pytest.mark.parametrize(
    ("counts", "cuts", "alone", "levels"),
    [
        # Ten values of five rows each: nothing has to be joined. Two halves of five values: four ninths are lost.
        ([5] * 10, [[5]], 0.0, (4 / 9,)),
        # Two values of three rows are joined in the half of five values, so six of 46 rows lose four ninths.
        ([3, 3] + [5] * 8, [[5]], 6 / 46 * 4 / 9, (4 / 9,)),
        # One value of three rows takes a neighbour of five along.
        ([3] + [5] * 9, [[5]], 8 / 48 * 4 / 9, (4 / 9,)),
        # All are too few, and so is everybody: everything is lost.
        ([1, 1, 1], [[1]], 1.0, (2 / 3 * 0.5,)),
    ],
)
def test_what_a_hierarchy_loses_by_itself(counts, cuts, alone, levels):
    series = pl.Series([value for value, count in enumerate(counts) for _ in range(count)])
    found = own_loss(series, {"cuts": cuts}, 5)
    assert found.alone == pytest.approx(alone)
    assert found.levels == pytest.approx(levels)


def test_what_free_ranges_lose_by_themselves():
    assert own_loss(pl.Series([1, 2, 3, 4]), "none", 2).alone == pytest.approx(1 / 3)
    assert own_loss(pl.Series([1, 2, 3, 4, 5]), "none", 2).alone == pytest.approx((2 * 1 + 3 * 2) / 4 / 5)
    assert own_loss(pl.Series(["a", "a", "b", "b"]), "none", 2).alone == 0.0
    assert own_loss(pl.Series(["a", "b"]), {"widths": [5]}, 2) is None


def test_the_loss_is_shown_with_each_hierarchy():
    """Twenty people of each age and sex: nothing is lost by itself, and nothing together."""
    frame = pl.DataFrame({"age": [20 + i % 20 for i in range(400)], "sex": ["f"] * 200 + ["m"] * 200})
    found = look_at(frame, together=True)
    for guess in found.columns:
        assert (guess.loss.alone, guess.loss.together, guess.loss.rows) == (0.0, 0.0, 400)
    text = found.to_toml()
    assert (
        "# information loss (LM) at the k below: 0 % with all columns (400 rows, method mondrian); by itself 0 %"
        in text
    )
    # Bands of 5 years cover 4 of the other 19 ages, bands of 10 cover 9, and so on.
    assert found.columns[0].loss.levels == pytest.approx((4 / 19, 9 / 19, 1))
    assert "# loss with the whole column at levels 1 to 3: 21.1 %, 47.4 %, 100.0 %" in text
    assert found.summary()["columns"][0]["loses"]["together"] == 0.0
    alone = look_at(frame)
    assert alone.columns[0].loss.together is None
    assert "# information loss (LM) at the k below: by itself 0 %" in alone.to_toml()


def test_losses_together_are_those_of_the_release():
    """Each age has each town once: one of the two must become `*` for four of five rows, or both for fewer."""
    import shoal

    frame = pl.DataFrame(
        {"age": [20 + i // 10 for i in range(200)], "town": [f"t{i % 10}" for i in range(200)]}
    )
    found = look_at(frame, together=True)
    policy = Policy.from_toml(found.to_toml())
    made = shoal.anonymize(frame, policy.replace(privacy={"k": 5}) if hasattr(policy, "replace") else policy)
    for guess in found.columns:
        assert guess.loss.alone == 0.0
        assert guess.loss.together == pytest.approx(made.losses[guess.name])
    assert sum(guess.loss.together for guess in found.columns) > 0.1


# --- codes for missing ----------------------------------------------------------------------------------------

AGES = [20 + i % 50 for i in range(200)]


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        (AGES + [-9] * 3, [-9]),
        (AGES + [-9] * 2 + [-8, -1], [-9, -8, -1]),
        (AGES + [-1] * 5, [-1]),
        (AGES + [999] * 3, [999]),
        ([*AGES, 997, 998, 999, 999, 999], [997, 998, 999]),
        (AGES + [99] * 4, [99]),
        ([0.5 * i for i in range(50)] + [-99.0] * 5, [-99]),
        ([100 * i for i in range(300)] + [99_999] * 9, [99_999]),
        (AGES + [-9] * 4 + [999] * 4, [-9, 999]),
        # These may be values like others.
        ([*AGES, -9], []),
        ([*AGES, 999], []),
        (list(range(100)) * 2, []),
        (list(range(17, 91)) * 3 + [99] * 5, []),
        ([i - 9 for i in range(19)] * 9, []),
        ([-1, 0, 1, 2, 3, 4, 5, 6] * 9, []),
        ([-1.5] * 9 + [float(i) for i in range(20)], []),
        ([1, 2, 3, 9] * 9, []),
        (AGES + [500] * 9, []),
    ],
)
def test_special_numbers_at_the_ends_are_codes(values, codes):
    assert special_codes(pl.Series(values)) == codes


def test_special_days_are_codes():
    days = pl.Series([*DAYS, *[dt.date(9999, 12, 31)] * 3, *[dt.date(1800, 1, 1)] * 4])
    assert special_codes(days) == ["1800-01-01", "9999-12-31"]
    assert special_codes(pl.Series([*DAYS, dt.date(9999, 12, 31)])) == []
    later = [dt.date(1960 + i, 3, 5) for i in range(40)]
    assert special_codes(pl.Series([*later, *[dt.date(1970, 1, 1)] * 9])) == []  # an ordinary day here


@pytest.mark.parametrize(
    ("texts", "codes", "dtype"),
    [
        (["714000", "12000", "9000", "N"] * 5, ("N",), pl.Int64),
        (["1.5", "2.25", "n/a", "bbbb"] * 5, ("bbbb", "n/a"), pl.Float64),
        (["2020-01-31", "2020-02-01", "-"] * 5, ("-",), pl.Date),
        # Words among words, codes with zeros in front, and words that may be values.
        (["yes", "no", "N"] * 5, (), pl.String),
        (["true", "false", "N"] * 5, (), pl.String),
        (["01234", "01235", "N"] * 5, (), pl.String),
        (["12", "13", "90+"] * 5, (), pl.String),
        (["12", "13", "none"] * 5, (), pl.String),
    ],
)
def test_words_beside_numbers_are_codes_if_nobody_has_them_as_values(texts, codes, dtype):
    found = suggest_reading(pl.Series("x", texts), io.ReadOptions())
    assert found.reading.null_values == codes
    assert found.values.dtype == dtype


def test_other_words_beside_numbers_are_asked_about():
    found = look_at(pl.DataFrame({"hours": ["12", "13", "14", "90+"] * 10, "sex": ["f", "m"] * 20}))
    assert found.columns[0].warning == (
        "most texts are numbers, but 10 texts are not, among them '90+': if they mean no value, list them in "
        "null_values of this column"
    )
    rare = look_at(pl.DataFrame({"hours": ["12", "13", "14", "15"] * 10 + ["Maier"], "n": [1] * 41}))
    assert "1 text is not: if" in rare.columns[0].warning
    assert "Maier" not in rare.to_toml()


def test_a_policy_with_codes_is_used_unedited_and_the_card_says_so():
    import shoal

    people = pl.DataFrame(
        {
            "AGEP": [18 + i % 60 for i in range(300)],
            "VALP": ["N" if i % 3 else str(1000 * (100 + i % 77)) for i in range(300)],
            "WKHP": [-9 if i % 10 == 0 else 5 + i % 70 for i in range(300)],
        }
    )
    policy = shoal.suggest(people)
    assert policy.columns["VALP"].null_values == ("N",)
    assert policy.columns["WKHP"].null_values == ("-9",)
    result = shoal.anonymize(people, policy)
    texts = " ".join(result.table.select(pl.all().cast(pl.String)).fill_null("").to_numpy().ravel())
    assert "N" not in texts
    assert "-9" not in texts
    assert result.card["codes_for_missing_are_null"] == ["VALP", "WKHP"]
    assert shoal.audit(result.table, policy, original=people).holds


@pytest.mark.parametrize(
    ("texts", "unit"),
    [
        (["12 €", "13,50 €"], "€"),
        (["EUR 12", "EUR 13"], "EUR"),
        (["$1,000", "$12"], "$"),
        (["80 kg", "75"], "kg"),
        (["12 €", "13 $"], ""),
        (["A12", "A13"], ""),
        (["12", "13"], ""),
        (["12 €", "13", "14", "15"], ""),
    ],
)
def test_units_are_known_ones_next_to_most_numbers(texts, unit):
    assert unit_of(pl.Series(texts)) == unit


# --- names with their content ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        ("iage", range(20, 60), "quasi"),
        ("AGEP", range(0, 95), "quasi"),
        ("PINCP", range(0, 90_000, 1000), "sensitive"),
        ("HINCP", [0.5 + 999 * i for i in range(50)], "sensitive"),
        ("WAGP", range(0, 90_000, 1000), "sensitive"),
        ("DPHY", [1, 2] * 20, "sensitive"),
        ("DEAR", [1, 2] * 20, "sensitive"),
        ("RAC1P", [1, 2, 3] * 9, "quasi"),
        ("ppsex", [1, 2] * 9, "quasi"),
        ("doby", [1950 + i % 50 for i in range(90)], "quasi"),
        # The content says otherwise, or the letters around are too many.
        ("page", range(1, 400), None),
        ("message", range(20, 60), None),
        ("PINCP", [1, 2] * 20, None),
        ("DPHY", range(100), None),
        ("since", range(0, 90_000, 1000), None),
        ("x1", range(50), None),
    ],
)
def test_shortened_names_are_matched_by_content_too(name, values, role):
    series = pl.Series(name, list(values))
    found = role_by_content(name, series, series.n_unique())
    assert (found[0] if found else None) == role


@pytest.mark.parametrize(
    ("values", "role"),
    [
        ([4.137 + 0.0713 * i for i in range(100)], "quasi"),  # a clinical measure
        ([(7919 * i) % 100_003 for i in range(100)], "quasi"),  # an amount
        (range(5000, 5100), "identifier"),  # rows are numbered
        ([10_000_000 + (7919 * i) % 89_999_999 for i in range(100)], "identifier"),  # keys of one length
    ],
)
def test_measures_with_many_digits_are_no_identifiers(values, role):
    found, policy = usable(pl.DataFrame({"lab": list(values), "sex": ["f", "m"] * 50}))
    assert roles(found)["lab"] == role
    assert not (role == "quasi" and policy.columns["lab"].hierarchy in (None, "none"))


_KEYS = [f"L{(7919 * i) % 100_003}" for i in range(100)]
_NUMBERS = [(7919 * i) % 100_003 for i in range(100)]


@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        # Words such as loan and treatment sound sensitive, but these columns number people and their files.
        ("loan_id", _NUMBERS, "identifier"),
        ("loan_number", _KEYS, "identifier"),
        ("treatment_no", [number // 2 for number in _NUMBERS], "identifier"),
        ("outcome_ref", _KEYS, "identifier"),
        ("credit", _KEYS, "identifier"),
        ("PERNR", _NUMBERS, "identifier"),
        ("earnp", range(5000, 5100), "identifier"),
        ("Patientennummer", _NUMBERS, "identifier"),
        ("téléphone", ["01 23"] * 50 + ["01 45"] * 50, "identifier"),
        # What names people names them whatever the column is called, and however often they occur.
        ("smoker_contact", [f"p{i % 9}@example.org" for i in range(100)], "identifier"),
        ("employer_line", [f"+49 30 12345{i % 9}" for i in range(100)], "identifier"),
        ("payments", [f"DE89 3704 0044 0532 0130 {i % 9:02d}" for i in range(100)], "identifier"),
        # These do not.
        ("salary", _NUMBERS, "sensitive"),
        ("salary", [100_000 + number for number in _NUMBERS], "sensitive"),
        ("PINCP", _NUMBERS, "sensitive"),
        ("no_of_drugs", [number % 40 for number in _NUMBERS], "sensitive"),
        ("number_inpatient", [number % 40 for number in _NUMBERS], "quasi"),
        ("num_lab_procedures", [number % 70 for number in _NUMBERS], "quasi"),
        ("party_id", [1, 2, 3, 4] * 25, "sensitive"),
        ("diagnosis", ["flu", "gout", "cold", "none"] * 25, "sensitive"),
        ("icd_code", [f"A{i % 30}" for i in range(100)], "sensitive"),
    ],
)
def test_keys_with_sensitive_names_and_contacts_are_identifiers(name, values, role):
    table = pl.DataFrame({name: list(values), "sex": ["f", "m"] * 50})
    assert roles(look_at(table))[name] == role


# --- uniqueness -----------------------------------------------------------------------------------------------

cells = st.sampled_from([None, "a", "b", "c", "d"])


@given(st.integers(1, 5).flatmap(lambda d: st.lists(st.tuples(*[cells] * d), min_size=1, max_size=12)))
def test_shares_of_unique_rows_are_those_of_a_plain_count(rows):
    names = [f"q{j}" for j in range(len(rows[0]))]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    sets, looked_at = find_identifying_sets(frame, names)
    assert looked_at == len(rows)
    assert sets

    def alone(columns):
        keys = [tuple(row[names.index(name)] for name in columns) for row in rows]
        return sum(count == 1 for count in Counter(keys).values())

    for one in sets:
        assert one.unique == alone(one.columns)
        assert one.share == one.unique / len(rows)
    for size in (1, 2):
        # A larger set is left out where a part of it says as much.
        best = max(
            alone(some)
            for n in range(1, size + 1)
            for some in itertools.combinations(names, min(n, len(names)))
        )
        assert max(one.unique for one in sets if len(one.columns) <= size) == best


def test_very_long_tables_are_sampled(monkeypatch):
    monkeypatch.setattr("shoal.policy.suggestions.column_uniqueness.MOST_ROWS", 50)
    found = look_at(pl.DataFrame({"age": range(200), "sex": ["f", "m"] * 100}))
    assert (found.rows, found.looked_at) == (200, 50)
    assert found.identifying[0].unique == 50
    assert "counted on 50 random rows" in found.to_toml()


# --- odd tables -----------------------------------------------------------------------------------------------


def test_nothing_to_look_at():
    with pytest.raises(DataError, match="0 rows"):
        look_at(pl.DataFrame({"a": []}))
    with pytest.raises(DataError):
        look_at(pl.DataFrame())


@pytest.mark.parametrize(
    "name", ["a.b", "a b", 'say "hi"', "back\\slash", "🐟", "line\nbreak", "#x", "", "tab\t", "é"]
)
def test_any_column_name(name):
    frame = pl.DataFrame(
        {name: ["x", "y"] * 20, "age": list(range(20)) * 2, f"{name} salary": list(range(4)) * 10}
    )
    _, policy = usable(frame)
    assert set(policy.columns) == set(frame.columns)
    assert list(asked(policy).values()) == [2]


def test_every_type_of_column():
    n = 40
    frame = pl.DataFrame(
        {
            "flag": [True, False] * 20,
            "cents": [Decimal(i % 9) / 4 for i in range(n)],
            "clock": [dt.time(i % 24) for i in range(n)],
            "took": [dt.timedelta(minutes=i % 11) for i in range(n)],
            "kind": pl.Series(["a", "b", "c", "d", "e"] * 8, dtype=pl.Categorical),
            "grade_level": pl.Series(["a", "b"] * 20, dtype=pl.Enum(["a", "b"])),
            "tags": [[1, 2]] * n,
            "raw": [b"x"] * n,
            "where": [{"x": i} for i in range(n)],
            "tiny": pl.Series([i % 7 for i in range(n)], dtype=pl.UInt8),
            "floaty": [float("nan"), float("inf"), 1.0, 2.0, None] * 8,
            "stamp": pl.Series([dt.datetime(2024, 1, 1 + i % 28) for i in range(n)]).dt.replace_time_zone(
                "UTC"
            ),
            "text_date": [f"2024-0{1 + i % 9}-11" for i in range(n)],
        }
    )
    found, _ = usable(frame)
    assert roles(found)["tags"] == roles(found)["raw"] == roles(found)["where"] == "identifier"
    assert hierarchies(found)["text_date"] == {"dates": ["month", "quarter"]}


@pytest.mark.parametrize("rows", [1, 2, 3, 9, 12])
def test_tiny_tables(rows):
    diseases = [["flu", "cold"][i % 2] for i in range(rows)]
    frame = pl.DataFrame({"age": range(20, 20 + rows), "name": ["x"] * rows, "disease": diseases})
    found, policy = usable(frame)
    assert policy.privacy.k == (2 if rows < 9 else 3)
    assert roles(found) == {"age": "quasi", "name": "identifier", "disease": "sensitive"}


@pytest.mark.parametrize(
    "columns",
    [
        {"name": ["a", "b", "c"]},
        {"diagnosis": ["a", "b", "a"]},
        {"name": ["a", "b", "c"], "diagnosis": ["a", "b", "a"]},
        {"name": ["a", "b", "c"], "site": ["x"] * 3},
    ],
)
def test_one_column_becomes_a_quasi_identifier_in_any_case(columns):
    _, policy = usable(pl.DataFrame(columns))
    assert len(policy.names("quasi")) == 1


def test_sensitive_columns_with_different_needs():
    frame = pl.DataFrame(
        {
            "age": [20 + i % 30 for i in range(60)],
            "disease": [f"d{i % 12}" for i in range(60)],
            "smoker": ["y", "n"] * 30,
            "party": ["one"] * 60,
        }
    )
    _, policy = usable(frame)
    assert asked(policy) == {("disease", "distinct"): 3, ("smoker", "equal"): 0.3}


def test_l_is_what_the_values_leave_room_for():
    """Twelve values, ten of them once: k = 5 allows 20 classes, l = 3 only 10 (a rare value each), l = 2 all 20."""
    frame = pl.DataFrame(
        {
            "age": [20 + i % 30 for i in range(100)],
            "disease": ["a"] * 45 + ["b"] * 45 + [f"r{i}" for i in range(10)],
        }
    )
    found, policy = usable(frame)
    assert asked(policy) == {("disease", "distinct"): 2}
    assert "# disease: 12 values, frequent enough: every class shows at least 2 of them" in found.to_toml()
    enough = frame.with_columns(disease=pl.Series(["a"] * 40 + ["b"] * 40 + [f"r{i}" for i in range(20)]))
    assert asked(usable(enough)[1]) == {("disease", "distinct"): 3}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        # A rare yes: classes without it reveal little, so nothing asks for one in every class.
        ([1] * 3 + [0] * 97, ("equal", 0.2)),
        ([1] * 40 + [0] * 60, ("equal", 0.3)),
        # Missing is not a value: yes and nothing are one value and no requirement, yes, no and nothing are two.
        ([1] * 40 + [None] * 60, None),
        ([1] * 3 + [0] * 37 + [None] * 60, ("equal", 0.2)),
        # Missing does not stand in for one of the values that a class shows.
        ([i % 30 for i in range(80)] + [None] * 20, ("distinct", 4)),
        ([i % 30 for i in range(100)], ("distinct", 3)),
        # Nine of ten are missing, or zero: a class of five would often need a rare value.
        ([i % 9 for i in range(10)] + [None] * 90, ("equal", 0.2)),
        ([i % 9 + 1 for i in range(10)] + [0] * 90, ("equal", 0.2)),
    ],
)
def test_each_sensitive_column_gets_what_suits_its_distribution(values, expected):
    frame = pl.DataFrame({"age": [20 + i % 30 for i in range(100)], "disease": values})
    found, policy = usable(frame)
    assert list(asked(policy).items()) == (
        [] if expected is None else [(("disease", expected[0]), expected[1])]
    )
    assert all(f"# disease: {one.reason}"[:60] in found.to_toml() for one in found.protections)


def test_a_rare_value_does_not_cost_much_detail():
    """Thirty of a thousand people have it; a class of five without it is as safe as the whole table nearly is."""
    frame = pl.DataFrame(
        {"age": [20 + i % 50 for i in range(1000)], "disease": [int(i % 33 == 0) for i in range(1000)]}
    )
    _, policy = usable(frame)
    tables = policy.to_dict()
    others = [Policy.from_dict({**tables, "privacy": own}) for own in ({"k": 5, "p": 2}, {"k": 5})]
    measured = [shoal.anonymize(frame, one).measures["lm"] for one in (policy, *others)]
    ours, diverse, only_k = measured
    assert ours < 2 * only_k + 0.01 < diverse
    rows = shoal.anonymize(frame, policy).table
    shares = rows.group_by("age").agg(pl.col("disease").mean())["disease"]
    assert shares.max() <= frame["disease"].mean() + 0.2 + 1e-9


def test_missing_codes_next_to_other_values_and_labels_among_words():
    ages = [18 + row % 70 for row in range(700)] + [92, 95, 97]
    frame = pl.DataFrame(
        {
            "age": [*ages, *[99] * 60],
            "race": (["White", "Korean", "Other Asian", "N/A", "unknown"] * 200)[:763],
            "letter": (["a", "n", "-", "b"] * 200)[:763],
        }
    )
    found = {guess.name: guess for guess in look_at(frame).columns}
    assert found["age"].reading.null_values == ("99",)
    assert found["race"].reading.null_values == ("N/A", "unknown")
    assert "kept separate from all values" in found["race"].told[0]
    # What may be somebody's value stays one.
    assert found["letter"].reading.null_values == ()
    # A few people of 99, or a group of the oldest that follows the others without a gap, are people.
    assert special_codes(pl.Series([*ages, 99, 99, 99])) == []
    assert special_codes(pl.Series([*ages, 96, 98, *[99] * 60])) == []
    # Unknown is a part of no group of values.
    policy = Policy.from_toml(look_at(frame).to_toml())
    rows = shoal.anonymize(frame, policy.override(["privacy.k=5"]), seed=1).table
    assert not any("N/A" in text or "unknown" in text for text in rows["race"].drop_nulls().cast(pl.String))


def test_many_columns():
    frame = pl.DataFrame({f"c{j}": [(i * (j + 3)) % (2 + j % 9) for i in range(50)] for j in range(200)})
    found, policy = usable(frame)
    assert len(policy.columns) == 200
    assert len(found.identifying) <= 10


column_values = st.one_of(
    st.sampled_from([st.none(), st.integers(-5, 5), st.integers(-(2**60), 2**60)]),
    st.sampled_from([st.floats(), st.sampled_from(["a", "b", "c"]), st.text(max_size=6), st.booleans()]),
    st.sampled_from([st.dates(), st.datetimes()]),
    # Real files have these next to each other, in all shares.
    st.lists(
        st.sampled_from(
            [
                *(
                    "12",
                    "13",
                    "140",
                    "1.5",
                    "1,5",
                    "1.234,5",
                    "5 €",
                    "€ 7",
                    "N",
                    "?",
                    "n/a",
                    "90+",
                    "-9",
                    "007",
                    "word",
                    "",
                ),
                *("2020-01-31", "31.12.2020", "1.2.1999", "12/31/2020", "01/02/2020", "31.12.2020 10:15"),
            ]
        ),
        min_size=1,
        max_size=4,
    ).map(st.sampled_from),
    st.just(st.sampled_from([*range(20, 30), -9, 99, 999])),
)


@settings(max_examples=60)
@given(st.data())
def test_any_table_gets_a_policy_that_fits_it(data):
    rows = data.draw(st.integers(1, 30))
    names = data.draw(st.lists(st.text(max_size=5), min_size=1, max_size=4, unique=True))
    words = st.sampled_from(["", " age", "_salary", " id", " name", " zip"])
    columns = {}
    for name in names:
        kind = (
            st.one_of(data.draw(column_values), st.none())
            if data.draw(st.booleans())
            else data.draw(column_values)
        )
        columns[name + data.draw(words)] = data.draw(st.lists(kind, min_size=rows, max_size=rows))
    frame = pl.DataFrame(columns, strict=False)
    if all(column.null_count() == rows for column in frame):
        return
    usable(frame)


DAYS = [dt.date(1930, 1, 1) + dt.timedelta(days=41 * i) for i in range(200)]


@pytest.mark.parametrize(
    ("form", "spelling"),
    [
        ("%d.%m.%Y", "dd.mm.yyyy"),
        ("%d/%m/%Y", "dd/mm/yyyy"),
        ("%m/%d/%Y", "mm/dd/yyyy"),
        ("%Y/%m/%d", "yyyy/mm/dd"),
        ("%d-%m-%Y", "dd-mm-yyyy"),
        ("%d.%m.%Y %H:%M", "dd.mm.yyyy hh:mm"),
    ],
)
def test_dates_of_other_spellings_are_told_and_not_sorted_as_text(form, spelling):
    texts = [day.strftime(form) for day in DAYS[:-4]]
    levels = {"dates": [*(["day"] if "%H" in form else []), "month", "year", "decade"]}
    for name in ("Geburtsdatum", "when"):
        found, policy = usable(
            pl.DataFrame({name: [*texts, "?", "n/a", "?", "k.A."], "sex": ["f", "m"] * 100})
        )
        guess = found.columns[0]
        assert (guess.role, guess.hierarchy, guess.warning) == ("quasi", levels, "")
        assert policy.columns[name].dates.format == form
        assert policy.columns[name].null_values == ("?", "k.A.", "n/a")
        assert f"# dates are written as {spelling}; check this" in found.to_toml()
        assert "'?', 'k.A.', 'n/a' beside dates means no value (4 rows)" in found.to_toml()
        # Words that may be somebody's value are counted, and not named.
        odd, _ = usable(pl.DataFrame({name: [*texts, "?", "gone", "none", "n/a"], "sex": ["f", "m"] * 100}))
        guess = odd.columns[0]
        assert (guess.role, guess.hierarchy) == ("quasi", "none")
        assert guess.warning.startswith(
            f"looks like dates in the format {spelling}: tell Shoal so in the policy"
        )
        assert "2 texts are not dates: " in guess.warning
        assert f"# WARNING: {guess.warning}\n" in odd.to_toml()
        assert "gone" not in odd.to_toml()
        assert odd.summary()["columns"][0]["warning"] == guess.warning
    with pytest.raises(HierarchyError, match=f"in the format {spelling}"):
        build(pl.Series(texts), "auto")


def test_one_date_too_few_is_no_column_of_dates():
    texts = [day.strftime("%d.%m.%Y") for day in DAYS]
    assert dates_in(pl.Series(texts[:190] + ["word"] * 10)).others == 10
    assert dates_in(pl.Series(texts[:189] + ["word"] * 11)) is None
    assert dates_in(pl.Series(["31.02.2001", "99.99.2001"])) is None
    assert dates_in(pl.Series(["1.2.3", "10.0.0"])) is None
    assert dates_in(pl.Series(["01/02/2001", "03/04/2001"])).spelling == "dd/mm/yyyy or mm/dd/yyyy"
    assert dates_in(pl.Series(["1.2.2001", None])).spelling == "dd.mm.yyyy"


def test_words_among_iso_dates_are_counted_and_named_only_where_they_are_frequent():
    texts = [str(day) for day in DAYS]
    frequent, _ = usable(pl.DataFrame({"born": [*texts, *["verloren"] * 5, "Maier"]}))
    assert "6 texts are not dates, among them 'verloren'" in frequent.columns[0].warning
    assert 'null_values = ["verloren"]' in frequent.to_toml()
    assert "Maier" not in frequent.to_toml()
    rare, _ = usable(pl.DataFrame({"when": [*texts, *["verloren"] * 4]}))
    assert (rare.columns[0].role, rare.columns[0].hierarchy) == ("quasi", "none")
    assert "4 texts are not dates: " in rare.columns[0].warning
    assert "verloren" not in rare.to_toml()
    known, policy = usable(pl.DataFrame({"when": [*texts, "unbekannt"]}))
    assert (known.columns[0].warning, policy.columns["when"].null_values) == ("", ("unbekannt",))
    with pytest.raises(HierarchyError, match=r"null_values"):
        build(pl.Series([*texts, "verloren"]), "auto")
    assert look_at(pl.DataFrame({"born": texts})).columns[0].warning == ""
    build(pl.Series(texts), "auto")


def test_comments_stand_apart_from_what_they_are_about():
    frame = pl.DataFrame(
        {
            "age": list(range(60)),
            "diagnosis": [f"d{i % 9}" for i in range(60)],
            "a long name of a salary": [f"s{i % 2}" for i in range(60)],
        }
    )
    for line in look_at(frame).to_toml().splitlines():
        assert line.startswith("#") or "#" not in line or " #" in line
