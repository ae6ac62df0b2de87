"""Cost: the front in words and in the figure is the same, and follows the runs that are on."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from drawing import block, of_runs, svg

from mtlv.comparison.parts.costs import MINUTES
from mtlv.comparison.ranking import score_runs
from mtlv.comparison.sections import answer, cost, overview


def rows_of(*pairs):
    return [
        {"name": f"run {i}", "minutes": minutes, "score": f1, "run": f"r{i}"}
        for i, (minutes, f1) in enumerate(pairs)
    ]


def test_the_front_is_what_no_other_run_beats():
    rows = rows_of((10, 0.5), (5, 0.6), (20, 0.7), (15, 0.65), (20, 0.69), (30, 0.7))
    assert [row["run"] for row in cost.front(rows, "minutes")] == ["r1", "r3", "r2"]


@pytest.mark.parametrize("seed", range(5))
def test_the_front_by_definition(seed):
    rng = np.random.default_rng(seed)
    rows = rows_of(*zip(rng.integers(1, 9, 20).tolist(), rng.random(20).round(1).tolist(), strict=True))
    best = {(row["minutes"], row["score"]) for row in cost.front(rows, "minutes")}

    def beaten(row):
        return any(
            (other["minutes"] <= row["minutes"] and other["score"] >= row["score"])
            and (other["minutes"], other["score"]) != (row["minutes"], row["score"])
            for other in rows
        )

    assert best == {(row["minutes"], row["score"]) for row in rows if not beaten(row)}


def filled(text):
    """Colours of the filled dots, in the drawing."""
    return sorted(re.findall(r'fill="(#\w+)" stroke-width="[\d.]+" opacity="1"', text))


@pytest.mark.parametrize("on", [("r0", "r1", "r2", "r3", "r4", "r5"), ("r0", "r2", "r5"), ("r2",)])
def test_the_drawn_front_follows_the_runs_that_are_on(comparison_of, on):
    comparison = comparison_of(runs=6)
    figure = block(cost.build(comparison), "cost")
    rows = of_runs(figure.rows, *on)
    colours = figure.spec["layer"][-1]["encoding"]["color"]["scale"]
    colour = dict(zip(colours["domain"], colours["range"], strict=True))
    assert filled(svg(figure, rows)) == sorted(colour[row["name"]] for row in cost.front(rows, "minutes"))


def test_rows_are_the_means_of_the_children(comparison_of):
    comparison = comparison_of(runs=2, children=3)
    row = block(cost.build(comparison), "cost").rows[1]
    run = comparison.runs[1]
    assert row["score"] == pytest.approx(np.mean(run.values("test/f1_macro")))
    assert row["score_sd"] == pytest.approx(np.std(run.values("test/f1_macro"), ddof=1))
    assert row["minutes"] == pytest.approx(np.mean(run.values("time/train_seconds")) / 60)
    assert row["millions"] == pytest.approx(np.mean(run.values("cost/parameters")) / 1e6)
    assert row["children"] == 3


def test_the_time_of_earlier_stages_counts(comparison_of):
    """Of teachers and of pretraining: in the figure, the overview and the answer."""
    made = comparison_of(runs=2, children=2)
    first, other = made.runs
    before = "time/earlier_stages_seconds"
    staged = [
        replace(child, metrics={**child.metrics, before: 600.0 * n}) for n, child in enumerate(other.children)
    ]
    later = replace(made, runs=(first, replace(other, children=tuple(staged))))
    for build, key, field, more in (
        (cost.build, "cost", "minutes", 5),
        (overview.build, "overview", "train_seconds", 300),
        (answer.build, "answer", "train_seconds", 300),
    ):
        one, two = (
            {row["run"]: row[field] for row in block(build(each), key).rows} for each in (made, later)
        )
        assert two["r1"] - one["r1"] == pytest.approx(more), key
        assert two["r0"] == one["r0"]


def test_one_child_has_no_bar(comparison_of):
    row = block(cost.build(comparison_of(runs=2, children=1)), "cost").rows[0]
    assert "low" not in row
    assert row["score_sd"] is None


def test_a_legend_names_every_run(comparison_of):
    comparison = comparison_of(runs=12, children=2)
    texts = re.findall(r"<text[^>]*>([^<]+)</text>", svg(block(cost.build(comparison), "cost")))
    assert [run.name for run in comparison.runs] == [text for text in texts if "·" in text]


def test_runs_without_time_or_figures_are_left_out(comparison_of):
    comparison = comparison_of(runs=2)
    bare = replace(
        comparison.runs[0], children=tuple(replace(c, metrics={}) for c in comparison.runs[0].children)
    )
    only = replace(comparison, runs=(bare, comparison.runs[1]))
    assert [row["run"] for row in block(cost.build(only), "cost").rows] == ["r1"]
    assert cost.build(replace(comparison, runs=(bare,))) is None


def with_metrics(comparison, metrics_of):
    """The comparison with other metrics: (run's number, metrics) -> changes."""
    runs = tuple(
        replace(
            run,
            children=tuple(replace(c, metrics=c.metrics | metrics_of(n, c.metrics)) for c in run.children),
        )
        for n, run in enumerate(comparison.runs)
    )
    return replace(comparison, runs=runs)


def test_runs_of_different_sizes_are_drawn_over_their_parameters_too(comparison_of):
    reverse = with_metrics(
        comparison_of(runs=6), lambda _, old: {"time/train_seconds": 1e12 / old["cost/parameters"]}
    )
    size = block(cost.build(reverse), "size")
    for row, run in zip(size.rows, reverse.runs, strict=True):
        assert row["millions"] == pytest.approx(np.mean(run.values("cost/parameters")) / 1e6)
    best = {row["run"] for row in cost.front(size.rows, "millions")}
    assert best != {row["run"] for row in cost.front(size.rows, "minutes")}
    colours = size.spec["layer"][-1]["encoding"]["color"]["scale"]
    colour = dict(zip(colours["domain"], colours["range"], strict=True))
    assert filled(svg(size)) == sorted(colour[row["name"]] for row in size.rows if row["run"] in best)


def test_runs_of_one_size_are_not_drawn_over_it(comparison_of):
    same = with_metrics(comparison_of(runs=2), lambda number, _: {"cost/parameters": 1e6 + number})
    assert [each.id for each in cost.build(same).blocks[1:]] == ["cost"]


def test_words_name_the_front_from_cheap_to_expensive():
    said = cost.describe_front(rows_of((200, 0.7), (0.5, 0.5), (5, 0.6), (6, 0.4)), MINUTES)
    assert said == (
        "3 of 4 runs have a higher macro F1 than every cheaper run (the Pareto front). From "
        "cheap to expensive: “run 1” (30 s, 0.500), “run 2” (5.0 min, 0.600) and “run 0” (3.3 h, 0.700)."
    )
    only = cost.describe_front(rows_of((5, 0.6)), MINUTES)
    assert only == "There is only one run to judge: “run 0” (5.0 min, 0.600)."
    assert cost.describe_front(rows_of((5, 0.6), (6, 0.5)), MINUTES) == (
        "“run 0” (5.0 min, 0.600) is both the cheapest and the best of 2 runs."
    )
    many = cost.describe_front(rows_of(*((n, n / 10) for n in range(1, 10))), MINUTES)
    assert "“run 5”" not in many
    assert many.endswith("“run 4” (5.0 min, 0.500), 3 more and “run 8” (9.0 min, 0.900).")


def timed(comparison, *seconds):
    return with_metrics(comparison, lambda number, _: {"time/train_seconds": seconds[number]})


@pytest.mark.parametrize(
    ("longest", "sign", "name", "scale"), [(119.0, "s", "seconds", 1), (121.0, "min", "minutes", 60)]
)
def test_times_are_in_seconds_if_all_runs_are_short(comparison_of, longest, sign, name, scale):
    comparison = timed(comparison_of(runs=2), 2.0, longest)
    for build, key in ((overview.build, "overview"), (answer.build, "answer")):
        column = next(c for c in block(build(comparison), key).columns if c.key == "train_seconds")
        assert (column.title, column.scale) == (f"training, {sign}", 1 / scale)
    section = cost.build(comparison)
    figure = block(section, "cost")
    assert [row[name] for row in figure.rows] == [2 / scale, longest / scale]
    drawn = svg(figure)
    assert f">training time, {name}, logarithmic<" in drawn
    last = max(map(float, re.findall(r">([\d.]+)</text>", drawn)))  # tick of the longest axis
    assert longest / scale / 3 < last <= longest / scale
    assert "(2 s, " in section.blocks[0].text


def test_no_two_ticks_have_the_same_label(comparison_of):
    close = timed(comparison_of(runs=2), 0.6720, 0.6728)
    runs = with_metrics(close, lambda number, _: {"test/f1_macro": 0.75 + number * 4e-4})
    ticks = re.findall(r">([\d.]+)</text>", svg(block(cost.build(runs), "cost")))
    assert len(ticks) > 8
    assert len(set(ticks)) == len(ticks)


def test_a_hollow_dot_has_an_equal_or_a_better_run_at_no_more_cost(comparison_of):
    """Also with the same score, or the same size."""
    captions = [each.caption for each in cost.build(comparison_of(runs=6)).blocks[1:]]
    for caption in captions:
        assert "for a hollow dot, another run costs no more and is at least as good." in caption
    assert [row["run"] for row in cost.front(rows_of((5, 0.6), (6, 0.6)), "minutes")] == ["r0"]


def trained_on(comparison, *devices):
    """The comparison with the device of each run, and documents that rise as its times fall."""
    made = with_metrics(comparison, lambda number, _: {"cost/documents": 1000.0 * (9 - number)})
    runs = tuple(
        replace(run, children=tuple(replace(child, trained_on=device) for child in run.children))
        for run, device in zip(made.runs, devices, strict=True)
    )
    return replace(made, runs=runs)


def test_times_of_one_device_are_compared_and_the_page_names_it(comparison_of):
    made = trained_on(timed(comparison_of(runs=3), 200.0, 100.0, 300.0), "cpu", "", "cpu")
    section = cost.build(made)
    assert section.intro.endswith("Cost is training time: all runs were trained on cpu.")
    assert "minutes" in block(section, "cost").rows[0]
    assert [one.training for one in sorted(score_runs(made), key=lambda one: one.run.key)] == [200, 100, 300]


@pytest.mark.parametrize("other", ["NVIDIA H200", "cpu (2 threads)", "cpu (4 models at once)"])
def test_times_of_several_devices_are_not_compared(comparison_of, other):
    """Not in the ranking, the tables, the figures or the words: documents read take their place."""
    made = trained_on(timed(comparison_of(runs=3), 200.0, 100.0, 300.0), "cpu", other, "cpu")
    section = cost.build(made)
    assert "documents read in training, because times on different devices" in section.intro
    assert f"{', '.join(sorted(('cpu', other)))}." in section.intro
    assert {one.run.key: one.training for one in score_runs(made)} == {"r0": 9000, "r1": 8000, "r2": 7000}
    run = made.runs[0]
    unknown = replace(run, children=tuple(replace(c, metrics={"test/f1_macro": 0.9}) for c in run.children))
    assert score_runs(replace(made, runs=(unknown, *made.runs[1:])))[0].training == np.inf
    figure = block(section, "cost")
    assert [row["documents"] for row in figure.rows] == [9000, 8000, 7000]
    assert ">documents read<" in svg(figure)
    assert not any("minutes" in row or "seconds" in row for row in figure.rows)
    for build, key in ((overview.build, "overview"), (answer.build, "answer")):
        keys = [column.key for column in block(build(made), key).columns]
        assert "train_seconds" not in keys
        assert "documents" in keys
    texts = [each.text for each in (*section.blocks, *answer.build(made).blocks) if each.kind == "text"]
    assert not re.search(r"training time| min,| s,", " ".join(texts))


@pytest.mark.parametrize(("longest", "first"), [(2900.0, 0.0), (3100.0, None)])
def test_costs_begin_at_0_unless_they_differ_too_much(comparison_of, longest, first):
    for figure in (
        block(cost.build(timed(comparison_of(runs=2), 100.0, longest)), "cost"),
        *cost.named_costs(timed(comparison_of(runs=2), 100.0, longest)),
    ):
        drawn = svg(figure)
        ticks = [float(text) for text in re.findall(r">([\d.]+)</text>", drawn)]
        assert (0.0 in ticks) == (first == 0.0)
        assert (", logarithmic<" in drawn) == (first is None)
