"""The samples: their domains, their skew and dependence, and the files that ship with them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shoal.apps.samples import SAMPLES, sample, write_sample
from shoal.apps.samples.draw import BATCH, SLOTS, draw, read_sample_file, read_sample_hierarchy, slots
from shoal.errors import DataError, OutputError, PolicyError

# The CENSUS schema, in its order.
CENSUS_DOMAINS = {
    "age": 79,
    "gender": 2,
    "education": 17,
    "marital": 6,
    "race": 9,
    "workclass": 10,
    "country": 83,
    "occupation": 50,
    "salary": 50,
}


@pytest.fixture(scope="module")
def census() -> pl.DataFrame:
    return sample("census", 300_000)


@pytest.fixture(scope="module")
def patients() -> pl.DataFrame:
    return sample("patients", 50_000)


def dependence(frame: pl.DataFrame, left: str, right: str) -> float:
    """Mutual information in bits, the plain way."""
    joint = frame.group_by(left, right).len("both")
    joint = joint.join(frame.group_by(left).len("a"), on=left).join(frame.group_by(right).len("b"), on=right)
    both, a, b = (joint[name].to_numpy() / frame.height for name in ("both", "a", "b"))
    return float((both * np.log2(both / (a * b))).sum())


def test_slots_follow_weights_and_keep_rare_values_possible() -> None:
    table = slots(np.array([[3.0, 1.0, 0.0], [1e-12, 0.0, 1.0]]))
    assert table.shape == (2, SLOTS)
    assert np.bincount(table[0], minlength=3).tolist() == [SLOTS * 3 // 4, SLOTS // 4, 0]
    assert np.bincount(table[1], minlength=3).tolist() == [1, 0, SLOTS - 1]


def test_draw_reads_the_row_of_its_parent() -> None:
    table = slots(np.array([[1.0, 0.0], [0.0, 1.0]]))
    parents = np.array([0, 1, 1, 0, 1], np.uint8)
    assert draw(table, parents, np.random.default_rng(0)).tolist() == parents.tolist()


def test_census_has_the_schema_of_the_literature(census: pl.DataFrame) -> None:
    assert {name: census[name].n_unique() for name in census.columns} == CENSUS_DOMAINS
    assert census["age"].min() == 17
    assert census["age"].max() == 95
    assert census.schema["age"] == pl.Int64
    assert census.schema["salary"] == pl.Int64
    assert all(census.schema[name] == pl.String for name in census.columns[1:8])
    assert census.null_count().sum_horizontal().item() == 0


def test_census_is_skewed_but_not_degenerate(census: pl.DataFrame) -> None:
    quasi = census.columns[:8]
    shares = census["country"].value_counts(sort=True)["count"].to_numpy() / census.height
    assert shares[0] > 0.5
    assert shares[10] < 0.01
    distinct = census.select(quasi).n_unique()
    assert census.height / 10 < distinct < census.height / 2


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("age", "marital"),
        ("age", "education"),
        ("race", "country"),
        ("education", "occupation"),
        ("gender", "occupation"),
        ("occupation", "workclass"),
        ("occupation", "salary"),
        ("education", "salary"),
        ("age", "salary"),
    ],
)
def test_census_columns_depend_on_each_other(census: pl.DataFrame, left: str, right: str) -> None:
    # Chance alone gives about (values - 1)(values - 1) / (2 n ln 2) bits.
    chance = (CENSUS_DOMAINS[left] - 1) * (CENSUS_DOMAINS[right] - 1) / (2 * census.height * np.log(2))
    assert dependence(census, left, right) > 3 * chance


def test_patients_read_like_a_hospital(patients: pl.DataFrame) -> None:
    assert patients["patient_id"].is_unique().all()
    assert patients["name"].str.contains(" ").all()
    assert patients.schema["birth_date"] == pl.Date
    assert patients.schema["admitted"] == pl.Date
    assert patients["zip"].str.contains(r"^0\d{4}$").all()
    assert patients["admitted"].dt.year().unique().to_list() == [2024]
    assert (patients["birth_date"] <= patients["admitted"]).all()
    assert patients["stay_days"].min() >= 1  # type: ignore[operator]
    assert patients.null_count().sum_horizontal().item() == 0


def test_patients_have_possible_diagnoses(patients: pl.DataFrame) -> None:
    of = {key[0]: set(group["diagnosis"]) for key, group in patients.group_by("sex")}
    assert "Birth of a child" not in of["male"]
    assert "Prostate cancer" not in of["female"]
    age = (patients["admitted"] - patients["birth_date"]).dt.total_days() / 365.25
    births = age.filter(patients["diagnosis"] == "Birth of a child")
    assert births.min() > 10  # type: ignore[operator]
    assert births.max() < 56  # type: ignore[operator]
    hips = age.filter(patients["diagnosis"] == "Hip fracture")
    assert hips.median() > 70  # type: ignore[operator]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_seed_repeats_and_another_differs(name: str) -> None:
    assert sample(name, 500).equals(sample(name, 500))
    assert sample(name, 500, seed=3).equals(sample(name, 500, seed=3))
    assert not sample(name, 500, seed=3).equals(sample(name, 500, seed=4))


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("rows", [1, 7, BATCH, BATCH + 1])
def test_the_first_rows_do_not_depend_on_how_many_follow(name: str, rows: int) -> None:
    assert sample(name, rows).height == rows
    assert sample(name, rows).equals(sample(name, BATCH + 100).head(rows))


@pytest.mark.parametrize("name", SAMPLES)
def test_hierarchies_are_trees_over_the_values(name: str) -> None:
    table = sample(name, 200_000)
    for file in SAMPLES[name].hierarchies:
        column = file.removeprefix(f"{name}_").removesuffix(".csv")
        lines = read_sample_hierarchy(file)
        assert {line[0] for line in lines} == set(table[column]), file
        assert len({line[0] for line in lines}) == len(lines)
        assert len({len(line) for line in lines}) == 1
        assert {line[-1] for line in lines} == {"*"}
        for level in range(1, len(lines[0]) - 1):
            above: dict[str, str] = {}
            for line in lines:
                assert above.setdefault(line[level], line[level + 1]) == line[level + 1], (file, line[level])


@pytest.mark.parametrize("name", SAMPLES)
def test_policies_speak_of_every_column_and_shipped_files(name: str) -> None:
    policy = tomllib.loads(read_sample_file(SAMPLES[name].policy))
    assert list(policy["columns"]) == sorted(policy["columns"], key=sample(name, 1).columns.index)
    assert set(policy["columns"]) == set(sample(name, 1).columns)
    hierarchies = [column.get("hierarchy") for column in policy["columns"].values()]
    assert {file for file in hierarchies if isinstance(file, str)} == set(SAMPLES[name].hierarchies)


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
def test_written_samples_come_with_their_policy(name: str, suffix: str, tmp_path: Path) -> None:
    out = tmp_path / f"table.{suffix}"
    paths = write_sample(name, 50, out)
    assert paths[0] == out
    assert {path.name for path in paths[1:]} == set(SAMPLES[name].files)
    assert set(paths) == set(tmp_path.iterdir())
    text = {"csv": lambda: pl.read_csv(out, infer_schema=False)}
    read = {**text, "parquet": lambda: pl.read_parquet(out), "arrow": lambda: pl.read_ipc(out)}[suffix]()
    assert read.equals(sample(name, 50).cast(read.schema))  # type: ignore[arg-type]


def test_a_folder_gets_a_file_of_the_name_of_the_sample(tmp_path: Path) -> None:
    assert write_sample("patients", 5, tmp_path)[0] == tmp_path / "patients.csv"


def test_nothing_is_overwritten_unless_forced(tmp_path: Path) -> None:
    out = tmp_path / "table.csv"
    write_sample("patients", 5, out)
    with pytest.raises(OutputError, match=r"table\.csv.*force=True"):
        write_sample("patients", 5, out)
    mine = tmp_path / "patients.toml"
    mine.write_text("# edited", encoding="utf-8")
    with pytest.raises(OutputError, match=r"patients\.toml"):
        write_sample("patients", 5, tmp_path / "other.csv")
    assert not (tmp_path / "other.csv").exists()
    assert mine.read_text(encoding="utf-8") == "# edited"
    write_sample("patients", 6, out, force=True)
    assert pl.read_csv(out).height == 6
    assert mine.read_text(encoding="utf-8") == read_sample_file("patients.toml")


def test_a_second_table_may_share_an_unchanged_policy(tmp_path: Path) -> None:
    write_sample("patients", 5, tmp_path / "one.csv")
    write_sample("patients", 5, tmp_path / "two.csv")


def test_bad_requests_are_explained(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="did you mean 'patients'"):
        sample("patient", 5)
    with pytest.raises(DataError, match="at least 1 row"):
        sample("census", 0)
    with pytest.raises(OutputError, match="no directory"):
        write_sample("census", 5, tmp_path / "nowhere" / "census.csv")
    with pytest.raises(OutputError, match="comes with the sample"):
        write_sample("patients", 5, tmp_path / "patients_zip.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", SAMPLES)
def test_policies_hold_and_fit_their_tables(name: str, tmp_path: Path) -> None:
    from shoal import io
    from shoal.coding.encode import encode
    from shoal.policy import Policy

    path = write_sample(name, 3_000, tmp_path)[0]
    policy = Policy.read(tmp_path / SAMPLES[name].policy)
    read = io.read(path).data
    assert read.equals(sample(name, 3_000))
    coded = encode(read, policy.plans(read.columns))
    assert coded.rows == 3_000
    assert len(coded.attributes) == sum(column.role == "quasi" for column in policy.columns.values())
