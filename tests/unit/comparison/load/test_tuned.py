"""Runs with values that were tried for a run and are not the best on validation are left out."""

from __future__ import annotations

from dataclasses import replace

from comparisons import a_comparison

from mtlv.comparison.load.read_runs import LoadedRuns
from mtlv.comparison.load.select_runs import SelectedRuns
from mtlv.comparison.load.tuned import tuned
from mtlv.tracking.reader import StoredRun


def test_the_others_stay_and_have_new_keys() -> None:
    runs = a_comparison(runs=4).runs
    kept = {0: 0.3, 1: 0.4, 2: 0.9, 3: 0.8}
    found = tuple(
        replace(
            run, children=tuple(replace(child, kept={"a": kept[n], "b": kept[n]}) for child in run.children)
        )
        for n, run in enumerate(runs)
    )
    stored = [StoredRun(run.run_id, "0", run.name, "FINISHED", 0, "", {}, {}, {}) for run in runs]
    of = {found[0].run_id: (0, 0), found[1].run_id: (0, 0), found[3].run_id: (1, 0)}
    loaded, selected, tried = tuned(LoadedRuns(found, ()), SelectedRuns(stored, tuned=of))
    assert [(run.name, run.key) for run in loaded.runs] == [
        (runs[1].name, "r0"), (runs[2].name, "r1"), (runs[3].name, "r2"),
    ]  # fmt: skip
    assert [run.id for run in selected.runs] == [run.run_id for run in runs[1:]]
    assert [(each.name, round(each.score, 6), each.chosen) for each in tried] == [
        (runs[0].name, 0.3, False), (runs[1].name, 0.4, True), (runs[3].name, 0.8, True),
    ]  # fmt: skip
