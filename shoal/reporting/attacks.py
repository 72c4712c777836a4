"""The attacks that apply to a release, and their results in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.attacking import attack_case
from shoal.attacks import Exposure
from shoal.errors import ShoalError
from shoal.methods import METHODS
from shoal.reporting.gate import Gate
from shoal.reporting.subject import Subject
from shoal.run import Progress, Run


@dataclass(frozen=True, eq=False, kw_only=True)
class TriedAttack:
    """One adversary, and how far they got."""

    title: str
    knows: str
    exposure: Exposure | None
    shown: Exposure | None = None
    """What the edition may show instead, if that differs."""
    failure: str = ""
    """Why it could not run."""

    def outcome(self, gate: Gate) -> str:
        """Return the result in words."""
        if self.exposure is None:
            # A reason may name values.
            return "could not run" + ("" if gate.public else f": {self.failure}")
        if self.exposure.holds:
            return "nobody is exposed more than the policy allows"
        if self.shown is not None:
            return "some people are exposed more than the policy allows"
        people = gate.count(self.exposure.at_risk)
        return f"{people} of {len(self.exposure.chances):,} people are exposed more than the policy allows"

    def found(self, gate: Gate) -> str:
        """Return the expected share of people whom the adversary identifies."""
        if self.shown is not None:
            return _share(self.shown.success)
        return "" if self.exposure is None or not gate.tells_before else _share(self.exposure.success)

    def guess(self) -> str:
        """Return the same without the release."""
        told = self.shown or self.exposure
        return "" if told is None else _share(told.baseline)

    def details(self, gate: Gate) -> str:
        """Return the figures that matter for this attack; the gate hides small counts of people."""
        if self.exposure is None:
            return ""
        told = self.shown or self.exposure
        return "; ".join(_DETAILS[told.attack](told.figures, len(told.chances), gate))


def try_all(subject: Subject, progress: Progress) -> list[TriedAttack]:
    """Run every attack that applies. Each is repeatable: it draws from a fixed seed, and publishes nothing."""
    found = []
    wanted = list(_applicable(subject))
    for number, (title, name, options) in enumerate(wanted):
        progress("attack", 0.25 + 0.35 * number / len(wanted))
        try:
            exposure = attack_case(subject, name, options, Run.start(0))
            shown = None
            if subject.gate.public and name == "attribute-disclosure":
                shown = disclosed_by_rows(subject, exposure)
            found.append(TriedAttack(title=title, knows=exposure.adversary, exposure=exposure, shown=shown))
        except ShoalError as error:
            from shoal.attacks import ATTACKS

            found.append(
                TriedAttack(title=title, knows=ATTACKS[name].summary, exposure=None, failure=str(error))
            )
    return found


def disclosed_by_rows(subject: Subject, exposure: Exposure) -> Exposure:
    """Compute attribute disclosure from the published rows alone; each row stands for its own person.

    The figures of the attack itself depend on the true values: an adversary who knows all of them but one would learn
    the last. NaN if rows are generalized separately, because then no outsider knows the candidates of a person.
    O(rows log rows) per sensitive column.
    """
    from shoal.models.extended_p import strong_values

    published = subject.published
    known = subject.has_classes or published.bucket_of is not None
    group, rows = published.candidates, max(published.rows, 1)
    size = np.bincount(group)
    chances, blind = np.zeros(published.rows), np.zeros(published.rows)
    columns: dict[str, Any] = {}
    for j, attribute in enumerate(published.sensitive):
        nodes = exposure.figures["columns"][attribute.name]["categories"]
        strong = strong_values(attribute.hierarchy, tuple(nodes))
        label = strong[published.sensitive_codes[:, j]].astype(np.int64)
        _, place, count = np.unique(
            group * np.int64(len(strong)) + label, return_inverse=True, return_counts=True
        )
        share = count[place] / size[group]
        top = np.zeros(len(size))
        np.maximum.at(top, group, share)
        if known:
            columns[attribute.name] = {"after": {"certain": float((top[group] >= 1 - 1e-12).sum() / rows)}}
        chances = np.maximum(chances, share)
        blind = np.maximum(blind, (np.bincount(label) / rows)[label])
    success = float(chances.sum() / rows) if known else float("nan")
    figures = {**exposure.figures, "columns": columns}
    return replace(
        exposure, success=success, baseline=float(blind.sum() / rows), figures=figures, chances=chances
    )


def _applicable(subject: Subject) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the attacks that apply to this release, with their options."""
    yield "linkage, knows some people", "linkage", {"adversary": "some"}
    yield "linkage, knows all members", "linkage", {"adversary": "members"}
    if subject.table.sensitive:
        yield "attribute disclosure", "attribute-disclosure", {}
    made_by = subject.made_by
    method = made_by.method.name if made_by is not None else subject.policy.method.name
    if subject.policy.privacy.relocation is not None or (method in METHODS and METHODS[method].relocates):
        yield "statistics of relocated rows", "statistical", {}
    if subject.table.population is not None:
        yield "membership", "membership", {}
    if subject.owner is not None and method == "ring" and made_by is not None:
        given = made_by.build_method()
        known = {"partition": getattr(given, "partition", ""), "order": getattr(given, "order", "")}
        options = {key: value for key, value in known.items() if value}
        yield "knows the algorithm", "algorithm-aware", options
        yield "knows the algorithm and some rows", "corruption", options


