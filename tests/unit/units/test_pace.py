"""A curriculum in a unit: what it sees, its controls and its key, and going on after an interruption."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from mtlv.data.sampling import Pace, random_batches
from mtlv.errors import ConfigError
from mtlv.events import ignore
from mtlv.planning.resolve import resolve
from mtlv.settings import Suite, dump, load_suite
from mtlv.store.checkpoints import Checkpoints
from mtlv.training.state import EpochProgress
from mtlv.units.checkpointing import CheckpointHook
from mtlv.units.input_cache import InputCache
from mtlv.units.inputs import UnitInputs
from mtlv.units.job import Job
from mtlv.units.teacher_outputs import add_teacher_outputs, teacher_outputs_of
from mtlv.units.train import _mixture, train_unit
from mtlv.units.validation import UnitCallbacks

SILENT = UnitCallbacks(ignore, lambda *_: None, lambda epoch: epoch)


@pytest.fixture
def unit(suite: Callable, table: Callable) -> Callable[..., tuple[Job, UnitInputs]]:
    path = table("t")

    def make(*changes: str) -> tuple[Job, UnitInputs]:
        cache = InputCache()
        member = suite(path, "architecture=mtl", "training.epochs=4", *changes).members[0]
        return resolve(cache, member).children[0].jobs[0], cache.inputs(member.settings)

    return make


def pace_of(job: Job, inputs: UnitInputs) -> Pace:
    (part,) = _mixture(job, inputs).parts
    assert isinstance(part.batching, Pace)
    return part.batching


def test_documents_are_in_the_order_of_their_difficulty(unit: Callable) -> None:
    job, inputs = unit("training.pace={by: length}")
    lengths = inputs.tokens.lengths[job.fold.train]
    pace = pace_of(job, inputs)
    assert (pace.epochs, pace.start) == (2.0, 0.01)
    assert (np.diff(lengths[pace.order]) >= 0).all()
    backwards = pace_of(*unit("training.pace={by: length, reverse: true, until: 1, start: 0.5}"))
    assert (np.diff(lengths[backwards.order]) <= 0).all()
    assert (backwards.epochs, backwards.start) == (4.0, 0.5)
    control = pace_of(*unit("training.pace={by: random}"))
    assert sorted(control.order) == sorted(pace.order) == list(range(len(lengths)))
    assert np.corrcoef(lengths[control.order], np.arange(len(lengths)))[0, 1] < 0.5
    other = pace_of(*unit("training.pace={by: random}", "seed=5"))
    assert control.order.tolist() != other.order.tolist()


JUDGED = """stages=[
  {name: judges, architecture: mtl, training: {epochs: 12, learning_rate: 5e-3}},
  {name: learn, architecture: mtl,
   training: {teach: {from: judges, crossfit: 2, gold: 1}, pace: {by: loss, reverse: REVERSE}}},
]"""
FLIPPED = 11


def judged(suite: Suite, tmp_path: Path) -> tuple[Job, UnitInputs]:
    """A unit with the teacher outputs of its teachers, which are trained."""
    cache = InputCache()
    job = resolve(cache, suite.members[0]).children[0].jobs[0]
    teacher_outputs = []
    for each in job.teachers:
        inputs = cache.inputs(each.settings)
        _, kept = train_unit(each, inputs, SILENT, Checkpoints(tmp_path / each.unit.key))
        (weights,) = kept.values()
        teacher_outputs.append((each, teacher_outputs_of(each, inputs, [(each.unit.model.tasks, weights)])))
    return job, add_teacher_outputs(cache.inputs(job.settings), teacher_outputs)


def test_a_document_with_wrong_labels_comes_last_and_does_not_judge_itself(
    suite: Callable, table: Callable, tmp_path: Path
) -> None:
    found = {}
    for name in ("right", "wrong"):
        path = table(name)
        lines = path.read_text().splitlines()
        start, labels = lines[FLIPPED + 1].split(",train,")
        flipped = labels.translate(str.maketrans("01", "10"))
        lines[FLIPPED + 1] = f"{start},train,{labels if name == 'right' else flipped}"
        path.write_text("\n".join(lines) + "\n")
        job, inputs = judged(suite(path, JUDGED.replace("REVERSE", "false")), tmp_path)
        row = inputs.corpus.ids.index(str(FLIPPED))
        outputs = {task: column.batch(np.array([row])) for task, column in inputs.teacher_outputs.items()}
        found[name] = outputs, job.fold.train[pace_of(job, inputs).order].tolist()
    (right, before), (wrong, after) = found.values()
    assert len(right) == 3
    assert all(torch.equal(right[task], wrong[task]) for task in right)
    assert row not in before[-3:]
    assert after[-1] == row
    hard = resolve(InputCache(), suite(path, JUDGED.replace("REVERSE", "true")).members[0])
    assert pace_of(hard.children[0].jobs[0], inputs).order[0] == job.fold.train.tolist().index(row)


def test_without_a_pace_batches_and_keys_are_as_before(unit: Callable) -> None:
    job, inputs = unit()
    (part,) = _mixture(job, inputs).parts
    assert part.batching is random_batches
    assert "pace" not in job.unit.train
    paces = ("{by: length}", "{by: rarity}", "{by: length, reverse: true}", "{by: length, until: 1}")
    jobs = [job, *(unit(f"training.pace={pace}")[0] for pace in paces)]
    assert len({each.unit.key for each in jobs}) == 5
    assert len({each.unit.draw_seed("order") for each in jobs}) == 1


def test_an_interrupted_unit_goes_on_with_its_pace(
    unit: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, inputs = unit("training.pace={by: rarity}", "store.checkpoint_steps=1")
    record, weights = train_unit(job, inputs, SILENT, Checkpoints(tmp_path / "undisturbed"))
    real = CheckpointHook.on_step

    def on_step(self: CheckpointHook, progress: EpochProgress) -> None:
        real(self, progress)
        if progress.step == 7:
            self.checkpoints.wait()
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(CheckpointHook, "on_step", on_step)
        with pytest.raises(KeyboardInterrupt):
            train_unit(job, inputs, SILENT, Checkpoints(tmp_path / "killed"))
    again, found = train_unit(job, inputs, SILENT, Checkpoints(tmp_path / "killed"))
    assert again.chosen_epoch == record.chosen_epoch
    assert [each.documents for each in record.epochs] == [len(job.fold.train)] * 4
    assert all(torch.equal(found[3][name], values) for name, values in weights[3].items())


def test_what_is_dumped_is_read_back_the_same(tmp_path: Path) -> None:
    stages = "[{name: a}, {name: b, training: {pace: {by: length}}}]"
    path = tmp_path / "c.yml"
    path.write_text(f"stages: {stages}\n", encoding="utf-8")
    settings = load_suite(path).members[0].settings
    assert [each.training.pace is None for each in settings.stages] == [True, False]
    path.write_text(dump(settings), encoding="utf-8")
    assert load_suite(path).members[0].settings == settings


@pytest.mark.parametrize(
    ("judges", "more", "message"),
    [
        (
            "",
            "",
            r"`stages\[1\]\.training\.pace\.by`: loss is that of teachers .* `teach: {from: STAGE, crossf",
        ),
        ("", "teach: {from: a, gold: 1}, ", r"`stages\[1\]\.training\.pace\.by`: loss is that of teachers"),
        (
            "select: best",
            "teach: {from: a, crossfit: 2}, ",
            r"pace\.by`: the validation part chooses the epochs",
        ),
        (
            "patience: 2",
            "teach: {from: a, crossfit: 2}, ",
            r"set `training: {select: last, patience: null}` there",
        ),
    ],
)
def test_loss_needs_teachers_that_read_no_other_part(
    tmp_path: Path, judges: str, more: str, message: str
) -> None:
    path = tmp_path / "c.yml"
    second = f"{{name: b, training: {{{more}pace: {{by: loss}}}}}}"
    path.write_text(f"stages: [{{name: a, training: {{{judges}}}}}, {second}]\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        load_suite(path)
    path.write_text("training: {pace: {by: loss}}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"`training\.pace\.by`: loss is that of teachers"):
        load_suite(path)


@pytest.mark.parametrize(
    ("pace", "message"),
    [
        ("{by: colour}", r"`training\.pace\.by`: got 'colour'"),
        ("{start: 0.1}", r"`training\.pace\.by`"),
        ("{by: length, start: 0}", r"`training\.pace\.start`: got 0; allowed: a number above 0, at most 1"),
        ("{by: length, until: 1.5}", r"`training\.pace\.until`: got 1\.5; allowed: a number above 0"),
        ("length", r"`training\.pace`: got 'length'; allowed: a mapping"),
    ],
)
def test_wrong_paces_are_named(tmp_path: Path, pace: str, message: str) -> None:
    path = tmp_path / "c.yml"
    path.write_text(f"training: {{pace: {pace}}}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        load_suite(path)
