"""Kinds of task: the meaning of a head's outputs, their losses and scores.

A new kind needs one more module with a class in `KINDS`; CONTRIBUTING.md names the other registries.
"""

from __future__ import annotations

from mtlv.models.kinds.binary import Binary
from mtlv.models.kinds.kind import Kind as Kind
from mtlv.models.kinds.masked import MaskedPieces
from mtlv.models.kinds.multiclass import Multiclass
from mtlv.models.kinds.regression import Regression
from mtlv.models.kinds.tagging import Tagging
from mtlv.models.kinds.tagging_layers import LAYERS
from mtlv.plan.tagging import SCHEMES

KINDS: dict[str, Kind] = {
    "binary": Binary(),
    "multiclass": Multiclass(),
    "regression": Regression(),
    "tagging": Tagging(),
    "mlm": MaskedPieces(),
}


def kinds_with(
    *, tagging_scheme: str, tagging_layer: str, class_weights: str | None = None, adversarial: float = 0.0
) -> dict[str, Kind]:
    """Return `KINDS` with one of `SCHEMES`, of `LAYERS` and of `CLASS_WEIGHTS`, and a weight of `Kind`.

    Raises:
        KeyError: an unknown scheme or layer.
    """
    return {
        **KINDS,
        "binary": Binary(class_weights),
        "multiclass": Multiclass(class_weights),
        "tagging": Tagging(SCHEMES[tagging_scheme], LAYERS[tagging_layer]),
        "mlm": MaskedPieces(adversarial),
    }
