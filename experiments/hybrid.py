"""The experiments of Nergiz, Gök and Özkanlı on hybrid k-anonymity: tables, plots, and the statistical attack.

Run as ``python -m experiments.hybrid [rows of the census sample]`` from the project's folder; SHOAL_DATA is the folder
that holds adult/. Writes hybrid.md and, if matplotlib is installed, hybrid_*.svg next to this file. The sentences of
hybrid.md are computed from its tables, by `experiments/claims/hybrid.py`.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from scipy.special import stdtrit

from benchmarks.data import adult, census
from experiments.drawing import panels, saved
from shoal.judging.attacks.statistical_attack import Statistical
from shoal.judging.linking.evidence import Evidence
from shoal.judging.linking.origins import Traced
from shoal.judging.measures.cell_losses import Lm
from shoal.judging.measures.count_queries import QueryError
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.requirements import Requirements
from shoal.kernels.grouping import distinct
from shoal.methods import METHODS
from shoal.methods.relocating.relocation import DRAWN, VARIANTS
from shoal.release.published import Boxes, Published
from shoal.support.run import Run

HERE = Path(__file__).parent
SIZES = (5, 10, 25, 50, 100)
BUDGETS = (0.001, 0.005, 0.01, 0.02, 0.05)
K, BUDGET, ALPHA = 10, 0.01, 0.05
FAMILIES = {"single": ("full-domain", "hybrid"), "multi": ("mondrian", "hybrid-mondrian")}
"""Per family the baseline without relocation, and the method that relocates."""
QUERIES = QueryError(queries=600)
SEEDS = range(1, 11)
"""Variants that draw at random are run with each of these; figures are means with their 95 % interval."""


def published(table, release):
    """Return what an outsider sees: rows with identical quasi-identifiers form one class."""
    kept = np.flatnonzero(release.region_of >= 0).astype(np.int32)
    number, first = distinct(np.ascontiguousarray(np.hstack([release.low, release.high])))
    shown = Published(
        table.attributes,
        table.sensitive,
        number[release.region_of[kept]],
        table.secrets.wide[kept],
        Boxes(release.low[first], release.high[first]),
        suppressed=table.rows - len(kept),
    )
    return Evidence(shown, table, Traced(kept))


def measured(table, name, k, seed=1, attack=False, **options):
    """Make one release and measure it; for some, try the statistical attack as well."""
    requirements = Requirements(models=(KAnonymity(k=k),))
    start = time.process_time()
    release = METHODS[name](**options).anonymize(table, requirements, Run.start(seed))
    seconds = time.process_time() - start
    shown = published(table, release)
    assert shown.published.sizes.min() >= k
    found = {
        "seconds": seconds,
        "lm": Lm().value(shown),
        "query": QUERIES.value(shown),
        "changed": release.facts.get("changed_share", 0.0),
    }
    if attack:
        knows = Statistical(k=k, alpha=ALPHA).attempt(shown, Run.start(seed))
        vague = Statistical(knows="distribution", k=k).attempt(shown, Run.start(seed))
        figures = knows.figures
        found |= {
            name: figures[name] for name in ("relocated", "p_value", "rejected", "accused", "vanished_groups")
        }
        found |= {"right": knows.success, "vague": vague.success, "guess": knows.baseline}
    return found


def repeated(table, name, k, variant, **options):
    """Measure a variant with every seed if it draws, else once: ``{figure: values}``."""
    made = [
        measured(table, name, k, seed, variant=variant, **options)
        for seed in (SEEDS if variant in DRAWN else SEEDS[:1])
    ]
    return {figure: np.array([one[figure] for one in made], float) for figure in made[0]}


def sweep(table, label):
    """All releases of a table: {(family, variant, k, budget): figures}."""
    found = {}
    for family, (baseline, hybrid) in FAMILIES.items():
        for k in SIZES:
            made = measured(table, baseline, k)
            found[family, "none", k, 0.0] = {figure: np.array([value]) for figure, value in made.items()}
        for variant in VARIANTS:
            for k, budget in dict.fromkeys(
                [(k, BUDGET) for k in SIZES] + [(K, budget) for budget in BUDGETS]
            ):
                usual = (k, budget) == (K, BUDGET)
                made = repeated(table, hybrid, k, variant, budget=budget, alpha=ALPHA, attack=usual)
                found[family, variant, k, budget] = made
                seconds = made["seconds"].mean()
                print(label, family, variant, k, budget, shape(made["lm"]), f"{seconds:.1f} s", flush=True)
    return found


def half(values):
    """Half the length of the 95 % interval of a mean, by Student's t."""
    return float(stdtrit(len(values) - 1, 0.975) * values.std(ddof=1) / len(values) ** 0.5)


def shape(values, form="{:.4f}"):
    """A figure, or the mean of several with its interval."""
    mean = form.format(values.mean())
    return mean if len(values) == 1 else f"{mean} ± {form.format(half(values))}"


