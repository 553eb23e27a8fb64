"""What the layers compute, in plain NumPy and float64."""

import itertools

import numpy as np


def softmax(x):
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def log_softmax(x):
    x = np.asarray(x, "float64")
    x = x - x.max(axis=-1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))


def attention(query, key, value, mask=None):
    """Loops over everything; a query with nothing to attend to gets zeros.

    Args:
        query: float `(B, N, T, H)`.
        key: float `(B, N, S, H)`.
        value: float `(B, N, S, H)`.
        mask: bool, broadcastable to `(B, N, T, S)`; True = attend.

    Returns:
        Tuple of float `(B, N, T, H)` and float `(B, N, T, S)`.
    """
    batch, heads, queries, size = query.shape
    shape = (batch, heads, queries, key.shape[2])
    mask = np.broadcast_to(True if mask is None else mask, shape)
    output, weights = np.zeros(query.shape), np.zeros(shape)
    for b, n, t in np.ndindex(batch, heads, queries):
        seen = np.flatnonzero(mask[b, n, t])
        if seen.size:
            scores = key[b, n, seen] @ query[b, n, t] / np.sqrt(size)
            weights[b, n, t, seen] = softmax(scores)
        output[b, n, t] = weights[b, n, t] @ value[b, n]
    return output, weights


def layer_norm(x, epsilon=1e-6):
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon)


def sinusoids(length, hidden_dim):
    """The paper's formula, entry by entry."""
    encoding = np.zeros((length, hidden_dim))
    for position in range(length):
        for i in range(hidden_dim // 2):
            angle = position / 10000 ** (2 * i / hidden_dim)
            encoding[position, 2 * i] = np.sin(angle)
            encoding[position, 2 * i + 1] = np.cos(angle)
    return encoding


def smoothed_cross_entropy(labels, logits, label_smoothing=0.0):
    """Cross-entropy with `(1 - e) onehot + e / V`, int `(B, T)` labels."""
    vocabulary_size = logits.shape[-1]
    target = np.eye(vocabulary_size)[labels] * (1 - label_smoothing)
    target += label_smoothing / vocabulary_size
    return -(target * log_softmax(logits)).sum(axis=-1)


def learning_rate(hidden_dim, warmup_steps, number, factor=1.0):
    """The paper's rate at the update of this number, from 1."""
    return factor * hidden_dim**-0.5 * min(
        number**-0.5, number * warmup_steps**-1.5
    )  # fmt: skip


def beam_search(logits_of, steps, beam_size, score, forced=(), patience=1.0):
    """Sorts all that may follow, at each step; never stops before it must.

    Args:
        logits_of: callable `tokens -> (logits, allowed)`, float `(V,)` each:
            what the model says after a tuple of tokens, and that adjusted.
        steps: int. Most tokens.
        beam_size: int.
        score: callable `(tokens, total) -> float`, total the sum of the
            adjusted log-probabilities.
        forced: tokens to start with.
        patience: float. Share of the beam that has to be finished.

    Returns:
        list of `(tokens, score, log_probability)`, best first, those without
        an end last.
    """
    beam = [((), 0.0, 0.0, 0.0)]  # tokens, score, log-probability, total
    for index in range(steps):
        candidates = []
        for tokens, old_score, log_prob, total in beam:
            if tokens[-1:] == (2,):
                candidates.append((tokens, old_score, log_prob, total))
                continue
            logits, allowed = logits_of(tokens)
            log_probs = log_softmax(logits)
            for token in range(len(logits)):
                change = allowed[token] - logits[token]
                if index < len(forced):
                    if token != forced[index]:
                        continue
                    change = 0.0
                if change > -1e8:  # else it is blocked
                    longer = (*tokens, token)
                    new_total = total + log_probs[token] + change
                    candidates.append(
                        (
                            longer,
                            score(longer, new_total),
                            log_prob + log_probs[token],
                            new_total,
                        )
                    )
        beam = sorted(candidates, key=lambda one: -one[1])[:beam_size]
        ends = sum(tokens[-1] == 2 for tokens, *_ in beam)
        if ends == len(beam) or ends >= patience * beam_size - 1e-6:
            break
    beam.sort(key=lambda one: one[0][-1:] != (2,))
    return [one[:3] for one in beam]


def all_sequences(words, steps):
    """All that end within so many tokens, as tuples."""
    for length in range(steps):
        for sequence in itertools.product(words, repeat=length):
            yield (*sequence, 2)
