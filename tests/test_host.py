"""Tests of what every translator does outside of the graph.

The decoder is a scripted one: a translation is its source, each letter three
times, in capitals.
"""

import threading
import time
from unittest import mock

import numpy as np
import pytest

from tfxformer import (
    Hypothesis,
    InputError,
    ScoredTranslation,
    SearchOptions,
    Translator,
    load_translator,
)
from tfxformer.host import batches_by_length

END = 2
LINES = ["abc", "", "a", "abcdefghijklmno", "  ", "bb", "ca", "abcdefg"]


class Letters:
    """A tokenizer with a piece for each character, up to 127."""

    vocabulary_size = 128

    def tokenize(self, texts):
        return [[*map(ord, text.strip()), END] for text in texts]

    def detokenize(self, ids):
        return "".join(chr(i) for i in ids if i > 3)

    def pieces(self):
        return ["<pad>", "<s>", "</s>", "<unk>", *map(chr, range(4, 128))]


class Shouter(Translator):
    """Decodes by rule, and remembers what it was asked."""

    def __init__(self, batch_tokens=64, num_workers=1):
        super().__init__(Letters(), Letters(), 30, batch_tokens, num_workers)
        self.batches = []
        self.workers = []
        self.lock = threading.Lock()

    def _prepare(self, num_workers):
        self.workers.append(num_workers)

    def _decode(self, batch, options, worker):
        with self.lock:
            self.batches.append(batch)
        size, width = batch.prefix.shape
        token_ids = np.zeros((size, options.num_rows, width), np.int32)
        scores = np.zeros((size, options.num_rows), np.float32)
        for row in range(size):
            source = [i for i in batch.encoder_token_ids[row] if i > END]
            start = [i for i in batch.prefix[row] if i]
            for rank in range(options.num_rows):
                shift = ord("A") - ord("a") + rank
                ids = start + [i + shift for i in source for _ in range(3)]
                ids += [ord(".")] * (batch.min_lengths[row] - len(ids) - 1)
                ids = [*ids, END][: batch.max_lengths[row]][:width]
                token_ids[row, rank, : len(ids)] = ids
                scores[row, rank] = -len(source) - rank / 8
        return token_ids, scores, 2 * scores

    def _score(self, encoder_token_ids, target_token_ids, worker):
        real = target_token_ids != 0
        log_probs = np.where(real, -target_token_ids / 64, 0)
        # Each target piece comes from the source piece at its own place.
        shape = (*target_token_ids.shape, encoder_token_ids.shape[1])
        attention = np.broadcast_to(np.eye(*shape[1:]), shape)
        return log_probs.astype(np.float32), attention


def shout(line):
    return "".join(3 * letter for letter in line.strip().upper())


def test_results_come_in_the_order_of_the_input():
    assert Shouter().translate(LINES) == list(map(shout, LINES))
    assert Shouter().translate([]) == []
    assert Shouter().translate(["", " "]) == ["", ""]


@pytest.mark.parametrize("num_workers", [1, 3])
@pytest.mark.parametrize("batch_tokens", [1, 7, 40, 1000])
def test_results_do_not_depend_on_batches(batch_tokens, num_workers):
    options = SearchOptions(beam_size=3, n_best=2)
    expected = Shouter(1000).search(LINES, options=options)
    translator = Shouter(batch_tokens, num_workers)
    assert translator.search(LINES, options=options) == expected
    order = np.random.default_rng(0).permutation(len(LINES))
    shuffled = translator.search([LINES[i] for i in order], options=options)
    assert shuffled == [expected[i] for i in order]


def test_a_batch_holds_no_more_positions_than_allowed():
    translator = Shouter(batch_tokens=40)
    translator.translate(LINES * 5)
    assert len(translator.batches) > 2
    for batch in translator.batches:
        assert batch.encoder_token_ids.size <= 40
    # Beams are positions too.
    translator = Shouter(batch_tokens=40)
    translator.search(LINES * 5, options=SearchOptions(beam_size=2))
    for batch in translator.batches:
        size = batch.encoder_token_ids.size
        assert size <= 20 or len(batch.encoder_token_ids) == 1


def test_no_more_workers_than_batches():
    translator = Shouter(batch_tokens=1000, num_workers=4)
    translator.translate(["a"])
    translator.batch_tokens = 1
    translator.translate(["a", "b", "c"])
    assert translator.workers == [1, 3]


def test_an_error_of_a_worker_is_raised():
    translator = Shouter(batch_tokens=1, num_workers=2)
    with (
        mock.patch.object(translator, "_decode", side_effect=InputError("no")),
        pytest.raises(InputError, match=r"^no$"),
    ):
        translator.translate(LINES)


