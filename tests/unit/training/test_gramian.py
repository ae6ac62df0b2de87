"""Weights of gradients: known numbers, what must hold of each method, whole steps of training."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from transformers import BertConfig, BertModel

from mtlv.data.batches import Batch, PartDocuments
from mtlv.data.columns import dense
from mtlv.data.tokens import Tokens
from mtlv.errors import PlanError
from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import HeadSpec, Task
from mtlv.registries import BALANCERS
from mtlv.training import gramian
from mtlv.training.gramian import check_balancer, gramian_of
from mtlv.training.loop import train
from mtlv.training.objective import Objective
from mtlv.training.state import TrainingState

EVERY = [name for name in BALANCERS if BALANCERS[name].gradients]
CONFLICT = np.array([[-4.0, 1.0, 1.0], [6.0, 1.0, 1.0]])  # gradients of two losses


def weights(name: str, jacobian: Any, step: int = 0) -> np.ndarray:
    """Of the mean of K gradients [K, P]."""
    given = torch.as_tensor(jacobian, dtype=torch.float32)
    balancer = BALANCERS[name](len(given))
    balancer.begin(step)
    balancer.compare(given @ given.T)  # type: ignore[arg-type]
    return balancer.factors(given[0]).double().numpy() / len(given)


def drawn(count: int, width: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, width))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mgda", (0.0, 1.0, 1.0)),
        ("pcgrad", (0.2924, 1.9006, 1.9006)),  # half of its sum form
        ("upgrad", (0.2924, 1.9006, 1.9006)),
        ("imtl_g", (0.0767, 1.0, 1.0)),
        ("aligned", (0.2133, 0.9673, 0.9673)),
    ],
)
def test_two_gradients_in_conflict(name: str, expected: tuple[float, ...]) -> None:
    """The example of TorchJD's paper; numbers by hand."""
    np.testing.assert_allclose(weights(name, CONFLICT) @ CONFLICT, expected, atol=1e-4)


