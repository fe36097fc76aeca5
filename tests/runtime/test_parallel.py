"""Tasks here, in processes and on a Dask cluster: equal results, deaths, signals, time limits."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from joblib.parallel import ThreadingBackend

from gnc_cli.errors import UnavailableError, UsageError
from gnc_cli.runtime import parallel
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.parallel import Pool
from tests.runtime.tasks import descend, die, die_once, last_forever, refuse, where

ROOT = Path(__file__).parents[2]


def small_tasks() -> list[tuple[int, np.ndarray]]:
    return [(seed, np.arange(40_000.0)) for seed in range(7)]


def results(pool: Pool, work: Callable[..., Any], tasks: Sequence[Any], **limit: Any) -> list[Any]:
    """Of all tasks, in their order; None where there is none."""
    arrived = dict(pool.run(work, tasks, Deadline(**limit)))
    return [arrived.get(at) for at in range(len(tasks))]


def test_one_worker_works_here_in_order() -> None:
    here = threading.get_ident()

    def work(task: int, deadline: Deadline) -> int:
        assert threading.get_ident() == here
        return task * task

    with Pool() as pool:
        assert list(pool.run(work, [3, 1, 2], Deadline())) == [(0, 9), (1, 1), (2, 4)]


@pytest.mark.parametrize("workers", [2, 3])
def test_results_do_not_depend_on_the_number_of_workers(workers: int) -> None:
    with Pool() as pool:
        alone = results(pool, descend, small_tasks())
    with Pool(workers) as pool:
        found = results(pool, descend, small_tasks())
    for one, other in zip(alone, found, strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        assert one[1] == os.getpid()
    assert os.getpid() not in {result[1] for result in found}


def test_a_pool_is_left_while_its_workers_start() -> None:
    """At any moment: no thread of loky's fails."""
    for moment in range(20):
        stop = threading.Event()
        timer = threading.Timer(0.01 * moment, stop.set)
        timer.start()
        with Pool(3) as pool:
            list(pool.run(last_forever, [1, 2, 3], Deadline(None, stop)))
        timer.join()


def test_the_tasks_of_a_worker_that_dies_are_repeated(tmp_path: Path) -> None:
    mark = str(tmp_path / "died")
    with Pool(2) as pool:
        found = results(pool, die_once, [(at, mark) for at in range(6)])
    assert os.path.exists(mark) and found == [0, 1, 4, 9, 16, 25]


def test_a_task_that_kills_every_worker_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "_MAX_TRIALS", 2)
    named = "died at (flour or )?the bomb, 2 times.*fewer workers"
    with Pool(3) as pool, pytest.raises(UnavailableError, match=named):
        results(pool, die, ["flour", "the bomb"])


def test_an_error_is_raised_here_and_stops_the_others() -> None:
    with Pool(3) as pool, pytest.raises(UsageError, match="task 1 is refused"):
        results(pool, refuse, range(3))


def test_a_caller_that_leaves_stops_the_workers() -> None:
    with Pool(2) as pool:
        for _, result in pool.run(last_forever, [0, 1, 2], Deadline()):
            assert result == 0
            break
        assert results(pool, last_forever, [0, 0]) == [0, 0]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_time_limit_gives_partial_results_and_begins_no_more(workers: int) -> None:
    with Pool(workers) as pool:
        assert results(pool, last_forever, [0, 0, 0]) == [0, 0, 0]
        found = results(pool, last_forever, [0, *range(1, 9)], seconds=2.0)
        begun = [result for result in found if result is not None]
        assert begun == [*range(len(begun))] and 2 <= len(begun) < len(found) and found[-1] is None
        assert results(pool, last_forever, [0, 1], seconds=0.0) == [None, None]


def test_time_limits_do_not_read_the_clock_of_the_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker whose clock is ahead works all the same: it is given seconds."""
    ahead = time.time() + 3600.0
    monkeypatch.setattr(time, "time", lambda: ahead)
    with Pool(2) as pool:
        assert results(pool, last_forever, [0, 0, 0], seconds=30.0) == [0, 0, 0]


def test_an_interruption_takes_what_came_and_gives_up_the_rest() -> None:
    stop, found = threading.Event(), []
    with Pool(2) as pool:
        for at, _ in pool.run(last_forever, [0, 9, 9, 9], Deadline(None, stop)):
            found.append(at)
            stop.set()
        assert found == [0]
        # The workers that heard nothing were killed; the next run starts others.
        assert results(pool, last_forever, [0, 0, 0]) == [0, 0, 0]


@pytest.mark.parametrize("one_by_one", [True, False])
def test_backends_of_the_caller_are_used(one_by_one: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some, as Ray's, cannot return results one by one."""
    monkeypatch.setattr(ThreadingBackend, "supports_return_generator", one_by_one)
    with joblib.parallel_config("threading"), Pool(2) as pool:
        found = results(pool, descend, small_tasks())
    assert {result[1] for result in found} == {os.getpid()}


