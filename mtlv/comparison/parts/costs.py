"""In what the costs of a comparison's runs are compared: time, or on different machines documents read."""

from __future__ import annotations

from dataclasses import dataclass

from mtlv.comparison.blocks import TableColumn
from mtlv.comparison.parts import finite_mean
from mtlv.evaluation.compared_runs import ComparedRun, Comparison
from mtlv.formatting import list_first

SHORT = 120  # seconds; if every run takes less, times are shown in seconds


@dataclass(frozen=True)
class CostUnit:
    """A unit of training time, or of documents read."""

    name: str  # on axes, and a field of a figure's rows
    key: str  # field of a table's rows
    what: str  # the cost in sentences
    title: str  # of a table's column
    size: int  # seconds or documents
    digits: int

    def values(self, run: ComparedRun) -> list[float]:
        """Return the costs of a run in seconds or documents, one per child for which it is known."""
        return run.values("cost/documents") if self is DOCUMENTS else run.seconds

    def describe(self, value: float) -> str:
        """Return a cost in words, such as `5.0 min`."""
        if self is DOCUMENTS:
            return f"{value:,.0f} documents"
        minutes = value * self.size / 60
        if minutes < 1:
            return f"{60 * minutes:.0f} s"
        return f"{minutes:.1f} min" if minutes < 100 else f"{minutes / 60:.1f} h"

    @property
    def column(self) -> TableColumn:
        """Return a table's column of costs in seconds or documents."""
        return TableColumn(self.key, self.title, digits=self.digits, best="low", scale=1 / self.size)


MINUTES = CostUnit("minutes", "train_seconds", "training time", "training, min", 60, 1)
SECONDS = CostUnit("seconds", "train_seconds", "training time", "training, s", 1, 1)
DOCUMENTS = CostUnit("documents", "documents", "documents read", "documents read", 1, 0)


def cost_unit(comparison: Comparison) -> CostUnit:
    """Return the unit for the costs of training: of time only if all runs were trained on the same device."""
    if len(trained_on(comparison)) > 1:
        return DOCUMENTS
    times = (finite_mean(run.seconds) for run in comparison.runs)
    longest = max((time for time in times if time is not None), default=0.0)
    return SECONDS if 0 < longest < SHORT else MINUTES


def trained_on(comparison: Comparison) -> list[str]:
    """Return the devices of all runs, each with the size of stacks and the number of threads, where known."""
    children = (child for run in comparison.runs for child in run.children)
    return sorted({child.trained_on for child in children if child.trained_on})


def describe_unit(comparison: Comparison) -> str:
    """Say in what costs are compared, and why."""
    devices = trained_on(comparison)
    if len(devices) > 1:
        why = f"times on different devices cannot be compared: {list_first(devices, 4)}"
        return f"Cost is documents read in training, because {why}."
    where = f": all runs were trained on {devices[0]}" if devices else ", which depends on the machine"
    return f"Cost is training time{where}."
