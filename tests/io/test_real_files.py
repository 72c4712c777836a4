"""Files as people have them, the whole way: `init` unedited, then `anonymize`, then `audit`."""

from __future__ import annotations

import datetime as dt
import json

import numpy as np
import polars as pl
import pyreadstat
import pytest
from click.testing import CliRunner

import shoal
from shoal.apps.cli import main
from shoal.io import read
from shoal.policy import Policy
from shoal.policy.suggestions import look_at
from tests.inputs.workbooks import write_xls

ROWS = 300
RANDOM = np.random.default_rng(7)
AGE = RANDOM.integers(18, 90, ROWS)
BORN = [dt.date(2024 - int(age), 1 + i % 12, 1 + i % 28) for i, age in enumerate(AGE)]
AMOUNT = np.round(RANDOM.lognormal(7, 1.1, ROWS), 2)
ILL = ["Asthma", "Gicht", "Grippe", "Migräne"]


def german(number: float, digits: int = 2) -> str:
    return f"{number:,.{digits}f}".replace(",", "_").replace(".", ",").replace("_", ".")


def german_csv(folder):
    lines = ["Alter;Geburtsdatum;PLZ;Miete;Groesse;Diagnose"]
    for i in range(ROWS):
        rent = "k.A." if i % 50 == 0 else f"{german(AMOUNT[i])} €"
        tall = german(1.5 + 0.01 * (i % 50))
        lines.append(f"{AGE[i]};{BORN[i]:%d.%m.%Y};0{1000 + i % 9};{rent};{tall};{ILL[i % 4]}")
    path = folder / "german.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def english_csv(folder):
    lines = ["age,visited,rent,diagnosis"]
    lines += [f'{AGE[i]},{BORN[i]:%m/%d/%Y},"${AMOUNT[i]:,.2f}",{ILL[i % 4]}' for i in range(ROWS)]
    path = folder / "english.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def survey(folder, ending):
    data = pl.DataFrame(
        {
            "age": [-9 if i % 30 == 0 else int(age) for i, age in enumerate(AGE)],
            "sex": [1 + i % 2 for i in range(ROWS)],
            "work": [1 + i % 4 for i in range(ROWS)],
            "diagnosis": [1 + i % 3 for i in range(ROWS)],
        }
    )
    labels = {
        "age": {-9: "no answer", 98: "98 or older"},
        "sex": {1: "male", 2: "female", 9: "other"},
        "work": {1: "full time", 2: "part time", 3: "retired", 4: "at school"},
        "diagnosis": {1: "none", 2: "asthma", 3: "gout"},
    }
    path = folder / f"survey{ending}"
    writer = pyreadstat.write_sav if ending == ".sav" else pyreadstat.write_dta
    writer(data, path, column_labels={"age": "Age in years"}, variable_value_labels=labels)
    return path


def old_workbook(folder):
    rows = [[float(AGE[i]), "fm"[i % 2], float(AMOUNT[i]), ILL[i % 4]] for i in range(ROWS)]
    return write_xls(folder / "old.xls", ["age", "sex", "amount", "diagnosis"], rows)


