"""A comparison as files: the page, figures as PNG and SVG, and all numbers as CSV and JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import asdict
from itertools import chain, count
from pathlib import Path
from typing import Any

from mtlv._version import __version__
from mtlv.comparison import vega
from mtlv.comparison.blocks import Block, FigureBlock, Section
from mtlv.comparison.drawing import DrawingPool, FigureFiles
from mtlv.comparison.page import WITH_ROWS, columns_of, describe_block, page_html, section_data
from mtlv.comparison.rows import visible
from mtlv.evaluation.comparison import ComparedRun, Comparison
from mtlv.evaluation.learned import Learning
from mtlv.formatting import csv_text, finite
from mtlv.seeding import content_key

NUMBERS = "comparison.json"
BEGINNING = 200  # characters with its key
KEY = re.compile('"key": "([0-9a-f]+)"')
FORMAT = 1  # of comparison.json; increased when the meaning of a field changes
OF_RUN = (
    "key", "run_id", "name", "architecture", "encoder", "dataset", "grouping", "status", "data_digest",
    "params", "link", "plan", "elsewhere",
)  # fmt: skip
OF_TASK = ("name", "support", "documents", "kind", "main_metric", "source", "classes", "negative")


def begin_pictures(
    comparison: Comparison, section: Section, pool: DrawingPool
) -> dict[str, Future[FigureFiles]]:
    """Start drawing a section's figures in the initial state of the page; skip figures without rows.

    Returns:
        Future pictures by figure id.
    """
    figures = [block for block in section.blocks if isinstance(block, FigureBlock)]
    rows = {figure.id: _rows_shown(figure, comparison) for figure in figures}
    drawn = [figure for figure in figures if rows[figure.id]]
    pictures = pool.draw([vega.as_file(figure, rows[figure.id]) for figure in drawn])
    return {figure.id: picture for figure, picture in zip(drawn, pictures, strict=True)}


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


def write_files(
    comparison: Comparison,
    sections: Sequence[Section],
    pictures: Mapping[str, Future[FigureFiles]],
    folder: Path,
) -> list[Path]:
    """Write `compare.html`, `comparison.json`, `tables/ID.csv`, `figures/ID.csv`, `.svg` and `.png`.

    CSV and JSON contain all rows with all digits. Pictures show the initial state of the page.

    Returns:
        Paths of the written files, the page first.
    """
    blocks = [block for section in sections for block in section.blocks]
    page = _write(folder / "compare.html", [page_html(comparison, sections)])
    numbers = _write(folder / NUMBERS, json_lines(comparison, sections))
    written = [path for block in blocks for path in _tabulated(block, folder)]
    drawn = [path for id, picture in pictures.items() for path in _drawn(id, picture.result(), folder)]
    return [page, numbers, *written, *drawn]


def json_lines(comparison: Comparison, sections: Sequence[Section]) -> Iterator[str]:
    """Yield all numbers as strict JSON, piece by piece; unknown numbers are null.

    Layout: `format`, `key` (digest of the names of runs and tasks), `mtlv` (version), `title`, `created`,
    `baseline` (a run's key), `shown` (keys), `warnings`; `runs`: key, run_id, name, tags, status,
    data_digest, params, link, plan, groups,
    `training_end` (rise; see `mtlv.evaluation.learned`), `not_learned` (names of tasks), and
    `children` with run_id, fold, seed, `metrics` by key as tracked, `tasks` (test metrics by task name);
    `tasks`: name, support, documents; `published`; `sections`: id, title, intro, and `blocks` by `kind`:
    `text` (text, tone), `table` and `figure` (id, title, caption, baseline, `columns`: a list per field of
    its rows), `groups` (id, title, columns), `disagreement` (id, title, caption, pairs).
    """
    head = {
        "format": FORMAT,
        "key": _key(comparison),
        "mtlv": __version__,
        "title": comparison.title,
        "created": comparison.created,
        "baseline": comparison.baseline,
        "shown": comparison.shown,
        "warnings": comparison.warnings,
    }
    yield "{\n"
    for name, value in head.items():
        yield f'"{name}": {_json(value)},\n'
    yield from _list("runs", (_run(run, comparison.learning(run)) for run in comparison.runs))
    yield ",\n"
    yield from _list("tasks", (_fields(task, OF_TASK) for task in comparison.tasks))
    yield ",\n"
    yield from _list("published", map(asdict, comparison.published))
    yield ",\n"
    yield from _list("sections", (section_data(section, _block) for section in sections))
    yield "\n}\n"


def _list(name: str, items: Iterable[Any]) -> Iterator[str]:
    """Yield a named list with one line per item."""
    yield f'"{name}": ['
    for at, item in enumerate(items):
        yield ("\n" if at == 0 else ",\n") + _json(item)
    yield "]"


def _json(value: Any) -> str:
    return json.dumps(_strict(value), ensure_ascii=False, allow_nan=False)


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


def _block(block: Block) -> dict[str, Any]:
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


def _tabulated(block: Block, folder: Path) -> Iterator[Path]:
    if isinstance(block, WITH_ROWS):
        place = folder / ("figures" if isinstance(block, FigureBlock) else "tables")
        yield _write(place / f"{block.id}.csv", [csv_text(block.rows)])


def _drawn(id: str, picture: FigureFiles, folder: Path) -> Iterator[Path]:
    png = folder / "figures" / f"{id}.png"
    yield _write(png.with_suffix(".svg"), [picture.svg])
    png.write_bytes(picture.png)
    yield png


def _rows_shown(figure: FigureBlock, comparison: Comparison) -> list[dict[str, Any]]:
    tasks = {task.name for task in comparison.tasks}
    rows = visible(figure, comparison.shown, tasks, comparison.baseline)
    return [{name: finite(value) for name, value in row.items()} for row in rows]


def _write(path: Path, pieces: Iterable[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(pieces)
    return path
