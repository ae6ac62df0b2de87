"""Every pair of runs put to the tests: their values by fold and seed, and their test documents drawn anew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite

from mtlv.evaluation.bootstrap import (
    Resampled,
    document_interval,
    document_weights,
    not_of_sums,
    resampled,
)
from mtlv.evaluation.comparison import ComparedFold, ComparedRun, Comparison
from mtlv.evaluation.mixed import yes_no_tasks
from mtlv.evaluation.pairs import pairs_of, siblings
from mtlv.evaluation.significance import Interval, PairedComparison, by_fold, compare_pairs
from mtlv.evaluation.verdict import Verdict, verdicts
from mtlv.plan import Scores, Task


@dataclass(frozen=True)
class DocumentIntervals:
    """Intervals of differences over test documents, see `document_interval`.

    Args:
        main: in what runs are judged by.
        micro: in micro F1, where all tasks are yes/no.
        documents: of the smallest test part.
        groups: that were drawn of it; nothing where it is not known what its documents are part of.
        pairs: of runs that have such intervals.
    """

    main: Interval
    micro: Interval | None
    documents: int
    groups: int | None
    pairs: int = 1


@dataclass(frozen=True)
class PairwiseTest:
    """A pair of runs and all that was found; differences are run - other, of what runs are judged by.

    Args:
        values: the tests over folds, or over seeds where both runs have one fold in common.
        over: `fold` or `seed`: what the pairs of `values` differ by.
        verdict: what the tests show, corrected over all pairs of the comparison.
        documents: nothing where no scores were read, or too few groups of documents are there to be drawn.
    """

    run: ComparedRun
    other: ComparedRun
    values: PairedComparison
    over: str
    verdict: Verdict
    documents: DocumentIntervals | None = None


@dataclass(frozen=True)
class _Drawn:
    """What a child's figures come to on each draw of its documents, and how many of what were drawn."""

    found: Resampled
    documents: int
    groups: int | None


def judged_pairs(comparison: Comparison) -> tuple[PairwiseTest, ...]:
    """All pairs of `pairs_of` that have what runs are judged by on a common fold and seed; no documents."""
    kept = [(run, other, both) for run, other in pairs_of(comparison) if (both := _valued(run, other))]
    found = [_compared(both) for _, _, both in kept]
    return tuple(
        PairwiseTest(run, other, values, "fold" if len({a.fold for a, _ in both}) > 1 else "seed", verdict)
        for (run, other, both), values, verdict in zip(kept, found, verdicts(found), strict=True)
    )


def tested_pairs(comparison: Comparison) -> tuple[PairwiseTest, ...]:
    """`judged_pairs`, with intervals over documents of the runs that are shown at first: they take scores."""
    shown = set(comparison.shown)
    tasks = {task.name: task.task for task in comparison.tasks}
    drawn = _resampled([c for run in comparison.runs if run.key in shown for c in run.children], tasks)
    pairs = judged_pairs(comparison)
    found = [_documents(pair.run, pair.other, drawn) for pair in pairs]
    count = sum(each is not None for each in found)
    return tuple(
        replace(pair, documents=each and replace(each, pairs=count))
        for pair, each in zip(pairs, found, strict=True)
    )


def _valued(run: ComparedRun, other: ComparedRun) -> list[tuple[ComparedFold, ComparedFold]]:
    """The children of both with a common fold and seed that have what runs are judged by."""
    return [(a, b) for a, b in siblings(run, other) if _known(a.main) and _known(b.main)]


def _known(value: float | None) -> bool:
    return value is not None and isfinite(value)


def _compared(both: Sequence[tuple[ComparedFold, ComparedFold]]) -> PairedComparison:
    first, second = ({c.pair: c.main for c in side if c.main is not None} for side in zip(*both, strict=True))
    return compare_pairs(by_fold(first), by_fold(second))


def _resampled(children: Iterable[ComparedFold], tasks: Mapping[str, Task]) -> Mapping[str, _Drawn]:
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
    out: dict[str, _Drawn] = {}
    for ids, scored in by_ids.items():
        # The corpus is the same, whichever run has written down what its documents are part of.
        groups = next((scores.groups for _, scores, _ in scored if scores.groups is not None), None)
        weights = document_weights(ids, groups)
        for run_id, scores, own in scored:
            found = resampled(scores, own, held[run_id], weights)
            out[run_id] = _Drawn(found, len(ids), None if groups is None else len(set(groups)))
    return out


def _documents(run: ComparedRun, other: ComparedRun, drawn: Mapping[str, _Drawn]) -> DocumentIntervals | None:
    """Nothing unless all common children of both were drawn, from the same documents."""
    both = siblings(run, other)
    if not all(a.run_id in drawn and b.run_id in drawn and _ids(a) == _ids(b) for a, b in both):
        return None
    of = [drawn[a.run_id] for a, _ in both]
    first, second = [each.found for each in of], [drawn[b.run_id].found for _, b in both]
    known = [each.groups for each in of if each.groups is not None]
    fewest, groups = min(each.documents for each in of), min(known) if len(known) == len(of) else None
    counted = fewest if groups is None else groups
    main = document_interval(first, second, "main", groups=counted)
    if main is None:
        return None
    has_micro = all(each.micro is not None for each in (*first, *second))
    micro = document_interval(first, second, "micro", groups=counted) if has_micro else None
    return DocumentIntervals(main, micro, fewest, groups)


def _ids(child: ComparedFold) -> Sequence[str]:
    return child.test.ids if child.test is not None else ()
