"""Two documents that regulators ask for, filled from what is known about a release; what a person must judge is blank.

One follows the steps of the anonymisation report that EMA's policy 0070 asks for, the other the principles of an expert
determination under HIPAA. Both are private: they compare the release with the original.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.documents.evidence.manifest import publication_notes
from shoal.documents.report.build_report import Report
from shoal.documents.report.report_parts import Cards, SignOff
from shoal.judging.models.threats import SECTION_TITLE
from shoal.support.wording import escape_markdown as _cell
from shoal.support.wording import format_count, number

BLANK = "________________________________"
THRESHOLD = 0.09
"""The highest risk that EMA's guidance on policy 0070 names for publication."""
JUDGE = "**To be judged by a person:**"
CRITERIA = (
    "The guidance names the three criteria of Opinion 05/2014: singling out, linkability, inference. The answers below "
    "are narrower. Re-identification is singling out by the columns that the policy names as known; attribute "
    "disclosure is inference of the sensitive columns. Whether two records of one person can be linked (linkability) "
    "depends on other tables, and Shoal assesses it only for the earlier releases that the policy names."
)


def anonymization_report(made: Report, record: Mapping[str, Any] | None, sign_off: SignOff) -> str:
    """Write the outline of an anonymisation report after EMA's policy 0070."""
    lines = [
        "# Anonymisation report",
        "",
        "Follows the steps of EMA's external guidance on policy 0070 (EMA/90915/2016). Shoal filled in what it knows. "
        "The lines that are left blank need the judgement of a person. Check the current template of the agency before "
        "you submit it.",
        "",
        *_head(made, sign_off),
        "## 1. Direct identifiers and quasi-identifiers",
        "",
        *_columns(made),
        f"{JUDGE} could anything else about these people be known to others? {BLANK}",
        "",
        "## 2. Possible adversaries and plausible attacks",
        "",
        *_attacks(made),
        f"{JUDGE} who would try, with what knowledge and for what reason? {BLANK}",
        "",
        "## 3. Data utility",
        "",
        *_losses(made),
        f"{JUDGE} do the analyses that the recipients plan still work? {BLANK}",
        "",
        "## 4. Threshold",
        "",
        *_tabulate_requirements(made),
        f"{JUDGE} why is this threshold right for this release? {BLANK}",
        "",
        "## 5. Risk of re-identification",
        "",
        *_risk(made),
        _beside_threshold(made),
        "",
        f"## 6. {SECTION_TITLE}",
        "",
        CRITERIA,
        "",
        *_criteria(made),
        f"{JUDGE} is what remains acceptable, given who gets the release? {BLANK}",
        "",
        "## 7. Methodology",
        "",
        *_method(made, record),
        f"{JUDGE} why was this method chosen? {BLANK}",
        "",
        "## 8. Conclusion",
        "",
        *_conclusion(made),
        *_signature(sign_off),
    ]
    return "\n".join(lines) + "\n"


def expert_determination(made: Report, record: Mapping[str, Any] | None, sign_off: SignOff) -> str:
    """Write the outline of an expert determination under HIPAA, 45 CFR 164.514(b)(1)."""
    lines = [
        "# Expert determination (outline)",
        "",
        "For an expert who determines, under 45 CFR 164.514(b)(1), whether the risk that an anticipated recipient "
        "identifies a person is very small. The rule names no number. Shoal filled in what it measured; the "
        "determination is the expert's.",
        "",
        *_head(made, sign_off),
        "## 1. The expert",
        "",
        f"Knowledge of and experience with accepted statistical methods: {BLANK}",
        "",
        "## 2. The data and the recipient",
        "",
        *_columns(made),
        f"Anticipated recipient: {sign_off.recipient or BLANK}",
        "",
        f"Other information that the recipient can reasonably get: {BLANK}",
        "",
        "## 3. Principles",
        "",
        "| principle | question | what Shoal knows | the expert's judgement |",
        "| --- | --- | --- | --- |",
        f"| replicability | which columns stay the same for a person over time? | quasi-identifiers: {_names(made)} | "
        f"{BLANK} |",
        f"| availability | which of them are in sources that others have? | not known | {BLANK} |",
        f"| distinguishability | how far do the columns single people out? | {_summarize_risk(made)} | {BLANK} |",
        "",
        "## 4. Methods",
        "",
        *_method(made, record),
        *_tabulate_requirements(made),
        "",
        "## 5. Results",
        "",
        *_risk(made),
        "",
        *_attacks(made),
        *_criteria(made),
        "## 6. Determination",
        "",
        *_conclusion(made),
        f"{JUDGE} is the risk very small? {BLANK}",
        "",
        f"For how long does this determination hold, and under which conditions? {BLANK}",
        "",
        *_signature(sign_off),
    ]
    return "\n".join(lines) + "\n"


def _head(made: Report, sign_off: SignOff) -> list[str]:
    return [
        *(line for note in publication_notes(made.subject.origin.record) for line in (f"> **{note}**", "")),
        f"Owner of the data: {_cell(sign_off.owner) or BLANK}  ",
        f"Purpose: {_cell(sign_off.purpose) or BLANK}  ",
        f"Recipient: {_cell(sign_off.recipient) or BLANK}  ",
        f"Release: {_cell(made.subject.name)}, {format_count(made.subject.published.rows, 'row')}",
        "",
    ]


