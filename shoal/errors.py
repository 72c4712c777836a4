"""Everything Shoal raises on purpose.

::

    ShoalError                 a user can do something about it; no stack trace on the command line
    ├── DataError              the table cannot be read, or does not match its policy
    ├── HierarchyError         a hierarchy is not a tree over the values of its column
    ├── PolicyError            one or more problems in a policy or in what was asked, all of them listed
    ├── InfeasibleError        no release can satisfy the requirements, whatever the method
    ├── LimitError             this method finds no release that satisfies them; the message names methods to try
    ├── ViolationError         a release does not satisfy its policy, so it was not written
    ├── OutputError            the result cannot be written where it was asked for
    └── EngineError            Spark is missing, cannot be reached, or gave up
    ShoalBug                   our mistake, never the user's

Each class carries the exit code of the command line. Messages never contain rows of a table: at most the
distinct values of one column, which a user needs to correct a hierarchy.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

POLICY = "the policy"
COMMAND_LINE = "the command line"
ARGUMENTS = "the arguments"
"""Where a problem can be; `ARGUMENTS` are those of a call in Python."""


class ShoalError(Exception):
    """A mistake or an impossibility that the user can do something about."""

    exit_code = 1


class DataError(ShoalError):
    """The table cannot be read, or does not match its policy."""

    exit_code = 3


class HierarchyError(ShoalError):
    """A hierarchy is not a tree over the values of its column."""

    exit_code = 3


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a policy: where, what, and what to do about it."""

    path: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        # An f-string would lose the settings that the message and the hint propose.
        return self.path + ": " + self.message + (" (" + self.hint + ")" if self.hint else "")


class PolicyError(ShoalError):
    """One or more problems in a policy, or in the `where` that is named, all of them listed."""

    exit_code = 2

    def __init__(self, problems: Sequence[Problem], where: str = POLICY) -> None:
        self.problems = tuple(problems)
        self.where = where
        count = len(self.problems)
        text = f"1 problem in {where}" if count == 1 else f"{count} problems in {where}"
        for problem in self.problems:
            text += "\n  " + str(problem)
        super().__init__(text)


class InfeasibleError(ShoalError):
    """No release can satisfy the requirements, whatever the method; the message is a proof."""

    exit_code = 4


class LimitError(ShoalError):
    """This method finds no release that satisfies the requirements, though another method may; `instead` says what to
    try."""

    exit_code = 7

    def __init__(self, message: str, instead: str = "") -> None:
        self.message, self.instead = message, instead
        super().__init__(message + ". " + instead if instead else message)


class ViolationError(ShoalError):
    """A release does not satisfy its policy, so it was not written."""

    exit_code = 5


class OutputError(ShoalError):
    """The result cannot be written where it was asked for."""

    exit_code = 6


class EngineError(ShoalError):
    """The engine that should do the work is missing, cannot be reached, or gave up: nothing is wrong with the table."""

    exit_code = 8


class ShoalBug(Exception):
    """Our mistake, never the user's: an internal check failed."""


_LONGEST_WORD = 100
"""Characters of the longest names that are compared, or listed in full."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``did you mean 'x'?`` for the closest known word, else the list of known words."""
    names = list(known)
    # Comparing takes long for long words, and for many.
    lowered = {name.lower(): name for name in names[:10_000] if len(name) <= _LONGEST_WORD}
    close = difflib.get_close_matches(word.lower()[: 2 * _LONGEST_WORD], lowered, n=1, cutoff=0.6)
    if close:
        return f"did you mean '{lowered[close[0]]}'?"
    if not names:
        return ""
    first = ", ".join(
        name if len(name) <= _LONGEST_WORD else f"{name[:_LONGEST_WORD]}…" for name in names[:12]
    )
    return f"available: {first}, .." if len(names) > 12 else f"available: {first}"


def check_known(path: str, word: str, known: Iterable[str]) -> None:
    """Raise `PolicyError` if a word is not one of the known ones. A path without a dot is the name of an argument."""
    names = list(known)
    if word not in names:
        shown = f"'{word}'" if isinstance(word, str) else f"a {type(word).__name__}"  # which may hold rows
        problem = Problem(path, f"{shown} is unknown", did_you_mean(str(word), names))
        raise PolicyError([problem], where=POLICY if "." in path else ARGUMENTS)
