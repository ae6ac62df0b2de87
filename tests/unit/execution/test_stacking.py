"""Units that are trained in a stack end as they would alone, and leave it one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from listening import Watcher
from memory_tracker import MemoryTracker
from safetensors.torch import load_file

from mtlv.data.joined import join, join_folds
from mtlv.data.source import Corpus
from mtlv.data.splits import make_folds
from mtlv.errors import TrainingError
from mtlv.events import ignore
from mtlv.execution.executor import ignore_epoch
from mtlv.execution.runner import UnitRunner
from mtlv.execution.stacking import StackingExecutor, UnitStack
from mtlv.models.encoder import load_encoder
from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import Unit
from mtlv.registries import ARCHITECTURES
from mtlv.settings.schema import RatesSettings
from mtlv.store.local import Store
from mtlv.store.records import UnitRecord
from mtlv.suite.run import SuiteResult, run_suite
from mtlv.training.loop import DueStep
from mtlv.training.objective import Objective
from mtlv.training.state import EpochProgress
from mtlv.training.together import JointAdamW, TogetherSteps, bytes_of_model
from mtlv.units.checkpointing import CheckpointHook
from mtlv.units.input_cache import tokens_of
from mtlv.units.inputs import UnitInputs
from mtlv.units.job import Job

Outcome = UnitRecord | TrainingError | None
Units = tuple[list[Job], UnitInputs]
SETTINGS = ("training.epochs=4", "encoder.dropout=0", "training.batch_size=8", "store.checkpoint_steps=1")


@pytest.fixture
def jobs_and_inputs(one_corpus_per_kind: list[Corpus], suite: Callable, table: Callable) -> Units:
    """A unit of one task each: of every kind, with documents of its own."""
    settings = suite(table("t"), *SETTINGS).members[0].settings
    corpus = join(one_corpus_per_kind)
    (fold,) = join_folds(one_corpus_per_kind, [make_folds(one) for one in one_corpus_per_kind])
    encoder = load_encoder("tiny", texts=corpus.texts)
    inputs = UnitInputs(corpus, tokens_of(encoder, corpus, 24), encoder)
    models = ARCHITECTURES["stl"].build(corpus.names, (), 1).models
    units = [Unit("train", model, 0, 0, "start", corpus.digest, {"precision": "fp32"}) for model in models]
    rows = [len(part) for unit in units for part in inputs.parts(unit.model.tasks, fold.train)]
    return [
        Job(unit, settings, fold, str(unit.model.tasks[0]), its_rows)
        for unit, its_rows in zip(units, rows, strict=True)
    ], inputs


def parts_of(jobs: Sequence[Job], inputs: UnitInputs) -> list[Any]:
    return [inputs.parts(job.unit.model.tasks, job.fold.train, known=True)[0] for job in jobs]


def runner_of(inputs: UnitInputs, folder: Path, callback: Callable = ignore) -> UnitRunner:
    return UnitRunner(lambda _: inputs, Store(folder), callback, frozenset())


def train_stack(runner: UnitRunner, jobs: Sequence[Job]) -> dict[str, Outcome]:
    units = [(job, number, ignore_epoch) for number, job in enumerate(jobs, start=1)]
    return {job.name: outcome for job, outcome in UnitStack(runner, units).run()}


def assert_close(one: Outcome, other: Outcome) -> None:
    assert isinstance(one, UnitRecord)
    assert isinstance(other, UnitRecord)
    for epoch, expected in zip(one.epochs, other.epochs, strict=True):
        assert epoch.loss == pytest.approx(expected.loss, abs=1e-5)
        assert (epoch.documents, epoch.tokens) == (expected.documents, expected.tokens)
    assert one.chosen_epoch == other.chosen_epoch
    for name, task in other.test.tasks.items():
        if task.outputs.dtype != object:
            np.testing.assert_allclose(one.test.tasks[name].outputs, task.outputs, atol=1e-4)


def weights_of(runner: UnitRunner, job: Job) -> dict[str, torch.Tensor]:
    path = runner.store.weights(job.unit.key)
    assert path is not None
    return load_file(path)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of models of the steps that were taken together."""
    sizes: list[int] = []
    take = TogetherSteps.take

    def count(self: TogetherSteps, due: Sequence[DueStep]) -> None:
        sizes.append(len(due))
        take(self, due)

    monkeypatch.setattr(TogetherSteps, "take", count)
    return sizes


