"""A plan's outcome: thresholds from validation alone, and figures of each part at them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from mtlv.evaluation.metrics import evaluate
from mtlv.evaluation.thresholds import fit_thresholds
from mtlv.plan import Scores, Task, TaskScores
from mtlv.reporting.plan_result import PlanResult, evaluate_plan
from mtlv.settings import load_overrides
from mtlv.settings.schema import EvaluationSettings
from mtlv.store.records import EpochRecord, UnitRecord

N = 40
NAMES = ("a", "b")
YES = np.arange(N) % 4 == 0


def around(middle: float, seed: int) -> NDArray[np.float64]:
    """Probabilities of which those of positive documents are above `middle` but for a few."""
    drawn = np.random.default_rng(seed).normal(0, 0.05, N)
    return np.clip(middle + np.where(YES, 0.08, -0.08) + drawn, 0, 1)


def scores(split: str, name: str, outputs: NDArray[np.float64]) -> Scores:
    own = TaskScores(outputs, YES.astype(np.int8), np.ones(N, bool))
    return Scores((name,), split, tuple(map(str, range(N))), {name: own})


def record(name: str, middles: tuple[float, ...], *, test: float, memory: float = 1.0) -> UnitRecord:
    """A model of one task: by epoch where its probabilities lie, of which the last are kept."""
    curve = tuple({name: around(middle, seed)} for seed, middle in enumerate(middles))
    return UnitRecord(
        key=name,
        epochs=(),
        chosen_epoch=len(middles) - 1,
        chosen_epochs={name: len(middles) - 1},
        train_seconds=1.0,
        total_seconds=2.0,
        parameters=10,
        peak_memory_mb=memory,
        device="cpu",
        validation=scores("validation", name, curve[-1][name]),
        test=scores("test", name, around(test, 99)),
        curve=curve,
    )


@pytest.fixture
def settings() -> Callable[..., EvaluationSettings]:
    def make(*changes: str) -> EvaluationSettings:
        return load_overrides(["data.name=synthetic", *changes]).members[0].settings.evaluation

    return make


def found_with(settings: EvaluationSettings, *records: UnitRecord) -> PlanResult:
    return evaluate_plan(records, tasks=[Task(name) for name in NAMES], settings=settings, known={})


def test_each_epoch_is_at_thresholds_fitted_on_its_own_validation_scores(
    settings: Callable[..., EvaluationSettings],
) -> None:
    """At 0.5 the first two epochs would predict every document or none."""
    made = [record("a", (0.2, 0.8, 0.3), test=0.3), record("b", (0.2, 0.8, 0.3), test=0.3)]
    found = found_with(settings(), *made)
    for epoch, metrics in enumerate(found.curve):
        assert metrics.plan.main > 0.8
        limits = {round(task.as_dict()["threshold"], 6) for task in metrics.tasks.values()}
        assert len(limits) == 1
        assert abs(limits.pop() - (0.2, 0.8, 0.3)[epoch]) < 0.15


def test_the_test_part_is_scored_at_thresholds_of_validation_alone(
    settings: Callable[..., EvaluationSettings],
) -> None:
    """The test's own would be higher by 0.3, so almost all of its documents are predicted."""
    made = [record("a", (0.3,), test=0.6), record("b", (0.3,), test=0.6)]
    found = found_with(settings(), *made)
    limit = found.thresholds.values["a"]
    assert 0.2 < limit < 0.4
    at_limit = evaluate(found.test, NAMES, dict.fromkeys(NAMES, limit))
    assert found.metrics == at_limit
    assert at_limit.plan.main == pytest.approx(2 * 0.25 / 1.25, abs=0.02)
    harmed = [record("a", (0.3,), test=0.1), record("b", (0.3,), test=0.9)]
    assert found_with(settings(), *harmed).thresholds == found.thresholds, "no test score decides"


def test_thresholds_are_fitted_as_the_settings_say(settings: Callable[..., EvaluationSettings]) -> None:
    made = [record("a", (0.2,), test=0.2), record("b", (0.7,), test=0.7)]
    each = found_with(settings("evaluation.threshold=per_task"), *made).thresholds.values
    assert abs(each["a"] - 0.2) < 0.1
    assert abs(each["b"] - 0.7) < 0.1
    fixed = found_with(settings("evaluation.threshold=fixed", "evaluation.fixed=0.35"), *made)
    assert fixed.thresholds.values == dict.fromkeys(NAMES, 0.35)
    few = ("evaluation.grid.start=0.18", "evaluation.grid.stop=0.74", "evaluation.grid.step=0.28")
    by_few = found_with(settings("evaluation.threshold=per_task", *few), *made)
    expected = fit_thresholds(by_few.validation, NAMES, scope="per_task", fixed=0.5, grid=(0.18, 0.46, 0.74))
    assert by_few.thresholds == expected
    assert by_few.thresholds.values == {"a": 0.18, "b": 0.74}


def test_a_model_that_stopped_early_keeps_its_last_epoch_and_the_first_best_counts(
    settings: Callable[..., EvaluationSettings],
) -> None:
    long = record("a", (0.4, 0.4, 0.4, 0.4), test=0.4, memory=300.0)
    again = {"a": long.curve[1]["a"]}
    long = replace(long, curve=(long.curve[0], again, again, long.curve[3]))
    found = found_with(settings(), long, record("b", (0.4,), test=0.4, memory=200.0))
    assert len(found.curve) == 4
    assert len({metrics.tasks["b"].main for metrics in found.curve}) == 1
    values = [metrics.plan.main for metrics in found.curve]
    assert values[1] == values[2]
    assert found.best_epoch == values.index(max(values))
    flat = replace(long, curve=(again, again))
    assert found_with(settings(), flat, record("b", (0.4,), test=0.4)).best_epoch == 0


def test_models_train_one_after_another(settings: Callable[..., EvaluationSettings]) -> None:
    made = [record("a", (0.4,), test=0.4, memory=300.0), record("b", (0.4,), test=0.4, memory=200.0)]
    costs = found_with(settings(), *made).costs
    assert costs["cost/peak_memory_mb"] == 300.0
    assert (costs["time/train_seconds"], costs["time/total_seconds"]) == (2.0, 4.0)


def test_devices_and_documents_are_those_of_all_stages(settings: Callable[..., EvaluationSettings]) -> None:
    """Seconds of another device, thread count or stack must not be compared."""

    def read(name: str, documents: int, **changes: object) -> UnitRecord:
        epoch = EpochRecord(0, 0.5, {name: 0.5}, 1e-3, 1.0, documents, 0)
        return replace(record(name, (0.4,), test=0.4), epochs=(epoch, epoch), **changes)

    outcome = found_with(settings(), read("a", 10), read("b", 20, stack=4))
    assert outcome.trained_on == "cpu and cpu (4 models at once)"
    staged = replace(outcome, earlier=(read("a", 100, device="NVIDIA H200"),))
    assert staged.trained_on == "NVIDIA H200 and cpu and cpu (4 models at once)"
    assert (outcome.costs["cost/documents"], staged.costs["cost/documents"]) == (60, 260)
