"""What the pages of the experiments claim, computed from their own tables.

README.md has a table of findings per paper. Each finding has a function here that reads the tables and returns the
result in words; ``python -m experiments.claims`` writes all results, and the sentences of hybrid.md, anew.
tests/test_experiments.py refuses a page that says anything else, and a finding without a function. A new
finding is a line in README.md and a line in the `CLAIMS` of its paper: ``"finding": function``, with
``function(pages) -> words``. `PROSE` does the same for paragraphs, by their first words.
"""

from __future__ import annotations

import re
from importlib import import_module
from textwrap import fill

from experiments.claims.pages import FOLDER, Pages

PAPERS = {
    "Hybrid k-anonymity": "hybrid",
    "p-sensitive k-anonymity": "p_sensitive",
    "Presence": "presence",
    "Non-homogeneous generalization": "non_homogeneous",
    "k-type anonymity": "k_type",
}
"""Headings of README.md, and the module here with the claims below them."""
HEAD = "| finding of the paper | our result |"
JUDGING = re.compile(r"\b(confirmed|contradicted|surpassed|(?:not )?reproduced)\b", re.IGNORECASE)
"""Words that only a computed sentence may use."""


def claims_of(heading):
    """The findings below a heading, each with the function that computes the result."""
    return import_module(f"experiments.claims.{PAPERS[heading]}").CLAIMS


def lines_of(text):
    """Yield each line with the heading above it, and whether it is a row of findings."""
    heading, inside = "", False
    for line in text.splitlines():
        heading = line.lstrip("# ") if line.startswith("#") else heading
        inside = line == HEAD or (inside and line.startswith("|"))
        yield heading, inside and line != HEAD and not line.startswith("| ---"), line


def prose():
    """The paragraphs that are computed as well: their first words, each with the function that computes all of it."""
    modules = (import_module(f"experiments.claims.{name}") for name in PAPERS.values())
    return {first: function for module in modules for first, function in getattr(module, "PROSE", {}).items()}


def computed(text, pages):
    """README.md with each result computed from the tables of the pages."""
    out = []
    for heading, finding, line in lines_of(text):
        if finding:
            said = line.strip("| ").split(" | ")[0]
            line = f"| {said} | {claims_of(heading)[said](pages)} |"
        out.append(line)
    parts = "\n".join(out).split("\n\n")
    for first, function in prose().items():
        (place,) = (i for i, part in enumerate(parts) if part.startswith(first))
        parts[place] = fill(function(pages), 120, break_long_words=False, break_on_hyphens=False)
    return "\n\n".join(parts) + "\n"


def with_words(text, words):
    """A page with the section `In words` replaced."""
    begin = text.index("## In words\n")
    end = text.index("\n## ", begin) + 1
    return text[:begin] + "## In words\n\n" + words + "\n" + text[end:]


def rewrite(folder=FOLDER):
    """Write the sentences of hybrid.md and the results of README.md anew."""
    from experiments.claims.hybrid import in_words

    pages = Pages(folder)
    file = folder / "hybrid.md"
    file.write_text(with_words(pages["hybrid"].text, in_words(pages)))
    file = folder / "README.md"
    file.write_text(computed(file.read_text(), pages))
