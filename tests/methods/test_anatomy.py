"""Anatomy: releases in two tables, made, written, read back, judged and attacked."""

from __future__ import annotations

import json
import os
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import shoal
from shoal.errors import DataError, InfeasibleError, LimitError, PolicyError
from shoal.judging.linking.evidence import Evidence
from shoal.judging.models.l_diversity import DistinctDiversity, EntropyDiversity, ProbabilisticDiversity
from shoal.judging.models.requirements import Requirements
from shoal.methods import METHODS
from shoal.release.render import render
from shoal.release.two_tables import join_tables, second_path, split
from shoal.support.run import Run
from tests.inputs.strategies import tables
from tests.test_bad_input import refused, run

KINDS = {"distinct": DistinctDiversity, "probabilistic": ProbabilisticDiversity, "entropy": EntropyDiversity}
ROLES = {"quasi": ["zip", "age"], "sensitive": ["disease"]}
PEOPLE = pl.DataFrame(
    {
        "zip": [5370, 5370, 5371, 5371, 5372, 5372, 5373, 5373, 5374],
        "age": [20, 21, 22, 23, 24, 25, 26, 27, 28],
        "disease": ["flu", "flu", "cold", "cold", "gout", "gout", "flu", "cold", "mumps"],
    }
)


@given(
    tables(rows=st.integers(2, 14), columns=st.integers(1, 3), sensitive=st.just(1)),
    st.sampled_from(sorted(KINDS)),
    st.integers(2, 4),
    st.booleans(),
    st.sampled_from([0.0, 0.3]),
    st.integers(0, 5),
)
def test_buckets_have_different_values_and_lose_nothing(table, kind, l, permute, suppression, seed):  # noqa: E741
    model = KINDS[kind](l=l, column=0, column_name="s0")
    wanted = Requirements(models=(model,), suppression=suppression)
    possible = all(l * int(count) <= table.rows for count in table.sensitive_counts[0])
    try:
        release = METHODS["anatomy"](permute=permute).anonymize(table, wanted, Run.start(seed))
    except LimitError:
        assert not possible
        return
    assert possible
    rendered = render(table, release)
    assert "s0" not in rendered.rows.columns
    assert rendered.second.columns == ["bucket", "s0", "count"]
    assert set(rendered.second["count"]) == {1}
    assert len(rendered.rows) == table.rows
    sizes = rendered.rows["bucket"].value_counts()["count"]
    assert sizes.min() >= l
    for bucket in set(rendered.rows["bucket"]):
        inside = np.flatnonzero(release.layout.bucket_of == bucket)
        shown = rendered.rows.filter(pl.col("bucket") == bucket)
        values = rendered.second.filter(pl.col("bucket") == bucket)["s0"].to_list()
        assert Counter(values) == Counter(table.kept["s0"][inside].to_list())
        for j, attribute in enumerate(table.attributes):
            truth = attribute.hierarchy.leaves.gather(table.quasi.wide[inside, j]).to_list()
            own = shown[attribute.name].to_list()
            assert own == truth if not permute else Counter(own) == Counter(truth)
    assert model.verify(Evidence.of_release(table, release)).holds


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", None]), st.integers(0, 1)),
        min_size=1,
        max_size=14,
    )
)
def test_splitting_and_joining_keep_the_values_of_each_bucket(lines):
    rows = pl.DataFrame(
        lines, schema={"bucket": pl.Int32, "s": pl.String, "count": pl.Int64}, orient="row"
    ).with_columns(q=pl.int_range(len(lines)))
    first, second = split(rows, "bucket", ["s", "count"])
    assert first.columns == ["bucket", "q"]
    assert second["count_"].sum() == len(lines)
    again = join_tables(first, second, "bucket", ["s", "count"])
    assert again["q"].to_list() == list(range(len(lines)))
    assert Counter(again.select("bucket", "s", "count").rows()) == Counter((b, s, c) for b, s, c in lines)
    # Without counts, each line is one row; read from text, buckets have another type.
    spread = rows.select("bucket", "s", "count").with_columns(pl.col("bucket").cast(pl.String))
    again = join_tables(first, spread, "bucket", ["s", "count"])
    assert Counter(again.select("bucket", "s", "count").rows()) == Counter((b, s, c) for b, s, c in lines)


