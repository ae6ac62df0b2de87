"""Statistical tests of every pair of runs: over folds and seeds, and over resampled test documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import isfinite

from mtlv.evaluation.bootstrap import (
    Resampled,
    Weights,
    document_interval,
    document_weights,
    not_of_sums,
    resample_scores,
    task_intervals,
)
from mtlv.evaluation.compared_runs import ComparedFold, ComparedRun, Comparison
from mtlv.evaluation.pairs import pairs_of, siblings
from mtlv.evaluation.scoring import tasks_with_threshold
from mtlv.evaluation.significance import Interval, PairedComparison, by_fold, compare_pairs
from mtlv.evaluation.verdict import Verdict, verdicts
from mtlv.plan import Task


@dataclass(frozen=True)
class DocumentIntervals:
    """Confidence intervals of differences over test documents, see `document_interval`."""

    main: Interval  # interval of the main score
    micro: Interval | None  # interval of micro F1, if all tasks are yes/no
    documents: int  # size of the smallest test part
    groups: int | None  # number of resampled groups in it; None if the groups of documents are unknown
    pairs: int = 1  # number of pairs of children with an interval
    tasks: Mapping[str, Interval] = field(default_factory=dict)  # intervals of the tasks' main metrics


@dataclass(frozen=True)
class PairwiseTest:
    """A pair of runs and its test results; differences are run - other, in the main score."""

    run: ComparedRun
    other: ComparedRun
    values: PairedComparison  # tests over folds, or over seeds if both runs have only one fold in common
    over: str  # `fold` or `seed`, which distinguishes the pairs of `values`
    verdict: Verdict  # conclusion of the tests, corrected for all pairs of the comparison
    # None if no scores were read, or there are too few document groups to resample
    documents: DocumentIntervals | None = None


@dataclass(frozen=True)
class _Drawn:
    """Metrics of a child on each resample of its documents, and the numbers of documents and groups."""

    metrics: Resampled
    documents: int
    groups: int | None


def compare_main_scores(comparison: Comparison) -> tuple[PairwiseTest, ...]:
    """Test all pairs of `pairs_of` that have a main score on a common fold and seed; without documents.

    Runs that learned nothing are left out: their differences are those of constant answers.
    """
    left = {run.key for run in comparison.runs if comparison.learning(run).nothing}
    pairs = [(run, other) for run, other in pairs_of(comparison) if not {run.key, other.key} & left]
    children = [[(a, b) for a, b in siblings(*pair) if _known(a.main) and _known(b.main)] for pair in pairs]
    kept = [(run, other, both) for (run, other), both in zip(pairs, children, strict=True) if both]
    tests = [_compared(both) for _, _, both in kept]
    return tuple(
        PairwiseTest(run, other, values, "fold" if len({a.fold for a, _ in both}) > 1 else "seed", verdict)
        for (run, other, both), values, verdict in zip(kept, tests, verdicts(tests), strict=True)
    )


@lru_cache(maxsize=1)  # several sections show them
def compare_with_intervals(comparison: Comparison) -> tuple[PairwiseTest, ...]:
    """Return `compare_main_scores` with intervals over documents of the runs shown at first."""
    shown = set(comparison.shown)
    tasks = {task.name: task for task in comparison.tasks}
    drawn = _resampled([c for run in comparison.runs if run.key in shown for c in run.children], tasks)
    pairs = compare_main_scores(comparison)
    intervals = [_documents(pair.run, pair.other, drawn) for pair in pairs]
    count = sum(interval is not None for interval in intervals)
    return tuple(
        replace(pair, documents=interval and replace(interval, pairs=count))
        for pair, interval in zip(pairs, intervals, strict=True)
    )


def _known(value: float | None) -> bool:
    return value is not None and isfinite(value)


def _compared(both: Sequence[tuple[ComparedFold, ComparedFold]]) -> PairedComparison:
    first, second = ({c.pair: c.main for c in side if c.main is not None} for side in zip(*both, strict=True))
    return compare_pairs(by_fold(first), by_fold(second))


def gain_intervals(comparison: Comparison) -> dict[tuple[str, str], Interval]:
    """Return the intervals of tasks' gains over the baseline by run and task, over resampled test documents.

    Only of runs with the same folds and seeds as the baseline, because gains are those of all children.
    """
    base = comparison.run(comparison.baseline)
    return {
        (pair.run.key, name): interval
        for pair in compare_with_intervals(comparison)
        if pair.other is base and pair.documents is not None
        if len(siblings(pair.run, base)) == len(pair.run.children) == len(base.children)
        for name, interval in pair.documents.tasks.items()
    }


def each_draw(
    children: Iterable[ComparedFold],
) -> Iterator[tuple[Weights, int | None, list[ComparedFold]]]:
    """Yield resamples of each set of test documents, see `document_weights`, how many groups of documents it
    has (None if unknown), and the children with scores of it."""
    by_ids: dict[tuple[str, ...], list[ComparedFold]] = {}
    for child in children:
        if child.test is not None and child.test.ids:
            by_ids.setdefault(child.test.ids, []).append(child)
    for ids, same in by_ids.items():
        # The corpus is the same, so the groups logged by any run can be used.
        known = (child.test.groups for child in same if child.test is not None)
        groups = next((of_child for of_child in known if of_child is not None), None)
        yield document_weights(ids, groups), None if groups is None else len(set(groups)), same


def _resampled(children: Iterable[ComparedFold], tasks: Mapping[str, Task]) -> Mapping[str, _Drawn]:
    """Return the metrics on resampled documents by child (`run_id`)."""
    tasks_of: dict[str, list[Task]] = {}
    limits: dict[str, dict[str, float]] = {}
    kept = []
    for child in children:
        names = sorted(child.test.tasks) if child.test is not None else []
        scored = [tasks.get(name, Task(name)) for name in names]
        thresholds = {name: task["threshold"] for name, task in child.tasks.items() if "threshold" in task}
        known = thresholds.keys() == set(tasks_with_threshold(scored)) and child.tasks.keys() == set(names)
        if scored and known and not not_of_sums(scored):
            tasks_of[child.run_id], limits[child.run_id] = scored, thresholds
            kept.append(child)
    return {
        child.run_id: _Drawn(
            resample_scores(child.test, tasks_of[child.run_id], limits[child.run_id], weights),
            len(child.test.ids),
            groups,
        )
        for weights, groups, same in each_draw(kept)
        for child in same
        if child.test is not None
    }


def _documents(run: ComparedRun, other: ComparedRun, drawn: Mapping[str, _Drawn]) -> DocumentIntervals | None:
    """Return None unless all common children of both were resampled, from the same documents."""
    both = siblings(run, other)
    if not all(a.run_id in drawn and b.run_id in drawn and _ids(a) == _ids(b) for a, b in both):
        return None
    draws = [drawn[a.run_id] for a, _ in both]
    first, second = [draw.metrics for draw in draws], [drawn[b.run_id].metrics for _, b in both]
    known = [draw.groups for draw in draws if draw.groups is not None]
    fewest = min(draw.documents for draw in draws)
    groups = min(known) if len(known) == len(draws) else None
    counted = fewest if groups is None else groups
    main = document_interval([a.main for a in first], [b.main for b in second], groups=counted)
    if main is None:
        return None
    micros = [[metrics.micro for metrics in side if metrics.micro is not None] for side in (first, second)]
    has_micro = all(len(values) == len(both) for values in micros)
    micro = document_interval(micros[0], micros[1], groups=counted) if has_micro else None
    tasks = task_intervals(first, second, groups=counted)
    return DocumentIntervals(main, micro, fewest, groups, tasks=tasks)


def _ids(child: ComparedFold) -> Sequence[str]:
    return child.test.ids if child.test is not None else ()
