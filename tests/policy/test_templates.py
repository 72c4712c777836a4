"""`shoal init --template`: policies that state their source, and the verdicts of HIPAA Safe Harbor."""

from __future__ import annotations

import datetime as dt
import json
import re

import polars as pl
import pytest

import shoal
from shoal.apps.samples import SAMPLES
from shoal.coding.hierarchy.kinds import parse_hierarchy
from shoal.errors import DataError, PolicyError
from shoal.judging.models.safe_harbor import ASKS, NAMING, SafeHarbor
from shoal.policy import Policy
from shoal.policy.suggestions import look_at
from shoal.policy.suggestions.harbor import KINDS_OF_IDENTIFIERS, small_areas
from shoal.policy.suggestions.presets import PRESETS
from tests.apps.test_cli import run

YEAR = dt.date.today().year - 89
TABLE = pl.DataFrame(
    {
        "name": [f"n{row}" for row in range(60)],
        "age": [40 + row for row in range(60)],
        "zip": [f"{10 + row % 3:03}{row % 7:02}" for row in range(60)],
        "birth_date": [dt.date(1930 + row, 1 + row % 12, 5) for row in range(60)],
        "admitted": [dt.date(2024, 1 + row % 12, 1 + row % 28) for row in range(60)],
        "illness": ["flu", "cold", "gout"] * 20,
    }
)
RULE = Policy.from_keywords(
    identifier=["name"],
    quasi=["age", "zip", "birth_date", "admitted"],
    sensitive=["illness"],
    hierarchies={
        "age": {"top": 90},
        "zip": {"mask": "right", "show": 3, "small": ["011"]},
        "birth_date": {"dates": ["year", "decade"], "finest": "year", "bottom": YEAR},
        "admitted": {"dates": ["year"], "finest": "year"},
    },
    safe_harbor={
        "name": "identifier", "age": "age", "zip": "zip", "birth_date": "birth", "admitted": "date", "illness": "other",
    },
)  # fmt: skip


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("name", PRESETS)
def test_every_template_on_every_sample_is_a_policy_that_reads(tmp_path, sample, name):
    data, policy = tmp_path / "data.csv", tmp_path / "data.toml"
    run("sample", sample, "--rows", "300", "-o", str(data))
    policy.unlink(missing_ok=True)
    run("init", str(data), "--template", name, "-o", str(policy))
    text = policy.read_text()
    assert f"# Template {name}: " in text
    read = Policy.read(policy)
    assert f"{read.requirements().k} rows" in PRESETS[name].means
    assert read.utility.suppression == PRESETS[name].suppression
    if name == "safe-harbor":
        assert all(column.safe_harbor for column in read.columns.values())
        assert text.count("(A) names") == text.count("(R) any other") == 1


def test_templates_are_listed_without_a_table_and_unknown_ones_refused(tmp_path):
    listed = run("init", "--template", "list")
    assert all(preset.title in listed.stdout for preset in PRESETS.values())
    TABLE.write_csv(tmp_path / "t.csv")
    wrong = run("init", str(tmp_path / "t.csv"), "--template", "safe-habor", code=2)
    assert "--template: 'safe-habor' is unknown (did you mean 'safe-harbor'?)" in wrong.stderr
    lost = run("init", str(tmp_path / "t.csv"), "--template", "research", "--small-areas", "x.csv", code=2)
    assert "add --template safe-harbor" in lost.stderr
    with pytest.raises(PolicyError, match="safe-harbor"):
        look_at(TABLE).with_template("safe harbour")


def test_without_the_list_zip_codes_are_not_published_and_the_reason_is_told(tmp_path):
    TABLE.write_csv(tmp_path / "t.csv")
    made = run("init", str(tmp_path / "t.csv"), "--template", "safe-harbor", "--json")
    column = next(one for one in json.loads(made.stdout)["columns"] if one["name"] == "zip")
    assert (column["role"], column["safe_harbor"]) == ("drop", "identifier")
    assert (
        "which areas of 3 digits have 20,000 people or fewer is not known; give the list" in column["reason"]
    )


