"""Predicted scores of groups that follow from measured ones, beside their measured scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from mtlv.comparison.blocks import Block, FigureBlock, Section, TableBlock, TableColumn, TextBlock
from mtlv.comparison.parts import finite_or_none, of_run
from mtlv.comparison.parts.channels import dots, only, tip
from mtlv.comparison.parts.shared_groups import GroupNumbers, group_shapes, numbering
from mtlv.comparison.verdict_words import format_signed
from mtlv.evaluation.compared_runs import Comparison, is_random
from mtlv.formatting import duration, many
from mtlv_lab.measured_runs import predictions_of
from mtlv_lab.page.affinity import matrix, tree
from mtlv_lab.page.explored import apart, diagonal, gain_axes, histogram, scatter
from mtlv_lab.page.orders import orders, repeated_in_words
from mtlv_lab.predicted import TaskOutcome, Validated, validate
from mtlv_lab.prediction import Prediction
from mtlv_lab.predictors import FEWEST

DRAWN = 3  # runs with figures of their own
TITLE = "Predicted and measured"
INTRO = (
    "Groups that follow from the validation scores of measured groups: their predicted scores, and those "
    "that were measured when they were trained."
)
ON_TEST, ON_VALIDATION = "test", "validation"
SUMMARY = (
    "Spearman's correlation of predicted and measured gains over the run's tasks, on validation and on "
    "test; and within tasks over measured groups, each predicted from the others (mean over tasks). 95% "
    "intervals by a bootstrap over tasks: they cover the choice of tasks, not of documents or seeds, and "
    f"tasks of one group are not independent. There is none with fewer than {FEWEST} tasks. Error: measured "
    "minus predicted gain on validation."
)
NO_OTHER = "no other run of the same data, with scores on validation, is compared with it"
NO_PAIRS = "its groups are among the measured ones, and nothing else predicts them"


def build(comparison: Comparison) -> Section | None:
    """Build the section; None if no run's groups follow from a prediction."""
    return section(comparison, {run.key: predictions_of(comparison, run) for run in comparison.runs})


def section(comparison: Comparison, predictions: Mapping[str, Mapping[int, Prediction]]) -> Section | None:
    """Build the section of predictions, by the key of the run and by fold; None without any."""
    runs = [run for run in comparison.runs if predictions.get(run.key)]
    if not runs:
        return None
    found = [validate(comparison, run, predictions[run.key]) for run in runs]
    given = numbering(comparison)
    blocks: list[Block] = [TextBlock(in_words(each), "finding") for each in found[:DRAWN]]
    blocks += [TextBlock(_how(each)) for each in found[:DRAWN]]
    blocks += [_summary(found), _costs(found)]
    for number, each in enumerate(found[:DRAWN], 1):
        id = "predicted" if number == 1 else f"predicted_{number}"
        drawn: list[FigureBlock | TableBlock] = [
            *_tasks_figure(each, given, id),
            _groups_table(each, given, id),
            _tasks_table(each, given, id),
            *orders(each, id),
            *matrix(each.run, each.first, id),
            *tree(each.run, each.first, given, id),
            *scatter(each, id),
            *histogram(each, id),
        ]
        blocks += [_named(block, each.run.name) for block in drawn] if len(found) > 1 else drawn
    return Section("predicted", TITLE, INTRO, blocks)


def _named(block: FigureBlock | TableBlock, name: str) -> FigureBlock | TableBlock:
    return replace(block, title=f"{block.title}: “{name}”")


def in_words(found: Validated) -> str:
    """Say whether the prediction ranked the tasks as they came out."""
    return " ".join(text for text in (_ranked(found), _missed(found), repeated_in_words(found)) if text)


def _ranked(found: Validated) -> str:
    name, rank, pairs = f"“{found.run.name}”", found.on_validation, len(found.both)
    if not pairs:
        why = NO_PAIRS if found.alike else NO_OTHER
        return f"The prediction of {name} cannot be compared with measured scores: {why}."
    if rank is None:
        return (
            f"Whether the prediction ranked the tasks of {name} as they came out cannot be said of "
            f"{many(pairs, 'task')}: that needs {FEWEST} with different gains."
        )
    shown = f"Spearman {rank} on validation"
    shown += f", {found.on_test} on test" if found.on_test else ""
    if rank.shown:
        return f"The prediction ranked the tasks of {name} as they came out: {shown}."
    return f"The prediction says little about which tasks of {name} gain more: {shown}."


def _missed(found: Validated) -> str:
    """Say what was gained on average."""
    if not found.both or not found.level:
        return ""
    said, came = (fmean(_of(found.both, key)) for key in ("predicted_gain", "validation_gain"))
    over = "the other measured groups" if found.alike else _over(found)
    return f"A mean gain of {format_signed(said)} was predicted; {format_signed(came)} came, over {over}."


