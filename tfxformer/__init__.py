"""tfxformer: the Transformer for translation, in Keras 3 on TensorFlow.

Public names are imported on first use, so that `import tfxformer` alone
loads neither TensorFlow nor Keras.
"""

import importlib

__version__ = "0.1.0"

_MODULE_OF_NAME = {
    "Attentions": "attentions",
    "DecoderBlock": "blocks",
    "EncoderBlock": "blocks",
    "FeedForward": "blocks",
    "Hypothesis": "options",
    "InputError": "errors",
    "LearnedPositionEncoding": "position",
    "LiteTranslator": "lite",
    "MultiHeadAttention": "attention",
    "PRESETS": "presets",
    "Perplexity": "metrics",
    "Projection": "projection",
    "Residual": "blocks",
    "ScoredTranslation": "host",
    "SearchOptions": "options",
    "SinusoidalPositionEncoding": "position",
    "TokenAccuracy": "metrics",
    "TokenCrossEntropy": "losses",
    "TokenEmbedding": "embedding",
    "TokenLoss": "metrics",
    "Tokenizer": "tokenizer",
    "Transformer": "model",
    "Translator": "host",
    "WarmupSchedule": "schedule",
    "attention_figure": "visualize",
    "attention_mask": "masking",
    "attention_page": "visualize",
    "beam_search": "decoding",
    "causal_mask": "masking",
    "greedy_search": "decoding",
    "load_run": "run_folder",
    "load_translator": "loading",
    "padding_mask": "masking",
    "position_figure": "visualize",
    "scaled_dot_product_attention": "attention",
    "schedule_figure": "visualize",
    "search": "model_search",
    "sinusoidal_encoding": "position",
}

__all__ = [*_MODULE_OF_NAME, "__version__"]  # noqa: PLE0604


def __getattr__(name):
    if name not in _MODULE_OF_NAME:
        raise AttributeError(f"module 'tfxformer' has no attribute {name!r}")
    module = importlib.import_module(f"tfxformer.{_MODULE_OF_NAME[name]}")
    return getattr(module, name)


def __dir__():
    return sorted(__all__)
