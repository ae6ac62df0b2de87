"""Nodes of a Ray cluster: their resources, and whether they can train units like this process."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mtlv.environment import versions
from mtlv.errors import ClusterError, DeviceError, MtlvError
from mtlv.execution.ray.task import NodeRequirements, look
from mtlv.formatting import many

PATIENCE_SECONDS = 10.0  # seconds to wait for an address or a node
CHECKED_PACKAGES = ("mtlv", "torch", "transformers", "numpy")  # packages whose releases affect results


@dataclass(frozen=True)
class NodeRequest:
    """Resources of a unit during training."""

    # cpus, gpus: fractions are allowed
    cpus: float
    gpus: float = 0.0
    memory: int | None = None  # in bytes; None requests none

    @property
    def resources(self) -> dict[str, float]:
        """Resources in Ray's form."""
        amounts = {"CPU": self.cpus, "GPU": self.gpus, "memory": float(self.memory or 0)}
        return {name: amount for name, amount in amounts.items() if amount}

    @property
    def options(self) -> dict[str, Any]:
        """Options of a Ray task."""
        return {"num_cpus": self.cpus, "num_gpus": self.gpus, "memory": self.memory}

    @property
    def words(self) -> str:
        """Description for users."""
        parts = [f"{self.cpus:g} CPU{'' if self.cpus == 1 else 's'}"]
        parts += [f"{self.gpus:g} GPU{'' if self.gpus == 1 else 's'}"] if self.gpus else []
        parts += [f"{self.memory / 1e9:g} GB of memory"] if self.memory else []
        return ", ".join(parts)


def nodes() -> list[Mapping[str, Any]]:
    """Return the nodes that are alive, as described by Ray."""
    import ray

    return [node for node in ray.nodes() if node["Alive"]]


def alive(node: str) -> bool:
    """Whether a node, by Ray's id, is alive."""
    return any(other["NodeID"] == node for other in nodes())


def slots(request: NodeRequest) -> int:
    """Return the number of units that all nodes could train at once."""
    return sum(_on(node, request) for node in nodes())


def size(request: NodeRequest) -> str:
    """Describe the cluster and its free capacity for users."""
    import ray

    count, units = len(nodes()), slots(request)
    return (
        f"the cluster at {ray.get_runtime_context().gcs_address} has {many(count, 'node')} "
        f"and room for {many(units, 'unit')} at once"
    )


def _on(node: Mapping[str, Any], request: NodeRequest) -> int:
    there = node["Resources"]
    return min(
        (int(there.get(name, 0.0) / amount + 1e-9) for name, amount in request.resources.items()), default=1
    )


def check_room(request: NodeRequest) -> None:
    """Reject units that no node has enough resources for; Ray would wait forever.

    Raises:
        DeviceError: no node has enough resources.
    """
    here = nodes()
    if any(_on(node, request) for node in here):
        return
    cpus, gpus, memory = (
        max((node["Resources"].get(name, 0.0) for node in here), default=0.0)
        for name in ("CPU", "GPU", "memory")
    )
    raise DeviceError(
        f"no node of the cluster has {request.words} for a unit",
        got=f"{many(len(here), 'node')} with up to {cpus:g} CPUs, "
        f"{gpus:g} GPUs and {memory / 1e9:.1f} GB of memory",
        then="lower `execution.cpus`, `execution.gpus` or `execution.memory_gb`, or start such a node first",
    )


@contextmanager
def require_equal_nodes(store: Path) -> Iterator[NodeRequirements]:
    """Yield the requirements of a suite, after checking all nodes.

    Raises:
        ClusterError: a node has other releases than this process, or cannot run mtlv.
        TrackingError: a node cannot read or write the store.
    """
    mark = store / f".seen-{uuid.uuid4().hex}"
    mark.touch()
    try:
        terms = NodeRequirements(
            store, mark.name, tuple((name, versions()[name]) for name in CHECKED_PACKAGES)
        )
        for problem in _ask(terms):
            if problem is not None:
                raise problem
        yield terms
    finally:
        mark.unlink(missing_ok=True)


def _ask(terms: NodeRequirements) -> Iterator[MtlvError | None]:
    """Yield the result of the check of each node."""
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
                continue  # it has just been lost
            raise ClusterError(
                "a node of the cluster cannot run mtlv",
                got=last_line(error),
                then="install the same release of mtlv on all nodes, for the Python that runs Ray",
            ) from error


def _goes(node: str) -> bool:
    """Whether a node that does not respond is lost."""
    until = time.monotonic() + PATIENCE_SECONDS
    while alive(node) and time.monotonic() < until:
        time.sleep(0.5)
    return not alive(node)


def last_line(error: BaseException) -> str:
    """Return the last line of an error, in which Ray has the cause."""
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
