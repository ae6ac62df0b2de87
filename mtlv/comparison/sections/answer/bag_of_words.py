"""Sentences of the answer on a bag of words beside the recommended run."""

from __future__ import annotations

from collections.abc import Sequence

from mtlv.comparison.parts import capital
from mtlv.comparison.ranking import Standing
from mtlv.comparison.verdict_words import format_signed, interval_text
from mtlv.evaluation.compared_runs import ComparedRun, Comparison
from mtlv.formatting import list_first, many
from mtlv.reporting.learned_words import WORDS

NAMED = 3  # maximum of tasks that are named; more are counted


def not_shown(comparison: Comparison, standings: Sequence[Standing], run: ComparedRun) -> str:
    """Say that the recommended run is not shown to be better; empty if it is, or if nothing can decide."""
    gain = comparison.learning(run).gain
    if gain is None or gain.is_shown:
        return ""
    others = (comparison.learning(standing.run).gain for standing in standings)
    is_any = any(other is not None and other.is_shown for other in others)
    interval = ""
    if gain.interval is not None and not gain.interval.without_zero:  # else the tests of it disagree
        interval = f" (95% interval {interval_text(gain.interval.low, gain.interval.high)})"
    subject, it = (f"“{run.name}”", "it") if is_any else ("No run", f"“{run.name}”")
    verb = "is not shown" if is_any else "is shown"
    mean = format_signed(gain.mean)
    return f" {subject} {verb} to be better than a bag of words: {it} gains {mean}{interval}."


def score_text(comparison: Comparison, standings: Sequence[Standing], run: ComparedRun) -> str:
    """Return its score beside the recommended run, the runs that are no better, and the tasks behind it."""
    learning = comparison.learning(run)
    if learning.beside is None:
        return ""
    behind = [f"“{standing.run.name}”" for standing in standings if standing.is_behind_words]
    which = f", and is not beaten by {list_first(behind)}" if behind else ""
    text = f" {capital(WORDS)} reaches {learning.beside[1]:.3f}{which}."
    if not learning.lags:
        return text
    tasks = [f"“{lag.task}” ({lag.words:.3f} against {lag.score:.3f})" for lag in learning.lags]
    return f"{text} It is better on {many(len(tasks), 'task')}: {list_first(tasks, NAMED)}."
