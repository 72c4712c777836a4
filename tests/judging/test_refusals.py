"""Refusals on tiny random tables: what is called infeasible is, for any partition; what is advised helps."""

from __future__ import annotations

import itertools
import re
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import shoal
from shoal import io
from shoal.errors import InfeasibleError, LimitError, PolicyError
from shoal.methods import METHODS
from shoal.policy.encode_table import encode_with_population
from shoal.support.wording import speak
from tests.inputs.model_cases import satisfies

MODELS = [
    {}, {"l": 2}, {"l": 3}, {"l": {"probabilistic": 1.3}}, {"l": {"probabilistic": 2}}, {"l": {"entropy": 1.5}},
    {"l": {"entropy": 1.9}}, {"l": {"recursive": [2, 2]}}, {"l": {"recursive": [0.5, 2]}}, {"alpha": 0.5},
    {"alpha": 0.7}, {"t": {"equal": 0.2}}, {"p": 2}, {"beta": {"basic": 0.5}}, {"beta": {"enhanced": 0.3}},
    {"delta": {"strict": 0.8}}, {"delta": {"present": 0.8}}, {"p": 2, "alpha": 0.7},
    {"p": 2, "l": {"probabilistic": 1.4}}, {"risk": {"highest": "1/3"}}, {"risk": {"average": 0.4}},
    {"risk": {"average": "1/4"}}, {"risk": {"average": 0.5, "highest": 0.5}}, {"risk": {"share": 0.3, "above": 0.4}},
    {"risk": {"share": 0, "above": "1/4"}},
]  # fmt: skip
NOTIONS = [
    {}, {}, {}, {"notion": "probabilistic-k"}, {"notion": "k-k"}, {"notion": "global-1-k"},
    {"adversary": ["knows-members"]}, {"adversary": ["knows-algorithm"]}, {"relocation": {"budget": 0.2}},
]  # fmt: skip
OPTIONS = {
    "ring": [{}, {"partition": "hilbert"}, {"partition": "mondrian"}, {"order": "best", "show": "ranges"}],
    "relocate": [{}, {"base": "forest"}],
    "anatomy": [{}, {"k": 3}, {"partitioner": "mondrian"}],
    "hilbert": [{}, {"show": "ranges"}],
    "bucketization": [{}, {"k": 2}],
}
TRIES = 60


def partitions(rows):
    """All ways to split rows into classes."""
    if not rows:
        yield []
        return
    first, *others = rows
    for parts in partitions(others):
        yield [[first], *parts]
        for at in range(len(parts)):
            yield [*parts[:at], [first, *parts[at]], *parts[at + 1 :]]


def asked_risk(policy):
    """What a policy says about risk, as fractions."""
    told = policy.to_dict()["privacy"].get("risk", {})
    return {word: Fraction(str(value)) for word, value in told.items()}


def possible(frame, policy):
    """Whether some split of some rows into classes, within blocks, satisfies every model by the book."""
    table = encode_with_population(io.read(frame, policy.read_options()), policy, None)
    requirements = policy.requirements(table.sensitive)
    known = {}

    def good(part):
        key = frozenset(part)
        if key not in known:
            known[key] = len({int(table.block_of[row]) for row in part}) == 1 and all(
                satisfies(model, table, sorted(part)) for model in requirements.group_models
            )
        return known[key]

    def together(parts):
        rows = sum(map(len, parts))
        risk = asked_risk(policy)
        small = sum(
            len(part) for part in parts if "above" in risk and 1 / Fraction(len(part)) > risk["above"]
        )
        average = "average" not in risk or Fraction(len(parts), rows) <= risk["average"]
        return average and ("share" not in risk or Fraction(small, rows) <= risk["share"])

    fewest = max(table.rows - requirements.suppressible(table.rows), 1)
    return any(
        all(map(good, parts)) and together(parts)
        for size in range(table.rows, fewest - 1, -1)
        for left in itertools.combinations(range(table.rows), size)
        for parts in partitions(list(left))
    )


def cases(method, seed):
    """Tiny tables, each with what to ask of them."""
    random = np.random.default_rng([seed, *method.encode()])
    for _ in range(TRIES):
        rows = int(random.integers(2, 6))
        frame = pl.DataFrame(
            {
                "a": random.choice(["x", "y", "z"], rows),
                "b": random.integers(0, 4, rows),
                "s": random.choice(["u", "v", "w"], rows, p=[0.6, 0.3, 0.1]),
            }
        )
        asked = {
            "quasi": ["a", "b"],
            "sensitive": ["s"],
            "suppression": float(random.choice([0, 0, 0.2, 0.4])),
        }
        asked |= MODELS[random.integers(len(MODELS))] | NOTIONS[random.integers(len(NOTIONS))]
        models = set(asked) & {"l", "t", "p", "alpha", "beta", "delta", "risk"}
        if random.random() < 0.7 or {"notion", "adversary"} & set(asked) or not models:
            asked["k"] = int(random.integers(2, 4))
        if random.random() < 0.25:
            asked |= {"limits": {"b": 1}, "hierarchies": {"b": {"widths": [2]}}}
        choices = OPTIONS.get(method, [{}])
        yield frame, asked | {"method": {"name": method, **choices[random.integers(len(choices))]}}


