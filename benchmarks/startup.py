"""Wall time of `mtlv --help` and `mtlv check`: python benchmarks/startup.py

Median of 10 runs each, in a process of its own, after one to warm the file cache. The limit is 0.5 s on a
machine that does nothing else. Prints only; exit code 1 where a median is above the limit.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
LIMIT, RUNS = 0.5, 10
COMMANDS = (["--help"], ["check", "config/quickstart.yml"], ["check", "config/suite.yml"])


def seconds(argv):
    """Wall seconds of each of `RUNS` runs."""
    script = Path(sys.executable).parent / "mtlv"
    start = [str(script)] if script.is_file() else [sys.executable, "-m", "mtlv.cli"]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    out = []
    for _ in range(RUNS + 1):
        begun = time.perf_counter()
        subprocess.run([*start, *argv], cwd=ROOT, env=env, check=True, stdout=subprocess.DEVNULL)
        out.append(time.perf_counter() - begun)
    return out[1:]


def main():
    slow = False
    for argv in COMMANDS:
        times = seconds(argv)
        slow |= median(times) > LIMIT
        print(
            f"mtlv {' '.join(argv):<30} median {median(times):.3f} s, {min(times):.3f} to {max(times):.3f} s"
        )
    print(f"limit {LIMIT} s, {RUNS} runs each")
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
