"""What every test gets: fixed seeds, no hub, and the real corpora where they stand beside the checkout.

Tests that make inputs up (hypothesis) make the same ones each time, so that none needs luck;
`HYPOTHESIS_PROFILE=long` makes many, and other ones each time.
"""

from __future__ import annotations

import gc
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_DATASETS_CACHE", str(Path(tempfile.gettempdir()) / "mtlv-tests-datasets"))
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # sums of two threads are rounded otherwise
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

gc.set_threshold(100_000)  # as `mtlv` does: Python's default of 700 takes a tenth of the time

ROOT = Path(__file__).resolve().parents[1]

PATIENT = {"deadline": None, "database": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("short", max_examples=100, derandomize=True, **PATIENT)
settings.register_profile("long", max_examples=5000, **PATIENT)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "short"))


TRAINING = {"api", "docs", "execution", "store", "suite", "units"}  # rooms of minutes; others take seconds


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests and those of servers come first, short ones last: no core waits at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow") is not None}

    def turn(item: pytest.Item) -> int:
        rooms = item.path.relative_to(ROOT).parts
        if item.path in slow or "integration" in rooms:
            return 0
        return 1 if TRAINING & {*rooms} else 2

    items.sort(key=turn)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Threads that a test sets end with it; with two of them, small models take ten times the time."""
    yield
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


@pytest.fixture(autouse=True)
def _no_store_is_chosen() -> Iterator[None]:
    """A store that a test chooses for MLflow ends with it, as runs would go there."""
    yield
    if "mlflow" in sys.modules:
        sys.modules["mlflow"].set_tracking_uri(None)


@pytest.fixture(autouse=True)
def _seeded() -> None:
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - libraries under test may draw from the global state


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of the real corpora (`MTLV_REAL_DATA`, or `../shared/data` beside the checkout)."""
    folder = Path(os.environ.get("MTLV_REAL_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"the real corpora are not here ({folder.name}); set MTLV_REAL_DATA to their folder")
    return folder
