"""Made-up predictions: groups with planted effects are measured, and others follow from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from mtlv_lab.page import section
from mtlv_lab.prediction import Prediction
from mtlv_lab.surrogate import fit_surrogate

from mtlv.comparison.blocks import Section
from mtlv.evaluation.compared_runs import ComparedFold, ComparedGroups, ComparedRun, Comparison, TaskInfo
from mtlv.grouping import best_partition, random_groups

TASKS = tuple("abcdefghi")
HELP = 0.02
PLANTED = ("abc", "def", "ghi")  # tasks help each other within these, and harm others


def planted(strength: float = HELP) -> np.ndarray:
    """[T, T] effects; each task gains its own amount, so that their gains have an order."""
    of = np.array([next(n for n, names in enumerate(PLANTED) if task in names) for task in TASKS])
    effects = np.where(of[:, None] == of, 1.0, -1.0) * strength * (1 + np.arange(len(TASKS)))[:, None] / 4
    np.fill_diagonal(effects, 0.0)
    return effects


class World:
    """Scores of tasks in any group: 0.5, the effects of the others, and noise."""

    def __init__(self, effects: np.ndarray, noise: float = 0.0, seed: int = 0) -> None:
        self.effects, self.noise, self.rng = effects, noise, np.random.default_rng(seed)

    def scores(self, member: np.ndarray) -> np.ndarray:
        noise = self.noise * self.rng.normal(size=len(member))
        return np.where(member, 0.5 + self.effects @ member + noise, np.nan)


def a_prediction(world: World, partitions: int = 30, *, seed: int = 0, **changes: Any) -> Prediction:
    """The prediction of a surrogate from random partitions into 2, 3, 4 groups."""
    found: dict[frozenset[int], np.ndarray] = {}
    rows: dict[str, tuple[int, ...]] = {}
    for number in range(partitions):
        labels = np.array(random_groups(len(TASKS), 2 + number % 3, seed=seed + number).labels)
        groups = [frozenset(np.flatnonzero(labels == k).tolist()) for k in range(labels.max() + 1)]
        for group in groups:
            if group not in found:
                found[group] = world.scores(np.isin(np.arange(len(TASKS)), list(group)))
        rows[f"drawn {number + 1}"] = tuple(list(found).index(group) for group in groups)
    scores = np.array(list(found.values()))
    member = np.isfinite(scores)
    fitted = fit_surrogate(member, scores)
    labels = np.array(best_partition(fitted.value).labels)
    parts = [labels == k for k in range(labels.max() + 1)]
    made = Prediction(
        feature="surrogate",
        tasks=TASKS,
        groups=tuple(tuple(np.array(TASKS)[part].tolist()) for part in parts),
        member=member,
        scores=scores,
        held_out=fitted.held_out,
        chosen=np.nansum([fitted.value.scores(part) for part in parts], axis=0),
        effects=fitted.value.effects,
        errors=fitted.errors,
        together=member.astype(int).T @ member.astype(int),
        units=len(member),
        seconds=7200.0,
        partitions=rows,
        alike=True,
        epochs=(2, 2),
    )
    return replace(made, **changes)


def regrouped(found: Prediction, *groups: str) -> Prediction:
    """The same measurements, with other groups that follow."""
    names = tuple(map(tuple, groups))
    chosen = np.full(len(TASKS), np.nan)
    for group in names:
        own = np.isin(TASKS, group)
        alone = 0.5 * own
        chosen[own] = (alone + found.effects @ own)[own]
    return replace(found, groups=names, chosen=chosen)


@dataclass(frozen=True)
class PredictedFold(ComparedFold):
    """A fold with the prediction from which its groups follow."""

    prediction: Prediction | None = None


def predictions(run: ComparedRun) -> dict[int, Prediction]:
    """Return the predictions of a made-up run by fold."""
    return {child.fold: child.prediction for child in run.children if child.prediction}


def built(comparison: Comparison) -> Section | None:
    """Return the section of made-up runs."""
    return section(comparison, {run.key: predictions(run) for run in comparison.runs})


def a_run(key: str, kept: Any, *, prediction: Prediction | None = None, **changes: Any) -> ComparedRun:
    """A run with these validation scores by task; its test scores are 0.1 lower."""
    scores = dict(zip(TASKS, map(float, kept), strict=True))
    groups = prediction.groups if prediction else PLANTED
    own = tuple(map(tuple, groups))
    child = PredictedFold(
        run_id=key,
        fold=0,
        seed=0,
        metrics={"test/f1_macro": 0.5, "time/train_seconds": 600.0},
        tasks={name: {"f1": 0.5, "average_precision": value - 0.1} for name, value in scores.items()},
        kept=scores,
        prediction=prediction,
    )
    settings = {"training.epochs": "2", "grouping.method": "best", "k": str(len(own))}
    made = ComparedRun(
        key=key,
        run_id=key,
        name=key,
        architecture="gmtl",
        encoder="tiny",
        dataset="made up",
        grouping="",
        status="FINISHED",
        data_digest="same",
        params=settings | changes.pop("params", {}),
        children=(child,),
        plan=tuple((group,) for group in own),
        groups=ComparedGroups(own),
    )
    return replace(made, **changes)


def compared(*runs: ComparedRun) -> Comparison:
    """A comparison with the first run as its baseline."""
    return Comparison(
        "made up", runs, tuple(TaskInfo(name, support=10, documents=100) for name in TASKS), runs[0].key
    )


def chosen_scores(world, found):
    out = np.full(len(TASKS), np.nan)
    for group in found.groups:
        own, row = np.isin(TASKS, group), found.row(group)
        out[own] = (world.scores(own) if row is None or not found.alike else found.scores[row])[own]
    return out


def page(noise=0.02, strength=0.02, controls=2, make=lambda found: found, **changes):
    """A comparison of a baseline, random runs and the run whose groups follow."""
    world = World(planted(strength), noise=noise)
    found = make(a_prediction(world, **changes))
    run = a_run("proposed", chosen_scores(world, found), prediction=found)
    random = [
        a_run(f"drawn {n}", [0.4 + 0.1 * n] * 9, params={"grouping.method": "random_even"})
        for n in range(controls)
    ]
    return compared(a_run("base", [0.5] * 9), *random, run)
