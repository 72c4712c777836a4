"""The screen Compare: trials as they end, stopped one by one, looked at, pinned and chosen."""

from __future__ import annotations

import re
import time
from pathlib import Path

import polars as pl
import pytest
from playwright.sync_api import expect
from starlette.datastructures import FormData, QueryParams

from shoal.apps.samples import write_sample
from shoal.apps.studio.compare import screen as compare
from shoal.apps.studio.compare.frontier import HEIGHT, WIDTH, draw_frontier
from shoal.apps.studio.compare.trials import trials_of
from shoal.apps.studio.data.source import Source
from shoal.apps.studio.page import page
from shoal.apps.studio.private_folder import Folder
from shoal.apps.studio.project import Project
from shoal.pipeline.comparison import Comparison, Outcome, Trial
from shoal.policy import Policy

FEW = [("method", "mondrian"), ("method", "full-domain"), ("method", "hybrid")]


def trial(loss: float, risk: float | None, k: int = 5, at_risk: int = 0, **rest: object) -> Trial:
    attacks = [
        Outcome(attack="linkage", adversary="x", success=risk, baseline=0.0, at_risk=at_risk, people=9)
    ]
    made = {"method": "mondrian", "k": k, "measures": {"lm": loss}, "rows": 9, "attacks": tuple(attacks)}
    return Trial(**{**made, **rest})  # type: ignore[arg-type]


def test_the_drawing_has_every_release_with_a_risk_inside_its_frame_and_labelled():
    trials = [
        trial(0.2, 0.1), trial(0.4, 0.01), trial(0.5, 0.2, options={"strict": False}), trial(0.3, 0.05, at_risk=2),
        trial(0.1, None), trial(0.2, 0.3, status="failed"), trial(0.2, 0.1, k=10),
    ]  # fmt: skip
    made = draw_frontier(Comparison(trials=tuple(trials), adversaries=(), k=5), [10, 11, 12, 13, 14, 15, 16])
    assert {point.place for point in made.points} == {10, 11, 12, 13, 16}
    by_place = {point.place: point for point in made.points}
    assert all(0 < point.x < WIDTH and 0 < point.y < HEIGHT for point in made.points)
    assert all(point.label and point.words for point in made.points)
    # More risk is further right, more loss is higher up.
    assert by_place[11].x < by_place[10].x < by_place[12].x
    assert by_place[12].y < by_place[11].y < by_place[10].y
    assert {place for place, point in by_place.items() if point.frontier} == {10, 11}
    assert not by_place[13].withstands
    assert by_place[10].series != by_place[16].series
    assert made.across
    assert made.up
    assert draw_frontier(Comparison(trials=(trial(0.1, None),), adversaries=()), [0]) is None


def test_one_release_alone_and_equal_values_are_drawn():
    for trials in (
        [trial(0.2, 0.1)],
        [trial(0.0, 0.0), trial(0.0, 0.0)],
        [trial(5.0, 1.0), trial(5e4, 1e-6)],
    ):
        made = draw_frontier(Comparison(trials=tuple(trials), adversaries=()), list(range(len(trials))))
        assert len(made.points) == len(trials)
        assert all(0 <= point.x <= WIDTH and 0 <= point.y <= HEIGHT for point in made.points)


# --- with jobs, without a browser -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("compare")
    write_sample("patients", 300, folder / "patients.csv")
    made = Project(Folder())
    made.read(Source(folder / "patients.csv", "patients.csv"))
    yield made
    made.close()


def act(project: Project, name: str, *fields: tuple[str, object]) -> object:
    return compare.ACTIONS[name](project, FormData([(key, str(value)) for key, value in fields]))


def html(project: Project, query: str = "") -> str:
    return bytes(page(project, "compare", QueryParams(query)).body).decode()


