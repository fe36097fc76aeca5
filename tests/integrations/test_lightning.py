"""`CollapseCallback` in real runs of Lightning's Trainer."""

import csv
import json
import logging
from pathlib import Path
from typing import Any

import lightning
import pytest
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from gnc_cli import measure_model
from gnc_cli.errors import UsageError
from gnc_cli.integrations import FIGURES, figures
from gnc_cli.integrations.lightning import CollapseCallback
from tests.integrations.problems import Network, samples
from tests.runtime.together import needs_gloo, together

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
    pytest.mark.filterwarnings("ignore:.*GPU available but not used"),
    pytest.mark.filterwarnings("ignore:.*isinstance.*LeafSpec"),
    pytest.mark.filterwarnings("ignore:The `srun` command is available"),
    pytest.mark.filterwarnings("ignore:.*log_every_n_steps"),
]


class Module(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.network = Network()

    def forward(self, images: Tensor) -> Tensor:
        return self.network(images)

    def training_step(self, batch: list[Tensor], index: int) -> Tensor:
        images, labels = batch
        loss = nn.functional.cross_entropy(self(images), labels)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch: list[Tensor], index: int) -> None:
        assert not self.training

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


def loader(N: int = 60) -> DataLoader[Any]:
    return DataLoader(TensorDataset(*samples(N)), batch_size=16)


def trainer(folder: Path, *callbacks: Any, **more: Any) -> lightning.Trainer:
    usual: dict[str, Any] = {
        "max_epochs": 2,
        "accelerator": "cpu",
        "devices": 1,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "enable_checkpointing": False,
        "default_root_dir": folder,
        "logger": CSVLogger(folder, name="", version=""),
    }
    return lightning.Trainer(**(usual | more), callbacks=list(callbacks))


def logged(folder: Path) -> list[dict[str, str]]:
    """Lines of the logger that hold metrics."""
    with open(folder / "metrics.csv", encoding="utf-8") as file:
        return [line for line in csv.DictReader(file) if line.get("gnc/gnc1")]


def test_values_go_to_loggers_and_checkpoints(tmp_path: Path) -> None:
    callback, module = CollapseCallback(), Module()
    best = ModelCheckpoint(tmp_path, monitor="gnc/gnc1", filename="best")
    run = trainer(tmp_path, callback, best, enable_checkpointing=True)
    run.fit(module, loader(), loader(30))
    result = measure_model(module, loader(30))
    assert callback.result is not None and callback.result.N == 30
    assert figures(callback.result) == pytest.approx(figures(result), rel=1e-6)
    assert {f"gnc/{name}" for name in FIGURES} <= run.callback_metrics.keys()
    lines = logged(tmp_path)
    assert [line["epoch"] for line in lines] == ["0", "1"]
    for name, value in figures(result).items():
        assert float(lines[-1][name]) == pytest.approx(value, rel=1e-5), name
    assert best.best_model_score is not None and Path(best.best_model_path).is_file()
    assert module.training and not module.network.head._forward_hooks


def test_every_second_epoch_on_a_set_of_ones_own(tmp_path: Path) -> None:
    callback = CollapseCallback(loader(), every=2, head="network.head")
    run = trainer(tmp_path, callback, max_epochs=5, limit_val_batches=1)
    run.fit(Module(), loader(), loader(30))
    assert [line["epoch"] for line in logged(tmp_path)] == ["1", "3"]
    assert callback.result is not None and callback.result.N == 60
    with pytest.raises(UsageError, match="every 0"):
        CollapseCallback(every=0)


class Metric(Module):
    """Gives an embedding; the classifier of its loss is a matrix of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.loss = nn.Module()
        self.loss.weight = nn.Parameter(torch.randn(3, 4))

    def forward(self, images: Tensor) -> Tensor:
        return self.network.encoder(images)


def test_an_embedding_is_doubted_once_and_its_classifier_can_be_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    images, labels = samples()
    few = DataLoader(TensorDataset(images, labels % 3), batch_size=16)
    first, second = CollapseCallback(few), CollapseCallback(few, weights="loss.weight")
    with caplog.at_level(logging.WARNING, "gnc_cli"):
        trainer(tmp_path, first, second).fit(Metric(), few, few)
    assert caplog.text.count("head 'network.encoder.3' has 4 rows") == 1
    assert "such as its own 'loss.weight' (3, 4)" in caplog.text
    assert first.result is not None and first.result.K == 4
    assert second.result is not None and second.result.K == 3


@pytest.mark.parametrize("precision", ["bf16-true", "bf16-mixed", "64-true"])
def test_precisions(tmp_path: Path, precision: Any) -> None:
    callback = CollapseCallback()
    run = trainer(tmp_path, callback, precision=precision, max_epochs=1)
    run.fit(Module(), loader(), loader())
    stored = callback.result.policy.precision.storage  # type: ignore[union-attr]
    assert stored == ("float64" if precision == "64-true" else "bfloat16")


def test_a_network_that_diverged_trains_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    module = Module()
    nn.init.constant_(module.network.encoder[0].weight, torch.nan)
    with caplog.at_level(logging.WARNING, "gnc_cli"):
        run = trainer(tmp_path, CollapseCallback())
        run.fit(module, loader(), loader())
    assert "collapse is not measured: " in caplog.text and "NaN" in caplog.text
    assert run.current_epoch == 2 and "gnc/gnc1" not in run.callback_metrics


@needs_gloo
def test_two_processes_log_the_numbers_of_all_samples(tmp_path: Path) -> None:
    told = together(
        f"""
        import json, os, warnings
        warnings.simplefilter("ignore")
        os.environ |= {{"LOCAL_RANK": str(rank), "GROUP_RANK": "0", "LOCAL_WORLD_SIZE": "2",
                        "TORCHELASTIC_RUN_ID": "test"}}
        from pathlib import Path
        from gnc_cli.integrations import figures
        from gnc_cli.integrations.lightning import CollapseCallback
        from tests.integrations.test_lightning import Module, loader, trainer
        callback = CollapseCallback()
        run = trainer(Path({str(tmp_path)!r}), callback, devices=2, strategy="ddp", max_epochs=1)
        module = Module()
        run.fit(module, loader(), loader(40))
        assert run.world_size == 2 and module.training
        found = {{name: run.callback_metrics[name].item() for name in figures(callback.result)}}
        print(json.dumps(found | {{"N": callback.result.N}}))
        """
    )
    first, second = (json.loads(line.splitlines()[-1]) for line in told)
    assert first == second and first["N"] == 40
    (line,) = logged(tmp_path)
    assert float(line["gnc/gnc1"]) == pytest.approx(first["gnc/gnc1"], rel=1e-5)
