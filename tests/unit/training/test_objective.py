"""The number that is minimised, by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from objectives import on_batch

from mtlv.plan import HeadSpec, Task
from mtlv.training.objective import Objective

HEADS = [HeadSpec(("a", "d")), HeadSpec(("b",)), HeadSpec(("c",))]
LOSSES = {"a": 1.0, "d": 3.0, "b": 10.0, "c": 100.0}


def objective(combine: str, weights: Any = None, **of_tasks: float) -> Objective:
    tasks = {name: Task(name, weight=of_tasks.get(name, 1.0)) for name in LOSSES}
    return Objective(HEADS, tasks=tasks, combine=combine, head_weights=weights)


def model() -> Any:
    """Each head's logits are its tasks' losses."""
    kind = SimpleNamespace(losses=lambda logits, targets: logits)
    return SimpleNamespace(kinds={head.name: kind for head in HEADS})


def logits(*numbers: int) -> dict[str, torch.Tensor]:
    return {HEADS[n].name: torch.tensor([LOSSES[task] for task in HEADS[n].tasks]) for n in numbers}


def whole(aim: Objective, *numbers: int) -> tuple[float, list[float]]:
    targets = {task: LOSSES[task] for n in numbers for task in HEADS[n].tasks}
    loss, heads = on_batch(aim, model(), logits(*numbers), targets)  # type: ignore[arg-type]
    return float(loss), heads.tolist()


def test_the_loss_of_a_head_is_the_mean_over_its_tasks() -> None:
    assert whole(objective("sum"), 0, 1, 2) == (112.0, [2.0, 10.0, 100.0])
    assert whole(objective("mean"), 0, 1, 2)[0] == pytest.approx(112 / 3)


def test_weights_of_tasks_are_factors_within_their_head() -> None:
    assert whole(objective("sum", d=3.0, b=0.5), 0, 1, 2) == (110.0, [5.0, 5.0, 100.0])


GIVEN = {"a": 2.0, "b": 3.0, "c": 5.0}


@pytest.mark.parametrize(
    ("here", "expected"),
    [
        ((0, 1, 2), 2 * 2 + 3 * 10 + 5 * 100),
        ((1, 2), 3 * 10 + 5 * 100),
        ((0, 2), 2 * 2 + 5 * 100),
        ((2,), 5 * 100),
    ],
)
def test_heads_of_a_batch_have_their_own_weights(here: tuple[int, ...], expected: float) -> None:
    loss, heads = whole(objective("weighted_sum", GIVEN), *here)
    assert loss == expected
    known = [2.0, 10.0, 100.0]
    assert [heads[n] for n in here] == [known[n] for n in here]
    assert all(heads[n] != heads[n] for n in range(3) if n not in here), "NaN"
    mean, _ = whole(objective("weighted_mean", GIVEN), *here)
    assert mean == pytest.approx(expected / sum(list(GIVEN.values())[n] for n in here))


def test_weights_may_be_sizes_or_of_some_tasks() -> None:
    assert objective("sum", "size").weights.tolist() == [0.5, 0.25, 0.25]
    assert objective("sum", {"d": 7.0, "c": 0.0}).weights.tolist() == [7.0, 1.0, 0.0]
    assert objective("sum").weights.tolist() == [1.0, 1.0, 1.0]


def test_heads_are_in_a_batch_that_has_their_targets() -> None:
    aim = objective("sum")
    assert aim.here({"a", "d", "c"}) == (0, 2)
    assert aim.here({"b"}) == (1,)
