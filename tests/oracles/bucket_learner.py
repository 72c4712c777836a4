"""Learning from buckets by trying every assignment: the plain twin of `shoal/judging/linking/bucket_learner.py`.

A bucket is a list of people, each a tuple of quasi-identifiers, and a list of as many values.
"""

from __future__ import annotations

import itertools
import math


def learn(buckets, *, rounds=5, near=None):
    """Return, per bucket and person, how much each value of the bucket is believed: ``{value: share}``.

    `near` says how much a person with one value says about another value; without it, nothing.
    """
    near = near or (lambda one, other: float(one == other))
    every = sorted({value for _, values in buckets for value in values})
    people = [person for members, _ in buckets for person in members]
    beliefs = [
        [{value: values.count(value) / len(values) for value in set(values)} for _ in members]
        for members, values in buckets
    ]
    for _ in range(rounds):

        def seen(value, column=None, shown=None, beliefs=beliefs):
            return sum(
                near(value, other) * share
                for (members, _), mine in zip(buckets, beliefs, strict=True)
                for person, own in zip(members, mine, strict=True)
                if column is None or person[column] == shown
                for other, share in own.items()
            )

        def fit(person, value):
            found = 1.0
            for column, shown in enumerate(person):
                if len({other[column] for other in people}) == 1:
                    continue
                usual = sum(other[column] == shown for other in people) / len(people)
                found *= (seen(value, column, shown) + usual) / (seen(value) + 1.0)
            return found

        beliefs = [
            assign([{value: fit(person, value) for value in every} for person in members], values)
            for members, values in buckets
        ]
    return beliefs


def assign(fits, values):
    """Weigh every assignment of the values to the people by the product of how well they fit."""
    found = [dict.fromkeys(set(values), 0.0) for _ in fits]
    total = 0.0
    for given in set(itertools.permutations(values)):
        weight = math.prod(fit[value] for fit, value in zip(fits, given, strict=True))
        total += weight
        for own, value in zip(found, given, strict=True):
            own[value] += weight
    return [{value: weight / total for value, weight in own.items()} for own in found]
