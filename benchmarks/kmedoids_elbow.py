"""The elbow of k = 1..50 on 20, 200 and 2,000 labels: python benchmarks/kmedoids_elbow.py; about 10 minutes

Label vectors are made up: 384 wide, around 40 centres, each dimension scaled to [0, 1]. Each peer computes
the curve in a process of its own, imports not counted; `mtlv` with distances and silhouettes. Where
scikit-learn-extra is (its `pam`, from BUILD) says MTLV_SKLEARN_EXTRA_PYTHON, else it is looked for in the
environment of `make test-sklearn-extra`. The package `kmedoids` is under the GPL: it is measured where it is
installed, and nothing here needs it. scikit-learn's KMeans minimises squares: its curve is another one.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

import numpy as np
from harness import ROOT, Claim, Result, alone, interleaved, profiled, publish

K_MAX, WIDTH, CENTRES = 50, 384, 40
REPEATS = {20: 5, 200: 3, 2000: 1}
PAM, ONE, TWENTY = "scikit-learn-extra, pam", "mtlv, 1 start", "mtlv, 20 starts (default)"


def made_up(items):
    """Label vectors [T, D]."""
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
    found = [float(table.sum(axis=1).min())]  # its `pam` refuses k = 1
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


PEERS = {
    ONE: mtlv(1),
    TWENTY: mtlv(20),
    PAM: pam,
    "kmedoids (GPL), 1 start": fasterpam,
    "scikit-learn, KMeans": kmeans,
}


def one(name, items):
    """Print a peer's seconds and curve as JSON."""
    features = made_up(items)
    PEERS[name](made_up(12), 3)  # imports, and the first calls of libraries
    begun, cpu = time.perf_counter(), time.process_time()
    inertia = PEERS[name](features, min(K_MAX, items))
    took = {"seconds": time.perf_counter() - begun, "cpu_seconds": time.process_time() - cpu}
    print(json.dumps(took | {"inertia": [float(value) for value in inertia]}))


def interpreters():
    """The peers that can run here, and the Python of each."""
    extra = os.environ.get("MTLV_SKLEARN_EXTRA_PYTHON", ROOT / ".venv-sklearn-extra" / "bin" / "python")
    found = dict.fromkeys(PEERS, sys.executable)
    if not Path(extra).is_file():
        print(f"{PAM}: not measured, `make test-sklearn-extra` makes its environment")
        del found[PAM]
    else:
        found[PAM] = str(extra)
    try:
        import kmedoids  # noqa: F401
    except ImportError:
        del found["kmedoids (GPL), 1 start"]
    return found


def measure(items, curves, cpu):
    """Seconds of each peer's repeats."""

    def timed(name, python):
        def run():
            answer = alone([__file__, "--only", name, "--items", str(items)], python=python)
            curves.setdefault(name, answer["inertia"])
            cpu.setdefault(name, []).append(answer["cpu_seconds"])
            return answer["seconds"]

        return run

    return interleaved({name: timed(name, python) for name, python in interpreters().items()}, REPEATS[items])


def claims(result, curves):
    """What is claimed of the largest case, against `pam` where that could run."""
    row, text = "2000 labels", "k-medoids elbow k = 1..50 on 2,000 labels against scikit-learn-extra's `pam`"
    if PAM not in result.values.get(row, {}):
        why = "scikit-learn-extra is not at hand" if row in result.values else f"run without {row}"
        return [Claim(text, 20, why=why)]
    worst = max(ours / theirs for ours, theirs in zip(curves[ONE], curves[PAM], strict=True))
    default = max(ours / theirs for ours, theirs in zip(curves[TWENTY], curves[PAM], strict=True))
    about = "highest of k = 1..50"
    return [
        Claim(text, 20, result.ratio(row, PAM, ONE), why="from one start, as `pam`"),
        Claim("its inertia over that of `pam`", 1 + 1e-9, worst, at_least=False, why=about),
        Claim("the same with the default's 20 starts, speed", None, result.ratio(row, PAM, TWENTY)),
        Claim("the same with the default's 20 starts, inertia", 1 + 1e-9, default, at_least=False, why=about),
    ]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=list(PEERS))
    parser.add_argument("--items", type=int, default=0, help="only so many labels: 20, 200 or 2000")
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
    result = Result("kmedoids_elbow", title, "s", values, details=details, log=True)
    result.claims = claims(result, curves.get("2000 labels", {}))
    result.setting = {"width": WIDTH, "centres": CENTRES, "threads": os.environ.get("OMP_NUM_THREADS", "all")}
    features = made_up(2000)
    result.profile = profiled(lambda: mtlv(1)(features, K_MAX))
    return publish(result)


if __name__ == "__main__":
    sys.exit(main())
