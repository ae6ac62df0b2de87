"""Groups: numbers that match between runs, elbows, maps and agreement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from drawing import block
from looking import drawn, findings
from sklearn.metrics import adjusted_rand_score

from mtlv.comparison.parts.shared_groups import ALL, ALONE, numbering
from mtlv.comparison.sections.groups import agreement as agreement_of_runs
from mtlv.comparison.sections.groups import build, maps
from mtlv.comparison.sections.groups.agreement import agreement
from mtlv.evaluation.compared_runs import ComparedGroups, Comparison

Make = Callable[..., Comparison]


def grouping(comparison: Comparison, *parts: tuple[tuple[str, ...], ...]) -> Comparison:
    """The comparison with these groups, each as heads of one model, in its first runs and no other run."""
    runs = tuple(
        replace(run, plan=(given,), groups=ComparedGroups(given))
        for run, given in zip(comparison.runs, parts, strict=False)
    )
    return replace(comparison, runs=runs)


def test_tasks_alone_and_all_together_are_no_groups(comparison_of: Make) -> None:
    rows = block(build(comparison_of()), "groups_together").rows
    of = {run: {row["group"] for row in rows if row["run"] == run} for run in ("r0", "r1", "r2")}
    assert of["r0"] == {ALONE}
    assert of["r1"] == {ALL}
    assert of["r2"] == {"1", "2", "3", "4"}


def test_alike_groups_of_two_runs_have_the_same_number(comparison_of: Make) -> None:
    comparison = comparison_of(runs=3)
    a, b, c, d, e, f = (task.name for task in comparison.tasks)
    comparison = grouping(
        comparison, ((a, b, c), (d, e, f)), ((e, f), (a, b), (c, d)), ((d, e, f), (a, b, c))
    )
    numbers = numbering(comparison).numbers
    assert numbers["r0"] == {(a, b, c): 1, (d, e, f): 2}
    assert numbers["r1"] == {(a, b): 1, (e, f): 2, (c, d): 3}
    assert numbers["r2"] == {(a, b, c): 1, (d, e, f): 2}


def test_tooltips_name_the_others_and_who_shares_the_encoder(comparison_of: Make) -> None:
    comparison = comparison_of()
    rows = {(row["run"], row["task"]): row for row in block(build(comparison), "groups_together").rows}
    assert rows["r0", "Opacity"]["others"] == "none"
    assert rows["r0", "Opacity"]["encoder"] == "its own"
    assert rows["r1", "Opacity"]["others"] == ", ".join(task.name for task in comparison.tasks[1:])
    assert {row["encoder"] for (run, _), row in rows.items() if run == "r3"} == {"shared by 6 tasks"}


def test_the_table_lists_every_task_of_a_group_once_and_equal_groups_once(comparison_of: Make) -> None:
    comparison = comparison_of()
    *_, one, other = comparison.runs
    table = block(build(replace(comparison, runs=(one, other))), "groups")
    rows = [row for row in table.rows if row["run"] == one.key]
    assert [row["group"] for row in rows] == ["1", "2", "3", "4"]
    assert sum(row["tasks"] for row in rows) == len(comparison.tasks)
    assert [row["reason"] for row in rows] == [one.groups.reason, *([""] * (len(rows) - 1))]
    assert all(row["medoid"] in row["names"] for row in rows)
    [same] = [row for row in table.rows if row["run"] == other.key]
    assert same["names"] == f"the same groups as “{one.name}”"
    unlike = replace(other, groups=replace(other.groups, reason="given"))
    table = block(build(replace(comparison, runs=(one, unlike))), "groups")
    assert len([row for row in table.rows if row["run"] == other.key]) == 4


@pytest.mark.parametrize("seed", range(5))
def test_agreement_is_scikit_learns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = [f"task {number}" for number in range(12)]
    labels = rng.integers(3, size=(2, 12))
    left, right = (
        tuple(tuple(n for n, at in zip(names, each, strict=True) if at == k) for k in range(3))
        for each in labels
    )
    assert agreement(left, right) == pytest.approx(adjusted_rand_score(*labels), rel=1e-12, abs=1e-15)
    assert agreement(left, left) == 1.0
    assert agreement(left, right) == agreement(right, left)


def test_agreement_counts_common_tasks_only() -> None:
    assert agreement((("a", "b"), ("c", "d")), (("a", "b", "x"), ("c", "d"))) == 1.0
    assert agreement((("a",), ("b",)), (("a",), ("x",))) is None


def test_every_pair_of_grouped_runs_is_compared_and_others_are_not(comparison_of: Make) -> None:
    comparison = comparison_of(runs=12)
    figure = block(build(comparison), "groups_agreement")
    grouped = {run.key for run in comparison.runs if run.groups}
    assert {(row["run"], row["other"]) for row in figure.rows} == {(a, b) for a in grouped for b in grouped}
    assert all(row["value"] == 1.0 for row in figure.rows if row["run"] == row["other"])


def test_too_many_groupings_are_left_out(comparison_of: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement_of_runs, "MOST", 3)
    figure = block(build(comparison_of(runs=12)), "groups_agreement")
    assert len(figure.rows) == 9
    assert figure.caption.endswith("5 of 8 runs with groups are left out: too many pairs.")


def test_the_elbow_marks_what_is_recommended_and_what_is_used(comparison_of: Make) -> None:
    comparison = comparison_of(runs=6, tasks=23)
    rows = block(build(comparison), "groups_inertia").rows
    marked = {
        run: {row["k"]: row["mark"] for row in rows if row["run"] == run and row["mark"]}
        for run in ("r2", "r4")
    }
    assert marked["r2"] == {4: "recommended and used"}
    assert marked["r4"] == {4: "recommended by the elbow", 3: "used by the run"}
    first = comparison.run("r2").groups
    assert {row["k"]: row["value"] for row in rows if row["run"] == "r2"} == {
        k: inertia for k, (inertia, _) in first.elbow.items()
    }
    silhouettes = block(build(comparison), "groups_silhouette").rows
    assert 1 not in {row["k"] for row in silhouettes}  # not defined for one group


@pytest.mark.parametrize("tasks", [6, 23])
def test_every_name_of_a_map_is_drawn_and_none_covers_another(comparison_of: Make, tasks: int) -> None:
    comparison = comparison_of(tasks=tasks)
    figure = block(build(comparison), "groups_maps")
    one = [row for row in figure.rows if row.get("run") == "r2"]
    assert {row["task"] for row in one} == {task.name for task in comparison.tasks}
    words = drawn(figure, comparison)
    assert {row["label"] for row in one if "\n" not in row["label"]} <= set(words)
    boxes = np.array([_box(row) for row in one])
    apart = (boxes[:, None, 2] <= boxes[None, :, 0]) | (boxes[:, None, 3] <= boxes[None, :, 1])
    assert (apart | apart.T | np.eye(len(one), dtype=bool)).all()
    width, height = figure.spec["spec"]["width"], figure.spec["spec"]["height"]
    assert (boxes[:, :2] >= 0).all()
    assert (boxes[:, 2] <= width).all()
    assert (boxes[:, 3] <= height).all()


def _box(row: dict) -> tuple[float, float, float, float]:
    lines = row["label"].split("\n")
    half = maps.LETTER * max(map(len, lines)) / 2
    top = row["label_y"] - maps.LINE / 2
    return row["label_x"] - half, top, row["label_x"] + half, top + maps.LINE * len(lines)


def test_tasks_on_one_point_and_on_a_line_are_laid_out(comparison_of: Make) -> None:
    comparison = comparison_of(runs=3)
    run = comparison.runs[2]
    same = {task.name: (0.5, 0.25) for task in comparison.tasks}
    run = replace(run, groups=replace(run.groups, points=same))
    rows = block(build(replace(comparison, runs=(run,))), "groups_maps").rows
    assert len({(row["x"], row["y"]) for row in rows}) == 1
    assert all(row["label"] for row in rows)


def test_names_are_left_to_the_tooltip_where_they_cannot_fit(
    comparison_of: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maps, "SIZES", ((120, 60, 3),) * 4)
    figure = block(build(comparison_of(tasks=23)), "groups_maps")
    assert not any(row["label"] for row in figure.rows)
    assert figure.caption.endswith("hover to read the others.")


def test_every_k_of_an_elbow_has_its_groups_and_the_runs_that_have_them(comparison_of: Make) -> None:
    comparison = comparison_of(runs=6)
    figure = block(build(comparison), "groups_maps")
    first = comparison.runs[2].groups
    for k, groups in first.of_k.items():
        rows = [row for row in figure.rows if row["choice"] == k]
        parts = {
            frozenset(row["task"] for row in rows if row["group"] == n) for n in {r["group"] for r in rows}
        }
        assert parts == set(map(frozenset, groups))
        assert {row["task"] for row in rows if row["medoid"]} == {members[0] for members in groups}
    runs_of_k = {k: [comparison.run(key) for key in keys] for k, keys in figure.choices.items()}
    trained = {k: [run.groups.groups for run in runs if run.groups] for k, runs in runs_of_k.items()}
    assert trained[2] == []
    assert {k: len(runs) for k, runs in trained.items() if runs} == {3: 1, 4: 2, 5: 1}
    assert all(len(groups) == k for k, runs in trained.items() for groups in runs)
    plain = {k: [run.architecture for run in runs if not run.groups] for k, runs in runs_of_k.items()}
    assert {k: names for k, names in plain.items() if names} == {1: ["mtl"], 6: ["stl"]}


def test_a_weak_choice_of_k_is_a_warning(comparison_of: Make) -> None:
    comparison = comparison_of(runs=4)
    *others, run = comparison.runs
    weak = replace(run, groups=replace(run.groups, reason="k = 2, a weak choice: the knee"))
    tones = {
        b.tone: b.text for b in build(replace(comparison, runs=(*others, weak))).blocks if b.kind == "text"
    }
    assert f"“{run.name}”" in tones["warning"]
    assert f"“{run.name}”" not in tones["finding"]
    assert not [b for b in build(comparison).blocks if b.kind == "text" and b.tone == "warning"]


def test_stability_is_a_table_of_each_change(comparison_of: Make) -> None:
    comparison = comparison_of()
    grouped = [run for run in comparison.runs if run.groups]
    first = grouped[0].groups
    alike = [
        run for run in grouped if (run.groups.groups, run.groups.stability) == (first.groups, first.stability)
    ]
    assert len(alike) > 1
    rows = block(build(comparison), "groups_stability").rows
    expected = {
        (run.key, change): value
        for run in grouped
        if run not in alike[1:]
        for change, value in run.groups.stability.items()
    }
    expected |= {(run.key, f"the same groups as “{alike[0].name}”"): None for run in alike[1:]}
    assert {(row["run"], row["change"]): row["value"] for row in rows} == expected


def test_changes_that_keep_all_groups_are_one_row(comparison_of: Make) -> None:
    comparison = comparison_of(runs=3)
    run = comparison.runs[2]
    stability = {"seed 1": 1.0, "without scaling": 0.4, "seed 2": 1.0}
    run = replace(run, groups=replace(run.groups, stability=stability))
    rows = block(build(replace(comparison, runs=(run,))), "groups_stability").rows
    assert [(row["change"], row["value"]) for row in rows] == [
        ("without scaling", 0.4),
        ("any of 2: seed 1, seed 2", 1.0),
    ]


def test_runs_with_the_same_groups_share_the_panels_of_elbow_and_map(comparison_of: Make) -> None:
    comparison = comparison_of(runs=3)
    run = comparison.runs[2]
    same = replace(run, key="same", name="same")
    moved = (*run.groups.groups[0], run.groups.groups[1][0]), run.groups.groups[1][1:], *run.groups.groups[2:]
    others = replace(run, key="other", name="other", groups=replace(run.groups, groups=moved))
    found = build(replace(comparison, runs=(run, same, others)))

    def titles(figure: str) -> dict[str, set[str]]:
        rows = block(found, figure).rows
        return {
            key: {row["title"] for row in rows if row.get("run") == key} for key in (run.key, "same", "other")
        }

    shared = {f"{run.name} and 1 more"}
    assert titles("groups_maps") == {run.key: shared, "same": shared, "other": {"other"}}
    all_three = {f"{run.name} and 2 more"}
    assert titles("groups_inertia") == {run.key: all_three, "same": all_three, "other": all_three}


def test_groups_that_differ_between_folds_are_told(comparison_of: Make) -> None:
    comparison = comparison_of()
    runs = (*comparison.runs[:2], replace(comparison.runs[2], elsewhere=True))
    assert f"The folds of “{runs[2].name}” have different groups" in findings(
        build(replace(comparison, runs=runs))
    )
    assert "have different groups" not in findings(build(comparison))


def test_runs_without_groups_show_their_plans_only(comparison_of: Make) -> None:
    section = build(comparison_of(runs=2))
    assert [each.id for each in section.blocks] == ["groups_together"]


def test_groups_that_are_left_share_a_number_only_where_they_are_alike(
    comparison_of: Callable[..., Comparison],
) -> None:
    def planned(run, *heads):
        return replace(run, plan=(tuple(tuple(head) for head in heads),))

    comparison = comparison_of(runs=4)
    plans = (("ab", "cd"), ("a", "b", "cd"), ("ab", "c", "d"), ("a", "b", "cd"))
    runs = tuple(planned(run, *heads) for run, heads in zip(comparison.runs, plans, strict=True))
    numbers = numbering(replace(comparison, runs=runs)).numbers
    assert numbers["r1"] == {("a",): 1, ("b",): 3, ("c", "d"): 2}
    assert numbers["r2"][("d",)] not in numbers["r1"].values(), "unlike groups have different numbers"
    assert numbers["r3"] == numbers["r1"], "alike ones the same"


def test_random_groups_are_numbered_last(comparison_of: Callable[..., Comparison]) -> None:
    comparison = comparison_of(runs=2)
    groups = ComparedGroups((("a", "b"), ("c",)))
    first, second = (replace(run, groups=groups) for run in comparison.runs)
    drawn = replace(first, plan=((("a", "c"),), (("b",),)), params={"grouping.method": "random"})
    found = replace(second, plan=((("a", "b"),), (("c",),)), params={"grouping.method": "kmedoids"})
    numbers = numbering(replace(comparison, runs=(drawn, found))).numbers
    assert numbers[found.key] == {("a", "b"): 1, ("c",): 2}
    assert set(numbers[drawn.key].values()) == {1, 2}


def test_a_straight_line_joins_the_ends_of_the_elbow(comparison_of: Make) -> None:
    section = build(comparison_of(runs=5))
    for name, has_line in (("groups_inertia", True), ("groups_silhouette", False)):
        rows = block(section, name).rows
        for run in {row["run"] for row in rows}:
            ks = [row["k"] for row in rows if row["run"] == run]
            ends = [row["k"] for row in rows if row["run"] == run and row["end"]]
            assert ends == ([min(ks), max(ks)] if has_line else [])


def test_the_reason_for_a_number_of_groups_is_said_once(comparison_of: Make) -> None:
    comparison = comparison_of()
    *others, third, fourth = comparison.runs
    third = replace(third, groups=replace(third.groups, reason="k = 4: one reason."))
    for reason, said in (
        ("k = 4: one reason.", f"“{third.name}”, “{fourth.name}”: k = 4: one reason."),
        ("k = 3: another.", f"“{third.name}”: k = 4: one reason. “{fourth.name}”: k = 3: another."),
    ):
        changed = replace(fourth, groups=replace(fourth.groups, reason=reason))
        assert findings(build(replace(comparison, runs=(*others, third, changed)))).startswith(said)
