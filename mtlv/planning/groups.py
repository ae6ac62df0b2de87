"""Groups of a member's tasks on one fold, their stability, and the plans that follow from groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mtlv.grouping import Elbow, Grouping, GroupingSpec, group
from mtlv.grouping.elbow import elbow_of
from mtlv.grouping.methods import Space, group_into
from mtlv.plan import ModelSpec, Plan, Task, with_private_layers, with_separate_heads
from mtlv.planning.task_vectors import VectorSource
from mtlv.registries import ARCHITECTURES, FEATURES, GROUPINGS

if TYPE_CHECKING:
    from mtlv.settings.schema import Settings

SEEDS = 5  # random starts whose groups are compared with the reference
NO_PRIVATE = "`architecture.private_layers` has no effect, because no model has several heads"


@dataclass(frozen=True)
class TaskGroups:
    """Groups of T tasks.

    Args:
        names: names of the tasks.
        grouping: group of each task.
        elbow: inertia and silhouette over k, for methods that take a k.
        vectors: the scaled vectors that were clustered [T, D]; None for groups that were given or measured.
        stability: adjusted Rand index between these groups and those of a variant of the settings.
        reason: reason for the number of groups, in a sentence.
        measured: whether a model of these groups was measured to choose them: its scores are too high.
    """

    names: tuple[str, ...]
    grouping: Grouping
    elbow: Elbow | None
    vectors: NDArray[np.float64] | None
    stability: Mapping[str, float]
    reason: str
    measured: bool = False

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Names of the tasks of each group."""
        return tuple(tuple(self.names[i] for i in members) for members in self.grouping.groups())


def grouping_spec(settings: Settings, tasks: Sequence[Task]) -> GroupingSpec:
    """Return the `grouping` settings for the groups of tasks."""
    section = settings.grouping
    ancestors = {t.name: t.levels[: section.level][-1][0] for t in tasks if t.levels}
    names = [field.name for field in fields(GroupingSpec) if field.name != "ancestors"]
    return GroupingSpec(**{name: getattr(section, name) for name in names}, ancestors=ancestors)


def task_groups(view: VectorSource) -> TaskGroups:
    """Group the tasks of a member on a fold, using only its training and validation parts.

    Raises:
        GroupingError: the settings do not give every task exactly one group.
    """
    section, names = view.settings.grouping, view.corpus.names
    spec, method = grouping_spec(view.settings, view.corpus.tasks), GROUPINGS[section.method]
    feature = FEATURES[section.features]
    raw: Any = feature.compute(view) if method.of_names is None else None
    grouping = None if method.of_names is None else method.of_names(spec, names)
    if method.search is not None and feature.kind != "vectors":
        grouping = method.search(raw, None if spec.k == "auto" else spec.k, spec)
    if grouping is not None:
        return TaskGroups(names, grouping, None, None, {}, "; ".join(grouping.notes))
    space = Space.of(raw, spec)
    scaled = space.features
    if not method.takes_k:
        grouping = group(raw, spec)
        return TaskGroups(
            names, grouping, None, scaled, {}, f"{spec.method} found {grouping.k} groups by itself"
        )
    distinct = len(np.unique(scaled, axis=0))  # more groups cannot be distinguished
    curve = elbow_of(space, min(section.k_max, distinct))
    k = curve.recommended if spec.k == "auto" else spec.k
    grouping = group_into(space, k)
    reason = curve.reason if spec.k == "auto" else f"k = {k} is set; the elbow recommends {curve.recommended}"
    return TaskGroups(names, grouping, curve, scaled, _stability(view, spec, raw, grouping), reason)


def _stability(view: VectorSource, spec: GroupingSpec, raw: NDArray, grouping: Grouping) -> dict[str, float]:
    """Return the adjusted Rand index between a grouping and those with the same k and one setting changed."""
    from sklearn.metrics import adjusted_rand_score

    if GROUPINGS[spec.method].random or not 1 < grouping.k < len(grouping.labels):
        return {}
    variants = {
        f"scaling {how}": group(raw, replace(spec, scaling=how), k=grouping.k).labels
        for how in ("minmax", "l2", "none")
        if how != spec.scaling and (how != "l2" or raw.shape[1] > 1)  # l2 changes every single number to 1
    }
    feature = FEATURES[view.settings.grouping.features]
    if feature.embedded:
        other = replace(view, special_tokens=not view.special_tokens)
        vectors: Any = feature.compute(other)
        name = "with special tokens" if other.special_tokens else "without special tokens"
        variants[name] = group(vectors, spec, k=grouping.k).labels
    for seed in range(1, SEEDS + 1):
        started = replace(spec, init="random", restarts=1, seed=spec.seed + seed)
        variants[f"seed {spec.seed + seed}"] = group(raw, started, k=grouping.k).labels
    return {name: float(adjusted_rand_score(grouping.labels, labels)) for name, labels in variants.items()}


def clusters(settings: Settings) -> bool:
    """Return whether groups are determined when the suite runs."""
    grouped = ARCHITECTURES[settings.architecture.name].grouped
    return grouped and GROUPINGS[settings.grouping.method].of_names is None


def layers(settings: Settings) -> int:
    """Return the layers of each head: the user's number, or the architecture's default."""
    return settings.architecture.head_layers or ARCHITECTURES[settings.architecture.name].head_layers


def plan_of(settings: Settings, tasks: Sequence[Task], groups: Sequence[Sequence[str]]) -> Plan:
    """Return the plan of a stage with known groups (an empty sequence if its architecture has none).

    Raises:
        PlanError: see `Plan.check`.
    """
    names = [task.name for task in tasks]
    section = settings.architecture
    plan = with_separate_heads(ARCHITECTURES[section.name].build(names, groups, layers(settings)), tasks)
    return with_private_layers(plan, section.private_layers).check(tasks)


def known_plan(settings: Settings, tasks: Sequence[Task]) -> Plan | None:
    """Return the plan, or None if its groups are determined when the suite runs.

    Raises:
        GroupingError: the settings do not give every task exactly one group.
    """
    names, of_names = [task.name for task in tasks], GROUPINGS[settings.grouping.method].of_names
    if not ARCHITECTURES[settings.architecture.name].grouped:
        return plan_of(settings, tasks, ())
    if of_names is None:
        return None
    groups = of_names(grouping_spec(settings, tasks), names).groups()
    return plan_of(settings, tasks, [[names[i] for i in members] for members in groups])


def extreme_models(settings: Settings, tasks: Sequence[Task]) -> list[ModelSpec]:
    """Return the models of a plan; of the coarsest and the finest groups if they are not known yet.

    No other groups have more heads of a source, or more sources in a model.
    """
    names, plan = [task.name for task in tasks], known_plan(settings, tasks)
    plans = [plan] if plan else [plan_of(settings, tasks, g) for g in ([names], [[name] for name in names])]
    return [model for plan in plans for model in plan.models]
