"""What the public may learn about a release: its published rows and its policy, without the original."""

from __future__ import annotations

from dataclasses import replace

from shoal.judging.case import Case
from shoal.judging.linking.origins import RECEIVED
from shoal.release.received.cell_reader import attribute_of
from shoal.release.received.read_buckets import NO_OTHERS


def public_case(case: Case) -> Case:
    """Return a release without its original: what public figures are computed from. It has the published rows and the
    policy, and neither the domains of the original nor how many rows were suppressed, nor what is estimated for a
    population.
    """
    plans = case.policy.column_plans.values()
    shown = replace(
        case.published,
        attributes=tuple(attribute_of(plan) for plan in plans if plan.role.generalized),
        cells=None,
        suppressed=0,
    )
    return replace(
        case,
        published=shown,
        table=None,
        origin=RECEIVED,
        other_readings=NO_OTHERS,
        digest=None,
        crowd=None,
        told_size=None,
        survey=None,
    )


def shows_levels(case: Case) -> bool:
    """Return whether the public may learn levels of generalization. Not if the data decides how many levels a hierarchy
    has: one person by themselves may have the longest value.
    """
    return not any(attribute.hierarchy.grown for attribute in case.original.attributes)
