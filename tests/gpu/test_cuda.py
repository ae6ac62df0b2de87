"""What must hold on a GPU. Skipped without one; needs neither MLflow nor a hub."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from mtlv.data import catalog
from mtlv.data.batches import PartDocuments
from mtlv.data.columns import dense
from mtlv.data.options import DataOptions
from mtlv.data.tokens import tokenise
from mtlv.models.encoder import load_encoder
from mtlv.models.fast.attention import use_fast_attention
from mtlv.models.fast.graphs import CudaGraphs, Graphed
from mtlv.models.fast.packing import JaggedPacking, encode, packs, row_length
from mtlv.models.fast.stacked import StackedEncoder, stacks
from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import Task
from mtlv.registries import ARCHITECTURES
from mtlv.training.hooks import EpochLosses, Hook
from mtlv.training.loop import autocast, train
from mtlv.training.objective import Objective
from mtlv.training.optim import make_optimizer, resolve_device, resolve_precision, schedule
from mtlv.training.predict import predict
from mtlv.training.state import EpochProgress, TrainingState

BATCHES = 10  # of an epoch

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")


class Losses(Hook):
    """Remembers the loss of each epoch."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def on_epoch(self, losses: EpochLosses) -> None:
        self.values.append(losses.loss)


class Never(CudaGraphs):
    """Records nothing: the same batches are computed in the usual way."""

    def has_room(self) -> bool:
        return False


class Asking(Hook):
    """Refuses what waits for the device, from the second batch of an epoch to its end."""

    def on_batch(self, documents: int) -> None:
        torch.cuda.set_sync_debug_mode("error")

    def on_step(self, progress: EpochProgress) -> None:
        torch.cuda.set_sync_debug_mode("default" if progress.batches == BATCHES else "error")


