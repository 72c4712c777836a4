"""The private record of a run, read back: it says how a release was made."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from shoal.coding.roles import REMOVED
from shoal.errors import DataError, PolicyError
from shoal.methods import Method
from shoal.policy.method_options import AUTO, NamedMethod
from shoal.policy.sections import MethodChoice
from shoal.policy.toml import load_toml
from shoal.support.arrays import IntVector
from shoal.support.machine.files import read_json
from shoal.support.wording import either

_GIVE = "give the record of this release"


def read_record(given: Any) -> Mapping[str, Any] | None:
    """Read the private record of a run: a mapping, or the path of one."""
    if given is None:
        return None
    found = given
    if not isinstance(given, Mapping):
        try:
            found = read_json(given)
        except FileNotFoundError:
            raise DataError(f"the record {given} does not exist: {_source()}") from None
        except (OSError, ValueError) as error:
            raise DataError(f"{given} cannot be read as a record: {error}") from None
    wanted = ("policy", "method", "seed", "input")
    if not isinstance(found, Mapping) or any(key not in found for key in wanted):
        raise DataError(
            f"this is not a record of a run: it lacks one of policy, method, seed, input; {_source()}"
        )
    for what, right in _shapes(found):
        if not right:
            raise DataError(f"this is not a record of a run: {what}; {_source()}")
    return found


def _shapes(record: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """Yield what the parts of a record that are read must be, and whether they are."""
    made, groups = record["input"], record.get("groups")
    yield "'policy' must be the text of a policy", isinstance(record["policy"], str)
    counted = isinstance(made, Mapping) and _is_count(made.get("rows"))
    yield "'input' must say how many rows the original has", counted
    yield "'suppressed' must be a number of rows", _is_count(record.get("suppressed", 0))
    lists = groups is None or (isinstance(groups, list | tuple) and all(map(_is_names, groups)))
    yield "'groups' must be lists of columns", lists


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_names(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)


def _source() -> str:
    """Say where records come from."""
    return either(
        command="`shoal anonymize --record FILE` writes one",
        python="`record` of what `shoal.anonymize` returns is one",
    )


def read_section(record: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a section of the policy that a record holds; the files that the policy names need not exist any more."""
    try:
        found = load_toml(record["policy"]).get(name, {})
    except (tomllib.TOMLDecodeError, TypeError, ValueError) as error:
        raise DataError(f"the policy in the record cannot be read: {error}") from None
    if not isinstance(found, dict):
        raise DataError(f"the policy in the record cannot be read: [{name}] is not a section")
    return found


def read_method(record: Mapping[str, Any]) -> Method:
    """Return the method that made a release, with its options."""
    try:
        return NamedMethod(MethodChoice.model_validate(read_section(record, "method"))).build()
    except (PolicyError, ValueError) as error:
        raise DataError(f"the method in the record is not known here: {error}") from None


def pin_choice(tables: Mapping[str, Any], record: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a policy, as plain tables, with the method and options that `auto` chose for a release, as its record
    says, so that a rerun makes the same release. Other policies stay as they are.
    """
    own = tables.get("method", {})
    if record is None or AUTO not in (own, own.get("name") if isinstance(own, Mapping) else None):
        return dict(tables)
    chosen = {name: read_section(record, name) for name in ("method", "utility")}
    return {**tables, **{name: section for name, section in chosen.items() if section}}


def check_original(record: Mapping[str, Any], rows: int, digest: str | None) -> None:
    """Refuse the record of another table, which would make every answer false."""
    made = record["input"]
    if made.get("rows") != rows:
        raise DataError(
            f"the record is about a table of {made.get('rows'):,} rows, but the original has {rows:,}: {_GIVE}"
        )
    if digest and made.get("sha256") and made["sha256"] != digest:
        raise DataError(
            "the record is about another file: the original's SHA-256 differs from the one in the record"
        )


def check_release(record: Mapping[str, Any], rows: int, columns: Collection[str]) -> None:
    """Refuse the record of another release: it would say how that one was made."""
    told = int(record["input"]["rows"]) - int(record.get("suppressed", 0))
    if told != rows:
        raise DataError(f"the record is about a release of {told:,} rows, but this one has {rows:,}: {_GIVE}")
    sections = read_section(record, "columns")
    if not all(isinstance(column, str | dict) for column in sections.values()):
        raise DataError("the policy in the record cannot be read: [columns] gives columns their roles")
    wanted = [
        name
        for name, column in sections.items()
        if (column if isinstance(column, str) else column.get("role")) not in REMOVED
    ]
    missing = [name for name in wanted if name not in columns]
    if missing:
        raise DataError(
            f"the record is about a release with a column '{missing[0]}', which this one lacks: {_GIVE}"
        )


def check_buckets(record: Mapping[str, Any], buckets: int | None) -> None:
    """Refuse the record of a release with another number of buckets."""
    told = record.get("buckets")
    if isinstance(told, int) and told != buckets:
        raise DataError(
            f"the record is about a release of {told:,} buckets, but this one has {buckets or 0:,}: {_GIVE}"
        )


def read_owners(record: Mapping[str, Any]) -> IntVector | None:
    """Return which row of the original each published row comes from, in the order of the release; None if the record
    does not say so. Only runs that count people, or look at earlier releases, write it.
    """
    told = record.get("owners")
    if not isinstance(told, str):
        return None
    try:
        return np.array(told.split(), np.int32)
    except (ValueError, OverflowError):
        raise DataError("the owners in the record cannot be read: they are numbers of rows") from None