def test_after_an_error_no_other_batch_begins():
    translator = Shouter(batch_tokens=1, num_workers=2)
    begun = []

    def decode(batch, options, worker):
        begun.append(batch)
        if len(begun) == 1:
            raise KeyboardInterrupt
        time.sleep(0.01)
        return Shouter._decode(translator, batch, options, worker)

    with (
        mock.patch.object(translator, "_decode", decode),
        pytest.raises(KeyboardInterrupt),
    ):
        translator.translate(["ab"] * 500)
    assert len(begun) < 100


@pytest.mark.parametrize(
    ("lengths", "batch_tokens", "expected"),
    [
        ([], 9, []),
        ([3, 1, 2], 9, [[1, 2, 0]]),
        ([3, 1, 2], 8, [[1, 2], [0]]),
        ([3, 1, 2], 0, [[1], [2], [0]]),
        ([5, 5, 5], 10, [[0, 1], [2]]),
    ],
)
def test_batches_by_hand(lengths, batch_tokens, expected):
    assert batches_by_length(lengths, batch_tokens) == expected


def test_a_hypothesis_holds_text_score_and_tokens():
    options = SearchOptions(beam_size=2, n_best=2)
    ((best, second), blank) = Shouter().search(["ab", ""], options=options)
    assert best == Hypothesis(
        "AAABBB", -2.0, -4.0, [65, 65, 65, 66, 66, 66, END]
    )
    assert second[:3] == ("BBBCCC", -2.125, -4.25)
    assert blank == [Hypothesis("", 0.0, 0.0, [])]


def test_hypotheses_that_do_not_exist_are_left_out():
    translator, decode = Shouter(), Shouter()._decode

    def dead(*arguments):
        token_ids, scores, log_probs = decode(*arguments)
        scores[:, 1:] = -1e9
        return token_ids, scores, log_probs

    with mock.patch.object(translator, "_decode", dead):
        options = SearchOptions(beam_size=3, n_best=3)
        (hypotheses,) = translator.search(["ab"], options=options)
    assert [one.text for one in hypotheses] == ["AAABBB"]


def test_hypotheses_that_patience_did_not_wait_for_are_left_out():
    translator, decode = Shouter(), Shouter()._decode

    def impatient(*arguments):
        token_ids, scores, log_probs = decode(*arguments)
        ends = token_ids[:, 1:] == END
        token_ids[:, 1:][ends] = 0
        return token_ids, scores, log_probs

    options = SearchOptions(beam_size=3, n_best=3)
    with mock.patch.object(translator, "_decode", impatient):
        (hypotheses,) = translator.search(["ab"], options=options)
    assert [one.text for one in hypotheses] == ["AAABBB"]
    # One that reached the limit of length is a hypothesis, though cut.
    options = SearchOptions(beam_size=3, n_best=3, max_length=6)
    (hypotheses,) = translator.search(["ab"], options=options)
    assert [one.text for one in hypotheses] == ["AAABBB", "BBBCCC", "CCCDDD"]


def test_what_the_first_attempt_cuts_is_decoded_again():
    # Letters a to o are 45 tokens and </s>; the first attempt has 16 more
    # than the longest source of its batch.
    translator = Shouter(batch_tokens=1000)
    texts = translator.translate(["abc", "abcdefghijklmno", "abcdefg"])
    assert texts == list(map(shout, ["abc", "abcdefghijklmno", "abcdefg"]))
    first, second = translator.batches
    assert first.prefix.shape == (3, 32)
    assert len(second.prefix) == 1
    assert second.prefix.shape[1] == second.max_lengths[0] == 66
    np.testing.assert_array_equal(second.seeds, first.seeds[-1:])


@pytest.mark.parametrize("extra", [0, 1, 5, 50])
def test_the_width_of_the_first_attempt_changes_nothing(extra, caplog):
    expected = Shouter().search(LINES)
    with mock.patch("tfxformer.host.FIRST_EXTRA_LENGTH", extra):
        assert Shouter().search(LINES) == expected
    assert not caplog.records


def test_a_translation_without_an_end_is_reported_once(caplog):
    options = SearchOptions(max_length=40)
    texts = Shouter().translate(LINES, first_line=11, options=options)
    assert texts[3] == shout(LINES[3])[:40]
    (record,) = caplog.records
    assert record.getMessage().startswith("line 14: no end after 40 tokens")


