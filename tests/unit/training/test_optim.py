"""Optimizer, schedule, device, precision."""

from __future__ import annotations

import copy
from itertools import chain, cycle, repeat

import pytest
import torch
from transformers import get_cosine_schedule_with_warmup

from mtlv.errors import DeviceError
from mtlv.registries import OPTIMIZERS
from mtlv.training import optim
from mtlv.training.optim import make_optimizer, resolve_device, resolve_precision, schedule


def rates(name: str, *, steps: int, warmup: float) -> list[float]:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = schedule(optimizer, name, steps=steps, warmup=warmup)
    out = []
    for _ in range(steps):
        out.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return out


def test_linear_rises_then_falls_to_nearly_nothing() -> None:
    got = rates("linear", steps=10, warmup=0.2)
    assert got == pytest.approx([1 / 3, 2 / 3, 1.0, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8])


def test_a_warmup_is_the_nearest_number_of_steps() -> None:
    for steps, share, warm in ((10, 0.26, 3), (10, 0.24, 2), (7, 0.1, 1), (7, 0.05, 0), (19, 0.4, 8)):
        got = rates("constant", steps=steps, warmup=share)
        assert got == pytest.approx([(n + 1) / (warm + 1) for n in range(warm)] + [1.0] * (steps - warm))


def test_constant_without_warmup_is_the_thesis_own() -> None:
    assert rates("constant", steps=4, warmup=0.0) == [1.0] * 4


def test_constant_rises_in_equal_steps_and_stays() -> None:
    got = rates("constant", steps=10, warmup=0.3)
    assert got == pytest.approx([1 / 4, 2 / 4, 3 / 4, *[1.0] * 7])


def test_cosine_is_that_of_transformers_but_for_its_warm_up() -> None:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    of_transformers = get_cosine_schedule_with_warmup(optimizer, 0, 8).lr_lambdas[0]
    expected = [of_transformers(step) for step in range(8)]
    assert rates("cosine", steps=10, warmup=0.2) == pytest.approx([1 / 3, 2 / 3, *expected])


def test_the_learning_rate_ends_at_nothing_and_stays_there() -> None:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = schedule(optimizer, "linear", steps=3, warmup=0.0)
    for expected in (2 / 3, 1 / 3, 0.0, 0.0):
        optimizer.step()
        scheduler.step()
        assert optimizer.param_groups[0]["lr"] == pytest.approx(expected)


def test_biases_and_norms_do_not_decay() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.LayerNorm(4), torch.nn.Embedding(5, 4))
    decayed, plain = make_optimizer(model, learning_rate=1e-3, weight_decay=0.01).param_groups
    assert [p.ndim for p in decayed["params"]] == [2, 2]
    assert [p.ndim for p in plain["params"]] == [1, 1, 1]
    assert (decayed["weight_decay"], plain["weight_decay"]) == (0.01, 0.0)
    assert (decayed["lr"], plain["lr"]) == (1e-3, 1e-3)


def test_what_does_not_learn_is_not_optimised() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
    model[0].requires_grad_(False)
    held = [
        p
        for group in make_optimizer(model, learning_rate=1e-3, weight_decay=0.1).param_groups
        for p in group["params"]
    ]
    assert {id(p) for p in held} == {id(p) for p in model[1].parameters()}


def test_auto_is_the_processor_where_there_is_no_gpu() -> None:
    expected = "cuda" if torch.cuda.is_available() else "cpu"
    assert resolve_device("auto").type == expected


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_gpu_that_is_not_there_is_refused() -> None:
    with pytest.raises(
        DeviceError, match=r"`training.device` \(got cuda:1\); allowed: auto, cpu; .* sees 0 CUDA"
    ):
        resolve_device("cuda:1")


@pytest.mark.parametrize(("computes", "expected"), [(True, "bf16"), (False, "fp32")])
def test_precision_is_what_was_asked_for_or_what_the_device_computes(
    computes: bool, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: computes, raising=False)
    monkeypatch.setattr(optim, "_bf16_is_faster", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (8, 0) if computes else (7, 5))
    for device in (cpu, gpu):
        assert resolve_precision("bf16", device) == "bf16"
        assert resolve_precision("fp32", device) == "fp32"
        assert resolve_precision("auto", device) == expected


@pytest.mark.parametrize(("of_bf16", "expected"), [(1.0, "bf16"), (4.0, "fp32")])
def test_a_processor_thatcomputes_bf16_more_slowly_uses_fp32(
    of_bf16: float, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = {torch.float32: cycle([9.0, 2.0]), torch.bfloat16: cycle([of_bf16, 9.0])}
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True, raising=False)
    monkeypatch.setattr(optim, "_seconds_of_a_product", lambda dtype: next(seconds[dtype]))
    optim._bf16_is_faster.cache_clear()
    assert resolve_precision("auto", torch.device("cpu")) == expected
    optim._bf16_is_faster.cache_clear()


@pytest.mark.parametrize("name", ["gpu", "cuda:x", "mps", ""])
def test_an_unknown_device_is_refused(name: str) -> None:
    with pytest.raises(DeviceError, match=r"^the device \(got .*\); allowed: auto, cpu"):
        resolve_device(name, "the device")


