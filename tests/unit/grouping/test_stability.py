"""Stability is scikit-learn's adjusted Rand index, whatever the numbers of the groups."""

from __future__ import annotations

from sklearn.metrics import adjusted_rand_score

from mtlv.grouping import stability


def test_adjusted_rand_index_of_each_variant():
    reference = [0, 0, 1, 1, 2, 2]
    variants = {"renamed": [2, 2, 0, 0, 1, 1], "one group": [0] * 6, "other": [0, 0, 0, 1, 1, 2]}
    found = stability(variants, reference)
    assert found["renamed"] == 1.0
    assert found["one group"] == 0.0
    assert found["other"] == adjusted_rand_score(reference, variants["other"])
