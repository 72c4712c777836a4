"""What a class says of itself is said nowhere else, and everything that is registered can be reached."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from click.testing import CliRunner

import shoal
from shoal.apps.cli import main
from shoal.judging.attacks import ATTACKS, Attack
from shoal.judging.measures import MEASURES
from shoal.judging.models import MODELS
from shoal.methods import METHODS
from shoal.policy import Policy, json_schema
from shoal.policy.adversaries import ADVERSARIES
from shoal.policy.privacy import KINDS
from tests import oracles
from tests.inputs.samples import small_table

REGISTRIES = {"methods": METHODS, "models": MODELS, "measures": MEASURES, "attacks": ATTACKS}
PACKAGE = Path(shoal.__file__).parent
DOCS = PACKAGE.parent / "docs"

WORDS = {
    "classes": "an ordinary word: a key of records and summaries, and what some searches optimize",
    "entropy": "also the word in `l = { entropy = .. }`",
    "membership": "also the threat that this attack is about",
    "slicing": "also the word in `l = { slicing = .. }`",
    "statistical": "also a variant of relocation",
}
"""Names that mean something else as well, and what."""
PLACES = {
    "methods/cells/ring.py": "its options are orders of rows, and the methods whose parts it takes",
    "methods/relocating/hybrid_mondrian.py": "the methods whose releases it is tried on",
    "judging/models/requirements.py": "models may not import measures, and a measure must be named",
}
"""Files that may name registered things, and why."""


def test_names_of_registered_things_are_literals_only_on_their_own_class():
    """Anything else that depends on a name would have to be edited for a new method, model, measure or attack."""
    own: dict[str, set[str]] = {}
    for registry in REGISTRIES.values():
        for name, kind in registry.items():
            own.setdefault(name, set()).add(kind.__module__.replace(".", "/").removeprefix("shoal/") + ".py")
    used, found = set(), []
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        if place in {f"{package}/__init__.py" for package in REGISTRIES} | {
            f"judging/{package}/__init__.py" for package in REGISTRIES
        }:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
            if name in own and place not in own[name]:
                if name in WORDS or place in PLACES:
                    used.add(name if name in WORDS else place)
                else:
                    found.append(f"{place}:{node.lineno} names {name}")
    assert not found
    assert used == {*WORDS, *PLACES}, "an exception that nothing needs any more"


ASKED = {"methods": METHODS, "judging/models": MODELS, "judging/measures": MEASURES}
"""Whose class no file outside their own folder may ask for."""


def test_no_file_asks_for_a_concrete_class_of_another_folder():
    """A property or a method of the class answers instead, so that a new class needs no edit elsewhere."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        concrete = {
            kind.__name__
            for folder, registry in ASKED.items()
            if not place.startswith(f"{folder}/")
            for kind in registry.values()
        }
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
                asked = {one.id for one in ast.walk(node.args[1]) if isinstance(one, ast.Name)} & concrete
                found += [f"{place}:{node.lineno} asks for {kind}" for kind in sorted(asked)]
    assert not found


@pytest.mark.parametrize("registry", REGISTRIES.values(), ids=REGISTRIES)
def test_names_in_the_registry_are_those_of_the_classes(registry):
    assert {name: kind.name for name, kind in registry.items()} == {name: name for name in registry}


@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_reached_from_a_policy(name):
    kind = MODELS[name]
    value = dict.fromkeys(kind.rules, kind.usual) or kind.usual
    notion = {"k": 3, "notion": "probabilistic-k"} if not kind.asked_in else {}
    asked = {"notion": name, "k": 5} if kind.key.name == "k" else {**notion, kind.key.name: value}
    if kind.asked_in == "columns":
        columns = {"q": {"role": "quasi", kind.key.name: kind.usual}, "s": {"role": "drop"}}
        policy = Policy.from_dict({"columns": columns, "privacy": {"k": 5}})
        assert [type(model) for model in policy.column_models()] == [kind]
        assert Policy.from_toml(policy.to_toml()) == policy
        return
    if kind.asked_in == "keys":
        asked = {"k": 5, "keys": {"any": 1}}
    policy = Policy.from_keywords(
        quasi=["q"],
        sensitive=["s"],
        hierarchies={"s": {"tree": {"x": ["a", "b"]}}},
        population={"column": "member"} if kind.key.name == "presence" else None,
        protected={"s": ["x"]} if kind.key.name == "p" and not kind.asked_in else None,
        **asked,
    )
    made = [model for model in policy.requirements().all_models if type(model) is kind]
    assert len(made) == max(len(kind.rules), 1)
    assert Policy.from_toml(policy.to_toml()) == policy


