"""The learning rate: linear warm-up, then the inverse square root."""

import keras
from keras import ops


@keras.saving.register_keras_serializable("tfxformer")
class WarmupSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """Raises the rate linearly, then lowers it with the root of the step.

    `rate = factor * D^-0.5 * min(n^-0.5, n * warmup_steps^-1.5)`, or, given
    the rate at its peak, `rate = peak_rate * min((n / warmup_steps)^-0.5,
    n / warmup_steps)`. Here n is the number of the update, from 1 as in the
    paper; Keras passes the number of updates made so far, `n - 1`.

    Args:
        hidden_dim: int, D. Either this or `peak_rate` is given.
        warmup_steps: int. Number of updates until the peak.
        factor: float. Multiplies the paper's rate.
        peak_rate: float. The rate at update `warmup_steps`.

    Call arguments:
        step: int or float, Python number or tensor of any shape: updates
            made so far.

    Returns:
        float32 of the shape of `step`.

    Raises:
        ValueError: if neither or both of `hidden_dim` and `peak_rate` are
            given, or if `warmup_steps` is not positive.

    Reference:
        Attention Is All You Need, section 5.3.
    """

    def __init__(
        self, hidden_dim=None, warmup_steps=4000, factor=1.0, peak_rate=None
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
        self.hidden_dim = hidden_dim
        self.warmup_steps = warmup_steps
        self.factor = factor
        self.peak_rate = peak_rate

    def __call__(self, step):
        progress = (ops.cast(step, "float32") + 1.0) / self.warmup_steps
        if self.peak_rate is None:
            peak = self.factor * (self.hidden_dim * self.warmup_steps) ** -0.5
        else:
            peak = self.peak_rate
        return peak * ops.minimum(progress, ops.rsqrt(progress))

    def get_config(self):
        return {
            "hidden_dim": self.hidden_dim,
            "warmup_steps": self.warmup_steps,
            "factor": self.factor,
            "peak_rate": self.peak_rate,
        }
