"""Beam search."""

import tensorflow as tf

from tfxformer.decoding.greedy import log_normalizer, position_row

DEAD = -1e9  # the score of a hypothesis that does not exist
INCOMPLETE = 1e8  # puts hypotheses without an end behind those with one


def length_normalizer(lengths, length_penalty, form="gnmt"):
    """What the log-probability of a hypothesis is divided by.

    Args:
        lengths: int32, any shape. Tokens, `</s>` included.
        length_penalty: float or float32 `()`, alpha. 0: no normalisation.
        form: "gnmt", `((5 + length) / 6) ** alpha`, or "power",
            `length ** alpha`.

    Returns:
        float32 of that shape.

    Reference:
        Google's Neural Machine Translation System (Wu et al., 2016),
        section 7; Attention Is All You Need, section 6.1.
    """
    lengths = tf.cast(lengths, tf.float32)
    if form == "gnmt":
        lengths = (5.0 + lengths) / 6.0
    return tf.pow(lengths, length_penalty)


def coverage_bonus(coverage, source_mask, coverage_penalty):
    """Punishes source tokens that got too little attention.

    `beta * sum_s(log(min(sum_t(attention[t, s]), 1)))`.

    Args:
        coverage: float32 `(B, K, S)`. Attention, summed over the tokens.
        source_mask: bool `(B, S)`; True = real token.
        coverage_penalty: float or float32 `()`, beta.

    Returns:
        float32 `(B, K)`, at most 0.

    Reference:
        Google's Neural Machine Translation System (Wu et al., 2016),
        section 7.
    """
    covered = tf.math.log(tf.clip_by_value(coverage, 1e-6, 1.0))
    real = tf.cast(tf.expand_dims(source_mask, 1), tf.float32)
    return coverage_penalty * tf.reduce_sum(covered * real, axis=-1)


