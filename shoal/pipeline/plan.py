"""`Plan`: what a policy asks for, resolved and checked once: the method, and what a release must satisfy."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from shoal.coding import CodedTable
from shoal.coding.roles import SENSITIVE
from shoal.errors import InfeasibleError, LimitError, PolicyError
from shoal.judging.case import Case
from shoal.judging.models.feasibility import reasons_against
from shoal.judging.models.requirements import Requirements
from shoal.judging.read_case import read_made, read_proposal
from shoal.methods.alternatives import instead
from shoal.methods.method import Method
from shoal.methods.parts.on_parts import division_problems
from shoal.policy import Policy
from shoal.policy.privacy_checks import check_order
from shoal.release import Release
from shoal.release.render import Rendered
from shoal.support.brief import Brief
from shoal.support.run import Run


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Brief):
    """A policy with its method and requirements, which are built once and serve every step of a run."""

    policy: Policy
    method: Method
    requirements: Requirements
    """In the order of the policy's sensitive columns, or of a table's; see `on`."""

    @classmethod
    def of(cls, policy: Policy) -> Plan:
        """Resolve a policy. Raises PolicyError if its method cannot satisfy it, whatever the data."""
        plan = cls.without_checks(policy)
        method, requirements = plan.method, plan.requirements
        method.check_suited(requirements, policy.names(SENSITIVE))
        problems = []
        if requirements.known_sets is not None:
            from shoal.methods.known_columns import keys_problems

            problems += keys_problems(method, requirements)
        elif requirements.suppress == "cells":
            from shoal.methods.cell_suppression import cells_problems

            problems += cells_problems(method, requirements)
        if policy.engine.part_rows and not policy.engine.on_cluster:
            problems += division_problems(method)
        if problems:
            raise PolicyError(problems)
        return plan

    @classmethod
    def without_checks(cls, policy: Policy) -> Plan:
        """Resolve a policy without checking that its method suits it, because running the method will show that."""
        return cls(policy, policy.build_method(), policy.requirements())

    def on(self, table: CodedTable) -> Plan:
        """Return the plan for a table, whose sensitive columns may have another order.

        Raises PolicyError if a model needs an order of values that have none.
        """
        if self.policy.names(SENSITIVE) != tuple(attribute.name for attribute in table.sensitive):
            return replace(self, requirements=self.policy.requirements(table.sensitive))
        check_order(self.policy.privacy, table.sensitive)
        return self

    def check_feasible(self, table: CodedTable, run: Run) -> None:
        """Raise InfeasibleError if no release of a table can satisfy the policy. Meanwhile kernels are prepared."""
        requirements = self.requirements.in_table(table)
        self.method.prepare(table, requirements, run)
        # Rows of a block may be alike in values that other rows of the same people are not, if these can be followed.
        limits = self.method.heeds_limits and not table.counting.followed
        reasons = reasons_against(table, requirements, limits=limits)
        if reasons:
            raise InfeasibleError("\n".join(reasons))

    @contextlib.contextmanager
    def advise(self, table: CodedTable) -> Iterator[None]:
        """Let a LimitError in the block say what to do instead."""
        try:
            yield
        except LimitError as error:
            advice = error.instead or instead(self.method, table, self.requirements.in_table(table))
            raise LimitError(error.message, advice) from None

    def judge(self, table: CodedTable, release: Release, shown: Rendered | None = None) -> Case:
        """Return the case of a release: its rows as they are `shown`, or in memory as the method proposes them."""
        if shown is None:
            return read_proposal(self.policy, table, release, requirements=self.requirements)
        return read_made(self.policy, table, release, shown, self.requirements)
