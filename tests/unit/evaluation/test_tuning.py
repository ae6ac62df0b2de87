"""The best of the values that are tried for a run."""

from __future__ import annotations

from dataclasses import replace

from mtlv.evaluation.tuning import Candidate, choose


def chosen(*candidates: Candidate) -> list[str]:
    return [each.name for each in choose(candidates) if each.chosen]


def test_the_highest_mean_of_each_run_is_chosen() -> None:
    tried = choose(
        [
            Candidate(0, "a low", {(0, 0): 0.7, (0, 1): 0.2}),
            Candidate(1, "b high", {(0, 0): 0.9, (0, 1): 0.9}),
            Candidate(0, "a high", {(0, 0): 0.5, (0, 1): 0.6}),
            Candidate(1, "b low", {(0, 0): 0.1, (0, 1): 0.8}),
        ]
    )
    assert [each.name for each in tried] == ["a low", "b high", "a high", "b low"]
    assert [round(each.score, 9) for each in tried] == [0.45, 0.9, 0.55, 0.45]
    assert [each.chosen for each in tried] == [False, True, True, False]


def test_the_first_of_equal_ones_is_chosen() -> None:
    assert chosen(Candidate(0, "a", {(0, 0): 0.5}), Candidate(0, "b", {(0, 0): 0.5})) == ["a"]


def test_only_folds_and_seeds_that_all_have_are_compared() -> None:
    some, every = Candidate(0, "some", {(0, 0): 0.6}), Candidate(0, "every", {(0, 0): 0.5, (1, 0): 0.9})
    assert chosen(some, every) == ["some"]
    assert [each.score for each in choose([some, every])] == [0.6, 0.5]
    other = Candidate(0, "other", {(0, 0): 0.55, (1, 0): 0.6})
    assert chosen(other, every, Candidate(1, "of another run", {(0, 0): 0.1})) == ["every", "of another run"]


def test_one_that_is_not_finished_is_chosen_only_if_none_is() -> None:
    early = Candidate(0, "early", {(0, 0): 0.9}, finished=False)
    low = Candidate(0, "low", {(0, 0): 0.6, (0, 1): 0.1})
    high = Candidate(0, "high", {(0, 0): 0.3, (0, 1): 0.6})
    assert chosen(early, low, high) == ["high"], "over the folds and seeds of those that are finished"
    assert [each.finished for each in choose([early, low])] == [False, True]
    assert chosen(replace(low, finished=False), early) == ["early"]


def test_without_common_folds_means_are_compared_as_they_are() -> None:
    one, other = Candidate(0, "one", {(0, 0): 0.6}), Candidate(0, "other", {(1, 0): 0.7})
    assert chosen(one, other) == ["other"]


def test_without_scores_nothing_is_left_out() -> None:
    none, one = Candidate(0, "none", {}), Candidate(0, "one", {(0, 0): 0.4, (1, 0): 0.5})
    assert chosen(none, one, Candidate(0, "other", {(0, 0): 0.45, (1, 0): 0.3})) == ["one"]
    assert chosen(none, Candidate(0, "empty", {})) == ["none", "empty"]
    assert choose([none])[0].score is None
    assert choose([]) == []
