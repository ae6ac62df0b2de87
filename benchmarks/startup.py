"""Start-up time of each command: python benchmarks/startup.py [runs]; about 2 minutes

Each command runs in a separate process, in turn, after a round that warms the file cache. The limit applies
to `mtlv --help` and `mtlv check`, to the median of wall seconds on an idle machine. Also measures CPU
seconds, which other work affects less.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from statistics import median

from harness import ROOT, Claim, Result, interleaved, publish, sized

from mtlv.cli import COMMANDS

LIMIT = 0.4  # s
CHECKS = (["check", "config/quickstart.yml"], ["check", "config/suite.yml"])
ASKED = [["--help"], *CHECKS, *([*name.split(), "--help"] for name in COMMANDS), ["data", "list"]]
ASKED = ASKED[: sized(None, 3)]


def answer(argv, cpu):
    """Return the wall seconds of one run, and append its CPU seconds to `cpu`."""
    script = Path(sys.executable).parent / "mtlv"
    start = [str(script)] if script.is_file() else [sys.executable, "-m", "mtlv"]
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPATH"] = str(ROOT)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    subprocess.run([*start, *argv], cwd=ROOT, env=env, check=True, stdout=subprocess.DEVNULL)
    took = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu.setdefault(" ".join(argv), []).append(
        after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    )
    return took


def imports():
    """Return the modules of `mtlv check` that take longest to import, including what they import."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "mtlv", *CHECKS[0]],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    rows = [line.removeprefix("import time:").split("|") for line in done.stderr.splitlines() if "|" in line]
    timed = [(int(total), name.strip()) for _, total, name in rows if total.strip().isdecimal()]
    return "\n".join(f"{total / 1000:8.1f} ms  {name}" for total, name in sorted(timed, reverse=True)[:20])


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else sized(10, 1)
    cpu = {}
    peers = {" ".join(argv): partial(answer, argv, cpu) for argv in ASKED}
    wall = interleaved(peers, runs, warm=1)
    held = [" ".join(argv) for argv in ASKED[:3]]
    claims = [Claim(f"`mtlv {name}`", LIMIT, median(wall[name]), "s", at_least=False) for name in held]
    cpu = {name: values[1:] for name, values in cpu.items()}
    values = {"wall": wall, "CPU": {name: cpu[name] for name in held}}
    title = "Start-up: seconds until each command has answered"
    return publish(
        Result("startup", title, "s", values, claims, {"runs": runs}, imports(), {"cpu_seconds": cpu})
    )


if __name__ == "__main__":
    sys.exit(main())
