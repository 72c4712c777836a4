"""The steps from a table to a verified release. Each verb takes those that it needs:

plan = engine.plan()                            # method and requirements, resolved and checked
table = engine.encode(plan)                     # the source in codes
release = engine.propose(plan, table)           # the method inside its wrappers, see `shoal.methods.wrappers`
shown = engine.publish(plan, table, release)    # render, shuffle, write, read back
case = engine.judge(plan, table, release, shown)  # verdicts, measures, attacks
describe_result(made, ..)                       # notes, record, card, codebook; see `shoal.pipeline.describe_result`
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shoal.coding import CodedTable
from shoal.errors import LimitError
from shoal.io import Frame
from shoal.judging.case import Case
from shoal.judging.models.feasibility import describe_left_out
from shoal.judging.models.requirements import Requirements
from shoal.methods.wrappers import propose_release
from shoal.pipeline.comparison.choose_release import with_choice
from shoal.pipeline.named_adversaries import Tried, try_adversaries
from shoal.pipeline.plan import Plan
from shoal.release import Release
from shoal.release.pseudonyms import Pseudonyms
from shoal.release.results import Clock
from shoal.release.verdict import refuse_violations
from shoal.support.brief import Brief
from shoal.support.run import Run

if TYPE_CHECKING:
    from shoal.engines.engine import Engine


@dataclass(frozen=True, eq=False, repr=False)
class Made(Brief):
    """A verified release. Its files do not have their names yet."""

    case: Case
    """The release as its readers see it, shuffled."""
    frame: Frame
    pseudonyms: Pseudonyms | None
    """The tokens that stand for identifiers, if the policy publishes any."""
    unserved: str
    """The blocks that generalization limits leave without a release, in words."""
    tried: Tried
    """How far the adversaries get that the policy names: not further than it allows."""


def make_release(engine: Engine, plan: Plan) -> Made:
    """Make a release of a table on an engine, publish and verify it, and measure it."""
    run, clock = engine.run, engine.clock
    run.progress("read", 0.0)
    with clock("read"):
        engine.read()
    run.progress("encode", 0.1)
    with clock("encode"):
        table = engine.encode(plan)
    plan = plan.on(table)
    release = engine.propose(plan, table)
    run.progress("write", 0.8)
    with clock("write"):
        shown = engine.publish(plan, table, release)
    run.progress("verify", 0.85)
    with clock("verify"):
        case = engine.judge(plan, table, release, shown)
        failing = case.failing
        refuse_violations(failing)
        tried = try_adversaries(case, lambda stage, _: run.progress(stage, 0.88))
    refuse_violations(tried.failing)
    unserved = ""
    if plan.method.heeds_limits:
        unserved = describe_left_out(case.original, plan.requirements.in_table(case.original))
    run.progress("measure", 0.9)
    with clock("measure"):
        _ = case.measures, case.losses
    return Made(case, engine.frame, engine.pseudonyms, unserved, tried)


def propose(plan: Plan, table: CodedTable, run: Run, clock: Clock | None = None) -> Release:
    """Let the method of a plan make a release. Takes as long as the method.

    Raises InfeasibleError if no release can satisfy the policy, and LimitError if this method finds none.
    """
    plan.check_feasible(table, run)
    run.progress("anonymize", 0.2)
    with (Clock() if clock is None else clock)("anonymize"), plan.advise(table):
        requirements = plan.requirements.in_table(table)
        release = propose_release(with_choice(plan).method, table, requirements, run)
        _check_alike(table, requirements, release)
    return release


def _check_alike(table: CodedTable, requirements: Requirements, release: Release) -> None:
    """Refuse classes that read alike if they do not satisfy the requirements together. Where people have several rows,
    two classes may each satisfy a rule about shares, and their union may not.
    """
    if table.shared is None or requirements.monotone(table):
        return
    from shoal.methods.cell_suppression import reads_well
    from shoal.methods.followed_rows import alike

    if not (alike if table.counting.followed else reads_well)(table, requirements, release):
        asked = " and ".join(model.title for model in requirements.group_models)
        raise LimitError(
            f"some classes satisfy {asked}, but they read like others, and together with these they do not: people "
            "with rows in both count once"
        )
