"""Batches: full, deterministic, and each sentence once an epoch."""

import collections
import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from tfxformer import InputError, TokenCrossEntropy, Tokenizer, Transformer
from training.batches import BatchPlan, plan_batches
from training.config import DataConfig, Source
from training.dataset import training_dataset, validation_dataset
from training.phrasebook import generate
from training.resampling import Resampling
from training.shards import Corpus, explain_damage, in_memory, write_shards
from training.tokens import (
    Block,
    PairTokenizer,
    ShardDealer,
    TokenizedPairs,
    concatenate,
    index,
)


def tokenized(sources, targets, origins=None):
    def flat(rows):
        return np.array(list(itertools.chain(*rows)), np.int32)

    def lengths(rows):
        return np.array([len(row) for row in rows], np.int32)

    return TokenizedPairs(
        flat(sources),
        flat(targets),
        lengths(sources),
        lengths(targets),
        np.array(origins or [0] * len(sources), np.int32),
    )


def numbered_pairs(count=50, seed=0, origins=None):
    """Pairs of random lengths; both sides start with the pair's number."""
    random = np.random.default_rng(seed)

    def sentence(number):
        length = random.integers(1, 12)
        return [4 + number, *random.integers(4, 99, length).tolist(), 2]

    sides = [[sentence(i) for i in range(count)] for _ in range(2)]
    return tokenized(*sides, origins)


def training(corpus, max_tokens, seed, **options):
    """The dataset and the number of batches in an epoch."""
    plan = BatchPlan(corpus, max_tokens, seed)
    return training_dataset(plan, **options), plan.count(0)


def corpus(count=50, weights=(1.0,), origins=None):
    return in_memory(numbered_pairs(count, origins=origins), list(weights))


@pytest.fixture
def sharded(tmp_path):
    """Ninety pairs in three files of two records each."""
    pairs = numbered_pairs(90)
    parts = [pairs.take(np.arange(i, 90, 6)) for i in range(6)]
    paths, indices = write_shards(
        [
            ([p.to_record() for p in some], [index(p) for p in some])
            for some in (parts[:3], parts[3:])
        ],
        tmp_path,
        3,
    )
    return Corpus(indices, paths, [1.0])


def test_each_shard_is_a_sample_of_each_block():
    pairs = numbered_pairs(50)
    deal = ShardDealer(lambda block: (pairs, []), 7)
    with_one_more = set()
    for number in range(20):
        records, indices, _ = deal(Block(number, [], np.zeros(0, np.int32)))
        lengths = [len(part) for part in indices]
        assert sorted(lengths) == [7] * 6 + [8]
        with_one_more.add(lengths.index(8))
        numbers = np.frombuffer(records[0], np.int32)
        count = numbers[0]
        starts = np.cumsum(numbers[1 : 1 + count]) - numbers[1 : 1 + count]
        dealt = numbers[1 + 3 * count :][starts] - 4
        assert (np.diff(dealt) != 1).any()
    assert len(with_one_more) > 3


def numbers(batches):
    """The number of each pair, by batch."""
    return [(labels[:, 0].numpy() - 4).tolist() for _, labels in batches]


def test_teacher_forcing_on_one_sentence():
    pairs = tokenized([[5, 6, 2], [7, 2]], [[8, 2], [9, 10, 11, 2]])
    data = validation_dataset(in_memory(pairs, [1.0]), 100)
    ((sources, inputs), labels) = next(iter(data))
    order = np.argsort(sources[:, 0])
    np.testing.assert_array_equal(
        sources.numpy()[order], [[5, 6, 2], [7, 2, 0]]
    )
    np.testing.assert_array_equal(
        inputs.numpy()[order], [[1, 8, 0, 0], [1, 9, 10, 11]]
    )
    np.testing.assert_array_equal(
        labels.numpy()[order], [[8, 2, 0, 0], [9, 10, 11, 2]]
    )


def test_an_iterator_ends_without_waiting_for_the_tuner(sharded):
    """Who ended one waited for its thread, up to a minute."""
    training_data, _ = training(sharded, 60, seed=3)
    for data in (training_data, validation_dataset(sharded, 60)):
        assert data.options().autotune.enabled is False


def test_validation_ends_after_each_pair_was_there_once():
    data = validation_dataset(corpus(), 60)
    batches = numbers(data)
    assert sorted(itertools.chain(*batches)) == list(range(50))
    assert len(data) == len(batches)
    assert batches == numbers(validation_dataset(corpus(), 60))


