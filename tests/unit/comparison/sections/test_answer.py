"""The answer names the cheapest run as good as the best, and says how sure that is."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path
from types import SimpleNamespace

import pytest

from mtlv.api.comparison import ComparisonPage
from mtlv.comparison import ranking
from mtlv.comparison.blocks import FigureBlock
from mtlv.comparison.compare import Compared
from mtlv.comparison.parts.shared_groups import numbering, together
from mtlv.comparison.ranking import MARGIN, Standing, is_shown_worse, recommend, recommend_run
from mtlv.comparison.sections import answer
from mtlv.comparison.sections.answer import answer_of
from mtlv.comparison.verdict_words import format_signed
from mtlv.evaluation.compared_runs import ComparedGroups, Comparison
from mtlv.evaluation.learned import Learning, TrainingEnd
from mtlv.evaluation.reference import Gain, Lag
from mtlv.evaluation.significance import Interval
from mtlv.evaluation.tuning import Tried
from mtlv.plan.shape import StageShape
from mtlv.reporting.learned_words import NOTHING


def a_run(
    name="a", models=1, *, groups=None, method="kmedoids", seconds=60.0, score=0.8, tasks="abcd", **more
):
    metrics = {"test/f1_macro": score, "time/train_seconds": seconds, "cost/parameters": 1e6 * models}
    child = SimpleNamespace(
        metrics=metrics,
        main=score,
        tasks={task: {} for task in tasks},
        pair=(0, 0),
        measured=False,
        trained_on="",
    )
    found = {
        "key": name,
        "name": name,
        "plan": ((tuple(tasks),),) * models,
        "groups": groups and ComparedGroups(groups),
        "params": {"grouping.method": method},
        "children": (child,),
        "seconds": [seconds],
        "mains": [score],
        "values": lambda key: [metrics[key]] if key in metrics else [],
        "status": "FINISHED",
        "data_digest": "",
        "learned": (),
        "stages": (),
        "sizes": sorted(map(len, groups or ())),
        "is_imported": False,
    }
    return SimpleNamespace(**found | more)


def a_pair(run, other, said=(), sign=0, interval=None, n=6, mean=None):
    documents = interval and SimpleNamespace(main=SimpleNamespace(low=interval[0], high=interval[1]))
    verdict = SimpleNamespace(results=frozenset(said), sign=sign)
    values = SimpleNamespace(mean=run.mains[0] - other.mains[0] if mean is None else mean, n=n)
    return SimpleNamespace(run=run, other=other, verdict=verdict, documents=documents, values=values)


@pytest.fixture
def answered(monkeypatch):
    """The section of runs and of their tests."""

    def build(runs, pairs=(), nothing=(), words=None, early=(), tried=(), gains=(), lags=()):
        monkeypatch.setattr(ranking, "compare_with_intervals", lambda _: tuple(pairs))
        for module in (answer, ranking):
            left = [run for run in runs if run.name in nothing]
            monkeypatch.setattr(module, "learned_nothing", lambda _, left=left: left)
        monkeypatch.setattr(answer, "open_ends", lambda _: "")
        monkeypatch.setattr(answer, "key_figures", lambda *_: [])

        def learning(run):
            end = TrainingEnd(0.02 if run.name in early else 0.0)
            both = None if words is None else (run.mains[0], words)
            return Learning(end, beside=both, gain=dict(gains).get(run.name), lags=lags)

        return answer.build(
            SimpleNamespace(runs=runs, scored=False, tasks=(), learning=learning, tried=tried)
        )

    return build


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("said", "sign", "interval", "worse"),
    [
        ({0}, 0, (-0.3, -0.1), False),  # tests that decide come before the interval
        ({-1}, -1, None, True),
        ({1}, 1, None, False),
        ((), 0, (-0.3, -0.1), True),
        ((), 0, (-0.3, 0.1), False),
        ((), 0, (0.1, 0.3), False),
        ((), 0, None, None),
    ],
)
def test_a_run_is_worse_by_the_tests_or_else_by_its_documents(said, sign, interval, worse, turned):
    run, other = a_run("a"), a_run("b")
    pair = a_pair(run, other, said, sign, interval)
    if turned:
        there = interval and (-interval[1], -interval[0])
        pair = a_pair(other, run, {-each for each in said}, -sign, there)
    assert is_shown_worse(run, pair) is worse


def test_values_that_were_chosen_are_counted(answered):
    tried = [Tried(0, "a", 0.4, True), Tried(0, "b", 0.3, False), Tried(1, "c", 0.2, True)]
    runs = [a_run("a"), a_run("c", score=0.7)]
    said = "The values of 2 runs were chosen on validation, among 3 that were trained."
    assert said in answer_of([answered(runs, tried=tried)])
    assert "were chosen" not in answer_of([answered(runs)])


def test_few_seeds_that_show_nothing_do_not_decide():
    run, other = a_run("a"), a_run("b")
    assert is_shown_worse(run, a_pair(run, other, {0}, 0, (-0.3, -0.1), n=6)) is False
    assert is_shown_worse(run, a_pair(run, other, {0}, 0, (-0.3, -0.1), n=5)) is True, "by its documents"
    assert is_shown_worse(run, a_pair(run, other, {0}, 0, n=5)) is None
    assert is_shown_worse(run, a_pair(run, other, {-1}, -1, (-0.3, 0.1), n=3)) is True, "by the t-test"


def standing(name, mean, worse=False, **more):
    run, best = a_run(name, **more), a_run("best")
    training = run.seconds[0] if run.seconds else inf
    if name == "best":
        return Standing(run, mean, None, best=True, training=training)
    pair = a_pair(run, best, () if worse is None else {-1 if worse else 0}, -1 if worse else 0)
    return Standing(run, mean, None, pair, training=training)


def test_the_cheapest_of_those_as_good_as_the_best_is_recommended():
    best = standing("best", 0.8, models=4)
    cheaper = standing("cheap", 0.8 - MARGIN / 2, models=1, seconds=50.0)
    assert recommend([best, cheaper]).run.name == "cheap"
    assert recommend([best, standing("cheap", 0.8 - MARGIN / 2, worse=None)]).run.name == "cheap"
    assert recommend([best, standing("worse", 0.8 - MARGIN / 2, worse=True)]) is best
    assert recommend([best, standing("lower", 0.8 - 1.1 * MARGIN)]) is best
    slower = standing("slower", 0.799, models=1, seconds=90.0)
    assert recommend([best, slower, cheaper]) is cheaper
    assert recommend([best, standing("more", 0.799, models=5, seconds=1.0)]) is best


def test_random_groups_are_recommended_only_without_others():
    random = {"groups": (("a", "b"), ("c", "d")), "method": "random", "models": 2}
    best, other = standing("best", 0.8, **random), standing("other", 0.799, models=9)
    assert (best.control, other.control) == ("control: random groups", "")
    assert recommend([best, other]) is other
    assert recommend([best, standing("other", 0.799, worse=True)]) is best
    cheaper = standing("cheaper", 0.799, seconds=1.0, **random)
    assert recommend([best, cheaper, standing("other", 0.7, worse=True)]) is best, "of controls, the highest"


def test_the_best_of_several_random_groups_is_high_by_chance():
    random = {"groups": PARTS, "method": "random", "models": 2}
    best, far = standing("best", 0.8, **random), 0.8 - 3 * MARGIN
    one, more = standing("one", far, models=1), standing("more", far + MARGIN / 2, models=4)
    low = standing("low", far - MARGIN, models=1, seconds=1.0)
    assert recommend([best, more, one, low]) is one, "the cheapest of those as good as the best other"
    assert recommend([best, standing("one", far, worse=True)]) is best
    assert recommend([best, standing("one", far, worse=None)]) is best, "nothing can decide"


@pytest.mark.parametrize("sign", [0, 1])
def test_a_balancer_is_compared_with_random_factors(answered, sign):
    def of(name, objective, score, **more):
        params = {"training.objective.name": objective, "training.epochs": "4", "store.uri": name}
        return a_run(name, score=score, params=params | more.pop("params", {}), **more)

    ours, control = of("ours", "dwa", 0.8), of("control", "random", 0.7)
    others = [a_run("plain", score=0.75), of("longer", "random", 0.9, params={"training.epochs": "8"})]
    pairs = [a_pair(ours, control, {sign}, sign)]
    said = answer_of([answered([ours, control, *others], pairs)])
    better = "better than" if sign else "not shown to be better than"
    assert f"“ours” is {better} random factors (“control”)." in said
    once = a_pair(ours, control, mean=0.03, interval=(0.01, 0.05))
    assert "“ours” is better on these test documents than random factors (" in answer_of(
        [answered([ours, control, *others], [once])]
    )
    alone = answer_of([answered([ours, *others], [])])
    assert "“ours” is compared with no random factors: add a run with `training.objective: random`." in alone
    assert "random factors" not in answer_of([answered([others[0], a_run("other", score=0.1)])])
    assert "random factors" not in answer_of([answered([ours, control, others[0]], nothing=["control"])])
    for one_loss in ({"tasks": "a"}, {"params": {"training.objective.per": "head"}}):
        single = of("single", "dwa", 0.8, **one_loss)
        low = a_run("low", score=0.1, **({"tasks": "a"} if "tasks" in one_loss else {}))
        assert "random factors" not in answer_of([answered([single, low])])


def test_random_factors_are_a_control():
    best = standing("best", 0.8, params={"training.objective.name": "random"})
    other = standing("other", 0.799, models=9)
    assert best.control == "control: random factors"
    assert recommend([best, other]) is other
    assert not standing("best", 0.8, tasks="a", params=best.run.params).control, "one loss"


PARTS = (("a", "b"), ("c", "d"))


def test_of_equal_models_a_control_is_not_the_best(answered):
    control = a_run("drawn", models=2, groups=PARTS, method="random")
    runs = [control, a_run("proposed", models=2, groups=PARTS), a_run("low", score=0.1)]
    section = answered(runs, [])
    assert "“proposed” has the highest" in answer_of([section])


def test_random_groups_with_a_higher_score_are_named_as_such(answered):
    random, one = a_run("r", models=2, groups=PARTS, method="random", score=0.85), a_run("one", score=0.8)
    said = answer_of([answered([random, one], [a_pair(one, random, interval=(-0.1, 0.1))])])
    assert said.startswith("Learn all 4 tasks together, in one model.")
    assert "0.050 lower than the best run, “r”, whose groups are random (95% interval" in said


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"models": 1}, "Learn all 4 tasks together, in one model."),
        ({"models": 4}, "Keep the 4 tasks apart, in a model each."),
        ({"models": 2, "groups": PARTS}, "Learn the tasks in 2 groups, with a model each."),
        ({"models": 1, "groups": PARTS}, "Learn all 4 tasks in one model with a head for each of 2 groups."),
        (
            {"models": 1, "groups": PARTS, "params": {"architecture.private_layers": "2"}},
            "Learn all 4 tasks in one model with 2 layers and a head for each of 2 groups.",
        ),
        (
            {
                "models": 1,
                "groups": PARTS,
                "params": {"architecture.private_layers": "1", "architecture.private_kind": "lora"},
            },
            "Learn all 4 tasks in one model with adapters in 1 layer and a head for each of 2 groups.",
        ),
        ({"models": 1, "groups": (("a", "b", "c", "d"),)}, "Learn all 4 tasks together, in one model."),
        ({"models": 1, "tasks": "a"}, "Learn a in a model of its own."),
        (
            {
                "models": 4,
                "learned": ((), ()),
                "stages": (StageShape("refine", 4, 1), StageShape("tune", 4, 4, start="refine")),
            },
            "First learn all 4 tasks together, in one model; then keep the 4 tasks apart, in a model each, "
            "starting from that model.",
        ),
        (
            {
                "models": 1,
                "learned": ((), ("d", "e", "f"), (), ()),
                "stages": (
                    StageShape("read", 1, 1, has_text_only=True),
                    StageShape("more", 3, 1, start="read"),
                    StageShape("groups", 4, 2, is_grouped=True, start="read"),
                    StageShape("last", 4, 1, teacher="groups"),
                ),
            },
            "First learn from the texts alone; then learn d, e, f together, in one model, starting from that "
            "model; then learn the tasks in 2 groups, with a model each, starting from stage “read”; then "
            "learn all 4 tasks together, in one model, taught by those models.",
        ),
        (
            {
                "models": 1,
                "tasks": "a",
                "learned": (("corpus",), (), ("a",)),
                "stages": (
                    StageShape("one", 5, 5),
                    StageShape("two", 9, 1, is_grouped=True),
                    StageShape("three", 1, 1, start="two", teacher="one"),
                ),
            },
            "First keep the 5 tasks apart, in a model each; then learn all 9 tasks in one model with a head "
            "for each group, starting from the published encoder; then learn a in a model of its own, "
            "starting from that model and taught by stage “one”.",
        ),
    ],
)
def test_it_begins_with_what_to_do(answered, given, expected):
    runs = [a_run("best", **given), a_run("low", score=0.1, tasks=given.get("tasks", "abcd"))]
    section = answered(runs, [a_pair(*runs, {1}, 1)])
    assert section.blocks[0].text == expected
    groups = [block.rows for block in section.blocks if getattr(block, "id", "") == "answer_groups"]
    assert section.blocks[1 + len(groups)].text.startswith(
        "“best” has the highest macro F1, 0.800. Every other run is shown to be worse: the next, "
        "“low”, is 0.700 lower."
    )
    expected = [(str(n), task) for n, tasks in enumerate(given.get("groups", ()), 1) for task in tasks]
    assert [[(row["group"], row["task"]) for row in rows] for rows in groups] == [expected] * bool(expected)


def test_chips_have_the_numbers_and_colours_of_the_figures(comparison_of):
    comparison = comparison_of(runs=8, children=1)
    given = numbering(comparison)
    run = [run for run in comparison.runs if run.groups][-1]
    shown = {row["task"]: (row["group"], row["colour"]) for row in answer._groups(comparison, run).rows}
    figure = next(block for block in together(comparison, given) if block.id == "groups_together")
    scale = figure.spec["layer"][0]["encoding"]["color"]["scale"]
    colour = dict(zip(scale["domain"], scale["range"], strict=True))
    rows = [row for row in figure.rows if row["run"] == run.key]
    assert len({row["group"] for row in rows}) > 1
    assert shown == {row["task"]: (row["group"], colour[row["group"]]) for row in rows}


def test_what_documents_alone_show_is_said_of_these_documents(answered):
    runs = [a_run("best", groups=None), a_run("low", score=0.1)]
    section = answered(runs, [a_pair(*runs, interval=(0.5, 0.9))])
    assert "Every other run is worse on these test documents: the next, “low”" in section.blocks[1].text
    assert section.blocks[-1].rows[1]["verdict"] == "worse on these test documents"
    section = answered(runs, [a_pair(*runs, {1}, 1, (0.5, 0.9))])
    assert section.blocks[-1].rows[1]["verdict"] == "shown to be worse"


def test_the_gain_over_each_other_way_to_learn_is_said_once(answered):
    best = a_run("grouped", 2, groups=PARTS, score=0.9)
    random = a_run("random", 2, groups=PARTS, method="random", score=0.85)
    others = [a_run("all", score=0.7), a_run("apart", 4, score=0.6), a_run("apart, short", 4, score=0.5)]
    pairs = [a_pair(best, random, {1}, 1), a_pair(others[1], best, {-1}, -1, (-0.4, -0.2))]
    reason = answered([best, random, *others], pairs).blocks[2].text
    assert "The next best that is not a control, “all”, is 0.200 lower (not tested)." in reason
    assert "“grouped” gains +0.300 (+0.200 to +0.400) over one model per task (“apart”)." in reason
    assert "short" not in reason
    assert "random" not in reason
    worse = [*pairs[:1], *(a_pair(each, best, {-1}, -1) for each in others)]
    reason = answered([best, random, *others], worse).blocks[2].text
    assert "Every other run is shown to be worse: the next that is not a control, “all”, is" in reason

    headed = a_run("headed", 1, groups=PARTS, score=0.8)
    runs = [a_run("all", score=0.9), a_run("second", score=0.88), random, headed]
    assert "“all” gains +0.100 over groups (“headed”)." in answered(runs, []).blocks[1].text
    lucky = [a_run("lucky", 2, groups=PARTS, method="random", score=0.905), *runs]
    assert "“all” gains +0.100 over groups (“headed”)." in answered(lucky, []).blocks[1].text
    assert " gains " not in answered([best, headed, random], []).blocks[2].text
    assert " gains " not in answered([best, others[0]], []).blocks[2].text, "the next run is named already"
    worse = [a_run("all", score=0.8), a_run("all, short", score=0.3)]
    said = answered([best, *worse], []).blocks[2].text
    assert " gains " not in said, "a worse run of the way that is named already tells nothing of it"


def test_a_gain_over_a_run_that_reads_less_is_said_to_be_one(answered):
    read = {"data.max_length": "512", "encoder.name": "minilm", "training.epochs": "18"}
    less = read | {"data.max_length": "128", "training.epochs": "6"}
    runs = [a_run("all", score=0.9, params=read), a_run("near", score=0.89, params=read)]
    said = answered([*runs, a_run("apart", 4, score=0.6, params=less)], []).blocks[1].text
    assert "+0.300 over one model per task (“apart”, with another `data.max_length`)." in said
    less |= {"encoder.name": "bert"}
    said = answered([*runs, a_run("apart", 4, score=0.6, params=less)], []).blocks[1].text
    assert "(“apart”, with another `encoder.name` and `data.max_length`)." in said


def test_a_cheaper_control_is_not_denied(answered):
    best = a_run("ours", 2, groups=PARTS, score=0.9, seconds=100.0)
    random = a_run("random", 2, groups=PARTS, method="random", score=0.9, seconds=50.0)
    for other, said in (
        (random, "No cheaper run scored higher"),
        (a_run("low", score=0.5), "Every cheaper run scored lower"),
    ):
        assert f"0.900. {said}. The next best, “{other.name}”" in answered([best, other], []).blocks[2].text


def test_who_did_not_train_to_the_end_is_told_to_first(answered):
    runs = [a_run("each", 4), a_run("one", score=0.7), a_run("same", 4, score=0.6)]

    def advice(*early):
        return answered(runs, early=early).blocks[0].text

    decided = "Keep the 4 tasks apart, in a model each."
    longer = "Train longer before you decide. So far: keep the 4 tasks apart, in a model each."
    assert advice() == advice("same") == decided
    assert advice("each") == longer
    assert advice("one") == longer, "a cheaper run may still become as good"
    runs[0] = a_run("each", 4, score=0.9996)
    assert advice("each") == decided, "a perfect score cannot rise"
    assert advice("each", "one") == longer


WORDS = "bag of words (TF-IDF and a linear model per task)"


def test_the_recommended_run_is_compared_with_a_bag_of_words(answered):
    runs = [a_run("best", score=0.8), a_run("other", 4, score=0.7)]
    pairs = [a_pair(*runs, {1}, 1)]
    assert "bag of words" not in answered(runs, pairs).blocks[1].text
    assert answered(runs, pairs, words=0.65).blocks[1].text.endswith(f" A {WORDS} reaches 0.650.")
    said = answered(runs, pairs, words=0.75).blocks[1].text
    assert said.endswith(f" A {WORDS} reaches 0.750, and is not beaten by “other”.")


def test_tasks_on_which_a_bag_of_words_is_better_are_named(answered):
    runs = [a_run("best", score=0.8), a_run("other", 4, score=0.7)]
    lags = tuple(Lag(task, 0.1 * n, 0.5) for n, task in enumerate(("a", "b", "c", "d", "e")))

    def said(*lags):
        return answered(runs, words=0.65, lags=lags).blocks[1].text

    assert said(lags[1]).endswith(" reaches 0.650. It is better on 1 task: “b” (0.500 against 0.100).")
    assert said(*lags).endswith(
        " It is better on 5 tasks: “a” (0.500 against 0.000), “b” (0.500 against 0.100), "
        "“c” (0.500 against 0.200) and 2 more."
    )


@pytest.mark.parametrize(
    ("interval", "range_text"),
    [((-0.004, 0.028), " (95% interval −0.004 to +0.028)"), ((0.001, 0.028), ""), (None, "")],
)
def test_a_gain_over_a_bag_of_words_that_is_not_shown_is_part_of_the_advice(answered, interval, range_text):
    runs = [a_run("best", 4, score=0.8), a_run("other", score=0.7)]
    pairs = [a_pair(*runs, {1}, 1)]
    open_gain = Gain(0.012, interval and Interval(*interval), False)
    shown = Gain(0.012, Interval(0.01, 0.02), True)

    def advice(**gains):
        return answered(runs, pairs, words=0.65, gains=gains).blocks[0].text

    plain = "Keep the 4 tasks apart, in a model each."
    assert (
        advice(best=open_gain, other=open_gain)
        == advice(best=open_gain)
        == (f"{plain} No run is shown to be better than a bag of words: “best” gains +0.012{range_text}.")
    )
    assert advice(best=open_gain, other=shown) == (
        f"{plain} “best” is not shown to be better than a bag of words: it gains +0.012{range_text}."
    )
    assert advice(best=shown, other=open_gain) == advice(other=open_gain) == plain


@pytest.mark.parametrize(
    ("words", "early", "step"),
    [
        (0.9, (), "a larger encoder"),
        (0.9, ("best",), "train longer"),
        (0.8, (), "use the bag of words"),
    ],
)
def test_no_run_is_recommended_if_a_bag_of_words_is_as_good(answered, words, early, step):
    runs = [a_run("best", 4, score=0.8), a_run("other", score=0.79), a_run("low", 2, score=0.1)]
    pairs = [a_pair(runs[0], run, interval=(-0.1, 0.1)) for run in runs[1:]]
    section = answered(runs, pairs, words=words, early=early)
    assert section.blocks[0].text == (
        f"None of these models is worth using yet: a {WORDS} has {words:.3f}, the best run, “best”, 0.800."
    )
    assert section.blocks[0].tone == "answer"
    assert step in section.blocks[1].text
    assert "recommended" not in repr(section.blocks[-1].rows)


def test_only_runs_that_are_better_than_a_bag_of_words_are_recommended(answered):
    best, cheap, mid = a_run("best", 4, score=0.8), a_run("cheap", score=0.792), a_run("mid", 3, score=0.797)
    pairs = [a_pair(best, run, interval=(-0.1, 0.1)) for run in (cheap, mid)]
    assert answered([best, cheap, mid], pairs, words=0.7).blocks[1].text.startswith("“cheap” has")
    assert answered([best, cheap, mid], pairs, words=0.795).blocks[1].text.startswith("“mid” has")
    section = answered([best, cheap, mid], pairs, words=0.799)
    assert section.blocks[0].text == "Keep the 4 tasks apart, in a model each."
    assert "Every cheaper run scored lower" in section.blocks[1].text


def test_a_bag_of_words_is_named_if_nothing_was_learned(answered):
    runs = [a_run("a", score=0.1), a_run("b", 4, score=0.2)]
    section = answered(runs, nothing=("a", "b"), words=0.7)
    assert section.blocks[0].text == f"{NOTHING} A {WORDS} has 0.700."


def test_every_run_means_every_run(answered):
    best, other, lost = a_run("best", score=0.8), a_run("other", 4, score=0.7), a_run("lost", score=0.01)
    runs, nothing = [best, other, lost], ("lost",)
    pairs = [a_pair(best, other, {1}, 1)]
    assert "Every other run is" in answered([best, other], pairs).blocks[1].text
    assert "Every other ranked run is" in answered(runs, pairs, nothing=nothing).blocks[1].text
    pairs = [a_pair(best, other, interval=(-0.1, 0.2))]
    assert "No run is cheaper" in answered([best, other], pairs).blocks[1].text
    assert "No ranked run is cheaper" in answered(runs, pairs, nothing=nothing).blocks[1].text


def test_equal_runs_are_called_equal(answered):
    best, cheap = a_run("apart", 4, score=0.8, seconds=400.0), a_run("all", score=0.8)
    reason = answered([best, cheap], [a_pair(best, cheap, interval=(-0.01, 0.01))]).blocks[1].text
    assert reason.startswith("“all” has a macro F1 of 0.800, equal to the best run, “apart” (")
    reason = answered([cheap, best], [a_pair(cheap, best, interval=(-0.01, 0.01))]).blocks[1].text
    assert "The next best, “apart”, is equal (95% interval of the difference −0.010 to +0.010)." in reason


def test_a_run_without_a_time_is_not_the_cheapest(answered):
    best, unknown = a_run("best", score=0.8), a_run("unknown", score=0.795)
    unknown.seconds = []
    section = answered([best, unknown], [a_pair(best, unknown, interval=(-0.1, 0.1))])
    assert section.blocks[1].text.startswith("“best” has the highest")


def test_differences_are_over_the_seeds_of_both(answered):
    best, second, apart = a_run("best", score=0.9), a_run("second", score=0.8), a_run("apart", 4, score=0.7)
    pairs = [a_pair(best, second, {1}, 1, mean=0.15), a_pair(apart, best, {-1}, -1, mean=-0.25)]
    section = answered([best, second, apart], pairs)
    assert "+0.250 over one model per task (“apart”)." in section.blocks[1].text
    assert [row["difference"] for row in section.blocks[-1].rows] == ["", "−0.150", "−0.250"]


@pytest.mark.parametrize(
    ("mean", "said"),
    [
        (0.0024, "0.002 lower"),
        (0.014, "0.002 lower over all folds and seeds, and 0.014 lower over those of both runs"),
        (-0.008, "0.002 lower over all folds and seeds, and 0.008 higher over those of both runs"),
        (0.0004, "0.002 lower over all folds and seeds, and less than 0.001 lower over those of both runs"),
    ],
)
def test_a_difference_over_the_seeds_of_both_stands_beside_that_of_the_scores(answered, mean, said):
    best, second = a_run("best", score=0.903), a_run("second", 4, score=0.901)
    text = answered([best, second], [a_pair(best, second, mean=mean)]).blocks[1].text
    assert f"“second”, is {said} (" in text


def test_the_best_run_is_named_before_the_seeds(answered):
    best, cheap = a_run("apart", 4, score=0.907), a_run("all", score=0.903)
    text = answered([best, cheap], [a_pair(best, cheap, interval=(-0.005, 0.005), mean=0.014)]).blocks[1].text
    lower = "0.004 lower than the best run, “apart”, over all folds and seeds"
    assert f"a macro F1 of 0.903, {lower}, and 0.014 lower over those of both runs (" in text


def test_it_says_what_a_cheaper_run_costs_in_score_and_saves(answered):
    runs = [a_run("stl", 4, seconds=400.0, score=0.805), a_run("mtl", 1, seconds=100.0)]
    section = answered(runs, [a_pair(*runs, interval=(-0.02, 0.03))])
    assert answer_of([section]) == (
        "Learn all 4 tasks together, in one model. “mtl” has a macro F1 of 0.800, 0.005 lower than the "
        "best run, “stl” (95% interval of the difference −0.030 to +0.020, not shown to be more than "
        "chance), with 1 model instead of 4 and 25% of the training time. How sure is that? “mtl” was "
        "trained once: intervals cover other test documents, not another split or seed."
    )
    rows = {row["name"]: row for row in section.blocks[-1].rows}
    assert rows["stl"]["verdict"] == "highest score"
    assert rows["mtl"]["verdict"] == "recommended: not shown to be worse"
    assert rows["mtl"]["difference"] == "−0.005 (−0.030 to +0.020)"
    assert (rows["mtl"]["models"], rows["stl"]["train_seconds"]) == (1, 400)


def test_a_column_without_any_value_is_not_shown(answered):
    table = answered([a_run("best", score=0.8), a_run("other", score=0.7)]).blocks[-1]
    assert [column.key for column in table.columns] == ["name", "score", "models", "train_seconds", "verdict"]


def test_groups_are_compared_with_random_ones(answered):
    ours = a_run("ours", 2, groups=PARTS, score=0.85)
    theirs = [a_run(f"random {n}", 2, groups=PARTS, method="random", score=0.82 + n / 50) for n in range(3)]
    section = answered([ours, *theirs])
    (figure,) = (block for block in section.blocks if isinstance(block, FigureBlock))
    assert [row["name"] for row in figure.rows] == [*(each.name for each in theirs), "ours"]
    said = answer_of([section])
    assert " How sure is that? The groups of “ours” are not shown to be better than chance: 1 of 3" in said
    section = answered([ours, a_run("b")], [])
    assert " No run has random groups of the same sizes and training as “ours” (" in answer_of([section])
    section = answered([a_run("ours", score=0.9), a_run("b")], [])
    assert "random" not in answer_of([section])
    assert not any(isinstance(block, FigureBlock) for block in section.blocks)


def test_runs_that_cannot_be_ranked_are_named_and_not_recommended(answered):
    runs = [
        a_run("good", score=0.5),
        a_run("fair", score=0.4),
        a_run("flat", score=0.9),
        a_run("half", score=0.9, status="RUNNING"),
        a_run("elsewhere", score=0.4, data_digest="other"),
    ]
    section = answered(runs, [], nothing=["flat"])
    assert {row["name"]: row["verdict"] for row in section.blocks[-1].rows} == {
        "good": "recommended: highest score",
        "fair": "not tested",
        "flat": "learned nothing",
        "half": "not finished",
        "elsewhere": "no comparable score",
    }
    other = (
        "Not compared, because they have other documents or splits (such as by `data.folds`): “elsewhere”."
    )
    assert section.blocks[1].text.endswith(f" {other}")
    alone = answered([runs[0], runs[-1]], [])
    assert answer_of([alone]).endswith(f"Only “good” (macro F1 0.500) can be ranked. {other}")
    assert "Not compared" not in answer_of([answered(runs[:4], [], nothing=["flat"])])
    assert answer_of([answered(runs[2:3] * 2, [], nothing=["flat"])]) == NOTHING
    assert answered(runs[3:4] * 2) is None


def test_one_run_that_can_be_ranked_is_no_answer(answered):
    runs = [a_run("good", score=0.5), a_run("flat", score=0.9), a_run("half", status="RUNNING")]
    only = "There is no answer yet. Only “good” (macro F1 0.500) can be ranked."
    section = answered(runs[:2], [], nothing=["flat"])
    more = " The others predict no better than a constant answer: train longer."
    assert answer_of([section]) == only + more
    assert [row["verdict"] for row in section.blocks[-1].rows] == ["highest score", "learned nothing"]
    assert answer_of([answered(runs, [], nothing=["flat"])]) == only


def test_there_is_no_answer_for_one_run_or_other_tasks(comparison_of):
    assert answer.build(comparison_of(runs=1)) is None
    comparison: Comparison = comparison_of(runs=2)
    child = comparison.runs[0].children[0]
    few = replace(child, tasks=dict(list(child.tasks.items())[:2]))
    runs = (replace(comparison.runs[0], children=(few,)), comparison.runs[1])
    assert answer.build(replace(comparison, runs=runs)) is None
    assert recommend_run(comparison_of(runs=1)) is None
    assert recommend_run(replace(comparison, runs=runs)) is None
    page = Compared(replace(comparison, runs=runs), Path("compare.html"), ())
    assert ComparisonPage(page).recommended is None


def test_the_answer_of_whole_runs(comparison_of):
    comparison = comparison_of(runs=6, children=3)
    section = answer.build(comparison)
    assert ComparisonPage(Compared(comparison, Path("compare.html"), ())).recommended == "mtl · minilm"
    assert answer_of([section]).startswith("Learn all 6 tasks together, in one model. “mtl · minilm”")
    assert len(section.blocks[-1].rows) == 6


def test_equal_runs_differ_by_zero_without_a_sign() -> None:
    values = (0.0, -0.0, 0.0124, -0.0004, 0.0004, -0.0006)
    assert [format_signed(value) for value in values] == [
        "0.000",
        "0.000",
        "+0.012",
        "0.000",
        "0.000",
        "−0.001",
    ]


def test_imported_predictions_are_compared_with_the_recommended_run_and_never_recommended(answered):
    llm = a_run("llm", models=0, score=0.95, is_imported=True)
    runs = [a_run("mtl", score=0.8), a_run("stl", models=4, score=0.9), llm]
    section = answered(runs, [a_pair(llm, runs[1], interval=(-0.01, 0.11))])
    text = "“llm” (not trained here) has 0.950, 0.050 higher than “stl” (−0.010 to +0.110)."
    assert text in answer_of([section])
    assert section.blocks[0].text == "Keep the 4 tasks apart, in a model each."
    row = next(row for row in section.blocks[-1].rows if row["name"] == "llm")
    assert (row["verdict"], row["score"], row.get("models")) == ("not trained here", 0.95, None)
    assert "not trained here" not in answer_of([answered(runs[:2])])


def test_imported_predictions_are_named_if_no_run_can_be_recommended(answered):
    llm, mtl, stl = (
        a_run("llm", models=0, score=0.95, is_imported=True),
        a_run("mtl"),
        a_run("stl", score=0.7),
    )
    pair = a_pair(mtl, llm, interval=(-0.2, -0.1))
    text = "“llm” (not trained here) has 0.950, 0.150 higher than “mtl” (+0.100 to +0.200)."
    for section in (
        answered([mtl, llm], [pair]),
        answered([llm, mtl, stl], [pair], words=0.9),
        answered([llm, mtl, stl], [pair], nothing=["mtl", "stl"]),
    ):
        assert text in answer_of([section])
    assert answered([llm, a_run("rules", is_imported=True)]) is None


def test_of_imported_predictions_the_best_that_can_be_compared_is_named(answered):
    apart = a_run("apart", score=0.97, is_imported=True, data_digest="other")
    rules, llm = (
        a_run(name, score=score, is_imported=True) for name, score in (("rules", 0.5), ("llm", 0.6))
    )
    text = answer_of([answered([a_run("mtl"), a_run("stl", score=0.7), rules, apart, llm])])
    assert "“llm” (not trained here) has 0.600, 0.200 lower than “mtl”." in text
    assert "“rules”" not in text
    assert "or splits (such as by `data.folds`): “apart”" in text
