"""What tracking costs training: python benchmarks/tracking.py

Trains MTL, GMHL and GMTL on a made-up table of 23 labels, in turn with nothing tracked and with all that
`mtlv run` tracks (a journal, and a thread that delivers it to an SQLite store). Compares the seconds of
training alone, of whole units and of the suite, the median of 3 pairs. Writes results/tracking.json; exit
code 1 where training takes more than 1% longer.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from compare import LABELS, TABLE, make_table  # noqa: E402

RESULTS = Path(__file__).parent / "results" / "tracking.json"
PAIRS = 3
CONFIG = """\
experiment: tracking
data: {{{data}, max_length: 64}}
encoder: tiny
grouping: {{k: 4, k_max: 8}}
training: {{epochs: 3, batch_size: 16, learning_rate: 1e-3, device: cpu}}
tracking: {{models: none, uri: 'sqlite:///{folder}/mlflow.db'}}
matrix: {{architecture: [mtl, gmhl, gmtl]}}
"""


def trained(folder, tracked):
    """Seconds of training alone, of whole units, and of the whole suite."""
    from mtlv.running import run_suite
    from mtlv.running.observer import Observer
    from mtlv.settings import load_suite
    from mtlv.tracking import NullTracker

    make_table(folder / "table.csv")
    descriptions = ", ".join(f"{label}: A sentence on {label}" for label in LABELS)
    data = TABLE.format(labels=", ".join(LABELS), descriptions=descriptions)
    (folder / "c.yml").write_text(CONFIG.format(data=data, folder=folder), encoding="utf-8")
    os.chdir(folder)
    begun = time.perf_counter()
    result = run_suite(load_suite(folder / "c.yml"), Observer(), None if tracked else NullTracker())
    whole = time.perf_counter() - begun
    units = [unit for member in result.members for found in member.outcomes for unit in found.records]
    return sum(u.train_seconds for u in units), sum(u.total_seconds for u in units), whole


def main():
    found = {True: [], False: []}
    for pair in range(PAIRS + 1):  # the first warms up
        for tracked in (False, True) if pair % 2 else (True, False):
            with tempfile.TemporaryDirectory() as place:
                times = trained(Path(place), tracked)
                os.chdir(ROOT)
            if pair:
                found[tracked].append(times)
                print(
                    f"{'tracked' if tracked else 'silent'}: " + ", ".join(f"{t:.2f} s" for t in times),
                    flush=True,
                )
    ratios = [a[0] / b[0] - 1 for a, b in zip(found[True], found[False], strict=True)]
    out = {
        "train_units_suite_seconds": {"tracked": found[True], "silent": found[False]},
        "training_longer_by": ratios,
        "median": median(ratios),
        "machine": {"cpu": platform.machine(), "cores": os.cpu_count()},
    }
    RESULTS.write_text(json.dumps(out, indent=1) + "\n", encoding="utf-8")
    each = ", ".join(f"{100 * ratio:+.1f}%" for ratio in ratios)
    print(f"training takes {100 * median(ratios):+.1f}% longer with tracking (median of {each})")
    return int(median(ratios) > 0.01)


if __name__ == "__main__":
    sys.exit(main())
