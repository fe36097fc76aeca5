"""Jobs side by side and one after the other: order, errors, interruption, the death of a worker."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gnc_cli.comparison.solve import PairJob, solve_pair
from gnc_cli.comparison.workers import Flag, run_jobs
from gnc_cli.errors import UnavailableError, UsageError
from gnc_cli.records import TableStamp

ROOT = Path(__file__).parents[2]
STAMP = TableStamp(286, "2026-10", "e2cd" * 16, current=False)


def polygon(K: int) -> PairJob:
    """A pair that a theorem settles: no search, and hardly any time."""
    return PairJob(2, K, 5.0, 0, None, STAMP)


def test_one_worker_works_here_and_in_order() -> None:
    seen: list[tuple[int, int]] = []
    here = threading.get_ident()

    def work(job: int, flag: Flag) -> int:
        assert threading.get_ident() == here
        return job * job

    assert run_jobs([3, 1, 2], work, lambda job, result: seen.append((job, result)))
    assert seen == [(3, 9), (1, 1), (2, 4)]


def test_an_interruption_ends_the_row_at_work_and_starts_no_other() -> None:
    stop, seen, begun = threading.Event(), [], []

    def work(job: int, flag: Flag) -> int | None:
        begun.append(job)
        if job == 2:
            stop.set()
        return None if flag.is_set() else job

    def done(job: int, result: int) -> None:
        seen.append(job)

    assert not run_jobs([1, 2, 3], work, done, interrupt=stop)
    assert (seen, begun) == ([1], [1, 2])


def test_several_workers_finish_all_jobs() -> None:
    rows = {}

    def done(job: PairJob, row: Any) -> None:
        rows[job.K] = row

    assert run_jobs([polygon(K) for K in range(4, 9)], solve_pair, done, workers=2)
    assert sorted(rows) == [4, 5, 6, 7, 8]
    alone = solve_pair(polygon(5), threading.Event())
    assert alone is not None
    assert replace(rows[5], seconds=0.0) == replace(alone, seconds=0.0)


class _Bomb:
    """Ends the process that unpickles it."""

    K = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (3,)

    def __repr__(self) -> str:
        return "the bomb"


def test_a_worker_that_dies_is_an_error_that_names_the_job() -> None:
    with pytest.raises(UnavailableError, match="a worker died at (d = 2, K = 4 or )?the bomb"):
        run_jobs([polygon(4), _Bomb()], solve_pair, lambda job, row: None, workers=2)  # type: ignore[arg-type]


def test_an_error_in_a_worker_is_raised_here() -> None:
    import multiprocessing

    before = set(multiprocessing.active_children())
    job = PairJob(2, 5, 5.0, -1, None, STAMP)
    with pytest.raises(UsageError, match="seed -1 is too small"):
        run_jobs([polygon(4), job, polygon(6)], solve_pair, lambda job, row: None, workers=2)
    assert set(multiprocessing.active_children()) <= before


def _left(group: int) -> list[str]:
    """What is left of a process group after a moment: Python's own helper leaves on its own."""
    for _ in range(100):
        run = subprocess.run(["ps", "-o", "pid=", "-g", str(group)], capture_output=True, text=True)
        if not run.stdout.split():
            return []
        time.sleep(0.1)
    return run.stdout.split()


_SCRIPT = """
import sys, time
from gnc_cli.console.interruption import interruptible
from gnc_cli.comparison.workers import run_jobs

def work(job, flag):
    if job < 3:
        return job
    while not flag.is_set():
        time.sleep(0.02)

def done(job, result):
    print(job, flush=True)

if __name__ == "__main__":
    with interruptible(quiet=True) as interrupt:
        finished = run_jobs(range(6), work, done, workers=2, interrupt=interrupt)
    sys.exit(0 if finished else 130)
"""


@pytest.fixture
def slow_run(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A run of six jobs whose last three never end by themselves, once the others are done."""
    script = tmp_path / "slow.py"
    script.write_text(_SCRIPT)
    process = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert process.stdout is not None
    assert sorted(process.stdout.readline() for _ in range(3)) == ["0\n", "1\n", "2\n"]
    yield process
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_all_ends_the_jobs_at_work_and_leaves_no_process(
    slow_run: subprocess.Popen[str], number: signal.Signals
) -> None:
    os.killpg(slow_run.pid, number)  # as a terminal or a batch system does
    assert slow_run.wait(timeout=60) == 130
    assert _left(slow_run.pid) == []


def test_workers_do_not_outlive_a_parent_that_is_killed(slow_run: subprocess.Popen[str]) -> None:
    slow_run.kill()
    slow_run.wait(timeout=60)
    assert _left(slow_run.pid) == []
