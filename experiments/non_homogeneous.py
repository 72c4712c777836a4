"""The experiments of Wong, Mamoulis and Cheung on non-homogeneous generalization, and more, as tables and plots.

Run as ``python -m experiments.non_homogeneous [part ..]``; SHOAL_DATA is the folder that holds adult/. Parts are
loss, diversity, draws, attacks, orders; without any, all are run. Writes non_homogeneous.md and, where matplotlib is
installed, non_homogeneous_*.svg next to this file.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np
from numba import njit
from scipy.stats import chisquare

from experiments.drawing import panels, saved
from shoal import frames
from shoal.attacks import ATTACKS
from shoal.attacks.rerun import rerun, true_classes
from shoal.errors import InfeasibleError
from shoal.kernels.assignment import draw_assignments
from shoal.linking.evidence import Evidence
from shoal.methods.cells import ring
from shoal.methods.cells.ring import Ring, stream
from shoal.methods.partitioning.ordered import Hilbert, Lexicographic
from shoal.methods.partitioning.partition import Partition
from shoal.methods.partitioning.windows import group_losses
from shoal.models import MODELS
from shoal.models.requirements import Requirements
from shoal.run import Run
from shoal.samples import sample
from shoal.table.encode import encode
from shoal.table.plan import ColumnPlan

HERE = Path(__file__).parent
DATA = Path(os.environ.get("SHOAL_DATA", HERE.parent.parent / "shared" / "data"))
SHIPPED = Path(sys.modules["shoal"].__file__).parent / "samples" / "data"
CENSUS = ("age", "gender", "education", "marital", "race", "workclass", "country", "occupation")
ADULT = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
OWN = {"column": 0, "column_name": "occupation"}
METHODS = {"HR": Hilbert(show="ranges"), "HS": Hilbert(), "HP": Lexicographic(), "NH": Ring()}
KS = (2, 4, 6, 8, 10, 20, 40, 60, 80, 100)
AXES = {"n": "rows n", "d": "columns d", "k": "k", "l": "l"}
LOOKS = {
    "HR": ("tab:blue", "s", "-"),
    "AT": ("tab:grey", "s", "-"),
    "HS": ("tab:orange", "o", "-"),
    "NH": ("tab:red", "^", "-"),
    "NH, mondrian": ("tab:purple", "D", "-"),
    "HP": ("tab:green", "v", "--"),
}
_tables = {}


INTRODUCTION = """# Non-homogeneous generalization: the experiments of the paper

Written by `non_homogeneous.py`. GCP is (values covered - 1) / (values of the domain - 1), averaged over all cells.
HR: Hilbert order, optimal groups, ranges and nodes; HS: the same with sets; HP: lexicographic groups with sets; NH:
rings on these groups. Times are processor times.
""".splitlines()
DIVERSITY = """## l-diversity: NH, HS, anatomy

Census, n = 100K; the sensitive column is the occupation. *NH, mondrian* takes its groups from Mondrian. Each ring
only holds rows with different occupations, so all candidate rows of a person show different ones. In the arrangement of
the paper, any l neighbours of a ring differ but values repeat farther on. It loses less and is not safe:
tests/test_ring.py has a ring of six in which two people's values are certain. So NH gains almost nothing over HP
here. From l = 6 on, one sex alone is no longer diverse, and lexicographic groups must mix the sexes; Mondrian finds
other splits.
""".splitlines()
DRAWS = """## Draws of the assignment

