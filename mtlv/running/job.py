"""A unit to train, with all that says how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtlv.plan import Unit

if TYPE_CHECKING:
    from mtlv.data.splits import Fold
    from mtlv.settings.schema import Settings


@dataclass(frozen=True)
class Job:
    """A unit with the settings of its suite member and its fold; `name` is what people read."""

    unit: Unit
    settings: Settings
    fold: Fold
    name: str = ""

    @property
    def documents(self) -> int:
        """Documents times epochs, the work to do."""
        return len(self.fold.train) * self.settings.training.epochs
