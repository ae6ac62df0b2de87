"""Units as tasks of Ray: the same results as here, and nothing lost whatever is lost on the way."""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from listening import Watcher, interrupt
from memory_tracker import MemoryTracker
from what_came import files, points

from mtlv.errors import ClusterError, DeviceError, MtlvError, TrackingError
from mtlv.events import ignore
from mtlv.execution.ray import cluster as ray_cluster
from mtlv.execution.ray import nodes, task
from mtlv.execution.ray.cluster import RayHead, check_lasting, connect, request_of
from mtlv.execution.ray.nodes import NodeRequest, check_room, require_equal_nodes, size
from mtlv.execution.ray.task import NodeRequirements, ObjectCache, keep, open_store
from mtlv.store.progress import FOLDER, read_states
from mtlv.suite.run import run_suite
from mtlv.units.input_cache import InputCache

ray = pytest.importorskip("ray")

LOCAL = ("execution.processes=1", "execution.threads=1")


@pytest.fixture(scope="module", autouse=True)
def narrow_tiny() -> None:
    """Processes of Ray have the real one."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head node and another one, of a CPU each, simulated on this machine."""
    from ray.cluster_utils import Cluster

    small = {"num_cpus": 1, "object_store_memory": 80_000_000, "include_dashboard": False}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ray_cluster.QUIET_VARIABLES.items():
            patch.setenv(name, value)
        made = Cluster(initialize_head=True, head_node_args=small)
        made.add_node(num_cpus=1, object_store_memory=80_000_000)
        yield made
        made.shutdown()


@pytest.fixture
def on_ray(cluster: Any) -> tuple[str, ...]:
    return ("execution.engine=ray", f"execution.address='{cluster.address}'", "execution.threads=1")


@pytest.mark.chaos
def test_the_same_as_here_though_a_node_is_lost(
    cluster: Any, on_ray: tuple[str, ...], table: Callable, suite: Callable, tmp_path: Path
) -> None:
    """Of two architectures and of stages; weights, scores, curves and points, bit for bit."""
    stages = "{stages: [{name: one, architecture: mtl}, {name: two, architecture: stl}]}"
    runs = f"runs=[{{architecture: gmtl}}, {stages}]"
    changes = (
        runs,
        "data.folds=2",
        "data.columns.part=null",
        "store.checkpoint_steps=1",
        "training.epochs=3",
    )
    path, trackers, lost = table("t"), (MemoryTracker(), MemoryTracker()), []
    third = cluster.add_node(num_cpus=1, object_store_memory=80_000_000)
    cluster.wait_for_nodes()

    def lose() -> None:
        if not lost:
            lost.append(third)
            cluster.remove_node(third, allow_graceful=False)

    listener = Watcher(lose)
    run_suite(suite(path, *changes, *on_ray, store="ray"), listener, trackers[1])
    run_suite(suite(path, *changes, *LOCAL, store="here"), ignore, trackers[0])
    assert files(tmp_path / "here") == files(tmp_path / "ray")
    assert points(trackers[0]) == points(trackers[1])
    told = listener.ended + listener.found
    assert len(told) == len(set(told)) == len(list((tmp_path / "ray" / "units").iterdir()))
    assert not listener.failed
    assert all("another one continues" in text for text in listener.warned)
    (state,) = read_states(tmp_path / "ray" / FOLDER)
    assert all(unit.node for unit in state.units if not unit.cached)


def test_units_that_fail_take_no_other_with_them(
    on_ray: tuple[str, ...], table: Callable, suite: Callable
) -> None:
    runs = (
        "{name: bad, training.head_weights: {heart: 1e39}}, {name: good, training.head_weights: {heart: 1}}"
    )
    made = suite(table("t"), f"runs=[{runs}]", "training.head_loss=weighted_sum", *on_ray)
    listener, tracker = Watcher(), MemoryTracker()
    result = run_suite(made, listener, tracker)
    assert [member.name for member in result.members] == ["good"]
    assert "the training loss is not finite" in result.failed[0]
    assert [name.split(" ")[0] for name in listener.failed] == ["bad"]


@pytest.mark.slow
def test_ctrl_c_frees_the_cluster_and_the_next_run_goes_on(
    on_ray: tuple[str, ...], table: Callable, suite: Callable
) -> None:
    made = suite(table("t"), "architecture=mtl", "training.epochs=3", "store.checkpoint_steps=1", *on_ray)
    with pytest.raises(KeyboardInterrupt):
        run_suite(made, Watcher(interrupt), MemoryTracker())
    listener = Watcher()
    run_suite(made, listener, MemoryTracker())
    assert not listener.warned
    assert listener.ended


