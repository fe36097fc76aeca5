"""Two real processes that meet over gloo on this machine."""

import os
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

__all__ = ["needs_gloo", "together"]

ROOT = Path(__file__).parents[2]


def _gloo() -> bool:
    import torch.distributed as dist

    return dist.is_available() and dist.is_gloo_available()


needs_gloo = pytest.mark.skipif(not _gloo(), reason="this torch has no gloo")


def together(script: str, size: int = 2, timeout: float = 300.0) -> list[str]:
    """Run `script` in every process, `rank` being set; what each wrote to stdout, by rank.

    The processes find the environment that torchrun gives; all are ended when one fails or time
    runs out.
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
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
        )
        for rank in range(size)
    ]  # fmt: skip
    end = time.monotonic() + timeout
    while any(p.poll() is None for p in running) and time.monotonic() < end:
        if any(p.poll() for p in running):
            break  # the others would wait for the one that failed
        time.sleep(0.02)
    for process in running:
        process.kill()
    told = [process.communicate() for process in running]
    assert not any(process.returncode for process in running), "\n".join(e for _, e in told)
    return [out for out, _ in told]
