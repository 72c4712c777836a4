"""The sections of a report about what was asked and done, guarantees, attacks and risk; utility is in utility.py."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from shoal.coding.column_plan import ColumnPlan
from shoal.coding.hierarchy.kinds import parse_hierarchy
from shoal.coding.roles import WEIGHT
from shoal.documents.pages.look import Marked
from shoal.documents.report.attack_results import TriedAttack
from shoal.documents.report.charts import before_and_after
from shoal.documents.report.report_parts import Fold, Part, Section, Table, Words
from shoal.documents.report.risk_section import Risks, size_bins
from shoal.documents.report.subject import Subject
from shoal.documents.report.threat_summary import turn_round
from shoal.judging.models import MODELS
from shoal.methods import METHODS
from shoal.policy import Policy
from shoal.policy.adversaries import derivation
from shoal.policy.privacy import KINDS, NOTION_KEY
from shoal.policy.sources import without_folders
from shoal.release.published import Published
from shoal.release.record import PUBLISHED_AS
from shoal.release.verdict import Verdict, all_hold, in_words
from shoal.support.wording import number, printable, round_down


def build_requirements_section(
    policy: Policy, columns: Sequence[str], *, several: bool, followed: bool
) -> Section:
    """Return the section with the requirements of the policy. Their descriptions count people if a person may have
    `several` rows, and mention pseudonyms if rows can be `followed`.
    """
    rows = []
    for key, value in policy.privacy.values_by_key.items():
        kind = KINDS[key][0]
        words = kind.describe_guarantee(several=several, followed=followed)
        words = kind.key.meaning if words == kind.summary else words
        if key == NOTION_KEY and policy.privacy.keys is not None:
            words = "the fewest rows that match a person, and people that a row matches"
        rows.append((key, _words(value), words))
    if policy.privacy.keys is not None:
        known = policy.privacy.keys.known_sets
        rows.append(
            (
                "keys",
                str(known),
                "what an adversary knows of a person: k holds for each of these sets, and for nobody who knows more",
            )
        )
    if policy.privacy.notion:
        rows.append(("notion", policy.privacy.notion, MODELS[policy.privacy.notion].summary))
    if policy.privacy.known is not None:
        rows.append(
            ("known", str(policy.privacy.known), "how many other people of the table the adversary knows")
        )
    if policy.privacy.adversary:
        names = ", ".join(policy.privacy.adversary)
        rows.append(("adversary", names, "the adversaries that a release must withstand"))
    rows.append(
        ("suppression", f"{policy.utility.suppression:.2%}", "the share of rows that may be suppressed")
    )
    rows.append(("measure", policy.utility.measure, "the information loss to minimize"))
    plans = policy.plans(columns)
    ways = {name: f"perturbed: {way.title}" for name, way in policy.perturbations.items()}
    described = [
        (plan.name, plan.role, ways.get(plan.name, _describe_role(plan)), *_describe_generalization(plan))
        for plan in plans
    ]
    return Section(
        "asked",
        "What was asked",
        (
            Table("Requirements of the policy", ("requirement", "value", "meaning"), rows),
            Table(
                "Columns of the table",
                ("column", "role", "published", "may be generalized", "weight"),
                described,
            ),
            Words(
                "A quasi-identifier is what other people may know about a person. A sensitive column is what nobody "
                "should learn. An identifier names people directly. A plain column is published as it is. "
                "A dropped column is not published, although it names nobody."
                + (
                    " A weight column says how many people of the population a row stands for, and is published."
                    * any(plan.role == WEIGHT for plan in plans)
                )
                + (
                    f" A person column says whose a row is, and is {_describe_pseudonyms(followed)}; guarantees "
                    "count people." * several
                )
            ),
            *(Words(f"The adversary {line}") for line in derivation(policy.privacy)),
        ),
    )


def _describe_pseudonyms(followed: bool) -> str:
    return "published as pseudonyms, by which rows can be followed" if followed else "not published"


def _describe_role(plan: ColumnPlan) -> str:
    if plan.group is not None:
        return f"removed; guarantees count by {plan.group}"
    return PUBLISHED_AS[plan.publish or plan.role]


def _describe_generalization(plan: ColumnPlan) -> tuple[str, str]:
    """Return how a column may be generalized. Values that a policy lists may be rare, so they are not shown."""
    if not plan.role.generalized:
        return "", ""
    words = parse_hierarchy(plan.hierarchy).describe(free=True)
    if plan.limit is not None:
        words += f", up to level {plan.limit}" if isinstance(plan.limit, int) else ", up to some nodes"
    return words, f"{plan.weight:g}"


def _words(value: Any) -> str:
    """Write what a requirement asks for on one line."""
    if hasattr(value, "model_dump"):
        value = value.model_dump(exclude_none=True)
    if isinstance(value, dict):
        return ", ".join(f"{key} {_words(inner)}" for key, inner in value.items())
    if isinstance(value, tuple | list):
        return " to ".join(_words(inner) for inner in value)
    return number(value)


def done(subject: Subject) -> Section:
    """Return how the release was made, as far as that is known."""
    published, record, made_by = subject.published, subject.origin.record, subject.policy_of_run
    rows_before = published.rows + published.suppressed
    parts: list[Part] = []
    rows: list[tuple[str, str]] = [
        ("rows of the original", f"{rows_before:,}"),
        ("rows published", f"{published.rows:,}"),
        ("rows suppressed", f"{published.suppressed:,} ({published.suppressed / max(rows_before, 1):.2%})"),
        *_whose(subject),
        groups_row(published),
    ]
    if record is not None:
        told = record.get("classes" if published.buckets is None else "buckets"), record.get("suppressed")
        if told != (len(published.part_sizes), published.suppressed):
            parts.append(
                Words(
                    "The record has a different number of classes or buckets, or of suppressed rows, than this "
                    "release: it may be the record of another release.",
                    "warn",
                )
            )
        name = str(record["method"])
        rows[:0] = method_rows(name)
        rows += options_of(made_by) if made_by is not None and made_by.method.name == name else []
        rows += levels_row(published, record.get("levels"))
        if record.get("exact") is False:
            found, least = number(record["loss"]), round_down(record["bound"])
            rows.append(("distance from the best levels", f"loss {found}; none loses less than {least}"))
        if record.get("changed_cells"):
            rows.append(("false cells", f"{record['changed_share']:.2%}; which ones is secret"))
    else:
        parts.append(
            Words(
                "How the release was made is not known: no record of the run was given. All that follows was read "
                "from the published rows and from the original."
            )
        )
    parts.append(Table("The release", ("what", "value"), rows))
    parts += [Words(f"Warning: {line}") for line in subject.notes_on_following]
    notes = [note for note in (*subject.notes, *subject.run_notes) if note not in subject.notes_on_following]
    parts += [Words(f"Note: {note}") for note in notes]
    return Section("done", "What was done", parts)


def groups_row(published: Published) -> tuple[str, str]:
    """Return how many classes or buckets there are."""
    if published.buckets is None:
        return "equivalence classes", f"{published.classes:,}"
    return "buckets, within which columns were shuffled", f"{published.buckets:,}"


def method_rows(name: str) -> list[tuple[str, str]]:
    """Return what a method is."""
    known = (
        [("what it does", METHODS[name].summary), ("paper", METHODS[name].paper)] if name in METHODS else []
    )
    return [("method", name), *known]


def levels_row(published: Published, levels: Sequence[int] | None) -> list[tuple[str, str]]:
    """Return the level of each quasi-identifier, if the method has levels."""
    names = [attribute.name for attribute in published.attributes]
    shown = ", ".join(f"{name} {level}" for name, level in zip(names, levels or (), strict=False))
    return [("levels of generalization", shown)] if levels else []


def options_of(policy: Policy) -> list[tuple[str, str]]:
    """Return the options of a policy's method in words."""
    return [(f"option {key}", _words(value)) for key, value in policy.method.options().items()]


