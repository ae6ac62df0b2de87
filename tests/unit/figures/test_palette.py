"""Colours can be told from their background, and groups from runs."""

from __future__ import annotations

import pytest

from mtlv.figures.palette import GROUPS, RUNS


def luminance(colour: str) -> float:
    """Relative luminance by WCAG 2.2."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_groups_have_no_colour_of_a_run():
    assert len(set(GROUPS)) == len(GROUPS)
    assert not set(GROUPS) & set(RUNS)


@pytest.mark.parametrize("colour", GROUPS)
def test_a_group_is_seen_on_light_and_dark_pages_and_its_number_is_read(colour: str):
    assert contrast(colour, "#FFFFFF") >= 4.5  # WCAG 2.2, text
    assert contrast(colour, "#14171b") >= 3  # WCAG 2.2, marks
