"""The audit of synthetic tables: the known order of four generators, what cannot be known, and wrong input."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.apps.cli import main
from shoal.errors import DataError, PolicyError
from tests.inputs.generators import GENERATORS, population

BOTH = population(3000, 1)
TRAIN, HOLDOUT = BOTH[:1500], BOTH[1500:]
QUICK = {"seed": 3, "targets": 600}


@pytest.fixture(scope="module")
def audits():
    pytest.importorskip("sklearn")
    return {
        name: shoal.audit_synthetic(make(TRAIN, 1500, 5), TRAIN, HOLDOUT, **QUICK)
        for name, make in GENERATORS.items()
    }


def mean_risk(audit, question):
    own = [one.residual() for one in audit.attempts if one.question == question]
    return float(np.mean([one.value for one in own if one is not None]))


@pytest.mark.parametrize("question", ["inference", "singling_out", "linkability"])
def test_a_bootstrap_leaks_most_and_shuffled_marginals_least(audits, question):
    risk = {name: mean_risk(audit, question) for name, audit in audits.items()}
    assert risk["bootstrap"] == max(risk.values())
    assert risk["bootstrap"] > risk["shuffled marginals"] + 0.1


def test_the_known_order_of_the_generators_comes_out(audits):
    inference = [mean_risk(audits[name], "inference") for name in GENERATORS]
    area = [audits[name].membership.area for name in GENERATORS]
    nearer = [audits[name].closest.nearer.share for name in GENERATORS]
    for figures in (inference, area, nearer):
        assert figures == sorted(figures, reverse=True)
    assert area[-1] == pytest.approx(0.5, abs=0.05)


def test_leaks_are_found_where_they_are(audits):
    assert [audits[name].holds for name in list(GENERATORS)[:3]] == [False, False, False]
    assert len(audits["bootstrap"].leaks) > len(audits["copies with noise"].leaks) > 0
    # Shuffled values are true values: those that one person alone has still come back, and nothing else does.
    assert {one.name for one in audits["shuffled marginals"].leaks} <= {"univariate"}
    assert not audits["shuffled marginals"].tells_members


def test_shuffled_marginals_are_of_less_use(audits):
    useful = {name: {one.name: one for one in audit.usefulness.figures} for name, audit in audits.items()}
    assert useful["bootstrap"]["k-marginal"].synthetic > useful["shuffled marginals"]["k-marginal"].synthetic
    assert useful["bootstrap"]["pmse"].synthetic < useful["shuffled marginals"]["pmse"].synthetic


@pytest.mark.parametrize("seed", range(4))
def test_fresh_people_of_the_same_population_are_no_leak(seed):
    """The table was made from nobody's row: whatever succeeds on training rows succeeds on the holdout, too."""
    audit = shoal.audit_synthetic(population(1500, 50 + seed), TRAIN, HOLDOUT, seed=seed, targets=400)
    assert audit.holds is True
    assert audit.leaks == []


def test_fresh_people_are_no_leak_with_a_smaller_holdout():
    audit = shoal.audit_synthetic(population(1500, 61), TRAIN, HOLDOUT[:400], **QUICK)
    assert audit.leaks == []
    assert any("scaled by a fitted model" in note for note in audit.notes)


def test_a_seed_repeats_the_figures():
    one, other = (
        shoal.audit_synthetic(
            GENERATORS["bootstrap"](TRAIN, 300, 1), TRAIN, HOLDOUT, seed=7, targets=100
        ).summary()
        for _ in range(2)
    )
    assert one == other


def test_without_a_holdout_the_risk_is_unknown_and_never_low():
    audit = shoal.audit_synthetic(GENERATORS["shuffled marginals"](TRAIN, 1500, 5), TRAIN, **QUICK)
    assert audit.holds is None
    assert all(one.residual() is None for one in audit.attempts)
    assert audit.membership is None
    page = audit.report()
    assert "cannot be known" in page
    assert "found no leak" not in page
    assert any("there is no holdout" in note for note in audit.notes)


def test_a_limit_is_kept_broken_or_not_decided():
    made = GENERATORS["copies with noise"](TRAIN, 1500, 5)
    assert shoal.audit_synthetic(made, TRAIN, HOLDOUT, limit=0.05, **QUICK).holds is False
    loose = shoal.audit_synthetic(made, TRAIN, HOLDOUT, limit=0.9, **QUICK)
    assert loose.holds is True
    few = shoal.audit_synthetic(population(100, 9), TRAIN, HOLDOUT, limit=0.01, seed=1, targets=20)
    assert few.holds is None
    assert few.open


