"""Devices by name: found, refused with what is there, and torch left alone until asked for."""

import subprocess
import sys

import pytest

from gnc_cli.errors import UnavailableError
from gnc_cli.runtime.devices import accelerator, resolve_device


def pretend(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: count > 0)
    monkeypatch.setattr("torch.cuda.device_count", lambda: count)


def test_names(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, 2)
    names = ("auto", "cpu", "cuda", "cuda:1")
    assert [str(resolve_device(n)) for n in names] == ["cuda:0", "cpu", "cuda:0", "cuda:1"]
    with pytest.raises(UnavailableError, match="cuda:2 is not available.*cpu, cuda:0, cuda:1"):
        resolve_device("cuda:2")


def test_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, 0)
    assert str(resolve_device("auto")) == "cpu"
    with pytest.raises(UnavailableError, match="here: cpu$") as caught:
        resolve_device("cuda")
    assert caught.value.exit_code == 6


def test_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU where one is asked for by name, or is there and worth it; None stands for NumPy."""
    pretend(monkeypatch, 1)
    assert accelerator("cpu") is None
    assert accelerator("auto", worthwhile=False) is None
    assert str(accelerator("auto")) == str(accelerator("cuda", worthwhile=False)) == "cuda:0"
    pretend(monkeypatch, 0)
    assert accelerator("auto") is None
    with pytest.raises(UnavailableError):
        accelerator("cuda")


def test_torch_is_left_alone_until_asked_for() -> None:
    """The certificate of a closed form must not cost torch's start-up."""
    script = (
        "import sys, numpy as np, gnc_cli.runtime.threads\n"
        "from gnc_cli.runtime import devices\n"
        "from gnc_cli.codes import certify\n"
        "from gnc_cli.metrics import duplicates, gnc1, gnc2, gnc3\n"
        "devices._DRIVERS = ()\n"
        "assert devices.accelerator('auto') is None and devices.accelerator('cpu') is None\n"
        "for device in ('cpu', 'auto'): gnc2.gnc2_detail(np.eye(50), device=device)\n"
        "duplicates.find_duplicates(np.eye(50), 0.0)\n"
        "assert 'torch' not in sys.modules\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
