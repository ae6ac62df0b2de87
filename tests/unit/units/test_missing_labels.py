"""Labels that are not known of some documents: read, but neither learned nor tested."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from mtlv.comparison.load.check_scores import scores_of
from mtlv.data.targets import TARGETS
from mtlv.evaluation.bootstrap import document_weights, resample_scores
from mtlv.evaluation.learned import constant_scores
from mtlv.evaluation.mixed import evaluate_all
from mtlv.events import ignore
from mtlv.models.kinds import KINDS
from mtlv.plan.task import UNKNOWN
from mtlv.planning.resolve import resolve
from mtlv.settings import Suite, load_suite
from mtlv.store.checkpoints import Checkpoints
from mtlv.store.scores_file import write_scores
from mtlv.units.bag_of_words import bag_of_words_scores
from mtlv.units.input_cache import InputCache
from mtlv.units.inputs import UnitInputs
from mtlv.units.job import Job
from mtlv.units.model import model_of
from mtlv.units.teacher_outputs import add_teacher_outputs, teacher_outputs_of
from mtlv.units.train import _mixture, train_unit
from mtlv.units.validation import UnitCallbacks

COLUMNS = "data.columns={labels: [heart, lung, bone], id: id, part: part, missing_labels: unknown}"
NO_FILES = UnitCallbacks(ignore, lambda *_: None, lambda epoch: epoch)


def emptied(path: Path) -> Path:
    """Leave out `heart` of every third document, and all labels of every seventh."""
    rows = list(csv.DictReader(path.open(newline="")))
    for number, row in enumerate(rows):
        for name in ("heart", "lung", "bone") if number % 7 == 0 else ("heart",) if number % 3 == 0 else ():
            row[name] = ""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture
def unit(suite: Callable, table: Callable) -> Callable[..., tuple[Job, UnitInputs]]:
    def make(architecture: str) -> tuple[Job, UnitInputs]:
        cache = InputCache()
        member = resolve(
            cache, suite(emptied(table("t")), COLUMNS, f"architecture={architecture}").members[0]
        )
        return member.children[0].jobs[0], cache.inputs(member.member.settings)

    return make


def test_students_are_taught_also_where_a_label_is_unknown(suite: Callable, table: Callable) -> None:
    """But no document of which no label of the student is known."""
    stages = (
        "stages=[{name: experts, architecture: stl}, "
        "{name: student, architecture: mtl, training: {teach: {from: experts, gold: 0}}}]"
    )
    cache = InputCache()
    (child,) = resolve(cache, suite(emptied(table("t")), COLUMNS, stages).members[0]).children
    inputs, (student,) = cache.inputs(child.jobs[0].settings), child.jobs
    names, train = student.unit.model.tasks, student.fold.train
    found = []
    for number, teacher in enumerate(student.teachers):
        torch.manual_seed(number)
        state = {key: values + 0.1 * torch.randn(values.shape) if values.is_floating_point() else values
                 for key, values in model_of(teacher, inputs).state_dict().items()}  # fmt: skip
        outputs = teacher_outputs_of(teacher, inputs, [(teacher.unit.model.tasks, state)])
        assert {name: len(values) for name, values in outputs.items()} == {names[number]: len(train)}
        found.append((teacher, outputs))
    assert len(found) == 3
    (part,) = _mixture(student, add_teacher_outputs(inputs, found)).parts
    known = np.stack([inputs.corpus.known(name)[part.index] for name in names], axis=1)
    assert known.any(axis=1).all()
    assert not known.all()
    said = {name: column.batch(part.index) for name, column in part.teacher_outputs.items()}
    for teacher, outputs in found:
        for name, values in outputs.items():
            rows = np.searchsorted(teacher.fold.train, part.index)
            assert said[name].tolist() == values[rows].tolist()
    wanted = [part.targets[name].batch(part.index) for name in names]
    logits = torch.zeros(len(part.index), 3, requires_grad=True)
    each = [said[name] for name in names]
    losses = KINDS["binary"].distillation_losses(logits, wanted, teacher_outputs=each, temperature=1.0)
    losses.sum().backward()
    assert logits.grad is not None
    expected = (0.5 - torch.sigmoid(torch.stack(each, 1))) / len(part.index)
    torch.testing.assert_close(logits.grad, expected)


SORTS = {"a": "cold", "b": "warm", "c": "hot"}


def of_kinds(folder: Path, architecture: str, *changes: str) -> Suite:
    """Columns of four kinds of one table, each with blanks of its own."""
    rng = np.random.default_rng(0)
    rows = []
    for n in range(90):
        sort, number = "abc"[n % 3], int(rng.integers(0, 10))
        words = ["note", str(n), SORTS[sort], str(number), "aspirin" if n % 2 else "walk", "daily"]
        row = {
            "text": " ".join(words),
            "urgent": str(n % 2),
            "sort": sort,
            "size": str(number),
            "tags": " ".join("B-Drug" if word == "aspirin" else "O" for word in words),
        }
        blank = {name: "" for name, each in EVERY.items() if n % each == 0}
        part = ("train", "train", "validation", "test")[n // 7 % 4]
        rows.append({"id": str(n), "part": part} | row | blank)
    with (folder / "t.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    kinds = {
        "urgent": "labels: [urgent]",
        "sort": "kind: multiclass, target: sort",
        "size": "kind: regression, target: size",
        "tags": "kind: tagging, tags: tags",
    }
    each = "".join(
        f"    - {{name: table, path: t.csv, alias: of_{name}, columns: {{{own}}}}}\n"
        for name, own in kinds.items()
    )
    (folder / "c.yml").write_text(
        "experiment: kinds\ndata:\n  columns: {id: id, part: part, missing_labels: unknown}\n"
        f"  sources:\n{each}"
    )
    base = ["encoder=tiny", "training.epochs=1", "training.precision=fp32", "training.device=cpu"]
    base += [f"architecture={architecture}", f"store.uri={folder}/s"]
    return load_suite(folder / "c.yml", [*base, *changes])


EVERY = {"urgent": 3, "sort": 4, "size": 5, "tags": 2}
"""Each task of `of_kinds`, with the distance of its blank cells."""


@pytest.mark.parametrize("changes", [(), ("data.window=4",)], ids=["whole", "windows"])
def test_a_model_of_all_kinds_learns_what_is_known(tmp_path: Path, changes: tuple[str, ...]) -> None:
    cache = InputCache()
    member = resolve(cache, of_kinds(tmp_path, "mtl", *changes).members[0])
    job, inputs = member.children[0].jobs[0], cache.inputs(member.member.settings)
    parts = _mixture(job, inputs).parts
    for part in parts:
        (name,) = part.targets
        rows = inputs.documents(part.index) % 90
        assert len(rows) > 20
        assert not any(row % EVERY[name] == 0 for row in rows.tolist())
    train, read = job.fold.train, sum(len(part.index) for part in parts)
    assert job.documents == read == inputs.count(job.unit.model.tasks, train)
    record, _ = train_unit(job, inputs, NO_FILES, Checkpoints(tmp_path / "checkpoints"))
    for scores, rows in ((record.validation, job.fold.validation), (record.test, job.fold.test)):
        for number, name in enumerate(("urgent", "sort", "size", "tags")):
            own = rows // 90 == number
            wanted = own & ((rows % 90) % EVERY[name] != 0)
            task = scores.tasks[name]
            assert task.mask.tolist() == wanted.tolist()
            assert 0 < wanted.sum() < own.sum()
            if name != "tags":
                assert np.isfinite(task.outputs.astype(float)).all()
    tested = evaluate_all(record.test, inputs.corpus.tasks, {"urgent": 0.5}).tasks
    counts = {name: int(task.mask.sum()) for name, task in record.test.tasks.items()}
    assert {name: each.support for name, each in tested.items() if name != "urgent"} == {
        name: count for name, count in counts.items() if name != "urgent"
    }
    training = inputs.targets_of(tuple(EVERY), train)
    assert all(TARGETS[inputs.tasks[name].kind].known(values).all() for name, values in training.items())
    constants = constant_scores(record.test, inputs.corpus.tasks, training)
    assert constants.keys() == EVERY.keys()
    assert np.isfinite(list(constants.values())).all()
    counted = bag_of_words_scores(inputs, ["urgent", "sort", "size"], job.fold)
    assert counted is not None
    for name, task in counted[1].tasks.items():
        assert task.mask.tolist() == record.test.tasks[name].mask.tolist()
    weights = document_weights(record.test.ids, resamples=7)
    drawn = resample_scores(record.test, inputs.corpus.tasks, {"urgent": 0.5}, weights)
    assert all(len(values) == 7 for values in drawn.tasks.values())
    path = tmp_path / "scores.parquet"
    write_scores(record.test, path)
    again = scores_of(path, "test", {}, inputs.corpus.tasks)
    assert all(np.array_equal(again.tasks[name].mask, record.test.tasks[name].mask) for name in EVERY)


@pytest.mark.parametrize("architecture", ["stl", "mtl"])
def test_a_unit_trains_on_documents_with_a_known_label(unit: Callable, architecture: str) -> None:
    job, inputs = unit(architecture)
    tasks = job.unit.model.tasks
    assert tasks == (("heart",) if architecture == "stl" else ("heart", "lung", "bone"))
    targets = np.stack([inputs.corpus.targets[name] for name in tasks], axis=1)
    wanted = [row for row in job.fold.train if (targets[row] != UNKNOWN).any()]
    (batches,) = _mixture(job, inputs).parts
    assert batches.index.tolist() == wanted
    assert 0 < len(wanted) < len(job.fold.train)


def test_scores_know_which_labels_are_known(unit: Callable, tmp_path: Path) -> None:
    job, inputs = unit("mtl")
    record, _ = train_unit(job, inputs, NO_FILES, Checkpoints(tmp_path / "checkpoints"))
    for scores, rows in ((record.validation, job.fold.validation), (record.test, job.fold.test)):
        for name, task in scores.tasks.items():
            targets = inputs.corpus.targets[name][rows]
            assert task.mask.tolist() == (targets != UNKNOWN).tolist()
            assert task.targets.tolist() == targets.tolist()
            assert len(task.outputs) == len(rows), "they are predicted all the same"
        assert scores.tasks["heart"].mask.sum() < scores.tasks["lung"].mask.sum() < len(rows)
    again = inputs.align_scores(record.test, job.fold.test)
    assert again.tasks["heart"].mask.tolist() == record.test.tasks["heart"].mask.tolist()
