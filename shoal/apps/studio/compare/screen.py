"""The screen Compare. `shoal.apps.studio.compare.forms` does its work, and is imported when a table is open."""

from __future__ import annotations

from shoal.apps.studio.screen_base import LateScreen


class Compare(LateScreen):
    """Which method, with which options?"""

    key = "compare"
    title = "Compare"
    aim = "Let Shoal try its methods on this table, and choose the release with the risk and the loss that you want."
    tour = (
        "Every method keeps the promise in another way, and loses something else. Shoal tries them, verifies and "
        "attacks each release, and draws risk against loss: the best are at the lower left. Click a point to look at "
        "it, pin two to compare them, and choose one."
    )
    script = True
    style = True
    module = "shoal.apps.studio.compare.forms"