def grid(head, rows):
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + " ---: |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def curves(found, family, figure, against):
    """Per variant, a figure along k (at the usual budget) or along the budget (at the usual k)."""
    places = SIZES if against == "k" else BUDGETS
    lines = {}
    for variant in ("none", *VARIANTS):
        keys = [
            (
                family,
                variant,
                x if against == "k" else K,
                0.0 if variant == "none" else BUDGET if against == "k" else x,
            )
            for x in places
        ]
        lines[variant] = [found[key][figure] for key in keys]
    return places, lines


def cells(found, family, against):
    """How many cells each variant changes, and its seconds."""
    head = [against, *(f"{v}: cells changed" for v in VARIANTS), *(f"{v}: s" for v in VARIANTS)]
    _, changed = curves(found, family, "changed", against)
    places, seconds = curves(found, family, "seconds", against)
    rows = [
        [f"{x:.1%}" if against == "p" else str(x)]
        + [shape(changed[v][i], "{:.3%}") for v in VARIANTS]
        + [f"{seconds[v][i].mean():.2f}" for v in VARIANTS]
        for i, x in enumerate(places)
    ]
    return grid(head, rows)


def text_of(found, label, plots):
    """Everything about one table, as Markdown."""
    parts = [f"## {label}\n"]
    names = {
        "single": "Single-dimensional (full-domain, S-Hybrid)",
        "multi": "Multidimensional (Mondrian, M-Hybrid)",
    }
    for family, (baseline, _) in FAMILIES.items():
        parts.append(f"### {names[family]}\n")
        for against, title in (("k", f"p = {BUDGET:.0%}"), ("p", f"k = {K}")):
            for figure, word in (("lm", "LM"), ("query", "median error of count queries")):
                places, lines = curves(found, family, figure, against)
                head = [against, baseline, *VARIANTS]
                rows = [
                    [f"{x:.1%}" if against == "p" else str(x), *(shape(lines[v][i]) for v in lines)]
                    for i, x in enumerate(places)
                ]
                parts.append(f"{word}, {title}, alpha = {ALPHA:.0%}:\n\n{grid(head, rows)}")
        for against, title in (("p", f"k = {K}"), ("k", f"p = {BUDGET:.0%}")):
            parts.append(
                f"Cells changed within the budget, {title}, and processor seconds:\n\n{cells(found, family, against)}"
            )
    return "\n".join([*parts, *plots])


def spread(values):
    """A p-value, or the median of several with the lowest and the highest."""
    if len(values) == 1:
        return f"{values[0]:.3g}"
    return f"{np.median(values):.3g} ({values.min():.3g} to {values.max():.3g})"


def attacked(tables):
    """The statistical attack on each variant at the usual k and budget."""
    head = [
        "table", "method", "variant", "rows relocated", "p-value", "rejected", "suspected", "right",
        "right without counts", "blind guess", "times better", "times better without counts", "vanished groups",
    ]  # fmt: skip
    rows = []
    for label, (_, found) in tables.items():
        for family, (_, hybrid) in FAMILIES.items():
            for variant in VARIANTS:
                made = found[family, variant, K, BUDGET]
                guess = np.maximum(made["guess"], 1e-12)
                rows.append(
                    [
                        label, hybrid, variant, f"{made['relocated'].mean():,.0f}", spread(made["p_value"]),
                        f"{made['rejected'].sum():.0f} of {len(guess)}", f"{made['accused'].mean():,.0f}",
                        shape(made["right"], "{:.1%}"), shape(made["vague"], "{:.1%}"), f"{guess.mean():.2%}",
                        shape(made["right"] / guess, "{:.1f}"), shape(made["vague"] / guess, "{:.1f}"),
                        f"{made['vanished_groups'].mean():,.0f}",
                    ]
                )  # fmt: skip
    return grid(head, rows)


def deleted(tables):
    """Randomized S-Hybrid with and without deleting what lies below a mapping that fails."""
    rows = []
    for label, (table, _) in tables.items():
        for k in SIZES[:2]:
            line = [label, str(k)]
            for prune in (True, False):
                found = []
                for seed in SEEDS:
                    requirements = Requirements(models=(KAnonymity(k=k),))
                    method = METHODS["hybrid"](variant="randomized", budget=BUDGET, prune=prune)
                    release = method.anonymize(table, requirements, Run.start(seed))
                    found.append(release.facts["loss_with_relocation"])
                line += [f"{value:.4f}" for value in (min(found), np.median(found), max(found))]
                print(*line, flush=True)
            rows.append(line)
    words = ("lowest", "median", "highest")
    head = ["table", "k", *(f"deleting: {w}" for w in words), *(f"not deleting: {w}" for w in words)]
    return grid(head, rows)


