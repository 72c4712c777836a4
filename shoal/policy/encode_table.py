"""From a frame and a policy to codes, with the population that the policy names."""

from __future__ import annotations

from typing import Any

import polars as pl

from shoal import io
from shoal.coding import CodedTable
from shoal.coding.encode import encode
from shoal.coding.population import check_size, encode_both, how_to_count, how_to_name, members_of
from shoal.errors import PolicyError, Problem
from shoal.io import Frame
from shoal.policy.policy import Policy
from shoal.policy.purposes import with_purpose
from shoal.policy.sources import locate_source


def encode_with_population(frame: Frame, policy: Policy, given: Any = None) -> CodedTable:
    """Code a table, and the population that the policy (or `given`, a path or a frame) names, if any. It knows the
    analyses that the policy names.

    With a membership column the file holds the population, and the table has the rows whose column is true.
    Hierarchies are built from the values of both, so that a release can show a value that nobody in the table has.
    """
    return with_purpose(_encode(frame, policy, given), policy)


def _encode(frame: Frame, policy: Policy, given: Any) -> CodedTable:
    plans = policy.plans(frame.columns)
    wanted = policy.population
    if given is None and (wanted is None or not wanted.has_table):
        _check_no_table_needed(policy)
        table = encode(frame, plans)
        size = policy.population_size
        if size is None:
            return table
        check_size(size, table.counting.count)
        return table.with_context(population_size=size)
    if policy.people:
        message = f"counts its rows as people, and {' and '.join(policy.people)} says whose each row is"
        raise PolicyError([Problem("population", message, "leave out the population, or the role person")])
    source = given
    if source is None and wanted is not None:
        if wanted.column is not None:
            member = members_of(frame, wanted.column)
            return encode_both(frame.data.filter(pl.Series(member)), frame.data, plans)
        if wanted.file is not None:
            source = locate_source(wanted.file, wanted, policy.base)
    return encode_both(frame.data, io.read(source, policy.read_options()).data, plans)


def _check_no_table_needed(policy: Policy) -> None:
    """Raise PolicyError if a requirement needs more about the population than the policy says."""
    unknown = policy.population is None
    if unknown:
        needing = dict.fromkeys(model.key.name for model in policy.models() if model.needs_population())
        if needing:
            problem, hint = "needs to know the population", how_to_count()
            raise PolicyError([Problem(f"privacy.{key}", problem, hint) for key in needing])
    if policy.privacy.presence is not None:
        problem = "needs to know the population" if unknown else "needs a table of the population"
        raise PolicyError([Problem("privacy.presence", problem, how_to_name())])
