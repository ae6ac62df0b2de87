"""Kinds whose tasks do not share a head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from mtlv.errors import PlanError

T = TypeVar("T")


def the_only(items: Sequence[T]) -> T:
    """Return the only item, because a plan gives each of these tasks its own head.

    Raises:
        PlanError: there are several.
    """
    if len(items) != 1:
        raise PlanError("a task with classes shares a head", got=f"{len(items)} tasks", allowed="one task")
    return items[0]
