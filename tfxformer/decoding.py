"""Search: pure functions over a step function.

They know neither the tokens' text nor layers. The step function is
`next_logits(token_ids, cache, index) -> (logits, cache)`: last tokens int32
`(B,)`, any nest of tensors, position int32 `()`; logits float32 `(B, V)`.
"""

import tensorflow as tf


def greedy_search(
    next_logits,
    cache,
    max_lengths,
    max_length,
    start_token_id=1,
    end_token_id=2,
    pad_token_id=0,
):
    """Takes the most probable token at each step.

    A sentence is finished by `</s>` or by its own length limit; what comes
    after is padding. The loop ends when all sentences are finished. What a
    sentence becomes does not depend on the others in its batch.

    Args:
        next_logits: the step function.
        cache: nest of tensors, passed from step to step.
        max_lengths: int32 `(B,)`. Limit of each sentence in tokens, `</s>`
            included; at most `max_length`.
        max_length: int or int32 `()`. Length of the result.
        start_token_id: int. `<s>`, the first token that is fed.
        end_token_id: int. `</s>`.
        pad_token_id: int. `<pad>`.

    Returns:
        Tuple of the token ids, int32 `(B, max_length)`, up to and with
        `</s>`, then padding; and the score, float32 `(B,)`: the sum of the
        log-probabilities of these tokens, in nats.

    Reference:
        Attention Is All You Need, section 3 (auto-regressive generation).
    """
    batch_size = tf.shape(max_lengths)[0]
    token_ids = tf.fill([batch_size, max_length], pad_token_id)
    positions = tf.range(max_length)

    def unfinished(index, last, token_ids, scores, finished, cache):
        return (index < max_length) & ~tf.reduce_all(finished)

    def step(index, last, token_ids, scores, finished, cache):
        logits, cache = next_logits(last, cache, index)
        best = tf.argmax(logits, axis=-1, output_type=tf.int32)
        log_probability = tf.reduce_max(logits, -1) - tf.reduce_logsumexp(
            logits, -1
        )
        scores += tf.where(finished, 0.0, log_probability)
        last = tf.where(finished, pad_token_id, best)
        here = tf.expand_dims(positions == index, 0)  # (1, max_length)
        token_ids = tf.where(here, tf.expand_dims(last, 1), token_ids)
        finished |= (last == end_token_id) | (index + 1 >= max_lengths)
        return index + 1, last, token_ids, scores, finished, cache

    _, _, token_ids, scores, _, _ = tf.while_loop(
        unfinished,
        step,
        (
            tf.constant(0),
            tf.fill([batch_size], start_token_id),
            token_ids,
            tf.zeros([batch_size]),
            max_lengths < 1,
            cache,
        ),
    )
    return token_ids, scores
