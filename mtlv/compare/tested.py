"""Every pair of runs put to the tests: their values by fold and seed, and their test documents drawn anew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mtlv.compare.comparison import Child, ComparedRun, Comparison
from mtlv.compare.pairs import pairs_of, siblings
from mtlv.evaluation.bootstrap import (
    Interval,
    Resampled,
    document_interval,
    document_weights,
    not_of_sums,
    resampled,
)
from mtlv.evaluation.mixed import yes_no_tasks
from mtlv.evaluation.significance import PairedComparison, compare_pairs, holm
from mtlv.plan import Scores, Task


@dataclass(frozen=True)
class DocumentIntervals:
    """Intervals of differences over test documents, see `document_interval`: in what runs are judged by, and
    where all tasks are yes/no in micro F1."""

    main: Interval
    micro: Interval | None


@dataclass(frozen=True)
class Tested:
    """A pair of runs and all that was found; differences are run - other, of what runs are judged by.

    Args:
        values: the tests over the pairs of children.
        wilcoxon_holm, t_holm: p corrected over all pairs of the comparison.
        documents: nothing where no scores were read.
    """

    run: ComparedRun
    other: ComparedRun
    values: PairedComparison
    wilcoxon_holm: float | None
    t_holm: float | None
    documents: DocumentIntervals | None


def tested_pairs(comparison: Comparison) -> tuple[Tested, ...]:
    """All pairs of `pairs_of` that have macro F1, or a score, on a common fold and seed.

    Documents are drawn for the runs that are shown at first only: it takes their scores.
    """
    pairs = [(run, other, _values(run, other)) for run, other in pairs_of(comparison)]
    kept = [(run, other, compare_pairs(*values)) for run, other, values in pairs if values[0]]
    wilcoxon = holm([found.wilcoxon.p for _, _, found in kept])
    t = holm([found.t.p for _, _, found in kept])
    shown = set(comparison.shown)
    tasks = {task.name: task.task for task in comparison.tasks}
    drawn = _resampled([c for run in comparison.runs if run.key in shown for c in run.children], tasks)
    return tuple(
        Tested(run, other, found, wilcoxon[i], t[i], _documents(run, other, drawn))
        for i, (run, other, found) in enumerate(kept)
    )


def _values(run: ComparedRun, other: ComparedRun) -> tuple[list[float], list[float]]:
    pairs = [(a.main, b.main) for a, b in siblings(run, other)]
    both = [(a, b) for a, b in pairs if a is not None and b is not None]
    return [a for a, _ in both], [b for _, b in both]


def _resampled(children: Iterable[Child], tasks: Mapping[str, Task]) -> Mapping[str, Resampled]:
    """What the drawn documents come to, by child (`run_id`); weights are kept for one set of documents at a
    time."""
    by_ids: dict[tuple[str, ...], list[tuple[str, Scores, list[Task]]]] = {}
    held = {}
    for child in children:
        names = sorted(child.test.tasks) if child.test is not None and child.test.ids else []
        own = [tasks.get(name, Task(name)) for name in names]
        limits = {name: task["threshold"] for name, task in child.tasks.items() if "threshold" in task}
        known = limits.keys() == set(yes_no_tasks(own)) and child.tasks.keys() == set(names)
        if child.test is not None and own and known and not not_of_sums(own):
            by_ids.setdefault(child.test.ids, []).append((child.run_id, child.test, own))
            held[child.run_id] = limits
    out: dict[str, Resampled] = {}
    for ids, scored in by_ids.items():
        weights = document_weights(ids)
        for run_id, scores, own in scored:
            out[run_id] = resampled(scores, own, held[run_id], weights)
    return out


def _documents(
    run: ComparedRun, other: ComparedRun, drawn: Mapping[str, Resampled]
) -> DocumentIntervals | None:
    """Nothing unless all common children of both were drawn, from the same documents."""
    both = siblings(run, other)
    if not all(a.run_id in drawn and b.run_id in drawn and _ids(a) == _ids(b) for a, b in both):
        return None
    first, second = [drawn[a.run_id] for a, _ in both], [drawn[b.run_id] for _, b in both]
    micro = all(each.micro is not None for each in (*first, *second))
    return DocumentIntervals(
        document_interval(first, second, "main"), document_interval(first, second, "micro") if micro else None
    )


def _ids(child: Child) -> Sequence[str]:
    return child.test.ids if child.test is not None else ()
