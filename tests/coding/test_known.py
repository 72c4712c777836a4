"""Known hierarchies: every code of every system has a chain of nested nodes to `*`, and unknown codes are named."""

from __future__ import annotations

import datetime as dt
import itertools
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.coding.hierarchy import build, to_csv
from shoal.coding.hierarchy.kinds import Misspelled, parse_hierarchy
from shoal.coding.hierarchy.known import KNOWN
from shoal.coding.hierarchy.known.code_system import CodeSystem
from shoal.coding.hierarchy.known.listed import Listed, plain
from shoal.errors import HierarchyError

PAGE = Path(__file__).parents[2] / "docs" / "hierarchies.md"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
DIGITS = "0123456789"


def chains(values, name, **more):
    """The names of each value from level 0 to the top, by an export of the hierarchy."""
    series = values if isinstance(values, pl.Series) else pl.Series(values)
    lines = to_csv(build(series, {"known": name, **more})).splitlines()
    return {line.split(";")[0]: tuple(line.split(";")[1:]) for line in lines}


def chain(value, name, **more):
    """The names above one value, next to an empty cell, which is under `*` only."""
    series = value if isinstance(value, pl.Series) else pl.Series([value])
    made = build(pl.concat([series, pl.Series([None], dtype=series.dtype)]), {"known": name, **more})
    code = made.locate(series)
    return tuple(made.names(code, code, level=level)[0] for level in range(1, len(made.levels)))


def all_codes(name):
    """Codes of a system, made from its structure."""
    kind = KNOWN[name]
    if issubclass(kind, Listed):
        return [entry.spellings[0] for entry in kind.entries]
    return {
        "times-of-day": [f"{hour:02}:{minute:02}" for hour in range(24) for minute in range(60)],
        "nuts": [
            f"{land}{one}{two}{three}"
            for land in ("AT", "DE", "EL")
            for one in "123"
            for two in "0A"
            for three in "01Z"
        ],
        "postcodes": [f"{number:05}" for number in range(0, 100_000, 73)]
        + ["SW1A 1AA", "M1 1AE", "B33 8TH", "CR2 6XH", "DN55 1PT", "K1A 0B1", "1012 AB", "02108-1234"],
        "icd-9": [f"{number:03}" for number in range(1, 1000)]
        + [f"E{number:03}" for number in range(1000)]
        + [f"V{number:02}" for number in range(1, 92)],
        "icd-10": [
            f"{letter}{number:02}.{digit}" for letter in LETTERS for number in range(100) for digit in "09"
        ]
        + ["C4A.0", "C7A", "C7B", "D3A", "I1A.0", "I5A", "J4A.0", "M1A.00X0", "O9A.2", "Z3A.40"],
        "atc": [
            f"{letter}{number:02}{group}{chemical}{substance}"
            for letter in "ABCDGHJLMNPRSV"
            for number in (1, 5, 16)
            for group in "AX"
            for chemical in "AB"
            for substance in ("01", "52")
        ],
        "isco-08": [
            "0110",
            "0210",
            "0310",
            *(str(number) for number in range(1111, 9630) if re.fullmatch("[1-9][1-6][1-9].", str(number))),
        ],
        "nace": [
            f"{division:02}.{last:02}"
            for division in (1, 3, 5, 9, 10, 33, 35, 36, 39, 41, 68, 84, 99)
            for last in (11, 19, 90)
        ],
        "sic": [
            f"{number:04}" for number in range(100, 9999, 7) if number // 100 not in (18, 19, 68, 69, 90)
        ],
        "prefixes": [a + b + c for a in "AB" for b in "12" for c in ("", "x", "y")],
        "codes": [*map(str, range(30)), "N/A", "x"],
    }[name]


