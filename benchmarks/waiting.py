"""How threads should wait for each other, on a quiet and on a busy machine; about 12 minutes.

    python benchmarks/waiting.py --data FOLDER/indiana_reports.csv --documents 96

GNU OpenMP, which PyTorch uses on Linux, lets a thread spin for milliseconds before it sleeps. On a busy
machine, a spinning thread occupies the core that the thread it waits for needs. Each setting trains MTL in a
separate process with one thread per core: alone on the machine, and with one busy process per core. The
machine must be quiet at the start. Values are documents per second; CPU seconds are in the details. If the
machine is quiet when `mtlv` starts, it keeps OpenMP's default; otherwise it sets the number of spins.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from harness import Claim, Result, alone, interleaved, publish, shares, sized
from throughput import arguments, prepare, spent
from training import ours

from mtlv.environ import SPIN_COUNT
from mtlv.hardware import cores

SPIN = "GOMP_SPINCOUNT"
WAYS: dict[str, Mapping[str, str]] = {
    "as OpenMP waits": {},
    f"{SPIN_COUNT} spins": {SPIN: SPIN_COUNT},
    "no spins": {"OMP_WAIT_POLICY": "passive"},
    "one thread": {"OMP_NUM_THREADS": "1"},
}
USUAL, OURS, *_ = WAYS
QUIET, BUSY = "quiet machine", "busy machine"


@contextmanager
def company(count: int) -> Iterator[None]:
    """Run `count` processes, each of which keeps a core busy."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for each in others:
            each.kill()
            each.wait()


def main() -> int:
    args = arguments(__doc__, WAYS)
    if args.only:
        work = prepare(args)
        ours(work)  # one-time costs are not measured
        cpu, (seconds,) = time.process_time(), ours(work)
        print(json.dumps({"seconds": seconds, "cpu": time.process_time() - cpu}))
        return 0
    told: dict[str, list[float]] = {}

    def case(row: str, way: str) -> float:
        with company(cores() if row == BUSY else 0):
            found = alone([*sys.argv, "--only", way], env=WAYS[way])
        told.setdefault(f"CPU seconds, {row}, {way}", []).append(found["cpu"])
        return args.documents / found["seconds"]

    for name in (SPIN, "OMP_WAIT_POLICY", "OMP_NUM_THREADS"):
        os.environ.pop(name, None)
    values = {
        row: interleaved({way: lambda r=row, w=way: case(r, w) for way in WAYS}, args.repeats)
        for row in (QUIET, BUSY)
    }
    setting = {"documents": args.documents, "encoder": args.encoder, "max_length": args.max_length}
    result = Result(
        "waiting",
        "Training with a thread per core: documents/s by how threads wait",
        "documents/s",
        values,
        setting=setting | {"threads": cores(), "processes of other work": cores()},
        details=told,
    )
    result.claims = [
        Claim(
            f"{BUSY}: {SPIN_COUNT} spins (mtlv) against OpenMP's own",
            sized(1.5, None),
            result.ratio(BUSY, OURS, USUAL),
        ),
        Claim(f"{QUIET}: the same, why mtlv sets none there", None, result.ratio(QUIET, OURS, USUAL)),
    ]
    work = prepare(args)
    result.profile = shares(spent(lambda: ours(work), work))
    return publish(result)


if __name__ == "__main__":
    sys.exit(main())
