"""`audit_synthetic`: what a synthetic table gives away about the rows that it was trained on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.support.brief import Brief
from shoal.support.confidence_intervals import NORMAL_95
from shoal.support.run import Progress, Run, silent
from shoal.support.wording import either
from shoal.synthetic.arguments import check_named, check_numbers, read_names
from shoal.synthetic.copies import find_copies, find_near_copies, find_returning_uniques
from shoal.synthetic.distances import Nearest, find_nearest
from shoal.synthetic.inference import infer
from shoal.synthetic.linkability import check_splits, choose_splits, link
from shoal.synthetic.membership import Closest, Membership, guess_membership, measure_closest
from shoal.synthetic.rates import Attempt
from shoal.synthetic.singling_out import single_out
from shoal.synthetic.tables import Rows, Tables, read_tables
from shoal.synthetic.utility import Analyses, Usefulness, measure_usefulness

TARGETS = 2000
"""So many people of each table are attacked."""
FEW = 100
"""With fewer holdout rows, intervals are so wide that little is learned."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SyntheticAudit(Brief):
    """What the attacks reached on training rows, and on holdout rows for comparison."""

    attempts: tuple[Attempt, ...]
    membership: Membership | None
    """None: there is no holdout."""
    closest: Closest
    usefulness: Usefulness
    rows: dict[str, int]
    """How many rows each table has, by its name."""
    columns: tuple[str, ...]
    targets: int
    limit: float | None
    """The largest residual risk that is allowed; None: none was named."""
    largest: int
    """How many columns a minimal unique had at most."""
    notes: tuple[str, ...]
    seed: int | None

    @property
    def has_holdout(self) -> bool:
        """Whether there is a holdout. Without one, nothing says how much of a success is due to the training rows."""
        return "holdout" in self.rows

    @property
    def quantile(self) -> float:
        """The quantile of the normal distribution for all intervals of the verdict together to hold with 95 %."""
        from scipy.stats import norm

        judged = sum(one.residual() is not None for one in self.attempts) + 2 * (self.membership is not None)
        return max(float(norm.isf(0.025 / max(judged, 1))), NORMAL_95)

    @property
    def leaks(self) -> list[Attempt]:
        """The attacks whose residual risk is above the limit, or above 0 without one, beyond chance: all intervals are
        widened until they hold together.
        """
        found = ((one, one.residual(self.quantile)) for one in self.attempts)
        return [one for one, own in found if own is not None and own.low > (self.limit or 0.0)]

    @property
    def tells_members(self) -> bool:
        """Whether training rows are nearer to synthetic rows than holdout rows are, beyond chance."""
        nearer = self.closest.nearer
        by_distance = self.membership is not None and self.membership.interval(self.quantile)[0] > 0.5
        return by_distance or (nearer is not None and nearer.interval(self.quantile)[0] > 0.5)

    @property
    def open(self) -> list[Attempt]:
        """The attacks of which nobody knows whether they stay within the limit."""
        if self.limit is None:
            return []
        found = ((one, one.residual(self.quantile)) for one in self.attempts if one.train is not None)
        return [one for one, own in found if own is None or own.low <= self.limit < own.high]

    @property
    def holds(self) -> bool | None:
        """False: training rows leak more than is allowed. None: it cannot be known. True: no attack found a leak, or
        all stay within the limit, which does not prove that no other attack would.
        """
        if self.leaks or (self.limit is None and self.tells_members):
            return False
        return None if self.open or not self.has_holdout else True

    def summary(self) -> dict[str, Any]:
        """Return plain data for ``--json``, without single people."""
        return {
            "holds": self.holds,
            "limit": self.limit,
            "rows": self.rows,
            "columns": list(self.columns),
            "targets": self.targets,
            "attacks": [one.summary() for one in self.attempts],
            "membership": None if self.membership is None else self.membership.summary(),
            "closest": self.closest.summary(),
            "usefulness": self.usefulness.summary(),
            "largest_minimal_unique": self.largest,
            "seed": self.seed,
            "notes": list(self.notes),
        }

    def report(self, edition: str = "public") -> str:
        """Return the report as an HTML page: the public edition without single people, or the private one with row
        numbers.
        """
        from shoal.synthetic.synthetic_report import report_html

        return report_html(self, edition)


