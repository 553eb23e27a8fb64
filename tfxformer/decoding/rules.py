"""Rules of a search: pure functions from logits to logits, or to a token.

R = rows (hypotheses), V = vocabulary, L = most tokens. A rule looks at each
row alone. `index` is the number of tokens that were chosen before.
"""

import tensorflow as tf

# The logit of a token that may not be chosen. Finite, as the difference of two
# infinite ones is NaN.
BLOCKED = -1e9


def block_tokens(logits, blocked):
    """Blocks the same tokens in all rows.

    Args:
        logits: float32 `(R, V)`.
        blocked: bool `(V,)`. True = never chosen.

    Returns:
        float32 `(R, V)`.
    """
    return tf.where(blocked, BLOCKED, logits)


def forbid_end(logits, index, min_lengths, end_token_id=2):
    """Blocks `</s>` where it would come too early.

    Args:
        logits: float32 `(R, V)`.
        index: int32 `()`. Number of tokens chosen before.
        min_lengths: int32 `(R,)`. Least number of tokens of each row,
            `</s>` included.
        end_token_id: int. `</s>`.

    Returns:
        float32 `(R, V)`.
    """
    early = tf.where(index + 1 < min_lengths, BLOCKED, 0.0)  # (R,)
    is_end = tf.one_hot([end_token_id], tf.shape(logits)[1])  # (1, V)
    return logits + tf.expand_dims(early, 1) * is_end


def forbid_repeated_ngrams(logits, token_ids, index, size, end_token_id=2):
    """Blocks what would complete an n-gram that its row has already.

    `</s>` is never blocked, so that a row can always end.

    Args:
        logits: float32 `(R, V)`.
        token_ids: int32 `(R, L)`. The first `index` columns are chosen, the
            others padding.
        index: int32 `()`. Number of tokens chosen before, at most L.
        size: int, at least 1. Tokens of an n-gram; 1 blocks each token that
            was chosen.
        end_token_id: int. `</s>`.

    Returns:
        float32 `(R, V)`.
    """
    positions = tf.range(tf.shape(token_ids)[1])  # (L,)
    # Where an n-gram may end. There are none while index < size, and
    # positions below 0 are clipped only then or outside of these.
    ends = (positions >= size - 1) & (positions < index)
    repeated = tf.expand_dims(ends, 0) & (token_ids != end_token_id)  # (R, L)
    for back in range(1, size):
        before = tf.gather(token_ids, tf.maximum(positions - back, 0), axis=1)
        last = tf.gather(token_ids, tf.maximum(index - back, 0), axis=1)
        repeated &= before == tf.expand_dims(last, 1)
    blocked = _any_of(token_ids, repeated, tf.shape(logits)[1])
    return tf.where(blocked, BLOCKED, logits)


def penalize_repetition(logits, token_ids, index, penalty):
    """Makes tokens that its row has already less probable.

    Args:
        logits: float32 `(R, V)`.
        token_ids: int32 `(R, L)`. The first `index` columns are chosen, the
            others padding.
        index: int32 `()`. Number of tokens chosen before.
        penalty: float or float32 `()`. Divides a positive logit, multiplies
            a negative one; 1 changes nothing.

    Returns:
        float32 `(R, V)`.

    Reference:
        CTRL (Keskar et al. 2019), section 4.1.
    """
    chosen = tf.range(tf.shape(token_ids)[1]) < index  # (L,)
    chosen = tf.broadcast_to(tf.expand_dims(chosen, 0), tf.shape(token_ids))
    seen = _any_of(token_ids, chosen, tf.shape(logits)[1])
    # The paper divides always, which would raise a negative logit.
    penalized = tf.where(logits > 0, logits / penalty, logits * penalty)
    return tf.where(seen, penalized, logits)


def sample_tokens(logits, seeds, index, temperature=1.0, top_k=0, top_p=1.0):
    """Draws one token for each row.

    A row's token depends on its own logits and seed and on `index`, not on
    the other rows. A blocked token is never drawn; of tokens that are equally
    probable the lower id counts as the more probable.

    Args:
        logits: float32 `(R, V)`.
        seeds: int32 `(R,)`.
        index: int32 `()`. Number of tokens chosen before.
        temperature: float or float32 `()`, above 0. Divides the logits.
        top_k: int or int32 `()`. Only so many most probable tokens are drawn
            from; 0 = all.
        top_p: float or float32 `()`, above 0. Only the fewest most probable
            tokens are drawn from whose probabilities, after `temperature`
            and `top_k`, sum to at least this; 1 = all.

    Returns:
        int32 `(R,)`.

    Reference:
        The Curious Case of Neural Text Degeneration (Holtzman et al. 2020),
        section 3.1 for `top_p`, section 3.2 for `top_k`.
    """
    vocabulary_size = tf.shape(logits)[1]
    k = tf.where(top_k > 0, tf.minimum(top_k, vocabulary_size), vocabulary_size)
    best, token_ids = tf.math.top_k(logits, k)  # (R, K), descending
    # Softmax but for its denominator, which the draw does not need.
    weights = tf.exp((best - best[:, :1]) / temperature)
    # At a high temperature even a blocked token would have some.
    sums = tf.cumsum(tf.where(best > BLOCKED, weights, 0.0), axis=1)  # (R, K)
    # The nucleus ends where the sum reaches its share of the whole.
    last = _count(sums < top_p * sums[:, -1:])  # (R,)
    nucleus = tf.expand_dims(tf.gather(sums, last, batch_dims=1), 1)  # (R, 1)
    draws = tf.expand_dims(_uniform(seeds, index), 1)  # (R, 1)
    chosen = tf.minimum(_count(sums <= draws * nucleus), last)
    return tf.gather(token_ids, chosen, batch_dims=1)


def _any_of(token_ids, marked, vocabulary_size):
    """Which tokens are marked in at least one column.

    Scattered, as one-hot vectors would need L times the memory.

    Args:
        token_ids: int32 `(R, L)`.
        marked: bool `(R, L)`.
        vocabulary_size: int32 `()`.

    Returns:
        bool `(R, V)`.
    """
    num_rows = tf.shape(token_ids)[0]
    rows = tf.expand_dims(tf.range(num_rows), 1)  # (R, 1)
    rows = tf.broadcast_to(rows, tf.shape(token_ids))
    counts = tf.scatter_nd(
        tf.stack([rows, token_ids], axis=-1),
        tf.cast(marked, "float32"),
        tf.stack([num_rows, vocabulary_size]),
    )
    return counts > 0


def _count(true):
    """Number of true values in each row: bool `(R, K)` -> int32 `(R,)`."""
    return tf.reduce_sum(tf.cast(true, "int32"), axis=1)


def _uniform(seeds, index):
    """One number in [0, 1) for each seed: int32 `(R,)` -> float32 `(R,)`."""

    def draw(seed):
        # Named, so that a seed means the same on each kind of device.
        return tf.random.stateless_uniform(
            [], tf.stack([seed, index]), alg="philox"
        )

    return tf.map_fn(draw, seeds, fn_output_signature="float32")
