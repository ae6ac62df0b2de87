"""k-medoids: inertia and seconds of the code here, and of the packages that are at hand, side by side.

    python benchmarks/kmedoids_quality.py [items]

`kmedoids` (GPL) is compared where it can be imported, scikit-learn-extra only under NumPy 1.26.
"""

from __future__ import annotations

import platform
import sys
import time

import numpy as np

from mtlv.errors import GroupingError
from mtlv.grouping import GroupingSpec, check_engine, distances
from mtlv.grouping.engines import solve
from mtlv.grouping.kmedoids import kmedoids

KS = (2, 5, 10, 20)


def main(items: int) -> None:
    features = np.random.default_rng(0).normal(size=(items, 16))
    features += 2 * np.random.default_rng(1).normal(size=(8, 16))[np.arange(items) % 8]
    table = distances(features, "euclidean")
    ways = {
        "here, 1 start": lambda k: kmedoids(table, k, restarts=1),
        "here, 20 starts": lambda k: kmedoids(table, k),
        "here, alternate": lambda k: kmedoids(table, k, algorithm="alternate", init="heuristic"),
    }
    for engine in ("kmedoids", "scikit-learn-extra"):
        try:
            check_engine(engine)
        except GroupingError:
            print(f"{engine}: not at hand")
            continue
        spec = GroupingSpec(engine=engine, restarts=1)
        ways[f"{engine}, 1 start"] = lambda k, spec=spec: solve(table, k, spec)
    print(f"{items} items, NumPy {np.__version__}, Python {platform.python_version()}, {platform.machine()}")
    print(f"{'':26}" + "".join(f"{f'k = {k}':>22}" for k in KS))
    for name, way in ways.items():
        cells = []
        for k in KS:
            began = time.perf_counter()
            inertia = way(k).inertia
            cells.append(f"{inertia:>12.4f} {time.perf_counter() - began:>7.3f} s")
        print(f"{name:26}" + "".join(f"{cell:>22}" for cell in cells))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
