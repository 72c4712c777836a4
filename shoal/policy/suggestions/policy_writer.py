"""A suggestion as a commented policy file."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from shoal.policy import toml
from shoal.support.wording import format_count, printable

if TYPE_CHECKING:
    from shoal.policy.suggestions import Suggestion
    from shoal.policy.suggestions.column_loss import OwnLoss
    from shoal.policy.suggestions.guess import Guess

_ROLES = """\
# Roles:
#   identifier   names a person directly; removed
#   quasi        other people may know it; generalized until every row has the same values as others
#   sensitive    nobody should learn it about a person; published, and protected by [privacy]
#   plain        published as it is, so nobody else should know it
#   drop         not published, although it names nobody
#   person       says whose a row is, where people have several; removed, and guarantees count people
#   weight       survey weights: how many people of the population a row stands for; published as it is
# Hierarchies: { known = ".." } is a code system that Shoal knows. With "none", numbers and dates become ranges, and
# other values stay as they are or become *. Where you know groups that mean something, they lose less: name a CSV
# file with lines like value;group;larger group;* or write { tree = { group = ["value", "value"] } }.
"""


_METHOD = """\
[method]
name = "mondrian"       # finds a release whenever one exists, and generalizes only where needed;
                        # "full-domain" uses one level per column, which is easier to read

