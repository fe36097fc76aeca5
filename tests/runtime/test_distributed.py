"""Processes that meet over gloo: real ones, two on this machine."""

import itertools
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.errors import UnavailableError
from gnc_cli.runtime.distributed import Processes, share
from tests.runtime.together import needs_gloo, together


@given(st.integers(0, 300), st.integers(1, 9), st.integers(1, 40))
def test_shares_are_whole_chunks_that_cover_all_rows(N: int, size: int, step: int) -> None:
    ends = [share(N, rank, size, step) for rank in range(size)]
    assert ends[0][0] == 0 and ends[-1][1] == N
    assert all(stop == start for (_, stop), (start, _) in itertools.pairwise(ends))
    assert all(start % step == 0 or start == N for start, _ in ends)
    chunks = [-(-(stop - start) // step) for start, stop in ends]
    assert max(chunks) - min(chunks) <= 1


def test_one_process_needs_no_torch() -> None:
    script = (
        "import sys\n"
        "from gnc_cli.runtime.distributed import Processes\n"
        "with Processes.current() as p:\n"
        "    assert (p.rank, p.size, p.first) == (0, 1, True)\n"
        "    assert p.all_gather(7) == list(p.exchange(7)) == [7]\n"
        "assert 'torch' not in sys.modules\n"
    )
    clean = {k: v for k, v in os.environ.items() if k not in ("WORLD_SIZE", "RANK")}
    subprocess.run([sys.executable, "-c", script], env=clean, check=True, timeout=300)


@pytest.mark.parametrize(
    "announced",
    [
        {"WORLD_SIZE": "1", "RANK": "0", "MASTER_ADDR": "localhost"},
        {"WORLD_SIZE": "4"},  # of a batch system, without a meeting point
        {"WORLD_SIZE": "4", "RANK": "0"},
    ],
)
def test_other_environments_announce_no_processes(
    announced: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("WORLD_SIZE", "RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in announced.items():
        monkeypatch.setenv(name, value)
    assert Processes.current().size == 1


@needs_gloo
def test_processes_that_cannot_meet_are_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MASTER_PORT", raising=False)
    for name, value in {"WORLD_SIZE": "2", "RANK": "0", "MASTER_ADDR": "localhost"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UnavailableError, match=r"WORLD_SIZE=2 .*MASTER_PORT.*torchrun"):
        Processes.current()


@needs_gloo
def test_two_processes_gather_in_order_of_rank() -> None:
    together(
        """
        import torch.distributed as dist
        from gnc_cli.runtime.distributed import Processes

        def talk(p):
            assert (p.rank, p.size, p.first) == (rank, 2, rank == 0)
            assert p.all_gather({"from": rank}) == [{"from": 0}, {"from": 1}]
            assert list(p.exchange("ab"[rank] * 1000 * (1 + rank))) == ["a" * 1000, "b" * 2000]
            assert dist.is_initialized()

        with Processes.current() as p:
            assert p.owns == "world"
            talk(p)
        assert dist.is_initialized()  # it stays: to set it up again at once is a race for the port
        with Processes.current() as p:
            assert (p.group, p.owns) == (None, "")
            talk(p)
        assert dist.is_initialized()

        dist.get_backend_config = lambda group=None: "cuda:nccl"  # as of a group on GPUs alone
        for _ in range(2):
            with Processes.current() as p:
                assert p.owns == "group"
                talk(p)
        assert dist.is_initialized()
        dist.destroy_process_group()
        """
    )
