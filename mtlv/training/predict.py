"""Raw scores of documents."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from mtlv.data.batches import Documents
from mtlv.models.multitask import MultiTaskModel
from mtlv.training.loop import autocast


def predict(
    model: MultiTaskModel, documents: Documents, *, precision: str, batch_size: int = 64
) -> dict[str, NDArray[np.float32]]:
    """Scores [n] of each of the model's tasks, in the order of `documents.index`."""
    device = next(model.parameters()).device
    place = {int(doc): row for row, doc in enumerate(documents.index)}
    out = {t: np.zeros(len(documents), np.float32) for spec in model.specs.values() for t in spec.tasks}
    model.eval()
    with torch.inference_mode(), autocast(device, precision):
        for batch in documents.inference(batch_size):
            rows = [place[int(i)] for i in batch.index]
            batch = batch.to(device)
            logits = model(batch.input_ids, batch.attention_mask)
            for name, spec in model.specs.items():
                scores = model.kinds[name].scores(logits[name]).cpu().numpy()  # [B, T]
                for column, task in enumerate(spec.tasks):
                    out[task][rows] = scores[:, column]
    return out
