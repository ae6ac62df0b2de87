"""Memory management of the C library during training on a CPU."""

from __future__ import annotations

import ctypes
import ctypes.util
import sys

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3  # malloc.h
LARGEST = 2**31 - 1
PAD = 64 * 2**20
KEPT = 32 * 2**20
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
        for option, value in ((M_MMAP_THRESHOLD, KEPT), (M_TRIM_THRESHOLD, LARGEST), (M_TOP_PAD, PAD))
    )
