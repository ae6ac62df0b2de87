"""What is said of runs that were not trained to the end, and of tasks that were not learned."""

from __future__ import annotations

from dataclasses import replace

from mtlv.evaluation.learned import Learning, TrainingEnd, Unlearned
from mtlv.plan import Task
from mtlv.reporting.learned_words import NOTHING, next_step, note, warnings


def lost(*names: str, kind: str = "binary", metric: str = "f1") -> tuple[Unlearned, ...]:
    return tuple(Unlearned(Task(name, kind, main_metric=metric), 0.1, 0.125) for name in names)


GOOD = Learning(TrainingEnd(0.01), 3)
RISING = Learning(TrainingEnd(0.0234), 3)
SOME = Learning(TrainingEnd(0.25), 3, lost("Catheter"))
NONE = Learning(TrainingEnd(None), 2, lost("A", "B"))


def test_nothing_is_said_of_a_run_without_faults_or_of_an_earlier_release() -> None:
    for found in (GOOD, Learning()):
        assert note(found) == ""
        assert warnings({"run": found}) == []


def test_many_tasks_are_counted_and_names_are_marked() -> None:
    (text,) = warnings({"run": Learning(None, 9, lost(*"ABCDEFG"))}, lambda name: f"<{name}>")
    assert text == "Not learned, as no better than a constant answer: <run> (<A>, <B> and 5 more)."


def test_a_task_that_only_a_threshold_keeps_from_being_learned_is_named() -> None:
    said = (
        "Ranked well, although the threshold does not fit (try `evaluation.threshold: per_task`, or more "
        "validation documents): {}."
    )
    low, high, higher = (
        Learning(None, 3, tuple(replace(each, average_precision=ap) for each in lost("A", "B"))[at:])
        for ap, at in ((0.56, 0), (0.57, 1), (0.98, 1))
    )
    (only,) = warnings({"y": low})
    assert only.startswith("Not learned")
    each = "`x` (`B`, average precision 0.57), `z` (`B`, average precision 0.98)"
    assert warnings({"x": high, "y": low, "z": higher})[1:] == [said.format(each)]


def test_the_note_of_a_row_is_short() -> None:
    assert note(RISING) == "not trained to the end"
    assert note(SOME) == "not trained to the end; not learned: Catheter"
    assert note(NONE) == "not trained to the end; nothing learned"
    assert note(Learning(None, 9, lost(*"ABCDE"))) == "not learned: A, B and 3 more"


def test_a_run_that_a_bag_of_words_beats_is_named() -> None:
    counts = "No better than a bag of words (TF-IDF and a linear model per task)"
    behind, ahead = replace(GOOD, beside=(0.69, 0.7)), replace(GOOD, beside=(0.71, 0.7))
    assert note(behind) == "no better than a bag of words"
    assert note(replace(RISING, beside=(0.6, 0.7))) == "not trained to the end; no better than a bag of words"
    assert note(ahead) == ""
    assert warnings({"a": behind, "b": ahead, "c": GOOD}) == [f"{counts}: `a` (0.690 against 0.700)."]
    for score in (0.7, 0.6999):
        tied = replace(GOOD, beside=(score, 0.7))
        assert note(tied) == note(behind)
        assert next_step(tied).startswith("use the bag of words")
    assert next_step(behind).startswith("choose the learning rate")
    assert next_step(replace(NONE, end=GOOD.end, beside=(0.0, 0.0))).startswith("raise the learning rate")


def test_several_runs_have_one_warning_for_each_rule() -> None:
    assert warnings({"a": GOOD, "b": RISING, "c": SOME, "d": NONE}) == [
        "Not trained to the end: `d` (one epoch), `c` (validation +0.250), `b` (validation +0.023).",
        "Nothing was learned by `d`: no task is predicted better than by a constant answer.",
        "Not learned, as no better than a constant answer: `c` (`Catheter`).",
    ]


def test_if_every_run_learned_nothing_there_is_nothing_to_rank() -> None:
    assert warnings({"a": NONE, "b": NONE})[1:] == [NOTHING]
    assert warnings({"a": NONE})[1:] == [NOTHING]
