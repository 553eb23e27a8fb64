"""Several replicas and workers on this machine train one and the same model."""

import json
import os
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from conftest import ROOT, call

from tfxformer import InputError, load_run
from training.checkpoint import checkpoint_paths
from training.distribution import meet, read_cluster

SETTINGS = [
    "name=shared",
    "training.epochs=2",
    "training.steps_per_epoch=null",
    "training.max_tokens=300",
    "training.clip_norm=1.0",
    "training.checkpoint_every=5",
    "training.average_last=1",
    "model.num_layers=1",
    "model.dropout=0.0",
]


def settings(folder, output):
    return [
        str(folder / "recipe.yaml"),
        f"data.folder={folder}",
        f"output={output}",
        *SETTINGS,
    ]


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for some in sockets:
        some.bind(("127.0.0.1", 0))
    ports = [some.getsockname()[1] for some in sockets]
    for some in sockets:
        some.close()
    return ports


def start_workers(arguments, count=2, started=None):
    addresses = [f"127.0.0.1:{port}" for port in free_ports(count)]
    processes = []
    for index in range(count if started is None else started):
        config = {
            "cluster": {"worker": addresses},
            "task": {"type": "worker", "index": index},
        }
        processes.append(
            subprocess.Popen(
                [sys.executable, *map(str, arguments)],
                env={
                    **os.environ,
                    "PYTHONPATH": str(ROOT),
                    "TF_CONFIG": json.dumps(config),
                },
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
                text=True,
            )
        )
    return processes


def finish(processes, seconds=200):
    try:
        return [
            process.communicate(timeout=seconds)[0] for process in processes
        ]
    finally:
        for process in processes:
            process.kill()


@pytest.fixture(scope="module")
def alone(corpus_folder, tmp_path_factory):
    output = tmp_path_factory.mktemp("alone")
    process = call("training.__main__", *settings(corpus_folder, output))
    assert process.returncode == 0, process.stderr.decode()
    return output / "shared"


