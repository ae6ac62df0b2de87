"""The BLURB score on a page: published cells give the published number; fewer corpora give none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from drawing import block

from mtlv.comparison.blocks import Section, TextBlock
from mtlv.comparison.sections.benchmark import build
from mtlv.evaluation.compared_runs import Comparison, TaskInfo
from mtlv.evaluation.kinds.benchmark import BLURB
from mtlv.plan import Scores, TaskScores

Make = Callable[..., Comparison]
# PubMedBERT's column of Table 6 (Gu et al. 2021), in the order of BLURB here; HoC's micro F1 apart.
CELLS = (93.33, 85.62, 87.82, 84.52, 80.06, 73.38, 77.24, 82.36, 82.34, 92.30, None, 55.84, 87.56)
HALLMARKS = ("a", "b")
SIZE = {"support": 10, "documents": 20}


def on(comparison_of: Make, *left_out: str, micro: float = 0.8232) -> Comparison:
    """One run on BLURB's corpora but those left out, with the published figures."""
    base = comparison_of(runs=1, children=1, tasks=3)
    tasks: list[TaskInfo] = []
    figures: dict[str, dict[str, float]] = {}
    for corpus, cell in zip(BLURB, CELLS, strict=True):
        if corpus in left_out:
            continue
        if cell is not None:
            tasks.append(TaskInfo(corpus, "tagging", corpus, ("X",), main_metric="entity_f1", **SIZE))
            figures[corpus] = {"entity_f1": cell / 100}
            continue
        tasks += [TaskInfo(name, source=corpus, **SIZE) for name in HALLMARKS]
        figures |= {name: {"f1": 0.1} for name in HALLMARKS}
    run = base.runs[0]
    child = replace(run.children[0], tasks=figures, metrics={"test/f1_micro": micro}, test=None)
    return replace(base, runs=(replace(run, children=(child,)),), tasks=tuple(tasks))


def words(section: Section | None) -> str:
    assert section is not None
    return " ".join(one.text for one in section.blocks if isinstance(one, TextBlock))


def test_runs_on_other_corpora_have_no_such_section(comparison_of: Make) -> None:
    assert build(comparison_of()) is None


def test_the_mean_of_the_types_is_no_blurb_score_while_corpora_are_missing(comparison_of: Make) -> None:
    # Without scores the decisions on HoC are not known beside other tasks: question of classes, so no score.
    section = build(on(comparison_of))
    (row,) = block(section, "benchmark").rows
    assert "score" not in row
    assert row["relations"] == pytest.approx((0.7724 + 0.8236 + 0.8234) / 3)
    missing = build(on(comparison_of, "biosses", "hoc"))
    assert "without sentence similarity and document classes there is no score" in words(missing)


def test_hoc_alone_counts_all_decisions_together(comparison_of: Make) -> None:
    others = [corpus for corpus in BLURB if corpus != "hoc"]
    (row,) = block(build(on(comparison_of, *others)), "benchmark").rows
    assert row["document classes"] == 0.8232


def test_hoc_beside_other_corpora_counts_its_own_decisions_together(comparison_of: Make) -> None:
    """Of hallmark a, one of two is found; of b, none of one; the third document is of another corpus."""
    comparison = on(comparison_of)
    run = comparison.runs[0]
    truth, outputs = {"a": [1, 1, 0], "b": [0, 1, 1]}, {"a": [0.9, 0.1, 0.9], "b": [0.1, 0.1, 0.9]}
    mask = np.array([True, True, False])
    scores = {name: TaskScores(np.array(outputs[name]), np.array(truth[name]), mask) for name in HALLMARKS}
    child = run.children[0]
    limits = {name: {**child.tasks[name], "threshold": 0.5} for name in HALLMARKS}
    child = replace(
        child, tasks={**child.tasks, **limits}, test=Scores(("u",), "test", ("1", "2", "3"), scores)
    )
    (row,) = block(build(replace(comparison, runs=(replace(run, children=(child,)),))), "benchmark").rows
    assert row["document classes"] == pytest.approx(2 * 1 / (1 + 3)), "the mean of the hallmarks is 1 / 3"


def test_published_cells_give_the_published_score(comparison_of: Make) -> None:
    comparison = on(comparison_of)
    tasks = [task for task in comparison.tasks if task.source != "hoc"]
    tasks.append(TaskInfo("hoc", source="hoc", **SIZE))
    run = comparison.runs[0]
    child = run.children[0]
    child = replace(child, tasks=child.tasks | {"hoc": {"f1": 0.8232}})
    whole = replace(comparison, runs=(replace(run, children=(child,)),), tasks=tuple(tasks))
    section = build(whole)
    (row,) = block(section, "benchmark").rows
    assert f"{100 * row['score']:.2f}" == "81.10"
    assert "has the highest BLURB score: 81.10." in words(section)
    assert block(section, "benchmark").columns[-2].title == "BLURB score"
    fewer = build(replace(whole, tasks=tuple(task for task in tasks if task.name != "gad")))
    assert block(fewer, "benchmark").columns[-2].title == "mean of the types"
    assert "the names of 12 of BLURB's 13, so there is no BLURB score" in words(fewer)
