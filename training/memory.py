"""What glibc does with memory that is free again."""

import ctypes

M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3


def keep_freed_memory() -> None:
    """Tells glibc not to hand large freed blocks back to the system.

    Each step of training frees and takes the same hundreds of megabytes;
    getting them back costs a page fault per 4 KiB, a good part of the step.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, 1 << 30)
        mallopt(M_TRIM_THRESHOLD, (1 << 31) - 1)


def release_freed_memory() -> None:
    """Hands all that is free back to the system, between two kinds of work."""
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)
