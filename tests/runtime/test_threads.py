"""Thread counts follow the work; limits hold inside and are gone outside."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from gnc_cli.errors import UsageError
from gnc_cli.runtime.threads import available_cores, limit_threads, threads_for


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
    with pytest.raises(UsageError, match="--threads 0"):
        threads_for(1e9, requested=0)


def test_environment_lowers_the_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    cores = available_cores()
    assert cores >= 1
    for value, expected in (("1", 1), ("1,2", 1), ("9999", cores), ("many", cores), ("0", 1)):
        monkeypatch.setenv("OMP_NUM_THREADS", value)
        assert available_cores() == expected


def test_limits_are_restored() -> None:
    torch = pytest.importorskip("torch")
    before = blas_threads(), torch.get_num_threads()
    with limit_threads(1):
        assert set(blas_threads()) <= {1} and torch.get_num_threads() == 1
    assert (blas_threads(), torch.get_num_threads()) == before
    with pytest.raises(KeyError), limit_threads(1):
        raise KeyError
    assert (blas_threads(), torch.get_num_threads()) == before
