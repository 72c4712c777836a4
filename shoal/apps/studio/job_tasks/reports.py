"""The work of writing both editions of the report for a release that Studio has made."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from shoal.apps.studio.job_worker import Line
from shoal.apps.studio.look.release import RECORD
from shoal.documents.report.report import EDITIONS, report
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
    for at, edition in enumerate(EDITIONS):

        def progress(stage: str, share: float, at: int = at, edition: str = edition) -> None:
            line.progress(f"{edition} report: {stage}", (at + share) / len(EDITIONS))

        try:
            made = report(
                release, chosen, original=source, record=release.parent / RECORD, comparison=comparison,
                edition=cast(Any, edition), progress=progress, **signed,
            )  # fmt: skip
        except PolicyError as error:  # an edition that this policy cannot have
            names["refused"] = str(error)
            continue
        names[edition] = f"report-{edition}.html"
        made.write(line.folder / names[edition])
    return names
