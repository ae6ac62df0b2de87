"""The parts of a comparison page: one file each, which turns a Comparison into blocks."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from mtlv.comparison.blocks import Section
from mtlv.evaluation.comparison import Comparison

ORDER = (
    "overview",
    "transfer",
    "settings",
    "curves",
    "tasks",
    "benchmark",
    "groups",
    "significance",
    "cost",
    "errors",
    "published",
)
"""From what a reader asks first to what only some ask. Each names a module with `build(comparison)`,
which gives a section, several, or none."""


def each_section(comparison: Comparison) -> Iterator[Section]:
    """All parts that have something to show, one after the other: the work is done as they are asked for."""
    for name in ORDER:
        found = import_module(f"{__name__}.{name}").build(comparison)
        if found is not None:
            yield from (found,) if isinstance(found, Section) else found


def sections(comparison: Comparison) -> tuple[Section, ...]:
    """All parts that have something to show."""
    return tuple(each_section(comparison))
