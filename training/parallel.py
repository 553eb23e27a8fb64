"""Work on a stream in several processes, in order."""

import collections
import concurrent.futures
import itertools
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from typing import Any

_worker: dict[str, Callable[[Any], Any]] = {}  # of this process


def ordered_map(
    function: Callable[[Any], Any], items: Iterable[Any], alone: int = 16
) -> Iterator[Any]:
    """Applies a function to items, with one process per core if there are many.

    Args:
        function: a picklable callable; each process gets a copy once.
        items: iterable. Only a few are read ahead.
        alone: int. Number of items to do in this process, before others are
            started, which takes a second.

    Yields:
        Results, in the order of the items.
    """
    items = iter(items)
    for item in itertools.islice(items, alone):
        yield function(item)
    more = list(itertools.islice(items, 1))
    if not more:
        return
    cores = len(os.sched_getaffinity(0))
    items = itertools.chain(more, items)
    if cores == 1:
        yield from map(function, items)
        return
    executor = concurrent.futures.ProcessPoolExecutor(
        cores,
        # Forking is not safe once TensorFlow has started its threads.
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start,
        initargs=(function,),
    )
    try:
        waiting: collections.deque[concurrent.futures.Future] = (
            collections.deque()
        )
        for item in items:
            waiting.append(executor.submit(_apply, item))
            if len(waiting) > 2 * cores:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        executor.shutdown(cancel_futures=True)


def _start(function: Callable[[Any], Any]) -> None:
    _worker["function"] = function
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process ends us


def _apply(item: Any) -> Any:
    return _worker["function"](item)
