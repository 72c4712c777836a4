"""What the experiments on presence say, in words. Figures and verdicts follow from what was found."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from experiments.claims.pages import OTHER_DATA
from experiments.presence_trials import BOUNDS_OF_BOTH, K_ANONYMOUS, PLAIN_SIZES, SIZES, USUAL

PUBLISHED = 0.9395
"""What bucketization re-identifies in the thesis."""
FIRST, LAST = SIZES[0], SIZES[-1]


def words(found, own):
    """Everything but the fourth experiment; `own` are the three shares of `attacked_by_definition`."""
    points = (
        _bucketization(found, own),
        _slicing(found),
        _slicing_by_rows(found),
        _nobody(found),
        _costs(found),
        _growing(found),
        _answers(found),
    )
    return "## In words\n\n" + "".join(f"- {point}\n" for point in points)


def _confirmed(holds):
    return "confirmed" if holds else OTHER_DATA


def _share(found, which, label, k):
    """A re-identified share, from what is proven to what is possible."""
    one = getattr(found, which)[label, k]
    least, most = (
        f"{many / found.table.rows:.1%}" for many in (one["certain"], one["certain"] + one["unsure"])
    )
    return least if most == least else f"{least} to {most}"


def _bucketization(found, own):
    shares, unique = found.drawn
    everywhere = {found.first["bucketization", k]["certain"] for k in SIZES}
    low, high = np.quantile(shares[:, 0], [0.01, 0.99])
    as_many = (shares[:, 2] >= PUBLISHED).mean()
    return (
        f"*Bucketization re-identifies {PUBLISHED:.2%} at any k*: at any k, {_confirmed(len(everywhere) == 1)}; "
        f"this share, {_confirmed(min(everywhere) / found.table.rows >= 0.93)}. By the definition, probability 1, "
        f"it is {_share(found, 'first', 'bucketization', FIRST)} here, and between {low:.1%} and {high:.1%} for "
        f"98 of 100 random tables of {found.table.rows:,} people. It can hardly be more: only {unique:.1%} of the "
        "population have a unique combination of values, and a person with a double outside the table is not certain. "
        f"The share of *distinct* combinations among the rows comes close: {own[2]:.1%} here, "
        f"{np.median(shares[:, 2]):.1%} in the median, {PUBLISHED:.2%} or more in {as_many:.1%} of random "
        "tables. So the thesis seems to have counted people with equal values as one person."
    )


def _slicing(found):
    few = found.people_first
    order = ("bucketization", "slicing", "one-attribute slicing")
    falls = all(
        few[label, a]["certain"] >= few[label, b]["certain"] for label in order for a, b in pairwise(SIZES)
    )
    below = all(
        few[more, k]["certain"] >= few[less, k]["certain"] for more, less in pairwise(order) for k in SIZES
    )
    return (
        "*Slicing re-identifies slightly fewer, falling slowly with k; one attribute per column a little fewer than "
        f"slicing*: {_confirmed(falls and below)}, if k counts people of the population, as in one of the examples of "
        "the thesis (four people, two of them in the table, k = 4). Then buckets have hardly any rows: slicing reveals "
        f"{_share(found, 'people_first', 'slicing', FIRST)} at k = {FIRST} and "
        f"{_share(found, 'people_first', 'slicing', LAST)} at k = {LAST}, one attribute per column "
        f"{_share(found, 'people_first', 'one-attribute slicing', LAST)}; with people of equal values as one, "
        f"{_share(found, 'people_alone', 'slicing', FIRST)}, {_share(found, 'people_alone', 'slicing', LAST)} and "
        f"{_share(found, 'people_alone', 'one-attribute slicing', LAST)}. This reading also explains how sets of "
        f"people could be listed one by one up to k = {LAST}, and not at 64."
    )


def _slicing_by_rows(found):
    some = all(found.first["slicing", k]["certain"] > 0 for k in SIZES)
    return (
        "If k counts rows of the table, which is what a publisher would mean by it, slicing reveals "
        + ", ".join(f"{_share(found, 'first', 'slicing', k)} at k = {k}" for k in SIZES)
        + ": far fewer than in the thesis"
        + (", but some at every k." if some else ".")
    )


def _nobody(found):
    readings = ("first", "alone", "people_first", "people_alone")
    wrong = [
        f"{_share(found, which, 'K-Mondrian', k)} at k = {k}, k counting {READINGS[which]}"
        for which in readings
        for k in SIZES
        if k >= 4 and getattr(found, which)["K-Mondrian", k]["certain"]
    ]
    smallest = ", ".join(_share(found, which, "K-Mondrian", FIRST) for which in readings)
    others = [
        one for which in readings for (label, _), one in getattr(found, which).items() if label in BOUNDED
    ]
    missing = [k for k in SIZES if found.first["CombinedAlg", k] is None]
    return (
        "*K-Mondrian re-identifies nobody from k = 4 on*: "
        + (f"confirmed except for {'; '.join(wrong)}" if wrong else "confirmed, whatever k counts")
        + f". At k = {FIRST} it is {smallest}, in the order of the tables. *CombinedAlg and MPALM nobody*: "
        f"{_confirmed(all(one is None or one['certain'] == 0 for one in others))}; they cannot, with a bound "
        "below 1."
        + "".join(f" With k = {k} and the bound {USUAL[1]:g} CombinedAlg has no release." for k in missing)
    )


READINGS = {
    "first": "rows",
    "alone": "rows, and people with equal values as one",
    "people_first": "people",
    "people_alone": "people, and those with equal values as one",
}
BOUNDED = ("CombinedAlg", "MPALM")
"""Methods that are given bounds."""


def _costs(found):
    said = []
    for name, word in (("boxes", "rows"), ("people", "people")):
        pairs = [(bounds, one["mpalm"], one[name]) for bounds, one in found.second.items() if name in one]
        for figure in ("dm", "ag"):
            more = [(bounds, a[figure], b[figure]) for bounds, a, b in pairs if b[figure] <= a[figure]]
            exceptions = "".join(
                f", but not for ({bounds[0]:g}, {bounds[1]:g}), where CombinedAlg has {b:,} and MPALM {a:,}"
                for bounds, a, b in more
            )
            said.append(
                f"{figure.upper()}, k {word}: {len(pairs) - len(more)} of {len(pairs)} pairs of bounds{exceptions}"
            )
    smallest = ", ".join(str(one["people"]["k"]) for one in found.second.values() if "people" in one)
    return (
        f"*MPALM is below CombinedAlg in DM and AG for every pair of bounds*: {'; '.join(said)}. If k counts people "
        f"the smallest k are {smallest}; the thesis has 12, 8, 4, 4 and 4 for bounds that it does not state."
    )


def _growing(found):
    times = [
        f"{one['seconds']:.0f} s at k = {k} ({'rows' if name == 'boxes' else 'people'})"
        for (name, k), one in found.third.items()
        if one is not None and k >= 64
    ]
    return (
        "*CombinedAlg was not finished at k = 64 after 25 hours*: here it takes "
        + (", ".join(times) or "a time that was not measured")
        + ". But it skips what it cannot count: AG grows with k, as in the thesis, partly because of this limit."
    )


def _answers(found):
    sure = [
        k for k in SIZES if not any(one["estimated"] or one["undecided"] for one in _given(found.first, k))
    ]
    if len(sure) == len(SIZES):
        return "No probability had to be estimated."
    most = max(one["undecided"] for one in found.first.values() if one is not None)
    start = f"Up to k = {max(sure)} rows the attack estimates nothing. Beyond, it" if sure else "The attack"
    return (
        f"{start} still proves for nearly everybody whether they are certain: at most {most:,} of "
        f"{len(found.table.population):,} people are undecided."
    )


def _given(found, k):
    return [one for (_, own), one in found.items() if own == k and one is not None]


def against_k_words(fourth, plain):
    """What the fourth experiment says."""
    small = PLAIN_SIZES[0]
    certain = [
        f"{plain[name, small]['certain']:,} ({name})" for name in K_ANONYMOUS if plain[name, small]["certain"]
    ]
    needed = {
        name: ", ".join(str(fourth[b, name]["k"]) if fourth[b, name] else "none" for b in BOUNDS_OF_BOTH)
        for name in K_ANONYMOUS
    }
    ratios = {
        figure: [
            fourth[b, name][figure] / fourth[b, "MPALM"][figure]
            for b in BOUNDS_OF_BOTH
            for name in K_ANONYMOUS
            if fourth[b, name]
        ]
        for figure in ("dm", "ag", "lm")
    }
    levels = [
        (fourth[b, "SPALM"]["lm"], fourth[b, "full-domain"]["lm"])
        for b in BOUNDS_OF_BOTH
        if fourth[b, "full-domain"]
    ]
    boxes = [
        min(fourth[b, name]["lm"] for name in K_ANONYMOUS[:2] if fourth[b, name]) < fourth[b, "SPALM"]["lm"]
        for b in BOUNDS_OF_BOTH
        if any(fourth[b, name] for name in K_ANONYMOUS[:2])
    ]
    where = ", ".join(f"({a:g}, {b:g})" for a, b in BOUNDS_OF_BOTH)
    return (
        f"k says little about presence. At k = {small} the presence of {' and '.join(certain) or 'nobody'} people is "
        f"certain, and the smallest k that is within {where} is "
        + "; ".join(f"{name}: {ks}" for name, ks in needed.items())
        + ". If you need presence, ask for it: within the same bounds k-anonymity has at least "
        f"{min(ratios['dm']):.0f} times the DM, {min(ratios['ag']):.1f} times the AG and {min(ratios['lm']):.1f} times "
        f"the LM of MPALM, and up to {max(ratios['dm']):.0f}, {max(ratios['ag']):.1f} and {max(ratios['lm']):.0f} "
        "times. Of releases with one level per column, SPALM's has less LM than full-domain k-anonymity in "
        f"{sum(a < b - 1e-12 for a, b in levels)} of {len(levels)} cases and more in "
        f"{sum(a > b + 1e-12 for a, b in levels)}; boxes of k rows have less than SPALM in "
        f"{sum(boxes)} of {len(boxes)}.\n"
    )