@pytest.mark.parametrize("kind", ["memory", "shards"])
def test_an_epoch_holds_each_pair_once_and_the_next_another_order(
    kind, sharded
):
    some, count = (corpus(), 50) if kind == "memory" else (sharded, 90)
    data, steps = training(some, max_tokens=60, seed=3)
    epochs = numbers(data.take(2 * steps))
    first, second = epochs[:steps], epochs[steps:]
    for epoch in (first, second):
        assert sorted(itertools.chain(*epoch)) == list(range(count))
    assert first != second
    assert sorted(map(sorted, first)) != sorted(map(sorted, second))


def test_shards_come_in_another_order_and_ids_are_those_written(sharded):
    pairs = numbered_pairs(90)
    starts = np.cumsum(pairs.target_lengths) - pairs.target_lengths
    orders = set()
    for epoch in range(4):
        data, steps = training(sharded, 60, seed=3)
        batches = list(data.skip(epoch * steps).take(steps))
        order = [batch[0] % 3 for batch in numbers(batches)]
        orders.add(tuple(dict.fromkeys(order)))
        assert len(list(itertools.groupby(order))) == 3
    assert len(orders) > 1
    for (sources, _), labels in batches:
        np.testing.assert_array_equal(sources[:, 0], labels[:, 0])
        for row in labels.numpy():
            start = starts[row[0] - 4]
            length = pairs.target_lengths[row[0] - 4]
            written = pairs.target_ids[start : start + length]
            np.testing.assert_array_equal(row[:length], written)
            assert not row[length:].any()


def test_the_seed_decides():
    def order(seed):
        data, steps = training(corpus(), max_tokens=60, seed=seed)
        return numbers(data.take(steps))

    assert order(1) == order(1)
    assert order(1) != order(2)


@pytest.mark.parametrize("weights", [[1.0, 1.0], [0.5, 1.75]])
@pytest.mark.parametrize("start", [7, 61])
def test_a_position_is_found_again(sharded, weights, start):
    indices = [part.copy() for part in sharded.indices]
    for part in indices:
        part[::2, 2] = 1  # half of the pairs are of another source
    some = Corpus(indices, sharded.shards, weights)
    # Which source a pair is of is in the files too.
    if weights != [1.0, 1.0]:
        pairs = numbered_pairs(90, origins=[0, 1] * 45)
        some = in_memory(pairs, weights)
    data, _ = training(some, 40, seed=5)
    resumed, _ = training(some, 40, seed=5, start=start)
    assert numbers(data.skip(start).take(9)) == numbers(resumed.take(9))


def test_weights_say_how_often_a_pair_is_seen():
    origins = [0, 1, 2] * 30
    some = corpus(90, weights=[1.0, 2.5, 0.25], origins=origins)
    plan = BatchPlan(some, 60, seed=1)
    data, _ = training(some, 60, seed=1)
    batches = iter(numbers(data.take(sum(map(plan.count, range(4))))))
    total = collections.Counter()
    for epoch in range(4):
        epoch_batches = itertools.islice(batches, plan.count(epoch))
        seen = collections.Counter(itertools.chain(*epoch_batches))
        assert {seen[i] for i in range(0, 90, 3)} == {1}
        assert {seen[i] for i in range(1, 90, 3)} == {2, 3}
        assert {seen[i] for i in range(2, 90, 3)} == {0, 1}
        total += seen
    assert [total[i] for i in range(3)] == [4, 10, 1]
    assert set(total.values()) == {4, 10, 1}
    assert next(batches, None) is None


def test_replicas_share_each_batch(sharded):
    whole, steps = training(sharded, 60, seed=2)
    shares = [
        training(sharded, 60, seed=2, replica=i, num_replicas=3)
        for i in range(3)
    ]
    assert {share_steps for _, share_steps in shares} == {steps}
    empty = 0
    parts = zip(*(data.take(steps) for data, _ in shares), strict=True)
    for batch, some in zip(numbers(whole.take(steps)), parts, strict=True):
        found = []
        for (sources, inputs), labels in some:
            assert len(sources) == len(inputs) == len(labels) >= 1
            if not labels.numpy().any():  # nothing was left for this one
                assert len(labels) == 1 and not sources.numpy().any()
                assert not inputs.numpy().any()
                empty += 1
            else:
                found += numbers([(None, labels)])[0]
        assert sorted(found) == sorted(batch)
    assert empty


def test_several_batches_in_an_element(sharded):
    plain, steps = training(sharded, 60, seed=2)
    three, _ = training(sharded, 60, seed=2, accumulate=3)
    resumed, _ = training(sharded, 60, seed=2, accumulate=3, start=2)
    batches = iter(plain)
    elements = list(three.take(steps))
    for element in elements:
        for number in range(3):
            (sources, inputs), labels = next(batches)
            np.testing.assert_array_equal(
                element[0][0][number].to_tensor(), sources
            )
            np.testing.assert_array_equal(
                element[0][1][number].to_tensor(), inputs
            )
            np.testing.assert_array_equal(
                element[1][number].to_tensor(), labels
            )
    first = next(iter(resumed))
    np.testing.assert_array_equal(
        first[1].to_tensor(), elements[2][1].to_tensor()
    )


