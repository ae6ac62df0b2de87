"""Factors of losses, by hand and against PyTorch's optimizer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from objectives import on_batch

from mtlv.events import ignore
from mtlv.plan import HeadSpec, Task
from mtlv.planning.resolve import resolve
from mtlv.registries import BALANCERS
from mtlv.store.checkpoints import Checkpoints
from mtlv.store.records import EpochRecord
from mtlv.training import loop
from mtlv.training.balancing import DWA, Balancer, Random, Sum, Uncertainty, balancer_of
from mtlv.training.objective import Objective
from mtlv.units.input_cache import InputCache
from mtlv.units.train import train_unit
from mtlv.units.validation import UnitCallbacks

NAN = torch.nan
NONE = torch.zeros(3)
EVERY = sorted(BALANCERS)
BY_LOSS = [name for name in EVERY if not BALANCERS[name].gradients]


def taught(balancer: Balancer, *steps: list[float]) -> Balancer:
    for number, losses in enumerate(steps):
        balancer.begin(number)
        balancer.learn(torch.tensor(losses))
    return balancer


# ---- Each balancer -----------------------------------------------------------------------------------------


def test_of_constant_losses_uncertainty_learns_half_of_their_inverse() -> None:
    learned = taught(Uncertainty(3, learning_rate=0.05), *([[0.1, 1.0, 4.0]] * 2000))
    torch.testing.assert_close(learned.factors(NONE), torch.tensor([5.0, 0.5, 0.125]), rtol=1e-3, atol=0)


def test_uncertainty_learns_by_adam() -> None:
    s = torch.nn.Parameter(torch.zeros(2))
    adam = torch.optim.Adam([s], lr=0.3)
    learned = Uncertainty(2, learning_rate=0.3)
    for losses in torch.rand(20, 2, generator=torch.Generator().manual_seed(0)):
        adam.zero_grad()
        (0.5 * (-s).exp() * losses + 0.5 * s).sum().backward()
        adam.step()
        learned.learn(losses)
    torch.testing.assert_close(learned.factors(NONE), 0.5 * (-s.detach()).exp())


def test_a_loss_that_is_not_in_a_step_teaches_nothing() -> None:
    alone = taught(Uncertainty(1), [3.0], [2.0])
    among = taught(Uncertainty(2), [3.0, 5.0], [NAN, 4.0], [2.0, NAN])
    assert among.factors(NONE)[0] == alone.factors(NONE)[0]
    both = DWA(2)
    for epoch in ([[1.0, 2.0], [3.0, NAN]], [[1.0, NAN], [NAN, 1.0]]):
        taught(both, *epoch).end_epoch()
    assert both.factors(NONE).tolist() == pytest.approx([1.0, 1.0])  # both fell to a half


def test_dwa_raises_the_loss_that_fell_less_after_two_epochs() -> None:
    moving = DWA(2)
    found = []
    for losses in ([1.5, 0.5], [0.5, 1.5]), ([0.4, 1.0], [0.6, 0.8]), ([0.5, 0.9],):
        taught(moving, *losses)
        found.append(moving.factors(NONE).tolist())
        moving.end_epoch()
    assert found[:2] == [[1.0, 1.0], [1.0, 1.0]]
    assert found[2] == pytest.approx([0.9003, 1.0997], abs=1e-4)
    assert moving.factors(NONE).tolist() == pytest.approx([1.0, 1.0])  # of the last two epochs alone


def test_dwa_leaves_a_loss_without_a_ratio_at_that_of_an_equal_one() -> None:
    """The second loss was not in the first epoch, the third one was 0."""
    moving = DWA(4)
    for losses in ([1.0, NAN, 0.0, 2.0], [0.5, 2.0, 1.0, 2.0]):
        taught(moving, losses).end_epoch()
    expected = 4 * torch.tensor([0.25, 0.5, 0.5, 0.5]).softmax(0)
    torch.testing.assert_close(moving.factors(NONE), expected)


def test_random_factors_follow_from_the_seed_and_the_step_and_have_a_mean_of_one() -> None:
    drawn = Random(3, seed=7)
    state, seen = torch.get_rng_state(), []
    for number in range(300):
        drawn.begin(number)
        seen.append(drawn.factors(NONE))
    assert torch.equal(torch.get_rng_state(), state), "dropout masks are those of the sum"
    found = torch.stack(seen)
    torch.testing.assert_close(found.sum(1), torch.full((300,), 3.0))
    torch.testing.assert_close(found.mean(0), torch.ones(3), rtol=0, atol=0.15)
    assert found[0].std() > 0.1
    again = Random(3, seed=7)
    again.begin(5)
    assert torch.equal(again.factors(NONE), found[5])
    other = Random(3, seed=8)
    other.begin(5)
    assert not torch.equal(other.factors(NONE), found[5])


@pytest.mark.parametrize("name", BY_LOSS)
def test_a_balancer_that_is_put_back_goes_on_bit_for_bit(name: str) -> None:
    steps = torch.rand(9, 3, generator=torch.Generator().manual_seed(1)).tolist()
    undisturbed, before = BALANCERS[name](3), BALANCERS[name](3)
    for balancer in (undisturbed, before):
        for start in (0, 3):
            taught(balancer, *steps[start : start + 3]).end_epoch()
    after = BALANCERS[name](3)
    after.put_back({key: held.clone() for key, held in before.state.items()})
    for balancer in (undisturbed, after):
        taught(balancer, *steps[6:]).end_epoch()
    assert torch.equal(after.factors(NONE), undisturbed.factors(NONE))
    if before.state:
        with pytest.raises(KeyError):
            BALANCERS[name](3).put_back({})


def test_a_single_loss_is_not_balanced() -> None:
    one, two = [HeadSpec(("a",))], [HeadSpec(("a", "b"))]
    for name in EVERY:
        assert balancer_of(name, "task", one) is balancer_of(name, "head", two) is Sum
        assert balancer_of(name, "task", two) is balancer_of(name, "head", [*one, *two]) is BALANCERS[name]


# ---- In the objective --------------------------------------------------------------------------------------

HEADS = [HeadSpec(("a", "d")), HeadSpec(("b",)), HeadSpec(("c",))]
LOSSES = {"a": 1.0, "d": 3.0, "b": 10.0, "c": 100.0}


class Given(Balancer):
    """Has these factors, and keeps what it learns."""

    def factors(self, losses: torch.Tensor) -> torch.Tensor:
        return losses.new_tensor([2.0, 3.0, 5.0, 7.0][: self.count])

    def learn(self, losses: torch.Tensor) -> None:
        self.state["heard"] = losses


def objective(combine: str, *, per_task: bool, weights: Any = None) -> Objective:
    tasks = {name: Task(name) for name in LOSSES}
    balancer = Given(4 if per_task else 3)
    given = {"combine": combine, "head_weights": weights, "balancer": balancer, "per_task": per_task}
    return Objective(HEADS, tasks=tasks, **given)


def found(aim: Objective, *numbers: int) -> tuple[float, list[float]]:
    kind = SimpleNamespace(losses=lambda logits, targets: logits)
    model: Any = SimpleNamespace(kinds={head.name: kind for head in HEADS})
    own = {HEADS[n].name: torch.tensor([LOSSES[task] for task in HEADS[n].tasks]) for n in numbers}
    targets: Any = {task: LOSSES[task] for n in numbers for task in HEADS[n].tasks}
    loss, heads = on_batch(aim, model, own, targets)
    return float(loss), heads.tolist()


@pytest.mark.parametrize(
    ("combine", "per_task", "here", "expected"),
    [
        ("sum", True, (0, 1, 2), (2 * 1 + 3 * 3) / 2 + 5 * 10 + 7 * 100),
        ("mean", True, (0, 1, 2), ((2 * 1 + 3 * 3) / 2 + 5 * 10 + 7 * 100) / 3),
        ("weighted_sum", True, (0, 2), 4 * (2 * 1 + 3 * 3) / 2 + 11 * 7 * 100),
        ("sum", True, (1,), 5 * 10),
        ("sum", False, (0, 1, 2), 2 * 2 + 3 * 10 + 5 * 100),
        ("sum", False, (2,), 5 * 100),
    ],
)
def test_factors_multiply_the_losses_of_tasks_or_heads(
    combine: str, per_task: bool, here: tuple[int, ...], expected: float
) -> None:
    aim = objective(combine, per_task=per_task, weights={"a": 4.0, "c": 11.0})
    loss, heads = found(aim, *here)
    assert loss == pytest.approx(expected)
    assert [heads[n] for n in here] == [[2.0, 10.0, 100.0][n] for n in here], "recorded without factors"
    assert all(heads[n] != heads[n] for n in range(3) if n not in here), "NaN"


def test_a_balancer_learns_from_losses_without_factors_at_their_places() -> None:
    aim = objective("sum", per_task=True)
    terms = aim.here({"c"}), aim.here({"a", "d"})
    assert terms == ((3,), (0, 1))
    aim.learn(torch.tensor([100.0, 1.0, 3.0]), terms)
    heard = aim.balancer.state["heard"].tolist()
    assert heard[:2] == [1.0, 3.0]
    assert heard[2] != heard[2]
    assert heard[3] == 100.0


# ---- In a unit ---------------------------------------------------------------------------------------------


@pytest.fixture
def keys(suite: Callable, table: Callable) -> Callable[..., list[str]]:
    path = table("t")

    def keys(*changes: str) -> list[str]:
        return [job.unit.key for job in resolve(InputCache(), suite(path, *changes).members[0]).jobs]

    return keys


def test_a_balancer_is_part_of_the_key_of_models_with_several_losses(keys: Callable[..., list[str]]) -> None:
    plain = keys("architecture=mtl")
    rated = "training.objective.learning_rate=0.1"
    each = [keys("architecture=mtl", f"training.objective={name}") for name in EVERY if name != "sum"]
    each.append(keys("architecture=mtl", "training.objective=uncertainty", rated))
    each.append(keys("architecture=gmhl", "grouping.k=2", "training.objective=dwa"))
    each.append(keys("architecture=gmhl", "grouping.k=2", "training.objective={name: dwa, per: head}"))
    assert len({key for (key,) in (plain, *each)}) == len(each) + 1
    learned = "{architecture: stl, training.objective: uncertainty}"
    two = f"runs=[{{architecture: mtl, training.objective: dwa}}, {learned}]"
    assert keys(two, rated) == keys("architecture=mtl", "training.objective=dwa"), "dwa reads no rate"
    assert keys("architecture=mtl", "training.objective.per=head") == plain
    assert keys("architecture=mtl", "training.objective={name: dwa, per: head}") == plain
    assert keys("architecture=stl", "training.objective=dwa") == keys("architecture=stl")


def test_another_version_of_a_balancer_trains_its_units_again(
    keys: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = "architecture=mtl", "training.objective=dwa"
    before, plain = keys(*changes), keys("architecture=mtl")
    monkeypatch.setattr(DWA, "version", 2)
    assert keys(*changes) != before
    assert keys("architecture=mtl") == plain
    assert all(BALANCERS[name].version == 2 for name in EVERY if BALANCERS[name].gradients)  # by TorchJD


@dataclass
class Trained:
    """What is left of a trained MTL model: objective, record of the last epoch, a weight of the encoder."""

    objective: Objective
    last: EpochRecord
    weight: torch.Tensor


@pytest.fixture
def trained(suite: Callable, table: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable:
    path, real = table("t"), loop.train_by_steps

    def trained(*changes: str) -> Trained:
        given: dict[str, Any] = {}

        def train(*places: Any, **names: Any) -> Iterator[loop.DueStep]:
            given.update(names)
            return real(*places, **names)

        monkeypatch.setattr(loop, "train_by_steps", train)
        cache = InputCache()
        member = resolve(cache, suite(path, "architecture=mtl", *changes).members[0])
        callbacks = UnitCallbacks(ignore, lambda *_: None, lambda epoch: epoch)
        job, inputs = member.children[0].jobs[0], cache.inputs(member.member.settings)
        checkpoints = Checkpoints(tmp_path / job.unit.key)
        record, kept = train_unit(job, inputs, callbacks, checkpoints)
        weight = kept[record.chosen_epoch]["encoder.encoder.layer.1.output.dense.weight"]
        return Trained(given["objective"], record.epochs[-1], weight)

    return trained


def test_training_is_balanced_by_task(trained: Callable[..., Trained]) -> None:
    plain = trained()
    each = {name: trained(f"training.objective={name}") for name in EVERY if name != "sum"}
    assert not plain.objective.per_task
    assert all(one.objective.balancer.count == 3 and one.objective.per_task for one in each.values())
    epochs, steps = 2, 5
    assert {one.objective.balancer.step for one in each.values()} == {epochs * steps - 1}
    learned = each["uncertainty"].objective.balancer.state
    assert learned["steps"].tolist() == [epochs * steps] * 3
    assert (learned["s"] < -0.02).all(), "all losses are below 1"
    (known,) = each["dwa"].last.heads.values()
    means = each["dwa"].objective.balancer.state["last"]
    assert float(means.mean()) == pytest.approx(known, rel=1e-5)
    assert means.std() > 1e-3, "of each task"
    for name in set(each) - {"dwa"}:
        assert not torch.equal(each[name].weight, plain.weight)
    assert each["dwa"].objective.balancer.factors(NONE).tolist() != [1.0] * 3
    torch.testing.assert_close(each["dwa"].weight, plain.weight)  # of two epochs
    assert plain.last.factors == {}
    assert {tuple(one.last.factors) for one in each.values()} == {tuple(plain.objective.tasks)}
    assert list(each["dwa"].last.factors.values()) == pytest.approx([1.0] * 3)
    drawn = each["random"].objective.balancer
    of_steps = []
    for step in range(steps, 2 * steps):
        drawn.begin(step)
        of_steps.append(drawn.factors(NONE))
    means = torch.stack(of_steps).mean(0).tolist()
    assert list(each["random"].last.factors.values()) == pytest.approx(means), "means of the last epoch"


def test_factors_of_heads_are_recorded_by_head(trained: Callable[..., Trained]) -> None:
    changes = "architecture=gmhl", "grouping.k=2", "training.objective={name: uncertainty, per: head}"
    found = trained(*changes)
    assert list(found.last.factors) == list(found.last.heads)
    assert max(found.last.factors.values()) < 0.6


def test_random_factors_are_the_softmax_of_normal_numbers() -> None:
    """Lin et al. 2022: differences of the logarithms of two factors are normal with a variance of 2."""
    drawn, seen = Random(4, seed=3), []
    for number in range(2000):
        drawn.begin(number)
        seen.append(drawn.factors(NONE))
    logs = torch.stack(seen).double().log()
    for one, other in ((0, 1), (1, 2), (3, 0)):
        apart = logs[:, one] - logs[:, other]
        assert apart.mean().abs() < 0.12
        assert apart.var().item() == pytest.approx(2.0, rel=0.12)
        assert (apart**4).mean().item() == pytest.approx(3 * 2.0**2, rel=0.25), "not uniform"
