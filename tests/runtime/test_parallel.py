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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from joblib.parallel import ThreadingBackend

from gnc_cli.errors import UnavailableError, UsageError
from gnc_cli.runtime import workers
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.parallel import Pool
from tests.runtime.tasks import begin, descend, die, die_once, last_forever, refuse, where

ROOT = Path(__file__).parents[2]


@contextlib.contextmanager
def ready(workers: int = 1, cluster: str | None = None) -> Iterator[Pool]:
    """A pool whose workers have started."""
    with Pool(workers, cluster) as pool:
        pool.warm()
        for _ in range(6000):
            if pool.ready:
                break
            time.sleep(0.01)
        yield pool


def small_tasks() -> list[tuple[int, np.ndarray]]:
    return [(seed, np.arange(40_000.0)) for seed in range(7)]


def test_one_worker_works_here_in_order() -> None:
    seen: list[tuple[int, int]] = []
    here = threading.get_ident()

    def work(task: int, deadline: Deadline) -> int:
        assert threading.get_ident() == here
        return task * task

    with Pool() as pool:
        assert pool.ready
        pool.warm()
        found = pool.run(work, [3, 1, 2], Deadline(), lambda i, r: seen.append((i, r)))
    assert found == [9, 1, 4] and seen == [(0, 9), (1, 1), (2, 4)]


@pytest.mark.parametrize("workers", [2, 3])
def test_results_do_not_depend_on_the_number_of_workers(workers: int) -> None:
    seen: list[int] = []
    with Pool() as pool:
        alone = pool.run(descend, small_tasks(), Deadline())
    with ready(workers) as pool:
        found = pool.run(descend, small_tasks(), Deadline(), lambda i, r: seen.append(i))
    assert sorted(seen) == list(range(7))
    for one, other in zip(alone, found, strict=True):
        assert one is not None and other is not None
        np.testing.assert_array_equal(one[0], other[0])
        assert one[1] == os.getpid()
    assert {result[1] for result in found if result} - {os.getpid()}


def test_workers_take_over_while_this_process_is_at_its_first_task(tmp_path: Path) -> None:
    with Pool(2) as pool:
        pool.warm()
        found = pool.run(begin, [(at, str(tmp_path)) for at in range(5)], Deadline())
    assert found[0] == os.getpid() and os.getpid() not in found[1:]


def test_a_pool_is_left_while_its_workers_start() -> None:
    """At any moment: no thread of loky's fails."""
    for moment in range(20):
        with Pool(3) as pool:
            pool.warm()
            time.sleep(0.001 * moment)
            assert pool.run(begin, [], Deadline()) == []


def test_the_tasks_of_a_worker_that_dies_are_repeated(tmp_path: Path) -> None:
    mark, seen = str(tmp_path / "died"), []
    with ready(2) as pool:
        tasks = [(at, mark) for at in range(6)]
        found = pool.run(die_once, tasks, Deadline(), lambda i, r: seen.append(i))
    assert os.path.exists(mark)
    assert found == [0, 1, 4, 9, 16, 25] and sorted(seen) == list(range(6))


def test_a_task_that_kills_every_worker_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_DEATHS", 2)
    named = "died at (flour or )?the bomb, 2 times.*fewer workers"
    with ready(3) as pool, pytest.raises(UnavailableError, match=named):
        pool.run(die, ["flour", "the bomb"], Deadline())


def test_an_error_is_raised_here_and_stops_the_others() -> None:
    """By a worker; this process is at the last task."""
    with ready(3) as pool, pytest.raises(UsageError, match="task 1 is refused"):
        pool.run(refuse, range(3), Deadline())


def test_an_error_of_the_caller_stops_the_workers() -> None:
    def done(i: int, result: int) -> None:
        raise UsageError("no more")

    with ready(2) as pool, pytest.raises(UsageError, match="no more"):
        pool.run(last_forever, [0, 1, 2], Deadline(), done)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_time_limit_gives_partial_results_and_begins_no_more(workers: int) -> None:
    with ready(workers) as pool:
        assert pool.run(last_forever, [0, 0, 0], Deadline()) == [0, 0, 0]
        found = pool.run(last_forever, [0, 1, 2, 3, 4], Deadline(2.0))
        assert found[: 1 + workers] == [0, 1, 2][: 1 + workers]
        assert found[1 + workers :] == [None] * (4 - workers)
        assert pool.run(last_forever, [0, 1], Deadline(0.0)) == [None, None]


