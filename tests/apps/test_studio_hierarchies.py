"""The screen Hierarchies without a browser: trees, bands, proposals, and what its forms do to the policy."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.datastructures import FormData, QueryParams

import shoal
from shoal.apps.studio.data.source import Source
from shoal.apps.studio.hierarchies import number_line as bands
from shoal.apps.studio.hierarchies import screen as hierarchies
from shoal.apps.studio.hierarchies.edited_tree import Branches
from shoal.apps.studio.hierarchies.hierarchy_columns import (
    count_column,
    list_columns,
    lose_together,
    trouble,
)
from shoal.apps.studio.hierarchies.preview import SAMPLE, attempt, branches_of, count
from shoal.apps.studio.page import page
from shoal.apps.studio.private_folder import Folder
from shoal.apps.studio.project import Project
from shoal.coding.hierarchy import KINDS, build, from_csv, to_csv
from shoal.coding.hierarchy.nested_trees import tree_rows
from shoal.errors import HierarchyError, ShoalError
from shoal.policy import Policy
from shoal.policy.suggestions.column_loss import own_loss
from shoal.policy.suggestions.proposals import proposals, quantile_cuts

TREE = {"North": {"Coast": ["Kiel", "Bremen"], "Inland": ["Hannover"]}, "South": ["Ulm", "Passau"]}


def planted(spec: object) -> Branches:
    tree = Branches.from_rows(tree_rows(spec))  # type: ignore[arg-type]
    tree.count({node.number: 10 for node in tree.values})
    return tree


def named(tree: Branches, name: str):
    return next(node for node in tree.nodes if node.name == name)


def names_of(values: pl.Series, spec: object) -> list[list[str | None]]:
    return [level.names.to_list() for level in build(values, {"tree": spec}).levels]


CITIES = pl.Series(["Kiel", "Bremen", "Hannover", "Ulm", "Passau"])


# --- trees ----------------------------------------------------------------------------------------------------


def test_a_tree_is_written_as_it_was_read():
    for spec in (
        TREE,
        {"Germany": TREE},
        {"*": ["a", "b"]},
        {"a": ["a", "b"], "c": ["d"]},
        {"x": [], "y": ["z"]},
    ):
        assert tree_rows(planted(spec).spec()) == tree_rows(spec)


def test_renaming_grouping_moving_merging_splitting_and_dissolving():
    tree = planted(TREE)
    tree.rename(named(tree, "Coast"), "Sea")
    assert tree.spec()["North"] == {"Sea": ["Kiel", "Bremen"], "Inland": ["Hannover"]}
    tree.move([named(tree, "Ulm"), named(tree, "Passau")], named(tree, "Hannover"))
    assert tree.spec() == {
        "*": {"North": {"Sea": ["Kiel", "Bremen"], "Inland": ["Hannover", "Ulm", "Passau"]}}
    }
    tree.merge([named(tree, "Sea"), named(tree, "Inland")], "All")
    assert tree.spec() == {"*": {"North": {"All": ["Kiel", "Bremen", "Hannover", "Ulm", "Passau"]}}}
    tree.dissolve([named(tree, "All")])
    tree.split(named(tree, "North"))
    assert tree.spec() == {"North 1": ["Kiel", "Bremen"], "North 2": ["Hannover", "Ulm", "Passau"]}
    tree.group([named(tree, "Kiel"), named(tree, "Ulm")], "Two")
    assert tree.spec()["Two"] == ["Kiel", "Ulm"]
    tree.shift(named(tree, "Two"), 1)
    assert list(tree.spec())[1] == "Two"


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (lambda tree: tree.rename(named(tree, "Kiel"), "x"), "a value keeps its name"),
        (lambda tree: tree.rename(named(tree, "Coast"), "Inland"), "would be called 'Inland'"),
        (lambda tree: tree.rename(named(tree, "Coast"), " "), "needs a name"),
        (lambda tree: tree.move([named(tree, "North")], named(tree, "Coast")), "into itself"),
        (lambda tree: tree.merge([named(tree, "Kiel"), named(tree, "Ulm")]), "and a group among them"),
        (lambda tree: tree.split(named(tree, "Inland")), "two or more"),
        (lambda tree: tree.dissolve([named(tree, "Kiel")]), "only groups"),
        (lambda tree: tree.remove([named(tree, "Kiel")]), "without rows"),
        (lambda tree: tree.group([tree.root], "x"), "below the top"),
        (lambda tree: tree.find(99), "not in the tree"),
    ],
)
def test_steps_that_make_no_tree_are_refused(step, words):
    with pytest.raises(HierarchyError, match=words):
        step(planted(TREE))


def test_a_group_that_loses_everything_goes():
    tree = planted(TREE)
    tree.move([named(tree, "Hannover")], named(tree, "South"))
    assert tree.spec() == {"North": {"Coast": ["Kiel", "Bremen"]}, "South": ["Ulm", "Passau", "Hannover"]}


nested = st.recursive(
    st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=3, unique=True),
    lambda inner: st.dictionaries(st.sampled_from(["P", "Q", "R", "S", "T"]), inner, min_size=1, max_size=3),
    max_leaves=5,
)


@settings(max_examples=200)
@given(st.dictionaries(st.sampled_from(["U", "V", "W"]), nested, min_size=1, max_size=3))
def test_every_tree_that_can_be_built_is_the_same_after_reading_and_writing(spec):
    values = pl.Series(sorted({row[0] for row in tree_rows(spec)}))
    try:
        before = to_csv(build(values, {"tree": spec}))
    except HierarchyError:
        return
    assert to_csv(build(values, {"tree": planted(spec).spec()})) == before


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if not kind.knows_domain])
def test_a_hierarchy_of_any_kind_becomes_a_tree_with_the_same_groups(name, tmp_path: Path):
    column = {
        "dates": pl.Series([f"20{year}-0{month}-11" for year in range(10, 31) for month in (1, 7)] + [None]),
        "mask": pl.Series(["12345", "12399", "99000", None]),
        "known": pl.Series(["E11.9", "E10.1", "E66", "I10", "I25.1", None]),
    }.get(name, pl.Series([*range(1, 60), None]))
    found = count(_frame(column, tmp_path), "x")
    tried = attempt(found, KINDS[name].example, tmp_path, 5)
    assert tried.hierarchy is not None
    tree = branches_of(tried, found)
    assert tree is not None
    made = build(found.values, {"tree": tree.spec()})
    there = [level.starts.tolist() for level in made.levels]
    # A tree lists values, so what hides them is a level above; the screen refuses to make a tree of it.
    assert there[tried.kind.hides :] == [level.starts.tolist() for level in tried.hierarchy.levels]
    assert tree.root.rows == len(column) - column.null_count()


def test_names_made_of_values_do_not_stay_when_auto_becomes_a_tree(tmp_path: Path):
    """In a tree they would be published even if the people with these values are suppressed."""
    found = count(_frame(pl.Series([f"Name{at}" for at in range(30)]), tmp_path), "x")
    tree = branches_of(attempt(found, "auto", tmp_path, 2), found)
    assert tree is not None
    assert not [node.name for node in tree.nodes if not node.is_value and "Name" in node.name]


# --- counting, losses, values without a place -----------------------------------------------------------------


def _frame(column: pl.Series, folder: Path):
    from shoal import io

    return io.read(pl.DataFrame({"x": column}))


def test_rows_groups_and_losses_of_levels(tmp_path: Path):
    column = pl.Series(["Kiel"] * 6 + ["Bremen"] * 3 + ["Hannover"] + ["Ulm"] * 2 + [None])
    found = count(_frame(column, tmp_path), "x")
    tried = attempt(found, {"tree": TREE}, tmp_path, 5)
    levels = [(level.groups, level.smallest, level.below) for level in tried.levels]
    # Values; coast, inland, Ulm and null; north, south and null; everything. Nobody lives in Passau.
    assert levels == [(5, 1, 7), (4, 1, 4), (3, 1, 3), (1, 13, 0)]
    assert tried.levels[0].loss == 0
    assert tried.levels[3].loss == 1
    # Five towns and null: Kiel and Bremen are 2 of 6 leaves, so each loses 1/5; the others stay single.
    assert tried.levels[1].loss == pytest.approx(9 / 5 / 13)
    told = own_loss(column, {"tree": TREE}, 5)
    assert told is not None
    assert tried.alone == told.alone


def test_values_without_a_place_are_told_with_their_rows(tmp_path: Path):
    column = pl.Series([1, 2, 2, 3, 7, 7, 7, None])
    found = count(_frame(column, tmp_path), "x")
    tried = attempt(found, {"tree": {"low": ["1", "2.0"], "high": ["9"]}}, tmp_path, 2)
    assert tried.homeless == (("7", 3), ("3", 1))
    assert tried.hierarchy is not None
    assert not tried.fits


@settings(max_examples=60)
@given(st.lists(st.integers(-50, 150), min_size=4, max_size=80), st.sampled_from([2, 4, 8, 16]))
def test_quantile_cuts_are_a_hierarchy_of_the_column(numbers, parts):
    values, counts = np.unique(numbers, return_counts=True)
    spec = quantile_cuts(pl.Series(values), counts, parts)
    if spec is not None:
        assert build(pl.Series(values), spec).height >= 2


def test_proposals_fit_their_column_and_differ():
    columns = {
        "age": pl.Series(range(18, 90)),
        "zip": pl.Series([f"{at:05}" for at in range(0, 90_000, 777)]),
        "born": pl.Series(["1990-01-02", "1991-04-05", "2001-01-01", "2010-12-31"]).str.to_date(),
        "job": pl.Series(["nurse", "cook", "judge", "clerk", "baker", "smith"]),
        "odd": pl.Series([None, True, False]),
    }
    for name, values in columns.items():
        found = [one.spec for one in proposals(name, values, np.ones(len(values), np.int64))]
        assert len(found) >= 2
        assert all(one not in found[at + 1 :] for at, one in enumerate(found))
        for spec in found:
            build(values, spec)
    ages = proposals("age", columns["age"], np.ones(72, np.int64))
    assert [one.spec if isinstance(one.spec, str) else next(iter(one.spec or {})) for one in ages] == [
        "known", "widths", "cuts", "widths", "cuts", "none", "auto",
    ]  # fmt: skip


def test_cut_points_are_read_and_kept_nested():
    assert bands.read_points(" 30, 18;45.5\n18") == [18, 30, 45.5]
    assert bands.nest_levels([[18, 30], [30, 45]]) == [[18, 30, 45], [30, 45]]
    assert bands.coarser([[1, 2, 3, 4]]) == [[1, 2, 3, 4], [2, 4]]
    with pytest.raises(HierarchyError, match="'old' is not a number"):
        bands.read_points("18, old")


# --- the screen -------------------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    rows = 60
    pl.DataFrame(
        {
            "age": [20 + at % 40 for at in range(rows)],
            "town": [CITIES[at % 5] for at in range(rows)],
            "illness": ["flu" if at % 3 else "gout" for at in range(rows)],
        }
    ).write_csv(tmp_path / "data.csv")
    (tmp_path / "policy.toml").write_text(
        '[columns.age]\nrole = "quasi"\n[columns.town]\nrole = "quasi"\n[columns.illness]\nrole = "sensitive"\n'
        "[privacy]\nk = 3\n"
    )
    made = Project(Folder())
    made.read(Source(tmp_path / "data.csv", "data.csv"), tmp_path / "policy.toml")
    yield made
    made.close()


def shown(project: Project, column: int) -> str:
    answer = page(project, "hierarchies", QueryParams(f"column={column}"))
    assert answer.status_code == 200
    return bytes(answer.body).decode()


def do(project: Project, action: str, *more: tuple[str, str], **fields: object) -> None:
    hierarchies.ACTIONS[action](project, FormData([*((k, str(v)) for k, v in fields.items()), *more]))


def hierarchy(project: Project, name: str):
    return project.tables["columns"][name].get("hierarchy")


def step(project: Project, step_name: str, nodes: list[str], **fields: object) -> None:
    from shoal.apps.studio.hierarchies.tree_editor import find_column, tree_of

    tree = tree_of(project, find_column(project, {"column": "1"}))
    numbers = ",".join(str(named(tree, node).number) for node in nodes)
    do(project, "tree", column=1, step=step_name, stamp=tree.stamp, nodes=numbers, **fields)


def test_choosing_and_undoing(project: Project):
    do(project, "choose", column=0, spec=json.dumps({"widths": [5, 10]}))
    assert hierarchy(project, "age") == {"widths": [5, 10]}
    assert "in use" in shown(project, 0)
    project.undo()
    assert hierarchy(project, "age") is None
    with pytest.raises(HierarchyError, match="multiple"):
        do(project, "choose", column=0, spec=json.dumps({"widths": [5, 12]}))


def test_proposals_say_what_they_lose_with_the_other_columns(project: Project):
    """The figure is the loss of the column in the release that the policy makes with the proposal."""
    age = list_columns(project)[0]
    columns = {"age": {"role": "quasi"}, "town": {"role": "quasi"}}
    for spec in ({"widths": [5, 10]}, "none", {"known": "ages"}):
        policy = Policy.from_dict(
            {"columns": {**columns, "age": {"role": "quasi", "hierarchy": spec}}, "privacy": {"k": 3}}
        )
        assert project.frame is not None
        made = shoal.anonymize(project.frame.data.select("age", "town"), policy)
        assert lose_together(project, age, spec) == pytest.approx(made.losses["age"])
    assert "lost with the other columns" in shown(project, 0)
    # A hierarchy that does not fit has no loss, and neither has a sensitive column.
    assert lose_together(project, age, {"known": "us-states"}) is None
    assert lose_together(project, list_columns(project)[2], "none") is None


def test_cut_points_and_levels(project: Project):
    do(project, "cuts", ("level", "30, 40, 50"), ("level", "40"), column=0)
    assert hierarchy(project, "age") == {"cuts": [[30, 40, 50], [40]]}
    text = shown(project, 0)
    assert text.count('role="slider"') == 3
    assert 'aria-valuenow="40" aria-valuemin="31" aria-valuemax="49"' in text
    do(project, "cuts", ("level", "30, 40, 50"), ("level", "40"), column=0, drop=1)
    assert hierarchy(project, "age") == {"cuts": [[30, 40, 50]]}
    do(project, "cuts", ("level", "30, 40, 50"), column=0, add="level")
    assert hierarchy(project, "age") == {"cuts": [[30, 40, 50], [40]]}
    do(project, "divide", column=0, parts=4, by="width")
    assert hierarchy(project, "age") == {"cuts": [[30, 40, 49]]}


def test_settings_of_a_kind_come_from_its_class(project: Project):
    do(project, "choose", column=0, spec=json.dumps({"widths": [5, 10]}))
    text = shown(project, 0)
    assert "Where an interval begins" in text
    do(project, "options", ("set-widths", "4, 8"), ("set-origin", "2"), column=0, kind="widths")
    assert hierarchy(project, "age") == {"widths": [4, 8], "origin": 2}


def test_editing_a_tree_step_by_step(project: Project):
    do(project, "edit", column=1)
    step(project, "group", ["Kiel", "Bremen"], name="Coast")
    step(project, "rename", ["Coast"], name="Sea")
    step(project, "move", ["Ulm"], target=_number(project, "Sea"))
    assert hierarchy(project, "town") == {
        "tree": {"Sea": ["Bremen", "Kiel", "Ulm"], "Hannover": [], "Passau": []}
    }
    assert project.last_step == "town: move nodes"
    project.undo()
    assert "Ulm" not in hierarchy(project, "town")["tree"]["Sea"]
    assert hierarchies.state(project).mark == "done"
    assert 'role="treeitem"' in shown(project, 1)


def _number(project: Project, name: str) -> int:
    from shoal.apps.studio.hierarchies.tree_editor import find_column, tree_of

    return named(tree_of(project, find_column(project, {"column": "1"})), name).number


def test_a_step_on_an_old_page_is_refused(project: Project):
    do(project, "edit", column=1)
    with pytest.raises(HierarchyError, match="has changed"):
        do(project, "tree", column=1, step="group", stamp="old", nodes="1,2", name="x")


def test_renaming_a_node_renames_it_in_the_limit_and_other_hierarchies_drop_it(project: Project):
    do(project, "choose", column=1, spec=json.dumps({"tree": TREE}))
    step(project, "limit", ["North"])
    assert project.tables["columns"]["town"]["limit"] == ["North"]
    step(project, "rename", ["North"], name="Up")
    assert project.tables["columns"]["town"]["limit"] == ["Up"]
    assert project.policy is not None
    do(project, "choose", column=1, spec=json.dumps("auto"))
    assert "limit" not in project.tables["columns"]["town"]
    assert "limit was removed" in project.notices[-1].words


def test_limit_and_weight(project: Project):
    do(project, "choose", column=0, spec=json.dumps({"widths": [5, 10]}))
    do(project, "limit", column=0, limit=1)
    do(project, "weight", column=0, weight="2.5")
    assert project.tables["columns"]["age"] == {
        "role": "quasi", "hierarchy": {"widths": [5, 10]}, "limit": 1, "weight": 2.5,
    }  # fmt: skip
    do(project, "limit", column=0, limit=3)
    do(project, "weight", column=0, weight="1")
    assert project.tables["columns"]["age"] == {"role": "quasi", "hierarchy": {"widths": [5, 10]}}
    with pytest.raises(HierarchyError, match="0 or more"):
        do(project, "weight", column=0, weight="-1")


def test_a_sensitive_column_whose_requirement_needs_a_hierarchy_says_so_and_protects_nodes(project: Project):
    with project.edit("t") as tables:
        tables["privacy"]["t"] = {"hierarchical": 0.9}
    text = shown(project, 2)
    assert "t.hierarchical needs it" in text
    do(project, "choose", column=2, spec=json.dumps({"tree": {"bad": ["flu"], "worse": ["gout"]}}))
    assert "needs it" not in shown(project, 2)
    assert "Protect as one" in shown(project, 2)
    assert "Limit here" not in shown(project, 2)


def test_a_value_without_a_place_is_shown_and_gets_one(project: Project):
    do(
        project,
        "choose",
        column=1,
        spec=json.dumps({"tree": {"North": ["Kiel"], "South": ["Ulm", "Passau"]}}),
    )
    assert hierarchies.state(project).mark == "problem"
    assert "2 values have no place" in shown(project, 1)
    do(project, "place", column=1, value=0, target=_number(project, "North"))
    do(project, "place", column=1, name="Other")
    made = hierarchy(project, "town")["tree"]
    assert made["North"] == ["Kiel", "Bremen"]
    assert made["Other"] == ["Hannover"]
    assert hierarchies.state(project).mark == "done"


def test_a_file_comes_in_as_a_tree_and_goes_out_as_the_same_file(project: Project, tmp_path: Path):
    lines = "Kiel;Coast;North;*\nBremen;Coast;North;*\nHannover;Inland;North;*\n"
    lines += "Ulm;Ulm;South;*\nPassau;Passau;South;*\n"
    file = tmp_path / "towns.csv"
    file.write_text(lines)
    hierarchies.take_file(project, file, "towns.csv", QueryParams("column=1"))
    assert hierarchy(project, "town") == {"tree": TREE}
    sent = hierarchies.PARTS["export"](project, QueryParams("column=1"))
    assert bytes(sent.body).decode() == lines
    policy = Policy.from_toml(project.toml)
    plan = next(plan for plan in policy.plans(["age", "town", "illness"]) if plan.name == "town")
    assert to_csv(build(CITIES, plan.hierarchy)) == to_csv(from_csv(CITIES, lines)) == lines


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"Kiel;North;*\nUlm\n", "unbalanced"),
        (b"Kiel;A;*\nKiel;B;*\n", "more than one line|occurs 2 times"),
        (b"Kiel;A;X;*\nUlm;A;Y;*\n", "two parents"),
        (b"\xff\xfe\x00", "towns.csv: line 1 is not UTF-8"),
        (b"", "empty"),
    ],
)
def test_a_file_that_is_no_tree_is_refused_and_nothing_changes(
    project: Project, tmp_path: Path, content, words
):
    file = tmp_path / "towns.csv"
    file.write_bytes(content)
    with pytest.raises(HierarchyError, match=words):
        hierarchies.take_file(project, file, "towns.csv", QueryParams("column=1"))
    assert hierarchy(project, "town") is None
    assert not file.exists()


def test_odd_columns_have_a_page_and_most_of_them_a_tree(tmp_path: Path):
    count = 30
    start = dt.datetime(2024, 1, 1)
    frame = pl.DataFrame(
        {
            "nothing": pl.Series([None] * count, dtype=pl.Int64),
            "lists": [[1, 2]] * count,
            "bytes": [b"ab"] * count,
            "": ["p", "q", "r"] * (count // 3),
            "one": ["x"] * count,
            "yes": [True, False, None] * (count // 3),
            "spans": [dt.timedelta(seconds=at) for at in range(count)],
            "clock": [dt.time(at % 24) for at in range(count)],
            "far": [float("inf"), float("nan"), 1.0] * (count // 3),
            "order": pl.Series(["low", "mid", "high"] * (count // 3), dtype=pl.Enum(["low", "mid", "high"])),
            "money": pl.Series(range(count)).cast(pl.Decimal(10, 2)),
            "large": [10**17 + at * 10**9 for at in range(count)],
            "zoned": pl.Series([start + dt.timedelta(hours=at) for at in range(count)]).dt.replace_time_zone(
                "UTC"
            ),
            "mixed": ["1", "2.5", "x"] * (count // 3),
            "blank": ["", None, "a"] * (count // 3),
        }
    )
    frame.write_parquet(tmp_path / "odd.parquet")
    columns = "".join(f'[columns.{json.dumps(name)}]\nrole = "quasi"\n' for name in frame.columns)
    (tmp_path / "odd.toml").write_text(f"{columns}[privacy]\nk = 3\n")
    project = Project(Folder())
    try:
        project.read(Source(tmp_path / "odd.parquet", "odd.parquet"), tmp_path / "odd.toml")
        for index, column in enumerate(list_columns(project)):
            shown(project, index)
            if index < 3:
                assert trouble(project, column)
                with pytest.raises(ShoalError):
                    do(project, "edit", column=index)
                continue
            do(project, "edit", column=index)
            assert trouble(project, list_columns(project)[index]) == ""
            assert 'role="treeitem"' in shown(project, index)
    finally:
        project.close()


def test_a_column_with_very_many_values_is_tried_on_some_and_checked_on_all(tmp_path: Path):
    rows = 60_000
    frame = pl.DataFrame(
        {"code": [f"{at:05}" for at in range(rows)], "size": [float(at) for at in range(rows)]}
    )
    frame = frame.with_columns(
        pl.when(pl.col("code") == "00007").then(pl.lit("x")).otherwise("code").alias("code")
    )
    frame.write_parquet(tmp_path / "long.parquet")
    (tmp_path / "long.toml").write_text(
        '[columns.code]\nrole = "quasi"\nhierarchy = { cuts = [[30000]] }\n[columns.size]\nrole = "quasi"\n'
        "[privacy]\nk = 3\n"
    )
    project = Project(Folder())
    try:
        project.read(Source(tmp_path / "long.parquet", "long.parquet"), tmp_path / "long.toml")
        code, size = list_columns(project)
        assert len(count_column(project, "code").some.values) == SAMPLE
        assert "1 value of the column is text: 'x'" in trouble(project, code)
        assert trouble(project, size) == ""
        text = shown(project, 1)
        assert "20,000 values taken at random" in text
        assert "too many for a tree" in text
        with pytest.raises(HierarchyError, match="60,000 values, and a tree in the policy at most 50,000"):
            do(project, "edit", column=1)
        do(project, "choose", column=1, spec=json.dumps({"cuts": [[100.0, 50_000.0], [100.0]]}))
        sent = hierarchies.PARTS["export"](project, QueryParams("column=1"))
        assert bytes(sent.body).count(b"\n") == rows
    finally:
        project.close()
