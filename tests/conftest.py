"""Settings for all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The first call of a kernel compiles it, so a deadline per example would measure numba.
settings.register_profile(
    "shoal", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("shoal")

DATA = Path(os.environ.get("SHOAL_DATA", Path(__file__).parent.parent.parent / "shared" / "data"))


@pytest.fixture(scope="session")
def adult() -> Path:
    """The folder of the Adult census extract and its hierarchies."""
    folder = DATA / "adult"
    if not folder.is_dir():
        pytest.skip("the Adult data is not here: set SHOAL_DATA to the folder that holds adult/")
    return folder
