"""What is learned from a teacher, by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from mtlv.errors import PlanError
from mtlv.models.heads import HeadSize
from mtlv.models.kinds import KINDS, Kind
from mtlv.models.kinds.tagging_layers import IGNORED
from mtlv.plan import HeadSpec, Task
from mtlv.training.objective import Objective
from mtlv.training.teaching import NO_TEACHER, Teaching, teaching

ROOM = HeadSize(4, 3, 1, 0.0)
WANTED = {
    "binary": [torch.tensor([1, 0, 1, 0]), torch.tensor([0, 0, 1, 1])],
    "multiclass": [torch.tensor([1, 0, 2, 2])],
    "regression": [torch.tensor([0.5, -1.0, 2.0, 0.0]), torch.tensor([3.0, 1.0, 0.0, 1.0])],
    "tagging": [torch.tensor([[1, 0], [2, IGNORED], [0, 2], [1, IGNORED]])],
}
SHAPES = {"binary": (4, 2), "multiclass": (4, 3), "regression": (4, 2), "tagging": (4, 2, 3)}
SOFT = ("binary", "multiclass", "tagging")


def kind_of(name: str) -> Kind:
    return KINDS[name].bind(KINDS[name].head(replace(ROOM, outputs=SHAPES.get(name, (3,))[-1])))


def drawn(name: str, seed: int) -> torch.Tensor:
    return torch.randn(SHAPES[name], generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def gradient(loss: torch.Tensor, of: torch.Tensor) -> torch.Tensor:
    return torch.autograd.grad(loss.sum(), of)[0]


def taught(name: str, student: torch.Tensor, teacher: torch.Tensor, temperature: float = 1.0) -> torch.Tensor:
    kind = kind_of(name)
    return kind.distillation_losses(
        student, WANTED[name], teacher_outputs=kind.teacher_outputs(teacher), temperature=temperature
    )


@pytest.mark.parametrize("name", WANTED)
def test_a_student_that_equals_its_teacher_has_no_gradient(name: str) -> None:
    own = drawn(name, 0).requires_grad_()
    for temperature in (1.0, 3.0):
        loss = taught(name, own, own.detach(), temperature)
        assert gradient(loss, own).abs().max() < 1e-7
        other = taught(name, own, drawn(name, 1), temperature)
        assert gradient(other, own).abs().max() > 1e-2
    assert loss.shape == kind_of(name).losses(own, WANTED[name]).shape


def mixed(name: str, own: torch.Tensor, teacher: torch.Tensor, share: float) -> torch.Tensor:
    """The loss on targets that are a mixture of the true ones and the teacher's."""
    if name == "regression":
        wanted = share * torch.stack(WANTED[name], 1) + (1 - share) * teacher
        return ((own - wanted) ** 2).mean(0)
    if name == "binary":
        yes = share * torch.stack(WANTED[name], 1) + (1 - share) * torch.sigmoid(teacher)
        return -(yes * torch.log(torch.sigmoid(own)) + (1 - yes) * torch.log(torch.sigmoid(-own))).mean(0)
    (truth,) = WANTED[name]
    known = truth != IGNORED
    one_hot = torch.nn.functional.one_hot(truth.clamp(min=0), 3)
    wanted = share * one_hot + (1 - share) * torch.softmax(teacher, -1)
    return (-(wanted * torch.log_softmax(own, -1)).sum(-1) * known).sum() / known.sum()


@pytest.mark.parametrize("name", WANTED)
def test_a_mixed_loss_has_the_gradient_of_mixed_targets(name: str) -> None:
    own, teacher = drawn(name, 0).requires_grad_(), drawn(name, 1)
    gold = kind_of(name).losses(own, WANTED[name])
    found = gradient(0.25 * gold + 0.75 * taught(name, own, teacher), own)
    torch.testing.assert_close(found, gradient(mixed(name, own, teacher, 0.25), own), rtol=1e-5, atol=1e-6)


def test_a_quarter_of_the_truth_by_hand() -> None:
    own = torch.zeros(1, 2, requires_grad=True)
    teacher = torch.logit(torch.tensor([[0.7, 0.3]]))
    wanted, kind = [torch.tensor([1]), torch.tensor([0])], KINDS["binary"]
    teacher_outputs = kind.teacher_outputs(teacher)
    found = 0.75 * kind.distillation_losses(own, wanted, teacher_outputs=teacher_outputs, temperature=1.0)
    loss = 0.25 * kind.losses(own, wanted) + found
    assert (0.5 - gradient(loss, own)).tolist()[0] == pytest.approx([0.775, 0.225])


@pytest.mark.parametrize("name", SOFT)
def test_a_temperature_divides_both_and_keeps_the_size_of_gradients(name: str) -> None:
    own, teacher = drawn(name, 0).requires_grad_(), drawn(name, 1)
    expected = 9 * mixed(name, own / 3, teacher / 3, 0.0)
    torch.testing.assert_close(
        taught(name, own, teacher, 3.0).double(), expected.reshape(-1), rtol=1e-5, atol=0
    )


