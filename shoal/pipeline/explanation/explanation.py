"""`Explanation`: what a release costs and why, as numbers and in words. Nothing about single people."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shoal.judging.measures import MEASURES
from shoal.methods import METHODS
from shoal.pipeline.explanation.relaxations import Kind, Strength, strength_of
from shoal.release.results import plain
from shoal.support.brief import html_table
from shoal.support.wording import format_count, format_parts, number, printable

"""Measures that are shares of all information."""
NOTHING = 1e-9
NOT_TRIED = "not tried: no time left"
WIDTH = 100
"""Characters of a line."""
HEADS: dict[Strength, str] = {
    "same": "Without weakening a requirement (another method, a few more rows left out):",
    "weaker": "With a weaker requirement, which protects less:",
    "exposed": "With a column that nothing protects any more; only if nobody can look it up elsewhere:",
}
"""What a step does to the protection -> what is said above such steps, in the order in which they are named."""
MOST = 8
"""How many remedies are named."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Cost:
    """What one step would save: a requirement relaxed, a column published as it is, another method."""

    kind: Kind
    what: str
    before: str
    after: str
    loss: float | None
    """The loss of the release with this step; None if there is none, or if it was not tried."""
    won: float | None
    """How much lower that is; below 0 if a search ended up worse. None if one of the two is unknown."""
    reason: str = ""
    """Why it was not tried, or gave no release."""
    analyses: Mapping[str, float] = field(default_factory=dict)
    """The measures of analyses that the policy names, with this step."""

    def __repr__(self) -> str:
        """Name the step and its loss, without a reason that may name values."""
        return f"<Cost: {self.words}; loss {number(self.loss)}>"

    @property
    def words(self) -> str:
        """Name the change in one line."""
        return printable(f"{self.what}: {self.before} → {self.after}")


def place_of(cost: Cost) -> int:
    """Return where a step stands: first what weakens no requirement, last what leaves a column unprotected."""
    return list(HEADS).index(strength_of(cost.kind, cost.what))


