"""Adam that skips updates that are not finite."""

import keras
import tensorflow as tf
from keras import ops

FIRST_LOSS_SCALE = 2.0**15
UPDATES_UNTIL_DOUBLED = 2000


class SkippingAdam(keras.optimizers.Adam):
    """Adam that leaves everything as it was where a gradient is not finite.

    Gradients are summed over replicas first, so that clipping and the check
    see the gradient of the whole batch and all replicas do the same. A
    skipped update does not count: the schedule does not move either.

    With `scales_loss` the loss is multiplied, and the gradients are divided,
    by a factor that keeps small gradients above what float16 can hold: it is
    halved when an update is skipped, and doubled after 2,000 that were not.

    The averages of `use_ema` stay in the optimizer: `fit` does not put them
    in the place of the weights.

    Args:
        learning_rate: float or schedule.
        scales_loss: bool. For float16.
        **options: of `keras.optimizers.Adam`.

    Attributes:
        skipped: int64 variable. Updates that were skipped, in all.
        skipped_in_a_row: int64 variable. Those since the last one that was
            not.
        loss_scale: float32 variable.
        updates_with_scale: int64 variable. Updates since it last changed.

    Reference:
        Adam: A Method for Stochastic Optimization (Kingma and Ba, 2015);
        Mixed Precision Training (Micikevicius et al., 2018), section 3.2.
    """

    def __init__(self, learning_rate=0.001, scales_loss=False, **options):
        super().__init__(learning_rate, **options)
        self.scales_loss = scales_loss

    def build(self, variables):
        if self.built:
            return
        super().build(variables)

        def scalar(name, dtype, value):
            return self.add_variable(
                (),
                keras.initializers.Constant(value),
                dtype,
                aggregation="only_first_replica",
                name=name,
            )

        self.skipped = scalar("skipped", "int64", 0)
        self.skipped_in_a_row = scalar("skipped_in_a_row", "int64", 0)
        self.loss_scale = scalar("loss_scale", "float32", FIRST_LOSS_SCALE)
        self.updates_with_scale = scalar("updates_with_scale", "int64", 0)

    def scale_loss(self, loss):
        """Multiplies the loss by the loss scale, if there is one.

        Args:
            loss: float scalar.

        Returns:
            float scalar.
        """
        if not self.scales_loss:
            return loss
        return loss * (self.loss_scale if self.built else FIRST_LOSS_SCALE)

    def apply(self, grads, trainable_variables=None):
        """Makes an update, or skips it if a gradient is not finite.

        Args:
            grads: list of tensors, the gradients of this replica of the
                scaled loss; those of all replicas are summed.
            trainable_variables: list of variables; None: those of `build`.
        """
        if trainable_variables is not None:
            self.build(list(trainable_variables))
        replica = tf.distribute.get_replica_context()
        # Of the embeddings only rows came; the norm and the check want all.
        grads = [tf.convert_to_tensor(gradient) for gradient in grads]
        grads = replica.all_reduce(tf.distribute.ReduceOp.SUM, grads)
        if self.scales_loss:
            grads = [gradient / self.loss_scale for gradient in grads]
        finite = ops.all(
            ops.stack([ops.all(ops.isfinite(gradient)) for gradient in grads])
        )

        def update(gradients):
            super(SkippingAdam, self).apply(gradients, trainable_variables)
            self.skipped_in_a_row.assign(0)
            if self.scales_loss:
                grow = self.updates_with_scale + 1 >= UPDATES_UNTIL_DOUBLED
                self.loss_scale.assign(
                    ops.where(grow, 2.0 * self.loss_scale, self.loss_scale)
                )
                self.updates_with_scale.assign(
                    ops.where(grow, 0, self.updates_with_scale + 1)
                )

        def skip():
            self.skipped.assign_add(1)
            self.skipped_in_a_row.assign_add(1)
            if self.scales_loss:
                self.loss_scale.assign(0.5 * self.loss_scale)
                self.updates_with_scale.assign(0)

        if tf.__internal__.distribute.strategy_supports_no_merge_call():
            ops.cond(finite, lambda: update(grads), skip)
            return

        def update_all(strategy, gradients, finite):
            # A branch of a replica may not merge; one outside of them may.
            run = strategy.extended.call_for_each_replica
            ops.cond(
                strategy.experimental_local_results(finite)[0],
                lambda: run(update, args=(gradients,)),
                lambda: run(skip),
            )

        replica.merge_call(update_all, args=(grads, finite))

    def update_step(self, gradient, variable, learning_rate):
        """Changes a variable and its two moments.

        Args:
            gradient: tensor of the shape of the variable.
            variable: one of those of `build`.
            learning_rate: float scalar.

        Reference:
            Adam: A Method for Stochastic Optimization (Kingma and Ba, 2015),
            section 2; epsilon is the one with a hat, at its end.
        """
        # TensorFlow's kernel: what Keras writes as thirty small operations is
        # a tenth of a step, and half of the time until the first one.
        step = ops.cast(self.iterations + 1, variable.dtype)
        index = self._get_variable_index(variable)
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=self._momentums[index].value.handle,
            v=self._velocities[index].value.handle,
            beta1_power=ops.power(self.beta_1, step),
            beta2_power=ops.power(self.beta_2, step),
            lr=ops.cast(learning_rate, variable.dtype),
            beta1=self.beta_1,
            beta2=self.beta_2,
            epsilon=self.epsilon,
            grad=gradient,
        )

    def _all_reduce_sum_gradients(self, grads_and_vars):
        return grads_and_vars  # `apply` has summed them

    def finalize_variable_values(self, var_list):
        pass

    def get_config(self):
        return {**super().get_config(), "scales_loss": self.scales_loss}
