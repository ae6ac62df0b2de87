"""Prediction of raw scores of documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain, islice
from threading import Lock

import numpy as np
import torch
from numpy.typing import NDArray

from mtlv.data.batches import Batch, PartDocuments
from mtlv.data.columns import of_objects
from mtlv.data.tokens import NO_WORD
from mtlv.models.kinds import Kind
from mtlv.models.multitask import MultiTaskModel
from mtlv.plan.tagging import OUTSIDE_ID
from mtlv.training.loop import autocast, logits_of

Read = Callable[[Kind, torch.Tensor, Sequence[torch.Tensor]], Sequence[torch.Tensor]]
"""What is read of a head: its kind, logits and targets -> values of each of its tasks, [B, ...]."""
Values = NDArray | list[NDArray]
"""What is read of B documents: [B] or [B, C], or B arrays [W] or [W, C]."""
MAX_DOCUMENTS_PER_BATCH = 4096
"""Maximum documents of a batch."""
TOKENS_PER_BATCH = {("cpu", "fp32"): 1024, ("cpu", "bf16"): 2048}
"""Maximum tokens of a batch, by device type and precision. On a CPU, larger batches do not fit in its cache:
in fp32 batches of 64 documents took up to half as long again, partly due to padding. In bf16 twice as many
fit."""
OTHER_TOKENS_PER_BATCH = 32_768
MAX_WORKERS = 8
"""Maximum number of batches that are computed at the same time on a CPU."""


def inference_batches(documents: PartDocuments, device: torch.device, precision: str) -> Iterator[Batch]:
    """Yield every document once, in batches of a good size for `device`."""
    tokens = TOKENS_PER_BATCH.get((device.type, precision), OTHER_TOKENS_PER_BATCH)
    return documents.inference(MAX_DOCUMENTS_PER_BATCH, tokens=tokens)


def scores(kind: Kind, logits: torch.Tensor, targets: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
    """Return the scores of a head."""
    return kind.scores(logits, targets)


def predict(
    model: MultiTaskModel,
    documents: PartDocuments,
    *,
    precision: str,
    read: Read = scores,
) -> dict[str, NDArray]:
    """Return scores of the model's tasks, in the order of `documents.index`.

    Predicts the tasks for which the documents have targets, or all if they have none: [n] or [n, C] float32;
    for values per word, an array of n arrays [W] or [W, C].

    Args:
        model: the model.
        documents: n documents.
        precision: `fp32` or `bf16`.
        read: returns the values of a head's tasks from its logits.
    """
    device = next(model.parameters()).device
    order = np.argsort(documents.index, kind="stable")
    batches = inference_batches(documents, device, precision)
    workers = 1 if device.type != "cpu" or model.remembers else min(torch.get_num_threads(), MAX_WORKERS)
    first = list(islice(batches, workers))
    batches = chain(first, batches)
    predicted: list[tuple[str, NDArray, Values]] = []  # (task, places of documents, their values)
    taking = Lock()

    def compute() -> None:
        # Not in inference mode, in which autocast does not cache the weights it has cast, and casts them
        # again for every batch.
        with torch.no_grad(), autocast(device, precision):
            while True:
                with taking:
                    batch = next(batches, None)
                if batch is None:
                    return
                values = _values(model, batch.to(device), read)
                rows = order[np.searchsorted(documents.index, batch.index, sorter=order)]
                with taking:
                    predicted.extend((task, rows, task_values) for task, task_values in values.items())

    model.eval()
    with _narrow(model, device, precision):
        _side_by_side(compute, len(first))  # a single batch has all threads
    parts: dict[str, list[tuple[NDArray, Values]]] = {}
    for task, rows, values in predicted:
        parts.setdefault(task, []).append((rows, values))
    return {task: _in_order(pairs) for task, pairs in parts.items()}


def _side_by_side(compute: Callable[[], None], workers: int) -> None:
    """Call `compute` in several threads at once, which share the compute threads of PyTorch.

    On a CPU, one batch per thread is faster than all threads on one batch, where threads wait for each other
    after every product (benchmarks/results/README.md).
    """
    if workers < 2:
        compute()
        return
    threads = torch.get_num_threads()
    pool = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(threads // workers,))
    try:
        with pool:
            running = [pool.submit(compute) for _ in range(workers)]
        for future in running:
            future.result()
    finally:
        torch.set_num_threads(threads)  # for threads that start later


@contextmanager
def _narrow(model: MultiTaskModel, device: torch.device, precision: str) -> Iterator[None]:
    """Let the encoder's layers pass bf16 to each other on a CPU, where autocast lets them pass fp32.

    Sums and norms are then computed in bf16, too, which saves about 5% (benchmarks/ablation.py); scores
    differ from those in fp32 a little more than autocast's do. Nothing changes if the output of frozen layers
    is kept, because training uses it too.
    """
    embeddings = None
    if device.type == "cpu" and precision == "bf16" and not model.keeps_below:
        embeddings = getattr(model.encoder, "embeddings", None)
    if embeddings is None:
        yield
        return
    hook = embeddings.register_forward_hook(lambda _module, _given, output: output.to(torch.bfloat16))
    try:
        yield
    finally:
        hook.remove()


def _values(model: MultiTaskModel, batch: Batch, read: Read) -> dict[str, Values]:
    """Return the values of the batch's documents by task."""
    here = [name for name, spec in model.specs.items() if not batch.targets or spec.tasks[0] in batch.targets]
    logits = logits_of(model, batch, here)
    out: dict[str, Values] = {}
    for name in here:
        kind, tasks = model.kinds[name], model.specs[name].tasks
        targets = [batch.targets[task] for task in tasks if task in batch.targets]
        for task, result in zip(tasks, read(kind, logits[name], targets), strict=True):
            values = result.cpu().numpy()
            out[task] = _cut(values, batch) if kind.scored_by_word else values
    return out


def _cut(values: NDArray, batch: Batch) -> list[NDArray]:
    """Return values of each document's words, without padding; `O` for words that were not read."""
    assert batch.words is not None
    words = batch.words.cpu().numpy()
    read = np.where((words < 0).reshape(*words.shape, *[1] * (values.ndim - 2)), OUTSIDE_ID, values)
    return [row[:count] for row, count in zip(read, (words > NO_WORD).sum(1), strict=True)]


def _in_order(parts: list[tuple[NDArray, Values]]) -> NDArray:
    """Sort scores of batches by the indices of their documents, and concatenate them."""
    back = np.argsort(np.concatenate([rows for rows, _ in parts]), kind="stable")
    first = parts[0][1]
    if isinstance(first, np.ndarray):
        return np.concatenate([np.asarray(scores) for _, scores in parts])[back]
    words = [row for _, scores in parts for row in scores]
    return of_objects([words[place] for place in back])
