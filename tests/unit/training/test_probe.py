"""The gradient probe: known matrices, halves, epochs, and a conflict that was planted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from mtlv.data.mixing import DRAWS, Mixture
from mtlv.events import ignore
from mtlv.models.layers import highest
from mtlv.plan import HeadSpec
from mtlv.plan.probed import from_json
from mtlv.planning.resolve import resolve
from mtlv.store.checkpoints import Checkpoints
from mtlv.store.records import UnitRecord
from mtlv.training.probe import GradientProbe, compare
from mtlv.training.state import EpochProgress
from mtlv.units.input_cache import InputCache
from mtlv.units.train import train_unit
from mtlv.units.validation import UnitCallbacks

GOALS = torch.tensor([[1.0, 0.5, -2.0], [0.9, 0.7, -1.0], [-1.0, 0.0, 3.0], [0.2, -1.0, 0.1]])
HEADS = (HeadSpec(("a", "b")), HeadSpec(("c", "d")))


@dataclass(frozen=True)
class Half:
    """Documents that shift the goal of every task, of one data set or both."""

    shift: float = 0.0
    targets: tuple[str, ...] = ("a", "b", "c", "d")

    def to(self, _: object) -> Half:
        return self


class Bowls(nn.Module):
    """L_t = |w - c_t|² / 2, so g_t = w - c_t."""

    def __init__(self) -> None:
        super().__init__()
        self.model = nn.Module()
        self.model.w = nn.Parameter(torch.tensor([0.3, -0.2, 0.1]))
        self.objective = SimpleNamespace(heads=HEADS, here=self._here)

    def _here(self, targets: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(number for number, name in enumerate("abcd") if name in targets)

    def forward(self, batch: Half, terms: tuple[int, ...]) -> torch.Tensor:
        assert not self.model.training
        return (self.model.w - GOALS[list(terms)] - batch.shift).square().sum(1) / 2

    def gradients(self, shift: float = 0.0) -> np.ndarray:
        return (self.model.w.detach().double() - GOALS.double() - shift).numpy()


def probe_of(losses: Any, *pairs: tuple[Half, Half], every: int = 1) -> GradientProbe:
    return GradientProbe(losses, lambda _: pairs, every=every, weights=[losses.model.w])


def test_bowls_have_the_affinity_of_a_small_step() -> None:
    """TAG's 1 - L_j(w - η g_i) / L_j(w) over η is (2 g_i·g_j - η |g_i|²) / |g_j|²."""
    bowls = Bowls()
    g = bowls.gradients()
    affinity = probe_of(bowls, (Half(), Half())).measure(1).affinity.numpy()
    lengths = (g**2).sum(1)
    np.testing.assert_allclose(affinity, 2 * g @ g.T / lengths[:, None], atol=1e-6)
    step = 1e-3
    w = bowls.model.w.detach().double().numpy() - step * g  # after a step of each giver
    after = ((w[None] - GOALS.double().numpy()[:, None]) ** 2).sum(2) / 2  # [receiver, giver]
    ahead = (1 - after / (lengths[:, None] / 2)) / step
    np.testing.assert_allclose(affinity, ahead + step * lengths[None] / lengths[:, None], atol=1e-6)
    assert abs(affinity - affinity.T).max() > 0.1, "the receiver's loss divides"


def test_a_gradient_meets_those_of_the_other_half_only() -> None:
    bowls = Bowls()
    found = probe_of(bowls, (Half(), Half(0.7))).measure(1)
    one, other = bowls.gradients(), bowls.gradients(0.7)
    products, lengths = one @ other.T, np.outer(*(np.linalg.norm(each, axis=1) for each in (one, other)))
    losses = [(each**2).sum(1)[:, None] / 2 for each in (one, other)]
    expected = (products / losses[0] + products.T / losses[1]) / 2
    np.testing.assert_allclose(found.affinity.numpy(), expected, atol=1e-6)
    cosine = products / lengths
    np.testing.assert_allclose(found.cosine.numpy(), (cosine + cosine.T) / 2, atol=1e-6)
    np.testing.assert_array_equal(found.conflict.numpy(), ((cosine < 0) + 1.0 * (cosine.T < 0)) / 2)


