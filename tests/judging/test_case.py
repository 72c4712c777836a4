"""One case per verb: what is expensive is computed once, whatever asks for it, and the verbs agree."""

from __future__ import annotations

import pkgutil
from collections import Counter

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.coding.encode import encode
from shoal.errors import DataError
from shoal.judging.read_case import Received, read_case, read_proposal
from shoal.pipeline.attack import attack_case
from shoal.support.run import Run

PARTS = {
    "consistency": "shoal.judging.linking.evidence.consistency",
    "risk": "shoal.judging.linking.evidence.assess",
    "blocks": "shoal.coding.table.CodedTable._group_blocks",
    "render": "shoal.engines.local.render",
    "render again": "shoal.judging.read_case.render",
    "read": "shoal.release.received.cell_reader.read_published",
    "read back": "shoal.judging.read_case.read_back",
    "policy": "shoal.policy.policy.problems_of",
}
# Three rules about which people rows match, limits that make blocks, sensitive values, and a population.
ASKED = {
    "quasi": ["age", "town"],
    "sensitive": ["disease"],
    "k": 4,
    "notion": "global-1-k",
    "suppression": 0.2,
    "hierarchies": {"town": {"tree": {"north": ["a", "b"], "south": ["c", "d"]}}},
    "limits": {"town": 1},
}


def people(rows: int = 60) -> pl.DataFrame:
    random = np.random.default_rng(4)
    return pl.DataFrame(
        {
            "age": random.integers(20, 60, rows),
            "town": random.choice(["a", "b", "c", "d"], rows),
            "disease": random.choice(["flu", "cold", "ulcer"], rows),
        }
    )


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how often each part is built."""
    counter: Counter[str] = Counter()

    def counting(name: str, place: str) -> None:
        made = pkgutil.resolve_name(place)

        def count(*given, **named):
            counter[name] += 1
            return made(*given, **named)

        monkeypatch.setattr(place, count)

    for name, place in PARTS.items():
        counting(name, place)
    return counter


def test_anonymize_builds_everything_once(built):
    shoal.anonymize(people(), **ASKED, method="global-1-k", seed=1)
    assert built == {
        "consistency": 1, "risk": 1, "blocks": 1, "render": 1, "read back": 1, "policy": 1,
    }  # fmt: skip


@pytest.mark.parametrize("method", ["mondrian", "agglomerative", "p-k", "hilbert", "forest"])
def test_methods_group_the_blocks_of_a_table_once(built, method):
    """Feasibility, the method and the notes all ask which blocks can be served."""
    shoal.anonymize(people(), **{**ASKED, "notion": None}, method=method, seed=1)
    assert built["blocks"] == 1


def test_compare_validates_each_policy_once(built):
    asked = {**ASKED, "notion": None}
    found = shoal.compare(people(), **asked, methods=["mondrian"], seconds=60)
    assert len(found.trials) == 2
    # The policy that was given, and one with the options of each trial.
    assert built["policy"] == 1 + len(found.trials)


def test_audit_builds_everything_once(built):
    release = shoal.anonymize(people(), **ASKED, method="global-1-k", seed=1).table
    built.clear()
    shoal.audit(release, original=people(), **ASKED)
    assert built == {"consistency": 1, "risk": 1, "read": 1, "policy": 1}


@pytest.mark.parametrize("adversary", ["some", "members"])
def test_attack_builds_everything_once(built, adversary):
    release = shoal.anonymize(people(), **ASKED, method="global-1-k", seed=1).table
    built.clear()
    shoal.attack(release, original=people(), adversary=adversary, **ASKED)
    assert built == {"consistency": 1, "read": 1, "policy": 1}


@pytest.mark.parametrize("edition", ["public", "private"])
@pytest.mark.parametrize("kind", ["rows", "result"])
def test_report_builds_everything_once(built, edition, kind):
    """Models, two linkage attacks, measures and the risk section all ask for the same things."""
    result = shoal.anonymize(people(), **ASKED, method="global-1-k", seed=1)
    built.clear()
    source = result if kind == "result" else result.table
    shoal.report(source, original=people(), edition=edition, **ASKED)
    # The public edition shows no risk where the sizes of classes do not say who can be found.
    once = {"consistency": 1, "risk": int(edition == "private")}
    read = {"render again": 1, "read back": 1} if kind == "result" else {"read": 1}
    # The risk of the original, were it published as it is, and the policy of the record are their own.
    assert {name: built[name] for name in (*once, *read)} == once | read
    assert built["policy"] == (2 if kind == "result" else 1)


def test_verbs_agree():
    """What anonymize says of its release is what an audit, a report and an attack of the rows say."""
    original, asked = people(), {**ASKED, "method": "global-1-k"}
    result = shoal.anonymize(original, **asked, seed=1)
    audit = shoal.audit(result.table, original=original, **asked)
    *same, true = audit.verdicts
    assert [v.summary() for v in same] == [v.summary() for v in result.verdicts]
    assert (true.model, true.holds, true.reached) == ("truthful", True, 0)
    assert audit.measures == result.measures
    assert audit.losses == result.losses
    ours, theirs = (
        shoal.attack(source, original=original, adversary="members", **asked)
        for source in (result, result.table)
    )
    assert ours.chances.tolist() == theirs.chances.tolist()


def test_journalist_risk_uses_the_population_in_every_verb():
    """Once by the population and once without it, two verbs told two figures of one release."""
    everyone = people(200)
    table = everyone.head(40)
    asked = {"quasi": ["age", "town"], "sensitive": ["disease"], "k": 4}
    result = shoal.anonymize(table, population=everyone, **asked, seed=1)
    policy = shoal.Policy.from_keywords(**asked)
    case = read_case(Received(result, original=table, population=everyone), policy)
    assert case.risk.population_known
    assert result.measures["risk-journalist-max"] == case.risk.journalist_max
    assert result.measures["risk-marketer"] == case.risk.marketer < case.risk.prosecutor_mean


def test_an_attack_on_two_tables_reads_them_as_an_audit_does():
    """Rows of two joined tables have any sensitive value of their bucket, whatever method the policy names."""
    original = people(40)
    asked = {"quasi": ["age", "town"], "sensitive": ["disease"], "l": 2}
    made = shoal.anonymize(original, **asked, method="anatomy", seed=1)
    policy = shoal.Policy.from_keywords(**asked)
    case = read_case(Received(made.table, original=original, second=made.second), policy)
    assert case.published.in_buckets
    expected = attack_case(case, "attribute-disclosure", {}, Run.start(0))
    found = shoal.attack(
        made.table, policy, original=original, second=made.second, name="attribute-disclosure"
    )
    assert found.chances.tolist() == expected.chances.tolist()
    assert found.chances.max() < 1


def test_a_result_of_another_table_is_refused():
    result = shoal.anonymize(people(), **ASKED, method="global-1-k", seed=1)
    with pytest.raises(DataError, match="made from 60 rows, but the original has 50"):
        shoal.attack(result, original=people(50), **ASKED)
    with pytest.raises(DataError, match="give the table"):
        read_case(Received(result), shoal.Policy.from_keywords(**ASKED))


def test_an_outsider_is_told_no_owner():
    """What an outsider sees holds no owner, and a case read from rows knows none."""
    result = shoal.anonymize(people(), **ASKED, method="global-1-k", seed=1)
    policy = shoal.Policy.from_keywords(**ASKED)
    table = encode(people(), policy.plans(people().columns))
    made, read = (
        read_proposal(policy, table, result.release),
        read_case(Received(result.table, original=people()), policy),
    )
    assert made.owner is not None
    assert read.owner is None
    assert not hasattr(made.published, "owner")
