"""Reads stored runs into a Comparison: members with their folds, curves, scores and groups."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from mtlv.comparison.load.check_scores import Figures, scores_of
from mtlv.comparison.load.select_runs import unique_names
from mtlv.comparison.output_readers import READINGS
from mtlv.errors import TrackingError, shorten
from mtlv.evaluation.compared_runs import (
    F1,
    SCORE,
    ComparedFold,
    ComparedGroups,
    ComparedRun,
    Curve,
    TaskInfo,
)
from mtlv.evaluation.learned import GAIN_HIGH, GAIN_LOW
from mtlv.evaluation.scoring import SCORING
from mtlv.evaluation.significance import Interval
from mtlv.foreign import parse_json, read_json
from mtlv.formatting import list_first
from mtlv.plan import Scores, Task
from mtlv.plan.shape import StageShape
from mtlv.reporting.plan_result import ENSEMBLE
from mtlv.tracking.mlflow_reader import MlflowReader
from mtlv.tracking.reader import FOLD, KIND, PARENT, StoredRun

VALIDATION, TEST = "scores/validation.parquet", "scores/test.parquet"
TASK_METRICS = "test.tasks."
ONE_BY_ONE = 20  # with more members, all folds are requested together
WITHOUT_FILE = ("train/loss", "val/f1_macro", "val/score")  # curves of a run that has not ended
OF_MEMBER = ("tasks.json", "plan.json", "grouping/groups.json")  # folds write them earlier


@dataclass(frozen=True)
class LoadedRuns:
    """Loaded runs, their tasks, warnings, and their folds as stored, by id."""

    runs: tuple[ComparedRun, ...]
    tasks: tuple[TaskInfo, ...]
    warnings: tuple[str, ...] = ()
    folds: Mapping[str, StoredRun] = field(default_factory=dict, repr=False)


@dataclass
class _Files:
    """Artifacts of several runs, downloaded together."""

    reader: MlflowReader
    _known: dict[tuple[str, str], Path | None] = field(default_factory=dict)

    def fetch(self, runs: Sequence[StoredRun], *names: str) -> None:
        missing = [(run, name) for run in runs for name in names if (run.id, name) not in self._known]
        for (run, name), path in zip(missing, self.reader.files(missing), strict=True):
            self._known[run.id, name] = path

    def json(self, run: StoredRun, name: str) -> Any:
        """Return the content of a JSON artifact, or None if the run does not have it.

        Raises:
            TrackingError: it is not valid JSON.
        """
        path = self._known.get((run.id, name))
        if path is None:
            return None
        try:
            return read_json(path)
        except (OSError, ValueError) as error:
            raise _broken(run, f"the artifact `{name}`", error) from error

    def scores(self, run: StoredRun, name: str, figures: Figures, tasks: Sequence[Task]) -> Scores | None:
        path = self._known.get((run.id, name))
        if path is None:
            return None
        from pyarrow import ArrowException

        try:
            return scores_of(path, Path(name).stem, figures, tasks)
        except (OSError, MemoryError, RecursionError, ArrowException, *NOT_OURS) as error:
            raise _broken(run, f"the artifact `{name}`", error) from error


NOT_OURS = (AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError)
"""Errors raised by content in another layout than `mtlv` writes."""


@contextmanager
def _as_written(run: StoredRun) -> Iterator[None]:
    try:
        yield
    except NOT_OURS as error:
        raise _broken(run, "params or artifacts", error) from error


def _broken(run: StoredRun, what: str, error: Exception) -> TrackingError:
    return TrackingError(
        f"{what} of run `{shorten(run.name)}` ({run.id}) cannot be read",
        got=f"{type(error).__name__}: {error}",
        then="leave out that run, or run its config again",
    )


def read_runs(reader: MlflowReader, members: Sequence[StoredRun]) -> LoadedRuns:
    """Read members and their folds, without their scores.

    Raises:
        TrackingError: the store cannot be read, or none of the members has a finished fold.
    """
    children = _children(reader, members)
    warnings = [
        f"`{run.name}` ({run.status.lower()}) has no finished fold yet and is not shown"
        for run in members
        if not children[run.id]
    ]
    members = [run for run in members if children[run.id]]
    if not members:
        raise TrackingError(
            "none of the runs has a finished fold, so there is nothing to compare",
            then="wait until one is done (`mtlv status`)",
        )
    files = _Files(reader)
    files.fetch(members, *OF_MEMBER, "grouping/elbow.json")
    going = [children[run.id][0] for run in members if files.json(run, "tasks.json") is None]
    files.fetch(going, *OF_MEMBER)
    folds = [fold for run in members for fold in children[run.id]]
    files.fetch(folds, "curves.json", "grouping/groups.json")
    names = unique_names(members)
    sources = [_Source(files, member, children[member.id]) for member in members]
    runs = []
    for i, source in enumerate(sources):
        with _as_written(source.member):
            runs.append(_compared(source, f"r{i}", names[i]))
    warnings += [
        f"`{run.name}` is {run.status.lower()}: more folds may follow"
        for run in runs
        if run.status != "FINISHED"
    ]
    return LoadedRuns(tuple(runs), _tasks(sources), tuple(warnings), {fold.id: fold for fold in folds})


def with_scores(reader: MlflowReader, loaded: LoadedRuns, keys: Collection[str]) -> LoadedRuns:
    """Add the scores of some runs, given their keys: scores are large, and only a few runs can show them.

    Raises:
        TrackingError: the store or a score file cannot be read.
    """
    files = _Files(reader)
    children = [child for run in loaded.runs if run.key in keys for child in run.children]
    files.fetch([loaded.folds[child.run_id] for child in children], VALIDATION, TEST)

    def complete(child: ComparedFold) -> ComparedFold:
        fold = loaded.folds[child.run_id]
        validation, test = (
            files.scores(fold, name, child.tasks, loaded.tasks) for name in (VALIDATION, TEST)
        )
        return replace(child, validation=validation, test=test)

    runs = (
        replace(run, children=tuple(map(complete, run.children))) if run.key in keys else run
        for run in loaded.runs
    )
    return replace(loaded, runs=tuple(runs))


def _children(reader: MlflowReader, members: Sequence[StoredRun]) -> dict[str, list[StoredRun]]:
    """Return the finished folds of each member, sorted by fold and seed."""
    out: dict[str, list[StoredRun]] = {run.id: [] for run in members}
    if len(members) <= ONE_BY_ONE:
        stored = [c for run in members for c in reader.runs([run.experiment], {KIND: FOLD, PARENT: run.id})]
    else:
        stored = reader.runs(sorted({run.experiment for run in members}), {KIND: FOLD})
    for child in stored:
        if child.parent in out and (F1 in child.metrics or SCORE in child.metrics):
            out[child.parent].append(child)
    return {run: sorted(folds, key=_fold_and_seed) for run, folds in out.items()}


def _fold_and_seed(run: StoredRun) -> tuple[int, int]:
    with _as_written(run):
        return int(run.params.get("fold", 0)), int(run.params.get("seed", 0))


@dataclass(frozen=True)
class _Source:
    """Place from which one member is read."""

    files: _Files
    member: StoredRun
    folds: Sequence[StoredRun]

    def json(self, name: str) -> Any:
        """Return the member's file or, if it has not ended yet, the same file of its first fold."""
        content = self.files.json(self.member, name)
        return self.files.json(self.folds[0], name) if content is None else content

    @cached_property
    def content(self) -> Mapping[str, Any]:
        """Return `tasks.json`."""
        return self.json("tasks.json") or {}

    @cached_property
    def tasks(self) -> dict[str, TaskInfo]:
        """Return the tasks by slug."""
        return {slug: _task(entry) for slug, entry in self.content.get("tasks", {}).items()}