def test_a_source_that_is_too_long_is_reported(caplog):
    texts = Shouter().translate(["a", "b" * 50], first_line=5)
    assert texts == ["AAA", "B" * 80]  # the most that the model takes
    cut, no_end = [record.getMessage() for record in caplog.records]
    assert cut.startswith("line 6: 51 pieces, the model takes 30")
    assert no_end.startswith("line 6: no end after 80 tokens")


def test_limits_of_length_go_to_the_decoder():
    translator = Shouter()
    options = SearchOptions(min_length=9, max_length_ratio=4.0)
    assert translator.translate(["aa", "aaaa"], options=options) == [
        "AAAAAA..",
        "AAAAAAAAAAAA",
    ]
    (batch,) = translator.batches
    assert batch.min_lengths.tolist() == [9, 9]
    assert batch.max_lengths.tolist() == [12, 20]


def test_more_tokens_than_the_model_takes():
    Shouter().translate(["a"], options=SearchOptions(max_length=80))
    with pytest.raises(InputError, match=r"max_length=81, the model's is 80"):
        Shouter().translate(["a"], options=SearchOptions(max_length=81))


def test_a_long_line_is_reported_once(caplog):
    lines = ["a" * 99]
    found = Shouter().search(lines)
    assert caplog.text.count("only the first part") == 1
    Shouter().score_token_ids(lines, [found[0][0].token_ids])
    assert caplog.text.count("only the first part") == 1
    Shouter().score(lines, ["A"])
    assert caplog.text.count("only the first part") == 2


def test_options_are_checked_first():
    with pytest.raises(InputError, match="n_best=2, beam_size=1"):
        Shouter().search([], options=SearchOptions(n_best=2))


@pytest.mark.parametrize("num_workers", [1, 3])
def test_progress_counts_to_the_number_of_lines(num_workers):
    translator, counts = Shouter(7, num_workers), []
    translator.search(LINES, progress=counts.append)
    assert sum(counts) == len(LINES)
    counts.clear()
    translator.score(LINES, LINES, progress=counts.append)
    assert sum(counts) == len(LINES)


def test_seeds_belong_to_lines_not_to_batches():
    options = SearchOptions(sampling=True, seed=5)
    seeds = []
    for batch_tokens, lines, first_line in [
        (1000, ["a", "bb", "", "ccc"], 1),
        (1, ["a", "bb", "", "ccc"], 1),
        (1000, ["ccc"], 4),
    ]:
        translator = Shouter(batch_tokens)
        translator.search(lines, first_line, options)
        seeds.append(
            {
                len(source[source > END]): int(seed)
                for batch in translator.batches
                for source, seed in zip(
                    batch.encoder_token_ids, batch.seeds, strict=True
                )
            }
        )
    assert seeds[0] == seeds[1]
    assert seeds[0][3] == seeds[2][3]
    assert len(set(seeds[0].values())) == 3


def test_translations_start_with_their_prefixes():
    translator = Shouter()
    found = translator.search(["a", "", "b"], prefixes=["X ", "never", ""])
    assert [one.text for (one,) in found] == ["XAAA", "", "BBB"]
    np.testing.assert_array_equal(
        translator.batches[0].prefix[:, :2], [[ord("X"), 0], [0, 0]]
    )


def test_a_prefix_leaves_room_for_the_first_attempt():
    translator = Shouter()
    translator.search(["a", "b"], prefixes=["x" * 40, ""])
    (batch,) = translator.batches
    assert batch.prefix.shape == (2, 2 + 50)


def test_a_prefix_that_leaves_no_room_is_refused():
    options = SearchOptions(max_length=3)
    Shouter().search(["a", "b"], 7, options, ["xx", "xx"])
    with pytest.raises(InputError, match=r"^line 8: .* 3 pieces, at most 3"):
        Shouter().search(["a", "b"], 7, options, ["xx", "xxx"])


@pytest.mark.parametrize("prefixes", [[], ["x"], ["x"] * 3])
def test_a_prefix_for_each_line(prefixes):
    received = f"{len(prefixes)} prefixes, 2 lines"
    with pytest.raises(InputError, match=received):
        Shouter().search(["a", "b"], prefixes=prefixes)


def test_a_prefix_is_in_the_shortlist():
    options = SearchOptions(shortlist=("abcX",))
    translator = Shouter()
    translator.search(["ab", "c"], 1, options, ["X", "aX"])
    with pytest.raises(InputError, match=r"^line 12: the prefix .*shortlist"):
        translator.search(["ab", "c"], 11, options, ["X", "Y"])


