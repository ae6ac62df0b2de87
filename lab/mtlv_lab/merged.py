"""The feature of tasks that previews their joint training: merged encoders of models of each task alone."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mtlv.formatting import many
from mtlv.models.encoder import Encoder
from mtlv.plan import Task, TaskScores
from mtlv.planning.measured import validation_score
from mtlv.planning.task_vectors import VectorSource
from mtlv_lab.changed_weights import weights_alone
from mtlv_lab.transferability import Pairs, of_classes, of_encoders, rows_and_labels, vectors_of


@of_encoders("merge_gain")
def merge_gain(view: VectorSource) -> Pairs:
    """Return what a ridge probe of each task gains on the encoder merged with that of each other [T, T].

    Rows receive, columns give: the validation score of the probe on the vectors of the encoder whose change
    of weights is the mean of those of both tasks, minus that with the encoder of the task alone; the diagonal
    is 0. Probes are fitted to training documents. With several units of a task, such as those of several
    seeds, the first of one task is merged with the first of the other, and so on. Sources: Ilharco et al.,
    "Editing models with task arithmetic" (ICLR 2023); merging as a preview of joint training: arXiv
    2412.08147.

    Raises:
        GroupingError: a task was not learned alone, or has no class per text, or weights were not kept.
    """
    tasks = view.corpus.tasks
    of_classes("merge_gain", tasks)
    weights = weights_alone(view, "merge_gain")
    of_task = [
        [(path, _scores(view, [at], [path])[0]) for name, path in weights if name == task.name]
        for at, task in enumerate(tasks)
    ]
    pairs = list(combinations(range(len(tasks)), 2))
    view.cache.note(
        f"computing merge_gain: the documents' vectors by merged encoders of {many(len(pairs), 'pair')}"
    )
    mean_gains = np.zeros((len(tasks), len(tasks)))
    for one, other in pairs:
        gains = [
            _scores(view, [one, other], [path, with_path]) - np.array([score, with_score])
            for (path, score), (with_path, with_score) in zip(of_task[one], of_task[other], strict=False)
        ]
        mean_gains[one, other], mean_gains[other, one] = np.mean(gains, axis=0)
    return mean_gains


def merge(encoder: Encoder, paths: Sequence[Path]) -> Encoder:
    """Return a copy of an encoder whose change of weights is the mean of those in files of trained models."""
    from safetensors.torch import load_file

    from mtlv.models.lora import merge_adapters
    from mtlv.models.transfer_weights import ENCODER

    module, states = copy.deepcopy(encoder.module), [merge_adapters(load_file(path)) for path in paths]
    mean = {
        name.removeprefix(ENCODER): sum(state[name] for state in states) / len(states)
        for name in states[0]
        if name.startswith(ENCODER)
    }
    module.load_state_dict(mean, strict=False)
    return replace(encoder, module=module)


def _scores(view: VectorSource, tasks: Sequence[int], paths: Sequence[Path]) -> NDArray[np.float64]:
    """Return the validation scores of probes of tasks, by index, on the encoder with the mean of weights."""
    settings = view.settings
    encoder = merge(view.cache.encoder(settings.encoder, settings.data), paths)
    known = [rows_and_labels(view, part) for part in ("train", "validation")]
    parts = [[part[at] for at in tasks] for part in known]
    rows = np.unique(np.concatenate([task_rows for part in parts for task_rows, _ in part]))
    vectors = vectors_of(view, encoder, rows).astype(np.float64)
    scores_of_tasks = []
    for at, (train, labels), (validation, truth) in zip(tasks, *parts, strict=True):
        fitted, judged = (vectors[np.searchsorted(rows, task_rows)] for task_rows in (train, validation))
        outputs = _fit_probe(view.corpus.tasks[at], fitted, labels, judged)
        scores = TaskScores(outputs, truth, np.ones(len(truth), bool))
        scores_of_tasks.append(validation_score(view.corpus.tasks[at], scores))
    return np.array(scores_of_tasks)


def _fit_probe(
    task: Task, vectors: NDArray[np.float64], labels: NDArray[np.int64], others: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the outputs of a ridge regression for other vectors, [N] of yes or [N, C].

    Vectors are standardised; the penalty is chosen by leave-one-out (scikit-learn's `RidgeCV`).
    """
    from sklearn.linear_model import RidgeCV

    mean, spread = vectors.mean(0), np.maximum(vectors.std(0), 1e-9)
    vectors, others = (vectors - mean) / spread, (others - mean) / spread
    columns = np.eye(len(task.classes))[labels] if task.classes else labels.astype(np.float64)
    return np.asarray(RidgeCV(alphas=np.logspace(0, 5, 11)).fit(vectors, columns).predict(others))
