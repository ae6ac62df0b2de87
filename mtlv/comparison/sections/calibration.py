"""Calibration: whether labels are as frequent as the runs' probabilities say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any, Literal

from mtlv.comparison.blocks import Block, FigureBlock, Section, TableBlock, TableColumn, TextBlock
from mtlv.comparison.pairwise_tests import each_draw
from mtlv.comparison.parts import learned_nothing, of_run
from mtlv.comparison.parts.channels import GREY, dots, number, run_header, small_multiples, tip
from mtlv.comparison.pooled_scores import one_after_the_other
from mtlv.evaluation.bootstrap import Floats, document_interval
from mtlv.evaluation.calibration import (
    BINS,
    Bin,
    brier_score,
    calibration_error,
    known_pairs,
    reliability,
    squared_errors,
    temperature,
)
from mtlv.evaluation.compared_runs import ComparedFold, ComparedRun, Comparison, mean_and_sd
from mtlv.evaluation.pairs import comparable, siblings
from mtlv.evaluation.scoring import tasks_with_threshold
from mtlv.evaluation.significance import Interval
from mtlv.figures.palette import run_colour
from mtlv.reporting.learned_words import NOTHING

FEWEST = 20  # predictions in a bin that is shown
PANEL = 196, 196  # width and height of a panel in pixels
INTRO = (
    "Of the labels that get a probability of 0.8, 80% should be true. Yes/no tasks of the runs that are "
    "switched on when the page opens."
)
TABLE = (
    "Brier score: mean squared error of the probabilities on the test documents, with its standard deviation "
    "over folds and seeds; lower is better. Calibration error: mean distance between probability and share "
    "of true labels in ten bins of equal width, of the pooled scores. Temperature: what logits would have to "
    "be divided by, fitted on the validation documents of each fold and seed; above 1, probabilities are too "
    "close to 0 and 1. Calibrated: the Brier score after that, as `mtlv predict --calibrated` gives them. "
    "The last three columns are of labels with a probability of 0.9 or more."
)
NOT_COMPARABLE = "The runs have different documents, splits or tasks, so their scores cannot be compared."
FIGURE = (
    "Share of true labels over the mean probability, in ten bins of equal width with at least "
    f"{FEWEST} predictions; test scores of all tasks, folds and seeds are pooled. Bars are 95% intervals if "
    "predictions are independent. On the dashed line, probabilities are right; below it they are too high."
)


@dataclass(frozen=True, eq=False)
class Calibrated:
    """The calibration of a run's yes/no tasks."""

    run: ComparedRun
    errors: Mapping[str, tuple[Floats, Floats]]  # `squared_errors` by child (`run_id`)
    bins: Sequence[Bin]
    temperatures: Mapping[str, float]  # fitted on the validation documents of children (`run_id`)
    calibrated: float | None  # mean Brier score of the children at their temperatures, if all have one

    @property
    def temperature(self) -> float | None:
        """The mean over children."""
        return fmean(self.temperatures.values()) if self.temperatures else None

    @cached_property
    def brier(self) -> dict[str, float]:
        """The Brier score of each child."""
        return {key: brier_score(*sums) for key, sums in self.errors.items()}

    @property
    def mean(self) -> float:
        return fmean(self.brier.values())

    @property
    def sure(self) -> Bin | None:
        """The bin of the probabilities of 0.9 or more, if it has enough."""
        last = self.bins[-1]
        return last if last.probability >= 1 - 1 / BINS and last.count >= FEWEST else None


def build(comparison: Comparison) -> Section | None:
    """Build the section; None if no run shown at first has scores of a yes/no task."""
    names = set(tasks_with_threshold(comparison.tasks))
    runs = [run for run in comparison.runs if run.key in comparison.shown]
    calibrated_runs = [calibrated for run in runs if (calibrated := _calibrated(run, names))]
    if not calibrated_runs:
        return None
    base = next(
        (calibrated for calibrated in calibrated_runs if calibrated.run.key == comparison.baseline), None
    )
    intervals = {} if base is None else _intervals(calibrated_runs, base)
    rows = _points(calibrated_runs)
    unranked = {run.key for run in learned_nothing(comparison)}
    ranked = [calibrated for calibrated in calibrated_runs if calibrated.run.key not in unranked]
    alike = all(comparable(calibrated.run, ranked[0].run) for calibrated in ranked)
    if not ranked:
        text = NOTHING
    elif not alike:
        text = NOT_COMPARABLE
    else:
        text = _finding(ranked, base if base in ranked else None, intervals)
    blocks: list[Block] = [
        TextBlock(text, "finding"),
        _table(calibrated_runs, base, intervals, ranked=alike and ranked == calibrated_runs),
        *(
            [FigureBlock("reliability", "Reliability", FIGURE, _spec(comparison), rows, wide=True)]
            if rows
            else []
        ),
    ]
    return Section("calibration", "Calibration", INTRO, blocks)


