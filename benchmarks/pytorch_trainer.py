"""`torch.nn.Transformer`. In a process with TensorFlow it would crash."""

import math

import numpy as np
import torch
from torch import nn

from tfxformer import PRESETS

LABEL_SMOOTHING = 0.1
RATE = 1e-4
POSITIONS = 512


def sinusoids(hidden_dim):
    """Position encodings, float32 `(512, D)`."""
    angles = np.arange(POSITIONS)[:, None] / 10000 ** (
        np.arange(0, hidden_dim, 2) / hidden_dim
    )
    pairs = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
    return pairs.reshape(POSITIONS, hidden_dim).astype("float32")


def pytorch(preset, vocabulary_size, batches, compiled=False):
    """`nn.Transformer`, eager or through `torch.compile`."""
    sizes = PRESETS[preset]

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(vocabulary_size, sizes["hidden_dim"])
            nn.init.normal_(
                self.embedding.weight, 0, sizes["hidden_dim"] ** -0.5
            )
            positions = sinusoids(sizes["hidden_dim"])
            self.register_buffer("positions", torch.tensor(positions))
            self.dropout = nn.Dropout(sizes["dropout"])
            self.transformer = nn.Transformer(
                sizes["hidden_dim"],
                sizes["num_heads"],
                sizes["num_layers"],
                sizes["num_layers"],
                sizes["intermediate_dim"],
                sizes["dropout"],
                batch_first=True,
            )

        def embed(self, ids):
            x = self.embedding(ids) * math.sqrt(sizes["hidden_dim"])
            return self.dropout(x + self.positions[: ids.shape[1]])

        def forward(self, source, target):
            causal = nn.Transformer.generate_square_subsequent_mask(
                target.shape[1], dtype=torch.bool
            )
            x = self.transformer(
                self.embed(source),
                self.embed(target),
                tgt_mask=causal,
                tgt_is_causal=True,
                src_key_padding_mask=source == 0,
                tgt_key_padding_mask=target == 0,
                memory_key_padding_mask=source == 0,
            )
            return x @ self.embedding.weight.T

    torch.manual_seed(1)
    model = Model()
    forward = torch.compile(model, dynamic=True) if compiled else model
    loss_function = nn.CrossEntropyLoss(
        ignore_index=0, label_smoothing=LABEL_SMOOTHING
    )
    adam = torch.optim.Adam(model.parameters(), RATE, (0.9, 0.98), 1e-9)
    (source, inputs), labels = batches
    tensors = [
        tuple(
            torch.tensor(np.array(x[i])).long()
            for x in (source, inputs, labels)
        )
        for i in range(len(labels))
    ]

    def train(updates):
        for number in range(updates):
            source, inputs, labels = tensors[number % len(tensors)]
            logits = forward(source, inputs)
            loss = loss_function(
                logits.reshape(-1, vocabulary_size), labels.reshape(-1)
            )
            adam.zero_grad()
            loss.backward()
            adam.step()

    return train


TRAINERS = {
    "PyTorch, eager": pytorch,
    "PyTorch, compiled": lambda *a: pytorch(*a, compiled=True),
}
