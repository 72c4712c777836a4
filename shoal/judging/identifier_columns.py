"""Columns of a release that name people, hold their pseudonyms, or have no role in the policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.coding.roles import IDENTIFIER, PERSON, QUASI
from shoal.release.bounds import bounds_among
from shoal.release.pseudonyms import PSEUDONYM, count_followed, find_betrayal, of_our_form, people_followed
from shoal.release.received.read_record import read_section
from shoal.release.render import bucket_name
from shoal.release.verdict import Verdict
from shoal.support.wording import either, format_setting

if TYPE_CHECKING:
    from shoal.judging.case import Case


def check_identifiers(case: Case) -> tuple[Verdict, ...]:
    """Return whether the columns that name people are removed, if the policy names any, or hold pseudonyms, if it says
    so.

    It could not be checked if the release has columns to which the policy gives no role. Without the original and the
    record, pseudonyms cannot be distinguished from names: then neither.
    """
    policy = case.policy
    identifiers = (*policy.names(IDENTIFIER), *policy.names(PERSON))
    if not identifiers:
        return ()
    left = {name: _names_people(case, name) for name in identifiers if name in case.sheet.columns}
    words = [f"{name}: {why}" if why else name for name, why in left.items() if why is not None]
    unsure = bool(words) and set(left.values()) <= {None, _names_or_pseudonyms()}
    reached, holds = (None, None) if unsure else (len(words), not words)
    unnamed = columns_without_role(case) if policy.data.other_columns != "plain" else []
    if unnamed and holds is not False:
        reached, holds = None, None
        hint = "give each a role, or decide for all: " + format_setting("data.other_columns", "plain")
        words.append(f"could not be checked: the policy gives no role to {', '.join(unnamed)}; {hint}")
    return (Verdict("identifiers removed", 0, reached, holds, "; ".join(words), public=True),)


def columns_without_role(case: Case) -> list[str]:
    """Return the published columns that the policy does not name, without those that Shoal adds."""
    columns, named = case.sheet.columns, case.policy.columns
    ends = {end for name in case.policy.names(QUASI) for end in bounds_among(columns, name, named)}
    return [name for name in columns if name not in {*named, *ends, bucket_name(named)}]


def _names_people(case: Case, name: str) -> str | None:
    """Return the reason why a column identifies people, possibly empty; None if it holds pseudonyms."""
    if name not in case.policy.pseudonyms:
        return ""
    shown, record = case.sheet[name], case.origin.record
    if case.table is not None and case.table.named is not None:
        return find_betrayal(shown, case.table.named[name]) or None
    if record is None:
        return _names_or_pseudonyms()
    entry = read_section(record, "columns").get(name)
    if not isinstance(entry, dict) or entry.get("publish") != PSEUDONYM:
        return "by the record it was not published as pseudonyms"
    return None if of_our_form(shown) else "some cells are not pseudonyms of Shoal"


def _names_or_pseudonyms() -> str:
    """Say what shows whether a column holds names or pseudonyms."""
    sources = either(command="--original FILE or --record FILE", python="original or record")
    return f"could not be checked: only the original or the record shows whether these are pseudonyms; give {sources}"


def describe_following(case: Case) -> tuple[str, ...]:
    """Return what a reader should know about rows that can be followed by pseudonyms. All of it is public."""
    published, people = case.published, case.policy.people
    names = [name for name in case.policy.pseudonyms if name in case.sheet.columns and name not in people]
    notes = [count_followed(case.sheet[name], published.part_of).words() for name in names]
    if case.persons.followed:
        fewest = int(case.sizes.min(initial=published.rows)) if not case.owners.unknown else None
        notes.append(people_followed(people, case.sheet, fewest))
    return tuple(notes)
