"""The work of writing a release into a database: what ``shoal anonymize -o ADDRESS --output-table TABLE`` does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shoal.apps.studio.job_worker import Line
from shoal.apps.studio.look.current_release import RECORD
from shoal.io.databases import DatabaseTable
from shoal.pipeline.anonymize import anonymize_file
from shoal.policy import Policy


def store(
    line: Line, *, source: Any, policy: str, base: Path, target: DatabaseTable, force: bool
) -> dict[str, Any]:
    """Make the release of the policy once more, verify it inside the database, and let it appear there."""
    result = anonymize_file(
        source, Policy.from_toml(policy, base), target, record=line.folder / RECORD, force=force,
        progress=line.progress,
    )  # fmt: skip
    return {"summary": result.summary(), "notes": list(result.notes)}
