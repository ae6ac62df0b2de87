"""Which rows of a block show, and their differences to the baseline run: the one rule of page and files.

`page/rows.js` is the same rule for a reader's browser; a test runs both on the same rows.
"""

from __future__ import annotations

from collections.abc import Collection

from mtlv.comparison.blocks import FigureBlock, Row, TableBlock


def visible(
    block: FigureBlock | TableBlock, runs: Collection[str], tasks: Collection[str], baseline: str
) -> list[dict[str, object]]:
    """Rows of the runs (keys) and tasks (names) that are switched on, in their order.

    A row without `run` or without `task` is of no run or task in particular and always shows; a row with
    `run` and `other` is of a pair and shows while both are on. The baseline run's values count even while its
    own rows are switched off; where it has several rows with the same `by` fields, the first counts.
    """
    kept = [dict(row) for row in block.rows if _on(row, runs, tasks)]
    if block.baseline is None:
        return kept
    value, by, out = block.baseline.value, block.baseline.by, block.baseline.out
    partners: dict[tuple[object, ...], object] = {}
    for row in block.rows:
        if row.get("run") == baseline:
            partners.setdefault(tuple(row.get(field) for field in by), row.get(value))
    for row in kept:
        own, partner = row.get(value), partners.get(tuple(row.get(field) for field in by))
        known = isinstance(own, (int, float)) and isinstance(partner, (int, float))
        row[out] = own - partner if known else None  # type: ignore[operator]
    return kept


def _on(row: Row, runs: Collection[str], tasks: Collection[str]) -> bool:
    run, other, task = row.get("run"), row.get("other"), row.get("task")
    if task is not None and task not in tasks:
        return False
    return run is None or (run in runs and (other is None or other in runs))
