"""Attacking a release: all of `shoal.attack`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.errors import ARGUMENTS, DataError, PolicyError, Problem, did_you_mean
from shoal.judging.attacks import ATTACKS, Attack, Exposure
from shoal.judging.attacks.attack_base import Counted, Making, Options, Rows, Setting
from shoal.judging.attacks.intersection import Intersection
from shoal.judging.case import Case, answers
from shoal.judging.linking.evidence import Evidence
from shoal.judging.linking.statements import named_values
from shoal.judging.models.requirements import Requirements
from shoal.judging.read_case import Received, read_case
from shoal.methods import METHODS, Method
from shoal.policy import Policy
from shoal.policy.sources import apart
from shoal.release.received.read_record import read_method, read_section
from shoal.release.results import Clock
from shoal.support.run import Progress, Run, silent


def attack(
    source: Any,
    policy: Policy | str | Path | None = None,
    *,
    original: Any,
    second: Any = None,
    population: Any = None,
    suppressed_as: str | None = None,
    earlier: Sequence[Any] | None = None,
    name: str | None = None,
    adversary: str | None = None,
    options: Mapping[str, Any] | None = None,
    record: Any = None,
    seed: int | None = None,
    progress: Progress = silent,
    **keywords: Any,
) -> Exposure:
    """Attack a release, made by any tool, and compare the result with the original.

    `source` is a path or a frame, or what `shoal.anonymize` returned for this original: then the owner of each row is
    known, which some attacks need to judge their guesses. `second` is the second table of a release in two; for a
    file ``out.csv`` without its sensitive columns, ``out-sensitive.csv`` is used unless another is given.
    `adversary` is what the attacker knows: for ``linkage``, ``some`` people's quasi-identifiers, or all ``members``
    of the table. People with fewer than the policy's k candidates are at risk. Row numbers of the people who are
    most exposed are in `Exposure.record()`, which is private. `options` are further fields of the attack, such as
    the ``threshold`` of ``attribute-disclosure``, which otherwise follows from the policy's alpha or l.
    `suppressed_as` is the text that rows show in every quasi-identifier if another tool marks suppressed rows so;
    without it, all rows that are there count as rows. `record` is the private record of the run that made the release,
    or its path: it says how. `earlier` are earlier releases of the same people, for the attack that intersects them:
    paths or frames, results, or mappings with ``release``, ``original`` and ``record``; with them and no `name`, that
    attack is tried. Raises DataError if the attack does not apply to such a release.
    """
    clock = Clock()
    population, keywords = apart(population, keywords)
    chosen = Policy.given(policy, keywords)
    if name is None:
        name = Intersection.name if earlier else ATTACKS.default
    asked = dict(options or {}) | ({} if adversary is None else {"adversary": adversary})
    _check_options(name, asked)
    received = Received(source, original, second, population, suppressed_as, record, earlier)
    case = read_case(received, chosen, clock, progress)
    with clock("attack"):
        found = attack_case(case, name, asked, Run.start(seed, progress))
    return dataclasses.replace(
        found, notes=(*found.notes, *case.notes, *case.notes_on_following), seconds=clock.seconds
    )


def attack_case(case: Case, name: str, options: Mapping[str, Any], run: Run) -> Exposure:
    """Attack a release that has been read already, with what the policy says. If it may have been made in several ways,
    the one that exposes most counts. Raises DataError if the attack does not apply to it.
    """

    def attempt(evidence: Evidence) -> Exposure:
        setting = setting_of(case, evidence)
        reason = ATTACKS[name].refuses(setting)
        if reason:
            raise DataError(f"the attack {name} does not apply to this release: {reason}")
        return _attempt(case, setting, evidence, name, {**ATTACKS[name].reads(setting), **options}, run)

    found = answers(attempt, case.readings)
    return max(found, key=lambda exposure: (exposure.at_risk, exposure.success))


def attacks_against(adversaries: Iterable[str], setting: Setting) -> list[tuple[str, Options]]:
    """Return the attacks that play adversaries of a policy on such a release, each with its options."""
    found: list[tuple[str, Options]] = []
    for adversary in adversaries:
        for name, kind in ATTACKS.items():
            options = kind.options_to_play(adversary, setting)
            if options is not None and (name, options) not in found:
                found.append((name, options))
    return found


def setting_of(case: Case, evidence: Evidence) -> Setting:
    """Say what is known about a release before it is attacked: its method by the record of the run, else by the
    policy, and the rest by its rows.
    """
    policy, record = case.policy, case.origin.record
    if record is not None:
        method: Method | None = read_method(record)
    else:
        method = policy.build_method() if policy.method.name in METHODS else None
    several = evidence.persons.several and (case.table is None or case.table.shared is not None)
    return Setting(
        made=Making(
            method=method,
            k=None if record is None else read_section(record, "privacy").get("k"),
            certain=record is not None or case.origin.release is not None,
        ),
        models=case.requirements.models,
        sensitive=bool(case.published.sensitive),
        population=case.table is not None and case.table.context.population is not None,
        owners=evidence.owner is not None,
        rows=Rows(
            intact=evidence.published.rows_intact,
            in_buckets=evidence.published.in_buckets,
            empty=not evidence.published.rows,
            name_values=evidence.published.readable and bool(named_values(evidence.published)),
        ),
        earlier=case.table is not None and case.table.context.earlier is not None,
        counted=Counted(people=several, followed=several and evidence.persons.followed, groups=policy.groups),
    )


def _attempt(
    case: Case, setting: Setting, evidence: Evidence, name: str, options: Mapping[str, Any], run: Run
) -> Exposure:
    requirements, sensitive = case.requirements, case.published.sensitive
    # Attacks know all quasi-identifiers, so a k for adversaries who know fewer does not judge them.
    k = requirements.k if requirements.known_sets is None else 1
    known = {
        # Without k, candidates are counted but nobody is judged by them; the other attacks need a k.
        "k": max(k, ATTACKS[name].least_k),
        "method": setting.made.method,
        "presence": case.policy.privacy.presence or (0.0, 1.0),
        "protected": tuple(case.policy.columns[a.name].protected or () for a in sensitive),
        "requirements": requirements,
        "values": tuple(requirements.values_needed(j) for j in range(len(sensitive))),
    }
    if "threshold" not in options:
        known["thresholds"] = tuple(belief_allowed(requirements, j) for j in range(len(sensitive)))
        known["gains"] = tuple(gain_allowed(requirements, j) for j in range(len(sensitive)))
    kind = options.get("group", "")
    attacker = _attacker(name, options, known)
    if not kind:
        return attacker.attempt(evidence, run)
    found = attacker.attempt(evidence.by_group(kind), run)
    knows = f"{found.adversary}; everything is counted by {kind}, not in people"
    return dataclasses.replace(found, adversary=knows, whom=f"{kind} groups")


def belief_allowed(requirements: Requirements, column: int) -> float:
    """Return the largest share of a person's matching rows that the policy allows a value of a column."""
    own = (model for model in requirements.models if getattr(model, "column", None) == column)
    return min((model.belief for model in own), default=1.0)


