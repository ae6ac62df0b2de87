"""docker-compose.yml, `.env.example` and the scripts in server/: valid, complete and careful."""

from __future__ import annotations

import re
import stat
import subprocess
import sys
from pathlib import Path

import make_env
import pytest
import start
import yaml

ROOT = Path(__file__).resolve().parents[3]
FILE = ROOT / "docker-compose.yml"
EXAMPLE = (ROOT / ".env.example").read_text(encoding="utf-8")
JOBS = ("check-secrets", "bucket")
"""Services that end by themselves."""


@pytest.fixture(scope="module")
def text():
    return FILE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def services(text):
    return yaml.safe_load(text)["services"]


def schema_check(file: Path) -> subprocess.CompletedProcess[str]:
    """Validate by the Compose specification's JSON schema, which check-jsonschema carries: no network."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(file)]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_file_is_a_compose_file():
    done = schema_check(FILE)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("right", "wrong"), [("read_only: true", "readonly: true"), ("tmpfs: [/tmp]", "tmpfs: {a: 1}")]
)
def test_the_check_finds_a_wrong_key_and_a_wrong_value(text, tmp_path, right, wrong):
    assert right in text
    (tmp_path / "docker-compose.yml").write_text(text.replace(right, wrong), encoding="utf-8")
    assert schema_check(tmp_path / "docker-compose.yml").returncode == 1


def used(text: str) -> dict[str, str]:
    """Variables of the file, and what follows the name: a default or a refusal."""
    return dict(re.findall(r"\$\{(\w+)((?::-|:\?)[^}]*)?\}", text))


def offered() -> dict[str, str]:
    """Variables of `.env.example`, those that are commented out too."""
    return dict(re.findall(r"(?m)^#?(MTLV_\w+)=(.*)$", EXAMPLE))


def test_every_variable_is_in_the_example_with_its_default(text):
    assert set(used(text)) == set(offered())
    for name, rest in used(text).items():
        assert rest == f":-{offered()[name]}" or (rest.startswith(":?") and offered()[name] == "change-me")


def test_every_secret_is_checked_before_anything_starts(services, text):
    secrets = {name for name, value in offered().items() if value == "change-me"}
    assert set(start.NAMES.values()) == secrets
    assert set(start.NAMES) <= set(services["check-secrets"]["environment"])
    for name, service in services.items():
        assert name == "check-secrets" or "check-secrets" in waits_for(services, name)
        for variable, value in service.get("environment", {}).items():
            found = re.match(r"\$\{(\w+):\?", value)
            assert found is None or found[1] in start.NAMES.values(), variable


def waits_for(services: dict, name: str) -> set[str]:
    """Services that `name` needs, through others too."""
    direct = set(services[name].get("depends_on", {}))
    return direct.union(*(waits_for(services, other) for other in direct))


def test_services_wait_until_others_are_ready(services):
    for service in services.values():
        for other, need in service.get("depends_on", {}).items():
            ended = "service_completed_successfully" if other in JOBS else "service_healthy"
            assert need == {"condition": ended}
    assert all("healthcheck" in service for name, service in services.items() if name not in JOBS)


def test_nothing_runs_as_root_or_can_become_it(services):
    for service in services.values():
        assert int(service["user"].split(":")[0]) > 0
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert service["read_only"] is True


def test_images_are_pinned_and_only_mlflow_is_published_on_loopback(services):
    assert all(
        re.search(r":v?\d+\.\d+(\.\d+)?(-[a-z]+)?$", service["image"]) for service in services.values()
    )
    assert [name for name, service in services.items() if "ports" in service] == ["mlflow"]
    assert services["mlflow"]["ports"] == ["${MTLV_BIND:-127.0.0.1}:${MTLV_PORT:-5000}:5000"]
    assert all(
        service.get("networks") in (None, ["inside"])
        for name, service in services.items()
        if name != "mlflow"
    )


def test_the_image_is_the_mlflow_that_is_installed(services):
    from importlib.metadata import version

    assert services["mlflow"]["image"] == f"ghcr.io/mlflow/mlflow:v{version('mlflow')}-full"


def test_no_address_holds_a_password(text):
    assert not re.search(r"://[^/\s]*:[^/\s]*@", text)


@pytest.mark.parametrize("name", start.NAMES)
@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("change-me", "is still the example's"),
        ("prefix-change-me-suffix", "is still the example's"),
        ("", "is shorter than 16 characters"),
        ("a" * 15, "is shorter than 16 characters"),
        ("with a blank and a 'quote'", "holds other characters than letters, digits, `-` and `_`"),
        ("é" * 20, "holds other characters than letters, digits, `-` and `_`"),
        ("a" * 16 + "\n", "holds other characters than letters, digits, `-` and `_`"),
    ],
)
def test_secrets_that_are_refused(name, value, said):
    assert start.problems({name: value, "HOME": "x"}) == [f"`{start.NAMES[name]}` {said}"]


def test_an_env_file_is_made_once_with_secrets_of_its_own(tmp_path, monkeypatch, capsys):
    (tmp_path / ".env.example").write_text(EXAMPLE, encoding="utf-8")
    monkeypatch.setattr(make_env, "ROOT", tmp_path)
    assert make_env.main() == 0
    made = (tmp_path / ".env").read_text(encoding="utf-8")
    values = re.findall(r"(?m)^MTLV_\w+=(.*)$", made)
    assert len(set(values)) == len(values) == 6
    assert start.problems(dict(zip(start.NAMES, values, strict=True))) == []
    assert "change-me" not in re.sub(r"(?m)^#.*", "", made)
    assert stat.S_IMODE((tmp_path / ".env").stat().st_mode) == 0o600
    assert make_env.main() == 2
    assert (tmp_path / ".env").read_text(encoding="utf-8") == made
    said = capsys.readouterr()
    assert "left as it is" in said.err
    assert not any(value in said.out for value in values)


def test_the_env_file_stays_out_of_git():
    assert ".env" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
