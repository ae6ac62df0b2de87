"""Sections of the comparison page: each builds its blocks from a Comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from mtlv.comparison.blocks import Section
from mtlv.evaluation.compared_runs import Comparison
from mtlv.registries import SECTIONS

BuildSection = Callable[[Comparison], Section | Sequence[Section] | None]
"""Function of a comparison that returns one section, several, or None if it has nothing to show."""


def each_section(comparison: Comparison) -> Iterator[Section]:
    """Yield all sections with something to show; each is built when it is requested."""
    for build in SECTIONS.values():
        sections = build(comparison)
        if sections is not None:
            yield from (sections,) if isinstance(sections, Section) else sections
