"""Identifiers as pseudonyms: random, consistent, never computed from the identifier, and their danger is said."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.apps.cli import main
from shoal.errors import OutputError, PolicyError
from shoal.pipeline.anonymize import anonymize_file
from shoal.release.pseudonyms import FORM, Pseudonyms, count_followed

VISITS = 120
PEOPLE = 40


def visits(patients=None):
    """Each patient has three visits."""
    names = patients or [f"Patient {row % PEOPLE} X" for row in range(VISITS)]
    return pl.DataFrame(
        {
            "patient": names,
            "age": [20 + row % PEOPLE for row in range(VISITS)],
            "sick": ["abc"[row % 3] for row in range(VISITS)],
            "visit": range(VISITS),
        }
    )


ASKED = {
    "quasi": ["age"], "sensitive": ["sick"], "identifier": ["patient"], "plain": ["visit"],
    "publish": {"patient": "pseudonym"}, "k": 3,
}  # fmt: skip


def owners(table, data):
    """The patient of each published row, by the column that tells visits apart."""
    names = dict(zip(data["visit"], data["patient"], strict=True))
    return [names[visit] for visit in table["visit"]]


@pytest.mark.parametrize("kind", ["text", "whole", "category", "null"])
def test_tokens_are_consistent_and_say_nothing(kind):
    data = visits([row % PEOPLE for row in range(VISITS)] if kind == "whole" else None)
    if kind == "category":
        data = data.with_columns(pl.col("patient").cast(pl.Categorical))
    if kind == "null":
        data = data.with_columns(pl.when(pl.col("visit") > 5).then("patient").alias("patient"))
    made = shoal.anonymize(data, **ASKED)
    tokens = made.table["patient"].to_list()
    pairs = set(zip(owners(made.table, data), tokens, strict=True))
    missing = 6 if kind == "null" else 0
    assert len(set(tokens)) == PEOPLE + missing
    assert len(pairs) == PEOPLE + missing
    assert all(pl.Series([token]).str.contains(FORM)[0] for token in tokens)
    keys = dict(zip(made.keys["pseudonym"], made.keys["identifier"], strict=True))
    assert {str(name) for name, _ in pairs if name is not None} == set(keys.values())
    assert all(keys[token] == str(name) for name, token in pairs if name is not None)


def test_tokens_differ_between_runs_even_with_a_seed():
    data = visits()
    first, second = (set(shoal.anonymize(data, seed=1, **ASKED).table["patient"]) for _ in range(2))
    assert not first & second


def test_tokens_come_from_the_operating_system(monkeypatch):
    """Not from the generator of the run, and not from the identifier."""
    drawn = []
    real = os.urandom

    def counted(size):
        drawn.append(size)
        return real(size)

    monkeypatch.setattr("shoal.release.pseudonyms.os.urandom", counted)
    np.random.seed(1)  # noqa: NPY002
    shoal.anonymize(visits(), **ASKED)
    assert sum(drawn) == 8 * PEOPLE


def test_a_token_that_is_drawn_twice_is_drawn_again(monkeypatch):
    calls = iter([b"\0" * 16, b"\1" * 8])
    monkeypatch.setattr("shoal.release.pseudonyms.os.urandom", lambda size: next(calls))
    assert Pseudonyms().of(pl.Series("x", ["a", "b"])).n_unique() == 2


def test_tables_of_one_run_share_tokens_and_columns_do_not():
    run = Pseudonyms()
    first = run.of(pl.Series("patient", ["a", "b", "a"]))
    second = run.of(pl.Series("patient", ["b", "c"]))
    other = run.of(pl.Series("doctor", ["a", "b"]))
    assert first[1] == second[0]
    assert first[0] == first[2] != second[1]
    assert not set(other) & {*first, *second}
    assert run.keys().height == 5


def written(tmp_path, **more):
    data = visits()
    data.write_csv(tmp_path / "data.csv")
    policy = shoal.Policy.from_keywords(**ASKED)
    (tmp_path / "policy.toml").write_text(policy.to_toml())
    made = anonymize_file(tmp_path / "data.csv", policy, tmp_path / "out.csv", **more)
    return data, policy, made


def test_the_key_table_is_written_on_request_for_its_owner_alone(tmp_path):
    os.umask(0o022)
    written(
        tmp_path, keys=tmp_path / "keys.csv", record=tmp_path / "record.json", cards=[tmp_path / "card.md"]
    )
    assert stat.S_IMODE((tmp_path / "keys.csv").stat().st_mode) == 0o600
    keys = pl.read_csv(tmp_path / "keys.csv")
    assert keys.columns == ["column", "pseudonym", "identifier"]
    assert keys["pseudonym"].is_sorted()
    for name in ("out.csv", "record.json", "card.md"):
        text = (tmp_path / name).read_text()
        assert "Patient 1 X" not in text
        if name != "out.csv":
            assert not any(token in text for token in keys["pseudonym"])


def test_a_replaced_key_table_is_private_too(tmp_path):
    (tmp_path / "keys.csv").write_text("old")
    (tmp_path / "keys.csv").chmod(0o644)
    written(tmp_path, keys=tmp_path / "keys.csv", force=True)
    assert stat.S_IMODE((tmp_path / "keys.csv").stat().st_mode) == 0o600


def test_nothing_is_written_without_being_asked(tmp_path):
    written(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", "out.csv", "policy.toml"]


def test_keys_without_pseudonyms_are_refused(tmp_path):
    visits().write_csv(tmp_path / "data.csv")
    policy = shoal.Policy.from_keywords(**{**ASKED, "publish": None})
    with pytest.raises(OutputError, match="there are no keys"):
        anonymize_file(tmp_path / "data.csv", policy, tmp_path / "out.csv", keys=tmp_path / "keys.csv")


@pytest.mark.parametrize("role", ["quasi", "sensitive", "plain", "drop"])
def test_only_identifiers_become_pseudonyms(role):
    with pytest.raises(PolicyError, match="goes with identifiers"):
        shoal.Policy.from_dict(
            {"columns": {"age": "quasi", "x": {"role": role, "publish": "pseudonym"}}, "privacy": {"k": 2}}
        )


def test_networks_refuse_pseudonyms():
    nodes = pl.DataFrame({"id": range(6), "age": range(6), "name": list("abcdef")})
    edges = pl.DataFrame({"a": [0, 1], "b": [1, 2]})
    asked = {"quasi": ["age"], "identifier": ["name"], "publish": {"name": "pseudonym"}, "k": 2}
    with pytest.raises(PolicyError, match="masked network"):
        shoal.anonymize_network(nodes, edges, id="id", **asked)


@pytest.mark.parametrize("more", [{"show": {"age": "bounds"}}, {"levels": "uniform"}])
def test_networks_refuse_what_is_for_tables(more):
    nodes = pl.DataFrame({"id": range(6), "age": range(6)})
    edges = pl.DataFrame({"a": [0, 1], "b": [1, 2]})
    with pytest.raises(PolicyError, match="is for tables"):
        shoal.anonymize_network(nodes, edges, id="id", quasi=["age"], k=2, **more)


# --- the danger is said ---------------------------------------------------------------------------------------


def test_the_danger_is_said_everywhere(tmp_path):
    words = "can be followed"
    data, policy, made = written(tmp_path, cards=[tmp_path / "card.md", tmp_path / "card.json"])
    assert any(words in note for note in made.notes)
    assert "40 of 40 pseudonyms" in (tmp_path / "card.md").read_text()
    assert json.loads((tmp_path / "card.json").read_text())["rows_that_can_be_followed"]
    judged = shoal.audit(tmp_path / "out.csv", policy, original=data)
    assert any(words in note for note in judged.notes)
    hit = shoal.attack(tmp_path / "out.csv", policy, original=data)
    assert any(words in note for note in hit.notes)
    for edition in ("public", "private"):
        page = shoal.report(tmp_path / "out.csv", policy, original=data, edition=edition).html
        assert page.count("holds pseudonyms") == 1
    assert "same person" in made.codebook.by_name["patient"].published
    assert made.codebook.by_name["patient"].labels == ()


def test_figures_of_followed_rows():
    column = pl.Series("x", ["a", "a", "b", "c", "c", "c"])
    found = count_followed(column, np.array([0, 0, 1, 1, 1, 1], np.int32))
    assert (found.tokens, found.repeated, found.fewest) == (3, 2, 1)
    assert "link no rows" in count_followed(pl.Series("x", ["a", "b"]), np.zeros(2, np.int32)).words()


def test_a_release_without_pseudonyms_says_nothing_of_them():
    made = shoal.anonymize(visits(), **{**ASKED, "publish": None})
    assert "patient" not in made.table.columns
    assert "rows_that_can_be_followed" not in made.card
    assert made.keys is None
    assert not any("follow" in note for note in made.notes)


# --- audits ---------------------------------------------------------------------------------------------------


def verdict(rows, **more):
    found = shoal.audit(rows, shoal.Policy.from_keywords(**ASKED), **more)
    return next(one for one in found.verdicts if one.model == "identifiers removed")


HASHES = {
    "names": lambda text: text,
    "names in capitals": str.upper,
    "names with other signs before and after": lambda text: f"P-{text}/24",
    "numbers of names": lambda text: f"no. {text.removeprefix('Patient')}",
    "md5": lambda text: hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(),
    "sha256": lambda text: hashlib.sha256(text.encode()).hexdigest(),
    "sha256, shortened": lambda text: hashlib.sha256(text.encode()).hexdigest()[:10].upper(),
}


@pytest.mark.parametrize("tool", sorted(HASHES))
def test_with_the_original_names_and_hashes_are_seen(tool):
    data = visits()
    made = shoal.anonymize(data, **ASKED)
    assert verdict(made.table, original=data).holds
    odd = made.table.with_columns(
        patient=pl.Series([HASHES[tool](name) for name in owners(made.table, data)])
    )
    found = verdict(odd, original=data)
    assert not found.holds
    assert "Patient" not in found.detail


def test_without_the_original_the_record_settles_it_or_nobody_knows():
    data = visits()
    made = shoal.anonymize(data, **ASKED)
    assert "only the original or the record shows" in verdict(made.table).detail
    assert verdict(made.table).holds is None
    assert verdict(made.table, record=made.record).holds
    named = made.table.with_columns(patient=pl.Series(owners(made.table, data)))
    assert not verdict(named, record=made.record).holds
    other = shoal.anonymize(data, **{**ASKED, "publish": None})
    assert not verdict(made.table, record=other.record).holds


def test_a_policy_without_pseudonyms_calls_them_identifiers():
    data = visits()
    made = shoal.anonymize(data, **ASKED)
    found = shoal.audit(made.table, shoal.Policy.from_keywords(**{**ASKED, "publish": None}), original=data)
    assert not found.holds


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow", ".xlsx", ".jsonl"])
def test_every_format_holds_tokens(tmp_path, suffix):
    data = visits()
    data.write_csv(tmp_path / "data.csv")
    policy = shoal.Policy.from_keywords(**ASKED)
    anonymize_file(tmp_path / "data.csv", policy, tmp_path / f"out{suffix}")
    assert verdict(tmp_path / f"out{suffix}", original=tmp_path / "data.csv").holds


def test_pandas_and_methods_that_shuffle():
    data = visits([row % PEOPLE for row in range(VISITS)])
    made = shoal.anonymize(data.to_pandas(), **ASKED)
    assert isinstance(made.table, pd.DataFrame)
    assert made.table["patient"].nunique() == PEOPLE
    made = shoal.anonymize(data, **{**ASKED, "k": None, "l": 3}, method="anatomy")
    assert "patient" in made.table.columns
    assert "patient" not in made.second.columns


def test_suppressed_people_get_no_token():
    data = visits().with_columns(age=pl.when(pl.col("visit") == 0).then(10_000).otherwise("age"))
    data = data.with_columns(patient=pl.when(pl.col("visit") == 0).then(pl.lit("MARK")).otherwise("patient"))
    made = shoal.anonymize(
        data, **ASKED, suppression=0.1, hierarchies={"age": {"cuts": [[30, 1000]]}}, limits={"age": 1}
    )
    assert made.suppressed == 1
    assert "MARK" not in made.keys["identifier"].to_list()


def test_the_command_line(tmp_path):
    visits().write_csv(tmp_path / "data.csv")
    (tmp_path / "p.toml").write_text(shoal.Policy.from_keywords(**ASKED).to_toml())
    names = [str(tmp_path / name) for name in ("data.csv", "p.toml", "out.csv", "keys.csv", "record.json")]
    run = CliRunner()
    made = run.invoke(
        main,
        ["anonymize", names[0], "-p", names[1], "-o", names[2], "--keys", names[3], "--record", names[4]],
    )
    assert made.exit_code == 0, made.output
    assert "can be followed" in made.output
    assert Path(names[3]).exists()
    assert run.invoke(main, ["audit", names[2], "-p", names[1]]).exit_code == 9
    assert run.invoke(main, ["audit", names[2], "-p", names[1], "--record", names[4]]).exit_code == 0
    same = ["anonymize", names[0], "-p", names[1], "-o", names[2], "--keys", names[0], "--force"]
    assert run.invoke(main, same).exit_code != 0
