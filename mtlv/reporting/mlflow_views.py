"""Prepared views of a suite in MLflow's menu: Runs, Compare, Tasks, Heads and Elbow."""

from __future__ import annotations

from collections.abc import Sequence

from mtlv.evaluation.learned import CONSTANT, OF_WORDS
from mtlv.evaluation.metrics import SHOWN_OF_TASKS
from mtlv.evaluation.scoring import all_need_thresholds
from mtlv.plan import slugs
from mtlv.planning.resolve import ResolvedMember
from mtlv.reporting.metric_titles import main_title, metric_title
from mtlv.reporting.metrics import MetricNames
from mtlv.tracking import Chart, View
from mtlv.tracking.reader import MEMBER

BEFORE_TASKS = (
    "running",
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
)
AFTER_TASKS = ("time", "cost", "pictures")
"""Chart sections that MLflow creates from metric keys, up to the last `/`; tasks are in between."""
OF_TASKS = (
    *("f1", *SHOWN_OF_TASKS, "support", "threshold"),
    *(CONSTANT, OF_WORDS),
)
JOINT, OTHERS = ("f1_macro", "f1_micro", "hamming_score"), ("score",)
"""Main metrics of a plan: if its tasks are evaluated jointly, and otherwise."""

DISTINGUISHING_COLUMNS = (
    "params.k",
    *(f"tags.mtlv.{tag}" for tag in ("score", "architecture", "grouping", "encoder")),
)
"""Columns that distinguish the runs, after their scores."""
TIME = "metrics.time/train_seconds"
RUNNING = "While it runs: means of all models so far, by their epochs"
SEVERAL, SINGLE = "Heads of several tasks, mean of the folds", "Heads of one task, mean of the folds"
MOST = 40  # maximum number of charts, or of lines in a chart, to stay readable


def ready_views(members: Sequence[ResolvedMember], *, ended: bool = False) -> tuple[View, ...]:
    """Return the views of a suite's runs, from its tasks and heads; known before training.

    Charts of what is known while the suite runs are first, and last once it has `ended`.
    """
    suite = _Suite(members)
    first = (*suite.results, TIME)
    views = [
        View("Runs", MEMBER, (*first, *DISTINGUISHING_COLUMNS, "tags.mtlv.state"), best=suite.results[0]),
        # MLflow nests runs only in a view that neither filters nor sorts by a metric.
        View("Folds", columns=(*first, "params.fold", "params.seed", *DISTINGUISHING_COLUMNS)),
        _compare(suite, ended),
        _tasks(suite),
        _heads(suite),
    ]
    if any(fold_run.groups is not None for member in members for fold_run in member.children):
        views.append(_elbow(suite))
    return tuple(views)


class _Suite:
    """Content of the views of some members."""

    def __init__(self, members: Sequence[ResolvedMember]) -> None:
        self.members = members
        known = {task.name: task for member in members for task in member.tasks}
        self.title = main_title(list(known.values()))
        self.tasks = {slug: known[name].main_metric for name, slug in slugs(known).items()}
        joint = [all_need_thresholds(member.tasks) for member in members]
        self.figures = (*(JOINT if any(joint) else ()), *(() if all(joint) else OTHERS))

    @property
    def mains(self) -> tuple[str, ...]:
        """Return the main metrics of the members."""
        return tuple(figure for figure in (JOINT[0], *OTHERS) if figure in self.figures)

    @property
    def results(self) -> tuple[str, ...]:
        """Return the result columns of a table of runs; the tag `mtlv.score` has their spread."""
        return tuple(f"metrics.test/{main}" for main in self.mains)

    @property
    def baseline(self) -> str:
        """Return the uid of the member with one model per task, or of the first one, as on the page."""
        single = (member for member in self.members if member.settings.architecture.name == "stl")
        return next(single, self.members[0]).uid

    def view(self, name: str, columns: Sequence[str], sections: dict, only: str = "") -> View:
        """Return a view of the members."""
        figures = dict.fromkeys((*OF_TASKS, *self.tasks.values()))
        of_tasks = (f"{split}.tasks.{figure}" for split in ("val", "test") for figure in figures)
        closed = (*BEFORE_TASKS, *of_tasks, *AFTER_TASKS)
        return View(name, MEMBER, tuple(columns), sections, closed, only, self.results[0])


def _each(kind: str, *keys: str) -> tuple[Chart, ...]:
    """Return a chart for each key."""
    return tuple(Chart(kind, (key,)) for key in keys)  # type: ignore[arg-type]


def _compare(suite: _Suite, ended: bool) -> View:
    ranked = ["val/average_precision_macro"] if JOINT[0] in suite.figures else []
    running = {RUNNING: _each("line", "running/loss", "running/score")}
    sections = {
        "Learning curves, mean of the folds": _each(
            "line", "train/loss", *(f"val/{main}" for main in suite.mains), *ranked
        ),
        "Test": _each("bar", *(f"test/{figure}" for figure in suite.figures)),
        "Cost against quality": (
            *(Chart("scatter", ("time/train_seconds", f"test/{main}")) for main in suite.mains),
            *_each("bar", "time/train_seconds", "cost/documents_per_second"),
        ),
        "What differs": (Chart("difference", (suite.baseline,)),),
    }
    columns = (*suite.results, TIME, *DISTINGUISHING_COLUMNS)
    return suite.view("Compare", columns, sections | running if ended else running | sections)


def _tasks(suite: _Suite) -> View:
    tasks = list(suite.tasks.items())[:MOST]
    sections = {
        f"Test {suite.title} of each task": _each(
            "bar", *(f"test.tasks.{main}/{task}" for task, main in tasks)
        ),
        f"Validation {suite.title} of each task, mean of the folds": _each(
            "line", *(f"val.tasks.{main}/{task}" for task, main in tasks)
        ),
        "Pictures": (Chart("image", ("pictures/per_task_f1",)),),
    }
    columns = (*(f"metrics.test.tasks.{main}/{task}" for task, main in tasks), *DISTINGUISHING_COLUMNS)
    return suite.view("Tasks", columns, sections)


def _heads(suite: _Suite) -> View:
    groups: dict[str, None] = {}
    single: dict[str, None] = {}
    for member in suite.members:
        for fold_run in member.children:
            names = MetricNames(fold_run.plan, member.tasks)
            for head, slug in names.heads.items():
                (groups if len(names.members[head]) > 1 else single)[slug] = None
    sections = {}
    for title, heads in ((SEVERAL, groups), (SINGLE, single)):
        shown = list(heads)[:MOST]
        if shown:
            keys = ("train.heads.loss", "val.heads.f1_macro", "val.heads.average_precision_macro")
            sections[title] = tuple(Chart("line", tuple(f"{key}/{h}" for h in shown)) for key in keys)
    return suite.view("Heads", (*suite.results, *DISTINGUISHING_COLUMNS), sections)


def _elbow(suite: _Suite) -> View:
    sections = {
        "Elbow: over the number of groups": _each("line", "elbow/inertia", "elbow/silhouette"),
        "Pictures": _each("image", "pictures/elbow", "pictures/task_map"),
        f"{metric_title(suite.mains[0]).removesuffix(' macro')} over k": (
            Chart("scatter", ("params.k", f"test/{suite.mains[0]}")),
        ),
    }
    columns = (*suite.results, *DISTINGUISHING_COLUMNS)
    return suite.view("Elbow", columns, sections, "tags.`mtlv.grouping` != 'none'")
