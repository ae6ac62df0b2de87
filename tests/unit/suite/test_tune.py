"""`tune`: of the values tried for a run, the one that is best on validation is compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import rates
from memory_tracker import MemoryTracker
from pixel import draw_nothing

from mtlv.comparison.compare import ComparisonOptions, compare_store
from mtlv.comparison.load.select_runs import RunQuery
from mtlv.events import ignore
from mtlv.settings import Suite
from mtlv.suite.run import run_suite

RUNS = (
    "runs:\n- {name: fixed, architecture: mtl, training.learning_rate: 1e-3}\n"
    "- {name: each, architecture: stl, tune: {training.learning_rate: [1e-12, 5e-3]}}\n"
)


def of_table(folder: Path, data: Path, seeds: tuple[int, ...] = (0,)) -> Suite:
    return rates.of_table(folder, data, RUNS, 4, seeds)


def test_only_the_best_on_validation_is_compared(tmp_path: Path, table: Callable) -> None:
    tracker = MemoryTracker()
    result = run_suite(of_table(tmp_path, table("t")), ignore, tracker)
    assert [member.name for member in result.members] == ["fixed", "each, 0.005"]
    assert [row[0] for row in result.rows] == ["fixed", "each, 0.005"]
    assert result.where[0].startswith("Best on validation: `each, 0.005` (")
    assert "; not compared: `each, 1e-12` (0." in result.where[0]
    compared = next(run for run in tracker.runs.values() if run.spec.kind == "comparison")
    table = compared.files["comparison.csv"].decode()
    assert "each, 0.005" in table
    assert "each, 1e-12" not in table
    members = [run.spec.name for run in tracker.runs.values() if run.spec.kind == "suite member"]
    assert members == ["fixed", "each, 1e-12", "each, 0.005"], "all are tracked"


def test_test_labels_choose_nothing(tmp_path: Path, writers: tuple) -> None:
    write_table, _ = writers
    plain, flipped = (
        run_suite(of_table(folder, write_table(folder, "t", flip=flip)), ignore, MemoryTracker())
        for folder, flip in ((tmp_path / "a", ()), (tmp_path / "b", ("test",)))
        if not folder.mkdir()
    )
    assert plain.where[0] == flipped.where[0]
    assert plain.rows != flipped.rows


def test_a_value_that_fails_leaves_the_others(
    tmp_path: Path, table: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates.fail_above(monkeypatch, 1e-3)
    result = run_suite(of_table(tmp_path, table("t")), ignore, MemoryTracker())
    assert [member.name for member in result.members] == ["fixed", "each, 1e-12"]
    assert len(result.failed) == 1


def test_the_page_compares_the_same_runs(
    tmp_path: Path, table: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the scores of the tracked runs, which are those of the suite."""
    monkeypatch.chdir(tmp_path)
    draw_nothing(monkeypatch)
    wanted = of_table(tmp_path, table("t"), (0, 1))
    result = run_suite(wanted, ignore)
    options = ComparisonOptions(RunQuery((wanted,)), out=tmp_path / "page", log=False)
    page = compare_store(None, options)
    assert [run.name for run in page.comparison.runs] == ["fixed", "each, 0.005"]
    assert [run.key for run in page.comparison.runs] == ["r0", "r1"]
    assert "The values of 1 run were chosen on validation, among 2 that were trained." in page.answer
    baseline = compare_store(None, replace(options, baseline="each")).comparison.baseline
    assert baseline == "r1", "by the beginning of its name"
    (good,) = (each for each in page.comparison.tried if each.chosen)
    (bad,) = (each for each in page.comparison.tried if not each.chosen)
    assert result.where[0] == (
        f"Best on validation: `each, 0.005` ({good.score:.4f}); not compared: `each, 1e-12` ({bad.score:.4f})"
    )


def test_nothing_is_chosen_where_only_missing_runs_are_trained(tmp_path: Path, table: Callable) -> None:
    wanted = of_table(tmp_path, table("t"))
    few = replace(wanted, members=wanted.members[:2])
    run_suite(few, ignore, MemoryTracker())
    result = run_suite(wanted, ignore, MemoryTracker(), if_exists="only-missing")
    assert [member.name for member in result.members] == ["each, 0.005"]
    assert not any("Best on validation" in line for line in result.where)