SYSTEMS = [name for name, kind in KNOWN.items() if issubclass(kind, CodeSystem)]


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_code_has_a_chain_of_nested_nodes(name):
    codes = all_codes(name)
    assert len(set(codes)) == len(codes) > 3
    hierarchy = build(pl.Series(codes), {"known": name})
    assert hierarchy.size == len(codes)
    assert hierarchy.levels[-1].names.to_list() == ["*"]
    heights = {len(names) for names in chains(codes, name).values()}
    assert heights == {len(hierarchy.levels) - 1}
    for below, above in itertools.pairwise(hierarchy.levels):
        assert set(above.starts) <= set(below.starts)
    for level in hierarchy.levels:
        assert level.names.null_count() == 0
        assert level.names.n_unique() == len(level.names), "two nodes of a level have one name"
    # A code alone has the same chain as among all others.
    among = chains(codes, name)
    for code in codes[:: max(1, len(codes) // 40)]:
        assert chain(code, name) == among[code]


@pytest.mark.parametrize("name", SYSTEMS)
def test_names_of_nodes_are_read_as_what_they_contain(name):
    """A node contains exactly the codes whose chain has its name, by the text of the label alone."""
    codes = all_codes(name)
    spec = parse_hierarchy({"known": name})
    found = chains(codes, name)
    for level in range(1 if name != "codes" else 0, len(next(iter(found.values()))) - 1):
        labels = sorted({names[level] for names in found.values()} - set(codes))
        for label, meaning in zip(labels, spec.meanings([*labels, *codes]), strict=False):
            inside = {code for code in codes if found[code][level] == label}
            assert {code for code in codes if meant(meaning, code)} >= inside, label
            if name not in ("postcodes", "times-of-day"):
                assert {code for code in codes if meant(meaning, code)} == inside, label


def meant(meaning, code):
    if meaning.kind == "set":
        return code in meaning.values
    if meaning.kind == "range":
        return meaning.low <= code and (meaning.high is None or code < meaning.high)
    assert meaning.kind == "starts-with"
    beginnings = (meaning.text,) if meaning.text else meaning.values
    return code.startswith(tuple(beginnings))


@pytest.mark.parametrize("name", KNOWN)
def test_the_documentation_shows_each_with_an_example(name):
    kind = KNOWN[name]
    shown = " → ".join(f"`{one}`" for one in (*kind.sample, "*"))
    assert f"| `{name}` | {kind.levels} | {shown} |" in PAGE.read_text()
    first = pl.Series([kind.sample[0]])
    if not issubclass(kind, CodeSystem) and name != "iso-dates":
        first = first.cast(pl.Float64 if "." in kind.sample[0] else pl.Int64)
    assert chain(first, name) == (*kind.sample[1:], "*")


@pytest.mark.parametrize(
    ("name", "value", "above"),
    [
        ("months", "August", ("Jul-Sep", "Jul-Dec")),
        ("months", "märz", ("Jan-Mar", "Jan-Jun")),
        ("months", "févr.", ("Jan-Mar", "Jan-Jun")),
        ("months", "DIC", ("Oct-Dec", "Jul-Dec")),
        ("months", "06", ("Apr-Jun", "Jan-Jun")),
        ("months-by-season", "Dec", ("Dec-Feb", "Dec-May")),
        ("months-by-season", "enero", ("Dec-Feb", "Dec-May")),
        ("months-by-season", "11", ("Sep-Nov", "Jun-Nov")),
        ("weekdays", "Fr", ("Mon-Fri",)),
        ("weekdays", "dimanche", ("Sat-Sun",)),
        ("weekdays", "miércoles", ("Mon-Fri",)),
        ("weekdays", "Sat.", ("Sat-Sun",)),
        ("quarters", "2. Quartal", ("Q1-Q2",)),
        ("seasons", "Herbst", ("autumn-winter",)),
        ("times-of-day", "00:05", ("00:00-00:59", "00:00-05:59", "00:00-11:59")),
        ("times-of-day", "23:59:59", ("23:00-23:59", "18:00-23:59", "12:00-23:59")),
        ("countries", "DEU", ("Western Europe", "Europe")),
        ("countries", "Viet Nam", ("South-eastern Asia", "Asia")),
        ("countries", "u.s.a.", ("Northern America", "Americas")),
        ("countries", "Côte d’Ivoire", ("Western Africa", "Africa")),
        ("countries", "MEX", ("Central America", "Americas")),
        ("us-states", "AK", ("Pacific", "West")),
        ("us-states", "AA", ("Armed Forces", "Armed Forces")),
        ("us-states", "AE", ("Armed Forces", "Armed Forces")),
        ("us-states", "new york", ("Middle Atlantic", "Northeast")),
        ("us-states", "11", ("South Atlantic", "South")),
        ("us-states", "PR", ("U.S. territories", "U.S. territories")),
        ("nuts", "ITC11", ("ITC1*", "ITC*", "IT*")),
        ("nuts", "FR1", ("FR1", "FR1*", "FR*")),
        ("postcodes", "SW1A 1AA", ("SW1A *", "SW-*", "S*")),
        ("postcodes", "90210", ("902*", "90*", "9*")),
        ("icd-10", "I21.4", ("I21*", "I20-I25", "I00-I99")),
        ("icd-10", "S7200", ("S72*", "S70-S79", "S00-T98")),
        ("icd-10", "D63", ("D63*", "D60-D64", "D50-D89")),
        ("icd-10", "D49.2", ("D49*", "D49*", "C00-D49")),
        ("icd-10", "Z3A.40", ("Z3A*", "Z30-Z39", "Z00-Z99")),
        ("icd-10", "Y07.0", ("Y07*", "X85-Y09", "V00-Y99")),
        ("icd-9", "8.45", ("008*", "001-009", "001-139")),
        ("icd-9", "4019", ("401*", "401-405", "390-459")),
        ("icd-9", "V58.69", ("V58*", "V50-V59", "V01-V91")),
        ("icd-9", "E880.9", ("E880*", "E880-E888", "E000-E999")),
        ("atc", "N02BE01", ("N02BE*", "N02B*", "N02*", "N*")),
        ("atc", "N02", ("N02", "N02", "N02*", "N*")),
        ("isco-08", "0110", ("011*", "01*", "0*")),
        ("nace", "C25.11", ("25.1*", "25*", "section C")),
        ("nace", "47", ("47", "47*", "section G")),
        ("nace", "6201", ("62.0*", "62*", "section J")),
        ("sic", "0111", ("011*", "01*", "01-09")),
        ("sic", "7372", ("737*", "73*", "70-89")),
    ],
)  # fmt: skip
def test_chains_of_single_codes(name, value, above):
    assert chain(value, name) == (*above, "*")


def test_december_and_january_are_neighbours_by_season():
    names = ["January", "February", "March", "November", "December"]
    made = build(pl.Series(names), {"known": "months-by-season"})
    assert made.leaves.to_list() == ["December", "January", "February", "March", "November"]
    assert made.levels[1].names.to_list() == ["Dec-Feb", "Mar-May", "Sep-Nov"]
    plain_year = build(pl.Series(names), {"known": "months"})
    assert plain_year.leaves.to_list() == names


@pytest.mark.parametrize("name", [name for name in SYSTEMS if issubclass(KNOWN[name], Listed)])
def test_no_spelling_means_two_entries(name):
    seen = {}
    for at, entry in enumerate(KNOWN[name].entries):
        for text in filter(None, entry.spellings):
            assert seen.setdefault(plain(text), at) == at, text


def test_lists_are_complete():
    assert len(KNOWN["us-states"].entries) == 50 + 1 + 5 + 3
    regions = {}
    for entry in KNOWN["us-states"].entries:
        regions.setdefault(entry.above[1], []).append(entry)
    # The Census Bureau counts 9 + 12 + 17 + 13 states, the District of Columbia among those of the South.
    assert [len(regions[one]) for one in ("Northeast", "Midwest", "South", "West")] == [9, 12, 17, 13]
    assert len({entry.above[0] for entry in KNOWN["countries"].entries}) == 23  # 22 regions and Antarctica
    assert len(KNOWN["countries"].entries) == 249 + 1  # ISO 3166-1, and Kosovo
    codes = [entry.spellings for entry in KNOWN["countries"].entries]
    assert all(re.fullmatch("[A-Z]{2}", two) and re.fullmatch("[A-Z]{3}", three) for two, three, *_ in codes)
    assert {len({entry[at] for entry in codes}) for at in (0, 1, 2)} == {250}


@pytest.mark.parametrize("name", [name for name in SYSTEMS if name not in ("codes", "prefixes")])
@settings(max_examples=30, deadline=None)
@given(text=st.text(min_size=1, max_size=12))
def test_unknown_codes_are_named_with_what_to_do(name, text):
    system = KNOWN[name]()
    if system.place(system.tidy(text)) is not None:
        assert len(chains([text], name)) == 1
        return
    with pytest.raises(HierarchyError) as caught:
        build(pl.Series([text, all_codes(name)[0]]), {"known": name})
    words = str(caught.value)
    assert words.startswith(f"'{name}' is for {system.title}, but 1 value of the column is none of them: ")
    assert "null_values" in words
    assert "hierarchy file" in words


@pytest.mark.parametrize("name", SYSTEMS)
def test_labels_follow_from_the_code_and_not_from_other_rows(name):
    """Any part of the codes gives each of them the same chain."""
    codes = all_codes(name)
    whole = chains([*codes, None], name)
    random = np.random.default_rng(4)
    for size in (2, 5, 20):
        part = [codes[at] for at in random.choice(len(codes), min(size, len(codes)), replace=False)]
        assert chains([*part, None], name).items() <= whole.items()


def test_missing_values_are_under_the_root_only():
    made = build(pl.Series(["OH", None, "NY"]), {"known": "us-states"})
    assert made.leaves.to_list() == ["NY", "OH", None]
    assert made.levels[2].names.to_list() == ["Northeast", "Midwest", None]


def test_numbers_are_read_as_codes():
    assert chains(pl.Series([1, 12, 7]), "months")["12"] == ("Oct-Dec", "Jul-Dec", "*")
    assert chains(pl.Series([250.83, 401.9]), "icd-9")["250.83"] == ("250*", "249-259", "240-279", "*")
    assert chains(pl.Series([1.0, 56.0, None]), "us-states")["56"] == ("Mountain", "West", "*")
    assert chain(pl.Series([dt.time(14, 35)]), "times-of-day") == (
        "14:00-14:59",
        "12:00-17:59",
        "12:00-23:59",
        "*",
    )


@pytest.mark.parametrize("name", ["isco-08", "sic", "nace", "postcodes"])
def test_numbers_that_have_lost_their_zeros_are_refused(name):
    with pytest.raises(HierarchyError, match="zeros at the front are lost: read the column as text"):
        build(pl.Series([110, 2511]), {"known": name})


def test_codes_are_flat_and_no_numbers():
    made = build(pl.Series([1, 2, 10, 3, None]), {"known": "codes"})
    assert made.height == 1
    assert not made.free
    assert made.ordered == 0
    low, high = made.lift(np.array([0], np.int32), np.array([1], np.int32))
    assert made.names(low, high).to_list() == ["*"]


def test_ages_have_a_top_code_that_no_release_divides():
    kind = parse_hierarchy({"known": "ages"})
    assert kind.hides
    assert kind.tells_more("93")
    assert not kind.tells_more("85-89")
    made = build(pl.Series([3, 89, 90, 97]), {"known": "ages"})
    assert made.own_names.to_list() == ["3", "89", "90+", "90+"]


def test_prefixes_take_lengths():
    assert chain("K51D2", "prefixes", lengths=[4, 2]) == ("K51D*", "K5*", "*")
    with pytest.raises(Misspelled, match="must be whole numbers that fall"):
        parse_hierarchy({"known": "prefixes", "lengths": [2, 4]})
    with pytest.raises(Misspelled, match="the levels of icd-10 are fixed"):
        parse_hierarchy({"known": "icd-10", "lengths": [2]})
    with pytest.raises(Misspelled, match="did you mean 'icd-10'"):
        parse_hierarchy({"known": "icd10"})


def test_limits_take_the_nodes_out_of_wider_labels():
    kind = parse_hierarchy({"known": "us-states"})
    wide, narrow = kind.meanings(["Northeast", "NY"], limit=["Middle Atlantic"])
    assert wide.but == ("Middle Atlantic",)
    assert narrow.but == ()
    codes = parse_hierarchy({"known": "icd-10"})
    chapter, block = codes.meanings(["I00-I99", "I20-I25"], limit=["I20-I25"])
    assert chapter.but == ("I20-I25",)
    assert block.but == ()
