"""What README.md says about k-type anonymity, from the tables of k_type.md and linkage.md."""

from __future__ import annotations

from experiments.claims.pages import OTHER_DATA, counted, number, numbers, verdict

ART = "ART, n = 5,000"
TABLES = {"ART": ART, "CMC": "CMC", "Adult": "5,000 rows of Adult"}


def _rows(pages, section):
    """``{(measure, method): values over k}`` of one table."""
    return {(row[0], row[1]): row[2:] for row in pages["k_type"].one(section).rows}


def _against_published(pages, improved):
    """Per published value, ours and it; of improved methods, or of the others."""
    return [
        tuple(numbers(cell))
        for (_, method), cells in _rows(pages, ART).items()
        if method.endswith(", improved") == improved
        for cell in cells
        if "(" in cell
    ]


def table_on_art(pages):
    """Published values on ART, without and with improvements."""
    as_published = [ours <= theirs + 0.03 for ours, theirs in _against_published(pages, improved=False)]
    better = [ours <= theirs + 0.005 for ours, theirs in _against_published(pages, improved=True)]
    word = "reproduced" if all(as_published) else "not reproduced"
    return (
        f"{word} or improved on within 0.03 without improvements ({counted(as_published)} values); with them, "
        f"{counted(better)} values are reached or improved on"
    )


def _saved(pages, section, ours, theirs):
    """The least and the largest share that one method saves over another, in whole percents."""
    rows = _rows(pages, section)
    saved = [
        1 - number(a) / number(b)
        for measure in ("entropy", "lm")
        for a, b in zip(rows[measure, ours], rows[measure, theirs], strict=True)
    ]
    return f"{100 * min(saved):.0f} to {100 * max(saved):.0f} %"


def _lists(pages, ours, theirs):
    return ", ".join(f"{_saved(pages, section, ours, theirs)} on {name}" for name, section in TABLES.items())


def _judged(pages, ours, theirs, low, high):
    """Whether all shares lie in the range of the paper, to a percent."""
    saved = [numbers(_saved(pages, section, ours, theirs)) for section in TABLES.values()]
    least, most = min(a for a, _ in saved), max(b for _, b in saved)
    if low <= least and most <= high:
        return "confirmed"
    return f"confirmed as an order; the size is {OTHER_DATA}" if least > 0 else OTHER_DATA


def clusters_against_forest(pages):
    """k-anonymity by clusters next to the forest."""
    plain, improved = "best k-anon, not improved", "k-anon, improved"
    word = _judged(pages, plain, "forest", 20, 50)
    return (
        f"{word}: {_lists(pages, plain, 'forest')}; with the improvement {_lists(pages, improved, 'forest')}"
    )


def kk_against_k(pages):
    """(k,k) next to k-anonymity."""
    plain = "(k,k), not improved", "best k-anon, not improved"
    both = "(k,k), improved", "k-anon, improved"
    word = _judged(pages, *plain, 10, 30)
    return f"{word}: {_lists(pages, *plain)}; with both improved {_lists(pages, *both)}"


def kk_protects(pages):
    """People below k for an adversary who knows the members, of 30,162."""
    table = pages["linkage"].tables[0]
    place = table.head.index("members: below k")
    people = number(pages["linkage"].text.split("Adult (")[1])

    def shares(beginning):
        return [100 * number(r[place]) / people for r in table.rows if r[1].startswith(beginning)]

    plain, improved, whole = shares("k-k from"), shares("k-k, improved"), shares("global-1-k")
    word = "contradicted" if max(*plain, *improved) > 0 else "confirmed"
    nobody = "nobody" if max(whole) == 0 else f"{max(whole):.0f} %"
    return (
        f"{word} for an adversary who knows exactly who is in the table: {min(plain):.0f} to {max(plain):.0f} % of "
        f"Adult fall below k, {min(improved):.0f} to {max(improved):.0f} % if cells are improved. `global-1-k` leaves "
        f"{nobody} below k. {_few_known(pages)}"
    )


