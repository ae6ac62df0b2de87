"""Leaves out runs with values that were tried for a run and are not the best on validation."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

from mtlv.comparison.load.read_runs import LoadedRuns
from mtlv.comparison.load.select_runs import SelectedRuns
from mtlv.evaluation.compared_runs import ComparedRun
from mtlv.evaluation.tuning import Candidate, Tried, choose


def keep_best_runs(
    loaded: LoadedRuns, selected: SelectedRuns
) -> tuple[LoadedRuns, SelectedRuns, tuple[Tried, ...]]:
    """Return what is compared, and what was tried; test scores choose nothing."""
    pairs = [(run, of) for run in loaded.runs for of in selected.tuned.get(run.run_id, ())]
    tried = choose([_candidate(run, of) for run, of in pairs])
    kept = {run.run_id for (run, _), trial in zip(pairs, tried, strict=True) if trial.chosen}
    left = {run.run_id for run, _ in pairs} - kept - selected.asked
    runs = [run for run in loaded.runs if run.run_id not in left]
    compared = tuple(replace(run, key=f"r{number}") for number, run in enumerate(runs))
    stored = [run for run in selected.runs if run.id not in left]
    return replace(loaded, runs=compared), replace(selected, runs=stored), tuple(tried)


def _candidate(run: ComparedRun, of: tuple[int, int]) -> Candidate:
    scores = {child.pair: fmean(child.kept.values()) for child in run.children if child.kept}
    return Candidate(of, run.name, scores, run.status == "FINISHED")