def test_which_rows_share_a_bucket_is_chance():
    # Rows 0, 1 have one value and rows 2, 3 the other: row 0 meets row 2 or row 3, equally often.
    table = pl.DataFrame({"q": [1, 2, 3, 4], "s": ["a", "a", "b", "b"]})
    seen = Counter()
    for seed in range(200):
        made = shoal.anonymize(
            table, quasi=["q"], sensitive=["s"], l=2, method="anatomy", seed=seed
        ).release.layout.bucket_of
        seen[int(np.flatnonzero(made[2:] == made[0])[0])] += 1
    assert sum(seen.values()) == 200
    assert 70 <= seen[0] <= 130


@pytest.mark.parametrize("method", ["anatomy", "bucketization", "slice-columns"])
def test_beliefs_are_those_of_buckets(method):
    made = shoal.anonymize(PEOPLE, **ROLES, l=3, method={"name": method, "k": 3})
    tables = {"second": made.second} if method == "anatomy" else {}
    keywords = {**ROLES, "l": 3, "method": {"name": method, "k": 3}}
    for source in (made, made.table):
        found = shoal.attack(source, **tables, original=PEOPLE, name="attribute-disclosure", **keywords)
        # Everybody is in one bucket for certain: no zip and age of one occurs in another.
        bucket_of, disease = made.release.layout.bucket_of, PEOPLE["disease"]
        expected = [
            sum(disease[j] == disease[i] for j in np.flatnonzero(bucket_of == bucket_of[i]).tolist())
            / int((bucket_of == bucket_of[i]).sum())
            for i in range(len(PEOPLE))
        ]
        assert found.chances.tolist() == pytest.approx(expected)
        assert found.figures["share_at_risk"] == 0


@pytest.mark.parametrize("options", [{}, {"permute": True}, {"partitioner": "mondrian"}])
def test_audit_and_attack_read_both_tables(options):
    method = {"name": "anatomy", **options}
    made = shoal.anonymize(PEOPLE, **ROLES, l={"probabilistic": 3}, method=method)
    assert made.holds
    assert made.table.columns == ["zip", "age", "bucket"]
    assert made.second.columns == ["bucket", "disease", "count"]
    assert sorted(made.second["disease"].repeat_by(made.second["count"]).explode()) == sorted(
        PEOPLE["disease"]
    )
    keywords = {**ROLES, "l": {"probabilistic": 3}, "method": method}
    for original in (None, PEOPLE):
        report = shoal.audit(made.table, second=made.second, original=original, **keywords)
        assert report.holds
        assert report.verdicts[0].reached == made.verdicts[0].reached
    assert not shoal.audit(made.table, second=made.second, **{**keywords, "l": {"distinct": 5}}).holds
    found = shoal.attack(
        made.table, second=made.second, original=PEOPLE, population=PEOPLE, name="membership",
        adversary="columns" if options.get("permute") else "rows", **keywords,
    )  # fmt: skip
    assert found.figures["certainly_in"] == len(PEOPLE)


def test_the_second_table_must_fit():
    made = shoal.anonymize(PEOPLE, **ROLES, l=3, method="anatomy")
    keywords = {**ROLES, "l": 3, "method": "anatomy"}
    cases = {
        "different numbers of rows and of sensitive values": made.second.head(3),
        "has no column 'disease'": made.second.rename({"disease": "diseases"}),
        "whole numbers, 1 or more": made.second.with_columns(count=pl.lit(0)),
        "are empty": made.second.with_columns(bucket=pl.lit(None, pl.Int32)),
    }
    for says, second in cases.items():
        with pytest.raises(DataError, match=says):
            shoal.audit(made.table, second=second, **keywords)
    with pytest.raises(DataError, match="nothing to join"):
        shoal.audit(PEOPLE, second=made.second, **keywords)
    with pytest.raises(DataError, match="nothing to join"):
        shoal.audit(PEOPLE.drop("disease"), second=made.second, **keywords)
    with pytest.raises(PolicyError, match="disease"):
        shoal.audit(made.table, **keywords)


