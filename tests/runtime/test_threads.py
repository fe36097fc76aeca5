"""Thread counts follow the work and limits end with their block; devices by name.

A device that is missing is refused with those that are there; torch is left alone until asked for.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from gnc_cli.errors import UnavailableError
from gnc_cli.runtime import threads
from gnc_cli.runtime.threads import (
    accelerator,
    available_cores,
    limit_threads,
    resolve_device,
    threads_for,
)


def blas_threads() -> list[int]:
    np.ones((2, 2)) @ np.ones((2, 2))
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_small_work_takes_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gnc_cli.runtime.threads.available_cores", lambda: 8)
    assert threads_for(0.0) == threads_for(1e7) == 1
    assert threads_for(2.0 * 10000 * 10000 * 512) == 8
    counts = [threads_for(flops) for flops in np.logspace(5, 12, 40)]
    assert counts == sorted(counts)


def test_the_user_decides() -> None:
    assert threads_for(1.0, requested=5) == 5
    assert threads_for(1e15, requested=1) == 1


def test_environment_lowers_the_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    cores = available_cores()
    assert cores >= 1
    for value, expected in (("1", 1), ("1,2", 1), ("9999", cores), ("many", cores), ("0", 1)):
        monkeypatch.setenv("OMP_NUM_THREADS", value)
        assert available_cores() == expected


def test_a_container_s_quota_lowers_the_count(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: range(64), raising=False)
    monkeypatch.setattr(threads, "_CGROUP", tmp_path)
    assert available_cores() == 64
    first = tmp_path / "cpu"
    first.mkdir()
    (first / "cpu.cfs_period_us").write_text("100000\n")
    for quota, expected in (("-1\n", 64), ("250000\n", 3)):
        (first / "cpu.cfs_quota_us").write_text(quota)
        assert available_cores() == expected
    for line, expected in (("max 100000\n", 64), ("150000 100000\n", 2), ("5000 100000\n", 1)):
        (tmp_path / "cpu.max").write_text(line)
        assert available_cores() == expected


def test_limits_are_restored() -> None:
    torch = pytest.importorskip("torch")
    before = blas_threads(), torch.get_num_threads()
    with limit_threads(1) as threads:
        assert threads == before[1]
        assert set(blas_threads()) <= {1} and torch.get_num_threads() == 1
    assert (blas_threads(), torch.get_num_threads()) == before
    with pytest.raises(KeyError), limit_threads(1):
        raise KeyError
    assert (blas_threads(), torch.get_num_threads()) == before


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


def test_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU where one is asked for by name, or is there and worth it; None stands for NumPy."""
    pretend(monkeypatch, 1)
    assert accelerator("cpu") is None
    assert accelerator("auto", worthwhile=False) is None
    assert str(accelerator("auto")) == str(accelerator("cuda", worthwhile=False)) == "cuda:0"
    pretend(monkeypatch, 0)
    assert accelerator("auto") is None
    with pytest.raises(UnavailableError):
        accelerator("cuda")


def test_torch_is_left_alone_until_asked_for() -> None:
    """The certificate of a closed form must not cost torch's start-up."""
    script = (
        "import sys, numpy as np\n"
        "from gnc_cli.runtime import threads\n"
        "from gnc_cli.codes import certify\n"
        "from gnc_cli.metrics import gnc1, gnc2, gnc3, pairs\n"
        "threads.GPU_DRIVERS = ()\n"
        "assert threads.accelerator('auto') is None and threads.accelerator('cpu') is None\n"
        "for device in ('cpu', 'auto'): gnc2.gnc2_detail(np.eye(50), device=device)\n"
        "pairs.find_duplicates(np.eye(50), 0.0)\n"
        "assert 'torch' not in sys.modules\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
