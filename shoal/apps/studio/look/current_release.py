"""From the policy to a release in Studio's folder, which Look shows and Hand over gives away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shoal.apps.studio.jobs import Job, Order
from shoal.apps.studio.project import Project
from shoal.io.formats import FORMATS, FileFormat, file_format_of
from shoal.release.conclusion import Conclusion

KIND = "release"
"""The kind of its job."""
RECORD, CARDS = "record.json", ("card.md", "card.json")
CODEBOOKS = ("codebook.md", "codebook.json", "codebook.csv", "datapackage.json")
KEYS = "keys.csv"
"""From pseudonyms back to identifiers: private, and written only if somebody asks for it."""
BESIDE = "beside.parquet"
"""Each original row beside what the release shows of it: private."""
SUPPRESSED = "suppressed"
"""Its last column."""


@dataclass(frozen=True, eq=False)
class Made:
    """A verified release in Studio's folder, and what is known about it: what it protects and costs stays in sight."""

    folder: Path
    output: str
    """The name of the release in it."""
    policy: str
    """The policy that it was made for, as TOML."""
    summary: Mapping[str, Any]
    """The run in short, as `Result.summary` gives it."""
    columns: Sequence[str]
    """The published columns of the table, as the rows side by side have them."""
    sections: Sequence[Any]
    """Of the private report."""
    conclusion: Conclusion
    """What became of it: whether it satisfies its policy, and what a reader should know."""
    loss: float | None
    """Information loss (LM)."""
    smallest: int | None
    """The fewest rows that read alike, or people who have such rows; None if the release has no classes."""
    risk_before: float
    risk: float | None
    """The largest chance with which an adversary identifies somebody, by the strongest attack that was tried."""
    seconds: float = 0.0

    @property
    def publishable(self) -> bool:
        """Whether it satisfies its policy, and no adversary of the policy gets further than it allows."""
        return self.conclusion.holds is True

    @property
    def path(self) -> Path:
        """The release itself."""
        return self.folder / self.output


def endings() -> list[str]:
    """Return the endings of the formats that a release can be written in."""
    kinds = [kind for kind in FORMATS.values() if issubclass(kind, FileFormat)]
    return [kind.suffixes[0] for kind in kinds]


def extension_of(project: Project) -> str:
    """Return the ending of the release: the one that was chosen, or that of the table."""
    chosen = project.store.get("ending")
    if chosen:
        return str(chosen)
    given = "" if project.source is None else str(project.source.place)
    found = file_format_of(Path(given)) if given and "://" not in given else None
    return found.suffixes[0] if found is not None else endings()[0]


def start_release(project: Project) -> Job:
    """Begin to make the release of the policy, or raise its problems."""
    policy = project.require_policy()

    def after(job: Job) -> None:
        project.release = replace(job.result, seconds=job.seconds_elapsed)
        project.store.pop("handed", None)  # that was another one

    title, work = (
        f"Make the release ({policy.method.name})",
        "shoal.apps.studio.job_tasks.release_task:release",
    )
    arguments = {
        "output": f"release{extension_of(project)}",
        "keys": bool(project.store.get("keys")) and bool(policy.pseudonyms),
    }
    return project.start(Order(KIND, title, work, arguments, policy.to_toml(), after))
