"""The mean of a run's folds and seeds, served as one model."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
from memory_tracker import MemoryTracker

import mtlv
from mtlv.comparison.compare import ComparisonOptions, compare_store
from mtlv.comparison.load.select_runs import RunQuery
from mtlv.errors import ConfigError, DataError, TrackingError
from mtlv.evaluation.mixed import evaluate_all
from mtlv.events import ignore
from mtlv.planning.check import check_suite
from mtlv.reporting.member_result import MemberResult
from mtlv.serving.model import ServedPlan
from mtlv.settings import Suite, load_suite
from mtlv.suite.run import run_suite
from mtlv.tracking.mlflow_reader import MlflowReader

WORDS = {"heart": "large cardiac", "lung": "hazy", "grade": "worse"}


def write_table(folder: Path) -> Path:
    """80 documents with two labels and a number."""
    rng, path = np.random.default_rng(0), folder / "t.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "report", *WORDS])
        for n in range(80):
            bears = rng.random(len(WORDS)) < 0.5
            words = " ".join(word for word, on in zip(WORDS.values(), bears, strict=True) if on)
            writer.writerow([n, f"report {n} {words}", *bears.astype(int)])
    return path


def make_suite(folder: Path, *changes: str) -> Suite:
    config = folder / "config.yml"
    config.write_text("experiment: unit\n")
    path = folder / "t.csv" if (folder / "t.csv").exists() else write_table(folder)
    return load_suite(
        config,
        [
            "data.name=table",
            f"data.path={path}",
            "data.columns={text: report, labels: [heart, lung], id: id}",
            "data.max_length=16",
            "encoder=tiny",
            "architecture=mtl",
            "training.epochs=2",
            "training.batch_size=8",
            "training.learning_rate=1e-3",
            "training.device=cpu",
            "training.precision=fp32",
            f"store.uri={folder / 'store'}",
            f"tracking.uri=sqlite:///{folder / 'mlflow.db'}",
            "tracking.models=ensemble",
            *changes,
        ],
    )


def run(suite: Suite, tracker: MemoryTracker) -> MemberResult:
    return run_suite(suite, ignore, tracker).members[0]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ensemble")


@pytest.fixture(scope="module")
def seeds(home: Path) -> tuple[MemberResult, MemoryTracker]:
    """Models of three seeds."""
    tracker = MemoryTracker()
    return run(make_suite(home, "seed=[0, 1, 2]"), tracker), tracker


def saved(result: MemberResult, folder: Path) -> ServedPlan:
    return ServedPlan.load(mtlv.Result(result).save(folder) / "served", device="cpu")


def texts_of(home: Path) -> dict[str, str]:
    with (home / "t.csv").open(encoding="utf-8") as file:
        return {row["id"]: row["report"] for row in csv.DictReader(file)}


def test_it_gives_the_mean_of_the_probabilities(home: Path, tmp_path: Path, seeds: tuple) -> None:
    result, texts = seeds[0], texts_of(home)
    plan, test = saved(result, tmp_path / "model"), result.outcomes[0].test
    assert len(plan._networks) == 3
    prediction = plan.predict([texts[id_] for id_ in test.ids])
    for task in ("heart", "lung"):
        singles = [outcome.test.tasks[task].outputs for outcome in result.outcomes]
        assert not np.allclose(singles[0], singles[1])
        np.testing.assert_allclose(prediction[task].outputs, sum(singles) / 3, rtol=1e-6)


def test_its_test_score_is_that_of_the_mean_at_thresholds_of_validation(seeds: tuple) -> None:
    result, tracker = seeds
    first, tasks = result.outcomes[0], result.resolved.tasks
    means = {}
    for part in ("validation", "test"):
        parts = [getattr(outcome, part) for outcome in result.outcomes]
        outputs = {name: sum(one.tasks[name].outputs.astype(float) for one in parts) / 3 for name in WORDS if name != "grade"}
        means[part] = parts[0].with_outputs(outputs)
    grid = [n / 20 for n in range(1, 20)]
    f1 = {value: evaluate_all(means["validation"], tasks, dict.fromkeys(first.test.tasks, value)).plan.main for value in grid}
    best = min(grid, key=lambda value: (-round(f1[value], 9), abs(value - 0.5), value))
    wanted = evaluate_all(means["test"], tasks, dict.fromkeys(first.test.tasks, best)).plan
    (member,) = (run for run in tracker.runs.values() if run.spec.kind == "suite member")
    assert member.last("test.ensemble/f1_macro") == pytest.approx(wanted.main)
    assert member.last("test.ensemble/average_precision_macro") == pytest.approx(wanted.as_dict()["average_precision_macro"])
    single = fmean(outcome.metrics.plan.main for outcome in result.outcomes)
    assert f"macro F1 of {wanted.main:.3f} on test; one has {single:.3f} on average" in member.model.description
    assert member.last("test.ensemble/gain_low") <= wanted.main - single <= member.last("test.ensemble/gain_high")
    served = json.loads(member.model.texts["served/served.json"])
    assert served["thresholds"] == {"heart": best, "lung": best}
    assert {run.model is None for run in tracker.runs.values() if run.spec.kind == "fold"} == {True}
