"""Several ranks against one device: the same batches, weights, losses and scores."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mtlv.data.batches import Batch
from mtlv.errors import DeviceError
from mtlv.plan import HeadSpec, Task
from mtlv.training.group import ProcessGroup, need_group
from mtlv.training.objective import Objective
from mtlv.training.optim import device_of
from mtlv.training.parts import divide

HERE = Path(__file__).parent
if str(HERE) not in sys.path:
    sys.path.append(str(HERE))

from one_of_ranks import SCENARIOS, all_scenarios, of_ranks  # noqa: E402

WORLD = 2


def batch_of(count: int, *, words: bool = False) -> Batch:
    ids = torch.arange(count)[:, None].expand(count, 2)
    places = torch.where(torch.arange(4)[None, :] <= torch.arange(count)[:, None] % 4, 1, -1)
    return Batch(
        np.arange(100, 100 + count),
        ids,
        torch.ones(count, 2, dtype=torch.bool),
        2 * count,
        {"task": torch.arange(count)},
        words=places if words else None,
    )


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("count", [1, 2, 3, 7, 16])
@pytest.mark.parametrize("world", [2, 3, 5])
def test_shares_are_the_batch(count: int, world: int, words: bool) -> None:
    """Every document once, whatever is left over; what a rank without one takes counts nothing."""
    batch = batch_of(count, words=words)
    one = Objective([HeadSpec(("task",))], tasks={"task": Task("task")}, combine="sum", head_weights=None)
    seen, total = [], 0.0
    for rank in range(world):
        (part,) = divide([batch], one, by_word=[words], ranks=ProcessGroup(rank, world, 0), pieces=1).parts
        share, (weight,) = part.batch, part.shares
        assert len(share.index)
        assert (share.targets["task"] + 100).tolist() == share.index.tolist()
        if rank < count:
            seen += share.index.tolist()
            assert weight == pytest.approx(share.count_items(words) / batch.count_items(words))
        else:
            assert weight == 0
        total += weight
    assert sorted(seen) == batch.index.tolist()
    assert total == pytest.approx(1)


def test_each_rank_draws_masks_of_its_own_the_same_whenever_it_goes_on() -> None:
    def drawn(rank: int, step: int) -> float:
        ProcessGroup(rank, 2, 7).begin(step)
        return float(torch.rand(()))

    with torch.random.fork_rng(devices=[]):
        found = [drawn(rank, step) for rank in (0, 1) for step in (0, 1)]
        assert len(set(found)) == 4
        assert drawn(1, 0) == found[2]


@pytest.fixture(scope="module")
def alone() -> dict[str, Any]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return all_scenarios()
    finally:
        torch.set_num_threads(before)


@pytest.fixture(scope="module")
def of_each(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What each of the ranks came to."""
    return of_ranks(tmp_path_factory.mktemp("ranks"), WORLD, "cpu")


@pytest.mark.parametrize("name", SCENARIOS)
def test_ranks_end_with_equal_weights(name: str, of_each: list[dict[str, Any]]) -> None:
    """Bit for bit, as do losses and scores."""
    first, *others = (found[name] for found in of_each)
    for other in others:
        assert all(torch.equal(other["weights"][key], weight) for key, weight in first["weights"].items())
        assert other["losses"] == first["losses"]
        assert other["scores"] == first["scores"]


@pytest.mark.parametrize("name", SCENARIOS)
def test_ranks_end_as_one_device(name: str, of_each: list[dict[str, Any]], alone: dict[str, Any]) -> None:
    found, expected = of_each[0][name], alone[name]
    assert found["losses"]["documents"] == expected["losses"]["documents"]
    assert found["losses"]["loss"] == pytest.approx(expected["losses"]["loss"], rel=1e-5)
    assert found["losses"]["heads"] == pytest.approx(expected["losses"]["heads"], rel=1e-5)
    for key, weight in expected["weights"].items():
        torch.testing.assert_close(found["weights"][key], weight, rtol=1e-4, atol=2e-6, msg=key)
    for task, rows in expected["scores"].items():
        assert len(found["scores"][task]) == len(rows)
        for one, other in zip(found["scores"][task], rows, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def test_another_process_group_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    need_group()
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    with pytest.raises(DeviceError, match="this process is in another one"):
        need_group()


def test_ranks_take_cuda_devices_from_the_named_one_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    assert [device_of("cuda", rank, 3).index for rank in range(3)] == [0, 1, 2]
    assert [device_of("cuda:1", rank, 2).index for rank in range(2)] == [1, 2]
    assert device_of("cpu", 1, 8).type == "cpu"
    with pytest.raises(DeviceError, match=r"devices_per_unit` \(got 3\); allowed: 1 to 2; .* cuda:1"):
        device_of("cuda:1", 0, 3)
