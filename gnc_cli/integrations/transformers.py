"""A callback that follows collapse in a training with the Trainer of transformers."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Annotated, Any

from torch import nn

from gnc_cli.collapse.result import MeasureResult
from gnc_cli.integrations import (
    figures,
    measure_or_warn,
    missing_package,
    warn_of_evaluation_samples,
)
from gnc_cli.io.arguments import validated
from gnc_cli.parameters import Parameter, whole

try:
    from transformers import Trainer, TrainerCallback
except ImportError as error:
    raise missing_package("transformers") from error

__all__ = ["CollapseCallback"]


class CollapseCallback(TrainerCallback):
    """Measurement of collapse after evaluation, logged as by the trainer, with `trainer.log`.

    The values of `gnc measure` are logged by their keys: `eval_gnc/gnc1`, `eval_gnc/gnc1_centred`,
    `eval_gnc/gnc2.lower`, `eval_gnc/nc1`, ..., all of `gnc_cli.integrations.FIGURES`. Those of an
    evaluation set `name` are `eval_name_gnc/gnc1` and so on. `trainer.evaluate` returns them too,
    so that `metric_for_best_model` may name one if `every` is 1.

    Args:
        trainer: the trainer with the loggers; `trainer.add_callback(CollapseCallback(trainer))`.
        every: number of evaluations per measurement, counted for each evaluation set.
        head: the classifier or its name, if it is not recognised.
        weights: the classifier (K, d) of a model that returns features, or the name of such a
            parameter of it; `"means"` if there is none.
        batch_to: a function from a batch of another kind to `(inputs, labels)`.
        loader: samples to measure, such as `trainer.get_train_dataloader()`. By default they are
            those of the evaluation, with class means of their own, and a warning says so.

    Raises:
        UsageError: raised in training for no obvious head.
    """

    @validated
    def __init__(
        self,
        trainer: Trainer,
        every: Annotated[int, Parameter("Evaluations between measurements.", whole(1))] = 1,
        head: nn.Module | str | None = None,
        loader: Iterable[Any] | None = None,
        weights: Any = None,
        batch_to: Callable[[Any], tuple[Any, Any]] | None = None,
    ) -> None:
        self.trainer, self.every, self.loader = trainer, every, loader
        self._options = {"head": head, "weights": weights, "batch_to": batch_to}
        self.result: MeasureResult | None = None
        """Whole record of the last measurement."""
        self._evaluations: Counter[str] = Counter()
        if loader is None:
            warn_of_evaluation_samples()

    def on_evaluate(
        self,
        args: Any,
        state: Any,
        control: Any,
        *,
        model: nn.Module,
        eval_dataloader: Any,
        metrics: dict[str, float],
        **kwargs: Any,
    ) -> None:
        """Measure after every n-th evaluation."""
        # One call for each evaluation set; the trainer puts `eval_` and its name before all keys.
        runtime_keys = [key for key in metrics if key.endswith("_runtime")]
        prefix = min(runtime_keys, key=len, default="eval_runtime").removesuffix("runtime") + "gnc/"
        self._evaluations[prefix] += 1
        if self._evaluations[prefix] % self.every:
            return
        loader = eval_dataloader if self.loader is None else self.loader
        result = measure_or_warn(model, loader, self.result, **self._options)
        if result is not None:
            self.result = result
            metrics |= figures(result, prefix)
            self.trainer.log(figures(result, prefix))
