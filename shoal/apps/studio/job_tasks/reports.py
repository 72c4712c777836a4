"""The work of writing both editions of the report for a release that Studio has made."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from shoal.apps.studio.job_worker import Line
from shoal.apps.studio.look.current_release import RECORD
from shoal.documents.report.build_report import EDITIONS, study_release
from shoal.documents.report.report_parts import SignOff
from shoal.errors import PolicyError
from shoal.io.databases import DatabaseTable
from shoal.pipeline.comparison import Comparison
from shoal.policy import Policy


def papers(
    line: Line,
    *,
    source: str | Path | DatabaseTable,
    policy: str,
    base: Path,
    release: Path,
    signed: Mapping[str, str],
    comparison: Comparison | None,
) -> dict[str, str]:
    """Write the report in each edition; return the names of the files by edition, and why one is ``refused``."""
    chosen = Policy.from_toml(policy, base)
    names: dict[str, str] = {}
    study = study_release(
        release, chosen, original=source, record=release.parent / RECORD, comparison=comparison,
        sign_off=SignOff(**signed), progress=line.progress,
    )  # fmt: skip
    for edition in EDITIONS:
        try:
            made = study.report(edition, line.progress)
        except PolicyError as error:  # an edition that this policy cannot have
            names["refused"] = str(error)
            continue
        names[edition] = f"report-{edition}.html"
        made.write(line.folder / names[edition])
    return names
