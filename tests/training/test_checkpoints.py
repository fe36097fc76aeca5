"""Checkpoints hold what loading trusts, and those of others are read by name."""

from pathlib import Path
from typing import Any

import pytest
import torch

from gnc_cli.errors import DataError
from gnc_cli.training.checkpoints import (
    link_file,
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


@pytest.mark.parametrize(
    "wrapped",
    [
        NET,
        {"epoch": 3, "state_dict": NET, "optimizer": {"state": {0: torch.zeros(2)}}},
        {"state_dict": {"model": NET}},
        {"model": {f"encoder.{k}": v for k, v in NET.items()} | {"head.W": torch.zeros(2)}},
        {"encoder": NET, "head": {"weights": torch.zeros(2)}},
    ],
)
def test_networks_are_found_in_their_wrappers(tmp_path: Path, wrapped: Any) -> None:
    torch.save(wrapped, tmp_path / "a.pth")
    tensors = read_tensors(tmp_path / "a.pth")
    assert tensors.keys() == NET.keys()
    for name, tensor in NET.items():
        assert torch.equal(tensors[name], tensor) and tensors[name].dtype == tensor.dtype


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


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no checkpoint by its suffix"):
        read_tensors(tmp_path / "a.h5")
    torch.save({"epoch": 3}, tmp_path / "a.pt")
    with pytest.raises(DataError, match=r"holds no tensors; save the network"):
        read_tensors(tmp_path / "a.pt")
    torch.save(torch.nn.Linear(2, 2), tmp_path / "b.pt")
    with pytest.raises(DataError, match="Python object"):
        read_tensors(tmp_path / "b.pt")


@pytest.mark.parametrize("links", [True, False])
def test_best_is_what_last_was(
    links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError("no links here")

    if not links:
        monkeypatch.setattr("gnc_cli.training.checkpoints.os.link", refused)
    last, best = tmp_path / "last.pt", tmp_path / "best.pt"
    for epoch in (1, 2):
        write_checkpoint(last, {"epoch": epoch})
        link_file(last, best)
        link_file(last, best)
        assert last.samefile(best) == links
    write_checkpoint(last, {"epoch": 3})
    assert (read_checkpoint(last), read_checkpoint(best)) == ({"epoch": 3}, {"epoch": 2})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["best.pt", "last.pt"]
