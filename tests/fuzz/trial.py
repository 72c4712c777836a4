"""One case through the public verbs: write the table, anonymize, check what left, audit and attack it."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import polars as pl

import shoal
from shoal.errors import ShoalError
from shoal.io.formats import file_format_of
from shoal.judging.attacks import ATTACKS
from shoal.methods import METHODS
from shoal.pipeline.anonymize import anonymize_file
from shoal.release.perturbing import PERTURBATIONS
from shoal.release.two_tables import second_path
from tests.fuzz.added import without_added
from tests.fuzz.cases import FRAMES, Case
from tests.oracles.checker import readers
from tests.oracles.checker.cells import letters
from tests.oracles.checker.checks import Released, problems, secrets
from tests.oracles.checker.readers import Cells

AUDITED = 0.1
"""The share of releases that are also audited: an audit takes as long as a release."""
ATTACKED = 0.05
INTACT = ("bucketization", "anatomy")
"""Methods that shuffle sensitive values only."""


@dataclass
class Outcome:
    """What became of a case."""

    number: int
    method: str
    question: str
    target: str
    status: str = "released"
    """released, refused or failed"""
    reason: str = ""
    problems: list[str] = field(default_factory=list)
    audited: bool = False
    attacked: str = ""
    suppressed: int = 0
    kinds: tuple[str, ...] = ()
    ascending: tuple[int, int] = (0, 0)
    """Neighbours in the order of the original, and all neighbours: half of them, if rows were shuffled."""


def tried(case: Case, folder: Path, *, thorough: bool = False) -> Outcome:
    """Run a case; whatever the package raises is an outcome."""
    random = Random(case.release_seed)
    out = Outcome(
        case.number,
        str(case.method["name"]),
        case.question.name,
        case.target,
        kinds=tuple(column.kind for column in case.of_role("quasi") if column.kind),
    )
    for old in folder.iterdir():
        old.unlink()
    stage = "anonymize"
    try:
        source = write_source(case, folder)
        policy = shoal.Policy.from_dict(case.policy, folder)
        result = _anonymized(case, policy, source, folder)
        stage = "read"
        whole, second = _read(case, result, folder)
        table, added = without_added(case, whole)
        stage = "check"
        released = Released(
            case.asked(bucket=_bucket(case, result, table), **_more(case, result, source)),
            original_rows(case)[: case.rows - case.others],
            table,
            second,
            original_rows(case) if case.others else (),
        )
        out.suppressed = len(released.original) - len(table.rows)
        out.ascending = _ascending(released)
        out.problems += added
        out.problems += problems(released)
        out.problems += _told(released, result)
        target: Any = folder / f"out{case.target}" if case.target not in FRAMES else result.table
        if thorough or random.random() < AUDITED:
            stage = "audit"
            out.audited = True
            second_table = result.second if case.target in FRAMES else None
            judged = shoal.audit(target, policy, original=source, second=second_table, record=result.record)
            out.problems += _disagreements(case, result, judged)
        if thorough or random.random() < ATTACKED:
            stage = "attack"
            out.attacked = random.choice(list(ATTACKS))
            shoal.attack(
                target, policy, original=source, second=result.second if case.target in FRAMES else None,
                name=out.attacked, seed=1,
            )  # fmt: skip
    except ShoalError as error:
        if stage == "anonymize":
            out.status, out.reason = "refused", reason_of(error, [column.name for column in case.columns])
        elif stage == "audit":
            out.problems.append(f"audit: refused what anonymize published: {error}")
        elif stage == "check":
            raise
    except Exception as error:  # whatever it is, it is a crash of the package or of the checker
        out.problems.append(f"crash in {stage}: {type(error).__name__}: {str(error)[:300]}")
    if out.problems:
        out.status = "failed"
    return out


def reason_of(error: ShoalError, names: list[str]) -> str:
    """Return a refusal without its numbers and names, so that equal reasons can be counted."""
    message = str(error)
    for name in sorted(names, key=len, reverse=True):
        for around in ("`{}`", "'{}'", " of {}:", " of {} ", " for {} ", " and {} "):
            message = message.replace(around.format(name), around.format(".."))
    lines = message.splitlines()
    text = lines[1].strip() if len(lines) > 1 and lines[0].endswith("in the policy") else lines[0]
    text = re.sub(r"'[^']*'|\"[^\"]*\"", "'..'", text)
    text = re.sub(r"^\S*columns\.\S+?:|columns\.[^:]*:", "columns..:", text)
    text = re.sub(r"/\S+", "<path>", text)
    return f"{type(error).__name__}: {re.sub(r'-?[0-9][0-9.,]*', 'N', text)[:90]}"


# The table ----------------------------------------------------------------------------------------------------


def original_rows(case: Case) -> list[dict[str, Any]]:
    """Return the table as the checker knows it: what a reader of the source sees."""
    null = set(case.data.get("null_values", ()))
    columns = {}
    for column in case.columns:
        if column.role == "member":
            continue
        values = column.values
        if case.untyped:
            null_too = null | {""}
            values = [None if isinstance(value, str) and value in null_too else value for value in values]
        if case.source == "pandas" and column.type in ("odd float", "float", "half", "float32"):
            values = [None if value is not None and math.isnan(value) else value for value in values]
        columns[column.name] = values
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def write_source(case: Case, folder: Path) -> Any:
    """Write the table and its hierarchies; return its path, or the frame."""
    for column in case.columns:
        if column.file is not None:
            (folder / str(column.spec)).write_text(column.file, encoding="utf-8")
    frame = case.frame
    if case.source in FRAMES:
        return as_frame(case, frame)
    path = folder / f"in{case.source}"
    chosen = file_format_of(path)
    assert chosen is not None
    WRITERS[chosen.name](case, frame, path)
    return path


def as_frame(case: Case, frame: pl.DataFrame) -> Any:
    """Return the table as a frame of the case's kind."""
    if case.source == "polars-lazy":
        return frame.lazy()
    if case.source == "pyarrow":
        return frame.to_arrow()
    return _pandas(case, frame) if case.source == "pandas" else frame