def _whose(subject: Subject) -> Iterator[tuple[str, str]]:
    """Yield whose the rows are, for those who keep the original."""
    known = subject.people
    if "people" in known:
        yield "people in the original", f"{known['people']:,}"
        yield "people of whom all rows were suppressed", f"{known['people_suppressed']:,}"
    for name, own in known.get("groups_of_people", {}).items():
        yield f"groups of the kind {name}", f"{own['count']:,}; at least {own['fewest']:,} in every class"


MARKS = {True: Marked("yes", "good"), False: Marked("NO", "bad"), None: Marked("not checked", "warn")}


def guarantees_of(judged: Sequence[tuple[Verdict, Any, str]]) -> Section:
    """Return the requirements with their verdicts: how far the release gets as far as it is shown, and meanings."""
    rows = [
        (
            verdict.model, MARKS[verdict.holds],
            number(verdict.required), number(reached), turn_round(verdict, meaning),
        )
        for verdict, reached, meaning in judged
    ]  # fmt: skip
    held = all_hold(verdict for verdict, _, _ in judged)
    failing = [verdict.model for verdict, _, _ in judged if not verdict.holds]
    words = (
        Words("Every requirement was checked on the published rows themselves, and holds.")
        if held
        else Words(
            f"This release {in_words(held)}: {', '.join(failing)}. It must not be published.",
            "warn" if held is None else "bad",
        )
    )
    head = ("requirement", "holds", "required", "reached", "what it means")
    return Section("guarantees", "Requirements, checked", (words, Table("Requirements", head, rows)))


