"""Features of tasks that are measured: the validation scores of finished units. Test scores are not read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import combinations
from math import fsum
from statistics import fmean, variance

import numpy as np
from numpy.typing import NDArray

from mtlv.errors import GroupingError
from mtlv.evaluation.scoring import SCORING, task_figures
from mtlv.formatting import duration, list_first
from mtlv.grouping import GroupValue, ListedValues
from mtlv.grouping.surrogate import Surrogate, fit_surrogate
from mtlv.plan import Task, TaskScores
from mtlv.plan.prediction import Floats, Parts, Prediction
from mtlv.planning.task_vectors import VectorSource, task_feature

FEWEST = 3
"""Different groups of a task that a surrogate needs."""
Measured = dict[frozenset[str], dict[str, float]]
Units = dict[frozenset[str], list[dict[str, float]]]  # the scores of each unit of a group


def measured(view: VectorSource) -> Measured:
    """Return the validation score of each task, by the group of tasks that a unit learned together.

    A score is the metric that is logged per epoch, which needs no threshold (average precision for yes/no
    labels), of the kept weights; the mean over all units of a group, such as those of several seeds. Units
    that also learned other tasks are left out.
    """
    return _means(_scores_of_units(view))


def _means(units: Units) -> Measured:
    return {
        group: {name: fmean(unit_scores[name] for unit_scores in scores) for name in group}
        for group, scores in units.items()
    }


def _scores_of_units(view: VectorSource) -> Units:
    known = {task.name: task for task in view.corpus.tasks}
    units: Units = {}
    for record in view.records:
        scores = record.validation.tasks
        if scores.keys() <= known.keys():
            unit_scores = {name: validation_score(known[name], scores[name]) for name in scores}
            units.setdefault(frozenset(scores), []).append(unit_scores)
    return units


def validation_score(task: Task, scores: TaskScores) -> float:
    """Return the metric that is logged per epoch, which needs no threshold."""
    return task_figures(task, scores)[SCORING[task.kind].epoch_metric(task)]


def _as_tables(names: Sequence[str], scores: Measured) -> tuple[NDArray[np.bool_], Floats]:
    """Return whether a task is in each measured group [n, T], and its scores [n, T], NaN elsewhere."""
    member = np.array([[name in group for name in names] for group in scores])
    return member, np.array([[row.get(name, np.nan) for name in names] for row in scores.values()])


def _prediction(view: VectorSource, units: Units, groups: Parts, chosen: Floats) -> Prediction:
    """Return a prediction with what was measured; the resolver adds from which members it is."""
    names = view.corpus.names
    member, scores = _as_tables(names, _means(units))
    unknown = np.full((len(names), len(names)), np.nan)
    counts = np.array([len(unit_scores) for unit_scores in units.values()])
    epochs = [len(record.epochs) for record in view.records]
    return Prediction(
        feature=view.settings.grouping.features,
        tasks=names,
        groups=groups,
        member=member,
        scores=scores,
        held_out=np.full(scores.shape, np.nan),
        chosen=chosen,
        effects=unknown,
        errors=unknown,
        together=(member * counts[:, None]).T @ member.astype(np.int64),
        units=len(view.records),
        seconds=fsum(record.train_seconds for record in view.records),
        partitions={},
        alike=False,
        epochs=(min(epochs), max(epochs)),
        repeated=_first_and_rest(names, units),
    )


def _first_and_rest(names: Sequence[str], units: Units) -> tuple[Floats, Floats] | None:
    """Return the scores of each group's first unit, and the means of its others; None if all have one."""
    if not any(others for _, *others in units.values()):
        return None
    first = {group: scores if others else {} for group, (scores, *others) in units.items()}
    rest = _means({group: scores[1:] for group, scores in units.items() if scores[1:]})
    tables = [
        _as_tables(names, table)[1] for table in (first, {group: rest.get(group, {}) for group in units})
    ]
    return tables[0], tables[1]


def _need_pairs(names: Sequence[str], groups: Collection[frozenset[str]]) -> None:
    needed = [frozenset((name,)) for name in names] + [frozenset(pair) for pair in combinations(names, 2)]
    missing = [
        " with ".join(name for name in names if name in group) for group in needed if group not in groups
    ]
    if missing:
        raise GroupingError(
            "`grouping.features: pair_gain` needs a model of each task alone and one of each two tasks",
            got=f"none of {list_first(missing)}",
            then="name members that learn them in `grouping.from` (`tasks: [A, B]`), or set "
            "`grouping.features: group_score`",
        )


def _need_tasks(names: Sequence[str], groups: Collection[frozenset[str]]) -> None:
    missing = [name for name in names if not any(name in group for group in groups)]
    if missing:
        raise GroupingError(
            "`grouping.features: group_score` needs models of groups that together hold every task",
            got=f"none with {list_first(missing)}",
            then="name more members in `grouping.from`, of the same `tasks`",
        )


def _predict_by_pairs(view: VectorSource, groups: Parts) -> Prediction:
    """Predict a task's score: alone, and the mean (`grouping.value: sum`: the sum) of its gains in the group.

    Errors of gains are known of several units each, such as those of several seeds.
    """
    names, units = view.corpus.names, _scores_of_units(view)
    scores = _means(units)
    gains = _gains(names, scores)
    combined = np.sum if view.settings.grouping.value == "sum" else np.mean
    number = {name: at for at, name in enumerate(names)}
    chosen = np.full(len(names), np.nan)
    for group in groups:
        for name in group:
            others = [float(gains[number[name], number[other]]) for other in group if other != name]
            chosen[number[name]] = scores[frozenset((name,))][name] + (combined(others) if others else 0.0)

    def each(to: str, by: str) -> list[float]:
        return [score[to] for score in units[frozenset((to, by))]]

    errors = [
        [_standard_error(each(to, by), each(to, to)) if to != by else 0.0 for by in names] for to in names
    ]
    return replace(_prediction(view, units, groups, chosen), effects=gains, errors=np.array(errors))


