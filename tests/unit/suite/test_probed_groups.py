"""The gradient probe from a config to groups that follow from it: `grouping.features: gradient_affinity`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from listening import Watcher
from memory_tracker import MemoryTracker

from mtlv.errors import ConfigError, GroupingError
from mtlv.events import ignore
from mtlv.grouping import best_partition
from mtlv.grouping.group_values import PairMeans
from mtlv.plan.probed import ProbeRecord
from mtlv.planning.check import check_suite
from mtlv.planning.probed import gradient_affinity
from mtlv.settings import load_overrides
from mtlv.store.local import Store
from mtlv.suite.run import run_suite

PROBED = "{name: probed, architecture: mtl, training.probe: {every: 2, scope: top:1}}"
CHOSEN = "name: chosen, architecture: gmtl, grouping.method: best, grouping.features: gradient_affinity"
BY_PROBE = f"runs=[{{{CHOSEN}, grouping.from: [probed]}}, {PROBED}]"


def test_groups_follow_from_the_gradients_of_a_member(
    suite: Callable, table: Callable, tmp_path: Path
) -> None:
    made, tracker, counter = suite(table("t"), BY_PROBE, "grouping.k=2"), MemoryTracker(), Watcher()
    result = run_suite(made, counter, tracker)
    members = {each.resolved.member.name: each for each in result.members}
    (record,) = members["probed"].outcomes[0].records
    found = record.probe
    assert found is not None
    assert sum(found.probes) == 5
    gains = found.affinity * ~np.eye(3, dtype=bool)
    best = best_partition(PairMeans(gains), k=2)
    groups = members["chosen"].resolved.children[0].groups
    assert groups.grouping.labels == tuple(best.labels)
    assert Store(tmp_path / "store").load(record.key).probe == found, "it is kept with the unit"
    runs = {run.spec.name: run for run in tracker.runs.values() if run.spec.kind == "fold"}
    (run,) = [run for run in runs.values() if any(key.startswith("probe/") for key in run.files)]
    content = json.loads(run.files["probe/probe.json"])
    assert content[0]["affinity"] == found.affinity.tolist()
    assert content[0]["cosines"] == asdict(found)["cosines"]
    assert "probe/affinity.png" in run.files
    for name in ("cosine", "cosine_null", "conflicts", "conflicts_null"):
        logged = [point.value for point in run.history(f"probe/{name}")]
        assert logged == [getattr(epoch, name) for epoch in found.epochs]
    assert run.last("probe/sign_agreement") == found.sign_agreement
    again = Watcher()
    run_suite(made, again, MemoryTracker())
    assert not again.trained


def test_groups_follow_from_a_stage(suite: Callable, table: Callable) -> None:
    first = "{name: probed, architecture: mtl, training: {probe: {every: 2, scope: encoder}}}"
    second = (
        "name: grouped, start: null, architecture: gmtl, training: {probe: null}, "
        "grouping: {method: best, features: gradient_affinity, from: [probed]}"
    )
    result = run_suite(suite(table("t"), f"stages=[{first}, {{{second}}}]"), ignore, MemoryTracker())
    assert len(result.members[0].resolved.children[0].groups.groups) == 2


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ((BY_PROBE.replace(", training.probe: {every: 2, scope: top:1}", ""),), r"\(got probed\)"),
        ((BY_PROBE.replace("architecture: mtl", "architecture: stl"),), "no model has two"),
        (
            (BY_PROBE.replace("architecture: mtl,", "architecture: mtl, tasks: [heart, lung],"),),
            r"every two tasks in one model that was probed \(got none with heart and bone, lung and bone\)",
        ),
        (("architecture=stl", "training.probe={}"), r"got `architecture: stl`.*`training.probe: null`"),
        (("architecture=mtl", "tasks=[heart]", "training.probe={every: 2}"), "no model has two"),
        (
            ("architecture={name: gmtl}", "grouping={method: given, groups: [[heart], [lung], [bone]]}",
             "grouping.k=auto", "training.probe={every: 2}"),
            "no model has two",
        ),
        (
            ("architecture=mtl", "training.probe={scope: top:3}"),
            r"`tiny` has 2 layers that are trained \(got top:3\); allowed: encoder, or top:1 to top:2",
        ),
        (
            ("architecture=mtl", "training.probe={}", "encoder.frozen_layers=1"),
            r"has 1 layers? that (are|is) trained \(got top:2\)",
        ),
        (
            ("architecture=mtl", "training.probe={scope: encoder}", "encoder.frozen_layers=2"),
            r"\(got encoder\); set `training.probe: null`, or lower `encoder.frozen_layers`",
        ),
        (
            ("architecture={name: gmhl, private_layers: 1}", "training.probe={}"),
            r"do not share with `architecture.private_layers`; set that to 0 \(got 1\)",
        ),
        (("architecture=mtl", "training.probe={scope: top:0}"), "encoder, or top:N for the top N layers"),
        (("architecture=mtl", "training.probe={every: 0}"), "training.probe.every"),
    ],
)  # fmt: skip
def test_what_cannot_be_probed_is_refused(
    suite: Callable, table: Callable, changes: tuple[str, ...], text: str
) -> None:
    with pytest.raises(ConfigError, match=text):
        check_suite(suite(table("t"), *changes))


def test_several_units_are_averaged_by_their_probes_and_missing_pairs_are_refused() -> None:
    def record(tasks: tuple[str, ...], odd: list[list[float]], probes: tuple[int, int]) -> SimpleNamespace:
        return SimpleNamespace(probe=ProbeRecord(tasks, probes, [odd, odd], odd, odd, ()))

    def view(*records: SimpleNamespace) -> SimpleNamespace:
        return SimpleNamespace(corpus=SimpleNamespace(names=("a", "b", "c")), records=records)

    every = record(("c", "a", "b"), [[9, 1, 2], [3, 9, 4], [5, 6, 9]], (2, 1))
    pair = record(("a", "b"), [[9, 8], [2, 9]], (1, 0))
    found = gradient_affinity.compute(view(every, pair, SimpleNamespace(probe=None)))
    np.testing.assert_allclose(found, [[0, (3 * 4 + 8) / 4, 3], [(3 * 6 + 2) / 4, 0, 5], [1, 2, 0]])
    with pytest.raises(GroupingError, match=r"no probe of a and c\); lower `training.probe.every`"):
        gradient_affinity.compute(view(pair))
    none = record(("a", "b", "c"), [[0.0] * 3] * 3, (0, 0))
    with pytest.raises(GroupingError, match="no probe of a and b"):
        gradient_affinity.compute(view(none))


def test_without_a_probe_nothing_is_told_of_it() -> None:
    settings = load_overrides([]).members[0].settings
    assert "probe" not in settings.model_dump()["training"]
    assert "probe" not in settings.each_stage[0].training.model_dump(mode="json")