def findings(tables):
    """How many releases are at or below the baseline, and how much a figure changes over the budgets."""
    lines = []
    for label, (_, found) in tables.items():
        for family, (_, hybrid) in FAMILIES.items():
            for figure, word in (("lm", "LM"), ("query", "query error")):
                below = [
                    value <= found[family, "none", k, 0.0][figure][0] * (1 + 1e-9)
                    for (which, variant, k, _), made in found.items()
                    if which == family and variant != "none"
                    for value in made[figure]
                ]
                _, by_p = curves(found, family, figure, "p")
                means = {v: [values.mean() for values in by_p[v]] for v in VARIANTS}
                span = {v: (max(means[v]) - min(means[v])) / max(*means[v], 1e-12) for v in VARIANTS}
                lines.append(
                    [
                        label,
                        hybrid,
                        word,
                        f"{sum(below)} of {len(below)}",
                        *(f"{span[v]:.0%}" for v in VARIANTS),
                    ]
                )
    head = ["table", "method", "figure", "releases at or below the baseline"]
    return grid([*head, *(f"{v}: change over p" for v in VARIANTS)], lines)


def plot(found, label):
    """One picture per table: LM and query error against k and against p."""
    made = []
    for family, (baseline, hybrid) in FAMILIES.items():
        figure, axes = panels(1, 4, figsize=(16, 3.6), constrained_layout=True)
        shown = [("lm", "k"), ("query", "k"), ("lm", "p"), ("query", "p")]
        for axis, (name, against) in zip(axes, shown, strict=True):
            places, lines = curves(found, family, name, against)
            for variant, style in zip(lines, ("k--", "o-", "s-", "^-", "v-"), strict=True):
                means = [values.mean() for values in lines[variant]]
                bars = [half(values) if len(values) > 1 else 0.0 for values in lines[variant]]
                label_of = baseline if variant == "none" else variant
                axis.errorbar(places, means, yerr=bars, fmt=style, label=label_of, capsize=2)
            axis.set_xscale("log")
            axis.set_xticks(places, [f"{x:.1%}" if against == "p" else str(x) for x in places])
            axis.minorticks_off()
            axis.set_xlabel("k" if against == "k" else "budget p")
            axis.set_ylabel("LM" if name == "lm" else "median query error")
            axis.set_ylim(bottom=0)
        axes[0].legend(fontsize=8)
        figure.suptitle(f"{hybrid} on {label}")
        file = f"hybrid_{label.split(',')[0].lower().replace(' ', '_')}_{family}.svg"
        made.append(saved(figure, file, f"{hybrid} on {label}") + "\n")
    return made


def main(rows):
    tables = {}
    for label, table in {
        f"Census, {rows:,} rows, 7 columns": census(rows, 7, trees=True, sensitive=("salary",)),
        "Adult, 9 columns": adult(),
    }.items():
        tables[label] = table, sweep(table, label.split(",")[0])
    parts = [
        "## The findings of the paper, counted\n",
        "Every release of every seed is compared with the baseline of the same k. *Change over p* is how much smaller "
        "the lowest mean over the budgets is than the highest.\n",
        findings(tables),
        "## What deletion costs the randomized variant\n",
        f"LM of randomized S-Hybrid at p = {BUDGET:.0%} over {len(SEEDS)} seeds. In the paper, a mapping at which "
        "relocation fails is deleted with all finer ones; `prune = false` tries those, too.\n",
        deleted(tables),
        "## The statistical attack\n",
        f"k = {K}, p = {BUDGET:.0%}. The adversary knows how many people truly have which values. They suspect as "
        "many rows as classes have too many, from the most suspicious class on. *Right* is the share of relocated rows "
        "among the suspected, *blind guess* their share among all rows. *Without counts*, they only know the "
        "distribution, from another sample of the same size. *Rejected* counts the releases that Pearson's test "
        "detects.\n",
        attacked(tables),
    ]
    parts += [text_of(found, label, plot(found, label)) for label, (_, found) in tables.items()]
    (HERE / "hybrid.md").write_text("\n".join([HEAD, "## In words\n", *parts]))
    from experiments.claims import rewrite

    rewrite()


HEAD = f"""# Hybrid k-anonymity: the experiments of the paper

Written by `hybrid.py`, the sentences from the tables. The census is a synthetic sample that ships with Shoal, not the
CENSUS of the paper: 7 quasi-identifiers with the hierarchies that ship with it and a salary. Adult has its 9 columns
with their hierarchies. The baseline without relocation is the proven optimum of full-domain, which is also Incognito's,
and Mondrian. Every release was verified to be k-anonymous. Count queries: {QUERIES.queries} random ones over 1 to all
columns that find about a tenth of the rows. Variants that draw at random (randomized, rstat) were run with
{len(SEEDS)} seeds: their figures are means ± half the length of the 95 % interval by Student's t.
"""


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