def test_tasks_of_two_data_sets_are_compared_too() -> None:
    sets = [("c", "d"), ("a", "b")]
    apart = probe_of(Bowls(), *((Half(0.0, names), Half(0.7, names)) for names in sets)).measure(1)
    together = probe_of(Bowls(), (Half(), Half(0.7))).measure(1)
    torch.testing.assert_close(apart.affinity, together.affinity)


def test_no_gradient_has_no_direction_and_no_conflict() -> None:
    rows = [torch.tensor([[0.0, 0.0], [1.0, 2.0]])], torch.tensor([0.0, 1.0])
    found = compare(rows, rows)
    np.testing.assert_allclose(found.cosine.numpy(), [[0, 0], [0, 1]], atol=1e-6)
    assert not found.conflict.any()
    assert torch.isfinite(found.affinity).all()


def test_probes_add_up_by_epoch_and_by_odd_and_even() -> None:
    bowls = Bowls()
    shifts = {1: 0.0, 2: 3.0, 3: 0.5}
    probe = GradientProbe(
        bowls,  # type: ignore[arg-type]
        lambda number: [(Half(shifts[number]), Half(shifts[number]))],
        every=2,
        weights=[bowls.model.w],
    )
    each = {number: probe.measure(number) for number in shifts}
    for step, epoch in ((1, 0), (2, 0), (3, 0), (4, 1), (5, 1), (6, 1)):
        probe.on_step(EpochProgress(epoch=epoch, step=step))
        assert bowls.model.training
    restored = GradientProbe(bowls, lambda _: [], every=2, weights=[bowls.model.w])  # type: ignore[arg-type]
    restored.put_back(probe.take())
    found = restored.result()
    assert list(found.probes) == [2, 1]
    odd = (each[1].affinity + each[3].affinity) / 2
    np.testing.assert_allclose(found.affinities, torch.stack([odd, each[2].affinity]).numpy())
    np.testing.assert_allclose(found.affinity, sum(one.affinity for one in each.values()).numpy() / 3)
    np.testing.assert_allclose(found.conflicts, sum(one.conflict for one in each.values()).numpy() / 3)
    off = ~torch.eye(4, dtype=torch.bool)
    assert [(epoch.epoch, epoch.probes) for epoch in found.epochs] == [(0, 1), (1, 2)]
    assert found.epochs[0].cosine == pytest.approx(float(each[1].cosine[off].mean()))
    assert found.epochs[0].cosine_null == pytest.approx(1.0)
    assert found.epochs[0].conflicts == pytest.approx(float(each[1].conflict[off].mean()))
    last = np.mean([float(each[number].cosine[off].mean()) for number in (2, 3)])
    assert found.epochs[1].cosine == pytest.approx(last)
    assert found.epochs[1].conflicts_null == 0
    agree = np.sign(odd.numpy()) == np.sign(each[2].affinity.numpy())
    assert 0 < found.sign_agreement == agree[off.numpy()].mean() < 1
    assert from_json(asdict(found)) == found


# ---- In a unit ---------------------------------------------------------------------------------------------

Trained = tuple[UnitRecord, Mapping[int, Mapping[str, torch.Tensor]]]


@dataclass
class Trainer:
    suite: Callable
    folder: Path
    kept: list[Any] = field(default_factory=list)

    def __call__(self, table: Path, *changes: str) -> Trained:
        usual = ("architecture=mtl", "training.learning_rate=1e-3")
        member = resolve(cache := InputCache(), self.suite(table, *usual, *changes).members[0])
        job, inputs = member.children[0].jobs[0], cache.inputs(member.member.settings)
        self.kept.append(job)
        callbacks = UnitCallbacks(ignore, lambda *_: None, lambda epoch: epoch)
        return train_unit(job, inputs, callbacks, Checkpoints(self.folder / str(len(self.kept))))


@pytest.fixture
def trained(suite: Callable, tmp_path: Path) -> Trainer:
    return Trainer(suite, tmp_path)


