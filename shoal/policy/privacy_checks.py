"""Problems of `[privacy]` next to the columns of a policy: what a requirement needs and the columns do not have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shoal.coding import Attribute
from shoal.coding.roles import SENSITIVE
from shoal.errors import PolicyError, Problem, did_you_mean
from shoal.policy.draft import Draft
from shoal.policy.key_columns import key_problems
from shoal.policy.privacy import KINDS, SENSITIVE_KEYS, Privacy
from shoal.policy.problems import format_path
from shoal.support.wording import format_setting, role_of


def privacy_problems(privacy: Privacy, draft: Draft) -> list[Problem]:
    """Return what is wrong with the requirements of a policy, given its columns."""
    if not privacy.values_by_key and privacy.adversary is None:
        if any(column.safe_harbor is not None for column in draft.columns.values()):
            return []
        return [Problem("privacy", "asks for nothing", "k = 5 is a usual choice")]
    if draft.broken_columns:
        return []
    checks = (
        key_problems,
        _of_earlier,
        _of_lasting,
        _of_protected,
        _of_sensitive_keys,
        _of_missing_hierarchies,
    )
    return [problem for check in checks for problem in check(privacy, draft)]


def _of_earlier(privacy: Privacy, draft: Draft) -> Iterator[Problem]:
    """Yield what has no meaning together with earlier releases, and files that do not exist."""
    if privacy.earlier is None:
        if privacy.earlier_adversary is not None:
            hint = "name them: " + format_setting("privacy.earlier", ["january.csv"])
            yield Problem("privacy.earlier_adversary", "there are no earlier releases", hint)
        return
    for model in privacy.models(draft.names(SENSITIVE)):
        if not model.over_time:
            message = f"{model.name} has no meaning for several releases together"
            hint = "with earlier releases ask for k, distinct l or p: how many candidates and values are left"
            yield Problem(f"privacy.{model.key.name}", message, hint)
    for name, column in draft.columns.items():
        if column.role.counted and (column.group is not None or column.publish is not None):
            message = "only single people, whose rows cannot be followed, are recognised in earlier releases"
            yield Problem(
                format_path("columns", name), message, "leave out `group` or `publish`, or `earlier`"
            )
    if draft.population is not None and draft.population.has_table:
        message = "is not read together with earlier releases"
        yield Problem("population", message, "leave one of them out")
    for number, one in enumerate(privacy.earlier):
        for name, text in one:
            yield from draft.check_file(f"privacy.earlier[{number}].{name}", text)


def _of_lasting(privacy: Privacy, draft: Draft) -> Iterator[Problem]:
    sensitive = draft.names(SENSITIVE)
    for name in privacy.lasting or ():
        if name not in sensitive:
            hint = did_you_mean(name, sensitive) or _more_sensitive()
            yield Problem("privacy.lasting", f"'{name}' is not a sensitive column", hint)


def _of_protected(privacy: Privacy, draft: Draft) -> Iterator[Problem]:
    """Yield the protected nodes that change no model."""
    sensitive = draft.names(SENSITIVE)
    for name in sensitive:
        if not draft.columns[name].protected:
            continue
        if privacy.models(sensitive, {name: ("*",)}) == privacy.models(sensitive):
            message = "has no effect: no requirement is about protected nodes of this column"
            hint = "add for example " + format_setting("privacy.p", 2)
            yield Problem(format_path("columns", name, "protected"), message, hint)


def _of_sensitive_keys(privacy: Privacy, draft: Draft) -> Iterator[Problem]:
    """Yield the requirements that are about sensitive columns, and name others or find none."""
    sensitive = draft.names(SENSITIVE)
    for key in SENSITIVE_KEYS:
        value = privacy.values_by_key.get(key)
        if value is not None and not sensitive:
            yield Problem(f"privacy.{key}", "there is no sensitive column", _more_sensitive())
            continue
        for name in value if isinstance(value, dict) else ():
            if name not in sensitive:
                role = draft.columns[name].role if name in draft.columns else None
                message = f"the column is {role}, not sensitive" if role else "is not a column of the policy"
                yield Problem(format_path("privacy", key, name), message, did_you_mean(name, sensitive))


def _of_missing_hierarchies(privacy: Privacy, draft: Draft) -> Iterator[Problem]:
    sensitive = draft.names(SENSITIVE)
    for asked in privacy.requirements:
        for name in sensitive if getattr(asked.kind, "needs_hierarchy", False) else ():
            if asked.column in (None, name) and draft.columns[name].hierarchy in (None, "none"):
                message = f"is missing, and {'.'.join(asked.path[1:])} needs it"
                hint = "give the column a hierarchy, or choose another rule"
                yield Problem(format_path("columns", name, "hierarchy"), message, hint)


def _more_sensitive() -> str:
    return f"give the column to protect {role_of('sensitive')}"


def check_order(privacy: Privacy, sensitive: Sequence[Attribute]) -> None:
    """Raise PolicyError if requirements need an order, for columns of a table whose values have none."""
    found = []
    for asked in privacy.requirements if sensitive else ():
        for attribute in sensitive if asked.kind.needs_order else ():
            if asked.column in (None, attribute.name) and not attribute.hierarchy.in_order:
                message = f"`{attribute.name}` holds text, which has no order; the alphabet is none"
                hint = (
                    "give the column a tree that lists its values in order, such as { tree = { all = "
                    '["low", "middle", "high"] } }'
                )
                others = [
                    rule for kind in KINDS[asked.kind.key.name] if not kind.needs_order for rule in kind.rules
                ]
                hint += f", or measure by {' or '.join(others)} instead of {asked.rule}" if others else ""
                found.append(Problem(format_path(*asked.path), message, hint))
    if found:
        raise PolicyError(found)