def beam_search(  # noqa: PLR0915
    next_logits,
    reorder_cache,
    cache,
    prefix,
    max_lengths,
    beam_size,
    length_penalty=0.6,
    length_penalty_form="gnmt",
    coverage_penalty=None,
    source_mask=None,
    n_best=1,
    patience=None,
    adjust=None,
    start_token_id=1,
    end_token_id=2,
    pad_token_id=0,
):
    """Keeps the K best hypotheses at each step.

    Hypotheses are compared by `log_probability / length_normalizer +
    coverage_bonus`. A finished one is frozen: its tokens and its score do not
    change, and it stays as long as no K others are better. A sentence is done
    when all K are finished, and, if only the best one is wanted, as soon as
    none that is unfinished can still win. With K = 1 this is greedy search.
    What a sentence becomes does not depend on the others in its batch.

    Args:
        next_logits: the step function, over `B * K` rows. With a coverage
            penalty it returns `(logits, cache, attention)`, attention
            float32 `(B * K, S)`.
        reorder_cache: callable `(cache, parents) -> cache` that makes row k
            of each sentence continue its row `parents[b, k]`; parents int32
            `(B, K)`.
        cache: nest of tensors, passed from step to step.
        prefix: int32 `(B, L)`. Tokens that are forced; where it is padding
            the search is free. L is the length of the result.
        max_lengths: int32 `(B,)`. Limit of each sentence in tokens, `</s>`
            included. L is another, at which the search is cut short: what
            it says of the rest is as if there were no such cut.
        beam_size: int, K.
        length_penalty: float or float32 `()`, at least 0. See
            `length_normalizer`.
        length_penalty_form: "gnmt" or "power".
        coverage_penalty: float or float32 `()`, or None. See
            `coverage_bonus`.
        source_mask: bool `(B, S)`, for the coverage penalty.
        n_best: int or int32 `()`. How many hypotheses are wanted. The best
            one does not depend on it.
        patience: float or float32 `()` in (0, 1], or None. A sentence is also
            done when that share of its K hypotheses, rounded up, is
            finished: faster, but a better one may be missed.
        adjust: callable `(logits, token_ids, index) -> logits` that says
            which tokens may be chosen, or None. logits are `(B * K, V)`,
            token_ids int32 `(B * K, L)`.
        start_token_id: int. `<s>`, the first token that is fed.
        end_token_id: int. `</s>`.
        pad_token_id: int. `<pad>`.

    Returns:
        Tuple of the token ids, int32 `(B, K, L)`, up to and with `</s>`, then
        padding, best first (those without an end last); the score by which
        they are ordered and the sum of the log-probabilities of the tokens,
        in nats, before `adjust`: both float32 `(B, K)`. A hypothesis that
        does not exist, in a search space of fewer than K, has the score
        -1e9.

    Reference:
        Google's Neural Machine Translation System (Wu et al., 2016),
        section 7; Attention Is All You Need, section 6.1.
    """
    beams = tf.range(beam_size)
    zeros = tf.expand_dims(max_lengths * 0, 1) + tf.zeros_like([beams])
    positions = tf.expand_dims(position_row(prefix), 0)  # (1, 1, L)
    max_lengths = tf.expand_dims(max_lengths, 1)  # (B, 1)
    limits = tf.minimum(max_lengths, tf.reduce_max(positions) + 1)
    first_beam = tf.expand_dims(tf.cast(beams > 0, tf.float32) * DEAD, 0)
    state = {
        "last": zeros + start_token_id,
        "token_ids": tf.expand_dims(prefix * 0 + pad_token_id, 1)
        + tf.expand_dims(zeros, 2),  # (B, K, L)
        "finished": limits + zeros < 1,
        "log_probs": tf.cast(zeros, tf.float32) + first_beam,
        "ranks": tf.cast(zeros, tf.float32) + first_beam,
    }
    if adjust is not None:
        state["adjustments"] = tf.cast(zeros, tf.float32)
    if coverage_penalty is not None:
        state["coverage"] = tf.cast(
            tf.expand_dims(zeros, 2), tf.float32
        ) + tf.zeros_like(tf.expand_dims(source_mask, 1), tf.float32)

    def flat(x):  # (B, K, ...) -> (B * K, ...)
        if x.shape.rank == 2:
            return tf.reshape(x, (-1,))
        return tf.reshape(x, (-1, _size(x, 2)))

    def beamed(x, width):  # (B * K, ...) -> (B, K, ...)
        return tf.reshape(x, (-1, beam_size, width))

    def unfinished(index, state, cache):
        return ~tf.reduce_all(state["finished"])

    def step(index, state, cache):
        finished = tf.expand_dims(state["finished"], 2)  # (B, K, 1)
        logits, cache, *attention = next_logits(
            flat(state["last"]), cache, index
        )
        allowed = logits
        if adjust is not None:
            allowed = adjust(logits, flat(state["token_ids"]), index)

        # The K best tokens of each hypothesis, by logits: they are the K best
        # by log-probability, and only these are normalised.
        width = _least(beam_size, _size(logits, 1))
        values, tokens = tf.math.top_k(allowed, width)  # (B * K, C)
        forced = tf.reshape(tf.gather(prefix, index, axis=1), (-1, 1, 1))
        is_forced = forced != pad_token_id
        tokens = tf.where(is_forced, forced, beamed(tokens, width))
        flat_tokens = tf.reshape(tokens, (-1, width))
        chosen = tf.gather(logits, flat_tokens, batch_dims=1)
        log_probs = beamed(chosen - log_normalizer(logits), width)

        # A finished hypothesis goes on with padding, at no cost, and a forced
        # one with its token: both are one candidate, the others do not exist.
        tokens = tf.where(finished, pad_token_id, tokens)
        log_probs = tf.where(finished, 0.0, log_probs)
        log_probs += tf.expand_dims(state["log_probs"], 2)
        is_first = tf.reshape(tf.range(width) < 1, (1, 1, -1))
        is_one = finished | is_forced
        log_probs = tf.where(is_one & ~is_first, DEAD, log_probs)
        totals = log_probs
        if adjust is not None:
            adjustments = tf.where(
                finished | is_forced, 0.0, beamed(values - chosen, width)
            ) + tf.expand_dims(state["adjustments"], 2)
            totals += adjustments
        ranks = totals / length_normalizer(
            index + 1, length_penalty, length_penalty_form
        )
        if coverage_penalty is not None:
            (attention,) = attention
            coverage = state["coverage"] + beamed(
                attention, _size(attention, 1)
            )
            ranks += tf.expand_dims(
                coverage_bonus(coverage, source_mask, coverage_penalty), 2
            )
        ranks = tf.where(finished, tf.expand_dims(state["ranks"], 2), ranks)
        ranks = tf.where(totals > DEAD / 2, ranks, DEAD)

        # The K best of all candidates of a sentence.
        ranks, best = tf.math.top_k(
            tf.reshape(ranks, (-1, beam_size * width)), beam_size
        )  # (B, K)
        parents = best // width

        def of_best(x):  # (B, K, C) -> (B, K)
            x = tf.reshape(x, (-1, beam_size * width))
            return tf.gather(x, best, batch_dims=1)

        def of_parents(x):  # (B, K, ...) -> (B, K, ...)
            return tf.gather(x, parents, batch_dims=1)

        last = of_best(tokens)
        new = {
            "last": last,
            "token_ids": tf.where(
                positions == index,
                tf.expand_dims(last, 2),
                of_parents(state["token_ids"]),
            ),
            "log_probs": of_best(log_probs),
            "ranks": ranks,
        }
        if adjust is not None:
            new["adjustments"] = of_best(adjustments)
        if coverage_penalty is not None:
            new["coverage"] = of_parents(coverage)
        finished = of_parents(state["finished"]) | (last == end_token_id)
        done = _is_done(
            new,
            finished,
            max_lengths,
            length_penalty,
            length_penalty_form,
            beam_size,
            n_best,
            patience,
        )
        new["finished"] = finished | (index + 1 >= limits) | done
        return index + 1, new, reorder_cache(cache, parents)

    _, state, _ = tf.while_loop(
        unfinished, step, (tf.constant(0), state, cache)
    )
    is_end = tf.reduce_any(state["token_ids"] == end_token_id, axis=2)
    order = tf.where(is_end, state["ranks"], state["ranks"] - INCOMPLETE)
    _, order = tf.math.top_k(order, beam_size)
    return tuple(
        tf.gather(state[name], order, batch_dims=1)
        for name in ("token_ids", "ranks", "log_probs")
    )


