"""Reasons why no release of a table can satisfy its requirements, found before any work starts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.coding import Attribute, CodedTable
from shoal.coding.groups import Groups
from shoal.judging.models.extended_p import ExtendedPSensitive
from shoal.judging.models.p_sensitive import PSensitive
from shoal.judging.models.requirements import Requirements
from shoal.support.arrays import BoolVector, LongVector
from shoal.support.wording import either, format_count, format_setting, more_suppression

_BLOCKS_NAMED = 5


def reasons_against(table: CodedTable, requirements: Requirements, *, limits: bool = True) -> list[str]:
    """Return every known reason, in words; an empty list if there is none.

    Every reason is a proof. Without one, a search may still fail. Without `limits`, generalization limits are ignored,
    for methods that do not use them. O(rows).
    """
    suppressible = requirements.suppressible(table.rows)
    asked = (*requirements.models, *requirements.of_columns)
    reasons = [model.infeasible(table, suppressible) for model in asked]
    found = [reason for reason in reasons if reason is not None]
    found = found or (_blocks(table, requirements, suppressible) if limits else [])
    return found + _possible(table, requirements) if found else []


def _possible(table: CodedTable, requirements: Requirements) -> list[str]:
    """Return which p is possible, if the policy asks for too large a p."""
    from shoal.judging.models.demands import outlook

    asked = any(isinstance(model, PSensitive | ExtendedPSensitive) for model in requirements.models)
    far = outlook(table, requirements) if asked else None
    return [str(far)] if far is not None and far.classes == 0 and far.largest_p < far.p else []


def _blocks(table: CodedTable, requirements: Requirements, suppressible: int) -> list[str]:
    """Return the reason in generalization limits: blocks that cannot satisfy the models by themselves.

    A block as one class fails a monotone model only if every way to split it does, so some of its rows must be
    suppressed; all of them, if no subset satisfies the model either.
    """
    groups = table.blocks
    blocks = len(groups)
    if blocks == 1:
        return []
    lost = np.zeros(blocks, np.int64)
    titles = []
    for model in requirements.group_models:
        short = ~model.holds_in(groups) if model.merges(table.counting) else np.zeros(blocks, np.bool_)
        hopeless = model.hopeless(groups)
        if short.any() or hopeless.any():
            titles.append(model.title)
        lost = np.maximum(lost, np.where(hopeless, groups.rows, short))
    needed = int(lost.sum())
    if needed <= suppressible:
        return []
    worst = np.flatnonzero(lost)
    worst = worst[np.argsort(-lost[worst], kind="stable")]
    return [
        f"generalization limits split the table into {blocks:,} blocks that cannot share a class, and "
        f"{len(worst):,} of them cannot satisfy {' and '.join(titles)} alone: "
        f"{_join_names(_name_blocks(table, groups, worst[:_BLOCKS_NAMED]), len(worst))}. "
        f"At least {needed:,} rows would have to be suppressed, but only {suppressible:,} may be: loosen the "
        f"limits, or {more_suppression()}"
    ]


def find_unserved_blocks(
    table: CodedTable, requirements: Requirements, *, private: bool = False
) -> tuple[BoolVector, list[str], int]:
    """Return which blocks satisfy the requirements as one class, the others by name and size, largest first, and
    how many rows those have. `private` names may combine values of several columns: they are for the private
    record, not for messages. O(rows).
    """
    groups = table.blocks
    good = requirements.holds_in(groups)
    bad = np.flatnonzero(~good)
    bad = bad[np.argsort(-groups.rows[bad], kind="stable")]
    return good, _name_blocks(table, groups, bad, private), int(groups.rows[bad].sum())


def describe_left_out(table: CodedTable, requirements: Requirements) -> str:
    """Count the blocks that are suppressed because they cannot satisfy the models; empty if there are none.

    Their names are values of suppressed rows, which nobody may learn from a release.
    """
    limited = any(_parts(attribute) for attribute in table.attributes)
    names, dropped = find_unserved_blocks(table, requirements)[1:] if limited else ([], 0)
    if not names:
        return ""
    blocks = "1 block" if len(names) == 1 else f"{len(names):,} blocks"
    return f"under the generalization limits {blocks} cannot be published, {_rows(dropped)} in all"


def find_unprotected(table: CodedTable, requirements: Requirements) -> list[str]:
    """Return the sensitive columns that no requirement protects: finding a person's class may reveal their values."""
    about = {model.column for model in requirements.models if hasattr(model, "column")}
    if None in about:
        return []
    advice = f"a class may show a single value; add l ({format_setting('privacy.l', ...)})"
    if requirements.known_sets is not None:
        advice = (
            "all rows that match a person may show one value, and l does not go together with privacy.keys"
        )
    return [
        f"nothing in the policy protects the sensitive column `{attribute.name}`: {advice}"
        for index, attribute in enumerate(table.sensitive)
        if index not in about
    ]


