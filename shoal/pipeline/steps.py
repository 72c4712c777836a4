"""The steps from a table to a verified release. Each verb takes those that it needs:

plan = Plan.of(policy)                       # method and requirements, resolved and checked
plan = plan.on(table)                        # in the order of the table's columns
release = propose(plan, table, run)          # the method inside its wrappers, see `shoal.methods.wrappers`
shown = publish(plan, table, release, ..)    # render, shuffle, write, read back
case = plan.judge(table, release, shown)     # verdicts, measures, attacks
describe_result(made, ..)                    # notes, record, card, codebook; see `shoal.pipeline.describe_result`
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import polars as pl

from shoal import io
from shoal.coding import CodedTable
from shoal.coding.column_plan import bound_names
from shoal.errors import LimitError
from shoal.io import Frame
from shoal.io.sheet import Sheet
from shoal.judging.case import Case
from shoal.judging.models.feasibility import left_out
from shoal.judging.models.requirements import Requirements
from shoal.methods.wrappers import propose_release
from shoal.pipeline.comparison.auto import with_choice
from shoal.pipeline.destinations import Destination
from shoal.pipeline.plan import Plan
from shoal.release import Release
from shoal.release.perturbed_columns import check_perturbed, perturbed
from shoal.release.pseudonyms import Pseudonyms
from shoal.release.received.read_earlier import encode_whole
from shoal.release.render import Rendered, render, shuffled
from shoal.release.results import Clock
from shoal.release.verdict import refuse_violations
from shoal.support.arrays import IntVector
from shoal.support.brief import Brief
from shoal.support.machine.threads import Ahead
from shoal.support.run import Run

KERNELS = "shoal.kernels.preparing"
"""What imports numba."""


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


def make_release(
    plan: Plan, source: Any, population: Any, destination: Destination, run: Run, clock: Clock
) -> Made:
    """Make a release of a table, publish and verify it, and measure it."""
    policy = plan.policy
    Ahead(partial(import_module, KERNELS))  # the method needs them only after the table was read
    run.progress("read", 0.0)
    with clock("read"):
        frame = io.read(policy.source(source), policy.read_options())
    run.progress("encode", 0.1)
    with clock("encode"):
        table = encode_whole(frame, policy, population)
        check_perturbed(table, policy.perturbed)
        destination.check(table, policy, exact=plan.method.shows.exact)
    plan = plan.on(table)
    release = propose(plan, table, run, clock)
    run.progress("write", 0.8)
    with clock("write"):
        tokens = Pseudonyms() if policy.pseudonyms else None
        shown = publish(plan, frame, table, release, tokens, destination, run)
    run.progress("verify", 0.85)
    with clock("verify"):
        case = plan.judge(table, release, shown)
        failing = case.failing
    refuse_violations(failing)
    unserved = left_out(table, plan.requirements.in_table(table)) if plan.method.heeds_limits else ""
    run.progress("measure", 0.9)
    with clock("measure"):
        _ = case.measures, case.losses
    return Made(case, frame, tokens, unserved)


def propose(plan: Plan, table: CodedTable, run: Run, clock: Clock | None = None) -> Release:
    """Let the method of a plan make a release. Takes as long as the method.

    Raises InfeasibleError if no release can satisfy the policy, and LimitError if this method finds none.
    """
    plan.check_feasible(table, run)
    run.progress("anonymize", 0.2)
    with (Clock() if clock is None else clock)("anonymize"), plan.advising(table):
        requirements = plan.requirements.in_table(table)
        release = propose_release(with_choice(plan).method, table, requirements, run)
        _check_alike(table, requirements, release)
    return release


def _check_alike(table: CodedTable, requirements: Requirements, release: Release) -> None:
    """Refuse classes that read alike if they do not satisfy the requirements together. Where people have several rows,
    two classes may each satisfy a rule about shares, and their union may not.
    """
    if table.owners is None or requirements.monotone(table):
        return
    from shoal.methods.cell_suppression import reads_well
    from shoal.methods.followed_rows import alike

    if not (alike if table.followed else reads_well)(table, requirements, release):
        asked = " and ".join(model.title for model in requirements.group_models)
        raise LimitError(
            f"some classes satisfy {asked}, but they read like others, and together with these they do not: people "
            "with rows in both count once"
        )


def publish(
    plan: Plan,
    frame: Frame,
    table: CodedTable,
    release: Release,
    tokens: Pseudonyms | None,
    destination: Destination,
    run: Run,
) -> Rendered:
    """Render what each row shows, shuffle the rows, publish them, and return them as their readers see them."""
    random = run.random.spawn(1)[0]  # whatever the search has drawn
    changed = perturbed(table, release, plan.policy.perturbed, random, frame.as_shown)
    rendered = shuffled(render(table, release, tokens, changed), random)
    typed = partial(_typed, frame, table, rendered.owner)
    seen = destination.publish(rendered.sheet.with_values(typed), frame)
    second = rendered.second
    if second is not None:
        second = destination.publish(Sheet.of(second).with_values(typed), frame, second=True).whole()
    return Rendered(seen, rendered.owner, rendered.bucket, second)


def _typed(frame: Frame, table: CodedTable, owner: IntVector, values: pl.Series) -> pl.Series:
    """Return what a column shows in the type that it has in the release; tokens are no values."""
    ends = {end: own.name for own in table.attributes if own.bounds for end in bound_names(own.name)}
    is_token = table.named is not None and values.name in table.named.columns
    return values if is_token else frame.as_shown(values, ends.get(values.name, values.name), owner)
