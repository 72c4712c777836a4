"""Settings for all tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from shoal.methods import METHODS
from tests.harness import cluster as spark_cluster
from tests.harness.overruns import compile_checked, forbid_overruns
from tests.harness.server import Server, programs, running
from tests.harness.studio import browser as browser
from tests.harness.studio import studio as studio

# The first call of a kernel compiles it, so a deadline per example would measure numba. Before a change lands, the same
# examples are tried each time, so that it is judged by what it changes; all other runs search on.
settings.register_profile(
    "shoal",
    deadline=None,
    print_blob=True,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("shoal")

DATA = Path(os.environ.get("SHOAL_DATA", Path(__file__).parent.parent.parent / "shared" / "data"))
QUICK, LEAST = 1 / 3, 10
"""The share of the examples of a property that is tried without --thorough, and how many are tried at least."""
CHECKED = 10
"""How many times the examples are tried with --bounds and --thorough."""


ABSENT = "the Adult data is not here: set SHOAL_DATA to the folder that holds adult/"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what `make test-thorough` and `.ci/run` ask for."""
    parser.addoption("--thorough", action="store_true", help="try all examples of each property, not a third")
    parser.addoption(
        "--bounds",
        action="store_true",
        help="check every index of kernels; with --thorough: 10 times the examples",
    )
    parser.addoption("--fail-on-skip", action="store_true", help="fail if a tool or a library is missing")


def pytest_configure(config: pytest.Config) -> None:
    """With --bounds, let all kernels of this process check their indexes."""
    if config.getoption("--bounds"):
        forbid_overruns()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile all kernels side by side before workers start, which would wait for each other's."""
    jobs = getattr(session.config.option, "numprocesses", None)
    if jobs and session.config.getoption("--bounds"):
        compile_checked(METHODS, jobs)
    elif jobs:
        from shoal.kernels.preparing import forms, prepare

        prepare(forms(), lambda _stage: None)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Scale the examples of every property; the numbers that tests give are those of a thorough run."""
    thorough = CHECKED if config.getoption("--bounds") else 1
    share = thorough if config.getoption("--thorough") else QUICK
    for test in {getattr(item, "function", None) for item in items}:
        if is_hypothesis_test(test):
            asked: settings = test._hypothesis_internal_use_settings
            count = max(min(asked.max_examples, LEAST), round(share * asked.max_examples))
            test._hypothesis_internal_use_settings = settings(asked, max_examples=count)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """With --fail-on-skip, let a run fail in which tests were skipped other than for data outside the repository."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or not session.config.getoption("--fail-on-skip"):
        return
    skipped = [report for report in reporter.stats.get("skipped", ()) if ABSENT not in str(report.longrepr)]
    for report in skipped:
        reporter.write_line(f"must not be skipped here: {report.nodeid}: {report.longrepr[-1]}", red=True)
    if skipped:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests of databases ran, and with which server."""
    passed = [
        report.nodeid
        for report in terminalreporter.stats.get("passed", ())
        if getattr(report, "when", "") == "call"
        and Path(report.nodeid.partition("::")[0]).name.startswith("test_databases")
    ]
    found = programs()
    if passed and found is not None:
        told = subprocess.run([found / "postgres", "--version"], capture_output=True, text=True, check=False)
        terminalreporter.write_line(f"databases: {len(passed)} tests passed, with {told.stdout.strip()}")


@pytest.fixture
def repeated(request: pytest.FixtureRequest) -> float:
    """How often a test by chance is repeated, as a share of a thorough run."""
    return 1.0 if request.config.getoption("--thorough") else QUICK


@pytest.fixture(scope="session")
def adult() -> Path:
    """The folder of the Adult census extract and its hierarchies."""
    folder = DATA / "adult"
    if not folder.is_dir():
        pytest.skip(ABSENT)
    return folder


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A PostgreSQL server of the tests' own."""
    found = programs()
    if found is None:
        pytest.skip("no PostgreSQL server is installed: on Debian, apt-get install postgresql")
    pytest.importorskip("adbc_driver_postgresql", reason='pip install "shoal[postgresql]"')
    with running(found) as server:
        yield server


@pytest.fixture(scope="session")
def cluster() -> Iterator[spark_cluster.Cluster]:
    """A Spark cluster of the tests' own: one master, two workers."""
    why = spark_cluster.missing()
    if why:
        pytest.skip(why)
    with spark_cluster.running() as found:
        yield found


@pytest.fixture(scope="session")
def spark(cluster: spark_cluster.Cluster):
    """A session on the cluster."""
    warehouse = {"spark.sql.warehouse.dir": str(cluster.folder / "warehouse")}
    with spark_cluster.session_on(cluster.master, **warehouse) as session:
        yield session