def test_times_that_are_close_are_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other work on the machine delays the first rounds of bf16, which is faster."""
    seconds = {torch.float32: repeat(2.0), torch.bfloat16: chain(repeat(2.1, 7), repeat(1.0))}
    monkeypatch.setattr(optim, "_seconds_of_a_product", lambda dtype: next(seconds[dtype]))
    optim._bf16_is_faster.cache_clear()
    assert optim._bf16_is_faster()
    monkeypatch.setattr(optim, "_seconds_of_a_product", lambda _: 1.0)
    optim._bf16_is_faster.cache_clear()
    assert not optim._bf16_is_faster(), "it ends"
    optim._bf16_is_faster.cache_clear()


def test_a_product_is_timed_in_each_precision() -> None:
    assert all(optim._seconds_of_a_product(dtype) > 0 for dtype in (torch.float32, torch.bfloat16))


def test_where_pytorch_cannot_say_precision_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.cpu, "_is_avx512_bf16_supported", raising=False)
    assert resolve_precision("auto", torch.device("cpu")) == "fp32"


def two_layers() -> torch.nn.Sequential:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.LayerNorm(4), torch.nn.Linear(4, 2))


def take_steps(model: torch.nn.Module, optimizer: torch.optim.Optimizer, steps: int = 3) -> None:
    for step in range(steps):
        model(torch.ones(5, 3) + step).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def assert_equal(model: torch.nn.Module, other: torch.nn.Module) -> None:
    pairs = zip(model.parameters(), other.parameters(), strict=True)
    assert all(torch.equal(weight, expected) for weight, expected in pairs)


def test_without_a_name_and_factors_it_is_fused_adamw_of_two_groups() -> None:
    model, other = two_layers(), two_layers()
    by_decay = [[w for w in other.parameters() if (w.ndim > 1) == decays] for decays in (True, False)]
    groups = [{"params": by_decay[0], "weight_decay": 0.1}, {"params": by_decay[1], "weight_decay": 0.0}]
    take_steps(other, torch.optim.AdamW(groups, lr=0.01, fused=True))
    optimizer = make_optimizer(model, learning_rate=0.01, weight_decay=0.1)
    take_steps(model, optimizer)
    assert_equal(model, other)
    assert optimizer.defaults["fused"]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_goes_on_from_its_state_bit_for_bit(name: str) -> None:
    model, other = two_layers(), two_layers()

    def made(of: torch.nn.Module) -> torch.optim.Optimizer:
        factors = dict.fromkeys(of[2].parameters(), 5.0)
        return make_optimizer(of, learning_rate=0.01, weight_decay=0.1, name=name, factors=factors)

    before = [weight.detach().clone() for weight in model.parameters()]
    optimizer = made(model)
    assert type(optimizer) is OPTIMIZERS[name]
    take_steps(model, optimizer)
    assert all(not torch.equal(weight, old) for weight, old in zip(model.parameters(), before, strict=True))
    other.load_state_dict(model.state_dict())
    resumed = made(other)
    resumed.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    take_steps(model, optimizer)
    take_steps(other, resumed)
    assert_equal(model, other)


def test_schedule_and_decay_apply_to_every_factor() -> None:
    model = two_layers()
    factors = dict.fromkeys(model[0].parameters(), 0.5) | dict.fromkeys(model[2].parameters(), 5.0)
    optimizer = make_optimizer(model, learning_rate=0.1, weight_decay=0.2, name="sgd", factors=factors)
    scheduler = schedule(optimizer, "linear", steps=4, warmup=0.25)
    for share in (1 / 2, 1, 2 / 3, 1 / 3):
        rates = [group["lr"] for group in optimizer.param_groups]
        assert rates == pytest.approx([0.1 * share] * 2 + [0.05 * share] * 2 + [0.5 * share] * 2)
        assert scheduler.get_last_lr()[0] == pytest.approx(0.1 * share), "the one that is tracked"
        optimizer.step()
        scheduler.step()
    assert [group["weight_decay"] for group in optimizer.param_groups] == [0.2, 0.0] * 3
    assert [len(group["params"]) for group in optimizer.param_groups] == [0, 2, 1, 1, 1, 1]


def test_steps_are_those_of_adam_with_decay_by_hand() -> None:
    """Loshchilov and Hutter 2019, with betas of 0.9 and 0.999 and an epsilon of 1e-8."""
    model = torch.nn.Linear(3, 2, bias=False).double()
    optimizer = make_optimizer(model, learning_rate=0.01, weight_decay=0.1)
    weight = model.weight.detach().clone()
    mean, square = torch.zeros_like(weight), torch.zeros_like(weight)
    generator = torch.Generator().manual_seed(0)
    for step in range(1, 8):
        gradient = torch.randn(2, 3, generator=generator, dtype=torch.float64)
        model.weight.grad = gradient.clone()
        optimizer.step()
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        change = mean / (1 - 0.9**step) / ((square / (1 - 0.999**step)).sqrt() + 1e-8)
        weight = (1 - 0.01 * 0.1) * weight - 0.01 * change
        torch.testing.assert_close(model.weight.detach(), weight, rtol=1e-9, atol=1e-12)
