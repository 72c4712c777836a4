"""What is tried with presence, and figures of what comes out; `experiments.presence` runs it."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from shoal.coding.columns import Columns
from shoal.errors import InfeasibleError
from shoal.judging.linking.evidence import Evidence
from shoal.judging.measures import MEASURES
from shoal.judging.membership.presence_chances import presence
from shoal.judging.models.delta_presence import SLACK, DeltaPresence
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.requirements import Requirements
from shoal.kernels.grouping import distinct
from shoal.methods import METHODS
from shoal.methods.presence.mpalm import MPALM
from shoal.release import Release
from shoal.support.run import Run

SIZES = (2, 4, 8, 16, 32)
GROUPS = (("native-country", "race"), ("workclass", "occupation", "salary-class"))
BOUNDS = ((0.0, 0.3), (0.0, 0.5), (0.0, 0.7), (0.0, 0.9), (0.01, 0.9))
USUAL = (0.0, 0.9)
BOUNDS_OF_BOTH = ((0.0, 0.2), (0.0, 0.5), (0.0, 0.9), (0.01, 0.5))
"""Of delta-presence against k-anonymity."""
MANY_SIZES = tuple(sorted({round(2 ** (step / 4)) for step in range(4, 37)}))
"""From 2 to 512, all tried: a release of a larger k can give more away than one of a smaller."""
PLAIN_SIZES = (2, 8, 32)
PARTITIONERS = {"boxes": "k rows", "people": "k people"}
"""What k counts in CombinedAlg: rows of the table, or people of the population."""
DRAWS = 1000
LIMIT, SECONDS = 200_000, 1.0
"""Per bucket: states for counting, and seconds for proofs and estimates where these are not enough."""

METHODS_TRIED = {
    "bucketization": ("bucketization", {}),
    "slicing": ("slicing", {"groups": GROUPS}),
    "one-attribute slicing": ("slice-columns", {}),
    "K-Mondrian": ("mondrian", None),
    "CombinedAlg": ("permute-generalize", {}),
}


def made(table, name, k, options, bounds=USUAL):
    """Make a release, with its seconds of computing."""
    models = (
        (DeltaPresence(low=bounds[0], high=bounds[1]),) if name in ("permute-generalize", "mpalm") else ()
    )
    if options is None:
        models, chosen = (KAnonymity(k=k),), {}
    else:
        chosen = {**options, **({"k": k} if name != "mpalm" else {})}
    start = time.process_time()
    release = METHODS[name](**chosen).anonymize(table, Requirements(models=models), Run.start(1))
    return release, time.process_time() - start


def attacked(table, release):
    """Let the membership attack loose: who is certainly in, and what kind of answers there are."""
    published = Evidence.of_release(table, release).published
    start = time.process_time()
    found = presence(
        published, table.population, limit=LIMIT, seconds=SECONDS, random=np.random.default_rng(1)
    )
    seconds = time.process_time() - start
    number, first = distinct(np.asfortranarray(np.concatenate([table.population, table.quasi.wide])))
    somebody = np.full(len(first), -1, np.int64)
    somebody[number[: len(table.population)]] = np.arange(len(table.population))
    place = somebody[number[len(table.population) :]]
    certain = found.exact & (found.chance == 1.0)
    return {
        "certain": int(certain[place].sum()),
        "unsure": int(found.undecided[place].sum()),
        "exact": int(found.exact.sum()),
        "bounded": int((found.bounded & ~found.exact & ~found.undecided).sum()),
        "estimated": int((~found.bounded & ~found.exact & ~found.undecided).sum()),
        "undecided": int(found.undecided.sum()),
        "highest": float(np.nanmax(np.where(found.exact, found.chance, np.nan)[place])),
        "seconds": seconds,
    }


def by_people(table, label, k):
    """A release whose buckets have at least k people of the population, however few of them are in the table."""
    if label == "CombinedAlg":
        return made(table, "permute-generalize", k, {"partitioner": "people"})[0]
    everyone = replace(
        table, codes=table.population, sensitive_codes=table.population[:, :0], population=None
    )
    boxes = METHODS["mondrian"]().anonymize(everyone, Requirements(models=(KAnonymity(k=k),)), Run.start(1))
    number, first = distinct(np.asfortranarray(np.concatenate([table.population, table.quasi.wide])))
    box_of = np.empty(len(first), np.int32)
    box_of[number[: len(table.population)]] = boxes.region_of
    bucket_of = box_of[number[len(table.population) :]]
    if label == "K-Mondrian":
        return Release(bucket_of, boxes.low, boxes.high)
    # The attack sees how often values occur in a bucket, which is the same in whatever order they are.
    method = METHODS[METHODS_TRIED[label][0]](**METHODS_TRIED[label][1])
    own = np.arange(table.rows, dtype=np.int32)
    return Release(
        own, table.quasi.wide, table.quasi.wide, bucket_of=bucket_of,
        shown_from=np.tile(own[:, None], (1, len(table.attributes))), together=method.find_shuffling(table)[0],
    )  # fmt: skip


def found_by_people(table, people):
    """Experiment 1 again, with k people of the population in a bucket."""
    found = {}
    for label in METHODS_TRIED:
        for k in SIZES:
            try:
                found[label, k] = attacked(table, by_people(table, label, k))
            except InfeasibleError:
                found[label, k] = None
            print(people, "by people", label, k, found[label, k], flush=True)
    return found


def distinct_people(table):
    """The same, if people with equal values are one person: in the population and in the table."""
    people = table.population[distinct(table.population)[1]]
    rows = distinct(table.quasi.wide)[1]
    return replace(
        table,
        quasi=table.quasi.take(rows),
        secrets=table.secrets.take(rows),
        population=np.asfortranarray(people),
    )


def found_out(table, people):
    """Experiment 1: {(method, k): what the attack found}."""
    found = {}
    for label, (name, options) in METHODS_TRIED.items():
        for k in SIZES:
            try:
                release, seconds = made(table, name, k, options)
            except InfeasibleError:
                found[label, k] = None
                print(people, label, k, "no release", flush=True)
                continue
            found[label, k] = attacked(table, release) | {"made": seconds}
            print(people, label, k, found[label, k], flush=True)
    release, seconds = made(table, "mpalm", None, {})
    for k in SIZES:
        found["MPALM", k] = attacked(table, release) | {"made": seconds}
    return found


def draws(table):
    """Shares of rows over many random tables of 2,000 people: certain by definition, unique, and distinct."""
    number, _ = distinct(table.population)
    everyone = np.bincount(number)
    random = np.random.default_rng(0)
    shares = []
    for _ in range(DRAWS):
        own = number[random.choice(len(number), table.rows, replace=False)]
        inside = np.bincount(own, minlength=len(everyone))
        certain = (inside[own] == everyone[own]).mean()
        shares.append((certain, (inside[own] == 1).mean(), (inside > 0).sum() / table.rows))
    return np.array(shares), float((everyone[number] == 1).mean())


def costs(table, release):
    """DM over buckets or classes, and AG: the sum of levels over rows and columns."""
    group = release.bucket_of if release.bucket_of is not None else release.region_of
    sizes = np.bincount(group[group >= 0])
    levels = 0
    for j, attribute in enumerate(table.attributes):
        level = attribute.hierarchy.level_of(release.low[:, j], release.high[:, j])
        levels += int(level[release.region_of].sum())
    return {"dm": int((sizes.astype(np.int64) ** 2).sum()), "ag": levels, "groups": int((sizes > 0).sum())}


def smallest_k(table, bounds, partitioner):
    """The smallest k whose boxes, shown as nothing but themselves, are within the bounds; None where none is."""
    if partitioner == "people" and bounds[0] > 0:
        return None  # Boxes without rows are not covered.
    cut = table
    if partitioner == "people":
        cut = replace(
            table,
            quasi=Columns.of(table.attributes, table.population),
            secrets=Columns((), (), len(table.population)),
        )
    for k in range(2, 200):
        wanted = (DeltaPresence(low=bounds[0], high=1.0), KAnonymity(k=k))
        boxes = MPALM().anonymize(cut, Requirements(models=wanted), Run.start(1))
        for low, high in zip(boxes.low, boxes.high, strict=True):
            people = ((table.population >= low) & (table.population <= high)).all(axis=1).sum()
            rows = ((table.quasi.wide >= low) & (table.quasi.wide <= high)).all(axis=1).sum()
            if rows > people * bounds[1] + 1e-9:
                break
        else:
            return k
    return None


def compared(table):
    """Experiment 2: CombinedAlg with the smallest possible k against MPALM, per pair of bounds."""
    found = {}
    for bounds in BOUNDS:
        simple, quick = made(table, "mpalm", None, {}, bounds)
        found[bounds] = {"mpalm": costs(table, simple) | {"seconds": quick}}
        releases = [simple]
        for partitioner in PARTITIONERS:
            k = smallest_k(table, bounds, partitioner)
            if k is None:
                continue
            combined, seconds = made(table, "permute-generalize", k, {"partitioner": partitioner}, bounds)
            found[bounds][partitioner] = costs(table, combined) | {"seconds": seconds, "k": k}
            releases.append(combined)
        for release in releases:
            verdict = DeltaPresence(low=bounds[0], high=bounds[1]).verify(Evidence.of_release(table, release))
            assert verdict.holds, verdict
        print(bounds, found[bounds], flush=True)
    return found


def growing(table, sizes):
    """Experiment 3: CombinedAlg for growing k."""
    found = {}
    for partitioner in PARTITIONERS:
        for k in sizes:
            try:
                release, seconds = made(table, "permute-generalize", k, {"partitioner": partitioner})
            except InfeasibleError:
                found[partitioner, k] = None
                continue
            found[partitioner, k] = costs(table, release) | {"seconds": seconds} | dict(release.facts)
            print(partitioner, k, found[partitioner, k], flush=True)
    return found


def attacked_by_definition(table):
    """The three shares of `draws` for this table itself."""
    number, _ = distinct(np.asfortranarray(np.concatenate([table.population, table.quasi.wide])))
    everyone = np.bincount(number[: len(table.population)])
    own = number[len(table.population) :]
    inside = np.bincount(own, minlength=len(everyone))
    return (
        (inside[own] == everyone[own]).mean(), (inside[own] == 1).mean(), (inside > 0).sum() / table.rows
    )  # fmt: skip


def k_anonymous(table, label, k):
    """A k-anonymous release of the table, made without a look at the population."""
    if label == "Mondrian, disjoint boxes":
        # If the table were the whole population everybody would be in it, so k alone stops the cuts.
        closed = replace(table, population=table.quasi.wide)
        wanted = (DeltaPresence(low=0.0, high=1.0), KAnonymity(k=k))
        return MPALM().anonymize(closed, Requirements(models=wanted), Run.start(1))
    name = "mondrian" if label == "Mondrian" else "full-domain"
    return METHODS[name]().anonymize(table, Requirements(models=(KAnonymity(k=k),)), Run.start(1))


K_ANONYMOUS = ("Mondrian", "Mondrian, disjoint boxes", "full-domain")


def judged(table, release):
    """Costs, and the smallest and the highest chance of anybody in the population: proven bounds if classes overlap."""
    published = Evidence.of_release(table, release).published
    found = presence(published, table.population)
    lm = MEASURES["lm"]().value(Evidence(published, table))
    chances = {"least": float(found.low.min()), "most": float(found.high.max())}
    people = {"certain": int(found.certainly_in.sum()), "overlapping": int(found.overlapping)}
    return costs(table, release) | {"lm": lm} | chances | people


def against_k(table):
    """Experiment 4: {(bounds, method): figures or None}, and {(method, k): figures} of k-anonymity by itself."""
    plain = {}
    for label in K_ANONYMOUS:
        for k in sorted({*MANY_SIZES, *PLAIN_SIZES}):
            plain[label, k] = judged(table, k_anonymous(table, label, k)) | {"k": k}
            print("k-anonymity", label, k, plain[label, k], flush=True)
    found = {}
    for bounds in BOUNDS_OF_BOTH:
        low, high = bounds
        model = DeltaPresence(low=low, high=high)
        for name in ("mpalm", "spalm"):
            release = METHODS[name]().anonymize(table, Requirements(models=(model,)), Run.start(1))
            found[bounds, name.upper()] = judged(table, release)
            verdict = model.verify(Evidence.of_release(table, release))
            assert verdict.holds, verdict
            print(bounds, name, found[bounds, name.upper()], flush=True)
        for label in K_ANONYMOUS:
            reached = (plain[label, k] for k in MANY_SIZES)
            found[bounds, label] = next(
                (one for one in reached if one["least"] >= low - SLACK and one["most"] <= high + SLACK), None
            )
    return found, plain