def _pandas(case: Case, frame: pl.DataFrame) -> Any:
    """Return a pandas frame with labels that mean nothing, and nullable types where numbers have gaps."""
    import pandas as pd

    columns = {}
    for column in case.columns:
        gaps = any(value is None for value in column.values)
        nullable = {"bool": "boolean", "int": "Int64", "big int": "Int64", "small int": "UInt8"}.get(
            column.type
        )
        if nullable is not None and (gaps or case.number % 2):
            columns[column.name] = pd.array(column.values, dtype=nullable)
        else:
            dated = column.type == "date"
            columns[column.name] = (
                pd.Series(column.values, dtype=object) if dated else frame[column.name].to_pandas()
            )
    out = pd.DataFrame({name: pd.Series(values) for name, values in columns.items()})
    out.index = [7 * at % 1000 for at in range(len(out))]
    return out


def _write_text(case: Case, frame: pl.DataFrame, path: Path) -> None:
    tabs = path.name.removesuffix(".gz").endswith((".tsv", ".tab"))
    text = io.StringIO(newline="")
    writer = csv.writer(
        text,
        delimiter="\t" if tabs else case.data.get("delimiter", ","),
        quotechar=case.data.get("quote", '"'),
        lineterminator="\n",
    )
    if case.data.get("header", True):
        writer.writerow([column.name for column in case.columns])
    null = (*case.data.get("null_values", ()), "")[0]
    columns = [
        _notated(
            [None if value is None else str(letters(value)) for value in column.values],
            column.type,
            case.data,
        )
        for column in case.columns
    ]
    for row in zip(*columns, strict=True):
        writer.writerow([null if text is None else text for text in row])
    raw = text.getvalue().encode(case.data.get("encoding", "utf-8"))
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)