def test_uneven_values_are_explained():
    table = PEOPLE.with_columns(disease=pl.Series(["flu"] * 6 + ["cold", "gout", "gout"]))
    keywords = {**ROLES, "method": "anatomy"}
    for suppression in (0.0, 0.5):
        # With three people less who have flu there would be buckets, but everybody would know what these three have.
        with pytest.raises(LimitError, match=r"6 of 9 rows\. Suppression does not help"):
            shoal.anonymize(table, **keywords, l=2, suppression=suppression)
    with pytest.raises(InfeasibleError, match="has 3"):
        shoal.anonymize(table, **keywords, l={"recursive": [2, 4]})
    with pytest.raises(LimitError, match=r"recursive \(1, 2\)-diversity.*mondrian"):
        shoal.anonymize(PEOPLE, **keywords, l={"recursive": [1, 2]})
    with pytest.raises(PolicyError, match="the policy has no l"):
        shoal.anonymize(PEOPLE, **keywords, t={"equal": 0.9})
    with pytest.raises(PolicyError, match="sensitive column"):
        shoal.anonymize(PEOPLE.drop("disease"), quasi=["zip", "age"], k=2, method="anatomy")


def limited(method, suppression=0.0):
    return shoal.Policy.from_dict(
        {
            "columns": {
                "city": {
                    "role": "quasi",
                    "hierarchy": {"tree": {"North": ["Oslo", "Bern"], "South": ["Rome"]}},
                    "limit": 1,
                },
                "disease": "sensitive",
            },
            "privacy": {"l": {"distinct": 2}},
            "method": method,
            "utility": {"suppression": suppression},
        }
    )


def test_limits_part_no_buckets_of_values():
    """The two people of Rome have one disease, so a bucket of them alone is impossible; others may be in it."""
    rows = pl.DataFrame(
        {"city": ["Oslo", "Bern"] * 6 + ["Rome"] * 2, "disease": ["flu", "cold", "gout"] * 4 + ["flu"] * 2}
    )
    for suppression in (0.0, 0.3):
        made = shoal.anonymize(rows, limited({"name": "anatomy"}, suppression))
        assert made.suppressed == 0
        assert made.table["city"].sort().equals(rows["city"].sort())
        assert not any("limits" in note for note in made.notes)
    other = {"name": "anatomy", "partitioner": "mondrian"}
    with pytest.raises(InfeasibleError, match="generalization limits"):
        shoal.anonymize(rows, limited(other))
    made = shoal.anonymize(rows, limited(other, 0.3))
    assert made.suppressed == 2
    assert any("limits 1 block cannot be published" in note for note in made.notes)
    assert shoal.explain(rows, limited({"name": "anatomy"}), seconds=1e-9).feasible
    found = shoal.compare(rows, limited({"name": "anatomy"}), methods=["anatomy", "bucketization"])
    status = {trial.method: trial.status for trial in found.trials}
    assert status["anatomy"] == "done"
    assert status["bucketization"] != "done"


def test_several_sensitive_columns_stay_together():
    table = PEOPLE.with_columns(doctor=pl.col("disease") + "ist")
    roles = {"quasi": ["zip", "age"], "sensitive": ["disease", "doctor"]}
    with pytest.raises(PolicyError, match="disease and doctor"):
        shoal.anonymize(table, **roles, l=3, method="anatomy")
    for method in ("anatomy", {"name": "anatomy", "partitioner": "mondrian", "permute": True}):
        made = shoal.anonymize(table, **roles, l={"disease": {"distinct": 3}}, method=method)
        assert (made.second["disease"] + "ist").equals(made.second["doctor"], check_names=False)


def test_a_column_called_bucket_or_count_is_no_trouble():
    table = PEOPLE.rename({"zip": "bucket", "disease": "count"})
    keywords = {"quasi": ["bucket", "age"], "sensitive": ["count"], "l": 3, "method": "anatomy"}
    made = shoal.anonymize(table, **keywords)
    assert made.table.columns == ["bucket", "age", "bucket_"]
    assert made.second.columns == ["bucket_", "count", "count_"]
    assert shoal.audit(made.table, second=made.second, **keywords).holds


@pytest.mark.parametrize(
    ("name", "second"),
    [
        ("out.csv", "out-sensitive.csv"),
        ("a.b.csv.gz", "a.b-sensitive.csv.gz"),
        ("x.PARQUET", "x-sensitive.PARQUET"),
    ],
)
def test_names_of_second_tables(name, second):
    assert second_path(name).name == second


