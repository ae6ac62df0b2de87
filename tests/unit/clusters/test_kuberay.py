"""The manifest for KubeRay: fields that exist, and parts that fit each other."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml

from mtlv.settings import load_suite

jsonschema = pytest.importorskip("jsonschema")

MANIFEST = Path(__file__).resolve().parents[3] / "config" / "clusters" / "kuberay.yml"
SCHEMA = Path(__file__).parent / "rayjob.schema.yml"
CRD = os.environ.get("MTLV_KUBERAY_CRD")


@pytest.fixture
def parts() -> dict[str, Any]:
    return {part["kind"]: part for part in yaml.safe_load_all(MANIFEST.read_text())}


def checker() -> Any:
    return jsonschema.Draft202012Validator(yaml.safe_load(SCHEMA.read_text()))


def pods(job: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    cluster = job["spec"]["rayClusterSpec"]
    groups = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]
    return [group["template"]["spec"] for group in groups]


def test_all_fields_exist_and_have_their_types(parts: dict[str, Any]) -> None:
    assert [error.message for error in checker().iter_errors(parts["RayJob"])] == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda job: job["spec"].update(rayCluster={}), "'rayCluster' was unexpected"),
        (lambda job: job["spec"].pop("entrypoint"), "'entrypoint' is a required property"),
        (lambda job: head(job)["rayStartParams"].update({"num-cpus": 0}), "0 is not of type 'string'"),
        (lambda job: head(job)["template"]["spec"].update(volume=[]), "'volume' was unexpected"),
        (lambda job: job["spec"]["rayClusterSpec"].update(rayVersion=2.6), "2.6 is not of type 'string'"),
    ],
)
def test_what_the_check_finds(parts: dict[str, Any], change: Any, problem: str) -> None:
    job = deepcopy(parts["RayJob"])
    change(job)
    (error,) = checker().iter_errors(job)
    assert problem in error.message


def head(job: Mapping[str, Any]) -> dict[str, Any]:
    return job["spec"]["rayClusterSpec"]["headGroupSpec"]


def test_its_config_is_one_that_mtlv_runs_on_ray(parts: dict[str, Any], tmp_path: Path) -> None:
    command, verb, path = shlex.split(parts["RayJob"]["spec"]["entrypoint"])
    assert (command, verb) == ("mtlv", "run")
    mounts = {
        mount["mountPath"]: mount["name"]
        for mount in pods(parts["RayJob"])[0]["containers"][0]["volumeMounts"]
    }
    assert mounts[str(PurePosixPath(path).parent)] == "config"
    file = tmp_path / "config.yml"
    file.write_text(parts["ConfigMap"]["data"][PurePosixPath(path).name])
    settings = load_suite(file, []).members[0].settings
    assert settings.execution.engine == "ray"
    assert settings.execution.address is None  # Ray names the cluster to the job that it starts
    assert settings.tracking.uri is not None
    for pod in pods(parts["RayJob"]):  # all nodes see the store
        places = [mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]]
        assert any(PurePosixPath(settings.store.uri).is_relative_to(place) for place in places)


def test_a_unit_fits_a_worker(parts: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "config.yml"
    file.write_text(parts["ConfigMap"]["data"]["config.yml"])
    wanted = load_suite(file, []).members[0].settings.execution.cpus
    for worker in pods(parts["RayJob"])[1:]:
        assert float(worker["containers"][0]["resources"]["limits"]["cpu"]) >= wanted


def test_volumes_that_are_mounted_are_there_and_all_nodes_run_one_image(parts: dict[str, Any]) -> None:
    for pod in pods(parts["RayJob"]):
        there = {volume["name"]: volume for volume in pod["volumes"]}
        assert {mount["name"] for each in pod["containers"] for mount in each["volumeMounts"]} == set(there)
        assert there["study"]["persistentVolumeClaim"]["claimName"] == "mtlv-study"
    assert len({each["image"] for pod in pods(parts["RayJob"]) for each in pod["containers"]}) == 1


# ---- Against the whole definition, where somebody has it ------------------------------------------------


def unknown(value: Any, schema: Mapping[str, Any], place: str = "") -> Iterator[str]:
    """Fields that a definition does not have: a server drops them without a word."""
    if isinstance(value, dict) and "properties" in schema and place != "/metadata":
        for name, inner in value.items():
            if name in schema["properties"]:
                yield from unknown(inner, schema["properties"][name], f"{place}/{name}")
            else:
                yield f"{place}/{name}"
    elif isinstance(value, list):
        for inner in value:
            yield from unknown(inner, schema.get("items", {}), place)


def test_unknown_fields_are_found() -> None:
    schema = {"properties": {"a": {"items": {"properties": {"b": {}}}}, "metadata": {"properties": {}}}}
    assert list(unknown({"a": [{"b": 1, "c": 2}], "metadata": {"name": "x"}, "d": 1}, schema)) == [
        "/a/c",
        "/d",
    ]


@pytest.mark.skipif(
    CRD is None, reason="MTLV_KUBERAY_CRD names no file: kubectl get crd rayjobs.ray.io -o yaml"
)
def test_against_the_whole_definition(parts: dict[str, Any]) -> None:
    versions = yaml.safe_load(Path(str(CRD)).read_text())["spec"]["versions"]
    (schema,) = [each["schema"]["openAPIV3Schema"] for each in versions if each["name"] == "v1"]
    job = parts["RayJob"]
    assert [error.message for error in jsonschema.Draft4Validator(schema).iter_errors(job)] == []
    assert list(unknown(job, schema)) == []
