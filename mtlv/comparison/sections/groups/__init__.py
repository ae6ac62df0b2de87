"""Groups: the tasks learned together, the choice of their number, and the agreement of groupings."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal

from mtlv.comparison.blocks import Block, Section, TableBlock, TableColumn, TextBlock
from mtlv.comparison.parts import NAMED, finite_or_none, join_with_and, of_run
from mtlv.comparison.parts.random_groups import random_figure, random_table
from mtlv.comparison.parts.shared_groups import GroupNumbers, numbering, together
from mtlv.comparison.sections.groups.agreement import agreements
from mtlv.comparison.sections.groups.elbows import elbows
from mtlv.comparison.sections.groups.maps import task_maps
from mtlv.evaluation.compared_runs import ComparedRun, Comparison
from mtlv.evaluation.pairs import different_tasks
from mtlv.formatting import list_first

WEAK_CHOICE = ", a weak choice"  # in the reason that `mtlv/grouping/elbow.py` gives
MOST_REASONS = 3  # for a number of groups, in words; the table has all


def build(comparison: Comparison) -> Section | None:
    """Build the section; None if no run has a plan."""
    numbers = numbering(comparison)
    first = together(comparison, numbers)
    if not first:
        return None
    runs = [run for run in comparison.runs if run.groups]
    blocks: list[Block] = [
        *_reasons(runs),
        *_elsewhere(comparison),
        *first,
        *_table(runs, numbers),
        *(random_figure(comparison) if different_tasks(comparison) else ()),  # else it is in the answer
        *random_table(comparison),
        *elbows(comparison),
        *task_maps(comparison, numbers),
        *agreements(comparison, runs),
        *_stability(runs),
    ]
    intro = "Tasks that share a head or a model, the choice of the number of groups, and how groupings agree."
    return Section("groups", "Groups", intro, blocks)


def _reasons(runs: Sequence[ComparedRun]) -> list[TextBlock]:
    """Say why there are so many groups, once for all runs with the same reason."""
    names: dict[str, list[str]] = {}
    for run in runs:
        if run.groups and run.groups.reason:
            names.setdefault(run.groups.reason, []).append(f"“{run.name}”")
    lines = [f"{list_first(named, NAMED)}: {reason}" for reason, named in list(names.items())[:MOST_REASONS]]
    weak = [line for line in lines if WEAK_CHOICE in line]
    if weak:
        weak.append("The curve is almost straight: compare with other numbers of groups before you choose.")
    clear = [line for line in lines if WEAK_CHOICE not in line]
    tones: tuple[tuple[list[str], Literal["finding", "warning"]], ...] = (clear, "finding"), (weak, "warning")
    return [TextBlock(" ".join(texts), tone) for texts, tone in tones if texts]


def _elsewhere(comparison: Comparison) -> list[TextBlock]:
    """Return a warning about runs whose folds have different groups."""
    names = [f"“{run.name}”" for run in comparison.runs if run.elsewhere]
    if not names:
        return []
    text = f"The folds of {join_with_and(names)} have different groups; those of the first fold are shown."
    return [TextBlock(text, "warning")]


def _table(runs: Sequence[ComparedRun], numbers: GroupNumbers) -> list[TableBlock]:
    """Build a table of the groups, with the reason for their number."""
    rows: list[dict[str, Any]] = []
    first: dict[Hashable, str] = {}  # name of the first run with the same groups, for the same reason
    for run in runs:
        group_rows = _group_rows(run, numbers)
        same = tuple((row["group"], row["names"], row["medoid"], row["reason"]) for row in group_rows)
        if same in first:
            group_rows = [of_run(run) | {"names": f"the same groups as “{first[same]}”"}]
        elif group_rows:
            first[same] = run.name
        rows += group_rows
    if not rows:
        return []
    columns = [
        TableColumn("name", "run", kind="text"),
        TableColumn("group", "group", kind="text"),
        TableColumn("tasks", "tasks", digits=0),
        TableColumn("names", "names", kind="text"),
        TableColumn("medoid", "most central", kind="text"),
        TableColumn("reason", "reason for the number of groups", kind="text"),
    ]
    if not any(row.get("medoid") for row in rows):
        del columns[4]
    caption = "The groups of each run, numbered as in the figure above, and the reason for their number."
    return [TableBlock("groups", "Groups", caption, columns, rows)]


def _group_rows(run: ComparedRun, numbers: GroupNumbers) -> list[dict[str, Any]]:
    groups = run.groups
    if groups is None:
        return []
    rows = [
        of_run(run)
        | {"group": numbers.number(run, members, at), "tasks": len(members), "names": ", ".join(members)}
        | {"medoid": next((task for task in groups.medoids if task in members), "")}
        for at, members in enumerate(groups.groups, 1)
    ]
    rows.sort(key=lambda row: int(row["group"]))
    return [row | {"reason": "" if at else groups.reason} for at, row in enumerate(rows)]


def _folded(stability: Mapping[str, float]) -> dict[str, float]:
    """Return the changes with what they do to the groups; those that do nothing together, as the last one."""
    same = [change for change, value in stability.items() if value == 1.0]
    if len(same) < 2:
        return dict(stability)
    changed = {change: value for change, value in stability.items() if value != 1.0}
    return changed | {f"any of {len(same)}: {', '.join(same)}": 1.0}


def _stability(runs: Sequence[ComparedRun]) -> list[TableBlock]:
    """Build a table of how much each grouping changes when one setting of its method changes."""
    rows: list[dict[str, Any]] = []
    first: dict[Hashable, str] = {}  # name of the first run with the same groups and stability
    for run in runs:
        if not run.groups or not run.groups.stability:
            continue
        same = frozenset(map(frozenset, run.groups.groups)), frozenset(run.groups.stability.items())
        if same in first:
            rows.append(of_run(run) | {"change": f"the same groups as “{first[same]}”", "value": None})
            continue
        first[same] = run.name
        for change, value in _folded(run.groups.stability).items():
            rows.append(of_run(run) | {"change": change, "value": finite_or_none(value)})
    if not rows:
        return []
    columns = [
        TableColumn("name", "run", kind="text"),
        TableColumn("change", "one setting changed", kind="text"),
        TableColumn("value", "adjusted Rand index", digits=2),
    ]
    caption = (
        "Adjusted Rand index between a run's groups and those found by the same method with one setting "
        "changed: 1 is the same grouping, 0 is chance. Groups that depend on one setting say "
        "little about the tasks."
    )
    return [TableBlock("groups_stability", "How stable the groups are", caption, columns, rows)]
