"""What a run logs of the gradient probes of its models."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from mtlv.figures.affinity import draw_affinity
from mtlv.plan import group_name
from mtlv.plan.probed import EpochConflicts, ProbeRecord
from mtlv.tracking import Metric, Tracker

if TYPE_CHECKING:
    from mtlv.store.records import UnitRecord

FIGURES = ("cosine", "cosine_null", "conflicts", "conflicts_null")


def write_probes(tracker: Tracker, run: str, records: Sequence[UnitRecord], title: str) -> None:
    """Log cosines and conflicts per epoch, and matrices of each probed model; nothing without a probe."""
    probed = [record for record in records if record.probe is not None and record.probe.count]
    if not probed:
        return
    tracker.metrics(run, list(probe_metrics(probed)))
    probes = [record.probe for record in probed if record.probe is not None]
    tracker.text(
        run, json.dumps([_content(probe) for probe in probes], ensure_ascii=False), "probe/probe.json"
    )
    with TemporaryDirectory() as folder:
        for number, probe in enumerate(probes, 1):
            name = "affinity" if len(probes) == 1 else f"affinity_{number}"
            model = "" if len(probes) == 1 else f" · {group_name(probe.tasks)}"
            heading = f"Affinities by gradients: {title}{model}"
            picture = draw_affinity(
                probe.tasks, probe.affinity, probe.reliable, Path(folder) / f"{name}.png",
                title=heading, probes=probe.count,
            )  # fmt: skip
            tracker.artifact(run, picture, "probe")


def probe_metrics(records: Sequence[UnitRecord]) -> Iterator[Metric]:
    """Yield means over the models of a plan: per epoch, and at the end the agreement on signs."""
    by_epoch: dict[int, list[EpochConflicts]] = {}
    for record in records:
        for epoch in record.probe.epochs if record.probe else ():
            by_epoch.setdefault(epoch.epoch, []).append(epoch)
    for number, epochs in sorted(by_epoch.items()):
        at = max(record.epoch_at(number).timestamp_ms for record in records)
        for name in FIGURES:
            yield Metric(f"probe/{name}", fmean(getattr(conflicts, name) for conflicts in epochs), number, at)
    agreed = fmean(record.probe.sign_agreement for record in records if record.probe)
    yield Metric("probe/sign_agreement", agreed, 0, max(record.epochs[-1].timestamp_ms for record in records))


def _content(probe: ProbeRecord) -> dict[str, object]:
    """Return a record for a file, with what follows from it."""
    more = {"affinity": probe.affinity.tolist(), "sign_agreement": probe.sign_agreement}
    return asdict(probe) | more | {"reliable": probe.reliable.tolist()}
