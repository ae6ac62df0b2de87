"""The files of a grouping: the same numbers as its objects have."""

from __future__ import annotations

import json

from mtlv.grouping import Elbow, Grouping
from mtlv.planning.groups import TaskGroups
from mtlv.reporting.groups import write_groups


def test_an_elbow_is_json_beside_its_groups(tmp_path):
    labels, medoids = ((0, 0, 0), (0, 0, 1), (0, 1, 2)), ((0,), (0, 2), (0, 1, 2))
    curve = Elbow((1, 2, 3), (30.0, 12.0, 0.0), (None, 0.2, None), 2, "k = 2: a reason.", labels, medoids, 3)
    groups = TaskGroups(("a", "b", "c"), Grouping((0, 0, 1)), curve, None, {}, curve.reason)
    assert write_groups(groups, tmp_path, title="Groups") == [tmp_path / "elbow.png"]
    found = {path.name: json.loads(path.read_text()) for path in (tmp_path / "grouping").iterdir()}
    assert found["elbow.json"] == {
        "k": [1, 2, 3],
        "inertia": [30.0, 12.0, 0.0],
        "silhouette": [None, 0.2, None],
        "recommended": 2,
        "reason": "k = 2: a reason.",
        "labels": [[0, 0, 0], [0, 0, 1], [0, 1, 2]],
        "medoids": [[0], [0, 2], [0, 1, 2]],
        "tried": 3,
    }
    assert found["groups.json"]["groups"] == [["a", "b"], ["c"]]
    assert found.keys() == {"elbow.json", "groups.json"}