def _share(value: float) -> str:
    return "" if value != value else f"{value:.2%}"


def _linkage(figures: Mapping[str, Any], people: int, gate: Gate) -> Iterator[str]:
    counts = figures.get("candidates_after_pruning", figures["candidates"])
    if counts["least"] is None:
        yield "no row matches anybody"
        return
    if not gate.tells_before:
        return
    least = counts["least"]
    if gate.public and least < gate.k:
        yield f"somebody has fewer than {gate.k:,} candidates"
    else:
        yield f"everybody who matches any row has at least {least:,} candidates"
    yield f"on average {counts['mean']:,.1f}"
    if counts["below_k"]:
        yield f"{gate.count(int(counts['below_k']))} people have fewer than {figures['k']:,} candidates"


def _disclosure(figures: Mapping[str, Any], people: int, gate: Gate) -> Iterator[str]:
    for name, column in figures["columns"].items():
        if "before" not in column:
            yield f"{name} is certain in {column['after']['certain']:.1%} of the published rows"
            continue
        before, after = (
            gate.share(round(column[when]["certain"] * people), people) for when in ("before", "after")
        )
        yield f"{name} is certain for {after} of people, before for {before}"


def _membership(figures: Mapping[str, Any], people: int, gate: Gate) -> Iterator[str]:
    yield f"{figures['population']:,} people could be in the table"
    yield f"{gate.count(figures['certainly_in'])} are certainly in it"


def _statistical(figures: Mapping[str, Any], people: int, gate: Gate) -> Iterator[str]:
    verdict = "more than chance" if figures["rejected"] else "no more than chance"
    exact = "" if gate.public else f" (p = {figures['p_value']:.3g})"
    yield f"the sizes of classes show {verdict}{exact}"


def _algorithm(figures: Mapping[str, Any], people: int, gate: Gate) -> Iterator[str]:
    yield f"the first guess names {figures['named_by_the_first_guess']:.2%} of people in rings"
    yield f"one rotation names {figures['rings_that_one_turn_names']:.2%} of the rings"


def _corruption(figures: Mapping[str, Any], people: int, gate: Gate) -> Iterator[str]:
    for name, entry in figures.items():
        if name.startswith("with_"):
            yield f"with {entry['known']} known rows per ring they name {entry['guessed']:.2%} of the others"


_DETAILS = {
    "linkage": _linkage,
    "attribute-disclosure": _disclosure,
    "membership": _membership,
    "statistical": _statistical,
    "algorithm-aware": _algorithm,
    "corruption": _corruption,
}
