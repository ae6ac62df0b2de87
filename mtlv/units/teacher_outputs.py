"""Teacher outputs: the raw outputs of a trained unit for training documents, from which others learn."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mtlv.data.columns import DenseColumn, RaggedColumn
from mtlv.evaluation.scoring import SCORING
from mtlv.units.model import model_of
from mtlv.units.train import device_for, need_room

if TYPE_CHECKING:
    import torch

    from mtlv.plan import Task
    from mtlv.units.inputs import UnitInputs
    from mtlv.units.job import Job

    Weights = Mapping[str, torch.Tensor]

TeacherOutputs = Mapping[str, NDArray]
"""Raw outputs by task, of documents (or windows of them) of its source, in their order: [n], [n, C] or
[sum of words, C]."""


def teacher_outputs_of(
    job: Job, inputs: UnitInputs, weights: Iterable[tuple[Collection[str], Weights]]
) -> dict[str, NDArray]:
    """Return the outputs of a trained unit for its training documents.

    Args:
        job: the unit.
        inputs: its inputs.
        weights: trained weights, with the tasks that are predicted with them.

    Raises:
        NoRoomError: the device's memory is full.
    """
    from mtlv.training.predict import predict

    with need_room(job):
        # Without the cache of frozen layers: the student's may be of another precision.
        model = model_of(job, replace(inputs, below=None)).to(device_for(job))
        outputs: dict[str, NDArray] = {}
        for tasks, state in weights:
            heads = [head for head in job.unit.model.heads if not set(tasks).isdisjoint(head.tasks)]
            model.load_state_dict(state)
            documents = job.fold.train
            for part in inputs.parts([name for head in heads for name in head.tasks], documents):
                values = predict(
                    model,
                    part,
                    precision=job.precision,
                    read=lambda kind, logits, _: kind.teacher_outputs(logits),
                )
                outputs |= {name: _flat(values[name]) for name in values if name in tasks}
    return outputs


def _flat(values: NDArray) -> NDArray:
    """Concatenate the words of documents."""
    return np.concatenate(list(values)) if values.dtype == object else values


def add_teacher_outputs(
    inputs: UnitInputs, teacher_outputs: Sequence[tuple[Job, TeacherOutputs]]
) -> UnitInputs:
    """Return the inputs of a student, with teacher outputs for its batches of training documents.

    Args:
        inputs: inputs with the documents of its teachers.
        teacher_outputs: its teachers with their outputs; empty for a unit without.

    Raises:
        ValueError: teacher outputs are of other documents.
    """
    if not teacher_outputs:
        return inputs
    columns: dict[str, DenseColumn | RaggedColumn] = {}
    for teacher, outputs in teacher_outputs:
        for part in inputs.parts(tuple(outputs), teacher.fold.train):
            for name in part.targets:
                column = columns.setdefault(name, _empty(inputs, name, outputs[name].shape[1:]))
                _fill(column, part.index, outputs[name])
    return replace(inputs, teacher_outputs=columns)


def entropies(
    teacher_outputs: Sequence[tuple[Job, TeacherOutputs]], tasks: Mapping[str, Task]
) -> dict[str, float]:
    """Return the mean entropy of the teachers' probabilities by task, in nats; numbers have none.

    It is 0 for teachers that are as certain as true targets, and ln 2 (or ln C) for those that know nothing.

    Args:
        teacher_outputs: teachers with their outputs.
        tasks: tasks by name.
    """
    from scipy.special import entr, softmax

    means = {}
    for name in dict.fromkeys(name for _, outputs in teacher_outputs for name in outputs):
        logits = np.concatenate([outputs[name] for _, outputs in teacher_outputs if name in outputs])
        if logits.ndim == 1 and not SCORING[tasks[name].kind].needs_threshold:
            continue
        if logits.ndim == 1:  # of yes; that of no is 0
            logits = np.stack([logits, np.zeros_like(logits)], axis=1)
        means[name] = float(entr(softmax(logits, axis=1)).sum(axis=1).mean())
    return means


def _empty(inputs: UnitInputs, name: str, shape: tuple[int, ...]) -> DenseColumn | RaggedColumn:
    """Return a column of all rows of tokens, 0 for those without teacher outputs."""
    if not inputs.by_word(name):
        return DenseColumn(np.zeros((len(inputs.tokens), *shape), np.float32))
    assert inputs.tokens.words is not None
    offsets = inputs.tokens.words.offsets
    return RaggedColumn(np.zeros((int(offsets[-1]), *shape), np.float32), offsets, 0)


def _fill(column: DenseColumn | RaggedColumn, rows: NDArray[np.int64], values: NDArray) -> None:
    places, flat = rows, column.values if isinstance(column, DenseColumn) else column.flat
    if isinstance(column, RaggedColumn):
        offsets = column.offsets
        places = np.concatenate([np.arange(offsets[row], offsets[row + 1]) for row in rows])
    if len(values) != len(places):
        raise ValueError(f"teacher outputs of {len(values)} items for {len(places)}")
    flat[places] = values
