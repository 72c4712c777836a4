"""Files that are valid, or nearly so, with content that nobody expects: sizes, names, types, nesting and archives."""

from __future__ import annotations

import copy
import datetime as dt
import decimal
import gzip
import io
import json
import random
import zipfile
from collections.abc import Callable
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tests.fuzz.originals import POLICY, table

NAMES = (
    "", " ", "a\nb", "a\0b", "\x1b[31mred\x1b]0;x\x07", "\u202eevil", "AGE", "age ", "\u00e9", "e\u0301", "x" * 20_000,
    "^a.*$", "*", 'a"b', "a'b; DROP TABLE people --", "=1+1", "\ufeffage", "__proto__", "\u2028", "<script>", "a,b",
    "a.b", "[a]", "\N{PILE OF POO}", "null", "NaN", "0",
)  # fmt: skip
CELLS = (
    "", " ", "\0", "\x1b[2J", "nan", "inf", "-inf", "1e400", "-0.0", "9" * 400, "9" * 19, "18446744073709551616",
    "10000-01-01", "0000-00-00", "-0001-01-01", "9999-12-31T23:59:60", "2024-02-30", "1/2", "1,5", "0x10", "1e5",
    "null", "NA", "*", "[1, 2]", "{a, b}", "=cmd", "R" * 100_000, "\ufeff", "\u202e", "e\u0301", "\N{PILE OF POO}" * 99,
    "20-29",
)  # fmt: skip
ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 1e308, -(2**63), 2**64, 10**400, float("nan"), float("inf"), "", "x", "\0", "\ud800",
    "x" * 20_000, [], {}, [[]], [None], {"a": None}, "age", "city", "../../etc/passwd", "/dev/zero", "1/0", "1/3", "*",
    "2024-01-01", [1] * 2000, ["age", "age"], {"": 0},
)  # fmt: skip


def hostile(name: str, content: bytes, rng: random.Random) -> bytes | None:
    """Return other content for a file of this name; None if there is none for its kind."""
    kind = name.rpartition(".")[2]
    if name.endswith((".csv.gz", ".tsv.gz")):
        return _packed(rng)
    if kind in ("csv", "txt", "tsv"):
        return _text(content, rng)
    makers: dict[str, Callable[[bytes, random.Random], bytes]] = {
        "jsonl": _json_lines, "json": _json, "toml": _toml, "parquet": _parquet, "arrow": _arrow, "feather": _arrow,
        "xlsx": _archive, "zip": _archive, "graphml": _graphml,
    }  # fmt: skip
    return makers[kind](content, rng) if kind in makers else None


