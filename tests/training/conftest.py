"""The device of the tests: `pytest --device cuda` takes a GPU."""

import pytest
import torch


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
