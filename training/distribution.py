"""Training on several devices or machines: strategies of tf.distribute."""

import contextlib
import json
import os
import socket
import time
from collections.abc import Callable, Iterator

import tensorflow as tf

from tfxformer.errors import InputError
from training.config import TrainingConfig
from training.progress import duration, say

LOST_WORKER = (
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
    tf.errors.UnavailableError,
)
MARGIN = 5  # seconds in which the first worker may say that one is missing


class _KerasReduce:
    """With this way of reducing, Keras can `fit` batches of unequal shapes.

    It reduces the tuple of a batch, of which it only needs the shapes, and,
    with several workers, scalars along an axis that they do not have
    (tensorflow#72388).
    """

    def reduce(self, reduce_op, value, axis=None):
        if isinstance(value, tuple | list | dict):
            return tf.nest.map_structure(
                lambda v: self.experimental_local_results(v)[0], value
            )
        local = self.experimental_local_results(value)
        if axis is not None and all(v.shape.rank == 0 for v in local):
            axis = None
        return super().reduce(reduce_op, value, axis)


class _Mirrored(_KerasReduce, tf.distribute.MirroredStrategy):
    pass


class _MultiWorkerMirrored(
    _KerasReduce, tf.distribute.MultiWorkerMirroredStrategy
):
    pass


class Replicas:
    """The devices that train one model together.

    Args:
        settings: the recipe's `training`.

    Attributes:
        strategy: a `tf.distribute.Strategy`; None: nothing is shared.
        worker: int. Number of this worker, from 0.
        num_workers: int.
        count: int. Replicas on all workers.

    Raises:
        InputError: if `TF_CONFIG` is missing or damaged, or if not all
            workers come in time.
        OSError: if the first worker cannot listen at its address.
    """

    def __init__(self, settings: TrainingConfig):
        self.strategy = None
        self.worker, self.num_workers = 0, 1
        if settings.distribution == "mirrored":
            devices = tf.config.list_logical_devices("GPU")
            devices = devices or tf.config.list_logical_devices("CPU")
            self.strategy = _Mirrored([device.name for device in devices])
        elif settings.distribution == "multi_worker":
            self.worker, addresses = read_cluster()
            self.num_workers = len(addresses)
            meet(settings.wait_for_workers, addresses, self.worker)
            self.strategy = _MultiWorkerMirrored()
        self.count = 1
        if self.strategy is not None:
            self.count = self.strategy.num_replicas_in_sync

    @property
    def is_chief(self) -> bool:
        """Whether it is this worker that writes."""
        return self.worker == 0

    def scope(self):
        """Context in which the model is made.

        Returns:
            A context manager.
        """
        if self.strategy is None:
            return contextlib.nullcontext()
        return self.strategy.scope()

    def distribute(
        self, make_dataset: Callable[[int, int], tf.data.Dataset]
    ) -> tf.data.Dataset:
        """The dataset of `fit`.

        Args:
            make_dataset: function of the number of a replica and the number
                of replicas; gives the part of that replica.

        Returns:
            A dataset, distributed if there are several replicas.
        """
        if self.strategy is None:
            return make_dataset(0, 1)
        local = self.count // self.num_workers

        def parts(context):
            first = context.input_pipeline_id * local
            datasets = [
                make_dataset(first + number, self.count)
                for number in range(local)
            ]
            if local == 1:
                return datasets[0]
            turns = tf.data.Dataset.range(local).repeat()
            return tf.data.Dataset.choose_from_datasets(datasets, turns)

        return self.strategy.distribute_datasets_from_function(parts)

    @contextlib.contextmanager
    def explain_loss(self) -> Iterator[None]:
        """Turns the error that a worker is gone into one line.

        Raises:
            InputError: saying what to do.
        """
        try:
            yield
        except LOST_WORKER as error:
            if self.num_workers == 1:
                raise
            reason = str(error).strip().split("\n")[0][:200]
            raise InputError(
                "the connection to another worker is lost; start all of them "
                f"again with --resume ({reason})"
            ) from None

    def check_equal(self, number: int, what: str) -> None:
        """Compares a number with that of the other workers.

        Args:
            number: int.
            what: string. What to say that differs.

        Raises:
            InputError: if one has another number.
        """
        if self.num_workers == 1:
            return

        @tf.function
        def gather():
            replica = tf.distribute.get_replica_context()
            return replica.all_gather(tf.constant([number], tf.int64), axis=0)

        assert self.strategy is not None
        gathered = self.strategy.run(gather)
        local = self.strategy.experimental_local_results(gathered)[0]
        numbers = local.numpy().tolist()
        if len(set(numbers)) > 1:
            raise InputError(
                f"the workers differ in {what}; they must see the same files. "
                f"Received: {numbers}"
            )


