"""The work of attacking a synthetic table: what ``shoal audit-synthetic`` does."""

from __future__ import annotations

from typing import Any

from shoal import io
from shoal.apps.studio.job_worker import Line
from shoal.synthetic.audit_synthetic import audit_synthetic
from shoal.synthetic.synthetic_report import EDITIONS, describe_outcome, sections_of


def audit(line: Line, *, places: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Attack the table, and write both editions of the report."""
    made = audit_synthetic(**places, **options, progress=line.progress)
    for edition in EDITIONS:
        path = line.folder / f"report-{edition}.html"
        io.write_text(path, made.report(edition), private=edition != "public")
    state, headline, text = describe_outcome(made)
    return {
        "state": state,
        "headline": headline,
        "text": text,
        "sections": tuple(sections_of(made, "private")),
    }
