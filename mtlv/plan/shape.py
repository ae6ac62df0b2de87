"""The shape of a stage: how many tasks, models and groups it has, and from what it learns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True)
class StageShape:
    """What a stage learns.

    Args:
        name: name of the stage.
        tasks: number of its tasks.
        models: number of its models.
        is_grouped: whether its models or heads are for groups of tasks.
        has_text_only: whether its task is the text itself (masked words).
        start: name of the earlier stage from whose weights it starts; empty for the published encoder.
        teacher: name of the earlier stage from whose outputs it learns; empty without one.
    """

    name: str
    tasks: int
    models: int
    is_grouped: bool = False
    has_text_only: bool = False
    start: str = ""
    teacher: str = ""

    @classmethod
    def read(cls, content: Iterable[Mapping[str, Any]]) -> tuple[Self, ...]:
        """Return the shapes of plain values, as `asdict` gives them.

        Raises:
            TypeError: a key is unknown or missing.
        """
        return tuple(cls(**shape) for shape in content)
