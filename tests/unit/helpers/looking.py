"""What tests look at in a section: its words, its drawn texts, its marks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

from drawing import svg

from mtlv.comparison.blocks import FigureBlock, Section, TextBlock
from mtlv.comparison.files import visible
from mtlv.evaluation.compared_runs import Comparison


def drawn(figure: FigureBlock, comparison: Comparison, **changes: Any) -> list[str]:
    """Texts of the picture with the runs that show at first and all tasks, or with `runs`, `tasks`."""
    runs = changes.get("runs", comparison.shown)
    tasks = changes.get("tasks", [task.name for task in comparison.tasks])
    picture = svg(figure, visible(figure, runs, tasks, changes.get("baseline", comparison.baseline)))
    return [unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", picture)]


def findings(section: Section | None) -> str:
    assert section is not None
    return " ".join(block.text for block in section.blocks if isinstance(block, TextBlock))


def marks(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every view of a specification that has a mark, with the encoding of what encloses it."""
    inner = [*spec.get("layer", ()), *spec.get("hconcat", ()), *([spec["spec"]] if "spec" in spec else [])]
    for view in inner:
        yield from marks({**view, "encoding": spec.get("encoding", {}) | view.get("encoding", {})})
    if "mark" in spec:
        yield spec
