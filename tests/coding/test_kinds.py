"""Contract of every hierarchy kind in the registry: its policy, hierarchy, JSON schema, documentation and report."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import polars as pl
import pytest

from shoal.coding.hierarchy import KINDS, Hierarchy, build
from shoal.coding.hierarchy.kinds import Misspelled, TableKind, parse_hierarchy
from shoal.documents.report import main_sections as sections
from shoal.policy import Policy, json_schema, toml

PAGE = Path(__file__).parents[2] / "docs" / "hierarchies.md"
CODES = pl.Series("a", ["02108", "06510", "01001", None])
AGES = pl.Series("a", [17, 23, 61, None])
VALUES = {
    "none": AGES,
    "auto": CODES,
    "widths": AGES,
    "grid": AGES,
    "cuts": AGES,
    "mask": CODES,
    "dates": pl.Series("a", [dt.date(2024, 3, 1), dt.date(1999, 1, 1), None]),
    "known": pl.Series("a", ["I25.1", "E11.9", "J45.0", None]),
    "top": AGES,
    "tree": CODES,
    "file": CODES,
}
LEVELS = {
    "none": ["*"],
    "auto": ["*"],
    "widths": ["20-24", "20-29", "20-39", "*"],
    "grid": ["*"],
    "cuts": ["18-29", "18-64", "*"],
    "mask": ["0651*", "065**", "06***", "0****", "*"],
    "dates": ["1999-01", "1999-Q1", "1999", "1990s", "*"],
    "known": ["E11*", "E08-E14", "E00-E90", "*"],
    "top": ["*"],
    "tree": ["Coast", "*"],
    "file": ["Redfield", "Coast", "*"],
}
"""What each kind makes of its second value, level by level, by the documentation."""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "zip.csv").write_text(
        "02108;Port Ellen;Coast;*\n06510;Redfield;Coast;*\n01001;Ashford;Inland;*\n"
    )
    return tmp_path


def policy_with(spec, folder):
    text = f'[columns.a]\nrole = "quasi"\nhierarchy = {toml.value(spec)}\n[privacy]\nk = 2\n'
    return Policy.from_toml(text, folder)


def test_the_tables_here_list_the_registry():
    assert list(VALUES) == list(LEVELS) == list(KINDS)


@pytest.mark.parametrize("name", KINDS)
def test_a_policy_reaches_the_kind(folder, name):
    kind = KINDS[name]
    assert kind.name == name
    policy = policy_with(kind.example, folder)
    (plan,) = policy.plans(["a"])
    assert type(parse_hierarchy(plan.hierarchy)) is kind
    hierarchy = build(VALUES[name], plan.hierarchy)
    assert isinstance(hierarchy, Hierarchy)
    at = hierarchy.locate(VALUES[name].slice(1, 1))
    names = [hierarchy.names(at, at, level=level)[0] for level in range(1, len(hierarchy.levels))]
    assert names == LEVELS[name]
    assert Policy.from_toml(policy.to_toml(), folder) == policy


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_that_knows_its_domain_needs_no_data(folder, name):
    kind = KINDS[name]
    (plan,) = policy_with(kind.example, folder).plans(["a"])
    hierarchy = build(pl.Series("a", [], dtype=pl.String), plan.hierarchy)
    assert (hierarchy.size > 0) == kind.knows_domain


@pytest.mark.parametrize("name", KINDS)
def test_names_of_nodes_show_no_values_unless_the_kind_says_so(folder, name):
    """A public report prints names of nodes, but not those that are made of single values of the data."""
    people = pl.Series("a", [f"person {letter}" for letter in "abcdefghijklmnopq"])
    values = people if name == "auto" else VALUES[name]
    (plan,) = policy_with(KINDS[name].example, folder).plans(["a"])
    levels = build(values, plan.hierarchy).levels
    above = [node for level in levels[1:] for node in level.names.drop_nulls()]
    shown = [value for value in values.drop_nulls().cast(pl.String) if any(value in node for node in above)]
    assert bool(shown) == KINDS[name].names_values


@pytest.mark.parametrize("name", KINDS)
def test_the_documentation_shows_the_example(name):
    assert f"hierarchy = {toml.value(KINDS[name].example)}" in PAGE.read_text()


@pytest.mark.parametrize("name", KINDS)
def test_the_schema_describes_the_kind(name):
    kind = KINDS[name]
    schema = json_schema()
    choices = schema["$defs"]["Column"]["properties"]["hierarchy"]["anyOf"]
    assert len(choices) == len(KINDS)
    entry = choices[list(KINDS).index(name)]
    assert entry["description"]
    if issubclass(kind, TableKind):
        assert set(entry["properties"]) == {field.name for field in fields(kind)}
        assert entry["required"] == ([name] if name != "top" else [])  # bottom alone is enough
        assert entry["additionalProperties"] is False
        assert all(shape["description"] for shape in entry["properties"].values())
    else:
        assert entry.get("const", name) == name
    json.dumps(entry)


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if issubclass(kind, TableKind)])
def test_a_table_kind_refuses_what_it_does_not_know(folder, name):
    example = dict(KINDS[name].example)
    with pytest.raises(Misspelled, match="spelling is unknown here"):
        parse_hierarchy({**example, "spelling": 1})
    with pytest.raises(Misspelled) as caught:
        parse_hierarchy({name: 0.5 if name not in ("top", "grid") else "high", "spelling": 1})
    assert {flaw.keys[0] for flaw in caught.value.flaws} == {name, "spelling"}


@pytest.mark.parametrize("name", KINDS)
def test_the_report_says_what_the_kind_does(name):
    kind = parse_hierarchy(KINDS[name].example)
    assert kind.describe(free=True)
    # The words come from the kind: the report knows none of their names. [privacy] has a key `known`, too.
    source = Path(sections.__file__).read_text().replace('("known", str(policy.privacy.known)', "")
    assert f'"{name}"' not in source


def test_checking_a_hierarchy_imports_nothing_heavy():
    script = (
        "import sys; from shoal.coding.hierarchy.kinds import KINDS, parse_hierarchy\n"
        "for kind in KINDS.values(): parse_hierarchy(kind.example)\n"
        "assert not {'polars', 'numpy', 'pydantic'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
