"""Engines for k-medoids: the code here, or scikit-learn-extra."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from mtlv.errors import GroupingError
from mtlv.grouping.kmedoids import Indices, Matrix, Medoids, assign_to_medoids, kmedoids
from mtlv.grouping.spec import GroupingSpec


def solve(distances: Matrix, k: int, spec: GroupingSpec, *, built: Indices | None = None) -> Medoids:
    """Find k medoids with the engine of `spec`; `algorithm`, `init` and `restarts` mean the same for each.

    Raises:
        GroupingError: the engine cannot be imported.
    """
    if spec.engine == "scikit-learn-extra":
        return _scikit_learn_extra(distances, k, spec)
    return kmedoids(distances, k, spec, built=built)


def _scikit_learn_extra(distances: Matrix, k: int, spec: GroupingSpec) -> Medoids:
    """Use KMedoids of scikit-learn-extra; for `fasterpam`, which it lacks, PAM (same swaps, best first)."""
    package = _load()
    method = "pam" if spec.algorithm == "fasterpam" and k > 1 else "alternate"
    inits: list[str] = [spec.init] if spec.init != "random" else []
    if spec.init == "random" or method == "pam":
        inits += ["random"] * max(spec.restarts - len(inits), 1 - len(inits))
    results = []
    for number, init in enumerate(inits):
        model = package.KMedoids(
            n_clusters=k, metric="precomputed", method=method, init=init, random_state=spec.seed + number
        )
        model.fit(distances)
        results.append(assign_to_medoids(distances, np.asarray(model.medoid_indices_)))
    return min(results, key=lambda result: result.inertia)


def check_engine(engine: str) -> None:
    """Raise an error with the reason and a solution if an engine cannot be imported."""
    if engine != "builtin":
        _load()


def _load() -> Any:
    try:
        return importlib.import_module("sklearn_extra.cluster")
    except (ImportError, ValueError) as error:  # ValueError: the wheel was built for another NumPy
        raise GroupingError(
            "`grouping.engine: scikit-learn-extra` cannot be imported here: its 0.3.0 wheels do not import "
            "under NumPy 2 (dtype size error) and do under NumPy 1.26.4 with scikit-learn 1.9",
            got=f"NumPy {np.__version__}",
            then="make an environment of its own with `pip install scikit-learn-extra==0.3.0 numpy==1.26.4`, "
            f"or set `grouping.engine: builtin`, which needs nothing; the import said: {error}",
        ) from error
