"""The command line against the cluster, and what is missing or wrong before any work starts. These tests come first by
name, because each starts a driver of its own, and the cluster has two cores."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shoal.support.machine.memory import addresses_needed
from tests.harness.cluster import ROOT, Cluster, missing

POLICY = """
[columns]
age = "quasi"
sex = "quasi"
ill = "sensitive"
[privacy]
k = 4
[engine]
name = "spark"
[engine.settings]
"spark.executor.memory" = "512m"
"spark.driver.memory" = "512m"
"spark.sql.shuffle.partitions" = 2
"spark.cores.max" = 2
"""
OURS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executorEnv.PYTHONPATH": str(ROOT),
}
"""Settings that a policy file must not have."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    why = missing()
    if why:
        pytest.skip(why)
    random = np.random.default_rng(3)
    data = {"age": random.integers(20, 60, 400), "sex": random.choice(["f", "m"], 400)}
    pl.DataFrame({**data, "ill": random.choice(["a", "b", "c"], 400)}).write_parquet(tmp_path / "in.parquet")
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


def command(folder: Path, *words: str, **environment: str) -> subprocess.Popen[str]:
    base = {**os.environ, "PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": "127.0.0.1", **environment}
    return subprocess.Popen(
        [sys.executable, "-m", "shoal", *words],
        cwd=folder, env=base, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def anonymize(folder: Path, *words: str, **environment: str) -> subprocess.Popen[str]:
    given = ("anonymize", "in.parquet", "-p", "policy.toml", "-o", "out", *words)
    return command(folder, *given, *own_settings(), **environment)


def own_settings() -> list[str]:
    return [word for name, value in OURS.items() for word in ("--set", f'engine.settings."{name}"={value}')]


def test_the_command_line_against_the_cluster(cluster: Cluster, folder: Path):
    master = ("--set", f"engine.master={cluster.master}")
    out, err = (
        run := anonymize(folder, *master, "--engine", "spark", "--json", "--record", "record.json")
    ).communicate(timeout=600)
    assert run.returncode == 0, err
    told = json.loads(out)
    assert told["holds"]
    assert told["rows"] == 400
    assert json.loads((folder / "record.json").read_text())["holds"]
    assert sorted(os.listdir(folder)) == ["in.parquet", "out", "policy.toml", "record.json"]
    out, err = (
        run := command(
            folder,
            "audit",
            "out",
            "-p",
            "policy.toml",
            "--engine",
            "local",
            "--original",
            "in.parquet",
            "--json",
        )
    ).communicate(timeout=600)
    assert run.returncode == 0, err
    assert {"4-anonymity", "truthful"} <= {verdict["model"] for verdict in json.loads(out)["verdicts"]}
    out, err = (
        run := command(folder, "audit", "out", "-p", "policy.toml", *master, *own_settings(), "--json")
    ).communicate(timeout=600)
    assert run.returncode == 0, err
    assert json.loads(out)["classes"] == told["classes"]


def test_ctrl_c_leaves_nothing(cluster: Cluster, folder: Path):
    run = anonymize(folder, "--set", f"engine.master={cluster.master}")
    until = time.monotonic() + 300
    while not any(name.startswith(".shoal-") for name in os.listdir(folder)):
        assert run.poll() is None, run.communicate()
        assert time.monotonic() < until
        time.sleep(0.02)
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=60)
    assert run.returncode == 130
    time.sleep(1)
    assert sorted(os.listdir(folder)) == ["in.parquet", "policy.toml"]


def test_an_executor_without_memory_is_told_and_nothing_is_left(cluster: Cluster, folder: Path):
    """A part of 800 MB, in a Python that the system lets reserve hardly more than its libraries do."""
    rows = 100_000
    data = {"age": np.arange(rows) % 40, "sex": ["f", "m"] * (rows // 2), "ill": ["a", "b"] * (rows // 2)}
    pl.DataFrame({**data, "letter": ["x" * 8000] * rows}).write_parquet(folder / "in.parquet")
    settings = {
        "spark.executor.pyspark.memory": f"{round((addresses_needed() + 0.1) * 1e9)}b",
        "spark.executor.memory": "471859200b",  # the least that Spark takes
        "spark.task.maxFailures": 1,
    }
    more = "".join(f'"{name}" = {json.dumps(value)}\n' for name, value in settings.items())
    text = POLICY.replace('"spark.executor.memory" = "512m"\n', more)
    (folder / "policy.toml").write_text(text.replace("[privacy]", 'letter = "plain"\n[privacy]'))
    _, err = (run := anonymize(folder, "--set", f"engine.master={cluster.master}")).communicate(timeout=600)
    assert run.returncode == 8, err
    told = " ".join(err.split())
    assert (
        "finishing the boxes: a task, or the executor that it ran on, was lost, most likely for lack of"
        in told
    )
    assert "lower engine.part_rows" in told
    assert "xxxx" not in told
    assert sorted(os.listdir(folder)) == ["in.parquet", "policy.toml"]


def test_without_java(folder: Path, tmp_path: Path):
    empty = tmp_path / "bin"
    empty.mkdir()
    _, err = (run := anonymize(folder, PATH=str(empty), JAVA_HOME="")).communicate(timeout=300)
    assert run.returncode == 8
    assert "apt-get install openjdk-17-jre-headless" in err
    assert not (folder / "out").exists()
