"""The search over a model, and the score of given translations."""

import tensorflow as tf

from tfxformer.decoding import (
    beam_search,
    block_tokens,
    forbid_end,
    forbid_repeated_ngrams,
    greedy_search,
    penalize_repetition,
    sample_tokens,
)
from tfxformer.decoding.greedy import most_probable
from tfxformer.decoding.rules import BLOCKED
from tfxformer.options import SearchOptions


def search(
    model,
    encoder_token_ids,
    prefix,
    max_lengths,
    min_lengths,
    options=SearchOptions(),
    blocked=None,
    seeds=None,
    shortlist=None,
):
    """Translates token ids.

    Args:
        model: a `Transformer`.
        encoder_token_ids: int32 `(B, S)`, each ended by `</s>`; 0 = padding.
        prefix: int32 `(B, L)`. Tokens that a translation has to start with,
            then padding; L is the length of the result.
        max_lengths: int32 `(B,)`. Most tokens, `</s>` included.
        min_lengths: int32 `(B,)`. Least tokens, `</s>` included.
        options: `SearchOptions`. Penalties, `patience`, `n_best`,
            `temperature`, `top_k` and `top_p` may be tensors.
        blocked: bool `(V,)`, or None. Tokens that may not occur.
        seeds: int32 `(B,)`. Of each sentence; sampling needs them.
        shortlist: int32 `(V',)`, or None: ids of the tokens that may occur,
            the special ones first. All other ids, here and in the result,
            are then positions in this list.

    Returns:
        Tuple of token ids, int32 `(B, K, L)`, K = `options.num_rows`, best
        first; and score and log-probability, float32 `(B, K)`, in nats.

    Reference:
        Attention Is All You Need, section 6.1 (beam search).
    """
    num_rows = options.num_rows
    use_beams = not (options.sampling or options.alternatives)
    use_beams = use_beams and num_rows > 1
    coverage_penalty = None
    if use_beams and not _is_number(options.coverage_penalty, 0):
        coverage_penalty = options.coverage_penalty
    cache, encoder_cache = model.start_cache(
        encoder_token_ids, prefix, num_rows, shortlist
    )

    def next_logits(token_ids, cache, index):
        if shortlist is not None:
            token_ids = tf.gather(shortlist, token_ids)
        return model.decode_step(
            token_ids,
            cache,
            index,
            encoder_cache,
            return_attention_weights=coverage_penalty is not None,
        )

    def rows(x):  # (B,) -> (B * K,)
        return tf.reshape(
            tf.expand_dims(x, 1) + tf.zeros((1, num_rows), tf.int32), (-1,)
        )

    least = rows(min_lengths)

    def adjust(logits, token_ids, index):
        if not _is_number(options.repetition_penalty, 1):
            logits = penalize_repetition(
                logits, token_ids, index, options.repetition_penalty
            )
        if blocked is not None:
            logits = block_tokens(logits, blocked)
        if options.no_repeat_ngram:
            logits = forbid_repeated_ngrams(
                logits, token_ids, index, options.no_repeat_ngram
            )
        # <pad> and <s> are no words of a translation.
        never = tf.one_hot([0, 1], tf.shape(logits)[1], on_value=BLOCKED)
        logits += tf.reduce_sum(never, axis=0, keepdims=True)
        return forbid_end(logits, index, least)

    if use_beams:
        return beam_search(
            next_logits,
            model.reorder_cache,
            cache,
            prefix,
            max_lengths,
            num_rows,
            length_penalty=options.length_penalty,
            length_penalty_form=options.length_penalty_form,
            coverage_penalty=coverage_penalty,
            source_mask=encoder_cache[0],
            n_best=options.n_best,
            patience=options.patience,
            adjust=adjust,
        )
    choose = most_probable
    if options.sampling:
        draws = tf.expand_dims(seeds, 1) + tf.range(num_rows)
        row_seeds = tf.reshape(draws, (-1,))

        def choose(logits, index):
            return sample_tokens(
                logits,
                row_seeds,
                index,
                options.temperature,
                options.top_k,
                options.top_p,
            )

    if options.alternatives:
        starts = tf.reduce_sum(tf.cast(prefix > 0, tf.int32), axis=1)

        def choose(logits, index):
            return _alternatives(logits, index, starts, num_rows)

    row_prefix = prefix
    if num_rows > 1:
        row_prefix = tf.repeat(prefix, num_rows, axis=0)
    token_ids, log_probs = greedy_search(
        next_logits, cache, row_prefix, rows(max_lengths), adjust, choose
    )
    if num_rows == 1:  # TFLite knows the shape of this, not of the other
        token_ids = tf.expand_dims(token_ids, 1)
    else:
        token_ids = tf.reshape(
            token_ids, (-1, num_rows, tf.shape(token_ids)[1])
        )
    log_probs = tf.reshape(log_probs, (-1, num_rows))
    return token_ids, log_probs, log_probs


def _alternatives(logits, index, starts, num_rows):
    """Row k takes the k-th best token where the prefix ends."""
    best = tf.math.top_k(logits, num_rows).indices  # (B * K, K)
    ranks = tf.tile(tf.range(num_rows), [tf.shape(starts)[0]])
    ranks = tf.where(tf.repeat(starts, num_rows) == index, ranks, 0)
    return tf.gather(best, ranks, batch_dims=1)


def _is_number(value, number) -> bool:
    return isinstance(value, (int, float)) and value == number


def teacher_force(model, encoder_token_ids, target_token_ids):
    """Reads a source and predicts each token of a given target.

    Args:
        model: a `Transformer`.
        encoder_token_ids: int32 `(B, S)`, each ended by `</s>`; 0 = padding.
        target_token_ids: int32 `(B, T)`; 0 = padding.

    Returns:
        Tuple of the logits, float32 `(B, T, V)`, and the attention weights
        of encoder and decoder, as `Transformer.encode` and
        `Transformer.decode` return them.
    """
    start = tf.ones_like(target_token_ids[:, :1])  # <s> is 1
    decoder_token_ids = tf.concat([start, target_token_ids[:, :-1]], axis=1)
    encoder_sequence, encoder_weights = model.encode(
        encoder_token_ids, return_attention_weights=True, training=False
    )
    logits, decoder_weights = model.decode(
        decoder_token_ids,
        encoder_sequence,
        encoder_token_ids != 0,
        return_attention_weights=True,
        training=False,
    )
    return logits, encoder_weights, decoder_weights


def score(model, encoder_token_ids, target_token_ids):
    """Scores given translations (teacher forcing).

    Args:
        model: a `Transformer`.
        encoder_token_ids: int32 `(B, S)`, each ended by `</s>`; 0 = padding.
        target_token_ids: int32 `(B, T)`; 0 = padding.

    Returns:
        Tuple of the log-probabilities of the target's tokens, float32
        `(B, T)`, in nats, 0 at padding; and the attention that each token
        was predicted with, float32 `(B, T, S)`, as `alignment_attention`
        picks it.
    """
    logits, _, weights = teacher_force(
        model, encoder_token_ids, target_token_ids
    )
    log_probs = tf.nn.log_softmax(logits)
    chosen = tf.gather(
        log_probs, tf.expand_dims(target_token_ids, 2), batch_dims=2
    )
    real = target_token_ids != 0
    return (
        tf.where(real, tf.squeeze(chosen, 2), 0.0),
        model.alignment_attention(weights),
    )