def test_there_are_as_many_pieces_as_hypotheses():
    search = Shouter().search
    most = {"alternatives": True, "n_best": 128}
    assert len(search(["a"], options=SearchOptions(**most))[0]) == 128
    for values in ({**most, "n_best": 129}, {"beam_size": 129}):
        with pytest.raises(InputError, match=r"129 hypotheses.* 128"):
            search(["a"], options=SearchOptions(**values))


def test_a_shortlist_without_text_is_refused():
    options = SearchOptions(shortlist=("", " "))
    with pytest.raises(InputError, match=r"^the shortlist is empty"):
        Shouter().shortlist_ids(options.shortlist)


def test_blocked_pieces_have_ids():
    options = SearchOptions(blocked=("b", "<unk>"))
    assert Shouter().blocked_ids(options) == [98, 3]
    with pytest.raises(InputError, match=r"'bb' is no piece") as error:
        Shouter().blocked_ids(SearchOptions(blocked=("b", "bb")))
    assert "\u2581" in str(error.value)


def test_a_shortlist_has_the_special_pieces_first():
    assert Shouter().shortlist_ids(["cab", "", "bad"]).tolist() == [
        *range(4),
        *map(ord, "abcd"),
    ]


def test_no_line_breaks_out_of_a_translation():
    (text,) = Shouter().search(["a"], prefixes=["x\ny\rz\tx"])[0]
    assert text.text == "x y z xAAA"


def test_scores_of_given_translations():
    (blank, scored) = Shouter().score(["", "abc"], ["", "dbeg"])
    assert blank.log_probability == -2 / 64
    assert blank.pieces == ["</s>"]
    assert blank.alignment() == []
    expected = [-100 / 64, -98 / 64, -101 / 64, -103 / 64, -2 / 64]
    assert scored.log_probabilities == expected
    assert scored.log_probability == sum(expected)
    assert scored.pieces == ["d", "b", "e", "g", "</s>"]
    assert scored.source_pieces == ["a", "b", "c"]
    assert scored.attention.shape == (5, 4)


@pytest.mark.parametrize("batch_tokens", [1, 20, 1000])
def test_scores_do_not_depend_on_batches(batch_tokens):
    targets = [line.upper() + "X" for line in LINES]
    for ours, theirs in zip(
        Shouter(batch_tokens, num_workers=2).score(LINES, targets),
        Shouter(1000).score(LINES, targets),
        strict=True,
    ):
        assert ours[:4] == theirs[:4]
        np.testing.assert_array_equal(ours.attention, theirs.attention)


def test_a_translation_that_is_too_long_cannot_be_scored():
    Shouter().score(["a"], ["b" * 79])
    with pytest.raises(InputError, match=r"^line 4: a translation of 81"):
        Shouter().score(["a", "a"], ["b", "b" * 80], first_line=3)


def test_a_scored_translation_aligns_words():
    scored = ScoredTranslation(
        log_probability=-1.0,
        pieces=["\u2581un", "a", "\u2581gata", "</s>"],
        log_probabilities=[-0.25] * 4,
        source_pieces=["\u2581cat", "\u2581a"],
        attention=np.array(
            [
                [0.1, 0.7, 0.2],
                [0.3, 0.5, 0.2],
                [0.8, 0.1, 0.1],
                [0.0, 0.0, 1.0],  # </s> is no word
            ]
        ),
    )
    np.testing.assert_allclose(
        scored.word_attention(), [[0.2, 0.6], [0.8, 0.1]]
    )
    assert scored.alignment() == [(0, 1), (1, 0)]


@pytest.mark.parametrize(
    "options",
    [SearchOptions(min_length_ratio=2.0), SearchOptions(beam_size=4, n_best=4)],
    ids=["greedy", "beam"],
)
def test_a_run_does_not_depend_on_the_first_attempt(run_folder, pairs, options):
    translator = load_translator(run_folder)
    lines = [source for source, _ in pairs[::6]] + ["Carlos sings sings " * 3]
    with mock.patch("tfxformer.host.FIRST_EXTRA_LENGTH", 50):
        expected = translator.search(lines, options=options)
    for extra in (0, 4):
        with mock.patch("tfxformer.host.FIRST_EXTRA_LENGTH", extra):
            found = translator.search(lines, options=options)
        for ours, theirs in zip(found, expected, strict=True):
            assert [x.token_ids for x in ours] == [x.token_ids for x in theirs]
            np.testing.assert_allclose(
                [x[1:3] for x in ours], [x[1:3] for x in theirs], atol=1e-4
            )
