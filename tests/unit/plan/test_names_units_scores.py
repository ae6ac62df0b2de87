"""Slugs, keys and seeds by content, and gathering."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from mtlv.errors import PlanError
from mtlv.plan import (
    HeadSpec,
    ModelSpec,
    Scores,
    TaskScores,
    Unit,
    ascii_slug,
    gather,
    group_name,
    group_title,
    slug,
    slugs,
)

HARD = [
    "Catheters, Indwelling/right",
    "é" * 80,
    "e\u0301",
    "<script>",
    "a//b",
    "..",
    "肺炎",
    "  x ",
    "a\tb",
    "😀",
]


@pytest.mark.parametrize("name", HARD)
def test_slugs_are_what_mlflow_takes(name: str) -> None:
    assert re.fullmatch(r"[\w.\- ]{1,60}", slug(name))
    assert slug(name).strip(" .")
    assert re.fullmatch(r"[A-Za-z0-9._\-]{1,60}", ascii_slug(name))


def test_slugs_are_unique_without_regard_to_case() -> None:
    names = ["Nodule", "nodule", "a/b", "a,b", "x" * 70, "x" * 80, "plain"]
    made = slugs(names)
    assert list(made) == names
    assert len({text.casefold() for text in made.values()}) == len(names)
    assert made["plain"] == "plain"
    assert all(len(text) <= 60 for text in made.values())


def test_heads_of_different_tasks_never_share_a_name() -> None:
    names = ["A/B", "A_B", "x" * 60 + "1", "x" * 60 + "2", "plain"]
    made = [group_name([name]) for name in names]
    assert len(set(made)) == len(names)
    assert made[-1] == "plain"
    assert all(len(name) <= 60 for name in made)


def test_titles_of_groups_are_short_and_differ_between_models_of_a_plan() -> None:
    assert group_title(["pneumonia"]) == "pneumonia"
    assert group_title(["pneumonia", "edema"]) == "pneumonia + 1 label"
    groups = (["A/B", "x", "y"], ["A_B", "z", "w"], ["a"] * 8)
    made = [group_title(tasks) for tasks in groups]
    assert made[2] == "a + 7 labels"
    assert len(set(made)) == 3, "also if first tasks have one slug"


UNIT = Unit("train", ModelSpec((HeadSpec(("a", "b")),)), 0, 1, "start", "data", {"epochs": 3})


def test_equal_units_have_equal_keys_and_every_part_counts() -> None:
    assert UNIT.key == replace(UNIT).key
    others = [
        replace(UNIT, model=ModelSpec((HeadSpec(("a", "b"), layers=2),))),
        replace(UNIT, model=ModelSpec((HeadSpec(("a",)), HeadSpec(("b",))))),
        replace(UNIT, fold=1),
        replace(UNIT, seed=2),
        replace(UNIT, start_key="other"),
        replace(UNIT, data="other"),
        replace(UNIT, train={"epochs": 4}),
        replace(UNIT, teachers=("one",)),
        replace(UNIT, teachers=("two",)),
    ]
    assert len({UNIT.key, *(unit.key for unit in others)}) == 10
    assert UNIT.key == "ef25c3c35df9cb88"  # as before units could have teachers
    assert UNIT.key == replace(UNIT, stage="tune").key  # a name; what a stage does is in the rest


def test_seeds_depend_on_content_and_purpose_not_on_settings() -> None:
    assert UNIT.draw_seed("order") == replace(UNIT, train={"epochs": 9}).draw_seed("order")
    assert UNIT.draw_seed("order") != UNIT.draw_seed("heads")
    assert UNIT.draw_seed("order") != replace(UNIT, seed=2).draw_seed("order")


def scores(task: str, ids: tuple[str, ...] = ("1", "2"), split: str = "test") -> Scores:
    n = len(ids)
    return Scores(
        (f"unit {task}",), split, ids, {task: TaskScores(np.full(n, 0.5), np.ones(n), np.ones(n, bool))}
    )


def test_gather_joins_tasks_of_the_same_documents() -> None:
    both = gather([scores("a"), scores("b")])
    assert list(both.tasks) == ["a", "b"]
    assert both.units == ("unit a", "unit b")
    assert both.matrix(["b", "a"])[0].shape == (2, 2)
    assert both.groups is None
    grouped = replace(scores("b"), groups=("g", "g"))
    assert gather([scores("a"), grouped]).groups == gather([grouped, scores("a")]).groups == ("g", "g")


@pytest.mark.parametrize("other", [scores("b", ids=("2", "1")), scores("b", split="validation"), scores("a")])
def test_gather_refuses_other_documents_and_doubled_tasks(other: Scores) -> None:
    with pytest.raises(PlanError):
        gather([scores("a"), other])


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (
            scores("b", ids=("1", "3", "2")),
            r"got 2 and 3 documents of the test part, of which one alone has `3`",
        ),
        (scores("b", ids=("2", "1")), r"got 2 and 2 documents of the test part in another order"),
        (scores("b", split="validation"), r"got the parts test and validation"),
    ],
)
def test_gather_names_the_units_the_documents_and_the_next_step(other: Scores, said: str) -> None:
    with pytest.raises(PlanError, match=rf"units unit a, unit b of one run .*{said}.*--if-exists rerun"):
        gather([scores("a"), other])