def _over(found: Validated) -> str:
    if is_random(found.reference[0]):
        return f"{many(len(found.reference), 'run')} of random groups"
    return f"“{found.reference[0].name}”"


def _how(found: Validated) -> str:
    """Say what is compared with what, and what it took."""
    name = f"“{found.run.name}”"
    if found.alike:
        scores = (
            "Gains are of validation scores, by the metric that is logged per epoch, over the task's mean "
            "in the other measured groups"
        )
    else:
        scores = (
            f"{apart(found)}. Predicted are gains of their validation scores over the task's mean in them"
        )
        scores += f", measured those of {name} over {_over(found)}" if found.reference else ""
        scores += ": only their order can be compared" if found.reference and not found.level else ""
    test = f"; on test, gains are over {_over(found)}" if found.reference else ""
    folds = (
        " The matrix, the tree and the histogram are of the first fold." if len(found.predictions) > 1 else ""
    )
    return f"{scores}{test}.{_seen(found)} {_cost(found)}{folds}"


def _seen(found: Validated) -> str:
    """Say that groups were chosen by the scores with which they are compared."""
    seen = [chosen for each in found.predictions.values() for chosen in each.chosen_for_scores]
    if not any(seen):
        return ""
    return (
        f" {sum(seen)} of the {many(len(seen), 'group')} of “{found.run.name}” had been measured: they were "
        "chosen for these scores, so their gains are too high."
    )


def _cost(found: Validated) -> str:
    row = _cost_row(found)
    said = f"Measuring trained {many(row['units'], 'model')} in {duration(row['seconds'])}"
    own = f"{many(row['own_units'], 'model')} in {duration(row['own_seconds'])}"
    return f"{said}, “{found.run.name}” {own}."


def _cost_row(found: Validated) -> dict[str, Any]:
    return of_run(found.run) | {
        "units": sum(each.units for each in found.predictions.values()),
        "seconds": sum(each.seconds for each in found.predictions.values()),
        "own_units": len(found.run.plan) * len(found.run.children),
        "own_seconds": sum(found.run.values("time/train_seconds")),
    }


def _of(outcomes: Sequence[TaskOutcome], key: str) -> list[float]:
    return [getattr(each, key) for each in outcomes]


def _summary(found: Sequence[Validated]) -> TableBlock:
    columns = [
        TableColumn("name", "run", kind="text"),
        TableColumn("feature", "predicted by", kind="text"),
        TableColumn("validation", "Spearman, validation", kind="text"),
        TableColumn("test", "Spearman, test", kind="text"),
        TableColumn("others", "groups left out", kind="text"),
        TableColumn("predicted", "predicted gain", signed=True),
        TableColumn("measured", "measured gain", signed=True),
        TableColumn("error", "mean error", signed=True),
        TableColumn("absolute", "mean absolute error"),
    ]
    return TableBlock(
        "predicted",
        "Order and error of the prediction",
        SUMMARY,
        columns,
        [_summary_row(each) for each in found],
    )


def _costs(found: Sequence[Validated]) -> TableBlock:
    columns = [
        TableColumn("name", "run", kind="text"),
        TableColumn("units", "models that were measured", digits=0),
        TableColumn("seconds", "their training, s", digits=0),
        TableColumn("own_units", "models of the run", digits=0),
        TableColumn("own_seconds", "their training, s", digits=0),
    ]
    caption = "What the prediction cost, and the run itself. A model that was measured is not trained again."
    rows = [_cost_row(each) for each in found]
    return TableBlock("predicted_cost", "Cost of the prediction", caption, columns, rows)


def _summary_row(found: Validated) -> dict[str, Any]:
    said, came = _of(found.both, "predicted_gain"), _of(found.both, "validation_gain")
    errors = [y - x for x, y in zip(said, came, strict=True)] if found.level else []
    ranks = {"validation": found.on_validation, "test": found.on_test, "others": found.on_others}
    row = {name: str(rank) if rank else "" for name, rank in ranks.items()} | {
        "feature": found.first.feature,
        "predicted": fmean(said) if said else None,
        "measured": fmean(came) if came else None,
        "error": fmean(errors) if errors else None,
        "absolute": fmean(map(abs, errors)) if errors else None,
    }
    return of_run(found.run) | row


def _group(found: Validated, given: GroupNumbers, of: TaskOutcome) -> str:
    """Return the number of a task's group, as everywhere on the page."""
    return given.number(found.run, found.predictions[of.fold].groups[of.group], of.group + 1)


