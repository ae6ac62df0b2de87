"""Transfers and pairs among runs, by what each learned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import pytest

from mtlv.evaluation.transfer import INTERMEDIATE, LEARNED_WITH
from mtlv.evaluation.transfer.detection import (
    TransferRun,
    _learner,
    mean_score,
    transfers_among,
    transfers_of,
)
from mtlv.evaluation.transfer.words import not_learned


def learner(*stages: tuple[str, ...], score: float = 0.5) -> TransferRun:
    return TransferRun(
        stages, lambda name: {(0, seed): score + seed / 100 + len(name) / 1000 for seed in (0, 1, 2)}
    )


ALONE = [learner(("a",)), learner(("b",)), learner(("cc",))]


def test_two_stages_of_a_name_each_are_a_transfer() -> None:
    runs = [*ALONE, learner(("a",), ("b",), score=0.6), learner(("cc",), ("b",), score=0.4)]
    (found,) = transfers_among(runs)
    assert found.wording is INTERMEDIATE
    assert (found.targets, set(found.sources)) == (("b",), {"a", "cc"})
    assert found.baseline["b"][0, 2] == pytest.approx(0.521)
    assert found.after["a", "b"][0, 0] == pytest.approx(0.601)


def test_two_names_together_are_measured_both_ways() -> None:
    (found,) = transfers_among([*ALONE, learner(("a", "b")), learner(("b", "cc"))])
    assert found.wording is LEARNED_WITH
    assert set(found.after) == {("a", "b"), ("b", "a"), ("b", "cc"), ("cc", "b")}


def test_tasks_in_a_model_each_are_not_together(comparison_of: Callable) -> None:
    apart = replace(learner(("a", "b")), together=False)
    assert transfers_among([*ALONE, apart]) == ()
    comparison = comparison_of(runs=1)
    run = comparison.runs[0]
    for plan, together in (((("a", "b"),),), True), (((("a",),), (("b",),)), False):
        assert _learner(replace(run, plan=plan), comparison).together is together


def test_both_may_stand_in_one_suite_and_others_are_left_alone() -> None:
    others = [learner(()), learner((), ()), learner(("a",), ("b",), ("cc",)), learner(("a", "b", "cc"))]
    assert transfers_among([*ALONE, *others]) == ()
    both = transfers_among([*ALONE, *others, learner(("a",), ("b",)), learner(("a", "b"))])
    assert [each.wording for each in both] == [INTERMEDIATE, LEARNED_WITH]


def test_the_first_of_two_that_learned_the_same_counts() -> None:
    runs = [*ALONE, learner(("a",), ("b",), score=0.6), learner(("a",), ("b",), score=0.9)]
    (found,) = transfers_among(runs)
    assert found.after["a", "b"][0, 0] == pytest.approx(0.601)
    (transfers,) = transfers_among([*runs, learner(("b",), score=0.9)])
    assert transfers.baseline["b"][0, 0] == pytest.approx(0.501)


def test_runs_of_other_encoders_or_data_have_matrices_of_their_own(comparison_of: Callable) -> None:
    comparison = comparison_of(runs=1, tasks=3)
    one, two, _ = (task.name for task in comparison.tasks)
    stages = (((one,),), ((two,),), ((one,), (two,)))
    kinds = (("small", "x"), ("large", "x"), ("small", "y"))
    runs = [
        replace(comparison.runs[0], encoder=encoder, data_digest=digest, learned=learned)
        for learned in stages
        for encoder, digest in kinds
    ]
    matrices = transfers_of(replace(comparison, runs=tuple(runs)))
    assert [encoder for encoder, _ in matrices] == ["small", "large", "small"]
    assert all(set(transfers.after) == {(one, two)} for _, transfers in matrices)


def test_a_target_without_its_baseline_has_no_effect_but_a_row() -> None:
    (found,) = transfers_among([ALONE[0], learner(("a",), ("b",))])
    assert found.targets == ("b",)
    assert not found.baseline


def test_a_name_is_a_task_or_all_tasks_of_a_data_set() -> None:
    tasks = [
        SimpleNamespace(name="heart", source="notes", main_metric="f1"),
        SimpleNamespace(name="lung", source="notes", main_metric="f1"),
        SimpleNamespace(name="likeness", source="pairs", main_metric="pearson"),
    ]
    figures = {"heart": {"f1": 0.4, "recall": 1.0}, "lung": {"f1": 0.6}, "likeness": {"pearson": -0.1}}
    assert mean_score("notes", tasks, figures) == pytest.approx(0.5)
    assert mean_score("heart", tasks, figures) == 0.4
    assert mean_score("likeness", tasks, figures) == -0.1
    assert mean_score("notes", tasks, {"heart": {"f1": 0.4}}) is None
    assert mean_score("other", tasks, figures) is None


def test_a_name_that_its_own_run_did_not_learn_is_marked() -> None:
    """Not one that only a run after or beside another did not learn: that is an effect."""
    lost = replace(ALONE[0], nothing=True)
    after = replace(learner(("a",), ("b",)), nothing=True)
    (found,) = transfers_among([lost, *ALONE[1:], after])
    assert found.unlearned == {"a"}
    assert "Not learned: a; no better than a constant answer" in not_learned(found)
    assert not_learned(transfers_among([*ALONE, after])[0]) == ""