def read_cluster() -> tuple[int, list[str]]:
    """Reads `TF_CONFIG`.

    Returns:
        Tuple of the number of this worker and the addresses of all.

    Raises:
        InputError: if it is missing or damaged.
    """
    example = (
        '{"cluster": {"worker": ["host1:12345", "host2:12345"]}, '
        '"task": {"type": "worker", "index": 0}}'
    )
    text = os.environ.get("TF_CONFIG")
    if not text:
        raise InputError(
            "training.distribution: multi_worker needs TF_CONFIG in the "
            f"environment of each worker, such as {example}"
        )
    try:
        config = json.loads(text)
        cluster, task = config["cluster"], config["task"]
        addresses = [
            *cluster.get("chief", []),
            *cluster["worker"],
        ]
        worker = int(task["index"])
        if "chief" in cluster and task["type"] == "worker":
            worker += 1
        ports = [int(address.rsplit(":", 1)[1]) for address in addresses]
        sound = (
            task["type"] in cluster
            and 0 <= worker < len(addresses)
            and all(0 < port < 1 << 16 for port in ports)
        )
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        sound = False
    if not sound:
        raise InputError(
            f"TF_CONFIG: expected something like {example}. Received: {text}"
        )
    return worker, addresses


def meet(seconds: int, addresses: list[str], worker: int) -> None:
    """Waits until all workers have started; TensorFlow would for ever.

    They meet at the address of the first one, before TensorFlow uses it.

    Args:
        seconds: int. How long to wait.
        addresses: list of strings, HOST:PORT of each worker.
        worker: int. Number of this worker.

    Raises:
        InputError: if not all come in time, naming those that are missing.
        OSError: if the first worker cannot listen at its port.
    """
    end = time.monotonic() + seconds
    host, port = addresses[0].rsplit(":", 1)
    say(f"Waiting for {len(addresses)} workers: {', '.join(addresses)}")
    if worker == 0:
        there = _receive(int(port), len(addresses) - 1, end)
    else:
        there = _present(host, int(port), worker, end)
    missing = sorted(set(range(len(addresses))) - there)
    if missing:
        names = ", ".join(f"{n} ({addresses[n]})" for n in missing)
        raise InputError(
            f"after {duration(seconds)} not all of the {len(addresses)} "
            f"workers in TF_CONFIG have come; missing: {names}. Start them, "
            "or take them out of TF_CONFIG"
        )


def _receive(port: int, count: int, end: float) -> set[int]:
    """Waits for other workers, and lets them go when all are there."""
    there: dict[int, socket.socket] = {}
    with (
        socket.create_server(("", port)) as server,
        contextlib.ExitStack() as stack,
    ):
        while len(there) < count and (left := end - time.monotonic()) > 0:
            server.settimeout(left)
            with contextlib.suppress(TimeoutError, ValueError):
                connection, _ = server.accept()
                stack.enter_context(connection)
                connection.settimeout(5)
                there[int(connection.recv(16))] = connection
        for connection in there.values():
            with contextlib.suppress(OSError):
                connection.sendall(json.dumps([0, *there]).encode())
    return {0, *there}


def _present(host: str, port: int, worker: int, end: float) -> set[int]:
    """Goes to the first worker, and waits until it knows who is there."""
    there = {worker}
    while (left := end + MARGIN - time.monotonic()) > 0 and 0 not in there:
        try:
            with socket.create_connection((host, port), left) as connection:
                connection.sendall(str(worker).encode())
                there |= set(json.loads(connection.recv(1 << 16)))
        except (OSError, ValueError):
            time.sleep(0.2)
    return there
