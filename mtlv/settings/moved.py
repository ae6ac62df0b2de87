"""Names that a config could have at the tag v0.2-full, and what to do instead."""

from __future__ import annotations

TAG = "git tag v0.2-full still has it"
LAB = "it is in the package mtlv-lab: `pip install ./lab` in a checkout of mtlv"
KEYS = {
    "explore": f"draw random groups in `runs`, and predict from them with mtlv-lab (lab/README.md); {TAG}",
    "grouping.place": TAG,
    "training.probe": TAG,
    "evaluation.transferability": TAG,
    "execution.devices_per_unit": f"a unit is trained on one device; {TAG}",
}
FEATURES = {
    "gradient_affinity": TAG,
    "probe_weights": LAB,
    "rank_probe": LAB,
    "task_vectors": LAB,
    "h_score": LAB,
    "log_me": LAB,
    "leep": LAB,
    "merge_gain": LAB,
    "surrogate": LAB,
}


def moved_key(key: str) -> str:
    """Return the next step for an unknown dotted key; empty if it never was one."""
    return next((step for name, step in KEYS.items() if f".{name}." in f".{key}."), "")
