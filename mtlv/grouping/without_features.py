"""Groups without features: those of the user, and random ones, the control for every grouping."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from mtlv.errors import GroupingError, nearest
from mtlv.formatting import list_first
from mtlv.grouping.kmedoids import check_k
from mtlv.grouping.result import Grouping, first_seen


def user_groups(groups: Sequence[Sequence[str]], names: Sequence[str]) -> Grouping:
    """Return the user's groups.

    Args:
        groups: the names of each group's tasks.
        names: the names of all T tasks, in order.

    Raises:
        GroupingError: a task is missing, repeated or unknown, or a group is empty.
    """
    listed = Counter(name for group in groups for name in group)
    problems = []
    unknown = [name for name in listed if name not in names]
    for name in unknown:
        hint = nearest(name, names)
        problems.append(f"unknown task `{name}`" + (f", {hint}" if hint else ""))
    problems += [f"`{name}` stands {count} times" for name, count in listed.items() if count > 1]
    missing = [f"`{name}`" for name in names if name not in listed]
    if missing:
        problems.append(f"missing {', '.join(missing)}")
    if not all(groups):
        problems.append("a group is empty")
    if problems:
        raise GroupingError(
            "`grouping.groups` must hold every task exactly once: " + "; ".join(problems),
            then="name each task of the data in one group",
        )
    group_of = {name: number for number, group in enumerate(groups) for name in group}
    return Grouping(first_seen(group_of[name] for name in names), notes=("the groups are given",))


def groups_by_ancestor(ancestors: Mapping[str, str], names: Sequence[str]) -> Grouping:
    """Return a group of the tasks of each ancestor; raise GroupingError if no task has one."""
    if not ancestors:
        raise GroupingError("`grouping.method: parents` needs a hierarchy", then="set `data.parents`")
    keys = [ancestors.get(name, name) for name in names]
    return Grouping(first_seen(keys), notes=(f"groups of {list_first([*dict.fromkeys(keys)])}",))


def random_like(sizes: Sequence[int], *, seed: int) -> Grouping:
    """Return a random partition whose groups have the sizes of another grouping (in any order).

    Args:
        sizes: items per group, each at least 1.
        seed: the same seed gives the same groups.
    """
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return Grouping(first_seen(np.random.default_rng(seed).permutation(labels).tolist()))


def random_groups(items: int, k: int, *, seed: int) -> Grouping:
    """Return a random partition of `items` into k groups whose sizes differ by at most 1.

    Raises:
        GroupingError: k is outside 1..items.
    """
    check_k(k, items)
    return random_like([items // k + (group < items % k) for group in range(k)], seed=seed)
