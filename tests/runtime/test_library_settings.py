"""A call of the library under other settings, in several threads."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import gnc_cli
from gnc_cli import solve, train
from gnc_cli.runtime.threads import default_settings

ROOT = Path(gnc_cli.__file__).parent.parent


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
        assert torch.get_default_dtype() == dtype
    finally:
        torch.set_default_dtype(before)


@contextmanager
def default_device(device: str) -> Iterator[None]:
    torch.set_default_device(device)
    try:
        yield
        assert torch.get_default_device().type == device
    finally:
        torch.set_default_device(None)


SETTINGS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "no_grad": torch.no_grad,
    "inference": torch.inference_mode,
    "errstate": lambda: np.errstate(all="raise"),
    "float64": lambda: default_dtype(torch.float64),
    "float16": lambda: default_dtype(torch.float16),
    "default device": lambda: default_device("meta"),
    "device": lambda: torch.device("meta"),
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_search_is_the_same_under_the_callers_settings(name: str) -> None:
    def searched() -> float:
        return solve(4, 11, method="descent", restarts=1, workers=1).max_cosine

    with SETTINGS[name]():
        found = searched()
    assert found == searched()


def test_a_training_is_the_same_under_the_callers_settings(tmp_path: Path) -> None:
    def trained(out: str) -> float | None:
        return train(
            classes=4, feature_dim=3, epochs=1, images_per_class=4, out=str(tmp_path / out)
        ).loss

    with ExitStack() as stack:
        for name in ("no_grad", "errstate", "float64", "device", "autocast"):
            stack.enter_context(SETTINGS[name]())
        found = trained("a")
    assert found == trained("b")


DROPOUT = """
import torch
from torch import nn

def build(channels, image_size, feature_dim):
    size = channels * image_size**2
    return nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(size, feature_dim))
"""


def test_trainings_at_once_are_those_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All threads share torch's generator, from which first values and dropout are drawn."""
    (tmp_path / "dropping.py").write_text(DROPOUT)
    monkeypatch.syspath_prepend(tmp_path)
    before = torch.get_rng_state()

    def trained(name: int) -> list[float | None]:
        out = str(tmp_path / str(name))
        run = train(model="dropping:build", classes=4, feature_dim=3, epochs=4, out=out, threads=1)
        return [row.loss for row in run.history]

    alone = trained(0)
    with ThreadPoolExecutor(3) as pool:
        assert [*pool.map(trained, range(1, 4))] == [alone] * 3
    assert torch.equal(torch.get_rng_state(), before)


def test_the_last_of_several_calls_restores_what_all_threads_share() -> None:
    begun, end = threading.Event(), threading.Event()

    def call() -> None:
        with default_settings():
            begun.set()
            end.wait()

    with default_dtype(torch.float64):
        thread = threading.Thread(target=call)
        with default_settings():
            thread.start()
            begun.wait()
        assert torch.get_default_dtype() == torch.float32
        end.set()
        thread.join()


def in_a_process(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script],
        text=True,
        capture_output=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def test_first_use_in_several_threads_at_once() -> None:
    ended = in_a_process("""
import threading
def search():
    from gnc_cli import solve
    found.append(solve(4, 11, method="descent", restarts=1, workers=1).outcome)
found = []
threads = [threading.Thread(target=search) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(found) == 3
""")
    assert (ended.returncode, ended.stderr) == (0, "")
