"""Labels that are not known of some documents: read, but neither learned nor tested."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mtlv.events import ignore
from mtlv.plan.task import UNKNOWN
from mtlv.planning.resolve import resolve
from mtlv.store.checkpoints import Checkpoints
from mtlv.units.input_cache import InputCache
from mtlv.units.inputs import UnitInputs
from mtlv.units.job import Job
from mtlv.units.train import _training, train_unit
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


@pytest.mark.parametrize("architecture", ["stl", "mtl"])
def test_a_unit_trains_on_documents_with_a_known_label(unit: Callable, architecture: str) -> None:
    job, inputs = unit(architecture)
    tasks = job.unit.model.tasks
    assert tasks == (("heart",) if architecture == "stl" else ("heart", "lung", "bone"))
    targets = np.stack([inputs.corpus.targets[name] for name in tasks], axis=1)
    wanted = [row for row in job.fold.train if (targets[row] != UNKNOWN).any()]
    (batches,) = _training(job, inputs).parts
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
    again = inputs.placed(record.test, job.fold.test)
    assert again.tasks["heart"].mask.tolist() == record.test.tasks["heart"].mask.tolist()