@dataclass(frozen=True, kw_only=True, repr=False)
class Explanation:
    """Why a release of a table is as it is."""

    rows: int
    method: str
    choice: str = ""
    """How the method was chosen, if `auto` chose it."""
    derivation: Sequence[str] = ()
    """The adversaries of the requirements, and why the requirements stop them."""
    measure: str
    loss: float | None
    """The loss of the release by the policy as it is; None if there is none."""
    reasons: Sequence[str] = ()
    """Why there is none."""
    losses: Mapping[str, float] = field(default_factory=dict)
    """Information loss (LM) per quasi-identifier."""
    weights: Mapping[str, float] = field(default_factory=dict)
    analyses: Mapping[str, float] = field(default_factory=dict)
    """The measures of analyses that the policy names."""
    suppressed: int = 0
    classes: int | None = 0
    buckets: int | None = None
    """Number of buckets, if values were shuffled within buckets."""
    costs: Sequence[Cost] = ()
    seconds: float = 60.0
    """The time limit for trying."""

    def __repr__(self) -> str:
        """Say in a line what the release costs; `str` says why, and may name values."""
        return f"<Explanation: {self._brief()}>"

    def _repr_html_(self) -> str:
        """Return what would help most as a table for notebooks, without reasons that may name values."""
        rows = [(cost.kind, cost.words, self._amount(cost.loss)) for cost in self.best()[:MOST]]
        return html_table(self._brief(), ("kind", "what would help", "loss then"), rows)

    def _brief(self) -> str:
        if not self.feasible:
            return (
                f"no release of {format_count(self.rows, 'row')} by {self.method} satisfies the policy; print shows "
                "why"
            )
        return f"{format_count(self.rows, 'row')} by {self.method}; loss {self._amount(self.loss)} ({self.measure})"

    @property
    def feasible(self) -> bool:
        """There is a release that satisfies the policy."""
        return self.loss is not None

    def of(self, kind: Kind) -> list[Cost]:
        """Return the costs of a kind, those that save most first."""
        own = [cost for cost in self.costs if cost.kind == kind]
        return sorted(own, key=self._rank)

    def best(self) -> list[Cost]:
        """Return what would help: first what costs no protection, then weaker requirements, then columns published as
        they are; the best of each first. If there is no release, return what would give one.
        """
        helps = [
            cost for cost in self.costs if cost.loss is not None and (cost.won is None or cost.won > NOTHING)
        ]
        return sorted(helps, key=lambda cost: (place_of(cost), self._rank(cost)))

    def _rank(self, cost: Cost) -> tuple[bool, float]:
        if cost.loss is None:
            return True, 0.0
        return False, -cost.won if cost.won is not None else self._orient(cost.loss)

    def _orient(self, loss: float) -> float:
        return loss if MEASURES[self.measure].lower_is_better else -loss

    def summary(self) -> dict[str, Any]:
        """Return plain data for ``--json``. Numbers that do not exist are null."""
        return {
            "rows": self.rows,
            "method": self.method,
            "choice": self.choice,
            "derivation": list(self.derivation),
            "measure": self.measure,
            "feasible": self.feasible,
            "loss": plain(self.loss),
            "reasons": list(self.reasons),
            "losses": {name: plain(value) for name, value in self.losses.items()},
            **(
                {"analyses": {name: plain(value) for name, value in self.analyses.items()}}
                if self.analyses
                else {}
            ),
            "suppressed": self.suppressed,
            "classes": self.classes,
            **({} if self.buckets is None else {"buckets": self.buckets}),
            "costs": [_plain_cost(cost) for cost in self.costs],
            "best": [cost.words for cost in self.best()[:MOST]],
        }

    def __str__(self) -> str:
        """Say it in words."""
        parts = [self._head(), self._method(), self._requirements(), self._columns(), self._remedies()]
        return "\n\n".join(part for part in parts if part)

    def _head(self) -> str:
        if not self.feasible:
            return "\n".join(
                [f"No release of these {self.rows:,} rows by {self.method} satisfies the policy:",
                 *(_indent(line) for reason in self.reasons for line in reason.splitlines())]
            )  # fmt: skip
        left = f", {self.suppressed:,} of them suppressed" if self.suppressed else ""
        return (
            f"{format_count(self.rows, 'row')}{left}, in {format_parts(self.classes, self.buckets)} by {self.method}. "
            f"Its loss is {self._amount(self.loss)} ({self.measure}).{self._analyses()}"
        )

    def _analyses(self) -> str:
        """Say how well the release serves what analysts will do."""
        told = [f"{name} {_amount(name, value)}" for name, value in self.analyses.items()]
        return f"\nFor what analysts will do: {', '.join(told)}." if told else ""

    def _method(self) -> str:
        named = self.choice or f"The policy names {self.method}"
        if self.method in METHODS:
            kind = METHODS[self.method]
            named += f". {self.method}: {kind.summary} ({kind.paper})"
        lines = [f"{named}.", *self.derivation]
        lines += [f"With {cost.after} instead: {self._outcome(cost)}." for cost in self.of("method")]
        return "\n".join(["Why this method", *(_indent(line) for line in lines)])

    def _requirements(self) -> str:
        own = self.of("requirement")
        if not own:
            return ""
        head = "What each requirement costs (relaxed by one step, all else unchanged)"
        return "\n".join([head, *self._list_costs(own)])

    def _columns(self) -> str:
        own = self.of("column")
        if not own and not self.losses:
            return ""
        lines = ["What each column costs"]
        if self.losses:
            whole = sum(self.weights.get(name, 1.0) * loss for name, loss in self.losses.items())
            for name, loss in sorted(self.losses.items(), key=lambda item: -item[1]):
                part = self.weights.get(name, 1.0) * loss / whole if whole > 0 else 0.0
                lines.append(
                    f"  {printable(name)} loses {loss:.1%} of its information, {part:.0%} of the whole loss (lm)"
                )
        if own:
            lines.append("  If nobody could know the column, and it were published as it is:")
            lines += [f"  {line}" for line in self._list_costs(own, names_only=True)]
        return "\n".join(lines)

    def _remedies(self) -> str:
        found = self.best()[:MOST]
        if not found:
            return self._no_remedy() if self.costs else ""
        lines, place = ["What would help"], 0
        for strength, head in HEADS.items():
            own = [cost for cost in found if strength_of(cost.kind, cost.what) == strength]
            lines += [_indent(head)] if own or strength == "same" else []
            lines += ["    nothing that Shoal tried"] if not own and strength == "same" else []
            for cost in own:
                place += 1
                what = f"{printable(cost.what)} published as it is" if cost.kind == "column" else cost.words
                lines.append(f"    {place}. {what} ({self._outcome(cost, brief=True)})")
        lines.append(
            _indent(
                "A better hierarchy often saves more than any of these, and costs no protection: look at the columns "
                "that lose most."
            )
        )
        return "\n".join(lines)

    def _no_remedy(self) -> str:
        said = "Nothing that Shoal tried."
        if not self.feasible:
            said = "No single step that Shoal tried gives a release: see the reason above."
        return f"What would help\n{_indent(said)}"

    def _list_costs(self, costs: Sequence[Cost], *, names_only: bool = False) -> list[str]:
        names = [printable(cost.what) if names_only else cost.words for cost in costs]
        width = max(len(name) for name in names)
        return [f"  {name:<{width}}  {self._outcome(cost)}" for name, cost in zip(names, costs, strict=True)]

    def _outcome(self, cost: Cost, *, brief: bool = False) -> str:
        if cost.loss is None:
            return cost.reason if cost.reason == NOT_TRIED else self._failure(cost)
        if cost.won is None:
            return f"a release with loss {self._amount(cost.loss)}"
        if abs(cost.won) <= NOTHING:
            return f"saves nothing: {self._amount(cost.loss)}"
        amount = self._amount(abs(cost.won), difference=True)
        served = {} if brief else cost.analyses
        then = "".join(f", {name} {_amount(name, value)}" for name, value in served.items())
        if cost.won > 0:
            return f"saves {amount}: {self._amount(cost.loss)}{then}"
        if cost.kind == "method":
            return f"loses {amount} more: {self._amount(cost.loss)}{then}"
        return f"saves nothing; the search itself ends up worse by {amount}"

    def _failure(self, cost: Cost) -> str:
        """Return that there is no release, and why, unless the policy as it is has none either."""
        if not self.feasible:
            return "no release either"
        first = printable(cost.reason.splitlines()[0]) if cost.reason else "unknown"
        return f"no release: {textwrap.shorten(first, WIDTH, placeholder=' ..')}"

    def _amount(self, value: float | None, *, difference: bool = False) -> str:
        if value is not None and difference and MEASURES[self.measure].reported.percent:
            return f"{100 * value:.2f} points"
        return _amount(self.measure, value)


def _amount(measure: str, value: float | None) -> str:
    if value is None:
        return "unknown"
    return f"{value:.2%}" if MEASURES[measure].reported.percent else number(value)


def _plain_cost(cost: Cost) -> dict[str, Any]:
    """Return plain data; what analysts will do only if the policy says so."""
    own = {name: plain(value) for name, value in vars(cost).items() if name != "analyses"}
    if cost.analyses:
        own["analyses"] = {name: plain(value) for name, value in cost.analyses.items()}
    return own


def _indent(text: str) -> str:
    """Break a long sentence into lines under a heading."""
    return textwrap.fill(
        printable(text), WIDTH, initial_indent="  ", subsequent_indent="  ", break_long_words=False
    )
