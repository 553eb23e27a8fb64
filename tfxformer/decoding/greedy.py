"""One hypothesis at a time: greedy search, sampling, alternatives."""

import tensorflow as tf


def most_probable(logits, index):
    """Chooses the token of the highest logit.

    Args:
        logits: float32 `(R, V)`.
        index: int32 `()`. Position, from 0.

    Returns:
        int32 `(R,)`; the lowest id of several that are equal.
    """
    return tf.argmax(logits, axis=-1, output_type=tf.int32)


def greedy_search(
    next_logits,
    cache,
    prefix,
    max_lengths,
    adjust=None,
    choose=most_probable,
    start_token_id=1,
    end_token_id=2,
    pad_token_id=0,
):
    """Takes one token for each row at each step: the most probable one.

    A row is finished by `</s>` or by its own length limit; what comes after
    is padding. The loop ends when all rows are finished. What a row becomes
    does not depend on the others in its batch.

    Args:
        next_logits: the step function.
        cache: nest of tensors, passed from step to step.
        prefix: int32 `(R, L)`. Tokens that are forced; where it is padding
            the search is free. L is the length of the result.
        max_lengths: int32 `(R,)`. Limit of each row in tokens, `</s>`
            included; L is another.
        adjust: callable `(logits, token_ids, index) -> logits` that says
            which tokens may be chosen, or None.
        choose: callable `(logits, index) -> token_ids`.
        start_token_id: int. `<s>`, the first token that is fed.
        end_token_id: int. `</s>`.
        pad_token_id: int. `<pad>`.

    Returns:
        Tuple of the token ids, int32 `(R, L)`, up to and with `</s>`, then
        padding; and the score, float32 `(R,)`: the sum of the
        log-probabilities of these tokens, in nats, as the model gives them,
        before `adjust`.

    Reference:
        Attention Is All You Need, section 3 (auto-regressive generation).
    """
    zeros = tf.zeros_like(max_lengths)
    positions = position_row(prefix)
    limits = tf.minimum(max_lengths, tf.reduce_max(positions) + 1)

    def unfinished(index, last, token_ids, scores, finished, cache):
        return ~tf.reduce_all(finished)

    def step(index, last, token_ids, scores, finished, cache):
        logits, cache = next_logits(last, cache, index)
        allowed = logits
        if adjust is not None:
            allowed = adjust(logits, token_ids, index)
        forced = tf.gather(prefix, index, axis=1)
        token = tf.where(forced == pad_token_id, choose(allowed, index), forced)
        chosen = tf.gather(logits, tf.expand_dims(token, 1), batch_dims=1)
        log_probability = tf.squeeze(chosen - log_normalizer(logits), 1)
        scores += tf.where(finished, 0.0, log_probability)
        last = tf.where(finished, pad_token_id, token)
        token_ids = tf.where(
            positions == index, tf.expand_dims(last, 1), token_ids
        )
        finished |= (last == end_token_id) | (index + 1 >= limits)
        return index + 1, last, token_ids, scores, finished, cache

    _, _, token_ids, scores, _, _ = tf.while_loop(
        unfinished,
        step,
        (
            tf.constant(0),
            zeros + start_token_id,
            tf.zeros_like(prefix) + pad_token_id,
            tf.cast(zeros, tf.float32),
            limits < 1,
            cache,
        ),
    )
    return token_ids, scores


def position_row(token_ids):
    """Numbers the columns.

    Args:
        token_ids: int32 `(B, L)`.

    Returns:
        int32 `(1, L)`: 0, 1, 2, ...
    """
    ones = tf.ones_like(tf.reduce_max(token_ids, axis=0, keepdims=True))
    return tf.cumsum(ones, axis=1, exclusive=True)


def log_normalizer(logits):
    """The logarithm of the sum that turns logits into probabilities.

    Args:
        logits: float32 `(R, V)`.

    Returns:
        float32 `(R, 1)`: what to subtract for log-probabilities.
    """
    highest = tf.reduce_max(logits, axis=-1, keepdims=True)
    total = tf.reduce_sum(tf.exp(logits - highest), axis=-1, keepdims=True)
    return highest + tf.math.log(total)
