"""Memory that is free again stays with the process."""

from conftest import command

PROGRAM = """
import ctypes, resource, threading
from training.memory import keep_freed_memory

keep_freed_memory()
libc = ctypes.CDLL(None)
libc.malloc.restype = libc.memset.restype = ctypes.c_void_p
libc.memset.argtypes = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t
libc.free.argtypes = [ctypes.c_void_p]
counts = []

def work():
    for megabytes in (90, 40, 70, 30, 50, 90):
        block = libc.malloc(megabytes << 20)
        libc.memset(block, 1, megabytes << 20)
        libc.free(block)
        usage = resource.getrusage(resource.RUSAGE_SELF)
        counts.append(usage.ru_minflt)

thread = threading.Thread(target=work)
thread.start()
thread.join()
print(counts[-1] - counts[0])
"""


def test_blocks_of_a_thread_are_taken_from_the_system_only_once():
    process = command("-c", PROGRAM)
    assert process.returncode == 0, process.stderr.decode()
    # All are smaller than the first; handed back, they would be 50,000 pages.
    assert int(process.stdout) < 1000