def _columns(made: Report) -> list[str]:
    lines = ["| column | role | what was done |", "| --- | --- | --- |"]
    for name, column in made.subject.policy.columns.items():
        words = f"published as {column.publish}s" if column.publish else column.role.done
        lines.append(f"| {_cell(name)} | {column.role} | {words} |")
    return [*lines, ""]


def _names(made: Report) -> str:
    return _cell(", ".join(attribute.name for attribute in made.subject.table.attributes)) or "no column"


def _summarize_risk(made: Report) -> str:
    return f"largest chance to find a person's row: {_share(made.risk_before)} before, {_share(made.risk_after)} after"


def _attacks(made: Report) -> list[str]:
    lines = [
        "| adversary | what they know | result | right about | by a blind guess |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {_cell(one.title)} | {_cell(one.knows)} | {_cell(one.outcome)} | {one.success_text} | {one.guess} |"
        for one in made.tried
    ]
    if not made.tried:
        lines = ["No attack that Shoal knows applies to such a release."]
    return [*lines, ""]


def _losses(made: Report) -> list[str]:
    lines = ["| column | information lost |", "| --- | --- |"]
    lines += [f"| {_cell(name)} | {loss:.1%} |" for name, loss in made.subject.losses.items()]
    left = made.subject.published.suppressed
    return [*lines, "", f"{format_count(left, 'row was', 'rows were')} suppressed.", ""]


def _tabulate_requirements(made: Report) -> list[str]:
    lines = ["| requirement | required | reached | holds | meaning |", "| --- | --- | --- | --- | --- |"]
    for verdict, meaning in made.subject.verdicts_with_meanings:
        lines.append(
            f"| {_cell(verdict.model)} | {number(verdict.required)} | {number(verdict.reached)} | "
            f"{_format_holds(verdict.holds)} | {_cell(meaning)} |"
        )
    return [*lines, ""]


def _format_holds(holds: bool | None) -> str:
    return "**not checked**" if holds is None else "yes" if holds else "**no**"


def _risk(made: Report) -> list[str]:
    return [
        f"The largest chance to find one person's row was {_share(made.risk_before)} in the original and is "
        f"{_share(made.risk_after)} in the release."
    ]


def _beside_threshold(made: Report) -> str:
    """Compare the risk with the threshold that the guidance names for publication."""
    after = made.risk_after
    if after is None or after != after:
        return f"The guidance names the threshold {THRESHOLD} for publication; the risk of this release is not known."
    where = "at or below" if after <= THRESHOLD else "**above**"
    return (
        f"The guidance names the threshold {THRESHOLD} for publication, which takes classes of 12 rows or more. The "
        f"largest chance in this release, {number(after)}, is {where} it."
    )


def _criteria(made: Report) -> list[str]:
    """Say for each threat which requirement answers it, which attack was tried, and what remains."""
    cards = [
        card
        for section in made.sections
        if section.key == "threats"
        for part in section.parts
        if isinstance(part, Cards)
        for card in part.cards
    ]
    lines = []
    for card in cards:
        lines += [
            f"**{_cell(card.title)}** ({_cell(card.badge)}). {_cell(card.question)}",
            "",
        ]
        lines += [f"- {_cell(line)}" for line in card.lines]
        lines.append("")
    return lines


def _method(made: Report, record: Mapping[str, Any] | None) -> list[str]:
    if record is None:
        return ["How the release was made is not known: there is no record.", ""]
    versions = ", ".join(f"{name} {version}" for name, version in record.get("versions", {}).items())
    return [
        f"Made on {_cell(record.get('made', 'a day that the record does not say'))} by the method "
        f"`{_cell(record['method'])}`, from a table of {format_count(record['input']['rows'], 'row')}. "
        f"Versions: {versions}. The policy in this pack says all settings.",
        "",
    ]


def _conclusion(made: Report) -> list[str]:
    own = made.conclusion
    return [
        f"The release {own.headline if own.holds else f'**{own.headline}**'}.",
        "",
        *(f"- {one}" for one in own.details),
        "",
    ]


def _signature(sign_off: SignOff) -> list[str]:
    return [
        f"Name: {_cell(sign_off.signed_by) or BLANK}  ",
        f"Date: {_cell(sign_off.date) or BLANK}  ",
        f"Signature: {BLANK}",
    ]


def _share(value: float | None) -> str:
    return "not known" if value is None or value != value else f"{value:.2%}"


def attack_list(made: Report) -> Sequence[Mapping[str, Any]]:
    """Return the attacks that were tried, with their parameters and results, as plain data; nobody's row is named."""
    found: list[Mapping[str, Any]] = []
    for one in made.tried:
        told: dict[str, Any] = {
            "attack": one.attack,
            "title": one.title,
            "options": dict(one.options),
            "knows": one.knows,
        }
        if one.exposure is None:
            found.append({**told, "could_not_run": one.failure})
            continue
        own = one.exposure
        found.append(
            {
                **told,
                "success": _plain(own.success),
                "baseline": _plain(own.baseline),
                "people": len(own.chances),
                "people_at_risk": own.at_risk,
                "holds": own.holds,
            }
        )
    return found


def _plain(value: float) -> float | None:
    return None if value != value else float(value)