def test_batches_keep_to_the_budget():
    lengths = np.array([3, 9, 30, 4, 4, 80, 5, 5, 5, 2])
    columns = np.stack([lengths, lengths[::-1], 0 * lengths], axis=1)
    batches = plan_batches(columns, [1.0], 0, [0, 0], 40)
    longest = np.maximum(lengths, lengths[::-1])
    for batch in batches:
        positions = len(batch) * longest[batch].max()
        assert positions <= 40 or len(batch) == 1
    assert sorted(batches.values.numpy().tolist()) == list(range(10))
    # No batch could have taken the shortest pair of the next longer one.
    ordered = sorted(batches.to_list(), key=lambda b: longest[b].max())
    for batch, following in itertools.pairwise(ordered):
        grown = (len(batch) + 1) * min(longest[i] for i in following)
        assert grown > 40


def test_a_batch_may_be_exactly_full():
    lengths = np.array([10, 10, 10, 10])
    columns = np.stack([lengths, lengths, 0 * lengths], axis=1)
    batches = plan_batches(columns, [1.0], 0, [0, 0], 40)
    assert batches.row_lengths().numpy().tolist() == [4]


def test_shards_with_the_same_lengths_are_shuffled_differently():
    pairs = numbered_pairs(50)
    plan = BatchPlan(Corpus([index(pairs)] * 2, [], [1.0]), 60, seed=1)
    lengths = index(pairs).astype(np.int32)
    first, second = (plan.batches(0, shard, lengths) for shard in range(2))
    assert first.to_list() != second.to_list()
    assert first.to_list() == plan.batches(0, 0, lengths).to_list()


@pytest.fixture(scope="module")
def phrasebook_tokenizer():
    pairs = generate("train", 12_000)
    text = [sentence for pair in pairs for sentence in pair]
    return Tokenizer.train(text, 1000), pairs


@pytest.fixture(scope="module")
def phrasebook(phrasebook_tokenizer):
    tokenizer, pairs = phrasebook_tokenizer
    sources = [Source(phrasebook="train")]
    tokenize = PairTokenizer(tokenizer, tokenizer, DataConfig(sources, sources))
    lines = [f"{source}\t{target}\n".encode() for source, target in pairs]
    block = Block(0, lines, np.zeros(len(lines), np.int32))
    return in_memory(tokenize(block)[0], [1.0])


@pytest.mark.parametrize("max_tokens", [1024, 4096])
def test_nine_positions_in_ten_are_real_tokens(phrasebook, max_tokens):
    data, steps = training(phrasebook, max_tokens, seed=1)
    real = positions = 0
    for (sources, _), labels in data.take(steps):
        for ids in (sources.numpy(), labels.numpy()):
            real += (ids != 0).sum()
            positions += ids.size
    assert real / positions >= 0.9


def test_sentences_are_split_anew_each_time(phrasebook, phrasebook_tokenizer):
    tokenizer, _ = phrasebook_tokenizer
    resampling = Resampling((tokenizer, tokenizer), 0.2, 64)
    plain, _ = training(phrasebook, 1024, seed=1)

    def sampled(start=0):
        data, _ = training(
            phrasebook, 1024, seed=1, start=start, resampling=resampling
        )
        return data.take(4)

    changed = 0
    for batch, new, again in zip(plain, sampled(), sampled(), strict=False):
        for ids, new_ids, same in zip(
            (batch[0][0], batch[1]), (new[0][0], new[1]),
            (again[0][0], again[1]), strict=True,
        ):  # fmt: skip
            np.testing.assert_array_equal(new_ids, same)  # by the seed
            for row, new_row in zip(ids.numpy(), new_ids.numpy(), strict=True):
                text = tokenizer.detokenize(row)
                assert tokenizer.detokenize(new_row) == text
                changed += new_row[new_row > 0].tolist() != (
                    row[row > 0].tolist()
                )
        np.testing.assert_array_equal(new[0][1][:, 1:], new[1][:, :-1] * (
            new[0][1].numpy()[:, 1:] > 0
        ))  # fmt: skip
    assert changed > 100
    third = list(sampled())[2][1]
    np.testing.assert_array_equal(next(iter(sampled(start=2)))[1], third)


