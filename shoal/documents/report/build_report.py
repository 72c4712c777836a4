"""`report`: a release, its original and its policy as one page that people can read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from shoal import io
from shoal.documents.pages.pdf import pdf_of
from shoal.documents.report import main_sections, public_edition, utility_sections
from shoal.documents.report.analyses import analyses
from shoal.documents.report.attack_results import TriedAttack, try_all
from shoal.documents.report.examples import examples
from shoal.documents.report.headline import SEEDED, face_of
from shoal.documents.report.population_section import build_population_section
from shoal.documents.report.report_page import Head, page
from shoal.documents.report.report_parts import Face, Section, SignOff
from shoal.documents.report.risk_section import Risks, risks_of
from shoal.documents.report.subject import Subject, read_subject
from shoal.documents.report.threat_summary import threats
from shoal.errors import check_known
from shoal.judging.read_case import Received
from shoal.policy import Policy
from shoal.policy.sources import apart, inputs_of
from shoal.release.conclusion import Conclusion, conclude
from shoal.release.record import NOT_FOR_PUBLICATION
from shoal.support.brief import Brief
from shoal.support.run import Progress, silent
from shoal.support.wording import format_count, format_parts

if TYPE_CHECKING:
    from shoal.pipeline.comparison import Comparison

EDITIONS = ("public", "private")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Report:
    """A report on a release: one HTML page that needs no network."""

    html: str
    edition: str
    """``public`` or ``private``."""
    conclusion: Conclusion
    """What became of the release: whether it satisfies its policy, and what a reader should know."""
    sections: tuple[Section, ...]
    """What the page shows, as plain data."""
    risk_before: float
    """The largest chance to find one person's row, if the original were published."""
    risk_after: float | None
    """The same for the release; None if it is not known."""
    smallest: int | None
    """Rows of the smallest equivalence class; None if classes do not say who can be found."""
    subject: Subject
    """What it is about. Private."""
    tried: tuple[TriedAttack, ...]
    """The attacks that were tried. Private."""

    def __repr__(self) -> str:
        """Say in a line what it is, without the page."""
        size = f"{len(self.html) // 1000:,} kB"
        return f"<Report: {self.edition} edition, {size}; the release {self.conclusion.headline}>"

    @property
    def holds(self) -> bool | None:
        """Whether the release satisfies its policy; None if that could not be checked."""
        return self.conclusion.holds

    @property
    def private(self) -> bool:
        """Whether only people who may see the original may read it."""
        return self.edition != "public"

    def write(self, path: str | Path, *, force: bool = False) -> None:
        """Write the page to a file; one that exists is replaced only if `force` is given."""
        self._check_apart(path)
        io.write_text(Path(path), self.html, force=force, private=self.private)

    def pdf(self) -> bytes:
        """Return the page as PDF, as Chromium, Chrome or Edge print it; `OutputError` if none is installed."""
        return pdf_of(self.html)

    def write_pdf(self, path: str | Path, *, force: bool = False) -> None:
        """Write the page as PDF; a file that exists is replaced only if `force` is given."""
        self._check_apart(path)
        io.check_writable(path, force=force, table=False)
        with io.Outbox(force=force) as box:
            box.write_bytes(path, self.pdf(), private=self.private)

    def _check_apart(self, path: str | Path) -> None:
        """Refuse to replace what the policy names, which not even `force` allows."""
        io.check_apart(inputs_of(self.subject.policy), [(Path(path), "the report")])


def report(
    source: Any,
    policy: Policy | str | Path | None = None,
    *,
    original: Any,
    record: Any = None,
    comparison: Comparison | str | Path | None = None,
    population: Any = None,
    second: Any = None,
    suppressed_as: str | None = None,
    edition: Literal["public", "private"] = "public",
    owner: str = "",
    purpose: str = "",
    recipient: str = "",
    date: str = "",
    signed_by: str = "",
    progress: Progress = silent,
    **keywords: Any,
) -> Report:
    """Report on a release, made by any tool: what was asked and done, guarantees, attacks, risk and use.

    `source` is a path or a frame, or what `shoal.anonymize` returned for this original: then more attacks can be
    tried, and no `record` is needed. `record` is the private run record or its path; without it, how the release was
    made is not shown. `comparison` is what `shoal.compare` returned, or its folder; `second` is the second table of a
    release in two. The public edition is made of the published rows, the policy and whether each requirement holds;
    the private one compares them with the original, names the rows that are most exposed, and describes the run.
    `suppressed_as` is the text that rows show in every quasi-identifier if another tool marks suppressed rows so.
    `owner`, `purpose`, `recipient`, `date` and `signed_by` say who answers for the release; what is not
    given is a line to write on. O(rows x columns), plus the attacks.
    """
    check_known("edition", edition, EDITIONS)
    signed = {
        "owner": owner,
        "purpose": purpose,
        "recipient": recipient,
        "date": date,
        "signed_by": signed_by,
    }
    population, keywords = apart(population, keywords)
    chosen = Policy.given(policy, keywords)
    received = Received(source, original, second, population, suppressed_as, record)
    study = study_release(received, chosen, comparison, SignOff(**signed), progress)
    return study.report(edition, progress)


