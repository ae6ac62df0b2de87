"""Learning curves: means and bands of the children, a panel per head and task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from statistics import fmean

import pytest
from comparisons import a_comparison
from drawing import block
from looking import drawn, findings

from mtlv.comparison import parts
from mtlv.comparison.parts import channels
from mtlv.comparison.parts.channels import integer_ticks
from mtlv.comparison.sections.curves import build
from mtlv.evaluation.compared_runs import Comparison
from mtlv.plan import group_name

Make = Callable[..., Comparison]


def test_a_line_is_the_mean_and_the_band_the_range_of_the_children(comparison_of: Make) -> None:
    comparison = comparison_of()
    rows = [row for row in block(build(comparison), "curves_train_loss").rows if row["run"] == "r1"]
    curves = [child.curves["train/loss"] for child in comparison.run("r1").children]
    assert [row["epoch"] for row in rows] == [1, 2, 3, 4, 5]
    for row in rows:
        values = [value for curve in curves for step, value in curve if step + 1 == row["epoch"]]
        assert (row["value"], row["low"], row["high"]) == pytest.approx(
            (fmean(values), min(values), max(values))
        )
        assert row["children"] == 3


def test_losses_are_means_over_tasks_whatever_is_minimised() -> None:
    comparison = a_comparison(children=1)
    run = next(run for run in comparison.runs if run.architecture == "gmhl")
    (child,) = run.children
    heads = [head for model in run.plan for head in model]
    assert len({len(head) for head in heads}) > 1, "a plain mean over heads would be the same"
    curves = {
        key: [(step, value * len(heads)) for step, value in curve] if key == "train/loss" else curve
        for key, curve in child.curves.items()
    }

    def losses(changed: dict) -> list[float]:
        one = replace(run, children=(replace(child, curves=changed),))
        return [
            row["value"] for row in block(build(replace(comparison, runs=(one,))), "curves_train_loss").rows
        ]

    of_tasks = {task: curves[f"train.heads.loss/{group_name(head)}"] for head in heads for task in head}
    assert losses(curves) == pytest.approx(
        [fmean(curve[step][1] for curve in of_tasks.values()) for step in range(5)]
    )
    assert losses({"train/loss": curves["train/loss"]}) == [value for _, value in curves["train/loss"]]


def test_a_model_that_stopped_early_counts_while_it_was_trained() -> None:
    comparison = a_comparison(children=1)
    run = next(run for run in comparison.runs if run.architecture == "stl")
    names = [f"train.heads.loss/{group_name(head)}" for model in run.plan for head in model]
    curves = {name: [(0, 4.0), (1, 2.0)] for name in names} | {names[0]: [(0, 1.0)], "train/loss": [(0, 3.0)]}
    one = replace(run, children=(replace(run.children[0], curves=curves),))
    rows = block(build(replace(comparison, runs=(one,))), "curves_train_loss").rows
    assert [row["value"] for row in rows] == pytest.approx([(1 + 4 * (len(names) - 1)) / len(names), 2.0])


def test_a_run_measured_once_has_no_band(comparison_of: Make) -> None:
    rows = block(build(comparison_of(children=1)), "curves_val_f1_macro").rows
    assert rows
    assert all(row["low"] is None and row["high"] is None for row in rows)


def test_children_of_different_lengths_count_where_they_are() -> None:
    rows = parts.band([[(0, 1.0), (1, 3.0)], [(0, 2.0)]])
    assert [(row["epoch"], row["value"], row["children"]) for row in rows] == [(1, 1.5, 2), (2, 3.0, 1)]
    assert (rows[1]["low"], rows[1]["high"]) == (None, None)


def test_long_curves_are_thinned_evenly_and_keep_their_ends() -> None:
    rows = parts.band([[(step, float(step)) for step in range(1000)]], most=50)
    epochs = [row["epoch"] for row in rows]
    assert len(epochs) == 50
    assert (epochs[0], epochs[-1]) == (1, 1000)
    assert max(b - a for a, b in pairwise(epochs)) <= 21


def test_runs_with_the_same_head_share_its_panel(comparison_of: Make) -> None:
    comparison = comparison_of()
    rows = block(build(comparison), "curves_head_loss").rows
    panels = {run.key: {row["head"] for row in rows if row["run"] == run.key} for run in comparison.runs}
    assert panels["r2"] == panels["r3"]  # gmtl and gmhl of one suite have the same groups
    assert panels["r1"] == {"Opacity + 5 more"}
    assert panels["r0"] == {task.name for task in comparison.tasks}


def test_different_heads_never_share_a_panel(comparison_of: Make) -> None:
    comparison = comparison_of(runs=12, tasks=23)
    rows = block(build(comparison), "curves_head_f1").rows
    members = {(row["head"], row["members"]) for row in rows}
    heads = {frozenset(head) for run in comparison.runs for model in run.plan for head in model}
    assert len(members) == len({head for head, _ in members}) == len(heads)


def test_a_head_of_another_fold_keeps_its_own_name(comparison_of: Make) -> None:
    comparison = comparison_of()
    run = comparison.runs[2]
    child = run.children[1]
    other = replace(child, curves={"val.heads.f1_macro/Unknown and 2 more 123456": [(0, 0.5)]})
    run = replace(run, children=(run.children[0], other), elsewhere=True)
    rows = block(build(replace(comparison, runs=(run,))), "curves_head_f1").rows
    assert "Unknown and 2 more 123456" in {row["head"] for row in rows}


def test_a_plan_without_the_list_of_its_tasks_is_drawn(comparison_of: Make) -> None:
    comparison = comparison_of(runs=2)
    lost = replace(comparison.runs[1], plan=((("unlisted b", "unlisted a"),),))
    assert build(replace(comparison, runs=(comparison.runs[0], lost))) is not None


def test_task_panels_follow_the_filter_and_the_most_frequent_come_first(comparison_of: Make) -> None:
    comparison = comparison_of(runs=2, children=1, tasks=30)
    figure = block(build(comparison), "curves_task_f1")
    names = [task.name for task in comparison.tasks]
    assert len({row["task"] for row in figure.rows}) == 30
    words = drawn(figure, comparison)
    assert set(names[: channels.PANELS]) - set(words) <= {name for name in names if len(name) > 28}
    assert not set(names[channels.PANELS :]) & set(words)
    rare = drawn(figure, comparison, tasks=names[-3:])
    assert set(names[-3:]) <= set(rare)


def test_factors_of_a_balancer_are_drawn_by_task_and_by_head(comparison_of: Make) -> None:
    comparison = comparison_of()
    ids = {block.id for block in build(comparison).blocks[1:]}
    assert not {"curves_task_factor", "curves_head_factor"} & ids, "no run has a balancer"
    task, run = comparison.tasks[0].name, comparison.runs[2]
    head = group_name(run.plan[0][0])
    for key, id in ((f"train.tasks.factor/{task}", "task"), (f"train.heads.factor/{head}", "head")):
        child = replace(run.children[0], curves={key: [(0, 1.0), (1, 3.0)]})
        section = build(replace(comparison, runs=(replace(run, children=(child,)), *comparison.runs[:2])))
        rows = block(section, f"curves_{id}_factor").rows
        assert [(row["run"], row["epoch"], row["value"]) for row in rows] == [("r2", 1, 1.0), ("r2", 2, 3.0)]
        assert rows[0][id] == task if id == "task" else rows[0]["members"]


def test_runs_are_left_out_where_rows_are_too_many_and_that_is_said(
    comparison_of: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparison = comparison_of(baseline="r3")
    monkeypatch.setattr(parts, "ROWS", 65)  # two runs have 30 rows each
    figure = block(build(comparison), "curves_task_f1")
    assert {row["run"] for row in figure.rows} == {"r0", "r1"}
    assert figure.caption.endswith("2 of 4 runs are left out here, to limit the number of lines.")


def test_the_legend_names_the_runs_that_are_on_and_no_other(comparison_of: Make) -> None:
    comparison = comparison_of(runs=14, children=1, tasks=3)
    figure = block(build(comparison), "curves_train_loss")
    words = drawn(figure, comparison, runs=["r1", "r13"])
    names = {run.name for run in comparison.runs}
    assert names & set(words) == {comparison.runs[1].name, comparison.runs[13].name}


def test_without_curves_there_is_no_section(comparison_of: Make) -> None:
    comparison = comparison_of()
    runs = tuple(
        replace(run, children=tuple(replace(child, curves={}) for child in run.children))
        for run in comparison.runs
    )
    assert build(replace(comparison, runs=runs)) is None


def test_axes_of_epochs_have_whole_numbers_only():
    assert integer_ticks(3, 10) == [1, 2, 3]
    assert integer_ticks(100, 10) == [1, 11, 21, 31, 41, 51, 61, 71, 81, 91]
    assert integer_ticks(1, 9) == [1]


def of_texts(comparison: Comparison, runs: int, name: str = "pretrain notes.text") -> Comparison:
    """With losses of texts in the first `runs`; the second epoch of child n ends at 300 + n tokens."""
    made = [
        replace(
            run,
            children=tuple(
                replace(
                    child,
                    curves={
                        **child.curves,
                        f"val.texts.bits_per_character/{name}": [(0, 3.0), (1, 2.0 + n)],
                        f"train.texts.tokens/{name}": [(0, 100.0), (1, 300.0 + n)],
                    },
                )
                for n, child in enumerate(run.children)
            ),
        )
        for run in comparison.runs[:runs]
    ]
    return replace(comparison, runs=(*made, *comparison.runs[runs:]))


def test_losses_of_texts_are_drawn_over_the_tokens_that_were_read(comparison_of: Make) -> None:
    found = block(build(of_texts(comparison_of(), 2)), "curves_texts_pretrain_notes.text")
    assert found.title == "Bits per character over tokens: pretrain notes.text"
    points = [(row["run"], row["tokens"], row["value"], row["low"], row["high"]) for row in found.rows]
    of_each = [(100, 3.0, 3.0, 3.0), (301, 3.0, 2.0, 4.0)]
    assert points == [(run, *point) for run in ("r0", "r1") for point in of_each]
    assert found.spec["encoding"]["x"]["field"] == "tokens"


def test_losses_of_texts_of_one_run_are_not_compared(comparison_of: Make) -> None:
    assert not [b for b in build(of_texts(comparison_of(), 1)).blocks[1:] if b.id.startswith("curves_texts")]
    apart = of_texts(of_texts(comparison_of(), 1, "b x"), 2, "c y")
    assert [b.id for b in build(apart).blocks[1:] if b.id.startswith("curves_texts")] == ["curves_texts_c_y"]


def test_the_section_says_which_runs_were_not_trained_to_the_end(comparison_of: Make) -> None:
    comparison = comparison_of()
    flat = [
        replace(
            run, children=tuple(replace(c, curves=c.curves | {"val/f1_macro": FLAT}) for c in run.children)
        )
        for run in comparison.runs
    ]
    assert findings(build(replace(comparison, runs=tuple(flat)))).startswith(
        "Every run was trained to the end"
    )
    rising = replace(
        flat[1],
        children=tuple(replace(c, curves=c.curves | {"val/f1_macro": STEEP}) for c in flat[1].children),
    )
    text = findings(build(replace(comparison, runs=(flat[0], rising, *flat[2:]))))
    assert f"Not trained to the end: “{rising.name}”;" in text
    unknown = replace(flat[1], children=tuple(replace(c, curves={}) for c in flat[1].children))
    assert not findings(build(replace(comparison, runs=(flat[0], unknown, *flat[2:]))))


FLAT = tuple((step, 0.5) for step in range(6))
STEEP = tuple((step, 0.1 * step) for step in range(6))
