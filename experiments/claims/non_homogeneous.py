"""What README.md says about non-homogeneous generalization, from the tables of non_homogeneous.md."""

from __future__ import annotations

from experiments.claims.pages import OTHER_DATA, number, verdict

NAMES = ("HR", "HS", "HP", "NH")


def order(pages):
    """NH < HP < HS < HR, case by case."""
    cases = [
        [number(row[name]) for name in NAMES]
        for table in pages["non_homogeneous"].find("Loss", head="HR > HS > HP > NH")
        for row in table.where()
    ]
    words = verdict(hr >= hs >= hp >= nh for hr, hs, hp, nh in cases)
    above = sum(nh > hp for *_, hp, nh in cases)
    never = "NH is never above HP" if not above else f"NH is above HP in {above}"
    lost = [sum(pair) for pair in ((hp > hs, nh > hs) for _, hs, hp, nh in cases)]
    better = [
        number(row["NH"]) > number(row["HS, re-optimised"])
        for table in pages["non_homogeneous"].find("Loss", head="HR > HS > HP > NH")
        for row in table.where()
    ]
    return (
        f"{words} cases; {never}; HP is above HS in {sum(bool(x) for x in lost)}, NH in {sum(x > 1 for x in lost)}. "
        f"If the groups of HS are chosen for sets, NH is above it in {sum(better)}"
    )


def diverse_rings(pages):
    """What rings of different values gain over groups; that neighbours are not enough is a test's to show."""
    tables = pages["non_homogeneous"].find("l-diversity", head="NH")
    gains = [1 - nh / hp for t in tables for hp, nh in zip(t.numbers("HP"), t.numbers("NH"), strict=True)]
    over_l = next(table for table in tables if table.head[0] == "l")
    loses = [number(row["l"]) for row in over_l.where() if number(row["NH"]) > number(row["HS"])]
    values = ", ".join(f"{value:.0f}" for value in loses)
    lost = f"; NH loses more than HS at l = {values}, other than in the paper" if loses else ""
    return (
        "contradicted: values that repeat farther on can be certain (`tests/methods/test_ring.py`). Our rings only "
        f"hold different values, and then NH is at most {max(gains):.1%} below HP{lost}"
    )


def figure(finding):
    """What the page counted for a finding of the paper about its figures."""

    def claim(pages):
        for table in pages["non_homogeneous"].find("What the paper says", head="verdict"):
            for row in table.where():
                if row["finding of the paper"].startswith(finding):
                    return f"{row['verdict']}: {row['our tables']}"
        raise LookupError(finding)

    return claim


def one_in_k(pages):
    """The chi-squared tests of both draws, corrected for their number."""
    table = pages["non_homogeneous"].one("Draws")
    values = [(float(row[3]), float(row[6])) for row in table.rows]
    least = min(min(pair) for pair in values)
    word = "confirmed" if least * 2 * len(values) > 0.05 else OTHER_DATA
    return f"{word} for the paper's draw and for ours: the least of {2 * len(values)} p-values is {least:.3f}"


def time_by_k(pages):
    """How much longer a draw takes at the largest k."""
    table = pages["non_homogeneous"].one("Time of a draw")
    first, last = table.rows[0], table.rows[-1]
    times, cubic = number(last[2]), number(last[3])
    word = "surpassed" if times < cubic / 10 else "confirmed"
    return f"{word}: k = {last[0]} takes {times:.0f} times as long as k = {first[0]}, not {cubic:,.0f} times"


def known_pairs(pages):
    """How likely other pairs become once one is known, at k = 3 and at larger k."""
    table = pages["non_homogeneous"].one("Draws")
    long = [row for row in table.rows if row[0] == "3" and number(row[1]) >= 20]
    known = [float(row[i]) for row in long for i in (4, 7)]
    other = [float(row[i]) / float(row[2]) for row in table.rows if row[0] != "3" for i in (4, 7)]
    return (
        f"contradicted for k = 3: {min(known):.2f} to {max(known):.2f} in long rings, for both draws; for larger k at "
        f"most {max(other):.1f} times the ideal 1/(k-1)"
    )


CLAIMS = {
    "NH loses less than HP, HP less than HS, HS less than HR": order,
    "HS gains only marginally on HR": figure("HS gains only marginally"),
    "HR and HS lose least at d = 3": figure("HR and HS lose least"),
    "the gap between HS and NH grows with d": figure("the gap between HS and NH"),
    "HP jumps above HR and HS at d = 5 of Adult": figure("at d = 5 of Adult"),
    "the loss grows linearly with k": figure("the loss grows linearly"),
    "NH at k = 100 takes 2.95 s": figure("NH at k = 100"),
    "a ring with l-diverse neighbours is l-diverse": diverse_rings,
    "NH with l loses far less than HS and anatomy": figure("NH outperforms HS and AT"),
    "random walks draw each pair with probability 1/k": one_in_k,
    "time grows like k³": time_by_k,
    "a draw hides the other pairs if one pair is known": known_pairs,
}
