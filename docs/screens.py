"""Takes pictures of every screen of Studio: ``python docs/screens.py FOLDER`` (needs the dev environment and Chromium).

Each screen is taken at 1280 and 400 pixels, light and dark. The best ones go into the documentation.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from playwright.sync_api import Page, expect

from shoal.apps.samples import write_sample
from tests.harness.studio import Visit, opened_browser, visited

IMAGES = Path(__file__).parent / "images"
LONG = 180_000
SIZES = ((1280, 860), (400, 860))
KEPT = {
    "data": "studio-data",
    "hierarchies": "studio-hierarchies",
    "promise": "studio-promise",
    "compare": "studio-compare",
    "look": "studio-look",
}
"""Screens whose light picture at 1280 pixels goes into the documentation."""


def taken(visit: Visit, name: str, folder: Path) -> None:
    """Take a screen in all sizes and colours."""
    page = visit.page
    for width, height in SIZES:
        for scheme in ("light", "dark"):
            page.set_viewport_size({"width": width, "height": height})
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            page.wait_for_timeout(300)
            page.screenshot(path=folder / f"{name}-{width}-{scheme}.png", full_page=width == 400)
    page.set_viewport_size({"width": 1280, "height": 860})
    page.emulate_media(color_scheme="light")
    if name in KEPT:
        page.wait_for_timeout(200)
        page.screenshot(path=IMAGES / f"{KEPT[name]}.png")


def compared(page: Page) -> None:
    """Compare a few methods, and choose one of them."""
    page.get_by_text("What to try: methods, several k, time").click()
    for name in (
        "mondrian",
        "full-domain",
        "agglomerative",
        "hilbert",
        "k-k",
        "ring",
        "bucketization",
        "anatomy",
    ):
        page.get_by_role("checkbox", name=name, exact=True).check()
    page.get_by_role("button", name="Compare these").click()
    expect(page.get_by_role("button", name="Compare again")).to_be_visible(timeout=LONG)


def main(folder: Path) -> None:
    """Walk through Studio with the hospital sample."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, opened_browser() as browser:
        here = Path(place)
        with visited(browser, here) as visit:
            visit.page.goto(f"{visit.address}/data")
            taken(visit, "welcome", folder)
        write_sample("patients", 2000, here / "patients.csv")
        with visited(browser, here, "patients.csv", "-p", "patients.toml") as visit:
            page = visit.page
            for name in ("data", "roles"):
                visit.go(name)
                taken(visit, name, folder)
            visit.go("hierarchies?column=4")
            taken(visit, "hierarchies", folder)
            visit.go("promise")
            expect(page.get_by_text("Nothing in this table rules the promise out")).to_be_visible(
                timeout=LONG
            )
            taken(visit, "promise", folder)
            visit.go("compare")
            compared(page)
            taken(visit, "compare", folder)
            page.get_by_role("button", name="Choose mondrian", exact=True).click()
            expect(page.get_by_role("heading", name="Satisfies its policy")).to_be_visible(timeout=LONG)
            taken(visit, "look", folder)
            visit.go("look?view=report")
            taken(visit, "look-report", folder)
            visit.go("handover")
            page.get_by_label("Data owner").fill("City Hospital")
            page.get_by_role("button", name="Write the reports").click()
            expect(page.get_by_role("button", name="Write the reports again")).to_be_visible(timeout=LONG)
            taken(visit, "handover", folder)
            for name in ("audit", "network"):
                visit.go(name)
                taken(visit, name, folder)
            page.get_by_role("button", name="Policy", exact=True).click()
            taken(visit, "policy", folder)
    print(f"{len(list(folder.glob('*.png')))} pictures are in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("screens"))
