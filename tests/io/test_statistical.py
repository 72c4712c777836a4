"""Files of SPSS, Stata and SAS: labels come in, and go out with the release, but only those of published rows."""

from __future__ import annotations

import datetime as dt
import os

import pandas as pd
import polars as pl
import pyreadstat
import pytest

import shoal
from shoal.coding.hierarchy import build
from shoal.errors import DataError, OutputError
from shoal.io import FORMATS, Outbox, read, write
from shoal.io.formats.statistical import split_codes_and_labels, texts_of
from shoal.pipeline.anonymize import anonymize_file
from shoal.policy import Policy
from tests.inputs.workbooks import write_xls

SEX = {1: "male", 2: "female", 3: "MARKdiverse", 4: "MARKunused"}
WORK = {10: "full time", 11: "part time", 20: "retired", 30: "at school"}
TITLES = {"sex": "Sex of the respondent", "work": "Employment", "age": "Age in years", "note": "Remark"}
WRITE = {".sav": pyreadstat.write_sav, ".dta": pyreadstat.write_dta}


def survey(folder, ending, rows=60):
    """A survey with labelled codes. The only person of the third sex is an outlier."""
    data = pl.DataFrame(
        {
            "sex": [1 + i % 2 for i in range(rows)] + [3],
            "work": [(10, 11, 20, 30)[i % 4] for i in range(rows)] + [30],
            "age": [20 + (i * 7) % 30 for i in range(rows)] + [98],
            "note": ["x" if i % 3 else "y" for i in range(rows)] + ["MARKnote"],
            "hours": [0.5 * (i % 9) for i in range(rows)] + [None],
            "seen": [dt.date(2020, 1, 1 + i % 28) for i in range(rows)] + [dt.date(2021, 1, 1)],
        }
    )
    path = folder / f"in{ending}"
    WRITE[ending](data, path, column_labels=TITLES, variable_value_labels={"sex": SEX, "work": WORK})
    return path


def raw_of(path):
    """What another program sees: codes and labels."""
    reader = pyreadstat.read_sav if path.suffix == ".sav" else pyreadstat.read_dta
    return reader(path, output_format="polars")


POLICY = """
[columns]
sex = { role = "quasi" }
age = { role = "quasi", hierarchy = { widths = [10, 20] } }
note = "plain"
hours = "sensitive"
seen = "plain"
[columns.work]
role = "quasi"
hierarchy = { tree = { working = ["full time", "part time"], "not working" = ["retired", "at school"] } }
[privacy]
k = 5
[utility]
suppression = 0.05
"""


@pytest.mark.parametrize("ending", WRITE)
def test_labels_are_values_hierarchy_levels_and_labels_of_the_release(tmp_path, ending):
    source, out = survey(tmp_path, ending), tmp_path / f"out{ending}"
    frame = read(source)
    assert frame.column("sex").unique().sort().to_list() == [
        "male",
        "female",
        "MARKdiverse",
    ]  # in the order of codes
    assert frame.schema["age"] == pl.Int64
    assert frame.schema["seen"] == pl.Date
    assert frame.options.labels.columns == TITLES
    policy = Policy.from_toml(POLICY)
    made = anonymize_file(source, policy, out)
    judged = shoal.audit(out, policy, original=source)
    assert judged.holds
    assert judged.classes == made.classes
    assert judged.measures["lm"] == pytest.approx(made.measures["lm"])
    assert shoal.audit(out, policy, record=made.record).holds
    rows, about = raw_of(out)
    assert {name: text for name, text in about.column_names_to_labels.items() if text} == TITLES
    shown = set(read(out).column("work").cast(pl.String)) - {"*"}
    assert shown <= {*WORK.values(), "working", "not working"}
    # Words that were labels have their codes again.
    for code, label in about.variable_value_labels["work"].items():
        assert WORK.get(int(code), label) == label
        assert (int(code) in WORK) == (label in WORK.values())
    assert set(rows["work"].drop_nulls()) == set(about.variable_value_labels["work"])


