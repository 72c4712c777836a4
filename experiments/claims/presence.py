"""What README.md says about presence, from the tables of presence.md."""

from __future__ import annotations

from itertools import pairwise

from experiments.claims.pages import OTHER_DATA, counted, number, numbers

READINGS = (
    "k counts rows", "k counts rows, and people with equal values are one", "k counts people",
    "k counts people, and those with equal values as one",
)  # fmt: skip
ROWS, ONE_PERSON = "1. Re-identified", "If people with equal values"
PEOPLE = "If k counts people"


def _found(pages):
    """The four tables of re-identified people: k rows or people, equal values apart or as one person."""
    page = pages["presence"]
    rows, alone = page.one(ROWS, head="k = 2"), page.one(ONE_PERSON, head="k = 2")
    people, both = page.find(PEOPLE, head="k = 2")
    return rows, alone, people, both


def bucketization(pages):
    """One share at every k; not the published one."""
    rows, alone, *_ = _found(pages)
    shares, as_one = ([number(cell) for cell in table.row("bucketization")] for table in (rows, alone))
    published = 93.95
    any_k = "at any k" if len(set(shares)) == 1 else "not the same at every k"
    kinds = next(t for t in pages["presence"].tables if t.head[0] == "share of the rows")
    low, _, high = (number(cell) for cell in kinds.row("distinct combinations of values")[1:])
    unique = number(pages["presence"].text.split("Of the population, ")[1])
    word = (
        "confirmed" if abs(shares[0] - published) < 0.05 else "not reproduced by the definition of the thesis"
    )
    inside = "in" if low <= as_one[0] <= high else "outside"
    return (
        f"{word}: {shares[0]:.1f} %, {any_k}. Only {unique:.1f} % of Adult have a unique combination of values. It is "
        f"{as_one[0]:.2f} % if people with equal values count as one, {inside} the range of random tables, "
        f"{low:.2f} % to {high:.2f} % for 98 of 100"
    )


def slicing(pages):
    """Slightly fewer than bucketization and falling slowly, if k counts people."""
    rows, _, people, _ = _found(pages)
    ours = [number(cell) for cell in people.row("slicing")]
    falls = all(a >= b for a, b in pairwise(ours))
    slowly = ours[-1] > 0.8 * ours[0]
    word = (
        "confirmed" if falls and slowly and ours[0] <= number(people.row("bucketization")[0]) else OTHER_DATA
    )
    first, *_, last = rows.row("slicing")
    to = " or ".join(f"{value:.1f} %" for value in dict.fromkeys(numbers(last)))
    return (
        f"{word} if k counts people of the population, as in an example of the thesis: {ours[0]:.1f} % at k = 2, "
        f"{ours[-1]:.1f} % at k = 32. If k counts rows it falls from {number(first):.1f} % to {to}"
    )


def nobody(pages):
    """Who finds anybody from k = 4 on, in which of the four tables."""
    found = [
        (name, table.head[i + 1], number(cell), reading)
        for table, reading in zip(_found(pages), READINGS, strict=True)
        for name in ("K-Mondrian", "CombinedAlg", "MPALM")
        if any(row[0] == name for row in table.rows)
        for i, cell in enumerate(table.row(name))
        if "no release" not in cell and table.head[i + 1] != "k = 2" and max(numbers(cell)) > 0
    ]  # fmt: skip
    if not found:
        return "confirmed: 0 % in all four readings"
    cases = "; ".join(f"{share:.2f} % by {name} at {k}" for name, k, share, _ in found)
    where = list(dict.fromkeys(reading for *_, reading in found))
    return f"confirmed, except for {cases}, in {len(where)} of four readings: {'; '.join(where)}"


def mpalm_below_combined(pages):
    """DM and AG of CombinedAlg next to MPALM's, for each pair of bounds."""
    table = pages["presence"].one("2. CombinedAlg")
    held = {}
    for kind in ("rows", "people"):
        for figure in ("DM", "AG"):
            held[kind, figure] = [
                number(mpalm[figure]) < number(other[figure])
                for mpalm in table.where(method="MPALM")
                for other in table.where(method=f"CombinedAlg, k {kind}", bounds=mpalm["bounds"])
            ]
    rows = [all(pair) for pair in zip(held["rows", "DM"], held["rows", "AG"], strict=True)]
    word = "confirmed" if all(rows) else "reproduced in part"
    people = f"DM {counted(held['people', 'DM'])}, AG {counted(held['people', 'AG'])}"
    return f"{word}, {counted(rows)}, if k counts rows; if it counts people: {people}"


def finished(pages):
    """Seconds of CombinedAlg at large k."""
    table = pages["presence"].one("3. Growing k")
    seconds = [number(row["seconds"]) for k in ("64", "128") for row in table.where(k=k)]
    word = "surpassed" if max(seconds) < 25 * 3600 else "confirmed"
    return f"{word}: {min(seconds):.0f} to {max(seconds):.0f} seconds at k = 64 and at k = 128"


def against_k(pages):
    """k-anonymous releases within the same bounds on presence, and what k = 2 reveals."""
    page = pages["presence"]
    same, alone = (t for t in page.find("4. MPALM") if "LM" in t.head)
    ratios, sizes = [], []
    for mpalm in same.where(method="MPALM"):
        others = [row for row in same.where(bounds=mpalm["bounds"]) if row["k"]]
        ratios += [number(row["LM"]) / number(mpalm["LM"]) for row in others]
        sizes += [int(row["k"]) for row in others]
    sure = alone.where(method="Mondrian", k="2")[0]["certainly in"]
    return (
        "The thesis does not compare delta-presence with k-anonymity; [presence.md](presence.md) does. Within the same "
        f"bounds on presence, k-anonymous releases have at least {min(ratios):.1f} times the LM of MPALM, and they "
        f"need a k between {min(sizes)} and {max(sizes)}; at k = 2 Mondrian reveals {sure} people with certainty."
    )


PROSE = {"The thesis does not compare": against_k}
CLAIMS = {
    "bucketization re-identifies 93.95 % of the table, at any k": bucketization,
    "slicing re-identifies slightly fewer, falling slowly with k": slicing,
    "K-Mondrian and CombinedAlg re-identify nobody from k = 4 on, MPALM nobody": nobody,
    "MPALM is below CombinedAlg in DM and AG for all bounds": mpalm_below_combined,
    "CombinedAlg at k = 64 is not finished after 25 hours": finished,
}
