"""Elbow curve of k = 1..50 on 20, 200 and 2,000 labels: python benchmarks/kmedoids_elbow.py; about 10 minutes

Label vectors are synthetic: 384 dimensions, 40 centres, each dimension scaled to [0, 1]. Each peer computes
the curve in a separate process, without imports; `mtlv` includes distances and silhouettes.
MTLV_SKLEARN_EXTRA_PYTHON is a Python with scikit-learn-extra (`pam`, initialised by BUILD), by default that
of constraints-sklearn-extra.txt. The package `kmedoids` (GPL) is measured if installed, but not
required. scikit-learn's KMeans minimises squared distances, so its curve differs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import numpy as np
from harness import ROOT, Claim, Result, alone, interleaved, parser_of, profiled, publish, sized

K_MAX, WIDTH, CENTRES = 50, 384, 40
SIZES, ROUNDING = (20, 200, 2000), 1e-9
REPEATS = sized({20: 5, 200: 3, 2000: 1}, {20: 1})
PAM, GPL = "scikit-learn-extra, pam", "kmedoids (GPL), 1 start"
ONE, TWENTY = "mtlv, 1 start", "mtlv, 20 starts (default)"


def made_up(items):
    """Return synthetic label vectors [T, D]."""
    rng = np.random.default_rng(0)
    found = (
        rng.normal(size=(items, WIDTH)) + 2 * rng.normal(size=(CENTRES, WIDTH))[np.arange(items) % CENTRES]
    )
    return (found - found.min(axis=0)) / (found.max(axis=0) - found.min(axis=0))


def mtlv(restarts):
    def run(features, k_max):
        from mtlv.grouping import GroupingSpec, elbow

        return elbow(features, GroupingSpec(restarts=restarts, scaling="none"), k_max=k_max).inertia

    return run


def pam(features, k_max):
    from sklearn_extra.cluster import KMedoids

    table = _table(features)
    found = [float(table.sum(axis=1).min())]  # `pam` does not accept k = 1
    for k in range(2, k_max + 1):
        model = KMedoids(k, metric="precomputed", method="pam", init="build").fit(table)
        found.append(float(table[model.medoid_indices_].min(axis=0).sum()))
    return found


def fasterpam(features, k_max):
    import kmedoids

    table = _table(features)
    return [kmedoids.fasterpam(table, k, init="build", n_cpu=1).loss for k in range(1, k_max + 1)]


def kmeans(features, k_max):
    from sklearn.cluster import KMeans

    return [KMeans(k, random_state=0).fit(features).inertia_ for k in range(1, k_max + 1)]


def _table(features):
    from scipy.spatial.distance import cdist

    return cdist(features, features)


NEEDS = {PAM: "sklearn_extra", GPL: "kmedoids"}
PEERS = {
    ONE: mtlv(1),
    TWENTY: mtlv(20),
    PAM: pam,
    GPL: fasterpam,
    "scikit-learn, KMeans": kmeans,
}


def one(name, items):
    """Print a peer's seconds and curve as JSON."""
    features = made_up(items)
    PEERS[name](made_up(12), 3)  # warm-up: imports and first calls of libraries
    begun, cpu = time.perf_counter(), time.process_time()
    inertia = PEERS[name](features, min(K_MAX, items))
    took = {"seconds": time.perf_counter() - begun, "cpu_seconds": time.process_time() - cpu}
    print(json.dumps(took | {"inertia": [float(value) for value in inertia]}))


def interpreters():
    """Return the peers that can run here, and the Python of each."""
    extra = os.environ.get("MTLV_SKLEARN_EXTRA_PYTHON", ROOT / ".venv-sklearn-extra" / "bin" / "python")
    found = dict.fromkeys(PEERS, sys.executable)
    for name, package in NEEDS.items():
        python = next((each for each in (sys.executable, str(extra)) if _imports(each, package)), None)
        if python is None:
            print(f"{name}: not measured, `{package}` is not here (constraints-sklearn-extra.txt, pip)")
            del found[name]
        else:
            found[name] = python
    return found


def _imports(python, package):
    if not Path(python).is_file():
        return False
    argv = [python, "-c", f"import {package}"]
    return subprocess.run(argv, stderr=subprocess.DEVNULL, check=False).returncode == 0


def measure(items, curves, cpu):
    """Return the seconds of each peer's repeats; fill `curves` and `cpu`."""

    def timed(name, python):
        def run():
            answer = alone([__file__, "--only", name, "--items", str(items)], python=python)
            curves.setdefault(name, answer["inertia"])
            cpu.setdefault(name, []).append(answer["cpu_seconds"])
            return answer["seconds"]

        return run

    return interleaved({name: timed(name, python) for name, python in interpreters().items()}, REPEATS[items])


def claims(values, curves, cpu):
    """Return the claims against `pam`; only those of 2,000 labels have limits."""
    return [claim for items in SIZES for claim in _claims(items, values, curves, cpu)]


def _claims(items, values, curves, cpu):
    row, k_max = f"{items} labels", min(K_MAX, items)
    text = f"k-medoids elbow k = 1..{k_max} on {items:,} labels against scikit-learn-extra's `pam`"
    limit = 20 if items == max(SIZES) else None
    if PAM not in values.get(row, {}):
        why = "scikit-learn-extra is not at hand" if row in values else f"run without {row}"
        return [Claim(text, limit, why=why)]
    found = []
    for ours, held in ((ONE, limit), (TWENTY, None)):
        speed, spent = (median(kind[row][PAM]) / median(kind[row][ours]) for kind in (values, cpu))
        pairs = zip(curves[row][ours], curves[row][PAM], strict=True)
        over = [mine / theirs if theirs else 1 + mine for mine, theirs in pairs]  # inertia is 0 for k = T
        higher = sum(each > 1 + ROUNDING for each in over)
        lower = sum(each < 1 - ROUNDING for each in over)
        why = f"the highest; higher at {higher} k, lower at {lower}"
        least = ROUNDING if limit else None
        way = ours.removeprefix("mtlv, ")
        found += [
            Claim(f"{text}, {way}", held, speed, why=f"{spent:.3g} x of CPU seconds"),
            Claim(f"the same on {items:,}, {way}: inertia above", least, max(over) - 1, "", False, why),
        ]
    return found


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--only", choices=list(PEERS))
    parser.add_argument("--items", type=int, default=0, help="only this number of labels: 20, 200 or 2000")
    args = parser.parse_args()
    if args.only:
        one(args.only, args.items)
        return 0
    values, curves, cpu = {}, {}, {}
    for items in [args.items] if args.items else REPEATS:
        row = f"{items} labels"
        values[row] = measure(items, curves.setdefault(row, {}), cpu.setdefault(row, {}))
    title = f"Elbow, k = 1..{K_MAX} (to the number of labels): seconds"
    details = {"inertia": curves, "cpu_seconds": cpu}
    result = Result("kmedoids_elbow", title, "s", values, details=details)
    result.claims = claims(values, curves, cpu)
    result.setting = {"width": WIDTH, "centres": CENTRES, "threads": os.environ.get("OMP_NUM_THREADS", "all")}
    features = made_up(max(REPEATS))
    result.profile = profiled(lambda: mtlv(1)(features, K_MAX))
    return publish(result)


if __name__ == "__main__":
    sys.exit(main())
