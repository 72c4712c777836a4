"""What README.md and hybrid.md say about hybrid k-anonymity, from the tables of hybrid.md."""

from __future__ import annotations

from experiments.claims.pages import OTHER_DATA, counted, ends, number, numbers

FIGURES = {"LM": "LM", "query": "median error of count queries"}
FAMILIES = {"S-Hybrid": "Single-dimensional", "M-Hybrid": "Multidimensional"}
METHODS = {"S-Hybrid": "hybrid", "M-Hybrid": "hybrid-mondrian"}
COUNTED, ATTACK, DELETION = "The findings of the paper", "The statistical attack", "What deletion costs"


def _rows(page, figure, family="", against=("p = 1%", "k = 10"), place=""):
    """The rows of the tables of a figure, as dictionaries; the first column is k or p."""
    return [
        row
        for table in page.tables
        if table.caption.startswith(tuple(f"{FIGURES[figure]}, {fixed}" for fixed in against))
        and table.title.startswith(FAMILIES.get(family, ""))
        and table.section.startswith(place)
        for row in table.where()
    ]


def _places(page):
    """The short names of the tables of data: Census, Adult."""
    return list(dict.fromkeys(cell.split(",")[0] for cell in page.one(COUNTED).column("table")))


def _compared(page, figure, ours, theirs):
    """In how many cells one variant is below another, above it, or not clearly either, as the intervals say."""
    pairs = [(ends(row[ours]), ends(row[theirs])) for row in _rows(page, figure)]
    above = sum(a[0] > b[1] for a, b in pairs)
    below = sum(a[1] <= b[0] for a, b in pairs)
    return below, above, len(pairs)


def below_incognito(pages):
    """Every release of every seed, next to the baseline of the same k."""
    column = "releases at or below the baseline"
    cells = [(*numbers(row[column]), row) for row in pages["hybrid"].one(COUNTED).where()]
    held, of = sum(int(cell[0]) for cell in cells), sum(int(cell[1]) for cell in cells)
    above = [
        f"{all_ - below:.0f} in {row['figure']} of {row['method']} on {row['table'].split(',')[0]}"
        for below, all_, row in cells
        if below < all_
    ]
    word = "confirmed" if held == of else "mostly" if held > of / 2 else OTHER_DATA
    rest = f"; above: {', '.join(above)}" if above else ""
    return f"{word}: {held:,} of {of:,} comparisons of releases, ten seeds where a variant draws{rest}"


def below_statistical(pages):
    """The variants without a test next to those with one."""
    page, words, above_any, cells = pages["hybrid"], [], 0, 0
    for ours in ("deterministic", "randomized"):
        parts = []
        for theirs in ("statistical", "rstat"):
            (below, above, of), (better, worse, _) = (
                _compared(page, figure, ours, theirs) for figure in FIGURES
            )
            above_any, cells = above_any + above + worse, cells + 2 * of
            parts.append(
                f"above {theirs} in {above} LM and {worse} query cells of {of} each and at or below it in {below} "
                f"and {better}"
            )
        words.append(f"{ours} is {', '.join(parts)}")
    word = "confirmed" if not above_any else "mostly" if above_any < cells / 4 else "reproduced in part"
    return f"{word}, as the 95 % intervals of ten seeds tell: {'; '.join(words)}; the rest is undecided"


def _change(page, method, variant):
    """How much LM changes over the budgets, in percent, per table of data."""
    rows = page.one(COUNTED).where(method=METHODS[method], figure="LM")
    return [number(row[f"{variant}: change over p"]) for row in rows]


def _span(values, form="{:.0f}", unit=" %"):
    """``9 %`` or ``3 to 9 %``."""
    low, high = form.format(min(values)), form.format(max(values))
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def _stops(page, family, against, at=None):
    """How many cells the statistical variants change, in percent: over the rows of the tables, or at one k."""
    found = {}
    for place in _places(page):
        tables = [
            table
            for table in page.tables
            if table.caption.startswith(f"Cells changed within the budget, {against}")
            and table.title.startswith(FAMILIES[family])
            and table.section.startswith(place)
        ]
        found[place] = [
            number(row[f"{variant}: cells changed"])
            for table in tables
            for row in table.where()
            if at is None or row["k"] == at
            for variant in ("statistical", "rstat")
        ]
    return found


def hardly_reacts(pages):
    """The change over p of the variants with a test, and where the test stops them."""
    page, words, held = pages["hybrid"], [], []
    for family in FAMILIES:
        tested = [*_change(page, family, "statistical"), *_change(page, family, "rstat")]
        plain = [*_change(page, family, "deterministic"), *_change(page, family, "randomized")]
        held += [max(tested) <= min(plain) / 2]
        words.append(f"{family}'s LM changes by {_span(tested)} with the test and by {_span(plain)} without")
    ten = [value for own in _stops(page, "S-Hybrid", "k = 10").values() for value in own]
    five = {place: [v for v in own if v] for place, own in _stops(page, "S-Hybrid", "p = 1%", at="5").items()}
    most = ", ".join(
        f"up to {max(own):.2f} % on {'the census, a synthetic sample' if place == 'Census' else place}"
        for place, own in five.items()
    )
    word = "confirmed, at most half as much as the others" if all(held) else "reproduced in part"
    return (
        f"{word}: {'; '.join(words)}. At k = 10 the test stops S-Hybrid at {_span(ten, '{:.2f}')} of the cells (the "
        f"paper: 0.1 %), at k = 5 it lets it change {most}"
    )


def _tested(page):
    """The rows of the attack on variants that must pass the test."""
    return [row for row in page.one(ATTACK).where() if row["variant"] in ("statistical", "rstat")]


