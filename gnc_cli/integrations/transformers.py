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
    """Measures collapse after evaluation and logs it as the trainer does, `trainer.log`.

    Logged are the figures of `gnc measure` by its keys, `eval_gnc/gnc1`, `eval_gnc/gnc1_centred`,
    `eval_gnc/gnc2.lower`, `eval_gnc/nc1`, ..., all of `gnc_cli.integrations.FIGURES`; of an
    evaluation set `name` `eval_name_gnc/gnc1` and so on. `trainer.evaluate` returns them too, so
    that `metric_for_best_model` may name one if `every` is 1.

    Args:
        trainer: whose loggers are used; `trainer.add_callback(CollapseCallback(trainer))`.
        every: evaluations between measurements, counted for each evaluation set.
        head: the classifier or its name, where it is not found by itself.
        weights: the classifier (K, d) of a model that gives features, or the name of such a
            parameter of it; `"means"` where there is none.
        batch_to: a function of a batch that gives `(inputs, labels)`, for batches of another kind.
        loader: samples to measure, such as `trainer.get_train_dataloader()`. By default those of
            the evaluation, by class means of their own; a warning says so.

    Raises:
        UsageError: while training: no obvious head.
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
        self.how = {"head": head, "weights": weights, "batch_to": batch_to}
        self.result: MeasureResult | None = None
        """The whole record of the last measurement."""
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
        """Measure, every n evaluations."""
        # One call for each evaluation set; the trainer puts `eval_` and its name before all keys.
        timed = [key for key in metrics if key.endswith("_runtime")]
        prefix = min(timed, key=len, default="eval_runtime").removesuffix("runtime") + "gnc/"
        self._evaluations[prefix] += 1
        if self._evaluations[prefix] % self.every:
            return
        loader = eval_dataloader if self.loader is None else self.loader
        result = measure_or_warn(model, loader, self.result, **self.how)
        if result is not None:
            self.result = result
            metrics |= figures(result, prefix)
            self.trainer.log(figures(result, prefix))
