"""Figures and numbers of a grouping: the same files for a run and for `mtlv cluster`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from mtlv.figures.elbow import draw_elbow
from mtlv.figures.task_map import draw_map, project
from mtlv.planning.groups import TaskGroups

GROUPS = "grouping/groups.json"


def groups_json(groups: TaskGroups) -> dict[str, object]:
    """Return `groups.json`: the groups, their medoids, the reason for k, their stability, whether they were
    chosen for scores of their models, and the map.
    """
    grouping, points = groups.grouping, None if groups.vectors is None else project(groups.vectors)[0]
    return {
        "k": grouping.k,
        "groups": [list(members) for members in groups.groups],
        "medoids": None if grouping.medoids is None else [groups.names[i] for i in grouping.medoids],
        "inertia": grouping.inertia,
        "silhouette": grouping.silhouette,
        "reason": groups.reason,
        "stability": dict(groups.stability),
        "notes": list(grouping.notes),
        "measured": groups.measured,
        "map": {} if points is None else dict(zip(groups.names, points.tolist(), strict=True)),
    }


def write_groups(groups: TaskGroups, folder: Path, *, title: str) -> list[Path]:
    """Write the folder `grouping` with `groups.json` and `elbow.json`, and draw `elbow.png` and
    `task_map.png`, if they apply; return the pictures.
    """
    grouping, pictures = groups.grouping, []
    texts = {GROUPS: json.dumps(groups_json(groups), indent=1, ensure_ascii=False)}
    if groups.elbow is not None:
        texts["grouping/elbow.json"] = json.dumps(asdict(groups.elbow), indent=1)
        pictures.append(draw_elbow(groups.elbow, folder / "elbow.png", title=title, chosen=grouping.k))
    if groups.vectors is not None:
        path, medoids = folder / "task_map.png", grouping.medoids
        draw_map(groups.vectors, groups.names, grouping.labels, path, title=title, medoids=medoids)
        pictures.append(path)
    (folder / "grouping").mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return pictures
