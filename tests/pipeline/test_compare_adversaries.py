"""Adversaries in a policy: which models, methods and attacks follow from them, and what is refused."""

from __future__ import annotations

from itertools import product

import pytest

from shoal.errors import PolicyError
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.k_type import EVERYBODY, KK, GlobalOneK
from shoal.judging.models.probabilistic_k import ProbabilisticK
from shoal.methods import METHODS
from shoal.pipeline.comparison.portfolio import plan_attacks, portfolio
from shoal.policy import Policy
from shoal.policy.adversaries import ADVERSARIES, derivation, find_adversaries


def policy(**keywords):
    return Policy.from_keywords(**{"quasi": ["age", "zip"], **keywords})


def test_models_follow_from_adversaries():
    expected = {
        "knows-some": (KK(k=3, known=EVERYBODY),),
        "knows-members": (GlobalOneK(k=3),),
        "knows-algorithm": (ProbabilisticK(k=3),),
    }
    for name, models in expected.items():
        assert policy(k=3, adversary=name).models() == models
    assert policy(k=3, adversary="knows-some", known=10).models() == (KK(k=3, known=10),)
    assert policy(k=3, adversary=["knows-members", "knows-some"], known=10).models() == (
        KK(k=3, known=10),
        GlobalOneK(k=3),
    )
    # Classes of k equal rows stop them all, and a notion that is named already is not asked for twice.
    assert policy(k=3, adversary="knows-members", notion="k-anonymity").models() == (KAnonymity(k=3),)
    assert policy(k=3, adversary="knows-some", notion="k-k").models() == (KK(k=3, known=EVERYBODY),)
    about = policy(k=3, adversary="knows-distribution").models()
    assert [model.name for model in about] == ["alpha-hybrid", "k-anonymity"]
    both = policy(k=3, adversary="knows-distribution", relocation={"budget": 0.1, "alpha": 0.2}).models()
    assert sorted(model.name for model in both) == ["alpha-hybrid", "hybrid-k", "k-anonymity"]
    asked = policy(adversary="unsure-of-membership", presence=[0.0, 0.5]).models()
    assert [model.name for model in asked] == ["delta-presence"]


def test_a_policy_with_adversaries_survives_toml():
    made = policy(k=3, adversary=["knows-some", "knows-algorithm"])
    assert Policy.from_toml(made.to_toml()) == made
    assert made.override(["privacy.adversary=knows-members"]).privacy.adversary == ("knows-members",)


def test_adversaries_that_cannot_be_served_are_all_told_at_once():
    with pytest.raises(PolicyError) as caught:
        policy(
            adversary=["knows-some", "knows-some", "unsure-of-membership"], method="expansion", measure="lmm"
        )
    places = [problem.path for problem in caught.value.problems]
    assert places.count("privacy.adversary") == 3  # twice, no k, no presence
    assert {"method.name", "utility.measure"} <= set(places)
    for adversary, method, wrong in (
        ("knows-members", "k-k", "method.name"),
        ("knows-algorithm", "global-1-k", "method.name"),
        ("knows-algorithm", "hybrid", "method.name"),
        ("knows-algorithm", "hybrid-mondrian", "method.name"),
        ("knows-algorithm", "relocate", "method.name"),
        ("knows-members", "hybrid", "method.name"),
    ):
        with pytest.raises(PolicyError) as caught:
            policy(k=3, adversary=adversary, method=method)
        assert [problem.path for problem in caught.value.problems] == [wrong]
    for adversary, method in (
        ("knows-members", "global-1-k"),
        ("knows-some", "k-k"),
        ("knows-algorithm", "ring"),
    ):
        policy(k=3, adversary=adversary, method=method)
    for variant, notion in product(
        ("deterministic", "randomized", "statistical", "rstat"), (None, "k-anonymity")
    ):
        method = {"name": "hybrid", "variant": variant}
        with pytest.raises(PolicyError, match="published minus true class sizes show where rows went"):
            policy(k=3, notion=notion, adversary="knows-algorithm", method=method)
    with pytest.raises(PolicyError, match="knows-everything"):
        policy(k=3, adversary="knows-everything")
    with pytest.raises(PolicyError, match="adversary"):
        policy(k=3, adversary=[])


