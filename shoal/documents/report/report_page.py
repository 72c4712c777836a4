"""From a verdict and sections to one self-contained HTML page: every text is escaped, only drawings are trusted."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from shoal import __version__
from shoal.documents.pages.look import environment, stylesheet
from shoal.documents.report.report_parts import Face, Section, SignOff
from shoal.documents.report.terms import Explainer, glossary

PUBLIC_WORDS = (
    "It is made of the published rows and the policy, so it says nothing about anybody that the release "
    "does not show."
)
PRIVATE_WORDS = (
    "It contains data about single people. Keep it with the original data; it is not part of the release."
)


def page(
    face: Face,
    sections: Sequence[Section],
    *,
    name: str,
    lead: str,
    public: bool,
    sign_off: SignOff | None = None,
    warning: str = "",
) -> str:
    """Write the page. Linear in what it shows."""
    template = environment("shoal.documents.report").get_template("report.html")
    own = files("shoal.documents.report").joinpath("templates", "report.css").read_text(encoding="utf-8")
    return template.render(
        face=face,
        sections=sections,
        name=name,
        lead=lead,
        public=public,
        edition="Public" if public else "Private",
        edition_words=PUBLIC_WORDS if public else PRIVATE_WORDS,
        warning=warning,
        sign_off=(sign_off or SignOff()).lines,
        glossary=glossary(),
        terms=Explainer(),
        style=stylesheet() + own,
        made_with=f"Shoal {__version__}",
    )