def _few_known(pages):
    """What somebody who knows a few people reaches, and what it costs to stop them."""
    chosen = pages["linkage"].one(head="others known")
    (row,) = chosen.where(tables="samples of rows", cells="improved", others_known="15")
    share = number(row["share: median"]), number(row["share: most"])
    price = pages["linkage"].one(head="share below 5, m others known")
    losses = {release: number(loss) for table, release, loss, *_ in price.rows if table.startswith("all")}
    plain, few, whole = (losses[name] for name in ("(5,5)", "(5,5), 30 others known", "global (1,5)"))
    return (
        f"A few known people are enough: 15 narrow {share[0]:.0f} % of 3,000 rows down to fewer than 5 (k = 5, "
        f"improved; median of samples, at most {share[1]:.0f} %). `known = 30` prevents it for "
        f"{100 * (few / plain - 1):.1f} % more loss, global (1,5) costs {100 * (whole / plain - 1):.0f} %"
    )


def larger_k(pages):
    """Matches that (k', k') leaves where 5 are asked for."""
    table = pages["linkage"].one(head="k'")
    members = [(int(row[1]), number(row[4])) for row in table.rows]
    larger = {
        k: [share for own, share in members if own == k] for k in sorted({k for k, _ in members if k > 5})
    }
    word = "contradicted" if all(max(shares) > 0 for shares in larger.values()) else "reproduced in part"
    said = ", ".join(f"{min(shares):.0f} to {max(shares):.0f} % at {k}" for k, shares in larger.items())
    return f"{word} up to (20, 20) for k = 5: people with fewer than 5 matches are {said}"


def global_costs(pages):
    """Processor seconds of global (1,k) on all of Adult."""
    row = pages["k_type"].one("Adult, 30,162 rows").row("global (1,k), not improved")
    seconds = [float(row[i]) for i in (1, 3)]
    word = "not so here" if max(seconds) < 60 else "confirmed"
    return f"{word}: at most {max(seconds):.1f} s of one processor for 30,162 rows by LM"


def _details(pages):
    """``{(measure, algorithm): values over k}`` of each data set."""
    tables = [table for table in pages["k_type_details"].tables if "k = 5" in table.head]
    return [
        {(row[0], row[1].removesuffix(" (best)")): [number(cell) for cell in row[2:]] for row in table.rows}
        for table in tables
    ]


def best_distances(pages):
    """Whether (10) or (11) has the least sum over k, for each data set and measure."""
    held = []
    for values in _details(pages):
        for measure in ("entropy", "lm"):
            sums = {way: sum(own) for (m, way), own in values.items() if m == measure and " (" in way}
            held.append(min(sums, key=sums.get).split()[1].rstrip(",") in ("(10)", "(11)"))
    return f"{verdict(held)} data sets and measures"


def couplings(pages):
    """Algorithms 4 and 5 next to 3 and 5."""
    held = [
        a < b
        for values in _details(pages)
        for measure in ("entropy", "lm")
        for a, b in zip(
            values[measure, "(k,k) by algorithms 4 and 5"],
            values[measure, "(k,k) by algorithms 3 and 5"],
            strict=True,
        )
    ]
    return f"{verdict(held)} cases"


def degrees(pages):
    """Which share of people matches between k and 2k rows."""
    tables = [table for table in pages["k_type_details"].tables if "in k..2k" in table.head]
    shares = [value for table in tables for value in table.numbers("in k..2k")]
    said = verdict([share == 100 for share in shares])
    return f"{said} cases; {min(shares):.0f} to {max(shares):.0f} % of the people do"


CLAIMS = {
    "the table on ART": table_on_art,
    "k-anonymity by clusters loses 20 to 50 % less than the forest algorithm": clusters_against_forest,
    "(k,k) loses 10 to 30 % less than k-anonymity": kk_against_k,
    "distances (10) and (11) consistently bring the best results": best_distances,
    "algorithms 4 and 5 lose less than 3 and 5": couplings,
    "after algorithms 4 and 5, every person matches between k and 2k rows": degrees,
    "(k,k) protects nearly as well as k-anonymity": kk_protects,
    "((1 + e)k, (1 + e)k) may satisfy global (1,k) on real data": larger_k,
    "global (1,k) may be too costly in practice": global_costs,
}