def wait(project: Project, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while project.jobs.active:
        assert time.monotonic() < end, "a job takes too long"
        time.sleep(0.05)


def test_methods_are_compared_looked_at_pinned_and_chosen(project):
    assert "No method was tried yet" in html(project)
    act(project, "start", *FEW, ("ks", "5, 8"), ("seconds", 60), ("jobs", 1))
    wait(project)
    found = trials_of(project)
    assert compare.state(project).mark == "done"
    made = [place for place, one in enumerate(found.trials) if one.holds]
    assert {found.trials[place].k for place in made} == {5, 8}
    shown = html(project, f"point={made[0]}")
    assert shown.count('class="point') == len(made)
    assert "Requirements, verified on its rows" in shown
    assert "The same 8 rows of your table" in shown
    assert "relocates cells" in shown  # why hybrid made none
    # Examples: what the release shows covers or equals the original, and suppressed rows are said to be.
    ended = found.shown[made[0]]
    assert len(ended.rows) == len(found.originals) == 8
    for pin in (made[0], made[1], made[2]):
        act(project, "pin", ("trial", pin))
    assert found.pins == made[1:3]  # of three, the oldest goes
    assert "Two side by side" in html(project)
    other = next(place for place in made if found.trials[place].k == 8)
    assert act(project, "choose", ("trial", other)) == "/look"
    assert project.policy.privacy.k == 8
    assert project.policy.method.name == found.trials[other].method
    assert project.policy.method.options() == dict(found.trials[other].options)
    assert not found.stale(project)  # the choice is part of the comparison
    wait(project)
    assert project.release.policy == project.toml
    # What Compare told is what the release is: same loss, same number of suppressed rows.
    assert project.release.loss == pytest.approx(found.trials[other].measures["lm"])
    assert project.release.summary["suppressed"] == found.trials[other].suppressed
    project.set("utility.suppression", "0.1")
    assert compare.state(project).mark == "attention"
    assert "The policy has changed since this comparison" in html(project)
    project.undo()


def test_explain_says_what_each_requirement_costs_and_does_it(project):
    act(project, "explain", ("seconds", 30))
    wait(project)
    shown = html(project)
    assert "One change at a time" in shown
    job = project.jobs.latest("explain")
    place = next(at for at, cost in enumerate(job.result.costs) if cost.what == "k")
    before = project.policy.privacy.k
    act(project, "apply", ("cost", place))
    assert project.policy.privacy.k == before // 2
    column = next(at for at, cost in enumerate(job.result.costs) if cost.kind == "column")
    project.undo()
    act(project, "apply", ("cost", column))  # publishing a column as it is takes more than a click
    assert project.policy.privacy.k == before
    assert job.result.costs[column].what in project.policy.names("quasi")
    act(project, "apply", ("cost", place))
    act(project, "apply", ("cost", place))  # its costs are of the earlier policy now
    assert project.policy.privacy.k == before // 2
    project.undo()


def test_a_wrong_option_is_refused_in_words(project):
    for fields, words in (
        ([("ks", "5 one")], "'one' is not a whole number"),
        ([("jobs", "two")], "whole number"),
    ):
        with pytest.raises(Exception, match=words):
            act(project, "start", *fields)


def test_stopping_a_trial_that_is_not_there_does_nothing(project):
    for place in ("", "x", "-1", "999"):
        act(project, "stop", ("trial", place))
        assert act(project, "choose", ("trial", place)) is None


ODD = "<script>alert(1)</script> \"'/.\u202e\N{FISH}"


def test_names_and_values_are_escaped_and_never_part_of_an_address(tmp_path):
    rows = pl.DataFrame(
        {
            ODD: ["<b>x</b>", "'\"", "\u202eabc", "y" * 10_000] * 10,
            "sex": ["f", "m"] * 20,
            **{f"c{at}": ["v"] * 40 for at in range(498)},
        }
    )
    rows.write_parquet(tmp_path / "odd.parquet")
    made = Policy.from_keywords(quasi=[ODD, "sex"], plain=[f"c{at}" for at in range(498)], k=5)
    (tmp_path / "policy.toml").write_text(made.to_toml())
    project = Project(Folder())
    try:
        project.read(Source(tmp_path / "odd.parquet", ODD), tmp_path / "policy.toml")
        act(project, "start", ("method", "mondrian"))
        wait(project)
        found = trials_of(project)
        place = next(at for at, one in enumerate(found.trials) if one.holds)
        act(project, "pin", ("trial", place))
        shown = html(project, f"point={place}")
        assert "Requirements, verified on its rows" in shown
        assert "<script>alert" not in shown
        assert "<b>x" not in shown
        assert len(shown) < 500_000
        assert len(found.columns) == 40
    finally:
        project.close()


# --- in a browser ---------------------------------------------------------------------------------------------

SLOW = """
[columns]
age = "quasi"
sex = "quasi"
job = "quasi"
place = "quasi"
illness = "sensitive"
[privacy]
k = 5
"""


def slow_table(path: Path) -> None:
    """Write a table on which one method takes long: agglomerative clustering is quadratic."""
    from random import Random

    random = Random(3)
    rows = [
        f"{random.randrange(90)},{random.choice('fm')},j{random.randrange(60)},{random.randrange(10_000):05},"
        f"i{random.randrange(20)}"
        for _ in range(100_000)
    ]
    path.write_text("\n".join(["age,sex,job,place,illness", *rows]) + "\n")


def test_compare_cancel_one_reload_in_the_middle_and_choose(studio, tmp_path: Path):
    slow_table(tmp_path / "people.csv")
    (tmp_path / "policy.toml").write_text(SLOW)
    Policy.read(tmp_path / "policy.toml")
    visit = studio("people.csv", "-p", "policy.toml")
    page = visit.go("compare")
    page.get_by_text("What to try: methods, several k, time").click()
    page.get_by_role("checkbox", name="mondrian", exact=True).check()
    page.get_by_role("checkbox", name="agglomerative", exact=True).check()
    page.get_by_role("button", name="Compare these").click()
    # The quick ones end first (after kernels are compiled, if they are not); the slow one runs.
    expect(page.get_by_role("button", name="Choose mondrian", exact=True)).to_be_visible(timeout=90_000)
    slow = page.get_by_role("row", name=re.compile("^agglomerative runs"))
    expect(slow.get_by_role("button", name=re.compile("^Stop agglomerative"))).to_be_visible()
    page.reload()
    expect(slow).to_be_visible()
    expect(page.get_by_label("Compare methods")).to_be_visible()
    # Look at a point while it runs, by keyboard.
    point = page.get_by_role("link", name=re.compile(r"^mondrian: risk"))
    point.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=re.compile("^mondrian"))).to_be_visible()
    # Stop it: within a second it is gone.
    start = time.monotonic()
    slow.get_by_role("button", name=re.compile("^Stop agglomerative")).click()
    expect(slow).to_have_count(0)
    assert time.monotonic() - start < 5.0  # a fraction of a second, unless the machine is busy
    # Another trial has begun instead. Stop all: what has ended stays.
    page.get_by_role("button", name="Stop all").click()
    expect(page.get_by_text("What had ended stays here")).to_be_visible()
    page.get_by_text(re.compile("without a release, and why")).click()
    expect(page.get_by_text(re.compile("stopped by the user after"))).to_be_visible()
    page.get_by_role("link", name="mondrian", exact=True).click()
    page.get_by_role("button", name="Choose this").click()
    expect(page.get_by_role("heading", name="Look", exact=True)).to_be_visible()
    expect(page.get_by_text("Satisfies its policy")).to_be_visible(timeout=120_000)
    page.get_by_role("button", name="Policy", exact=True).click()
    expect(page.locator("#as-file")).to_contain_text('name = "mondrian"')
