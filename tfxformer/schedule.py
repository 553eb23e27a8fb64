"""The learning rate: linear warm-up, then a decay."""

import keras
import numpy as np
from keras import ops

DECAYS = ("inverse_square_root", "linear", "cosine")


@keras.saving.register_keras_serializable("tfxformer")
class WarmupSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """Raises the rate linearly, then lowers it.

    `rate = factor * D^-0.5 * min(n^-0.5, n * warmup_steps^-1.5)`, or, given
    the rate at its peak, `rate = peak_rate * min((n / warmup_steps)^-0.5,
    n / warmup_steps)`. Here n is the number of the update, from 1 as in the
    paper; Keras passes the number of updates made so far, `n - 1`.

    Instead of the inverse square root, the rate can fall from the peak to 0
    at update `total_steps + 1`, in a straight line or as half a cosine wave.

    Args:
        hidden_dim: int, D. Either this or `peak_rate` is given.
        warmup_steps: int. Number of updates until the peak.
        factor: float. Multiplies the paper's rate.
        peak_rate: float. The rate at update `warmup_steps`.
        decay: "inverse_square_root" (the paper), "linear" or "cosine".
        total_steps: int. Number of updates; with the other two decays only.

    Call arguments:
        step: int or float, Python number or tensor of any shape: updates
            made so far.

    Returns:
        float32 of the shape of `step`.

    Raises:
        ValueError: if neither or both of `hidden_dim` and `peak_rate` are
            given, if there is a `factor` beside a `peak_rate`, if there is no
            such decay, if `warmup_steps` is not positive, or if `total_steps`
            is missing, needless or not above `warmup_steps`.

    Reference:
        Attention Is All You Need, section 5.3. Cosine: SGDR (Loshchilov and
        Hutter, 2017), section 3.
    """

    def __init__(
        self,
        hidden_dim=None,
        warmup_steps=4000,
        factor=1.0,
        peak_rate=None,
        decay="inverse_square_root",
        total_steps=None,
    ):
        if (hidden_dim is None) == (peak_rate is None):
            raise ValueError(
                "Give either hidden_dim or peak_rate. Received: "
                f"hidden_dim={hidden_dim}, peak_rate={peak_rate}"
            )
        if warmup_steps < 1:
            raise ValueError(
                "warmup_steps must be positive. "
                f"Received: warmup_steps={warmup_steps}"
            )
        if peak_rate is not None and factor != 1.0:
            raise ValueError(
                "factor scales the paper's rate, not a given peak. "
                f"Received: factor={factor}, peak_rate={peak_rate}"
            )
        if decay not in DECAYS:
            raise ValueError(
                f"decay must be one of {', '.join(DECAYS)}. "
                f"Received: decay={decay!r}"
            )
        if (decay == "inverse_square_root") != (total_steps is None):
            raise ValueError(
                "total_steps goes with a linear or cosine decay. "
                f"Received: decay={decay!r}, total_steps={total_steps}"
            )
        if total_steps is not None and total_steps <= warmup_steps:
            raise ValueError(
                "The warm-up must end before the training. Received: "
                f"warmup_steps={warmup_steps}, total_steps={total_steps}"
            )
        self.hidden_dim = hidden_dim
        self.warmup_steps = warmup_steps
        self.factor = factor
        self.peak_rate = peak_rate
        self.decay = decay
        self.total_steps = total_steps

    def __call__(self, step):
        number = ops.cast(step, "float32") + 1.0
        progress = number / self.warmup_steps
        if self.peak_rate is None:
            peak = self.factor * (self.hidden_dim * self.warmup_steps) ** -0.5
        else:
            peak = self.peak_rate
        if self.total_steps is None:
            return peak * ops.minimum(progress, ops.rsqrt(progress))
        end = self.total_steps + 1
        left = (end - number) / (end - self.warmup_steps)
        left = ops.clip(left, 0.0, 1.0)
        if self.decay == "cosine":
            left = 0.5 - 0.5 * ops.cos(np.pi * left)
        return peak * ops.minimum(progress, left)

    def get_config(self):
        return {
            "hidden_dim": self.hidden_dim,
            "warmup_steps": self.warmup_steps,
            "factor": self.factor,
            "peak_rate": self.peak_rate,
            "decay": self.decay,
            "total_steps": self.total_steps,
        }
