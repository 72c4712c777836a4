"""Who is in the table, for an adversary who runs the method on every table that a release allows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import comb, prod

import numpy as np

from shoal.coding import CodedTable
from shoal.coding.columns import Columns, Kept
from shoal.coding.counting import ByRows
from shoal.coding.population import count_with_population
from shoal.errors import DataError, InfeasibleError, LimitError
from shoal.judging.linking.evidence import Evidence
from shoal.judging.models.requirements import Requirements
from shoal.methods import Method
from shoal.methods.wrappers import propose_release
from shoal.release.published import Published
from shoal.release.render import ends_of_cells
from shoal.support.arrays import FloatVector, IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief
from shoal.support.run import Run

MOST_TABLES = 20_000
"""Tables on which the method is run at most."""


@dataclass(frozen=True, eq=False, repr=False)
class Rerun(Brief):
    """What the reruns say."""

    place: IntVector
    """Person of the population -> distinct tuple."""
    chances: FloatVector
    """Tuple -> probability that each of its people is in the table."""
    tables: int
    """Tables on which the method was run; 0 if its own account was enough."""
    fitting: int
    """How many of them lead to this release."""


def rerun_presence(evidence: Evidence, method: Method | None, requirements: Requirements, run: Run) -> Rerun:
    """Return everyone's probability, exactly: from what the method says about itself, or from reruns.

    Tables with the published rows in every class are equally likely before the adversary reruns the method; those stay
    that lead to this release. Raises DataError if that cannot be computed.
    """
    published, original = evidence.published, evidence.original
    if method is None:
        raise DataError(
            "the method that made the release is not known; name it in the policy or give the record"
        )
    if published.in_buckets or not published.in_ranges:
        raise DataError("Shoal reruns a method for membership only if its releases show classes of ranges")
    wanted = requirements.in_table(original)
    codes, people, rows = count_with_population(original)
    number = _number_people(codes, original)
    known = method.find_presence(original, wanted, published)
    if known is not None:
        return Rerun(number, known, 0, 0)
    _check_repeatable(method, requirements, published)
    class_of = _find_classes(published, codes)
    release = _key(*published.cell_ranges, published.class_of)
    if _rerun(method, wanted, original, codes, rows.astype(np.int64)) != release:
        raise DataError(
            "Shoal cannot reproduce the release: the method with these options makes another one of the original. Give "
            "the policy, or the record, that the release was made with"
        )
    fitting, weights = 0, 0
    inside = [0] * len(codes)
    tables = _list_tables(class_of, people, published)
    for at, table in enumerate(tables):
        run.progress("rerun", at / len(tables))
        counts = np.array(table, np.int64)
        if _rerun(method, wanted, original, codes, counts) == release:
            ways = prod(comb(int(many), int(own)) for many, own in zip(people, counts, strict=True))
            fitting += 1
            weights += ways
            for t in np.flatnonzero(counts).tolist():
                inside[t] += ways * table[t]
    chances = [float(Fraction(own, weights * int(many))) for own, many in zip(inside, people, strict=True)]
    return Rerun(number, np.array(chances), len(tables), fitting)


def _check_repeatable(method: Method, requirements: Requirements, published: Published) -> None:
    """Refuse releases that do not follow from who is in the table."""
    if published.suppressed:
        raise DataError("rows were suppressed, so the release does not say how many people each box holds")
    secret = [model.title for model in requirements.models if getattr(model, "column", None) is not None]
    if secret:
        raise DataError(
            f"the method reads sensitive values ({', '.join(secret)}), and nobody knows those of people who are not in "
            "the table"
        )
    if method.false_cells.how or type(method).draws is not Method.draws:
        raise DataError(
            f"{method.name} draws at random, so a rerun says how likely a release is, not whether"
        )


def _number_people(codes: IntMatrix, original: CodedTable) -> IntVector:
    """Return the distinct tuple of each person of the population."""
    from shoal.kernels.grouping import distinct

    # Tuples come first and are distinct, so they keep their numbers.
    assert original.context.population is not None
    found: IntVector = distinct(np.asfortranarray(np.concatenate([codes, original.context.population])))[0]
    return found[len(codes) :]


def _find_classes(published: Published, codes: IntMatrix) -> IntVector:
    """Return the class that covers each tuple, -1 for none."""
    from shoal.kernels.presence import regions_of_people

    low, high = map(np.ascontiguousarray, published.cell_ranges)
    start, region = regions_of_people(low, high, np.ascontiguousarray(codes))
    many = np.diff(start)
    if many.max(initial=0) > 1:
        raise DataError("classes overlap, so the release does not say how many people each of them holds")
    class_of = np.full(len(codes), -1, np.int32)
    class_of[many == 1] = region
    return class_of


def _list_tables(class_of: IntVector, people: IntVector, published: Published) -> list[tuple[int, ...]]:
    """List all tables with the published rows in every class, as numbers of people of each tuple."""
    by_class = []
    many = 1
    for number, size in enumerate(published.sizes.tolist()):
        own = np.flatnonzero(class_of == number)
        many *= _count_shares(people[own].tolist(), size)
        if many > MOST_TABLES:
            raise DataError(
                f"more than {MOST_TABLES:,} tables lead to these classes, too many to rerun the method on each. Only "
                "mpalm with drawn = true says by itself what a rerun would show"
            )
        by_class.append([(own, shares) for shares in _share_out(people[own].tolist(), size)])
    tables = []
    for choice in product(*by_class):
        counts = np.zeros(len(people), np.int64)
        for own, shares in choice:
            counts[own] = shares
        tables.append(tuple(counts.tolist()))
    return tables


def _count_shares(room: list[int], size: int) -> int:
    """Return in how many ways tuples with so much room each can share `size` people."""
    ways = [1] + [0] * size
    for most in room:
        ways = [sum(ways[max(0, total - most) : total + 1]) for total in range(size + 1)]
    return ways[size]


def _share_out(room: list[int], size: int) -> Iterator[tuple[int, ...]]:
    """Yield these ways."""
    if not room:
        if size == 0:
            yield ()
        return
    for own in range(max(0, size - sum(room[1:])), min(room[0], size) + 1):
        for rest in _share_out(room[1:], size - own):
            yield (own, *rest)


def _rerun(
    method: Method,
    requirements: Requirements,
    original: CodedTable,
    codes: IntMatrix,
    counts: LongVector,
) -> bytes | None:
    """Return what the release of a table shows, or None if there is none."""
    secrets = Columns.of((), np.empty((int(counts.sum()), 0), np.int32))
    quasi = Columns.of(original.attributes, np.asfortranarray(np.repeat(codes, counts, axis=0)))
    table = CodedTable(quasi, secrets, Kept(), original.columns, (ByRows.of(secrets),), original.context)
    try:
        made = propose_release(method, table, requirements, Run.start(0))
    except (LimitError, InfeasibleError):
        return None
    if (made.region_of < 0).any():
        return None
    return _key(*ends_of_cells(table, made), made.region_of)


def _key(low: IntMatrix, high: IntMatrix, region_of: IntVector) -> bytes:
    """Write what all rows show, in no order."""
    cells = np.concatenate([low, high], axis=1)[region_of].astype(np.int32)
    return cells[np.lexsort(cells.T[::-1])].tobytes()
