"""Synthetic tables to learn and to measure with, their hierarchies and policies. Nobody is in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import DataError, OutputError, PolicyError, Problem, did_you_mean

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

    def table(self, rows: int, seed: int | None = None) -> pl.DataFrame:
        """Draw the table."""
        if rows < 1:
            raise DataError(f"a sample needs at least 1 row, not {rows:,}")
        make: Callable[[int, int | None], pl.DataFrame] = getattr(
            import_module(f"shoal.samples.{self.name}"), self.name
        )
        return make(rows, seed)

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
    )
}


def sample(name: str, rows: int, seed: int | None = None) -> pl.DataFrame:
    """Return a synthetic table: ``census`` or ``patients``. Without a seed, always the same one."""
    return _find(name).table(rows, seed)


def write_sample(
    name: str, rows: int, out: str | Path, *, seed: int | None = None, force: bool = False
) -> list[Path]:
    """Write a sample to the file `out`, and beside it its policy and hierarchies; return the paths, table first.

    If `out` is an existing folder, the table goes into it as ``NAME.csv``. Files that exist with another
    content are left alone, and nothing is written, unless `force` is given.
    """
    found = _find(name)
    path = Path(out)
    if path.is_dir():
        path = path / f"{name}.csv"
    if not path.parent.is_dir():
        raise OutputError(f"the folder '{path.parent}' does not exist: make it first, or choose another")
    from shoal.samples.draw import shipped

    companions = {path.parent / file: shipped(file) for file in found.files}
    if path in companions:
        raise OutputError(f"'{path}' is the name of a file that ships with the sample: choose another")
    if not force:
        taken = [path] if path.exists() else []
        taken += [file for file, text in companions.items() if _differs(file, text)]
        if taken:
            names = ", ".join(f"'{file}'" for file in taken)
            raise OutputError(f"{names} would be overwritten: choose another place, or say --force")
    _write_table(found.table(rows, seed), path)
    for file, text in companions.items():
        if _differs(file, text) or not file.exists():
            file.write_text(text, encoding="utf-8", newline="\n")
    return [path, *companions]


def _find(name: str) -> Sample:
    if name not in SAMPLES:
        raise PolicyError([Problem("sample", f"'{name}' is unknown", did_you_mean(name, SAMPLES))])
    return SAMPLES[name]


def _differs(file: Path, text: str) -> bool:
    return file.exists() and (
        not file.is_file() or file.read_text(encoding="utf-8", errors="replace") != text
    )


def _write_table(table: pl.DataFrame, path: Path) -> None:
    kind = path.suffix.lower()
    if kind == ".parquet":
        table.write_parquet(path)
    elif kind in {".arrow", ".ipc", ".feather"}:
        table.write_ipc(path)
    else:
        table.write_csv(path)


__all__ = ["SAMPLES", "Sample", "sample", "write_sample"]
