"""What is said about a verified release: its notes, its private record, its public card and its codebook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.documents.card import card_of
from shoal.documents.codebook.book import Codebook
from shoal.documents.codebook.describe import codebook
from shoal.io.sheet import Sheet
from shoal.judging.linking.sampled import warn_of_rare_weights
from shoal.judging.measures.evaluate import false_losses
from shoal.judging.models.feasibility import all_in_one, find_unprotected, had_by_all
from shoal.judging.read_case import domain_sizes
from shoal.methods.uniform import UNIFORM, cost_in_words
from shoal.pipeline.comparison.portfolio import with_method
from shoal.pipeline.steps import Made
from shoal.policy import Policy
from shoal.release import Release
from shoal.release.record import NOT_FOR_PUBLICATION, make_record
from shoal.release.results import Clock, Result


def describe_result(
    made: Made,
    policy: Policy,
    tables: tuple[Any, Any],
    seed: int | None,
    clock: Clock,
    told: Sequence[str] = (),
) -> Result:
    """Return a verified release with everything that is said about it: notes, record, card, codebook.

    `tables` are the release as it was published and its second table, `told` what the run has to say besides.
    """
    table, second = tables
    case, release = made.case, made.case.origin.release
    assert release is not None
    recoded = [name for name, own in made.frame.options.columns.items() if own.null_values]
    notes = [*([] if seed is None else [NOT_FOR_PUBLICATION]), *told, *_collect_notes(made, release, recoded)]
    truth = case.truthfulness.verdicts if release.relocated else ()
    if "choice" in release.facts:
        # The chosen method is what was applied, and what a rerun should apply.
        policy = with_method(policy, release.facts["method"], release.facts["options"])

    def describe(**more: Any) -> Codebook:
        return codebook(
            table.whole() if isinstance(table, Sheet) else table,
            policy,
            second=second,
            delimiter=made.frame.options.delimiter,
            titles=made.frame.options.labels.columns,
            **more,
        )

    parts: dict[str, Any] = {
        "rows": case.original.rows,
        "suppressed": case.published.suppressed,
        **case.people,
        "classes": case.published.public_classes,
        "buckets": case.published.buckets,
        "verdicts": (*case.verdicts, *truth, *made.tried.verdicts),
        "measures": case.measures,
        "losses": case.losses,
        "seconds": clock.seconds,
        "notes": tuple(notes),
        "shown": table,
        "second": second,
        "release": release,
        "domains": domain_sizes(case.original),
        "method": policy.method.name,
        "pseudonyms": made.pseudonyms,
        "describe": describe,
    }
    summary = Result(**parts, record={}, card={}).summary()
    source = "" if made.frame.stored is None else str(made.frame.stored)
    record = make_record(summary, digest=made.frame.digest, policy=policy.to_toml(), seed=seed, source=source)
    original = case.original
    counted = case.persons.several or original.shared is not None or original.context.earlier is not None
    if counted and case.owner is not None:
        # A release does not show whose its rows are. Later audits and later releases have to count people; next to
        # earlier releases, only people who are in it.
        record["owners"] = " ".join(map(str, case.owner.tolist()))
    card = card_of(case, policy, made.frame.columns, summary, seed=seed, recoded=recoded)
    return Result(**parts, record=record, card=card)


def _collect_notes(made: Made, release: Release, recoded: Sequence[str]) -> list[str]:
    """Return what the owner of the data should know about a release, and how its method got there."""
    case, facts = made.case, release.facts
    notes = [made.unserved] if made.unserved else []
    notes += find_unprotected(case.original, case.requirements)
    notes += all_in_one(case.original, case.requirements, case.published.public_classes)
    notes += false_losses(case) if release.relocated else []
    notes += [*case.notes_on_following, *made.tried.notes]
    notes += warn_of_rare_weights(case)
    notes += had_by_all(case.groups, case.requirements) if case.persons.followed else []
    if recoded:
        notes.append(f"codes for missing values became empty cells, as the policy says: {', '.join(recoded)}")
    notes += [facts["note"]] if "note" in facts else []
    notes += [cost_in_words(facts)] if UNIFORM in facts else []
    notes += [facts["choice"]] if "choice" in facts else []
    return notes
