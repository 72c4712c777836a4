"""The work of judging a release that exists: what ``shoal audit`` and, with the original, ``shoal report`` do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shoal.apps.studio.job_worker import Line
from shoal.documents.report.build_report import EDITIONS, Study
from shoal.documents.report.report_parts import SignOff
from shoal.documents.report.subject import Subject, read_subject
from shoal.judging.read_case import Received
from shoal.pipeline.audit import audit as audit_release
from shoal.pipeline.audit import audit_case
from shoal.policy import Policy
from shoal.release.conclusion import conclude
from shoal.release.results import Clock


def audit(
    line: Line,
    *,
    received: Received,
    policy: str,
    base: Path,
) -> dict[str, Any]:
    """Judge a release; with its original, attack it as well and write both editions of the report."""
    chosen = Policy.from_toml(policy, base)
    subject: Subject | None = None
    if received.original is None:
        found = audit_release(
            received.release, chosen, second=received.second, suppressed_as=received.suppressed_as,
            record=received.record, progress=line.progress,
        )  # fmt: skip
    else:
        clock = Clock()
        subject = read_subject(received, chosen, clock, line.progress)
        found = audit_case(subject, clock=clock)
    out: dict[str, Any] = {
        "summary": found.summary(),
        "conclusion": conclude(found.verdicts),
        "attacked": False,
        "sections": (),
    }
    line.note(out["summary"])
    if subject is None:
        return out
    study = Study.of(subject, None, SignOff(), line.progress)
    for edition in EDITIONS:
        made = study.report(edition, line.progress)
        made.write(line.folder / f"report-{edition}.html")
        out |= {"conclusion": made.conclusion, "attacked": True, "sections": made.sections}
    return out
