"""`Result` and `Audit`: what `anonymize` and `audit` return, and their summaries."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from shoal.release import Release
from shoal.release.conclusion import Conclusion, conclude
from shoal.release.verdict import Verdict, in_words
from shoal.support.brief import html_table
from shoal.support.wording import format_count, format_parts, number, printable

if TYPE_CHECKING:
    import polars as pl

    from shoal.documents.codebook.book import Codebook
    from shoal.release.pseudonyms import Pseudonyms


NOT_CHECKED = "? not checked"


@dataclass
class Clock:
    """Seconds by stage."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Add the time of the block to a stage."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - start


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Audit:
    """What a release guarantees and what it has lost, read from its rows."""

    rows: int
    """Rows of the original if it is known, else of the release."""
    suppressed: int | None
    """None if the policy allows it, and neither the original nor the record says how many rows were."""
    people: int | None = None
    """Whose rows these are: how many different people; None if every row is a person of its own, or nobody can know."""
    people_suppressed: int | None = 0
    """How many of them have no row in the release; None if nobody can know."""
    fewest_people: int = 0
    """How many people the class with the fewest has; 0 if nothing is published, or `people` is None."""
    followed: bool = False
    """Rows of a person can be followed by their pseudonym, so classes are people who show the same rows."""
    groups_of_people: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """For each kind of groups that the policy counts besides people, such as households: how many there are (`count`),
    how many have no row in the release (`suppressed`), and how many the class with the fewest has (`fewest`)."""
    classes: int | None
    """Number of equivalence classes; None if columns were shuffled within buckets, since shuffled rows form none."""
    buckets: int | None = None
    """Number of buckets, if columns were shuffled within buckets."""
    verdicts: tuple[Verdict, ...]
    measures: Mapping[str, float]
    losses: Mapping[str, float]
    """Information loss (LM) per quasi-identifier."""
    seconds: Mapping[str, float]
    notes: tuple[str, ...] = ()
    """What a reader should know: unreadable cells, measures that could not be computed, .."""

    @property
    def conclusion(self) -> Conclusion:
        """What became of the release under its policy."""
        return conclude(self.verdicts)

    @property
    def holds(self) -> bool | None:
        """Whether the release satisfies its policy; None if that could not be checked."""
        return self.conclusion.holds

    @property
    def failing(self) -> list[Verdict]:
        """The verdicts that are violated or could not be checked."""
        return [verdict for verdict in self.verdicts if not verdict.holds]

    def __repr__(self) -> str:
        """Say in a line what it is about: nobody's rows, and no values."""
        return f"<{type(self).__name__}: {self._head()}>"

    def _repr_html_(self) -> str:
        """Return the verdicts as a table for notebooks, which people share: figures that depend on rows that are not
        published are told only as far as a public card tells them."""
        rows = [
            (
                verdict.model,
                number(verdict.required),
                number(verdict.told),
                NOT_CHECKED if verdict.holds is None else verdict.holds,
            )
            for verdict in self.verdicts
        ]
        return html_table(self._head(), ("guarantee", "required", "reached", "holds"), rows)

    def _head(self) -> str:
        count = format_count(self.rows, "row")
        left = f", {self.suppressed:,} of them suppressed" if self.suppressed else ""
        if self.people is not None:
            count += f" of {format_count(self.people, 'person', 'people')}"
            left += (
                f", {self.people_suppressed:,} people with all their rows" if self.people_suppressed else ""
            )
        return f"{count}{left}, in {format_parts(self.classes, self.buckets)}{self._by()}; {self._summarize_verdicts()}"

    @property
    def whose(self) -> str:
        """How many people these rows belong to, in words; empty if every row is a person of its own, or nobody can
        know."""
        parts = []
        if self.people is not None:
            said = f"{format_count(self.people, 'person', 'people')} in {format_count(self.rows, 'row')}"
            if self.people_suppressed:
                said += f", all rows of {format_count(self.people_suppressed, 'person', 'people')} suppressed"
            others = format_count(max(self.fewest_people - 1, 0), "other person", "other people")
            if self.followed:
                alike = "rows of a person can be followed, and every person looks like"
            else:
                alike = "every row looks like those of"
            parts.append(f"{said}; {alike} at least {others}")
        for name, own in self.groups_of_people.items():
            gone = f" (all rows of {own['suppressed']:,} suppressed)" if own["suppressed"] else ""
            parts.append(f"by {name}: {own['count']:,}{gone}, at least {own['fewest']:,} in every class")
        return "; ".join(parts)

    def _by(self) -> str:
        return ""

    def _summarize_verdicts(self) -> str:
        if self.holds:
            return in_words(True)
        word = "could not check" if self.holds is None else "violates"
        return f"{word} {printable(', '.join(verdict.model for verdict in self.failing))}"

    def summary(self) -> dict[str, Any]:
        """Return plain data for ``--json``, records and cards. Numbers that do not exist are null."""
        return {
            "rows": self.rows,
            "suppressed": self.suppressed,
            **(
                {}
                if self.people is None
                else {"people": self.people, "people_suppressed": self.people_suppressed}
            ),
            **(
                {"groups_of_people": {name: dict(own) for name, own in self.groups_of_people.items()}}
                if self.groups_of_people
                else {}
            ),
            "classes": self.classes,
            **({} if self.buckets is None else {"buckets": self.buckets}),
            "holds": self.holds,
            "conclusion": self.conclusion.to_json(),
            "verdicts": [
                {key: plain(value) for key, value in verdict.summary().items()} for verdict in self.verdicts
            ],
            "measures": {name: plain(value) for name, value in self.measures.items()},
            "losses": {name: plain(value) for name, value in self.losses.items()},
            "seconds": {name: round(value, 6) for name, value in self.seconds.items()},
            "notes": list(self.notes),
        }


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Result(Audit):
    """A verified release and everything that is known about it."""

    suppressed: int
    shown: Any
    """The published rows, shuffled, in the kind of frame that was given, or as a `Sheet`: rows of a file are looked up,
    and few callers want them all in memory."""
    second: Any = None
    """The second table, for methods that publish sensitive values in a separate table; else None."""
    release: Release
    """The release as the method proposed it, in the order of the input: private."""
    method: str
    domains: tuple[int, ...] = ()
    """How many values the domain of each quasi-identifier has, which the codes of `release` are about."""
    record: Mapping[str, Any]
    """The private run record: digest of the input, policy, versions, timings, verdicts, measures."""
    card: Mapping[str, Any]
    """The public release card: what was done, which guarantees, which losses; nothing about individuals."""
    pseudonyms: Pseudonyms | None = None
    """The tokens that stand for identifiers, if the policy publishes any: private."""
    describe: Callable[..., Codebook]
    """Makes the codebook; `codebook` calls it once."""

    @cached_property
    def table(self) -> Any:
        """The published rows, shuffled, in the kind of frame that was given."""
        from shoal.io.sheet import Sheet

        return self.shown.whole() if isinstance(self.shown, Sheet) else self.shown

    @property
    def keys(self) -> pl.DataFrame | None:
        """The private key table, if the release has pseudonyms: which one stands for which identifier."""
        return None if self.pseudonyms is None else self.pseudonyms.keys()

    @cached_property
    def codebook(self) -> Codebook:
        """The public codebook: every column of the release, and every label in it with its meaning."""
        return self.describe()

    def _by(self) -> str:
        return f", by {self.method}"

    def summary(self) -> dict[str, Any]:
        """Return plain data for ``--json``, with what the method reports about its search."""
        out = super().summary()
        out["method"] = self.method
        if self.release.levels is not None:
            out["levels"] = list(self.release.levels)
        for name, value in self.release.facts.items():
            out.setdefault(name, plain(value))
        return out


def plain(value: Any) -> Any:
    """Return a value that JSON can hold: no NaN and no infinity, and Python's numbers instead of numpy's."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value
