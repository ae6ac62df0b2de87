"""Memory management of the C library during training on a CPU."""

from __future__ import annotations

import ctypes
import ctypes.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3  # malloc.h
MAX_THRESHOLD_BYTES = 2**31 - 1
PAD_BYTES = 64 * 2**20
MIN_KEPT_BYTES = 32 * 2**20
"""Blocks of more bytes are returned when freed: kept among smaller ones of varying sizes, they let memory
grow. It is the most that glibc allows."""


def keep_freed_memory() -> bool:
    """Let glibc keep freed blocks of up to 32 MiB for itself; return whether that could be set.

    A training step frees and allocates similar blocks again. Those returned to the system are allocated page
    by page, in a virtual machine also by its host. Results do not change.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(ctypes.util.find_library("c")), "mallopt", None)
    if mallopt is None:  # musl has none
        return False
    return all(
        mallopt(option, value) == 1
        for option, value in (
            (M_MMAP_THRESHOLD, MIN_KEPT_BYTES),
            (M_TRIM_THRESHOLD, MAX_THRESHOLD_BYTES),
            (M_TOP_PAD, PAD_BYTES),
        )
    )


@contextmanager
def keep_gradients(model: nn.Module) -> Iterator[None]:
    """Write the gradients of large embeddings to the same memory in every step.

    PyTorch allocates a gradient of the whole vocabulary per step, which the system returns page by page. Here
    a backward pass gives a sparse gradient, which is added to a tensor that is kept. The values are equal.
    """
    large = [
        module
        for module in model.modules()
        if isinstance(module, nn.Embedding) and module.weight.requires_grad and not module.sparse
        if module.weight.nbytes > MIN_KEPT_BYTES
    ]
    hooks = [module.weight.register_post_accumulate_grad_hook(_Dense(module.weight)) for module in large]
    for module in large:
        module.sparse = True
    try:
        yield
    finally:
        for module, hook in zip(large, hooks, strict=True):
            module.sparse = False
            hook.remove()


class _Dense:
    """Replaces a sparse gradient of a weight [V, H] by a dense one, always in the same memory."""

    def __init__(self, weight: torch.Tensor) -> None:
        self.gradient = torch.zeros_like(weight, requires_grad=False)

    def __call__(self, weight: torch.Tensor) -> None:
        sparse = weight.grad  # dense in a later part of a step, or if the weight is tied
        if sparse is None or not sparse.is_sparse:
            return
        self.gradient.zero_().index_add_(0, sparse._indices()[0], sparse._values())
        weight.grad = self.gradient
