"""The experiments of Truta and Campan on (extended) p-sensitive k-anonymity, and more, as tables and plots.

Run as ``python experiments/p_sensitive.py``; SHOAL_DATA is the folder that holds adult/. Writes p_sensitive.md and
p_sensitive_*.svg next to this file.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl

from experiments.drawing import panels, saved
from experiments.four_steps import costs, four_steps
from shoal.coding.column_plan import ColumnPlan
from shoal.coding.encode import encode
from shoal.coding.roles import QUASI, SENSITIVE
from shoal.errors import InfeasibleError
from shoal.judging.attacks.attribute_disclosure import AttributeDisclosure
from shoal.judging.linking.evidence import Evidence
from shoal.judging.measures import MEASURES
from shoal.judging.models.alpha_k import AlphaK
from shoal.judging.models.demands import demands_of, outlook
from shoal.judging.models.extended_p import ExtendedPSensitive
from shoal.judging.models.feasibility import describe_left_out, find_unserved_blocks, reasons_against
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.l_diversity import DistinctDiversity
from shoal.judging.models.p_sensitive import PSensitive
from shoal.judging.models.requirements import Requirements
from shoal.methods import METHODS
from shoal.support.run import Run

HERE = Path(__file__).parent
DATA = Path(os.environ.get("SHOAL_DATA", HERE.parent.parent / "shared" / "data"))
ROWS = 10_000
SIZES = (4, 10, 25, 40)
METHOD_NAMES = ("enhanced-p-k", "greedy-p-k", "incognito")
SCHOOLING = (
    "Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad", "Some-college",
    "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate",
)  # fmt: skip
SECRETS = ("education", "education-num", "occupation")
NUMBER_TREE = {"1-4": [1, 2, 3, 4], "5-8": [5, 6, 7, 8], "9-12": [9, 10, 11, 12], "13-16": [13, 14, 15, 16]}
PROTECTED = {
    "education": ("Primary education", "Secondary education", "Professional Education", "Higher education"),
    "education-num": ("1-4", "5-8", "9-12", "13-16"),
    "occupation": ("Technical", "Nontechnical", "Other"),
}


def adult(rows=ROWS, *, age_levels=False, limits=None):
    """Rows of Adult at random, with the quasi-identifiers and the sensitive columns of the paper.

    The number of years at school follows from the education, as in the original file. Work class, race and sex have
    two levels, marital status and country three. Age is a number; full-domain mappings need levels for it.
    """
    folder = DATA / "adult"
    data = pl.read_csv(folder / "adult.csv", separator=";", infer_schema=False)
    if rows:
        data = data.sample(rows, seed=1)
    years = {name: number for number, name in enumerate(SCHOOLING, 1)}
    data = data.with_columns(
        pl.col("age").cast(pl.Int64),
        pl.col("education").replace_strict(years, return_dtype=pl.Int64).alias("education-num"),
    )

    def tree(name):
        return folder / f"adult_hierarchy_{name}.csv"

    limits = limits or {}
    plans = [ColumnPlan("age", QUASI, {"widths": [5, 10, 20]} if age_levels else None)]
    plans += [ColumnPlan(name, QUASI, limit=limits.get(name)) for name in ("workclass", "race", "sex")]
    plans += [
        ColumnPlan(name, QUASI, tree(name), limit=limits.get(name))
        for name in ("marital-status", "native-country")
    ]
    plans += [ColumnPlan(name, SENSITIVE, tree(name)) for name in ("education", "occupation")]
    plans += [ColumnPlan("education-num", SENSITIVE, {"tree": NUMBER_TREE})]
    return encode(data, plans)


BINARY = {"abcd": {"ab": ["a", "b"], "cd": ["c", "d"]}, "efgh": {"ef": ["e", "f"], "gh": ["g", "h"]}}
STRONG = {"S1": ("ab", "cd", "ef", "gh"), "S2": ("abcd", "ef", "gh")}


def synthetic(name, rows=ROWS, seed=1):
    """One of UU, UN, NU, NN: quasi-identifiers, then sensitive columns, uniform or normal (max/2, deviation max/6)."""
    random = np.random.default_rng(seed)

    def draw(kind, top):
        if kind == "U":
            return random.uniform(0, top, rows)
        return np.clip(random.normal(top / 2, top / 6, rows), 0, top - 1e-9)

    letters = np.array(list("abcdefgh"))
    columns = {"age": np.floor(draw(name[0], 100)).astype(np.int64)}
    columns |= {f"Q{j}": letters[np.floor(draw(name[0], 8)).astype(int)] for j in (1, 2, 3)}
    columns |= {f"S{j}": letters[np.floor(draw(name[1], 8)).astype(int)] for j in (1, 2)}
    plans = [ColumnPlan("age", QUASI)]
    plans += [ColumnPlan(f"Q{j}", QUASI, {"tree": BINARY}) for j in (1, 2, 3)]
    plans += [ColumnPlan(f"S{j}", SENSITIVE, {"tree": BINARY}) for j in (1, 2)]
    return encode(pl.DataFrame(columns), plans)


def plain(p):
    return lambda table: [PSensitive(p=p)]


def extended(p, protected):
    def models(table):
        return [
            ExtendedPSensitive(p=p, column=j, column_name=a.name, protected=protected[a.name])
            for j, a in enumerate(table.sensitive)
        ]

    return models


def asking(table, k, models, measure="il", suppression=0.0):
    return Requirements(models=(KAnonymity(k=k), *models(table)), measure=measure, suppression=suppression)


def shown(table, release):
    return Evidence.of_release(table, release, 10)


def trial(name, table, wish):
    """One release: verified from what is published, measured, timed (processor seconds)."""
    start = time.process_time()
    release = METHODS[name]().anonymize(table, wish, Run.start(1))
    seconds = time.process_time() - start
    evidence = shown(table, release)
    published = evidence.published
    assert all(model.verify(evidence).holds for model in wish.models)
    sizes = np.bincount(release.region_of[release.region_of >= 0])
    return {
        "avg": table.rows / (len(sizes) * wish.k),
        "dm": float((sizes**2).sum()) + published.suppressed * table.rows,
        "classes": len(sizes),
        "shown": published.classes,
        "seconds": seconds,
        "evidence": evidence,
    }


def comparison(tables, models, names, sizes=SIZES):
    """Per k and method one trial; `tables` gives the table of a method."""
    found = {}
    for k in sizes:
        for name in names:
            table = tables(name)
            wish = asking(table, k, models, "avg" if name == "incognito" else "il")
            try:
                found[k, name] = trial(name, table, wish)
            except InfeasibleError:
                found[k, name] = None
        table = tables("enhanced-p-k")
        far = outlook(table, asking(table, k, models))
        found[k, "bound"] = (far.classes, far.classes < far.by_rows)
        print(
            k, {name: found[k, name] and found[k, name]["classes"] for name in names}, far.classes, flush=True
        )
    return found


def tabulate(found, names, sizes=SIZES):
    head = [f"{what} {name}" for what in ("AVG", "DM", "s") for name in names]
    lines = ["| k | most classes | limited by | classes enhanced | that differ | " + " | ".join(head) + " |"]
    lines.append("| ---: " * (5 + len(head)) + "|")
    for k in sizes:
        bound, by_p = found[k, "bound"]
        cells = [str(k), f"{bound:,}", "p" if by_p else "k", f"{found[k, 'enhanced-p-k']['classes']:,}"]
        cells.append(f"{found[k, 'enhanced-p-k']['shown']:,}")
        for what, shape in (("avg", "{:.3f}"), ("dm", "{:,.0f}"), ("seconds", "{:.2f}")):
            cells += [shape.format(found[k, name][what]) if found[k, name] else "none" for name in names]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


STYLES = {
    "enhanced-p-k": {"marker": "o", "markersize": 3},
    "greedy-p-k": {"marker": "s", "markersize": 3},
    "incognito": {"marker": "^", "markersize": 3},
}


def plot(file, parts, names, sizes=SIZES):
    """AVG, DM and seconds over k, a row per part."""
    figure, axes = panels(len(parts), 3, figsize=(11, 2.7 * len(parts)), squeeze=False)
    for row, (title, found) in zip(axes, parts.items(), strict=True):
        for axis, (what, label) in zip(
            row, (("avg", "AVG"), ("dm", "DM"), ("seconds", "seconds")), strict=True
        ):
            for name in names:
                points = [(k, found[k, name][what]) for k in sizes if found[k, name]]
                axis.plot(*zip(*points, strict=True), label=name, **STYLES[name])
            low, high = axis.dataLim.intervaly
            if high > 20 * low:
                axis.set_yscale("log")
            else:
                axis.set_ylim(bottom=0)
            axis.set_title(f"{title}: {label}", fontsize=9)
            axis.tick_params(labelsize=8)
            axis.set_xlabel("k", fontsize=8)
    axes[0][0].legend(fontsize=7)
    figure.tight_layout()
    return saved(figure, file, "AVG, DM and seconds over k") + "\n"


def findings(every, names_below):
    """Compare the paper's findings with the trials, by counting."""
    rows = [(found, k) for found in every for k in SIZES]
    limited = [(found, k) for found, k in rows if found[k, "bound"][1]]
    reached = sum(found[k, "enhanced-p-k"]["classes"] == found[k, "bound"][0] for found, k in limited)

    def at_or_below(what, cases):
        return sum(found[k, "enhanced-p-k"][what] <= found[k, "greedy-p-k"][what] for found, k in cases)

    def where_above(cases):
        above = [
            found[k, "enhanced-p-k"]["dm"] / found[k, "greedy-p-k"]["dm"]
            for found, k in cases
            if found[k, "enhanced-p-k"]["dm"] > found[k, "greedy-p-k"]["dm"]
        ]
        return f"in the others it is up to {max(above) - 1:.1%} above." if above else "it is nowhere above."

    against = [(found[k, "incognito"][what] / max(found[k, name][what] for name in METHOD_NAMES[:2]))
               for found in names_below for k in SIZES for what in ("avg", "dm")]  # fmt: skip
    return (
        f"- If p limits the number of classes, enhanced-p-k reaches the bound in {reached} of {len(limited)} "
        "cases.\n"
        f"- Its AVG is at or below that of greedy-p-k in {at_or_below('avg', rows)} of {len(rows)} cases, "
        f"{at_or_below('avg', limited)} of {len(limited)} if p limits. Its DM is in {at_or_below('dm', rows)} and "
        f"{at_or_below('dm', limited)}; {where_above(rows)}\n"
        f"- AVG and DM of incognito are at least {min(against):,.0f} times those of either clustering.\n"
    )


