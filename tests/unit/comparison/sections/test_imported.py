"""Runs whose predictions were imported, on the page: decisions are no scores, and no setting was theirs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from comparisons import a_comparison

from mtlv.comparison.sections import calibration, errors, overview, settings
from mtlv.evaluation.compared_runs import ComparedFold, Comparison
from mtlv.plan import Scores


def decided(scores: Scores | None) -> Scores:
    assert scores is not None
    return scores.with_outputs({name: (values > 0.5) * 1.0 for name, values in scores.outputs.items()})


def of_decisions(child: ComparedFold) -> ComparedFold:
    return replace(child, validation=decided(child.validation), test=decided(child.test))


def with_rules() -> Comparison:
    """Return runs of which the last has the decisions of rules."""
    comparison = a_comparison(runs=3)
    *others, last = comparison.runs
    children = tuple(map(of_decisions, last.children))
    rules = replace(
        last, name="rules", params={"predictions": "x"}, plan=(), children=children, is_imported=True
    )
    return replace(comparison, runs=(*others, rules))


def names(section: Any, figure: str) -> set[str]:
    return {
        row["name"] for block in section.blocks if getattr(block, "id", "") == figure for row in block.rows
    }


def test_decisions_are_neither_calibrated_nor_drawn_over_thresholds() -> None:
    comparison = with_rules()
    trained = {run.name for run in comparison.runs[:2]}
    assert names(calibration.build(comparison), "calibration") == trained
    section = errors.build(comparison)
    for figure in ("errors_precision_recall", "errors_thresholds", "errors_risk"):
        assert names(section, figure) == trained


def test_settings_are_those_of_trained_runs() -> None:
    comparison = with_rules()
    section, alone = (
        settings.build(replace(comparison, runs=runs)) for runs in (comparison.runs, comparison.runs[:2])
    )
    text = [block.text for block in section.blocks if hasattr(block, "text")]
    assert text == [block.text for block in alone.blocks if hasattr(block, "text")]


def test_a_table_counts_no_models_of_theirs() -> None:
    section = overview.build(with_rules())
    (costs,) = (block for block in section.blocks if getattr(block, "id", "") == "overview_costs")
    assert [row["models"] is None for row in costs.rows] == [False, False, True]