def hidden(pages):
    """What an adversary who knows the counts finds in releases that pass the test."""
    page = pages["hybrid"]
    rejected = [numbers(row["rejected"]) for row in _tested(page)]
    right = [number(row["right"]) for row in _tested(page)]
    vague = [number(row["right without counts"]) for row in _tested(page)]
    times = [number(row["times better"]) for row in _tested(page)]
    word = "contradicted" if min(times) > 2 else "confirmed"
    held, of = sum(int(cell[0]) for cell in rejected), sum(int(cell[1]) for cell in rejected)
    return (
        f"{word} for an adversary who knows the true counts: the test detects {held} of {of} statistical releases, but "
        f"{_span(right)} of the rows that they suspect were relocated, at least {min(times):.0f} times a blind guess; "
        f"without the counts {_span(vague)}"
    )


CLAIMS = {
    "every hybrid is at or below Incognito, in loss and in query error": below_incognito,
    "deterministic and randomized relocation lose less than the statistical variants": below_statistical,
    "the statistical variants hardly react to the budget": hardly_reacts,
    "relocation that passes the test is hidden": hidden,
}


# --- the sentences of hybrid.md ------------------------------------------------------------------------------------


def _lowered(page):
    """How far deterministic relocation lowers LM at the usual k and budget."""
    parts = []
    for place in _places(page):
        for family in FAMILIES:
            row = next(r for r in _rows(page, "LM", family, ("p = 1%",), place) if r["k"] == "10")
            before, after = number(list(row.values())[1]), number(row["deterministic"])
            parts.append(f"{family} from {before:.3f} to {after:.3f} on {place}")
    return ", ".join(parts)


def _fluctuations(page):
    """Whether k = 10 loses less than k = 5, with and without deletion."""
    table = page.one(DELETION)
    pairs = {}
    for row in table.where():
        pairs.setdefault(row["table"], {})[row["k"]] = row
    paradox = counted(
        number(own["10"]["deleting: median"]) < number(own["5"]["deleting: median"]) for own in pairs.values()
    )
    mended = counted(
        number(own["5"]["not deleting: highest"]) < number(own["10"]["not deleting: lowest"])
        for own in pairs.values()
    )
    saved = [
        1 - number(row["not deleting: median"]) / number(row["deleting: median"]) for row in table.where()
    ]
    return (
        f"randomized S-Hybrid loses less at k = 10 than at k = 5 on {paradox} tables, by the median of ten seeds. The "
        "cause is deletion: the method draws new targets for each mapping, and one unlucky draw rules out everything "
        f"finer. Without deletion (`prune = false`) every seed at k = 5 is below every seed at k = 10 on {mended} "
        f"tables, and the median LM is {_span([100 * s for s in saved])} lower."
    )


def _false_cells(page):
    """What the largest budget does to LM and to counts."""
    parts, worse = [], False
    for place in _places(page):
        errors = {row["p"]: row for row in _rows(page, "query", "S-Hybrid", ("k = 10",), place)}
        losses = {row["p"]: row for row in _rows(page, "LM", "S-Hybrid", ("k = 10",), place)}
        (small, large) = list(errors)[-2:]
        wrong = number(errors[large]["deterministic"]), number(errors[small]["deterministic"])
        worse |= wrong[0] > wrong[1]
        parts.append(
            f"on {place} deterministic S-Hybrid has LM {number(losses[large]['deterministic']):.3f} at p = {large}, "
            f"and {'a larger' if wrong[0] > wrong[1] else 'a smaller'} query error than at p = {small} "
            f"({wrong[0]:.3f}, {wrong[1]:.3f})"
        )
    moral = "So to use up a budget is not a goal." if worse else "Here more false cells cost counts nothing."
    return f"LM ignores false cells: {'; '.join(parts)}. {moral}"


def _attack(page):
    """What the test detects of the variants without one, and what drawing changes."""
    table = page.one(ATTACK)
    plain = [row for row in table.where() if row["variant"] in ("deterministic", "randomized")]
    found = [numbers(row["rejected"]) for row in plain]
    held, of = sum(int(cell[0]) for cell in found), sum(int(cell[1]) for cell in found)
    pairs = [
        (ends(drawn["right"]), ends(fixed["right"]))
        for fixed in table.where(variant="deterministic")
        for drawn in table.where(variant="randomized", table=fixed["table"], method=fixed["method"])
    ]
    return (
        f"the test detects {held} of {of} releases of the variants without it. Drawing targets at random does not hide "
        f"relocated rows from this adversary: the share of suspected rows that were relocated is clearly above that of "
        f"deterministic relocation in {sum(a[0] > b[1] for a, b in pairs)} of {len(pairs)} cases, clearly below in "
        f"{sum(a[1] < b[0] for a, b in pairs)}."
    )


def in_words(pages):
    """The section `In words` of hybrid.md."""
    page = pages["hybrid"]
    said = [
        f"*Every hybrid is at or below Incognito*, for LM and for query error: {below_incognito(pages)}. Deterministic "
        f"relocation lowers LM at p = 1 % and k = 10: {_lowered(page)}.",
        f"*Deterministic and randomized are below the statistical variants*: {below_statistical(pages)}.",
        f"*The statistical variants hardly react to p*: {hardly_reacts(pages)}.",
        f"*Fluctuations with k*: {_fluctuations(page)}",
        _false_cells(page),
        f"*Relocation that passes the test is hidden*: {hidden(pages)}. Their expectation has no random error, so a "
        f"test for chance does not stop them; {_attack(page)}",
    ]
    return "\n".join(f"- {line}" for line in said) + "\n"
