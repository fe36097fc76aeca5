"""What work takes, against the measured peak; and failed allocations."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from gnc_cli.errors import UnavailableError
from gnc_cli.runtime import memory
from gnc_cli.runtime.memory import free_memory, lacking_memory

TRAIN = ("batch_size", "width", "image_size", "precision")


@pytest.mark.parametrize(
    ("error", "where"),
    [
        (torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"), "GPU"),
        (RuntimeError("CUDA error: out of memory"), "GPU"),
        (RuntimeError("not enough memory: you tried to allocate 9 bytes."), "machine"),
        (UnavailableError("not enough memory for it"), None),
    ],
)
def test_failed_allocations_are_known(error: Exception, where: str | None) -> None:
    found = lacking_memory(error, TRAIN)
    assert found is None if where is None else f"of the {where} is not enough" in str(found)


def test_the_words_by_which_the_allocator_is_known_are_those_of_this_torch() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 60, dtype=torch.uint8, device="cpu")
    assert "of the machine" in str(lacking_memory(caught.value, TRAIN))


def test_a_containers_limit_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {
        "memory.max": "5000\n",
        "memory.current": "4000\n",
        "memory.stat": "anon 1000\nactive_file 200\ninactive_file 300\n",
    }.items():
        (tmp_path / name).write_text(text)
    group = (str(tmp_path), "memory.max", "memory.current")
    monkeypatch.setattr(memory, "_CGROUPS", (group,))
    assert free_memory() == 1500 and memory.total_memory() == 5000
    (tmp_path / "memory.max").write_text("max\n")
    assert free_memory() > 1500


_CHILD = """
import sys
import numpy as np
from gnc_cli import bounds, compare, measure, solve, train
from gnc_cli.runtime.predictions import Prediction

told, require = [], Prediction.require

def noted(self, *words, **named):
    told.append(self.memory)
    require(self, *words, **named)

def peak():
    # Not getrusage: its maximum begins with that of the process that started this one.
    lines = open("/proc/self/status").read().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))

Prediction.require = noted
random = np.random.default_rng(0).normal
exec(sys.argv[1])  # the libraries are loaded
told.clear()
before = peak()
exec(sys.argv[2])
print(max(told), peak() - before)
"""
_SOLVE = "solve(4, 20, method='descent', restarts=1, workers=1)"
_UFM = "solve(3, 6, problem='ufm', tau=0.5, steps=5, restarts=1)"
_LARGE = "solve(4, 5001, method='descent', steps=1, threads=1)"
_MEASURE = (
    "measure(features=random(size=(9, 3)), labels=np.arange(9) % 3, weights=random(size=(3, 3)))"
)
_TRAIN = """
import tempfile
from pathlib import Path
from tests.training.problems import toy
data = toy(Path(tempfile.mkdtemp()) / "a.h5", each=16, test_each=4)
usual = dict(data=data, epochs=1, device="cpu", threads=1, feature_dim=8)
train(model="cnn", batch_size=2, **usual)
"""
_PEAKS = [
    ("compare(np.eye(3))", "W = random(size=(3000, 500)); compare(W, time_limit=6)"),
]
_LARGER = [
    (_MEASURE, "W = random(size=(3000, 1000)); measure(weights=W, time_limit=1)"),
    (_UFM, "solve(20, 5, problem='ufm', tau=0.5, n=50000, steps=2, restarts=1, time_limit=4)"),
    ("solve(2, 30)", "solve(10000, 1000, time_limit=1)"),
    ("solve(2, 30)", "solve(3000, 3001, time_limit=1)"),
    (_SOLVE, "solve(50, 100, method='descent', workers=1, restarts=2, time_limit=9)"),
    (_SOLVE, "solve(100, 2000, method='descent', workers=1, restarts=4, time_limit=9)"),
    (_SOLVE, "solve(2000, 300, method='descent', workers=1, restarts=4, time_limit=9)"),
    (_UFM, "solve(3, 20, problem='ufm', tau=0.5, n=50000, steps=3, time_limit=6)"),
    (_UFM, "solve(10, 300, problem='ufm', tau=0.5, n=100, steps=3, time_limit=6)"),
    (_LARGE, "solve(2000, 3000, method='descent', steps=1, threads=1, time_limit=9)"),
    (_LARGE, "solve(16, 30000, method='descent', steps=2, threads=1)"),
    (_LARGE, "solve(3, 20000, method='descent', steps=2, threads=1)"),
    (_LARGE, "solve(3, 100000, method='descent', steps=2, threads=1)"),
    (_SOLVE, "solve(12, 300, method='descent', workers=1, restarts=2, time_limit=9)"),
    (_TRAIN, "train(model='resnet18', batch_size=64, optimizer='adamw', **usual)"),
    (_TRAIN, "train(model='resnet18', batch_size=16, **usual)"),
    ("bounds(3, 9)", "bounds(range(3, 20), range(2, 2000))"),
    (_MEASURE, "measure(features=np.ones((20, 2500)), labels=np.arange(20) % 3, normalize='off')"),
    (_MEASURE, "W = random(size=(100000, 64)); measure(weights=W, time_limit=9)"),
    (
        _MEASURE,
        "W = random(size=(50000, 256)); measure(features=random(size=(40, 256)), "
        "labels=np.arange(40), weights=W, time_limit=9)",
    ),
    ("compare(np.eye(3))", "W = random(size=(20000, 64)); compare(W, time_limit=9)"),
    ("compare(np.eye(3))", "W = random(size=(200000, 64)); compare(W, time_limit=9)"),
]


@pytest.mark.parametrize(
    ("warm", "work"), [*_PEAKS, *(pytest.param(*p, marks=pytest.mark.slow) for p in _LARGER)]
)
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="the peak is read there")
def test_prediction_is_the_peak(warm: str, work: str) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    child = [sys.executable, "-c", _CHILD, warm, work]
    run = subprocess.run(child, capture_output=True, text=True, env=environment, check=True)
    predicted, measured = map(float, run.stdout.split())
    assert measured / 1.5 <= predicted <= 1.5 * measured, (predicted / 1e6, measured / 1e6)
