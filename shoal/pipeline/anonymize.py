"""All of `shoal.anonymize`: a verified release in memory, or on disk with its papers. Its steps: `steps.py`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
from shoal.engines.engine import Engine
from shoal.errors import OutputError
from shoal.io.databases import DatabaseTable
from shoal.pipeline.describe_result import describe_result
from shoal.pipeline.plan import Plan
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
    source: str | Path | DatabaseTable,
    policy: Policy,
    output: Path | DatabaseTable,
    *,
    seed: int | None = None,
    progress: Progress = silent,
    **others: Any,
) -> Result:
    """Turn a file into a verified release on disk; `others` are what else `Outputs` can have."""
    return make_files(source, policy, Outputs(output, **others), seed, progress)[0]


@dataclass(frozen=True, eq=False)
class Outputs:
    """What is written, and where: a release with its record, cards and codebooks."""

    release: Path | DatabaseTable
    """If a method publishes two tables, the second goes next to it: ``out-sensitive.csv`` next to ``out.csv``."""
    record: Path | None = None
    cards: Sequence[Path] = ()
    codebooks: Sequence[Path] = ()
    keys: Path | None = None
    """The private key table of pseudonyms; without it nobody can go back from them to identifiers."""
    spare: Sequence[Path] = ()
    """Files that are never replaced, such as the policy's."""
    force: bool = False
    """Replace files that exist."""

    def check(self, engine: Engine, plan: Plan) -> None:
        """Raise OutputError if something cannot be written, before the work."""
        tables: list[tuple[Path | DatabaseTable, str]] = [(self.release, "the release")]
        if plan.method.shows.two_tables:
            tables.append((second_path(self.release), "the release, its second table"))
        papers = [
            *((path, "a card") for path in self.cards),
            *((path, "a codebook") for path in self.codebooks),
            *([(self.record, "the record")] if self.record else []),
            *([(self.keys, "the key table")] if self.keys else []),
        ]
        policy = engine.policy
        if self.keys is not None and not policy.pseudonyms:
            raise OutputError(
                f'{self.keys}: there are no keys, because no column has publish = "{PSEUDONYM}"'
            )
        check_codebook_paths(self.codebooks, self.release)
        # First what not even --force allows, so that nobody is advised to use it in vain.
        own = dict.fromkeys(self.spare, "the policy") | {engine.source: "the data"}
        io.check_apart(inputs_of(policy) | own, [*tables, *papers])
        engine.check_outputs([place for place, _ in tables], self.codebooks, self.keys)
        for path, _ in papers:
            io.check_writable(path, force=self.force, table=False)

    def write_papers(self, box: io.Outbox, result: Result, made: Made) -> None:
        """Write what describes a release."""
        if self.record:
            box.write_text(self.record, json.dumps(result.record, indent=2) + "\n")
        if self.keys is not None and result.keys is not None:
            box.write_text(self.keys, result.keys.write_csv())

        def labels() -> str:
            seen = made.case.original.rows_known  # otherwise the rows are elsewhere, with their labels
            return labels_markdown(result.describe(most=CARD_LABELS)) if seen else ""

        for path in self.cards:
            box.write_text(path, card_text(result.card, path, labels), private=False)
        file = self.release if isinstance(self.release, Path) else None
        public = result.record["for_publication"]
        for path in self.codebooks:
            text = codebook_text(result.codebook, path, file, for_publication=public)
            box.write_text(path, text, private=False)


def make_files(
    source: str | Path | DatabaseTable,
    policy: Policy,
    outputs: Outputs,
    seed: int | None = None,
    progress: Progress = silent,
) -> tuple[Result, Made]:
    """Turn a file into a verified release on disk, with its record, cards and codebooks. Nothing is written unless it
    satisfies the policy, and never over the data or over files to spare.

    Tables in a database are written in one transaction. Also returned is the release with its original as it was read.
    """
    engine = engine_of(policy, source)(
        policy, source, output=outputs.release, force=outputs.force, seed=seed, progress=progress
    )
    plan = engine.plan()
    outputs.check(engine, plan)
    with engine.open():
        made = make_release(engine, plan)
        notes = [*engine.notes, *(_before_codebooks(made, policy) if outputs.codebooks else ())]
        result = describe_result(made, policy, engine.tables(made.case), seed, engine.clock, notes)
        outputs.write_papers(engine.papers, result, made)
    progress("done", 1.0)
    return replace(result, shown=engine.tables(made.case)[0]), made


def _before_codebooks(made: Made, policy: Policy) -> list[str]:
    """Return what the owner of the data should know before a codebook is published."""
    owner = made.case.owner
    return [] if owner is None else find_listed_only(made.case.original, owner, policy)
