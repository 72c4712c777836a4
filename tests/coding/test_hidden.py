"""Values that are never told apart: groups at the ends, the finest form of dates and codes, and their verdicts."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.coding.hierarchy import build
from shoal.coding.hierarchy.kinds import Misspelled, parse_hierarchy
from shoal.errors import DataError, InfeasibleError, LimitError, PolicyError
from shoal.policy import Policy
from shoal.release.value_sets import tells_more

AGES = pl.Series("age", [3, 17, 18, 24, 89, 90, 93, None])
NUMBERS = {
    "alone": {},
    "widths": {"widths": [5, 10]},
    "odd widths": {"widths": [7]},
    "cuts": {"cuts": [[10, 18, 30, 65, 95], [30, 65]]},
}


def names(hierarchy):
    return [level.names.to_list() for level in hierarchy.levels]


def test_groups_take_the_place_of_their_values_at_level_0():
    made = build(AGES, {"widths": [5, 10], "top": 90, "bottom": 18})
    assert names(made) == [
        ["<18", "18", "24", "89", "90+", None],
        ["<18", "18-19", "20-24", "85-89", "90+", None],
        ["<18", "18-19", "20-29", "80-89", "90+", None],
        ["*"],
    ]
    assert made.locate(AGES).tolist() == [0, 0, 2, 3, 4, 5, 5, 7]
    assert made.leaves.to_list() == AGES.to_list()


def test_cut_points_beyond_an_end_do_not_count():
    made = build(AGES, {"cuts": [[10, 18, 30, 65, 95], [30, 65]], "top": 90, "bottom": 18})
    assert names(made)[1:] == [
        ["<18", "18-29", ">=65", None],
        ["<30", ">=65", None],
        ["*"],
    ]


def test_a_group_of_one_value_hides_it_as_well():
    made = build(pl.Series([20, 30, 93]), {"top": 90})
    assert made.values(made.locate(pl.Series([30, 93]))).to_list() == ["30", "90+"]
    assert made.values(made.locate(pl.Series([30]))).to_list() == [30]


def test_fractions_and_texts_and_infinite_values():
    halves = build(
        pl.Series([1.5, 17.5, 18.0, 89.5, 90.0, float("inf"), float("-inf")]),
        {"widths": [5], "top": 90, "bottom": 18},
    )
    assert names(halves)[1] == ["<18", "[18.0, 20.0)", "[85.0, 90.0)", "90+"]
    texts = build(pl.Series(["017", "18", "091"]), {"widths": [5], "top": 90, "bottom": 18})
    assert names(texts)[0] == ["<18", "18", "90+"]


def test_dates_and_codes_have_a_finest_form():
    days = pl.Series(
        [dt.date(1930, 5, 1), dt.date(1937, 1, 1), dt.date(1938, 3, 4), dt.date(1950, 2, 2), None]
    )
    made = build(days, {"dates": ["month", "year", "decade"], "finest": "year", "bottom": 1937})
    assert names(made) == [
        ["<1937", "1937", "1938", "1950", None],
        ["<1937", "1937-1939", "1950s", None],
        ["*"],
    ]
    codes = pl.Series(["02139", "02138", "03601", "03701", "021395555", "00012", None])
    made = build(codes, {"mask": "right", "show": 3, "small": ["036", "059"]})
    assert names(made) == [
        ["000*", "021*", "037*", None],
        ["000*", "02*", "03*", None],
        ["000*", "0*", None],
        ["*"],
    ]
    assert made.values(made.locate(pl.Series(["03601", "021395555"]))).to_list() == ["000*", "021*"]


TOLD = {
    (90, None): {"90+": False, ">=65": False, "[85, 90+]": False, "89": False, "85-89": False, "*": False,
                 "90": True, "93.5": True, "85-94": True, "90-94": True, "[85, 93]": True, ">=95": True, "95+": True,
                 "{20, 90+}": False, "{20, 93}": True, "?": None, " 91 ": True},
    (None, 18): {"<18": False, "<30": False, "[<18, 20]": False, "18": False, "17": True, "15-19": True,
                 "<10": True, "[3, 20]": True, "[18.0, 20.0)": False, "10+": True, "18+": False},
}  # fmt: skip


@pytest.mark.parametrize(("ends", "labels"), TOLD.items())
def test_a_label_covers_all_of_a_group_or_nothing(ends, labels):
    top, bottom = ends
    kind = parse_hierarchy({key: end for key, end in (("top", top), ("bottom", bottom)) if end is not None})
    assert {label: tells_more(kind, label) for label in labels} == labels


CALENDAR = {
    ("year", 1937): {"1937-12": True, "1937-Q4": True, "1937-01": True, "1937": False, "<1937": False, "1936": True,
                     "9999": False, "9990s": False, "9999-12": True, "9999-12-31": True, "*": False},
    ("year", None): {"0001": False, "0001-01": True, "0s": False, "<0001": None, "0000": None, "1937-12": True},
    ("decade", 1948): {"<1948": False, "1948-1949": False, "1948": True, "1949": True, "1949-Q4": True, "1950s": False,
                       "<1947": True, "1940s": True},
}  # fmt: skip


@pytest.mark.parametrize(("hidden", "labels"), CALENDAR.items())
def test_a_label_of_dates_shows_whole_units_of_the_finest_level(hidden, labels):
    finest, bottom = hidden
    kind = parse_hierarchy({"dates": ["month", "year", "decade"], "finest": finest, "bottom": bottom})
    assert {label: tells_more(kind, label) for label in labels} == labels


@pytest.mark.parametrize("finest", ["month", "quarter", "year", "decade"])
@pytest.mark.parametrize("ends", [{"bottom": 1948}, {"top": 1975}, {"bottom": 1949, "top": 1950}, {}])
def test_every_label_of_dates_passes_its_own_verdict(finest, ends):
    """Also those of the first and of the last day of the calendar."""
    days = pl.Series([dt.date(1, 1, 1), dt.date(9999, 12, 31), *(dt.date(1936 + y, 9, 9) for y in range(50))])
    made = build(days, {"dates": ["month", "quarter", "year", "decade"], "finest": finest, **ends})
    shown = {name for level in made.levels for name in level.names}
    assert made.hiding is not None
    assert {name for name in shown if made.hiding.tells_more(name) is not False} == set()


@settings(max_examples=200)
@given(st.sampled_from(sorted(NUMBERS)), st.lists(st.integers(-20, 120), min_size=2, max_size=30), st.data())
def test_labels_of_all_ranges_are_read_back_and_divide_no_group(kind, values, data):
    bottom, top = sorted(data.draw(st.lists(st.integers(0, 100), min_size=2, max_size=2)))
    ends = data.draw(st.sampled_from([{"top": top}, {"bottom": bottom}, {"top": top, "bottom": bottom}]))
    given_ = pl.Series("age", values)
    made = build(given_, {**NUMBERS[kind], **ends})
    codes = made.locate(given_)
    some = data.draw(st.lists(st.sampled_from(range(len(values))), min_size=1, max_size=5))
    low, high = made.lift(codes[some].min(keepdims=True), codes[some].max(keepdims=True))
    seen = np.zeros(made.size, np.bool_)
    seen[codes[some]] = True
    seen = seen[made.merge_hidden(np.arange(made.size, dtype=np.int32))]
    for shown in (None, seen):
        label = made.names(low, high, seen=shown)
        first, last, known = made.read(label)
        assert known.all()
        assert first[0] <= codes[some].min()
        assert codes[some].max() <= last[0]
        assert made.hiding.tells_more(label[0]) is False
    for value in values:
        hidden = ("top" in ends and value >= top) or ("bottom" in ends and value < bottom)
        code = made.locate(pl.Series([value]))
        assert (made.values(code).cast(pl.String)[0] != str(value)) == hidden


def test_lm_counts_the_values_that_a_group_covers():
    """90+ covers 3 of 8 values, so it loses (3 - 1) / (8 - 1), as an interval over the same values does."""
    table = pl.DataFrame({"age": [20, 30, 40, 50, 60, 90, 93, 95], "x": list("aabbaabb")})
    policy = Policy.from_keywords(
        quasi=["age", "x"], hierarchies={"age": {"top": 90}}, safe_harbor={"age": "age", "x": "other"}
    )
    made = shoal.anonymize(table, policy)
    assert sorted(made.table["age"].cast(pl.String)) == ["20", "30", "40", "50", "60", "90+", "90+", "90+"]
    assert made.measures["lm"] == pytest.approx(3 * (2 / 7) / 8 / 2)
    as_sets = policy.override(["method.name=hilbert", "privacy.k=2"])
    sets = shoal.anonymize(table, as_sets).table["age"]
    assert {word for cell in sets for word in cell} <= {"20", "30", "40", "50", "60", "90+"}


@pytest.mark.parametrize(
    "method",
    ["mondrian", "full-domain", "agglomerative", "hilbert", "p-k", "k-k", "ring", "slicing", "hybrid"],
)
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_no_release_ever_shows_a_value_beyond_an_end(method, data):
    rows = data.draw(st.integers(8, 24))
    ages = data.draw(st.lists(st.integers(0, 110), min_size=rows, max_size=rows))
    table = pl.DataFrame(
        {
            "age": ages,
            "town": data.draw(st.lists(st.sampled_from("ab"), min_size=rows, max_size=rows)),
            "ill": (["flu", "cold"] * rows)[:rows],
        }
    )
    spec = {**data.draw(st.sampled_from(list(NUMBERS.values()))), "top": 80, "bottom": 18}
    asked = {
        "k-k": {"k": 2, "notion": "k-k"},
        "ring": {"k": 2, "notion": "probabilistic-k"},
        "slicing": {"l": 2},
    }
    policy = Policy.from_keywords(
        quasi=["age", "town"],
        sensitive=["ill"],
        hierarchies={"age": spec},
        method=method,
        **asked.get(method, {"k": 2}),
    )
    try:
        made = shoal.anonymize(table, policy)
    except (LimitError, InfeasibleError, DataError):
        return
    cells = made.table["age"]
    words = [word for cell in cells.to_list() for word in (cell if isinstance(cell, list) else [cell])]
    for word in words:
        exact = int(word) if str(word).lstrip("-").isdigit() else None
        assert exact is None or 18 <= exact < 80
    judged = shoal.audit(made.table, policy, original=table)
    assert all(verdict.holds for verdict in judged.verdicts if verdict.model.startswith("hidden"))
    assert all(verdict.holds for verdict in judged.verdicts if verdict.model == "truthful")


def test_the_verdict_fails_on_any_other_tools_file():
    table = pl.DataFrame({"age": [20, 20, 93, 95], "ill": list("abab")})
    asked = {
        "quasi": ["age"],
        "sensitive": ["ill"],
        "k": 2,
        "hierarchies": {"age": {"widths": [10], "top": 90}},
    }
    fine = pl.DataFrame({"age": ["20-29", "20-29", "90+", "90+"], "ill": list("abab")})
    for original in (None, table):
        for cells, expected in (
            (["20-29", "20-29", "90+", "90+"], True),
            (["20-29", "20-29", "90-99", "90-99"], False),
            (["20-29", "20-29", "93", "95"], False),
            (["20-29", "20-29", "old", "old"], None),
        ):
            shown = fine.with_columns(age=pl.Series(cells))
            verdict = next(
                one
                for one in shoal.audit(shown, original=original, **asked).verdicts
                if "hidden" in one.model
            )
            assert verdict.holds is expected
            assert verdict.required == 0


WRONG = {
    "top must be a number": {"top": "old"},
    "bottom must not be above top, but 90 is more than 18": {"widths": [5], "top": 18, "bottom": 90},
    "finest must be one of the levels": {"dates": ["month"], "finest": "year"},
    "bottom must be a year, not '19'": {"dates": ["month"], "bottom": "19"},
    "cannot divide weeks": {"dates": ["week"], "bottom": 1937},
    "'0360' has 4 characters, but show is 3": {"mask": "right", "show": 3, "small": ["0360"]},
    "small goes with show": {"mask": "right", "small": ["036"]},
    "has two kinds, 'widths' and 'cuts'": {"widths": [5], "cuts": [5], "top": 9},
}  # fmt: skip


@pytest.mark.parametrize(("message", "spec"), WRONG.items())
def test_what_is_wrong_is_told(message, spec):
    with pytest.raises(Misspelled, match=message.replace("(", r"\(")):
        parse_hierarchy(spec)


def test_a_sensitive_column_cannot_hide_values_because_it_is_published_as_it_is():
    with pytest.raises(PolicyError, match="a sensitive column is published as it is"):
        Policy.from_keywords(quasi=["a"], sensitive=["b"], hierarchies={"b": {"top": 9}}, k=2)


def test_meanings_of_groups_are_in_the_codebook():
    kind = parse_hierarchy({"widths": [5], "top": 90, "bottom": 18})
    assert [one.words("age") for one in kind.meanings(["90+", "<18", "85-89"])] == [
        "age >= 90",
        "age < 18",
        "85 <= age <= 89",
    ]
    born = parse_hierarchy({"dates": ["year", "decade"], "finest": "year", "bottom": 1937})
    assert [one.words("born") for one in born.meanings(["<1937", "1937-1939"])] == [
        "born <= 1936-12-31",
        "1937-01-01 <= born <= 1939-12-31",
    ]
    zips = parse_hierarchy({"mask": "right", "show": 3, "small": ["036"]})
    assert zips.meanings(["000*"])[0].words("zip") == "zip starts with 000 or 036"
