"""The gradient probe of a unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mtlv.units.job import Job

if TYPE_CHECKING:
    from mtlv.data.mixing import Mixture
    from mtlv.plan import Task
    from mtlv.training.probe import Probe
    from mtlv.training.state import TrainingState


def probe_of(job: Job, trained: TrainingState, training: Mixture, tasks: Mapping[str, Task]) -> Probe:
    """Return the probe of a unit, which learns from true targets, with the weights of its tasks.

    Args:
        job: the unit.
        trained: its model.
        training: its documents, of which the probe draws its own.
        tasks: its tasks by name.

    Raises:
        EncoderError: fewer layers are trained than are to be probed.
    """
    from mtlv.models.layers import highest
    from mtlv.training.loop import HeadLosses
    from mtlv.training.objective import Objective
    from mtlv.training.probe import GradientProbe, Probe

    settings = job.settings.training.probe
    if settings is None or "probe" not in job.unit.train:
        return Probe()
    objective = Objective(
        job.unit.model.heads, tasks=tasks, combine="sum", head_weights=None, per_task=True
    ).to(trained.device)
    layers = highest(trained.model.encoder, settings.layers)
    return GradientProbe(
        HeadLosses(trained.model, objective, job.precision),
        lambda number: training.halves(seed=job.unit.draw_seed("probe"), number=number),
        every=settings.every,
        weights=[weight for layer in layers for weight in layer.parameters() if weight.requires_grad],
    )
