"""Small suites that run in this process; `importlib` mode imports no sibling by itself."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from mtlv.settings import Suite, load_suite

HERE = str(Path(__file__).parent)
if HERE not in sys.path:
    sys.path.append(HERE)  # so that `from made_up import sources_of` works here

WORDS = {"heart": "large cardiac shadow", "lung": "hazy airspace change", "bone": "old rib fracture"}


def write_table(folder: Path, name: str, *, flip: tuple[str, ...] = ()) -> Path:
    """A table of 60 documents with its own parts; `flip` inverts the labels of some parts."""
    rng = np.random.default_rng(0)
    path = folder / f"{name}.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "part", *WORDS])
        for n in range(60):
            part = ("train", "train", "train", "validation", "test")[n % 5]
            bears = rng.random(len(WORDS)) < 0.45
            text = " ".join(words for words, on in zip(WORDS.values(), bears, strict=True) if on)
            labels = ~bears if part in flip else bears
            writer.writerow([n, f"report {n} {text}", part, *labels.astype(int)])
    return path


def write_suite(folder: Path, table: Path, *changes: str, store: str = "store") -> Suite:
    """A suite on such a table with `tiny`; extra `key=value` texts as on the command line."""
    config = folder / "config.yml"
    config.write_text("experiment: unit\n")
    return load_suite(
        config,
        [
            "data.name=table",
            f"data.path={table}",
            f"data.columns={{labels: [{', '.join(WORDS)}], id: id, part: part}}",
            "data.descriptions={heart: The heart., lung: The lungs., bone: The bones.}",
            "encoder=tiny",
            "grouping.k=2",
            "training.epochs=2",
            "training.batch_size=8",
            "training.learning_rate=1e-3",
            "training.device=cpu",
            "training.precision=fp32",  # auto is bf16 on some processors
            f"store.uri={folder / store}",
            *changes,
        ],
    )


@pytest.fixture(scope="session")
def writers() -> tuple[Callable[..., Path], Callable[..., Suite]]:
    """`write_table` and `write_suite`, for a folder that several tests share."""
    return write_table, write_suite


@pytest.fixture
def table(tmp_path: Path) -> Callable[..., Path]:
    """`write_table` in this test's folder."""
    return partial(write_table, tmp_path)


@pytest.fixture
def suite(tmp_path: Path) -> Callable[..., Suite]:
    """`write_suite` in this test's folder."""
    return partial(write_suite, tmp_path)
