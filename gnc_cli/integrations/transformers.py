"""A callback that follows collapse in a training with the Trainer of transformers."""

from collections.abc import Iterable
from typing import Annotated, Any

from torch import nn

from gnc_cli.collapse.result import MeasureResult
from gnc_cli.integrations.figures import figures, lacking, measured
from gnc_cli.io.arguments import validated
from gnc_cli.parameters import Parameter, whole

try:
    from transformers import Trainer, TrainerCallback
except ImportError as error:
    raise lacking("transformers") from error

__all__ = ["CollapseCallback"]

_PREFIX = "eval_gnc/"


class CollapseCallback(TrainerCallback):
    """Measures collapse after evaluation and logs it as the trainer does, `trainer.log`.

    Logged are `eval_gnc/gnc1`, `eval_gnc/gnc2.lower`, `eval_gnc/gnc2.upper`, `eval_gnc/gnc2_ratio`,
    `eval_gnc/gnc3`, `eval_gnc/ncc_accuracy` and `eval_gnc/accuracy`; `trainer.evaluate` returns
    them too, so that `metric_for_best_model` may name one.

    Args:
        trainer: whose loggers are used; `trainer.add_callback(CollapseCallback(trainer))`.
        every: evaluations between measurements.
        head: the last linear layer or its name, where it is not found by itself.
        loader: samples to measure, such as `trainer.get_train_dataloader()`. By default those of
            the evaluation.

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
    ) -> None:
        self.trainer, self.every, self.head, self.loader = trainer, every, head, loader
        self.result: MeasureResult | None = None
        """The whole record of the last measurement."""
        self._evaluations = 0

    def on_evaluate(
        self, args: Any, state: Any, control: Any, *, model: nn.Module, eval_dataloader: Any,
        metrics: dict[str, float], **kwargs: Any,
    ) -> None:  # fmt: skip
        """Measure, every n evaluations."""
        self._evaluations += 1
        if self._evaluations % self.every:
            return
        loader = eval_dataloader if self.loader is None else self.loader
        found = measured(model, loader, self.head)
        if found is not None:
            self.result = found
            metrics |= figures(found, _PREFIX)
            self.trainer.log(figures(found, _PREFIX))