def _notated(texts: list[str | None], kind: str, data: Mapping[str, Any]) -> list[str | None]:
    """Write the fractions of a column with a decimal comma and its thousands in groups, if the policy says so.

    Where one of them has an exponent, all stay as they are: texts.
    """
    if data.get("decimal", ".") == "." or kind not in ("half", "float", "float32", "decimal"):
        return texts
    if not all(re.fullmatch(r"-?[0-9]+\.[0-9]+", text) for text in texts if text is not None):
        return texts
    found: list[str | None] = []
    for text in texts:
        whole, _, rest = (text or "").partition(".")
        grouped = re.sub(r"(?<=[0-9])(?=([0-9]{3})+$)", data.get("thousands", ""), whole)
        found.append(None if text is None else f"{grouped},{rest}")
    return found


def _write_json(case: Case, frame: pl.DataFrame, path: Path) -> None:
    names = [column.name for column in case.columns]

    def plain(value: Any) -> Any:
        return (
            value
            if value is None or isinstance(value, bool | int | float | str | list)
            else str(letters(value))
        )

    with path.open("w", encoding="utf-8") as file:
        for row in zip(*(column.values for column in case.columns), strict=True):
            file.write(json.dumps(dict(zip(names, map(plain, row), strict=True)), ensure_ascii=False) + "\n")


WRITERS: dict[str, Any] = {
    "csv": _write_text,
    "tsv": _write_text,
    "jsonl": _write_json,
    "excel": lambda case, frame, path: frame.write_excel(path, autofilter=False),
    "parquet": lambda case, frame, path: frame.write_parquet(path),
    "arrow": lambda case, frame, path: frame.write_ipc(path),
}
"""Format -> how the table is written; tests/oracles/checker reads what comes out."""


# The release --------------------------------------------------------------------------------------------------


def _anonymized(case: Case, policy: shoal.Policy, source: Any, folder: Path) -> shoal.Result:
    if case.source in FRAMES:
        return shoal.anonymize(source, policy, seed=case.release_seed)
    return anonymize_file(source, policy, folder / f"out{case.target}", seed=case.release_seed)


def _read(case: Case, result: shoal.Result, folder: Path) -> tuple[Cells, Cells | None]:
    """Read what left with other readers."""
    if case.source in FRAMES:
        return read_frame(result.table), None if result.second is None else read_frame(result.second)
    target = folder / f"out{case.target}"
    beside = second_path(target)
    return read_file(target), read_file(beside) if beside.exists() else None


def read_frame(frame: Any) -> Cells:
    """Read a frame of any kind."""
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, pl.DataFrame):
        return readers.from_polars(frame)
    return (
        readers.from_pandas(frame)
        if type(frame).__module__.startswith("pandas")
        else readers.from_arrow(frame)
    )


def read_file(path: Path) -> Cells:
    """Read a file by the ending of its name."""
    chosen = file_format_of(path)
    assert chosen is not None
    return readers.READERS[chosen.name](path)


def _bucket(case: Case, result: shoal.Result, table: Cells) -> str | None:
    """Return the column of buckets: the last one, if the method shows buckets."""
    kind = METHODS[str(case.method["name"])]
    return table.columns[-1] if kind.shows.buckets and result.buckets is not None else None


def _told(released: Released, result: shoal.Result) -> list[str]:
    """Look for secrets in the card and in the codebook, which are public; they have words and numbers of their own."""
    papers = {"card": json.dumps(result.card, ensure_ascii=False, default=str), "codebook": _codebook(result)}
    found = []
    for name, text in papers.items():
        table = Cells(released.table.columns, released.table.rows, [text])
        hidden = secrets(replace(released, table=table, second=None), words=True)
        found += [f"{name}: {problem}" for problem in hidden]
    for column in result.codebook.columns:
        rows = sum(label.rows for label in column.labels)
        if column.role == "quasi" and rows != len(released.table.rows):
            found.append(f"codebook: labels of {column.name!r} are those of {rows} rows")
    return found


