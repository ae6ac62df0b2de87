"""Maps of the tasks: their vectors in two dimensions, coloured by group, with readable names."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mtlv.comparison.blocks import FigureBlock
from mtlv.comparison.parts import of_run, order_shown_first, shared_panels
from mtlv.comparison.parts.channels import (
    GREY,
    PANELS,
    dots,
    label,
    number,
    run_header,
    small_multiples,
    tip,
    with_value,
)
from mtlv.comparison.parts.shared_groups import GroupNumbers, group_shapes, match_numbers
from mtlv.evaluation.compared_runs import ComparedRun, Comparison
from mtlv.figures.canvas import wrap_name
from mtlv.figures.label_placement import Scene, leader_ends, nearer_to_another, place

SIZES = ((300, 230, 3), (440, 330, 2), (680, 480, 1), (960, 700, 1))  # pixels of a panel, panels per row
FITTING = (10, 26, 60)  # maximum number of tasks for each size but the last
LETTER, LINE, FONT, NAME = 5.9, 12.0, 10, 26  # pixels of a letter and a line, font size, letters per line
MARKER, EDGE, LEADER = 6.5, 28.0, 8.0  # pixels: radius of a point, margin, shortest line to a name
Points = Mapping[str, tuple[float, float]]
Array = NDArray[np.float64]


def task_maps(comparison: Comparison, groups: GroupNumbers) -> list[FigureBlock]:
    """Build a figure with a panel for each map with different groups; [] if no run has one."""
    maps, left = _maps(comparison)
    if not maps:
        return []
    width, height, columns, laid = _fitted(list(maps.values()))
    shown = [run for run in comparison.runs if run.key in maps]
    panels = shared_panels(shown, _drawing)
    rows = [row for run in shown for row in _rows(run, panels[run.key], groups, laid[_key(maps[run.key])])]
    rows += _rows_of_k(shown, groups, laid)
    caption = (
        "Each task's vector, as used by the grouping, on the first two principal components: close tasks "
        "have similar texts. Groups have the numbers and colours of the figure above; the most central "
        "task of a group is bold and larger. Runs with the same map and groups share a panel." + left
    )
    if not any(row["label"] for row in rows):
        caption += " Not all names fit: those of the most central tasks come first, hover to read the others."
    spec = _spec(width, height, columns, sorted({row["group"] for row in rows if row["group"]}, key=int))
    title, choices = "Maps of the tasks", _choices(shown, groups)
    return [FigureBlock("groups_maps", title, caption, spec, rows, wide=True, is_key=True, choices=choices)]


def _choices(shown: Sequence[ComparedRun], groups: GroupNumbers) -> dict[int, list[str]]:
    """Return for each k the keys of the runs that learned together what an elbow groups.

    A run of all tasks together has the group of k = 1, one of each alone those of the largest k.
    """
    curves = [run.groups.of_k for run in shown if run.groups]
    parts = {k: {_parts(of_k.get(k, ())) for of_k in curves} for k in set().union(*curves)}
    return {
        k: [key for key, partition in groups.parts.items() if _parts(partition) in parts[k]]
        for k in sorted(parts)
    }


def _maps(comparison: Comparison) -> tuple[dict[str, Points], str]:
    """Return maps by run key, and a note on runs left out, because placing names takes time."""
    maps = {
        run.key: run.groups.points
        for run in order_shown_first(comparison)
        if run.groups and run.groups.points
    }
    different = list(dict.fromkeys(map(_key, maps.values())))[:PANELS]
    kept = {key: points for key, points in maps.items() if _key(points) in different}
    left = len(maps) - len(kept)
    note = f" {left} of {len(maps)} runs with a map are left out, to limit the number of different maps."
    return kept, note if left else ""


def _key(points: Points) -> tuple[tuple[str, tuple[float, float]], ...]:
    return tuple(points.items())


def _parts(groups: Sequence[Sequence[str]]) -> frozenset[frozenset[str]]:
    return frozenset(map(frozenset, groups))


def _drawing(run: ComparedRun) -> Hashable:
    assert run.groups is not None
    return _key(run.groups.points), _parts(run.groups.groups), frozenset(run.groups.medoids)


def _drawing_of_k(run: ComparedRun) -> Hashable:
    assert run.groups is not None
    return _key(run.groups.points), *run.groups.of_k.items()


def _fitted(maps: Sequence[Points]) -> tuple[int, int, int, dict[Any, list[dict[str, Any]]]]:
    """Return the smallest panels in which all names of all maps fit, and what is drawn in them."""
    distinct = {_key(points): points for points in maps}
    most = max(map(len, maps))
    for size in SIZES[sum(most > limit for limit in FITTING) :]:
        laid = {key: _laid(points, *size[:2]) for key, points in distinct.items()}
        if all(row["label"] for rows in laid.values() for row in rows):
            break
    return *size, laid


def _laid(points: Points, width: int, height: int) -> list[dict[str, Any]]:
    """Return pixel positions of points, names and leader lines; without names if they do not all fit."""
    names = list(points)
    labels = [wrap_name(name, NAME, 2) for name in names]
    lines = [label.split("\n") for label in labels]
    sizes = np.array([(LETTER * max(map(len, of_label)) + 2, LINE * len(of_label)) for of_label in lines])
    places = _scaled(np.array([points[name] for name in names], float), width, height)
    scene = Scene(points=places, sizes=sizes, area=(0, 0, width, height), marker=MARKER, gap=1.5)
    centres = place(scene)
    rows: list[dict[str, Any]] = [
        {"task": name, "x": float(x), "y": float(y), "label": ""}
        for name, (x, y) in zip(names, places, strict=True)
    ]
    if centres is None:
        return rows
    ends, unclear = leader_ends(scene, centres), nearer_to_another(scene, centres)
    for at, row in enumerate(rows):
        centre, end = centres[at], ends[at]
        # Vega centres the first line, not the whole text.
        first = float(centre[1]) - LINE * (len(lines[at]) - 1) / 2
        row |= {"label": labels[at], "label_x": float(centre[0]), "label_y": first}
        if unclear[at] or np.hypot(*(end - places[at])) > LEADER:
            row |= {"end_x": float(end[0]), "end_y": float(end[1])}
    return rows


def _scaled(points: Array, width: int, height: int) -> Array:
    """Return points [T, 2] in pixels, from edge to edge; y grows downwards, as for the placement of names."""
    low, span = points.min(axis=0), np.ptp(points, axis=0)
    shares = (points - low) / np.where(span > 0, span, 1.0)
    shares = np.where(span > 0, shares, 0.5)
    return EDGE + np.column_stack([shares[:, 0], 1 - shares[:, 1]]) * (np.array([width, height]) - 2 * EDGE)


def _rows(
    run: ComparedRun, panel: dict[str, Any], groups: GroupNumbers, laid: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    partition = run.groups.groups if run.groups else ()
    medoids = run.groups.medoids if run.groups else ()
    in_plan = {frozenset(head): str(number) for head, number in groups.numbers.get(run.key, {}).items()}
    number_of = {t: in_plan.get(frozenset(group), "") for group in partition for t in group}
    return [
        of_run(run)
        | panel
        | {"group": number_of.get(place["task"], ""), "medoid": place["task"] in medoids, "choice": 0}
        | place
        for place in laid
    ]


def _rows_of_k(
    shown: Sequence[ComparedRun], groups: GroupNumbers, laid: Mapping[Any, Sequence[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """Return the rows of every k of every different elbow."""
    known = {n: frozenset(head) for numbers in groups.numbers.values() for head, n in numbers.items()}
    with_k = [run for run in shown if run.groups and run.groups.of_k]
    panels = shared_panels(with_k, _drawing_of_k)
    rows, seen = [], set()
    for run in with_k:
        panel = panels[run.key]
        if run.groups is None or panel["order"] in seen:
            continue
        seen.add(panel["order"])
        for k, partition in run.groups.of_k.items():
            number_of = {task: str(n) for head, n in match_numbers(partition, known).items() for task in head}
            medoids = {members[0] for members in partition}
            rows += [
                {"name": panel["title"], **panel, "choice": k, **place}
                | {"group": number_of[place["task"]], "medoid": place["task"] in medoids}
                for place in laid[_key(run.groups.points)]
            ]
    return rows


def _spec(width: int, height: int, columns: int, numbers: Sequence[str]) -> dict[str, Any]:
    x = number("x", scale={"domain": [0, width], "nice": False}, axis=None)
    y = number("y", scale={"domain": [height, 0], "nice": False}, axis=None)
    tips = [tip("task"), tip("group"), tip("name", "run")]
    rule = {"type": "rule", "opacity": 0.6, "strokeWidth": 0.8}
    ends = {"x": x, "y": y, "x2": {"field": "end_x"}, "y2": {"field": "end_y"}}
    line = with_value("end_x", {"mark": rule, "encoding": ends})
    point = {
        "mark": dots({"expr": "datum.medoid ? 130 : 60"}),
        "encoding": {"x": x, "y": y, "tooltip": tips} | group_shapes(numbers),
    }
    bold = {"expr": "datum.medoid ? 'bold' : 'normal'"}
    name = {
        "transform": [{"filter": "datum.label"}],
        "mark": {"type": "text", "fontSize": FONT, "lineBreak": "\n", "lineHeight": LINE, "fontWeight": bold},
        "encoding": {
            "x": x | {"field": "label_x"}, "y": y | {"field": "label_y"},
            "text": label("label"), "tooltip": tips,
        },
    }  # fmt: skip
    inner = {"view": {"stroke": GREY, "strokeOpacity": 0.35}, "layer": [line, point, name]}
    panels = small_multiples(inner, "title", (width, height), columns=columns, header=run_header(width))
    return panels | {"spacing": 18}
