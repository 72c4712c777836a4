"""Who is in which bucket or class of a release, for an adversary who knows everyone's quasi-identifiers."""

from __future__ import annotations

import numpy as np

from shoal.coding import CodedTable
from shoal.errors import DataError
from shoal.judging.linking.bucket_learner import Members
from shoal.judging.linking.consistency import People
from shoal.judging.linking.statements import Links
from shoal.release.published import Published
from shoal.support.arrays import FloatVector, IntMatrix, LongVector

ROUNDS = 200
CLOSE = 1e-4
"""People who fit several buckets are divided among them until all buckets have their rows, up to this."""


def find_members(published: Published, table: CodedTable) -> Members:
    """Find out who is in which bucket, as an adversary does who knows everyone's quasi-identifiers."""
    if published.rows == 0:
        raise DataError("the release has no rows")
    people = People.in_table(table)
    number = published.candidates
    size = np.bincount(number).astype(np.float64)
    if published.in_buckets and published.rows_intact and np.array_equal(*published.cell_ranges):
        shown = published.cell_ranges[0][published.class_of]
        point = _find_points(people.codes, shown)
        order = np.argsort(number, kind="stable")
        ones = np.ones(len(order))
        return Members(
            people.codes, people.row_of, point[order], ones, number[order].astype(np.int64), len(size)
        )
    point, bucket, strength = _fits(published, people)
    if (np.bincount(point, minlength=len(people.weight)) <= 1).all():
        # Everyone fits one bucket: each person is a member of their own.
        bucket = np.repeat(bucket, people.weight[point])
        point = np.repeat(point, people.weight[point])
        mass = np.ones(len(point))
    else:
        mass = _spread(point, bucket, strength, people.weight.astype(np.float64), size)
    order = np.argsort(bucket, kind="stable")
    return Members(people.codes, people.row_of, point[order], mass[order], bucket[order], len(size))


def _find_points(codes: IntMatrix, shown: IntMatrix) -> LongVector:
    """Return the distinct person with the values of each row; -1 if there is none."""
    from shoal.kernels.grouping import distinct

    number, first = distinct(np.asfortranarray(np.concatenate([codes, shown])))
    place = np.full(len(first), -1, np.int64)
    place[number[: len(codes)]] = np.arange(len(codes))
    return place[number[len(codes) :]]


def _fits(published: Published, people: People) -> tuple[LongVector, LongVector, FloatVector]:
    """Return the pairs of a distinct person and a bucket that fit, and how well."""
    if not published.in_buckets:
        links = Links.of(published, people)
        return links.row.astype(np.int64), links.class_of, np.ones(len(links.row))
    from shoal.judging.membership.presence_chances import ShuffledBuckets

    low, high = published.cell_ranges
    linked = published.layout.shuffling.columns_with_sensitive
    if linked and not np.array_equal(low[:, linked], high[:, linked]):
        raise DataError(
            "quasi-identifiers that were shuffled with a sensitive column are generalized, so Shoal cannot tell "
            "which of its values each person may have"
        )
    number = published.candidates
    buckets = ShuffledBuckets(published, people.codes, people.weight)
    found: list[tuple[LongVector, LongVector, FloatVector]] = []
    for rows in buckets.rows_of:
        fit = buckets.match_tuples(rows)
        if not linked:
            found.append((fit.left, np.full(len(fit.left), number[rows[0]], np.int64), fit.product))
            continue
        groups, one = np.unique(number[rows], return_index=True)
        theirs = _find_points(
            low[published.class_of[rows[one]]][:, linked], people.codes[fit.left][:, linked]
        )
        found.append(
            (fit.left[theirs >= 0], groups[theirs[theirs >= 0]].astype(np.int64), fit.product[theirs >= 0])
        )
    point, bucket, strength = map(np.concatenate, zip(*found, strict=True))
    return point.astype(np.int64), bucket, strength


def _spread(
    point: LongVector, bucket: LongVector, strength: FloatVector, weight: FloatVector, size: FloatVector
) -> FloatVector:
    """Divide people who fit several buckets, so that every bucket gets as many people as it has rows."""
    mass = strength.copy()
    complete = size.sum() >= weight.sum()
    for _ in range(ROUNDS):
        held = np.bincount(point, mass, len(weight))
        factor = weight / np.maximum(held, 1e-300)
        mass *= (factor if complete else np.minimum(factor, 1.0))[point]
        filled = np.bincount(bucket, mass, len(size))
        mass *= (size / np.maximum(filled, 1e-300))[bucket]
        if np.abs(filled - size).max(initial=0.0) < CLOSE:
            break
    return mass
