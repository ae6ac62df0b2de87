"""A unit that is interrupted and goes on, against one that is not."""

from __future__ import annotations

import gc
import pickle
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from listening import Watcher

from mtlv.errors import NoRoomError, TrainingError
from mtlv.events import Callback, NoteGiven, ignore
from mtlv.models.fast.graphs import Graphed
from mtlv.models.fast.packing import ROW
from mtlv.models.multitask import MultiTaskModel
from mtlv.planning.resolve import resolve
from mtlv.store.checkpoints import ENDING, Checkpoints
from mtlv.store.records import EpochRecord, UnitRecord
from mtlv.training.embed import embed_texts
from mtlv.training.state import EpochProgress
from mtlv.units import train as module
from mtlv.units.checkpointing import CheckpointHook
from mtlv.units.input_cache import ROOM, InputCache
from mtlv.units.inputs import UnitInputs
from mtlv.units.job import Job
from mtlv.units.train import train_unit
from mtlv.units.validation import UnitCallbacks

EPOCHS = 3
MATTER = ("training.epochs=3", "encoder.dropout=0.2", "store.checkpoint_steps=1", "training.batch_size=8")
VARIANTS = [
    ("architecture=mtl", "training.select=best", "training.select_per=task"),
    ("architecture=gmhl", "training.select=best", "training.head_loss=loss_proportional"),
    ("architecture=mtl", "training.accumulation=2", "training.schedule=constant", "training.warmup=0"),
    ("architecture=mtl", "training.objective=uncertainty", "training.objective.learning_rate=0.1"),
    ("architecture=mtl", "training.objective=dwa"),
    ("architecture=mtl", "training.average_epochs=2", "training.select=best", "training.schedule=constant"),
    ("architecture=mtl", "training.objective=random"),
    ("architecture=mtl", "encoder.lora={rank: 4, dropout: 0.2}"),
    ("architecture=mtl", "training.optimizer=adamax", "training.rates={heads: 5, layers: 0.5}"),
]


Result = tuple[UnitRecord, dict[int, dict[str, torch.Tensor]]]


class Killed(Exception):
    """The process is gone."""


@dataclass
class Unit:
    """A unit that can be trained again and again."""

    job: Job
    inputs: UnitInputs

    def train(
        self, folder: Path, observer: Callback | None = None
    ) -> tuple[UnitRecord, dict[str, torch.Tensor]]:
        callbacks = UnitCallbacks(observer or ignore, lambda *_: None, lambda epoch: epoch)
        return train_unit(self.job, self.inputs, callbacks, Checkpoints(folder))


@pytest.fixture(params=VARIANTS, ids=lambda variant: " ".join(variant))
def unit(request: pytest.FixtureRequest, suite: Callable, table: Callable) -> Unit:
    return unit_of(suite(table("t"), *MATTER, *request.param))


def unit_of(suite) -> Unit:
    cache = InputCache()
    member = resolve(cache, suite.members[0])
    return Unit(member.children[0].jobs[0], cache.inputs(member.member.settings))


