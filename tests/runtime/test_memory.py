"""Work that cannot fit is refused before it begins; failed allocations are known."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from gnc_cli.errors import UnavailableError
from gnc_cli.runtime import memory
from gnc_cli.runtime.memory import check_disk, check_memory, free_memory


def test_what_does_not_fit_is_refused_with_both_sizes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_memory(5e9, "a search", "lower K", free=5e9)
    with pytest.raises(
        UnavailableError, match=r"^a search needs 6 GB of .* 5 GB .* cuda: lower K$"
    ):
        check_memory(6e9, "a search", "lower K", free=5e9, place="cuda")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(total=9e9, free=1e9))
    check_disk(1e9, tmp_path / "new/a.h5", "a code", "drop out")
    with pytest.raises(UnavailableError, match=r"a code needs 2 TB of disk; 1 GB are free in '.*/"):
        check_disk(2e12, tmp_path / "new/a.h5", "a code", "drop out")


def test_a_containers_limit_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {
        "memory.max": "5000\n",
        "memory.current": "4000\n",
        "memory.stat": "anon 1000\nactive_file 200\ninactive_file 300\n",
    }.items():
        (tmp_path / name).write_text(text)
    group = (str(tmp_path), "memory.max", "memory.current")
    monkeypatch.setattr(memory, "_CGROUPS", (group,))
    assert free_memory() == 1500 and memory.total_memory() == 5000
    (tmp_path / "memory.max").write_text("max\n")
    assert free_memory() > 1500
