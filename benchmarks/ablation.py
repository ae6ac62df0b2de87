"""What each fast path on a CPU saves: steps and predictions with one of them turned off; about 15 minutes.

    python benchmarks/ablation.py --data FOLDER/indiana_reports.csv --encoder minilm

MTL in batches of 16. Each path is turned off in a model of its own, and these models take the same batches in
turn, so that other work on the machine affects all of them. Values are CPU seconds of one thread; claims are
of the median ratio of pairs, a step without the path and the same step with it, and the details have its
quartiles. "once more" turns nothing off: its ratio shows the noise. What is set for a whole process (memory)
is compared between processes. A path that saves less than 5% of its step is a candidate for removal.
Frozen layers have a benchmark of their own, `frozen.py`, and threads, `waiting.py`.
Writes results/ablation-PRECISION.json. For a processor without AVX-512, set ATEN_CPU_CAPABILITY=avx2 and
ONEDNN_MAX_CPU_ISA=AVX2, MKL_ENABLE_INSTRUCTIONS=AVX2 and --precision fp32.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from itertools import cycle
from statistics import median, quantiles
from typing import Any
from unittest.mock import patch

import throughput
import torch
from harness import Claim, Result, alone, interleaved, publish, shares, sized
from throughput import OURS, Work, arguments, learn_by_steps, location_of, multi_task, prepare, spent

from mtlv.data.batches import PartDocuments
from mtlv.data.columns import dense
from mtlv.models.fast import attention, dropout, packing
from mtlv.models.multitask import MultiTaskModel
from mtlv.training import loop, predict

LEAST = 5  # percent of a step that a path has to save
STEPS, WARM, DOCUMENTS = sized(16, 2), sized(3, 1), sized(320, 20)
PREDICTED, ROUNDS = sized(128, 20), sized(8, 1)  # documents, and how often they are predicted
AGAIN = "once more"
KEPT, FREED = "freed memory kept", "freed memory returned"
Off = Callable[[], AbstractContextManager[Any]]


class ByAutograd:
    """Selection of rows whose gradients are added by PyTorch, in place of `packing._Moved`."""

    @staticmethod
    def apply(rows: torch.Tensor, there: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
        return rows.index_select(0, there)


def usual_attention(module: Any, *tensors: Any, **more: Any) -> Any:
    """Compute attention of padded documents as Transformers does with `sdpa`."""
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    return sdpa_attention_forward(module, *tensors, **more)


def off(*changes: tuple[Any, str, Any]) -> Off:
    """Return a function for a context in which some names of modules or classes have other values."""

    def context() -> AbstractContextManager[Any]:
        stack = ExitStack()
        for change in changes:
            stack.enter_context(patch.object(*change))
        return stack

    return context


def with_padding(size: int) -> Off:
    """Return a context in which batches are computed in padded parts of so many documents."""
    return off((MultiTaskModel, "packs", False), (loop, "DOCUMENTS_PER_PART", size))


def drop(values: torch.Tensor, rate: float) -> torch.Tensor:
    """Drop values as PyTorch does."""
    return torch.nn.functional.dropout(values, rate)


TRAINING: Mapping[str, Off] = {
    OURS: nullcontext,
    AGAIN: nullcontext,
    "padded, in parts of similar length": with_padding(loop.DOCUMENTS_PER_PART),
    "padded": with_padding(2**20),
    "dropout of PyTorch": off((dropout, "drop", drop), (attention, "drop", drop)),
    "attention of PyTorch": off((attention, "attention", usual_attention)),
    "attention for the whole batch": off((packing, "TOGETHER", 2**20)),
    "rows moved by autograd": off((packing, "_Moved", ByAutograd)),
    "lengths not rounded": off((packing, "ROW", 1), (packing, "TOKENS", 1)),
    "gradients of embeddings allocated": off((loop, "keep_gradients", lambda _: nullcontext())),
}
PREDICTION: Mapping[str, Off] = {
    OURS: nullcontext,
    AGAIN: nullcontext,
    "norms and sums in fp32": off((predict, "_narrow", lambda *_: nullcontext())),
}


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the CPU seconds of one call."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def steps_of(work: Work) -> Iterator[object]:
    """Yield before each optimizer step of a new model, without an end."""
    documents = PartDocuments(work.tokens, dense(work.corpus.targets), work.index)
    batches = cycle(list(documents.training(work.batch_size, seed=0, epoch=0)))
    return learn_by_steps(multi_task(work), lambda _: batches, precision=work.precision)


def step_seconds(work: Work, ways: Mapping[str, Off]) -> dict[str, list[float]]:
    """Return the CPU seconds of the steps of each way, of the same batches in turn."""
    steps = {way: steps_of(work) for way in ways}

    def peer(way: str) -> float:
        with ways[way]():
            return cpu_seconds(lambda: next(steps[way]))

    return interleaved({way: partial(peer, way) for way in ways}, STEPS, warm=WARM)


def prediction_seconds(work: Work) -> dict[str, list[float]]:
    """Return the CPU seconds of the predictions of each way, in turn."""
    model = multi_task(work)
    documents = PartDocuments(work.tokens, {}, work.index[:PREDICTED])

    def peer(way: str) -> float:
        with PREDICTION[way]():
            return cpu_seconds(lambda: predict.predict(model, documents, precision=work.precision))

    return interleaved({way: partial(peer, way) for way in PREDICTION}, ROUNDS, warm=1)


def memory_seconds(repeats: int) -> dict[str, list[float]]:
    """Return the CPU seconds of steps in processes that keep freed memory, and that do not."""
    measured: dict[str, list[float]] = {KEPT: [], FREED: []}

    def peer(way: str) -> float:
        measured[way] += alone([*sys.argv, "--only", way])
        return 0.0

    interleaved({way: partial(peer, way) for way in measured}, repeats)
    return measured


def in_process(work: Work, way: str) -> list[float]:
    """Return the CPU seconds of steps in this process, which keeps freed memory or not."""
    keeps = nullcontext() if way == KEPT else patch.object(throughput, "keep_freed_memory", lambda: False)
    with keeps:
        return step_seconds(work, {OURS: nullcontext})[OURS]


def saved(seconds: Mapping[str, list[float]], way: str) -> list[float]:
    """Return how much longer each step takes in a way than in the first one, in percent of the first."""
    first = next(iter(seconds.values()))
    return [100 * (other / one - 1) for other, one in zip(seconds[way], first, strict=True)]


def result_of(work: Work, rows: Mapping[str, dict[str, list[float]]]) -> Result:
    title = f"CPU seconds of one thread without one fast path, {work.precision}"
    result = Result(f"ablation-{work.precision}", title, "CPU s", dict(rows))
    for row, seconds in rows.items():
        for way in list(seconds)[1:]:
            percent = saved(seconds, way)
            limit = None if way == AGAIN else LEAST
            result.claims.append(Claim(f"{row}: {way}, longer by", limit, median(percent), "%"))
            result.details[f"{row}: {way}, %"] = quantiles(percent, n=4) if len(percent) > 1 else percent
    return result


def main() -> int:
    """Turn off each path and publish the result."""
    args = arguments(__doc__, [KEPT, FREED])
    torch.set_num_threads(1)
    args.documents = DOCUMENTS
    work = prepare(args)
    if args.only:
        print(json.dumps(in_process(work, args.only)))
        return 0
    size = f"{work.batch_size} documents of {work.corpus.name}"
    rows = {
        f"a step of {size}": step_seconds(work, TRAINING),
        f"prediction of {PREDICTED} documents": prediction_seconds(work),
        f"a step of {size}, in processes": memory_seconds(args.repeats),
    }
    result = result_of(work, rows)
    result.setting = {key: value for key, value in vars(args).items() if key not in ("data", "only")}
    result.setting |= location_of(work) | {"steps": STEPS, "threads": 1, "clock": "process_time"}
    result.profile = shares(spent(lambda: step_seconds(work, {OURS: nullcontext}), work))
    return publish(result)


if __name__ == "__main__":
    sys.exit(main())
