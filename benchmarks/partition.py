"""Time to find the best partition of tasks by gains of pairs: python benchmarks/partition.py; 4 minutes

Gains are synthetic. `noise`: normal, which is hard; `planted`: the same, but groups of about five tasks help
each other and harm the rest. On 16 tasks, local search is compared with dynamic programming.
"""

from __future__ import annotations

import os
import sys
from statistics import median

import numpy as np
from harness import Claim, Result, interleaved, profiled, publish, seconds, sized

from mtlv.grouping import PairMeans, PairSums, best_partition
from mtlv.grouping.local_search import local_search

CASES = sized(
    {
        "16 tasks": (16, None),
        "16 tasks, k = 4": (16, 4),
        "18 tasks": (18, None),
        "18 tasks, k = 5": (18, 5),
        "20 tasks": (20, None),
    }
    | {"30 tasks": (30, None), "200 tasks": (200, None), "200 tasks, k = 20": (200, 20)},
    {"8 tasks": (8, None), "40 tasks": (40, None)},
)
LIMITS = {
    "16 tasks": 5,
    "16 tasks, k = 4": 5,
    "18 tasks": 30,
    "18 tasks, k = 5": 30,
    "200 tasks": 30,
    "200 tasks, k = 20": 30,
}
REPEATS = sized(3, 1)  # for up to 18 tasks; one for more
SEEDS = sized(10, 1)  # draws of gains on which local search is compared
VALUES = {"mean": PairMeans, "sum": PairSums}


def gains(items: int, kind: str, seed: int = 0) -> np.ndarray:
    """Return gains [T, T]."""
    rng = np.random.default_rng(seed)
    group = rng.integers(max(items // 5, 1), size=items)
    planted = np.where(group[:, None] == group, 1.0, -1.0)
    return rng.normal(size=(items, items)) + planted * (kind == "planted")


def measure(items, k, found):
    """Return the seconds of each kind of gains and value."""

    def timed(kind, value):
        def run():
            return seconds(lambda: found.update({name: best_partition(VALUES[value](table), k=k)}))

        table, name = gains(items, kind), f"{kind}, {value}"
        return run

    peers = {f"{kind}, {value}": timed(kind, value) for kind in ("noise", "planted") for value in VALUES}
    return interleaved(peers, REPEATS if items <= 18 else 1)


def missed(items):
    """Return how often local search from 50 starts is below dynamic programming, and the number of draws."""
    below = 0
    for seed in range(SEEDS):
        for value in VALUES.values():
            asked = value(gains(items, "noise", seed))
            labels, _ = local_search(asked, None, starts=50, seed=0)
            member = np.eye(items, dtype=bool)[list(labels)].T
            below += bool(asked.of(member).sum() < best_partition(asked).value - 1e-9)
    return below, SEEDS * len(VALUES)


def main() -> int:
    values, details = {}, {}
    for name, (items, k) in CASES.items():
        found = {}
        values[name] = measure(items, k, found)
        details[name] = {
            kind: {"value": each.value, "how": each.how, "proven": each.proven}
            for kind, each in found.items()
        }
    claims = [
        Claim(
            f"best partition of {name}, slowest of four kinds of gains",
            LIMITS.get(name),
            max(median(taken) for taken in values[name].values()),
            "s",
            at_least=False,
        )
        for name in CASES
    ]
    items = sized(16, 8)
    below, of = missed(items)
    why = f"of {of} draws of noise"
    claims.append(
        Claim(f"local search below the best partition, {items} tasks", None, below, "draws", why=why)
    )
    result = Result("partition", "The best partition by gains of pairs: seconds", "s", values, claims)
    result.details = details
    result.setting = {"starts": 50, "threads": os.environ.get("OMP_NUM_THREADS", "all")}
    table = PairMeans(gains(sized(200, 24), "noise"))
    result.profile = profiled(lambda: best_partition(table))
    return publish(result)


if __name__ == "__main__":
    sys.exit(main())
