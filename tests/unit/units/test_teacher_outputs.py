"""Teacher outputs of a trained unit: its raw outputs, at the places of its training documents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from made_up import sources_of

from mtlv.data.targets import TARGETS
from mtlv.errors import NoRoomError, TrackingError
from mtlv.planning.resolve import resolve
from mtlv.store import checkpoints as store_module
from mtlv.store.checkpoints import TEACHER_OUTPUTS, read_teacher_outputs, write_teacher_outputs
from mtlv.training.predict import predict
from mtlv.units import teacher_outputs as module
from mtlv.units.input_cache import InputCache
from mtlv.units.inputs import UnitInputs
from mtlv.units.job import Job
from mtlv.units.model import model_of
from mtlv.units.teacher_outputs import add_teacher_outputs, entropies, teacher_outputs_of

ORDER = ("biosses", "conll", "chemprot")  # words are not those of the first documents


@pytest.fixture(scope="module", params=["null", "3"], ids=["whole", "windows"])
def unit(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Job, UnitInputs]:
    """A model of tags, numbers and classes of three sources, untrained."""
    folder = tmp_path_factory.mktemp("teacher_outputs")
    change = (f"data.window={request.param}", "architecture=mtl", "training.precision=fp32")
    suite = sources_of(folder, *ORDER, more="", changes=change)
    cache = InputCache()
    return resolve(cache, suite.members[0]).children[0].jobs[0], cache.inputs(suite.members[0].settings)


def weights_of(job: Job, inputs: UnitInputs, seed: int) -> dict[str, torch.Tensor]:
    """Others than those of a new model."""
    generator = torch.Generator().manual_seed(seed)
    state = model_of(job, inputs).state_dict()
    return {
        name: values + 0.05 * torch.randn(values.shape, generator=generator)
        if values.is_floating_point()
        else values
        for name, values in state.items()
    }


def test_a_batch_has_the_lessons_of_its_documents(unit: tuple[Job, UnitInputs]) -> None:
    job, inputs = unit
    state, rows = weights_of(job, inputs, 1), job.fold.train
    found = add_teacher_outputs(
        inputs, [(job, teacher_outputs_of(job, inputs, [(job.unit.model.tasks, state)]))]
    )
    assert found.teacher_outputs.keys() == set(job.unit.model.tasks)
    assert not inputs.teacher_outputs
    model = model_of(job, inputs).eval()
    model.load_state_dict(state)
    seen = 0
    for part in inputs.parts(job.unit.model.tasks, rows):
        part = replace(part, teacher_outputs={name: found.teacher_outputs[name] for name in part.targets})
        for batch in part.training(5, seed=3, epoch=1):
            assert batch.teacher_outputs.keys() == batch.targets.keys()
            heads = [head.name for head in job.unit.model.heads if head.tasks[0] in batch.targets]
            logits = model(
                batch.input_ids, batch.attention_mask, batch.segments, batch.words, batch.mentions, heads
            )
            for name in heads:
                own = model.specs[name].tasks
                kind = model.kinds[name]
                wanted = kind.teacher_outputs(logits[name])
                for task, values in zip(own, wanted, strict=True):
                    outputs = batch.teacher_outputs[task]
                    assert outputs.dtype == torch.float32
                    assert outputs.shape == values.shape
                    known = batch.words >= 0 if kind.by_word else slice(None)
                    torch.testing.assert_close(outputs[known], values.detach()[known], rtol=1e-4, atol=1e-5)
                    seen += 1
                    if kind.by_word:
                        assert not outputs[batch.words < 0].any()
    assert seen >= 3
    (piece, *_) = batch.pieces(3)
    assert all(outputs.shape[0] == len(piece.index) for outputs in piece.teacher_outputs.values())


def test_each_task_has_the_outputs_of_its_own_weights(unit: tuple[Job, UnitInputs]) -> None:
    job, inputs = unit
    one, two = weights_of(job, inputs, 1), weights_of(job, inputs, 2)
    first, *others = job.unit.model.tasks
    found = teacher_outputs_of(job, inputs, [([first], one), (others, two)])
    for number, (state, names) in enumerate([(one, [first]), (two, others)]):
        alone = teacher_outputs_of(job, inputs, [(job.unit.model.tasks, state)])
        for name in job.unit.model.tasks:
            assert np.array_equal(found[name], alone[name]) == (name in names), number


def test_tasks_of_one_head_may_have_weights_of_their_own(suite: Callable, table: Callable) -> None:
    member = suite(table("t"), "architecture=mtl").members[0]
    cache = InputCache()
    job, inputs = resolve(cache, member).children[0].jobs[0], cache.inputs(member.settings)
    states = [weights_of(job, inputs, seed) for seed in range(2)]
    names = job.unit.model.tasks
    found = teacher_outputs_of(job, inputs, [(names[:1], states[0]), (names[1:], states[1])])
    alone = [teacher_outputs_of(job, inputs, [(names, state)]) for state in states]
    assert found.keys() == set(names)
    for number, name in enumerate(names):
        assert np.array_equal(found[name], alone[min(number, 1)][name])
        assert not np.array_equal(alone[0][name], alone[1][name])


def test_teachers_of_parts_fill_the_places_of_their_own(unit: tuple[Job, UnitInputs]) -> None:
    job, inputs = unit
    thirds = [job.fold.train[number::3] for number in range(3)]  # of each source
    inner = [replace(job, fold=replace(job.fold, train=rows)) for rows in thirds]
    states = [weights_of(job, inputs, seed) for seed in range(3)]
    given = [(job.unit.model.tasks, state) for state in states]
    found = add_teacher_outputs(
        inputs, [(one, teacher_outputs_of(one, inputs, [own])) for one, own in zip(inner, given, strict=True)]
    )
    for one, own in zip(inner, given, strict=True):
        whole = add_teacher_outputs(inputs, [(job, teacher_outputs_of(job, inputs, [own]))])
        for part in inputs.parts(job.unit.model.tasks, one.fold.train):
            for name in part.targets:
                wanted = whole.teacher_outputs[name].batch(part.index)
                torch.testing.assert_close(found.teacher_outputs[name].batch(part.index), wanted)
                assert wanted.any()
    first = add_teacher_outputs(inputs, [(inner[0], teacher_outputs_of(inner[0], inputs, given[:1]))])
    for one in inner[1:]:
        for part in inputs.parts(job.unit.model.tasks, one.fold.train):
            for name in part.targets:
                assert not first.teacher_outputs[name].batch(part.index).any(), "of the other parts"


def test_predictions_are_what_they_were(unit: tuple[Job, UnitInputs]) -> None:
    """Reading something else of a head leaves scores alone; dropout is off in both."""
    job, inputs = unit
    model = model_of(job, inputs)
    part = inputs.parts(job.unit.model.tasks, job.fold.train)[1]
    (task,) = part.targets
    raw = teacher_outputs_of(job, inputs, [(job.unit.model.tasks, model.state_dict())])[task]
    scores = predict(model, part, precision="fp32")[task]
    assert TARGETS[inputs.tasks[task].kind].by_word
    assert np.array_equal(np.concatenate(list(scores)), raw.argmax(-1))


def test_without_lessons_inputs_stay_the_same_object(unit: tuple[Job, UnitInputs]) -> None:
    _, inputs = unit
    assert add_teacher_outputs(inputs, []) is inputs


def test_teacher_outputs_of_other_documents_are_refused(unit: tuple[Job, UnitInputs]) -> None:
    job, inputs = unit
    found = teacher_outputs_of(job, inputs, [(job.unit.model.tasks, weights_of(job, inputs, 1))])
    with pytest.raises(ValueError, match=r"teacher outputs of \d+ items for \d+"):
        add_teacher_outputs(inputs, [(replace(job, fold=replace(job.fold, train=job.fold.test)), found)])


def test_a_full_device_is_told(unit: tuple[Job, UnitInputs], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(module, "model_of", full)
    with pytest.raises(NoRoomError, match="does not fit in the device's memory"):
        teacher_outputs_of(*unit, [])


def test_kept_lessons_are_read_as_they_were_unless_damaged(tmp_path: Path) -> None:
    assert read_teacher_outputs(tmp_path) is None
    kept = {"a": np.float32([1.5, -2.25]), "b": np.arange(6, dtype=np.float32).reshape(2, 3)}
    write_teacher_outputs(tmp_path, kept)
    write_teacher_outputs(tmp_path, kept)
    found = read_teacher_outputs(tmp_path)
    assert found is not None
    assert found.keys() == kept.keys()
    assert all(np.array_equal(found[name], kept[name]) for name in kept)
    assert [path.name for path in tmp_path.iterdir()] == [TEACHER_OUTPUTS]
    content = bytearray((tmp_path / TEACHER_OUTPUTS).read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / TEACHER_OUTPUTS).write_bytes(content)
    assert read_teacher_outputs(tmp_path) is None


def test_teacher_outputs_that_cannot_be_written_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, _: object) -> None:
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store_module, "write", full)
    with pytest.raises(TrackingError, match=r"a teacher's outputs of 0\.0 MB cannot be written to"):
        write_teacher_outputs(tmp_path, {"a": np.zeros(3, np.float32)})
    assert not list(tmp_path.iterdir())


def test_entropies_by_hand() -> None:
    class Own:
        def __init__(self, kind: str) -> None:
            self.kind = kind

    tasks: Any = {name: Own(name) for name in ("binary", "multiclass", "regression")}
    sure, unsure = np.array([50.0, -50.0]), np.zeros(2)
    none: Any = None
    teacher_outputs = [(none, {"binary": sure, "regression": unsure}), (none, {"binary": unsure})]
    found = entropies([*teacher_outputs, (none, {"multiclass": np.full((4, 3), 7.0)})], tasks)
    assert found == pytest.approx({"binary": np.log(2) / 2, "multiclass": np.log(3)})