def attacks(tried: list[TriedAttack]) -> Section:
    """Return which attacks Shoal ran, and how far they got."""
    rows = [(a.title, a.knows, a.outcome, a.success_text, a.guess) for a in tried]
    exposing, ran = [one for one in tried if one.exposes], [one for one in tried if one.exposure is not None]
    asked = [one.title for one in exposing if one.named]
    others = [one.title for one in exposing if not one.named]
    words = (
        Words(f"The policy names these adversaries, and they expose people: {', '.join(asked)}.", "bad")
        if asked
        else Words(
            f"No requirement of the policy prevents these attacks, and they expose people: {', '.join(others)}.",
            "warn",
        )
        if others
        else Words(f"None of the {len(ran):,} attacks that ran exposes anybody more than the policy allows.")
        if ran
        else Words("No attack could run, so nothing is known about attacks.", "warn")
    )
    head = ("attack", "the adversary ..", "outcome", "identified on average", "by a blind guess")
    details = [(a.title, a.details) for a in tried if a.exposure is not None]
    return Section(
        "attacks",
        "Which attacks Shoal ran",
        (
            words,
            Table("Attacks and their outcome", head, rows),
            Table("What the attacks found", ("attack", "findings"), details),
        ),
    )


def risk(subject: Subject, risks: Risks) -> Section:
    """Compare the risk of re-identification before and after."""
    before, after = risks.before, risks.after
    several = not subject.table.counting.adds_up
    whom = "people" if several else "rows"
    rows = [
        (
            title, meaning, f"{getattr(before, name):.2%}",
            "" if after is None else f"{getattr(after, name):.2%}",
        )
        for title, meaning, name in (
            *prosecutor_lines(whom),
            ("journalist, highest", "finds the row of anybody in the population", "journalist_max"),
            ("marketer", f"share of {whom} found if all are tried", "marketer"),
        )
    ]  # fmt: skip
    above, unique = ("", "") if after is None else (f"{after.at_risk:.2%}", f"{after.unique_after:.2%}")
    rows += [
        (f"above {before.threshold:.0%}", f"share of {whom} with a prosecutor risk above the usual limit",
         f"{before.at_risk:.1%}", above),
        ("unique", f"share of {whom} whose quasi-identifiers no other {'person' if several else 'row'} has",
         f"{risks.unique_before / max(len(risks.sizes_before), 1):.1%}", unique),
    ]  # fmt: skip
    parts: list[Part] = [Table("Risk of re-identification", ("risk", "what it is", "before", "after"), rows)]
    parts += _risk_words(subject, risks)
    if len(risks.sizes_after):
        names, shares_before, shares_after = size_bins(
            risks, subject.gate.k, ("person", "people") if several else ("row", "rows")
        )
        by_class = after is not None
        parts.append(
            before_and_after(
                "sizes",
                "People by the size of their equivalence class" if by_class
                else "People by their number of candidates",
                names, (shares_before, shares_after), "share of people",
                f"{whom} in the class" if by_class else "candidate rows",
            )
        )  # fmt: skip
    return Section("risk", "Risk before and after", parts)


