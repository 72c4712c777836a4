"""The work of making a release: what ``shoal anonymize`` and ``shoal report`` do, and the rows side by side."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from shoal.apps.studio.job_worker import Line
from shoal.apps.studio.look.current_release import BESIDE, CARDS, CODEBOOKS, KEYS, RECORD, SUPPRESSED, Made
from shoal.coding import CodedTable
from shoal.coding.population import members_of
from shoal.documents.report.build_report import Study
from shoal.documents.report.report_parts import SignOff
from shoal.documents.report.subject import subject_of
from shoal.io import Frame
from shoal.io.databases import DatabaseTable
from shoal.judging.measures import MEASURES
from shoal.pipeline.anonymize import Outputs, make_files
from shoal.policy import Policy
from shoal.release.render import render
from shoal.release.results import Result, plain


def release(
    line: Line, *, source: str | Path | DatabaseTable, policy: str, base: Path, output: str, keys: bool
) -> Made:
    """Make a release with its papers in the job's folder, then look at it: rows side by side, and a private report."""
    chosen, folder = Policy.from_toml(policy, base), line.folder

    def first(stage: str, share: float) -> None:
        line.progress(stage, 0.6 * share)

    def second(stage: str, share: float) -> None:
        line.progress(f"look: {stage}", 0.65 + 0.35 * share)

    outputs = Outputs(
        folder / output, record=folder / RECORD, cards=[folder / name for name in CARDS],
        codebooks=[folder / name for name in CODEBOOKS], keys=folder / KEYS if keys else None,
    )  # fmt: skip
    result, made = make_files(source, chosen, outputs, progress=first)
    line.note(result.summary())
    line.progress("look: rows side by side", 0.62)
    table = made.case.original
    columns = write_beside(made.frame, table, chosen, result, folder / BESIDE)
    subject = subject_of(result, chosen, table, made.frame.digest)
    seen = Study.of(subject, None, SignOff(), second).report("private", second)
    summary = result.summary()
    return Made(
        folder=folder, output=output, policy=policy, summary=summary, columns=columns, sections=seen.sections,
        conclusion=seen.conclusion, loss=plain(summary["measures"].get(MEASURES.default)), smallest=seen.smallest,
        risk_before=seen.risk_before, risk=seen.risk_after,
    )  # fmt: skip


def write_beside(frame: Frame, table: CodedTable, policy: Policy, result: Result, path: Path) -> list[str]:
    """Write each row of the original beside the cells that the release shows of it, which are empty if it is
    suppressed; return the names of the columns.

    In the file columns have numbers instead of names: ``a0, a1, .., b0, b1, .., suppressed``.
    """
    rendered = render(table, result.release)
    data = frame.data
    if policy.population is not None and policy.population.column is not None:
        data = data.filter(pl.Series(members_of(frame, policy.population.column)))
    place = np.full(table.rows, -1, np.int64)
    place[rendered.owner] = np.arange(len(rendered.owner))
    where = pl.Series(place).replace(-1, None)
    names = [name for name in frame.columns if name in rendered.rows.columns]
    columns = [_texts(data[name]).alias(f"a{at}") for at, name in enumerate(names)]
    columns += [_texts(rendered.rows[name]).gather(where).alias(f"b{at}") for at, name in enumerate(names)]
    pl.DataFrame([*columns, pl.Series(SUPPRESSED, place < 0)]).write_parquet(path)
    return names


def _texts(column: pl.Series) -> pl.Series:
    if column.dtype == pl.List:
        return pl.Series(
            column.name, [None if cell is None else str(cell.to_list()) for cell in column], pl.String
        )
    return column.cast(pl.String, strict=False)