LITTLE_GAIN = 0.1
"""Where a policy requires nothing of a sensitive column: a value that 90 % of people have may become certain."""


def gain_allowed(requirements: Requirements, column: int) -> float:
    """Return how much more likely than by a blind guess a value of a column may become, although it is certain then."""
    if requirements.values_needed(column) > 1:
        return 0.0
    own = (model for model in requirements.models if getattr(model, "column", None) == column)
    return max([LITTLE_GAIN, *(model.gain_allowed for model in own)])


def _check_options(name: str, options: Mapping[str, Any]) -> None:
    """Refuse a wrong name, and options that the attack does not have, before the work."""
    kind: Any = ATTACKS[name]
    fields = [field.name for field in dataclasses.fields(kind)]
    problems = [
        Problem(
            option, f"is not an option of the attack {name}", did_you_mean(option, fields) or "it has none"
        )
        for option in options
        if option not in fields
    ]
    if problems:
        raise PolicyError(problems, where=ARGUMENTS)


def _attacker(name: str, options: Mapping[str, Any], known: Mapping[str, Any]) -> Attack:
    """Return an attack with its options, and with those of the known facts that it asks for."""
    kind: Any = ATTACKS[name]
    fields = [field.name for field in dataclasses.fields(kind)]
    made: Attack = kind(**{key: value for key, value in known.items() if key in fields} | dict(options))
    return made
