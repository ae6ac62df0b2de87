"""Numbers are learned in units of their spread: what they are counted in does not matter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mtlv.events import ignore
from mtlv.planning.resolve import resolve
from mtlv.settings import load_overrides
from mtlv.store.checkpoints import Checkpoints
from mtlv.units.input_cache import InputCache
from mtlv.units.train import train_unit
from mtlv.units.validation import UnitCallbacks

ALIKE = ("encoder=tiny", "encoder.dropout=0", "training.epochs=3", "training.learning_rate=1e-3")
WORDS = ["lung", "heart", "bone", "skin", "liver", "kidney"]


@pytest.fixture
def jobs_of(tmp_path: Path) -> Callable[..., tuple[InputCache, Any, tuple]]:
    """The member and its jobs, for a table whose numbers are `factor * y + shift`."""

    def made(factor: float, shift: float, *more: str) -> tuple[InputCache, Any, tuple]:
        draw = np.random.default_rng(0)
        texts = [" ".join(draw.choice(WORDS, 6)) for _ in range(80)]
        lines = [f"{text} {n},{factor * text.count('lung') + shift}\n" for n, text in enumerate(texts)]
        path = tmp_path / f"{factor}.csv"
        path.write_text("text,y\n" + "".join(lines))
        table = (
            f"data={{name: table, path: '{path}', columns: {{kind: regression, target: y}}, max_length: 16}}"
        )
        cache = InputCache()
        member = resolve(cache, load_overrides([table, *ALIKE, *more]).members[0])
        return cache, member, member.children[0].jobs

    return made


def trained(cache: InputCache, member: Any, job: Any, folder: Path, start: Any = None) -> tuple[Any, Any]:
    callbacks = UnitCallbacks(ignore, lambda *_: None, lambda epoch: epoch)
    inputs = cache.inputs(member.member.settings)
    return train_unit(job, inputs, callbacks, Checkpoints(folder), start)


def test_numbers_are_learned_alike_in_any_unit(jobs_of: Callable, tmp_path: Path) -> None:
    small, _ = trained(*(one := jobs_of(1, 0))[:2], one[2][0], tmp_path / "a")
    large, weights = trained(*(other := jobs_of(100, 5000))[:2], other[2][0], tmp_path / "b")
    for first, second in zip(small.epochs, large.epochs, strict=True):
        assert second.loss == pytest.approx(first.loss, rel=1e-3)
    expected = small.test.tasks["y"].outputs
    np.testing.assert_allclose((large.test.tasks["y"].outputs - 5000) / 100, expected, rtol=1e-3, atol=1e-3)
    assert small.epochs[-1].loss < small.epochs[0].loss < 1.5, "about 1 is always answering the mean"
    (mean,) = (value for name, value in weights[large.chosen_epoch].items() if name.endswith(".mean"))
    rows = other[0].corpus(other[1].member.settings.data).targets["y"][other[2][0].fold.train]
    assert mean.item() == pytest.approx(rows.mean()), "of the training part alone"


def test_heads_that_are_carried_keep_their_units(jobs_of: Callable, tmp_path: Path) -> None:
    cache, member, (job,) = jobs_of(100, 5000)
    _, weights = trained(cache, member, job, tmp_path / "a")
    start = {
        name: torch.full_like(value, 7) if name.endswith((".mean", ".deviation")) else value
        for name, value in weights[max(weights)].items()
    }
    _, found = trained(cache, member, replace(job, carry="encoder_and_heads"), tmp_path / "b", start)
    assert all(value.item() == 7 for name, value in found[max(found)].items() if name.endswith(".mean"))


def test_units_of_numbers_have_the_version_of_their_kind(jobs_of: Callable) -> None:
    *_, (job,) = jobs_of(1, 0)
    assert job.unit.train["versions"] == {"regression": 1}
