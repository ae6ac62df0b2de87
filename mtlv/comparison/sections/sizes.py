"""Scores over the number of training documents, and from which number on one way to learn is no better."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mtlv.comparison.blocks import FigureBlock, Section, TextBlock
from mtlv.comparison.parts import capital, finite_mean_and_sd, join_with_and, of_run
from mtlv.comparison.parts.channels import dots, label, number, tip, with_value
from mtlv.comparison.ranking import by_runs, difference_of, interval_of
from mtlv.comparison.sections.answer.gains import EACH, in_brackets, way_of
from mtlv.comparison.sections.settings import settings_of
from mtlv.comparison.verdict_words import format_signed
from mtlv.evaluation.compared_runs import ComparedRun, Comparison
from mtlv.evaluation.pairs import PART
from mtlv.figures.palette import RUNS
from mtlv.reporting.metric_titles import plan_title

SHARE = "data.train_share"
Gain = tuple[float, float, tuple[float, float] | None]  # share, difference, its interval


@dataclass(frozen=True)
class Series:
    """Runs that differ only in the share of the training documents, by the share, smallest first."""

    name: str
    runs: Mapping[float, ComparedRun]


def build(comparison: Comparison) -> Section | None:
    """Build the section; None unless runs differ only in `data.train_share`."""
    series = series_of(comparison)
    if not series:
        return None
    title = plan_title(comparison)
    rows = [row for one in series for share, run in one.runs.items() for row in _rows(one, share, run)]
    figure = FigureBlock(
        "sizes",
        f"{capital(title)} over the training documents",
        "A point is a run: the mean over its folds and seeds, with a bar of one standard deviation if there "
        "are several. Runs joined by a line differ only in `data.train_share`; a smaller share is part of a "
        "larger one, and all are tested on the same documents.",
        _spec(series, title),
        rows,
        is_key=True,
    )
    text = " ".join(_sentences(comparison, series))
    intro = "How many labelled documents each way to learn needs, and how many make learning together pay."
    finding = [TextBlock(text, "finding")] if text else []
    return Section("sizes", "How many documents", intro, [*finding, figure])


def series_of(comparison: Comparison) -> list[Series]:
    """Return the runs that differ only in the share of the training documents; not those alone."""
    runs: dict[object, dict[float, ComparedRun]] = {}
    for run in comparison.runs:
        others = frozenset(item for item in settings_of(run).items() if item[0] != SHARE)
        runs.setdefault((run.data_digest, others), {})[float(run.params.get(SHARE, 1))] = run
    return [Series(_name(same), dict(sorted(same.items()))) for same in runs.values() if len(same) > 1]


def _name(runs: Mapping[float, ComparedRun]) -> str:
    """Return what the names of runs have in common."""
    first, *others = (re.split(f", |{PART}", run.name) for run in runs.values())
    common = [part for part in first if all(part in parts for parts in others)]
    return ", ".join(common) or " / ".join(run.name for run in runs.values())


def _rows(series: Series, share: float, run: ComparedRun) -> Iterator[dict[str, Any]]:
    score, sd = finite_mean_and_sd(run.mains)
    if score is not None:
        row = of_run(run) | {"series": series.name, "percent": 100 * share, "score": score}
        yield row | ({} if sd is None else {"low": score - sd, "high": score + sd})


def _spec(series: Sequence[Series], title: str) -> dict[str, Any]:
    percents = sorted({100 * share for one in series for share in one.runs})
    axis = {"values": percents, "format": ".4~r", "grid": False}
    x = number("percent", title="training documents, %", scale={"type": "log", "nice": False}, axis=axis)
    y = number("score", title=title, scale={"zero": False}, axis={"format": ".4~r"})
    names = [one.name for one in series]
    colours = {"domain": names, "range": [RUNS[at % len(RUNS)] for at in range(len(names))]}
    colour = label("series", title=None, scale=colours, legend={"orient": "top", "labelLimit": 300})
    tips = [tip("name", "run"), tip("percent", "training documents, %", ".4~r"), tip("score", title, ".4f")]
    bar = {"mark": "rule", "encoding": {"y": y | {"field": "low"}, "y2": {"field": "high"}}}
    return {
        "width": "container",
        "height": 300,
        "encoding": {"x": x, "color": colour},
        "layer": [
            {"mark": {"type": "line", "strokeWidth": 2}, "encoding": {"y": y}},
            with_value("low", bar),
            {"mark": dots(60), "encoding": {"y": y, "tooltip": tips}},
        ],
    }


def _sentences(comparison: Comparison, series: Sequence[Series]) -> Iterator[str]:
    """Yield the gains of the series over that of one model per task, or else over the first, by the share."""
    base = next((one for one in series if all(way_of(run) == EACH for run in one.runs.values())), series[0])
    pairs = by_runs(comparison)
    for one in series:
        gains: list[Gain] = []
        for share in one.runs.keys() & base.runs.keys() if one is not base else ():
            run, pair = one.runs[share], pairs.get(frozenset((one.runs[share].key, base.runs[share].key)))
            if pair is not None:
                gains.append((share, difference_of(run, pair), interval_of(run, pair)))
        if gains:
            yield _gains(one.name, base.name, sorted(gains))


def _gains(name: str, base: str, gains: Sequence[Gain]) -> str:
    texts = [
        f"{format_signed(gain)}{in_brackets(ends)} with {'all' if share == 1 else f'{100 * share:.4g}%'}"
        for share, gain, ends in gains
    ]
    return f"“{name}” gains over “{base}”, by the training documents: {join_with_and(texts)}."
