"""Every pair of runs put to the tests: their values by fold and seed, and their test documents drawn anew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mtlv.compare.comparison import Child, ComparedRun, Comparison
from mtlv.compare.pairs import pairs_of, siblings
from mtlv.evaluation.bootstrap import Interval, Resampled, document_interval, document_weights, resampled_f1
from mtlv.evaluation.metrics import decide
from mtlv.evaluation.significance import PairedComparison, compare_pairs, holm
from mtlv.plan import Scores

KEY = "test/f1_macro"


@dataclass(frozen=True)
class DocumentIntervals:
    """Intervals of the differences in macro and micro F1 over test documents; see `document_interval`."""

    macro: Interval
    micro: Interval


@dataclass(frozen=True)
class Tested:
    """A pair of runs and all that was found; differences are run - other, of macro F1.

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
    """All pairs of `pairs_of` that have macro F1 on a common fold and seed.

    Documents are drawn for the runs that are shown at first only: it takes their scores.
    """
    pairs = [(run, other, _values(run, other)) for run, other in pairs_of(comparison)]
    kept = [(run, other, compare_pairs(*values)) for run, other, values in pairs if values[0]]
    wilcoxon = holm([found.wilcoxon.p for _, _, found in kept])
    t = holm([found.t.p for _, _, found in kept])
    shown = set(comparison.shown)
    drawn = _resampled([child for run in comparison.runs if run.key in shown for child in run.children])
    return tuple(
        Tested(run, other, found, wilcoxon[i], t[i], _documents(run, other, drawn))
        for i, (run, other, found) in enumerate(kept)
    )


def _values(run: ComparedRun, other: ComparedRun) -> tuple[list[float], list[float]]:
    both = [(a.metrics, b.metrics) for a, b in siblings(run, other) if KEY in a.metrics and KEY in b.metrics]
    return [a[KEY] for a, _ in both], [b[KEY] for _, b in both]


def _resampled(children: Iterable[Child]) -> Mapping[str, Resampled]:
    """F1 of the drawn documents, by child (`run_id`); weights are kept for one set of documents at a time."""
    by_ids: dict[tuple[str, ...], list[tuple[str, Scores, dict[str, float]]]] = {}
    for child in children:
        limits = {name: task["threshold"] for name, task in child.tasks.items() if "threshold" in task}
        if child.test is not None and child.test.ids and limits and limits.keys() == child.test.tasks.keys():
            by_ids.setdefault(child.test.ids, []).append((child.run_id, child.test, limits))
    out: dict[str, Resampled] = {}
    for ids, scored in by_ids.items():
        weights = document_weights(ids)
        for run_id, scores, limits in scored:
            out[run_id] = resampled_f1(decide(scores, sorted(limits), limits), weights)
    return out


def _documents(
    run: ComparedRun, other: ComparedRun, drawn: Mapping[str, Resampled]
) -> DocumentIntervals | None:
    """Nothing unless all common children of both were drawn, from the same documents."""
    both = siblings(run, other)
    if not all(a.run_id in drawn and b.run_id in drawn and _ids(a) == _ids(b) for a, b in both):
        return None
    first, second = [drawn[a.run_id] for a, _ in both], [drawn[b.run_id] for _, b in both]
    macro, micro = (document_interval(first, second, figure) for figure in ("macro", "micro"))
    return DocumentIntervals(macro, micro)


def _ids(child: Child) -> Sequence[str]:
    return child.test.ids if child.test is not None else ()
