from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

STRESS = os.environ.get("ASSAY_STRESS") == "1"
SHARED = Path(__file__).parents[2] / "shared" / "data"

settings.register_profile("quick", max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("stress", max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("stress" if STRESS else "quick")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real data beside the project; tests that use it are skipped without it."""
    if not SHARED.is_dir():
        pytest.skip("the folder of shared data is not here")
    return SHARED


@pytest.fixture(scope="session")
def stress() -> bool:
    """Whether the long checks run in full."""
    return STRESS


@pytest.fixture(scope="module")
def browser():
    """A real browser; tests that use it are skipped without it."""
    from browser import launched

    yield from launched()
