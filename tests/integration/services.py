"""The services of docker-compose.yml without Docker: the file's own commands, scripts and settings, run here.

PostgreSQL is Debian's, MLflow this Python's; moto stands in for the S3 store. Only addresses, ports and
folders differ from the file. Everything listens on loopback and ends with the test, whatever happens.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
HOST = "127.0.0.1"
START = 240  # seconds for a service to answer: 20 times what it takes, for a machine that is busy


def interpolated(value: Any, settings: Mapping[str, str]) -> Any:
    """`value` of a compose file with its `${...}` filled in as Compose does it.

    Raises:
        KeyError: a `${NAME:?message}` without a value.
    """
    if isinstance(value, dict):
        return {key: interpolated(item, settings) for key, item in value.items()}
    if isinstance(value, list):
        return [interpolated(item, settings) for item in value]
    if not isinstance(value, str):
        return value

    def fill(match: re.Match[str]) -> str:
        name, kind, rest = match.groups()
        if settings.get(name):
            return settings[name]
        if kind == ":?":
            raise KeyError(f"{name}: {rest}")
        return rest or ""

    return re.sub(r"\$\{(\w+)(?:(:-|:\?)([^}]*))?\}", fill, value)


def compose(settings: Mapping[str, str]) -> dict[str, Any]:
    """docker-compose.yml with `settings`, as from a `.env` file."""
    return interpolated(yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8")), settings)


def settings_of(text: str) -> dict[str, str]:
    """Names and values of a `.env` file."""
    return dict(line.split("=", 1) for line in text.splitlines() if re.match(r"\w+=", line))


def free_port() -> int:
    with socket.socket() as found:
        found.bind((HOST, 0))
        return found.getsockname()[1]


def programs() -> Path | None:
    """Folder of the newest PostgreSQL's programs; nothing where there is none of version 15 or newer."""
    found = {path.resolve() for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")}
    found |= {Path(path).resolve() for path in (shutil.which("initdb"),) if path}
    newest, folder = max(((_version(path), path.parent) for path in found), default=(0, None))
    return folder if newest >= 15 else None  # psql reads variables of the environment from 15 on


def _version(program: Path) -> int:
    said = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    return int(re.search(r"\d+", said)[0])


def unprivileged() -> dict[str, Any]:
    """Arguments of `subprocess` that give root's rights away, which PostgreSQL asks for."""
    if os.getuid() != 0:
        return {}
    return {"user": 65534, "group": 65534, "extra_groups": []}  # nobody


def until(ready: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until `ready()`; fail with the log's end when the process ends first or time runs out."""
    end = time.monotonic() + START
    while not ready():
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"{log.stem} did not start:\n" + log.read_text(errors="replace")[-3000:])
        time.sleep(0.1)


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process as Compose does: ask, wait, then kill it with all that it started."""
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@dataclass
class Site:
    """The shared server on this machine.

    Args:
        folder: everything lies here; others may enter it, because PostgreSQL runs as another user.
        settings: what `.env` would hold.
    """

    folder: Path
    settings: dict[str, str]
    ports: dict[str, int] = field(
        default_factory=lambda: {n: free_port() for n in ("database", "objects", "mlflow")}
    )
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.services = compose(self.settings)["services"]
        self.scratch = self.folder / "scratch"
        self.scratch.mkdir()
        users = self._here((ROOT / "server" / "basic_auth.ini").read_text(encoding="utf-8"))
        (self.folder / "basic_auth.ini").write_text(users, encoding="utf-8")
        found = programs()
        assert found is not None
        self.programs = found

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.ports['mlflow']}"

    def environment(self, service: str, **more: str) -> dict[str, str]:
        """What the container of `service` gets, and where the programs lie."""
        here = {
            name: self._here(value) for name, value in self.services[service].get("environment", {}).items()
        }
        if "MLFLOW_AUTH_CONFIG_PATH" in here:
            here["MLFLOW_AUTH_CONFIG_PATH"] = str(self.folder / "basic_auth.ini")
        path = os.pathsep.join((str(Path(sys.executable).parent), str(self.programs), os.environ["PATH"]))
        places = {"HOME": str(self.scratch), "TMPDIR": str(self.scratch), "PATH": path}
        return {**here, **places, **more}

    def command(self, service: str, *instead: str) -> list[str]:
        """What the container of `service` runs, or runs `instead` of its command."""
        words = [*self.services[service]["entrypoint"], *(instead or self.services[service]["command"])]
        return [self._here(word) for word in words]

    def _here(self, text: str) -> str:
        """`text` with the containers' addresses and paths as they are here."""
        for name, port in (("database", 5432), ("objects", 8333)):
            text = text.replace(f"{name}:{port}", f"{HOST}:{self.ports[name]}")
        text = re.sub(r"^/server/", f"{ROOT}/server/", text)
        text = re.sub(r"^python$", sys.executable, text)
        text = text.replace("--host=0.0.0.0", f"--host={HOST}")
        return re.sub(r"(--port=|127\.0\.0\.1:)5000\b", rf"\g<1>{self.ports['mlflow']}", text)

    def run(self, service: str, *instead: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
        """`docker compose run --rm -T SERVICE ...`."""
        return subprocess.run(
            self.command(service, *instead),
            env=self.environment(service),
            cwd=self.scratch,
            capture_output=True,
            timeout=START,
            **options,
        )

    def start(self, *names: str) -> None:
        """`docker compose up -d SERVICE ...`: start and wait until healthy."""
        for name in names:
            getattr(self, f"_start_{name}")()

    def stop(self, *names: str) -> None:
        """`docker compose stop SERVICE ...`."""
        for name in names:
            stop(self.running.pop(name))

    def _begin(self, name: str, command: list[str], ready: Callable[[], bool], **options: Any) -> None:
        log = self.folder / f"{name}.log"
        with log.open("ab") as out:
            self.running[name] = subprocess.Popen(
                command, stdout=out, stderr=out, start_new_session=True, **options
            )
        until(ready, self.running[name], log)

    def _start_database(self) -> None:
        data = self.folder / "database"
        new = not data.exists()
        if new:
            self._make_cluster(data)
        begin = [str(self.programs / "postgres"), "-D", str(data), "-c", f"listen_addresses={HOST}"]
        begin += ["-p", str(self.ports["database"]), "-c", "unix_socket_directories="]
        begin += ["-c", "fsync=off"]  # a test needs no disk that survives a power cut
        health = [*self.services["database"]["healthcheck"]["test"][1:], f"--port={self.ports['database']}"]

        def ready() -> bool:
            return subprocess.run(health, env=self._superuser(), capture_output=True).returncode == 0

        self._begin("database", begin, ready, cwd=data, **unprivileged())
        if new:
            self.make_databases()

    def _make_cluster(self, data: Path) -> None:
        options = unprivileged()
        data.mkdir(mode=0o700)
        secret = self.folder / "superuser"
        secret.write_text(self.settings["MTLV_POSTGRES_PASSWORD"], encoding="utf-8")
        if options:
            shutil.chown(data, options["user"], options["group"])
            shutil.chown(secret, options["user"], options["group"])
        init = [str(self.programs / "initdb"), "-D", str(data), "-U", "postgres", "-E", "UTF8", "--no-sync"]
        init += ["-A", "scram-sha-256", f"--pwfile={secret}"]
        init += self.services["database"]["environment"]["POSTGRES_INITDB_ARGS"].split()
        subprocess.run(init, check=True, capture_output=True, cwd=data, **options)

    def make_databases(self) -> None:
        """What the image does with a new volume."""
        script = ROOT / "server" / "init-database.sh"
        subprocess.run([script], check=True, env=self._superuser(), capture_output=True)

    def _superuser(self) -> dict[str, str]:
        given = {"PGHOST": HOST, "PGPORT": str(self.ports["database"]), "PGUSER": "postgres"}
        return self.environment("database", PGPASSWORD=self.settings["MTLV_POSTGRES_PASSWORD"], **given)

    def postgres(self, *command: str, **options: Any) -> bytes:
        """Output of a PostgreSQL program as superuser: `docker compose exec -T database PROGRAM ...`."""
        return subprocess.run(
            command, check=True, env=self._superuser(), stdout=subprocess.PIPE, **options
        ).stdout

    def _start_objects(self) -> None:
        port = self.ports["objects"]

        def ready() -> bool:
            with socket.socket() as probe:
                return probe.connect_ex((HOST, port)) == 0

        moto = [sys.executable, "-m", "moto.server", "-H", HOST, "-p", str(port)]
        self._begin("objects", moto, ready, cwd=self.folder, env=self.environment("objects"))

    def _start_mlflow(self) -> None:
        health = [self._here(word) for word in self.services["mlflow"]["healthcheck"]["test"][1:]]
        health = [sys.executable if word == "python" else word for word in health]

        def ready() -> bool:
            time.sleep(0.5)
            return subprocess.run(health, capture_output=True).returncode == 0

        self._begin("mlflow", self.command("mlflow"), ready, cwd=self.scratch, env=self.environment("mlflow"))

    def request(
        self, path: str, user: tuple[str, str] | None, body: Any = None, **headers: str
    ) -> tuple[int, Any]:
        """Status and answer of MLflow's REST interface, as text where it is no JSON."""
        headers["Content-Type"] = "application/json"
        if user is not None:
            headers["Authorization"] = "Basic " + b64encode(":".join(user).encode()).decode()
        data = None if body is None else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(urllib.request.Request(self.address + path, data, headers)) as answer:
                status, text = answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read().decode()
        try:
            return status, json.loads(text)
        except ValueError:
            return status, text


@contextmanager
def site(folder: Path, settings: dict[str, str]) -> Iterator[Site]:
    """A site that is ended with the block."""
    made = Site(folder, settings)
    with ExitStack() as stack:
        stack.callback(lambda: made.stop(*reversed(made.running)))
        yield made
