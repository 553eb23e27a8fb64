"""Named model sizes, as arguments of `Transformer`."""

PRESETS = {
    "tiny": {
        "num_layers": 4,
        "num_heads": 4,
        "hidden_dim": 128,
        "intermediate_dim": 512,
        "dropout": 0.1,
    },
    "small": {
        "num_layers": 4,
        "num_heads": 4,
        "hidden_dim": 256,
        "intermediate_dim": 1024,
        "dropout": 0.1,
    },
    # Attention Is All You Need, table 3.
    "base": {
        "num_layers": 6,
        "num_heads": 8,
        "hidden_dim": 512,
        "intermediate_dim": 2048,
        "dropout": 0.1,
    },
    "big": {
        "num_layers": 6,
        "num_heads": 16,
        "hidden_dim": 1024,
        "intermediate_dim": 4096,
        "dropout": 0.3,
    },
}
"""Sizes of "tiny", "small", "base" and "big": arguments of `Transformer`.

Reference:
    Attention Is All You Need, table 3 (base and big).
"""