def refusal(frame, asked, settings=()):
    """What Shoal says to a policy: an error, or None where it makes a release."""
    try:
        policy = shoal.Policy.from_keywords(**asked)
        shoal.anonymize(frame, policy.override(settings) if settings else policy, seed=1)
    except (InfeasibleError, LimitError, PolicyError) as error:
        return error
    return None


@pytest.fixture(autouse=True)
def command_line():
    """Hints in the words of the command line, so that they can be applied."""
    before = speak("command")
    yield
    speak(before)


@pytest.mark.parametrize("method", METHODS)
def test_refusals_are_proofs_or_name_what_helps(method):
    """No other kind of error comes: a release that violates its policy would have been work in vain."""
    for frame, asked in cases(method, 1):
        error = refusal(frame, asked)
        if isinstance(error, InfeasibleError):
            assert not possible(frame, shoal.Policy.from_keywords(**asked)), (frame.rows(), asked, str(error))
        elif isinstance(error, LimitError):
            assert error.instead, str(error)
            finds = [[f"method={name}"] for name in re.findall(r"method (\S+) finds", error.instead)]
            chosen = [[one] for one in re.findall(r"choose --set (\S+=\S+)", error.instead)]
            for settings in [*finds, *chosen]:
                assert refusal(frame, asked, settings) is None, (frame.rows(), asked, str(error))


def advised(problem, asked):
    """The policies that a hint advises, as far as it names an option or a method."""
    for listed in re.findall(
        r"(?:take|choose one of) ([a-z0-9, -]+?)(?: or ([a-z-]+))?(?:$|;)", problem.hint
    ):
        for other in [*listed[0].split(", "), listed[1]]:
            if other in METHODS:
                yield {**asked, "method": {"name": other}}
    for value in re.findall(r"--set privacy\.notion=([a-z0-9-]+)", problem.hint):
        yield {key: own for key, own in asked.items() if key != "adversary"} | {"notion": value, "k": 2}
    for key, value in re.findall(r"--set method\.(\w+)=(\w+)", problem.hint):
        yield {**asked, "method": {**asked["method"], key: value}}
    if "without a notion" in problem.hint or "without naming" in problem.hint:
        yield {key: own for key, own in asked.items() if key not in ("notion", "adversary")}
    if problem.hint.startswith("remove k"):
        yield {key: own for key, own in asked.items() if key not in ("k", "notion", "adversary")} | {"l": 2}
    if problem.hint.startswith("remove it") and problem.path == "privacy.relocation":
        yield {key: own for key, own in asked.items() if key != "relocation"} | {"l": 2}


@pytest.mark.parametrize("method", METHODS)
def test_whoever_follows_the_advice_gets_on(method):
    """A policy that does what a hint says no longer gets the same message."""
    followed = 0
    for frame, asked in cases(method, 2):
        error = refusal(frame, asked)
        if not isinstance(error, PolicyError):
            continue
        for problem in error.problems:
            for other in advised(problem, asked):
                again = refusal(frame, other)
                assert problem.message not in str(again), (asked, str(problem), str(again))
                followed += 1
    refusing = (
        "ring",
        "k-k",
        "nearest",
        "expansion",
        "global-1-k",
        "hybrid",
        "relocate",
        "anatomy",
        "slicing",
    )
    assert followed or method not in refusing


DIVERSE = [{"distinct": 2}, {"probabilistic": 1.3}, {"entropy": 1.5}, {"recursive": [3, 2]}]


@pytest.mark.parametrize(
    ("method", "diverse"),
    [
        *itertools.product(["mondrian", "hilbert", "lexicographic"], DIVERSE),
        *itertools.product(["ring"], DIVERSE[:2]),  # the others are about classes
    ],
)
def test_values_that_are_too_frequent_to_be_spread_are_served(method, diverse):
    """7 x u and 3 x v: no groups of different values, but larger or uneven ones satisfy the policy."""
    frame = pl.DataFrame({"a": range(10), "s": list("uuuuvuuvuv")})
    asked = {"quasi": ["a"], "sensitive": ["s"], "k": 2, "l": diverse, "method": method, "seed": 1}
    if method == "ring":
        asked["notion"] = "probabilistic-k"
    made = shoal.anonymize(frame, **asked)
    assert made.holds
    assert made.suppressed == 0
    assert made.table.height == 10


def test_rings_serve_several_sensitive_columns():
    frame = pl.DataFrame({"a": range(12), "s": list("uv" * 6), "r": list("xxyyzz" * 2)})
    made = shoal.anonymize(
        frame, quasi=["a"], sensitive=["s", "r"], k=3, l=2, notion="probabilistic-k", method="ring", seed=1
    )
    assert made.holds
    assert made.classes > 1


@pytest.mark.parametrize("method", ["hilbert", "lexicographic", "ring"])
def test_blocks_that_cannot_be_spread_are_published_and_others_are_spread(method):
    """Limits make two blocks: in the first values are even, in the second one is too frequent; both are published."""
    frame = pl.DataFrame(
        {"a": [f"0{i}" for i in range(8)] + [f"1{i}" for i in range(8)], "s": list("uv" * 4 + "uuuuuuuv")}
    )
    asked = {"quasi": ["a"], "sensitive": ["s"], "hierarchies": {"a": {"mask": "right"}}, "limits": {"a": 1}}
    notion = {"notion": "probabilistic-k"} if method == "ring" else {}
    made = shoal.anonymize(frame, **asked, k=2, l=2, suppression=0.5, method=method, seed=1, **notion)
    assert made.holds
    assert made.suppressed == 0
