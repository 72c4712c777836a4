"""The documentation names what there is: commands and options, methods, models, measures, keys of a policy."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import shoal
from shoal.apps.cli import main
from shoal.judging.attacks import ATTACKS
from shoal.judging.measures import MEASURES
from shoal.judging.models import MODELS
from shoal.methods import METHODS
from shoal.policy import json_schema

DOCS = Path(__file__).parent.parent / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
EVERYWHERE = {"--help", "-h", "--json", "--version"}


def text(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def options(name: str) -> set[str]:
    """The options of a command; of one that has commands of its own, those of all of them."""
    command = main.commands[name]
    inner = command.commands.values() if isinstance(command, click.Group) else [command]
    return {option for one in inner for given in one.params for option in given.opts if option[0] == "-"}


def sections() -> dict[str, str]:
    """The text about each command, from its heading to the next."""
    found: dict[str, str] = {}
    for part in re.split(r"^## ", text("command-line.md"), flags=re.M)[1:]:
        for name in re.findall(r"`shoal ([a-z-]+)`", part.splitlines()[0]):
            found[name] = part
    return found


def shown_commands() -> Iterator[tuple[str, str]]:
    """Each line of a shell example that runs shoal, with its page."""
    for page in PAGES:
        for block in re.findall(
            r"^ *```sh\n(.*?)^ *```", page.read_text(encoding="utf-8"), flags=re.M | re.S
        ):
            for line in block.splitlines():
                if line.strip().startswith("shoal "):
                    yield page.name, line.strip()


def test_every_command_has_a_section_and_every_section_a_command() -> None:
    assert set(sections()) == set(main.commands)


@pytest.mark.parametrize("command", sorted(main.commands))
def test_a_section_names_the_options_that_its_command_has(command: str) -> None:
    mentioned = set(re.findall(r"(?<![\w-])--[a-z]+(?:-[a-z]+)*", sections()[command]))
    there_are = options(command)
    assert mentioned - there_are - EVERYWHERE == set(), "options that do not exist"
    assert {name for name in there_are if name.startswith("--")} - mentioned - EVERYWHERE == set(), (
        "options that the page leaves out"
    )


def test_shell_examples_use_commands_and_options_that_exist() -> None:
    wrong = []
    for page, line in shown_commands():
        words = shlex.split(line, comments=True)[1:]
        command = words[0]
        known = options(command) | EVERYWHERE if command in main.commands else set()
        wrong += [f"{page}: {line}"] if not known else []
        wrong += [
            f"{page}: {word} in: {line}"
            for word in words
            if re.match(r"-{1,2}[a-z]", word) and word not in known
        ]
    assert wrong == []


def test_every_method_is_in_the_overview() -> None:
    page = text("methods/index.md")
    assert [name for name in METHODS if f"`{name}`" not in page and f"[{name}]" not in page] == []


@pytest.mark.parametrize(("page", "registry"), [("models.md", MODELS), ("measures.md", MEASURES)])
def test_every_model_and_measure_is_on_its_page(page: str, registry: dict[str, object]) -> None:
    assert [name for name in registry if f"`{name}`" not in text(page)] == []


def test_every_attack_is_on_a_page_of_the_attacks() -> None:
    pages = "\n".join(page.read_text(encoding="utf-8") for page in (DOCS / "attacks").glob("*.md"))
    names = [page.stem for page in (DOCS / "attacks").glob("*.md")]
    assert [name for name in ATTACKS if name not in names and f"`{name}`" not in pages] == []


def test_every_key_of_a_policy_is_on_its_page() -> None:
    parts = json_schema()["$defs"]
    keys = [
        key
        for part in ("Data", "Column", "Privacy", "Utility", "Engine")
        for key in parts[part]["properties"]
    ]
    assert [key for key in keys if f"`{key}`" not in text("policy.md")] == []


def test_the_python_reference_lists_the_public_names() -> None:
    page = text("python-reference.md")
    assert [name for name in shoal.__all__ if f"::: shoal.{name}\n" not in page] == []


def test_every_page_is_in_the_navigation() -> None:
    navigation = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    assert [
        page.relative_to(DOCS).as_posix()
        for page in PAGES
        if page.relative_to(DOCS).as_posix() not in navigation
    ] == []


def test_the_tutorial_shows_the_policy_of_the_sample():
    policy = (DOCS.parent / "shoal" / "apps" / "samples" / "data" / "patients.toml").read_text()
    assert f"```toml\n{policy}```" in (DOCS / "tutorial.md").read_text()


def test_the_page_of_the_papers_names_files_and_tests_that_exist() -> None:
    page, root = text("papers.md"), DOCS.parent
    named = re.findall(r"`((?:shoal|tests|experiments)/[\w/]+\.py)(?:::(\w+))?`", page)
    assert len(named) > 80
    missing = [
        f"{path}::{test}"
        for path, test in named
        if not (root / path).is_file()
        or f"def {test}(" not in (root / path).read_text(encoding="utf-8") + "def ("
    ]
    assert missing == []