def audit_synthetic(
    synthetic: Any,
    original: Any,
    holdout: Any = None,
    *,
    columns: Collection[str] = (),
    categories: Collection[str] = (),
    sensitive: Collection[str] = (),
    link_columns: Sequence[Sequence[Sequence[str]]] = (),
    regression: str | None = None,
    workload: Any = None,
    predict: str | None = None,
    targets: int = TARGETS,
    limit: float | None = None,
    seed: int | None = None,
    progress: Progress = silent,
) -> SyntheticAudit:
    """Attack a synthetic table that any tool made from `original`, and compare with a `holdout`.

    The tables are paths or frames; the holdout are people of the same population on whom the table was not trained.
    `columns`: those to audit, by default all of the synthetic table; `categories`: those to compare as text.
    `sensitive`: the columns that are inferred, by default all. `link_columns`: pairs of sets of columns that two
    parties hold, by default three random halves. `targets` people of each table are attacked, drawn at random; a `seed`
    makes the figures repeatable. `limit` is the largest residual risk that is allowed. `regression`, `workload` and
    `predict` name analyses as in the section `[utility]` of a policy.
    Raises DataError if the tables do not fit together, PolicyError if an argument is wrong.
    """
    check_numbers(targets, limit)
    run = Run.start(seed, progress)
    wanted, as_text = read_names("columns", columns), read_names("categories", categories)
    named = read_names("sensitive", sensitive)
    progress("read", 0.0)
    tables = read_tables(synthetic, original, holdout, columns=wanted, categories=as_text)
    secrets = [
        tables.names.index(name) for name in check_named("sensitive", named or tables.names, tables.names)
    ]
    splits = check_splits(link_columns, tables.names) or choose_splits(tables.names, run)
    analyses = Analyses(regression, workload, predict)
    analyses.check(tables)
    tables = _in_random_order(tables, run)
    attempts = single_out(tables, targets, run)
    chosen = _draw(tables.original, targets, run)
    other = None if tables.holdout is None else _draw(tables.holdout, targets, run)
    attempts += link(tables, (chosen, other), splits, run)
    stage = ("inference", 0.4, 0.55)
    own, control = _nearest(tables, tables.original.take(chosen), secrets, run, stage), None
    if tables.holdout is not None and other is not None:
        stage = ("inference", 0.55, 0.65)
        control = _nearest(tables, tables.holdout.take(other), secrets, run, stage)
    nearest = own, control
    attempts += infer(tables, secrets, (chosen, other), nearest)
    attempts += [find_copies(tables), find_near_copies(tables, chosen, nearest)]
    uniques, largest = find_returning_uniques(tables, run)
    distance = own.distance[0], None if control is None else control.distance[0]
    closest = measure_closest(tables, targets, distance[0], distance[1], run)
    members = None if distance[1] is None else guess_membership(distance[0], distance[1])
    progress("usefulness", 0.8)
    useful = measure_usefulness(tables, analyses, run)
    progress("done", 1.0)
    parts = {"synthetic": tables.synthetic, "original": tables.original, "holdout": tables.holdout}
    return SyntheticAudit(
        attempts=(*attempts, uniques),
        membership=members,
        closest=closest,
        usefulness=useful,
        rows={name: part.count for name, part in parts.items() if part is not None},
        columns=tables.names,
        targets=targets,
        limit=limit,
        largest=largest,
        notes=(*tables.notes, *_notes(tables)),
        seed=run.seed,
    )


def _in_random_order(tables: Tables, run: Run) -> Tables:
    """Return the tables with synthetic rows in a random order: among equally near rows the first is taken."""
    from dataclasses import replace

    return replace(tables, synthetic=tables.synthetic.take(run.random.permutation(tables.synthetic.count)))


def _draw(rows: Rows, targets: int, run: Run) -> Any:
    return np.sort(run.random.permutation(rows.count)[:targets])


def _nearest(
    tables: Tables, rows: Rows, secrets: list[int], run: Run, stage: tuple[str, float, float]
) -> Nearest:
    return find_nearest(
        tables.synthetic.places, rows.places, tables.numbers, tables.unit, run, stage, left_out=secrets
    )


def _notes(tables: Tables) -> list[str]:
    """Say what cannot be known from these tables."""
    if tables.holdout is None:
        option = either(command="--holdout", python="holdout", studio="Holdout")
        return [
            "there is no holdout: nobody can know how much of a success is due to the training rows, and how "
            "much to what "
            f"holds for everybody; give people on whom the table was not trained with {option}"
        ]
    found = []
    if tables.holdout.count < FEW:
        found.append(
            f"the holdout has {tables.holdout.count:,} rows: with fewer than {FEW} the intervals are wide, and "
            f"a leak may "
            "go unnoticed"
        )
    if tables.holdout.count < tables.original.count:
        found.append(
            f"singling out: the holdout has {tables.holdout.count:,} rows and the original "
            f"{tables.original.count:,}, so the "
            "success on the holdout is scaled by a fitted model; a holdout of the same size needs none"
        )
    return found
