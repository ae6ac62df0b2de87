"""The nodes of a cluster of Ray: what they have, and whether they can run units as this process would."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from mtlv.environment import versions
from mtlv.errors import ClusterError, DeviceError, MtlvError
from mtlv.execution.ray.task import NodeRequirements, look
from mtlv.formatting import many
from mtlv.store.location import StoreLocation

PATIENCE = 10.0  # seconds that an address or a node has to answer
SAME = ("mtlv", "torch", "transformers", "numpy")  # releases that results depend on


@dataclass(frozen=True)
class NodeRequest:
    """What a unit takes of a node while it is trained.

    Args:
        cpus, gpus: a share of one may be asked for.
        memory: in bytes; nothing asks for none.
    """

    cpus: float
    gpus: float = 0.0
    memory: int | None = None

    @property
    def resources(self) -> dict[str, float]:
        """As Ray counts them."""
        found = {"CPU": self.cpus, "GPU": self.gpus, "memory": float(self.memory or 0)}
        return {name: amount for name, amount in found.items() if amount}

    @property
    def options(self) -> dict[str, Any]:
        """As a task takes them."""
        return {"num_cpus": self.cpus, "num_gpus": self.gpus, "memory": self.memory}

    @property
    def words(self) -> str:
        """For a person."""
        found = [f"{self.cpus:g} CPU{'' if self.cpus == 1 else 's'}"]
        found += [f"{self.gpus:g} GPU{'' if self.gpus == 1 else 's'}"] if self.gpus else []
        found += [f"{self.memory / 1e9:g} GB of memory"] if self.memory else []
        return ", ".join(found)


def nodes() -> list[Mapping[str, Any]]:
    """Those that are there, as Ray describes them."""
    import ray

    return [node for node in ray.nodes() if node["Alive"]]


def alive(node: str) -> bool:
    """Whether a node, by Ray's id, is there."""
    return any(each["NodeID"] == node for each in nodes())


def slots(wanted: NodeRequest) -> int:
    """Units that all nodes could train at once."""
    return sum(_on(node, wanted) for node in nodes())


def size(wanted: NodeRequest) -> str:
    """Which cluster this is, and how much of it units can use, for a person."""
    import ray

    count, units = len(nodes()), slots(wanted)
    return (
        f"the cluster at {ray.get_runtime_context().gcs_address} has {many(count, 'node')} "
        f"and room for {many(units, 'unit')} at once"
    )


def _on(node: Mapping[str, Any], wanted: NodeRequest) -> int:
    there = node["Resources"]
    return min(
        (int(there.get(name, 0.0) / amount + 1e-9) for name, amount in wanted.resources.items()), default=1
    )


def check_room(wanted: NodeRequest) -> None:
    """Refuse units that no node could ever run: Ray would wait for one.

    Raises:
        DeviceError: no node has as much.
    """
    here = nodes()
    if any(_on(node, wanted) for node in here):
        return
    most = {
        name: max((node["Resources"].get(name, 0.0) for node in here), default=0.0) for name in ("CPU", "GPU")
    }
    memory = max((node["Resources"].get("memory", 0.0) for node in here), default=0.0)
    raise DeviceError(
        f"no node of the cluster has {wanted.words} for a unit",
        got=f"{many(len(here), 'node')} with up to {most['CPU']:g} CPUs, "
        f"{most['GPU']:g} GPUs and {memory / 1e9:.1f} GB of memory",
        then="lower `execution.cpus`, `execution.gpus` or `execution.memory_gb`, or start such a node first",
    )


@contextmanager
def agreed(store: StoreLocation) -> Iterator[NodeRequirements]:
    """The terms of a suite, as long as it runs; every node that is there has been asked.

    Raises:
        ClusterError: a node has other releases than this process, or cannot run mtlv.
        TrackingError: a node cannot read or write the store.
    """
    mark = store.folder / f".seen-{uuid.uuid4().hex}"
    mark.touch()
    try:
        terms = NodeRequirements(store, mark.name, tuple((name, versions()[name]) for name in SAME))
        for problem in _ask(terms):
            if problem is not None:
                raise problem
        yield terms
    finally:
        mark.unlink(missing_ok=True)


def _ask(terms: NodeRequirements) -> Iterator[MtlvError | None]:
    """What each node says."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    task = ray.remote(look)
    asked = {}
    for node in nodes():
        there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        options = task.options(num_cpus=0, max_retries=0, scheduling_strategy=there)
        asked[node["NodeID"]] = options.remote(terms)
    for name, answer in asked.items():
        try:
            yield ray.get(answer)
        except ray.exceptions.RayError as error:
            if not isinstance(error, ray.exceptions.RayTaskError) and _goes(name):
                continue  # it was lost a moment ago, or just now
            raise ClusterError(
                "a node of the cluster cannot run mtlv",
                got=last_line(error),
                then="install the same release of mtlv on all nodes, for the Python that runs Ray",
            ) from error


def _goes(node: str) -> bool:
    """Whether a node that does not answer turns out to be lost."""
    until = time.monotonic() + PATIENCE
    while alive(node) and time.monotonic() < until:
        time.sleep(0.5)
    return not alive(node)


def last_line(error: BaseException) -> str:
    """Of what an error says: where Ray gives the cause."""
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
