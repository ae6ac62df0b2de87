"""A prediction of what any group of tasks scores, from groups that were measured."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import fsum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mtlv.errors import GroupingError
from mtlv.formatting import duration, list_first
from mtlv.grouping.group_values import Groups, GroupValue, PairSums
from mtlv.planning.measured import Measured, measured
from mtlv.planning.task_vectors import VectorSource, task_feature

FEWEST = 3  # different groups of a task
PENALTIES = np.logspace(-2, 3, 16)
FITTED = 1e-9  # a leverage that is nearer to 1 leaves nothing to predict a group from


class SurrogateValue(PairSums):
    """The predicted scores of a group's tasks, summed, minus what they are predicted to score alone.

    Args:
        effects: [T, T], what the task of a row gains if that of the column joins its group.
        alone: [T], prediction for each task in a group of its own.
        sizes: smallest and largest group that was measured; no other size is allowed.
    """

    def __init__(self, effects: ArrayLike, alone: ArrayLike, sizes: tuple[int, int]) -> None:
        super().__init__(effects)
        self.effects, self.intercepts = np.array(effects, np.float64), np.array(alone, np.float64)
        np.fill_diagonal(self.effects, 0.0)
        self.sizes = sizes

    def scores(self, group: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the predicted score of each task of a group [T]; NaN for the others."""
        return np.where(group, self.intercepts + self.effects @ group, np.nan)

    def _value(self, pairs: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
        low, high = self.sizes
        seen = (sizes == 0) | ((sizes >= low) & (sizes <= high))
        return np.where(seen, super()._value(pairs, sizes), -np.inf)


@dataclass(frozen=True)
class Surrogate:
    """A fitted prediction, and how good it is on groups that it was not fitted on.

    Args:
        value: values of all groups of the sizes that were measured.
        held_out: [n, T], prediction of each task's score in each group from all other groups; NaN for tasks
            that are not in it, or cannot be predicted without it.
        measured: [n, T], the scores.
        errors: [T, T], standard errors of the effects; NaN where no group can be held out.
        penalty: the penalty with the smallest error on held-out groups.
    """

    value: SurrogateValue
    held_out: NDArray[np.float64]
    measured: NDArray[np.float64]
    errors: NDArray[np.float64]
    penalty: float

    @property
    def skill(self) -> float:
        """Share of the variance within tasks that is predicted of held-out groups.

        1 - sum of squared errors / that of each task's mean over the other groups: at most 1, and 0 or
        less if the mean of a task's scores says as much. NaN if scores do not vary.
        """
        known = np.isfinite(self.held_out)
        scores = np.where(known, self.measured, np.nan)
        count = known.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            others = (np.nansum(scores, axis=0) - scores) / (count - 1)
        errors, spread = scores - self.held_out, scores - others
        usable = np.isfinite(spread) & known
        total = float((spread[usable] ** 2).sum())
        return 1 - float((errors[usable] ** 2).sum()) / total if total > 0 else float("nan")


def fit_surrogate(groups: Groups, scores: ArrayLike) -> Surrogate:
    """Predict each task's score from the tasks that learn with it.

    For a task t in a group S, score = a_t + b_t (|S| - 1) + sum over u in S - t of w_tu. The effects w_tu are
    fitted by ridge regression for each t; a_t and b_t are not penalised, so that without evidence for
    particular tasks only the size of a group matters. One penalty for all tasks, in units of each task's
    variance, is chosen by leaving out each group in turn (in closed form). The standard errors of the effects
    w_tu + b_t are those of a linear function of the scores, whose variance is that of the held-out errors: as
    they contain the error of the prediction, the standard errors are rather too large.

    Source: Li, Nguyen and Zhang, "Identification of negative transfers in multitask learning using surrogate
    models" (TMLR 2023), which draws subsets; the term of the size and the choice of the penalty are ours.

    Args:
        groups: [n, T], the tasks of each group that was measured.
        scores: [n, T], their scores; others are not read.

    Raises:
        GroupingError: a task is in fewer than three groups, or a score of a group's task is not finite.
    """
    member = np.asarray(groups, dtype=bool)
    table = np.where(member, np.asarray(scores, dtype=np.float64), np.nan)
    if not np.isfinite(table[member]).all():
        raise GroupingError("scores of measured groups must be finite numbers")
    few = np.flatnonzero(member.sum(axis=0) < 3).tolist()
    if few:
        raise GroupingError("a surrogate needs each task in three groups or more", got=f"fewer of {few}")
    fits = [[_fit(member, table, task, penalty) for task in range(member.shape[1])] for penalty in PENALTIES]
    best = int(np.argmin([sum(fit.error for fit in fits_of_penalty) for fits_of_penalty in fits]))
    held_out = np.full(table.shape, np.nan)
    for task, fit in enumerate(fits[best]):
        held_out[member[:, task], task] = fit.held_out
    sizes = member.sum(axis=1)
    value = SurrogateValue(
        np.stack([fit.effects for fit in fits[best]]),
        np.array([fit.alone for fit in fits[best]]),
        (int(sizes.min()), int(sizes.max())),
    )
    errors = np.stack([fit.errors for fit in fits[best]])
    return Surrogate(value, held_out, table, errors, float(PENALTIES[best]))


@dataclass(frozen=True)
class _Fit:
    """One task's effects [T] with standard errors, its intercept, and predictions of held-out groups [m] with
    their mean squared error, relative to the variance."""

    effects: NDArray[np.float64]
    errors: NDArray[np.float64]
    alone: float
    held_out: NDArray[np.float64]
    error: float


def _fit(member: Groups, table: NDArray[np.float64], task: int, penalty: float) -> _Fit:
    rows = member[:, task]
    others = member[rows].astype(np.float64)
    others[:, task] = 0.0
    y = table[rows, task]
    free = np.stack([np.ones(len(y)), others.sum(axis=1)], axis=1)  # not penalised
    basis, _ = np.linalg.qr(free[:, : np.linalg.matrix_rank(free)])
    rest = others - basis @ (basis.T @ others)
    kernel = rest @ rest.T
    solver = np.linalg.inv(kernel + penalty * np.eye(len(y)))
    hat = basis @ basis.T + kernel @ solver
    left = 1 - np.diag(hat)
    with np.errstate(divide="ignore", invalid="ignore"):
        held_out = np.where(left > FITTED, y - (y - hat @ y) / left, np.nan)
    pairs = rest.T @ solver @ (np.eye(len(y)) - basis @ basis.T)  # [T, m]: effects are linear in y
    ends = np.linalg.pinv(free) @ (np.eye(len(y)) - others @ pairs)  # [2, m]: so are intercept and slope
    alone, slope = ends @ y
    effects = np.where(np.arange(len(pairs)) == task, 0.0, pairs @ y + slope)
    missed = float(np.nanmean((y - held_out) ** 2)) if np.isfinite(held_out).any() else float("nan")
    errors = np.where(
        np.arange(len(pairs)) == task, 0.0, missed**0.5 * np.linalg.norm(pairs + ends[1], axis=1)
    )
    spread = float(y.var()) or 1.0
    return _Fit(effects, errors, float(alone), held_out, 0.0 if np.isnan(missed) else missed / spread)


# ---- The feature ------------------------------------------------------------------------------------------


def need_meetings(names: Sequence[str], groups: Collection[frozenset[str]]) -> None:
    """Raise an error if a task is in too few groups, or two tasks are never together."""
    few = [name for name in names if sum(name in group for group in groups) < FEWEST]
    if few:
        raise GroupingError(
            f"`grouping.features: surrogate` needs {FEWEST} different groups or more of each task",
            got=f"fewer of {list_first(few)}",
            then="name more members in `grouping.from`",
        )
    pairs = list(combinations(names, 2))
    never = [pair for pair in pairs if not any(set(pair) <= group for group in groups)]
    if never:
        raise GroupingError(
            "`grouping.features: surrogate` needs every two tasks together in one group at least",
            got=f"{len(never)} of {len(pairs)} pairs were never together, such as {' with '.join(never[0])}",
            then="name more members in `grouping.from`, or members with fewer groups",
        )


def as_tables(names: Sequence[str], scores: Measured) -> tuple[Groups, NDArray[np.float64]]:
    """Return whether a task is in each measured group [n, T], and its scores [n, T], NaN elsewhere."""
    member = np.array([[name in group for name in names] for group in scores])
    return member, np.array([[row.get(name, np.nan) for name in names] for row in scores.values()])


@task_feature(kind="group values", cover=need_meetings)
def surrogate(view: VectorSource) -> GroupValue:
    """Return the predicted value of any group, from groups that were learned (`fit_surrogate`).

    Raises:
        GroupingError: a task is in too few groups, or two tasks were never learned together.
    """
    names, scores = view.corpus.names, measured(view)
    need_meetings(names, scores)
    fitted = fit_surrogate(*as_tables(names, scores))
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
