"""Letting an adversary loose on a release: all of `shoal.attack`."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from shoal import frames
from shoal.attacks import ATTACKS, Exposure
from shoal.auditing import as_policy, as_published
from shoal.encode import encode
from shoal.policy import Policy
from shoal.results import Clock
from shoal.run import Progress, Run, silent


def attack(
    source: Any,
    policy: Policy | str | Path | None = None,
    *,
    original: Any,
    name: str = "linkage",
    adversary: str = "members",
    seed: int | None = None,
    progress: Progress = silent,
    **keywords: Any,
) -> Exposure:
    """Attack a release, made by any tool, and hold the outcome against the original.

    `adversary` is what the attacker knows: for ``linkage``, ``some`` people's quasi-identifiers, or all ``members``
    of the table. Whoever has fewer than the policy's k candidates is at risk. Row numbers of the people who are
    most exposed are in `Exposure.record()`, which is private.
    """
    clock = Clock()
    chosen = as_policy(policy, keywords)
    kind: Any = ATTACKS[name]
    progress("read", 0.0)
    with clock("read"):
        rows = frames.read(source, chosen.read_options()).data
        before = frames.read(original, chosen.read_options())
    progress("encode", 0.2)
    with clock("encode"):
        table = encode(before, chosen.plans(before.columns))
        published, notes = as_published(rows, chosen, table)
        requirements = chosen.requirements([attribute.name for attribute in published.sensitive])
    with clock("attack"):
        attacker = kind(adversary=adversary, k=max(requirements.k, 2))
        found: Exposure = attacker.attempt(published, table, Run.start(seed, progress))
    return dataclasses.replace(found, notes=(*found.notes, *notes), seconds=clock.seconds)
