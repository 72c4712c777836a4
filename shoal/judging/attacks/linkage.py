"""Linkage: which published rows could be this person's? (The two adversaries of Gionis, Mazza, Tassa 2008.)"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from shoal.errors import check_known
from shoal.judging.attacks.attack_base import Attack, Exposure, Options, Setting, check_everybody
from shoal.judging.linking.behind_pseudonyms import Followed, people_by_one_row
from shoal.judging.linking.candidate_people import candidate_people
from shoal.judging.linking.evidence import Evidence
from shoal.judging.linking.posterior import Posterior, posterior
from shoal.support.arrays import LongVector
from shoal.support.run import Run

ADVERSARIES = {
    "row": "knows the quasi-identifiers of one row of some people in the table",
    "some": "knows the quasi-identifiers of some people in the table, and looks at each of them by itself",
    "members": "knows the quasi-identifiers of everyone, and exactly who is in the table",
}
ALL_ROWS = {
    "some": "knows the quasi-identifiers of all rows of some people in the table",
    "members": "knows the quasi-identifiers of all rows of everyone, and exactly who is in the table",
}
"""The same if rows can be followed."""
SHUFFLED = (
    "quasi-identifiers were shuffled against each other, so no row shows those of one person; the attacks membership "
    "and attribute-disclosure understand buckets"
)
ESTIMATED = (
    "some components have too many complete assignments to count, so a Markov chain estimates their pairs; the "
    "interval is meant to cover all of them together with 95 % confidence"
)
NOT_RULED_OUT = "rows may have been relocated, so knowing all members rules out no pair of a person and a row"
NOT_JUDGED = "the policy has no k against this adversary, so the number of candidates judges nobody"


@dataclass(frozen=True, kw_only=True)
class Linkage(Attack):
    """Collects, for each person, the candidates: published rows whose cells all cover the person's values.

    The adversary ``some`` can do no more. The adversary ``members`` knows that all rows belong to somebody,
    so they drop every pair that no complete assignment of rows to people contains. If they hold all complete
    assignments equally likely, the candidates that are left are not: the likeliest pair says how sure they are of one.
    """

    name: ClassVar[str] = "linkage"
    title: ClassVar[str] = "linkage"
    against: ClassVar[Mapping[str, Options]] = {
        "knows-some": {"adversary": "some"},
        "knows-members": {"adversary": "members", "likeliest": False},
        "knows-algorithm": {"adversary": "members", "likeliest": False},
    }
    informs: ClassVar[Options | None] = {"adversary": "members", "likeliest": False}
    least_k: ClassVar[int] = 1
    only_rows: ClassVar[str] = ""
    follows: ClassVar[bool] = True
    summary: ClassVar[str] = (
        "counts the candidates of each person, for an adversary who knows some people or all members"
    )

    adversary: str = "members"
    """``some``, ``members``, or ``row``: who knows one row of a person, not all, if rows can be followed."""
    k: int = 2
    """With fewer candidates a person is at risk; 1 if the policy has no k, so that nobody is."""
    likeliest: bool = True
    """Compute how likely each pair is, if the adversary knows the members: exact where assignments can be counted."""
    group: str = ""
    """The kind of groups that are counted instead of people, such as households; empty: people."""
    relocated: bool = False
    """Rows may have been relocated, so that people match none although theirs is published."""

    def __post_init__(self) -> None:
        check_known("adversary", self.adversary, ADVERSARIES)

    @classmethod
    def inapplicable(cls, setting: Setting) -> str:
        """A row must show the quasi-identifiers of one person."""
        return "" if setting.rows.intact else SHUFFLED

    @classmethod
    def reads(cls, setting: Setting) -> Options:
        """An adversary knows whether rows may have been relocated."""
        return {"relocated": True} if setting.may_relocate else {}

    @classmethod
    def options_to_play(cls, adversary: str, setting: Setting) -> Options | None:
        """In a release with relocated rows no assignment is certain to be complete, so the attack only counts matching
        rows.
        """
        found = super().options_to_play(adversary, setting)
        return {**found, "adversary": "some"} if found and setting.made.false_cells.how else found

    @classmethod
    def scenarios(cls, setting: Setting) -> Mapping[str, Options]:
        """Try all adversaries, the strongest one last. Who knows one row only is weaker if rows can be followed."""
        if cls.refuses(setting):
            return {}
        weaker = {"linkage, knows one row of some people": {"adversary": "row", **cls.reads(setting)}}
        found = {
            **(weaker if setting.counted.followed else {}),
            "linkage, knows one person at a time": {"adversary": "some", **cls.reads(setting)},
            "linkage, knows all members": {"adversary": "members", **cls.reads(setting)},
        }
        return cls.by_group(found, setting)

    @classmethod
    def findings(cls, figures: Mapping[str, Any], people: int) -> Iterator[str]:
        """Yield the figures that matter, in words."""
        counts = figures.get("candidates_after_pruning", figures["candidates"])
        if counts["least"] is None:
            yield "no row matches anybody"
            return
        yield f"everybody who matches any row has at least {counts['least']:,} candidates"
        yield f"on average {counts['mean']:,.1f}"
        if counts["below_k"]:
            yield f"{int(counts['below_k']):,} people have fewer than {figures['k']:,} candidates"
        if figures.get("match_no_row"):
            yield f"{int(figures['match_no_row']):,} people match no row: theirs shows other values"
        pair = figures.get("likeliest_pair")
        if pair is not None:
            how = "" if pair["exact"] else " (an estimate)"
            yield f"the likeliest pair of a person and a row has a probability of {pair['largest']:.3f}{how}"
            if pair.get("above_one_in_k"):
                many = int(pair["above_one_in_k"])
                yield f"{many:,} people have a row that is more likely theirs than 1/{figures['k']:,}{how}"

    def attempt(self, evidence: Evidence, run: Run) -> Exposure:
        """Count candidates, and for ``members`` those after pruning. O(rows + matching pairs)."""
        run.progress("link", 0.0)
        graph = evidence.consistency
        before = graph.candidates[graph.people.row_of]
        if not self.relocated:
            check_everybody(int((before == 0).sum()), evidence.published.suppressed)
        if evidence.people_by_pseudonym is not None and self.adversary != "row":
            return self._of_followed(evidence.people_by_pseudonym, run)
        if not evidence.original.counting.adds_up:
            return self._of_people(evidence, run)
        if self.relocated:
            return self._attack_relocated(before)
        after = before
        if self.adversary == "members":
            run.progress("prune", 0.5)
            after = graph.matches[graph.people.row_of]
        found = self._exposure(before, after)
        if self.adversary != "members" or not self.likeliest or not evidence.published.rows:
            return found
        run.progress("likeliest pair", 0.7)
        return self._with_pairs(found, posterior(graph, run.random))

    def _attack_relocated(self, before: LongVector) -> Exposure:
        """Count candidates in a release with relocated rows. People who match no row count, too, and no pair is ruled
        out, because any row may be theirs.
        """
        found = self._exposure(before, before)
        notes = found.notes + ((NOT_RULED_OUT,) if self.adversary == "members" else ())
        figures = {**found.figures, "match_no_row": int((before == 0).sum())}
        return replace(found, figures=figures, notes=notes)

    def _with_pairs(self, found: Exposure, shares: Posterior) -> Exposure:
        """Add the likeliest pair, if all complete assignments are equally likely."""
        graph = shares.graph
        figures: dict[str, Any] = {
            "largest": float(shares.likeliest(shares.share).max(initial=0.0)),
            "exact": shares.estimated == 0,
            "estimated_components": shares.estimated,
            "people_estimated": int(graph.people.weight[np.unique(graph.links[~shares.exact])].sum()),
        }
        if shares.estimated:
            figures["interval"] = [
                float(shares.likeliest(ends).max(initial=0.0)) for ends in (shares.low, shares.high)
            ]
        if self.k > 1:
            figures["above_one_in_k"] = shares.people_above(1 / self.k, shares.share)
            if shares.estimated:
                figures["above_one_in_k_interval"] = [
                    shares.people_above(1 / self.k, ends) for ends in (shares.low, shares.high)
                ]
        # If nobody can be above 1/k, because rows that are alike are equally likely, the estimate leaves nothing open.
        open_ = self.k == 1 or shares.people_above(1 / self.k, shares.high) > 0
        notes = found.notes + ((ESTIMATED,) if shares.estimated and open_ else ())
        return replace(found, figures={**found.figures, "likeliest_pair": figures}, notes=notes)

    def _of_people(self, evidence: Evidence, run: Run) -> Exposure:
        """Count the people among whose rows a row of a person may be. By which of their rows the adversary knows a
        person, nobody can tell: the one with the fewest candidates counts.
        """
        graph, person = evidence.consistency, evidence.original.counting.owner
        assert person is not None
        before = self._owners(evidence)[graph.people.row_of]
        after = before
        if self.adversary == "members":
            run.progress("prune", 0.5)
            after = candidate_people(evidence, pruned=True)[graph.people.row_of]
        # Rows that match nothing were suppressed: they tell less than any other.
        none = np.iinfo(np.int64).max
        worst = np.lexsort((np.where(after > 0, after, none), person))
        row = worst[np.searchsorted(person[worst], np.arange(evidence.original.counting.count))]
        least = np.full(evidence.original.counting.count, none)
        np.minimum.at(least, person, np.where(before > 0, before, none))
        return self._exposure(np.where(least < none, least, 0), after[row], row)

    @staticmethod
    def _owners(evidence: Evidence) -> LongVector:
        """Return, per distinct row of the original, how many people own the published rows that match it."""
        crowd_of, person = evidence.crowd_of, evidence.owners.person
        if crowd_of is None or person is None:
            return candidate_people(evidence, pruned=False)
        return people_by_one_row(evidence.published, evidence.consistency, person, crowd_of)

    def _of_followed(self, known: Followed, run: Run) -> Exposure:
        """Count the pseudonyms that may be a person's, for an adversary who knows all of their rows."""
        before = after = known.candidates
        if self.adversary == "members":
            run.progress("prune", 0.5)
            after = known.matches
        words = ALL_ROWS.get(self.adversary, "")
        return replace(self._exposure(before, after, known.rows), adversary=words)

    def _exposure(self, before: LongVector, after: LongVector, rows: LongVector | None = None) -> Exposure:
        # People who match no row were suppressed, and cannot be found.
        chances = np.where(after > 0, 1.0 / np.maximum(after, 1), 0.0)
        figures = {"k": self.k if self.k > 1 else None, "candidates": describe_counts(before, self.k)}
        if self.adversary == "members":
            figures["candidates_after_pruning"] = describe_counts(after, self.k)
        people = len(after)
        return Exposure(
            attack=self.name,
            adversary=ADVERSARIES[self.adversary],
            success=float(chances.mean()) if people else 0.0,
            baseline=1.0 / people if people else 0.0,
            figures=figures,
            chances=chances,
            at_risk=int(((after > 0) & (after < self.k)).sum()),
            notes=() if self.k > 1 else (NOT_JUDGED,),
            rows=rows,
        )


def describe_counts(candidates: LongVector, k: int) -> dict[str, float | int | None]:
    """Describe candidate counts without naming anybody; people who match no row are left out."""
    found = candidates[candidates > 0]
    if not len(found):
        return {"least": None, "mean": None, "median": None, "single": 0, "below_k": 0, "share_below_k": 0.0}
    below = int((found < k).sum())
    return {
        "least": int(found.min()),
        "mean": float(found.mean()),
        "median": float(np.median(found)),
        "single": int((found == 1).sum()),
        "below_k": below,
        "share_below_k": below / len(candidates),
    }
