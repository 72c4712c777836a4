"""The public edition: made of the published rows, the policy and whether each requirement holds, and nothing else.

`Open` has no original, so no figure here can depend on a suppressed row, or on the exact value behind a generalized
cell. What needs the original is in the private edition.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from shoal.documents.card import LOSS, false_cells_allowed, public_measures
from shoal.documents.codebook.label_losses import losses_shown
from shoal.documents.report.headline import LOST, RISK, SEEDED, make_face, risk_tile
from shoal.documents.report.main_sections import (
    build_requirements_section,
    groups_row,
    guarantees_of,
    levels_row,
    method_rows,
    options_of,
    prosecutor_lines,
)
from shoal.documents.report.report_parts import (
    Card,
    Face,
    Part,
    Section,
    Table,
    Tile,
    Words,
)
from shoal.documents.report.row_sections import (
    Inferred,
    distribution_sections,
    infer_values,
    inference_section,
)
from shoal.documents.report.subject import Subject, of_threat, risk_allowed
from shoal.documents.report.threat_summary import (
    answer,
    list_guarantees,
    remaining_risk,
    smallest_class,
    threats_section,
)
from shoal.documents.report.utility_sections import losses_section
from shoal.judging.case import Case
from shoal.judging.identifier_columns import columns_without_role
from shoal.judging.models.threats import (
    ATTRIBUTE_DISCLOSURE,
    KNOWN_COLUMNS_ONLY,
    MEMBERSHIP,
    RE_IDENTIFICATION,
    Threat,
)
from shoal.judging.public_case import public_case, shows_levels
from shoal.policy import Policy
from shoal.release.conclusion import conclude
from shoal.release.verdict import Verdict
from shoal.support.brief import Brief

LOSS_WORDS = (
    "The loss of a cell is the share of its column's domain that it covers: 0% for a single value, 100% for a cell "
    "that shows nothing. The domain is what the policy lists, or what the published cells span."
)
IN_PRIVATE = (
    "Attacks that compare the release with the original, risks before, and losses against the original are in the "
    "private edition: their figures may depend on single people."
)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Open(Brief):
    """All that the public edition is made of."""

    case: Case
    """The release without its original, see `public_case`."""
    judged: tuple[tuple[Verdict, str], ...]
    """Each verdict with what it means; only `Verdict.told` is shown of it."""
    made_by: Policy | None
    """The policy of the run that made the release, if its record was given."""
    levels: tuple[int, ...] | None
    """The levels of generalization, if the policy decides how many there are."""

    @classmethod
    def of(cls, subject: Subject) -> Open:
        """Leave out of a subject what is not public. That a release is true is left out as well: whether Shoal can
        decide it depends on the original. That it is false is said.
        """
        record = subject.origin.record
        levels = record.get("levels") if record is not None and shows_levels(subject) else None
        return cls(
            case=public_case(subject),
            judged=tuple(
                (verdict, meaning)
                for verdict, meaning in subject.verdicts_with_meanings
                if not verdict.holds or verdict not in subject.truthfulness.verdicts
            ),
            made_by=subject.policy_of_run,
            levels=None if levels is None else tuple(levels),
        )

    @cached_property
    def losses(self) -> Mapping[str, float]:
        """The share of its domain that a published cell covers, per quasi-identifier."""
        return losses_shown(self.case.count_texts, self.case.policy)

    @cached_property
    def measures(self) -> Mapping[str, float]:
        """The measures that follow from the published rows and the policy."""
        return public_measures(self.case, self.losses)

    @property
    def shows_people(self) -> bool:
        """Whether published rows show how many people a class has: not if somebody may have several rows."""
        return not self.case.persons.several or self.case.persons.followed

    @property
    def sizes_known(self) -> bool:
        """Whether the sizes of classes say who can be found."""
        return self.shows_people and self.case.classes_tell and not self.case.owners.unknown

    @cached_property
    def largest_risk(self) -> float | None:
        """The largest chance to find a person that the policy allows."""
        return risk_allowed(self.case.requirements, self.judged)

    @cached_property
    def inferences(self) -> tuple[Inferred, ...]:
        """What the published rows show about sensitive values."""
        return tuple(infer_values(self.case))


def face_of(open_: Open, *, seeded: bool) -> Face:
    """Return the verdict: whether the policy is satisfied, risk, loss, rows."""
    exposed = [one.column for one in open_.inferences if one.exposed]
    remarks = [
        f"the rows show values of {', '.join(exposed)}, and no requirement of the policy prevents it"
    ] * bool(exposed)
    budget = None if open_.made_by is None else false_cells_allowed(open_.case, open_.made_by)
    if budget is not None:
        remarks.insert(
            0,
            f"up to {budget:.1%} of the generalized cells are false: they do not cover the value of their person",
        )
    conclusion = conclude((verdict for verdict, _ in open_.judged), remarks=remarks + [SEEDED] * seeded)
    judged = [(verdict, verdict.told) for verdict, _ in open_.judged]
    return make_face(judged, conclusion, (_risk_tile(open_), _loss_tile(open_), _rows_tile(open_)))


def _risk_tile(open_: Open) -> Tile:
    limit = open_.largest_risk
    if open_.sizes_known:
        return risk_tile(open_.case.risk, limit, open_.case.requirements.k)
    if limit is None:
        return Tile(label=RISK, value="see below", text="the policy does not limit it, or is violated")
    text = "requirement met, for an adversary who knows the quasi-identifiers and who is in the table"
    return Tile(label=RISK, value=f"≤ {limit:.1%}", text=text, state="good")


def _loss_tile(open_: Open) -> Tile:
    loss = open_.measures.get(LOSS)
    if loss is None:
        text = "the published cells do not show how wide they are, or a column shows too many"
        return Tile(label=LOST, value="unknown", text=text)
    text = "in the quasi-identifiers: 0% = single values, 100% = no detail left"
    return Tile(label=LOST, value=f"{loss:.1%}", text=text)


def _rows_tile(open_: Open) -> Tile:
    return Tile(
        label="Rows published",
        value=f"{open_.case.published.rows:,}",
        text=suppression_words(open_.case.requirements.suppression),
    )


def suppression_words(limit: float) -> str:
    """Say how many rows may have been suppressed. How many were is not public."""
    return f"at most {limit:.2%} of the original's rows were suppressed" if limit else "none was suppressed"


def sections_of(open_: Open) -> list[Section]:
    """Return the sections of the public edition."""
    case = open_.case
    columns = [*case.policy.columns, *columns_without_role(case)]
    return [
        _threats(open_),
        build_requirements_section(
            case.policy, columns, several=case.persons.several, followed=case.persons.followed
        ),
        _done(open_),
        guarantees_of([(verdict, verdict.told, meaning) for verdict, meaning in open_.judged]),
        inference_section(open_.inferences),
        _risk(open_),
        _losses(open_),
        *distribution_sections(case),
    ]


def _threats(open_: Open) -> Section:
    cards = [
        _answer(open_, RE_IDENTIFICATION, list(_describe_re_identification(open_))),
        _answer(open_, ATTRIBUTE_DISCLOSURE, [one.words for one in open_.inferences]),
        _answer(open_, MEMBERSHIP, []),
    ]
    return threats_section("the published rows", cards, Words(IN_PRIVATE))


def _answer(open_: Open, threat: Threat, lines: list[str]) -> Card:
    judged = of_threat(open_.case.requirements, open_.judged, threat)
    doubt = ""
    own = list_guarantees(judged)
    if not judged:
        own = ["Requirement: none; the policy asks for nothing that stops it."]
        doubt = "not required"
    if threat == RE_IDENTIFICATION and open_.sizes_known and open_.case.risk.unique_after > 0:
        doubt = "some rows are unique"
    if threat == ATTRIBUTE_DISCLOSURE and any(one.exposed for one in open_.inferences):
        doubt = "rows show sensitive values"
    if threat == ATTRIBUTE_DISCLOSURE and not open_.case.published.sensitive:
        own, doubt = ["The policy names no sensitive column."], "not assessed"
    return answer(threat, judged, [], [*own, *lines], doubt=doubt)


def _describe_re_identification(open_: Open) -> Iterator[str]:
    if open_.sizes_known:
        yield f"Unique: {open_.case.risk.unique_after:.1%} of the published rows."
        yield from smallest_class(open_.case.sizes, several=open_.case.persons.followed)
    yield remaining_risk(open_.largest_risk)
    yield KNOWN_COLUMNS_ONLY


def _done(open_: Open) -> Section:
    case, policy = open_.case, open_.made_by
    published = case.published
    rows: list[tuple[str, str]] = [
        ("rows published", f"{published.rows:,}"),
        ("rows suppressed", suppression_words(case.requirements.suppression)),
        groups_row(published),
    ]
    parts: list[Part] = []
    if policy is None:
        parts.append(Words("How the release was made is not known: no record of the run was given."))
    else:
        rows = [*method_rows(policy.method.name), *rows, *options_of(policy)]
        budget = false_cells_allowed(case, policy)
        if budget is not None:
            rows.append(("false cells", f"at most {budget:.2%}; which ones is secret"))
    rows += levels_row(published, open_.levels)
    parts.append(Table("The release", ("what", "value"), rows))
    parts += [Words(f"Warning: {line}") for line in case.notes_on_following]
    return Section("done", "What was done", parts)


def _risk(open_: Open) -> Section:
    limit = open_.largest_risk
    if not open_.sizes_known:
        words = "The sizes of classes do not show who can be found in this release. "
        words += (
            "The policy does not limit the risk, or is violated."
            if limit is None
            else f"By the policy, the chance to find the row of a known person is at most {limit:.2%}."
        )
        return Section("risk", "Risk", (Words(words),))
    risk = open_.case.risk
    rows = [(title, meaning, getattr(risk, name)) for title, meaning, name in prosecutor_lines("rows")]
    rows += [
        (f"above {risk.threshold:.0%}", "share of rows with a risk above the default limit", risk.at_risk),
        ("unique", "share of rows whose quasi-identifiers no other row has", risk.unique_after),
    ]
    cells = [(title, meaning, f"{value:.2%}") for title, meaning, value in rows]
    table = Table("Risk of re-identification", ("risk", "what it is", "value"), cells)
    words = "The risk by the sizes of classes of identical rows, for an adversary who has no other data."
    return Section("risk", "Risk", (table, Words(words)))


def _losses(open_: Open) -> Section:
    title, caption = "Information loss per column", "Measures of the published rows"
    return losses_section(LOSS_WORDS, open_.losses, title, open_.measures, caption)