PROBE = "training.probe={every: 2, scope: SCOPE}"


@pytest.mark.parametrize(
    "changes",
    [
        ("architecture=gmhl", "encoder.dropout=0.3", "training.objective=random"),
        ("encoder.dropout=0.3", "encoder.frozen_layers=1", "heads.tagging_layer=linear"),
    ],
)
def test_training_is_the_same_bit_for_bit(
    trained: Trainer, table: Callable, changes: tuple[str, ...]
) -> None:
    own = table("t")
    scope = "top:1" if "encoder.frozen_layers=1" in changes else "encoder"
    record, weights = trained(own, *changes, PROBE.replace("SCOPE", scope))
    plain, expected = trained(own, *changes)
    assert record.probe is not None
    assert plain.probe is None
    assert sum(record.probe.probes) == 5  # 10 steps
    for epoch, state in expected.items():
        assert all(torch.equal(weights[epoch][name], weight) for name, weight in state.items())
    for outputs, others in zip(record.curve, plain.curve, strict=True):
        assert all(np.array_equal(outputs[name], others[name]) for name in others)
    keys = [job.unit.key for job in trained.kept]
    assert keys[0] != keys[1], "a probed unit is another one"


def test_a_planted_conflict_is_found(trained: Trainer, table: Callable) -> None:
    """`bone` is no longer its own label, but the opposite of `heart`; `lung` is `heart` again."""
    own = table("t")
    rows = [line.split(",") for line in own.read_text(encoding="utf-8").splitlines()]
    heart, lung, bone = (rows[0].index(name) for name in ("heart", "lung", "bone"))
    for row in rows[1:]:
        row[lung], row[bone] = row[heart], str(1 - int(row[heart]))
    own.write_text("\n".join(map(",".join, rows)), encoding="utf-8")
    record, _ = trained(own, PROBE.replace("SCOPE", "top:1"), "training.epochs=4", "training.batch_size=16")
    found = record.probe
    assert found is not None
    names = list(found.tasks)
    heart, lung, bone = (names.index(name) for name in ("heart", "lung", "bone"))
    cosines = np.array(found.cosines)
    assert cosines[heart, bone] < cosines[heart, lung]
    assert found.affinity[heart, bone] < found.affinity[heart, lung]


def test_documents_of_a_probe_are_its_own(trained: Trainer, table: Callable, suite: Callable) -> None:
    member = resolve(cache := InputCache(), suite(table("t"), "architecture=mtl").members[0])
    job, inputs = member.children[0].jobs[0], cache.inputs(member.member.settings)
    parts = inputs.parts(job.unit.model.tasks, job.fold.train)
    parts = tuple(replace(part, multiple=1000) for part in parts)  # as steps are recorded on a GPU
    for size in (1, 5, 8, 999):
        mixture = Mixture(parts, (size,), DRAWS["in_proportion"]())
        ((one, other),) = mixture.halves(seed=0, number=1)
        documents = [*one.index, *other.index]
        assert len(set(documents)) == len(documents) == min(max(size, 2), len(job.fold.train))
        assert set(documents) <= set(job.fold.train)
        for half in (one, other):
            assert half.input_ids.shape[1] == half.attention_mask.sum(1).max()
        ((again, _),) = mixture.halves(seed=0, number=1)
        assert (again.index == one.index).all()
        ((later, _),) = mixture.halves(seed=0, number=2)
        assert size == 999 or list(later.index) != list(one.index)
    single = replace(parts[0], index=parts[0].index[:1])
    ((one, other),) = Mixture((single,), (8,), DRAWS["in_proportion"]()).halves(seed=0, number=1)
    assert one.index == other.index


def test_the_top_layers_are_those_that_are_trained(suite: Callable, table: Callable) -> None:
    member = resolve(cache := InputCache(), suite(table("t"), "architecture=mtl").members[0])
    encoder = cache.inputs(member.member.settings).encoder.module
    layers = list(encoder.encoder.layer)
    assert highest(encoder, 1) == (layers[1],)
    assert highest(encoder, None) == tuple(layers)
