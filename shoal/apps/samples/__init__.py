"""Synthetic tables for learning and measuring, with their hierarchies and policies. No real person is in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import DataError, OutputError, check_known
from shoal.support.machine.memory import check_addresses

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Sample:
    """A synthetic table and the files that ship with it."""

    name: str
    summary: str
    """One line: what the table is good for."""
    policy: str
    """The policy file in samples/data; it names its hierarchies relative to itself."""
    hierarchies: tuple[str, ...]
    """The hierarchy files in samples/data."""
    by_month: bool = False
    """The same people come again in other months, each of which is a table."""

    def table(self, rows: int, seed: int | None = None, month: int | None = None) -> pl.DataFrame:
        """Draw the table, that of a month if there are several."""
        if month is not None and not self.by_month:
            several = " and ".join(name for name, one in SAMPLES.items() if one.by_month)
            raise DataError(f"the sample {self.name} has no months; {several} has")
        if rows < 1:
            raise DataError(f"a sample needs at least 1 row, not {rows:,}")
        make: Callable[..., pl.DataFrame] = getattr(
            import_module(f"shoal.apps.samples.{self.name}"), self.name
        )
        return make(rows, seed) if month is None else make(rows, seed, month)

    @property
    def files(self) -> tuple[str, ...]:
        """The policy and its hierarchies."""
        return (self.policy, *self.hierarchies)


SAMPLES: dict[str, Sample] = {
    sample.name: sample
    for sample in (
        Sample(
            name="census",
            summary="a population census: eight quasi-identifiers and a salary, at any size",
            policy="census.toml",
            hierarchies=tuple(
                f"census_{column}.csv"
                for column in ("education", "marital", "race", "workclass", "country", "occupation")
            ),
        ),
        Sample(
            name="patients",
            summary="a hospital's admissions: names, birth dates, zip codes and diagnoses",
            policy="patients.toml",
            hierarchies=("patients_zip.csv", "patients_diagnosis.csv"),
        ),
        Sample(
            name="visits",
            summary="visits to a hospital, month by month: several rows of one person",
            policy="visits.toml",
            hierarchies=(),
            by_month=True,
        ),
    )
}


def sample(name: str, rows: int, seed: int | None = None, month: int | None = None) -> pl.DataFrame:
    """Return a synthetic table: ``census``, ``patients`` or ``visits``. Without a seed it is always the same table.
    `month` is which month of ``visits``, 1 to 12.
    """
    return _find(name).table(rows, seed, month)


def write_sample(
    name: str,
    rows: int,
    out: str | Path,
    *,
    seed: int | None = None,
    month: int | None = None,
    force: bool = False,
) -> list[Path]:
    """Write a sample to the file `out`, with its policy and hierarchies next to it; return the paths, table first.

    If `out` is an existing folder, the table goes into it as ``NAME.csv``. If a file of the same name and another
    content exists, nothing is written, unless `force` is given.
    """
    from shoal import io
    from shoal.apps.samples.draw import read_sample_file

    check_addresses()
    found = _find(name)
    path = Path(out)
    if path.is_dir():
        path = path / f"{name}.csv"
    companions = {path.parent / file: read_sample_file(file) for file in found.files}
    if path in companions:
        raise OutputError(f"{path} is the name of a file that comes with the sample; choose another name")
    io.check_writable(path, force=force)
    changed = {file: text for file, text in companions.items() if not _holds(file, text)}
    for file in changed:
        io.check_writable(file, force=force, table=False)
    with io.Outbox(force=force) as box:
        box.write(found.table(rows, seed, month), path)
        for file, text in changed.items():
            box.write_text(file, text, private=False)
    return [path, *companions]


def _find(name: str) -> Sample:
    check_known("sample", name, SAMPLES)
    return SAMPLES[name]


def _holds(file: Path, text: str) -> bool:
    return file.is_file() and file.read_bytes() == text.encode()


__all__ = ["SAMPLES", "Sample", "sample", "write_sample"]
