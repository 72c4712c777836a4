"""The terms of the field that a report uses: explained where they first occur in a section, and in its glossary."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markupsafe import Markup

TERMS: dict[str, tuple[str, str]] = {
    "adversary": (
        "adversar(?:y|ies)",
        "A person who uses the release, and what they already know, to learn something about somebody in "
        "the table.",
    ),
    "attack": (
        "attacks?",
        "A program that plays an adversary against the release and counts how far they get.",
    ),
    "attribute disclosure": (
        "attribute disclosure",
        "Learning a sensitive value of a person from the release.",
    ),
    "blind guess": ("blind guess(?:es)?", "What an adversary would achieve without the release."),
    "bucket": (
        "buckets?",
        "Rows among which the method shuffled values: the release does not show which values belong "
        "together.",
    ),
    "candidate": ("candidates?", "A published row that could belong to a given person."),
    "equivalence class": (
        "(?:equivalence )?class(?:es)?",
        "Rows with identical quasi-identifiers. Nobody can tell the people of a class apart.",
    ),
    "exposed": ("exposed", "An attack learns more about this person than the policy allows."),
    "generalize": (
        "generaliz(?:e[sd]?|ation|ing)",
        "To replace a value by a less precise one that covers it: an age by a range, a zip code by a region.",
    ),
    "hierarchy": (
        "hierarch(?:y|ies)",
        "What each value of a column may become when it is generalized, step by step.",
    ),
    "identifier": (
        "(?<!-)identifiers?",
        "A column that names a person by itself, such as a name. It is removed.",
    ),
    "information loss": (
        "information loss|LM",
        "How much detail the release has lost. LM is 0% if every cell is exact, and 100% if no cell says "
        "anything.",
    ),
    "journalist": (
        "journalist",
        "An adversary who looks for the row of anybody in the population, without knowing who is in the "
        "table.",
    ),
    "marketer": (
        "marketer",
        "An adversary who tries to find as many people as possible, not one in particular.",
    ),
    "presence": ("membership|presence", "Whether a person is in the table at all."),
    "Pareto frontier": (
        "Pareto frontier|frontier",
        "The releases that no other release beats in both risk and loss.",
    ),
    "policy": (
        "polic(?:y|ies)",
        "The file that says which role each column has, and what a release must guarantee.",
    ),
    "population": ("population", "Everybody who could be in the table, such as all people in a register."),
    "prosecutor": (
        "prosecutor",
        "An adversary who knows that a person is in the table, and looks for that person's row.",
    ),
    "quasi-identifier": (
        "quasi-identifiers?",
        "A column that others may know or look up, and that helps to recognize a person together with "
        "others: birth date, sex, zip code.",
    ),
    "re-identification": (
        "re-identification|linkage|link(?:ed|s)?",
        "Finding the row of a person by what is known about them from elsewhere.",
    ),
    "requirement": (
        "requirements?",
        "What the policy asks of a release: a privacy model with its threshold.",
    ),
    "risk": ("risks?", "The probability that an adversary finds a person's row."),
    "sensitive": ("sensitive", "A column that nobody may learn about a person, such as a diagnosis."),
    "singling out": (
        "singl(?:ing|ed) out",
        "Making a statement that is true of exactly one person of the table, even without knowing who that is.",
    ),
    "suppress": ("suppress(?:ed|es|ion)?", "To leave a row out of the release."),
    "truthful": ("truthful", "Every published row covers an original row of its own: nothing was invented."),
    "unique": ("unique", "No other row has the same quasi-identifiers."),
}
"""Term -> how it is found in a text, and what it means."""

_FIND = re.compile(
    r"\b(?:"
    + "|".join(f"(?P<t{at}>{pattern})" for at, (pattern, _) in enumerate(TERMS.values()))
    + r")(?![\w-])",
    re.IGNORECASE,
)
_NAMES = tuple(TERMS)


def key_of(term: str) -> str:
    """Return the address of a term within the page."""
    return term.lower().replace(" ", "-")


def glossary() -> list[tuple[str, str, str]]:
    """Return all terms in the order of the alphabet: address, word, meaning."""
    return [
        (key_of(term), term, meaning)
        for term, (_, meaning) in sorted(TERMS.items(), key=lambda t: t[0].lower())
    ]


class Explainer:
    """Marks the first occurrence of each term in a section, of those that the glossary of the page explains."""

    def __init__(self, addresses: Collection[str] | None = None) -> None:
        self._seen: set[str] = set()
        self._unknown = {term for term in TERMS if addresses is not None and key_of(term) not in addresses}

    def start(self) -> str:
        """Begin a section: everything is explained once more."""
        self._seen = set()
        return ""

    def explain(self, text: str) -> Markup:
        """Return a text, escaped, with the terms in it that this section did not explain yet."""
        from markupsafe import Markup, escape

        parts, end = [], 0
        for found in _FIND.finditer(text):
            term = _NAMES[int(str(found.lastgroup)[1:])]
            if term in self._seen or term in self._unknown:
                continue
            self._seen.add(term)
            parts.append(escape(text[end : found.start()]))
            link = Markup('<a class="term" href="#term-{}" title="{}">{}</a>')
            parts.append(link.format(key_of(term), TERMS[term][1], found.group()))
            end = found.end()
        return Markup("").join([*parts, escape(text[end:])])
