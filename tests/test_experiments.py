"""What the pages of the experiments claim follows from their own tables."""

from __future__ import annotations

import re
from pathlib import Path

EXPERIMENTS = Path(__file__).parents[1] / "experiments"
HEAD = re.compile(
    r"\| [kp] \| (full-domain|mondrian) \| deterministic \| randomized \| statistical \| rstat \|"
)


def above(figure):
    """In how many cells of the tables of hybrid.md randomized is above statistical, and of how many."""
    found, title = [], ""
    lines = (EXPERIMENTS / "hybrid.md").read_text().splitlines()
    for at, line in enumerate(lines):
        title = line if line and line[0] not in "|!" else title
        if HEAD.match(line) and title.startswith(figure):
            for row in lines[at + 2 :]:
                if not row.startswith("|"):
                    break
                cells = [cell.strip().rstrip("%") for cell in row.strip("|").split("|")]
                found.append(float(cells[3]) > float(cells[4]))
    return sum(found), len(found)


def test_how_often_randomized_relocation_is_above_statistical():
    (lm, cells), (query, others) = above("LM"), above("median error of count queries")
    assert cells == others == 40
    said = f"above statistical in {lm} of {cells} LM and {query} of {others} query cells"
    for page in ("README.md", "hybrid.md"):
        assert said in " ".join((EXPERIMENTS / page).read_text().split())