# --- the command line -----------------------------------------------------------------------------------------------

POLICY = """
[columns]
zip = "quasi"
age = "quasi"
disease = "sensitive"
[privacy]
l = 3
[method]
name = "anatomy"
"""
ANONYMIZE = ("anonymize", "data.csv", "-p", "policy.toml", "-o", "out.csv")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PEOPLE.write_csv("data.csv", separator=";")
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


def test_two_files_there_and_back(folder):
    result, made = run(folder, *ANONYMIZE, "--card", "card.md", "--json")
    assert result.exit_code == 0, result.stderr
    assert made == {"out.csv", "out-sensitive.csv", "card.md"}
    assert (folder / "out-sensitive.csv").read_text().startswith("bucket;disease;count\n")
    assert "disease" not in (folder / "out.csv").read_text()
    assert "| disease | sensitive | as it is, in a separate table |" in (folder / "card.md").read_text()
    for more in ((), ("--original", "data.csv"), ("--second", "out-sensitive.csv")):
        result, _ = run(folder, "audit", "out.csv", "-p", "policy.toml", *more, "--json")
        assert result.exit_code == 0, result.stderr
        assert json.loads(result.stdout)["verdicts"][0]["reached"] == 3
    words = (
        "attack",
        "out.csv",
        "--original",
        "data.csv",
        "-p",
        "policy.toml",
        "--attack",
        "attribute-disclosure",
    )
    result, _ = run(folder, *words)
    assert "Traceback" not in result.output + result.stderr
    assert "success" in result.stdout


def test_attacks_and_reports_are_told_of_a_second_table_elsewhere(folder):
    run(folder, *ANONYMIZE)
    beside = {}
    about = ("out.csv", "--original", "data.csv", "-p", "policy.toml")
    asked = {
        "attack": ("--attack", "attribute-disclosure"),
        "report": ("-o", "report.html", "--force"),
    }
    for name, more in asked.items():
        beside[name] = run(folder, name, *about, *more)[0].stdout
    page = (folder / "report.html").read_text()
    (folder / "out-sensitive.csv").rename(folder / "values.csv")
    for name, more in asked.items():
        assert run(folder, name, *about, *more)[0].stdout != beside[name], (
            "there is nothing beside it any more"
        )
        result, _ = run(folder, name, *about, "--second", "values.csv", *more)
        assert result.exit_code in (0, 5), result.stderr
        assert result.stdout == beside[name]
    assert (folder / "report.html").read_text() == page
    words = ("report", *about, "--second", "values.csv", "-o", "values.csv", "--force")
    refused(folder, 6, *words, says="would replace values.csv")
    (folder / "values.csv").rename(folder / "out-sensitive.csv")
    words = ("report", *about, "-o", "out-sensitive.csv", "--force")
    refused(folder, 6, *words, says="would replace out-sensitive.csv")
    refused(folder, 3, "attack", *about, "--second", "gone.csv", says="gone.csv")


def test_neither_file_without_the_other(folder, monkeypatch):
    (folder / "out-sensitive.csv").write_text("old")
    refused(folder, 6, *ANONYMIZE, says="out-sensitive.csv exists already")
    refused(
        folder, 6, *ANONYMIZE, "--force", "--record", "out-sensitive.csv", says="would replace the release"
    )
    (folder / "data-sensitive.csv").write_bytes((folder / "data.csv").read_bytes())
    words = ("anonymize", "data-sensitive.csv", "-p", "policy.toml", "-o", "data.csv", "--force")
    refused(folder, 6, *words, says="would replace the data")
    real = os.fsync

    def full(handle):
        if "out-sensitive" in os.readlink(f"/proc/self/fd/{handle}"):
            raise OSError(28, "No space left on device")
        real(handle)

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("needs to know which file a handle belongs to")
    monkeypatch.setattr(os, "fsync", full)
    refused(folder, 6, *ANONYMIZE, "--force", says="No space left on device; nothing was changed")
    assert (folder / "out-sensitive.csv").read_text() == "old"


