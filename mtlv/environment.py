"""Software and hardware of a run: packages and machine, without names of hosts, users or folders."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from functools import cache

from mtlv import __version__

SHOWN = ("mtlv", "torch", "transformers", "mlflow", "scikit-learn", "numpy")


@cache
def versions() -> dict[str, str]:
    """Return the versions of the packages that affect metrics."""
    return {"python": platform.python_version()} | {name: _version(name) for name in SHOWN}


def machine() -> dict[str, object]:
    """Return processor, number of cores, and system."""
    return {"processor": processor(), "cores": os.cpu_count(), "system": platform.system()}


@cache  # used by every run of a suite, and reading all packages takes a fifth of a second
def environment_text() -> str:
    """Return Python, the machine, and every installed package with its version, one per line."""
    packages = {
        d.metadata["Name"]: d.version for d in importlib.metadata.distributions() if d.metadata["Name"]
    }
    lines = [
        f"python=={platform.python_version()}",
        *(f"# {key}: {value}" for key, value in machine().items()),
    ]
    return (
        "\n".join([*lines, *(f"{name}=={packages[name]}" for name in sorted(packages, key=str.lower))]) + "\n"
    )


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return __version__ if name == "mtlv" else "not installed"


def processor() -> str:
    """Return the name of the processor, or of its architecture if there is none."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