_SCRIPT = """
import sys, time
from gnc_cli.console.process import interruptible
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.parallel import Pool

def work(task, deadline):
    while task >= 3 and not deadline.expired:
        time.sleep(0.02)
    return task

if __name__ == "__main__":
    with interruptible(quiet=True) as interrupt, Pool(2) as pool:
        for at, result in pool.run(work, range(6), Deadline(None, interrupt)):
            print(result, flush=True)
    sys.exit(130)
"""


@pytest.fixture
def slow_run(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A run of six tasks whose last three never end by themselves, once the others are done."""
    script = tmp_path / "slow.py"
    script.write_text(_SCRIPT)
    process = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
    )
    assert process.stdout is not None
    assert sorted(process.stdout.readline() for _ in range(3)) == ["0\n", "1\n", "2\n"]
    yield process
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()


def _left(group: int) -> list[str]:
    """What is left of a process group after five seconds."""
    for _ in range(50):
        run = subprocess.run(["ps", "-o", "pid=", "-g", str(group)], capture_output=True, text=True)
        if not run.stdout.split():
            return []
        time.sleep(0.1)
    return run.stdout.split()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_all_ends_the_tasks_at_work_and_leaves_no_process(
    slow_run: subprocess.Popen[str], number: signal.Signals
) -> None:
    os.killpg(slow_run.pid, number)  # as a terminal or a batch system does
    assert slow_run.wait(timeout=60) == 130
    assert _left(slow_run.pid) == []


def test_workers_do_not_outlive_a_parent_that_is_killed(slow_run: subprocess.Popen[str]) -> None:
    slow_run.kill()
    slow_run.wait(timeout=60)
    assert _left(slow_run.pid) == []


def test_without_dask_one_line_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UnavailableError, match=r"pip install 'gnc-cli\[cluster\]'"):
        Pool(cluster="tcp://127.0.0.1:8786").__enter__()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def test_an_address_without_a_scheduler_is_one_line() -> None:
    pytest.importorskip("distributed")
    address = f"tcp://127.0.0.1:{_free_port()}"
    with pytest.raises(UnavailableError, match=f"{address}.*no scheduler answers") as raised:
        Pool(cluster=address).__enter__()
    assert "\n" not in str(raised.value)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a Dask scheduler with two workers of one process each, and nobody who replaces
    a dead one."""
    pytest.importorskip("distributed")
    folder = tmp_path_factory.mktemp("dask")
    address = f"tcp://127.0.0.1:{_free_port()}"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    dask = [str(shutil.which("dask", path=os.path.dirname(sys.executable)))]
    local = ["--host", "127.0.0.1", "--no-dashboard"]
    scheduler = ["scheduler", "--port", address.rpartition(":")[2], *local]
    worker = ["worker", address, "--no-nanny", "--nthreads", "1", *local]
    with open(folder / "log", "w") as log:
        started = [
            subprocess.Popen(
                [*dask, *command],
                env=env,
                cwd=folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            for command in (scheduler, worker, worker)
        ]
    yield address
    for process in started[::-1]:
        process.kill()
        process.wait()


def test_on_a_cluster_an_interruption_leaves_what_is_at_work(cluster: str) -> None:
    stop, found = threading.Event(), []
    with Pool(cluster=cluster) as pool:
        for _, result in pool.run(last_forever, [0, 5, 5], Deadline(5.0, stop)):
            found.append(result)
            stop.set()
    assert found == [0]


def test_an_error_on_a_cluster_is_raised_here(cluster: str) -> None:
    with Pool(cluster=cluster) as pool, pytest.raises(UsageError, match="task 1 is refused"):
        results(pool, refuse, range(3), seconds=5.0)


def test_results_of_a_cluster_are_the_same(cluster: str) -> None:
    with Pool() as pool:
        alone = results(pool, descend, small_tasks())
    with Pool(cluster=cluster) as pool:
        found = results(pool, descend, small_tasks())
    for one, other in zip(alone, found, strict=True):
        np.testing.assert_array_equal(one[0], other[0])


def test_a_worker_of_a_cluster_that_dies_costs_its_own_task(cluster: str, tmp_path: Path) -> None:
    """Comes last: one worker of the cluster is left."""
    with Pool(cluster=cluster) as pool:
        found = results(pool, where, [(at, str(tmp_path)) for at in range(8)])
    assert [result[0] for result in found] == list(range(8))
    begun = [path.name.split("-")[0] for path in tmp_path.glob("*-*")]
    assert begun.count("1") == 2, "the task of the dead worker runs again"
