"""Gains of the recommended run over the other ways to learn the tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mtlv.comparison.pairwise_tests import PairwiseTest
from mtlv.comparison.parts import join_with_and
from mtlv.comparison.ranking import Standing, difference_of, interval_of
from mtlv.comparison.verdict_words import format_signed, interval_text
from mtlv.evaluation.compared_runs import ComparedRun
from mtlv.evaluation.pairs import tasks_of

READING = ("encoder.name", "data.max_length")
"""Settings that change what a run's models know of a text, whatever they learn together."""
ALL, EACH, GROUPS = "one model for all tasks", "one model per task", "groups"


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
            parts.append(f"over {way} ({name}) is {format_signed(gain)}{interval}")
    return f" Its gain {join_with_and(parts)}." if parts else ""


def _unlike(chosen: ComparedRun, other: ComparedRun) -> str:
    """Name settings for which the gain may have another reason than what is learned together."""
    differ = [f"`{key}`" for key in READING if chosen.params.get(key) != other.params.get(key)]
    return f", with another {join_with_and(differ)}" if differ else ""


def in_brackets(interval: tuple[float, float] | None) -> str:
    """Return an interval after a number, with a space before it; empty if it is not known."""
    return f" ({interval_text(*interval)})" if interval else ""
