"""How long relocation takes, warm and from codes: S-Hybrid over the lattices of Adult and the census, and M-Hybrid.

Run as ``python -m benchmarks.hybrid``; SHOAL_DATA is the folder that holds adult/.
"""

from __future__ import annotations

from benchmarks.data import adult, census
from benchmarks.timing import best, head, row, seconds
from shoal.judging.models import MODELS
from shoal.judging.models.requirements import Requirements
from shoal.methods import METHODS
from shoal.methods.relocating.relocation import VARIANTS
from shoal.support.run import Run

K, BUDGET = 10, 0.01


def timed(table, name, times=3, models=(), **options):
    """Shortest time of a method, and its last release."""
    requirements = Requirements(models=(MODELS["k-anonymity"](k=K), *models))
    return best(lambda: METHODS[name](**options).anonymize(table, requirements, Run.start(1)), times)


def lattices(table, label, targets):
    """S-Hybrid on one table, every variant."""
    for variant in VARIANTS:
        time, release = timed(table, "hybrid", variant=variant, budget=BUDGET)
        facts = release.facts
        note = (
            f"createHybrid ran for {facts['relocations_tried']:,} of {facts['mappings']:,} mappings; "
            f"{facts['changed_share']:.2%} of cells; LM {facts['loss_without_relocation']:.4f} "
            f"-> {facts['loss_with_relocation']:.4f}"
        )
        row(f"hybrid, {variant}, {label}", targets[variant in ("statistical", "rstat")], seconds(time), note)


def boxes(table, label):
    """M-Hybrid on one table, against Mondrian."""
    mondrian, _ = timed(table, "mondrian", times=7)
    for variant in VARIANTS:
        time, release = timed(table, "hybrid-mondrian", times=5, variant=variant, budget=BUDGET)
        facts = release.facts
        note = (
            f"mondrian {seconds(mondrian)}; {facts['changed_share']:.2%} of cells; "
            f"LM {facts['loss_without_relocation']:.4f} -> {facts['loss_with_relocation']:.4f}"
        )
        row(f"hybrid-mondrian, {variant}, {label}", "20 x mondrian", f"{time / mondrian:.1f} x", note)


def main():
    people, sample = adult(), census(100_000, 7, trees=True)
    for name in ("hybrid", "hybrid-mondrian"):
        timed(people, name, times=1, budget=0.001)
    head("work", "target", "measured", "note")
    lattices(people, "Adult, 9 columns", ("3 s", "10 s"))
    lattices(sample, "census, 100,000 rows, 7 columns", ("20 s", "20 s"))
    rules = adult(("occupation",))
    for name, options in (("distinct-l", {"l": 3}), ("entropy-l", {"l": 3}), ("t-equal", {"t": 0.2})):
        model = MODELS[name](column=0, column_name="occupation", **options)
        time, release = timed(rules, "hybrid", times=1, models=(model,), budget=BUDGET)
        note = f"createHybrid ran for {release.facts['relocations_tried']:,} mappings"
        row(f"hybrid, deterministic, Adult, 8 columns, {model.title}", "", seconds(time), note)
    boxes(people, "Adult, 9 columns")
    boxes(sample, "census, 100,000 rows, 7 columns")


if __name__ == "__main__":
    main()
