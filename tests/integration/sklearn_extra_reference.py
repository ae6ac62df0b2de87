"""What scikit-learn-extra finds on a fixed set of matrices, as JSON on stdout.

Run by the Python of an environment of its own, because the 0.3.0 wheels do not import under NumPy 2:

    python -m venv .venv-sklearn-extra
    .venv-sklearn-extra/bin/pip install scikit-learn-extra==0.3.0 numpy==1.26.4 scikit-learn
    .venv-sklearn-extra/bin/python tests/integration/sklearn_extra_reference.py \
        > tests/unit/grouping/data/sklearn_extra.json
"""

from __future__ import annotations

import json
import sys

import numpy as np

KS = (1, 2, 3, 4, 5, 8)


def cases() -> dict[str, np.ndarray]:
    """Name -> distance matrix [T, T]; rounded, so that every NumPy gives the same numbers."""
    rng = np.random.default_rng(20260101)
    features = {
        "noise 19x384": rng.normal(size=(19, 384)),
        "minmax 23x64": rng.uniform(size=(23, 64)),
        "plane 40x2": rng.normal(size=(40, 2)),
        "blobs 60x5": rng.normal(size=(60, 5)) + 3 * rng.normal(size=(6, 5))[np.arange(60) % 6],
        "blobs 100x3": rng.normal(size=(100, 3)) + 2 * rng.normal(size=(9, 3))[np.arange(100) % 9],
        "skewed 50x4": rng.exponential(size=(50, 4)) ** 2,
        "line 30x1": rng.normal(size=(30, 1)),
        "wide 120x10": rng.normal(size=(120, 10)) * np.arange(1, 11),
    }
    found = {name: np.sqrt(((x[:, None] - x) ** 2).sum(axis=2)).round(6) for name, x in features.items()}
    unit = rng.normal(size=(25, 12))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    cosine = (1 - unit @ unit.T).round(6)
    np.fill_diagonal(cosine, 0)
    found["cosine 25x12"] = np.maximum(cosine, cosine.T)
    return found


def reference() -> dict[str, object]:
    """For each matrix and k: the medoids and inertia of `alternate`, and the least inertia of `pam`."""
    import sklearn
    import sklearn_extra
    from sklearn_extra.cluster import KMedoids

    def solve(matrix, k, **options):
        return KMedoids(n_clusters=k, metric="precomputed", random_state=0, **options).fit(matrix)

    rows = []
    for name, matrix in cases().items():
        for k in KS:
            alternate = solve(matrix, k)  # method alternate, init heuristic: the defaults, as the thesis
            pam = [
                solve(matrix, k, method="pam" if k > 1 else "alternate", init=init).inertia_
                for init in ("heuristic", "build")
            ]
            rows.append(
                {
                    "matrix": name,
                    "k": k,
                    "medoids": sorted(int(medoid) for medoid in alternate.medoid_indices_),
                    "inertia": round(float(alternate.inertia_), 9),
                    "pam_inertia": round(float(min(pam)), 9),
                }
            )
    versions = {
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "scikit-learn-extra": sklearn_extra.__version__,
    }
    return {
        "versions": versions,
        "sums": {n: round(float(m.sum()), 4) for n, m in cases().items()},
        "rows": rows,
    }


def as_text(result: dict[str, object]) -> str:
    """JSON with a row per line."""
    rows = ",\n  ".join(json.dumps(row) for row in result["rows"])
    head = {key: value for key, value in result.items() if key != "rows"}
    return json.dumps(head, indent=1)[:-2] + ',\n "rows": [\n  ' + rows + "\n ]\n}\n"


if __name__ == "__main__":
    sys.stdout.write(as_text(reference()))