FOUR_STEPS = (("extended", 3, 4), ("extended", 3, 10), ("extended", 3, 25), ("plain", 10, 4), ("plain", 3, 4))


def literal():
    """The four steps of the chapter, word by word, next to enhanced-p-k: classes, IL and DM."""
    table = adult()
    lines = [
        "| model | k | classes | of at most | IL four steps | IL ours | ratio | DM four steps | DM ours | ratio |",
        "| --- " + "| ---: " * 9 + "|",
    ]
    ratios, least = [], []
    for kind, p, k in FOUR_STEPS:
        wish = asking(table, k, plain(p) if kind == "plain" else extended(p, PROTECTED))
        labels = [
            np.unique(demand.label_of, return_inverse=True)[1] for demand in demands_of(table, wish).each
        ]
        theirs = costs(table, four_steps(table, np.stack(labels, axis=1), p, k))
        release = METHODS["enhanced-p-k"]().anonymize(table, wish, Run.start(1))
        ours, facts = costs(table, release.region_of), release.facts
        ratios.append((ours[0] / theirs[0], ours[1] / theirs[1]))
        least.append(ours[1] == table.rows * k)
        lines.append(
            f"| {kind} p = {p} | {k} | {facts['clusters']:,} | {facts['most_clusters']:,} | {theirs[0]:,.0f} | "
            f"{ours[0]:,.0f} | {ratios[-1][0]:.2f} | {theirs[1]:,.0f} | {ours[1]:,.0f} | {ratios[-1][1]:.2f} |"
        )
        print(lines[-1], flush=True)
    il, dm = (sum(pair[i] <= 0.9 for pair in ratios) for i in (0, 1))
    text = (
        f"IL of enhanced-p-k is at most 0.9 times that of the four steps in {il} of {len(ratios)} cases, DM in {dm}; "
        f"in {sum(least)} DM is the least possible, because every class has exactly k rows.\n"
    )
    return "\n".join(lines) + "\n\n" + text


