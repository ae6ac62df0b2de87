"""Choice of the members whose values are the best on validation, for a suite with `tune`."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from mtlv.evaluation.tuning import Candidate, Tried, choose
from mtlv.planning.measured import validation_score
from mtlv.reporting.member_result import FoldResult, MemberResult


def keep_best_members(results: Sequence[MemberResult]) -> tuple[tuple[MemberResult, ...], list[Tried]]:
    """Return the members that are compared, and all that try values; test scores choose nothing."""
    runs = {result.name: result.resolved.member.tuned for result in results}
    tried = choose(
        [_candidate(result, of) for result in results for of in runs[result.name] if of is not None]
    )
    chosen = {result.name for result in tried if result.chosen}
    return tuple(result for result in results if result.name in chosen or None in runs[result.name]), tried


def _candidate(result: MemberResult, of: int) -> Candidate:
    tasks = {task.name: task for task in result.resolved.tasks}

    def score(fold_result: FoldResult) -> float:
        task_scores = fold_result.outcome.validation.tasks
        return fmean(validation_score(tasks[name], scores) for name, scores in task_scores.items())

    scores = {(fold.fold_run.fold.index, fold.fold_run.seed): score(fold) for fold in result.children}
    return Candidate(of, result.name, scores)


def tried_lines(tried: Sequence[Tried]) -> list[str]:
    """Return a line on each chosen member, with those that are not compared."""
    lines = []
    for candidate in tried:
        others = [other for other in tried if other.of == candidate.of and other != candidate]
        if candidate.chosen:
            left = f"; not compared: {', '.join(map(_with_score, others))}" if others else ""
            lines.append(f"Best on validation: {_with_score(candidate)}{left}")
    return lines


def _with_score(tried: Tried) -> str:
    return f"`{tried.name}`" + ("" if tried.score is None else f" ({tried.score:.4f})")