def test_the_list_of_areas_is_read_with_or_without_people(tmp_path):
    path = tmp_path / "areas.txt"
    for text, expected in (
        ("036\n059\n", ("036", "059")),
        ("area;people\n036;17705\n010;20000\n021;690000\n", ("036", "010")),
        ("# census 2020\n036,17_705\n", ("036",)),
        ("#\n", ()),
        ("021;690000\n", ()),
        ("036;17705\n036;17705\n", ("036",)),
    ):
        path.write_text(text)
        assert small_areas(path) == expected
    for text, message in (
        ("036\n0590\n", "1 line cannot be used: each area has 3 digits .* line 2: '0590'"),
        ("036\n059;many\n", "line 2"),
        ("41;18900\n", "line 1: '41;18900'"),
        ("041;18.900\n", "line 1: '041;18.900'"),
        ("041,18,900\n", "line 1"),
        ("041;\n", "line 1"),
        (f"041;{'9' * 5000}\n", "line 1"),
        ("abc\n", "the list has no area"),
        ("area;people\n", "the list has no area"),
        ("area\n036;a\n0\n059;b\n061;1;2\n", "4 lines cannot be used: .* line 2.* line 3.* line 4.* line 5"),
        ("036;17000\n036;27000\n", r"line 2: '036;27000' \(before: 17,000 people\)"),
        ("", "is empty"),
    ):
        path.write_text(text)
        with pytest.raises(DataError, match=message):
            small_areas(path)
    with pytest.raises(DataError, match="cannot be read"):
        small_areas(tmp_path / "none.txt")


def verdicts(released, original=None):
    found = shoal.audit(released, RULE, original=original).verdicts
    return {one.model.split(": ")[1]: one for one in found if one.model.startswith("Safe Harbor")}


def test_the_rule_holds_on_a_release_and_leaves_people_alone():
    made = shoal.anonymize(TABLE, RULE)
    for original in (None, TABLE):
        found = verdicts(made.table, original)
        assert set(found) == {"name", "age", "zip", "birth_date", "admitted", "illness"}
        assert all(one.holds and one.reached == 0 and one.required == 0 for one in found.values())
    # The rule does not look at rows, so it does not stop anybody.
    judged = shoal.audit(made.table, RULE.override(["privacy.k=5"]))
    assert not judged.verdicts[0].holds


BROKEN = {
    "age": ["90", "93", "85-94", "95+", "young"],
    "zip": ["02139", "0213*", "011*", "011", "Boston"],
    "birth_date": ["1950-03", "1950-03-01", str(YEAR - 1), "1930s", "[1900, 1990]"],
    "admitted": ["2024-03", "2024-Q1", "March 2024"],
    "illness": ["flu, ask a@b.org", "see https://x.org", "call +49 30 1234567", "123-45-6789",
                "on 2024-03-01", "10.0.0.1"],
}  # fmt: skip
FINE = {
    "age": ["89", "90+", ">=65", "[85, 90+]", "*", "80-89"],
    "zip": ["010*", "010", "010**", "000*", "000", "01*", "*"],
    "birth_date": ["1950", "1950s", f"<{YEAR}", f"{YEAR}-{YEAR + 2}", "*"],
    "admitted": ["2024", "2020s", "*"],
    "illness": ["flu", "stage 3", "12.5 mg"],
}


@pytest.mark.parametrize(
    ("column", "cell"), [(name, cell) for name, cells in BROKEN.items() for cell in cells]
)
def test_every_verdict_can_fail(column, cell):
    made = shoal.anonymize(TABLE, RULE).table.with_columns(pl.col(column).cast(pl.String))
    changed = made.with_columns(
        pl.when(pl.int_range(pl.len()) == 7).then(pl.lit(cell)).otherwise(column).alias(column)
    )
    found = verdicts(changed)
    assert not found[column].holds
    assert found[column].reached in (1, None)
    assert all(one.holds for name, one in found.items() if name != column)