@pytest.mark.parametrize("features", ["mean", "attention"])
def test_units_of_every_kind_end_as_they_would_alone(
    jobs_and_inputs: Units, tmp_path: Path, taken: list[int], features: str
) -> None:
    jobs, inputs = jobs_and_inputs
    settings = jobs[0].settings
    encoder = settings.encoder.model_copy(update={"features": features})
    jobs = [replace(job, settings=settings.model_copy(update={"encoder": encoder})) for job in jobs]
    alone, stacked = (runner_of(inputs, tmp_path / name) for name in ("alone", "stacked"))
    outcomes = train_stack(stacked, jobs)
    steps = [4 * -(-len(its_part) // 8) for its_part in parts_of(jobs, inputs)]
    assert len(set(steps)) > 1, "some end before others"
    assert taken == [sum(count > step for count in steps) for step in range(sorted(steps)[-2])]
    for job in jobs:
        record = alone.train(job, 1, ignore_epoch)
        assert_close(outcomes[job.name], record)
        assert stacked.store.load(job.unit.key).stack == len(jobs)
        expected = weights_of(alone, job)
        for name, weight in weights_of(stacked, job).items():
            if not name.endswith(
                "key.bias"
            ):  # its gradient is 0 but for rounding, of which AdamW makes steps
                torch.testing.assert_close(weight, expected[name], rtol=0, atol=1e-5, msg=name)


@pytest.mark.parametrize("clip_norm", [1.0, None])
def test_units_with_the_same_rates_have_one_optimizer(
    jobs_and_inputs: Units, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clip_norm: float | None
) -> None:
    """One of them diverges in the second epoch, and the others go on with what the optimizer knew."""
    jobs, inputs = jobs_and_inputs
    training = jobs[0].settings.training.model_copy(update={"clip_norm": clip_norm})
    settings = jobs[0].settings.model_copy(update={"training": training})
    jobs = [
        replace(jobs[0], unit=replace(jobs[0].unit, seed=seed), settings=settings, name=f"seed {seed}")
        for seed in range(4)
    ]
    joint, losses = list[int](), Objective.losses
    step = JointAdamW.step

    def count(self: JointAdamW) -> None:
        joint.append(len(self._optimizers))
        step(self)

    def diverge(self: Objective, model: Any, *arguments: Any) -> torch.Tensor:
        factor = torch.nan if model is models[1] and len(joint) == 4 else 1
        return losses(self, model, *arguments) * factor

    models: list[Any] = []
    init = MultiTaskModel.__init__

    def remember(self: MultiTaskModel, *arguments: Any, **more: Any) -> None:
        init(self, *arguments, **more)
        models.append(self)

    monkeypatch.setattr(JointAdamW, "step", count)
    monkeypatch.setattr(Objective, "losses", diverge)
    monkeypatch.setattr(MultiTaskModel, "__init__", remember)
    stacked, alone = (runner_of(inputs, tmp_path / name) for name in ("stacked", "alone"))
    outcomes = train_stack(stacked, jobs)
    steps = 4 * -(-len(parts_of(jobs, inputs)[0]) // 8)
    assert joint == [4] * 5 + [3] * (steps - 5)
    assert isinstance(outcomes[jobs[1].name], TrainingError)
    for job in (jobs[0], *jobs[2:]):
        assert_close(outcomes[job.name], alone.train(job, 1, ignore_epoch))
        expected = weights_of(alone, job)
        for name, weight in weights_of(stacked, job).items():
            if not name.endswith("key.bias"):
                torch.testing.assert_close(weight, expected[name], rtol=0, atol=1e-5, msg=name)


@pytest.mark.parametrize("optimizer", ["adamw", "adamax"])
def test_rates_of_parts_and_other_optimizers_are_kept_in_a_stack(
    jobs_and_inputs: Units, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: list[int], optimizer: str
) -> None:
    """AdamW has one for all, whatever their rates; of others, each model has its own."""
    jobs, inputs = jobs_and_inputs
    rates = (1e-3, RatesSettings(heads=5.0, layers=0.5)), (3e-4, RatesSettings(heads=1.0, layers=1.0))
    settings = []
    for rate, of_parts in rates:
        changes = {"optimizer": optimizer, "learning_rate": rate, "rates": of_parts, "epochs": 2}
        training = jobs[0].settings.training.model_copy(update=changes)
        settings.append(jobs[0].settings.model_copy(update={"training": training}))
    jobs = [
        replace(jobs[0], unit=replace(jobs[0].unit, seed=seed), settings=its, name=f"seed {seed}")
        for seed, its in enumerate(settings)
    ]
    joint, step = list[int](), JointAdamW.step

    def count(self: JointAdamW) -> None:
        joint.append(len(self._optimizers))
        step(self)

    monkeypatch.setattr(JointAdamW, "step", count)
    stacked, alone = (runner_of(inputs, tmp_path / name) for name in ("stacked", "alone"))
    outcomes = train_stack(stacked, jobs)
    assert len(taken) > 2
    assert joint == (taken if optimizer == "adamw" else [])
    for job in jobs:
        assert_close(outcomes[job.name], alone.train(job, 1, ignore_epoch))


def test_a_loss_that_is_not_finite_fails_its_own_unit_only(
    jobs_and_inputs: Units, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs, inputs = jobs_and_inputs
    expected = train_stack(runner_of(inputs, tmp_path / "expected"), jobs)
    losses = Objective.losses

    def diverge(self: Objective, *arguments: Any) -> torch.Tensor:
        factor = torch.nan if self.names[0].startswith(jobs[1].name) else 1
        return losses(self, *arguments) * factor

    monkeypatch.setattr(Objective, "losses", diverge)
    outcomes = train_stack(runner_of(inputs, tmp_path / "diverged"), jobs)
    assert "not finite" in str(outcomes.pop(jobs[1].name))
    for name, outcome in outcomes.items():
        assert_close(outcome, expected[name])


def test_units_that_stop_early_leave_the_others(jobs_and_inputs: Units, tmp_path: Path) -> None:
    jobs, inputs = jobs_and_inputs
    training = jobs[0].settings.training.model_copy(update={"select": "best", "patience": 1, "epochs": 6})
    settings = jobs[0].settings.model_copy(update={"training": training})
    jobs = [replace(job, settings=settings) for job in jobs]
    outcomes = train_stack(runner_of(inputs, tmp_path / "stacked"), jobs)
    alone = runner_of(inputs, tmp_path / "alone")
    for job in jobs:
        assert_close(outcomes[job.name], alone.train(job, 1, ignore_epoch))
    epochs = {len(outcome.epochs) for outcome in outcomes.values() if isinstance(outcome, UnitRecord)}
    assert len(epochs) > 1


def test_a_unit_that_another_process_has_is_left_out(jobs_and_inputs: Units, tmp_path: Path) -> None:
    jobs, inputs = jobs_and_inputs
    runner = runner_of(inputs, tmp_path)
    with runner.store.lock_unit(jobs[2].unit.key):
        outcomes = train_stack(runner, jobs)
    assert outcomes[jobs[2].name] is None
    assert sum(isinstance(outcome, UnitRecord) for outcome in outcomes.values()) == len(jobs) - 1


def test_stacks_are_of_units_that_no_other_process_has(
    jobs_and_inputs: Units, tmp_path: Path, taken: list[int]
) -> None:
    """So two processes that share a store train stacks, not what is left of those of the other."""
    jobs, inputs = jobs_and_inputs
    executor = StackingExecutor(runner_of(inputs, tmp_path), jobs, threads=None, size=3)
    executor.expect(jobs)
    store = executor.store
    with store.lock_unit(jobs[0].unit.key), store.lock_unit(jobs[2].unit.key):
        assert executor.train_next()
        assert [store.has(job.unit.key) for job in jobs] == [False, True, False, True, True]
    executor.run(jobs[2])
    assert [store.load(job.unit.key).stack for job in jobs] == [2, 3, 2, 3, 3]
    assert set(taken) == {2, 3}


def test_an_interrupted_stack_goes_on_with_other_members(
    jobs_and_inputs: Units, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs, inputs = jobs_and_inputs
    on_step = CheckpointHook.on_step

    def interrupt(self: CheckpointHook, progress: EpochProgress) -> None:
        on_step(self, progress)
        self.checkpoints.wait()
        if progress.step == 5 and self.job is jobs[-1]:
            raise KeyboardInterrupt

    watcher = Watcher()
    runner = runner_of(inputs, tmp_path / "interrupted", watcher)
    with monkeypatch.context() as patch:
        patch.setattr(CheckpointHook, "on_step", interrupt)
        with pytest.raises(KeyboardInterrupt):
            train_stack(runner, jobs)
    assert not any(runner.store.busy(job.unit.key) for job in jobs)
    outcomes = train_stack(runner, jobs[:2]) | train_stack(runner, jobs[2:])
    assert sum("resumes after step 5" in note for note in watcher.notes) == len(jobs)
    expected = train_stack(runner_of(inputs, tmp_path / "undisturbed"), jobs)
    for name, outcome in outcomes.items():
        assert_close(outcome, expected[name])


def test_random_numbers_outside_a_stack_do_not_depend_on_it(jobs_and_inputs: Units, tmp_path: Path) -> None:
    jobs, inputs = jobs_and_inputs
    torch.manual_seed(3)
    before = torch.get_rng_state()
    train_stack(runner_of(inputs, tmp_path), jobs[:2])
    assert torch.equal(torch.get_rng_state(), before)


def run(
    suite_of: Callable, table: Path, folder: str, *changes: str
) -> tuple[SuiteResult, Watcher, MemoryTracker]:
    watcher, tracker = Watcher(), MemoryTracker()
    training = ("training.epochs=1", "encoder.dropout=0", "training.warmup=0")
    suite = suite_of(table, *training, *changes, store=folder)
    return run_suite(suite, watcher, tracker), watcher, tracker


def test_a_suite_in_stacks_has_the_results_of_one_without(suite: Callable, table: Callable) -> None:
    """Seeds share stacks; each unit is told, tracked and kept as ever."""
    members = ("architecture=stl", "seed=[0, 1]")
    path = table("t")
    (alone, _, tracker_alone), (stacked, watcher, tracker) = (
        run(suite, path, f"store {size}", *members, f"execution.stack={size}") for size in (1, 5)
    )
    assert ["stack of 5" in note for note in watcher.notes if "stack" in note] == [True]
    assert len(watcher.ended) == len(set(watcher.ended)) == 6
    for one, other in zip(stacked.members, alone.members, strict=True):
        for outcome, expected in zip(one.outcomes, other.outcomes, strict=True):
            for name, task in expected.test.tasks.items():
                np.testing.assert_allclose(outcome.test.tasks[name].outputs, task.outputs, atol=1e-4)
    assert not watcher.failed
    stacks = {run.tags.get("mtlv.stack") for run in tracker.runs.values() if run.spec.kind != "comparison"}
    assert stacks == {"5"}
    assert not any("mtlv.stack" in run.tags for run in tracker_alone.runs.values())


def test_why_a_unit_is_trained_alone_is_said_once(suite: Callable, table: Callable) -> None:
    _, watcher, _ = run(
        suite, table("t"), "store", "architecture=stl", "training.accumulation=2", "execution.stack=5"
    )
    (note,) = [note for note in watcher.notes if "alone" in note]
    assert "`training.accumulation`" in note


def test_frozen_weights_need_less_memory(jobs_and_inputs: Units) -> None:
    encoder = jobs_and_inputs[1].encoder.module
    count = sum(weight.numel() for weight in encoder.parameters())
    above = sum(weight.numel() for weight in encoder.encoder.layer[1].parameters())
    above += sum(weight.numel() for weight in encoder.pooler.parameters()) if encoder.pooler else 0
    assert bytes_of_model(encoder, 0, has_adapters=False) == 20 * count
    assert bytes_of_model(encoder, 1, has_adapters=False) == 20 * above + 8 * (count - above)
    assert bytes_of_model(encoder, 0, has_adapters=True) == 8 * count
