"""Names of tasks beside a matrix of affinities."""

from __future__ import annotations

from mtlv.figures.affinity import name_lines


def test_long_names_break_at_underscores() -> None:
    assert name_lines("hallmarks_of_cancer_long_name") == "hallmarks_of_\ncancer_long_name"
    assert name_lines("hallmarks_of_one_cancer") == "hallmarks_of_one_\ncancer"
    assert name_lines("bc5cdr_disease") == "bc5cdr_disease"