def had_by_all(groups: Groups, requirements: Requirements) -> list[str]:
    """Say where everybody of a class has one value, although the policy protects its column: people with several rows
    have several values, so a class may have enough of them and still leave no doubt.
    """
    if groups.shared is None:
        return []
    found = []
    for index, (attribute, own) in enumerate(zip(groups.attributes, groups.sensitive, strict=True)):
        models = [model for model in requirements.models if getattr(model, "column", -1) in (index, None)]
        if not models or any(model.belief < 1 for model in models):
            continue
        group_of = np.repeat(np.arange(len(groups)), np.diff(own.start))
        sure = np.unique(group_of[own.count == groups.size[group_of]])
        if len(sure):
            classes = f"{len(sure):,} of {format_count(len(groups), 'class', 'classes')}"
            found.append(
                f"in {classes} everybody has one value of `{attribute.name}` in some row, so that it is certain; "
                f"{' and '.join(model.title for model in models)} allows that. Probabilistic l or alpha rules it out ("
                + format_setting("privacy.l", {"probabilistic": 2})
                + ")"
            )
    return found


def all_in_one(table: CodedTable, requirements: Requirements, classes: int | None) -> list[str]:
    """Say that a requirement other than k left a single class where k alone would allow several."""
    if classes != 1 or requirements.only_k or table.counting.count < 2 * max(requirements.k, 2):
        return []
    asked = " and ".join(model.title for model in requirements.beyond_k)
    explain = either(command="`shoal explain`", python="`shoal.explain`")
    return [
        f"all {table.rows:,} rows form one class, so each quasi-identifier shows a single value: {asked} allowed no "
        f"smaller class here; {explain} says what a weaker requirement would save"
    ]


def refusal(table: CodedTable, requirements: Requirements) -> str:
    """Return why the blocks that fail as one class cannot all be suppressed."""
    _, names, dropped = find_unserved_blocks(table, requirements)
    asked = " and ".join(model.title for model in requirements.group_models) or "the requirements"
    if not any(_parts(attribute) for attribute in table.attributes):
        return f"even one class of all {_rows(table.rows)}{table.counting.suffix} does not satisfy {asked}"
    return (
        f"generalization limits keep {dropped:,} of {table.rows:,} rows in blocks that do not satisfy {asked} alone: "
        f"{_join_names(names[:_BLOCKS_NAMED], len(names))}. Only {requirements.suppressible(table.rows):,} rows may be "
        f"suppressed: loosen the limits, or {more_suppression()}"
    )


def _name_blocks(table: CodedTable, groups: Groups, blocks: LongVector, private: bool = False) -> list[str]:
    """Name blocks, with their sizes. Values of several columns together are records, so messages leave them out."""
    if not len(blocks):
        return []  # to look for the first row of each sorts all rows
    columns = [attribute.name for attribute in table.attributes if _parts(attribute)]
    if len(columns) > 1 and not private:
        together = " and ".join(columns)
        return [f"a combination of {together} ({_rows(int(groups.rows[block]))})" for block in blocks]
    first_row = np.unique(table.block_of, return_index=True)[1]
    return [
        f"{_block_name(table, int(first_row[block]))} ({_rows(int(groups.rows[block]))})" for block in blocks
    ]


def _rows(count: int) -> str:
    return format_count(count, "row")


def _join_names(names: Sequence[str], count: int) -> str:
    more = f" and {count - _BLOCKS_NAMED:,} more" if count > _BLOCKS_NAMED else ""
    return "; ".join(names) + more


def _parts(attribute: Attribute) -> bool:
    """Return whether a limit on this column splits the table."""
    return len(attribute.hierarchy.levels[-1].starts) > 1


def _block_name(table: CodedTable, row: int) -> str:
    """Name the highest allowed nodes of a row, in the columns whose limit splits the table."""
    names = []
    for index, attribute in enumerate(table.attributes):
        hierarchy = attribute.hierarchy
        if _parts(attribute):
            code = table.quasi.wide[row : row + 1, index]
            node = hierarchy.names(hierarchy.low[-1, code], hierarchy.high[-1, code], hierarchy.height)[0]
            names.append(f"{attribute.name} = {'null' if node is None else node}")
    return ", ".join(names)
