"""An encoder whose training steps are few large kernels, by PyTorch's compiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Compile = Callable[[Any], Callable[..., Any]]
"""An encoder -> what computes the same."""
MULTIPLE = 8
"""Tokens that the length of a batch is a multiple of: for each length CUDA graphs are recorded anew."""


def with_cuda_graphs(encoder: Any) -> Callable[..., Any]:
    """Compiled for any number of documents and tokens, and launched as CUDA graphs.

    Only the encoder: it knows no task, so that models of other tasks in the same process share its code.
    """
    # Graphs for many lengths are meant: no warning.
    options: dict[str, Any] = {"triton.cudagraphs": True, "triton.cudagraph_dynamic_shape_warn_limit": None}
    return torch.compile(encoder, dynamic=True, options=options)
