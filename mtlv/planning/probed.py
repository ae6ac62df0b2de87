"""The feature of tasks that is read from the gradient probes of finished units (`training.probe`)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from mtlv.errors import GroupingError
from mtlv.formatting import list_first
from mtlv.planning.task_vectors import VectorSource, task_feature


def _need_probed_pairs(names: Sequence[str], groups: Collection[frozenset[str]]) -> None:
    never = [pair for pair in combinations(names, 2) if not any(set(pair) <= group for group in groups)]
    if never:
        raise GroupingError(
            "`grouping.features: gradient_affinity` needs every two tasks in one model that was probed",
            got=f"none with {list_first([' and '.join(pair) for pair in never])}",
            then="name a member or stage that learns all tasks together in `grouping.from`, such as "
            "`architecture: mtl`",
        )


@task_feature(kind="affinity", cover=_need_probed_pairs, probed=True)
def gradient_affinity(view: VectorSource) -> NDArray[np.float64]:
    """Return how much a step for each task lowers the loss of each other [T, T], as gradients say.

    Rows receive, columns give; see `mtlv.training.probe`. The mean over all probes of all units, such as
    those of several seeds. The diagonal is 0. Almost any two tasks have an affinity above 0, so it says which
    groups are better, not whether a task is better alone.

    Raises:
        GroupingError: two tasks were never probed together.
    """
    names = view.corpus.names
    place = {name: number for number, name in enumerate(names)}
    total, count = np.zeros((len(names), len(names))), np.zeros((len(names), len(names)))
    for record in view.records:
        probe = record.probe
        if probe is not None and probe.count and set(probe.tasks) <= place.keys():
            cells = np.ix_(*[[place[name] for name in probe.tasks]] * 2)
            total[cells] += probe.affinity * probe.count
            count[cells] += probe.count
    np.fill_diagonal(total, 0.0)
    together = count + np.eye(len(names))
    if not together.all():
        one, other = (names[number] for number in np.argwhere(together == 0)[0])
        raise GroupingError(
            "`grouping.features: gradient_affinity`: not every two tasks were probed together",
            got=f"no probe of {one} and {other}",
            then="lower `training.probe.every` of the members in `grouping.from`, so that there is a probe",
        )
    return total / np.maximum(count, 1)