def _compared(source: _Source, key: str, name: str) -> ComparedRun:
    member, tags = source.member, source.member.tags
    plan = ("predictions" not in member.params and source.json("plan.json")) or []
    ends = [member.metrics[end] for end in (GAIN_LOW, GAIN_HIGH) if end in member.metrics]
    return ComparedRun(
        key=key,
        run_id=member.id,
        name=name,
        architecture=tags.get("mtlv.architecture", ""),
        encoder=tags.get("mtlv.encoder", ""),
        dataset=tags.get("mtlv.dataset", ""),
        grouping=tags.get("mtlv.grouping", ""),
        status=member.status,
        data_digest=tags.get("mtlv.data_digest", ""),
        params=dict(member.params),
        version=tags.get("mtlv.version", ""),
        learned=tuple(map(tuple, parse_json(tags.get("mtlv.learned", "[]")))),
        stages=StageShape.read(parse_json(tags.get("mtlv.stages", "[]"))),
        children=tuple(_child(source, fold) for fold in source.folds),
        plan=tuple(tuple(tuple(head["tasks"]) for head in model["heads"]) for model in plan),
        groups=_groups(source),
        elsewhere=_differ(source),
        link=source.files.reader.page(member),
        words_interval=Interval(*ends) if len(ends) == 2 else None,
        ensemble={
            key.removeprefix(ENSEMBLE): value
            for key, value in member.metrics.items()
            if key.startswith(ENSEMBLE)
        },
        is_imported="predictions" in member.params,
    )


def _child(source: _Source, fold: StoredRun) -> ComparedFold:
    number, seed = _fold_and_seed(fold)
    curves = _curves(source, fold)
    groups = source.files.json(fold, "grouping/groups.json") or {}
    follows = "grouping.from" in source.member.params or "from" in source.member.params.get("stages", "")
    return ComparedFold(
        run_id=fold.id,
        fold=number,
        seed=seed,
        metrics={key: value for key, value in fold.metrics.items() if not math.isnan(value)},
        tasks=_task_figures(fold.metrics, source.tasks),
        curves=curves,
        kept=_kept_scores(source.content, source.tasks, fold.metrics, curves),
        trained_on=fold.tags.get("mtlv.trained_on", ""),
        measured=bool(groups.get("measured", follows)),
    )