def census(folder):
    data = pl.DataFrame(
        {
            "AGEP": AGE,
            "VALP": ["N" if i % 3 else str(1000 * int(AMOUNT[i] // 10 + 20)) for i in range(ROWS)],
            "PINCP": ["N" if AGE[i] < 20 else str(int(AMOUNT[i]) * 20) for i in range(ROWS)],
            "WKHP": [-9 if i % 9 == 0 else 5 + i % 60 for i in range(ROWS)],
            "DPHY": [1 + (i % 7 > 0) for i in range(ROWS)],
        }
    )
    data.write_csv(folder / "acs.csv")
    return folder / "acs.csv"


def skewed(folder):
    data = pl.DataFrame({"age": AGE, "sex": ["f", "m"] * 150, "amount": AMOUNT, "diagnosis": ILL * 75})
    data.write_csv(folder / "skewed.csv")
    return folder / "skewed.csv"


CASES = {
    "German CSV": (german_csv, ".csv"),
    "German CSV, written as SPSS": (german_csv, ".sav"),
    "English CSV": (english_csv, ".csv"),
    ".sav with labels": (lambda folder: survey(folder, ".sav"), ".sav"),
    ".sav with labels, written as CSV": (lambda folder: survey(folder, ".sav"), ".csv"),
    ".dta with labels": (lambda folder: survey(folder, ".dta"), ".dta"),
    ".xls": (old_workbook, ".xlsx"),
    "N codes": (census, ".csv"),
    "N codes, written as Parquet": (census, ".parquet"),
    "skewed amount": (skewed, ".csv"),
}


def run(*words: object) -> str:
    done = CliRunner().invoke(main, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture(params=CASES)
def made(request, tmp_path):
    """The source, the policy that init wrote, the release, and what anonymize said about it."""
    make, ending = CASES[request.param]
    source, policy, out = make(tmp_path), tmp_path / "p.toml", tmp_path / f"out{ending}"
    told = json.loads(run("init", source, "-o", policy, "--json"))
    result = json.loads(
        run("anonymize", source, "-p", policy, "-o", out, "--card", tmp_path / "c.json", "--json")
    )
    return request.param, source, policy, out, told, result


def test_init_unedited_then_anonymize_then_audit(made):
    name, source, policy, out, told, result = made
    judged = json.loads(run("audit", out, "-p", policy, "--original", source, "--json"))
    assert all(verdict["holds"] for verdict in judged["verdicts"])
    assert "truthful" in [verdict["model"] for verdict in judged["verdicts"]]
    assert judged["classes"] == result["classes"]
    assert judged["measures"]["lm"] == pytest.approx(result["measures"]["lm"])
    # Without the original, t-closeness cannot be checked: rows may have been left out.
    alone = CliRunner().invoke(main, ["audit", str(out), "-p", str(policy), "--json"], catch_exceptions=False)
    unknown = [one["model"] for one in json.loads(alone.output)["verdicts"] if not one["holds"]]
    assert all("closeness" in model for model in unknown)
    assert not any(one["holds"] is False for one in json.loads(alone.output)["verdicts"])
    # The same from Python.
    assert shoal.suggest(source).to_toml() == Policy.read(policy).to_toml()
    # No column is lost: nothing is an identifier here, and every number and date is read as such.
    rows = read(out).data
    assert rows.columns == read(source).columns
    assert result["measures"]["lm"] < 0.55
    guesses = {guess["name"]: guess for guess in told["columns"]}
    assert all(guess["loses"] is not None for guess in guesses.values() if guess["role"] == "quasi")
    if name.startswith("German"):
        assert told["notation"] == "numbers have a decimal comma and a point between thousands"
        assert guesses["Geburtsdatum"]["reading"] == {"date_format": "%d.%m.%Y"}
        assert guesses["Miete"]["reading"] == {"null_values": ["k.A."], "unit": "€"}
        assert Policy.read(policy).data.decimal == ","
    if name.startswith("English"):
        assert told["notation"] == "a comma between thousands"
        assert guesses["rent"]["reading"] == {"unit": "$"}
        assert guesses["visited"]["reading"] == {"date_format": "%m/%d/%Y"}
    if name.startswith("N codes"):
        assert {n: g["reading"].get("null_values") for n, g in guesses.items() if g["reading"]} == {
            "VALP": ["N"], "PINCP": ["N"], "WKHP": ["-9"],
        }  # fmt: skip
        assert (guesses["PINCP"]["role"], guesses["DPHY"]["role"]) == ("sensitive", "sensitive")
        card = json.loads((out.parent / "c.json").read_text())
        assert card["codes_for_missing_are_null"] == ["VALP", "PINCP", "WKHP"]
        texts = {text for column in rows for text in column.cast(pl.String).drop_nulls()}
        assert not [text for text in texts if "N" in text or text.startswith("-9")]
    if name.endswith("labels"):
        assert guesses["age"]["reading"] == {"null_values": ["-9"]}
        assert "by its label" in guesses["age"]["told"][0]
        assert set(rows["diagnosis"].cast(pl.String)) == {"none", "asthma", "gout"}
        assert "note: codes for missing values became empty cells, as the policy says: age" in run(
            "anonymize", source, "-p", policy, "-o", out, "--force"
        ).replace("\n", " ")
        about = (pyreadstat.read_sav if out.suffix == ".sav" else pyreadstat.read_dta)(out)[1]
        assert about.column_names_to_labels["age"] == "Age in years"
        assert about.variable_value_labels["diagnosis"] == {1: "none", 2: "asthma", 3: "gout"}
        assert "other" not in about.variable_value_labels.get("sex", {}).values()
    if name in ("skewed amount", ".xls"):
        assert guesses["amount"]["role"] == "quasi"
        assert result["losses"]["amount"] < 0.45


def test_init_names_a_release_that_can_be_written(tmp_path):
    assert "-o release.csv" in run("init", old_workbook(tmp_path))
    assert "-o release.sav" in run("init", survey(tmp_path, ".sav"))
    packed = tmp_path / "t.csv.gz"
    read(skewed(tmp_path)).data.write_csv(packed, compression="gzip")
    assert "-o release.csv.gz" in run("init", packed, "-o", tmp_path / "p.toml")


def test_files_with_two_notations_are_told(tmp_path):
    lines = "".join(f"{20 + i % 40};{i % 7},{i % 10}5;{i % 9}.{i % 4}1\n" for i in range(80))
    (tmp_path / "t.csv").write_text("age;a;b\n" + lines)
    told = json.loads(run("init", tmp_path / "t.csv", "--json"))
    assert "some columns have a decimal comma, and b a decimal point" in told["notation"]
    assert Policy.read(tmp_path / "t.toml").data.decimal == "."
    run("anonymize", tmp_path / "t.csv", "-p", tmp_path / "t.toml", "-o", tmp_path / "out.csv")


@pytest.mark.parametrize(
    ("delimiter", "texts", "decimal", "thousands"),
    [
        (";", ["1,234", "5,678"], ",", ""),
        ("|", ["1,234", "5,678"], ".", ","),
        ("|", ["1,5", "2,25"], ",", ""),
        (";", ["1,234.5", "5,678.25"], ".", ","),
        (",", ["1'234", "5'678"], ".", "'"),
        (";", ["1 234,5", "5\u00a0678,25"], ",", " "),
        (",", ["030 123 456", "040 123 789"], ".", ""),
        # Not numbers: lists, names, versions and dates.
        ("|", ["Maier, A", "B, C"], ".", ""),
        (";", ["1,2,3", "4,5"], ".", ""),
        (";", ["12.5.2020", "1.5.2021"], ".", ""),
    ],
)
def test_notations_are_recognized(tmp_path, delimiter, texts, decimal, thousands):
    rows = "".join(f"{20 + i % 40}{delimiter}{texts[i % 2]}\n" for i in range(60))
    (tmp_path / "t.csv").write_text(f"age{delimiter}x\n{rows}", encoding="utf-8")
    policy = shoal.suggest(tmp_path / "t.csv")
    assert (policy.data.decimal, policy.data.thousands) == (decimal, thousands)


def test_points_between_thousands_next_to_decimal_commas(tmp_path):
    path = tmp_path / "g.csv"
    path.write_text(
        "rent;rate;sex\n" + "".join(f"{1 + i % 9}.{100 + i};{i},5;{'fm'[i % 2]}\n" for i in range(60))
    )
    found = look_at(read(path))
    policy = Policy.from_toml(found.to_toml())
    assert (policy.data.decimal, policy.data.thousands) == (",", ".")
    assert read(path, policy.read_options()).data["rent"].min() == 1100


@pytest.mark.parametrize(
    ("cells", "asked"),
    [
        (["1.234", "999", "12.345"], True),  # 999 is more than 12.345, and less than 12,345
        (["1.234", "999", "12.34"], False),
        (["0.125", "1.234"], False),
        (["1234", "1.234"], False),
    ],
)
def test_points_that_may_stand_between_thousands_are_asked_about(tmp_path, cells, asked):
    for sign in ";,":
        path = tmp_path / "g.csv"
        path.write_text(f"rent{sign}sex\n" + "".join(f"{cells[i % len(cells)]}{sign}f\n" for i in range(30)))
        text = look_at(read(path)).to_toml()
        assert ("every point in rent has three digits behind it" in text) == (asked and sign == ";")
