"""Where training stands: what is taken stays as it was, and what is put back is all of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from mtlv.training.optim import schedule
from mtlv.training.state import EpochProgress, TrainingState


def trained() -> TrainingState:
    torch.manual_seed(0)
    model: Any = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    return TrainingState(model, optimizer, schedule(optimizer, "linear", steps=20, warmup=0.2))


def step(it: TrainingState, progress: EpochProgress) -> None:
    loss = it.model(torch.ones(5, 3)).square().mean()
    it.optimizer.zero_grad()
    loss.backward()
    it.optimizer.step()
    it.scheduler.step()
    progress.count(loss.detach(), loss.detach()[None], 2 * loss.detach()[None], np.arange(5))
    progress.tokens += 40
    progress.step += 1
    progress.batches += 1


def plain(tree: Any) -> Any:
    """With tensors as lists, so that it can be compared."""
    if isinstance(tree, torch.Tensor):
        return tree.tolist()
    if isinstance(tree, dict):
        return {key: plain(value) for key, value in tree.items()}
    return [plain(value) for value in tree] if isinstance(tree, (list, tuple)) else tree


def test_what_is_put_back_goes_on_bit_for_bit_and_what_was_taken_stays() -> None:
    it, progress = trained(), EpochProgress(epoch=2, seconds=1.5)
    for _ in range(3):
        step(it, progress)
    state = it.take(progress)
    before = plain(state)
    for _ in range(3):
        step(it, progress)
    assert plain(state) == before
    undisturbed = plain(it.take(progress))
    other = trained()
    again = other.put_back(state)
    assert (again.epoch, again.step, again.batches, again.documents, again.seconds) == (2, 3, 3, 15, 1.5)
    assert again.tokens == 120
    assert [factors / 2 for factors in again.factors] == again.heads
    for _ in range(3):
        step(other, again)
    assert plain(other.take(again)) == undisturbed


def test_the_next_epoch_counts_its_own_batches_and_all_steps() -> None:
    it, progress = trained(), EpochProgress(epoch=2, step=7)
    step(it, progress)
    following = progress.next_epoch()
    assert (following.epoch, following.step, following.batches, following.documents) == (3, 8, 0, 0)
    assert following.tokens == 0
    assert not following.losses
    assert not following.heads


def test_a_checkpoint_from_before_there_were_balancers_is_read() -> None:
    it = trained()
    state = it.take(EpochProgress())
    del state["balancer"]
    assert trained().put_back(state).step == 0