def _task_figures(metrics: Mapping[str, float], tasks: Mapping[str, TaskInfo]) -> dict[str, dict[str, float]]:
    """Return the metrics `test.tasks.M/SLUG` by task name."""
    out: dict[str, dict[str, float]] = {task.name: {} for task in tasks.values()}
    for key, value in metrics.items():
        figure, _, slug = key.removeprefix(TASK_METRICS).partition("/")
        if key.startswith(TASK_METRICS) and slug in tasks and not math.isnan(value):
            out[tasks[slug].name][figure] = value
    return out


def _curves(source: _Source, fold: StoredRun) -> dict[str, list[tuple[int, float]]]:
    """Read `curves.json`, with names instead of slugs; if it is missing, read the curves point by point."""
    curves = source.files.json(fold, "curves.json")
    if curves is None:
        reader = source.files.reader
        curves = {key: reader.history(fold.id, key) for key in WITHOUT_FILE if key in fold.metrics}
    names = {slug: task.name for slug, task in source.tasks.items()}
    heads = {slug: entry["name"] for slug, entry in source.content.get("heads", {}).items()}
    out = {}
    for key, points in curves.items():
        head, slash, slug = key.rpartition("/")
        known = heads if ".heads." in head else names if ".tasks." in head else {}
        out[f"{head}{slash}{known.get(slug, slug)}"] = [
            (int(s), float(v)) for s, v in points if v is not None
        ]
    return out


def _groups(source: _Source) -> ComparedGroups | None:
    content = source.json("grouping/groups.json")
    if content is None:
        return None
    elbow = source.files.json(source.member, "grouping/elbow.json") or {}
    rows = zip(elbow.get("k", ()), elbow.get("inertia", ()), elbow.get("silhouette", ()), strict=True)
    points = {name: (float(x), float(y)) for name, (x, y) in (content.get("map") or {}).items()}
    return ComparedGroups(
        groups=tuple(tuple(members) for members in content["groups"]),
        reason=content.get("reason") or "",
        elbow={int(k): (inertia, silhouette) for k, inertia, silhouette in rows},
        recommended=elbow.get("recommended"),
        tried=elbow.get("tried"),
        of_k=groups_of_k(elbow, list(points)),
        points=points,
        stability=content.get("stability") or {},
        medoids=tuple(content.get("medoids") or ()),
    )


def groups_of_k(elbow: Mapping[str, Any], names: Sequence[str]) -> dict[int, tuple[tuple[str, ...], ...]]:
    """Return the groups of the tasks, by their `names` in order, for each k; the most central task first."""
    out = {}
    labels_and_medoids = zip(elbow.get("labels", ()), elbow.get("medoids", ()), strict=True)
    for labels, medoids in labels_and_medoids if names else ():
        order = sorted(range(len(names)), key=lambda item: item not in medoids)
        k = max(labels) + 1
        groups = (tuple(names[item] for item in order if labels[item] == group) for group in range(k))
        out[k] = tuple(groups)
    return out


def _differ(source: _Source) -> bool:
    """Whether the folds have different groups."""
    groupings = [source.files.json(fold, "grouping/groups.json") for fold in source.folds]
    kinds = {frozenset(map(frozenset, grouping["groups"])) for grouping in groupings if grouping is not None}
    return len(kinds) > 1


def _tasks(sources: Sequence[_Source]) -> tuple[TaskInfo, ...]:
    """Return the tasks of all members, most frequent first; support and size are of the first with the task.

    Raises:
        TrackingError: two members have tasks of the same name with different metrics or kinds.
    """
    out: dict[str, TaskInfo] = {}
    for source in sources:
        for info in source.tasks.values():
            first = out.setdefault(info.name, info)
            same = replace(info, source=first.source, support=first.support, documents=first.documents)
            if same != first:
                raise TrackingError(
                    f"`{shorten(source.member.name)}` has another task `{shorten(info.name)}`",
                    got=_described(info),
                    allowed=f"{_described(first)}, as in the previous runs",
                    then="compare them separately",
                )
            out[info.name] = replace(first, levels=first.levels or info.levels)
    return tuple(sorted(out.values(), key=lambda task: (-task.support, task.name)))


def _described(task: TaskInfo) -> str:
    classes = f" of {list_first(task.classes)}" if task.classes else ""
    negative = f", negative {list_first(task.negative)}" if task.negative else ""
    return f"{task.kind}{classes} by {task.main_metric}{negative}"


def _task(entry: Mapping[str, Any]) -> TaskInfo:
    """Build a task from `tasks.json`."""
    how: dict[str, Any] = {key: str(entry[key]) for key in ("kind", "main_metric", "source") if key in entry}
    how |= {key: tuple(map(str, entry[key])) for key in ("classes", "negative") if key in entry}
    how["levels"] = tuple(tuple(map(str, level)) for level in entry.get("levels", ()))
    if how.get("kind", "binary") not in READINGS:
        raise ValueError(f"a task of the unknown kind {how['kind']}")
    how |= {"support": float(entry["support"]), "documents": int(entry["documents"])}
    return TaskInfo(entry["name"], **how)


def _kept_scores(
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
