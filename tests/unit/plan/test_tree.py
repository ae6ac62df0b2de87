"""Plans: two nested partitions, and nothing lost, doubled or mixed."""

from __future__ import annotations

import pytest

from mtlv.errors import PlanError
from mtlv.plan import HeadSpec, ModelSpec, Plan, Task, as_json, tree_lines
from mtlv.registries import ARCHITECTURES

TASKS = [Task(name, source="s") for name in ("a", "b", "c", "d")]
NAMES = [task.name for task in TASKS]
GROUPS = (("a", "d"), ("b",), ("c",))


def plan(*models: tuple[tuple[str, ...], ...]) -> Plan:
    return Plan(tuple(ModelSpec(tuple(HeadSpec(head) for head in heads)) for heads in models))


def shape(made: Plan) -> list[list[tuple[str, ...]]]:
    return [[head.tasks for head in model.heads] for model in made.models]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("stl", [[("a",)], [("b",)], [("c",)], [("d",)]]),
        ("mtl", [[("a", "b", "c", "d")]]),
        ("gmtl", [[("a", "d")], [("b",)], [("c",)]]),
        ("gmhl", [[("a", "d"), ("b",), ("c",)]]),
    ],
)
def test_architectures(name: str, expected: list) -> None:
    made = ARCHITECTURES[name].build(NAMES, GROUPS, 1)
    assert shape(made) == expected
    assert made.check(TASKS) is made
    assert sorted(made.tasks) == NAMES


@pytest.mark.parametrize("name", sorted(ARCHITECTURES))
def test_layers_reach_every_head(name: str) -> None:
    assert {head.layers for head in ARCHITECTURES[name].build(NAMES, GROUPS, 3).heads} == {3}


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (plan((("a", "b"), ("c",))), r"the plan leaves tasks out \(got d\); give each a head"),
        (plan((("a", "b", "c"), ("d", "a"))), r"in one head only \(got in several: a\)"),
        (plan((("a", "b"),), (("c", "d"), ("b",))), r"in one head only \(got in several: b\)"),
        (plan((("a", "b", "c", "d", "aa"),)), r"an unknown task `aa`; did you mean `a`\?"),
    ],
)
def test_a_plan_that_is_no_partition_is_refused(broken: Plan, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        broken.check(TASKS)


def test_groups_that_drop_or_double_a_task_are_refused() -> None:
    for groups in ((("a", "d"), ("b",)), (("a", "d"), ("b", "a"), ("c",))):
        for name in ("gmtl", "gmhl"):
            with pytest.raises(PlanError):
                ARCHITECTURES[name].build(NAMES, groups, 1).check(TASKS)


def test_a_head_of_different_kinds_or_sources_is_refused() -> None:
    for odd in (Task("d", source="t"), Task("d", source="s", kind="regression")):
        with pytest.raises(PlanError, match=r"mixes kinds or sources of tasks; split it"):
            plan((("a", "b", "c", "d"),)).check([*TASKS[:3], odd])


def test_nothing_may_be_empty() -> None:
    for make in (lambda: HeadSpec(()), lambda: ModelSpec(()), lambda: Plan(())):
        with pytest.raises(PlanError):
            make()
    with pytest.raises(PlanError, match="`layers` of a head"):
        HeadSpec(("a",), layers=0)


def test_names_come_from_content() -> None:
    assert HeadSpec(("a",)).name == "a"
    assert HeadSpec(("a", "b")).name != HeadSpec(("a", "c")).name
    assert HeadSpec(("a", "b")).name.startswith("a and 1 more ")
    assert ModelSpec((HeadSpec(("a", "b")),)).name == HeadSpec(("a", "b")).name


def test_the_tree_shows_every_task() -> None:
    made = ARCHITECTURES["gmhl"].build(NAMES, GROUPS, 2)
    lines = tree_lines(made)
    assert lines[0].startswith("model a + 3 labels")
    assert [line.strip() for line in lines if line.startswith("    ")] == ["a", "d", "b", "c"]
    assert as_json(made)[0]["heads"][0] == {
        "name": made.models[0].heads[0].name,
        "layers": 2,
        "tasks": ["a", "d"],
    }
