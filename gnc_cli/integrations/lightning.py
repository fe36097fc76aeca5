"""A callback that follows collapse in a training with Lightning."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Annotated, Any

from torch import nn

from gnc_cli.collapse.result import MeasureResult
from gnc_cli.errors import UsageError
from gnc_cli.integrations import (
    figures,
    measure_or_warn,
    missing_package,
    warn_of_evaluation_samples,
)
from gnc_cli.io.arguments import validated
from gnc_cli.parameters import Parameter, whole

try:
    from lightning.pytorch import Callback, LightningModule, Trainer
except ImportError as error:
    raise missing_package("lightning") from error

__all__ = ["CollapseCallback"]


class CollapseCallback(Callback):
    """Measurement of collapse after validation, logged by `log_dict`, for loggers and checkpoints.

    The module is called as `module(inputs)` on batches `(inputs, labels)`. For other batches and
    for networks without a classifier see `gnc_cli.measure_model`. The values of `gnc measure` are
    logged by their keys, the same in every process: `gnc/gnc1`, `gnc/gnc1_centred`,
    `gnc/gnc2.lower`, `gnc/gnc3`, `gnc/accuracy`, `gnc/nc1`, ..., all of
    `gnc_cli.integrations.FIGURES`.

    Args:
        loader: samples to measure, such as the training set unshuffled. With several processes
            each requires its part of them. By default they are those of the trainer's validation
            loader, with class means of their own, and a warning says so.
        every: number of epochs per measurement.
        head: the classifier or its name, if it is not recognised.
        weights: the classifier (K, d) of a model that returns features, or the name of such a
            parameter of it; `"means"` if there is none.
        batch_to: a function from a batch of another kind to `(inputs, labels)`.

    Raises:
        UsageError: raised in training for several validation loaders, or no obvious head.
    """

    @validated
    def __init__(
        self,
        loader: Iterable[Any] | None = None,
        every: Annotated[int, Parameter("Epochs between measurements.", whole(1))] = 1,
        head: nn.Module | str | None = None,
        weights: Any = None,
        batch_to: Callable[[Any], tuple[Any, Any]] | None = None,
    ) -> None:
        self.loader, self.every = loader, every
        self._options = {"head": head, "weights": weights, "batch_to": batch_to}
        self.result: MeasureResult | None = None
        """Whole record of the last measurement."""
        if loader is None:
            warn_of_evaluation_samples()

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Measure after every n-th epoch of training, and on each call of `trainer.validate`."""
        is_between = trainer.state.fn == "fit" and (trainer.current_epoch + 1) % self.every
        if trainer.sanity_checking or is_between:
            return
        with trainer.precision_plugin.forward_context():
            result = measure_or_warn(
                pl_module, _Batches(trainer, self.loader), self.result, **self._options
            )
        if result is not None:
            self.result = result
            pl_module.log_dict(figures(result), sync_dist=True)


class _Batches:
    """Batches as `validation_step` gets them: in the trainer's precision, on its device."""

    def __init__(self, trainer: Trainer, loader: Any) -> None:
        self.trainer, self.loader, self.num_batches = trainer, loader, None
        if loader is None:
            loaders = trainer.val_dataloaders
            if isinstance(loaders, list | tuple) and len(loaders) == 1:
                loaders = loaders[0]
            if isinstance(loaders, list | tuple | dict):
                raise UsageError(
                    f"the trainer has {len(loaders)} validation loaders; give one of them: "
                    "CollapseCallback(loader=...)"
                )
            self.loader, num_batches = loaders, trainer.num_val_batches[0]
            self.num_batches = None if num_batches == float("inf") else int(num_batches)

    def __iter__(self) -> Iterator[Any]:
        trainer, module = self.trainer, self.trainer.lightning_module
        for batch in islice(self.loader, self.num_batches):
            batch = trainer.precision_plugin.convert_input(batch)
            batch = module.on_before_batch_transfer(batch, 0)
            yield trainer.strategy.batch_to_device(batch)
