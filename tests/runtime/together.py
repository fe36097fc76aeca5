"""Two real processes that meet over gloo on this machine."""

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

__all__ = ["needs_gloo", "together"]

ROOT = Path(__file__).parents[2]

_LAUNCH = """
import atexit, json, os, sys, runpy
import hypothesis.strategies, pytest, scipy.optimize, torch.distributed  # once: takes seconds
for line in sys.stdin:
    size, folder, surroundings = json.loads(line)
    working = {}
    for rank in range(size):
        child = os.fork()
        if child == 0:
            os.environ.clear()
            os.environ.update(surroundings, RANK=str(rank))
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            for stream, name in ((1, "out"), (2, "err")):
                os.dup2(os.open(f"{folder}/{rank}.{name}", os.O_WRONLY | os.O_CREAT), stream)
            runpy.run_path(f"{folder}/script.py", {"rank": rank}, "__main__")
            atexit._run_exitfuncs()
            sys.stdout.flush()
            os._exit(0)  # to take down all modules would take a second
        working[child] = rank
    failed = 0
    while working and not failed:  # the others would wait for the one that failed
        child, failed = os.wait()
        del working[child]
    for child in working:
        os.kill(child, 9)
        os.waitpid(child, 0)
    print("failed" if failed else "done", flush=True)
"""


@cache
def _launcher() -> subprocess.Popen[str]:
    """The process that all others are forked from; it ends with its stdin."""
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    running = subprocess.Popen(
        [sys.executable, "-c", _LAUNCH],
        cwd=ROOT,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(running.communicate)
    return running


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
    meeting = {"WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    running = _launcher()
    assert running.stdin is not None and running.stdout is not None
    with TemporaryDirectory() as folder:
        Path(folder, "script.py").write_text(textwrap.dedent(script), encoding="utf-8")
        surroundings = {**os.environ, **meeting, "OMP_NUM_THREADS": "1"}
        alarm = threading.Timer(timeout, os.killpg, (running.pid, signal.SIGKILL))
        alarm.start()
        try:
            running.stdin.write(json.dumps([size, folder, surroundings]) + "\n")
            running.stdin.flush()
            told = running.stdout.readline()
        finally:
            alarm.cancel()
        if not told:  # nobody is left
            _launcher.cache_clear()
        files = [[Path(folder, f"{rank}.{s}") for s in ("out", "err")] for rank in range(size)]
        texts = [[f.read_text() if f.exists() else "" for f in pair] for pair in files]
    said = told.strip() or f"ended after {timeout} s or by itself"
    assert said == "done", "\n".join([said, *(err for _, err in texts)])
    return [out for out, _ in texts]