def _codebook(result: shoal.Result) -> str:
    """Return the codebook without the values that the policy lists for nodes of trees, whatever the data has."""
    columns = [
        replace(column, labels=tuple(one for one in column.labels if one.meaning.codes is None))
        for column in result.codebook.by_name.values()
    ]
    return json.dumps([column.summary() for column in columns], ensure_ascii=False, default=str)


def _more(case: Case, result: shoal.Result, source: Any) -> dict[str, Any]:
    kept = [column.name for column in case.columns if column.role in ("sensitive", "plain", "weight")]
    types: dict[str, str] = {}
    typed = case.source in FRAMES or case.source in (".parquet", ".pq", ".arrow", ".feather", ".ipc")
    if typed and (
        case.target == case.source or case.target in (".parquet", ".pq", ".arrow", ".feather", ".ipc")
    ):
        own = read_frame(source if case.source in FRAMES else case.frame).types
        types = {name: own[name] for name in kept}
    return {"types": types, "together": result.card.get("shuffled_together") or _together(case)}


def _together(case: Case) -> list[list[str]] | None:
    """Return which columns a method shuffles as a unit within buckets, where its card does not say so."""
    if not METHODS[str(case.method["name"])].shows.buckets:
        return None
    quasi = [column.name for column in case.of_role("quasi")]
    alone = [[column.name] for column in case.of_role("sensitive")]
    intact = case.method["name"] in INTACT and not case.method.get("permute")
    return [quasi, *alone] if intact else [*([name] for name in quasi), *alone]


def _ascending(released: Released) -> tuple[int, int]:
    """Count neighbours that stand as in the original."""
    tag, table = released.asked.tag, released.table
    if tag is None or len(table.rows) < 2 or tag not in table.columns:
        return 0, 0
    place = {str(row[tag]): at for at, row in enumerate(released.original)}
    order = [place.get(str(letters(cell)).removesuffix(".0"), 0) for cell in table.column(tag)]
    return sum(a < b for a, b in itertools.pairwise(order)), len(order) - 1


# Audits -------------------------------------------------------------------------------------------------------


def _disagreements(case: Case, result: shoal.Result, judged: shoal.Audit) -> Iterator[str]:
    """Say where an audit of what left differs from what anonymize said of it."""
    for name in ("rows", "suppressed", "classes", "buckets"):
        ours, theirs = getattr(result, name), getattr(judged, name)
        if ours != theirs:
            yield f"audit: {name} {theirs}, anonymize said {ours}"
    said = {verdict.model: verdict for verdict in result.verdicts}
    perturbed = {
        f"{name} {PERTURBATIONS[way].given(amount).title}" for name, (way, amount) in case.perturbed.items()
    }
    for verdict in judged.verdicts:
        own = said.get(verdict.model)
        if verdict.holds is None or (
            verdict.holds and verdict.reached is None
        ):  # not checked, or not counted
            continue
        if not verdict.holds:
            yield f"audit: {verdict.model} does not hold, reached {verdict.reached} ({verdict.detail})"
        elif verdict.reached is None and verdict.model in perturbed:
            continue  # Whose row is whose is known to the maker alone.
        elif own is not None and not _close(own.reached, verdict.reached):
            yield f"audit: {verdict.model} reached {verdict.reached}, anonymize said {own.reached}"
    lost = said.keys() - {verdict.model for verdict in judged.verdicts} - perturbed
    if lost:
        yield f"audit: no verdict on {sorted(lost)}"
    for name in sorted(result.measures.keys() | judged.measures.keys()):
        ours, theirs = result.measures.get(name), judged.measures.get(name)
        if not _close(ours, theirs):
            yield f"audit: {name} is {theirs}, anonymize said {ours}"


def _close(a: Any, b: Any) -> bool:
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(_close, a, b))
    if isinstance(a, int | float) and isinstance(b, int | float):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) or (math.isnan(a) and math.isnan(b))
    return bool(a == b)
