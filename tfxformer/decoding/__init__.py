"""Search: pure functions over a step function.

They know neither the tokens' text nor layers. The step function is
`next_logits(token_ids, cache, index) -> (logits, cache)`: last tokens int32
`(R,)`, any nest of tensors, position int32 `()`; logits float32 `(R, V)`.

Axes: B sentences, K hypotheses of a sentence, R rows (B, or B * K), L most
tokens, V vocabulary. Every shape comes from the tensors that are passed in by
broadcasting, so that TFLite knows it before it runs.
"""

from tfxformer.decoding.beam import beam_search
from tfxformer.decoding.greedy import greedy_search
from tfxformer.decoding.rules import (
    block_tokens,
    forbid_end,
    forbid_repeated_ngrams,
    penalize_repetition,
    sample_tokens,
)

__all__ = [
    "beam_search",
    "block_tokens",
    "forbid_end",
    "forbid_repeated_ngrams",
    "greedy_search",
    "penalize_repetition",
    "sample_tokens",
]