def _calibrated(run: ComparedRun, names: set[str]) -> Calibrated | None:
    test = one_after_the_other(run, "test")
    tasks = sorted(name for name in names if test and name in test.tasks and not test.tasks[name].is_decided)
    tested = {child.run_id: child.test for child in run.children if child.test and child.test.ids}
    all_errors = {key: squared_errors(scores, tasks) for key, scores in tested.items()}
    errors = {key: value for key, value in all_errors.items() if value[1].any()}  # with a target
    if test is None or not errors:
        return None
    fitted = {
        child.run_id: value
        for child in run.children
        if child.run_id in errors and child.validation and child.validation.ids
        if (value := temperature(*known_pairs(child.validation, tasks))) is not None
    }
    after = [brier_score(*squared_errors(tested[key], tasks, value)) for key, value in fitted.items()]
    calibrated = fmean(after) if len(after) == len(errors) else None
    return Calibrated(run, errors, reliability(*known_pairs(test, tasks)), fitted, calibrated)


def _intervals(calibrated_runs: Sequence[Calibrated], base: Calibrated) -> dict[str, Interval]:
    """Return the interval over test documents of each run's Brier score minus that of the baseline."""
    errors = {key: value for calibrated in calibrated_runs for key, value in calibrated.errors.items()}
    drawn: dict[str, Floats] = {}
    groups: dict[str, int] = {}
    for weights, count, children in each_draw(
        child for calibrated in calibrated_runs for child in calibrated.run.children
    ):
        for key in (child.run_id for child in children if child.run_id in errors):
            above, below = errors[key]
            known = weights @ below
            if known.all():  # not if a resample may have no target
                drawn[key] = (weights @ above) / known
                groups[key] = weights.shape[1] if count is None else count
    out = {}
    for calibrated in calibrated_runs:
        keys = [(a.run_id, b.run_id) for a, b in _pairs(calibrated, base)]
        if not keys or not all(key in drawn for pair in keys for key in pair):
            continue
        first, second = ([drawn[pair[n]] for pair in keys] for n in (0, 1))
        interval = document_interval(first, second, groups=min(groups[key] for key, _ in keys))
        if interval is not None:
            out[calibrated.run.key] = interval
    return out


def _pairs(calibrated: Calibrated, base: Calibrated) -> list[tuple[ComparedFold, ComparedFold]]:
    """Return the children of a run and of the baseline that were tested on the same documents."""
    if calibrated is base or not comparable(calibrated.run, base.run):
        return []
    both = siblings(calibrated.run, base.run)
    scored = [(a, b) for a, b in both if a.run_id in calibrated.errors and b.run_id in base.errors]
    return [(a, b) for a, b in scored if a.test and b.test and a.test.ids == b.test.ids]


def _difference(calibrated: Calibrated, base: Calibrated) -> float | None:
    both = _pairs(calibrated, base)
    return fmean(calibrated.brier[a.run_id] - base.brier[b.run_id] for a, b in both) if both else None


def _finding(
    calibrated_runs: Sequence[Calibrated], base: Calibrated | None, intervals: Mapping[str, Interval]
) -> str:
    best = min(calibrated_runs, key=lambda calibrated: calibrated.mean)
    rank = "the lowest Brier score," if len(calibrated_runs) > 1 else "a Brier score of"
    text = f"“{best.run.name}” has {rank} {best.mean:.4f}."
    if base is not None and base is not best:
        gap = _difference(best, base)
        text += f" “{base.run.name}” has {base.mean:.4f}"
        if gap is not None and best.run.key in intervals:
            text += f": a difference of {_signed(gap)} (95% interval {_interval(intervals[best.run.key])})"
        text += "."
    named = [best] if base is None or base is best else [best, base]
    after = [f"{calibrated.calibrated:.4f}" for calibrated in named if calibrated.calibrated is not None]
    if len(after) == len(named):
        text += f" Calibrated on validation: {' and '.join(after)}."
    shares = [
        f"{top.share:.1%} of “{calibrated.run.name}” (mean probability {top.probability:.1%})"
        for calibrated in named
        if (top := calibrated.sure)
    ]
    share = f" Of the labels with a probability of 0.9 or more, these are true: {'; '.join(shares)}."
    return text + share if shares else text


