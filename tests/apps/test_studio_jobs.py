"""Jobs of Studio: they outlive the request that started them, end at once when cancelled, and always end."""

from __future__ import annotations

import threading
import time

import pytest

from shoal.apps.studio.job_worker import Line
from shoal.apps.studio.jobs import Job, Jobs, Order
from shoal.apps.studio.private_folder import Folder


def nap(line: Line, seconds: float) -> str:
    """Take some time."""
    line.note("began")
    time.sleep(seconds)
    return "rested"


class Stubborn:
    """Something that no process can read back."""

    def __reduce__(self):
        return int, ("not a number",)


def unreadable(line: Line) -> Stubborn:
    """Return what cannot be read."""
    return Stubborn()


@pytest.fixture
def jobs():
    folder = Folder()
    made = Jobs(folder, lambda: None)
    yield made
    made.close()
    folder.close()


def ended(job: Job, seconds: float = 30) -> Job:
    end = time.monotonic() + seconds
    while job.active:
        assert time.monotonic() < end, "the job does not end"
        time.sleep(0.01)
    return job


def test_a_job_outlives_the_thread_that_started_it(jobs):
    found = []

    def request() -> None:
        job = jobs.start(Order("nap", "Nap", "tests.apps.test_studio_jobs:nap", {"seconds": 1.0}))
        found.append(job)
        while not job.notes:  # the process is up, and has asked to end with whoever started it
            time.sleep(0.01)

    thread = threading.Thread(target=request)
    thread.start()
    thread.join()
    job = ended(found[0])
    assert (job.state, job.result, job.notes) == ("done", "rested", ["began"])


def test_a_cancelled_job_ends_within_a_second_whenever_it_is_cancelled(jobs):
    for wait in (0.0, 0.3, 1.5):
        job = jobs.start(Order("nap", "Nap", "tests.apps.test_studio_jobs:nap", {"seconds": 60}))
        time.sleep(wait)
        start = time.monotonic()
        jobs.cancel(job.number)
        assert time.monotonic() - start < 1
        assert job.state == "cancelled"
        assert not job.folder.exists()


def test_a_result_that_cannot_be_read_ends_the_job(jobs):
    job = ended(jobs.start(Order("odd", "Odd", "tests.apps.test_studio_jobs:unreadable")))
    assert job.state == "failed"
    assert "ValueError" in job.error