def records(run):
    lines = (run / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def assert_same_training(run, alone):
    for ours, theirs in zip(records(run), records(alone), strict=True):
        assert ours["step"] == theirs["step"]
        for name in ("loss", "accuracy", "val_loss", "val_accuracy"):
            assert ours[name] == pytest.approx(theirs[name], rel=1e-4), name
    models = [load_run(folder, "last").model for folder in (run, alone)]
    for one, other in zip(*(model.weights for model in models), strict=True):
        # Softmax does not see the bias of the keys: its gradient is noise,
        # which Adam makes as large as any other.
        if not one.path.endswith("key/bias"):
            np.testing.assert_allclose(one, other, atol=1e-5, err_msg=one.path)


def test_two_workers_are_killed_restarted_and_train_as_one(
    corpus_folder, tmp_path, alone
):
    command = [
        "-m", "training", *settings(corpus_folder, tmp_path),
        "training.distribution=multi_worker", "--resume",
    ]  # fmt: skip
    incomplete = tmp_path / "shared.incomplete"
    workers = start_workers(command)
    deadline = time.monotonic() + 120
    while not checkpoint_paths(incomplete):
        alive = all(worker.poll() is None for worker in workers)
        assert alive and time.monotonic() < deadline, finish(workers, 20)
        time.sleep(0.02)
    workers[1].kill()
    chief, _ = finish(workers, 60)
    assert workers[0].returncode == 2, chief
    assert "start all of them again with --resume" in chief
    assert not (tmp_path / "shared").exists()

    workers = start_workers(command)
    texts = finish(workers)
    assert [worker.returncode for worker in workers] == [0, 0], texts
    for text in texts:
        assert "2 replicas, from update" in text
        assert "Traceback" not in text
    assert_same_training(tmp_path / "shared", alone)


MIRRORED = """
import sys, tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
two = [tf.config.LogicalDeviceConfiguration()] * 2
tf.config.set_logical_device_configuration(cpu, two)
from training.__main__ import main
main(sys.argv[1:])
"""


def train_on_two_devices(arguments):
    process = subprocess.run(
        [
            sys.executable, "-c", MIRRORED, *arguments,
            "training.distribution=mirrored",
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, cwd=ROOT, text=True, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    assert "2 replicas" in process.stderr


def test_two_devices_train_as_one(corpus_folder, tmp_path, alone):
    train_on_two_devices(settings(corpus_folder, tmp_path))
    assert_same_training(tmp_path / "shared", alone)


def test_a_batch_of_one_pair_on_two_devices(corpus_folder, pairs, tmp_path):
    """The replica for which nothing is left counts as nothing."""
    small = ["training.max_tokens=25", "training.epochs=1"]
    one, two = tmp_path / "one", tmp_path / "two"
    process = call("training.__main__", *settings(corpus_folder, one), *small)
    assert process.returncode == 0, process.stderr.decode()
    train_on_two_devices([*settings(corpus_folder, two), *small])
    # More batches than half the pairs: some hold one pair only.
    assert len(pairs) > records(two / "shared")[-1]["step"] > len(pairs) / 2
    assert_same_training(two / "shared", one / "shared")


CHECK = """
import sys
from tfxformer.quiet import import_tensorflow
import_tensorflow()
from training.config import TrainingConfig
from training.distribution import Replicas
replicas = Replicas(TrainingConfig(distribution="multi_worker"))
replicas.check_equal(5, "nothing")
try:
    replicas.check_equal((1 << 59) + replicas.worker, "the number")
except Exception as error:
    print(type(error).__name__, error)
"""


def test_workers_that_differ_say_so():
    texts = finish(start_workers(["-c", CHECK]))
    for text in texts:
        last = text.splitlines()[-1]
        assert last.startswith("InputError the workers differ in the number")
        assert f"{1 << 59}, {(1 << 59) + 1}" in last


def test_workers_that_do_not_come():
    """Of three, the last never starts: the two others say so and end."""
    addresses = [f"127.0.0.1:{port}" for port in free_ports(3)]
    errors = {}

    def come(worker):
        try:
            meet(2, addresses, worker)
        except InputError as error:
            errors[worker] = str(error)

    threads = [threading.Thread(target=come, args=(i,)) for i in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert set(errors) == {0, 1}
    for message in errors.values():
        assert "after 2 s not all of the 3 workers" in message
        assert f"missing: 2 ({addresses[2]})" in message


def test_the_first_worker_does_not_come(monkeypatch):
    monkeypatch.setattr("training.distribution.MARGIN", 0.1)
    addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]
    with pytest.raises(InputError, match=r"missing: 0 \(127"):
        meet(1, addresses, 1)


@pytest.mark.parametrize(
    "config",
    [
        None,
        "",
        "{",
        "[]",
        '{"cluster": {}, "task": {}}',
        '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker"}}',
        '{"cluster": {"worker": ["a:1"]},'
        ' "task": {"type": "worker", "index": 1}}',
        '{"cluster": {"worker": ["a"]},'
        ' "task": {"type": "worker", "index": 0}}',
        '{"cluster": {"worker": ["a:99999"]},'
        ' "task": {"type": "worker", "index": 0}}',
        '{"cluster": {"worker": ["a:1"]},'
        ' "task": {"type": "worker", "index": -1}}',
        '{"cluster": {"worker": ["a:1"]}, "task": {"type": "ps", "index": 0}}',
        '{"cluster": {"worker": ["a:http"]},'
        ' "task": {"type": "worker", "index": 0}}',
    ],
)
def test_a_cluster_that_is_not_described(monkeypatch, config):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    if config is not None:
        monkeypatch.setenv("TF_CONFIG", config)
    with pytest.raises(InputError, match="TF_CONFIG") as error:
        read_cluster()
    assert '"index": 0' in str(error.value)


def test_the_chief_comes_first(monkeypatch):
    cluster = {"chief": ["c:1"], "worker": ["a:1", "b:1"]}
    for kind, index, number in [("chief", 0, 0), ("worker", 1, 2)]:
        task = {"type": kind, "index": index}
        config = json.dumps({"cluster": cluster, "task": task})
        monkeypatch.setenv("TF_CONFIG", config)
        assert read_cluster() == (number, ["c:1", "a:1", "b:1"])
