"""Tasks: figures of every task under every run, and differences to the baseline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from statistics import fmean, stdev

import pytest
from drawing import block
from looking import drawn, findings

from mtlv.comparison import pairwise_tests
from mtlv.comparison.files import visible
from mtlv.comparison.sections.tasks import build
from mtlv.comparison.verdict_words import format_signed
from mtlv.evaluation.compared_runs import Comparison, TaskInfo

Make = Callable[..., Comparison]


def test_cells_are_means_over_the_children(comparison_of: Make) -> None:
    comparison = comparison_of()
    rows = {(row["run"], row["task"]): row for row in block(build(comparison), "tasks").rows}
    assert len(rows) == 4 * 6
    for run in comparison.runs:
        for task in comparison.tasks:
            row = rows[run.key, task.name]
            values = [child.tasks[task.name]["f1"] for child in run.children]
            assert (row["value"], row["sd"]) == (fmean(values), stdev(values))
            assert row["support"] == task.support
            for name in ("precision", "recall", "average_precision", "threshold"):
                assert row[name] == fmean(child.tasks[task.name][name] for child in run.children)


@pytest.mark.parametrize("baseline", ["r0", "r2"])
def test_the_scale_of_gains_is_symmetric_and_holds_for_every_baseline(
    comparison_of: Make, baseline: str
) -> None:
    comparison = comparison_of()
    figure = block(build(comparison), "tasks_gain")
    cells = figure.spec["hconcat"][1]["layer"][0]
    low, middle, high = cells["encoding"]["color"]["scale"]["domain"]
    assert (low, middle) == (-high, 0)
    gains = [
        row["delta"]
        for row in visible(figure, comparison.shown, [t.name for t in comparison.tasks], baseline)
    ]
    assert len(gains) == 24
    assert max(map(abs, gains)) <= high


def test_numbers_stand_in_the_cells_and_support_beside_them(comparison_of: Make) -> None:
    comparison = comparison_of()
    words = drawn(block(build(comparison), "tasks_f1"), comparison)
    for run in comparison.runs:
        assert f"{fmean(run.of_task('Opacity')):.2f}" in words
    assert f"{comparison.tasks[0].support:g}" in words
    assert "<script>alert(1)</script>" in words
    assert "Atelectasis, Bibasilar" in words


def test_cells_have_no_numbers_where_they_are_too_many(comparison_of: Make) -> None:
    comparison = comparison_of(runs=12, children=1, tasks=100)
    figure = block(build(comparison), "tasks_f1")
    value = f"{fmean(comparison.runs[0].of_task('Opacity')):.2f}"
    assert value not in drawn(figure, comparison)
    assert value in drawn(figure, comparison, tasks=["Opacity"])


def test_the_scatter_leaves_the_baseline_out_and_has_frequencies(comparison_of: Make) -> None:
    comparison = comparison_of()
    figure = block(build(comparison), "tasks_gain_by_frequency")
    assert figure.baseline is not None
    assert {row["frequency"] for row in figure.rows} == {task.frequency for task in comparison.tasks}
    assert drawn(figure, comparison)


def test_the_scatter_takes_the_support_where_the_number_of_documents_is_unknown(comparison_of: Make) -> None:
    comparison = comparison_of()
    tasks = tuple(TaskInfo(task.name, support=task.support) for task in comparison.tasks)
    figure = block(build(replace(comparison, tasks=tasks)), "tasks_gain_by_frequency")
    assert "frequency" not in figure.rows[0]
    assert len(figure.rows) == 24


def test_the_words_name_the_largest_gain_and_loss(comparison_of: Make) -> None:
    comparison = comparison_of(baseline="r1")
    gains = {
        (run.name, task.name): fmean(run.of_task(task.name)) - fmean(comparison.run("r1").of_task(task.name))
        for run in comparison.runs
        for task in comparison.tasks
        if run.key != "r1"
    }
    said = findings(build(comparison))
    up, down = max(gains, key=gains.__getitem__), min(gains, key=gains.__getitem__)
    assert said.startswith("Against “mtl · minilm”")
    rows = {(row["name"], row["task"]): row for row in block(build(comparison), "tasks").rows}
    for end, (name, task) in (("gains", up), ("losses", down)):
        told = f"{format_signed(gains[name, task])}, {rows[name, task]['interval']})"
        assert f"Largest {end}: “{task}” in “{name}” ({told}" in said
    higher = sum(gain > 0 for gain in gains.values())
    assert f"{higher} of {len(gains)} task scores of the other runs are higher" in said


@pytest.mark.parametrize("baseline", ["r0", "r2"])
def test_gains_have_the_intervals_over_test_documents(comparison_of: Make, baseline: str) -> None:
    comparison = comparison_of(baseline=baseline)
    of = {
        (pair.run.key, name): interval
        for pair in pairwise_tests.compare_with_intervals(comparison)
        if pair.documents is not None and pair.other.key == baseline
        for name, interval in pair.documents.tasks.items()
    }
    section = build(comparison)
    rows = {(row["run"], row["task"]): row for row in block(section, "tasks").rows}
    assert (
        of.keys() == {key for key in rows if key[0] != baseline} == {k for k in rows if "interval" in rows[k]}
    )
    for (run, task), interval in of.items():
        gain = rows[run, task]["value"] - rows[baseline, task]["value"]
        assert interval.low < gain < interval.high
        assert (
            rows[run, task]["interval"] == f"{format_signed(interval.low)} to {format_signed(interval.high)}"
        )
    apart = sum(each.low > 0 or each.high < 0 for each in of.values())
    assert f"For {apart} of 18 scores, the 95% interval over resampled test documents" in findings(section)
    assert "about 0.9 are expected by chance." in findings(section)
    last = block(section, "tasks").columns
    assert f"over “{comparison.run(baseline).name}”" in next(c.title for c in last if c.key == "interval")


def test_a_run_with_fewer_seeds_than_the_baseline_has_no_intervals(comparison_of: Make) -> None:
    comparison = comparison_of(runs=3, children=3)
    first, other, last = comparison.runs
    fewer = replace(comparison, runs=(first, replace(other, children=other.children[:2]), last))
    rows = block(build(fewer), "tasks").rows
    assert {row["run"] for row in rows if "interval" in row} == {"r2"}


def test_one_run_has_no_gains(comparison_of: Make) -> None:
    section = build(comparison_of(runs=1))
    assert [each.id for each in section.blocks] == ["tasks_f1", "tasks"]
    assert "delta" not in [column.key for column in block(section, "tasks").columns]


def test_a_task_that_a_run_lacks_is_no_row(comparison_of: Make) -> None:
    comparison = comparison_of()
    run = comparison.runs[1]
    children = tuple(
        replace(child, tasks={name: each for name, each in child.tasks.items() if name != "Opacity"})
        for child in run.children
    )
    section = build(replace(comparison, runs=(comparison.runs[0], replace(run, children=children))))
    rows = block(section, "tasks").rows
    assert [row["run"] for row in rows if row["task"] == "Opacity"] == ["r0"]