def test_an_interruption_takes_what_comes_and_gives_up_the_rest() -> None:
    stop = threading.Event()
    with ready(3) as pool:
        found = pool.run(last_forever, [0, 9, 1, 2, 3], Deadline(None, stop), lambda *_: stop.set())
        assert found[:2] == [0, None] and set(found[2:]) <= {1, 2, None}
        # The worker that heard nothing was killed; the next run starts another.
        assert pool.run(last_forever, [0, 0, 0], Deadline()) == [0, 0, 0]


@pytest.mark.parametrize("one_by_one", [True, False])
def test_backends_of_the_caller_are_used(one_by_one: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some, as Ray's, cannot return results one by one."""
    monkeypatch.setattr(ThreadingBackend, "supports_return_generator", one_by_one)
    with joblib.parallel_config("threading"), ready(2) as pool:
        found = pool.run(descend, small_tasks(), Deadline())
    assert {result[1] for result in found if result} == {os.getpid()}


_SCRIPT = """
import sys, time
from gnc_cli.console.interruption import interruptible
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.parallel import Pool

def work(task, deadline):
    while task >= 3 and not deadline.expired:
        time.sleep(0.02)
    return task

def done(at, result):
    print(result, flush=True)

if __name__ == "__main__":
    with interruptible(quiet=True) as interrupt, Pool(2) as pool:
        pool.warm()
        while not pool.ready:
            time.sleep(0.01)
        found = pool.run(work, range(6), Deadline(None, interrupt), done)
    sys.exit(130 if found[:3] == [0, 1, 2] and found[5] is None else 1)
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
    slow_run: subprocess.Popen[str], number: signal.Signals, tmp_path: Path
) -> None:
    os.killpg(slow_run.pid, number)  # as a terminal or a batch system does
    assert slow_run.wait(timeout=60) == 130
    assert _left(slow_run.pid) == []
    assert not list(tmp_path.glob("gnc-stop-*"))


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


def test_on_a_cluster_an_interruption_cancels_what_is_at_work(cluster: str) -> None:
    stop = threading.Event()
    with ready(cluster=cluster) as pool:
        found = pool.run(last_forever, [0, 1, 2, 3], Deadline(None, stop), lambda i, r: stop.set())
        assert found[0] == 0 and None in found[1:]  # which two begin is for Dask to say
        assert pool.run(last_forever, [0, 0, 0], Deadline()) == [0, 0, 0]


def test_an_error_on_a_cluster_is_raised_here(cluster: str) -> None:
    with ready(cluster=cluster) as pool, pytest.raises(UsageError, match="task 1 is refused"):
        pool.run(refuse, range(3), Deadline())


def test_results_of_a_cluster_are_the_same(cluster: str) -> None:
    with Pool() as pool:
        alone = pool.run(descend, small_tasks(), Deadline())
    with ready(cluster=cluster) as pool:
        found = pool.run(descend, small_tasks(), Deadline())
    for one, other in zip(alone, found, strict=True):
        assert one is not None and other is not None
        np.testing.assert_array_equal(one[0], other[0])


def test_a_worker_of_a_cluster_that_dies_costs_its_own_task(cluster: str, tmp_path: Path) -> None:
    """Comes last: one worker of the cluster is left."""
    with ready(cluster=cluster) as pool:
        tasks = [(at, str(tmp_path)) for at in range(8)]
        found: list[Any] = pool.run(where, tasks, Deadline())
    assert [result[0] for result in found] == list(range(8))
    begun = [path.name.split("-")[0] for path in tmp_path.glob("*-*")]
    assert begun.count("1") == 2, "the task of the dead worker runs again"
    # Results that a dead worker held are made again; no task at work elsewhere is.
    alive = {result[1] for result in found}
    assert len(alive) == 1 or len(begun) == 9
