"""Which runs are paired, by which children, and how they are called."""

from __future__ import annotations

from dataclasses import replace

from mtlv.evaluation.pairs import comparable, pairs_of, short_names, siblings


def keys(pairs):
    return [(run.key, other.key) for run, other in pairs]


def test_the_baseline_is_always_the_other(comparison_of):
    comparison = comparison_of(runs=3, baseline="r1")
    assert keys(pairs_of(comparison)) == [("r0", "r1"), ("r2", "r1"), ("r2", "r0")]


def test_of_many_runs_those_shown_and_all_with_the_baseline(comparison_of):
    comparison = comparison_of(runs=20, children=1, tasks=3, baseline="r15")
    pairs = keys(pairs_of(comparison))
    assert len(comparison.shown) == 12
    assert len(pairs) == len(set(pairs)) == 12 * 11 // 2 + 8
    assert {run for run, other in pairs if other == "r15"} == {f"r{n}" for n in range(20)} - {"r15"}


def test_only_runs_of_the_same_data_and_tasks_are_paired(comparison_of):
    comparison = comparison_of(runs=3)
    one, two, three = comparison.runs
    other_data = replace(two, data_digest="ffff")
    fewer = replace(
        three, children=tuple(replace(c, tasks=dict(list(c.tasks.items())[1:])) for c in three.children)
    )
    assert comparable(one, two)
    assert not comparable(one, other_data)
    assert not comparable(one, fewer)
    assert pairs_of(replace(comparison, runs=(one, other_data, fewer))) == []


def test_children_are_paired_by_fold_and_seed(comparison_of):
    one, two = comparison_of(runs=2, children=6).runs
    turned = replace(two, children=tuple(reversed(two.children[2:])))
    found = siblings(one, turned)
    assert [(a.pair, b.pair) for a, b in found] == [(c.pair, c.pair) for c in one.children[2:]]
    none = replace(two, children=tuple(replace(c, fold=c.fold + 10) for c in two.children))
    assert siblings(one, none) == []
    assert pairs_of(replace(comparison_of(runs=2), runs=(one, none))) == []


def test_short_names_leave_out_what_all_share(comparison_of):
    runs = comparison_of(runs=4).runs
    assert list(short_names(runs).values()) == [
        "stl", "mtl", "gmtl · k=4 · label_description", "gmhl · k=4 · label_description",
    ]  # fmt: skip
    assert short_names(runs[:1]) == {"r0": "stl · minilm"}


def test_a_short_name_stands_for_one_run(comparison_of):
    one, two, three = comparison_of(runs=3).runs
    runs = [replace(one, name="a · x"), replace(two, name="a · x · y"), replace(three, name="a · y · x")]
    assert short_names(runs) == {"r0": "a · x", "r1": "a · x · y", "r2": "a · y · x"}
