"""Files and frames as cells, read with other readers than the package's: csv, json, openpyxl, pyarrow, pandas."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from tests.oracles.checker.cells import Number, letters


class Unreadable(Exception):
    """An ordinary reader cannot read the file, or reads it in two ways."""


@dataclass(frozen=True)
class Cells:
    """A table as an outsider reads it."""

    columns: list[str]
    rows: list[list[Any]]
    texts: list[str]
    """Everything else that can be found in the bytes: dictionaries, metadata, statistics, parts of archives."""
    types: dict[str, str] = field(default_factory=dict)
    """The type of each column, where the format has types."""

    def column(self, name: str) -> list[Any]:
        """Return the cells of a column."""
        at = self.columns.index(name)
        return [row[at] for row in self.rows]


def _delimited(path: Path, delimiters: str) -> Cells:
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = raw.decode("utf-8")
    ways = [list(csv.reader(io.StringIO(text, newline=""), delimiter=sign)) for sign in delimiters]
    # The name of a single column may hold one of the signs, so all lines must agree on it.
    agreed = [max(len(way[0]), 1) if len({len(line) for line in way}) == 1 else 0 for way in ways]
    delimiter = delimiters[agreed.index(max(agreed))]
    lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    names, rows = lines[0], lines[1:]
    if len(names) == 1:
        rows = [line or [""] for line in rows]
    odd = [line for line in rows if len(line) != len(names)]
    if odd:
        raise Unreadable(f"a line has {len(odd[0])} fields, not {len(names)}")
    return Cells(names, [list(row) for row in _with_nulls(raw, rows, names, delimiter)], [text])


def _with_nulls(
    raw: bytes, rows: list[list[str]], names: list[str], delimiter: str
) -> list[list[str | None]]:
    """Tell an empty cell from an empty text in quotes, which only some readers do."""
    if all(all(row) for row in rows):
        return [list[str | None](row) for row in rows]
    numbered = [str(at) for at in range(len(names))]
    table = pyarrow.csv.read_csv(
        io.BytesIO(raw),
        pyarrow.csv.ReadOptions(column_names=numbered, skip_rows=0, use_threads=False),
        pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=False),
        pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(numbered, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    columns = [column.to_pylist()[1:] for column in table.columns]
    found = [list(row) for row in zip(*columns, strict=True)]
    if [[cell or "" for cell in row] for row in found] != rows:
        raise Unreadable("the csv module and pyarrow read different cells")
    return found


def _json_lines(path: Path) -> Cells:
    def constant(word: str) -> Any:
        raise Unreadable(f"{word} is not JSON")

    text = path.read_text(encoding="utf-8")
    rows = [
        json.loads(line, parse_int=Number, parse_float=Number, parse_constant=constant)
        for line in text.split("\n")[:-1]
    ]
    names = list(rows[0]) if rows else []
    if any(list(row) != names for row in rows):
        raise Unreadable("objects differ in their names")
    return Cells(names, [list(row.values()) for row in rows], [text])


def _excel(path: Path) -> Cells:
    import openpyxl
    from openpyxl.utils.escape import unescape

    book = openpyxl.load_workbook(path, data_only=False)
    # Signs that XML cannot hold are written as _x000D_; this reader leaves that to us.
    lines = [
        [unescape(cell) if isinstance(cell, str) else cell for cell in line]
        for line in book.worksheets[0].iter_rows(values_only=True)
    ]
    with zipfile.ZipFile(path) as archive:
        parts = [archive.read(name).decode("utf-8", errors="replace") for name in archive.namelist()]
    # The margins of the page and the version of XML are the same in every file.
    inside = [re.sub(r"<pageMargins[^>]*>|<\?xml[^>]*\?>", "", part) for part in parts]
    names = ["" if name is None else str(name) for name in lines[0]]
    return Cells(names, lines[1:], inside)


def _types(schema: pa.Schema) -> dict[str, str]:
    return {each.name: _type(each.type) for each in schema}


def _type(own: pa.DataType) -> str:
    """Name a type without how it is stored: dictionaries as their values, large and view types as plain ones."""
    if pa.types.is_dictionary(own):
        return _type(own.value_type)
    if pa.types.is_struct(own):
        return f"struct<{', '.join(f'{each.name}: {_type(each.type)}' for each in own)}>"
    if pa.types.is_list(own) or pa.types.is_large_list(own):
        return f"list<{_type(own.value_type)}>"
    if pa.types.is_fixed_size_list(own):
        return f"array<{_type(own.value_type)}, {own.list_size}>"
    return str(own).replace("large_", "").replace("_view", "")


def _hidden(table: pa.Table) -> list[str]:
    """Return what an Arrow table holds besides its cells: metadata, and whole dictionaries."""
    found = [
        table.schema.to_string(show_field_metadata=True, show_schema_metadata=True, truncate_metadata=False)
    ]
    for column in table.columns:
        for chunk in column.chunks:
            found += _dictionaries(chunk)
    return found


def _dictionaries(array: pa.Array) -> list[str]:
    if isinstance(array, pa.DictionaryArray):
        return [str(letters(value)) for value in array.dictionary.to_pylist()]
    if isinstance(array, pa.StructArray):
        return [text for at in range(array.type.num_fields) for text in _dictionaries(array.field(at))]
    if isinstance(array, pa.ListArray | pa.LargeListArray | pa.FixedSizeListArray):
        return _dictionaries(array.values)
    return []


def _arrow_rows(table: pa.Table) -> list[list[Any]]:
    return [list(row) for row in zip(*(column.to_pylist() for column in table.columns), strict=True)]


def _parquet(path: Path) -> Cells:
    file = pq.ParquetFile(path)
    names = file.schema_arrow.names
    texts = [
        pa.types.is_string(each.type) or pa.types.is_large_string(each.type) for each in file.schema_arrow
    ]
    if any(texts):
        file = pq.ParquetFile(
            path, read_dictionary=[name for name, text in zip(names, texts, strict=True) if text]
        )
    table = file.read()
    found = [*_hidden(table), str(file.metadata.metadata)]
    for group in range(file.metadata.num_row_groups):
        for at in range(file.metadata.num_columns):
            statistics = file.metadata.row_group(group).column(at).statistics
            if statistics is not None and statistics.has_min_max:
                found += [str(letters(statistics.min)), str(letters(statistics.max))]
    return Cells(names, _arrow_rows(table), found, _types(table.schema))


def _arrow(path: Path) -> Cells:
    with pa.OSFile(str(path)) as source:
        return from_arrow(pa.ipc.open_file(source).read_all())


def from_arrow(table: pa.Table) -> Cells:
    """Read a pyarrow table."""
    return Cells(table.column_names, _arrow_rows(table), _hidden(table), _types(table.schema))


def from_pandas(frame: Any) -> Cells:
    """Read a pandas frame."""
    import pandas as pd

    texts = [str(frame.index)]
    columns = []
    for at in range(frame.shape[1]):
        column = frame.iloc[:, at]
        if isinstance(column.dtype, pd.CategoricalDtype):
            texts += [str(letters(value)) for value in column.cat.categories]
        columns.append([_from_pandas(cell) for cell in column])
    rows = [list(row) for row in zip(*columns, strict=True)]
    return Cells(
        [str(name) for name in frame.columns], rows, texts, {str(n): str(t) for n, t in frame.dtypes.items()}
    )


def _from_pandas(cell: Any) -> Any:
    """NaN is a missing value for pandas, whatever the type of the column."""
    import numpy as np
    import pandas as pd

    if cell is None or cell is pd.NA or cell is pd.NaT or (isinstance(cell, float) and cell != cell):
        return None
    if isinstance(cell, pd.Timestamp):
        return cell.to_pydatetime()
    if isinstance(cell, pd.Timedelta):
        return cell.to_pytimedelta()
    if isinstance(cell, np.ndarray):
        return [_from_pandas(each) for each in cell]
    return cell.item() if isinstance(cell, np.generic) else cell


def from_polars(frame: Any) -> Cells:
    """Read a polars frame through Arrow, whose dictionaries hold all categories."""
    return from_arrow(frame.to_arrow())


def _spss(path: Path) -> Cells:
    import pyreadstat

    raw, about = pyreadstat.read_sav(path, output_format="dict")
    labels = about.variable_value_labels
    columns = [_statistical(list(raw[name]), labels.get(name, {})) for name in about.column_names]
    told = [about.file_label, *about.notes, *about.column_names_to_labels.values(), *about.column_names]
    words = [text for own in labels.values() for text in own.values()]
    return Cells(
        list(about.column_names),
        [list(row) for row in zip(*columns, strict=True)],
        [str(one) for one in told + words],
    )


def _stata(path: Path) -> Cells:
    import pandas as pd

    with pd.read_stata(path, iterator=True) as reader:
        frame = reader.read()
        labels, told = reader.value_labels(), [reader.data_label, *reader.variable_labels().values()]
    columns = [_statistical([_from_pandas(cell) for cell in frame[name]], {}) for name in frame.columns]
    words = [text for own in labels.values() for text in own.values()]
    return Cells(list(frame.columns), [list(row) for row in zip(*columns, strict=True)], told + words)


def _statistical(cells: list[Any], labels: dict[Any, str]) -> list[Any]:
    """Show labels where all codes have one; such a file has no empty text, and one type of numbers."""
    import datetime as dt

    cells = [None if cell == "" or (isinstance(cell, float) and cell != cell) else cell for cell in cells]
    cells = [cell.item() if hasattr(cell, "item") else cell for cell in cells]
    if labels and all(cell in labels for cell in cells if cell is not None):
        return [labels.get(cell) for cell in cells]
    midnight = all(
        isinstance(cell, dt.datetime) and cell.time() == dt.time() for cell in cells if cell is not None
    )
    if midnight and any(cell is not None for cell in cells):
        cells = [cell and cell.date() for cell in cells]
    return [int(cell) if isinstance(cell, float) and cell.is_integer() else cell for cell in cells]


READERS: dict[str, Callable[[Path], Cells]] = {
    "csv": lambda path: _delimited(path, ",;|\t"),
    "tsv": lambda path: _delimited(path, "\t"),
    "jsonl": _json_lines,
    "excel": _excel,
    "parquet": _parquet,
    "arrow": _arrow,
    "spss": _spss,
    "stata": _stata,
}
"""Format -> how an outsider reads a file of it."""
