"""What a run found, in numbers."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

from tests.fuzz.trial import Outcome

ASKED_OFTEN = 25
"""A pair of method and question that was asked this often, and never gave a release, is named."""


class Tallies:
    """Counts over the outcomes of a run."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.status: Counter[str] = Counter()
        self.by_method: dict[str, Counter[str]] = defaultdict(Counter)
        self.by_question: dict[str, Counter[str]] = defaultdict(Counter)
        self.by_target: dict[str, Counter[str]] = defaultdict(Counter)
        self.by_kind: Counter[str] = Counter()
        self.pairs: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self.cells: Counter[tuple[str, str, str]] = Counter()
        self.reasons: Counter[str] = Counter()
        self.failures: list[Outcome] = []
        self.audited = self.attacked = self.suppressing = 0
        self.ascending = self.neighbours = 0

    def add(self, outcome: Outcome) -> None:
        """Count an outcome."""
        self.status[outcome.status] += 1
        self.by_method[outcome.method][outcome.status] += 1
        self.by_question[outcome.question][outcome.status] += 1
        self.by_target[outcome.target][outcome.status] += 1
        self.pairs[outcome.method, outcome.question][outcome.status] += 1
        if outcome.status == "refused":
            self.reasons[outcome.reason] += 1
            return
        self.cells[outcome.method, outcome.question, outcome.target] += 1
        self.by_kind.update(set(outcome.kinds))
        self.audited += outcome.audited
        self.attacked += bool(outcome.attacked)
        self.suppressing += outcome.suppressed > 0
        self.ascending += outcome.ascending[0]
        self.neighbours += outcome.ascending[1]
        if outcome.problems:
            self.failures.append(outcome)

    def failure(self, outcome: Outcome) -> str:
        """Say what is wrong with a release, and how to repeat it."""
        return (
            f"make fuzz SEED={self.seed} CASE={outcome.number}  [{outcome.method}, {outcome.question}, "
            f"{outcome.target}]  {outcome.problems[0][:300]}"
        )

    @property
    def failed(self) -> int:
        """Releases with problems."""
        return len(self.failures)

    @property
    def checked(self) -> int:
        """Releases that were checked."""
        return self.status["released"] + self.status["failed"]

    @property
    def unshuffled(self) -> str:
        """Say that rows were not shuffled; "" if neighbours stand in either order equally often, up to chance."""
        if not self.neighbours:
            return ""
        share, chance = self.ascending / self.neighbours, 3 / math.sqrt(self.neighbours)
        return (
            "" if abs(share - 0.5) <= chance else f"rows are not shuffled: {share:.3f} of neighbours ascend"
        )

    def text(self, seconds: float) -> str:
        """Return all of it."""
        lines = []
        kinds = Counter(one.problems[0].partition(":")[0] for one in self.failures)
        lines += [f"  {count:6,} x {kind}" for kind, count in kinds.most_common()]
        for title, table in (
            ("method", self.by_method),
            ("question", self.by_question),
            ("target", self.by_target),
        ):
            lines += ["", f"{title:24} {'released':>9} {'refused':>9} {'failed':>9}"]
            lines += [
                f"{name:24} {own['released']:9,} {own['refused']:9,} {own['failed']:9,}"
                for name, own in sorted(table.items())
            ]
        lines += [
            "",
            "hierarchies: " + ", ".join(f"{kind} {count:,}" for kind, count in self.by_kind.most_common()),
        ]
        lines += ["", "refusals by reason"]
        lines += [f"  {count:6,} x {reason}" for reason, count in self.reasons.most_common()]
        never = [
            f"{method} x {question}"
            for (method, question), own in sorted(self.pairs.items())
            if sum(own.values()) >= ASKED_OFTEN and not own["released"] + own["failed"]
        ]
        lines += ["", f"asked {ASKED_OFTEN} times or more, and never released: {', '.join(never) or 'none'}"]
        lines.append(f"method x question x target: {len(self.cells):,} combinations released")
        if self.unshuffled:
            lines.append(self.unshuffled)
        lines.append(
            f"seed {self.seed}: {self.checked:,} releases checked in {seconds:.0f} s "
            f"({self.checked / seconds:.1f} per second), {self.failed:,} violations, "
            f"{self.status['refused']:,} refusals; {self.audited:,} audited, {self.attacked:,} attacked, "
            f"{self.suppressing:,} with suppressed rows"
        )
        return "\n".join(lines)
