"""Sections of the comparison page: each module builds the blocks of one section from a Comparison."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from mtlv.comparison.blocks import Section
from mtlv.evaluation.comparison import Comparison

ORDER = (
    "answer",
    "cost",
    "overview",
    "transfer",
    "predicted",
    "predicted.probed",
    "settings",
    "curves",
    "tasks",
    "benchmark",
    "groups",
    "significance",
    "calibration",
    "errors",
    "published",
)
"""Order of the sections, most important first. Each name is a module with `build(comparison)`, which returns
one section, several, or None."""


def each_section(comparison: Comparison) -> Iterator[Section]:
    """Yield all sections with something to show; each is built when it is requested."""
    for name in ORDER:
        sections = import_module(f"{__name__}.{name}").build(comparison)
        if sections is not None:
            yield from (sections,) if isinstance(sections, Section) else sections
