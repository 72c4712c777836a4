"""Policies: read, checked as a whole, changed, written back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.coding.hierarchy.kinds.file import File
from shoal.coding.hierarchy.kinds.none import NoHierarchy
from shoal.errors import PolicyError
from shoal.methods import METHODS
from shoal.policy import Column, Data, MethodChoice, Policy, Privacy, Widths, json_schema
from shoal.support.registry import Registry

WHOLE = """
[data]
delimiter = ";"
null_values = ["?"]
[columns.name]
role = "identifier"
[columns.age]
role = "quasi"
hierarchy = { widths = [5, 10, 20] }
weight = 2.0
limit = 2
[columns.town]
role = "quasi"
hierarchy = { tree = { north = ["a", "b"], south = { deep = ["c"] } } }
limit = ["north"]
[columns.disease]
role = "sensitive"
[columns.salary]
role = "sensitive"
[columns.note]
role = "plain"
[privacy]
k = 5
l = { disease = { distinct = 3 }, salary = { entropy = 2.5, recursive = [3, 2] } }
t = { equal = 0.2 }
alpha = { disease = 0.5 }
p = 2
[method]
name = "mondrian"
[utility]
measure = "gcp"
suppression = 0.05
"""

SMALL = '[columns]\nage = "quasi"\ndisease = "sensitive"\n[privacy]\nk = 3\n'
QUASI_B = SMALL + "[columns.b]\nrole = 'quasi'\n"


@dataclass(frozen=True, kw_only=True)
class Dummy:
    """A method with options of several types."""

    relaxed: bool = False
    """Whether rows with the same value may be torn apart."""
    tries: int = 1
    shape: Literal["flat", "deep"] = "flat"
    steps: tuple[int, ...] = ()
    share: float = 0.5

    def __post_init__(self):
        if self.tries < 1:
            raise ValueError(f"tries must be at least 1, not {self.tries}")


@pytest.fixture
def dummy(monkeypatch):
    places = {**METHODS._places, "dummy": f"{__name__}:Dummy"}
    monkeypatch.setattr(METHODS, "_places", places)
    assert isinstance(METHODS, Registry)


def problems(make, *arguments, **keywords):
    """The problems that a call raises, by path."""
    with pytest.raises(PolicyError) as caught:
        make(*arguments, **keywords)
    found = {problem.path: problem for problem in caught.value.problems}
    assert len(found) == len(caught.value.problems), "a path is reported twice"
    return found


def of_text(text, base="."):
    return problems(Policy.from_toml, text, base)


def test_whole_policy_says_what_it_says():
    policy = Policy.from_toml(WHOLE)
    assert policy.names("quasi") == ("age", "town")
    assert policy.names("sensitive") == ("disease", "salary")
    assert policy.utility.suppression == 0.05
    assert policy.data.delimiter == ";"
    titles = [(type(m).__name__, getattr(m, "column_name", None), m.threshold) for m in policy.models()]
    assert titles == [
        ("KAnonymity", None, 5),
        ("DistinctDiversity", "disease", 3),
        ("EntropyDiversity", "salary", 2.5),
        ("RecursiveDiversity", "salary", 3),
        ("EqualCloseness", "disease", 0.2),
        ("EqualCloseness", "salary", 0.2),
        ("AlphaK", "disease", 0.5),
        ("PSensitive", "disease", 2),
        ("PSensitive", "salary", 2),
    ]


def test_models_name_columns_in_the_order_of_the_table():
    policy = Policy.from_toml(WHOLE)
    columns = {m.column_name: m.column for m in policy.models(["salary", "disease"]) if hasattr(m, "column")}
    assert columns == {"salary": 0, "disease": 1}


def test_requirements_carry_measure_and_suppression():
    requirements = Policy.from_toml(WHOLE).requirements()
    assert (requirements.k, requirements.measure, requirements.suppression) == (5, "gcp", 0.05)


def test_plans_follow_the_table(tmp_path):
    (tmp_path / "age.csv").write_text("1;*\n")
    text = SMALL + '[columns.zip]\nrole = "quasi"\nhierarchy = "age.csv"\n'
    policy = Policy.from_toml(text, tmp_path)
    plans = policy.plans(["zip", "disease", "age"])
    assert [(plan.name, plan.role) for plan in plans] == [
        ("zip", "quasi"),
        ("disease", "sensitive"),
        ("age", "quasi"),
    ]
    assert plans[0].hierarchy == File(tmp_path / "age.csv")
    assert plans[2].hierarchy == NoHierarchy()
    whole = Policy.from_toml(WHOLE).plans(["name", "age", "town", "disease", "salary", "note"])
    assert whole[1].hierarchy == Widths((5, 10, 20))
    assert (whole[1].weight, whole[1].limit, whole[2].limit) == (2.0, 2, ("north",))


def test_columns_that_nobody_decided_on_are_refused():
    found = problems(Policy.from_toml(SMALL).plans, ["age", "diseases", "extra"])
    assert "diseases, extra" in found["columns"].message
    assert "other_columns" in found["columns"].hint
    assert "did you mean 'diseases'" in found["columns.disease"].hint


@pytest.mark.parametrize(("choice", "role"), [("drop", "drop"), ("plain", "plain")])
def test_other_columns_may_be_dropped_or_kept(choice, role):
    policy = Policy.from_toml(f'[data]\nother_columns = "{choice}"\n{SMALL}')
    assert policy.plans(["age", "disease", "extra"])[2].role == role


def test_a_release_lacks_its_identifiers():
    plans = Policy.from_toml(WHOLE).plans(["age", "town", "disease", "salary", "more"], of_release=True)
    assert [plan.role for plan in plans] == ["quasi", "quasi", "sensitive", "sensitive", "plain"]
    assert "columns.age" in problems(
        Policy.from_toml(WHOLE).plans, ["town", "disease", "salary"], of_release=True
    )


def test_all_problems_at_once():
    found = of_text(
        """
        [data]
        delimter = ";"
        encoding = "utf-9"
        [columns.name]
        role = "identifer"
        [columns.age]
        role = "quasi"
        hierarchy = { width = [5] }
        weight = -1
        [columns.b]
        role = "plain"
        limit = 2
        [columns."c d"]
        hierarchy = { dates = ["year", "month"] }
        [privacy]
        k = 1
        l = { distnct = 3 }
        t = 0.2
        alpha = 1.5
        [method]
        name = "mondrain"
        [utility]
        measure = "lmm"
        suppression = 1.2
        [privcy]
        k = 5
        """
    )
    assert set(found) == {
        "data.delimter",
        "data.encoding",
        "columns.name.role",
        "columns.age.hierarchy",
        "columns.age.weight",
        "columns.b.limit",
        'columns."c d".role',
        'columns."c d".hierarchy.dates',
        "privacy.k",
        "privacy.l.distnct",
        "privacy.t",
        "privacy.alpha",
        "method.name",
        "utility.measure",
        "utility.suppression",
        "privcy",
    }
    for path, meant in {
        "data.delimter": "delimiter",
        "data.encoding": "utf-8",
        "columns.name.role": "identifier",
        "columns.age.hierarchy": "widths",
        "privacy.l.distnct": "distinct",
        "method.name": "mondrian",
        "utility.measure": "lm",
        "privcy": "privacy",
    }.items():
        assert found[path].hint == f"did you mean '{meant}'?", path
    assert found["privacy.k"].message == "must be at least 2, not 1"
    assert found["utility.suppression"].message == "must be at most 1, not 1.2"


@pytest.mark.parametrize(
    ("text", "path", "part"),
    [
        ("[columns]\nd = 'sensitive'\n[privacy]\nk = 2\n", "columns", "no column is a quasi-identifier"),
        (
            "[columns]\na = 'quasi'\n[privacy]\nk = 2\nl = { distinct = 2 }\n",
            "privacy.l",
            "no sensitive column",
        ),
        ("[columns]\na = 'quasi'\n[privacy]\nk = 2\np = 2\n", "privacy.p", "no sensitive column"),
        ("[columns]\na = 'quasi'\n", "privacy", "asks for nothing"),
        (SMALL + "l = { age = { distinct = 2 } }\n", "privacy.l.age", "is quasi, not sensitive"),
        (SMALL + "l = { diseas = { distinct = 2 } }\n", "privacy.l.diseas", "not a column of the policy"),
        (SMALL + "l = {}\n", "privacy.l", "empty table"),
        (SMALL + "l = { distinct = 1 }\n", "privacy.l.distinct", "at least 2"),
        (SMALL + "l = { distinct = 2.5 }\n", "privacy.l.distinct", "whole number"),
        (SMALL + "l = { entropy = 1 }\n", "privacy.l.entropy", "more than 1"),
        (SMALL + "l = { recursive = [3] }\n", "privacy.l.recursive[1]", "missing"),
        (SMALL + "l = { recursive = [0, 2] }\n", "privacy.l.recursive[0]", "more than 0"),
        (SMALL + "t = { equal = 1.1 }\n", "privacy.t.equal", "at most 1"),
        (SMALL + "t = { equal = nan }\n", "privacy.t.equal", "finite"),
        (SMALL + "t = { hierarchical = 0.1 }\n", "columns.disease.hierarchy", "t.hierarchical"),
        (SMALL + "alpha = 0\n", "privacy.alpha", "more than 0"),
        (SMALL.replace("k = 3", "k = true"), "privacy.k", "whole number, not true"),
        (SMALL.replace("k = 3", 'k = "3"'), "privacy.k", "whole number, not '3'"),
        (QUASI_B + "hierarchy = 'no.csv'\n", "columns.b.hierarchy", "no file"),
        (QUASI_B + "hierarchy = { widths = [4, 10] }\n", "columns.b.hierarchy.widths", "multiple"),
        (QUASI_B + "hierarchy = { widths = [0] }\n", "columns.b.hierarchy.widths[0]", "more than 0"),
        (QUASI_B + "hierarchy = { widths = [] }\n", "columns.b.hierarchy.widths", "one entry, not 0"),
        (QUASI_B + "hierarchy = { cuts = [[1, 5], [2]] }\n", "columns.b.hierarchy.cuts", "the point 2"),
        (QUASI_B + "hierarchy = { tree = [] }\n", "columns.b.hierarchy.tree", "table of nodes"),
        (QUASI_B + "hierarchy = { mask = 'right', steps = [2, 1] }\n", "columns.b.hierarchy.steps", "grow"),
        (QUASI_B + "hierarchy = 3\n", "columns.b.hierarchy", "not 3"),
        (SMALL + "[columns.b]\nrole = 'plain'\nhierarchy = 'auto'\n", "columns.b.hierarchy", "is plain"),
        (SMALL + "[columns.b]\nrole = 'identifier'\nweight = 2\n", "columns.b.weight", "is identifier"),
        (QUASI_B + "protected = ['x']\n", "columns.b.protected", "is quasi"),
        (QUASI_B + "limit = -1\n", "columns.b.limit", "not -1"),
        (SMALL + "[data]\ndelimiter = ';'\nquote = ';'\n", "data", "both ';'"),
        (SMALL + "[data]\nother_columns = 'dorp'\n", "data.other_columns", "'dorp' is unknown"),
        (SMALL + "[engine]\nname = 'hadoop'\n", "engine.name", "'hadoop' is unknown"),
        (SMALL + "[engine]\npart_rows = -1\n", "engine.part_rows", "at least 0, not -1"),
        (SMALL + "[engine]\njobs = 1.5\n", "engine.jobs", "whole number, not 1.5"),
        (SMALL + "[engine]\nmaster = 'yarn'\n", "engine", "master is about Spark"),
        (SMALL + "[engine]\nsettings = { a = 'b' }\n", "engine", "settings is about Spark"),
        (SMALL + "[engine]\nname = 'spark'\nsettings = { a = [1] }\n", "engine.settings", "not [1]"),
        (SMALL + "[engine]\nname = 'spark'\nsettings = 3\n", "engine.settings", "table of settings, not 3"),
        ("columns = 3\n" + "[privacy]\nk = 2\n", "columns", "must be a table"),
        (SMALL.replace('age = "quasi"', 'age = { role = "quasi", weight = 0 }'), "columns", "weights are 0"),
    ],
)
def test_single_problems(text, path, part):
    found = of_text(text)
    assert list(found) == [path]
    assert part in str(found[path])


def test_missing_hierarchy_file_names_its_neighbours(tmp_path):
    (tmp_path / "ages.csv").write_text("")
    found = of_text(QUASI_B + "hierarchy = 'agse.csv'\n", tmp_path)
    assert found["columns.b.hierarchy"].hint == "did you mean 'ages.csv'?"


@pytest.mark.parametrize(
    ("text", "line", "hint"),
    [
        ("[columns.age]\nrole = quasi\n", "line 2, column 8", "quotes"),
        ("[columns.age\nrole = 'quasi'\n", "line 1, column 13", "]"),
        ("[columns.zip code]\nrole = 'quasi'\n", "line 1, column", "quotes"),
        ("[privacy]\nk = 3\nk = 4\n", "line 3", "twice"),
        ("[privacy]\nk = [3,\n", "line 3, column 1", ""),
        ("[privacy]\nk = ", "line 2, column 5", ""),
    ],
)
def test_syntax_errors_say_where(text, line, hint):
    found = of_text(text)
    assert line in found["policy"].message
    assert hint in found["policy"].hint


def test_read_finds_files_beside_the_policy(tmp_path):
    (tmp_path / "h.csv").write_text("1;*\n")
    (tmp_path / "p.toml").write_text("\ufeff" + QUASI_B + "hierarchy = 'h.csv'\n", "utf-8")
    policy = Policy.read(tmp_path / "p.toml")
    assert policy.base == tmp_path
    assert (
        problems(Policy.read, tmp_path / "q.toml")[str(tmp_path / "q.toml")].hint == "did you mean 'p.toml'?"
    )
    assert "folder" in str(problems(Policy.read, tmp_path))
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe\x00")
    assert "UTF-8" in str(problems(Policy.read, tmp_path / "bad.toml"))


# --- python -------------------------------------------------------------------------------------------------


def test_objects_and_text_give_equal_policies():
    made = Policy(
        data=Data(other_columns="drop"),
        columns={
            "age": Column(role="quasi", hierarchy=Widths(widths=(5, 10))),
            "disease": {"role": "sensitive"},
        },
        privacy=Privacy(k=4, l={"distinct": 2}),
        method=MethodChoice(name="mondrian"),
    )
    text = """
    data.other_columns = "drop"
    columns.age = { role = "quasi", hierarchy = { widths = [5, 10] } }
    columns.disease = "sensitive"
    privacy = { k = 4, l = 2 }
    method = "mondrian"
    """
    assert made == Policy.from_toml(text)


def test_parts_and_policies_report_in_our_words():
    assert set(problems(Column, role="quas", weight=-1)) == {"role", "weight"}
    assert set(problems(Policy, columns={"a": {"role": "x"}, "b": {"role": "y"}}, privacy={"k": 0})) == {
        "columns.a.role",
        "columns.b.role",
        "privacy.k",
    }
    with pytest.raises(PolicyError):
        Policy.model_validate({"columns": {}})


def test_policies_are_frozen():
    policy = Policy.from_toml(SMALL)
    with pytest.raises(ValueError):
        policy.privacy.k = 2
    with pytest.raises(ValueError):
        policy.privacy = Privacy(k=2)


def test_keywords():
    policy = Policy.from_keywords(
        quasi=["age", "zip"],
        sensitive="disease",
        k=5,
        l={"entropy": 2},
        hierarchies={"zip": {"mask": "right"}},
        weights={"age": 2},
        limits={"zip": 3},
        suppression=0.1,
        other_columns="drop",
    )
    assert policy.names("quasi") == ("age", "zip")
    assert policy.names("sensitive") == ("disease",)
    assert (policy.columns["age"].weight, policy.columns["zip"].limit) == (2, 3)
    assert policy.privacy.l.given == {"entropy": 2}


def test_keywords_list_all_problems():
    found = problems(
        Policy.from_keywords,
        quasi=["a", "b"],
        sensitive=["a"],
        k=1,
        methd="x",
        weights={"c": 1},
        measure="lmm",
    )
    assert set(found) == {"columns.a", "methd", "weights.c", "privacy.k", "utility.measure"}
    assert found["columns.a"].message == "has two roles, quasi and sensitive"
    assert found["methd"].hint == "did you mean 'method'?"


# --- methods ------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("dummy")
def test_method_options_are_checked_against_the_method():
    good = SMALL + '[method]\nname = "dummy"\nrelaxed = true\nsteps = [1, 2]\nshare = 1\nshape = "deep"\n'
    assert Policy.from_toml(good).build_method() == Dummy(relaxed=True, steps=(1, 2), share=1, shape="deep")
    bad = (
        SMALL
        + '[method]\nname = "dummy"\nrelxed = true\ntries = "2"\nshape = "deap"\nsteps = ["a"]\nrelaxed = 1\n'
    )
    found = of_text(bad)
    assert set(found) == {
        "method.relxed",
        "method.tries",
        "method.shape",
        "method.steps[0]",
        "method.relaxed",
    }
    assert found["method.relxed"].hint == "did you mean 'relaxed'?"
    assert found["method.shape"].hint == "did you mean 'deep'?"
    assert found["method.tries"].message == "must be a whole number, not '2'"
    assert (
        "tries must be at least 1"
        in of_text(SMALL + '[method]\nname = "dummy"\ntries = 0\n')["method"].message
    )


@pytest.mark.usefixtures("dummy")
def test_a_new_method_drops_the_options_of_the_former():
    policy = Policy.from_toml(SMALL + '[method]\nname = "dummy"\ntries = 3\n')
    assert policy.override(["method.name=mondrian"]).method.options() == {}
    assert policy.with_method("mondrian").method == MethodChoice(name="mondrian")
    assert policy.with_method("dummy", relaxed=True).method.options() == {"tries": 3, "relaxed": True}
    back = policy.with_method("mondrian").override(["method.tries=2", "method.name=dummy"])
    assert back.method.options() == {"tries": 2}


# --- changing and writing ---------------------------------------------------------------------------------------


def test_override():
    policy = Policy.from_toml(WHOLE).override(
        [
            "privacy.k=10",
            "privacy.l.disease.distinct = 4",
            "privacy.t={ ordered = 0.3 }",
            "columns.note=quasi",
            "columns.age.limit=1",
            "utility.measure=lm",
            "data.null_values=['?', 'NA']",
        ]
    )
    assert policy.privacy.k == 10
    assert policy.privacy.l["disease"].distinct == 4
    assert policy.privacy.l["salary"].entropy == 2.5
    assert (policy.privacy.t.equal, policy.privacy.t.ordered) == (None, 0.3)
    assert policy.columns["note"].role == "quasi"
    assert policy.columns["age"].limit == 1
    assert policy.utility.measure == "lm"
    assert policy.data.null_values == ("?", "NA")


def test_override_names_of_columns_with_signs():
    text = '[columns]\n"a.b" = "quasi"\n"größe" = "quasi"\n[privacy]\nk = 2\n'
    policy = Policy.from_toml(text).override(['columns."a.b".weight=2', "columns.größe.weight=3"])
    assert (policy.columns["a.b"].weight, policy.columns["größe"].weight) == (2, 3)


def test_override_lists_all_problems():
    settings = [
        "privcy.k=3",
        "privacy.kk=3",
        "columns.agee.weight=3",
        "columns.age.wight=3",
        "privacy.l=[2",
        "privacy.k=",
        "k",
        "utility.suppression=7",
    ]
    found = problems(Policy.from_toml(SMALL).override, settings)
    hints = {path: problem.hint for path, problem in found.items()}
    assert hints["privcy.k"] == "did you mean 'privacy'?"
    assert hints["privacy.kk"] == "did you mean 'k'?"
    assert hints["columns.agee.weight"] == "did you mean 'age'?"
    assert hints["columns.age.wight"] == "did you mean 'weight'?"
    assert {"privacy.l", "privacy.k", "k", "utility.suppression"} < set(hints)
    assert "whole number, not 'ten'" in str(
        problems(Policy.from_toml(SMALL).override, ["privacy.k=ten"])["privacy.k"]
    )


def test_override_leaves_the_policy_alone():
    policy = Policy.from_toml(WHOLE)
    before = policy.to_toml()
    policy.override(["columns.age.weight=9", "privacy.l.disease.distinct=7"])
    assert policy.to_toml() == before


def test_round_trip():
    policy = Policy.from_toml(WHOLE)
    assert Policy.from_toml(policy.to_toml()) == policy


def test_the_engine_survives_writing_and_reading():
    settings = {"spark.executor.memory": "8g", "spark.executor.cores": 2, "spark.ui.enabled": False}
    engine = {"name": "spark", "master": "local[2]", "settings": settings, "part_rows": 1000, "jobs": 2}
    policy = Policy.from_keywords(quasi=["age"], k=2, engine=engine)
    assert policy.to_dict()["engine"] == engine
    assert Policy.from_toml(policy.to_toml()) == policy
    assert policy.override(["engine.jobs=3"]).engine.jobs == 3
    assert "engine" not in Policy.from_keywords(quasi=["age"], k=2).to_dict()


names = st.text(min_size=1, max_size=8).filter(lambda name: "\x00" not in name)
hierarchy_specs = st.one_of(
    st.none(),
    st.sampled_from(["auto", "none"]),
    st.floats(0.01, 1e6).map(lambda w: {"widths": [w, 2 * w], "origin": -1}),
    st.lists(st.integers(-9, 9), min_size=1, unique=True).map(lambda cuts: {"cuts": [sorted(cuts)]}),
    st.dictionaries(names, st.lists(st.text(max_size=4), min_size=1), min_size=1).map(lambda t: {"tree": t}),
)


@given(
    st.dictionaries(names, hierarchy_specs, min_size=2, max_size=5),
    st.integers(2, 99),
    st.floats(0, 1),
    st.sampled_from([None, 3, {"probabilistic": 1.5}]),
)
def test_any_policy_survives_writing_and_reading(specs, k, suppression, diversity):
    columns = {name: {"role": "quasi", "hierarchy": spec} for name, spec in specs.items()}
    last = list(columns)[-1]
    columns[last]["role"] = "sensitive"
    raw = {"columns": columns, "privacy": {"k": k, "l": diversity}, "utility": {"suppression": suppression}}
    policy = Policy.from_dict(raw)
    again = Policy.from_toml(policy.to_toml())
    assert again == policy
    assert [plan.name for plan in again.plans(list(columns))] == list(columns)


# --- schema -----------------------------------------------------------------------------------------------------


def test_schema_describes_every_key():
    schema = json_schema()
    json.dumps(schema)
    sections = {"data", "columns", "privacy", "method", "utility", "population", "release", "engine"}
    assert set(schema["properties"]) == sections
    parts = schema["$defs"]
    assert set(parts["Privacy"]["properties"]) == set(Privacy.model_fields)
    assert set(parts["MethodChoice"]["properties"]["name"]["enum"]) == {*METHODS, "auto"}
    for part in (
        "Column",
        "Data",
        "ReleaseFile",
        "Privacy",
        "LRules",
        "TRules",
        "Utility",
        "MethodChoice",
        "Engine",
    ):
        for key, entry in parts[part]["properties"].items():
            assert entry.get("description"), f"{part}.{key}"
    assert "null" not in json.dumps(schema).replace("null_values", "")


@pytest.mark.usefixtures("dummy")
def test_schema_knows_the_options_of_methods():
    cases = json_schema()["$defs"]["MethodChoice"]["allOf"]
    case = next(c for c in cases if c["then"]["properties"]["name"]["const"] == "dummy")
    assert set(case["then"]["properties"]) == {"name", "relaxed", "tries", "shape", "steps", "share"}
    assert case["then"]["properties"]["relaxed"]["description"].startswith("Whether rows")


def test_another_engine_drops_what_the_former_one_was_told():
    policy = Policy.from_keywords(quasi=["a"], k=2).override(
        ["engine.name=spark", "engine.master=yarn", "engine.part_rows=5"]
    )
    assert policy.engine.master == "yarn"
    local = policy.override(["engine.name=local"]).engine
    assert (local.master, local.settings, local.part_rows) == (None, {}, 5)
