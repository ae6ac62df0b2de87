"""Layers that need a package which not everyone has; nothing heavy is imported."""

from __future__ import annotations

from importlib.util import find_spec

from mtlv.errors import PlanError

PACKAGES = {"crf": ("torchcrf", "pytorch-crf")}
"""Tagging layer -> what it imports, and the name of the package."""


def check_layer(layer: str) -> None:
    """Whether a tagging layer can be built here.

    Raises:
        PlanError: its package is not installed.
    """
    if layer in PACKAGES and find_spec(PACKAGES[layer][0]) is None:
        raise missing(layer)


def missing(layer: str) -> PlanError:
    """The package of a tagging layer is not installed."""
    return PlanError(
        f"`heads.tagging_layer: {layer}` needs the package {PACKAGES[layer][1]}",
        then=f"install it: pip install 'mtlv[{layer}]'",
    )
