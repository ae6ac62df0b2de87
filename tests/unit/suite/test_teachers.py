"""Teachers: experts of a task each teach one model, of all kinds of task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from listening import Watcher
from made_up import sources_of
from memory_tracker import MemoryTracker
from safetensors.torch import load_file

from mtlv.errors import ConfigError
from mtlv.events import ignore
from mtlv.execution import needs
from mtlv.models import tiny
from mtlv.planning import problems
from mtlv.planning.check import check_suite
from mtlv.planning.resolve import ResolvedMember, resolve_all
from mtlv.settings import Suite
from mtlv.store.checkpoints import TEACHER_OUTPUTS, read_teacher_outputs
from mtlv.store.local import Store
from mtlv.suite.run import run_suite
from mtlv.training.state import EpochProgress
from mtlv.training.teaching import Teaching
from mtlv.units.checkpointing import CheckpointHook
from mtlv.units.input_cache import InputCache
from mtlv.units.job import Job
from mtlv.units.teacher_outputs import teacher_outputs_of

EXPERTS = "{name: experts, architecture: stl}"
SMALL = ("store.keep_weights=false", "data.window=4", "execution.processes=1", "training.precision=fp32")


def teaching(teach: str, first: str = EXPERTS, more: str = "") -> str:
    second = f"{{name: one, architecture: mtl, training: {{teach: {teach}}}{more}}}"
    return f"stages: [{first}, {second}]"


FIVE = f"""
runs:
  - {{name: experts, architecture: stl}}
  - {{name: plain, architecture: mtl}}
  - {{name: truth, {teaching("{from: experts, gold: 1}")}}}
  - {{name: taught, {teaching("{from: experts}")}}}
  - {{name: itself, {teaching("{from: me, gold: 0.5, temperature: 2}", "{name: me, architecture: mtl}")}}}
