"""Raw scores of documents."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from mtlv.data.batches import Batch, Documents
from mtlv.data.columns import of_objects
from mtlv.data.tokens import NO_WORD
from mtlv.models.multitask import MultiTaskModel
from mtlv.plan.tagging import OUTSIDE_ID
from mtlv.training.loop import autocast


def predict(
    model: MultiTaskModel, documents: Documents, *, precision: str, batch_size: int = 64
) -> dict[str, NDArray]:
    """Scores of the model's tasks, in the order of `documents.index`.

    Of the tasks that the documents have targets of, or of all where they have none: [n] or [n, C] float32;
    where each word has a score, an array of n arrays [W].
    """
    device = next(model.parameters()).device
    place = {int(doc): row for row, doc in enumerate(documents.index)}
    found: dict[str, list[NDArray]] = {}
    model.eval()
    with torch.inference_mode(), autocast(device, precision):
        for batch in documents.inference(batch_size):
            rows = [place[int(i)] for i in batch.index]
            for task, scores in _scores(model, batch.to(device)).items():
                all_rows = found.setdefault(task, [np.empty(0)] * len(documents))
                for row, score in zip(rows, scores, strict=True):
                    all_rows[row] = score
    by_word = {task: model.kinds[name].by_word for name, spec in model.specs.items() for task in spec.tasks}
    return {task: _together(rows, by_word[task]) for task, rows in found.items()}


def _scores(model: MultiTaskModel, batch: Batch) -> dict[str, list[NDArray]]:
    """Of each task, a score or an array of scores for each of the batch's documents."""
    here = [name for name, spec in model.specs.items() if not batch.targets or spec.tasks[0] in batch.targets]
    places = batch.words, batch.mentions
    logits = model(batch.input_ids, batch.attention_mask, batch.segments, *places, heads=here)
    out = {}
    for name in here:
        kind = model.kinds[name]
        for task, scores in zip(model.specs[name].tasks, kind.scores(logits[name]), strict=True):
            values = list(scores.cpu().numpy())
            out[task] = _cut(values, batch) if kind.by_word else values
    return out


def _cut(values: list[NDArray], batch: Batch) -> list[NDArray]:
    """Tags of each document's words without what pads the batch; of words that were not read, `O`."""
    assert batch.words is not None
    words = batch.words.cpu().numpy()
    read = np.where(words < 0, OUTSIDE_ID, np.stack(values))
    return [row[:count] for row, count in zip(read, (words > NO_WORD).sum(1), strict=True)]


def _together(rows: list[NDArray], by_word: bool) -> NDArray:
    return of_objects(rows) if by_word else np.stack(rows)
