"""A grouping is compared with random groupings that differ from it in nothing else."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

import pytest

from mtlv.comparison.blocks import FigureBlock
from mtlv.comparison.parts.random_groups import compare_with_random, random_figure, random_table
from mtlv.comparison.sections import answer, groups
from mtlv.evaluation.chance import AgainstRandom, against_random
from mtlv.evaluation.compared_runs import ComparedGroups, ComparedRun, Comparison

GROUPS = (("a", "b"), ("c",))
TURNED = (("b",), ("a", "c"))


@pytest.fixture
def own(comparison_of) -> ComparedRun:
    return replace(comparison_of(runs=3).runs[2], groups=ComparedGroups(GROUPS), params=settings())


def settings(method="kmedoids", **more):
    return {"grouping.method": method, "training.epochs": "10", "store.uri": "here"} | more


def control(run, score, groups=TURNED, **more):
    children = tuple(
        replace(child, metrics={**child.metrics, "test/f1_macro": score}) for child in run.children
    )
    found = {"groups": ComparedGroups(groups), "params": settings("random", **{"grouping.seed": str(score)})}
    return replace(run, key=f"random {score}", name=f"random {score}", children=children, **found | more)


def compared(own, *controls):
    comparison = Comparison("made up", (own, *controls), (), own.key)
    return against_random(comparison, own)


def test_controls_differ_only_in_their_groups(own):
    alike = control(own, 0.5)
    others = [
        control(own, 0.6, params=settings("random", **{"training.epochs": "20"})),
        control(own, 0.6, groups=(("a", "b", "c"),)),
        control(own, 0.6, data_digest="other"),
        control(own, 0.6, status="RUNNING"),
        control(own, float("nan")),
        control(own, 0.6, params=settings()),  # not random
    ]
    unknown = replace(control(own, 0.6), children=(own.children[0], replace(own.children[1], seed=99)))
    moved = control(own, 0.4, params=settings("random", **{"store.uri": "there"}))
    assert compared(own, alike, *others, unknown, moved).scores == pytest.approx((0.5, 0.4))
    assert compared(own, *others, unknown) is None
    comparison = Comparison("made up", (own, alike), (), own.key)
    assert against_random(comparison, alike) is None


def test_only_seeds_that_the_controls_have_are_compared(own):
    assert len({child.main for child in own.children}) > 1
    some = own.children[1:]

    def short(score, children):
        other = control(own, score, params=settings("random", seed="[1]"))
        return replace(other, children=tuple(child for child in other.children if child.pair in children))

    pairs = {child.pair for child in some}
    found = compared(own, short(0.5, pairs), short(0.4, pairs), control(own, 0.9))
    assert found.scores == pytest.approx((0.5, 0.4))
    assert found.score == pytest.approx(fmean(child.main for child in some))
    assert compared(own, control(own, 0.9), short(0.5, pairs)).scores == pytest.approx((0.9,)), "the longer"
    lost = replace(own, children=tuple(replace(child, metrics={}) for child in own.children))
    assert compared(lost, control(own, 0.5)) is None


def test_groups_that_were_drawn_twice_from_one_seed_count_once(own):
    """`random` and `random_even` draw the same groups from one seed where the sizes are even."""
    again = replace(
        control(own, 0.5), key="again", params=settings("random_even", **{"grouping.seed": "0.5"})
    )
    assert compared(own, control(own, 0.5), again, control(own, 0.4)).scores == pytest.approx((0.5, 0.4))
    turned = replace(again, groups=ComparedGroups((("a",), ("b", "c"))))
    assert len(compared(own, control(own, 0.5), turned, control(own, 0.4)).scores) == 3


def test_models_that_were_chosen_for_their_scores_show_nothing(own):
    controls = [control(own, 0.001 * n) for n in range(1, 20)]
    fresh = compared(own, *controls)
    assert fresh.better
    first, *others = own.children
    measured = replace(own, children=(replace(first, measured=True), *others))
    chosen = compared(measured, *controls)
    assert (chosen.p, chosen.better) == (fresh.p, False)
    assert compare_with_random(replace(chosen, run=replace(own, name="ours"))) == (
        "The groups of “ours” are not shown to be better than chance, although p = 0.050 (19 random "
        "groupings of the same sizes): some of their models were chosen for their validation scores, and "
        "may have been lucky. Train all with another seed."
    )
    fewer = [
        replace(other, children=tuple(child for child in other.children if child.pair != first.pair))
        for other in controls
    ]
    assert compared(measured, *fewer).better, "of the folds and seeds that are compared, none was measured"


@pytest.mark.parametrize(
    ("sizes", "possible"),
    [((1, 2), 3), ((3,), 1), ((1, 1, 1), 1), ((2, 2), 3), ((2, 2, 2), 15), ((1, 2, 3), 60), ((3, 3), 10)],
)
def test_groupings_of_the_same_sizes_are_counted(own, sizes, possible):
    tasks = iter("abcdefgh")
    run = replace(own, name="ours", groups=ComparedGroups([[next(tasks) for _ in range(n)] for n in sizes]))
    found = AgainstRandom(run, 0.7, (run,), (0.5,))
    assert found.possible == possible
    assert compare_with_random(found).endswith("; 19 are needed).") == (possible > 19)


@pytest.mark.parametrize(
    ("scores", "as_good", "p", "said"),
    [
        (
            (0.5,) * 19,
            0,
            0.05,
            "The groups of “ours” are better than chance (p = 0.050, 19 random groupings of the same sizes).",
        ),
        (
            (0.5,) * 18,
            0,
            1 / 19,
            "The groups of “ours” are better than 18 random groupings of the same sizes, which is too few to "
            "rule out chance (p = 0.053; only 3 groupings have these sizes, and 20 are needed).",
        ),
        (
            (0.5, 0.8, 0.7),
            2,
            0.75,
            "The groups of “ours” are not shown to be better than chance: 2 of 3 random groupings of the "
            "same sizes are as good or better (p = 0.75).",
        ),
        (
            (0.8,),
            1,
            1.0,
            "The groups of “ours” are not shown to be better than chance: 1 of 1 random grouping of the "
            "same sizes is as good or better (p = 1.00).",
        ),
    ],
)
def test_the_place_among_random_groupings_and_its_words(own, scores, as_good, p, said):
    others = (replace(own, groups=ComparedGroups(TURNED)),) * len(scores)
    found = AgainstRandom(replace(own, name="ours"), 0.7, others, scores)
    assert (found.as_good, found.p) == (as_good, pytest.approx(p))
    assert compare_with_random(found) == said


@pytest.mark.parametrize("controls", [1, 3, 19])
def test_of_equally_good_groupings_every_p_is_as_likely(own, controls):
    """Each of R + 1 runs whose scores are drawn alike has each place once, so p is uniform on k / (R + 1)."""
    scores = [0.5 + 0.01 * place for place in range(controls + 1)]
    others = (own,) * controls
    found = [
        AgainstRandom(own, score, others, tuple(scores[:at] + scores[at + 1 :]))
        for at, score in enumerate(scores)
    ]
    assert sorted(each.p for each in found) == pytest.approx(
        [(place + 1) / (controls + 1) for place in range(controls + 1)]
    )
    assert sum(each.better for each in found) == (controls == 19)


def test_random_groups_that_are_the_same_are_told(own):
    same = replace(own, groups=ComparedGroups((GROUPS[1], GROUPS[0][::-1])))
    other = replace(own, groups=ComparedGroups(TURNED))
    found = AgainstRandom(own, 0.7, (same, other), (0.7, 0.8))
    assert found.same == 1
    assert compare_with_random(found).endswith(
        "as good or better (p = 1.00; 1 of them drew the same groups)."
    )


def test_the_page_shows_each_grouping_with_its_controls(own):
    controls = [control(own, score) for score in (0.1, 0.2, 0.3)]
    compared = Comparison("made up", (own, *controls), (), own.key)
    (figure,), (table,) = random_figure(compared), random_table(compared)
    assert [(row["name"], row["own"]) for row in figure.rows] == [
        ("random 0.1", False),
        ("random 0.2", False),
        ("random 0.3", False),
        (own.name, True),
    ]
    assert {row["run"] for row in figure.rows} == {own.key}
    (row,) = table.rows
    assert row["random"] == pytest.approx(0.2)
    assert row["random_sd"] == pytest.approx(0.1)
    assert (row["best"], row["controls"]) == (0.3, 3)
    assert random_figure(Comparison("made up", (own, *controls[:2]), (), own.key)) == []
    alone = Comparison("made up", tuple(controls), (), "r0")
    assert random_figure(alone) == random_table(alone) == []


def test_the_figure_is_in_the_answer_or_else_with_the_groups(own):
    runs = (own, *(control(own, score) for score in (0.1, 0.2, 0.3)))
    whole = Comparison("made up", runs, (), own.key)
    fewer = tuple(replace(child, tasks=dict(list(child.tasks.items())[:1])) for child in own.children)
    mixed = replace(whole, runs=(*runs, replace(own, key="fewer", groups=None, children=fewer)))
    for compared, section in ((whole, answer), (mixed, groups)):
        for built in filter(None, (answer.build(compared), groups.build(compared))):
            figures = [each.id for each in built.blocks if isinstance(each, FigureBlock)]
            assert ("random_groups" in figures) == (built.id == section.__name__.rpartition(".")[2])
    assert answer.build(mixed) is None