def losses():
    """What many classes cost: LM and IL next to Mondrian, which makes fewer and tighter ones."""
    table = adult()
    lines = ["| k = 10 | method | classes | LM | IL |", "| --- | --- | ---: | ---: | ---: |"]
    for p in (3, 10):
        for name in ("mondrian", "greedy-p-k", "enhanced-p-k", "p-k"):
            found = trial(name, table, asking(table, 10, plain(p), "lm"))
            lm, il = (MEASURES[what]().value(found["evidence"]) for what in ("lm", "il"))
            lines.append(f"| p = {p} | {name} | {found['classes']:,} | {lm:.4f} | {il:,.0f} |")
    return "\n".join(lines)


def constrained():
    """Limits on two columns: what each method makes of them, and which blocks go."""
    limits = {"native-country": 1, "race": 0}
    models = plain(3)
    lines = [
        "| method | classes | AVG | suppressed rows | cells above their limit |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    note = ""
    for name in ("mondrian", "full-domain", "incognito", "greedy-p-k", "enhanced-p-k", "p-k"):
        table = adult(age_levels=name in ("full-domain", "incognito"), limits=limits)
        wish = asking(table, 10, models, "lm", suppression=0.02)
        assert reasons_against(table, wish) == []
        note = (
            describe_left_out(table, wish).split(":")[0]
            + ": "
            + "; ".join(find_unserved_blocks(table, wish, private=True)[1])
        )
        found = trial(name, table, wish)
        evidence, published = found["evidence"], found["evidence"].published
        above = 0
        for j, attribute in enumerate(table.attributes):
            tree, codes = attribute.hierarchy, table.quasi.wide[evidence.owner, j]
            low, high = (ends[published.class_of, j] for ends in published.cell_ranges)
            above += int(((low < tree.low[-1, codes]) | (high > tree.high[-1, codes])).sum())
        dropped = find_unserved_blocks(table, wish)[2]
        lines.append(
            f"| {name} | {found['classes']:,} | {found['avg']:.3f} | {published.suppressed:,} "
            f"({dropped:,} in blocks) | {above:,} |"
        )
    return "\n".join(lines), note


def disclosure():
    """What is believed of people, before and after."""
    table = adult()
    lines = [
        "| release | certain before | certain after | above 50 % after | mean belief in the true value |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for title, name, models in (
        ("mondrian, k = 10", "mondrian", lambda table: []),
        ("mondrian, k = 10, p = 3", "mondrian", plain(3)),
        ("p-k, k = 10, p = 3", "p-k", plain(3)),
        ("p-k, k = 10, p = 10", "p-k", plain(10)),
        ("p-k, k = 10, extended p = 3", "p-k", extended(3, PROTECTED)),
    ):
        evidence = trial(name, table, asking(table, 10, models))["evidence"]
        nodes = tuple(PROTECTED[a.name] for a in table.sensitive) if "extended" in title else ()
        sure = AttributeDisclosure(protected=nodes).attempt(evidence, Run.start(1))
        half = AttributeDisclosure(threshold=0.5, protected=nodes).attempt(evidence, Run.start(1))
        lines.append(
            f"| {title} | {sure.figures['share_at_risk_before']:.1%} | {sure.figures['share_at_risk']:.1%} | "
            f"{half.figures['share_at_risk']:.1%} | {sure.success:.3f} |"
        )
    return "\n".join(lines)


def other_models():
    """The same clusterings for distinct l-diversity and (alpha,k) of the occupation, next to Mondrian."""
    table = adult()
    j = [a.name for a in table.sensitive].index("occupation")
    place = {"column": j, "column_name": "occupation"}
    lines = ["| asked for, with k = 10 | method | classes | AVG | s |", "| --- | --- | ---: | ---: | ---: |"]
    for title, model in (
        ("distinct 5-diversity", DistinctDiversity(l=5, **place)),
        ("distinct 10-diversity", DistinctDiversity(l=10, **place)),
        ("(0.3, 10)-anonymity", AlphaK(alpha=0.3, k=10, **place)),
        ("(0.2, 10)-anonymity", AlphaK(alpha=0.2, k=10, **place)),
    ):
        for name in ("greedy-p-k", "enhanced-p-k", "mondrian"):
            found = trial(name, table, asking(table, 10, lambda table, model=model: [model]))
            lines.append(
                f"| {title} | {name} | {found['classes']:,} | {found['avg']:.3f} | {found['seconds']:.2f} |"
            )
    return "\n".join(lines)


def main():
    numbers, levels = adult(), adult(age_levels=True)

    def tables(name):
        return levels if name == "incognito" else numbers

    text = [
        "# p-sensitive k-anonymity: the experiments of the paper\n",
        "Written by `p_sensitive.py`. All releases were verified from the published rows. AVG = rows / (classes x k), "
        "DM = sum of squared class sizes, s = processor seconds. *Most classes* is the "
        "feasibility bound, and *limited by* says what sets it. Incognito optimizes AVG over its minimal mappings; age "
        "has levels of 5, 10 and 20 years there, and is a free range for the clusterings. As in the paper, classes are "
        "those of the partition. Some of them become identical in the end, so an outsider sees them as one class: "
        "*that differ* counts the classes of enhanced-p-k that an outsider can distinguish. `p-k` returns the better "
        "of the two clusterings, so it has no column of its own. The chapter's figures are plots without numbers: only "
        "their order can be compared.\n",
    ]
    parts = {}
    for p in (3, 10):
        parts[f"p = {p}"] = found = comparison(tables, plain(p), METHOD_NAMES)
        text += [f"## Adult, {ROWS:,} rows, p = {p}\n", tabulate(found, METHOD_NAMES) + "\n"]
    text.append(plot("p_sensitive_adult.svg", parts, METHOD_NAMES))
    plain_parts = list(parts.values())
    names = METHOD_NAMES[:2]
    text.append(
        "## Extended p-sensitivity, p = 3\n\n"
        "The paper does not list its strong values, so we chose these: for Adult "
        + "; ".join(f"{name}: {', '.join(nodes)}" for name, nodes in PROTECTED.items())
        + ". For the synthetic sets, of eight values a to h in a binary tree: "
        + "; ".join(f"{name}: {', '.join(nodes)}" for name, nodes in STRONG.items())
        + ".\n"
    )
    parts = {"Adult": comparison(lambda name: numbers, extended(3, PROTECTED), names)}
    for name in ("UU", "UN", "NU", "NN"):
        table = synthetic(name)
        parts[name] = comparison(lambda _, table=table: table, extended(3, STRONG), names)
    for name, found in parts.items():
        text += [f"### {name}\n", tabulate(found, names) + "\n"]
    text.append(plot("p_sensitive_extended.svg", parts, names))
    text.insert(2, "## Findings\n\n" + findings([*plain_parts, *parts.values()], plain_parts))
    text += ["## The four steps of the chapter, and enhanced-p-k\n", literal()]
    text += ["## Loss on Adult\n", losses() + "\n"]
    table, note = constrained()
    text += [
        "## Limits on two columns of Adult (country up to its continent, race not at all), k = 10, p = 3\n",
        table,
    ]
    text += [f"\nReported before the work starts: {note}.\n"]
    text += ["## Attribute disclosure on Adult, any of the three sensitive columns\n", disclosure() + "\n"]
    text += ["## Other models by the same clusterings\n", other_models() + "\n"]
    (HERE / "p_sensitive.md").write_text("\n".join(text).rstrip() + "\n")


if __name__ == "__main__":
    sys.exit(main())