def study_release(
    received: Received,
    policy: Policy,
    comparison: Comparison | str | Path | None,
    sign_off: SignOff,
    progress: Progress = silent,
) -> Study:
    """Read, judge and attack a release for all editions of its report."""
    compared = _comparison(comparison)
    subject = read_subject(received, policy, progress=progress)
    return Study.of(subject, compared, sign_off, progress)


@dataclass(frozen=True, eq=False, repr=False)
class Study(Brief):
    """A release that was judged and attacked once, for every edition of its report."""

    subject: Subject
    attacks: list[TriedAttack]
    risks: Risks
    compared: Comparison | None
    sign_off: SignOff

    @classmethod
    def of(
        cls, subject: Subject, compared: Comparison | None, sign_off: SignOff, progress: Progress
    ) -> Study:
        """Judge and attack a release. Takes as long as the attacks."""
        progress("verify", 0.2)
        _ = subject.verdicts_with_meanings
        attacks = try_all(subject, progress)
        progress("risk", 0.6)
        return cls(subject, attacks, risks_of(subject, attacks), compared, sign_off)

    @property
    def conclusion(self) -> Conclusion:
        """What became of the release."""
        verdicts = (verdict for verdict, _ in self.subject.verdicts_with_meanings)
        return conclude(verdicts, self.attacks, [SEEDED] * self.subject.is_seeded)

    def report(self, edition: str, progress: Progress = silent) -> Report:
        """Write an edition. Raises PolicyError if the policy cannot have a public one."""
        subject, attacks, risks = self.subject, self.attacks, self.risks
        if edition == "public":
            face, parts = _public(subject)
        else:
            face = face_of(subject, self.conclusion, attacks, risks)
            parts = _private(subject, attacks, risks, self.compared, progress)
        progress("write", 0.95)
        return Report(
            html=_page(subject, face, parts, self.sign_off, edition=edition),
            edition=edition,
            conclusion=self.conclusion,
            sections=tuple(parts),
            risk_before=risks.before.prosecutor_max,
            risk_after=_largest(risks),
            smallest=int(subject.sizes.min()) if subject.classes_tell and subject.published.rows else None,
            subject=subject,
            tried=tuple(attacks),
        )


def _public(subject: Subject) -> tuple[Face, list[Section]]:
    open_ = public_edition.Open.of(subject)
    return public_edition.face_of(open_, seeded=subject.is_seeded), public_edition.sections_of(open_)


def public_page(subject: Subject, sign_off: SignOff) -> str:
    """Return the page of the public edition. It needs no attacks."""
    return _page(subject, *_public(subject), sign_off, edition="public")


def _private(
    subject: Subject,
    attacks: list[TriedAttack],
    risks: Risks,
    compared: Comparison | None,
    progress: Progress,
) -> list[Section]:
    """Return the sections of the private edition."""
    named = list(subject.policy.columns)
    columns = [*named, *(name for name in subject.table.columns if name not in named)]
    several = subject.table.shared is not None
    parts = [
        threats(subject, attacks, risks),
        main_sections.build_requirements_section(
            subject.policy, columns, several=several, followed=subject.persons.followed
        ),
        main_sections.done(subject),
        main_sections.guarantees_of(
            [(verdict, verdict.reached, meaning) for verdict, meaning in subject.verdicts_with_meanings]
        ),
        main_sections.attacks(attacks),
        main_sections.risk(subject, risks),
        build_population_section(subject),
        utility_sections.losses(subject),
    ]
    progress("draw", 0.7)
    parts += utility_sections.distributions(subject, utility_sections.columns_in_bins(subject))
    found = [utility_sections.queries(subject, progress)]
    progress("questions", 0.9)
    found.append(analyses(subject))
    found.append(None if compared is None else utility_sections.build_comparison_section(compared))
    found.append(examples(subject))
    return [*parts, *(one for one in found if one is not None), main_sections.private(subject, attacks)]


def _largest(risks: Risks) -> float | None:
    if risks.after is not None:
        return risks.after.prosecutor_max
    return 1.0 / float(risks.sizes_after.min()) if len(risks.sizes_after) else None


def _comparison(given: Comparison | str | Path | None) -> Comparison | None:
    if given is None:
        return None
    from shoal.pipeline.comparison import Comparison

    return given if isinstance(given, Comparison) else Comparison.read(given)


def _page(subject: Subject, face: Face, parts: list[Section], sign_off: SignOff, *, edition: str) -> str:
    known, published = subject.people, subject.published
    whose = ""
    if "people" in known and edition == "private":
        whose = f" of {format_count(known['people'] - known['people_suppressed'], 'person', 'people')}"
    parts_said = format_parts(published.classes, published.buckets, explained=True)
    head = Head(
        name=subject.name,
        lead=f"{format_count(published.rows, 'row')}{whose} in {parts_said}.",
        public=edition == "public",
        warning=NOT_FOR_PUBLICATION if subject.is_seeded else "",
    )
    return page(head, face, parts, sign_off)
