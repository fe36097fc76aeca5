"""Checkpoints hold what loading trusts, and those of others are read by name."""

from pathlib import Path

import pytest
import torch

from gnc_cli.errors import DataError
from gnc_cli.training.checkpoints import (
    read_checkpoint,
    read_tensors,
    write_checkpoint,
)

NET = {"fc.weight": torch.arange(6.0).reshape(2, 3), "bn.num_batches_tracked": torch.tensor(7)}


def test_damaged_checkpoints_are_one_line(tmp_path: Path) -> None:
    path = tmp_path / "last.pt"
    with pytest.raises(DataError, match="no such file"):
        read_checkpoint(path)
    write_checkpoint(path, {"model": NET})
    data = path.read_bytes()
    for cut in (1, 100, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:cut])
        with pytest.raises(DataError, match=r"last\.pt") as caught:
            read_checkpoint(path)
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 400
    torch.save({"model": torch.nn.Linear(2, 2)}, path)
    with pytest.raises(DataError, match="Python object"):
        read_checkpoint(path)
    torch.save(torch.zeros(2), path)
    with pytest.raises(DataError, match="holds a Tensor, not the dictionary"):
        read_checkpoint(path)


def test_safetensors_and_low_precision(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    low = {"a": torch.tensor([1.5, -2.0]), "b": torch.tensor([1, 2]), "c": torch.tensor([True])}
    save_file({"a": low["a"].bfloat16(), "b": low["b"], "c": low["c"]}, tmp_path / "a.safetensors")
    torch.save({"a": low["a"].bfloat16(), "b": low["b"], "c": low["c"]}, tmp_path / "a.pt")
    for name in ("a.safetensors", "a.pt"):
        tensors = read_tensors(tmp_path / name)
        assert tensors.keys() == {"a", "b"}
        assert tensors["a"].dtype == torch.float32 and torch.equal(tensors["a"], low["a"])
        tensors["a"] += 1.0  # ours to change, and no map of the file