def _text(content: bytes, rng: random.Random) -> bytes:
    """Change the header, the cells, the width or the encoding of a delimited text."""
    lines = content.decode("utf-8", "replace").split("\n")
    sign = max(",;\t", key=lines[0].count)
    rows = [line.split(sign) for line in lines if line]
    way = rng.randrange(8)
    if way == 0:
        rows[0][rng.randrange(len(rows[0]))] = _quoted(rng.choice(NAMES))
    elif way == 1:
        added = rng.choice((1, 2, 300))
        for number, row in enumerate(rows):
            row.extend(_quoted(rng.choice(NAMES)) if not number else str(number % 3) for _ in range(added))
    elif way in (2, 3):
        column = rng.randrange(len(rows[0]))
        for row in rows[1:]:
            if len(row) > column and rng.random() < 0.5:
                row[column] = _quoted(rng.choice(CELLS))
    elif way == 4:
        rows = rows[: rng.randrange(3)]
    elif way == 5:
        column = rng.randrange(len(rows[0]))
        for row in rows[1:]:
            row[column : column + 1] = [""]
    elif way == 6:
        rows = [[f"c{number}" for number in range(3000)], *([["1"] * 3000] * 3)]
    made = "\n".join(map(sign.join, rows)) + "\n" * rng.randrange(3)
    if way == 7:
        coded = made.encode(rng.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-32")))
        return coded + rng.choice((b"", b"\xff", "é".encode("latin-1"), b"\0"))
    return rng.choice(("", "", "", "\ufeff", "\ufeff\ufeff", "\n", "sep=;\n")).encode() + made.encode(
        "utf-8", "replace"
    )


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _packed(rng: random.Random) -> bytes:
    text = table().write_csv().encode()
    return rng.choice(
        (
            lambda: gzip.compress(gzip.compress(text)),
            lambda: gzip.compress(text) + gzip.compress(text),
            lambda: gzip.compress(text) + b"\0" * 100,
            lambda: gzip.compress(text) + b"rest" * 50,
            lambda: gzip.compress(b""),
            lambda: gzip.compress(text + b"\0" * 30_000_000, 1),
            lambda: gzip.compress(text + b"a," * 3_000_000, 1),
            lambda: gzip.compress(text + b"\n" * 3_000_000, 1),
            lambda: gzip.compress(_text(text, rng)),
        )
    )()


def _json_lines(content: bytes, rng: random.Random) -> bytes:
    rows = [json.loads(line) for line in content.splitlines()]
    way = rng.randrange(6)
    if way == 0:
        key = rng.choice(list(rows[0]))
        for row in rows:
            row[key] = rng.choice(ODD[:-3])
    elif way == 1:
        for row in rows:
            row[rng.choice(NAMES)] = rng.choice(CELLS)
    elif way == 2:
        deep = rng.choice((50, 500, 20_000))
        start, end = rng.choice((("[", "]"), ('{"a":', "}")))
        return content + b'{"name":' + (start * deep + "1" + end * deep).encode() + b"}\n"
    elif way == 3:
        return b"".join(b'{"age": 1, "age": 2}\n' if rng.random() < 0.5 else b"{}\n" for _ in range(5))
    elif way == 4:
        return content + rng.choice(
            (b"3\n", b"[]\n", b"null\n", b'"x"\n', b"{}\n", b"NaN\n", b'{"age": 1e999}\n')
        )
    else:
        rows = [{f"c{number}": 1 for number in range(3000)}] * 3
    return "\n".join(json.dumps(row) for row in rows).encode()


def _json(content: bytes, rng: random.Random) -> bytes:
    """Replace, add or remove something anywhere in a JSON file."""
    whole = json.loads(content)
    for _ in range(rng.choice((1, 1, 2, 4))):
        places: list[tuple[Any, Any]] = []
        _collect(whole, places)
        if not places:
            break
        holder, key = rng.choice(places)
        way = rng.randrange(5)
        if way == 0:
            del holder[key]
        elif way == 1 and isinstance(holder, dict):
            holder[rng.choice(NAMES)] = holder.pop(key)
        elif way == 2:
            other, at = rng.choice(places)
            holder[key] = json.loads(json.dumps(other[at])) if _has(other, at) else None
        else:
            holder[key] = copy.deepcopy(rng.choice(ODD))  # else a list could get into itself
    if rng.random() < 0.05:
        return rng.choice(
            (b"[" * 50_000, b'{"a":' * 50_000, b"{}", b"[]", b"3", b"null", b'""', b"[" * 500 + b"]" * 500)
        )
    return json.dumps(whole).encode()


def _has(holder: Any, key: Any) -> bool:
    return key in holder if isinstance(holder, dict) else key < len(holder)


def _collect(value: Any, places: list[tuple[Any, Any]]) -> None:
    """List where each value of a JSON file is: its holder and its key."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in list(keys)[:200]:
        places.append((value, key))
        _collect(value[key], places)


def _toml(content: bytes, rng: random.Random) -> bytes:
    text = content.decode()
    name = json.dumps(rng.choice(NAMES))
    return rng.choice(
        (
            lambda: text + "".join(f'[columns.c{number}]\nrole = "drop"\n' for number in range(3000)),
            lambda: text + f'[columns.{name}]\nrole = "quasi"\n',
            lambda: text.replace("[columns.city]", f"[columns.{name}]"),
            lambda: text.replace("[5, 10, 20]", str([5 * 2**power for power in range(rng.choice((40, 900)))])),
            lambda: text.replace("[5, 10, 20]", f"[{rng.choice(('1e308', '1e-308', '0.1', '10', '-5', '1e400'))}]"),
            lambda: text.replace("k = 3", f"k = {rng.choice((1, 2, 10**9, 2**63 - 1, 2**63, -3, '3.0', '1e9'))}"),
            lambda: "".join(f"k{number} = {number}\n" for number in range(10_000)) + text,
            lambda: text + "[data]\n" + "a." * rng.choice((50, 900)) + "b = 1\n",
            lambda: text + f"[data]\nother_columns = {name}\n",
            lambda: text + f"[data]\nnull_values = [{', '.join([name] * 2000)}]\n",
            lambda: text + f"[data]\nencoding = '{rng.choice(('utf-7', 'idna', 'punycode', 'utf-16', 'mbcs'))}'\n",
            lambda: text.replace("[method]", f"[method]\nseconds = {rng.choice(('0', '-1', 'nan', 'inf', '1e-9'))}"),
            lambda: text.replace('"mondrian"', f'"{rng.choice(("full-domain", "ring", "anatomy", "auto"))}"'),
            lambda: POLICY,
        )
    )().encode()  # fmt: skip


def _column(rows: int, rng: random.Random) -> pa.Array:
    """Return a column of a type that few tables have."""
    deep = pa.int64()
    for _ in range(rng.choice((2, 20))):
        deep = rng.choice((pa.list_(deep), pa.struct([("a", deep)])))
    some = list(range(rows))
    ends = pa.array([2 * number for number in range(rows + 1)], pa.int32())
    wrong = pa.py_buffer(b"\xff\xfe" * rows)
    pairs = pa.array([number % 2 for number in some], pa.int8())
    return rng.choice(
        (
            lambda: pa.nulls(rows),
            lambda: pa.nulls(rows, rng.choice((pa.string(), pa.int64(), pa.date32(), pa.bool_(), deep))),
            lambda: pa.array([[("a", 1)]] * rows, pa.map_(pa.string(), pa.int64())),
            lambda: pa.array([{"a": {"b": number}} for number in some]),
            lambda: pa.DictionaryArray.from_arrays(pairs, pa.array([None, "Rome"])),
            lambda: pa.DictionaryArray.from_arrays(pairs, pa.array(["Rome", "Rome"])),
            lambda: pa.DictionaryArray.from_arrays(pairs, pa.array([5, 6])),
            lambda: pa.array([decimal.Decimal("1" * 35) + number for number in some], pa.decimal128(38, 3)),
            lambda: pa.array([decimal.Decimal("1" * 60)] * rows, pa.decimal256(70, 3)),
            lambda: pa.array([2**64 - 1 - number for number in some], pa.uint64()),
            lambda: pa.array([(float("nan"), float("inf"), -0.0, 5e-324)[number % 4] for number in some]),
            lambda: pa.array(some, pa.time64("ns")),
            lambda: pa.array([2**62] * rows, pa.duration(rng.choice(("s", "ns")))),
            lambda: pa.array([2**62] * rows, pa.timestamp("ns")),
            lambda: pa.array([2**52] * rows, pa.timestamp("ms")),
            lambda: pa.array([10**9] * rows, pa.timestamp("s", rng.choice(("No/Where", "+99:99", "UTC", "")))),
            lambda: pa.array([10**15] * rows, pa.date64()),
            lambda: pa.array([2**31 - 1] * rows, pa.date32()),
            lambda: pa.array([b"\xff\0"] * rows, rng.choice((pa.binary(), pa.binary(2), pa.binary_view()))),
            lambda: pa.array([[1, 2]] * rows, pa.list_(pa.int64(), 2)),
            lambda: pa.array(["Rome"] * rows, rng.choice((pa.large_string(), pa.string_view()))),
            lambda: pa.Array.from_buffers(pa.string(), rows, [None, ends.buffers()[1], wrong]),
            lambda: pa.RunEndEncodedArray.from_arrays(ends[1:], pa.array(["Rome"] * rows)).slice(0, rows),
            lambda: pa.array([None] * rows, pa.month_day_nano_interval()),
            lambda: pa.array([rng.choice(CELLS) for _ in some]),
        )
    )()  # fmt: skip


def _frame(rng: random.Random) -> pa.Table:
    data = table(rng.randrange(9), rng.choice((0, 1, 24, 24, 24))).to_arrow()
    way = rng.randrange(10)
    if way == 0:
        return pa.table({f"c{number}": [1, 2, 3] for number in range(2000)})
    if way == 1:
        return data.rename_columns(rng.choices((*NAMES, *data.column_names), k=data.num_columns))
    if way == 2:
        return data.select([])
    if way == 3:
        return data.replace_schema_metadata(
            {rng.choice((b"pandas", b"ARROW:schema")): b'{"index_columns": 3'}
        )
    at = rng.randrange(data.num_columns)
    return data.set_column(at, data.column_names[at], _column(data.num_rows, rng))


def _parquet(_: bytes, rng: random.Random) -> bytes:
    made = io.BytesIO()
    try:
        pq.write_table(_frame(rng), made)
    except (pa.ArrowException, NotImplementedError):  # Parquet has no such type
        pl.DataFrame({"age": [dt.time(1)]}).write_parquet(made)
    return made.getvalue()


def _arrow(_: bytes, rng: random.Random) -> bytes:
    made, data = io.BytesIO(), _frame(rng)
    with rng.choice((pa.ipc.new_file, pa.ipc.new_file, pa.ipc.new_stream))(made, data.schema) as writer:
        writer.write_table(data)
    return made.getvalue()


def _archive(content: bytes, rng: random.Random) -> bytes:
    """Repeat, enlarge, rename or add a member."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        chosen, way = rng.choice(old.namelist()), rng.randrange(6)
        for name in old.namelist():
            inner = old.read(name)
            if name == chosen and way == 0:
                inner += rng.choice((b"\0", b" ", b"<a>")) * 5_000_000
            if name == chosen and way == 1:
                inner = b"<a>" * 200_000
            place = (
                rng.choice(("/etc/x", "../x", "a\\b", "", "x" * 5000))
                if name == chosen and way == 2
                else name
            )
            new.writestr(zipfile.ZipInfo(place), inner, zipfile.ZIP_DEFLATED)
            if name == chosen and way == 3:
                new.writestr(zipfile.ZipInfo(place), b"other")
        if way == 4:
            for number in range(3000):
                new.writestr(f"x{number}", b"")
        if way == 5:
            link = zipfile.ZipInfo("link")
            link.external_attr = 0o120777 << 16
            new.writestr(link, "/etc/passwd")
    return made.getvalue()


def _graphml(content: bytes, rng: random.Random) -> bytes:
    head, _, rest = content.decode().partition("?>")
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    return rng.choice(
        (
            lambda: f'{head}?><!DOCTYPE x [<!ENTITY e0 "x">{entities}]>{rest.replace("Rome", "&e9;")}',
            lambda: (
                f'{head}?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>{rest.replace("Rome", "&e;")}'
            ),
            lambda: f"{head}?>" + "<a>" * 50_000,
            lambda: f"{head}?>{rest}".replace("<graph ", "<graph><graph "),
            lambda: f"{head}?>{rest}".replace(
                'id="age"', f'id="{rng.choice(("city", "", "&#0;", "x" * 9999))}"'
            ),
            lambda: f"{head}?>{rest}".replace("<node ", f"<node {'a' * 200_000}='1' ", 1),
            lambda: f"{head}?>{rest}".replace("undirected", rng.choice(("directed", "", "x"))),
            lambda: f"{head}?>{rest}".replace(">Rome<", f">{'R' * 200_000}<"),
            lambda: f"{head}?>{rest}".replace(
                ">20<", f">{rng.choice(('1e999', 'nan', '9' * 400, '', 'x'))}<"
            ),
        )
    )().encode()
