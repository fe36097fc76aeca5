"""Devices by name: found, refused with what is there, and torch left alone until asked for."""

import subprocess
import sys

import pytest

from gnc_cli.errors import UnavailableError, UsageError
from gnc_cli.numerics.backend import resolve_device


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


@pytest.mark.parametrize("name", ["gpu", "cuda:", "cuda:x", "CPU", ""])
def test_unknown_names(name: str) -> None:
    with pytest.raises(UsageError, match="auto, cpu, cuda or cuda:N"):
        resolve_device(name)


def test_numerics_do_not_import_torch() -> None:
    """The certificate of a closed form must not cost torch's start-up."""
    code = (
        "import sys, numpy as np; import gnc_cli.numerics.backend, gnc_cli.numerics.threads;"
        "from gnc_cli.codes import rattlers; from gnc_cli.metrics import gnc1, gnc2, gnc3;"
        "gnc2.gnc2(np.eye(4)); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_device_of_this_run(device: str) -> None:
    assert str(resolve_device(device)).startswith(device)
