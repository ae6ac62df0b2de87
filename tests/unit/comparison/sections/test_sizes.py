"""Runs that differ only in the share of the training documents, and the gains by it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from drawing import block, svg

from mtlv.comparison.ranking import by_runs, control_of, difference_of
from mtlv.comparison.sections import sizes

SHARES = (0.25, 0.5, 1.0)


@pytest.fixture
def comparison(comparison_of):
    """STL and MTL with three shares each, and a run of another learning rate."""
    made = comparison_of(runs=7, children=3)
    names = [f"{way}, train share {share:g}" for way in ("STL", "MTL") for share in SHARES]
    runs = []
    for run, name, share in zip(made.runs, [*names, "alone"], [*SHARES, *SHARES, 1.0], strict=True):
        way = "stl" if name.startswith("STL") else "mtl"
        params = {"architecture.name": way, "data.train_share": str(share)}
        if name == "alone":
            params["training.learning_rate"] = "0.1"
        tasks = tuple(task for model in run.plan for head in model for task in head)
        plan = tuple(((task,),) for task in tasks) if way == "stl" else ((tasks,),)
        runs.append(replace(run, name=name, params=params, plan=plan, groups=None, grouping="none"))
    return replace(made, runs=tuple(runs))


def test_runs_are_joined_that_differ_in_the_share_alone(comparison):
    series = sizes.series_of(comparison)
    assert [one.name for one in series] == ["STL", "MTL"]
    assert all(tuple(one.runs) == SHARES for one in series)
    assert [run.name for run in series[1].runs.values()] == [
        f"MTL, train share {share:g}" for share in SHARES
    ]
    other = replace(comparison.runs[0], data_digest="other")
    assert [
        len(one.runs) for one in sizes.series_of(replace(comparison, runs=(other, *comparison.runs[1:])))
    ] == [2, 3]


def test_no_section_without_two_shares(comparison):
    assert sizes.build(replace(comparison, runs=comparison.runs[2:3] + comparison.runs[5:])) is None


def test_the_figure_has_a_point_of_each_run_and_the_finding_the_gain_at_each_share(comparison):
    section = sizes.build(comparison)
    figure = block(section, "sizes")
    assert [(row["series"], row["percent"]) for row in figure.rows] == [
        (way, 100 * share) for way in ("STL", "MTL") for share in SHARES
    ]
    assert all(row["low"] < row["score"] < row["high"] for row in figure.rows)
    assert svg(figure, figure.rows).count("25") >= 1
    text = section.blocks[0].text
    pairs = by_runs(comparison)
    for share, words in zip(SHARES, ("25%", "50%", "all"), strict=True):
        single, joint = (
            next(run for run in comparison.runs if run.name == f"{way}, train share {share:g}")
            for way in ("STL", "MTL")
        )
        gain = difference_of(joint, pairs[frozenset((single.key, joint.key))])
        assert any(f"{gain:+.{digits}f}".replace("-", "−") in text for digits in (3, 4)), text
        assert f"with {words}" in text
    assert text.startswith("“MTL” gains over “STL”")


def test_a_run_of_fewer_documents_is_a_control(comparison):
    assert [bool(control_of(run)) for run in comparison.runs[:4]] == [True, True, False, True]
