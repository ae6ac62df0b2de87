"""Figures and numbers of a grouping: the same files for a run and for `mtlv cluster`."""

from __future__ import annotations

import json
from pathlib import Path

from mtlv.figures.elbow import draw_elbow, elbow_json
from mtlv.figures.task_map import draw_map, project
from mtlv.planning.groups import TaskGroups


def groups_json(groups: TaskGroups) -> dict[str, object]:
    """Return `groups.json`: the groups, their medoids, the reason for k, their stability, and the map."""
    found = groups.grouping
    return {
        "k": found.k,
        "groups": [list(members) for members in groups.groups],
        "medoids": None if found.medoids is None else [groups.names[i] for i in found.medoids],
        "inertia": found.inertia,
        "silhouette": found.silhouette,
        "reason": groups.reason,
        "stability": dict(groups.stability),
        "notes": list(found.notes),
        "map": _places(groups),
    }


def prediction_json(groups: TaskGroups) -> str | None:
    """Return `prediction.json` (`mtlv.plan.prediction`); None of groups that follow from no measured ones."""
    if groups.prediction is None:
        return None
    return json.dumps(groups.prediction.as_json(), ensure_ascii=False, allow_nan=False)


def _places(groups: TaskGroups) -> dict[str, list[float]]:
    """Return each task's position on the map by name; empty if nothing was clustered."""
    if groups.vectors is None:
        return {}
    points, _ = project(groups.vectors)
    return dict(zip(groups.names, points.tolist(), strict=True))


def write_groups(groups: TaskGroups, folder: Path, *, title: str) -> list[Path]:
    """Write `elbow.png`, `task_map.png`, and the folder `grouping` with `elbow.json`, `groups.json` and
    `prediction.json`, if they apply.
    """
    (folder / "grouping").mkdir(parents=True, exist_ok=True)
    path = folder / "grouping" / "groups.json"
    path.write_text(json.dumps(groups_json(groups), indent=1, ensure_ascii=False), encoding="utf-8")
    written = [path]
    prediction = prediction_json(groups)
    if prediction is not None:
        path = folder / "grouping" / "prediction.json"
        path.write_text(prediction, encoding="utf-8")
        written.append(path)
    if groups.elbow is not None:
        path = folder / "grouping" / "elbow.json"
        path.write_text(json.dumps(elbow_json(groups.elbow), indent=1), encoding="utf-8")
        written.append(path)
        written.append(draw_elbow(groups.elbow, folder / "elbow.png", title=title, chosen=groups.grouping.k))
    if groups.vectors is not None:
        found = groups.grouping
        written.append(
            draw_map(
                groups.vectors,
                groups.names,
                found.labels,
                folder / "task_map.png",
                title=title,
                medoids=found.medoids,
            )
        )
    return written
