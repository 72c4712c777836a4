"""The whole pipeline: read, encode, anonymize, render, shuffle, write, read back, verify, measure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import polars as pl

from shoal import io
from shoal.coding import CodedTable
from shoal.coding.column_plan import bound_names
from shoal.documents.card import card_of
from shoal.documents.codebook.book import Codebook
from shoal.documents.codebook.codebook_files import (
    CARD_LABELS,
    check_codebook_paths,
    codebook_text,
    labels_markdown,
)
from shoal.documents.codebook.describe import codebook, listed_only
from shoal.engines.spark import SPARK, is_spark_frame
from shoal.errors import InfeasibleError, LimitError, OutputError, ViolationError
from shoal.io import Frame
from shoal.io.databases import DatabaseTable
from shoal.io.sheet import Sheet
from shoal.judging.case import SUPPRESSION_MEANING as SUPPRESSION_MEANING
from shoal.judging.case import Case, domain_sizes
from shoal.judging.measures.evaluate import false_losses
from shoal.judging.models.feasibility import all_in_one, had_by_all, left_out, reasons_against, unprotected
from shoal.judging.models.requirements import Requirements
from shoal.methods.alternatives import instead
from shoal.methods.cell_suppression import reads_well
from shoal.methods.followed_rows import alike
from shoal.methods.method import Method
from shoal.methods.uniform import UNIFORM, cost_in_words, proposed
from shoal.pipeline.comparison.auto import method_of
from shoal.pipeline.comparison.portfolio import with_method
from shoal.policy import Policy
from shoal.policy.sources import apart, inputs_of
from shoal.release import Release
from shoal.release.perturbed_columns import check_perturbed, perturbed
from shoal.release.pseudonyms import PSEUDONYM, Pseudonyms
from shoal.release.received.read_earlier import encode_whole
from shoal.release.record import NOT_FOR_PUBLICATION, card_text, make_record
from shoal.release.render import Rendered, render, shuffled
from shoal.release.results import Clock, Result
from shoal.release.two_tables import second_path
from shoal.release.verdict import Verdict, shortfalls
from shoal.support.arrays import IntVector
from shoal.support.brief import Brief
from shoal.support.machine.threads import Ahead
from shoal.support.run import Progress, Run, checked_seed, silent

KERNELS = "shoal.kernels.preparing"
"""What imports numba."""


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
    shown = _ToFrames()
    made = _make(source, chosen, seed, progress, clock, shown, population)
    table, second = shown.given
    return _result(made, chosen, table, second, seed, clock)


def anonymize_file(
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
) -> Result:
    """Turn a file into a verified release on disk, with its record, cards and codebooks. Nothing is written unless it
    satisfies the policy, and never over the data or over files to `spare`, such as the policy's. `keys` is where the
    private key table of pseudonyms goes; without it nobody can go back from them to identifiers.

    If a method publishes two tables, the second goes next to `output`: ``out-sensitive.csv`` next to ``out.csv``.
    Tables in a database are written in one transaction.
    """
    if on_spark(source, policy):
        papers_of_spark = (record, cards, codebooks, keys)
        return _anonymize_file_on_spark(source, policy, output, papers_of_spark, spare, seed, force, progress)
    outputs: list[tuple[Path | DatabaseTable, str]] = [(output, "the release")]
    if method_of(policy).two_tables:
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
        made = _make(source, policy, seed, progress, clock, _ToFiles(box, output, policy))
        notes = [*box.notes, *(_before_codebooks(made, policy) if codebooks else ())]
        result = _result(made, policy, made.case.sheet, made.case.second, seed, clock, notes)
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
    return result


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
        result = _result(_of_spark(found), policy, found.table, None, seed, clock)
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
) -> Result:
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
        result = _result(_of_spark(found), policy, found.table, None, seed, clock, found.notes)
        with io.Outbox(force=force) as box:
            if record:
                box.write_text(record, json.dumps(result.record, indent=2) + "\n")
            for path in cards:
                box.write_text(path, card_text(result.card, path), private=False)
    progress("done", 1.0)
    # Its rows were read under a temporary name, which is gone.
    return result if found.appeared is None else replace(result, table=found.appeared())


def _of_spark(found: Any) -> _Made:
    return _Made(found.case, found.frame, None, found.unserved)


def _before_codebooks(made: _Made, policy: Policy) -> list[str]:
    """Return what the owner of the data should know before a codebook is published."""
    owner = made.case.owner
    return [] if owner is None else listed_only(made.case.original, owner, policy)


class _Way(Protocol):
    """How a release reaches its readers."""

    def check(self, table: CodedTable, policy: Policy, *, exact: bool) -> None:
        """Raise OutputError, before the work, if values that will be published cannot be. `exact`: also those of the
        quasi-identifiers will be.
        """

    def publish(self, rows: Sheet, frame: Frame, *, second: bool = False) -> Sheet:
        """Publish a table, and return what its readers see, or raise OutputError."""


class _ToFrames:
    """Gives frames of the kind that was given."""

    def __init__(self) -> None:
        self.given: list[Any] = [None, None]

    def check(self, table: CodedTable, policy: Policy, *, exact: bool) -> None:
        """Frames hold whatever came in a frame."""

    def publish(self, rows: Sheet, frame: Frame, *, second: bool = False) -> Sheet:
        """Convert a table, and return what was converted."""
        self.given[second], seen = io.converted(frame, rows.whole())
        return Sheet.of(seen)


@dataclass(frozen=True)
class _ToFiles:
    """Writes files that do not have their names yet."""

    box: io.Outbox
    output: Path | DatabaseTable
    policy: Policy

    def check(self, table: CodedTable, policy: Policy, *, exact: bool) -> None:
        """Refuse values that the format cannot hold. Generalized values are text, so they do not count."""
        shown = {
            name: column if isinstance(column, pl.Series) else column.values
            for name, column in table.kept_columns.items()
        }
        if exact:
            for index, attribute in enumerate(table.attributes):
                there = np.flatnonzero(table.value_counts[index])
                shown[attribute.name] = attribute.hierarchy.values(there.astype(np.int32))
        io.check_holds(
            self.output,
            [pl.DataFrame({name: shown[name]}) for name in table.columns if name in shown],
            sensitive=[attribute.name for attribute in table.sensitive],
            columns=table.shown_columns,
            rows=max(1, table.rows - int(policy.utility.suppression * table.rows)),
        )

    def publish(self, rows: Sheet, frame: Frame, *, second: bool = False) -> Sheet:
        """Write a table, and return it as it is read from the disk."""
        path = second_path(self.output) if second else self.output
        options = replace(frame.options, escape_formulas=self.policy.release.escape_formulas)
        return self.box.publish_sheet(rows, path, options=options)


@dataclass(frozen=True, eq=False, repr=False)
class _Made(Brief):
    """A verified release. Its files do not have their names yet."""

    case: Case
    """The release as its readers see it, shuffled."""
    frame: Frame
    pseudonyms: Pseudonyms | None
    """The tokens that stand for identifiers, if the policy publishes any."""
    unserved: str
    """The blocks that generalization limits leave without a release, in words."""


def _make(
    source: Any,
    policy: Policy,
    seed: int | None,
    progress: Progress,
    clock: Clock,
    way: _Way,
    population: Any = None,
) -> _Made:
    run = Run.start(seed, progress, policy.engine.division)
    method = method_of(policy)
    Ahead(partial(import_module, KERNELS))  # the method needs them only after the table was read
    progress("read", 0.0)
    with clock("read"):
        frame = io.read(policy.source(source), policy.read_options())
    progress("encode", 0.1)
    with clock("encode"):
        table = encode_whole(frame, policy, population)
        check_perturbed(table, policy.perturbed)
        way.check(table, policy, exact=method.shows_exact)
    release = _proposed(policy, method, table, run, clock)
    progress("write", 0.8)
    with clock("write"):
        tokens = Pseudonyms() if policy.pseudonyms else None
        random = run.random.spawn(1)[0]  # whatever the search has drawn
        changed = perturbed(table, release, policy.perturbed, random, frame.as_shown)
        rendered = shuffled(render(table, release, tokens, changed), random)
        seen: Any = way.publish(
            rendered.sheet.with_values(partial(_typed, frame, table, rendered.owner)), frame
        )
        second = rendered.second
        if second is not None:
            typed = Sheet.of(second).with_values(partial(_typed, frame, table, rendered.owner))
            second = way.publish(typed, frame, second=True).whole()
        rendered = Rendered(seen, rendered.owner, rendered.bucket, second)
    progress("verify", 0.85)
    with clock("verify"):
        case = Case.made(policy, table, release, rendered)
        failing = case.failing
    if failing:
        raise ViolationError(_violations(failing))
    unserved = left_out(table, case.requirements.in_table(table)) if method.heeds_limits else ""
    progress("measure", 0.9)
    with clock("measure"):
        _ = case.measures, case.losses
    return _Made(case, frame, tokens, unserved)


def _typed(frame: Frame, table: CodedTable, owner: IntVector, values: pl.Series) -> pl.Series:
    """Return what a column shows in the type that it has in the release; tokens are no values."""
    ends = {end: own.name for own in table.attributes if own.bounds for end in bound_names(own.name)}
    is_token = table.named is not None and values.name in table.named.columns
    return values if is_token else frame.as_shown(values, ends.get(values.name, values.name), owner)


def propose(policy: Policy, method: Method, table: CodedTable, run: Run) -> Case:
    """Let a method make a release, and read its rows as a case, in memory. Takes as long as the method.

    Raises InfeasibleError if no release can satisfy the policy, and LimitError if this method finds none.
    """
    release = _proposed(policy, method, table, run, Clock())
    run.progress("verify", 0.8)
    return Case.made(policy, table, release)


def _proposed(policy: Policy, method: Method, table: CodedTable, run: Run, clock: Clock) -> Release:
    requirements = policy.requirements(table.sensitive).in_table(table)
    method.prepare(table, requirements, run)
    # Rows of a block may be alike in values that other rows of the same people are not, if these can be followed.
    limits = method.heeds_limits and not (table.followed and table.person is not None)
    reasons = reasons_against(table, requirements, limits=limits)
    if reasons:
        raise InfeasibleError("\n".join(reasons))
    run.progress("anonymize", 0.2)
    with clock("anonymize"):
        try:
            release = proposed(method, table, requirements, run)
            _check_alike(table, requirements, release)
            return release
        except LimitError as error:
            advice = error.instead or instead(method, table, requirements)
            raise LimitError(error.message, advice) from None


def _check_alike(table: CodedTable, requirements: Requirements, release: Release) -> None:
    """Refuse classes that read alike if they do not satisfy the requirements together. Where people have several rows,
    two classes may each satisfy a rule about shares, and their union may not.
    """
    if table.owners is None or requirements.monotone(table):
        return
    if not (alike if table.followed else reads_well)(table, requirements, release):
        asked = " and ".join(model.title for model in requirements.group_models)
        raise LimitError(
            f"some classes satisfy {asked}, but they read like others, and together with these they do not: people "
            "with rows in both count once"
        )


def _result(
    made: _Made,
    policy: Policy,
    table: Any,
    second: Any,
    seed: int | None,
    clock: Clock,
    told: Sequence[str] = (),
) -> Result:
    notes = [*([] if seed is None else [NOT_FOR_PUBLICATION]), *told]
    notes += [made.unserved] if made.unserved else []
    case, release = made.case, made.case.release
    assert release is not None
    notes += unprotected(case.original, case.requirements)
    notes += all_in_one(case.original, case.requirements, case.published.told_classes)
    notes += false_losses(case) if release.relocated else []
    notes += case.following
    notes += case.sampled.rare_weights
    notes += had_by_all(case.groups, case.requirements) if case.follow is not None else []
    recoded = [name for name, own in made.frame.options.columns.items() if own.null_values]
    if recoded:
        notes.append(f"codes for missing values became empty cells, as the policy says: {', '.join(recoded)}")
    facts = release.facts
    notes += [facts["note"]] if "note" in facts else []
    if UNIFORM in facts:
        notes.append(cost_in_words(facts))
    if "choice" in facts:
        # The chosen method is what was applied, and what a rerun should apply.
        notes.append(facts["choice"])
        policy = with_method(policy, facts["method"], facts["options"])

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
        "classes": case.published.told_classes,
        "buckets": case.published.buckets,
        "verdicts": case.verdicts,
        "measures": case.measures,
        "losses": case.losses,
        "seconds": clock.seconds,
        "notes": tuple(notes),
        "table": table,
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
    counted = case.of_people or case.original.owners is not None or case.original.earlier is not None
    if counted and case.owner is not None:
        # A release does not show whose its rows are. Later audits and later releases have to count people; next to
        # earlier releases, only people who are in it.
        record["owners"] = " ".join(map(str, case.owner.tolist()))
    card = card_of(case, policy, made.frame.columns, summary, seed=seed, recoded=recoded)
    return Result(**parts, record=record, card=card)


def _violations(failing: Sequence[Verdict]) -> str:
    lines = ["the release does not satisfy its policy, so it was not written", *shortfalls(failing)]
    if any(verdict.model.endswith("-presence") for verdict in failing):
        lines.append("  bounds on presence: only spalm, mpalm, hybrid and permute-generalize search for them")
    return "\n".join(lines)
