"""Boolean masks: True means "real token" and "attend to it"."""

from keras import ops


def padding_mask(token_ids, pad_token_id=0):
    """Marks the real tokens: `mask[b, s] = token_ids[b, s] != pad`.

    Args:
        token_ids: int `(B, S)`.
        pad_token_id: int. The id of `<pad>`.

    Returns:
        bool `(B, S)`; True = real token.

    Reference:
        Attention Is All You Need, section 3.2.3.
    """
    return ops.not_equal(token_ids, pad_token_id)


def causal_mask(query_length, key_length=None, start_index=0):
    """Lets position t see positions up to t: `mask[t, s] = s <= start + t`.

    Args:
        query_length: int, T. Number of queries.
        key_length: int, S. Number of keys; by default as many as queries.
        start_index: int or int32 `()`. Position of the first query, for
            queries that continue a sequence whose keys are in a cache.

    Returns:
        bool `(T, S)`; True = attend.

    Reference:
        Attention Is All You Need, section 3.2.3.
    """
    if key_length is None:
        key_length = query_length
    query_positions = start_index + ops.arange(query_length, dtype="int32")
    key_positions = ops.arange(key_length, dtype="int32")
    return ops.less_equal(
        ops.expand_dims(key_positions, 0), ops.expand_dims(query_positions, 1)
    )


def attention_mask(key_padding_mask=None, causal_mask=None):
    """Combines both masks: attend where both of them allow it.

    Args:
        key_padding_mask: bool `(B, S)`, or None where every key is real.
        causal_mask: bool `(T, S)`, or None where no order is enforced.

    Returns:
        bool `(B, T, S)`, with size 1 for an axis on which nothing depends;
        None if both are None.

    Reference:
        Attention Is All You Need, section 3.2.3.
    """
    if key_padding_mask is not None:
        key_padding_mask = ops.expand_dims(key_padding_mask, 1)  # (B, 1, S)
    if causal_mask is not None:
        causal_mask = ops.expand_dims(causal_mask, 0)  # (1, T, S)
    if key_padding_mask is None or causal_mask is None:
        return causal_mask if key_padding_mask is None else key_padding_mask
    return ops.logical_and(key_padding_mask, causal_mask)