def test_analyses_are_compared(tmp_path):
    queries = tmp_path / "queries.toml"
    queries.write_text('[[query]]\nwhere = { town = "Bode" }\n', encoding="utf-8")
    audit = shoal.audit_synthetic(
        GENERATORS["bootstrap"](TRAIN, 1500, 5), TRAIN, HOLDOUT,
        regression="pay ~ age + school", workload=queries, predict="pay", sensitive=["ill"], **QUICK,
    )  # fmt: skip
    found = {one.name: one for one in audit.usefulness.figures}
    assert 0.5 < found["regression-overlap"].synthetic <= 1.0
    assert found["workload-error"].synthetic == pytest.approx(0.0, abs=0.2)
    assert found["prediction-r2"].synthetic > 0.5
    assert [one.name for one in audit.attempts if one.question == "inference"] == ["ill"]


def test_single_values_give_the_same_marginals_as_cells_that_cover_several(monkeypatch):
    """Exact cells are counted, which is a hundred times as fast as spreading each over the values that it covers."""
    from shoal.judging.linking.evidence import Evidence
    from shoal.judging.measures.marginals import KMarginal
    from shoal.judging.measures.spread import Spread
    from shoal.support.run import Run
    from shoal.synthetic.tables import read_tables
    from shoal.synthetic.utility import Analyses, encode_tables, publish_rows

    coded = encode_tables(read_tables(HOLDOUT, TRAIN), Analyses(), 1500, Run.start(1))
    published = publish_rows(coded["synthetic"])
    assert Spread(published, sensitive=True).is_exact
    counted = KMarginal().value(Evidence(published, coded["original"]))
    monkeypatch.setattr(Spread, "is_exact", False)
    assert counted == pytest.approx(KMarginal().value(Evidence(published, coded["original"])))


# --- wrong input ------------------------------------------------------------------------------------------


def test_a_holdout_that_overlaps_is_found_told_and_left_out():
    mixed = pl.concat([HOLDOUT[:700], TRAIN[:300]])
    audit = shoal.audit_synthetic(GENERATORS["bootstrap"](TRAIN, 500, 1), TRAIN, mixed, seed=1, targets=100)
    note = next(note for note in audit.notes if note.startswith("OVERLAP"))
    assert "of 1,000 rows of the holdout" in note
    assert audit.rows["holdout"] <= 700
    with pytest.raises(DataError, match=r"all 1,500 rows of the holdout are rows of the original"):
        shoal.audit_synthetic(TRAIN, TRAIN, TRAIN)


def test_equal_rows_of_different_people_are_no_overlap():
    few = [frame.select("town", "school") for frame in (TRAIN, TRAIN, HOLDOUT)]
    audit = shoal.audit_synthetic(*few, **QUICK)
    assert audit.rows["holdout"] == 1500
    assert any("no more than chance explains" in note for note in audit.notes)


@pytest.mark.parametrize(
    ("synthetic", "original", "holdout", "message"),
    [
        ({"a": [1]}, {"b": [1]}, None, r"original table has no column 'a' \(available: b\).*columns"),
        ({"a": [1], "b": [2]}, {"a": [1], "b": [2]}, {"a": [1]}, r"holdout table has no column 'b'"),
        (
            {"a": [1]},
            {"a": ["x"]},
            None,
            r"a number in the synthetic table, text in the original table.*categories",
        ),
        ({"a": [True]}, {"a": [1.5]}, None, r"a Boolean in the synthetic table, a number in the original"),
        ({"a": []}, {"a": [1]}, None, r"the synthetic table cannot be read.*no rows"),
        ({"a": [1]}, {"a": [1]}, {"a": []}, r"the holdout table cannot be read.*no rows"),
        ({"a": [[1]]}, {"a": [[1]]}, None, r"List.*single values"),
    ],
)
def test_tables_that_do_not_fit_together(synthetic, original, holdout, message):
    frames = [None if one is None else pl.DataFrame(one) for one in (synthetic, original, holdout)]
    with pytest.raises(DataError, match=f"(?s){message}"):
        shoal.audit_synthetic(*frames)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sensitive": ["x"]}, r"sensitive: 'x' is not audited.*available"),
        ({"predict": "x"}, r"predict: 'x' is not audited"),
        ({"regression": "x ~ age"}, r"regression: there is no audited column 'x'"),
        ({"targets": 0}, r"targets: must be a whole number from 1 on, not 0"),
        ({"limit": 1.5}, r"limit: must be from 0 to 1, not 1.5"),
        ({"seed": -1}, r"seed"),
        ({"link_columns": [(["age"], ["age"])]}, r"'age' is in both sets"),
    ],
)
def test_wrong_arguments(given, message):
    with pytest.raises(PolicyError, match=message):
        shoal.audit_synthetic(TRAIN, TRAIN, HOLDOUT, **given)


