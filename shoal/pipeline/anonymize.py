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
from shoal.documents.codebook.describe import find_listed_only
from shoal.engines import engine_of
from shoal.errors import OutputError
from shoal.io.databases import DatabaseTable
from shoal.pipeline.describe_result import describe_result
from shoal.pipeline.steps import Made, make_release
from shoal.policy import Policy
from shoal.policy.sources import apart, inputs_of
from shoal.release.pseudonyms import PSEUDONYM
from shoal.release.record import card_text
from shoal.release.results import Clock, Result
from shoal.release.two_tables import second_path
from shoal.support.run import Progress, check_seed, silent


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
    seed = check_seed(seed)
    population, keywords = apart(population, keywords)
    chosen = Policy.given(policy, keywords)
    engine = engine_of(chosen, source)(chosen, source, population, seed=seed, progress=progress, clock=clock)
    plan = engine.plan()
    with engine.open():
        made = make_release(engine, plan)
        return describe_result(made, chosen, engine.tables(made.case), seed, clock)


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
    engine = engine_of(policy, source)(
        policy, source, output=output, force=force, seed=seed, progress=progress
    )
    plan = engine.plan()
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
    engine.check_outputs([place for place, _ in outputs], codebooks, keys)
    for path, _ in papers:
        io.check_writable(path, force=force, table=False)
    with engine.open():
        made, box = make_release(engine, plan), engine.papers
        notes = [*engine.notes, *(_before_codebooks(made, policy) if codebooks else ())]
        result = describe_result(made, policy, engine.tables(made.case), seed, engine.clock, notes)
        if record:
            box.write_text(record, json.dumps(result.record, indent=2) + "\n")
        if keys is not None and result.keys is not None:
            box.write_text(keys, result.keys.write_csv())

        def labels() -> str:
            seen = made.case.original.rows_known  # otherwise the rows are elsewhere, with their labels
            return labels_markdown(result.describe(most=CARD_LABELS)) if seen else ""

        for path in cards:
            box.write_text(path, card_text(result.card, path, labels), private=False)
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
    return replace(result, shown=engine.tables(made.case)[0]), made


def _before_codebooks(made: Made, policy: Policy) -> list[str]:
    """Return what the owner of the data should know before a codebook is published."""
    owner = made.case.owner
    return [] if owner is None else find_listed_only(made.case.original, owner, policy)
