"""SAS: datasets and transport files. Shoal reads them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from shoal.io.formats.format import SourceFile
from shoal.io.formats.statistical import load_with_labels

if TYPE_CHECKING:
    import polars as pl

    from shoal.io.read_options import ReadOptions


class Sas(SourceFile):
    """SAS. Labels of codes are in a catalog of their own, so codes stay codes."""

    name: ClassVar[str] = "sas"
    title: ClassVar[str] = "SAS"
    suffixes: ClassVar[tuple[str, ...]] = (".sas7bdat", ".xpt")
    options: ClassVar[tuple[str, ...]] = ("encoding",)
    extra: ClassVar[str] = "stats"
    reads_with: ClassVar[tuple[str, ...]] = ("pyreadstat",)

    def load(self, path: Path, options: ReadOptions) -> tuple[pl.LazyFrame, ReadOptions]:
        """Read the file; missing values of all kinds are null."""
        transport = path.suffix.lower() == ".xpt"
        return load_with_labels(path, options, "read_xport" if transport else "read_sas7bdat")
