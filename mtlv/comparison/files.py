"""A comparison as files: the page and all numbers as JSON; on request, figures and tables by themselves."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict
from itertools import chain, count
from pathlib import Path
from typing import Any

from mtlv._version import __version__
from mtlv.comparison import vega
from mtlv.comparison.blocks import Block, FigureBlock, Row, Section, TableBlock
from mtlv.comparison.drawing import draw
from mtlv.comparison.page import WITH_ROWS, columns_of, describe_block, page_html, section_data
from mtlv.evaluation.compared_runs import ComparedRun, Comparison
from mtlv.evaluation.learned import Learning
from mtlv.formatting import csv_text, finite
from mtlv.seeding import content_key

PAGE = "compare.html"
NUMBERS = "comparison.json"
BEGINNING = 200  # characters with its key
KEY = re.compile('"key": "([0-9a-f]+)"')
FORMAT = 1  # of comparison.json; increased when the meaning of a field changes
OF_RUN = (
    "key", "run_id", "name", "architecture", "encoder", "dataset", "grouping", "status", "data_digest",
    "params", "link", "plan", "elsewhere",
)  # fmt: skip
OF_TASK = ("name", "support", "documents", "kind", "main_metric", "source", "classes", "negative")


def own_folder(folder: Path, comparison: Comparison) -> Path:
    """Return the folder for a page, with a number if it has one of runs or tasks of other names."""
    free = "", _key(comparison)
    numbered = (folder.with_name(f"{folder.name}_{number}") for number in count(2))
    return next(place for place in chain([folder], numbered) if _key_in(place) in free)


def _key(comparison: Comparison) -> str:
    return content_key([[item.name for item in named] for named in (comparison.runs, comparison.tasks)])


def _key_in(folder: Path) -> str:
    """Return the key of a folder's page, `-` for one without a key; empty if there is no page."""
    try:
        with (folder / NUMBERS).open(encoding="utf-8", errors="replace") as file:
            match = KEY.search(file.read(BEGINNING))
    except OSError:
        return ""
    return match[1] if match else "-"


def write_page(comparison: Comparison, sections: Sequence[Section], folder: Path) -> list[Path]:
    """Write `compare.html`, and `comparison.json` with all rows and all digits; return their paths."""
    return [
        _write(folder / PAGE, page_html(comparison, sections)),
        _write(folder / NUMBERS, as_json(comparison, sections)),
    ]


def write_figures(comparison: Comparison, sections: Sequence[Section], folder: Path) -> list[Path]:
    """Write `figures/ID.svg`, `.png` and `.csv`, and `tables/ID.csv`; return their paths.

    Pictures show the initial state of the page; there is none of a figure without rows in it. CSV files
    contain all rows with all digits.
    """
    paths: list[Path] = []
    for block in (block for section in sections for block in section.blocks):
        if isinstance(block, FigureBlock):
            paths += _write_pictures(block, _rows_shown(block, comparison), folder / "figures")
        if isinstance(block, WITH_ROWS):
            place = folder / ("figures" if isinstance(block, FigureBlock) else "tables")
            paths.append(_write(place / f"{block.id}.csv", csv_text(block.rows)))
    return paths


def as_json(comparison: Comparison, sections: Sequence[Section]) -> str:
    """Return all numbers as strict JSON; unknown numbers are null.

    Layout: `format`, `key` (digest of the names of runs and tasks), `mtlv` (version), `title`, `created`,
    `baseline` (a run's key), `shown` (keys), `warnings`; `runs`: key, run_id, name, tags, status,
    data_digest, params, link, plan, groups,
    `training_end` (rise; see `mtlv.evaluation.learned`), `not_learned` (names of tasks), and
    `children` with run_id, fold, seed, `metrics` by key as tracked, `tasks` (test metrics by task name);
    `tasks`: name, support, documents; `published`; `sections`: id, title, intro, and `blocks` by `kind`:
    `text` (text, tone), `table` and `figure` (id, title, caption, baseline, `columns`: a list per field of
    its rows), `groups` (id, title, columns), `disagreement` (id, title, caption, pairs).
    """
    content = {
        "format": FORMAT,
        "key": _key(comparison),
        "mtlv": __version__,
        "title": comparison.title,
        "created": comparison.created,
        "baseline": comparison.baseline,
        "shown": comparison.shown,
        "warnings": comparison.warnings,
        "runs": [_run(run, comparison.learning(run)) for run in comparison.runs],
        "tasks": [_fields(task, OF_TASK) for task in comparison.tasks],
        "published": list(map(asdict, comparison.published)),
        "sections": [section_data(section, _json_block) for section in sections],
    }
    return json.dumps(_strict(content), ensure_ascii=False, allow_nan=False) + "\n"


def _run(run: ComparedRun, learning: Learning) -> dict[str, Any]:
    data = _fields(run, OF_RUN)
    data["groups"] = asdict(run.groups) if run.groups else None
    data["training_end"] = asdict(learning.end) if learning.end else None
    data["not_learned"] = (
        [unlearned.task.name for unlearned in learning.unlearned] if learning.tasks else None
    )
    names = ("run_id", "fold", "seed", "metrics", "tasks")
    data["children"] = [_fields(child, names) for child in run.children]
    return data


def _fields(record: object, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names}


def _json_block(block: Block) -> dict[str, Any]:
    return describe_block(block) | (
        {"columns": columns_of(block.rows)} if isinstance(block, WITH_ROWS) else {}
    )


def _strict(value: Any) -> Any:
    """Return the value with string keys, and None for numbers that JSON does not support."""
    if hasattr(value, "items"):
        return {str(key): _strict(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(item) for item in value]
    return finite(value)


def _write_pictures(figure: FigureBlock, rows: list[dict[str, Any]], folder: Path) -> list[Path]:
    if not rows:
        return []
    drawn = draw(vega.as_file(figure, rows))
    svg = _write(folder / f"{figure.id}.svg", drawn.svg)
    png = svg.with_suffix(".png")
    png.write_bytes(drawn.png)
    return [svg, png]


def _rows_shown(figure: FigureBlock, comparison: Comparison) -> list[dict[str, Any]]:
    tasks = {task.name for task in comparison.tasks}
    rows = visible(figure, comparison.shown, tasks, comparison.baseline)
    return [{name: finite(value) for name, value in row.items()} for row in rows]


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")
    return path


def visible(
    block: FigureBlock | TableBlock, runs: Collection[str], tasks: Collection[str], baseline: str
) -> list[dict[str, object]]:
    """Return the rows of the runs (keys) and tasks (names) that are switched on, in order.

    `page/rows.js` implements the same rule for the browser; a test runs both on the same rows.

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
