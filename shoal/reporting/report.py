"""`report`: a release, its original and its policy as one page that people can read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shoal import frames
from shoal.errors import check_known
from shoal.pages.printing import pdf_of
from shoal.policy import Policy
from shoal.policy.sources import apart
from shoal.release.record import NOT_FOR_PUBLICATION
from shoal.reporting import sections, utility
from shoal.reporting.analyses import analyses
from shoal.reporting.attacks import TriedAttack, try_all
from shoal.reporting.examples import examples
from shoal.reporting.face import face_of
from shoal.reporting.page import page
from shoal.reporting.parts import Face, Section, SignOff
from shoal.reporting.risks import Risks, risks_of
from shoal.reporting.sampled import sampled
from shoal.reporting.subject import Subject, read_subject
from shoal.reporting.threats import threats
from shoal.run import Progress, silent
from shoal.wording import counted, counted_parts

if TYPE_CHECKING:
    from shoal.comparing import Comparison

EDITIONS = ("public", "private")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Report:
    """A report on a release: one HTML page that needs no network."""

    html: str
    edition: str
    """``public`` or ``private``."""
    holds: bool
    """Every requirement of the policy is satisfied."""
    withstands: bool
    """Nobody is exposed to any of the attacks that were tried more than the policy allows."""
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
        kept = "satisfies its policy" if self.holds else "violates its policy"
        safe = "withstands the attacks" if self.withstands else "does not withstand the attacks"
        return (
            f"<Report: {self.edition} edition, {len(self.html) // 1000:,} kB; the release {kept} and {safe}>"
        )

    def write(self, path: str | Path, *, force: bool = False) -> None:
        """Write the page to a file; one that exists is replaced only if `force` is given."""
        frames.write_text(Path(path), self.html, force=force)

    def pdf(self) -> bytes:
        """Return the page as PDF, as Chromium, Chrome or Edge print it; `OutputError` if none is installed."""
        return pdf_of(self.html)

    def write_pdf(self, path: str | Path, *, force: bool = False) -> None:
        """Write the page as PDF; a file that exists is replaced only if `force` is given."""
        frames.check_writable(path, force=force, table=False)
        with frames.Outbox(force=force) as box:
            box.write_bytes(path, self.pdf())


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
    release in two. The public edition shows nothing that depends on fewer than k people; the private one names the
    rows that are most exposed, and describes the run. `suppressed_as` is the text that rows show in every
    quasi-identifier if another tool marks suppressed rows so. `owner`, `purpose`, `recipient`, `date` and `signed_by`
    say who answers for the release; what is not given is a line to write on. O(rows x columns), plus the attacks.
    """
    sign_off = SignOff(owner=owner, purpose=purpose, recipient=recipient, date=date, signed_by=signed_by)
    check_known("edition", edition, EDITIONS)
    population, keywords = apart(population, keywords)
    chosen = Policy.given(policy, keywords)
    public = edition == "public"
    compared = _comparison(comparison)
    subject = read_subject(
        source,
        chosen,
        original=original,
        record=record,
        population=population,
        second=second,
        suppressed_as=suppressed_as,
        public=public,
        progress=progress,
    )
    progress("verify", 0.2)
    holds = all(verdict.holds for verdict, _ in subject.judged)
    attacks = try_all(subject, progress)
    progress("risk", 0.6)
    risks = risks_of(subject, attacks)
    face = face_of(subject, attacks, risks)
    at_risk = sections.risk(subject, risks)
    parts = [
        threats(subject, attacks, risks),
        sections.asked(subject),
        sections.done(subject),
        sections.guarantees(subject),
        sections.attacks(subject, attacks),
        at_risk,
        utility.losses(subject),
    ]
    progress("draw", 0.7)
    parts += utility.distributions(subject, utility.columns_in_bins(subject))
    questions = utility.queries(subject, progress)
    parts += [] if questions is None else [questions]
    progress("questions", 0.9)
    served = analyses(subject)
    parts += [] if served is None else [served]
    parts += (
        [] if compared is None else [utility.compared(compared, subject.gate, levels=subject.tells_levels)]
    )
    if not public:
        parts.insert(parts.index(at_risk) + 1, sampled(subject))
        shown = examples(subject)
        parts += [] if shown is None else [shown]
        parts.append(sections.private(subject, attacks))
    progress("write", 0.95)
    return Report(
        html=_page(subject, face, parts, sign_off),
        edition=edition,
        holds=holds,
        withstands=all(one.exposure is None or one.exposure.holds for one in attacks),
        sections=tuple(parts),
        risk_before=risks.before.prosecutor_max,
        risk_after=_largest(risks),
        smallest=int(subject.sizes.min()) if subject.classes_tell and subject.published.rows else None,
        subject=subject,
        tried=tuple(attacks),
    )


def _largest(risks: Risks) -> float | None:
    if risks.after is not None:
        return risks.after.prosecutor_max
    return 1.0 / float(risks.sizes_after.min()) if len(risks.sizes_after) else None


def _comparison(given: Comparison | str | Path | None) -> Comparison | None:
    if given is None:
        return None
    from shoal.comparing import Comparison

    return given if isinstance(given, Comparison) else Comparison.read(given)


def _page(subject: Subject, face: Face, parts: list[Section], sign_off: SignOff) -> str:
    known = subject.people
    whose = ""
    if "people" in known:
        there = known["people"] - known["people_suppressed"]
        whose = f" of {counted(there, 'person', 'people')}"
        if subject.gate.public:
            # The exact number would tell whether somebody is in the table to whoever knows all others.
            whose = f" of about {int(subject.gate.steps(np.array([there]))[0]):,} people"
    parts_said = counted_parts(subject.published.classes, subject.published.buckets, explained=True)
    return page(
        face,
        parts,
        name=subject.name,
        lead=f"{counted(subject.published.rows, 'row')}{whose} in {parts_said}.",
        public=subject.gate.public,
        k=subject.gate.k,
        sign_off=sign_off,
        warning=NOT_FOR_PUBLICATION if subject.seeded else "",
    )