@pytest.mark.parametrize("role", ["drop", "person"])
def test_an_adversary_without_k_is_a_problem_of_the_policy_with_a_sensitive_column_too(role):
    columns = {"age": {"role": "quasi"}, "disease": {"role": "sensitive"}, "who": {"role": role}}
    privacy = {"l": 2, "adversary": "knows-algorithm"}
    with pytest.raises(PolicyError, match="knows-algorithm needs k, which the policy does not set"):
        Policy.from_dict({"columns": columns, "privacy": privacy})


def test_models_imply_adversaries_where_none_is_named():
    assert find_adversaries(policy(k=3).privacy) == ("knows-members",)
    assert find_adversaries(policy(k=3, notion="k-k").privacy) == ("knows-some",)
    assert find_adversaries(policy(k=3, notion="probabilistic-k").privacy) == ("knows-algorithm",)
    assert find_adversaries(policy(sensitive=["ill"], l=2).privacy) == ()
    assert find_adversaries(policy(k=3, adversary="knows-distribution").privacy) == (
        "knows-members",
        "knows-distribution",
    )
    for name in ADVERSARIES:
        bounds = {"presence": [0.0, 0.5]} if name == "unsure-of-membership" else {}
        made = policy(k=3, sensitive=["ill"], l={"learned": 2}, adversary=name, **bounds)
        assert any(line.startswith(f"{name}, named by the policy") for line in derivation(made.privacy))


def test_each_adversary_has_her_attack():
    def names(**keywords):
        made = policy(**keywords)
        return [(a.attack, a.options.get("adversary")) for a in plan_attacks(made) if a.decides]

    assert names(k=3, adversary="knows-some") == [("linkage", "some"), ("few-known", None)]
    assert names(k=3, notion="k-k", known=10) == [("linkage", "some"), ("few-known", None)]
    assert names(k=3, notion="k-k") == [("linkage", "some")]
    assert names(k=3, adversary="knows-members") == [("linkage", "members")]
    assert names(k=3, adversary="knows-algorithm") == [("linkage", "members")]
    assert names(k=3, adversary="knows-algorithm", method="ring") == [
        ("linkage", "members"),
        ("algorithm-aware", None),
    ]
    assert names(k=3, relocation={"budget": 0.1}, method="hybrid") == [
        ("linkage", "some"),
        ("record-linkage", None),
    ]
    assert names(k=3, adversary="knows-distribution") == [("linkage", "members"), ("statistical", None)]
    assert names(presence=[0.0, 0.5]) == [("membership", None)]


def test_relocation_is_tried_only_as_far_as_the_policy_permits():
    def hybrids(**keywords):
        found = portfolio(policy(k=3, **keywords), ["hybrid"])
        return [(planned.options.get("variant"), bool(planned.refusal)) for planned in found]

    assert hybrids() == [(None, True)]
    budget = {"budget": 0.1}
    assert hybrids(relocation=budget) == [("deterministic", False), ("randomized", False)]
    assert hybrids(relocation=budget, adversary="knows-distribution") == [
        ("statistical", False),
        ("rstat", False),
    ]
    # Whom relocated rows fit cannot be told, so a notion about it cannot be verified.
    for adversary in ("knows-members", "knows-algorithm"):
        assert [refused for _, refused in hybrids(relocation=budget, adversary=adversary)] == [True, True]


def test_every_method_is_in_the_portfolio_and_sets_are_asked_for():
    made = policy(k=3, method={"name": "agglomerative", "modified": True})
    plain = portfolio(made, list(METHODS))
    assert {planned.method for planned in plain} == set(METHODS)
    assert not any(planned.options.get("show") == "sets" for planned in plain)
    # The policy's own choice of options is one of the trials.
    assert {"modified": True} in [planned.options for planned in plain if planned.method == "agglomerative"]
    listed = portfolio(made, list(METHODS), sets=True)
    assert {p.method for p in listed if p.options.get("show") == "sets"} == {
        "ring",
        "hilbert",
        "lexicographic",
        "mondrian",
        "agglomerative",
    }