@pytest.mark.parametrize("ending", WRITE)
def test_nothing_of_suppressed_rows_is_in_the_labels(tmp_path, ending):
    """Neither labels that only they have, nor labels that nobody has."""
    source, out = survey(tmp_path, ending), tmp_path / f"out{ending}"
    made = anonymize_file(source, Policy.from_toml(POLICY).with_method("full-domain"), out)
    assert made.suppressed == 1
    assert b"MARK" in source.read_bytes()
    assert b"MARK" not in out.read_bytes()
    labels = raw_of(out)[1].variable_value_labels
    assert set(labels["sex"].values()) <= {"male", "female", "*"}
    assert all(set(labels[name]) == set(raw_of(out)[0][name].drop_nulls()) for name in labels)


@pytest.mark.parametrize("source", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("ending", WRITE)
def test_releases_of_other_sources_have_labels_in_the_order_of_their_values(tmp_path, source, ending):
    people = pl.DataFrame({"age": [20 + i % 40 for i in range(80)], "ill": ["flu", "cold"] * 40})
    path = write(people, tmp_path / f"in.{source}")
    policy = Policy.from_dict(
        {
            "columns": {"age": {"role": "quasi", "hierarchy": {"widths": [10, 20]}}, "ill": "sensitive"},
            "privacy": {"k": 10},
            "method": "full-domain",
        }
    )
    out = tmp_path / f"out{ending}"
    anonymize_file(path, policy, out)
    assert shoal.audit(out, policy, original=path).holds
    rows, about = raw_of(out)
    assert about.variable_value_labels["age"] == {1: "20-29", 2: "30-39", 3: "40-49", 4: "50-59"}
    assert sorted(rows["ill"].unique()) == ["cold", "flu"]


def test_where_only_some_codes_have_labels_they_are_numbers():
    """98 means 98 or older, and -1 nothing: numbers keep the labels of those that are published."""
    codes = {98: "98 or older", -1: "unused"}
    numbers = pl.Series("age", [20, 30, 98])
    assert split_codes_and_labels(numbers, codes) == (numbers, {98: "98 or older"})
    # If only 98 is published, a reader would take the label for the value.
    assert split_codes_and_labels(pl.Series("age", [98, None]), codes)[1] == {}


def test_partly_labelled_numbers_come_and_go(tmp_path):
    data = pl.DataFrame({"age": [20, 30, 98, None] * 10, "sex": [1, 2] * 20})
    labels = {"age": {98: "98 or older", 99: "MARK"}, "sex": {1: "m", 2: "f"}}
    pyreadstat.write_sav(data, tmp_path / "in.sav", variable_value_labels=labels)
    assert read(tmp_path / "in.sav").column("age").to_list()[:4] == [20, 30, 98, None]
    policy = Policy.from_dict({"columns": {"age": "plain", "sex": "quasi"}, "privacy": {"k": 2}})
    anonymize_file(tmp_path / "in.sav", policy, tmp_path / "out.sav")
    assert raw_of(tmp_path / "out.sav")[1].variable_value_labels == {
        "age": {98: "98 or older"},
        "sex": {1: "m", 2: "f"},
    }
    assert shoal.audit(tmp_path / "out.sav", policy, original=tmp_path / "in.sav").holds


def test_automatic_hierarchies_follow_the_order_of_the_codes(tmp_path):
    """Answers from never to always are not sorted by the alphabet."""
    answers = ["never", "once", "twice", "yearly", "monthly", "weekly", "daily", "hourly", "always"]
    data = pl.DataFrame({"mood": [1 + i % 9 for i in range(90)], "n": [1] * 90})
    pyreadstat.write_sav(
        data, tmp_path / "in.sav", variable_value_labels={"mood": dict(enumerate(answers, 1)), "n": {}}
    )
    made = build(read(tmp_path / "in.sav").column("mood").unique(), "auto")
    assert made.leaves.to_list() == answers
    assert made.levels[1].names.to_list() == [
        "{never, once, twice}", "{yearly, monthly, weekly}", "{daily, hourly, always}",
    ]  # fmt: skip
    assert shoal.suggest(tmp_path / "in.sav").columns["mood"].hierarchy == "auto"


def test_two_codes_with_one_label_stay_two_values(tmp_path):
    labels = {"why": {1: "other", 2: "work", 7: "other"}}
    assert texts_of(labels["why"]) == {1: "other (1)", 2: "work", 7: "other (7)"}
    data = pl.DataFrame({"why": [1, 2, 7] * 4, "n": ["a"] * 12})
    pyreadstat.write_sav(data, tmp_path / "in.sav", variable_value_labels=labels)
    policy = Policy.from_dict({"columns": {"why": "plain", "n": "quasi"}, "privacy": {"k": 2}})
    made = anonymize_file(tmp_path / "in.sav", policy, tmp_path / "out.sav")
    assert sorted(made.table["why"].cast(pl.String).unique()) == ["other (1)", "other (7)", "work"]
    assert sorted(raw_of(tmp_path / "out.sav")[0]["why"].unique()) == [1, 2, 7]


def test_declared_missing_values_and_labels_of_texts(tmp_path):
    data = pl.DataFrame({"x": [1.0, 2.0, 99.0], "s": ["m", "f", "m"]})
    labels = {"x": {1: "yes", 2: "no", 99: "refused"}, "s": {"m": "man", "f": "woman"}}
    pyreadstat.write_sav(data, tmp_path / "t.sav", variable_value_labels=labels, missing_ranges={"x": [99]})
    frame = read(tmp_path / "t.sav")
    assert frame.column("x").to_list() == ["yes", "no", None]
    assert frame.column("s").to_list() == ["man", "woman", "man"]


def test_sas_files_are_read_and_not_written(tmp_path):
    data = pd.DataFrame({"age": [20.0, 21.0, None], "town": ["Ulm", "", "Bonn"], "pay": [1.5, 2.5, 3.0]})
    pyreadstat.write_xport(data, tmp_path / "t.xpt", column_labels={"age": "Age"}, table_name="T")
    frame = read(tmp_path / "t.xpt")
    assert frame.column("age").to_list() == [20, 21, None]
    assert frame.column("town").to_list() == ["Ulm", None, "Bonn"]
    assert frame.column("pay").to_list() == [1.5, 2.5, 3.0]
    assert frame.options.labels.columns == {"age": "Age"}
    for name in ("out.xpt", "out.sas7bdat"):
        with pytest.raises(OutputError, match=r"Shoal reads SAS, but does not write it; it writes .*\.sav"):
            write(pl.DataFrame({"a": [1]}), tmp_path / name)


@pytest.mark.parametrize("ending", [".sav", ".zsav", ".dta", ".sas7bdat", ".xpt", ".xls"])
def test_damaged_files_are_refused_in_words(tmp_path, ending):
    path = tmp_path / f"t{ending}"
    path.write_bytes(b"no such file at all, and long enough to be read as one" * 20)
    with pytest.raises(DataError, match=r"is not a readable (SPSS|Stata|SAS|Excel 97-2003) file"):
        read(path)


def test_a_missing_library_is_named(tmp_path, monkeypatch):
    path = write(pl.DataFrame({"a": [1, 2]}), tmp_path / "t.sav")
    monkeypatch.setitem(__import__("sys").modules, "pyreadstat", None)
    with pytest.raises(
        DataError, match=r'reading SPSS needs the library pyreadstat: pip install "shoal\[stats\]"'
    ):
        read(path)
    with pytest.raises(OutputError, match=r'writing Stata needs .* pip install "shoal\[stats\]"'):
        write(pl.DataFrame({"a": [1, 2]}), tmp_path / "t.dta")


@pytest.mark.parametrize(
    ("ending", "name", "words"),
    [
        (".sav", "date of birth", "has other signs than letters"),
        (".sav", "2nd", "does not begin with a letter"),
        (".sav", "by", "is a word of its language"),
        (".sav", "x" * 65, "has 65 bytes, and SPSS allows 64"),
        (".dta", "date.of", "has other signs than letters"),
        (".dta", "str5", "is a word of its language"),
        (".dta", "x" * 33, "has 33 bytes, and Stata allows 32"),
    ],
)
def test_names_that_a_package_does_not_allow(tmp_path, ending, name, words):
    with pytest.raises(OutputError, match=words) as caught:
        write(pl.DataFrame({name: [1]}), tmp_path / f"t{ending}")
    assert "write CSV" in str(caught.value)
    with pytest.raises(OutputError, match="differs from another only in capital letters"):
        write(pl.DataFrame({"a": [1], "A": [1]}), tmp_path / f"t{ending}")


@pytest.mark.parametrize("ending", WRITE)
def test_long_words_are_texts_and_long_titles_are_cut(tmp_path, ending):
    from shoal.io import ReadOptions
    from shoal.io.read_options import Labels

    long = "w" * 2030
    data = pl.DataFrame({"a": pl.Series([long, "x", None], dtype=pl.Categorical)})
    with Outbox() as box:
        options = ReadOptions(labels=Labels({"a": "ä" * 300}))
        assert box.publish(data, tmp_path / f"t{ending}", options=options)["a"].to_list() == [long, "x", None]
    title = raw_of(tmp_path / f"t{ending}")[1].column_names_to_labels["a"]
    assert title == "ä" * {".sav": 127, ".dta": 40}[ending]


@pytest.mark.parametrize("ending", WRITE)
def test_a_table_without_rows(tmp_path, ending):
    """A release may have no rows left."""
    data = pl.DataFrame({"a": [], "b": []}, schema={"a": pl.Categorical, "b": pl.Float64})
    with Outbox() as box:
        assert box.publish(data, tmp_path / f"t{ending}").columns == ["a", "b"]


@pytest.mark.parametrize("ending", [".sav", ".zsav", ".dta"])
def test_a_file_is_written_into_its_draft(tmp_path, monkeypatch, ending):
    """The library opens the draft by its name; it must be the file whose lock keeps other runs from removing it."""
    kind = FORMATS["stata" if ending == ".dta" else "spss"]
    real, seen = kind.write, []

    def write_there(self, data, path, titles, codes):
        seen.append(os.stat(path).st_ino)
        real(self, data, path, titles, codes)
        seen.append(os.stat(path).st_ino)

    monkeypatch.setattr(kind, "write", write_there)
    path = write(pl.DataFrame({"a": ["x", "y"], "n": [1, 2]}), tmp_path / f"t{ending}")
    assert seen == [path.stat().st_ino] * 2
    assert read(path).data.to_dict(as_series=False) == {"a": ["x", "y"], "n": [1, 2]}


def test_an_old_workbook_is_read_and_not_written(tmp_path):
    path = write_xls(tmp_path / "t.xls", ["age", "town"], [[20.0, "Köln"], [21.0, None], [22.5, "Ulm"]])
    assert read(path).data.to_dict(as_series=False) == {
        "age": [20.0, 21.0, 22.5],
        "town": ["Köln", None, "Ulm"],
    }
    with pytest.raises(
        OutputError, match=r"Shoal reads Excel 97-2003, but does not write it; it writes .*\.xlsx"
    ):
        write(pl.DataFrame({"a": [1]}), tmp_path / "out.xls")
    path.write_bytes(path.read_bytes()[:700])
    with pytest.raises(DataError, match=r"save it as \.xlsx there"):
        read(path)