def test_columns_and_categories_are_chosen():
    frames = [frame.with_columns(zip=pl.Series([10, 20, 30] * 500)) for frame in (TRAIN, TRAIN, HOLDOUT)]
    audit = shoal.audit_synthetic(*frames, columns=["zip", "age"], categories=["zip"], **QUICK)
    assert audit.columns == ("zip", "age")
    codes = pl.DataFrame({"a": ["007", "x"]}), pl.DataFrame({"a": [7, 8]})
    assert shoal.audit_synthetic(*codes, categories=["a"]).columns == ("a",)


def test_hard_columns():
    """Nulls, one value, infinities, NaN and the largest numbers: figures come out, and no warning."""
    frame = pl.DataFrame(
        {
            "none": pl.Series([None] * 6, dtype=pl.String),
            "one": [1] * 6,
            "wide": [1e308, -1e308, 0.0, float("inf"), float("nan"), None],
            "day": pl.Series(
                ["2001-01-01", None, "2001-01-02", "2001-01-02", "1900-01-01", "2001-01-03"]
            ).str.to_date(),
        }
    )
    audit = shoal.audit_synthetic(frame, frame, frame.with_columns(one=pl.lit(2)), **QUICK)
    assert audit.rows["holdout"] == 6
    assert "<script" not in audit.report()


def test_one_column_refuses_what_needs_two():
    audit = shoal.audit_synthetic(TRAIN.select("age"), TRAIN.select("age"), HOLDOUT.select("age"), **QUICK)
    refused = [one.question for one in audit.attempts if one.refused]
    assert {"linkability", "inference", "singling_out"} <= set(refused)


# --- the report and the command line ----------------------------------------------------------------------


def test_the_public_report_shows_no_row_and_no_value():
    hostile = "<b>Zorro</b>"
    train = TRAIN.with_columns(
        town=pl.when(pl.int_range(pl.len()) == 4).then(pl.lit(hostile)).otherwise("town")
    )
    audit = shoal.audit_synthetic(train, train, HOLDOUT, **QUICK)
    public, private = audit.report("public"), audit.report("private")
    assert "Training rows that are exposed" not in public
    assert "Zorro" not in public
    assert "Training rows that are exposed" in private
    assert hostile not in private
    assert audit.report() == public
    with pytest.raises(PolicyError, match="edition"):
        audit.report("secret")


@pytest.fixture
def files(tmp_path):
    made = {"synth": GENERATORS["bootstrap"](TRAIN, 600, 1), "train": TRAIN, "control": HOLDOUT}
    for name, frame in made.items():
        frame.write_csv(tmp_path / f"{name}.csv")
    return tmp_path


def call(files, *given):
    words = [
        "audit-synthetic",
        str(files / "synth.csv"),
        "--original",
        str(files / "train.csv"),
        "--targets",
        "100",
    ]
    return CliRunner().invoke(main, [*words, "--seed", "1", *given])


def test_the_command_ends_with_5_9_and_0(files):
    holdout = ("--holdout", str(files / "control.csv"))
    leak = call(files, *holdout, "--report", str(files / "r.html"), "--private-report", str(files / "p.html"))
    assert leak.exit_code == 5, leak.output
    assert "Training rows leak" in leak.output
    assert "Training rows leak" in (files / "r.html").read_text()
    assert (files / "p.html").stat().st_mode & 0o077 == 0
    unknown = call(files, "--json")
    assert unknown.exit_code == 9
    assert json.loads(unknown.output)["holds"] is None
    population(600, 77).write_csv(files / "synth.csv")
    fine = call(files, *holdout, "--json")
    assert fine.exit_code == 0, fine.output
    assert json.loads(fine.output)["attacks"][0]["residual"]["high"] <= 1.0


def test_the_command_refuses_with_its_codes(files):
    wrong = call(files, "--columns", "age,nothing")
    assert wrong.exit_code == 3
    assert "'nothing'" in wrong.output
    assert call(files, "--sensitive", "nothing").exit_code == 2
    assert call(files, "--report", str(files / "train.csv"), "--force").exit_code == 6
    (files / "r.html").write_text("mine")
    taken = call(files, "--report", str(files / "r.html"))
    assert taken.exit_code == 6
    assert "--force" in taken.output
    assert call(files, "--holdout", str(files / "none.csv")).exit_code == 3
