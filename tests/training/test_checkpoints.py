"""Checkpoints hold what loading trusts, and those of others are read by name."""

from pathlib import Path

import torch

from gnc_cli.training.checkpoints import (
    read_tensors,
)


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