def _signed(value: float) -> str:
    return f"{value:+.4f}".replace("-", "−")


def _interval(interval: Interval | None) -> str | None:
    return None if interval is None else f"{_signed(interval.low)} to {_signed(interval.high)}"


def _table(
    calibrated_runs: Sequence[Calibrated],
    base: Calibrated | None,
    intervals: Mapping[str, Interval],
    ranked: bool,
) -> TableBlock:
    best: Literal["low", ""] = "low" if ranked else ""
    columns = [
        TableColumn("name", "run", kind="text"),
        TableColumn("brier", "Brier score", digits=4, best=best, spread="brier_sd"),
        TableColumn("error", "calibration error", digits=4, best=best),
        TableColumn("temperature", "temperature", digits=2),
        TableColumn("calibrated", "calibrated", digits=4, best=best),
        TableColumn("probability", "mean probability", digits=3),
        TableColumn("share", "share true", digits=3),
        TableColumn("count", "labels", digits=0),
    ]
    if intervals and base is not None:
        columns[2:2] = [
            TableColumn("difference", f"minus “{base.run.name}”", digits=4, signed=True),
            TableColumn("interval", "95% interval over test documents", kind="text"),
        ]
    rows = [_row(calibrated, base, intervals) for calibrated in calibrated_runs]
    return TableBlock("calibration", "Brier scores and temperatures", TABLE, columns, rows)


def _row(
    calibrated: Calibrated, base: Calibrated | None, intervals: Mapping[str, Interval]
) -> dict[str, Any]:
    mean, spread = mean_and_sd(list(calibrated.brier.values()))
    sure = calibrated.sure
    return of_run(calibrated.run) | {
        "brier": mean,
        "brier_sd": spread,
        "difference": None if base is None else _difference(calibrated, base),
        "interval": _interval(intervals.get(calibrated.run.key)),
        "error": calibration_error(calibrated.bins),
        "temperature": calibrated.temperature,
        "calibrated": calibrated.calibrated,
        "probability": sure and sure.probability,
        "share": sure and sure.share,
        "count": sure and sure.count,
    }


def _points(calibrated_runs: Sequence[Calibrated]) -> list[dict[str, Any]]:
    return [
        of_run(calibrated.run)
        | {"order": order, "probability": part.probability, "share": part.share, "count": part.count}
        | {"low": part.interval.low, "high": part.interval.high}
        for order, calibrated in enumerate(calibrated_runs)
        for part in calibrated.bins
        if part.count >= FEWEST
    ]


def _spec(comparison: Comparison) -> dict[str, Any]:
    """Return a panel per run."""
    tips = [
        tip("name", "run"), tip("probability", "mean probability", ".3f"), tip("share", "share true", ".3f"),
        tip("low", "lowest", ".3f"), tip("high", "highest", ".3f"), tip("count", "predictions", ",d"),
    ]  # fmt: skip
    scale, axis = {"domain": [0, 1], "nice": False}, {"format": ".1f", "tickCount": 3}
    x = number("probability", title="mean probability", scale=scale, axis=axis)
    y = number("share", title="share true", scale=scale, axis=axis)
    colour = run_colour(comparison) | {"legend": None}
    right = {
        "transform": [{"aggregate": [{"op": "count", "as": "all"}]}],
        "mark": {"type": "rule", "strokeDash": [5, 3], "color": GREY},
        "encoding": {"x": {"datum": 0}, "y": {"datum": 0}, "x2": {"datum": 1}, "y2": {"datum": 1}},
    }
    ends = {"y": y | {"field": "low"}, "y2": {"field": "high"}, "tooltip": tips}
    bars = {"mark": {"type": "rule"}, "encoding": ends}
    points = {"mark": dots(45), "encoding": {"y": y, "tooltip": tips}}
    of_run_rows = {"encoding": {"x": x, "color": colour}, "layer": [bars, points]}
    return small_multiples({"layer": [right, of_run_rows]}, "name", PANEL, header=run_header(PANEL[0]))
