"""`Engine`: the steps of a run that need rows. `shoal.pipeline.steps.make_release` takes them in their order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.release.results import Clock
from shoal.support.run import Division, Progress, Run, silent

if TYPE_CHECKING:
    from shoal.coding import CodedTable
    from shoal.io import Frame, Outbox
    from shoal.io.databases import DatabaseTable
    from shoal.judging.case import Case
    from shoal.judging.read_case import Received
    from shoal.pipeline.plan import Plan
    from shoal.policy import Policy
    from shoal.release import Release
    from shoal.release.pseudonyms import Pseudonyms


@dataclass(eq=False, repr=False)
class Engine(ABC):
    """One run: from a source to a release in a file, or in a frame of the kind that was given."""

    policy: Policy
    source: Any
    population: Any = None
    """Everybody who could be in the table, if not the policy names it."""
    output: Path | DatabaseTable | None = None
    """Where the release goes; None: to a frame."""
    force: bool = False
    """Whether files that exist may be replaced."""
    seed: int | None = None
    progress: Progress = silent
    clock: Clock = field(default_factory=Clock)

    run: Run = field(init=False)
    papers: Outbox = field(init=False)
    """What is written with the release. While the run is `open`."""
    frame: Frame = field(init=False)
    """The source, once it was encoded."""
    pseudonyms: Pseudonyms | None = field(init=False, default=None)
    """The tokens that stand for identifiers, if the policy publishes any."""

    def __post_init__(self) -> None:
        """Begin the run."""
        self.run = Run.start(self.seed, self.progress, self.division)

    @property
    def division(self) -> Division:
        """How methods divide the table into parts."""
        return Division()

    @property
    def notes(self) -> Sequence[str]:
        """What a user should know about the place of the release."""
        return self.papers.notes

    @abstractmethod
    def plan(self) -> Plan:
        """Resolve the policy. Raises PolicyError if its method cannot satisfy it, or the engine cannot do it."""

    @abstractmethod
    def check_outputs(self, places: Sequence[Any], codebooks: Sequence[Path], keys: Path | None) -> None:
        """Raise OutputError if tables cannot be written to these places, or a document cannot be made."""

    @abstractmethod
    def open(self) -> AbstractContextManager[None]:
        """Get ready, and let the release and its papers appear when the block ends well; else nothing stays."""

    @abstractmethod
    def read(self) -> None:
        """Read the source, or find out how to."""

    @abstractmethod
    def encode(self, plan: Plan) -> CodedTable:
        """Return the source in codes, or what is known of it where its rows are elsewhere."""

    @abstractmethod
    def propose(self, plan: Plan, table: CodedTable) -> Release:
        """Let the method make a release. Raises InfeasibleError if there is none, LimitError if it finds none."""

    @abstractmethod
    def publish(self, plan: Plan, table: CodedTable, release: Release) -> Any:
        """Write the release under a temporary name, or convert it, and return it as its readers see it."""

    @abstractmethod
    def judge(self, plan: Plan, table: CodedTable, release: Release, shown: Any) -> Case:
        """Return the case of what `publish` returned."""

    @abstractmethod
    def tables(self, case: Case) -> tuple[Any, Any]:
        """Return the published tables as the caller gets them: the release, and its second table or None."""

    @classmethod
    @abstractmethod
    def read_release(cls, received: Received, policy: Policy, clock: Clock, progress: Progress) -> Case:
        """Return the case of a release that any tool made."""
