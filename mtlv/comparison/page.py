"""The comparison as one HTML page: blocks as data and a script that shows them; no network, no server."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from mtlv._version import __version__
from mtlv.comparison import vega
from mtlv.comparison.blocks import (
    Block,
    Disagreement,
    FigureBlock,
    GroupsBlock,
    Row,
    Section,
    TableBlock,
    TextBlock,
)
from mtlv.comparison.parts import finite_mean, learned_nothing
from mtlv.evaluation.compared_runs import Comparison
from mtlv.evaluation.pairs import comparable
from mtlv.figures.palette import DASHES, RUNS
from mtlv.formatting import finite
from mtlv.reporting.metric_titles import describe_support, plan_title

SCRIPTS = ("rows", "dom", "state", "tables", "figures", "choices", "disagreement", "toolbar", "main")
"""Files of page/, in loading order."""
WITH_ROWS = (TableBlock, GroupsBlock, FigureBlock)


def page_html(comparison: Comparison, sections: Sequence[Section]) -> str:
    """Return the whole page as text.

    Data cannot become markup or code: they are packed, the page's script inserts them only as text, and the
    Content-Security-Policy allows only the two scripts with the given digests, without `eval` and without any
    request. The library is one of them: the page's script unpacks it and runs it.
    """
    parts = "\n".join(_part(f"{name}.js") for name in SCRIPTS)
    script = f'(async () => {{\n"use strict";\n{parts}}})();\n'
    return Template(_part("page.html")).substitute(
        title=escape(comparison.title),
        note=_note(comparison.note),
        policy=_policy(vega.library(), script),
        style=_part("page.css"),
        data=compress(json.dumps(page_data(comparison, sections), ensure_ascii=False, allow_nan=False)),
        library=base64.b64encode(vega.packed_library()).decode(),
        script=script,
    )


def _note(markdown: str) -> str:
    """Return the user's notes as HTML; HTML in them is shown as text."""
    if not markdown.strip():
        return ""
    from markdown_it import MarkdownIt

    content = MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown)
    return f'<aside id="note" class="note-on-top" aria-label="Notes">\n{content}</aside>'


def page_data(comparison: Comparison, sections: Sequence[Section]) -> dict[str, Any]:
    """Return the data read by the page's script."""
    unranked = {run.key for run in learned_nothing(comparison)}
    scored = {run.key for run in comparison.runs if comparable(run, comparison.run(comparison.baseline))}
    return {
        "title": comparison.title,
        "score": plan_title(comparison),
        "created": comparison.created,
        "version": __version__,
        "baseline": comparison.baseline,
        "shown": comparison.shown,
        "warnings": comparison.warnings,
        "runs": [
            {
                "key": run.key,
                "name": run.name,
                "link": run.link or "",
                "children": len(run.children),
                "score": finite_mean(run.mains) if run.key in scored - unranked else None,
                "colour": RUNS[at % len(RUNS)],
                "dash": DASHES[(at // len(RUNS)) % len(DASHES)],
            }
            for at, run in enumerate(comparison.runs)
        ],
        "tasks": [
            {
                "name": task.name,
                "support": finite(task.support),
                "counts": describe_support([task], "test documents"),
            }
            for task in comparison.tasks
        ],
        "sections": [section_data(section, _block) for section in sections],
        "widths": {"narrow": vega.NARROW, "wide": vega.WIDE},
        "themes": {
            "page": vega.theme(vega.OF_PAGE, vega.PAGE_FONT),
            "file": vega.theme(vega.LIGHT, vega.FILE_FONT),
        },
    }


def compress(text: str) -> str:
    """Return the text as Base64 of gzip: half the size or less, no character that is special in HTML."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def pack_rows(rows: Sequence[Row]) -> dict[str, Any]:
    """Store rows by column, and repeated texts as indices into a list: a third of the size."""
    columns = {field: _column(values) for field, values in columns_of(rows).items()}
    return {"count": len(rows), "columns": columns}


def columns_of(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """Return the values of each field, one per row; None if a row has none."""
    fields = list(dict.fromkeys(field for row in rows for field in row))
    return {field: [row.get(field) for row in rows] for field in fields}


def _column(values: list[Any]) -> Any:
    if values and all(isinstance(value, str) for value in values):
        places = {value: place for place, value in enumerate(dict.fromkeys(values))}
        if 2 * len(places) <= len(values):
            return {"texts": list(places), "places": [places[value] for value in values]}
    return [finite(value) for value in values]


def section_data(section: Section, show: Callable[[Block], dict[str, Any]]) -> dict[str, Any]:
    """Return a section with what `show` returns of its blocks."""
    blocks = [show(block) for block in section.blocks]
    return {"id": section.id, "title": section.title, "intro": section.intro, "blocks": blocks}


def describe_block(block: Block) -> dict[str, Any]:
    """Return all of a block but its rows, and how they are shown."""
    if isinstance(block, TextBlock):
        return {"kind": block.kind, "text": block.text, "tone": block.tone}
    data: dict[str, Any] = {"kind": block.kind, "id": block.id, "title": block.title}
    if isinstance(block, GroupsBlock):
        return data
    data["caption"] = block.caption
    if isinstance(block, Disagreement):
        data["pairs"] = [
            {"run": run, "other": other, "documents": list(map(asdict, documents))}
            for (run, other), documents in block.pairs.items()
        ]
        return data
    return data | {"baseline": asdict(block.baseline) if block.baseline else None}


def _block(block: Block) -> dict[str, Any]:
    data = describe_block(block)
    if isinstance(block, WITH_ROWS):
        data["packed"] = pack_rows(block.rows)
    if isinstance(block, TableBlock):
        data["columns"] = list(map(asdict, block.columns))
    if isinstance(block, GroupsBlock | FigureBlock):
        data["is_key"] = block.is_key
    if isinstance(block, FigureBlock):
        data |= {"spec": dict(block.spec), "wide": block.wide, "choices": dict(block.choices)}
    if isinstance(block, Disagreement):
        data |= {"texts": dict(block.texts), "missing": block.missing}
    return data


def _policy(*scripts: str) -> str:
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _part(name: str) -> str:
    return files("mtlv.comparison").joinpath("page", name).read_text(encoding="utf-8")
