"""Gains of the recommended run over the other ways to learn the tasks, and over a bag of words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mtlv.comparison.pairwise_tests import PairwiseTest
from mtlv.comparison.parts import capital, join_with_and
from mtlv.comparison.ranking import Standing, difference_of, interval_of
from mtlv.comparison.verdict_words import format_signed, interval_text
from mtlv.evaluation.compared_runs import ComparedRun, Comparison
from mtlv.evaluation.pairs import tasks_of
from mtlv.formatting import list_first, many
from mtlv.reporting.learned_words import WORDS

READING = ("encoder.name", "data.max_length")
"""Settings that change what a run's models know of a text, whatever they learn together."""
ALL, EACH, GROUPS = "one model for all tasks", "one model per task", "groups"
NAMED = 3  # maximum of tasks that are named; more are counted


def way_of(run: ComparedRun) -> str:
    """Return how a run learns its tasks: together, apart or in groups."""
    if len(run.plan) == 1 and not run.groups:
        return ALL
    return EACH if len(run.plan) == len(tasks_of(run)) else GROUPS


def gains(chosen: Standing, others: Iterable[Standing], pairs: Mapping[frozenset[str], PairwiseTest]) -> str:
    """Return a sentence on the gains over the best run of each other way, over the folds and seeds of both.

    Args:
        chosen: the recommended run.
        others: other runs, highest first.
        pairs: tests of two runs by their keys.
    """
    best: dict[str, Standing] = {}
    for standing in others:
        best.setdefault(way_of(standing.run), standing)
    parts = []
    for way in (ALL, EACH, GROUPS):
        if way in best and way != way_of(chosen.run):
            over = best[way]
            pair = pairs.get(frozenset((chosen.run.key, over.run.key)))
            gain = difference_of(chosen.run, pair) if pair else chosen.mean - over.mean
            interval = in_brackets(interval_of(chosen.run, pair) if pair else None)
            name = f"“{over.run.name}”{_unlike(chosen.run, over.run)}"
            parts.append(f"{format_signed(gain)}{interval} over {way} ({name})")
    return f" “{chosen.run.name}” gains {join_with_and(parts)}." if parts else ""


def _unlike(chosen: ComparedRun, other: ComparedRun) -> str:
    """Name settings for which the gain may have another reason than what is learned together."""
    differ = [f"`{key}`" for key in READING if chosen.params.get(key) != other.params.get(key)]
    return f", with another {join_with_and(differ)}" if differ else ""


def in_brackets(interval: tuple[float, float] | None) -> str:
    """Return an interval after a number, with a space before it; empty if it is not known."""
    return f" ({interval_text(*interval)})" if interval else ""


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
