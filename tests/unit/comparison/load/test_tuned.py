"""Runs with values that were tried for a run and are not the best on validation are left out."""

from __future__ import annotations

from dataclasses import replace

from comparisons import a_comparison

from mtlv.comparison.compare import keep_best_runs
from mtlv.comparison.load.read_runs import LoadedRuns
from mtlv.comparison.load.select_runs import SelectedRuns
from mtlv.tracking.reader import StoredRun


def loaded(*kept: float, **changes: str) -> tuple[LoadedRuns, list[StoredRun], list[str]]:
    runs = a_comparison(runs=len(kept)).runs
    found = tuple(
        replace(
            run,
            status=changes.get(run.key, "FINISHED"),
            children=tuple(replace(child, kept={"a": score, "b": score}) for child in run.children),
        )
        for run, score in zip(runs, kept, strict=True)
    )
    stored = [StoredRun(run.run_id, "0", run.name, run.status, 0, "", {}, {}, {}) for run in found]
    return LoadedRuns(found, ()), stored, [run.run_id for run in found]


def test_the_others_stay_and_have_new_keys() -> None:
    found, stored, (a, b, c, d) = loaded(0.3, 0.4, 0.9, 0.8)
    names = [run.name for run in found.runs]
    selected = SelectedRuns(stored, tuned={a: [(0, 0)], b: [(0, 0)], d: [(1, 0)]}, asked={c})
    compared, left, tried = keep_best_runs(found, selected)
    assert [(run.name, run.key) for run in compared.runs] == [
        (names[1], "r0"), (names[2], "r1"), (names[3], "r2"),
    ]  # fmt: skip
    assert [run.id for run in left.runs] == [b, c, d]
    assert [(each.name, round(each.score, 6), each.chosen) for each in tried] == [
        (names[0], 0.3, False), (names[1], 0.4, True), (names[3], 0.8, True),
    ]  # fmt: skip


def test_a_run_that_failed_is_not_chosen() -> None:
    found, stored, (a, b) = loaded(0.3, 0.4, r1="FAILED")
    compared, _, _ = keep_best_runs(found, SelectedRuns(stored, tuned={a: [(0, 0)], b: [(0, 0)]}))
    assert [run.run_id for run in compared.runs] == [a]


def test_a_run_of_two_suites_counts_in_both() -> None:
    found, stored, (a, b, c) = loaded(0.3, 0.4, 0.5)
    selected = SelectedRuns(stored, tuned={a: [(0, 0)], b: [(0, 0), (1, 0)], c: [(1, 0)]})
    compared, _, tried = keep_best_runs(found, selected)
    assert [run.run_id for run in compared.runs] == [b, c]
    assert [each.chosen for each in tried] == [False, True, False, True]


def test_a_run_that_is_asked_for_stays() -> None:
    found, stored, (a, b) = loaded(0.3, 0.4)
    selected = SelectedRuns(stored, tuned={a: [(0, 0)], b: [(0, 0)]}, asked={a})
    assert [run.run_id for run in keep_best_runs(found, selected)[0].runs] == [a, b]
