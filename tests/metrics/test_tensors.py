"""Tensors as arrays: the same numbers, the same memory where it can be."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from gnc_cli.metrics.rows import is_tensor, to_numpy


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float32", "float64", "int8", "int64"])
def test_numbers_are_exact(name: str, device: str) -> None:
    tensor = torch.tensor([1.0, -2.5, 0.1, 3e4]).to(getattr(torch, name)).to(device)
    array = to_numpy(tensor)
    assert array.dtype == ("float32" if name == "bfloat16" else name)
    assert np.array_equal(array.astype(float), tensor.double().cpu().numpy())
    if device == "cpu" and name != "bfloat16":  # the memory is shared
        tensor[1] = 5
        assert array[1] == 5.0 and to_numpy(array) is array


def test_torch_is_not_imported_to_ask() -> None:
    script = (
        "import sys\n"
        "from gnc_cli.metrics.rows import is_tensor, to_numpy\n"
        "assert not is_tensor([1.0]) and to_numpy([1.0]).shape == (1,)\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
    assert is_tensor(torch.zeros(1)) and not is_tensor(np.zeros(1))
