"""What results show in a terminal, a log, a traceback or a notebook: sizes and verdicts, never rows or values."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
from html.parser import HTMLParser

import pandas as pd
import polars as pl
import pytest

import shoal
from shoal import io
from shoal.judging.attacks import Exposure
from shoal.judging.read_case import read_proposal
from shoal.network.read_network import read_network
from shoal.pipeline.comparison import Comparison, Outcome, Trial
from shoal.policy.encode_table import encode_with_population
from shoal.release.verdict import Verdict
from shoal.support.brief import Brief

HOSTILE = "<script>alert('x')</script>\x1b[31m"
SECRET = "Secretville"
POLICY = {"quasi": [HOSTILE, "town"], "sensitive": ["s"], "k": 2, "suppression": 0.2}


def people():
    return pl.DataFrame(
        {
            HOSTILE: [4711, 4711, 4712, 4712, 4713, 4713, 9999, 4714, 4714],
            "town": ["Ulm", "Ulm", "Aix", "Aix", "Ulm", "Ulm", SECRET, "Aix", "Aix"],
            "s": ["flu", "cold", "flu", "gout", "flu", "cold", "gout", "flu", "cold"],
        }
    )


@pytest.fixture(scope="module")
def objects():
    """One of each thing that users meet, and what they hold."""
    frame = people()
    policy = shoal.Policy.from_keywords(**POLICY)
    result = shoal.anonymize(frame, policy)
    read = io.read(frame)
    table = encode_with_population(read, policy, None)
    case = read_proposal(policy, table, result.release)
    explanation = shoal.explain(frame, policy, seconds=2)
    reason = f"the value {SECRET} is too rare"
    outcome = Outcome(
        attack="linkage", adversary="knows", success=0.5, baseline=0.1, at_risk=1, people=9, note=reason
    )
    trial = Trial(method="mondrian", status="failed", reason=reason, k=2)
    edges = pl.DataFrame({"a": ["x1", "x2", "x3"], "b": ["x2", "x3", "x1"]})
    nodes = pl.DataFrame({"id": ["x1", "x2", "x3"], "town": [SECRET] * 3})
    network = shoal.anonymize_network(nodes, edges, quasi=["town"], identifier=["id"], k=3, id="id")
    found = [
        result, result.release, policy, read, table, *table.attributes, *(a.hierarchy for a in table.attributes),
        case, case.published, case.groups, case.risk, case.consistency, explanation, *explanation.costs, outcome, trial,
        dataclasses.replace(trial, status="done", reason="", attacks=(outcome,)),
        Comparison(trials=(trial,), adversaries=("somebody",), rows=9),
        shoal.audit(result.table, policy, original=frame),
        shoal.attack(result, policy, original=frame),
        shoal.report(result, policy, original=frame, edition="private"),
        network, network.masked, network.network, read_network(nodes, edges, id="id"),
    ]  # fmt: skip
    return {f"{place} {type(one).__name__}": one for place, one in enumerate(found)}


def test_a_line_tells_no_values_and_no_rows(objects):
    for name, one in objects.items():
        line = repr(one)
        assert "\n" not in line, name
        assert len(line) < 600, name
        for hidden in (SECRET, "4711", "9999", "Ulm", "gout", "array", "shape:", "Series", "\x1b"):
            assert hidden not in line, name


def test_notebooks_show_the_verdicts_and_escape_names(objects):
    with_tables = [one for one in objects.values() if hasattr(one, "_repr_html_")]
    kinds = {type(one) for one in with_tables}
    assert {shoal.Result, shoal.Audit, shoal.Exposure, shoal.Comparison, shoal.Explanation} <= kinds
    for one in with_tables:
        page = one._repr_html_()
        for hidden in (SECRET, "4711", "9999", "Ulm", "gout", "<script", "\x1b"):
            assert hidden not in page
        tags = []
        parser = HTMLParser()
        parser.handle_starttag = lambda tag, attributes, tags=tags: tags.append(tag)
        parser.feed(page)
        assert set(tags) <= {"div", "p", "table", "thead", "tbody", "tr", "th", "td", "span"}
    result = objects["0 Result"]
    page = result._repr_html_()
    for verdict in result.verdicts:
        assert verdict.model in page
    assert page.count("✓") == len(result.verdicts)


def test_a_figure_that_is_not_public_stays_out_of_notebooks():
    verdict = Verdict("0.2-closeness of s", 0.2, 0.1234567, True, "detail", higher_is_safer=False)
    broken = dataclasses.replace(verdict, reached=0.2345678, holds=False)
    audit = shoal.Audit(
        rows=9, suppressed=1, classes=3, verdicts=(verdict, broken), measures={}, losses={}, seconds={}
    )
    page = audit._repr_html_()
    assert "0.123" not in page
    assert "0.234" not in page
    assert "at most 0.2" in page
    assert "more than 0.2" in page
    assert page.count("✗") == 1
    assert repr(audit) == "<Audit: 9 rows, 1 of them suppressed, in 3 classes; violates 0.2-closeness of s>"


def test_exposures_tell_how_many_not_who():
    import numpy as np

    found = Exposure(attack="linkage", adversary="knows", success=0.25, baseline=0.125, figures={},
                     chances=np.array([1.0, 0.5]), at_risk=1)  # fmt: skip
    assert repr(found) == (
        "<Exposure: linkage; success 25.00%, without the release 12.50%; "
        "1 of 2 people are exposed more than the policy allows>"
    )


def dataclasses_of_shoal():
    for module in pkgutil.walk_packages(shoal.__path__, "shoal."):
        if not module.name.endswith("__main__"):
            for one in vars(importlib.import_module(module.name)).values():
                if inspect.isclass(one) and dataclasses.is_dataclass(one) and one.__module__ == module.name:
                    yield one


def test_no_dataclass_with_arrays_writes_its_repr_by_itself():
    rows = re.compile("Vector|Matrix|Series|DataFrame|LazyFrame|NDArray|ndarray|Numbers")
    checked = 0
    for kind in dataclasses_of_shoal():
        if issubclass(kind, Brief) or any(rows.search(str(field.type)) for field in dataclasses.fields(kind)):
            assert not kind.__dataclass_params__.repr, f"{kind.__module__}.{kind.__name__} prints its arrays"
            checked += 1
    assert checked > 50


def test_dir_shows_the_public_names_only():
    import shoal.pipeline.anonymize
    import shoal.policy.suggestions

    assert dir(shoal) == sorted(["__version__", *shoal.__all__])


# --- suggest -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["polars", "polars-lazy", "pandas", "pyarrow"])
def test_suggest_gives_the_policy_that_init_writes(tmp_path, kind):
    from click.testing import CliRunner

    from shoal.apps.cli import main

    frame = pl.DataFrame(
        {"age": range(20, 80), "zip": ["01234", "90210"] * 30, "diagnosis": ["a", "b", "c"] * 20}
    )
    path = tmp_path / "people.parquet"
    frame.write_parquet(path)
    assert CliRunner().invoke(main, ["init", str(path)]).exit_code == 0
    policy = shoal.suggest(io.give_back(frame, kind))
    assert isinstance(policy, shoal.Policy)
    assert policy.to_dict() == shoal.Policy.read(tmp_path / "people.toml").to_dict()
    assert policy.to_dict() == shoal.suggest(path).to_dict()
    assert shoal.anonymize(frame, policy).holds


def test_suggest_reads_files_as_told_and_says_what_is_wrong(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes("age;näme\n1;ä\n2;ö\n".encode("latin-1"))
    policy = shoal.suggest(path, data={"encoding": "latin-1"})
    assert (policy.data.encoding, policy.data.delimiter) == ("latin-1", ";")
    (tmp_path / "people.tsv").write_text("age\tname\n1\ta\n2\tb\n")
    assert shoal.suggest(tmp_path / "people.tsv").data.delimiter is None
    with pytest.raises(shoal.PolicyError, match=r"data\.encodin"):
        shoal.suggest(path, data={"encodin": "latin-1"})
    # Days and months that cannot be told apart.
    with pytest.warns(UserWarning, match="born"):
        shoal.suggest(pd.DataFrame({"born": ["1/2/1990", "3/4/1991", "5/6/2000"] * 10}))
