"""All of `shoal.anonymize`: a verified release in memory, or on disk with its papers. Its steps: `steps.py`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal import io
from shoal.documents.codebook.codebook_files import (
    CARD_LABELS,
    check_codebook_paths,
    codebook_text,
    labels_markdown,
)
from shoal.documents.codebook.describe import listed_only
from shoal.engines.spark import SPARK, is_spark_frame
from shoal.errors import OutputError
from shoal.io.databases import DatabaseTable
from shoal.pipeline.describe_result import describe_result
from shoal.pipeline.destinations import ToFiles, ToFrames
from shoal.pipeline.plan import Plan
from shoal.pipeline.steps import Made, make_release
from shoal.policy import Policy
from shoal.policy.sources import apart, inputs_of
from shoal.release.pseudonyms import PSEUDONYM
from shoal.release.record import card_text
from shoal.release.results import Clock, Result
from shoal.release.two_tables import second_path
from shoal.support.run import Progress, Run, checked_seed, silent


def anonymize(
    source: Any,
    policy: Policy | str | Path | None = None,
    *,
    population: Any = None,
    seed: int | None = None,
    progress: Progress = silent,
    **keywords: Any,
) -> Result:
    """Turn a table into a verified release.

    `source` is a path or a polars, pandas, pyarrow or Spark frame; `table` of the result is of the same kind. `policy`
    is a `Policy`, its path, or absent: then keywords make it, ``quasi=["age", "zip"], sensitive=["disease"], k=5``.
    `population`, a path or a frame too, is everybody who could be in the table, for guarantees about who is in it.
    Raises InfeasibleError, before the work starts, if no release can satisfy the policy, LimitError if this method
    finds none although another may, and ViolationError if the release that was made does not.
    """
    clock = Clock()
    seed = checked_seed(seed)
    population, keywords = apart(population, keywords)
    chosen = Policy.given(policy, keywords)
    if on_spark(source, chosen):
        return _anonymize_on_spark(source, chosen, population, seed, progress, clock)
    shown = ToFrames()
    plan, run = Plan.of(chosen), Run.start(seed, progress, chosen.engine.division)
    made = make_release(plan, source, population, shown, run, clock)
    table, second = shown.given
    return describe_result(made, chosen, table, second, seed, clock)


def anonymize_file(
    source: str | Path | DatabaseTable, policy: Policy, output: Path | DatabaseTable, **options: Any
) -> Result:
    """Turn a file into a verified release on disk; `options` are those of `make_files`."""
    return make_files(source, policy, output, **options)[0]


def make_files(
    source: str | Path | DatabaseTable,
    policy: Policy,
    output: Path | DatabaseTable,
    *,
    record: Path | None = None,
    cards: Sequence[Path] = (),
    codebooks: Sequence[Path] = (),
    keys: Path | None = None,
    spare: Sequence[Path] = (),
    seed: int | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> tuple[Result, Made]:
    """Turn a file into a verified release on disk, with its record, cards and codebooks. Nothing is written unless it
    satisfies the policy, and never over the data or over files to `spare`, such as the policy's. `keys` is where the
    private key table of pseudonyms goes; without it nobody can go back from them to identifiers.

    If a method publishes two tables, the second goes next to `output`: ``out-sensitive.csv`` next to ``out.csv``.
    Tables in a database are written in one transaction. Also returned is the release with its original as it was read.
    """
    if on_spark(source, policy):
        papers_of_spark = (record, cards, codebooks, keys)
        return _anonymize_file_on_spark(source, policy, output, papers_of_spark, spare, seed, force, progress)
    plan = Plan.of(policy)
    outputs: list[tuple[Path | DatabaseTable, str]] = [(output, "the release")]
    if plan.method.shows.two_tables:
        outputs.append((second_path(output), "the release, its second table"))
    papers = [
        *((path, "a card") for path in cards),
        *((path, "a codebook") for path in codebooks),
        *([(record, "the record")] if record else []),
        *([(keys, "the key table")] if keys else []),
    ]
    if keys is not None and not policy.pseudonyms:
        raise OutputError(f'{keys}: there are no keys, because no column has publish = "{PSEUDONYM}"')
    check_codebook_paths(codebooks, output)
    # First what not even --force allows, so that nobody is advised to use it in vain.
    own = dict.fromkeys(spare, "the policy") | {source: "the data"}
    io.check_apart(inputs_of(policy) | own, [*outputs, *papers])
    for place, _ in outputs:
        io.check_publishable(place, force=force)
    for path, _ in papers:
        io.check_writable(path, force=force, table=False)
    clock = Clock()
    with io.Outbox(force=force) as box:
        run = Run.start(seed, progress, policy.engine.division)
        made = make_release(plan, source, None, ToFiles(box, output, policy), run, clock)
        notes = [*box.notes, *(_before_codebooks(made, policy) if codebooks else ())]
        result = describe_result(made, policy, made.case.sheet, made.case.second, seed, clock, notes)
        if record:
            box.write_text(record, json.dumps(result.record, indent=2) + "\n")
        if keys is not None and result.keys is not None:
            box.write_text(keys, result.keys.write_csv())
        for path in cards:
            box.write_text(
                path,
                card_text(
                    result.card, path, labels=lambda: labels_markdown(result.describe(most=CARD_LABELS))
                ),
                private=False,
            )
        for path in codebooks:
            box.write_text(
                path,
                codebook_text(
                    result.codebook,
                    path,
                    output if isinstance(output, Path) else None,
                    for_publication=result.record["for_publication"],
                ),
                private=False,
            )
    progress("done", 1.0)
    return result, made


def on_spark(source: Any, policy: Policy) -> bool:
    """Return whether Spark does the work: the policy says so, or it has the table."""
    return policy.engine.name == SPARK or is_spark_frame(source)


def _anonymize_on_spark(
    source: Any, policy: Policy, population: Any, seed: int | None, progress: Progress, clock: Clock
) -> Result:
    from shoal.engines.spark.make_release import made
    from shoal.engines.spark.unsupported import refuse_population

    refuse_population(population)
    with made(source, policy, None, Run.start(seed, progress), clock) as found:
        result = describe_result(_of_spark(found), policy, found.table, None, seed, clock)
    progress("done", 1.0)
    return result


def _anonymize_file_on_spark(
    source: Any,
    policy: Policy,
    output: Any,
    papers: tuple[Path | None, Sequence[Path], Sequence[Path], Path | None],
    spare: Sequence[Path],
    seed: int | None,
    force: bool,
    progress: Progress,
) -> tuple[Result, Made]:
    """Write a folder of files, and its record and cards. The release appears last."""
    from shoal.engines.spark.make_release import made
    from shoal.engines.spark.unsupported import refuse_papers

    record, cards, codebooks, keys = papers
    refuse_papers(codebooks, keys)
    texts = [*((path, "a card") for path in cards), *([(record, "the record")] if record else [])]
    io.check_apart(
        inputs_of(policy) | dict.fromkeys(spare, "the policy") | {source: "the data"},
        [(output, "the release"), *texts],
    )
    for path, _ in texts:
        io.check_writable(path, force=force, table=False)
    clock = Clock()
    with made(source, policy, output, Run.start(seed, progress), clock, force=force) as found:
        result = describe_result(_of_spark(found), policy, found.table, None, seed, clock, found.notes)
        with io.Outbox(force=force) as box:
            if record:
                box.write_text(record, json.dumps(result.record, indent=2) + "\n")
            for path in cards:
                box.write_text(path, card_text(result.card, path), private=False)
    progress("done", 1.0)
    # Its rows were read under a temporary name, which is gone.
    whole = result if found.appeared is None else replace(result, shown=found.appeared())
    return whole, _of_spark(found)


def _of_spark(found: Any) -> Made:
    return Made(found.case, found.frame, None, found.unserved)


def _before_codebooks(made: Made, policy: Policy) -> list[str]:
    """Return what the owner of the data should know before a codebook is published."""
    owner = made.case.owner
    return [] if owner is None else listed_only(made.case.original, owner, policy)
