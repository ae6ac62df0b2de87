"""Content of a suite's comparison run: the table of its members, its figure, their groups."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

from mtlv import __version__
from mtlv.figures.suite import draw_suite
from mtlv.reporting.descriptions import describe_comparison
from mtlv.reporting.member_result import MemberResult, as_members, error_bars
from mtlv.reporting.metric_titles import main_title
from mtlv.reporting.suite_table import as_csv, as_markdown, make_rows
from mtlv.tracking import RunSpec, Tracker
from mtlv.tracking.reader import comparison_run


def comparison_spec(results: Sequence[MemberResult]) -> RunSpec:
    """Return the spec of the run with a suite's comparison."""
    members = [result.resolved for result in results]
    tags = {
        "mtlv.dataset": _distinct(member.settings.data.title for member in members),
        "mtlv.data_digest": _distinct(member.data for member in members),
        "mtlv.version": __version__,
    }
    return comparison_run([result.resolved.uid for result in results], tags)


def _distinct(values: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(values))


def write_comparison(tracker: Tracker, run: str, results: Sequence[MemberResult]) -> None:
    """Log the suite's table and figure."""
    rows = make_rows(as_members(results))
    tracker.text(run, as_markdown(rows), "comparison.md")
    tracker.text(run, as_csv(rows), "comparison.csv")
    grouped = {result.name: result.resolved.children[0].groups for result in results}
    groups = {name: task_groups.groups for name, task_groups in grouped.items() if task_groups is not None}
    tracker.text(run, json.dumps(groups, indent=1, ensure_ascii=False), "groups.json")
    drawn = ["comparison.png"] if _drawn(tracker, run, results) else []
    tracker.describe(run, describe_comparison(results, rows, ["comparison.md", *drawn]))


def _drawn(tracker: Tracker, run: str, results: Sequence[MemberResult]) -> bool:
    """Draw the suite if its members have the same test documents."""
    tasks = results[0].resolved.task_names
    if len({(result.resolved.data, result.resolved.task_names) for result in results}) > 1:
        return False  # metrics on different test sets are not comparable
    figure = main_title(results[0].resolved.tasks)
    with TemporaryDirectory() as folder:
        macro = [[outcome.metrics.plan.main for outcome in result.outcomes] for result in results]
        path = draw_suite(
            [result.name for result in results],
            tasks,
            [[fmean(result.main(task)) for task in tasks] for result in results],
            [fmean(results[0].of_task(task, "support")) for task in tasks],
            [fmean(values) for values in macro],
            Path(folder) / "comparison.png",
            title=f"Test {figure} on {results[0].title.split(' on ', 1)[1]}",
            micro=_micro(results),
            figure=figure,
            macro_spread=error_bars(macro),
        )
        tracker.artifact(run, path)
    return True


def _micro(results: Sequence[MemberResult]) -> list[float] | None:
    """Return the mean micro F1 of each member; None if not all tasks are evaluated jointly."""
    if not all(result.joint for result in results):
        return None
    return [fmean(outcome.metrics.plan.as_dict()["f1_micro"] for outcome in r.outcomes) for r in results]
