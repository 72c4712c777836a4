"""From a verdict and sections to one self-contained HTML page: every text is escaped, only drawings are trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files

from shoal import __version__
from shoal.documents.pages.look import environment, stylesheet
from shoal.documents.report.report_parts import Face, Section, SignOff
from shoal.documents.report.terms import Explainer, glossary


@dataclass(frozen=True)
class Wording:
    """What a page says of its editions, and of what it is about."""

    public: str = (
        "It is made of the published rows and the policy, so it says nothing about anybody that the release "
        "does not show."
    )
    private: str = (
        "It contains data about single people. Keep it with the original data; it is not part of the release."
    )
    bad: str = "Violates its policy"
    """What the title of the page and the line on top say if the verdict is bad."""
    unless: str = "do not publish the release."
    glossary: Sequence[tuple[str, str, str]] = field(default_factory=glossary)


@dataclass(frozen=True, kw_only=True)
class Head:
    """What stands above a report."""

    name: str
    """The name of the release."""
    lead: str
    public: bool
    """The public edition."""
    warning: str = ""
    wording: Wording = field(default_factory=Wording)


def page(head: Head, face: Face, sections: Sequence[Section], sign_off: SignOff | None = None) -> str:
    """Write the page. Linear in what it shows."""
    words = head.wording
    template = environment("shoal.documents.report").get_template("report.html")
    own = files("shoal.documents.report").joinpath("templates", "report.css").read_text(encoding="utf-8")
    return template.render(
        face=face,
        sections=sections,
        name=head.name,
        lead=head.lead,
        public=head.public,
        edition="Public" if head.public else "Private",
        edition_words=words.public if head.public else words.private,
        wording=words,
        warning=head.warning,
        sign_off=(sign_off or SignOff()).lines,
        glossary=words.glossary,
        terms=Explainer([address for address, _, _ in words.glossary]),
        style=stylesheet() + own,
        made_with=f"Shoal {__version__}",
    )
