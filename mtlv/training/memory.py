"""Memory management of the C library during training on a CPU."""

from __future__ import annotations

import ctypes
import ctypes.util
import sys

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4  # malloc.h
LARGEST = 2**31 - 1
PAD = 64 * 2**20


def keep_freed_memory() -> bool:
    """Let glibc keep freed memory instead of returning it to the system; return whether that could be set.

    A training step frees and allocates the same large blocks again (the gradient of the word embeddings alone
    is as large as the embeddings). Returned blocks are allocated again by the system page by page, and in a
    virtual machine by its host. Results do not change; the process keeps its peak memory until it ends.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(ctypes.util.find_library("c")), "mallopt", None)
    if mallopt is None:  # musl has none
        return False
    return all(
        mallopt(option, value) == 1
        for option, value in ((M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, LARGEST), (M_TOP_PAD, PAD))
    )
