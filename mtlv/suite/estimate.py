"""How long the units of a suite will take, measured before they start, and what makes them quicker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from time import perf_counter
from typing import TYPE_CHECKING

from mtlv.errors import MtlvError
from mtlv.events import SuiteStarted, UnitTime
from mtlv.formatting import about, many
from mtlv.models.layers import known_layers
from mtlv.seeding import content_key
from mtlv.time_left import TimeLeft
from mtlv.units.timing import TokenTime, measure, operations

if TYPE_CHECKING:
    from mtlv.planning.resolve import ResolvedMember
    from mtlv.settings import Settings
    from mtlv.units.input_cache import InputCache
    from mtlv.units.job import Job

LEAST_OPERATIONS = 6e12  # of a suite whose time is measured: about a minute of two cores
MEASURING_SECONDS = 10  # after which no further kind of unit is measured
LONG_SECONDS = 15 * 60  # of a suite for which quicker settings are named
FROZEN_SHARE = 2 / 3  # of the layers: 4 of 6, as in experiments/which-tasks


def expect(jobs: Sequence[Job], left: Sequence[Job], cache: InputCache) -> dict[str, UnitTime] | None:
    """Return the time of each unit in seconds, by name; None if it is not worth measuring, or fails.

    Args:
        jobs: all units.
        left: those that are not finished.
        cache: corpora and encoders.
    """
    inputs = {job.unit.key: cache.inputs(job.settings) for job in jobs}
    work = {job.unit.key: operations(inputs[job.unit.key], job.documents) for job in left}
    if not work or sum(work.values()) < LEAST_OPERATIONS:
        return None
    kinds = {job.unit.key: _kind(job) for job in jobs}
    rates: dict[str, TokenTime] = {}
    begun = perf_counter()
    for job in sorted(left, key=lambda job: -work[job.unit.key]):
        kind = kinds[job.unit.key]
        if kind not in rates and (not rates or perf_counter() - begun < MEASURING_SECONDS):
            try:
                rates[kind] = measure(job, inputs[job.unit.key])
            except MtlvError:  # it is reported when the unit is trained
                return None
    load = fmean(1 / rate.busy for rate in rates.values())  # the same for all, though it changed in between
    rates = {kind: rate.under_load(load) for kind, rate in rates.items()}
    times: dict[str, UnitTime] = {}
    once = dict(rates)
    for job in jobs:
        unit_inputs, kind = inputs[job.unit.key], kinds[job.unit.key]
        times[job.name] = rates.get(kind, next(iter(rates.values()))).of_unit(kind, job, unit_inputs)
        if (
            job.unit.key in work and kind in once
        ):  # the outputs of frozen layers are computed for the first of them
            first = once.pop(kind).first * float(unit_inputs.tokens.lengths.sum())
            times[job.name] = replace(times[job.name], start=times[job.name].start + first)
    return times


def _kind(job: Job) -> str:
    """Return a text that is equal for units that take the same time for a token."""
    settings, training = job.settings, job.settings.training
    copies = len(job.unit.model.heads) * settings.architecture.private_layers
    steps = (training.batch_size, training.accumulation, training.gradient_checkpointing)
    passes = training.objective.name, training.masking.adversarial
    return content_key([settings.encoder.model_dump(), job.precision, copies, steps, passes])


def time_lines(started: SuiteStarted, left: Sequence[Job], resolved: Sequence[ResolvedMember]) -> list[str]:
    """Return how long the units that are left take, and, if it is long, what makes it quicker."""
    seconds = _seconds(started)
    at_once = f", {started.processes} at once" if started.processes > 1 else ""
    lines = [f"training takes about {about(seconds)} on this machine: {many(len(left), 'unit')}{at_once}"]
    if seconds < LONG_SECONDS:
        return lines
    lines += [frozen] if (frozen := _frozen(left[0].settings, seconds, resolved)) else []
    if left[0].settings.training.patience is None:
        lines.append("quicker: `training.patience=2` ends a model whose validation score no longer rises")
    for member in resolved:
        names = {job.name for job in member.jobs}
        if member.settings.architecture.name == "mtl" and len(names) < len(left):
            times = {name: time for name, time in started.times.items() if name in names}
            alone = about(_seconds(replace(started, times=times)))
            lines.append(
                f"first: `{member.name}` alone takes about {alone}; its models are kept for the other runs"
            )
            break
    return lines


def _seconds(started: SuiteStarted) -> float:
    left = TimeLeft()
    left(started)
    return left.seconds() or 0.0


def _frozen(settings: Settings, seconds: float, resolved: Sequence[ResolvedMember]) -> str:
    """Return how long it takes with frozen lower layers; empty if they would not be computed once."""
    from mtlv.training.optim import resolve_device

    encoder, layers = settings.encoder, known_layers(settings.encoder.name) or 0
    private = max((one.settings.architecture.private_layers for one in resolved), default=0)
    count = min(int(layers * FROZEN_SHARE), layers - private)
    on_cpu = resolve_device(settings.training.device).type == "cpu"
    if count < 1 or encoder.frozen_layers or encoder.lora or not on_cpu:
        return ""
    time = about(seconds * (layers - count) / layers)
    return (
        f"quicker: `encoder.frozen_layers={count}` of {layers} takes about {time}; in an experiment with "
        "minilm, 4 of 6 had a macro F1 of 0.903, none 0.906 with more epochs (docs/faq.md)"
    )
