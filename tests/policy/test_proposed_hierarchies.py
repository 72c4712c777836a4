"""What `shoal init` proposes for columns that statisticians know: expected values are written by hand."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

import shoal
from shoal.coding.hierarchy.kinds import parse_hierarchy
from shoal.io import ReadOptions
from shoal.policy.suggestions import look_at
from shoal.policy.suggestions.guess import guess_columns
from shoal.policy.suggestions.hierarchy_guess import are_codes, suggest_hierarchy
from shoal.policy.suggestions.known_columns import SIGNS, recognize
from shoal.policy.suggestions.proposals import proposals

MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October"]
STATES = ["AK", "AZ", "CA", "NY", "OH", "TX", "AA", "AE"]
ROWS = 240


def cycle(values):
    return [values[i * 11 % len(values)] for i in range(ROWS)]


PEOPLE = pl.DataFrame(
    {
        "month": cycle(MONTHS),
        "STATE": cycle(STATES),
        "age": [i * 13 % 98 for i in range(ROWS)],
        "icd10_admission": cycle(["E11.9", "I10", "J45.0", "C50.1", "I21.4", "unknown"]),
        "RAC1P": cycle([1, 2, 3, 6, 8, 9]),
        "MSP": cycle([1, 2, 3, 4, 5, 6, None]),
        "LATITUDE": [round(40 + i * 0.0371, 4) for i in range(ROWS)],
        "LONGITUDE": [round(-120 + i * 0.1713, 4) for i in range(ROWS)],
        "country": cycle(["France", "Peru", "Viet Nam", "Italy", "N/A"]),
        "town": cycle(["Ulm", "Bonn", "Kiel", "Korean", "Other Asian", "Unknown"]),
        "children": cycle([0, 1, 2, 3, 4, 5, 6, 7]),
        "weekday": cycle(["Mo", "Di", "Mi", "Do", "Fr", "Sa", "So"]),
        "arrived": [dt.time(i % 24, i % 60) for i in range(ROWS)],
        "spent": [round(10 ** (1 + i % 50 / 10), 2) for i in range(ROWS)],
    }
)
EXPECTED = {
    "month": {"known": "months"},
    "STATE": {"known": "us-states"},
    "age": {"known": "ages"},
    "icd10_admission": {"known": "icd-10"},
    "RAC1P": {"known": "codes"},
    "MSP": {"known": "codes"},
    "LATITUDE": {"known": "coordinates"},
    "LONGITUDE": {"known": "coordinates"},
    "country": {"known": "countries"},
    "town": "none",
    "children": {"widths": [2]},
    "weekday": {"known": "weekdays"},
    "arrived": {"known": "times-of-day"},
    "spent": {"known": "amounts"},
}


def test_what_is_proposed_for_known_columns():
    proposed = {}
    for column in PEOPLE:
        guesses, table = guess_columns(pl.DataFrame([column, PEOPLE["town"].alias("t")]), ReadOptions(), 5)
        values = table[column.name]
        proposed[column.name] = suggest_hierarchy(column.name, values, values.n_unique())
        if guesses[0].role == "quasi":
            assert guesses[0].hierarchy == proposed[column.name]
    assert proposed == EXPECTED


def test_labels_of_an_unedited_release_are_those_of_the_known_groups():
    """No label joins values that have nothing in common: neither "{AA, AE, AK}" nor "2-3" for codes."""
    columns = ["month", "STATE", "age", "RAC1P", "MSP", "country"]
    made = shoal.anonymize(PEOPLE.select(columns), shoal.suggest(PEOPLE.select(columns)))
    allowed = {
        "month": {*MONTHS, "Jan-Mar", "Apr-Jun", "Jul-Sep", "Oct-Dec", "Jan-Jun", "Jul-Dec"},
        "STATE": {*STATES, "Pacific", "Mountain", "Middle Atlantic", "East North Central", "West South Central"}
        | {"Armed Forces", "Northeast", "Midwest", "South", "West"},
        "RAC1P": set("123689"),
        "MSP": set("123456"),
        "country": {"France", "Peru", "Viet Nam", "Italy", "Western Europe", "South America", "South-eastern Asia"}
        | {"Southern Europe", "Europe", "Americas", "Asia"},
    }  # fmt: skip
    for name, labels in allowed.items():
        shown = set(made.table[name].cast(pl.String).drop_nulls())
        assert shown <= {*labels, "*"}, name
    ages = {str(age) for age in range(90)} | {"90+", "80-89", "*"}
    ages |= {f"{low}-{low + width - 1}" for width in (5, 10, 20) for low in range(0, 90, width)}
    assert set(made.table["age"].cast(pl.String)) <= ages


def test_words_for_missing_values_stay_out_of_every_group():
    found = look_at(PEOPLE.select("country", "town", "age"))
    country = found.columns[0]
    assert country.reading.null_values == ("N/A",)
    assert country.told == ("'N/A' means no value (48 rows), and is kept separate from all values",)
    assert 'null_values = ["N/A"]' in found.to_toml()
    codes = ["NA", "ZA", "BW", "DE", "FR"] * 10
    assert look_at(pl.DataFrame({"country": codes})).columns[0].reading.null_values == ()
    names = ["NA", "South Africa", "Botswana", "Germany", "France"] * 10
    assert look_at(pl.DataFrame({"country": names})).columns[0].reading.null_values == ("NA",)
    # Without a known system as well; the other values are each by themselves.
    assert found.columns[1].reading.null_values == ("Unknown",)
    assert found.columns[1].hierarchy == "none"


@pytest.mark.parametrize(
    ("name", "values", "known"),
    [
        ("month", range(1, 13), "months"),
        ("x", range(1, 13), None),
        ("Monat", ["Jan", "Feb", "Mär", "Dez"], "months"),
        ("when", ["Jan", "Feb", "Mar", "Dec"], "months"),
        ("month", ["Jan", "Feb", "Mar", "13"], None),
        ("weekday", [1, 2, 3, 4, 5, 6, 7], None),
        ("dia", ["lunes", "martes", "jueves", "sábado"], "weekdays"),
        ("quarter", [1, 2, 3, 4], "quarters"),
        ("q", ["Q1", "Q2", "Q3", "Q4"], "quarters"),
        ("hour", [0, 7, 13, 23], "times-of-day"),
        ("hour", [0, 7, 13, 99], None),
        ("t", ["07:15", "08:30", "23:59", "00:00"], "times-of-day"),
        ("state", ["CA", "DE", "AL", "CO"], "us-states"),
        ("country", ["CA", "DE", "AL", "CO"], "countries"),
        ("x", ["CA", "DE", "AL", "CO"], None),
        ("x", ["Ohio", "Texas", "Utah", "Maine"], "us-states"),
        ("state", [6, 36, 48, 11], "us-states"),
        ("state", ["NSW", "VIC", "QLD", "WA"], None),
        ("nationality", ["DEU", "FRA", "USA", "GBR"], "countries"),
        ("land", ["France", "Peru", "Scotland", "Italy"], None),
        ("dx", ["E119", "I10", "J450", "C501"], "icd-10"),
        ("room", ["E119", "I10", "J450", "C501"], None),
        ("code", ["E11.9", "I10.0", "J45.0", "C50.1"], "icd-10"),
        ("diag_1", ["250.83", "401", "V58", "E880"], "icd-9"),
        ("drug", ["A10BA02", "N02BE01", "C09AA05", "J01CA04"], "atc"),
        ("isco08", ["2512", "5120", "9112", "0110"], "isco-08"),
        ("isco", [2512, 5120, 9112, 110], None),
        ("nace_rev2", ["10.51", "62.01", "47.11", "86.10"], "nace"),
        ("sic", ["2011", "7372", "0111", "5812"], "sic"),
        ("NUTS3", ["DE212", "FRK26", "ITC11", "ES511"], "nuts"),
        ("age", [3.5, 20.0, 44.1, 97.0], "ages"),
        ("page", [3, 20, 44, 97], None),
        ("age", [3, 20, 44, 997], None),
        ("lat", [52.51, 48.1, 47.9, 50.0], "coordinates"),
        ("lon", [252.51, 48.1, 47.9, 50.0], None),
    ],
)
def test_a_known_hierarchy_needs_all_values_and_a_sign(name, values, known):
    assert recognize(name, pl.Series(list(values))) == known


def test_signs_are_about_known_hierarchies():
    for sign in SIGNS:
        assert parse_hierarchy({"known": sign.known})


@pytest.mark.parametrize(
    ("name", "values", "codes"),
    [
        ("RAC1P", [1, 2, 3, 6, 8, 9], True),
        ("MSP", [1, 2, 3, 4, 5, 6], True),
        ("children", [0, 1, 2, 3, 4, 5], False),
        ("n_visits", [0, 1, 2, 3, 4, 5], False),
        ("education-num", [1, 2, 3, 4, 5], False),
        ("x", [0, 10, 20, 30, 40], False),
        ("started", [2019, 2020, 2021, 2022], False),
        ("x", list(range(16)), False),
        ("x", [0.5, 1.0, 2.0, 3.0], False),
    ],
)
def test_few_whole_numbers_are_codes_unless_their_name_counts(name, values, codes):
    assert are_codes(name, pl.Series(values)) is codes


def test_labelled_numbers_are_codes_however_many_they_are():
    values = pl.Series(list(range(1, 41)))
    labels = {code: f"land {code}" for code in range(1, 41)}
    assert suggest_hierarchy("x", values, 40) == {"widths": [5, 10, 20]}
    assert suggest_hierarchy("x", values, 40, labels=labels) == {"known": "codes"}
    # A label for a missing value alone does not make ages codes.
    assert suggest_hierarchy("x", values, 40, labels={99: "refused"}) == {"widths": [5, 10, 20]}


def test_irregular_bands_are_offered_but_not_first():
    values = pl.Series([round(10 ** (1 + i / 20), 2) for i in range(100)])
    offered = [one.spec for one in proposals("x", values, pl.Series([1] * 100).to_numpy())]
    assert offered[0] == {"known": "amounts"}
    assert any(isinstance(spec, dict) and "cuts" in spec for spec in offered[1:])
