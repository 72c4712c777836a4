"""Imports point one way: from the verbs down to the arrays, imports inside functions included."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import shoal

ROOT = Path(shoal.__file__).parent

# From the bottom to the top. A module imports from its own layer's folder and from the layers below it;
# two folders of one layer do not know each other.
LAYERS = (
    ("errors", "support.arrays", "support.confidence_intervals", "support.wording"),
    ("support.machine",),
    ("support.brief", "documents.pages"),
    ("support.run", "support.registry"),
    ("kernels",),
    ("io",),
    ("coding.hierarchy",),
    ("coding", "release.perturbing"),
    ("release",),
    ("judging.linking", "judging.membership"),
    ("judging.measures", "judging.models"),
    ("methods",),
    ("judging.attacks",),
    ("policy",),
    ("apps.samples", "policy.suggestions"),
    ("release.received",),
    ("documents.codebook",),
    ("judging.identifier_columns", "judging.truthfulness"),
    ("judging.case",),
    ("judging.read_case", "judging.public_case"),
    ("documents.card",),
    ("pipeline.plan",),
    ("engines.engine",),
    ("engines.spark",),
    ("pipeline.attack", "pipeline.assess"),
    ("pipeline.named_adversaries",),
    ("pipeline.audit",),
    ("pipeline.comparison",),
    ("pipeline.steps",),
    ("engines.local",),
    ("pipeline.describe_result",),
    ("pipeline.anonymize",),
    ("pipeline.explanation", "documents.report"),
    ("documents.evidence",),
    ("network", "synthetic"),
    ("apps.studio",),
    ("apps.cli",),
    ("__main__",),
)
RANK = {place: rank for rank, layer in enumerate(LAYERS) for place in layer}


def place_of(module: str) -> str:
    """The layer that a module belongs to: ``shoal.judging.models.k_map`` -> ``judging.models``; empty for a folder that
    only holds layers.
    """
    parts = module.split(".")[1:]
    places = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((place for place in places if place in RANK), "")


def module_of(path: Path) -> str:
    parts = ("shoal", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> set[str]:
    """All modules of ours that a file imports when it runs; what only a type checker reads does not count."""
    found: set[str] = set()

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for rest in node.orelse:
                visit(rest)
            return
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names if alias.name.split(".")[0] == "shoal")
        elif (
            isinstance(node, ast.ImportFrom)
            and node.level == 0
            and (node.module or "").split(".")[0] == "shoal"
        ):
            assert node.module is not None
            for alias in node.names:
                inner = ROOT.joinpath(*node.module.split(".")[1:], alias.name)
                is_module = inner.is_dir() or inner.with_suffix(".py").is_file()
                found.add(f"{node.module}.{alias.name}" if is_module else node.module)
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(path.read_text(encoding="utf-8")))
    return found


FILES = sorted(path for path in ROOT.rglob("*.py"))
IMPORTS = {module_of(path): imports_of(path) for path in FILES}


def test_every_place_has_a_layer():
    folders = {"apps", "documents", "engines", "judging", "pipeline", "support"}
    assert {module for module in IMPORTS if not place_of(module)} == {
        "shoal",
        *(f"shoal.{name}" for name in folders),
    }
    assert {place_of(module) for module in IMPORTS} - {""} == set(RANK)


@pytest.mark.parametrize("module", [module for module in IMPORTS if place_of(module)])
def test_imports_point_downwards(module):
    own = place_of(module)
    wrong = [
        name
        for name in IMPORTS[module]
        if (other := place_of(name)) and other != own and RANK[other] >= RANK[own]
    ]
    assert wrong == []


def test_no_module_imports_itself_through_others():
    """Imports inside functions count: a cycle through them is a cycle."""
    state: dict[str, int] = {}

    def walk(module: str, path: list[str]) -> None:
        state[module] = 1
        for name in sorted(IMPORTS.get(module, ())):
            if name == module or name not in IMPORTS or name == "shoal":
                continue
            assert state.get(name) != 1, " -> ".join([*path[path.index(name) :], name])
            if name not in state:
                walk(name, [*path, name])
        state[module] = 2

    for module in IMPORTS:
        if module not in state:
            walk(module, [module])
