"""The page tells conflicts between tasks from what gradients of one task do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from drawing import block
from looking import findings

from mtlv.comparison.sections.predicted.probed import build
from mtlv.evaluation.comparison import Comparison


def probed(comparison: Comparison, run: int, **means: float) -> Comparison:
    """The comparison with metrics of a probe, which differ between the children of a run."""
    runs = list(comparison.runs)
    children = []
    for number, child in enumerate(runs[run].children):
        away = 0.01 * (number - (len(runs[run].children) - 1) / 2)
        own = {f"probe/{name}": value + away for name, value in means.items()}
        children.append(replace(child, metrics={**child.metrics, **own}))
    runs[run] = replace(runs[run], children=tuple(children))
    return replace(comparison, runs=tuple(runs))


def test_conflicts_stand_beside_their_null(comparison_of: Callable[..., Comparison]) -> None:
    plain = comparison_of()
    assert build(plain) is None
    means = {
        "cosine": 0.1,
        "cosine_null": 0.3,
        "conflicts": 0.42,
        "conflicts_null": 0.2,
        "sign_agreement": 0.6,
    }
    one = probed(plain, 1, **means)
    both = probed(one, 2, **means | {"conflicts_null": 0.38})
    section = build(both)
    rows = block(section, "probe").rows
    assert [row["run"] for row in rows] == [both.runs[1].key, both.runs[2].key]
    assert {name: rows[0][name] for name in means} == pytest.approx(means)
    words = findings(section)
    first, second = both.runs[1].name, both.runs[2].name
    told = "have gradients in conflict, and"
    assert f"42% of the pairs of tasks of “{first}” {told} 20% of the tasks with themselves" in words
    assert f"42% of the pairs of tasks of “{second}” {told} 38% of the tasks with themselves" in words
