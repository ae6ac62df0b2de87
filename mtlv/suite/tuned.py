"""Choice of the members whose values are the best on validation, for a suite with `tune`."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from mtlv.plan.tuning import Candidate, Tried, choose
from mtlv.planning.measured import validation_score
from mtlv.reporting.member_result import FoldResult, MemberResult


def tuned(results: Sequence[MemberResult]) -> tuple[tuple[MemberResult, ...], list[Tried]]:
    """Return the members that are compared, and all that try values; test scores choose nothing."""
    runs = {each.name: each.resolved.member.tuned for each in results}
    tried = choose([_candidate(each, of) for each in results for of in runs[each.name] if of is not None])
    chosen = {each.name for each in tried if each.chosen}
    return tuple(each for each in results if each.name in chosen or None in runs[each.name]), tried


def _candidate(result: MemberResult, of: int) -> Candidate:
    tasks = {task.name: task for task in result.resolved.known}

    def score(found: FoldResult) -> float:
        held = found.outcome.validation.tasks
        return fmean(validation_score(tasks[name], scores) for name, scores in held.items())

    scores = {(each.child.fold.index, each.child.seed): score(each) for each in result.children}
    return Candidate(of, result.name, scores)


def tried_lines(tried: Sequence[Tried]) -> list[str]:
    """Return a line on each chosen member, with those that are not compared."""
    lines = []
    for each in tried:
        others = [other for other in tried if other.of == each.of and other != each]
        if each.chosen:
            left = f"; not compared: {', '.join(map(_scored, others))}" if others else ""
            lines.append(f"Best on validation: {_scored(each)}{left}")
    return lines


def _scored(each: Tried) -> str:
    return f"`{each.name}`" + ("" if each.score is None else f" ({each.score:.4f})")
