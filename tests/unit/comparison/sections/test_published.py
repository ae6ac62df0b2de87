"""Published against measured: the store's means, their difference, and what was not measured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from drawing import block, svg

from mtlv.comparison.sections import published
from mtlv.evaluation.compared_runs import Published

NUMBERS = (
    Published("STL", "f1_macro", 0.9, 0.01, "r0"),
    Published("STL", "f1/Opacity", 0.8, None, "r0"),
    Published("STL of Opacity", "f1/Opacity", 0.7, None, "r0"),
    Published("BERT", "f1_macro", 0.9, 0.01, None, "not measured: no run matches"),
    Published("STL", "train_seconds", 3600.0, None, "r0", "of all folds"),
    Published("STL", "p_wilcoxon/f1_macro", 0.002, None, "r0"),
)


@pytest.fixture
def built(comparison_of):
    comparison = comparison_of(runs=2, published=NUMBERS)
    return comparison, published.build(comparison)


def test_scores_stand_beside_the_measured_ones(built):
    comparison, section = built
    rows = block(section, "published").rows
    values = comparison.runs[0].values("test/f1_macro")
    assert rows[0]["measured"] == pytest.approx(np.mean(values))
    assert rows[0]["measured_sd"] == pytest.approx(np.std(values, ddof=1))
    assert rows[0]["difference"] == pytest.approx(np.mean(values) - 0.9)
    assert (rows[0]["run"], rows[0]["name"]) == ("r0", "stl · minilm")
    assert rows[1]["measured"] == pytest.approx(np.mean(comparison.runs[0].of_task("Opacity")))
    assert rows[1]["task"] == "Opacity"


def test_what_was_not_measured_has_no_number(built):
    row = block(built[1], "published").rows[3]
    assert (row["measured"], row["difference"], row["name"]) == (None, None, None)
    assert "run" not in row  # it shows whatever runs are on
    assert row["note"] == "not measured: no run matches"


def test_counts_and_times_stand_apart(built):
    assert [row["metric"] for row in block(built[1], "published_other").rows] == ["train_seconds"]
    row = block(built[1], "published").rows[-1]
    assert (row["metric"], row["note"]) == ("p_wilcoxon/f1_macro", "the run has no `p_wilcoxon/f1_macro`")


def test_figures_have_a_pair_of_dots_per_measured_score(built):
    together, single = (block(built[1], id) for id in ("published_dots", "published_tasks"))
    assert [(row["which"], row["value"]) for row in together.rows[:1]] == [("published", 0.9)]
    assert (len(together.rows), len(single.rows)) == (2, 4)
    assert {row["label"] for row in single.rows} == {"STL · Opacity", "STL of Opacity"}
    assert "f1_macro" in svg(together)
    assert "STL of Opacity" in svg(single)


def test_the_finding_counts_and_gives_the_range(built):
    comparison, section = built
    gap = np.mean(comparison.runs[0].values("test/f1_macro")) - 0.9
    shown = f"{gap:+.3f}".replace("-", "−")
    assert section.blocks[0].text == (
        "4 of 6 published numbers have a measured counterpart. For macro F1, measured minus published is "
        f"{shown}."
    )


def test_nothing_published_or_nothing_measured(comparison_of):
    assert published.build(comparison_of(runs=1)) is None
    section = published.build(comparison_of(runs=1, published=NUMBERS[3:4]))
    assert [type(one).__name__ for one in section.blocks] == ["TextBlock", "TableBlock"]
    assert section.blocks[0].text == "0 of 1 published numbers have a measured counterpart."


def test_several_rows_give_a_range(comparison_of):
    comparison = comparison_of(runs=2)
    numbers = (NUMBERS[0], replace(NUMBERS[0], row="MTL", measured="r1"))
    text = published.build(replace(comparison, published=numbers)).blocks[0].text
    assert text.endswith("over 2 rows.")