def _standard_error(*samples: Sequence[float]) -> float:
    """Return the standard error of a difference of two means, widened for few values; NaN for one value.

    1.96 of it are Student's 95% interval with Welch's degrees of freedom (Welch, Biometrika 1947).
    """
    from scipy.stats import norm, t

    if min(map(len, samples)) < 2:
        return np.nan
    parts = [variance(values) / len(values) for values in samples]
    if not sum(parts):
        return 0.0
    freedom = sum(parts) ** 2 / sum(p**2 / (len(s) - 1) for p, s in zip(parts, samples, strict=True))
    return float(np.sqrt(sum(parts)) * t.ppf(0.975, freedom) / norm.ppf(0.975))


@task_feature(kind="affinity", cover=_need_pairs, predict=_predict_by_pairs)
def pair_gain(view: VectorSource) -> NDArray[np.float64]:
    """Return what each task gains with each other [T, T]: its validation score with it, minus that alone.

    Rows receive, columns give. Source: Standley et al., "Which tasks should be learned together in multi-task
    learning?" (ICML 2020).

    Raises:
        GroupingError: a pair, or a task alone, was not learned.
    """
    scores, names = measured(view), view.corpus.names
    _need_pairs(names, scores)
    return _gains(names, scores)


def _gains(names: Sequence[str], scores: Measured) -> NDArray[np.float64]:
    alone = [scores[frozenset((name,))][name] for name in names]
    together = [[scores[frozenset((to, by))][to] for by in names] for to in names]
    return np.array(together) - np.array(alone)[:, None]


def _predict_as_measured(view: VectorSource, groups: Parts) -> Prediction:
    """Predict that scores will be as they were measured."""
    units = _scores_of_units(view)
    scores = _means(units)
    known = {name: scores[frozenset(group)][name] for group in groups for name in group}
    return _prediction(view, units, groups, np.array([known[name] for name in view.corpus.names]))


@task_feature(kind="group values", cover=_need_tasks, predict=_predict_as_measured)
def group_score(view: VectorSource) -> ListedValues:
    """Return the value of each group that was learned: the sum of its tasks' validation scores.

    The scores of all tasks alone are the same in each partition, so gains would give the same groups.

    Raises:
        GroupingError: a task is in no group.
    """
    scores, names = measured(view), view.corpus.names
    _need_tasks(names, scores)
    numbers = {name: number for number, name in enumerate(names)}
    values: dict[Sequence[int], float] = {
        tuple(sorted(numbers[name] for name in group)): fsum(row.values()) for group, row in scores.items()
    }
    return ListedValues(values, len(names))


def _need_meetings(names: Sequence[str], groups: Collection[frozenset[str]]) -> None:
    few = [name for name in names if sum(name in group for group in groups) < FEWEST]
    if few:
        raise GroupingError(
            f"`grouping.features: surrogate` needs {FEWEST} different groups or more of each task",
            got=f"fewer of {list_first(few)}",
            then="raise `explore.partitions`, set a smaller `explore.k`, or name more members in "
            "`grouping.from`",
        )
    pairs = list(combinations(names, 2))
    never = [pair for pair in pairs if not any(set(pair) <= group for group in groups)]
    if never:
        raise GroupingError(
            "`grouping.features: surrogate` needs every two tasks together in one group at least",
            got=f"{len(never)} of {len(pairs)} pairs were never together, such as {' with '.join(never[0])}",
            then="raise `explore.partitions`, or set a smaller `explore.k` or another `explore.seed`",
        )


def _fit(names: Sequence[str], scores: Measured) -> Surrogate:
    _need_meetings(names, scores)
    return fit_surrogate(*_as_tables(names, scores))


def _predict_by_fit(view: VectorSource, groups: Parts) -> Prediction:
    names, units = view.corpus.names, _scores_of_units(view)
    fitted = _fit(names, _means(units))
    chosen = np.nansum([fitted.value.scores(np.isin(names, group)) for group in groups], axis=0)
    prediction = _prediction(view, units, groups, chosen)
    return replace(prediction, held_out=fitted.held_out, effects=fitted.value.effects, errors=fitted.errors)


@task_feature(kind="group values", cover=_need_meetings, predict=_predict_by_fit)
def surrogate(view: VectorSource) -> GroupValue:
    """Return the predicted value of any group, from groups that were learned (`mtlv.grouping.surrogate`).

    Raises:
        GroupingError: a task is in too few groups, or two tasks were never learned together.
    """
    fitted = _fit(view.corpus.names, measured(view))
    member = np.isfinite(fitted.measured)
    together = member.astype(int).T @ member
    met = together[~np.eye(len(together), dtype=bool)].min()
    took = duration(fsum(record.train_seconds for record in view.records))
    fitted.value.note = (
        f"predicted from {len(member)} measured groups, which took {took} to train; every two tasks "
        f"were together in {met} of them or more; of a task's variance over groups left out in turn, "
        f"{max(fitted.skill, 0):.0%} is predicted"
    )
    return fitted.value
