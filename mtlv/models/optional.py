"""Layers that need an optional package; nothing heavy is imported."""

from __future__ import annotations

from importlib.util import find_spec

from mtlv.errors import PlanError

PACKAGES = {"crf": ("torchcrf", "pytorch-crf")}
"""Tagging layer -> imported module and name of the package."""


def check_layer(layer: str) -> None:
    """Check that a tagging layer can be built.

    Raises:
        PlanError: its package is not installed.
    """
    if layer in PACKAGES and find_spec(PACKAGES[layer][0]) is None:
        raise missing(layer)


UNTAUGHT = {"crf": "its loss is of whole sequences of tags, while a teacher scores each word by itself"}
"""Tagging layer -> why it cannot learn from a teacher."""


def check_taught(layer: str) -> None:
    """Check that a tagging layer can learn from a teacher.

    Raises:
        PlanError: it cannot.
    """
    if layer in UNTAUGHT:
        raise PlanError(
            f"`training.teach` with tagging tasks and `heads.tagging_layer: {layer}`: {UNTAUGHT[layer]}",
            got=layer,
            allowed="linear or bilstm",
            then="set one of these, or leave the tagging tasks out of the stage with `tasks`",
        )


def missing(layer: str) -> PlanError:
    """Return the error for a missing package of a tagging layer."""
    return PlanError(
        f"`heads.tagging_layer: {layer}` needs the package {PACKAGES[layer][1]}",
        then=f"install it: pip install 'mtlv[{layer}]'",
    )