def test_every_key_and_word_is_in_the_schema():
    parts = json_schema()["$defs"]
    for key, kinds in KINDS.items():
        entry = parts["Privacy"]["properties"][key]
        assert entry["description"] == f"{kinds[0].key.meaning}."
        words = [rule for kind in kinds for rule in kind.rules]
        options = list(dict.fromkeys(option for kind in kinds for option in kind.options))
        if words:
            assert list(parts[f"{key.capitalize()}Rules"]["properties"]) == words + options
    assert parts["Privacy"]["properties"]["notion"]["enum"] == [kind.name for kind in KINDS["k"]]
    assert set(parts["Utility"]["properties"]["measure"]["enum"]) == set(MEASURES)
    assert set(METHODS) <= set(parts["MethodChoice"]["properties"]["name"]["enum"])


def test_every_registered_thing_is_on_its_page():
    for folder, registry in REGISTRIES.items():
        pages = [DOCS / f"{folder}.md"] if (DOCS / f"{folder}.md").exists() else (DOCS / folder).glob("*.md")
        text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
        assert [name for name in registry if f"`{name}`" not in text] == []


@pytest.mark.parametrize(("command", "registry"), REGISTRIES.items(), ids=REGISTRIES)
def test_the_command_line_lists_everything(command, registry):
    said = CliRunner().invoke(main, [command]).output
    assert [name for name in registry if name not in said] == []


@pytest.mark.parametrize("name", ATTACKS)
def test_every_attack_speaks_to_people(name):
    kind = ATTACKS[name]
    assert kind.title
    assert kind.findings.__func__ is not Attack.findings.__func__
    assert set(kind.against) <= set(ADVERSARIES)


def test_every_model_is_about_a_known_adversary():
    assert {kind.about for kind in MODELS.values()} <= {"", *ADVERSARIES}
    for name in ADVERSARIES:
        assert sum(kind.weakest and kind.about == name for kind in MODELS.values()) == 1


def test_a_report_explains_every_requirement_on_classes():
    rows = small_table(60, 3)
    asked = {
        key: {rule: kind.looser(kind.usual) or kind.usual for kind in kinds for rule in kind.rules}
        or kinds[0].usual
        for key, kinds in KINDS.items()
        if key not in ("relocation", "presence")
    }
    asked["t"] = {"equal": 0.9, "ordered": 0.9}
    asked["l"] = {"distinct": 2, "entropy": 1.2, "probabilistic": 1.2, "recursive": [9.0, 2]}
    asked["ke"] = [2, 1.0]
    worse = {"tree": {"all": ["cold", "flu", "gout", "ulcer"]}}
    policy = Policy.from_keywords(
        quasi=["age", "town"],
        sensitive=["ill"],
        hierarchies={"ill": worse},
        population={"size": 1000},
        **asked,
    )
    made = shoal.anonymize(rows, policy, seed=1)
    page = shoal.report(made, policy, original=rows).html
    text = " ".join(page.split())
    for model, verdict in zip(policy.models(), made.verdicts, strict=False):
        assert verdict.model in text
        meaning = model.meaning(several=False, followed=False)[1:]
        assert meaning in text or meaning.replace("'", "&#39;") in text
        assert model.key.meaning in text


def test_frozen_objects_change_only_while_they_are_made():
    """`object.__setattr__` gets round ``frozen=True``: a shared object would change for everyone who has it."""
    late = [
        f"{file.relative_to(PACKAGE)}: {function.name}"
        for file in PACKAGE.rglob("*.py")
        for function in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef) and function.name != "__post_init__"
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "object.__setattr__"
    ]
    assert late == []


def test_every_kernel_has_a_twin_in_a_file_of_the_same_name():
    for path in sorted((PACKAGE / "kernels").glob("*.py")):
        kernels = {
            node.name
            for node in ast.parse(path.read_text(encoding="utf-8")).body
            if isinstance(node, ast.FunctionDef)
            and not node.name.startswith("_")
            and any(
                isinstance(one, ast.Call) and ast.unparse(one.func) == "njit" for one in node.decorator_list
            )
        }
        twins = vars(getattr(oracles, path.stem, None)) if kernels else {}
        assert kernels <= twins.keys(), path.stem
