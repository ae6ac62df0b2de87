"""The visible rows of a block and their differences to the baseline run: one rule for the page and the files.

`page/rows.js` implements the same rule for the browser; a test runs both on the same rows.
"""

from __future__ import annotations

from collections.abc import Collection

from mtlv.comparison.blocks import FigureBlock, Row, TableBlock


def visible(
    block: FigureBlock | TableBlock, runs: Collection[str], tasks: Collection[str], baseline: str
) -> list[dict[str, object]]:
    """Return the rows of the runs (keys) and tasks (names) that are switched on, in order.

    A row without `run` or without `task` belongs to no particular run or task and is always shown; a row with
    `run` and `other` belongs to a pair and is shown while both are on. The baseline's values are used even
    while its own rows are switched off; among several of its rows with the same `by` fields, the first is
    used. Rows of a `choice` that the page offers are left out.
    """
    kept = [dict(row) for row in block.rows if _on(row, runs, tasks)]
    if block.baseline is None:
        return kept
    value, by = block.baseline.value, block.baseline.by
    partners: dict[tuple[object, ...], object] = {}
    for row in block.rows:
        if row.get("run") == baseline:
            partners.setdefault(tuple(row.get(field) for field in by), row.get(value))
    for row in kept:
        value_of_row, partner = row.get(value), partners.get(tuple(row.get(field) for field in by))
        known = isinstance(value_of_row, (int, float)) and isinstance(partner, (int, float))
        row["delta"] = value_of_row - partner if known else None  # type: ignore[operator]
    return kept


def _on(row: Row, runs: Collection[str], tasks: Collection[str]) -> bool:
    run, other, task = row.get("run"), row.get("other"), row.get("task")
    if (task is not None and task not in tasks) or row.get("choice"):
        return False
    return run is None or (run in runs and (other is None or other in runs))
