"""Gains of the recommended run over the other ways to learn the tasks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mtlv.comparison.sections.parts import listed
from mtlv.comparison.verdicts import interval_text, signed
from mtlv.evaluation.comparison import ComparedRun
from mtlv.evaluation.pairs import tasks_of

READING = ("encoder.name", "data.max_length")
"""Settings that change what a run's models know of a text, whatever they learn together."""
ALL, EACH, GROUPS = "one model for all tasks", "one model per task", "groups"


def way_of(run: ComparedRun) -> str:
    """Return how a run learns its tasks: together, apart or in groups."""
    if len(run.plan) == 1 and not run.groups:
        return ALL
    return EACH if len(run.plan) == len(tasks_of(run)) else GROUPS


@dataclass(frozen=True)
class Gain:
    """The gain of the recommended run over another one."""

    over: ComparedRun
    value: float  # over the folds and seeds of both
    interval: tuple[float, float] | None = None  # 95% interval over test documents, if known


def gains(chosen: ComparedRun, found: Iterable[Gain]) -> str:
    """Return a sentence on the gains over the best run of each other way; `found` has high scores first."""
    best: dict[str, Gain] = {}
    for gain in found:
        best.setdefault(way_of(gain.over), gain)
    parts = [
        f"over {way} (“{best[way].over.name}”{_unlike(chosen, best[way].over)}) is "
        f"{signed(best[way].value)}{in_brackets(best[way].interval)}"
        for way in (ALL, EACH, GROUPS)
        if way in best and way != way_of(chosen)
    ]
    return f" Its gain {listed(parts)}." if parts else ""


def _unlike(chosen: ComparedRun, other: ComparedRun) -> str:
    """Name settings for which the gain may have another reason than what is learned together."""
    differ = [f"`{key}`" for key in READING if chosen.params.get(key) != other.params.get(key)]
    return f", with another {listed(differ)}" if differ else ""


def in_brackets(interval: tuple[float, float] | None) -> str:
    """Return an interval after a number, with a space before it; empty if it is not known."""
    return f" ({interval_text(*interval)})" if interval else ""
