"""The page says what was predicted and what came, and marks what is not reliable."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from drawing import block, svg
from looking import findings
from mtlv_lab.page.affinity import MOST, reliable
from predictions import TASKS, World, a_prediction, a_run, built, compared, page, planted, regrouped

from mtlv.comparison.blocks import FigureBlock, TableBlock


def test_a_prediction_that_ranks_the_tasks_says_so_first():
    section = built(page())
    words = findings(section)
    assert words.startswith("The prediction ranked the tasks of “proposed” as they came out: Spearman 0.9")
    assert " on validation, " in words
    assert "; on test, gains are over 2 runs of random groups." in words
    assert " models in 2 h 00 min, “proposed” 3 models in 10 min 00 s." in words
    (row,) = block(section, "predicted").rows
    assert row["error"] == pytest.approx(row["measured"] - row["predicted"])
    assert row["absolute"] >= abs(row["error"])
    assert f"A mean gain of {row['predicted']:+.3f} was predicted; {row['measured']:+.3f} came" in words


def test_a_prediction_from_other_groups_is_never_called_reversed():
    """Where nothing can be predicted, its correlation is below 0."""

    def turned(found):
        return replace(found, held_out=1 - found.scores)

    (first, *_) = block(built(page(make=turned)), "predicted_orders").rows
    assert (first["by"], first["order"][0], first["shown"]) == ("surrogate", "−", "no")


def test_groups_that_were_trained_again_stand_beside_the_predictors():
    found = page(make=lambda found: replace(found, repeated=(found.scores, 2 * found.scores)))
    section = built(found)
    table = block(section, "predicted_orders")
    assert [row["by"] for row in table.rows] == ["surrogate", "number of tasks", "another seed", "chance"]
    assert table.rows[2]["order"].startswith("1.00")
    assert "Another seed: " in table.caption
    assert f"Trained again, the groups are ordered with Spearman {table.rows[2]['order']}." in findings(
        section
    )
    assert "Another seed" not in block(built(page()), "predicted_orders").caption
    assert "Trained again" not in findings(built(page()))


def test_without_random_partitions_there_is_no_regret():
    table = block(built(page(make=lambda found: replace(found, partitions={}))), "predicted_orders")
    assert [column.key for column in table.columns] == ["by", "order", "shown", "sign"]
    assert "Regret" not in table.caption
    assert [row["by"] for row in table.rows] == ["surrogate", "number of tasks", "chance"]


def test_of_noise_it_says_little():
    words = findings(built(page(noise=0.1, strength=0.0)))
    assert words.startswith("The prediction says little about which tasks of “proposed” gain more: Spearman")


def test_of_four_tasks_it_says_nothing():
    comparison = page()
    run = comparison.runs[-1]
    child = replace(run.children[0], kept=dict(list(run.children[0].kept.items())[:4]))
    run = replace(run, children=(child,))
    words = findings(built(replace(comparison, runs=(*comparison.runs[:-1], run))))
    assert "as they came out cannot be said of 4 tasks: that needs 5 with different gains." in words


def test_groups_that_were_measured_already_are_said_to_be_chosen_for_it():
    seen = regrouped_to_measured(page())
    assert ". 3 of the 3 groups of “proposed” had been measured: they were chosen for these scores" in seen
    assert "had been measured" not in findings(built(page(make=lambda each: replace(each, alike=False))))


def regrouped_to_measured(comparison):
    """What is said if the groups are those of a random partition, and one that was not measured."""
    run = comparison.runs[-1]
    found = run.children[0].prediction
    rows = next(rows for rows in found.partitions.values() if len(rows) == 3)
    groups = ["".join(np.array(TASKS)[found.member[row]]) for row in rows]
    run = replace(run, children=(replace(run.children[0], prediction=regrouped(found, *groups)),))
    section = built(replace(comparison, runs=(*comparison.runs[:-1], run)))
    assert [row["seen"] for row in block(section, "predicted_groups").rows] == ["yes"] * 3
    return findings(section)


def test_scores_after_other_training_are_compared_by_their_order_only():
    section = built(page(controls=0, make=lambda found: replace(found, alike=False)))
    words = findings(section)
    assert "were trained with other settings (2 epochs) than “proposed” (2)" in words
    assert "those of “proposed” over “base”: only their order can be compared" in words
    assert "A mean gain" not in words
    assert {row["error"] for row in block(section, "predicted_tasks").rows if "error" in row} <= {None}
    assert {row["error"] for row in block(section, "predicted_groups").rows} == {None}
    assert block(section, "predicted").rows[0]["error"] is None
    histogram = block(section, "predicted_random")
    assert not any(row.get("chosen") for row in histogram.rows)
    assert histogram.caption.endswith("so it is not marked here.")
    assert not any(row.get("chosen") for row in block(section, "predicted_measured").rows)


def test_without_another_run_nothing_is_compared_and_no_run_is_named():
    run = page(make=lambda found: replace(found, alike=False)).runs[-1]
    words = findings(built(compared(run)))
    assert "of “proposed” cannot be compared with measured scores: no other run" in words
    assert "over the task's mean in them. Measuring trained" in words


def test_the_histogram_has_each_partition_and_marks_the_groups():
    comparison = page()
    found = comparison.runs[-1].children[0].prediction
    figure = block(built(comparison), "predicted_random")
    assert [row["partition"] for row in figure.rows] == [*found.partitions, "proposed"]
    for row in figure.rows[:-1]:
        scores = found.scores[list(found.partitions[row["partition"]])]
        assert row["score"] == pytest.approx(np.nansum(scores) / 9)
    assert figure.rows[-1]["score"] == pytest.approx(
        np.mean(list(comparison.runs[-1].children[0].kept.values()))
    )
    better = sum(row["score"] >= figure.rows[-1]["score"] for row in figure.rows[:-1])
    assert f"The line is “proposed”; {better} of them as good or better." in figure.caption


def test_the_matrix_marks_what_is_not_reliable_and_frames_the_groups():
    comparison = page()
    found = comparison.runs[-1].children[0].prediction
    figure = block(built(comparison), "predicted_effects")
    cells = {(row["receiver"], row["giver"]): row for row in figure.rows if row["kind"] != "group"}
    assert len(cells) == 81
    sure = reliable(found)
    for (to, by), row in cells.items():
        at, of = TASKS.index(to), TASKS.index(by)
        if at == of:
            assert row["kind"] == "same"
            continue
        assert row["kind"] == ("reliable" if sure[at, of] else "unreliable")
        assert row["points"] == pytest.approx(100 * found.effects[at, of])
        assert (row["low"] > 0 or row["high"] < 0) == sure[at, of], "all met often enough"
        assert row["together"] == found.together[at, of]
    right = np.sign(found.effects) == np.sign(planted())
    assert right[sure].mean() > 0.95
    frames = [row for row in figure.rows if row["kind"] == "group"]
    order = list(dict.fromkeys(row["receiver"] for row in figure.rows if row["kind"] != "group"))
    framed = [set(order[order.index(row["giver"]) : order.index(row["giver_end"]) + 1]) for row in frames]
    assert framed == [set(group) for group in found.groups]
    doubtful = sum(row["kind"] == "unreliable" for row in cells.values())
    assert f"({doubtful} of 72 cells;" in figure.caption


def test_pairs_that_met_twice_or_have_no_error_are_unreliable():
    found = a_prediction(World(planted(), noise=0.02))
    sure = reliable(found)
    at = tuple(np.argwhere(sure & ~np.eye(9, dtype=bool))[0])
    together, errors = found.together.copy(), found.errors.copy()
    together[at] = 2
    assert not reliable(replace(found, together=together))[at]
    together[at] = 3
    assert reliable(replace(found, together=together))[at]
    errors[at] = np.nan
    assert not reliable(replace(found, errors=errors))[at]


def test_tasks_that_help_each_other_are_neighbours_in_the_tree():
    figure = block(built(page(noise=0.0)), "predicted_tree")
    leaves = [row for row in figure.rows if "leaf" in row]
    names = "".join(row["leaf"] for row in sorted(leaves, key=lambda row: row["place"]))
    assert {frozenset(names[at : at + 3]) for at in (0, 3, 6)} == {
        frozenset(part) for part in ("abc", "def", "ghi")
    }
    assert len({row["group"] for row in leaves}) == 3
    assert len({row["node"] for row in figure.rows if "node" in row}) == 8
    joins = sorted(row["effect"] for row in figure.rows if row.get("step") == 1)
    assert joins[:2] == sorted(joins[:2])
    assert joins[1] < 0 < joins[2], "groups harm each other"


def test_a_dot_is_a_measured_group_and_each_of_the_others():
    comparison = page()
    found = comparison.runs[-1].children[0].prediction
    figure = block(built(comparison), "predicted_measured")
    grey = [row for row in figure.rows if not row.get("chosen")]
    assert len(grey) == len(found.member)
    own = [row for row in figure.rows if row.get("chosen")]
    assert [row["size"] for row in own] == [len(group) for group in found.groups]
    groups = block(built(comparison), "predicted_groups").rows
    assert [row["measured"] for row in own] == pytest.approx([row["validation_gain"] for row in groups])


@pytest.mark.parametrize("alike", [True, False])
def test_figures_are_drawn_and_rows_are_strict_json(alike):
    section = built(page(controls=0, make=lambda found: replace(found, alike=alike)))
    for each in section.blocks:
        if isinstance(each, (FigureBlock, TableBlock)):
            json.dumps([dict(row) for row in each.rows], allow_nan=False)
            assert {row["run"] for row in each.rows} == {"proposed"}
        if isinstance(each, TableBlock):
            assert {column.key for column in each.columns} <= {field for row in each.rows for field in row}
        if isinstance(each, FigureBlock):
            assert each.caption.endswith(".")
            assert "<path" in svg(each)
    ids = [each.id for each in section.blocks if hasattr(each, "id")]
    assert len(set(zip(ids, map(type, section.blocks[2:]), strict=True))) == len(ids)


def test_two_predictions_have_figures_of_their_own_and_a_row_each():
    comparison = page()
    second = replace(comparison.runs[-1], key="second", run_id="second", name="second")
    section = built(replace(comparison, runs=(*comparison.runs, second)))
    assert [row["name"] for row in block(section, "predicted").rows] == ["proposed", "second"]
    assert block(section, "predicted_2_effects").title == "What each task gains with each other: “second”"
    assert {row["run"] for row in block(section, "predicted_2_tree").rows} == {"second"}


def test_without_effects_or_with_many_tasks_there_is_no_matrix(monkeypatch):
    unknown = np.full((9, 9), np.nan)
    section = built(page(make=lambda found: replace(found, effects=unknown, errors=unknown)))
    ids = {getattr(each, "id", "") for each in section.blocks}
    assert not ids & {"predicted_effects", "predicted_tree"}
    monkeypatch.setattr("mtlv_lab.page.affinity.MOST", 8)
    assert MOST >= 23, "the reports' labels"
    ids = {getattr(each, "id", "") for each in built(page()).blocks}
    assert not ids & {"predicted_effects", "predicted_tree"}


def test_runs_without_a_prediction_have_no_section():
    assert built(compared(a_run("base", [0.5] * 9), a_run("given", [0.6] * 9))) is None