def prosecutor_lines(whom: str) -> tuple[tuple[str, str, str], ...]:
    """Return the risks of the prosecutor: title, meaning, and the field of `Risk`."""
    meaning = "finds the row of a person who is known to be in the release"
    return (
        ("prosecutor, highest", meaning, "prosecutor_max"),
        ("prosecutor, average", f"the same, over all {whom}", "prosecutor_mean"),
    )


def _risk_words(subject: Subject, risks: Risks) -> Iterator[Words]:
    if not subject.table.counting.adds_up:
        yield Words(
            "Some people have several rows, which can be followed. People who show the same rows are a class, and "
            "everybody is in one."
            if subject.persons.followed
            else "Some people have several rows. The size of a class is the number of different people who have a row "
            "in it; who has rows in several classes counts once in each."
        )
    yield Words(
        "Before: the risk if the quasi-identifiers of the original were published as they are, without names."
    )
    if not subject.published.rows_intact:
        yield Words(
            "Quasi-identifiers were shuffled against each other within buckets. A row then shows values of several "
            "people, so there is no row of a person to find; the membership attack stands for the risk after."
        )
    elif risks.after is None:
        kind = (
            "This release generalizes each row separately"
            if not subject.published.in_buckets
            else "Sensitive columns were shuffled within buckets"
        )
        yield Words(
            f"{kind}. The size of a class then does not say who can be found, so the strongest linkage attack stands "
            "for the risk after: the chart counts the candidates that it leaves for each person."
        )
    if not risks.before.population_known:
        yield Words(
            "No population was given, so journalist and marketer are upper bounds, as if everybody were in the table."
        )


def private(subject: Subject, tried: list[TriedAttack]) -> Section:
    """Return what only the keeper of the original may see: exposed rows, the input's digest, versions and timings."""
    parts: list[Part] = [
        Words("This section contains data about single people and about the run. Keep it with the original.")
    ]
    for number_, one in enumerate(tried):
        exposure = one.exposure
        if exposure is None or not exposure.most_exposed:
            continue
        rows = [(f"{row:,}", f"{chance:.2%}") for row, chance in exposure.exposed.items()]
        head = ("row of the original, from 0", "probability of being identified")
        title = f"Most exposed to attack {number_ + 1}: {one.title}"
        parts.append(Fold(title, (Table(title, head, rows, fit="keep"),)))
        parts += [Words(f"Note: {note}") for note in exposure.notes]
    facts: list[tuple[str, str]] = []
    if subject.digest:
        facts.append(("SHA-256 of the original", subject.digest))
    record = subject.origin.record
    if record is not None:
        facts += [("made", str(record.get("made", ""))), ("seed", str(record["seed"]))]
        facts += [(f"version of {name}", str(value)) for name, value in record.get("versions", {}).items()]
        facts += [(f"seconds to {name}", f"{value:.3f}") for name, value in record.get("seconds", {}).items()]
        if record.get("policy"):
            facts.append(("policy of the run", printable_lines(without_folders(str(record["policy"])))))
    if facts:
        parts.append(Table("The run", ("what", "value"), facts))
    return Section("private", "Private", parts)


def printable_lines(text: str) -> str:
    """Keep the lines of a text, and replace characters that control a terminal or a page."""
    return "\n".join(printable(line) for line in text.splitlines())
