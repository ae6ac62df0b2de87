"""The parts of a comparison page: one file each, which turns a Comparison into blocks."""

from __future__ import annotations

from importlib import import_module

from mtlv.compare.blocks import Section
from mtlv.compare.comparison import Comparison

ORDER = (
    "overview",
    "settings",
    "curves",
    "tasks",
    "groups",
    "significance",
    "cost",
    "errors",
    "published",
)
"""From what a reader asks first to what only some ask; each names a module with `build(comparison)`."""


def sections(comparison: Comparison) -> tuple[Section, ...]:
    """All parts that have something to show."""
    built = (import_module(f"{__name__}.{name}").build(comparison) for name in ORDER)
    return tuple(section for section in built if section is not None)