@pytest.mark.parametrize(
    ("code", "words", "says"),
    [
        (2, ("--set", "method.permute=3"), "method.permute"),
        (2, ("--set", "method.partitioner=mondrain"), "did you mean 'mondrian'?"),
        (2, ("--set", "method.partitioner=ring"), "cannot make buckets"),
        (2, ("--set", "method.k=1"), "at least 2, not 1"),
        (2, ("--set", "method.strict=false"), "works only with mondrian"),
        (4, ("--set", "privacy.l={distinct=5}"), "has 4"),
        (4, ("--set", "privacy.l={probabilistic=4}"), "most frequent values"),
        (7, ("--set", "privacy.l={distinct=4}"), "3 of 9 rows"),
    ],
)
def test_refused(folder, code, words, says):
    refused(folder, code, *ANONYMIZE, *words, says=says)


@given(tables(rows=st.integers(4, 14), sensitive=st.just(1)), st.integers(0, 3))
def test_any_partitioner_makes_buckets_that_hold(table, seed):
    assume((table.sensitive_counts[0] > 0).sum() >= 2)
    model = DistinctDiversity(l=2, column=0, column_name="s0")
    wanted = Requirements(models=(model,))
    for partitioner in ("mondrian", "hilbert", "lexicographic", "agglomerative"):
        for name in ("anatomy", "bucketization", "slice-columns"):
            method = METHODS[name](partitioner=partitioner, k=2)
            try:
                release = method.anonymize(table, wanted, Run.start(seed))
            except LimitError:
                assert partitioner in ("hilbert", "lexicographic")  # These need rarer values than the others.
                continue
            assert model.verify(Evidence.of_release(table, release)).holds


def test_a_column_named_bucket_shuffles_nothing():
    """Who is in zip 1 has flu, whatever stands in a further column, unless the method of the policy shuffles."""
    table = pl.DataFrame({"zip": ["1"] * 5 + ["2"] * 5, "disease": ["flu"] * 5 + ["hiv"] * 5})
    asked = {"quasi": ["zip"], "sensitive": ["disease"], "k": 5, "l": 2, "other_columns": "plain"}
    marked = table.with_columns(bucket=pl.lit(1))
    for method in ("mondrian", "auto"):
        for original in (table, marked, None):
            found = shoal.audit(marked, original=original, method=method, **asked)
            assert [verdict.reached for verdict in found.verdicts] == [
                5,
                1,
                *([0] if original is not None else []),
            ]
    # Here the original has such a column, so that ours would be called otherwise.
    found = shoal.audit(marked, original=marked, method="bucketization", **asked)
    assert [verdict.reached for verdict in found.verdicts] == [5, 1, 0]


def test_a_second_table_tells_nothing_else():
    keywords = {**ROLES, "l": 3, "method": "anatomy"}
    made = shoal.anonymize(PEOPLE, **keywords)
    for extra in ("name", "zip"):
        with pytest.raises(DataError, match=f"'{extra}'"):
            shoal.audit(made.table, second=made.second.with_columns(pl.lit("x").alias(extra)), **keywords)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "xlsx", "parquet"])
@pytest.mark.parametrize("again", ["parquet", "csv"])
def test_text_that_is_not_guessed_comes_back(folder, ending, again):
    """With `guess_types = false` counts and buckets are text in the second file, and so are numbers in both."""
    people = PEOPLE.with_columns(pl.col("age").cast(pl.String).str.zfill(4))
    people.write_csv("data.csv", separator=";")
    (folder / "policy.toml").write_text("[data]\nguess_types = false\n" + POLICY)
    result, _ = run(folder, "anonymize", "data.csv", "-p", "policy.toml", "-o", f"out.{ending}")
    assert result.exit_code == 0, result.stderr
    # Other tools read the file and write it again.
    if again == "csv" and ending == "parquet":
        for name in ("out", "out-sensitive"):
            pl.read_parquet(f"{name}.parquet").write_csv(f"{name}.csv", separator=";")
        ending = "csv"
    for more in ((), ("--original", "data.csv"), ("--second", f"out-sensitive.{ending}")):
        result, _ = run(folder, "audit", f"out.{ending}", "-p", "policy.toml", *more, "--json")
        assert result.exit_code == 0, result.stderr
        assert json.loads(result.stdout)["verdicts"][0]["reached"] == 3
    words = ("attack", f"out.{ending}", "--original", "data.csv", "-p", "policy.toml")
    result, _ = run(folder, *words, "--attack", "attribute-disclosure")
    assert result.exit_code == 0, result.stderr
    assert "success" in result.stdout
