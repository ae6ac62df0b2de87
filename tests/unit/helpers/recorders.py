"""Recorders on a CPU, instead of CUDA graphs (`mtlv.models.fast.graphs`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import torch


class Again:
    """Repeats functions instead of recording kernels."""

    room = True
    made: ClassVar[list[Again]] = []  # since a test has emptied it

    def __init__(self, device: torch.device) -> None:
        self.device, self.recordings, self.asked, self.casts = device, 0, 0, True
        Again.made.append(self)

    def has_room(self) -> bool:
        self.asked += 1
        return self.room

    def warm_up(self, run: Callable[[], None]) -> None:
        self.casts = torch.is_autocast_cache_enabled()
        run()

    def record(self, run: Callable[[], None]) -> Callable[[], None]:
        self.recordings += 1
        run()

        def again() -> None:
            with torch.enable_grad():  # in a pass of autograd, there are none by default
                run()

        return again


class Never(Again):
    """Has no room: batches are computed as usual."""

    def __init__(self, device: torch.device) -> None:
        pass

    def has_room(self) -> bool:
        return False