[utility]
measure = "lm"          # the information loss to minimize
suppression = 0.0       # share of rows that may be left out; 0.05 helps full-domain
"""


def write_identifying_sets(suggestion: Suggestion) -> list[str]:
    """Return the share of unique rows, one line per set of columns."""
    lines = []
    for one in suggestion.identifying:
        if len(one.columns) > 3:
            names = f"all {len(one.columns)} quasi-identifiers"
        else:
            names = " + ".join(printable(name) for name in one.columns)
        lines.append(f"{_percent(one.share, one.unique)} of rows are unique by {names}")
    return lines


def minimal_lines(suggestion: Suggestion) -> list[str]:
    """Return how many rows few columns single out, and a line per set of them; empty if there are none."""
    found = suggestion.minimal
    if not found.rows:
        return []
    share = _percent(found.share, found.rows).strip()
    width = len(f"{found.worst[0].unique:,}")
    head = (
        f"{share} of rows are singled out by at most {format_count(found.size, 'column')}, most of them by these "
        "sets:"
    )
    return [
        head,
        *(
            f"  {one.unique:>{width},} by {' + '.join(printable(name) for name in one.columns)}"
            for one in found.worst
        ),
    ]


def _percent(share: float, unique: int) -> str:
    if unique and share < 0.001:
        return " <0.1 %"
    if share < 1 and share > 0.999:
        return ">99.9 %"
    return f"{100 * share:.1f} %".rjust(7)


def policy_text(suggestion: Suggestion) -> str:
    """Return a policy file that can be used as it is, with the reasons as comments."""
    parts = [
        "# A starter policy. Every role below is a guess: check it, correct it, then run `shoal anonymize`.\n"
        f"# The table has {suggestion.rows:,} rows and {len(suggestion.columns):,} columns.\n"
    ]
    if suggestion.identifying:
        basis = (
            ""
            if suggestion.looked_at == suggestion.rows
            else f", counted on {suggestion.looked_at:,} random rows"
        )
        head = f"# How identifying the raw quasi-identifiers are{basis}:\n"
        parts.append(head + "".join(f"#   {line}\n" for line in write_identifying_sets(suggestion)))
    lines = minimal_lines(suggestion)
    parts += ["".join(f"# {line}\n" for line in lines)] if lines else []
    if suggestion.template:
        parts.append("".join(f"{line}\n" for line in template_lines(suggestion.template)))
    parts.append(_ROLES)
    if suggestion.data:
        note = f"# {printable(suggestion.notation)}\n" if suggestion.notation else ""
        parts.append(note + toml.document({"data": suggestion.data}))
    parts += [_column(guess) for guess in suggestion.columns]
    if suggestion.template:
        parts += list(_by_template(suggestion))
    else:
        parts += [_privacy(suggestion), _METHOD]
    return "\n".join(parts)


def _column(guess: Guess) -> str:
    lines = [
        f"[columns.{toml.key(guess.name)}]",
        f'role = "{guess.role}"'.ljust(23) + f" # {printable(guess.reason)}",
    ]
    if guess.warning:
        lines.append(f"# WARNING: {printable(guess.warning)}")
    if guess.advice:
        lines.append(f"# {printable(guess.advice)}")
    lines += _write_reading(guess)
    if guess.hierarchy is not None:
        lines.append(f"hierarchy = {toml.value(guess.hierarchy)}")
        if guess.loss is not None:
            lines += [f"# {line}" for line in _losses(guess.loss)]
    lines += [f"{toml.key(key)} = {toml.value(value)}" for key, value in guess.more.items()]
    return "\n".join(lines) + "\n"


def template_lines(name: str) -> Iterator[str]:
    """Yield what a template promises, where it comes from and what it leaves to people, as comments."""
    from shoal.policy.suggestions.presets import PRESETS

    preset = PRESETS[name]
    yield f"# Template {preset.name}: {preset.title}."
    yield from _comment(preset.means)
    yield from _comment(f"Source: {preset.source}")
    if preset.lists:
        yield "# The 18 kinds of identifiers; look for each of them in every column:"
        yield from _comment(
            "; ".join(f"({letter}) {one}" for letter, one in zip(_LETTERS, preset.lists, strict=True))
        )
    if preset.leaves:
        yield "# What it leaves to you:"
        for left in preset.leaves:
            yield from _comment(left, "#   - ")


_LETTERS = "ABCDEFGHIJKLMNOPQR"
_WIDE = 110


def _comment(text: str, first: str = "# ") -> list[str]:
    after = "#" + " " * (len(first) - 1)
    return textwrap.wrap(text, _WIDE, initial_indent=first, subsequent_indent=after, break_long_words=False)


def _by_template(suggestion: Suggestion) -> Iterator[str]:
    """Yield the sections that a template sets."""
    from shoal.policy.suggestions.presets import PRESETS

    preset = PRESETS[suggestion.template]
    lines = ["[privacy]"]
    for key, value in preset.privacy.items():
        why = f" # {preset.why[key]}" if key in preset.why else ""
        lines.append(f"{key} = {toml.value(value)}".ljust(23) + why)
    yield "\n".join([*lines, *_protect(suggestion)]) + "\n"
    yield _METHOD.replace("suppression = 0.0 ", f"suppression = {preset.suppression} ")


def _write_reading(guess: Guess) -> list[str]:
    """Return how the cells of a column are read, and why."""
    lines = [f"# {printable(why)}; check this" for why in guess.told]
    own = guess.reading
    if own.null_values:
        lines.append(f"null_values = {toml.value(list(own.null_values))}")
    if own.date_format:
        lines.append(f"dates = {toml.value({'format': own.date_format})}")
    if own.unit:
        lines.append(f"unit = {toml.value(own.unit)}")
    return lines


def _losses(loss: OwnLoss) -> Iterator[str]:
    """Yield what a hierarchy loses: together with the other columns, by itself, and at each of its levels."""
    alone = f"by itself {_share(loss.alone)}"
    if loss.together is None:
        yield f"information loss (LM) at the k below: {alone}"
    else:
        rows = f" ({loss.rows:,} rows, method mondrian)"
        yield f"information loss (LM) at the k below: {_share(loss.together)} with all columns{rows}; {alone}"
    if loss.levels:
        places = "level 1" if len(loss.levels) == 1 else f"levels 1 to {len(loss.levels)}"
        yield f"loss with the whole column at {places}: {', '.join(map(_share, loss.levels))}"


def _share(loss: float) -> str:
    return "0 %" if loss == 0 else "less than 0.1 %" if loss < 0.001 else f"{100 * loss:.1f} %"


def _privacy(suggestion: Suggestion) -> str:
    lines = ["[privacy]", f"k = {suggestion.k}".ljust(23) + " " + _why_k(suggestion)]
    if suggestion.names("sensitive"):
        lines += _protect(suggestion)
    else:
        lines.append("# no column looks sensitive. If one is, add for example: l.COLUMN.distinct = 3")
    return "\n".join(lines) + "\n"


def _protect(suggestion: Suggestion) -> list[str]:
    """Return what each sensitive column requires, with the reason, and what it costs."""
    lines = []
    for one in suggestion.protections:
        lines += _comment(printable(f"{one.column}: {one.reason}"))
        lines.append(f"{one.key}.{toml.key(one.column)}.{one.rule} = {toml.value(one.value)}")
    if lines:
        lines.append("# `shoal explain` says what each of these requirements costs")
    elif suggestion.names("sensitive"):
        lines.append("# nothing for sensitive columns: a column with one value has nothing to protect")
    return lines


def _why_k(suggestion: Suggestion) -> str:
    if suggestion.k == 5:
        return "# every row has the same quasi-identifiers as at least 4 others; 5 is a usual choice"
    return f"# 5 is usual, but the table has only {suggestion.rows:,} rows"
