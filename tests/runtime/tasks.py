"""Tasks for test_parallel.py, in a module that workers load quickly."""

import os
import signal
import time
from pathlib import Path

import numpy as np

from gnc_cli.errors import UsageError
from gnc_cli.runtime.deadline import Deadline


def descend(task: tuple[int, np.ndarray], deadline: Deadline) -> tuple[np.ndarray, int]:
    """Random numbers and a denormal number; and whose process it was."""
    seed, shift = task
    import torch

    assert torch.get_num_threads() == 1
    shift += np.random.default_rng(seed).standard_normal(shift.shape)
    return np.append(np.tanh(shift).cumsum(), shift[:1] * 1e-310), os.getpid()


def die_once(task: tuple[int, str], deadline: Deadline) -> int:
    """The first task that is begun kills its worker."""
    at, mark = task
    if not os.path.exists(mark):
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return at * at


def die(task: str, deadline: Deadline) -> None:
    if task == "the bomb":
        os.kill(os.getpid(), signal.SIGKILL)


def refuse(task: int, deadline: Deadline) -> int:
    if task == 1:
        raise UsageError("task 1 is refused")
    while not deadline.expired:
        time.sleep(0.01)
    return task


def last_forever(task: int, deadline: Deadline) -> int:
    """Task 0 is done at once, task 9 hears nothing, the others go on until the deadline."""
    while task == 9 or (task > 0 and not deadline.expired):
        time.sleep(0.01)
    return task


def where(task: tuple[int, str], deadline: Deadline) -> tuple[int, int]:
    """Each task waits for another worker; the second, at its first trial, kills its own."""
    at, folder = task
    Path(folder, f"{at}-{os.getpid()}").touch()
    if at == 1 and not os.path.exists(os.path.join(folder, "died")):
        Path(folder, "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return at, os.getpid()