def least(gramian: np.ndarray, bounds: list[tuple[float, float | None]], total: float | None) -> np.ndarray:
    """argmin vᵀGv in the bounds, with the sum `total` if given."""
    fixed = [] if total is None else [{"type": "eq", "fun": lambda v: v.sum() - total}]
    start = np.array([max(low, 0.2) for low, _ in bounds])
    found = minimize(
        lambda v: v @ gramian @ v,
        start,
        jac=lambda v: 2 * gramian @ v,
        bounds=bounds,
        constraints=fixed,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return found.x


@pytest.mark.parametrize("seed", range(5))
def test_upgrad_and_mgda_are_those_of_a_general_solver(seed: int) -> None:
    """The projection of UPGrad is not TorchJD's, and its MGDA is exact for two losses."""
    jacobian = drawn(5, 30, seed)
    matrix = jacobian @ jacobian.T
    projections = [least(matrix, [(low, None) for low in unit], None) for unit in np.eye(5)]
    np.testing.assert_allclose(weights("upgrad", jacobian), np.mean(projections, axis=0), atol=1e-5)
    expected = least(matrix[:2, :2], [(0, None)] * 2, 1.0)
    np.testing.assert_allclose(weights("mgda", jacobian[:2]), expected, atol=1e-5)


@pytest.mark.parametrize("name", ["pcgrad", "upgrad"])
def test_without_conflict_it_is_the_mean(name: str) -> None:
    np.testing.assert_allclose(weights(name, np.abs(drawn(4, 6))), 1 / 4, atol=1e-6)


@pytest.mark.parametrize("name", EVERY)
def test_equal_gradients_stay_as_they_are_and_no_gradients_are_the_mean(name: str) -> None:
    one = drawn(1, 6)
    combined = weights(name, np.repeat(one, 4, axis=0)) @ np.repeat(one, 4, axis=0)
    np.testing.assert_allclose(combined, one[0], rtol=1e-3)
    np.testing.assert_allclose(weights(name, np.zeros((3, 5))), 1 / 3)
    missing = weights(name, np.vstack([one, np.zeros((1, 6))]))  # a task without a gradient
    assert np.isfinite(missing).all()


@pytest.mark.parametrize("name", [name for name in EVERY if name != "pcgrad"])
def test_order_does_not_matter(name: str) -> None:
    jacobian, order = drawn(5, 8), [3, 0, 4, 1, 2]
    np.testing.assert_allclose(weights(name, jacobian[order]), weights(name, jacobian)[order], atol=1e-4)


def test_the_order_of_pcgrad_is_drawn_anew_in_each_step() -> None:
    jacobian, order = drawn(3, 2, seed=1), [2, 0, 1]
    found = np.array([weights("pcgrad", jacobian, step) for step in range(400)])
    other = np.array([weights("pcgrad", jacobian[order], step) for step in range(400, 800)])
    assert found.std(0).max() > 0.01
    np.testing.assert_allclose(found.mean(0)[order], other.mean(0), atol=0.03)
    np.testing.assert_array_equal(found[7], weights("pcgrad", jacobian, 7))


def test_upgrad_lets_no_loss_rise() -> None:
    for seed in range(20):
        jacobian = drawn(6, 4, seed)
        products = jacobian @ (weights("upgrad", jacobian) @ jacobian)
        assert products.min() > -1e-3 * np.abs(jacobian @ jacobian.T).max()


def test_what_a_scaled_loss_changes() -> None:
    jacobian, scale = drawn(3, 8), np.array([[1.0], [1.0], [10.0]])
    changed = {}
    for name in EVERY:
        one, other = (weights(name, own) @ own for own in (jacobian, scale * jacobian))
        changed[name] = one @ other / np.linalg.norm(one) / np.linalg.norm(other) < 0.999
    assert changed == dict.fromkeys(EVERY, True) | {"imtl_g": False}


def test_of_vectors_that_nothing_trains_there_are_no_gradients() -> None:
    vectors, weight = torch.ones(2, 3), torch.ones(3, requires_grad=True)
    losses = (vectors @ weight).square()
    assert not gramian_of(losses, [vectors]).any()
    assert gramian_of((vectors.requires_grad_() @ weight).square(), [vectors]).diagonal().all()


# ---- In training -------------------------------------------------------------------------------------------


class Kept(torch.optim.SGD):
    """Keeps the gradient of each step, and changes no weight."""

    def __init__(self, parameters: list[torch.nn.Parameter]) -> None:
        super().__init__(parameters, lr=0.0)
        self.own, self.found = parameters, list[torch.Tensor]()

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        self.found.append(flat([each.grad for each in self.own], self.own))


def flat(gradients: Any, like: Any) -> torch.Tensor:
    pairs = zip(gradients, like, strict=True)
    return torch.cat([(torch.zeros_like(w) if g is None else g).flatten() for g, w in pairs])


TASKS = {name: Task(name, weight=2.0 if name == "b" else 1.0) for name in ("a", "b", "c")}
SIZES = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
LAYOUTS = {"mtl": [HeadSpec(("a", "b", "c"))], "gmhl": [HeadSpec(("a", "c")), HeadSpec(("b",))]}


def documents(count: int) -> list[Batch]:
    """Two batches of documents with labels that have little to do with each other."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(3, 40, count)
    ids = rng.integers(5, 50, lengths.sum()).astype(np.int32)
    tokens = Tokens(ids, np.concatenate([[0], np.cumsum(lengths)]), pad=0, truncated=0)
    flags = {name: (rng.random(count) < 0.4).astype(np.int8) for name in TASKS}
    part = PartDocuments(tokens, dense(flags), np.arange(count))
    return list(part.training(-(-count // 2), seed=0, epoch=0))


def expected(model: MultiTaskModel, heads: list[HeadSpec], batches: list[Batch], name: str) -> torch.Tensor:
    """The gradient of a step, as one writes it: all vectors first, then the losses, then their gradients."""
    hidden = []
    for batch in batches:
        states = model.encoder(input_ids=batch.input_ids, attention_mask=batch.attention_mask)
        mask = batch.attention_mask.unsqueeze(-1).float()
        hidden.append((states.last_hidden_state * mask).sum(1) / mask.sum(1))
    vectors = torch.cat(hidden)
    losses = []
    for head, module in zip(heads, model.heads.values(), strict=True):
        logits = module(vectors, None)
        for place, task in enumerate(head.tasks):
            targets = torch.cat([torch.as_tensor(batch.targets[task]).float() for batch in batches])
            one = torch.nn.functional.binary_cross_entropy_with_logits(logits[:, place], targets)
            losses.append(one * TASKS[task].weight / len(head.tasks))
    rows = [torch.autograd.grad(loss, vectors, retain_graph=True)[0].flatten() for loss in losses]
    found = torch.as_tensor(len(rows) * weights(name, torch.stack(rows))).float()
    own = list(model.parameters())
    return flat(torch.autograd.grad((found * torch.stack(losses)).sum(), own, allow_unused=True), own)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("together", [1, 2], ids=["one batch", "two batches"])
def test_a_step_has_the_weighted_gradient_of_all_its_documents(name: str, layout: str, together: int) -> None:
    heads, batches = LAYOUTS[layout], documents(40)[:together]
    torch.manual_seed(0)
    encoder = BertModel(BertConfig(vocab_size=50, **SIZES))
    model = MultiTaskModel(encoder, heads, tasks=TASKS, features="mean", seed=0, dropout=0.0)
    for head in model.heads.values():  # as small as they begin, heads give hardly a gradient
        for weight in head.parameters():
            torch.nn.init.normal_(weight, generator=torch.Generator().manual_seed(weight.numel()))
    known = expected(model, heads, batches, name)
    kept = Kept(list(model.parameters()))
    train(
        TrainingState(model, kept, torch.optim.lr_scheduler.LambdaLR(kept, lambda _: 1.0)),
        lambda _: iter(batches),
        objective=Objective(
            heads, tasks=TASKS, combine="sum", head_weights=None, balancer=BALANCERS[name](3), per_task=True
        ),
        epochs=1,
        accumulation=together,
        clip_norm=None,
    )
    (found,) = kept.found
    assert known.abs().max() > 1e-2
    torch.testing.assert_close(found, known, rtol=2e-3, atol=1e-4)
    assert not any(head._forward_pre_hooks for head in model.heads.values())


@pytest.mark.parametrize("per_step", [1, 2])
def test_passes_before_a_step_draw_no_random_numbers(per_step: int) -> None:
    """Dropout masks are those of the sum, also where PCGrad draws an order."""
    after = []
    for name in ("sum", "mgda", "pcgrad"):
        torch.manual_seed(0)
        encoder = BertModel(BertConfig(vocab_size=50, **SIZES))
        heads = LAYOUTS["mtl"]
        model = MultiTaskModel(encoder, heads, tasks=TASKS, features="mean", seed=0, dropout=0.5)
        optimizer = Kept(list(model.parameters()))
        objective = Objective(
            heads,
            tasks=TASKS,
            combine="sum",
            head_weights=None,
            balancer=BALANCERS[name](3),
            per_task=name != "sum",
        )
        train(
            TrainingState(model, optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0)),
            lambda _: iter(documents(8)),  # few, in one part even on a CPU
            objective=objective,
            epochs=1,
            accumulation=per_step,
            clip_norm=None,
        )
        after.append(torch.get_rng_state())
        assert torch.equal(after[-1], after[0])


def test_without_torchjd_a_balancer_by_gradients_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    check_balancer("upgrad", BALANCERS["upgrad"])
    monkeypatch.setattr(gramian, "find_spec", lambda name: None)
    check_balancer("dwa", BALANCERS["dwa"])
    with pytest.raises(PlanError, match=r"upgrad` needs the package torchjd.*pip install 'mtlv\[torchjd\]'"):
        check_balancer("upgrad", BALANCERS["upgrad"])