def test_numbers_have_no_temperature() -> None:
    one, other = drawn("regression", 0), drawn("regression", 1)
    assert torch.equal(taught("regression", one, other), taught("regression", one, other, 5.0))


def test_words_that_are_not_learned_teach_nothing() -> None:
    own, teacher = drawn("tagging", 0).requires_grad_(), drawn("tagging", 1)
    (unknown,) = (wanted == IGNORED for wanted in WANTED["tagging"])
    loss = taught("tagging", own, teacher)
    assert (gradient(loss, own).abs().sum(-1) == 0).equal(unknown)
    kind = kind_of("tagging")
    nothing = [torch.full((4, 2), IGNORED)]
    assert kind.distillation_losses(own, nothing, teacher_outputs=(teacher,), temperature=1.0).item() == 0


def test_shares_of_the_truth_by_step() -> None:
    rising = teaching("annealed", 1.0, steps=8)
    assert [rising.share(step) for step in (0, 1, 4, 7)] == [0, 0.125, 0.5, 0.875]
    still = teaching(0.3, 2.0, steps=8)
    assert [still.share(step) for step in (0, 7)] == [0.3, 0.3]
    assert still.temperature == 2.0
    assert NO_TEACHER.share(5) == 1


# ---- In the objective --------------------------------------------------------------------------------------

HEAD = HeadSpec(("a", "b"))
TASKS = {"a": Task("a", weight=2.0), "b": Task("b")}


def objective(how: Teaching) -> Objective:
    return Objective([HEAD], tasks=TASKS, combine="sum", head_weights=None, teaching=how)


def loss_of(aim: Objective, own: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    model: Any = SimpleNamespace(kinds={HEAD.name: KINDS["binary"]})
    targets, teacher_outputs = (
        dict(zip("ab", WANTED["binary"], strict=True)),
        dict(zip("ab", teacher.T, strict=True)),
    )
    return aim.losses(model, {HEAD.name: own}, targets, [0], teacher_outputs)


def test_each_step_has_its_share_and_tasks_keep_their_weights() -> None:
    own, teacher = drawn("binary", 0).float(), drawn("binary", 1).float()
    aim = objective(teaching("annealed", 2.0, steps=4))
    weights, kind = torch.tensor([2.0, 1.0]), KINDS["binary"]
    gold, other = kind.losses(own, WANTED["binary"]), taught("binary", own, teacher, 2.0)
    for step in (0, 1, 3):
        aim.begin(step)
        expected = ((step / 4 * gold + (1 - step / 4) * other) * weights).mean()
        torch.testing.assert_close(loss_of(aim, own, teacher), expected.reshape(1))


def test_the_whole_truth_is_no_teacher_bit_for_bit() -> None:
    own = drawn("binary", 0).float()
    alone, all_true = objective(NO_TEACHER), objective(teaching(1.0, 3.0, steps=4))
    wrong = torch.full_like(own, torch.nan)  # what a teacher says is not even read
    assert torch.equal(loss_of(all_true, own, wrong), loss_of(alone, own, wrong))


def test_the_true_posterior_teaches_better_than_noisy_labels() -> None:
    """Of 30 % flipped labels."""
    rng = np.random.default_rng(0)
    texts, other = rng.normal(size=(300, 20)), rng.normal(size=(4000, 20))
    weights = rng.normal(size=20)
    yes, asked = (rng.random(len(x)) < 1 / (1 + np.exp(-x @ weights)) for x in (texts, other))
    noisy = yes ^ (rng.random(300) < 0.3)

    def test_loss(share: float) -> float:
        aim = Objective(
            [HeadSpec(("a",))],
            tasks={"a": Task("a")},
            combine="sum",
            head_weights=None,
            teaching=teaching(share, 1.0, steps=300),
        )
        model: Any = SimpleNamespace(kinds={"a": KINDS["binary"]})
        learned = torch.zeros(20, 1, requires_grad=True)
        optimizer = torch.optim.Adam([learned], 0.05)
        wanted, truth = torch.from_numpy(noisy), torch.from_numpy(texts @ weights).float()
        for step in range(300):
            aim.begin(step)
            own = torch.from_numpy(texts).float() @ learned
            optimizer.zero_grad()
            aim.losses(model, {"a": own}, {"a": wanted}, [0], {"a": truth}).sum().backward()
            optimizer.step()
        own = torch.from_numpy(other).float() @ learned.detach()
        return float(KINDS["binary"].losses(own, [torch.from_numpy(asked)]))

    gold, half, teacher = (test_loss(share) for share in (1.0, 0.5, 0.0))
    assert teacher < half < gold
    assert gold - teacher > 0.1


def test_every_kind_but_that_of_hidden_words_can_be_taught() -> None:
    assert set(KINDS) == {*WANTED, "mlm"}
    with pytest.raises(PlanError, match="masked words have no teacher"):
        kind_of("mlm").teacher_outputs(torch.zeros(2, 5))
