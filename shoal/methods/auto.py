"""`auto`: tries the other methods and takes the best release. Only its options are here.

`shoal.pipeline.comparison` does the work.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from shoal.coding import CodedTable
from shoal.errors import ARGUMENTS, PolicyError, Problem, ShoalBug, did_you_mean
from shoal.judging.models.requirements import Requirements
from shoal.methods.method import Abilities, Method
from shoal.release import Release
from shoal.support.run import Run


def check_methods(names: Iterable[str]) -> tuple[str, ...]:
    """Return the methods to try, all if none is named; raise PolicyError for unknown ones."""
    from shoal.methods import METHODS

    wanted = tuple(dict.fromkeys(names)) or tuple(METHODS)
    problems = [
        Problem("methods", f"there is no method '{name}'", did_you_mean(name, METHODS))
        for name in wanted
        if name not in METHODS
    ]
    if problems:
        raise PolicyError(problems, where=ARGUMENTS)
    return wanted


@dataclass(frozen=True, kw_only=True)
class Auto(Method):
    """Tries every method that qualifies, and takes the release with the least loss that withstands the attacks.

    Shoal delivers the very release that it verified, attacked and measured; nothing is drawn again.
    """

    name: ClassVar[str] = "auto"
    can: ClassVar[Abilities] = Abilities(
        count_people=True, keep_earlier=True, delegate=True, optimize=("cells", "classes", "")
    )
    summary: ClassVar[str] = (
        "tries every method that qualifies, and takes the best release that withstands the attacks"
    )
    paper: ClassVar[str] = "none: a choice among the others"

    methods: tuple[str, ...] = ()
    """Which methods to try; none named: all."""
    sets: bool = False
    """Also try releases with value sets, whose cells list values instead of naming nodes of the hierarchies."""
    seconds: float = 120.0
    """Shoal stops a method that takes longer, and does not choose it."""
    jobs: int = 1
    """How many methods run at a time."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "methods", tuple(self.methods))
        problems = []
        if not self.seconds > 0:
            problems.append(Problem("method.seconds", f"must be more than 0, not {self.seconds}"))
        if self.jobs < 1:
            problems.append(Problem("method.jobs", f"must be at least 1, not {self.jobs}"))
        try:
            check_methods(self.methods)
        except PolicyError as error:
            problems += [Problem("method.methods", p.message, p.hint) for p in error.problems]
        if problems:
            raise PolicyError(problems)

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Raise: choosing needs the policy, which methods do not have."""
        raise ShoalBug("auto needs the policy: build it with pipeline.comparison.choose_release.with_choice")