"""


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Job]]:
    """Whose teacher outputs are computed."""
    seen: list[Job] = []

    def count(job: Job, *rest: Any) -> Any:
        seen.append(job)
        return teacher_outputs_of(job, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(needs, "teacher_outputs_of", count)
        yield seen


def resolved_of(suite: Suite) -> dict[str, ResolvedMember]:
    store = Store(Path(suite.members[0].settings.store.uri))
    return {each.member.name: each for each in resolve_all(InputCache(store), suite.members)}


def student_of(suite: Suite, name: str | None = None) -> Job:
    found = resolved_of(suite)
    (job,) = (found[name] if name else next(iter(found.values()))).children[0].jobs
    return job


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple:
    with pytest.MonkeyPatch.context() as patch, counted(patch) as computed:
        suite = sources_of(
            tmp_path_factory.mktemp("teachers"), more=FIVE, changes=(*SMALL[1:], "store.checkpoint_steps=1")
        )
        watcher, tracker = Watcher(), MemoryTracker()
        result = run_suite(suite, watcher, tracker)
        assert not result.failed
    return suite, result, watcher, tracker, computed


def test_experts_are_trained_once_and_their_lessons_computed_once(ran: tuple) -> None:
    suite, _, watcher, _, computed = ran
    assert len(watcher.trained) == 3 + 1 + 1 + 1 + 1
    keys = [job.unit.key for job in computed]
    assert len(keys) == len(set(keys)) == 3 + 1
    store = Store(Path(suite.members[0].settings.store.uri))
    assert {path.parent.name for path in store.units.glob(f"*/{TEACHER_OUTPUTS}")} == set(keys)
    notes = [text.partition(": computing ")[2] for text in watcher.notes if ": computing " in text]
    assert sorted(notes) == [f"the outputs of {n} for its documents" for n in ("1 teacher", "3 teachers")]


def weights(suite: Suite, job: Job) -> dict[str, torch.Tensor]:
    store = Store(Path(suite.members[0].settings.store.uri))
    return load_file(str(store.weights(job.unit.key)))


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_the_truth_alone_is_no_teacher_bit_for_bit(ran: tuple) -> None:
    suite = ran[0]
    jobs = {name: student_of(suite, name) for name in ("plain", "truth", "taught", "itself")}
    assert len({job.unit.key for job in jobs.values()}) == 4
    plain, truth, taught, itself = (weights(suite, job) for job in jobs.values())
    assert same(plain, truth)
    assert not same(plain, taught)
    assert not same(plain, itself)


def test_the_share_rises_with_the_steps_of_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    totals, asked = [], []

    def annealed(gold: object, temperature: float, *, steps: int) -> Teaching:
        totals.append(steps)
        return Teaching(lambda step: asked.append(step) or 0.5, temperature)

    monkeypatch.setattr("mtlv.training.teaching.teaching", annealed)
    changes = ("training.accumulation=2", "training.epochs=3", "execution.processes=1")
    suite = sources_of(tmp_path, more=teaching("{from: experts}"), changes=changes)
    run_suite(suite, ignore, MemoryTracker())
    (steps,) = totals
    assert steps == 3 * 6  # three times 32 documents in batches of 8, two for a step
    assert asked == [0, *range(steps)]  # once as the objective is made


def test_teachers_are_of_the_same_fold_and_seed(tmp_path: Path) -> None:
    """A teacher of another fold has learned what this one tests on."""
    more = f"seed: [0, 1]\n{teaching('{from: experts}')}"
    (member,) = resolved_of(sources_of(tmp_path, more=more, changes=("data.folds=2",))).values()
    for child in member.children:
        (job,) = child.jobs
        assert job.teachers == child.earlier
        assert {teacher.unit.seed for teacher in job.teachers} == {child.seed}
        assert all(teacher.fold is child.fold for teacher in job.teachers)
    assert len({key for child in member.children for key in child.jobs[0].unit.teachers}) == 12


def test_a_students_key_has_its_teachers_and_how_they_teach(tmp_path: Path) -> None:
    def key(more: str) -> str:
        return student_of(sources_of(tmp_path, more=more)).unit.key

    usual = key(teaching("{from: experts}"))
    assert key(teaching("{from: experts, gold: annealed, temperature: 1}")) == usual
    assert key(teaching("{from: others}", "{name: others, architecture: stl}")) == usual
    others = (
        teaching("{from: experts, gold: 0.5}"),
        teaching("{from: experts, temperature: 2}"),
        teaching("{from: experts}", "{name: experts, architecture: stl, training: {epochs: 3}}"),
        teaching("{from: experts}", "{name: experts, architecture: mtl}"),
        teaching("{from: experts}", "{name: experts, architecture: mtl}", ", start: {from: experts}"),
        "architecture: mtl",
    )
    assert len({usual, *map(key, others)}) == 7


def test_a_student_starts_from_the_published_encoder_unless_it_says(tmp_path: Path) -> None:
    anew = student_of(sources_of(tmp_path, more=teaching("{from: experts}")))
    plain = student_of(sources_of(tmp_path, more="architecture: mtl"))
    assert anew.start_job is None
    assert anew.unit.start_key == plain.unit.start_key
    assert {purpose: anew.unit.draw_seed(purpose) for purpose in ("heads", "order", "dropout")} == {
        purpose: plain.unit.draw_seed(purpose) for purpose in ("heads", "order", "dropout")
    }
    both = student_of(
        sources_of(
            tmp_path,
            more=teaching("{from: experts}", "{name: experts, architecture: mtl}", ", start: experts"),
        )
    )
    assert both.start_job is not None
    assert both.needs == (both.start_job, *both.teachers)
    assert len(both.before) == 1


def test_only_models_that_learned_a_task_teach_it(tmp_path: Path) -> None:
    stages = f"stages: [{EXPERTS}, {{name: one, tasks: [biosses], training: {{teach: {{from: experts}}}}}}]"
    job = student_of(sources_of(tmp_path, more=stages))
    (teacher,) = job.teachers
    assert teacher.unit.model.tasks == job.unit.model.tasks


def test_weights_of_teachers_are_kept_and_another_run_takes_lessons_from_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = sources_of(tmp_path, more=teaching("{from: experts}"), changes=SMALL)
    run_suite(first, ignore, MemoryTracker())
    store = Store(tmp_path / "store")
    job = student_of(first)
    kept = {path.name for path in store.units.iterdir() if store.weights(path.name)}
    assert kept == set(job.unit.teachers)
    again = sources_of(tmp_path, more=teaching("{from: experts, gold: 0.25}"), changes=SMALL)
    with counted(monkeypatch) as computed:
        watcher = Watcher()
        run_suite(again, watcher, MemoryTracker())
    assert len(watcher.trained) == 1
    assert not computed
    lost = store.units / job.unit.teachers[0] / TEACHER_OUTPUTS
    lost.write_bytes(b"no teacher_outputs")
    third = sources_of(tmp_path, more=teaching("{from: experts, gold: 0.75}"), changes=SMALL)
    with counted(monkeypatch) as computed:
        run_suite(third, ignore, MemoryTracker())
    assert [each.unit.key for each in computed] == [job.unit.teachers[0]]
    assert read_teacher_outputs(lost.parent) is not None


def test_teacher_outputs_are_enough_to_teach_and_not_to_start_from(tmp_path: Path) -> None:
    first = sources_of(tmp_path, more=teaching("{from: experts}"), changes=SMALL)
    run_suite(first, ignore, MemoryTracker())
    store = Store(tmp_path / "store")
    for key in student_of(first).unit.teachers:
        teacher_outputs = (store.units / key / TEACHER_OUTPUTS).read_bytes()
        record = store.load(key)
        store.forget(key)
        store.save(record, None)
        (store.units / key / TEACHER_OUTPUTS).write_bytes(teacher_outputs)
    watcher = Watcher()
    again = sources_of(tmp_path, more=teaching("{from: experts, gold: 0.25}"), changes=SMALL)
    run_suite(again, watcher, MemoryTracker())
    assert len(watcher.trained) == 1
    tuned = f"stages: [{EXPERTS}, {{name: tuned, architecture: stl, training: {{learning_rate: 0.001}}}}]"
    watcher = Watcher()
    run_suite(sources_of(tmp_path, more=tuned, changes=SMALL), watcher, MemoryTracker())
    assert len(watcher.trained) == 2 * len(student_of(first).unit.teachers)


def test_a_run_without_weights_is_trained_again_for_its_students(tmp_path: Path) -> None:
    run_suite(sources_of(tmp_path, more="architecture: stl", changes=SMALL), ignore, MemoryTracker())
    watcher = Watcher()
    taught = sources_of(tmp_path, more=teaching("{from: experts}"), changes=SMALL)
    run_suite(taught, watcher, MemoryTracker())
    assert len(watcher.trained) == len(student_of(taught).unit.teachers) + 1
    assert watcher.warned == []


class Stopped(Exception):
    """The process is gone."""


def test_an_interrupted_student_ends_as_an_undisturbed_one(
    ran: tuple, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = FIVE.replace("gold: 0.5", "gold: annealed")
    suite = sources_of(tmp_path, more=more, changes=(*SMALL[1:], "store.checkpoint_steps=1"))
    student = student_of(suite, "taught")
    assert student.unit.key == student_of(ran[0], "taught").unit.key
    real = CheckpointHook.on_step

    def on_step(self: CheckpointHook, progress: EpochProgress) -> None:
        real(self, progress)
        if self.job.unit.key == student.unit.key and progress.step in (2, 14):
            self.checkpoints.wait()
            raise Stopped

    with monkeypatch.context() as patched:
        patched.setattr(CheckpointHook, "on_step", on_step)
        for _ in range(2):
            with pytest.raises(Stopped):
                run_suite(suite, ignore, MemoryTracker())
    run_suite(suite, ignore, MemoryTracker())
    assert same(weights(suite, student), weights(ran[0], student))


@pytest.mark.parametrize(
    ("harm", "processes"),
    [("flipped", 1), ("missing", 1), pytest.param("flipped", 2, marks=pytest.mark.slow)],
)
def test_a_damaged_teacher_is_trained_again_first(
    tmp_path: Path, harm: str, processes: int, monkeypatch: pytest.MonkeyPatch, narrow_tiny: Callable
) -> None:
    monkeypatch.setattr(tiny, "tiny_config", narrow_tiny)
    changes = (*SMALL[:2], "training.epochs=1")
    one, suite = (
        sources_of(
            tmp_path, more=teaching("{from: experts}"), changes=(*changes, f"execution.processes={count}")
        )
        for count in (1, processes)
    )
    run_suite(one, ignore, MemoryTracker())
    store, job = Store(tmp_path / "store"), student_of(suite)
    before = store.load(job.unit.key)
    store.forget(job.unit.key)
    folder = store.units / job.unit.teachers[1]
    (folder / TEACHER_OUTPUTS).unlink()
    path = folder / "model.safetensors"
    if harm == "missing":
        path.unlink()
    else:
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
    watcher = Watcher()
    run_suite(suite, watcher, MemoryTracker())
    assert len(watcher.trained) in (2, 3)  # the student may have begun before
    assert watcher.trained[-1].endswith(job.name.rpartition(" · ")[2])
    (line,) = watcher.warned
    assert "`model.safetensors`" in line
    after = store.load(job.unit.key)  # in a pool too
    for name, task in before.test.tasks.items():
        assert np.array_equal(task.outputs, after.test.tasks[name].outputs)


def test_tracked_runs_name_the_teacher(ran: tuple) -> None:
    runs = {r.spec.name: r.spec for r in ran[3].runs.values() if r.spec.kind == "suite member"}
    assert runs["taught"].params["training.teach"] == (
        '{"from": "experts", "gold": "annealed", "temperature": 1.0}'
    )
    assert runs["taught"].params["stages.experts.training.teach"] == "null"
    assert "training.teach" not in runs["plain"].params
    assert "Taught by stage experts: true targets have a share that rises" in runs["taught"].description
    assert "a share of 0.5 of the loss" in runs["itself"].description
    assert "(temperature 2)" in runs["itself"].description


def test_the_entropy_of_teachers_is_tracked_by_task(ran: tuple) -> None:
    suite, tracker = ran[0], ran[3]
    of = {run.spec.name: {p.key: p.value for p in run.points} for run in tracker.runs.values()}
    (taught,) = (found for name, found in of.items() if name.endswith("· taught"))
    (plain,) = (found for name, found in of.items() if name.endswith("· plain"))
    prefix = "train.tasks.teacher_entropy/"
    assert not [key for key in plain if key.startswith(prefix)]
    store = Store(Path(suite.members[0].settings.store.uri))
    wanted = {}
    for teacher in student_of(suite, "taught").teachers:
        for name, raw in (read_teacher_outputs(store.units / teacher.unit.key) or {}).items():
            logits = torch.from_numpy(raw)
            if logits.ndim == 2:
                log = logits.log_softmax(1)
                wanted[name] = float(-(log.exp() * log).sum(1).mean())
    assert len(wanted) == 2, "classes and tags; the others are numbers"
    assert {key.removeprefix(prefix): value for key, value in taught.items() if key.startswith(prefix)} == (
        pytest.approx(wanted)
    )


# ---- Check -------------------------------------------------------------------------------------------------


def test_check_counts_students_of_other_teachers_apart(ran: tuple, tmp_path: Path) -> None:
    found = check_suite(ran[0])
    assert found.units == len(ran[2].trained)
    assert "stage one, taught by stage experts" in found.members[3].lines
    others = EXPERTS.replace("stl", "stl, training: {epochs: 9}")
    student = "{name: one, architecture: mtl, training: {teach: {from: experts}}}"
    two = f"runs: [{{stages: [{EXPERTS}, {student}]}}, {{stages: [{others}, {student}]}}]"
    assert check_suite(sources_of(tmp_path, more=two)).units == 2 * 4


FIRST = "{name: experts, tasks: [biosses], architecture: stl}"
FIELD = "heads: {tagging_layer: crf}\n"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            teaching("{from: experts}", FIRST),
            r"`training.teach.from`: stage `experts` did not learn all tasks .*learned entities, ChemProt",
        ),
        (
            teaching("{from: experts}", FIRST.replace("stl", "gmtl, grouping: {k: 1}")),
            "stage `experts` did not learn all tasks",
        ),
        (FIELD + teaching("{from: experts}"), "`training.teach` with tagging tasks and `heads.tagging_layer"),
    ],
)
def test_what_cannot_teach_is_refused_before_anything_trains(tmp_path: Path, more: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        check_suite(sources_of(tmp_path, more=more))


def test_a_random_field_is_no_hindrance_without_tagging_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = FIELD + "tasks: [biosses, chemprot]\n" + teaching("{from: experts}")
    monkeypatch.setattr(problems, "check_layer", lambda _: None)  # its package may be missing
    assert check_suite(sources_of(tmp_path, more=more)).units == 3
