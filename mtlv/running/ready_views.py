"""The views that a suite puts into MLflow's menu: Runs, Compare, Tasks, Heads and Elbow."""

from __future__ import annotations

from collections.abc import Sequence

from mtlv.plan import slugs
from mtlv.running.record import Names
from mtlv.running.resolve import Resolved
from mtlv.tracking import Chart, View

OWN_SECTIONS = (
    "train",
    "val",
    "test",
    "best",
    "elbow",
    "grouping.stability",
    "train.heads.loss",
    "train.heads.chosen_epoch",
    "val.heads.f1_macro",
    "val.heads.average_precision_macro",
    *(
        f"{split}.tasks.{figure}"
        for split in ("val", "test")
        for figure in ("f1", "precision", "recall", "average_precision", "support", "threshold")
    ),
    "time",
    "cost",
    "pictures",
)
"""Chart sections that MLflow makes of our metric keys: everything up to the last `/`."""

TOLD_APART = ("tags.mtlv.architecture", "tags.mtlv.encoder", "tags.mtlv.grouping", "params.k")
RESULTS = ("metrics.test/f1_macro", "metrics.test/f1_macro_std", "metrics.test/f1_micro")
SEVERAL, SINGLE = "Heads of several tasks, mean of the folds", "Heads of one task, mean of the folds"
MOST = 40  # charts, or lines in one chart, that can still be looked at


def ready_views(members: Sequence[Resolved]) -> tuple[View, ...]:
    """Views of a suite's runs, made of its tasks and heads; known before anything is trained."""
    views = [_runs(), _compare(), _tasks(members), _heads(members)]
    if any(child.groups is not None for member in members for child in member.children):
        views.append(_elbow())
    return tuple(views)


def _view(name: str, kind: str, columns: Sequence[str], sections: dict, only: str = "") -> View:
    return View(name, kind, tuple(columns), sections, OWN_SECTIONS, only)


def _each(kind: str, *keys: str) -> tuple[Chart, ...]:
    """A chart for each key."""
    return tuple(Chart(kind, (key,)) for key in keys)  # type: ignore[arg-type]


def _runs() -> View:
    """Everything, with the columns that tell runs apart."""
    columns = (*TOLD_APART, "params.fold", "params.seed", *RESULTS, "metrics.time/train_seconds")
    return View("Runs", columns=columns)


def _compare() -> View:
    cost = Chart("scatter", ("time/train_seconds", "test/f1_macro"))
    sections = {
        "Learning curves, mean of the folds": _each(
            "line", "train/loss", "val/f1_macro", "val/average_precision_macro"
        ),
        "Test": _each("bar", "test/f1_macro", "test/f1_micro", "test/hamming_score"),
        "Cost against quality": (
            cost,
            *_each("bar", "time/train_seconds", "cost/documents_per_second"),
        ),
        "What differs": (Chart("difference"),),
    }
    columns = (*TOLD_APART, *RESULTS, "metrics.test/hamming_score", "metrics.time/train_seconds")
    return _view("Compare", "suite member", columns, sections)


def _tasks(members: Sequence[Resolved]) -> View:
    tasks = list(slugs(dict.fromkeys(task for member in members for task in member.tasks)).values())[:MOST]
    sections = {
        "Test F1 of each task": _each("bar", *(f"test.tasks.f1/{task}" for task in tasks)),
        "Validation F1 of each task, mean of the folds": _each(
            "line", *(f"val.tasks.f1/{task}" for task in tasks)
        ),
        "Pictures": (Chart("image", ("pictures/per_task_f1",)),),
    }
    columns = (*TOLD_APART, *(f"metrics.test.tasks.f1/{task}" for task in tasks))
    return _view("Tasks", "suite member", columns, sections)


def _heads(members: Sequence[Resolved]) -> View:
    groups: dict[str, None] = {}
    single: dict[str, None] = {}
    for member in members:
        for child in member.children:
            names = Names(child.plan, member.known)
            for head, slug in names.heads.items():
                (groups if len(names.members[head]) > 1 else single)[slug] = None
    sections = {}
    for title, heads in ((SEVERAL, groups), (SINGLE, single)):
        shown = list(heads)[:MOST]
        if shown:
            keys = ("train.heads.loss", "val.heads.f1_macro", "val.heads.average_precision_macro")
            sections[title] = tuple(Chart("line", tuple(f"{key}/{h}" for h in shown)) for key in keys)
    return _view("Heads", "suite member", (*TOLD_APART, *RESULTS), sections)


def _elbow() -> View:
    sections = {
        "Elbow: over the number of groups": _each("line", "elbow/inertia", "elbow/silhouette"),
        "Pictures": _each("image", "pictures/elbow", "pictures/task_map"),
        "F1 over k": (Chart("scatter", ("params.k", "test/f1_macro")),),
    }
    columns = (*TOLD_APART, *RESULTS)
    return _view("Elbow", "suite member", columns, sections, "tags.`mtlv.grouping` != 'none'")
