"""Tensors as arrays: the same numbers, the same memory where it can be."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from gnc_cli.metrics.rows import is_tensor, to_numpy


def test_memory_is_shared() -> None:
    tensor = torch.zeros(3, 2, requires_grad=True)
    array = to_numpy(tensor)
    with torch.no_grad():
        tensor[1, 1] = 5.0
    assert array[1, 1] == 5.0
    rows = np.zeros((3, 2), dtype=np.float16)
    assert to_numpy(rows) is rows
    assert to_numpy(torch.zeros(4, 2, dtype=torch.float16).T).shape == (2, 4)


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float32", "float64", "int8", "int64"])
def test_numbers_are_exact(name: str, device: str) -> None:
    tensor = torch.tensor([1.0, -2.5, 0.1, 3e4]).to(getattr(torch, name)).to(device)
    array = to_numpy(tensor)
    assert array.dtype == ("float32" if name == "bfloat16" else name)
    assert np.array_equal(array.astype(float), tensor.double().cpu().numpy())


def test_torch_is_not_imported_to_ask() -> None:
    script = (
        "import sys\n"
        "from gnc_cli.metrics.rows import is_tensor, to_numpy\n"
        "assert not is_tensor([1.0]) and to_numpy([1.0]).shape == (1,)\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
    assert is_tensor(torch.zeros(1)) and not is_tensor(np.zeros(1))