@pytest.mark.parametrize(("column", "cell"), [(name, cell) for name, cells in FINE.items() for cell in cells])
def test_what_the_rule_allows_holds(column, cell):
    made = shoal.anonymize(TABLE, RULE).table.with_columns(pl.lit(cell).alias(column))
    assert verdicts(made)[column].holds


def test_an_identifier_that_is_published_fails():
    made = shoal.anonymize(TABLE, RULE).table
    shown = verdicts(made.with_columns(name=pl.lit("x")))["name"]
    assert (shown.holds, shown.reached) == (False, 60)
    assert "it is published" in shown.detail


def test_what_the_policy_does_not_say_cannot_be_known():
    for what, spec, cell in (
        ("zip", {"mask": "right", "show": 3}, "021*"),
        ("birth", {"dates": ["year"]}, "1984"),
    ):
        model = SafeHarbor(column_name="x", what=what, kind=parse_hierarchy(spec))

        class Shown:
            published = type("P", (), {"suppressed": 0})

            def count_texts(self, column, cell=cell):
                return pl.Series([cell]), [3]

        verdict = model.verify(Shown())
        assert not verdict.holds
        assert verdict.detail.startswith("could not be checked")


def test_a_year_of_birth_that_is_too_early_is_told_before_the_work():
    old = RULE.to_dict()
    old["columns"]["birth_date"]["hierarchy"]["bottom"] = YEAR - 3
    with pytest.raises(shoal.errors.InfeasibleError, match=f"set bottom = {YEAR}"):
        shoal.anonymize(TABLE, Policy.from_dict(old))


def test_every_published_column_says_what_it_is():
    with pytest.raises(PolicyError, match=r"columns.b.safe_harbor: is missing"):
        Policy.from_keywords(quasi=["a", "b"], k=2, safe_harbor={"a": "other"})
    assert len(KINDS_OF_IDENTIFIERS) == 18
    assert set(ASKS) == {"identifier", "zip", "date", "birth", "age", "other"}


def _breaking(text: str) -> str:
    """What Safe Harbor finds in a text of a column that is none of the 18 kinds."""
    return next((what for what, pattern in NAMING.items() if re.search(pattern, text)), "")


@pytest.mark.parametrize(
    "text",
    [
        "151589.00999999998",
        "0.0012345678912",
        "-3.00412345678",
        "1,00912345678",
        "1.5e+12345678",
        "2.5E+123456789",
    ],
)
def test_a_number_is_not_a_telephone_number(text):
    assert _breaking(text) == ""


@pytest.mark.parametrize(
    "text",
    ["0049 30 1234567", "+49 30 1234567", "Tel.+49301234567", "call 0049-30-1234567", "(555) 123-4567"],
)
def test_telephone_numbers_are_found(text):
    assert _breaking(text) == "telephone numbers"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("2023-12-07T23:30:00", "dates"),
        ("{2023-12-07T23:30:00, 2024-01-04T04:30:00}", "dates"),
        ("seen_2023-12-07_again", "dates"),
        ("on7.12.2023", "dates"),
        ("SSN123-45-6789", "social security numbers"),
        ("id_123-45-6789x", "social security numbers"),
        ("2023/12/07", "dates"),
        ("2023.12.07", "dates"),
        ("on 12-07-2023", "dates"),
        ("7-12-2023", "dates"),
        ("12-34-5678", ""),
        ("12-07-20231", ""),
        ("2023-12/07", ""),
        ("12023-12-07", ""),
        ("1123-45-6789", ""),
    ],
)
def test_letters_next_to_a_date_or_a_number_do_not_hide_it(text, what):
    assert _breaking(text) == what
