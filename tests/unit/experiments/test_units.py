"""`experiments/units.py`: what is kept of units of all kinds of task, and restored."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

import numpy as np
from made_up import sources_of
from memory_tracker import MemoryTracker

from mtlv.events import ignore
from mtlv.planning.resolve import resolve_all
from mtlv.settings import Suite
from mtlv.store.local import Store
from mtlv.store.records import UnitRecord
from mtlv.store.teacher_outputs import read_teacher_outputs
from mtlv.suite.run import run_suite
from mtlv.units.input_cache import InputCache
from mtlv.units.job import Job, each_once

SCRIPT = runpy.run_path(str(Path(__file__).resolve().parents[3] / "experiments" / "units.py"))
SHORT = ("training.epochs=2", "execution.processes=1")


def same(one: UnitRecord, other: UnitRecord) -> None:
    for part in ("validation", "test"):
        before, after = getattr(one, part), getattr(other, part)
        assert (before.ids, before.groups, before.split) == (after.ids, after.groups, after.split)
        assert before.tasks.keys() == after.tasks.keys()
        for name, task in before.tasks.items():
            for field, values in vars(task).items():
                assert np.array_equal(values, getattr(after.tasks[name], field)), (name, field)
    assert len(one.curve) == len(other.curve) == len(one.epochs)
    for before, after in zip(one.curve, other.curve, strict=True):
        assert all(np.array_equal(values, after[name]) for name, values in before.items())
    assert one.epochs == other.epochs
    assert one.chosen_epochs == other.chosen_epochs
    assert one.probe == other.probe


def jobs_of(suite: Suite, cache: InputCache) -> list[Job]:
    return each_once(job for member in resolve_all(cache, suite.members) for job in member.jobs)


def test_units_of_every_kind_are_restored(tmp_path: Path) -> None:
    names = ("biosses", "conll", "chemprot")
    each = [f"{{name: {name}, path: {tmp_path / name}}}" for name in names]
    texts = f"{{name: conll, path: {tmp_path / 'conll'}, alias: texts, text_only: true}}"
    sources = f"data.sources=[{', '.join(each)}, {texts}]"
    suite = sources_of(tmp_path, *names, changes=(*SHORT, "store.keep_weights=true", sources))
    assert not run_suite(suite, ignore, MemoryTracker()).failed
    store, other = Store(tmp_path / "store"), Store(tmp_path / "other")
    cache, can_teach = InputCache(store), 0
    jobs = jobs_of(suite, cache)
    assert len(jobs) == 4 + 1
    for job in jobs:
        key, path = job.unit.key, tmp_path / f"{job.unit.key}.npz"
        SCRIPT["keep"](store, job, cache, path)
        SCRIPT["restore"](other, job, cache, path)
        same(store.load(key), other.load(key))
        for path_of_outputs in (other.units / key).glob(".teacher_outputs"):
            path_of_outputs.unlink()  # as if the unit were from an experiment in which it did not teach
        SCRIPT["restore"](other, job, cache, path)
        teacher_outputs, again = (read_teacher_outputs(place.units / key) or {} for place in (store, other))
        assert teacher_outputs.keys() == again.keys()
        assert all(np.array_equal(values, again[name]) for name, values in teacher_outputs.items())
        can_teach += bool(teacher_outputs)
    assert can_teach == 3, "masked words have no teacher"


def test_outputs_of_labels_are_kept_as_a_matrix_of_all_tasks(
    suite: Callable, table: Callable, tmp_path: Path
) -> None:
    made = suite(table("t"), "architecture=mtl", "training.probe={every: 1}", *SHORT)
    assert not run_suite(made, ignore, MemoryTracker()).failed
    store, other = Store(tmp_path / "store"), Store(tmp_path / "other")
    (job,) = jobs_of(made, cache := InputCache(store))
    record, names = store.load(job.unit.key), job.unit.model.tasks
    assert record.probe is not None
    SCRIPT["keep"](store, job, cache, tmp_path / "new.npz")
    kept = dict(np.load(tmp_path / "new.npz"))
    assert kept.keys() == {"record", "curve", "validation", "test", "lessons"}
    np.testing.assert_array_equal(kept["test"], record.test.matrix(names)[0])
    teacher_outputs = {name: np.float32([number, 2.5]) for number, name in enumerate(names)}
    kept["lessons"] = np.stack(list(teacher_outputs.values()), 1)
    np.savez_compressed(tmp_path / "new.npz", **kept)
    SCRIPT["restore"](other, job, cache, tmp_path / "new.npz")
    same(record, other.load(job.unit.key))
    again = read_teacher_outputs(other.units / job.unit.key) or {}
    assert {name: values.tolist() for name, values in again.items()} == {
        name: values.tolist() for name, values in teacher_outputs.items()
    }
