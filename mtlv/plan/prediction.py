"""Predictions from measured groups for other groups, as they are kept with the groups that follow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Parts = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class Prediction:
    """Scores of n measured groups of T tasks on validation, and what they predict of the groups that follow.

    Args:
        feature: the `grouping.features` that predicts.
        tasks: names of the T tasks.
        groups: names of the tasks of each group that follows.
        member: [n, T], the tasks of each measured group.
        scores: [n, T], their scores; NaN for other tasks.
        held_out: [n, T], each score predicted from the other groups; NaN where it cannot be.
        chosen: [T], predicted score of each task in its group that follows.
        effects: [T, T], what the task of a row gains with that of the column (diagonal 0); NaN if unknown.
        errors: [T, T], standard errors of the effects, widened for few measurements; NaN if unknown.
        together: [T, T], number of measurements of each two tasks together.
        units: models that were trained to measure the groups, in all rounds.
        seconds: their training.
        partitions: of each random partition that was measured, by its name, the rows of its groups.
        alike: whether measured groups were trained with the settings of those that follow.
        epochs: fewest and most epochs of a measured group.
        distances: [T, T] of the tasks, by each feature that does not follow from scores of groups; minus
            affinities, of the task of a row for that of a column.
        gains: [n, T] of the tasks of each measured group, by each feature that is a value of groups and does
            not follow from their scores; NaN for other tasks.
        repeated: two tables [n, T]: scores of the first unit of each group, and the means of its others, such
            as those of other seeds; NaN for groups with one unit. None if all have one.
        seeds: seeds of the measured units; empty if unknown.
    """

    feature: str
    tasks: tuple[str, ...]
    groups: Parts
    member: NDArray[np.bool_]
    scores: Floats
    held_out: Floats
    chosen: Floats
    effects: Floats
    errors: Floats
    together: NDArray[np.int64]
    units: int
    seconds: float
    partitions: Mapping[str, tuple[int, ...]]
    alike: bool
    epochs: tuple[int, int]
    distances: Mapping[str, Floats] = field(default_factory=dict)
    gains: Mapping[str, Floats] = field(default_factory=dict)
    repeated: tuple[Floats, Floats] | None = None
    seeds: tuple[int, ...] = ()

    def row(self, group: Iterable[str]) -> int | None:
        """Return the row of a group if it was measured."""
        is_member = np.isin(self.tasks, list(group))
        rows = np.flatnonzero((self.member == is_member).all(axis=1))
        return int(rows[0]) if rows.size else None

    @property
    def chosen_for_scores(self) -> list[bool]:
        """For each group that follows, whether it was measured as it is trained: its scores chose it."""
        return [self.alike and self.row(group) is not None for group in self.groups]

    def as_json(self) -> dict[str, Any]:
        """Return the content of `grouping/prediction.json`.

        `measured` has for each group `tasks`, and `scores` and `held_out` in their order; matrices have a row
        per task that receives. Unknown numbers are null.
        """
        rows = [np.flatnonzero(members) for members in self.member]
        return {
            "feature": self.feature,
            "tasks": list(self.tasks),
            "groups": [list(group) for group in self.groups],
            "chosen": _nested_list(self.chosen),
            "measured": [
                {
                    "tasks": [self.tasks[at] for at in members],
                    "scores": _nested_list(scores[members]),
                    "held_out": _nested_list(held_out[members]),
                }
                for members, scores, held_out in zip(rows, self.scores, self.held_out, strict=True)
            ],
            "partitions": {name: list(groups) for name, groups in self.partitions.items()},
            "effects": _nested_list(self.effects),
            "errors": _nested_list(self.errors),
            "together": self.together.tolist(),
            "units": self.units,
            "seconds": self.seconds,
            "alike": self.alike,
            "epochs": list(self.epochs),
            "distances": {name: _nested_list(matrix) for name, matrix in self.distances.items()},
            "gains": {name: _nested_list(matrix) for name, matrix in self.gains.items()},
            "repeated": None if self.repeated is None else [_nested_list(matrix) for matrix in self.repeated],
            "seeds": list(self.seeds),
        }

    @classmethod
    def of_json(cls, content: Mapping[str, Any]) -> Prediction:
        """Read what `as_json` returned.

        Raises:
            KeyError, TypeError, ValueError: it has another form.
        """
        tasks = tuple(map(str, content["tasks"]))
        measured = content["measured"]
        member = np.array([np.isin(tasks, group["tasks"]) for group in measured]).reshape(-1, len(tasks))

        def table(key: str) -> Floats:
            out = np.full(member.shape, np.nan)
            for row, is_member, group in zip(out, member, measured, strict=True):
                row[is_member] = np.array(
                    group[key], np.float64
                )  # tasks of a group are in the order of all tasks
            return out

        def matrix(values: Any) -> Floats:
            return np.array(values, np.float64).reshape(len(tasks), len(tasks))

        def of_groups(values: Any) -> Floats:
            return np.array(values, np.float64).reshape(member.shape)

        again = content.get("repeated")
        groups = tuple(tuple(map(str, group)) for group in content["groups"])
        if sorted(name for group in groups for name in group) != sorted(tasks):
            raise ValueError("the groups are no partition of the tasks")
        first, last = content["epochs"]
        partitions = {str(name): tuple(map(int, rows)) for name, rows in content["partitions"].items()}
        if any(row not in range(len(measured)) for rows in partitions.values() for row in rows):
            raise ValueError("a partition has a group that was not measured")
        return cls(
            feature=str(content["feature"]),
            tasks=tasks,
            groups=groups,
            member=member,
            scores=table("scores"),
            held_out=table("held_out"),
            chosen=np.array(content["chosen"], np.float64).reshape(len(tasks)),
            effects=matrix(content["effects"]),
            errors=matrix(content["errors"]),
            together=np.array(content["together"], np.int64).reshape(len(tasks), len(tasks)),
            units=int(content["units"]),
            seconds=float(content["seconds"]),
            partitions=partitions,
            alike=bool(content["alike"]),
            epochs=(int(first), int(last)),
            distances={str(name): matrix(values) for name, values in content.get("distances", {}).items()},
            gains={str(name): of_groups(values) for name, values in content.get("gains", {}).items()},
            repeated=None if again is None else (of_groups(again[0]), of_groups(again[1])),
            seeds=tuple(map(int, content.get("seeds", ()))),
        )


def _nested_list(values: Floats) -> list[Any]:
    return [
        _nested_list(value) if value.ndim else float(value) if np.isfinite(value) else None
        for value in values
    ]


def rows_of(measured: Sequence[frozenset[str]], groups: Parts) -> tuple[int, ...] | None:
    """Return the rows of a partition's groups; None if one was not measured."""
    known = {group: row for row, group in enumerate(measured)}
    rows = [known.get(frozenset(group)) for group in groups]
    return None if None in rows else tuple(row for row in rows if row is not None)
