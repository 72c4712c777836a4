"""Whether the table allows what the policy promises, found out while somebody looks: quick answers to every click.

Coding a million rows takes about a second, so a thread codes the table once for the columns of a policy. After that, a
change of the requirements needs the proofs only.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shoal.errors import ShoalError

if TYPE_CHECKING:
    from shoal.apps.studio.project import Project
    from shoal.coding import CodedTable
    from shoal.pipeline.explanation.nearest_policies import Nearest
    from shoal.policy import Policy

PATIENCE = 0.15
"""Seconds that a page waits for an answer before it says that it is being looked for."""
_PLACE = "outlook"
"""Where the answers are in the store of a project."""


@dataclass(frozen=True)
class Outlook:
    """What is known about a policy on its table before any method runs."""

    reasons: tuple[str, ...] = ()
    """Why no release can satisfy it: each is a proof."""
    nearest: tuple[Nearest, ...] = ()
    """Changes after which no reason is known."""
    warnings: tuple[str, ...] = ()
    """What the policy leaves open."""
    unsuited: tuple[str, ...] = ()
    """What its method cannot do, whatever the data."""
    error: str = ""
    """Why the table cannot be coded."""

    @property
    def possible(self) -> bool:
        """No reason against it is known."""
        return not self.reasons and not self.error


@dataclass
class _Coded:
    """The coded table of a project, and what was found about policies with these columns."""

    key: str
    table: CodedTable | None = None
    answers: dict[str, Outlook] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    ready: threading.Condition = field(default_factory=threading.Condition)
    coding: threading.Lock = field(default_factory=threading.Lock)


def find_outlook(project: Project) -> Outlook | None:
    """Return the outlook of the policy if it has been computed already."""
    coded: _Coded | None = project.store.get(_PLACE)
    return None if coded is None else coded.answers.get(project.toml)


def outlook(project: Project, patience: float = PATIENCE) -> Outlook | None:
    """Return what is known about the policy; None if that takes longer, and the page will be told when it is known."""
    policy, frame = project.policy, project.frame
    if policy is None or frame is None:
        return None
    toml, key = project.toml, _key(policy)
    with project.lock:
        coded: _Coded | None = project.store.get(_PLACE)
        if coded is None or coded.key != key:
            coded = project.store[_PLACE] = _Coded(key)
        if toml in coded.answers:
            return coded.answers[toml]
        if toml not in coded.asked:
            coded.asked.add(toml)
            threading.Thread(target=_answer, args=(project, coded, policy, toml), daemon=True).start()
    with coded.ready:
        coded.ready.wait_for(lambda: toml in coded.answers, patience)
    return coded.answers.get(toml)


def find_coded_table(project: Project) -> CodedTable | None:
    """Return the coded table of the policy, or None if it is not coded yet."""
    coded: _Coded | None = project.store.get(_PLACE)
    return (
        None if coded is None or project.policy is None or coded.key != _key(project.policy) else coded.table
    )


def _key(policy: Policy) -> str:
    """What the codes of a table depend on."""
    parts = policy.to_dict()
    wanted: dict[str, Any] = {name: parts.get(name) for name in ("data", "columns", "population")}
    return json.dumps([wanted, str(policy.base)], sort_keys=True, default=str)


def _answer(project: Project, coded: _Coded, policy: Policy, toml: str) -> None:
    from shoal.apps.studio.requirements.forms import prepare

    try:
        prepare()
        found = _compute_outlook(project, coded, policy)
    except ShoalError as error:
        found = Outlook(error=str(error))
    except Exception as error:
        found = Outlook(error=f"Shoal made a mistake of its own ({type(error).__name__})")
    with coded.ready:
        coded.answers[toml] = found
        coded.ready.notify_all()
    if project.store.get(_PLACE) is coded:
        project.mark_changed()


def _compute_outlook(project: Project, coded: _Coded, policy: Policy) -> Outlook:
    from shoal.errors import PolicyError
    from shoal.judging.models.feasibility import find_unprotected
    from shoal.pipeline.explanation.nearest_policies import nearest, reasons
    from shoal.pipeline.plan import Plan
    from shoal.release.received.read_earlier import encode_whole

    frame = project.frame
    assert frame is not None
    with coded.coding:  # a second policy with the same columns waits for the codes
        if coded.table is None:
            coded.table = encode_whole(frame, policy)
    table = coded.table
    against = reasons(table, policy)
    unsuited: tuple[str, ...] = ()
    try:
        Plan.of(policy)
    except PolicyError as error:
        unsuited = tuple(f"{one.message}{f' ({one.hint})' if one.hint else ''}" for one in error.problems)
    return Outlook(
        reasons=tuple(against),
        nearest=tuple(nearest(table, policy)) if against else (),
        warnings=tuple(find_unprotected(table, policy.requirements(table.sensitive))),
        unsuited=unsuited,
    )
