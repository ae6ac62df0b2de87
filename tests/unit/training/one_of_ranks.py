"""A rank of a small training, as a program: what several of them come to is compared with one device."""

from __future__ import annotations

import copy
import importlib.util
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mtlv.data.batches import PartDocuments
from mtlv.data.joined import begins, join
from mtlv.data.mixing import DRAWS, Mixture
from mtlv.data.source import Corpus
from mtlv.data.targets import TARGETS
from mtlv.data.tokens import join_tokens, tokenise
from mtlv.models.encoder import load_encoder
from mtlv.models.kinds import kinds_with
from mtlv.models.layers import compute_twice
from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import HeadSpec
from mtlv.registries import BALANCERS
from mtlv.training import group
from mtlv.training.hooks import EpochLosses, Hook
from mtlv.training.loop import train
from mtlv.training.objective import Objective
from mtlv.training.optim import schedule
from mtlv.training.predict import predict
from mtlv.training.ranks import ALONE, Ranks
from mtlv.training.state import TrainingState

ROOT = Path(__file__).resolve().parents[3]
RATE = 0.02


@dataclass(frozen=True)
class Scenario:
    """How it is trained: of seven documents a batch, so that the last of words has one and a rank none."""

    draw: str = "in_proportion"
    combine: str = "sum"
    head_weights: Mapping[str, float] | None = None
    task_weight: float = 1.0
    accumulation: int = 1
    tagging_layer: str = "linear"
    frozen_layers: int = 0
    twice: bool = False
    clip_norm: float | None = 1.0
    balancer: str = "sum"


SCENARIOS = {
    "plain": Scenario(),
    "each step of all sources, shares by loss": Scenario("rounds", "loss_proportional", accumulation=4),
    "weights, two batches a step": Scenario(
        "uniform",
        "weighted_mean",
        head_weights={"has heart": 0.2, "has lung": 2.0},
        task_weight=3.0,
        accumulation=2,
        clip_norm=None,
    ),
    "learned factors of each source": Scenario("uniform", balancer="uncertainty"),
    "learned factors of rounds": Scenario("rounds", accumulation=4, balancer="uncertainty"),
    "random factors": Scenario(balancer="random", accumulation=2),
    "frozen, computed twice, a field of tags": Scenario(
        combine="mean", tagging_layer="crf", frozen_layers=1, twice=True
    ),
}


class Losses(Hook):
    """What was heard."""

    def __init__(self) -> None:
        self.loss, self.heads, self.documents = 0.0, dict[str, float](), 0

    def on_epoch(self, losses: EpochLosses) -> None:
        self.loss, self.heads, self.documents = losses.loss, losses.heads, losses.documents


def corpora() -> list[Corpus]:
    """Of the tests' conftest, which a program cannot import."""
    path = Path(__file__).parents[1] / "conftest.py"
    spec = importlib.util.spec_from_file_location("small_corpora", path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    rng = np.random.default_rng(0)
    return [make(rng) for make in (made.yes_no, made.relations, made.similar, made.organs)]


def trained(
    scenario: Scenario, members: list[Corpus], encoder: Any, ranks: Ranks, device: torch.device
) -> dict[str, Any]:
    """Weights, losses and scores after one epoch.

    By plain steps along the gradient: AdamW makes rounding as large as any gradient, where that is nothing.
    """
    whole = join(members)
    mixture = _mixture(scenario, members, encoder)
    tasks = {task.name: replace(task, weight=scenario.task_weight) for task in whole.tasks[:1]}
    tasks = {task.name: task for task in whole.tasks} | tasks
    heads = [HeadSpec((name,)) for name in tasks]
    model = MultiTaskModel(
        copy.deepcopy(encoder.module),
        heads,
        tasks=tasks,
        features="mean",
        seed=0,
        dropout=0.0,
        kinds=kinds_with(tagging_scheme="bio", tagging_layer=scenario.tagging_layer),
        frozen_layers=scenario.frozen_layers,
    ).to(device)
    if scenario.twice:
        compute_twice(model.encoder)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=RATE)
    losses = Losses()
    train(
        TrainingState(model, optimizer, schedule(optimizer, "constant", steps=100, warmup=0.0)),
        lambda epoch: mixture.training(seed=0, epoch=epoch),
        objective=Objective(
            heads,
            tasks=tasks,
            combine=scenario.combine,
            head_weights=scenario.head_weights,
            together=mixture.draw.together,
            balancer=BALANCERS[scenario.balancer](len(heads), learning_rate=0.2),
        ).to(device),
        epochs=1,
        accumulation=scenario.accumulation,
        clip_norm=scenario.clip_norm,
        hooks=[losses],
        ranks=ranks,
    )
    scores: dict[str, Any] = {}
    for part in mixture.parts:
        found = predict(model, part, precision="fp32", ranks=ranks)
        scores |= {name: [np.asarray(row).tolist() for row in rows] for name, rows in found.items()}
    return {"weights": model.cpu().state_dict(), "losses": vars(losses), "scores": scores}


def _mixture(scenario: Scenario, members: list[Corpus], encoder: Any) -> Mixture:
    pad = encoder.tokenizer.pad_token_id
    whole = join(members)
    tokens = join_tokens(
        [
            tokenise(m.words or m.texts, encoder.tokenizer, max_length=24, pad=pad, seconds=m.seconds)
            for m in members
        ]
    )
    parts = []
    for member, start in zip(members, begins(members), strict=False):
        columns = {t.name: TARGETS[t.kind].column(t, whole.targets[t.name], tokens) for t in member.tasks}
        parts.append(PartDocuments(tokens, columns, np.arange(start, start + len(member))))
    return Mixture(tuple(parts), (7,) * len(parts), DRAWS[scenario.draw](2.0))


def all_scenarios(ranks: Ranks = ALONE, device: str = "cpu") -> dict[str, dict[str, Any]]:
    """What each comes to, by its name."""
    members = corpora()
    encoder = load_encoder("tiny", texts=[text for member in members for text in member.texts])
    given = (members, encoder, ranks, torch.device(device))
    return {name: trained(scenario, *given) for name, scenario in SCENARIOS.items()}


def of_ranks(folder: Path, world: int, device: str) -> list[dict[str, Any]]:
    """What each of so many ranks comes to, in processes of their own that print nothing."""
    outs = [folder / f"{rank}.pt" for rank in range(world)]
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
    ranks = [
        subprocess.Popen(
            [sys.executable, __file__, str(folder / "meeting"), str(rank), str(world), device, str(out)],
            env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank, out in enumerate(outs)
    ]
    said = [rank.communicate(timeout=300)[0] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0] * world, said
    lines = "".join(said).splitlines()
    assert all("use_cache" in line for line in lines), lines  # Transformers'; no other comes to a terminal
    return [torch.load(out, weights_only=False) for out in outs]


def main(meeting: str, rank: int, world: int, device: str, out: str) -> None:
    os.environ.update(group.surroundings())
    torch.set_num_threads(1)
    ranks = group.join(Path(meeting), rank, world, device=device, seed=0)
    torch.save(all_scenarios(ranks, f"cuda:{rank}" if device == "cuda" else device), out)
    group.LEAVE[device]()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5])
