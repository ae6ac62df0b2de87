"""Fixtures of all tests below; they can import what is in `helpers/`."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from mtlv.data.source import Corpus
from mtlv.data.targets import spans_column
from mtlv.figures import canvas
from mtlv.plan import Task
from mtlv.plan.spans import Span
from mtlv.settings import Suite, load_suite

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HELPERS = str(Path(__file__).parent / "helpers")
if HELPERS not in sys.path:
    sys.path.append(HELPERS)  # `importlib` mode imports no sibling by itself

from uploads import uploads_here  # noqa: E402, F401


@pytest.fixture(scope="module", autouse=True)
def real_save() -> Iterator[Callable[[Figure, Path], Path]]:
    """Save one pixel for each figure; the real function is for the tests of figures."""
    import pixel

    real = canvas.save
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(canvas, "save", pixel.save)
        pixel.lay_out_nothing(patch)
        yield real


@pytest.fixture(scope="module", autouse=True)
def narrow_tiny() -> Iterator[Callable[..., Any]]:
    """`tiny` has a quarter of its width, which halves a step; the real sizes are those of other processes."""
    from mtlv.models import tiny

    def narrow(vocabulary: int, pad: int = 0) -> Any:
        config = tiny_config(vocabulary, pad)
        config.hidden_size, config.intermediate_size = 32, 64
        return config

    tiny_config = tiny.tiny_config
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiny, "tiny_config", narrow)
        yield tiny_config


WORDS = ("the", "heart", "lung", "liver", "brain", "is", "was", "not", "very", "large", "small", "clear")


def _texts(rng: np.random.Generator, count: int) -> list[list[str]]:
    return [[str(word) for word in rng.choice(WORDS, rng.integers(4, 9))] for _ in range(count)]


def yes_no(rng: np.random.Generator) -> Corpus:
    rows = _texts(rng, 40)
    tasks = tuple(Task(f"has {word}", source="notes") for word in ("heart", "lung"))
    targets = {f"has {w}": np.array([w in row for row in rows], np.int8) for w in ("heart", "lung")}
    return Corpus("notes", tasks, _ids(rows), _joined(rows), targets)


def relations(rng: np.random.Generator) -> Corpus:
    rows, classes = _texts(rng, 30), ("none", "one", "both")
    task = Task("relation", "multiclass", "pairs", classes, main_metric="accuracy")
    values = np.array([("heart" in row) + ("lung" in row) for row in rows], np.int64)
    return Corpus("pairs", (task,), _ids(rows), _joined(rows), {"relation": values})


def similar(rng: np.random.Generator) -> Corpus:
    rows, others = _texts(rng, 24), _texts(rng, 24)
    scores = [("heart" in a) + 0.5 * ("lung" in b) for a, b in zip(rows, others, strict=True)]
    task = Task("similarity", "regression", "sts", main_metric="pearson")
    values = {"similarity": np.array(scores, np.float32)}
    return Corpus("sts", (task,), _ids(rows), _joined(rows), values, seconds=_joined(others))


def organs(rng: np.random.Generator) -> Corpus:
    rows = _texts(rng, 36)
    spans = [[Span(at, at + 1, "Organ") for at, w in enumerate(row) if w in WORDS[1:5]] for row in rows]
    task, words = (
        Task("organs", "tagging", "ner", ("Organ",), main_metric="entity_f1"),
        tuple(map(tuple, rows)),
    )
    return Corpus("ner", (task,), _ids(rows), _joined(rows), {"organs": spans_column(spans)}, words=words)


def _ids(rows: list[list[str]]) -> tuple[str, ...]:
    return tuple(str(number) for number in range(len(rows)))


def _joined(rows: list[list[str]]) -> tuple[str, ...]:
    return tuple(" ".join(row) for row in rows)


@pytest.fixture(scope="session")
def one_corpus_per_kind() -> list[Corpus]:
    """Yes/no, classes, numbers of pairs, and tags; 24 to 40 documents each."""
    rng = np.random.default_rng(0)
    return [make(rng) for make in (yes_no, relations, similar, organs)]


MADE = {"heart": "large cardiac shadow", "lung": "hazy airspace change", "bone": "old rib fracture"}


def write_table(folder: Path, name: str, *, flip: tuple[str, ...] = ()) -> Path:
    """A table of 60 documents with its own parts; `flip` inverts the labels of some parts."""
    rng = np.random.default_rng(0)
    path = folder / f"{name}.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "part", *MADE])
        for n in range(60):
            part = ("train", "train", "train", "validation", "test")[n % 5]
            bears = rng.random(len(MADE)) < 0.45
            text = " ".join(words for words, on in zip(MADE.values(), bears, strict=True) if on)
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
            f"data.columns={{labels: [{', '.join(MADE)}], id: id, part: part}}",
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


@pytest.fixture(scope="session")
def comparison_of() -> Callable:
    """`a_comparison(runs=4, children=3, tasks=6, seed=0, **changes)`; see comparisons.py."""
    from comparisons import a_comparison

    return a_comparison
