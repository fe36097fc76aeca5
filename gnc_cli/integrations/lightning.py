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
    """Measures collapse after validation and logs it with `log_dict`, for loggers and checkpoints.

    The module is called as `module(inputs)` on batches `(inputs, labels)`; for other batches and
    for networks without a classifier see `gnc_cli.measure_model`. Logged are the figures of `gnc
    measure` by its keys, the same in every process: `gnc/gnc1`, `gnc/gnc1_centred`,
    `gnc/gnc2.lower`, `gnc/gnc3`, `gnc/accuracy`, `gnc/nc1`, ..., all of
    `gnc_cli.integrations.FIGURES`.

    Args:
        loader: samples to measure, such as the training set unshuffled; with several processes
            each needs its part of them. By default the trainer's validation loader, by class means
            of its own; a warning says so.
        every: epochs between measurements.
        head: the classifier or its name, where it is not found by itself.
        weights: the classifier (K, d) of a model that gives features, or the name of such a
            parameter of it; `"means"` where there is none.
        batch_to: a function of a batch that gives `(inputs, labels)`, for batches of another kind.

    Raises:
        UsageError: while training: several validation loaders, or no obvious head.
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
        self.how = {"head": head, "weights": weights, "batch_to": batch_to}
        self.result: MeasureResult | None = None
        """The whole record of the last measurement."""
        if loader is None:
            warn_of_evaluation_samples()

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Measure, every n epochs of training and whenever `trainer.validate` is called."""
        early = trainer.state.fn == "fit" and (trainer.current_epoch + 1) % self.every
        if trainer.sanity_checking or early:
            return
        with trainer.precision_plugin.forward_context():
            result = measure_or_warn(
                pl_module, _Batches(trainer, self.loader), self.result, **self.how
            )
        if result is not None:
            self.result = result
            pl_module.log_dict(figures(result), sync_dist=True)


class _Batches:
    """Batches as `validation_step` is given them: in the trainer's precision, on its device."""

    def __init__(self, trainer: Trainer, loader: Any) -> None:
        self.trainer, self.loader, self.most = trainer, loader, None
        if loader is None:
            loaders = trainer.val_dataloaders
            if isinstance(loaders, list | tuple) and len(loaders) == 1:
                loaders = loaders[0]
            if isinstance(loaders, list | tuple | dict):
                raise UsageError(
                    f"the trainer has {len(loaders)} validation loaders; give one of them: "
                    "CollapseCallback(loader=...)"
                )
            self.loader, most = loaders, trainer.num_val_batches[0]
            self.most = None if most == float("inf") else int(most)

    def __iter__(self) -> Iterator[Any]:
        trainer, module = self.trainer, self.trainer.lightning_module
        for batch in islice(self.loader, self.most):
            batch = trainer.precision_plugin.convert_input(batch)
            batch = module.on_before_batch_transfer(batch, 0)
            yield trainer.strategy.batch_to_device(batch)
