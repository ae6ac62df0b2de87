"""Predictions of measured groups, from the runs of a comparison."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from math import fsum
from statistics import fmean, variance

import numpy as np

from mtlv.errors import GroupingError
from mtlv.evaluation.compared_runs import ComparedFold, ComparedRun, Comparison, is_random
from mtlv.planning.measured import Measured
from mtlv.registries import FEATURES
from mtlv_lab.prediction import Floats, Prediction
from mtlv_lab.surrogate import as_tables, fit_surrogate

Units = Mapping[frozenset[str], Sequence[Mapping[str, float]]]
"""Validation scores of each unit of a group."""
# Settings in which measured runs may differ from the run whose groups follow, and still be trained as it.
OF_GROUPS = ("grouping.", "architecture.", "tracking.", "store.", "execution.")
NOT_OF_TRAINING = {"k", "seed", "tasks"}


def predictions_of(comparison: Comparison, run: ComparedRun) -> dict[int, Prediction]:
    """Return what measured groups predict of a run's groups, by fold.

    Measured groups are the models of those runs of the comparison that `grouping.from` names. There is no
    prediction if the groups follow from other features or from earlier stages, if folds have different
    groups, or if the runs lack a score that the feature needs.
    """
    feature = run.params.get("grouping.features", "")
    if run.groups is None or run.elsewhere or is_random(run):
        return {}
    if feature not in PREDICT or "grouping.from" not in run.params:
        return {}
    patterns = json.loads(run.params["grouping.from"])
    sources = [
        other
        for other in comparison.runs
        if other is not run and not other.elsewhere and other.data_digest == run.data_digest
        if any(fnmatchcase(other.name, pattern) or other.name == pattern for pattern in patterns)
    ]
    predictions: dict[int, Prediction] = {}
    for fold in sorted({child.fold for child in run.children}):
        prediction = _predict(run, run.groups.groups, sources, fold)
        if prediction is not None:
            predictions[fold] = prediction
    return predictions


def _predict(
    run: ComparedRun, groups: tuple[tuple[str, ...], ...], sources: Sequence[ComparedRun], fold: int
) -> Prediction | None:
    names = tuple(name for group in groups for name in group)
    children = [(other, child) for other in sources for child in other.children if child.fold == fold]
    units: dict[frozenset[str], list[Mapping[str, float]]] = {}
    known = set()
    for other, child in children:
        for group, scores in _models(other, child).items():
            unit = group, child.seed, *sorted(_settings_of_training(other).items())
            if group <= set(names) and unit not in known:  # runs with the same group share its unit
                known.add(unit)
                units.setdefault(group, []).append(scores)
    feature, means = FEATURES[run.params["grouping.features"]], _means(units)
    try:
        assert feature.cover is not None
        feature.cover(names, means.keys())
    except GroupingError:  # the comparison has only some of the runs
        return None
    member, table = as_tables(names, means)
    rows = {group: row for row, group in enumerate(means)}
    unknown = np.full((len(names), len(names)), np.nan)
    counts = np.array([len(scores) for scores in units.values()])
    epochs = [int(other.params.get("training.epochs", 0)) for other in sources]
    prediction = Prediction(
        feature=run.params["grouping.features"],
        tasks=names,
        groups=groups,
        member=member,
        scores=table,
        held_out=np.full(table.shape, np.nan),
        chosen=np.full(len(names), np.nan),
        effects=unknown,
        errors=unknown,
        together=(member * counts[:, None]).T @ member.astype(np.int64),
        units=int(counts.sum()),
        seconds=fsum(child.metrics.get("time/train_seconds", 0.0) for _, child in children),
        partitions={
            other.name: tuple(rows[group] for group in _models(other, child))
            for other, child in children
            if is_random(other) and {name for group in _models(other, child) for name in group} == set(names)
        },
        alike=all(_settings_of_training(other) == _settings_of_training(run) for other in sources),
        epochs=(min(epochs), max(epochs)),
        repeated=_first_and_rest(names, units),
    )
    return PREDICT[prediction.feature](run, prediction, units)


def _models(run: ComparedRun, child: ComparedFold) -> dict[frozenset[str], dict[str, float]]:
    """Return the validation scores of each model's tasks; models without the score of a task are left out."""
    groups = [[name for head in model for name in head] for model in run.plan]
    return {
        frozenset(group): {name: child.kept[name] for name in group}
        for group in groups
        if child.kept.keys() >= set(group)
    }


def _settings_of_training(run: ComparedRun) -> dict[str, str]:
    return {
        key: value
        for key, value in run.params.items()
        if key not in NOT_OF_TRAINING and not key.startswith(OF_GROUPS)
    }


def _means(units: Units) -> Measured:
    return {
        group: {name: fmean(unit_scores[name] for unit_scores in scores) for name in group}
        for group, scores in units.items()
    }


def _first_and_rest(names: Sequence[str], units: Units) -> tuple[Floats, Floats] | None:
    """Return the scores of each group's first unit, and the means of its others; None if all have one."""
    if all(len(scores) == 1 for scores in units.values()):
        return None
    first = {group: dict(scores[0]) if len(scores) > 1 else {} for group, scores in units.items()}
    rest = _means({group: scores[1:] for group, scores in units.items() if len(scores) > 1})
    return as_tables(names, first)[1], as_tables(names, {group: rest.get(group, {}) for group in units})[1]


def _predict_by_fit(run: ComparedRun, prediction: Prediction, units: Units) -> Prediction:  # noqa: ARG001
    fitted = fit_surrogate(prediction.member, prediction.scores)
    members = [np.isin(prediction.tasks, group) for group in prediction.groups]
    chosen = np.nansum([fitted.value.scores(member) for member in members], axis=0)
    return replace(
        prediction,
        chosen=chosen,
        held_out=fitted.held_out,
        effects=fitted.value.effects,
        errors=fitted.errors,
    )


def _predict_by_pairs(run: ComparedRun, prediction: Prediction, units: Units) -> Prediction:
    """Predict a task's score: alone, and the mean (`grouping.value: sum`: the sum) of its gains in the group.

    Errors of gains are known of several units each, such as those of several seeds.
    """

    def scores(to: str, by: str) -> list[float]:
        return [unit_scores[to] for unit_scores in units[frozenset((to, by))]]

    names = prediction.tasks
    gains = np.array([[fmean(scores(to, by)) - fmean(scores(to, to)) for by in names] for to in names])
    errors = np.array(
        [
            [_standard_error(scores(to, by), scores(to, to)) if to != by else 0.0 for by in names]
            for to in names
        ]
    )
    combine = np.sum if run.params.get("grouping.value") == "sum" else np.mean
    chosen = np.full(len(names), np.nan)
    for group in prediction.groups:
        for name in group:
            at = names.index(name)
            others = [gains[at, names.index(other)] for other in group if other != name]
            chosen[at] = fmean(scores(name, name)) + (combine(others) if others else 0.0)
    return replace(prediction, chosen=chosen, effects=gains, errors=errors)


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


def _predict_as_measured(run: ComparedRun, prediction: Prediction, units: Units) -> Prediction:  # noqa: ARG001
    """Predict that scores will be as they were measured."""
    means = _means(units)
    chosen = [
        means.get(frozenset(group), {}).get(name, np.nan) for group in prediction.groups for name in group
    ]
    return replace(prediction, chosen=np.array(chosen))


PREDICT = {
    "surrogate": _predict_by_fit,
    "pair_gain": _predict_by_pairs,
    "group_score": _predict_as_measured,
}
"""What predicts the scores of a run's groups, by the feature from which they follow."""