def _tasks_figure(found: Validated, given: GroupNumbers, id: str) -> list[FigureBlock]:
    rows = [
        of_run(found.run)
        | {"task": each.task, "group": _group(found, given, each), "fold": each.fold, "part": part}
        | {"predicted": each.predicted_gain, "measured": gain}
        for each in found.tasks
        for part, gain in ((ON_VALIDATION, each.validation_gain), (ON_TEST, each.test_gain))
        if each.predicted_gain is not None and gain is not None
    ]
    if not rows:
        return []
    caption = (
        "A dot is a task: filled on validation, which was predicted, hollow on test."
        + found.level * " On the dashed line, as much came as was predicted."
    )
    title = "Gains of the tasks, predicted and measured"
    groups = sorted({row["group"] for row in rows}, key=int)
    return [FigureBlock(f"{id}_tasks", title, caption, _tasks_spec(groups, line=found.level), rows)]


def _tasks_spec(groups: Sequence[str], *, line: bool) -> dict[str, Any]:
    tips = [
        tip("task"), tip("group"), tip("part"), tip("predicted", "predicted gain", "+.4f"),
        tip("measured", "measured gain", "+.4f"), tip("fold", "fold", "d"),
    ]  # fmt: skip
    encoding = gain_axes() | {"color": group_shapes(groups)["color"], "tooltip": tips}
    return {
        "width": "container",
        "height": 320,
        "layer": [
            *([diagonal()] if line else []),
            only("part", ON_TEST, {"mark": dots(75, filled=False), "encoding": encoding}),
            only("part", ON_VALIDATION, {"mark": dots(75), "encoding": encoding}),
        ],
    }


GAIN_KEYS = ("predicted_gain", "validation_gain", "test_gain")
GAINS = (
    TableColumn("predicted_gain", "predicted gain", signed=True),
    TableColumn("validation_gain", "gain on validation", signed=True),
    TableColumn("error", "error", signed=True),
    TableColumn("test_gain", "gain on test", signed=True),
)


def _groups_table(found: Validated, given: GroupNumbers, id: str) -> TableBlock:
    """Build a table of the groups: means over their tasks."""
    columns = [
        TableColumn("group", "group", kind="text"),
        TableColumn("names", "names", kind="text"),
        TableColumn("seen", "measured before", kind="text"),
        *GAINS,
    ]
    rows = []
    for fold, prediction in found.predictions.items():
        for at, names in enumerate(prediction.groups):
            own = [each for each in found.tasks if (each.fold, each.group) == (fold, at)]
            gains = {key: _mean([getattr(each, key) for each in own]) for key in GAIN_KEYS}
            row = {"fold": fold, "group": given.number(found.run, names, at + 1), "names": ", ".join(names)}
            row["seen"] = "no" if prediction.row(names) is None else "yes"
            rows.append(of_run(found.run) | row | _with_error(found, gains))
    caption = (
        "Means over the tasks of each group. A group that was measured before is predicted from the other "
        "groups only. Groups that were chosen for their predictions come out lower, on average, than was "
        "predicted."
    )
    title = "Groups, predicted and measured"
    return TableBlock(f"{id}_groups", title, caption, _with_fold(found, columns), rows)


def _tasks_table(found: Validated, given: GroupNumbers, id: str) -> TableBlock:
    columns = [
        TableColumn("task", "task", kind="text"),
        TableColumn("group", "group", kind="text"),
        *GAINS,
        TableColumn("predicted", "predicted score"),
        TableColumn("validation", "score on validation"),
        TableColumn("test", "score on test"),
    ]
    rows = [
        of_run(found.run)
        | {"fold": each.fold, "task": each.task, "group": _group(found, given, each)}
        | {key: finite_or_none(getattr(each, key)) for key in ("predicted", "validation", "test")}
        | _with_error(found, {key: getattr(each, key) for key in GAIN_KEYS})
        for each in found.tasks
    ]
    caption = "Scores are of the metric that is logged per epoch, which needs no threshold."
    title = "Tasks, predicted and measured"
    return TableBlock(f"{id}_tasks", title, caption, _with_fold(found, columns), rows)


def _with_fold(found: Validated, columns: list[TableColumn]) -> list[TableColumn]:
    fold = TableColumn("fold", "fold", digits=0)
    return [fold, *columns] if len(found.predictions) > 1 else columns


def _with_error(found: Validated, gains: dict[str, float | None]) -> dict[str, float | None]:
    said, came = gains["predicted_gain"], gains["validation_gain"]
    return gains | {"error": came - said if found.level and said is not None and came is not None else None}


def _mean(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return fmean(there) if there and len(there) == len(values) else None
