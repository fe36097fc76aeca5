"""The device of the tests (`pytest --device cuda` takes a GPU), and toy images for a file."""

from pathlib import Path

import pytest
import torch

from tests.training.problems import toy


@pytest.fixture
def place(device: str, monkeypatch: pytest.MonkeyPatch) -> torch.device:
    """The device asked for; a GPU computes in full float32."""
    chosen = torch.device(device)
    if chosen.type == "cuda":
        monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    return chosen


@pytest.fixture
def gpu() -> torch.device:
    """The last GPU, which is not torch's current one where there are several."""
    if not torch.cuda.is_available():
        pytest.skip("no GPU here")
    return torch.device("cuda", torch.cuda.device_count() - 1)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for all tests of a file."""
    return tmp_path_factory.mktemp("train")


@pytest.fixture(scope="module")
def data(home: Path) -> str:
    """Four classes, of which one is called like a folder."""
    return toy(home / "toy.h5", names=("ant", "/", "cat", "dog"))
