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
from mtlv.settings import dump, load_suite
from mtlv.store.checkpoints import Checkpoints
from mtlv.training.state import EpochProgress
from mtlv.units.checkpointing import CheckpointHook
from mtlv.units.input_cache import InputCache
from mtlv.units.inputs import UnitInputs
from mtlv.units.job import Job
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
    ("pace", "message"),
    [
        ("{by: loss}", r"`training\.pace\.by`: got 'loss'"),
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
