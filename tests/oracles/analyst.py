"""An analyst's script. It knows a release and its codebook, and imports the standard library alone, nothing of Shoal.

    python analyst.py release.csv codebook.json|codebook.csv original.csv

Reads every cell of the generalized columns through the codebook, and prints what it could not read. Only to check the
codebook, it compares each row with the original (the column `row` names the owner): the owner's value must be among
those that the codebook says the label stands for.
"""

from __future__ import annotations

import csv
import datetime as dt
import json
import re
import sys


def labels_of(path: str) -> dict[str, dict[str, dict]]:
    """Return for each generalized column its labels."""
    with open(path, encoding="utf-8", newline="") as file:
        if path.endswith(".json"):
            columns = json.load(file)["columns"]
            return {
                column["name"]: {label["label"] or "": label for label in column["labels"]}
                for column in columns
                if column["role"] == "quasi"
            }
        found: dict[str, dict[str, dict]] = {}
        for line in csv.DictReader(file):
            if line["role"] == "quasi":
                label = {key: value for key, value in line.items() if value != ""}
                for key in ("low_included", "high_included", "values", "except"):
                    if key in label:
                        label[key] = json.loads(label[key])
                for key in ("low", "high"):
                    if key in label and line["values_are"] in ("integer", "number"):
                        label[key] = float(label[key])
                found.setdefault(line["column"], {})[line["label"]] = label
        return found


def natural(text: str) -> tuple:
    """The order of text that the codebook explains."""
    word = re.match(r"^\D*", text).group()
    number = re.match(r"^\D*(\d+)", text)
    return (word, number is not None, float(number.group(1)) if number else 0.0, text)


def covers(label: dict, value: str) -> bool:
    """Whether a value is among those that a label stands for."""
    kind = label["kind"]
    if kind == "any":
        return True
    if value == "" or kind == "missing":
        return value == "" and (kind == "missing" or None in label.get("values", ()))
    if kind in ("value", "set"):
        return any(same(one, value) for one in label["values"])
    if kind in ("starts-with", "ends-with"):
        texts = label.get("values") or [label["text"]]
        return any((value.startswith if kind == "starts-with" else value.endswith)(text) for text in texts)
    if kind == "text-range":
        return natural(label["low"]) <= natural(value) <= natural(label["high"])
    if kind == "range":
        low, high = label.get("low"), label.get("high")
        own = float(value) if isinstance(low if low is not None else high, int | float) else value
        if isinstance(own, str):
            own = own[:10] if len(high or low) == 10 else own  # a moment in a range of days
            low, own, high = (text and dt.datetime.fromisoformat(text) for text in (low, own, high))
        after = low is None or (low <= own if label["low_included"] else low < own)
        return after and (high is None or (own <= high if label["high_included"] else own < high))
    return False


def same(one: object, value: str) -> bool:
    """Whether a value of the codebook is a cell of the original."""
    if isinstance(one, int | float):
        return float(value) == one
    if one == value[:10] and len(value) > 10:
        return True  # a day stands for its moments
    if one is not None and re.match(r"\d{4}-\d\d-\d\d[T ]", value):
        return dt.datetime.fromisoformat(one) == dt.datetime.fromisoformat(value)
    return one == value


def main(release: str, codebook: str, original: str) -> None:
    """Print what was read and what was not."""
    labels = labels_of(codebook)
    with open(original, encoding="utf-8", newline="") as file:
        owners = {row["row"]: row for row in csv.DictReader(file)}
    rows, unread, untrue = 0, [], []
    with open(release, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            rows += 1
            for name, known in labels.items():
                if row[name] not in known:
                    unread.append([name, row[name]])
                elif not covers(known[row[name]], owners[row["row"]][name]):
                    untrue.append([name, row[name], owners[row["row"]][name]])
    shown = [[name, text or None] for name, known in labels.items() for text in known]
    print(json.dumps({"rows": rows, "unread": unread[:5], "untrue": untrue[:5], "labels": shown}))


main(*sys.argv[1:])
