"""What work takes, against the measured peak; and the refusals."""

from pathlib import Path

import pytest
import torch

from gnc_cli.errors import UnavailableError
from gnc_cli.runtime import predictions
from gnc_cli.runtime.predictions import free_memory, lacking_memory

TRAIN = ("batch_size", "width", "image_size", "precision")


@pytest.mark.parametrize(
    ("error", "where"),
    [
        (torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"), "GPU"),
        (RuntimeError("CUDA error: out of memory"), "GPU"),
        (RuntimeError("not enough memory: you tried to allocate 9 bytes."), "machine"),
        (UnavailableError("not enough memory for it"), None),
    ],
)
def test_failed_allocations_are_known(error: Exception, where: str | None) -> None:
    found = lacking_memory(error, TRAIN)
    assert found is None if where is None else f"of the {where} is not enough" in str(found)


def test_the_words_by_which_the_allocator_is_known_are_those_of_this_torch() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 60, dtype=torch.uint8, device="cpu")
    assert "of the machine" in str(lacking_memory(caught.value, TRAIN))


def test_a_containers_limit_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {
        "memory.max": "5000\n", "memory.current": "4000\n",
        "memory.stat": "anon 1000\nactive_file 200\ninactive_file 300\n",
    }.items():  # fmt: skip
        (tmp_path / name).write_text(text)
    group = (str(tmp_path), "memory.max", "memory.current")
    monkeypatch.setattr(predictions, "_CGROUPS", (group,))
    assert free_memory() == 1500 and predictions.total_memory() == 5000
    (tmp_path / "memory.max").write_text("max\n")
    assert free_memory() > 1500
