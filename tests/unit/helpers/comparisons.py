"""A made-up comparison: realistic in shape, its figures computed from its own scores.

Tests get `a_comparison` by the fixture `comparison_of`, or by `from comparisons import a_comparison`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mtlv.evaluation.compared_runs import ComparedFold, ComparedGroups, ComparedRun, Comparison, TaskInfo
from mtlv.evaluation.metrics import evaluate
from mtlv.evaluation.thresholds import fit_thresholds, grid_values
from mtlv.plan import Scores, group_name
from mtlv.plan.scores import TaskScores
from mtlv.registries import ARCHITECTURES

DOCUMENTS = 120  # of the test and of the validation part, each
EPOCHS = 5
FOLDS = 4  # children are folds 0..3 of the first seed, then of the next
GRID = grid_values(0.05, 0.95, 0.05)
TASKS = (
    "Opacity", "<script>alert(1)</script>", "Atelectasis, Bibasilar", "Cardiomegaly", "Pulmonary Atelectasis",
    "Calcified Granuloma", "Pleural Effusion", "Emphysema", "Hypoinflation", "Thoracic Vertebrae",
    "Nodule & Mass", "Scoliosis", "Fractures, Bone", "Catheters, Indwelling", "Surgical Instruments",
    "Pulmonary Congestion", "Granulomatous Disease", "Deformity", "Hernia, Hiatal", "Spondylosis",
    "Musculoskeletal and Neural Physiological Phenomena", "Osteophyte", "Airspace Disease",
)  # fmt: skip
# architecture, number of groups, features, encoder: the first four are one suite, the rest a sweep.
RECIPES = (
    ("stl", 0, "", "minilm"), ("mtl", 0, "", "minilm"),
    ("gmtl", 4, "label_description", "minilm"), ("gmhl", 4, "label_description", "minilm"),
    ("gmtl", 3, "label_description", "minilm"), ("gmtl", 5, "label_description", "minilm"),
    ("gmtl", 3, "label_name", "minilm"), ("gmtl", 4, "label_name", "minilm"),
    ("gmtl", 5, "label_name", "minilm"), ("gmhl", 3, "label_name", "minilm"),
    ("stl", 0, "", "biobert-base-cased-v1.1"), ("mtl", 0, "", "biobert-base-cased-v1.1"),
)  # fmt: skip


def a_comparison(
    runs: int = 4, children: int = 3, tasks: int = 6, seed: int = 0, **changes: Any
) -> Comparison:
    """A comparison of made-up runs; the same arguments give the same numbers.

    Args:
        runs: 1 to any number; after 12 the recipes repeat with another learning rate.
        children: of each run, paired by fold and seed.
        tasks: 3 or more, the most frequent first; one holds markup, one a comma.
        seed: of everything drawn.
        changes: fields of the Comparison to set.
    """
    corpus = _corpus(tasks, children, seed)
    made = tuple(_run(corpus, number, seed) for number in range(runs))
    support = {name: fmean(made[0].of_task(name, "support")) for name in corpus.names}
    infos = tuple(TaskInfo(name, support=size, documents=DOCUMENTS) for name, size in support.items())
    comparison = Comparison(
        title="Open-I, made up",
        runs=made,
        tasks=infos,
        baseline="r0",
        texts={name: f"Report {name}: <b>no</b> acute finding, heart & lungs." for name in corpus.ids},
        created="2026-07-01 12:00",
    )
    return replace(comparison, **changes)


@dataclass(frozen=True)
class _Corpus:
    """Targets [N, T] of the test part, and of the validation part of each child."""

    names: tuple[str, ...]
    ids: tuple[str, ...]
    rates: NDArray[np.float64]
    test: NDArray[np.int8]
    validation: tuple[NDArray[np.int8], ...]


def _corpus(tasks: int, children: int, seed: int) -> _Corpus:
    rng = np.random.default_rng([seed, tasks])
    names = (*TASKS, *(f"Finding {number}" for number in range(len(TASKS) + 1, tasks + 1)))[:tasks]
    rates = np.geomspace(0.35, 0.02, tasks)

    def draw() -> NDArray[np.int8]:
        targets = (rng.random((DOCUMENTS, tasks)) < rates).astype(np.int8)
        targets[rng.integers(DOCUMENTS, size=tasks), np.arange(tasks)] = 1  # every task once at least
        return targets

    test = draw()
    order = np.argsort(-test.sum(axis=0), kind="stable")
    validation = tuple(draw()[:, order] for _ in range(children))
    ids = tuple(f"CXR{number}" for number in range(DOCUMENTS))
    return _Corpus(names, ids, rates[order], test[:, order], validation)


def _run(corpus: _Corpus, number: int, seed: int) -> ComparedRun:
    name, k, features, encoder = RECIPES[number % len(RECIPES)]
    again = number // len(RECIPES)
    rng = np.random.default_rng([seed, number])
    grouped = ARCHITECTURES[name].grouped
    k = min(k, len(corpus.names) - 1)
    groups = _groups(corpus.names, k, features, rng) if grouped else None
    plan = ARCHITECTURES[name].build(corpus.names, groups.groups if groups else (), 1)
    parts = [name, *([f"k={k}", features] if grouped else []), encoder, *([f"lr={again}"] if again else [])]
    models = tuple(tuple(head.tasks for head in model.heads) for model in plan.models)
    return ComparedRun(
        key=f"r{number}",
        run_id=f"{number:032x}",
        name=" · ".join(parts),
        architecture=name,
        encoder=encoder,
        dataset="openi",
        grouping=f"kmedoids {features} k={k}" if grouped else "none",
        status="FINISHED",
        data_digest="0123456789ab",
        params=_params(name, encoder, k, features, again),
        children=tuple(_child(corpus, at, number, models, seed) for at in range(len(corpus.validation))),
        plan=models,
        groups=groups,
        link=f"http://127.0.0.1:5000/#/experiments/1/runs/{number:032x}",
    )


def _params(name: str, encoder: str, k: int, features: str, again: int) -> dict[str, str]:
    params = {"architecture.name": name, "encoder.name": encoder, "data.name": "openi", "seed": "0"}
    params |= {"training.epochs": str(EPOCHS), "training.learning_rate": f"{2e-5 * (1 + again):g}"}
    return params | ({"grouping.k": str(k), "grouping.features": features} if k else {})


def _groups(names: Sequence[str], k: int, features: str, rng: np.random.Generator) -> ComparedGroups:
    base = np.random.default_rng(len(features)).normal(size=(len(names), 2))  # one map per features
    most = min(8, len(names))
    of_k = {n: _nearest(names, base, n) for n in range(1, most + 1)}
    groups = _nearest(names, base, k)
    elbow = {
        n: (20.0 / n + 0.3 * float(rng.random()), None if n == 1 else 0.1 + 0.3 / (1 + abs(n - 4)))
        for n in range(1, most + 1)
    }
    return ComparedGroups(
        groups=groups,
        reason=f"k = {k} was set; the elbow recommends {min(4, most)}",
        elbow=elbow,
        recommended=min(4, most),
        of_k=of_k,
        points={name: (float(x), float(y)) for name, (x, y) in zip(names, base, strict=True)},
        stability={"without special tokens": 0.04 + 0.1 * k, "without scaling": 0.83},
        medoids=tuple(group[0] for group in groups),
    )


def _nearest(names: Sequence[str], base: np.ndarray, k: int) -> tuple[tuple[str, ...], ...]:
    """The tasks by which of the first k is nearest, that one first."""
    label = ((base[:, None] - base[:k]) ** 2).sum(axis=2).argmin(axis=1)
    label[:k] = range(k)
    return tuple(tuple(name for name, g in zip(names, label, strict=True) if g == n) for n in range(k))


def _child(
    corpus: _Corpus, at: int, number: int, plan: tuple[tuple[tuple[str, ...], ...], ...], seed: int
) -> ComparedFold:
    rng = np.random.default_rng([seed, number, at])
    skill = np.random.default_rng([seed, number]).normal(1.5, 0.3, len(corpus.names)) + 0.15 * (number % 3)
    validation = _scores(corpus, "validation", corpus.validation[at], skill, rng)
    test = _scores(corpus, "test", corpus.test, skill, rng)
    limits = fit_thresholds(validation, corpus.names, scope="per_plan", fixed=0.5, grid=GRID).values
    found, chosen = evaluate(test, corpus.names, limits), evaluate(validation, corpus.names, limits)
    metrics = {f"test/{key}": value for key, value in found.plan.as_dict().items()}
    metrics |= {f"best/{key}": value for key, value in chosen.plan.as_dict().items()}
    metrics |= _costs(len(plan), rng)
    curves = _curves({name: task.f1 for name, task in chosen.tasks.items()}, plan, rng)
    metrics |= {"best/epoch": float(EPOCHS - 1), "train/loss": curves["train/loss"][-1][1]}
    return ComparedFold(
        run_id=f"{number:016x}{at:016x}",
        fold=at % FOLDS,
        seed=at // FOLDS,
        metrics=metrics,
        tasks={name: task.as_dict() for name, task in found.tasks.items()},
        curves=curves,
        validation=validation,
        test=test,
    )


def _scores(
    corpus: _Corpus, split: str, targets: NDArray[np.int8], skill: NDArray, rng: np.random.Generator
) -> Scores:
    """Probabilities [N, T]: noise, and `skill` [T] for the documents that have the label."""
    logits = rng.normal(size=targets.shape) + skill * (2 * targets - 1) + np.log(corpus.rates) / 3
    outputs = 1 / (1 + np.exp(-logits))
    ids = tuple(corpus.ids if split == "test" else (f"V{name}" for name in corpus.ids))
    known = np.ones(len(ids), bool)
    tasks = {name: TaskScores(outputs[:, t], targets[:, t], known) for t, name in enumerate(corpus.names)}
    return Scores((f"unit-{split}",), split, ids, tasks)


def _costs(models: int, rng: np.random.Generator) -> dict[str, float]:
    seconds = 90.0 * models * (1 + 0.05 * float(rng.random()))
    return {
        "time/train_seconds": seconds,
        "time/total_seconds": seconds + 40.0,
        "cost/documents_per_second": 2500.0 * EPOCHS * models / seconds,
        "cost/peak_memory_mb": 1450.0 + 12.0 * float(rng.random()),
        "cost/parameters": 22_713_216.0 * models,
    }


def _curves(
    final: dict[str, float], plan: tuple[tuple[tuple[str, ...], ...], ...], rng: np.random.Generator
) -> dict[str, list[tuple[int, float]]]:
    """Learning curves that end at the validation F1 of each task."""
    rise = 1 - np.exp(-2.5 * np.arange(1, EPOCHS + 1))
    rise /= rise[-1]
    tasks = {name: _curve(f1 * rise**0.5) for name, f1 in final.items()}
    heads = {group_name(head): head for model in plan for head in model}
    out = {f"val.tasks.f1/{name}": curve for name, curve in tasks.items()}
    for name, members in heads.items():
        out[f"val.heads.f1_macro/{name}"] = _mean([tasks[task] for task in members])
        fall = np.exp(-(0.35 + 0.3 * fmean(final[task] for task in members)) * np.arange(EPOCHS))
        loss = (0.4 + 0.2 * rng.random()) * fall + 0.06
        out[f"train.heads.loss/{name}"] = _curve(loss)
    out["val/f1_macro"] = _mean(list(tasks.values()))
    out["train/loss"] = _mean([out[f"train.heads.loss/{name}"] for name in heads])
    return out


def _curve(values: NDArray[np.float64]) -> list[tuple[int, float]]:
    return [(epoch, float(value)) for epoch, value in enumerate(values)]


def _mean(curves: Sequence[Sequence[tuple[int, float]]]) -> list[tuple[int, float]]:
    return [(points[0][0], fmean(value for _, value in points)) for points in zip(*curves, strict=True)]