100,000 draws each. *p* is the chi-squared test that all pairs of a position are equally likely: the smallest of the
p-values of all positions times their number, at most 1 (of 42 such values we expect one or two below 0.04).
*known* is the largest probability of any other pair once one pair is known, over all pairs; the ideal is 1/(k-1), and
rotating the whole ring gives 1. The draw of the paper and ours reveal about as much; for odd k and long rings ours
reveals a little more (k = 5, 50 rows: 0.39, the paper's 0.37). For k = 3 neighbours depend on each other in every draw:
unless the whole ring is rotated, a person who has their own cell (offset 0) has a neighbour with the farthest one
(offset 2). *s* is seconds.
""".splitlines()
ATTACKED = """## Attacks on NH, k = 10

Census, n = 20K, d = 5. *Guessed* is the share of people in rings with different cells whose row the adversary names by
rotating the ring as the known rows suggest; a blind guess names 1/10. *Withstands* means that nobody has fewer than
k - q candidates left and that the adversary guesses less than 2/(k-1); for the second table, that one rotation names
less than half of the rings, and the first guess less than 2/k of the people. We chose these limits; docs/attacks/ says
why.
""".splitlines()
ORDERED = """The order inside groups matters little: groups that mix values have fewer than 2k rows, and all orders
except the fold lie within 2 % of each other. The greedy nearest order is the best single one in all cases, or equal in
the digits shown. It gains most if one ring holds all rows, 6 % over the lexicographic one at d = 7. The partition
matters more. Lexicographic groups lose least in all cases. Agglomerative clusters lose less than groups by Hilbert or
Mondrian, but more than lexicographic groups: they minimize the loss of nodes and ranges, not of sets.
""".splitlines()


def census(rows, columns=3, secret=False):
    """The first columns of the census sample: age in free ranges, the others with their trees."""
    if rows not in _tables:
        _tables[rows] = sample("census", rows, seed=1)
    trees = {name: SHIPPED / f"census_{name}.csv" for name in CENSUS if name not in ("age", "gender")}
    plans = [ColumnPlan(name, "quasi", trees.get(name)) for name in CENSUS[:columns]]
    plans += [ColumnPlan("occupation", "sensitive")] if secret else []
    return encode(_tables[rows], plans)


def adult(columns=4):
    folder = DATA / "adult"
    plans = [
        ColumnPlan(name, "quasi", None if name == "age" else folder / f"adult_hierarchy_{name}.csv")
        for name in ADULT[:columns]
    ]
    return encode(frames.read(folder / "adult.csv"), plans)


def asked(method, k, l=None):  # noqa: E741
    names = (
        ("probabilistic-k", "candidate-l") if method.name == "ring" else ("k-anonymity", "probabilistic-l")
    )
    models = [MODELS[names[0]](k=k)] + ([MODELS[names[1]](l=l, **OWN)] if l else [])
    return Requirements(models=tuple(models))


def gcp(table, release):
    """The measure of the paper: (values covered - 1) / (values of the domain - 1), averaged over all cells."""
    sizes = np.array([attribute.hierarchy.size for attribute in table.attributes])
    if release.sets is None:
        wide = release.high - release.low
    else:
        wide = np.diff(release.sets.start).reshape(release.low.shape) - 1
    return float((wide / (sizes - 1)).mean(axis=1)[release.region_of].mean())


def run(table, method, k, l=None):  # noqa: E741
    """GCP and seconds of computing, the better of two runs."""
    best = np.inf
    for _ in range(2):
        start = time.process_time()
        release = method.anonymize(table, asked(method, k, l), Run.start(1))
        best = min(best, time.process_time() - start)
    return gcp(table, release), best


def rows_of(label, values, columns):
    width = len(columns) + 1 + label.count("|")
    lines = [f"| {label} | " + " | ".join(columns) + " |", "|" + " ---: |" * width]
    return lines + [f"| {value} | " + " | ".join(cells) + " |" for value, cells in values]


def number(value):
    return f"{value:.3e}" if 0 < value < 1e-4 else f"{value:.5f}"


def series(title, label, cases, name):
    """One table and one plot: GCP of all methods over a parameter."""
    found, lines = {method: [] for method in METHODS}, []
    seconds = {method: [] for method in METHODS}
    for _, table, k in cases:
        for method, made in METHODS.items():
            loss, took = run(table, made, k)
            found[method].append(loss)
            seconds[method].append(took)
    values = [case[0] for case in cases]
    lines = [f"### {title}", ""]
    body = []
    for i, value in enumerate(values):
        losses = [found[method][i] for method in METHODS]
        usual = losses == sorted(losses, reverse=True)
        assert found["NH"][i] <= found["HP"][i] + 1e-12
        cells = [number(loss) for loss in losses] + [
            "yes" if usual else " > ".join(sorted(METHODS, key=lambda m: -found[m][i]))
        ]
        body.append((value, [*cells, f"{seconds['NH'][i] * 1000.0:.0f}", f"{seconds['HS'][i] * 1000.0:.0f}"]))
    lines += rows_of(label, body, [*METHODS, "HR > HS > HP > NH", "NH ms", "HS ms"])
    picture = plot(name, title, label, values, found)
    return [*lines, "", picture, ""], found


def plot(name, title, label, values, found):
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    figure, axis = panels(figsize=(5.4, 3.4), layout="constrained")
    for method, losses in found.items():
        colour, mark, line = LOOKS[method]
        # The dashed line lies on top, so that both are seen where it coincides with another.
        above = 3 if line == "--" else 2
        axis.plot(values, losses, line, marker=mark, color=colour, label=method, markersize=4, zorder=above)
    axis.set_title(title, fontsize=10)
    axis.set_xlabel(AXES[label])
    axis.set_ylabel("GCP")
    axis.set_yscale("log")
    axis.yaxis.set_minor_formatter(NullFormatter())
    low, high = axis.get_ylim()
    if high / low < 100:
        # Less than two powers of ten: a few round numbers tell more.
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.2g}"))
    if label == "k":
        axis.set_xscale("log")
        axis.set_xticks([2, 4, 6, 10, 20, 40, 60, 100], [2, 4, 6, 10, 20, 40, 60, 100])
        axis.xaxis.set_minor_formatter(NullFormatter())
    axis.grid(alpha=0.3)
    axis.legend(frameon=False)
    return saved(figure, f"non_homogeneous_{name}.svg", f"GCP over {label}")


def loss():
    lines = ["## Loss: HR, HS, HP, NH", ""]
    cases = [(f"{n // 1000}K", census(n), 10) for n in (100_000, 200_000, 300_000, 400_000, 500_000)]
    lines += series("Census, d = 3, k = 10", "n", cases, "census_n")[0]
    cases = [(d, census(100_000, d), 10) for d in range(2, 8)]
    lines += series("Census, n = 100K, k = 10", "d", cases, "census_d")[0]
    table = census(100_000)
    lines += series("Census, n = 100K, d = 3", "k", [(k, table, k) for k in KS], "census_k")[0]
    if (DATA / "adult").is_dir():
        lines += series("Adult, k = 10", "d", [(d, adult(d), 10) for d in range(2, 9)], "adult_d")[0]
        table = adult(4)
        lines += series("Adult, d = 4", "k", [(k, table, k) for k in KS], "adult_k")[0]
    lines += WHY
    return lines


WHY = """### Where the order differs, and why

NH is never above HP: both have the same groups, and a cell that covers k rows of a group never covers more values than
one that covers the whole group. HS is never above HR here: the rows have the same order, and a set does not cover
values between its elements.

HP is above HS in two cases. *Two columns of Adult:* no cell mixes the sexes in any method, so only age is
left, in one dimension. There dynamic programming is optimal and the moves between neighbours are not (NH is above HS
by 3 %). *Three columns of the census and k of 40 or more:* the lexicographic partition keeps the first columns
at any cost. At k = 100 its cells lose 0.0287 of age and 0.0001 of education, those of HS 0.0153 and 0.0077: losing
a little education would have saved more age. A ring recovers about 40 % of the difference in age (it loses
0.0235), because its cells cover k rows and not up to 2k - 1 as in a group, but it cannot change the groups.
With more columns NH gains on HS: HS loses 1.2 times as much as NH at d = 3 of the census, and twice as much at d = 7.

Unlike in the paper, HP has no sudden jump for five columns of Adult. Groups that mix values have fewer than 2k rows
here by construction; the paper does not say why its groups grew.

""".splitlines()


def anatomy(table, l, seed=1):  # noqa: E741
    """Random groups of l rows with different values (Xiao and Tao 2006); the rest joins groups without its value."""
    random = np.random.default_rng(seed)
    values = table.sensitive_codes[:, 0]
    buckets = [list(random.permutation(np.flatnonzero(values == v))) for v in np.unique(values)]
    groups = []
    while sum(bool(bucket) for bucket in buckets) >= l:
        largest = sorted((bucket for bucket in buckets if bucket), key=len, reverse=True)[:l]
        groups.append([bucket.pop() for bucket in largest])
    for row in (row for bucket in buckets for row in bucket):
        fitting = [g for g in groups if all(values[other] != values[row] for other in g)]
        fitting[random.integers(len(fitting))].append(row)
    starts = np.concatenate([[0], np.cumsum([len(g) for g in groups])])
    parts = Partition(np.concatenate(groups).astype(np.int32), starts, starts[[0, -1]])
    return float(group_losses(table, parts, parts.sizes).sum() / table.rows / len(table.attributes))


def diversity():
    lines = [*DIVERSITY, ""]
    made = {
        "AT": None,
        "HS": Hilbert(),
        "HP": Lexicographic(),
        "NH": Ring(),
        "NH, mondrian": Ring(partition="mondrian"),
    }

    def one(table, l):  # noqa: E741
        cells = []
        for method in made.values():
            try:
                cells.append(anatomy(table, l) if method is None else run(table, method, 2, l)[0])
            except InfeasibleError:
                cells.append(None)
        return cells

    for label, cases, name in (
        ("l", [(value, census(100_000, 3, secret=True), value) for value in range(2, 10)], "diversity_l"),
        ("d", [(d, census(100_000, d, secret=True), 5) for d in range(2, 8)], "diversity_d"),
    ):
        found = [(value, one(table, wanted)) for value, table, wanted in cases]
        title = "d = 3" if label == "l" else "l = 5"
        lines += [f"### {title}", ""]
        body = [(value, ["-" if c is None else number(c) for c in cells]) for value, cells in found]
        lines += rows_of(label, body, list(made))
        losses = {method: [cells[i] for _, cells in found] for i, method in enumerate(made)}
        title = f"Census, n = 100K, {title}"
        lines += ["", plot(name, title, label, [value for value, _ in found], losses), ""]
    return lines


@njit
def walks(size, k, times, which, words, out):
    """The draw of the paper: assignments that share no pair, one after the other by random walks; the i-th is taken.

    A walk that comes to a position again continues from there with its later choice, where the paper backtracks.
    """
    used = 0
    for t in range(times):
        right = np.empty((size, k), np.int64)
        for j in range(size):
            for s in range(k):
                right[j, s] = (j + s) % size
        d = k
        slot = np.empty(size, np.int64)
        for _ in range(which[t] + 1):
            mate = np.full(size, -1)
            slot[:] = -1
            pick = np.empty(size, np.int64)
            for start in range(size):
                here = start
                while here >= 0:
                    word = words[used % len(words)]
                    used += 1
                    if slot[here] < 0:
                        pick[here] = word % d
                    else:
                        pick[here] = word % (d - 1)
                        pick[here] += pick[here] >= slot[here]
                    here = mate[right[here, pick[here]]]
                here = start
                while here >= 0:
                    slot[here] = pick[here]
                    person = right[here, slot[here]]
                    here, mate[person] = mate[person], here
            for j in range(size):
                out[t, j] = right[j, slot[j]]
                for s in range(slot[j], d - 1):
                    right[j, s] = right[j, s + 1]
            d -= 1


def draws():
    times = 100_000
    lines = [*DRAWS, ""]
    body = []
    random = np.random.default_rng(1)
    for k in (3, 4, 5, 7, 10):
        for size in (5, 8, 12, 20, 50):
            if size <= k:
                continue
            cells = []
            for kind in ("ours", "paper"):
                start = time.process_time()
                if kind == "ours":
                    owner = np.empty(times * size, np.int32)
                    starts = np.arange(times + 1, dtype=np.int64) * size
                    degrees = np.full(times, k)
                    draw_assignments(starts, degrees, degrees, stream(Run.start(1)), owner)
                    local = owner.reshape(times, size) - starts[:-1, None]
                else:
                    local = np.empty((times, size), np.int64)
                    words = random.integers(0, 1 << 31, 1 << 24)
                    walks(size, k, times, random.integers(0, k, times), words, local)
                took = time.process_time() - start
                offset = (local - np.arange(size)) % size
                assert offset.max() < k
                counts = [np.bincount(offset[:, j], minlength=k) for j in range(size)]
                p = min(1.0, min(chisquare(own).pvalue for own in counts) * size)
                cells += [f"{p:.3f}", f"{known(offset, k):.3f}", f"{took:.2f}"]
            body.append((f"{k} | {size}", [f"{1 / (k - 1):.3f}", *cells]))
    lines += rows_of("k | rows", body, ["1/(k-1)", "p", "known", "s", "paper: p", "known", "s"])
    return [*lines, ""]


def times(rows=100_000):
    """The draw of one ring of all rows, where k alone decides the time; the better of two, processor time."""
    starts, owner, block = np.array([0, rows], np.int64), np.empty(rows, np.int32), stream(Run.start(1))
    found = []
    for k in (10, 20, 50, 100, 200, 500, 1000):
        degrees, taken = np.array([k]), []
        for _ in range(3):
            start = time.process_time()
            draw_assignments(starts, degrees, degrees, block, owner)
            taken.append(time.process_time() - start)
        found.append(min(taken))
    body = [(f"{k:,}", [f"{s:.3f}", f"{s / found[0]:.1f}", f"{(k / 10) ** 3:,.0f}"])
            for k, s in zip((10, 20, 50, 100, 200, 500, 1000), found, strict=True)]  # fmt: skip
    lines = [
        "## Time of a draw by k",
        "",
        f"One ring of {rows:,} rows. The paper says that time grows like k³.",
        "",
    ]
    return [*lines, *rows_of("k", body, ["s", "times that of k = 10", "k³: times that of k = 10"]), ""]


def known(offset, k):
    """The largest probability of another pair, given one; the ring looks alike from everywhere, so from position 0."""
    largest = 0.0
    for first in range(k):
        given = offset[offset[:, 0] == first]
        for j in range(1, offset.shape[1]):
            largest = max(largest, float(np.bincount(given[:, j], minlength=k).max() / max(len(given), 1)))
    return largest


def one_turn(parts, widths, varied, run):
    """Rotate each ring as a whole: the draw that must not be used."""
    begin, size = np.repeat(parts.starts[:-1], parts.sizes), np.repeat(parts.sizes, parts.sizes)
    turn = np.repeat(run.random.integers(0, widths), parts.sizes)
    return (begin + (np.arange(len(begin)) - begin + turn) % size).astype(np.int32)


def attacks():
    lines = [*ATTACKED, ""]
    table = census(20_000, 5)
    drawn, body, aware, few = ring.assigned, [], [], ""
    for name, draw in (("decomposition", drawn), ("one rotation per ring", one_turn)):
        ring.assigned = draw
        release = Ring().anonymize(table, asked(Ring(), 10), Run.start(1))
        ring.assigned = drawn
        published = Evidence.of_release(table, release)
        found = ATTACKS["corruption"](k=10).attempt(published, Run.start(2))
        for q in (0, 1, 2, 8):
            own = found.figures[f"with_{q}_known"]
            body.append(
                (
                    name,
                    [
                        str(q),
                        str(own["fewest"]),
                        f"{own['mean']:.2f}",
                        f"{own['guessed']:.1%}",
                        str(found.holds),
                    ],
                )
            )
        found = ATTACKS["algorithm-aware"](k=10).attempt(published, Run.start(2))
        figures = found.figures
        few = few or two_cells(published, table)
        aware.append(
            (
                name,
                [
                    f"{figures['named_by_the_first_guess']:.1%}",
                    f"{figures['rings_that_one_turn_names']:.1%}",
                    str(found.holds),
                ],
            )
        )
    lines += rows_of(
        "corruption", body, ["rows known", "fewest candidates left", "on average", "guessed", "withstands"]
    )
    lines += [
        "",
        *rows_of(
            "algorithm-aware",
            aware,
            ["named by the first guess", "rings named by one rotation", "withstands"],
        ),
        "",
        few,
        "",
    ]
    return lines


def two_cells(published, table):
    """Say why rings of two different cells do not count as rotated."""
    again, truth = rerun(published.published, table, Ring(), 10, Run.start(2)), true_classes(published)
    best = np.zeros(len(again.parts.sizes), np.int64)
    for turn in range(10):
        right = again.guesses(turn) == truth[again.parts.order]
        best = np.maximum(best, np.bincount(again.ring_of[right], minlength=len(best)))
    own = {r: again.class_at[slice(*again.parts.starts[r : r + 2])] for r in np.flatnonzero(again.varied)}
    two = [r for r, cells in own.items() if len(np.unique(cells)) == 2]
    named = [r for r in two if best[r] == again.parts.sizes[r]]
    return (
        f"Of the {len(own)} rings, {len(two)} have only two different cells. In {len(named)} of these, the "
        "decomposition drew the same assignment\nas some rotation would, so they cannot distinguish the two, and the "
        "last column ignores all rings of two cells. To name a\ncell there is to name one of "
        f"{np.mean([len(own[r]) for r in named]) / 2:.0f} rows on average, not one row."
    )


def orders():
    lines = [
        "## Partitions and orders of the ring",
        "",
        "GCP, k = 10, n = 100K. The lowest of a column is bold.",
        "",
    ]
    chosen = [p for p in ring.PARTITIONS if p != "agglomerative"]
    lines += compared(100_000, [(p, order) for p in chosen for order in ring.ORDERS])
    lines += ["", "GCP, k = 10, n = 10K, with agglomerative clusters, which take longer.", ""]
    pairs = [(p, order) for p in ring.PARTITIONS for order in ("lexicographic", "nearest")]
    return [*lines, *compared(10_000, pairs), "", *ORDERED, ""]


def compared(rows, pairs):
    found = [
        [run(census(rows, d), Ring(partition=p, order=order), 10)[0] for d in (3, 5, 7)] for p, order in pairs
    ]
    least = np.min(found, axis=0)
    body = [
        (
            f"{p} | {order}",
            [
                f"**{number(loss)}**" if loss == low else number(loss)
                for loss, low in zip(own, least, strict=True)
            ],
        )
        for (p, order), own in zip(pairs, found, strict=True)
    ]
    return rows_of("partition | order", body, ["d = 3", "d = 5", "d = 7"])


PARTS = {
    "loss": loss,
    "diversity": diversity,
    "draws": draws,
    "times": times,
    "attacks": attacks,
    "orders": orders,
}


def main():
    chosen = sys.argv[1:] or list(PARTS)
    out = HERE / "non_homogeneous.md"
    text = [*INTRODUCTION, ""]
    for part in chosen:
        start = time.perf_counter()
        text += PARTS[part]()
        print(f"{part}: {time.perf_counter() - start:.0f} s", flush=True)
    out.write_text("\n".join(line.rstrip() for line in text) + "\n")


if __name__ == "__main__":
    main()
