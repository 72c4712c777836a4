"""Any method by classes, kept from taking away what earlier releases of the same people leave open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from shoal.coding import CodedTable
from shoal.errors import DataError, InfeasibleError
from shoal.judging.linking.left_open import LeftOpen, Needed, find_left_open
from shoal.judging.models.over_time import KeepsOpen
from shoal.judging.models.requirements import Requirements
from shoal.methods.method import Method
from shoal.release import Release
from shoal.support.arrays import LongVector
from shoal.support.run import Run
from shoal.support.wording import format_count, more_suppression

Propose = Callable[[Method, CodedTable, Requirements, Run], Release]


def keep_open(
    propose: Propose, method: Method, table: CodedTable, requirements: Requirements, run: Run
) -> Release:
    """Let a method propose a release with one more requirement: combined with the earlier releases, each class leaves
    enough possible values for every person in it. Rows for which no class can do so are suppressed first.

    Raises DataError if an earlier release by itself breaks the policy, and InfeasibleError if more rows would have to
    be suppressed than may be.
    """
    model, earlier = requirements.with_earlier, table.context.earlier
    assert model is not None
    if earlier is None:
        raise DataError("the policy names earlier releases, but they were not read")
    if not method.can.keep_earlier:
        method.check_suited(requirements, [attribute.name for attribute in table.sensitive])
    model.check(earlier)
    run.progress("intersect", 0.2)
    own = np.asfortranarray(table.secrets.wide[:, list(earlier.lasting)])
    whole = find_left_open(earlier, own)
    needed = model.of(earlier)
    kept = keepable(table, whole, needed, limits=method.heeds_limits)
    lost, allowed = table.rows - len(kept), requirements.suppressible(table.rows)
    if lost > allowed or not len(kept):
        people = len(np.unique(np.delete(earlier.person, kept)))
        raise InfeasibleError(
            f"{format_count(people, 'person', 'people')} with {format_count(lost, 'row')} would be exposed by "
            "intersecting this "
            f"release with the earlier ones, however they are published: they would have to be suppressed, but only "
            f"{allowed:,} of {table.rows:,} rows may be. Ask for less, leave a release out of `earlier`, or "
            f"{more_suppression()}"
        )
    rule = KeepsOpen(model=model, open=whole.of_rows(kept), needed=needed)
    asked = replace(
        requirements,
        models=(*requirements.models, rule),
        suppression=(allowed - lost) / len(kept),
        with_earlier=None,
    )
    part = table if not lost else table.part(kept).with_context(earlier=earlier)
    found = propose(method, part, asked, run)
    region_of = np.full(table.rows, -1, np.int32)
    region_of[kept] = found.region_of
    facts = {**found.facts, "suppressed for earlier releases": lost}
    if "suppressed" in facts:
        facts["suppressed"] += lost
    return replace(found, region_of=region_of, facts=facts)


def keepable(table: CodedTable, whole: LeftOpen, needed: Needed, *, limits: bool) -> LongVector:
    """Return the rows that some class can satisfy the rule for.

    A larger group leaves at least as much open, so whom all rows that may share a class with theirs leave too little,
    no class leaves enough. Without their rows, others may be left too little, and so on. Every other row must be
    suppressed, whatever the method.
    """
    kept = np.arange(table.rows, dtype=np.int64)
    block_of = table.block_of if limits else np.zeros(table.rows, np.int32)
    while True:
        blocks, people = whole.short(block_of[kept], kept, needed)
        if not len(blocks):
            return kept
        bad = np.unique(blocks * whole.people + people)
        kept = kept[~np.isin(block_of[kept].astype(np.int64) * whole.people + whole.person[kept], bad)]