def killed_at(step: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends after this step, if one is given, once its checkpoint is on disk."""
    real = CheckpointHook.on_step

    def on_step(self: CheckpointHook, progress: EpochProgress) -> None:
        real(self, progress)
        if progress.step == step:
            self.checkpoints.wait()
            raise Killed

    monkeypatch.setattr(CheckpointHook, "on_step", on_step)


def timeless(epochs: tuple[EpochRecord, ...]) -> list[EpochRecord]:
    return [replace(epoch, seconds=0.0) for epoch in epochs]


def assert_same(one: Result, other: Result) -> None:
    """Bit for bit, times apart."""
    (record, weights), (expected, expected_weights) = one, other
    assert timeless(record.epochs) == timeless(expected.epochs)
    assert record.chosen_epoch == expected.chosen_epoch
    assert record.chosen_epochs == expected.chosen_epochs
    for outputs, others in zip(record.curve, expected.curve, strict=True):
        assert outputs.keys() == others.keys()
        assert all(np.array_equal(outputs[name], others[name]) for name in others)
    for part in ("validation", "test"):
        for name, task in getattr(expected, part).tasks.items():
            np.testing.assert_array_equal(getattr(record, part).tasks[name].outputs, task.outputs)
    assert weights.keys() == expected_weights.keys()
    for epoch, state in weights.items():
        assert all(torch.equal(state[name], expected_weights[epoch][name]) for name in state)


def test_an_interrupted_unit_ends_as_an_undisturbed_one(
    unit: Unit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = unit.train(tmp_path / "undisturbed")
    batches = -(-len(unit.job.fold.train) // 8)
    steps = -(-batches // unit.job.settings.training.accumulation)
    ends, told = (steps - 1, steps, EPOCHS * steps), []
    for step in (*ends, None):
        told.append(Watcher())
        with monkeypatch.context() as patch, pytest.raises(Killed) if step else nullcontext():
            killed_at(step, patch)
            result = unit.train(tmp_path / "interrupted", told[-1])
    assert_same(result, undisturbed)
    for step, heard in zip(ends, told[1:], strict=True):
        assert f"resumes after step {step}, in epoch {-(-step // steps)} of {EPOCHS}" in heard.notes[0]
        assert not heard.warned
    epoch = len(unit.job.fold.train)
    documents = [epoch, EPOCHS * epoch, EPOCHS * epoch]
    assert [heard.documents for heard in told[1:]] == documents, "before and after the resume"


def test_averaged_weights_are_validated_tested_and_kept_and_training_goes_on_without_them(
    suite: Callable, table: Callable, tmp_path: Path
) -> None:
    """The mean of the last two of three epochs, which are the last ones of trainings that end earlier."""
    constant = ("training.schedule=constant", "training.warmup=0")
    changes = ("architecture=mtl", "encoder.frozen_layers=1", *constant)
    last: list[Result] = []
    for epochs in (1, 2, 3):
        unit = unit_of(suite(table("t"), *changes, f"training.epochs={epochs}"))
        last.append(unit.train(tmp_path / str(epochs)))
    unit = unit_of(suite(table("t"), *changes, "training.epochs=3", "training.average_epochs=2"))
    record, weights = unit.train(tmp_path / "averaged")
    alone = last[-1][0]
    assert [epoch.loss for epoch in record.epochs] == [epoch.loss for epoch in alone.epochs]
    means = {name: (weight + last[1][1][1][name]) / 2 for name, weight in last[2][1][2].items()}
    assert weights[2].keys() == means.keys()
    assert all(torch.allclose(weight, means[name], atol=1e-7) for name, weight in weights[2].items())
    model = module.model_of(unit.job, unit.inputs)
    model.load_state_dict(means)
    for part, rows in (("validation", unit.job.fold.validation), ("test", unit.job.fold.test)):
        documents = unit.inputs.parts(unit.job.unit.model.tasks, rows)
        outputs = unit.inputs.outputs(model.eval(), documents, precision="fp32")
        for name, task in getattr(record, part).tasks.items():
            np.testing.assert_allclose(task.outputs, outputs[name][task.mask], atol=1e-5)
            assert not np.allclose(task.outputs, getattr(alone, part).tasks[name].outputs, atol=1e-5)
    assert all(np.array_equal(record.curve[0][name], values) for name, values in alone.curve[0].items())


LEARNING_RATE = 1e-3  # of `suite`


def test_the_schedule_is_as_long_as_all_steps_of_all_epochs(
    suite: Callable, table: Callable, tmp_path: Path
) -> None:
    """36 documents are five batches, and those three steps of two batches or fewer, in each of two epochs."""
    changes = ("training.schedule=linear", "training.warmup=0.2", "training.accumulation=2")
    unit = unit_of(suite(table("t"), "architecture=mtl", *changes))
    assert len(unit.job.fold.train) == 36
    record, _ = unit.train(tmp_path)
    assert [epoch.learning_rate for epoch in record.epochs] == pytest.approx([LEARNING_RATE * 3 / 5, 0])


def test_decay_clipping_and_the_learning_rate_are_those_of_the_settings(
    suite: Callable, table: Callable, tmp_path: Path
) -> None:
    """A gradient clipped to nearly nothing leaves the decay alone, whose factors are known.

    Without a schedule, decay and clipping, rare labels stay untrained; see the defaults' test.
    """
    plain = ("architecture=mtl", "training.schedule=constant", "training.warmup=0", "encoder.dropout=0")
    unit = unit_of(suite(table("t"), *plain, "training.clip_norm=1e-12", "training.weight_decay=0.5"))
    record, kept = unit.train(tmp_path / "clipped")
    assert [epoch.learning_rate for epoch in record.epochs] == [LEARNING_RATE] * 2
    published, weights = unit.inputs.encoder.module.state_dict(), kept[record.chosen_epoch]
    left = (1 - LEARNING_RATE * 0.5) ** 10  # steps
    for name, weight in published.items():
        if "pooler" not in name and weight.is_floating_point():
            expected = weight * left if weight.ndim > 1 else weight
            torch.testing.assert_close(weights[f"encoder.{name}"], expected, rtol=2e-5, atol=2e-6)
    free = unit_of(suite(table("t"), *plain, "training.clip_norm=null", "training.weight_decay=0"))
    record, kept = free.train(tmp_path / "free")
    name = "encoder.layer.1.output.dense.weight"
    change = (kept[record.chosen_epoch][f"encoder.{name}"] - published[name]).abs()
    assert LEARNING_RATE < change.mean() < 10 * LEARNING_RATE


def handed_over(unit: Unit, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, dict[str, Any]]:
    """What the loop is given: the batches of an epoch by its number, and all else by name."""
    given: list[Any] = []

    def train(*places: Any, **names: Any) -> None:
        given.extend([places[1], names])
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("mtlv.training.loop.train_by_steps", train)
        with pytest.raises(Killed):
            unit.train(folder)
    return given[0], given[1]


def test_the_optimizer_and_the_rates_of_parts_are_those_of_the_settings(
    suite: Callable, table: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = ("architecture=mtl", "training.optimizer=adamax", "training.rates={heads: 5, layers: 0.5}")
    states: list[Any] = []

    def train(*places: Any, **_: Any) -> None:
        states.append(places[0])
        raise Killed

    monkeypatch.setattr("mtlv.training.loop.train_by_steps", train)
    with pytest.raises(Killed):
        unit_of(suite(table("t"), *changes)).train(tmp_path)
    optimizer = states[0].optimizer
    assert type(optimizer) is torch.optim.Adamax
    rates = {group["initial_lr"] / LEARNING_RATE for group in optimizer.param_groups}
    assert sorted(rates) == pytest.approx([0.25, 0.5, 1, 5])


def test_each_epoch_and_each_seed_has_batches_of_its_own(
    suite: Callable, table: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Training documents in the order of their file, the same in every epoch, were never shuffled."""
    units = [unit_of(suite(table("t"), "architecture=mtl", f"seed={seed}")) for seed in (0, 1)]
    orders = [handed_over(unit, tmp_path, monkeypatch)[0] for unit in units]
    found = [[batch.index.tolist() for batch in order(epoch)] for order in orders for epoch in range(3)]
    assert [batch.index.tolist() for batch in orders[0](2)] == found[2], "the same whenever it is asked"
    for epoch in found:
        assert sorted(row for batch in epoch for row in batch) == units[0].job.fold.train.tolist()
    assert len({str(epoch) for epoch in found}) == len(found)
    assert not any(
        [row for batch in epoch for row in batch] == sorted(units[0].job.fold.train) for epoch in found
    )
    assert len({frozenset(map(frozenset, epoch)) for epoch in found}) == len(found), "other documents meet"


def test_how_losses_become_one_is_as_the_settings_say(
    suite: Callable, table: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = torch.tensor([1.0, 10.0, 100.0])  # of the heads of heart, lung and bone
    for changes, expected, of_lung in (
        (("head_loss=mean",), 37, 1.0),
        (("head_loss=weighted_sum", "head_weights={heart: 3.0, bone: 0.5}"), 63, 1.0),
        (("task_weights={lung: 2.0}",), 111, 2.0),
    ):
        given = (f"training.{change}" for change in changes)
        unit = unit_of(suite(table("t"), "architecture=gmhl", "grouping.k=3", *given))
        objective = handed_over(unit, tmp_path, monkeypatch)[1]["objective"]
        order = [head.tasks for head in objective.heads]
        own = torch.stack([losses[["heart", "lung", "bone"].index(task)] for (task,) in order])
        assert float((objective.factors(own, {(0, 1, 2): 1.0}) * own).sum()) == pytest.approx(expected)
        (lung,) = (head.name for head in objective.heads if head.tasks == ("lung",))
        assert objective.task_weights[lung].tolist() == [of_lung]


def test_outputs_start_from_the_vectors_of_their_labels(
    suite: Callable, table: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = {}
    for start in ("random", "label_texts"):
        for shape in (("architecture=gmhl", "grouping.k=2"), ("architecture=stl",)):
            unit = unit_of(
                suite(
                    table("t"),
                    *shape,
                    "architecture.head_layers=1",
                    f"heads.start={start}",
                    "encoder.features=mean",
                )
            )
            model = handed_over(unit, tmp_path, monkeypatch)[1]["hooks"][0].model
            heads = zip(model.specs.values(), model.heads.values(), strict=True)
            rows = [
                dict(zip(spec.tasks, head.layers[-1].weight.detach(), strict=True)) for spec, head in heads
            ]
            weights[start, shape[0]] = {task: row for head in rows for task, row in head.items()}
    started = weights["label_texts", "architecture=gmhl"]
    names = list(started)
    texts = [unit.inputs.tasks[name].description for name in names]
    vectors = torch.from_numpy(embed_texts(unit.inputs.encoder, texts, special_tokens=True, max_length=64))
    centred = vectors - vectors.mean(0)
    for name, vector in zip(names, centred, strict=True):
        assert torch.cosine_similarity(started[name], vector, 0) > 0.999
        assert started[name].norm() == pytest.approx(0.02 * len(vector) ** 0.5, rel=1e-4)
        assert not torch.allclose(weights["random", "architecture=gmhl"][name], started[name])
    (alone,) = weights["label_texts", "architecture=stl"].items()
    torch.testing.assert_close(alone[1], started[alone[0]], msg="the same with other heads beside")


def test_heads_of_rare_labels_weigh_more(
    suite: Callable, table: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weighted = ("training.head_loss=weighted_sum", "training.head_weights=rarity")
    unit = unit_of(suite(table("t"), "architecture=gmhl", "grouping.k=2", *weighted))
    objective = handed_over(unit, tmp_path, monkeypatch)[1]["objective"]
    targets, train = unit.inputs.corpus.targets, unit.job.fold.train
    counts = [np.mean([targets[task][train].sum() for task in head.tasks]) for head in objective.heads]
    effective = np.array([(1 - 0.999**count) / 0.001 for count in counts])
    assert len(set(counts)) == 2
    np.testing.assert_allclose(objective.weights, 2 / effective / (1 / effective).sum(), rtol=1e-6)


def test_classes_are_counted_in_the_training_documents(
    suite: Callable, table: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit = unit_of(suite(table("t"), "architecture=mtl", "training.class_weights=balanced"))
    (head,) = handed_over(unit, tmp_path, monkeypatch)[1]["hooks"][0].model.heads.values()
    targets = unit.inputs.corpus.targets
    values = np.stack([targets[task][unit.job.fold.train] for task in unit.job.unit.model.tasks], axis=1)
    counts = np.stack([(values == 0).sum(0), (values == 1).sum(0)], axis=1)
    np.testing.assert_allclose(head.class_weights, len(values) / (2 * counts), rtol=1e-6)


def test_what_is_drawn_comes_of_the_unit_alone(suite: Callable, table: Callable, tmp_path: Path) -> None:
    """Without a seed anywhere, heads and dropout would be others in each process."""
    unit = unit_of(suite(table("t"), "architecture=mtl", "encoder.dropout=0.2", "training.epochs=1"))
    found = []
    for before in (1, 2):
        torch.manual_seed(before)
        state = torch.get_rng_state()
        found.append(unit.train(tmp_path / str(before)))
        assert torch.equal(torch.get_rng_state(), state)
    assert_same(*found)
    other = unit_of(
        suite(table("t"), "architecture=mtl", "encoder.dropout=0.2", "training.epochs=1", "seed=7")
    )
    ours, theirs = (
        record.validation.tasks["heart"].outputs for record, _ in (found[0], other.train(tmp_path))
    )
    assert not np.array_equal(ours, theirs), "the seed matters"


def test_its_seconds_have_the_test_too(
    suite: Callable, table: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tested, real = [], module._test
    monkeypatch.setattr(module, "_test", lambda *given: (tested.append(1), real(*given))[1])
    monkeypatch.setattr(CheckpointHook, "seconds", property(lambda _: float(len(tested))))
    record, _ = unit_of(suite(table("t"), *MATTER, "architecture=mtl")).train(tmp_path / "checkpoints")
    assert record.total_seconds == 1


def test_a_unit_that_is_interrupted_thrice(
    suite: Callable, table: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit = unit_of(suite(table("t"), *MATTER, "architecture=mtl"))
    undisturbed = unit.train(tmp_path / "undisturbed")
    for step in (2, 3, 9):
        with monkeypatch.context() as patch:
            killed_at(step, patch)
            with pytest.raises(Killed):
                unit.train(tmp_path / "unit")
    last = max((tmp_path / "unit").glob(f"*{ENDING}"))
    last.write_bytes(last.read_bytes()[:-100])
    heard = Watcher()
    assert_same(unit.train(tmp_path / "unit", heard), undisturbed)
    assert "truncated" in heard.warned[0]
    assert "resumes after step 8," in heard.notes[0]


def test_a_loss_that_is_not_finite_names_the_step_and_the_documents(
    suite: Callable, table: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit = unit_of(suite(table("t"), *MATTER, "architecture=mtl"))
    real, seen = EpochProgress.count, []

    def count(self: EpochProgress, loss: torch.Tensor, *more: Any) -> None:
        seen.append(more[-1])
        real(self, loss * (torch.nan if len(seen) == 7 else 1), *more)

    monkeypatch.setattr(EpochProgress, "count", count)
    with pytest.raises(TrainingError) as raised:
        unit.train(tmp_path)
    ids = ", ".join(unit.inputs.corpus.ids[i] for i in seen[6])
    assert "not finite in step 2 of epoch 2" in str(raised.value)
    assert ids in str(raised.value)
    assert [path.name for path in sorted(tmp_path.glob(f"*{ENDING}"))][-1] == f"000000006{ENDING}"


def full_above(documents: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The device's memory holds so many documents."""
    real = MultiTaskModel.forward

    def forward(self: MultiTaskModel, input_ids: torch.Tensor, *rest: Any, **options: Any) -> object:
        if self.training and len(input_ids) > documents:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory.")
        return real(self, input_ids, *rest, **options)

    monkeypatch.setattr(MultiTaskModel, "forward", forward)


def test_a_full_device_names_the_settings_to_lower(
    suite: Callable, table: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit = unit_of(suite(table("t"), *MATTER, "architecture=mtl"))
    full_above(3, monkeypatch)
    with pytest.raises(
        NoRoomError, match=r"a batch of 8 documents does not fit .*`training.batch_size`"
    ) as it:
        unit.train(tmp_path)
    assert type(pickle.loads(pickle.dumps(it.value))) is NoRoomError  # as it comes from another process


@pytest.mark.parametrize("where", ["device_for", "_build", "_optimisation", "_test"])
@pytest.mark.parametrize(
    "error",
    [
        torch.cuda.OutOfMemoryError("Tried to allocate 2.00 GiB"),
        RuntimeError("CUDA error: out of memory"),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    ],
)
def test_a_device_that_is_full_anywhere_is_no_room(
    where: str,
    error: RuntimeError,
    suite: Callable,
    table: Callable,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: object) -> None:
        raise error

    monkeypatch.setattr(module, where, full)
    with pytest.raises(NoRoomError, match="it does not fit in the device's memory"):
        unit_of(suite(table("t"), *MATTER, "architecture=mtl")).train(tmp_path)


@pytest.mark.parametrize("where", ["_build", "_optimisation", "_test"])
@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("can't start new thread"),
        RuntimeError("could not create a primitive"),
        RuntimeError("[enforce fail at alloc_cpu.cpp:118] DefaultCPUAllocator: can't allocate memory"),
    ],
    ids=str,
)
def test_a_limit_of_this_process_is_no_room(
    where: str,
    error: Exception,
    suite: Callable,
    table: Callable,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def limited(*_: object) -> None:
        raise error

    monkeypatch.setattr(module, where, limited)
    with pytest.raises(NoRoomError, match=r"got no more memory or threads.*`execution.threads`"):
        unit_of(suite(table("t"), *MATTER, "architecture=mtl")).train(tmp_path)


def test_another_error_of_pytorch_is_what_it_was(
    suite: Callable, table: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(*_: object) -> None:
        raise RuntimeError("shapes cannot be multiplied")

    monkeypatch.setattr(module, "_test", wrong)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        unit_of(suite(table("t"), *MATTER, "architecture=mtl")).train(tmp_path)


def test_auto_batch_adds_up_the_gradients_of_pieces(
    suite: Callable, table: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without dropout what comes is the same but for rounding, and so is the unit's key."""
    changes = ("architecture=mtl", "encoder.dropout=0", "training.clip_norm=null")
    whole = unit_of(suite(table("t"), *changes))
    pieces = unit_of(suite(table("t"), *changes, "training.auto_batch=true"))
    assert pieces.job.unit.key == whole.job.unit.key
    record, weights = whole.train(tmp_path / "whole")
    heard = Watcher()
    with monkeypatch.context() as patch:
        full_above(3, patch)
        found, in_pieces = pieces.train(tmp_path / "pieces", heard)
    assert [note.rpartition(" into ")[2] for note in heard.notes] == ["2 pieces", "4 pieces"]
    for one, other in zip(found.epochs, record.epochs, strict=True):
        assert one.loss == pytest.approx(other.loss, rel=1e-4)
    for name, weight in weights.items():
        torch.testing.assert_close(in_pieces[name], weight, rtol=2e-3, atol=2e-4)


def test_layers_computed_twice_change_no_bit(suite: Callable, table: Callable, tmp_path: Path) -> None:
    plain = unit_of(suite(table("t"), *MATTER, "architecture=mtl"))
    twice = unit_of(suite(table("t"), *MATTER, "architecture=mtl", "training.gradient_checkpointing=true"))
    assert twice.job.unit.key == plain.job.unit.key
    assert_same(twice.train(tmp_path / "twice"), plain.train(tmp_path / "plain"))


@pytest.mark.parametrize("rows", [True, False])
def test_units_on_a_gpu_record_their_steps_in_few_lengths(
    rows: bool, suite: Callable, table: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = unit_of(suite(table("t"), *MATTER, "architecture=mtl", "encoder.dropout=0"))
    record, expected = plain.train(tmp_path / "plain")
    shapes: list[tuple[int | None, ...]] = []
    told: list[Any] = []

    class Noted(Graphed):
        def __call__(self, **given: Any) -> Any:
            shapes.append((given["row"], *given["input_ids"].shape))
            if len(shapes) == 1:
                self._tell("trains without CUDA graphs: a reason")
            return self._module(**given)

    monkeypatch.setattr(module, "_graphs_suit", lambda *_: True)
    monkeypatch.setattr("mtlv.models.fast.graphs.Graphed", Noted)
    monkeypatch.setattr("mtlv.models.multitask.MULTIPLE", 4)
    monkeypatch.setattr("mtlv.models.multitask.packs", lambda _: rows)
    found, weights = plain.train(tmp_path / "recorded", told.append)
    longest = plain.inputs.tokens.longest
    if rows:
        assert {length for _, _, length in shapes} == {longest}
        assert all(row % ROW == 0 for row, _, _ in shapes)
    else:
        assert all(length % 4 == 0 or length == longest for _, _, length in shapes)
        assert len({length for _, _, length in shapes}) > 1
        assert {row for row, _, _ in shapes} == {None}
    assert [each.text for each in told if isinstance(each, NoteGiven)] == [
        f"{plain.job.name}: trains without CUDA graphs: a reason"
    ]
    for one, other in zip(found.epochs, record.epochs, strict=True):
        assert one.loss == pytest.approx(other.loss, rel=1e-4)
    for name, weight in weights[found.chosen_epoch].items():
        torch.testing.assert_close(weight, expected[record.chosen_epoch][name], rtol=2e-3, atol=2e-4)


def test_a_unit_with_recorded_steps_leaves_nothing_behind(
    suite: Callable, table: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cycle would keep the GPU's memory until Python collects it, perhaps while a graph is recorded."""
    models: list[Any] = []
    released: list[bool] = []
    real, release = module._build, Graphed.release

    def build(*given: Any) -> MultiTaskModel:
        model = real(*given)
        models.append(weakref.ref(model))
        return model

    def noted(self: Graphed) -> bool:
        released.append(True)
        return release(self)

    monkeypatch.setattr(module, "_build", build)
    monkeypatch.setattr(module, "_graphs_suit", lambda *_: True)
    monkeypatch.setattr(Graphed, "release", noted)
    monkeypatch.setattr(Graphed, "__call__", lambda self, **given: self._module(**given))
    plain = unit_of(suite(table("t"), *MATTER, "architecture=mtl"))
    gc.collect()
    gc.disable()
    try:
        plain.train(tmp_path / "recorded")
        (model,) = models
        assert model() is None
    finally:
        gc.enable()
    assert released == [True]


@pytest.mark.parametrize(
    ("change", "suits"),
    [
        ("training.accumulation=2", True),
        ("training.objective=uncertainty", True),
        ("encoder.frozen_layers=1", True),
        ("training.cuda_graphs=false", False),
        ("training.gradient_checkpointing=true", False),
        ("training.objective=pcgrad", False),
        ("training.head_loss=loss_proportional", False),
        ("architecture={name: gmhl, private_layers: 1}", True),
    ],
)
def test_steps_are_recorded_on_one_gpu_unless_passes_are_repeated(
    suite: Callable, table: Callable, change: str, suits: bool
) -> None:
    job = unit_of(suite(table("t"), *MATTER, "architecture=gmhl", change)).job
    model, gpu = SimpleNamespace(is_perturbed=False), torch.device("cuda")
    assert module._graphs_suit(job, model, gpu) == suits
    assert not module._graphs_suit(job, model, torch.device("cpu"))


def test_frozen_layers_are_as_they_were_published(suite: Callable, table: Callable, tmp_path: Path) -> None:
    plain = unit_of(suite(table("t"), *MATTER, "architecture=mtl"))
    frozen = unit_of(suite(table("t"), *MATTER, "architecture=mtl", "encoder.frozen_layers=1"))
    assert frozen.job.unit.key != plain.job.unit.key
    record, kept = frozen.train(tmp_path)
    weights = kept[record.chosen_epoch]
    for name, weight in frozen.inputs.encoder.module.state_dict().items():
        if "pooler" not in name:
            still = torch.equal(weights[f"encoder.{name}"], weight)
            assert still == ("embeddings" in name or "layer.0." in name), name
    assert 0 < record.parameters < sum(weight.numel() for weight in weights.values())
    assert frozen.inputs.below is not None
    assert frozen.inputs.below.left < ROOM
    assert_same(frozen.train(tmp_path / "again"), (record, kept))  # now all of it from memory
    alone = replace(frozen, inputs=replace(frozen.inputs, below=None)).train(tmp_path / "alone")[0]
    for one, other in zip(record.epochs, alone.epochs, strict=True):
        assert one.loss == pytest.approx(other.loss, rel=1e-4)
