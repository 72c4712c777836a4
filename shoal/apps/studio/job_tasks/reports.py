"""The work of writing both editions of the report for a release that Studio has made."""

from __future__ import annotations

from pathlib import Path

from shoal.apps.studio.job_worker import Line
from shoal.apps.studio.look.current_release import RECORD
from shoal.documents.report.build_report import EDITIONS, study_release
from shoal.documents.report.report_parts import SignOff
from shoal.errors import PolicyError
from shoal.io.databases import DatabaseTable
from shoal.judging.read_case import Received
from shoal.pipeline.comparison import Comparison
from shoal.policy import Policy


def papers(
    line: Line,
    *,
    source: str | Path | DatabaseTable,
    policy: str,
    base: Path,
    release: Path,
    comparison: Comparison | None,
    sign_off: SignOff,
) -> dict[str, str]:
    """Write the report in each edition; return the names of the files by edition, and why one is ``refused``."""
    chosen = Policy.from_toml(policy, base)
    names: dict[str, str] = {}
    received = Received(release, source, record=release.parent / RECORD)
    study = study_release(received, chosen, comparison, sign_off, line.progress)
    for edition in EDITIONS:
        try:
            made = study.report(edition, line.progress)
        except PolicyError as error:  # an edition that this policy cannot have
            names["refused"] = str(error)
            continue
        names[edition] = f"report-{edition}.html"
        made.write(line.folder / names[edition])
    return names