def test_sigterm_stays_ours(cluster: Any) -> None:
    """A scheduler ends a job by it; Ray's own way would leave no time to leave the cluster."""
    got: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: got.append(number))
    try:
        with connect(RayHead(cluster.address, 1)):
            os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert got == [signal.SIGTERM]


# ---- What is refused before a unit begins ----------------------------------------------------------------


def test_no_extra(monkeypatch: pytest.MonkeyPatch, table: Callable, suite: Callable) -> None:
    monkeypatch.setattr(ray_cluster, "find_spec", lambda _: None)
    with pytest.raises(ClusterError, match=r"install it: pip install 'mtlv\[ray\]'"):
        run_suite(suite(table("t"), "execution.engine=ray"), ignore, MemoryTracker())


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere.invalid:6379"])
def test_an_address_that_does_not_answer(address: str) -> None:
    with pytest.raises(ClusterError, match=f"no response from {address}"), connect(RayHead(address, 1)):
        pass


@pytest.mark.parametrize("address", ["ray://127.0.0.1:10001", "localhost", "localhost:port"])
def test_an_address_of_another_form(address: str) -> None:
    with pytest.raises(ClusterError, match="HOST:PORT of the head node"), connect(RayHead(address, 1)):
        pass


@pytest.mark.parametrize(
    ("address", "variable", "asked", "named"),
    [
        (None, None, "local", None),  # whatever else runs on this machine
        (None, "", "local", None),
        (None, "HOST", "HOST", "the variable RAY_ADDRESS"),  # in a job of `ray job submit`
        ("auto", "HOST", "HOST", "the variable RAY_ADDRESS"),
        ("auto", None, "auto", "`execution.address`: there is no Ray cluster on this machine"),
        ("HOST", None, "HOST", "`execution.address`: HOST responds"),
    ],
)
def test_which_cluster_is_asked_for_and_what_is_said_where_it_lets_nobody_in(
    address: str | None, variable: str | None, asked: str, named: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        host = f"127.0.0.1:{server.getsockname()[1]}"
        inits: list[Mapping[str, Any]] = []

        def init(**given: Any) -> None:
            inits.append(given)
            raise ray.exceptions.AuthenticationError("no token")

        monkeypatch.setattr(ray, "init", init)
        if variable is not None:
            monkeypatch.setenv("RAY_ADDRESS", variable.replace("HOST", host))
        place = RayHead(address and address.replace("HOST", host), 1)
        expected = "Ray cannot be started here" if named is None else named.replace("HOST", host)
        with pytest.raises(ClusterError, match=expected) as error, connect(place):
            pass
    assert inits[0]["address"] == asked.replace("HOST", host)
    assert ("num_cpus" in inits[0]) == (asked == "local")
    assert "no token" in str(error.value)
    assert ("RAY_AUTH_MODE=token" in str(error.value)) == (asked == "HOST")


def test_the_variable_is_named_where_it_is_of_another_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "http://127.0.0.1:8265")
    with (
        pytest.raises(ClusterError, match=r"the variable RAY_ADDRESS \(got http.*HOST:PORT"),
        connect(RayHead(None, 1)),
    ):
        pass


