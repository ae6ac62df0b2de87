"""Validation scores of the kept weights of a fold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mtlv.evaluation.compared_runs import Curve, TaskInfo
from mtlv.evaluation.scoring import SCORING


def kept_scores(
    content: Mapping[str, Any],
    tasks: Mapping[str, TaskInfo],
    metrics: Mapping[str, float],
    curves: Mapping[str, Curve],
) -> dict[str, float]:
    """Return the validation score of each task at the epoch whose weights were kept, if it is known.

    `content` is `tasks.json`; `tasks` are by slug, `curves` by key with names of tasks.
    """
    heads = {head["name"]: slug for slug, head in content.get("heads", {}).items()}
    scores = {}
    for slug, task in tasks.items():
        head = heads.get(content["tasks"][slug].get("head"), "")
        of_head = metrics.get(f"train.heads.chosen_epoch/{head}", -1)
        epoch = int(metrics.get(f"train.tasks.chosen_epoch/{slug}", of_head))
        watched = SCORING[task.kind].epoch_metric(task)
        curve = dict(curves.get(f"val.tasks.{watched}/{task.name}", ()))
        if epoch in curve:
            scores[task.name] = curve[epoch]
    return scores
