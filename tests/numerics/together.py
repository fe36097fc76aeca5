"""Two real processes that meet over gloo on this machine."""

import os
import socket
import subprocess
import sys
import textwrap

import pytest

__all__ = ["needs_gloo", "together"]


def _gloo() -> bool:
    import torch.distributed as dist

    return dist.is_available() and dist.is_gloo_available()


needs_gloo = pytest.mark.skipif(not _gloo(), reason="this torch has no gloo")


def together(script: str, size: int = 2, timeout: float = 120.0) -> list[str]:
    """Run `script` in every process, `rank` being set; what each wrote to stdout, by rank.

    The processes find the environment that torchrun gives; all are ended when time runs out.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    head = "import os\nrank = int(os.environ['RANK'])\n"
    meeting = {"WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", head + textwrap.dedent(script)],
            env={**os.environ, **meeting, "RANK": str(rank), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for rank in range(size)
    ]  # fmt: skip
    try:
        told = [process.communicate(timeout=timeout) for process in running]
    finally:
        for process in running:
            process.kill()
    for process, (_, problem) in zip(running, told, strict=True):
        assert process.returncode == 0, problem
    return [out for out, _ in told]