@pytest.mark.slow
def test_a_store_relative_to_the_folder_of_the_driver(
    on_ray: tuple[str, ...], table: Callable, suite: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nodes were started in another folder."""
    monkeypatch.chdir(tmp_path)
    made = suite(table("t"), "architecture=mtl", "training.epochs=1", *on_ray, "store.uri=near")
    run_suite(made, Watcher(), MemoryTracker())
    assert len(files(tmp_path / "near")) > 1


def test_which_cluster_it_is(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with connect(RayHead(cluster.address, 1)):
        there = [{"Resources": {"CPU": 2.0}}, {"Resources": {"CPU": 0.0}}]
        monkeypatch.setattr(nodes, "nodes", lambda: there)
        assert (
            size(NodeRequest(1))
            == f"the cluster at {cluster.address} has 2 nodes and room for 2 units at once"
        )
        assert size(NodeRequest(2)).endswith("has 2 nodes and room for 1 unit at once")


def test_more_than_any_node_has(cluster: Any) -> None:
    with connect(RayHead(cluster.address, 1)):
        check_room(NodeRequest(1, 0, 1000))
        check_room(NodeRequest(0.5))
        for wanted in (NodeRequest(1, gpus=2), NodeRequest(64), NodeRequest(1, memory=10**15)):
            with pytest.raises(DeviceError, match="no node of the cluster has"):
                check_room(wanted)


def test_other_releases_on_a_node(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "versions", lambda: dict.fromkeys(nodes.CHECKED_PACKAGES, "0.0"))
    with (
        connect(RayHead(cluster.address, 1)),
        pytest.raises(
            ClusterError, match=r"has other releases \(got mtlv .*; allowed: mtlv 0\.0, torch 0\.0"
        ),
        require_equal_nodes(tmp_path),
    ):
        pass


def test_a_store_that_nodes_do_not_see(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, elsewhere = nodes._ask, tmp_path / "elsewhere"
    monkeypatch.setattr(nodes, "_ask", lambda terms: real(replace(terms, store=elsewhere)))
    with (
        connect(RayHead(cluster.address, 1)),
        pytest.raises(
            TrackingError, match=r"`store\.uri`: node .* cannot use .* \(got the file written by the driver"
        ),
        require_equal_nodes(tmp_path),
    ):
        pass
    assert not list(tmp_path.iterdir())


def test_a_node_that_joins_later_is_asked_before_its_first_unit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task, "where", lambda: ("1f", "late/1f"))
    (tmp_path / "mark").touch()
    terms = NodeRequirements(tmp_path, "mark", (("numpy", version("numpy")),))
    assert open_store(terms).root == tmp_path
    with pytest.raises(TrackingError, match=r"node late/1f .* the file written by the driver does not exist"):
        open_store(replace(terms, mark="another"))
    with pytest.raises(ClusterError, match=r"node late/1f .* \(got numpy .*; allowed: numpy 1\.0"):
        open_store(replace(terms, releases=(("numpy", "1.0"),)))


def test_results_in_the_folder_of_a_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray's copy of the folder that came with `ray job submit --working-dir`."""
    job = tmp_path / "working_dir_files" / "_ray_pkg_0123456789abcdef"
    job.mkdir(parents=True)
    server, elsewhere = "http://127.0.0.1:5000", tmp_path / "store"
    check_lasting(Path("store"), None)
    monkeypatch.chdir(job)
    check_lasting(elsewhere, server)
    with pytest.raises(TrackingError, match=r"`store\.uri`: Ray deletes .* a folder that all nodes share"):
        check_lasting(Path("store"), server)
    with pytest.raises(
        TrackingError, match=r"`tracking\.uri`: Ray deletes .* give a server, or for example sqlite"
    ):
        check_lasting(elsewhere, None)


# ---- Without a cluster -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "devices", "cpus", "gpus", "threads"),
    [
        ((), {"cpu"}, 1, 0, 1),
        (("execution.threads=4",), {"cpu"}, 4, 0, 4),
        (("execution.cpus=0.5",), {"cpu"}, 0.5, 0, 1),
        (("execution.cpus=3",), {"cuda"}, 3, 1, 3),
        (("execution.gpus=0.25",), {"cuda"}, 1, 0.25, 1),
    ],
)
def test_what_a_unit_takes(
    changes: tuple[str, ...],
    devices: set[str],
    cpus: float,
    gpus: float,
    threads: int,
    table: Callable,
    suite: Callable,
) -> None:
    execution = suite(table("t"), *changes).members[0].settings.execution
    assert request_of(execution, devices) == (NodeRequest(cpus, gpus), threads)


def test_errors_are_those_that_users_see() -> None:
    assert issubclass(ClusterError, MtlvError)
    assert importlib.util.find_spec("ray") is not None
    assert "RAY_ADDRESS" not in os.environ


def test_an_object_store_that_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: object) -> None:
        raise ray.exceptions.ObjectStoreFullError("no room")

    monkeypatch.setattr(ray, "put", full)
    with pytest.raises(ClusterError, match=r"object store of Ray is full .*--object-store-memory"):
        keep("material")
    monkeypatch.setattr(ray, "get", full)
    reference: Any = SimpleNamespace(hex=lambda: "1f")
    with pytest.raises(ClusterError, match="object store of Ray is full"):
        ObjectCache(1).take(reference)


def test_what_members_share_is_handed_over_once(table: Callable, suite: Callable) -> None:
    """And what they read in another way is not shared."""
    members = suite(
        table("t"),
        "runs=[{architecture: stl}, {architecture: mtl}, {name: short, data.max_length: 8}, "
        "{name: frozen, encoder.frozen_layers: 1}, {name: tags, heads.tagging_scheme: io}]",
    ).members
    cache = InputCache()
    keys = [cache.inputs_key(member.settings) for member in members]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 4