def test_a_longer_split_than_the_model_takes_is_not_used(phrasebook_tokenizer):
    tokenizer, pairs = phrasebook_tokenizer
    rows = tokenizer.tokenize([source for source, _ in pairs[:40]])
    lengths = np.array([len(row) for row in rows])
    resampling = Resampling((tokenizer, tokenizer), 0.05, int(lengths.max()))
    sides = [np.concatenate(rows), lengths] * 2
    ids, new_lengths, *_ = resampling(np.array([1, 2]), *sides)
    assert new_lengths.max() <= lengths.max()
    assert (new_lengths != lengths).any()
    assert len(ids) == new_lengths.sum()


def test_a_pair_of_padding_stays_padding(phrasebook_tokenizer):
    tokenizer, _ = phrasebook_tokenizer
    resampling = Resampling((tokenizer, tokenizer), 0.1, 64)
    nothing = [np.zeros(0, np.int32), np.zeros(1, np.int64)]
    ids, lengths, *_ = resampling(np.array([1, 2]), *nothing, *nothing)
    assert ids.tolist() == [] and lengths.tolist() == [0]


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lambda path: path.write_bytes(bytes(path.stat().st_size)), "damaged"),
        (lambda path: path.unlink(), "gone while it was read"),
    ],
    ids=["zeros", "removed"],
)
def test_a_shard_that_is_harmed_while_it_is_used(sharded, harm, words):
    data, _ = training(sharded, 60, seed=3)
    for path in sharded.shards:
        harm(path)
    with pytest.raises(InputError) as error, explain_damage(sharded):
        next(iter(data))
    assert str(sharded.shards[0].parent) in str(error.value)
    assert words in str(error.value)


SERVICE = """
import sys, tensorflow as tf
service = tf.data.experimental.service
dispatcher = service.DispatchServer()
address = dispatcher.target.split("://")[1]
workers = [
    service.WorkerServer(service.WorkerConfig(dispatcher_address=address))
    for _ in range(2)
]
print(dispatcher.target, flush=True)
sys.stdin.read()
"""


def test_batches_through_a_data_service(sharded):
    """Two workers in another process make each epoch once between them."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVICE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    with process:
        address = process.stdout.readline().strip()
        data, steps = training(sharded, 60, seed=3, service=address)
        batches = list(itertools.islice(data, 4 * steps))
        process.stdin.close()
        process.terminate()
    for (sources, _), labels in batches:
        np.testing.assert_array_equal(sources[:, 0], labels[:, 0])
    seen = collections.Counter(itertools.chain(*numbers(batches)))
    assert set(seen) == set(range(90))
    # The two are not equally quick: one may be in its third epoch.
    assert max(seen.values()) - min(seen.values()) <= 2
    # An epoch is made by one of them: no batch comes twice.
    plain, _ = training(sharded, 60, seed=3)
    local = collections.Counter(map(tuple, numbers(plain.take(8 * steps))))
    assert collections.Counter(map(tuple, numbers(batches))) <= local


def test_memory_does_not_grow_from_epoch_to_epoch(tmp_path):
    """An epoch is some ten megabytes; eight more are less than two of them."""
    one = numbered_pairs(20_000)
    pairs = concatenate([one] * 9)
    parts = [pairs.take(np.arange(i, pairs.num_pairs, 3)) for i in range(3)]
    paths, indices = write_shards(
        [([p.to_record() for p in parts], [index(p) for p in parts])],
        tmp_path,
        3,
    )
    data, steps = training(Corpus(indices, paths, [1.0]), 4096, seed=1)
    batches, resident = iter(data), []
    epoch_bytes = 4 * (pairs.source_ids.size + pairs.target_ids.size)
    for _ in range(10):
        tokens = sum(int(tf.size(next(batches)[1])) for _ in range(steps))
        assert tokens > 300_000
        with open("/proc/self/statm", encoding="ascii") as statm:
            pages = int(statm.read().split()[1])
        resident.append(pages * os.sysconf("SC_PAGE_SIZE"))
    assert epoch_bytes > 10e6
    assert resident[9] - resident[1] < 2 * epoch_bytes


def test_fit_compiles_one_step_for_all_lengths(monkeypatch):
    data, steps = training(corpus(200), max_tokens=40, seed=0)
    shapes = {tuple(labels.shape) for _, labels in data.take(steps)}
    assert len(shapes) > 10
    model = Transformer(210, 1, 2, 8, 16)
    traces = []
    decode = Transformer.decode

    def counted(self, *arguments, **options):
        traces.append(1)
        return decode(self, *arguments, **options)

    monkeypatch.setattr(Transformer, "decode", counted)
    model.compile("sgd", TokenCrossEntropy(), jit_compile=False)
    model.fit(data, steps_per_epoch=steps, verbose=0, shuffle=False)
    # Keras runs the model once to see what it returns, then compiles.
    assert len(traces) <= 3