def _size(x, axis):
    return x.shape[axis] or tf.shape(x)[axis]


def _least(x, size):
    return min(x, size) if isinstance(size, int) else tf.minimum(x, size)


def _is_done(
    state,
    finished,
    max_lengths,
    length_penalty,
    form,
    beam_size,
    n_best,
    patience,
):
    """Whether going on is of no use: bool `(B, 1)`."""
    ranks = state["ranks"]
    # At best a hypothesis goes on for ever at no cost but that of coverage.
    totals = state["log_probs"] + state.get("adjustments", 0.0)
    bounds = totals / length_normalizer(max_lengths, length_penalty, form)
    most = tf.reduce_max(
        tf.where(finished, DEAD, bounds), axis=1, keepdims=True
    )
    best = tf.reduce_max(
        tf.where(finished, ranks, 2 * DEAD), axis=1, keepdims=True
    )
    # Not at a draw, which the other one may win by its place in the beam.
    done = tf.logical_and(best > most, n_best < 2)
    if patience is not None:
        # Rounding must not ask for one more: 0.6 of 25 are 15.
        wanted = tf.math.ceil(patience * beam_size - 1e-5)
        count = tf.reduce_sum(
            tf.cast(finished, tf.float32), axis=1, keepdims=True
        )
        done |= count >= wanted
    return done