def trained(
    device: torch.device,
    precision: str,
    *,
    graphs: type[CudaGraphs] | None = None,
    hooks: Sequence[Hook] = (),
    dropout: float = 0.0,
    accumulation: int = 1,
    private: int = 0,
    stack: int | None = 1,
) -> tuple[list[float], np.ndarray]:
    """Losses and scores of a small GMHL, the same start and batches on every device."""
    torch.manual_seed(0)
    corpus = catalog.load("synthetic", DataOptions(documents=160))
    encoder = load_encoder("tiny", texts=corpus.texts)
    tokens = tokenise(corpus.texts, encoder.tokenizer, max_length=64, pad=encoder.tokenizer.pad_token_id)
    tasks = {task.name: Task(task.name) for task in corpus.tasks}
    names = list(tasks)
    heads = ARCHITECTURES["gmhl"].build(names, [names[:4], names[4:]], 2).models[0].heads
    heads = [replace(head, private=private) for head in heads]
    how = {"features": "mean", "seed": 0, "dropout": dropout, "stack": stack}
    model = MultiTaskModel(copy.deepcopy(encoder.module), heads, tasks=tasks, **how).to(device)
    multiple = model.multiple if graphs is not None else 8
    documents = PartDocuments(tokens, dense(corpus.targets), np.arange(len(corpus)), multiple)
    optimizer, losses = make_optimizer(model, learning_rate=1e-3, weight_decay=0.01), Losses()
    scheduler = schedule(optimizer, "linear", steps=30, warmup=0.1)
    train(
        TrainingState(model, optimizer, scheduler),
        lambda epoch: documents.training(16, seed=0, epoch=epoch),
        objective=Objective(heads, tasks=tasks, combine="sum", head_weights=None).to(device),
        epochs=3,
        precision=precision,
        accumulation=accumulation,
        hooks=[losses, *hooks],
        graphed=partial(Graphed, tell=pytest.fail, recorder_of=graphs) if graphs is not None else None,
    )
    scores = predict(model, documents, precision=precision)
    return losses.values, np.stack([scores[name] for name in names], axis=1)


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 2e-3), ("bf16", 5e-2)])
def test_a_gpu_learns_what_the_processor_learns(precision: str, tolerance: float) -> None:
    here, there = trained(torch.device("cpu"), "fp32"), trained(torch.device("cuda"), precision)
    np.testing.assert_allclose(there[0], here[0], rtol=tolerance)
    assert np.abs(there[1] - here[1]).mean() < tolerance


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 2e-3), ("bf16", 5e-2)])
def test_cuda_graphs_learn_what_the_processor_learns(precision: str, tolerance: float) -> None:
    here = trained(torch.device("cpu"), "fp32")
    there = trained(torch.device("cuda"), precision, graphs=CudaGraphs)
    np.testing.assert_allclose(there[0], here[0], rtol=tolerance)
    assert np.abs(there[1] - here[1]).mean() < tolerance


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 2e-3), ("bf16", 2e-2)])
@pytest.mark.parametrize(
    ("accumulation", "private", "stack"), [(1, 0, 1), (3, 0, 1), (1, 1, 1), (1, 1, None)]
)
def test_cuda_graphs_draw_the_same_dropout(
    accumulation: int, private: int, stack: int | None, precision: str, tolerance: float
) -> None:
    """Two models after each other, so that the second meets what the first has left."""
    gpu, how = torch.device("cuda"), {"dropout": 0.1, "accumulation": accumulation, "private": private}
    how["stack"] = stack
    graphs = Never, CudaGraphs, CudaGraphs
    plain, recorded, again = (trained(gpu, precision, graphs=each, **how) for each in graphs)
    for losses, scores in (recorded, again):
        np.testing.assert_allclose(losses, plain[0], rtol=tolerance)
        assert np.abs(scores - plain[1]).mean() < tolerance


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-4), ("bf16", 3e-2)])
def test_rows_give_what_padded_batches_give(precision: str, tolerance: float) -> None:
    """Vectors, and gradients of weights."""
    gpu = torch.device("cuda")
    module = load_encoder("tiny", texts=["a word"]).module.to(gpu).eval()
    module.pooler = None
    use_fast_attention(module)
    assert packs(module)
    mask = torch.arange(40, device=gpu) < torch.tensor([[40], [1], [17], [33], [40]], device=gpu)
    ids = torch.randint(module.config.vocab_size, mask.shape, device=gpu)

    def both(vectors: torch.Tensor) -> list[torch.Tensor]:
        found = vectors[mask].float()
        weights = [weight for weight in module.parameters() if weight.requires_grad]
        return [found, *torch.autograd.grad((found * found.roll(1, 0)).sum(), weights, allow_unused=True)]

    with autocast(gpu, precision):
        wanted = both(module(input_ids=ids, attention_mask=mask).last_hidden_state)
        rows = encode(module, ids, JaggedPacking(mask, row_length(mask, int(mask.sum()))), {})
        found = both(rows.last_hidden_state)
    used = [(one, other) for one, other in zip(found, wanted, strict=True) if other is not None]
    # Some gradients are 0 but for rounding, so that a difference is relative to all.
    whole = float(sum(other.square().sum() for _, other in used) ** 0.5)
    assert all(float((one - other).norm()) < tolerance * whole for one, other in used)


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-4), ("bf16", 3e-2)])
def test_a_stack_gives_what_its_encoders_give_alone(precision: str, tolerance: float) -> None:
    """Vectors in rows, of two models with documents of their own, and gradients."""
    gpu = torch.device("cuda")
    first = load_encoder("tiny", texts=["a word"]).module.to(gpu).eval()
    first.pooler = None
    use_fast_attention(first)
    assert stacks(first)
    modules = [first, copy.deepcopy(first)]
    with torch.no_grad():
        for weight in modules[1].parameters():
            weight.mul_(1.1)
    lengths = torch.tensor([[40], [1], [17], [33], [40], [40], [9], [2], [40], [1]], device=gpu)
    mask = torch.arange(40, device=gpu) < lengths
    ids = torch.randint(first.config.vocab_size, mask.shape, device=gpu)
    wanted = []
    with autocast(gpu, precision):
        for module, its_ids, its_mask in zip(modules, ids.chunk(2), mask.chunk(2), strict=True):
            wanted.append(
                module(input_ids=its_ids, attention_mask=its_mask).last_hidden_state[its_mask].float()
            )
            (wanted[-1] * wanted[-1].roll(1, 0)).sum().backward()
    gradients = [[weight.grad for weight in module.parameters()] for module in modules]
    stack = StackedEncoder(modules)
    stack.keep()
    for module in modules:
        module.zero_grad(set_to_none=True)
    with autocast(gpu, precision):
        row = row_length(mask[:5], max(int(its_mask.sum()) for its_mask in mask.chunk(2)))
        outputs = stack(ids, mask, row).last_hidden_state.chunk(2)
        found = [vectors[its_mask].float() for vectors, its_mask in zip(outputs, mask.chunk(2), strict=True)]
    torch.stack([(vectors * vectors.roll(1, 0)).sum() for vectors in found]).sum().backward()
    stack.share_gradients()
    for module, vectors, its_wanted, its_gradients in zip(modules, found, wanted, gradients, strict=True):
        assert float((vectors - its_wanted).detach().norm()) < tolerance * float(its_wanted.detach().norm())
        pairs = [(weight.grad, one) for weight, one in zip(module.parameters(), its_gradients, strict=True)]
        used = [(one, other) for one, other in pairs if other is not None]
        whole = float(sum(other.square().sum() for _, other in used) ** 0.5)
        assert all(float((one - other).norm()) < tolerance * whole for one, other in used)


@pytest.mark.parametrize("graphs", [None, Never])
def test_steps_do_not_wait_for_the_gpu(graphs: type[CudaGraphs] | None) -> None:
    try:
        trained(torch.device("cuda"), "bf16", hooks=[Asking()], graphs=graphs)
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_auto_takes_the_gpu_in_bf16() -> None:
    device = resolve_device("auto")
    assert device.type == "cuda"
    if torch.cuda.get_device_capability(device) >= (8, 0):
        assert resolve_precision("auto", device) == "bf16"
