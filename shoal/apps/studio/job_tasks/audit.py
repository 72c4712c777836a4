"""The work of judging a release that exists: what ``shoal audit`` and, with the original, ``shoal report`` do."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from shoal.apps.studio.job_worker import Line
from shoal.documents.report.report import EDITIONS, report
from shoal.io.databases import DatabaseTable
from shoal.pipeline.audit import audit as audit_release
from shoal.policy import Policy


def audit(
    line: Line,
    *,
    release: str | Path,
    policy: str,
    base: Path,
    original: str | Path | DatabaseTable | None,
    record: Path | None,
    second: str | Path | None,
    suppressed_as: str | None,
) -> dict[str, Any]:
    """Judge a release; with its original, attack it as well and write both editions of the report."""
    chosen = Policy.from_toml(policy, base)
    given: dict[str, Any] = {"record": record, "second": second, "suppressed_as": suppressed_as}

    def progress(stage: str, share: float) -> None:
        line.progress(stage, share * (0.3 if original is not None else 1.0))

    found = audit_release(release, chosen, original=original, progress=progress, **given)
    out: dict[str, Any] = {
        "summary": found.summary(),
        "holds": found.holds,
        "withstands": None,
        "sections": (),
    }
    line.note(out["summary"])
    if original is None:
        return out
    for at, edition in enumerate(EDITIONS):

        def reporting(stage: str, share: float, at: int = at, edition: str = edition) -> None:
            line.progress(f"{edition} report: {stage}", 0.3 + 0.35 * (at + share))

        made = report(
            release, chosen, original=original, edition=cast(Any, edition), progress=reporting, **given
        )
        made.write(line.folder / f"report-{edition}.html")
        out |= {"withstands": made.withstands, "sections": made.sections}
    return out
