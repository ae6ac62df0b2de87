"""k-medoids: inertia of `mtlv` and of the packages at hand: python benchmarks/kmedoids_quality.py [items]

A minute. `kmedoids` (GPL) is compared where it can be imported, scikit-learn-extra only under NumPy 1.26. For
seconds see kmedoids_elbow.py.
"""

from __future__ import annotations

import sys

import numpy as np
from harness import Claim, Result, profiled, publish, sized

from mtlv.errors import GroupingError
from mtlv.grouping import GroupingSpec, check_engine, distances
from mtlv.grouping.engines import solve
from mtlv.grouping.kmedoids import kmedoids

KS = (2, 5, 10, 20)
DEFAULT = "mtlv, 20 starts (default)"


def ways(table):
    """Name -> inertia for a k."""
    found = {
        "mtlv, 1 start": lambda k: kmedoids(table, k, restarts=1),
        DEFAULT: lambda k: kmedoids(table, k),
        "mtlv, alternate": lambda k: kmedoids(table, k, algorithm="alternate", init="heuristic"),
    }
    for engine in ("kmedoids", "scikit-learn-extra"):
        try:
            check_engine(engine)
        except GroupingError:
            print(f"{engine}: not at hand")
            continue
        spec = GroupingSpec(engine=engine, restarts=1)
        found[f"{engine}, 1 start"] = lambda k, spec=spec: solve(table, k, spec)
    return found


def main(items: int) -> int:
    features = np.random.default_rng(0).normal(size=(items, 16))
    features += 2 * np.random.default_rng(1).normal(size=(8, 16))[np.arange(items) % 8]
    peers = ways(distances(features, "euclidean"))
    values = {f"k = {k}": {name: [way(k).inertia] for name, way in peers.items()} for k in KS}
    worst = max(row[DEFAULT][0] / min(found[0] for found in row.values()) for row in values.values())
    claim = Claim("k-medoids' inertia over the lowest of all ways", 1 + 1e-9, worst, at_least=False)
    title = f"k-medoids of {items} items: inertia (lower is better)"
    result = Result("kmedoids_quality", title, "inertia", values, [claim], {"items": items}, apart=True)
    result.profile = profiled(lambda: peers[DEFAULT](KS[-1]))
    return publish(result)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else sized(200, 30)))
