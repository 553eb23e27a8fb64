"""What glibc does with memory that is free again."""

import ctypes

M_TRIM_THRESHOLD = -1
M_MMAP_MAX = -4
M_ARENA_MAX = -8


def keep_freed_memory() -> None:
    """Tells glibc not to hand freed blocks back to the system.

    Each step of training frees and takes the same hundreds of megabytes, in
    other portions each time; getting them back costs a page fault per 4 KiB,
    as much time as the step itself. So no block is mapped on its own, and
    threads share one heap: those that threads have of their own go back.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_ARENA_MAX, 1)
        mallopt(M_MMAP_MAX, 0)
        mallopt(M_TRIM_THRESHOLD, (1 << 31) - 1)


def release_freed_memory() -> None:
    """Hands all that is free back to the system, between two kinds of work."""
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)
