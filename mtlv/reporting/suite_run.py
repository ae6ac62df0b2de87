"""Content of a suite's comparison run: the table of its members, and their groups."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from mtlv import __version__
from mtlv.reporting.descriptions import describe_comparison
from mtlv.reporting.member_result import MemberResult, as_members
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
    """Log the suite's table and groups."""
    rows = make_rows(as_members(results))
    tracker.text(run, as_markdown(rows), "comparison.md")
    tracker.text(run, as_csv(rows), "comparison.csv")
    grouped = {result.name: result.resolved.children[0].groups for result in results}
    groups = {name: task_groups.groups for name, task_groups in grouped.items() if task_groups is not None}
    tracker.text(run, json.dumps(groups, indent=1, ensure_ascii=False), "groups.json")
    tracker.describe(run, describe_comparison(results, rows))
