"""Detection of transfers and pairs among runs, by the names of the tasks that each stage learned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from mtlv.evaluation.compared_runs import ComparedRun, Comparison
from mtlv.evaluation.transfer import INTERMEDIATE, LEARNED_WITH, Pair, Transfers, TransferText, in_order
from mtlv.plan import Task

Names = tuple[str, ...]


@dataclass(frozen=True)
class TransferRun:
    """Tasks and scores of a run."""

    stages: tuple[Names, ...]  # names of the tasks or data sets of each stage; empty if it learned all
    # returns scores by fold and seed for a name of the last stage
    scores: Callable[[str], Mapping[Pair, float]]
    nothing: bool = False  # whether it learned nothing, see `mtlv.evaluation.learned`
    together: bool = True  # whether one model learned all names of the last stage


def mean_score(name: str, tasks: Sequence[Task], figures: Mapping[str, Mapping[str, float]]) -> float | None:
    """Return the mean of the main metric over the tasks of a name; None if one is missing.

    Args:
        name: a task, or a data set for all its tasks.
        tasks: known tasks.
        figures: metrics by task.
    """
    meant = [task for task in tasks if name in (task.name, task.source)]
    values = [figures.get(task.name, {}).get(task.main_metric) for task in meant]
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None


def transfers_of(comparison: Comparison) -> tuple[tuple[str, Transfers], ...]:
    """Return the matrices of transfers and of pairs among a comparison's runs, with the encoder of each.

    Runs with different encoders or data are in separate matrices; of two runs that learned the same, the
    first is used.
    """
    together: dict[tuple[str, str], list[ComparedRun]] = {}
    for run in comparison.runs:
        together.setdefault((run.encoder, run.data_digest), []).append(run)
    return tuple(
        (encoder, transfers)
        for (encoder, _), runs in together.items()
        for transfers in transfers_among([_learner(run, comparison) for run in runs])
    )


def _learner(run: ComparedRun, comparison: Comparison) -> TransferRun:
    def scores(name: str) -> dict[Pair, float]:
        pairs = ((child.pair, mean_score(name, comparison.tasks, child.tasks)) for child in run.children)
        return {pair: value for pair, value in pairs if value is not None}

    return TransferRun(run.learned, scores, comparison.learning(run).nothing, len(run.plan) < 2)


def transfers_among(runs: Sequence[TransferRun]) -> tuple[Transfers, ...]:
    """Return a matrix of runs with two stages of one name each, and one of runs with two names together."""
    alone: dict[str, TransferRun] = {}
    first: dict[tuple[str, str], TransferRun] = {}
    beside: dict[tuple[str, str], TransferRun] = {}
    for run in runs:
        match run.stages:
            case ((name,),):
                alone.setdefault(name, run)
            case ((source,), (target,)) if source != target:
                first.setdefault((source, target), run)
            case ((one, other),) if one != other and run.together:
                beside.setdefault((one, other), run)
                beside.setdefault((other, one), run)
    return (*_matrix(alone, first, INTERMEDIATE), *_matrix(alone, beside, LEARNED_WITH))


def _matrix(
    alone: Mapping[str, TransferRun], cells: Mapping[tuple[str, str], TransferRun], wording: TransferText
) -> tuple[Transfers, ...]:
    """Return one matrix, without what has no scores; none if no cell has any."""
    after = {names: scores for names, run in cells.items() if (scores := run.scores(names[1]))}
    if not after:
        return ()
    targets = {target for _, target in cells}
    baseline = {
        name: scores for name, run in alone.items() if name in targets and (scores := run.scores(name))
    }
    unlearned = frozenset(name for name, run in alone.items() if run.nothing)
    return (in_order(baseline, after, wording=wording, unlearned=unlearned),)
