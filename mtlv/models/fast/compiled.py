"""An encoder whose training steps are compiled by PyTorch to a few large kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Compile = Callable[[Any], Callable[..., Any]]
"""Function from an encoder to an equivalent callable."""
MULTIPLE = 8
"""Batch lengths are multiples of this many tokens, because CUDA graphs are recorded for each length."""


def with_cuda_graphs(encoder: Any) -> Callable[..., Any]:
    """Compile an encoder for any number of documents and tokens, with CUDA graphs.

    Only the encoder is compiled, so that models of other tasks in the same process share its code.
    """
    # Graphs for many lengths are intended: no warning.
    options: dict[str, Any] = {"triton.cudagraphs": True, "triton.cudagraph_dynamic_shape_warn_limit": None}
    return torch.compile(encoder, dynamic=True, options=options)
